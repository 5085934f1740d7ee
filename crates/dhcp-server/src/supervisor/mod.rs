//! Supervisor of the server: the thread that waits for signals, maintains the listeners, and
//! carries out commands.
//!
//! It owns everything that commands change. Shards read the values that it publishes between two
//! batches, so a command never stops the packet path, however long it takes.

mod apply;
mod backend;
mod checks;
mod counts;
mod exhaustion;
pub(crate) mod files;
mod host_databases;
mod hosts;
mod in_use;
mod leases;
mod moved_subnets;
mod partner_page;
mod process;
mod statistics;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};
use dhcp_config::{ConfigProblem, DhcpConfig, HaRelationship, OnFail};
use dhcp_control::{
    CommandAnswer, CommandExecution, HA_LOCAL, ServiceState, answer_of_relationship, execute,
    kea_json,
};
use dhcp_engine::PairFilters;
use dhcp_engine::contain::run_contained;
use dhcp_engine::counters::ShardCounters;
use dhcp_engine::snapshot::Snapshot;
use dhcp_lease::LeaseTable;
use netio::signal::Signals;
use netio::{Clock, PollFd, Waker};
use serde_json::Value;

use crate::ServerError;
use crate::control::{ControlRequest, ControlThread, Inbox, PendingControlRequest};
use crate::events::{EventService, LegalLogService};
use crate::frames::FrameCounters;
use crate::ha::{HaServices, PartnerLeaseStore};
use crate::hosts::HostsDatabases;
use crate::latency::Latencies;
use crate::lease_query::BulkLeaseQueries;
use crate::leases::LeaseBackend;
use crate::listeners::ListenerManager;
use crate::log::counted;
use crate::loggers::DAEMON;
use crate::message_log::{Mailbox, MessageLog};
use crate::panics::INTERNAL_ERROR;
use crate::server::DaemonSettings;
use crate::service::{DaemonFamily, SubnetSummary};
use crate::shard_loop::SharedDaemonState;
use crate::watchdog::ServiceReports;
use checks::ChecksThread;
use counts::CounterSources;
use in_use::FilesInUse;
pub(crate) use leases::Administration;
use process::ReloadRecord;
use statistics::{StatisticsTask, StatisticsThread};

/// Interval between the supervisor's checks of the lease file's health, in nanoseconds.
const SUPERVISE_NS: u64 = 200 * NS_PER_MS;
/// Interval between the supervisor's checks of slower conditions, in nanoseconds.
const LOOK_NS: u64 = NS_PER_S;
/// Maximum time for which a command that turns the service off waits for the shards, in
/// nanoseconds.
const REST_NS: u64 = 200 * NS_PER_MS;
/// Interval at which that command looks at the shards.
const REST_LOOK: Duration = Duration::from_micros(200);
/// Interval between reports of a verbose daemon's counters, in nanoseconds.
const REPORT_NS: u64 = 10 * NS_PER_S;

/// Sources of the counters of one shard.
#[derive(Debug)]
pub(crate) struct ShardCounterSources<P> {
    pub(crate) messages: Arc<ShardCounters<P>>,
    pub(crate) frames: Arc<FrameCounters>,
    pub(crate) latencies: Arc<Latencies>,
}

impl<P> Clone for ShardCounterSources<P> {
    fn clone(&self) -> Self {
        Self {
            messages: Arc::clone(&self.messages),
            frames: Arc::clone(&self.frames),
            latencies: Arc::clone(&self.latencies),
        }
    }
}

/// Configuration in force, in all its forms.
pub(crate) struct ActiveConfiguration<P: DaemonFamily> {
    pub(crate) config: DhcpConfig<P>,
    /// Warnings about the configuration in force, which have been logged.
    pub(crate) warnings: Vec<ConfigProblem>,
    /// Configuration in force as commands show it, as JSON.
    pub(crate) document: Value,
    pub(crate) snapshot: Arc<Snapshot<P>>,
    /// Summaries of the configuration's subnets, sorted by `id`.
    pub(crate) outlines: Arc<[SubnetSummary]>,
    /// Time at which the configuration came into force.
    pub(crate) since: Now,
}

/// Running parts of the server that the supervisor maintains.
pub(crate) struct SupervisedParts<P: DaemonFamily> {
    pub(crate) listener_manager: ListenerManager,
    pub(crate) table: Arc<LeaseTable<P>>,
    pub(crate) leases: LeaseBackend<P>,
    pub(crate) events: EventService<P>,
    pub(crate) legal_log: Arc<LegalLogService>,
    /// Relationships with partners, if the configuration has any.
    pub(crate) ha: Option<HaServices<P>>,
    /// Databases of reservations, if the configuration has any.
    pub(crate) hosts: Option<HostsDatabases<P>>,
    pub(crate) wakers: Vec<Arc<Waker>>,
    pub(crate) in_force: ActiveConfiguration<P>,
    pub(crate) constants: P::Constants,
    pub(crate) control: ControlThread,
    pub(crate) lease_queries: BulkLeaseQueries<P>,
    pub(crate) message_log: MessageLog,
}

/// State of the supervisor that commands and signals work on.
pub(crate) struct Supervisor<P: DaemonFamily> {
    settings: DaemonSettings,
    shared: Arc<SharedDaemonState<P>>,
    parts: SupervisedParts<P>,
    counters: CounterSources<P>,
    /// Thread of the statistics; exists from the start of the shards on.
    statistics: Option<StatisticsThread>,
    checks: Option<ChecksThread>,
    administration: Administration<P>,
    service: ServiceState,
    started: Now,
    reports: ServiceReports,
    /// Exit code that a control command (`shutdown`) requested.
    exit: Option<i32>,
    /// Error that ends the server, once it has happened.
    failure: Option<ServerError>,
    /// Command that the relationship with the partner executes.
    deferred: Option<PendingControlRequest>,
}

impl<P: DaemonFamily> Supervisor<P> {
    /// Creates a supervisor of the server's running parts `parts`.
    pub(crate) fn new(
        settings: DaemonSettings,
        shared: Arc<SharedDaemonState<P>>,
        parts: SupervisedParts<P>,
    ) -> Self {
        let config = &parts.in_force.config;
        let mut administration =
            Administration::new(&parts.leases, &parts.table, parts.wakers.len(), config);
        administration.in_use = FilesInUse::from_config::<P>(config, &settings.configuration);
        let started = Clock::now();
        let pairs = &config.global.high_availability;
        // At a control socket the partners cannot be told apart.
        let has_sockets = pairs.iter().all(|pair| pair.has_listener);
        let relationships = if has_sockets { pairs.len() } else { 0 };
        let tally = CounterSources {
            table: Arc::clone(&parts.table),
            shards: Vec::new(),
            outlines: Arc::clone(&parts.in_force.outlines),
            lease_file: parts.leases.file_size(),
            host_rows: parts.hosts.as_ref().map(HostsDatabases::row_counts),
            legal_log: parts.legal_log.counts(),
            name_changes: Arc::clone(&parts.events.parts().name_changes),
            pairs: parts.ha.as_ref().map(HaServices::shared_states).unwrap_or_default(),
            scripts: parts.events.parts().scripts.clone(),
            started,
            reloads: Arc::new(ReloadRecord::new(started)),
            exporter: parts.in_force.exporter_labels(),
            events: parts.events.source(),
        };
        let mut supervisor = Self {
            settings,
            shared,
            parts,
            counters: tally,
            statistics: None,
            deferred: None,
            checks: None,
            administration,
            service: ServiceState::with_relationships(relationships),
            started,
            reports: ServiceReports::from_environment(),
            exit: None,
            failure: None,
        };
        supervisor.disable_for_repair();
        supervisor
    }

    /// Disables the service (answering clients) in repair mode, as Kea does with each
    /// configuration.
    fn disable_for_repair(&mut self) {
        if self.settings.is_repairing {
            self.service.disable_for_user(Clock::now());
        }
    }

    pub(crate) const fn settings(&self) -> &DaemonSettings {
        &self.settings
    }

    pub(crate) fn shared(&self) -> Arc<SharedDaemonState<P>> {
        Arc::clone(&self.shared)
    }

    pub(crate) const fn in_force(&self) -> &ActiveConfiguration<P> {
        &self.parts.in_force
    }

    pub(crate) const fn leases(&self) -> &LeaseBackend<P> {
        &self.parts.leases
    }

    /// Returns the service that passes lease events to listeners.
    pub(crate) const fn events(&self) -> &EventService<P> {
        &self.parts.events
    }

    /// Returns the filters of the messages for which partners are responsible.
    pub(crate) fn pair_filters(&self) -> PairFilters {
        self.parts.ha.as_ref().map(HaServices::filters).unwrap_or_default()
    }

    /// Starts the relationships with partners, if there are any.
    fn start_ha(&mut self) -> Result<(), ServerError> {
        let SupervisedParts { ha, leases, table, in_force, wakers, .. } = &mut self.parts;
        let Some(ha) = ha else { return Ok(()) };
        let config = &in_force.config;
        ha.start(|at| {
            let relationship = config.global.high_availability.get(at);
            let is_primary = relationship.is_some_and(HaRelationship::is_primary);
            let store = Administration::new(leases, table, wakers.len() + 2 + at, config);
            PartnerLeaseStore::new(store, is_primary)
        })
    }

    pub(crate) const fn hosts(&self) -> Option<&HostsDatabases<P>> {
        self.parts.hosts.as_ref()
    }

    /// Returns the mailbox of log notices of shard number `shard`.
    pub(crate) fn mailbox(&self, shard: usize) -> Arc<Mailbox> {
        self.parts.message_log.mailbox(shard)
    }

    pub(crate) fn wakers(&self) -> &[Arc<Waker>] {
        &self.parts.wakers
    }

    /// Adds the counters of one more shard to the server's sums.
    pub(crate) fn count(&mut self, counted: ShardCounterSources<P>) {
        self.counters.shards.push(counted);
    }

    /// Waits for signals and commands until the server is to stop, or until the log thread has
    /// given up on the lease file. Returns the exit code that a command requested, else 0.
    ///
    /// # Errors
    ///
    /// Other errors that end the server.
    pub(crate) fn run(&mut self, signals: &Signals, inbox: &Inbox) -> Result<i32, ServerError> {
        let samples = self.parts.in_force.config.global.samples;
        self.statistics = Some(StatisticsThread::start(self.counters.clone(), samples)?);
        self.checks = Some(ChecksThread::start::<P>(&self.settings)?);
        let mut now_ns = Clock::mono_ns();
        let (mut report_due_ns, mut look_due_ns) = (now_ns + REPORT_NS, now_ns);
        self.start_ha()?;
        self.report_ready();
        loop {
            let mut fds = vec![PollFd::readable(signals), PollFd::readable(inbox.waker())];
            fds.extend(self.parts.listener_manager.poll_fd(now_ns));
            // A failed wait only means that the next iteration comes early.
            netio::poll(&mut fds, Some(SUPERVISE_NS)).ok();
            signals.drain();
            if signals.stop().load(Ordering::Acquire) {
                tracing::info!(target: DAEMON, id = "DHCPX_SHUTDOWN", "server shutdown");
                return Ok(0);
            }
            if signals.take_reload() {
                self.reload_contained();
            }
            self.answer_requests(inbox);
            self.answer_deferred();
            now_ns = Clock::mono_ns();
            self.reports.give_sign_if_due(now_ns, &self.shared.pulses);
            self.parts.listener_manager.check_if_due(now_ns, &|| wake(&self.parts.wakers))?;
            if now_ns >= look_due_ns {
                self.warn_of_slow_reclamation();
                look_due_ns = now_ns + LOOK_NS;
            }
            if self.settings.is_verbose && now_ns >= report_due_ns {
                self.report();
                report_due_ns += REPORT_NS;
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if let Some(exit) = self.exit {
                tracing::info!(target: DAEMON, id = "DHCPX_SHUTDOWN", "server shutdown");
                return Ok(exit);
            }
            if self.parts.leases.follow_clock_steps(&self.parts.table) {
                self.parts.events.interrupt();
            }
            if self.parts.leases.report_problems() {
                return Ok(0);
            }
            if let Some(hosts) = &self.parts.hosts {
                hosts.report_problems();
            }
            self.follow_service();
        }
    }

    /// Handles the requests that clients of the control sockets have sent.
    fn answer_requests(&mut self, inbox: &Inbox) {
        inbox.waker().drain();
        while let Some(request) = inbox.next() {
            match &request.request {
                ControlRequest::Command(command) => {
                    let name = command["command"].as_str().unwrap_or("(none)");
                    tracing::info!(
                        target: "commands", id = "COMMAND_RECEIVED", "Received command '{name}'"
                    );
                    if let (checks::COMMAND, Some(checks)) = (name, &self.checks) {
                        checks.give(request);
                        continue;
                    }
                    match run_contained(|| execute(command, self)) {
                        Some(CommandExecution::Answer(answer)) => self.answer(request, answer),
                        Some(CommandExecution::Statistics(command)) => {
                            self.send_to_statistics(StatisticsTask::Command(command, request));
                        }
                        // At most one such command is under way.
                        Some(CommandExecution::Deferred) => self.deferred = Some(request),
                        None => {
                            self.abort_unless_sound();
                            self.answer(request, CommandAnswer::error(INTERNAL_ERROR));
                        }
                    }
                }
                ControlRequest::Metrics => {
                    self.send_to_statistics(StatisticsTask::Metrics(request))
                }
            }
        }
    }

    /// Answers the command that a relationship with a partner was to execute, once it has.
    fn answer_deferred(&mut self) {
        let Some(ha) = &mut self.parts.ha else { return };
        if let Some(answer) = ha.take_answer()
            && let Some(request) = self.deferred.take()
        {
            self.answer(request, answer_of_relationship(answer));
        }
    }

    /// Reads the configuration file again; after a panic during the check, the server continues
    /// with the configuration in force.
    fn reload_contained(&mut self) {
        self.reports.reloading();
        if run_contained(|| self.reload_after_signal()).is_none() {
            self.abort_unless_sound();
            self.counters.reloads.record_refused();
        }
        self.report_ready();
    }

    /// Reports to the service manager that the server serves, and how many subnets.
    fn report_ready(&self) {
        let subnets = counted(self.parts.in_force.outlines.len(), "subnet");
        self.reports.ready(&format!("serving {subnets} on port {}", self.settings.port));
    }

    /// Reports to the service manager that the server ends.
    pub(crate) fn report_end(&self) {
        self.reports.ending();
    }

    /// Aborts the process if a panic has left a change of leases incomplete.
    fn abort_unless_sound(&self) {
        let is_sound = self.parts.table.is_sound();
        assert!(
            is_sound,
            "an internal error occurred while leases were being \
                                        changed"
        );
    }

    /// Answers a control command that is done, once its changes are durable.
    fn answer(&mut self, request: PendingControlRequest, answer: CommandAnswer) {
        let text = match self.administration.wait_until_durable() {
            Ok(()) => {
                if let ControlRequest::Command(command) = &request.request {
                    self.parts.legal_log.record_command::<P>(command, &answer);
                }
                answer.into_text()
            }
            Err(why) => kea_json(&CommandAnswer::error(why).to_json()),
        };
        self.follow_service();
        request.answer(text);
    }

    fn send_to_statistics(&self, work: StatisticsTask) {
        if let Some(statistics) = &self.statistics {
            statistics.give(work);
        }
    }

    /// Ends periods of `dhcp-disable` that are over, and sets for the shards if they answer
    /// clients.
    fn follow_service(&mut self) {
        let now = Clock::now();
        match &self.parts.ha {
            Some(ha) if !ha.is_service_enabled() => self.service.disable(now, HA_LOCAL, None),
            Some(_) => self.service.enable(HA_LOCAL),
            None => {}
        }
        self.service.pass_time(now);
        self.follow_partners();
        let is_disabled = !self.service.is_enabled() || self.waits_for_database();
        if self.shared.service.set_off(is_disabled) {
            let (id, state) = if is_disabled {
                ("DHCPX_SERVICE_DISABLED", "disabled")
            } else {
                ("DHCPX_SERVICE_ENABLED", "enabled")
            };
            tracing::info!(target: DAEMON, id, "the DHCP service is {state}");
            if is_disabled {
                self.await_rest();
            }
        }
    }

    /// Makes the service for the clients of each relationship follow the partner's commands, if
    /// there are several relationships.
    fn follow_partners(&self) {
        let Some(ha) = &self.parts.ha else { return };
        let has_closed = ha.follow_partners(|at| self.service.is_disabled_by_partner(at));
        if has_closed && self.shared.service.set_off(true) {
            // Transactions that began before have ended then.
            self.await_rest();
            self.shared.service.set_off(false);
        }
    }

    /// Waits until no shard changes a lease any more and the changes are sent to the partner or
    /// counted as unsent, or [`REST_NS`] have passed: a partner that has disabled the service asks
    /// for that number and copies the leases next.
    fn await_rest(&self) {
        wake(&self.parts.wakers);
        let end_ns = Clock::mono_ns() + REST_NS;
        let is_changing =
            || !self.shared.service.is_resting() || self.parts.events.are_partners_behind();
        while is_changing() && Clock::mono_ns() < end_ns {
            std::thread::sleep(REST_LOOK);
        }
    }

    /// Returns true if the server answers no client because it has lost the lease database.
    fn waits_for_database(&self) -> bool {
        let database = &self.parts.in_force.config.global.lease_database;
        database.on_fail == OnFail::StopRetryExit && self.parts.leases.is_disconnected()
    }

    /// Logs a warning if the limits of reclamation (`max-reclaim-leases`, `max-reclaim-time`) leave
    /// expired leases over in more consecutive cycles than `unwarned-reclaim-cycles`.
    fn warn_of_slow_reclamation(&self) {
        let (warnings, cycles) = self.parts.table.take_reclaim_warnings();
        for _ in 0..warnings {
            tracing::warn!(
                target: "alloc-engine",
                id = "ALLOC_ENGINE_VX_LEASES_RECLAMATION_SLOW",
                "lease reclamation is too slow: more than {cycles} cycles in a row left expired \
                 leases over; raise max-reclaim-leases or max-reclaim-time"
            );
        }
    }

    /// Logs the counters of every shard, for a verbose daemon.
    pub(crate) fn report(&self) {
        for (index, counted) in self.counters.shards.iter().enumerate() {
            let messages = counted.messages.entries().map(|(name, value)| (name.to_owned(), value));
            let entries: Vec<String> = messages
                .chain(counted.frames.entries())
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            let text = if entries.is_empty() { "nothing".into() } else { entries.join(", ") };
            tracing::info!(target: DAEMON, id = "DHCPX_SHARD_COUNTERS", "shard {index}: {text}");
        }
    }

    /// Ends the control thread and the lease store. Shards must have ended.
    ///
    /// # Errors
    ///
    /// An error of the store about rows that it could not write.
    pub(crate) fn close(self) -> Result<(), ServerError> {
        if let Some(statistics) = self.statistics {
            statistics.stop();
        }
        let mut parts = self.parts;
        parts.control.stop();
        parts.lease_queries.stop();
        parts.message_log.stop();
        // Rows that are still to be written become durable, and their events follow.
        let closed = parts.leases.close();
        if let Some(ha) = &parts.ha {
            ha.end();
        }
        parts.events.stop();
        if let Some(ha) = &mut parts.ha {
            ha.stop();
        }
        closed
    }
}

/// Wakes the shards of all `wakers`.
pub(crate) fn wake(wakers: &[Arc<Waker>]) {
    wakers.iter().for_each(|waker| waker.wake());
}
