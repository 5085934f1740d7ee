//! The daemon as a whole: what starts in which order, and how it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dhcp_config::Durability;
use dhcp_engine::counters::ShardCounters;
use dhcp_engine::shard::Shard;
use dhcp_engine::{InFlight, Transmit};
use dhcp_lease::LeaseTable;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use netio::signal::Signals;
use netio::{Clock, PollFd, Waker};

use crate::ServerError;
use crate::commands;
use crate::control::{ControlThread, Inbox, Question};
use crate::doors::Tending;
use crate::frames::FrameCounters;
use crate::leases::{Leases, ServerStore};
use crate::log::{self, DAEMON, counted};
use crate::published::Published;
use crate::service::Service;
use crate::shard_loop::{Desk, Shared, serve};
use crate::transmit::{Addressing, Batches, Replies};

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The configuration file.
    pub configuration: PathBuf,
    /// UDP port to listen at (67, in v6 547).
    pub port: u16,
    /// UDP port to answer to instead of 67 and 68, in v6 547 and 546; for tests.
    pub client_port: Option<u16>,
    /// Answer to where the datagram came from; for labs with many relays.
    pub to_source: bool,
    /// Log the counters every ten seconds.
    pub is_verbose: bool,
}

/// Clients that may be in flight without the registry growing.
const IN_FLIGHT_CAPACITY: usize = 16_384;

/// Serves DHCPv4 until SIGTERM or SIGINT.
///
/// # Errors
///
/// Why it could not start, or why it had to stop.
pub fn run_dhcp4(settings: &Settings) -> Result<(), ServerError> {
    run::<V4>(settings)
}

/// Serves DHCPv6 until SIGTERM or SIGINT.
///
/// # Errors
///
/// Why it could not start, or why it had to stop.
pub fn run_dhcp6(settings: &Settings) -> Result<(), ServerError> {
    run::<V6>(settings)
}

fn run<P: Service>(settings: &Settings) -> Result<(), ServerError>
where
    for<'d> Replies<'d>: Transmit<P>,
{
    log::start(P::NAME);
    let ended = serve_until_told::<P>(settings);
    log::flush();
    ended
}

fn serve_until_told<P: Service>(settings: &Settings) -> Result<(), ServerError>
where
    for<'d> Replies<'d>: Transmit<P>,
{
    let signals = Signals::install().map_err(system("install signal handlers"))?;
    let config = checked::<P>(settings)?;
    let common = P::shared(&config);
    log::configure(common.loggers);
    let shards = common.godwit.shards.max(1);
    let sockets = (settings.port, shards, P::steer as _);
    let tending = Tending::start(common.listening, sockets, Clock::mono_ns())?;
    let constants = P::constants(&config)?;
    let table = Arc::new(LeaseTable::new(unpredictable_seed()));
    let snapshot = P::compile(&config, &constants, &table);
    let wakers = wakers(shards)?;
    let leases = open_leases::<P>(&config, &table, &snapshot, &wakers)?;
    let (control, inbox) = ControlThread::start()?;
    control.configure(common.control_sockets.to_vec()).map_err(ServerError::Control)?;
    let daemon = Daemon::<P> {
        settings: settings.clone(),
        shared: Arc::new(Shared {
            stop: AtomicBool::new(false),
            snapshot: Published::new(Arc::clone(&snapshot), usize::from(shards)),
            doors: tending.published(),
        }),
        tending,
        table,
        wakers,
        config,
        constants,
        control,
        inbox,
    };
    daemon.run(signals, leases, &snapshot)
}

/// The configuration, its warnings told.
fn checked<P: Service>(settings: &Settings) -> Result<P::Config, ServerError> {
    let checked = P::read(&settings.configuration)?;
    for warning in &checked.warnings {
        tracing::warn!(target: DAEMON, "{warning}");
    }
    if P::shared(&checked.config).listening.is_empty() {
        return Err(ServerError::NoInterfaces);
    }
    Ok(checked.config)
}

struct Daemon<P: Service> {
    settings: Settings,
    shared: Arc<Shared<P>>,
    tending: Tending,
    table: Arc<LeaseTable<P>>,
    wakers: Vec<Arc<Waker>>,
    config: P::Config,
    constants: P::Constants,
    control: ControlThread,
    inbox: Inbox,
}

impl<P: Service> Daemon<P>
where
    for<'d> Replies<'d>: Transmit<P>,
{
    fn run(
        mut self,
        signals: Signals,
        leases: Leases<P>,
        snapshot: &Arc<P::Snapshot>,
    ) -> Result<(), ServerError> {
        let in_flight = Arc::new(InFlight::new(unpredictable_seed(), IN_FLIGHT_CAPACITY));
        let mut counters = Vec::new();
        let mut threads = Vec::new();
        for index in 0..self.wakers.len() {
            let store = leases.store(index);
            let shard = Shard::new(store, Arc::clone(snapshot), Arc::clone(&in_flight));
            let frame_counters = Arc::default();
            counters.push((shard.counters(), Arc::clone(&frame_counters)));
            threads.push(self.spawn(index, shard, frame_counters)?);
        }
        tracing::info!(
            target: DAEMON,
            id = "DHCPX_STARTED",
            "serving {} on port {} with {}, durability {}",
            counted(P::subnet_count(snapshot), "subnet"),
            self.settings.port,
            counted(threads.len(), "shard"),
            durability_name(P::shared(&self.config).godwit.durability)
        );
        let ended = self.supervise(signals, &leases, &counters);
        self.control.stop();
        self.shared.stop.store(true, Ordering::Release);
        wake(&self.wakers);
        for thread in threads {
            thread.join().expect("a shard that panics ends the process");
        }
        report(&counters);
        leases.close()?;
        ended
    }

    fn spawn(
        &self,
        index: usize,
        shard: Shard<P, ServerStore<P>>,
        frame_counters: Arc<FrameCounters>,
    ) -> Result<thread::JoinHandle<()>, ServerError> {
        let shared = Arc::clone(&self.shared);
        let desk = Desk {
            index,
            shard,
            waker: Arc::clone(&self.wakers[index]),
            frame_counters,
            addressing: Addressing {
                server_port: self.settings.port,
                client_port: self.settings.client_port,
                to_source: self.settings.to_source,
            },
            batches: Batches::new(P::shared(&self.config).godwit.segmentation),
        };
        thread::Builder::new()
            .name(format!("{}-{index}", P::NAME))
            .spawn(move || serve(desk, &shared))
            .map_err(system("start a shard's thread"))
    }

    /// Waits for signals; ends when asked to stop, and when the log thread has given up on the
    /// lease file.
    fn supervise(
        &mut self,
        signals: Signals,
        leases: &Leases<P>,
        counters: &[Counted<P>],
    ) -> Result<(), ServerError> {
        let mut now_ns = Clock::mono_ns();
        let mut report_due_ns = now_ns + REPORT_NS;
        loop {
            let mut fds = vec![PollFd::readable(&signals)];
            fds.push(PollFd::readable(self.inbox.waker()));
            fds.extend(self.tending.poll_fd(now_ns));
            // A failed wait only means that the next look comes early.
            netio::poll(&mut fds, Some(SUPERVISE_NS)).ok();
            now_ns = Clock::mono_ns();
            signals.drain();
            if signals.stop().load(Ordering::Acquire) {
                tracing::info!(target: DAEMON, id = "DHCPX_SHUTDOWN", "stopping");
                return Ok(());
            }
            if signals.take_reload() {
                self.reload(now_ns)?;
            }
            self.answer_questions();
            let wakers = &self.wakers;
            self.tending.tend(now_ns, &|| wake(wakers))?;
            if self.settings.is_verbose && now_ns >= report_due_ns {
                report(counters);
                report_due_ns += REPORT_NS;
            }
            if leases.report_problems() {
                return Ok(());
            }
        }
    }

    /// Answers what clients of the control sockets have asked meanwhile.
    fn answer_questions(&mut self) {
        self.inbox.waker().drain();
        while let Some(asked) = self.inbox.next() {
            let text = match &asked.question {
                Question::Command(command) => commands::execute(command).to_string(),
                Question::Metrics => String::new(),
            };
            asked.answer(text);
        }
    }

    /// Reads the configuration again; on any problem the old one stays in force.
    fn reload(&mut self, now_ns: u64) -> Result<(), ServerError> {
        let config = match checked::<P>(&self.settings) {
            Ok(config) => config,
            Err(error) => {
                tracing::error!(target: DAEMON, id = "DHCPX_CONFIG_LOAD_FAIL", "{error}");
                tracing::error!(target: DAEMON, "reload refused, the old configuration stays");
                return Ok(());
            }
        };
        let (new, old) = (P::shared(&config), P::shared(&self.config));
        if new.lease_database != old.lease_database || new.godwit != old.godwit {
            tracing::warn!(
                target: DAEMON, "changes of lease database and godwit settings wait for a restart"
            );
        }
        if let Err(problems) = self.control.configure(new.control_sockets.to_vec()) {
            let error = ServerError::Control(problems);
            tracing::error!(target: DAEMON, id = "DHCPX_CONFIG_LOAD_FAIL", "{error}");
            tracing::error!(target: DAEMON, "reload refused, the old configuration stays");
            return Ok(());
        }
        log::configure(new.loggers);
        let snapshot = P::compile(&config, &self.constants, &self.table);
        let subnets = counted(P::subnet_count(&snapshot), "subnet");
        self.shared.snapshot.store(snapshot);
        wake(&self.wakers);
        // Done when no shard answers from the old one; a batch takes far less than a millisecond.
        while !self.shared.snapshot.is_used() {
            thread::sleep(Duration::from_millis(1));
        }
        let wakers = &self.wakers;
        self.tending.reconfigure(new.listening, now_ns, &|| wake(wakers))?;
        tracing::info!(target: DAEMON, id = "DHCPX_CONFIG_COMPLETE", "reloaded, serving {subnets}");
        Ok(())
    }
}

/// How often the supervisor looks at the lease file's health.
const SUPERVISE_NS: u64 = 200 * base::time::NS_PER_MS;

/// How often a verbose daemon logs its counters.
const REPORT_NS: u64 = 10 * base::time::NS_PER_S;

fn wake(wakers: &[Arc<Waker>]) {
    wakers.iter().for_each(|waker| waker.wake());
}

fn wakers(shards: u16) -> Result<Vec<Arc<Waker>>, ServerError> {
    (0..shards).map(|_| Waker::new().map(Arc::new).map_err(system("open an event"))).collect()
}

fn open_leases<P: Service>(
    config: &P::Config,
    table: &Arc<LeaseTable<P>>,
    snapshot: &P::Snapshot,
    wakers: &[Arc<Waker>],
) -> Result<Leases<P>, ServerError> {
    let to_wake = wakers.to_vec();
    let common = P::shared(config);
    Leases::open(&common, table, snapshot, wakers.len(), move |shard| to_wake[shard].wake())
}

const fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::None => "none",
        Durability::Interval => "interval",
        Durability::Always => "always",
    }
}

/// What one shard counts.
type Counted<P> = (Arc<ShardCounters<P>>, Arc<FrameCounters>);

fn report<P: Service>(counters: &[Counted<P>]) {
    for (index, (messages, frames)) in counters.iter().enumerate() {
        let messages = messages.entries().map(|(name, value)| (name.to_owned(), value));
        let entries: Vec<String> = messages
            .chain(frames.entries())
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let text = if entries.is_empty() { "nothing".into() } else { entries.join(", ") };
        tracing::info!(target: DAEMON, "shard {index}: {text}");
    }
}

/// A seed that clients cannot guess, for the hashes that they feed.
fn unpredictable_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

fn system(tried: &'static str) -> impl FnOnce(std::io::Error) -> ServerError {
    move |cause| ServerError::System { tried, cause }
}
