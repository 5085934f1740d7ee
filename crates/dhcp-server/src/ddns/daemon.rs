//! Loop of the updater's thread.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use base::Now;
use dhcp_config::CheckedDdnsConfig;
use dhcp_control::{
    CommandAnswer, UpdaterShutdown, UpdaterStatistics, execute_updater_command, kea_json,
};
use dhcp_ddns::DnsZones;
use dhcp_engine::contain::run_contained;
use ncr::NameChangeRequest;
use netio::signal::Signals;
use netio::{Clock, PollFd};

use super::sockets::{RequestSocket, receive};
use super::worker::UpdateWorker;
use super::{PENDING_MAX, UpdaterSettings, queue_path};
use crate::ServerError;
use crate::control::{ControlRequest, ControlThread, Inbox};
use crate::log::counted;
use crate::loggers::DAEMON;
use crate::panics::INTERNAL_ERROR;

/// Name of Kea's logger of requests.
const TO_UPDATER: &str = "dhcp-to-d2";
/// Share of the maximum, in percent, below which the updater receives again, as in Kea.
const RESUME_PERCENT: usize = 80;

/// Counts of requests, with the names of Kea's statistics.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestCounts {
    /// Datagrams that were requests (`ncr-received`).
    pub(super) received: u64,
    /// Datagrams that were none (`ncr-invalid`).
    pub(super) invalid: u64,
    /// Times that the queue has become full (`queue-mgr-queue-full`).
    pub(super) full: u64,
}

/// Running updater.
pub(super) struct UpdaterDaemon {
    pub(super) settings: UpdaterSettings,
    pub(super) checked: CheckedDdnsConfig,
    pub(super) control: ControlThread,
    pub(super) worker: UpdateWorker,
    pub(super) requests: RequestSocket,
    pub(super) statistics: UpdaterStatistics,
    pub(super) counts: RequestCounts,
    pub(super) started: Now,
    /// Time at which the configuration in force was applied.
    pub(super) configured: Now,
    pub(super) shutdown: Option<UpdaterShutdown>,
    /// True while the queue is full.
    is_full: bool,
}

impl UpdaterDaemon {
    /// Opens sockets and the queue's file, and takes the requests of an earlier process.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub(super) fn open(
        settings: UpdaterSettings,
        checked: CheckedDdnsConfig,
        control: ControlThread,
    ) -> Result<Self, ServerError> {
        let config = &checked.config;
        let path = queue_path(&settings.configuration);
        let worker = UpdateWorker::open(&path, DnsZones::from_config(&config.zones), false)?;
        let requests = RequestSocket::open(SocketAddr::new(config.address, config.port))?;
        let now = Clock::now();
        let taken = counted(worker.updater.pending(), "unfinished request");
        tracing::info!(
            target: DAEMON,
            id = "DHCP_DDNS_STARTED",
            "receiving name change requests at {} port {}; {taken} of {}",
            config.address,
            config.port,
            path.display()
        );
        Ok(Self {
            settings,
            checked,
            control,
            worker,
            requests,
            statistics: UpdaterStatistics::default(),
            counts: RequestCounts::default(),
            started: now,
            configured: now,
            shutdown: None,
            is_full: false,
        })
    }

    /// Works until a signal or a command ends the updater.
    ///
    /// # Errors
    ///
    /// Errors that end the updater.
    pub(super) fn run(mut self, signals: &Signals, inbox: &Inbox) -> Result<(), ServerError> {
        self.worker.carry_out();
        while !self.is_done() && !signals.stop().load(Ordering::Acquire) {
            self.wait(signals, inbox);
            signals.drain();
            if signals.take_reload() {
                self.reload_for_signal();
            }
            self.receive_requests();
            self.worker.work();
            self.answer_commands(inbox);
        }
        tracing::info!(
            target: DAEMON,
            id = "DHCPX_SHUTDOWN",
            "the updater ends; {} in the queue",
            counted(self.worker.updater.pending(), "unfinished request")
        );
        self.control.stop();
        Ok(())
    }

    fn is_done(&self) -> bool {
        match self.shutdown {
            None => false,
            Some(UpdaterShutdown::Now) => true,
            Some(UpdaterShutdown::DrainFirst) => self.worker.updater.pending() == 0,
        }
    }

    /// Waits for anything to do.
    fn wait(&self, signals: &Signals, inbox: &Inbox) {
        let mut fds = vec![PollFd::readable(signals), PollFd::readable(inbox.waker())];
        if self.receives() {
            fds.push(PollFd::readable(&self.requests.socket));
        }
        self.worker.wait(fds);
    }

    /// Returns true if the updater receives requests.
    const fn receives(&self) -> bool {
        !self.is_full && self.shutdown.is_none()
    }

    /// Takes the requests that have arrived.
    fn receive_requests(&mut self) {
        self.follow_fullness();
        if !self.receives() {
            return;
        }
        let mut requests = Vec::new();
        let counts = &mut self.counts;
        receive(&self.requests.socket, |_, bytes| match NameChangeRequest::from_datagram(bytes) {
            Ok(request) => {
                counts.received += 1;
                requests.push(request);
            }
            Err(fault) => {
                counts.invalid += 1;
                tracing::error!(
                    target: TO_UPDATER,
                    id = "DHCP_DDNS_INVALID_NCR",
                    "application received an invalid DNS update request: {fault}"
                );
            }
        });
        self.worker.accept(requests);
    }

    /// Stops and resumes receiving as the queue becomes full and is worked off.
    fn follow_fullness(&mut self) {
        let pending = self.worker.updater.pending();
        if !self.is_full && pending >= PENDING_MAX {
            self.is_full = true;
            self.counts.full += 1;
            tracing::error!(
                target: TO_UPDATER,
                id = "DHCP_DDNS_QUEUE_MGR_QUEUE_FULL",
                "application request queue has reached maximum number of entries {PENDING_MAX}"
            );
        } else if self.is_full && pending <= PENDING_MAX * RESUME_PERCENT / 100 {
            self.is_full = false;
            tracing::info!(
                target: TO_UPDATER,
                id = "DHCP_DDNS_QUEUE_MGR_RESUMING",
                "application is resuming listening for requests now that the request queue size \
                 has reached {pending} of a maximum {PENDING_MAX} allowed"
            );
        }
    }

    /// Executes the commands of clients of the control sockets.
    fn answer_commands(&mut self, inbox: &Inbox) {
        inbox.waker().drain();
        while let Some(request) = inbox.next() {
            let answer = match &request.request {
                ControlRequest::Command(command) => {
                    let name = command["command"].as_str().unwrap_or("(none)");
                    tracing::info!(
                        target: "commands", id = "COMMAND_RECEIVED", "Received command '{name}'"
                    );
                    let answer = run_contained(|| execute_updater_command(command, self))
                        .unwrap_or_else(|| CommandAnswer::error(INTERNAL_ERROR));
                    kea_json(&answer.to_json())
                }
                ControlRequest::Metrics => self.metrics(),
            };
            request.answer(answer);
        }
        self.worker.carry_out();
    }
}
