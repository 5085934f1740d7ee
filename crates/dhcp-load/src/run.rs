//! Whole load run: opens sockets, starts threads, and adds up their results.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use base::time::NS_PER_MS;
use base::{ToolError, ToolResult};
use load::{LoadPeriod, Schedule, ThreadShare, Timeline};
use netio::{Clock, MessageOutbox, MessageRoute, NetError, UdpOptions, UdpSocket, neighbor};

use crate::drive::DhcpLoadThread;
use crate::frames::Frames;
use crate::identities::ExchangeIdentities;
use crate::leases::{LeaseLog, LeasedResource};
use crate::population::Population;
use crate::protocol::{DhcpLoadProtocol, DhcpLoadTarget, DhcpThreadSetup};
use crate::record::{DhcpLoadReport, SocketFacts};
use crate::settings::{DhcpLoadSettings, Segmentation};
use crate::silence;
use crate::wire::GeneratorSocket;

/// Size of the socket buffers that the generator requests, in bytes of kernel memory: a tenth of a
/// second of replies to 150,000 exchanges per second.
const BUFFER_BYTES: usize = 64 << 20;
/// Time from the moment when the generator is ready to the first due time, in nanoseconds: the
/// threads take that long to start.
const LEAD_NS: u64 = 20 * NS_PER_MS;

/// Runs the load until the schedule has ended and no exchange is open, or, after `stop` was set, as
/// long as exchanges are open. Returns the report of the run, with the record `godwit.load.v1` that
/// `godwit lab` reads.
///
/// # Errors
///
/// Fails when the settings cannot work or the environment refuses a socket, a processor or a file.
pub fn run_report<T: DhcpLoadTarget>(
    settings: &DhcpLoadSettings<T>,
    stop: &AtomicBool,
) -> ToolResult<DhcpLoadReport> {
    ToolError::refuse(&settings.problems())?;
    let threads = settings.threads;
    let setups = (0..threads)
        .map(|thread| settings.target.open(thread, threads, settings.expect))
        .collect::<Result<Vec<_>, _>>()?;
    let server = setups.first().map(|setup| setup.destination);
    let facts = SocketFacts::from_setups(&setups, BUFFER_BYTES)
        .map_err(NetError::on("ask", "the generator's sockets"))?;
    let segmentation = choose_segmentation(settings.segmentation, &setups)?;
    // Allocation takes time and must be over before the schedule begins.
    let mut generators = Vec::new();
    for (setup, thread) in setups.into_iter().zip(0..) {
        let DhcpThreadSetup { socket, protocol, destination, sources } = setup;
        if segmentation {
            // Replies that a server sent in groups stay in groups until the generator reads them.
            socket.coalesce().map_err(NetError::on("coalesce on", "the generator's sockets"))?;
        }
        let population = population(settings, thread, protocol);
        let route = MessageRoute { destination, sources, segmentation };
        let message_bytes = population.protocol().message_bytes_max();
        let outbox = outbox(settings.frames.as_ref(), route, &socket, thread, message_bytes)?;
        let wire = GeneratorSocket::new(socket, outbox, segmentation)
            .chatty(settings.chatty)
            .paced(settings.turn_ns);
        generators.push((wire, population));
    }
    let start_ns = settings.begin_at_ns.unwrap_or_else(|| Clock::mono_ns() + LEAD_NS);
    let generators = generators.into_iter().zip(0..).map(|((wire, mut population), thread)| {
        population.starts_at(start_ns);
        population.keep_timeline(Timeline::for_run(
            start_ns,
            settings.timeline_ns,
            settings.duration_ns,
            settings.limits,
        ));
        population.expect_repeats(settings.chatty);
        let schedule = schedule(settings, start_ns, thread);
        DhcpLoadThread::new(wire, population, schedule, settings.quiet_ns)
            .lingering(settings.linger_ns)
    });
    let jobs = generators.map(|load_thread| move || load_thread.run(stop)).collect();
    let results = netio::thread::run_timed("load", "the generator's socket", &settings.cpus, jobs)?;
    let (mut report, leases) =
        DhcpLoadReport::from_thread_results(settings, start_ns, results, facts);
    if report.is_unanswered()
        && let Some(server) = server
    {
        report.warnings.push(silence::reason(server));
    }
    if let Some(path) = &settings.leases {
        write_leases(path, &leases).map_err(ToolError::cannot("write", path.display()))?;
    }
    Ok(report)
}

/// Returns the options of a generator's UDP socket at the address `bind`.
pub(crate) fn socket_options(bind: impl Into<SocketAddr>) -> UdpOptions {
    UdpOptions {
        broadcast: true,
        receive_buffer_bytes: Some(BUFFER_BYTES),
        send_buffer_bytes: Some(BUFFER_BYTES),
        ..UdpOptions::at(bind)
    }
}

/// Creates the output queue of one thread for messages of up to `message_bytes` bytes on `route`.
/// With `frames` messages leave as frames, and each `thread` has a queue of the interface to
/// itself; otherwise they leave by `socket`.
fn outbox(
    frames: Option<&Frames>,
    route: MessageRoute,
    socket: &UdpSocket,
    thread: u32,
    message_bytes: usize,
) -> ToolResult<MessageOutbox> {
    let Some(frames) = frames else { return Ok(MessageOutbox::new(route, message_bytes)) };
    let server = route.destination;
    if let Some(problem) = Frames::problem(server) {
        return Err(ToolError::Usage(problem));
    }
    let outbox = frames.outbox(route, socket, thread, message_bytes)?;
    outbox.ok_or_else(|| ToolError::Usage(neighbor::unknown(server.ip())))
}

fn choose_segmentation<P>(
    segmentation: Segmentation,
    setups: &[DhcpThreadSetup<P>],
) -> Result<bool, NetError> {
    let is_supported = setups.iter().all(|setup| setup.socket.supports_segmentation());
    match segmentation {
        Segmentation::Off => Ok(false),
        Segmentation::On if !is_supported => {
            let cause = io::Error::from(io::ErrorKind::Unsupported);
            Err(NetError::new("segment on", "this kernel", cause))
        }
        Segmentation::On | Segmentation::Auto => Ok(is_supported),
    }
}

fn population<T: DhcpLoadTarget>(
    settings: &DhcpLoadSettings<T>,
    thread: u32,
    protocol: T::Protocol,
) -> Population<T::Protocol> {
    let identities = ExchangeIdentities {
        thread: thread.into(),
        threads: settings.threads.into(),
        client_offset: settings.client_offset,
        clients: settings.clients,
        xid_base: ExchangeIdentities::xid_base_of(settings.seed),
        xid_bits: T::Protocol::XID_BITS,
    };
    // A quarter above the mean and a minimum: a Poisson schedule needs that at any rate.
    let slack = |count: u64| count * 5 / 4 + 1_024;
    let most_in = |window_ns: u64| {
        let all = settings.shape.most_in(settings.rate, window_ns);
        slack(all.div_ceil(settings.threads.into()))
    };
    let capacity = most_in(settings.limits.watched_ns());
    let exchanges = most_in(settings.duration_ns);
    let leases = exchanges.saturating_mul(protocol.leases_per_exchange());
    let rows_max = LeaseLog::<<T::Protocol as DhcpLoadProtocol>::Resource>::rows_max;
    let log = LeaseLog::with_capacity(leases.min(rows_max(settings.threads.into())));
    Population::new(identities, settings.limits, settings.expect, protocol, capacity, log)
}

fn schedule<T>(settings: &DhcpLoadSettings<T>, start_ns: u64, thread: u64) -> Schedule {
    let period = LoadPeriod { start_ns, duration_ns: settings.duration_ns };
    let share = ThreadShare { thread, threads: settings.threads.into() };
    Schedule::for_thread(&settings.shape, settings.rate, period, share, settings.seed)
}

fn write_leases<R: LeasedResource>(path: &Path, leases: &LeaseLog<R>) -> io::Result<()> {
    let mut out = io::BufWriter::new(fs::File::create(path)?);
    leases.write_csv(&mut out)?;
    io::Write::flush(&mut out)
}
