//! Daemon of either family: the order in which its parts start, and its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dhcp_config::{
    CheckedConfig, DhcpConfig, Durability, ExpiredLeases, GlobalSettings, LeaseChecks, Shards,
};
use dhcp_engine::shard::Shard;
use dhcp_engine::snapshot::Snapshot;
use dhcp_engine::{InFlight, ReplySink, reclaim};
use dhcp_lease::LeaseTable;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use netio::script_runner::ScriptRunner;
use netio::signal::Signals;
use netio::{Clock, Waker, confine};

use crate::ServerError;
use crate::admission::refuse_dangerous;
use crate::control::{ControlThread, Inbox};
use crate::events::{
    self, DurabilityWakeup, EventConsumers, EventService, LegalLogService, ListenerParts,
    ScriptPool,
};
use crate::frames::FrameCounters;
use crate::ha::{self, HaServices};
use crate::hosts::HostsDatabases;
use crate::latency::{Latencies, Stopwatch};
use crate::lease_query::BulkLeaseQueries;
use crate::leases::LeaseBackend;
use crate::listeners::{ListenerManager, ListenerSocketOptions, STANDING_BYTES};
use crate::loading::LeaseTableIntake;
use crate::log::{self, counted};
use crate::loggers::DAEMON;
use crate::message_log::{self, MessageLog, NoticeRecorder};
use crate::panics;
use crate::pid_file::PidFile;
use crate::policy;
use crate::published::PublishedValue;
use crate::reload::{ConfigurationReadOptions, read_configuration};
use crate::service::DaemonFamily;
use crate::service_switch::ServiceSwitch;
use crate::shard_loop::{ShardThread, SharedDaemonState, serve};
use crate::supervisor::{
    ActiveConfiguration, ShardCounterSources, SupervisedParts, Supervisor, wake,
};
use crate::transmit::{Addressing, Batches, ReplyTransmitter};
use crate::watchdog::Pulses;

/// Settings of the daemon from its command line.
#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// Path of the server's configuration file.
    pub configuration: PathBuf,
    /// UDP port that the server listens at (67, for DHCPv6 547).
    pub port: u16,
    /// Destination port of replies instead of 67 and 68 (DHCPv4) or 547 and 546 (DHCPv6), for
    /// tests.
    pub client_port: Option<u16>,
    /// True if the server sends replies to the source address of the request; for test networks
    /// with many relay agents.
    pub to_source: bool,
    /// True if the server logs its counters every ten seconds.
    pub is_verbose: bool,
    /// Options with which the server reads configurations.
    pub terms: ConfigurationReadOptions,
    /// True in repair mode (Kea's `-R`): the server answers no client, ends no lease, and loads
    /// leases without checks.
    pub is_repairing: bool,
    /// Names of features of Kea that this version lacks and whose dangerous absence the operator
    /// accepts (`--accept-inactive`).
    pub accept_inactive: Vec<String>,
}

impl DaemonSettings {
    /// Returns the settings of lease expiry: `configured`, or without timers in repair mode.
    pub(crate) fn expired(&self, configured: &ExpiredLeases) -> ExpiredLeases {
        let mut expired = *configured;
        if self.is_repairing {
            expired.reclaim_timer_wait_s = 0;
            expired.flush_reclaimed_timer_wait_s = 0;
        }
        expired
    }
}

/// Number of clients whose messages may be in work at a time before the set of these clients has to
/// grow.
const IN_FLIGHT_CAPACITY: usize = 16_384;

/// Maximum number of threads that serve clients (shards), independent of the number of processors.
const SHARDS_MAX: u16 = 1_024;

/// Runs the DHCPv4 server by `settings` until SIGTERM or SIGINT.
///
/// # Errors
///
/// The reason why the server could not start, or had to stop.
pub fn run_dhcp4(settings: &DaemonSettings) -> Result<(), ServerError> {
    run::<V4>(settings)
}

/// Runs the DHCPv6 server by `settings` until SIGTERM or SIGINT.
///
/// # Errors
///
/// The reason why the server could not start, or had to stop.
pub fn run_dhcp6(settings: &DaemonSettings) -> Result<(), ServerError> {
    run::<V6>(settings)
}

fn run<P: DaemonFamily>(settings: &DaemonSettings) -> Result<(), ServerError>
where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    netio::process::restrict_umask();
    panics::install();
    let new_folders = policy::make_folders();
    // Both need a process with one thread.
    let script_runner = events::start_runner(&settings.configuration);
    let restricted = restrict(settings);
    log::start(P::NAME);
    warn_of_flags(P::NAME, settings);
    for folder in new_folders {
        tracing::info!(
            target: DAEMON,
            id = "DHCPX_FOLDER_MADE",
            "made the folder {}, which was missing",
            folder.display()
        );
    }
    for reason in restricted.into_iter().filter_map(Result::err) {
        tracing::warn!(
            target: DAEMON,
            id = "DHCPX_NOT_CONFINED",
            "the server keeps rights that it does not need: {reason}"
        );
    }
    let ended = serve_until_stopped::<P>(settings, script_runner);
    match &ended {
        Ok(()) | Err(ServerError::Commanded(_)) => {}
        // The caller reports the error in any case; the log gets it only when it goes elsewhere.
        Err(error) if log::is_configured() => {
            tracing::error!(target: DAEMON, id = "DHCPX_SERVER_FAILED", fatal = true, "{error}");
        }
        Err(_) => {}
    }
    log::flush();
    ended
}

/// Gives up privileges that no control command can need: capabilities, system calls and, unless
/// `-X` permits files anywhere, writing outside the server's folders.
fn restrict(settings: &DaemonSettings) -> [Result<(), String>; 3] {
    let files = if settings.terms.is_unrestricted {
        Ok(())
    } else {
        confine::restrict_files(&policy::writable(&settings.configuration))
    };
    [confine::drop_capabilities(), files, confine::restrict_calls()]
}

/// Logs Kea 3's warnings about the way the server was started.
fn warn_of_flags(name: &str, settings: &DaemonSettings) {
    if netio::process::is_root() {
        let id = "DHCPX_ROOT_USER_SECURITY_WARNING";
        tracing::warn!(target: DAEMON, id, "kea-{name} running as root user!");
    }
    if settings.is_repairing {
        tracing::warn!(
            target: DAEMON,
            id = "DHCPX_CB_REPAIR_MODE_ENABLED",
            "repair mode (-R): the server answers no client, and leases do not expire"
        );
    }
    if settings.terms.is_unrestricted {
        tracing::warn!(
            target: DAEMON,
            id = "DHCPX_SECURITY_CHECKS_DISABLED",
            "-X turns errors of security checks into warnings"
        );
    }
}

fn serve_until_stopped<P: DaemonFamily>(
    settings: &DaemonSettings,
    script_runner: Option<std::io::Result<ScriptRunner>>,
) -> Result<(), ServerError>
where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    let _pid_file = PidFile::claim(P::NAME, &settings.configuration)?;
    let signals = Signals::install().map_err(system("install signal handlers"))?;
    let script_runner = script_runner.transpose().map_err(system("start a process for scripts"))?;
    let scripts = script_runner.map(ScriptPool::start).transpose()?;
    let checked = checked::<P>(settings)?;
    events::check(&checked.config.global, scripts.is_some())?;
    let global = &checked.config.global;
    log::configure(&global.loggers);
    message_log::set_terms(global.decline_probation_period_s, &global.expired_leases);
    let shards = shard_count(global.godwit.shards);
    let sockets = socket_options::<P>(global, settings, shards);
    let listening = P::listening(&checked.config);
    let listener_manager = ListenerManager::start(listening, sockets, Clock::mono_ns())?;
    let constants = P::constants(&checked.config)?;
    let table = empty_table::<P>(global, settings);
    let snapshot = P::compile(&checked.config, &constants, &table);
    let wakers = wakers(shards)?;
    let wakeup = DurabilityWakeup::new(wakers.clone());
    let leases = open_leases::<P>(&checked.config, settings, &table, &snapshot, &wakeup)?;
    let hosts = open_hosts::<P>(&checked, &wakers)?;
    let store = leases.store(wakers.len() + 1);
    let listener_parts = ListenerParts::new(settings.port, scripts);
    let mut events = EventService::new(Arc::clone(&table), wakeup, store, listener_parts);
    let answers_partner = !global.high_availability.is_empty();
    let (control, inbox) = ControlThread::start(events.source(), answers_partner)?;
    control.configure(ha::control_sockets(global)).map_err(ServerError::Control)?;
    let shared = Arc::new(SharedDaemonState {
        stop: AtomicBool::new(false),
        service: ServiceSwitch::new(usize::from(shards), settings.is_repairing),
        snapshot: PublishedValue::new(Arc::clone(&snapshot), usize::from(shards)),
        listeners: listener_manager.published(),
        table: Arc::clone(&table),
        pulses: Pulses::new(usize::from(shards)),
    });
    let mut lease_queries = BulkLeaseQueries::new(Arc::clone(&shared));
    lease_queries.configure(global.lease_query.as_ref())?;
    let in_force = ActiveConfiguration::<P>::new(checked, snapshot);
    let legal_log = Arc::new(LegalLogService::new(events.parts().scripts.as_ref()));
    legal_log.follow::<P>(&in_force.config)?;
    let (pairs, outlines) = (&in_force.config.global.high_availability, &in_force.outlines);
    let ha = HaServices::new(pairs, P::NAME, &inbox.shared_waker(), outlines);
    let services = EventConsumers { legal_log: Some(&legal_log), ha: ha.as_ref() };
    events.configure(&in_force.config, &in_force.outlines, services)?;
    let mut message_log = MessageLog::new(wakers.len());
    message_log.start_if_enabled()?;
    let parts = SupervisedParts {
        listener_manager,
        table,
        leases,
        events,
        legal_log,
        ha,
        hosts,
        wakers,
        in_force,
        constants,
        control,
        lease_queries,
        message_log,
    };
    let supervisor = Supervisor::new(settings.clone(), Arc::clone(&shared), parts);
    supervise(supervisor, &shared, &signals, inbox)
}

/// Returns the lease table of a server that starts, without leases.
fn empty_table<P: DaemonFamily>(
    global: &GlobalSettings,
    settings: &DaemonSettings,
) -> Arc<LeaseTable<P>> {
    let mut table = LeaseTable::new(unpredictable_seed());
    if global.lease_query.is_some() {
        table = table.with_whole_clients_indexed();
    }
    table.begin(Clock::now());
    reclaim::apply_expiry(&table, &settings.expired(&global.expired_leases));
    Arc::new(table)
}

/// Runs the shards under `supervisor` until the server is to stop.
fn supervise<P: DaemonFamily>(
    mut supervisor: Supervisor<P>,
    shared: &SharedDaemonState<P>,
    signals: &Signals,
    inbox: Inbox,
) -> Result<(), ServerError>
where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    let threads = spawn_shards(&mut supervisor)?;
    let ended = supervisor.run(signals, &inbox);
    supervisor.report_end();
    // No command gets an answer any more.
    drop(inbox);
    shared.stop.store(true, Ordering::Release);
    wake(supervisor.wakers());
    for thread in threads {
        thread.join().expect("a shard that panics ends the process");
    }
    supervisor.report();
    supervisor.close()?;
    end_by(ended?)
}

/// Returns the end of a server with the exit code `code`.
const fn end_by(code: i32) -> Result<(), ServerError> {
    match code {
        0 => Ok(()),
        // The operating system keeps eight bits.
        code => Err(ServerError::Commanded((code & 0xff) as u8)),
    }
}

fn socket_options<P: DaemonFamily>(
    global: &GlobalSettings,
    settings: &DaemonSettings,
    shards: u16,
) -> ListenerSocketOptions {
    ListenerSocketOptions {
        port: settings.port,
        shards,
        steering: P::STEERING,
        coalesce: global.godwit.segmentation,
        receive_buffer_bytes: (global.godwit.receive_buffer_bytes)
            .map_or(STANDING_BYTES, |bytes| bytes as usize),
    }
}

/// Reads and checks the server's configuration and logs its warnings.
fn checked<P: DaemonFamily>(
    settings: &DaemonSettings,
) -> Result<CheckedConfig<DhcpConfig<P>>, ServerError> {
    let checked = read_configuration(&settings.configuration, &settings.terms)?;
    checked.warnings.iter().for_each(log::problem);
    refuse_dangerous(&checked.config.global.inactive, &settings.accept_inactive)?;
    Ok(checked)
}

/// Starts a thread for every shard of the server.
fn spawn_shards<P: DaemonFamily>(
    supervisor: &mut Supervisor<P>,
) -> Result<Vec<thread::JoinHandle<()>>, ServerError>
where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    let in_flight = Arc::new(InFlight::new(unpredictable_seed(), IN_FLIGHT_CAPACITY));
    let mut threads = Vec::new();
    for index in 0..supervisor.wakers().len() {
        threads.push(spawn(index, supervisor, Arc::clone(&in_flight))?);
    }
    let in_force = supervisor.in_force();
    tracing::info!(
        target: DAEMON,
        id = "DHCPX_STARTED",
        "serving {} on port {} with {}, durability {}",
        counted(in_force.snapshot.subnets().len(), "subnet"),
        supervisor.settings().port,
        counted(threads.len(), "shard"),
        durability_name(in_force.config.global.godwit.durability)
    );
    Ok(threads)
}

fn spawn<P: DaemonFamily>(
    index: usize,
    supervisor: &mut Supervisor<P>,
    in_flight: Arc<InFlight>,
) -> Result<thread::JoinHandle<()>, ServerError>
where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    let settings = supervisor.settings();
    let in_force = supervisor.in_force();
    let store = supervisor.leases().store(index);
    let mut shard = Shard::new(store, Arc::clone(&in_force.snapshot), in_flight);
    shard.set_prefetch(netio::prefetch);
    shard.set_event_gate(supervisor.events().gate());
    shard.set_pair_filters(supervisor.pair_filters());
    if let Some(hosts) = supervisor.hosts() {
        shard.set_hosts(hosts.cache(index, unpredictable_seed()));
    }
    let frames = Arc::<FrameCounters>::default();
    let latencies = Arc::new(Latencies::new::<P>());
    let counted = ShardCounterSources {
        messages: shard.counters(),
        frames: Arc::clone(&frames),
        latencies: Arc::clone(&latencies),
    };
    let godwit = &in_force.config.global.godwit;
    let shard_thread = ShardThread {
        index,
        shard,
        waker: Arc::clone(&supervisor.wakers()[index]),
        frame_counters: frames,
        addressing: Addressing {
            server_port: settings.port,
            client_port: settings.client_port,
            to_source: settings.to_source,
            is_routed: false,
        },
        batches: Batches::new(godwit.segmentation),
        has_fixed_room: godwit.receive_buffer_bytes.is_some(),
        stopwatch: Stopwatch::new(latencies),
        recorder: NoticeRecorder::new(supervisor.mailbox(index)),
        event_reporter: supervisor.events().reporter(supervisor.leases().is_volatile()),
    };
    supervisor.count(counted);
    let shared = supervisor.shared();
    thread::Builder::new()
        .name(format!("{}-{index}", P::NAME))
        .spawn(move || serve(shard_thread, &shared))
        .map_err(system("start a shard's thread"))
}

/// Returns the number of threads that serve clients (shards). `Processors` stands for the
/// processors that this process may use.
fn shard_count(shards: Shards) -> u16 {
    match shards {
        Shards::Fixed(count) => count.max(1),
        Shards::Processors => thread::available_parallelism()
            .map_or(1, |count| u16::try_from(count.get()).unwrap_or(SHARDS_MAX).min(SHARDS_MAX)),
    }
}

fn wakers(shards: u16) -> Result<Vec<Arc<Waker>>, ServerError> {
    (0..shards).map(|_| Waker::new().map(Arc::new).map_err(system("open an event"))).collect()
}

fn open_leases<P: DaemonFamily>(
    config: &DhcpConfig<P>,
    settings: &DaemonSettings,
    table: &Arc<LeaseTable<P>>,
    snapshot: &Snapshot<P>,
    wakeup: &DurabilityWakeup,
) -> Result<LeaseBackend<P>, ServerError> {
    let wakeup = wakeup.clone();
    let global = &config.global;
    let checks = if settings.is_repairing { LeaseChecks::None } else { global.lease_checks };
    let extended_checks = global.extended_info_checks;
    let loading = LeaseTableIntake::new(checks, extended_checks, table, snapshot, Clock::now());
    LeaseBackend::open(config, loading, table, wakeup)
}

fn open_hosts<P: DaemonFamily>(
    checked: &CheckedConfig<DhcpConfig<P>>,
    wakers: &[Arc<Waker>],
) -> Result<Option<HostsDatabases<P>>, ServerError> {
    let to_wake = wakers.to_vec();
    let global = &checked.config.global;
    let document = checked.document.to_json();
    HostsDatabases::open(global, &document, wakers.len(), move |shard| to_wake[shard].wake())
}

const fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::None => "none",
        Durability::Interval => "interval",
        Durability::Always => "always",
    }
}

/// Returns a seed that clients cannot guess, for hashes of values that clients choose.
pub(crate) fn unpredictable_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

fn system(tried: &'static str) -> impl FnOnce(std::io::Error) -> ServerError {
    move |cause| ServerError::System { tried, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lease_ends_in_repair_mode() {
        let mut settings = DaemonSettings {
            configuration: PathBuf::new(),
            port: 67,
            client_port: None,
            to_source: false,
            is_verbose: false,
            terms: ConfigurationReadOptions::default(),
            is_repairing: false,
            accept_inactive: Vec::new(),
        };
        let configured = ExpiredLeases::default();
        assert_eq!(settings.expired(&configured), configured);
        settings.is_repairing = true;
        let repairing = settings.expired(&configured);
        let timers = (repairing.reclaim_timer_wait_s, repairing.flush_reclaimed_timer_wait_s);
        assert_eq!(timers, (0, 0));
        assert_eq!(repairing.hold_reclaimed_s, configured.hold_reclaimed_s);
    }
}
