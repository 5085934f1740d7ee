//! Name change requests: which names of leases a DNS updater is to add and to remove.
//!
//! They are made by a listener of the feed of lease events, so a request follows a change that is
//! durable, in the order of the changes, and no lease waits for it. Requests go to the updater
//! inside this server (`inside`), or as UDP datagrams to another process such as `kea-dhcp-ddns`;
//! if that does not run, it is not noticed, as in Kea. If the system refuses to send, or if more
//! events wait than the feed keeps, updates are suspended until the next configuration.

mod family;
mod inside;
mod plan;
mod terms;

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dhcp_config::{GlobalSettings, NameUpdateSender, UpdateZones};
use dhcp_control::NameUpdates;
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_lease::ExchangeDetail;
use ncr::NameChangeRequest;
use netio::Clock;

use super::exchange_collector::ExchangeCollector;
use super::{Deferral, EventListener, FeedFacts};
use crate::ddns::{UpdaterInside, UpdaterWork};
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;
pub(crate) use family::NameChangeFamily;
pub(super) use inside::LeasesForUpdater;
use plan::{PlanFault, PlannedRequest};
pub(crate) use terms::LeaseUpdateTerms;

/// Smallest number of events that may wait for the sender: a burst of leases is no reason to
/// suspend updates.
const WAITING_MIN: usize = 65_536;
/// Deferral of requests to another process, at most 8,000 in a second. A socket with the usual
/// buffer keeps fewer than 300 requests while its reader has no processor, and the rest is lost.
const DEFERRAL: Deferral =
    Deferral { waiting_max: WAITING_MIN / 2, taken_max: 32, rest: Duration::from_millis(4) };
/// Maximum number of addresses whose leases commands are deleting at a time.
const REMOVALS_MAX: usize = 65_536;

/// Counts of name change requests.
#[derive(Debug, Default)]
struct NameChangeCounts {
    sent: AtomicU64,
    failed: AtomicU64,
    suspended: AtomicU64,
    unnameable: AtomicU64,
    dropped_events: AtomicU64,
}

impl NameChangeCounts {
    /// Returns the counts, each with its name.
    fn entries(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("sent", self.sent.load(Ordering::Relaxed)),
            ("failed", self.failed.load(Ordering::Relaxed)),
            ("suspended", self.suspended.load(Ordering::Relaxed)),
            ("no-request", self.unnameable.load(Ordering::Relaxed)),
            ("dropped-events", self.dropped_events.load(Ordering::Relaxed)),
        ]
    }
}

/// Way of the requests to an updater.
#[derive(Debug)]
enum RequestRoute {
    /// UDP socket for requests to another process.
    Socket(SenderSocket),
    /// Updater inside this server.
    Inside(Arc<UpdaterInside>),
}

/// Service of name change requests, which its listener, the supervisor and the statistics share.
#[derive(Debug, Default)]
pub(crate) struct NameChangeService {
    terms: Mutex<Arc<LeaseUpdateTerms>>,
    route: Mutex<Option<RequestRoute>>,
    /// Zones of the updater inside this server, if the configuration has one.
    zones: Mutex<Option<UpdateZones>>,
    /// Addresses whose names a command wants removed, once the events of their deletions arrive.
    removals: Mutex<BTreeSet<IpAddr>>,
    /// True while a listener sends.
    is_listening: AtomicBool,
    /// True after a failure, until the next configuration: nothing is sent.
    is_suspended: AtomicBool,
    counts: NameChangeCounts,
}

/// Socket of the sender with its settings.
#[derive(Debug)]
struct SenderSocket {
    socket: UdpSocket,
    settings: NameUpdateSender,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NameChangeService {
    /// Uses the settings of the leases' updates `terms` and those of the configuration `global`
    /// from now on, and sends again if updates were suspended.
    pub(super) fn follow(&self, terms: LeaseUpdateTerms, global: &GlobalSettings) {
        *lock(&self.terms) = Arc::new(terms);
        self.is_suspended.store(false, Ordering::Relaxed);
        let zones = global.godwit.ddns.clone();
        let mut known = lock(&self.zones);
        let has_changed = *known != zones;
        known.clone_from(&zones);
        drop(known);
        match (&*lock(&self.route), zones) {
            (Some(RequestRoute::Inside(updater)), Some(zones)) if has_changed => {
                updater.give(UpdaterWork::Zones(zones));
                return;
            }
            (None, None) if self.is_listening.load(Ordering::Relaxed) => {}
            _ => return,
        }
        if let Some(settings) = global.name_updates {
            self.open(settings);
        }
    }

    /// Returns the counts of requests, each with its name; `None` if the configuration asks for
    /// none.
    pub(crate) fn counts(&self) -> Option<Vec<(&'static str, u64)>> {
        if !self.is_listening.load(Ordering::Relaxed) {
            return None;
        }
        let mut entries = self.counts.entries();
        if let Some(RequestRoute::Inside(updater)) = &*lock(&self.route) {
            let counts = updater.counts();
            let requests = [
                ("completed", counts.completed),
                ("refused", counts.failed),
                ("update-refused", counts.refused),
                ("update-truncated", counts.truncated),
            ];
            entries.extend(requests.into_iter().chain(counts.updates.entries()));
        }
        Some(entries)
    }

    /// Returns true if requests can be sent.
    pub(crate) fn is_sending(&self) -> bool {
        !self.is_suspended.load(Ordering::Relaxed) && lock(&self.route).is_some()
    }

    fn open(&self, settings: NameUpdateSender) {
        let opened = UdpSocket::bind(settings.sender);
        match opened {
            Ok(socket) => {
                tracing::info!(
                    target: DHCPSRV,
                    id = "DHCPSRV_DHCP_DDNS_SENDER_STARTED",
                    "NameChangeRequest sender has been started: enable_updates: yes, server-ip: \
                     {}, server-port: {}, sender-ip: {}, sender-port: {}, max-queue-size: {}, \
                     ncr-protocol: UDP, ncr-format: JSON",
                    settings.server.ip(), settings.server.port(),
                    settings.sender.ip(), settings.sender.port(), settings.queue_max
                );
                let sender = SenderSocket { socket, settings };
                *lock(&self.route) = Some(RequestRoute::Socket(sender));
            }
            Err(cause) => {
                let what = format!("cannot open {}: {cause}", settings.sender);
                self.suspend(&what);
            }
        }
    }

    /// Ends sending at the end of the listener.
    fn end(&self) {
        self.is_listening.store(false, Ordering::Relaxed);
        self.close();
    }

    fn close(&self) {
        // The lock must not be held while an updater ends.
        let route = lock(&self.route).take();
        if let Some(RequestRoute::Socket(_)) = route {
            tracing::info!(
                target: DHCPSRV,
                id = "DHCPSRV_DHCP_DDNS_SENDER_STOPPED",
                "NameChangeRequest sender has been stopped."
            );
        }
    }

    /// Ends sending until the next configuration, as Kea does.
    fn suspend(&self, why: &str) {
        if self.is_suspended.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::error!(
            target: "ddns",
            id = "DHCPX_DDNS_REQUEST_SEND_FAILED",
            "failed sending a request to kea-dhcp-ddns: {why}"
        );
        tracing::warn!(
            target: DHCPSRV,
            id = "DHCPSRV_DHCP_DDNS_SUSPEND_UPDATES",
            "DHCP_DDNS updates are being suspended."
        );
    }

    /// Sends a request, or logs why there is none for the lease of `address`.
    fn send_planned(&self, planned: PlannedRequest, address: &dyn core::fmt::Display) {
        if let Some(request) = self.planned(planned, address) {
            self.send(request);
        }
    }

    /// Returns the request, or logs why there is none for the lease of `address`.
    fn planned(
        &self,
        planned: PlannedRequest,
        address: &dyn core::fmt::Display,
    ) -> Option<NameChangeRequest> {
        match planned {
            Ok(request) => Some(request),
            Err(fault) => {
                self.counts.unnameable.fetch_add(1, Ordering::Relaxed);
                let reason = match fault {
                    PlanFault::Name => "its name is no domain name",
                    PlanFault::Client => "its client has no usable identifier",
                };
                tracing::error!(
                    target: DHCPSRV,
                    id = "DHCPSRV_QUEUE_NCR_FAILED",
                    "queuing a name change request failed for lease {address}: {reason}"
                );
                None
            }
        }
    }

    fn send(&self, request: NameChangeRequest) {
        if self.is_suspended.load(Ordering::Relaxed) {
            self.counts.suspended.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let sent = match &*lock(&self.route) {
            Some(RequestRoute::Socket(sender)) => {
                let datagram = request.to_datagram(Clock::now().wall_s());
                sender.socket.send_to(&datagram, sender.settings.server).map(drop)
            }
            // An updater inside this server has a listener of its own.
            Some(RequestRoute::Inside(_)) | None => {
                Err(io::Error::from(io::ErrorKind::NotConnected))
            }
        };
        match sent {
            Ok(()) => drop(self.counts.sent.fetch_add(1, Ordering::Relaxed)),
            Err(cause) => {
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
                self.suspend(&cause.to_string());
            }
        }
    }
}

impl<F: NameChangeFamily> NameUpdates<F> for NameChangeService {
    fn remove_when_deleted(&self, address: F::Address) {
        let mut removals = lock(&self.removals);
        if removals.len() < REMOVALS_MAX {
            removals.extend(F::named_address(address));
        }
    }

    fn keep(&self, address: F::Address) {
        if let Some(address) = F::named_address(address) {
            lock(&self.removals).remove(&address);
        }
    }
}

/// Listener of lease events that sends name change requests to another process.
pub(super) struct NameChangeListener<P: DaemonFamily> {
    service: Arc<NameChangeService>,
    settings: NameUpdateSender,
    exchanges: ExchangeCollector<P>,
    /// False for a listener that was made for a reload and is not needed.
    has_begun: bool,
}

impl<P: DaemonFamily> NameChangeListener<P> {
    /// Returns the listener that sends by `settings`.
    pub(super) fn new(service: &Arc<NameChangeService>, settings: NameUpdateSender) -> Self {
        let (service, exchanges) = (Arc::clone(service), ExchangeCollector::default());
        Self { service, settings, exchanges, has_begun: false }
    }
}

impl<P: DaemonFamily> EventListener<P> for NameChangeListener<P> {
    fn name(&self) -> &'static str {
        "name-changes"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(WAITING_MIN.max(self.settings.queue_max as usize))
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::Group
    }

    fn deferral(&self) -> Option<Deferral> {
        Some(DEFERRAL)
    }

    fn settings(&self) -> String {
        format!("{:?}", self.settings)
    }

    fn begin(&mut self, facts: &FeedFacts) {
        self.exchanges.begin_after(facts.last_number);
        self.service.is_listening.store(true, Ordering::Relaxed);
        self.has_begun = true;
        self.service.open(self.settings);
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        let terms = Arc::clone(&lock(&self.service.terms));
        for event in events {
            let dropped = self.exchanges.follow(event);
            if dropped > 0 {
                self.service.counts.dropped_events.fetch_add(dropped, Ordering::Relaxed);
                self.service.suspend(&format!("the queue is full; {dropped} events were dropped"));
            }
            let Some(complete) = self.exchanges.collect(event) else { continue };
            let is_removed = |address| lock(&self.service.removals).remove(&address);
            for planned in plan::requests(&complete, &terms, is_removed) {
                self.service.send_planned(planned, &event.change.address);
            }
        }
    }
}

impl<P: DaemonFamily> Drop for NameChangeListener<P> {
    fn drop(&mut self) {
        if self.has_begun {
            self.service.end();
        }
    }
}
