//! Updater inside a DHCP server: a thread that carries out the requests of the server's lease
//! events.
//!
//! The queue's file has the name of each address. When the thread starts, and when lease events
//! were lost, it compares them with the leases and makes the requests that are missing.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use dhcp_config::UpdateZones;
use dhcp_ddns::{DnsZones, UpdaterCounts};
use ncr::NameChangeRequest;
use netio::{Clock, PollFd, Waker};

use super::PENDING_MAX;
use super::worker::{LeaseNamesReader, UpdateWorker};
use crate::ServerError;
use crate::log::counted;
use crate::loggers::DHCPSRV;

/// Maximum number of parts of work that wait for the thread; then the listener of lease events
/// waits.
const WAITING_MAX: usize = 256;
/// Maximum number of parts of work that one turn of the loop takes.
const PARTS_PER_TURN: usize = 64;
/// Maximum number of requests of a comparison with the leases that one turn of the loop takes.
const REQUESTS_PER_TURN: usize = 1_024;
/// Time after which a listener that waits for room looks if it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Part of the work for the updater inside the server.
pub(crate) enum UpdaterWork {
    /// Requests to carry out, in their order.
    Requests(Vec<NameChangeRequest>),
    /// Zones that replace those in use.
    Zones(UpdateZones),
    /// Comparison of the requests so far with the names of all leases.
    Leases(LeaseNamesReader),
}

/// State that the thread shares with the listener of lease events.
struct UpdaterMailbox {
    work: Mutex<VecDeque<UpdaterWork>>,
    has_room: Condvar,
    waker: Waker,
    is_ending: AtomicBool,
    counts: Mutex<UpdaterCounts>,
}

impl UpdaterMailbox {
    fn work(&self) -> MutexGuard<'_, VecDeque<UpdaterWork>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, UpdaterCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<UpdaterWork> {
        let next = self.work().pop_front();
        self.has_room.notify_all();
        next
    }
}

/// Updater inside the server. Dropping it ends its thread; unfinished requests stay in the queue.
pub(crate) struct UpdaterInside {
    mailbox: Arc<UpdaterMailbox>,
    thread: Option<JoinHandle<()>>,
}

impl UpdaterInside {
    /// Starts the updater of `zones` with the queue's file `path`.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub(crate) fn start(path: &Path, zones: &UpdateZones) -> Result<Self, ServerError> {
        let system = |tried| move |cause| ServerError::System { tried, cause };
        let worker = UpdateWorker::open(path, DnsZones::from_config(zones), true)?;
        let mailbox = Arc::new(UpdaterMailbox {
            work: Mutex::default(),
            has_room: Condvar::new(),
            waker: Waker::new().map_err(system("open an event"))?,
            is_ending: AtomicBool::new(false),
            counts: Mutex::default(),
        });
        tracing::info!(
            target: DHCPSRV,
            id = "DHCPSRV_DDNS_UPDATER_STARTED",
            "this server updates {} and {}; {} of {}",
            counted(zones.forward.len(), "forward zone"),
            counted(zones.reverse.len(), "reverse zone"),
            counted(worker.updater.pending(), "unfinished request"),
            path.display()
        );
        let shared = Arc::clone(&mailbox);
        let run = move || InsideLoop { worker, mailbox: shared, missing: VecDeque::new() }.run();
        let thread = Builder::new().name("ddns".to_owned()).spawn(run);
        Ok(Self { mailbox, thread: Some(thread.map_err(system("start a thread"))?) })
    }

    /// Gives the updater work, without waiting.
    pub(crate) fn give(&self, work: UpdaterWork) {
        self.mailbox.work().push_back(work);
        self.mailbox.waker.wake();
    }

    /// Waits until the updater takes more work, or until `is_ending` is true.
    pub(crate) fn wait_for_room(&self, is_ending: &AtomicBool) {
        let mut work = self.mailbox.work();
        while work.len() >= WAITING_MAX && !is_ending.load(Ordering::Acquire) {
            let waited = self.mailbox.has_room.wait_timeout(work, LOOK);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the counts of requests and updates.
    pub(crate) fn counts(&self) -> UpdaterCounts {
        self.mailbox.counts().clone()
    }
}

impl fmt::Debug for UpdaterInside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdaterInside").finish_non_exhaustive()
    }
}

impl Drop for UpdaterInside {
    fn drop(&mut self) {
        self.mailbox.is_ending.store(true, Ordering::Release);
        self.mailbox.waker.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a thread that panics ends the process");
        }
    }
}

/// Loop of the updater's thread.
struct InsideLoop {
    worker: UpdateWorker,
    mailbox: Arc<UpdaterMailbox>,
    /// Requests of the last comparison with the leases that have not been taken yet.
    missing: VecDeque<NameChangeRequest>,
}

impl InsideLoop {
    fn run(mut self) {
        // Names wait for leases, not leases for names.
        if let Err(cause) = netio::thread::give_way() {
            tracing::debug!(
                target: DHCPSRV,
                id = "DHCPX_DDNS_UPDATER_PRIORITY",
                "the thread of the updater keeps its priority: {cause}"
            );
        }
        self.worker.carry_out();
        loop {
            // Read first: work that was given before is in the queue's file at the end.
            let is_ending = self.mailbox.is_ending.load(Ordering::Acquire);
            if !is_ending {
                self.worker.wait(vec![PollFd::readable(&self.mailbox.waker)]);
            }
            self.mailbox.waker.drain();
            if is_ending {
                self.take_last();
            } else {
                self.take();
            }
            self.worker.work();
            self.mailbox.counts().clone_from(self.worker.updater.counts());
            if is_ending {
                return;
            }
        }
    }

    fn has_room(&self) -> bool {
        self.worker.updater.pending() < PENDING_MAX
    }

    /// Takes the next parts of the work, as far as there is room.
    fn take(&mut self) {
        for _ in 0..PARTS_PER_TURN {
            if !self.has_room() {
                return;
            }
            // Later events are about the same leases, so the comparison comes first.
            let count = self.missing.len().min(REQUESTS_PER_TURN);
            if count > 0 {
                let requests = self.missing.drain(..count).collect();
                self.worker.accept(requests);
                break;
            }
            let Some(work) = self.mailbox.next() else { return };
            self.carry_out(work);
        }
        self.mailbox.waker.wake();
    }

    /// Takes all requests at the end of the server, when a comparison would come too late: the next
    /// start makes one.
    fn take_last(&mut self) {
        self.missing.clear();
        while let Some(work) = self.mailbox.next() {
            if let UpdaterWork::Requests(requests) = work {
                self.worker.accept(requests);
            }
        }
    }

    fn carry_out(&mut self, work: UpdaterWork) {
        match work {
            UpdaterWork::Requests(requests) => self.worker.accept(requests),
            UpdaterWork::Zones(zones) => {
                let zones = DnsZones::from_config(&zones);
                self.worker.updater.configure(zones, Clock::now());
            }
            UpdaterWork::Leases(read) => {
                let missing = self.worker.compare(read);
                tracing::info!(
                    target: DHCPSRV,
                    id = "DHCPSRV_DDNS_LEASES_COMPARED",
                    "{} for the names of the leases were missing",
                    counted(missing.len(), "request")
                );
                self.missing = missing.into();
            }
        }
    }
}
