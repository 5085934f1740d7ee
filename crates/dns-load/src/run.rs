//! Whole DNS load run: opens ports or connections, starts threads, and adds up their results.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::time::NS_PER_MS;
use base::{ToolError, ToolResult};
use dns_wire::query::QUERY_BYTES_MAX;
use load::{LoadPeriod, Schedule, ThreadShare, Timeline};
use netio::{
    Clock, FrameRoute, MessageOutbox, MessageRoute, NetError, ReadyList, UdpOptions, UdpSocket,
    file_limit, own_endpoint,
};

use crate::drive::{DnsLoadThread, DnsThreadResult, Fallback};
use crate::exchanges::Exchanges;
use crate::identities::QueryIdentities;
use crate::input::AnswerSource;
use crate::pacer::QueryPacer;
use crate::record::DnsLoadReport;
use crate::settings::{DnsLoadSettings, Transport};
use crate::tcp::{ConnectionRetirementRule, Connections, TcpGeneratorThread};

/// Size of the socket buffers that the generator requests over all ports, in bytes of kernel
/// memory.
const BUFFER_BYTES: usize = 64 << 20;
/// Smallest size of the socket buffers that the generator requests for one port, in bytes of kernel
/// memory.
const PORT_BUFFER_BYTES: usize = 1 << 20;
/// Time from the moment when the generator is ready to the first due time, in nanoseconds: the
/// threads take that long to start.
const LEAD_NS: u64 = 20 * NS_PER_MS;

/// Runs the DNS load until the schedule has ended and no query is open, or, after `stop` was set,
/// as long as queries are open; returns the report.
///
/// # Errors
///
/// Fails when the settings cannot work or the environment refuses a port or a processor.
pub fn run(settings: &DnsLoadSettings, stop: &AtomicBool) -> ToolResult<DnsLoadReport> {
    ToolError::refuse(&settings.problems())?;
    let follows = settings.transport == Transport::Udp { tc_fallback: true };
    let sockets = u64::from(settings.ports) * if follows { 2 } else { 1 };
    // Connections that wait for their last answers are extra, as many as the limit allows.
    if file_limit::need(sockets.saturating_add(settings.retiring())).is_err() {
        file_limit::need(sockets).map_err(ToolError::Failed)?;
    }
    match settings.transport {
        Transport::Udp { .. } => over_udp(settings, stop),
        Transport::Tcp => over_tcp(settings, stop),
    }
}

/// Runs a load over UDP: every thread with ports of its own, and with TCP connections where
/// truncated answers are followed.
fn over_udp(settings: &DnsLoadSettings, stop: &AtomicBool) -> ToolResult<DnsLoadReport> {
    // Allocation takes time and must be over before the schedule begins.
    let mut load_threads = Vec::new();
    for thread in 0..u64::from(settings.threads) {
        let ports = (0..settings.ports_of(thread)).map(|_| open(settings));
        let ports = ports.collect::<Result<Vec<_>, _>>()?;
        let addresses = ports.iter().map(UdpSocket::local_address).collect::<io::Result<Vec<_>>>();
        let addresses = addresses.map_err(NetError::on("ask", "the generator's ports"))?;
        load_threads.push(DnsLoadThread {
            input: input(settings, &ports, &addresses)?,
            addresses,
            ports,
            server: settings.server,
            exchanges: exchanges(settings, thread),
            pacer: pacer(settings, 0, thread),
            linger_ns: settings.linger_ns,
            outbox: outbox(settings, thread as u32)?,
            fallback: fallback(settings, thread)?,
        });
    }
    let receive_buffer_bytes = smallest_buffer(&load_threads)?;
    let start_ns = start_ns(settings);
    for (load_thread, thread) in load_threads.iter_mut().zip(0..) {
        load_thread.pacer = pacer(settings, start_ns, thread);
        load_thread.exchanges.keep_timeline(timeline(settings, start_ns));
        if load_thread.fallback.is_some() {
            load_thread.exchanges.follow_truncation();
        }
    }
    let jobs = load_threads.into_iter().map(|load_thread| move || load_thread.run(stop)).collect();
    let results = run_threads(&settings.cpus, jobs)?;
    Ok(DnsLoadReport::from_threads(settings, start_ns, results, Some(receive_buffer_bytes)))
}

/// Returns the earliest due time of the run's first query, in nanoseconds of the monotonic clock.
fn start_ns(settings: &DnsLoadSettings) -> u64 {
    settings.begin_at_ns.unwrap_or_else(|| Clock::mono_ns() + LEAD_NS)
}

/// Runs a load over TCP: every thread with connections of its own, all open before the first query
/// is due.
fn over_tcp(settings: &DnsLoadSettings, stop: &AtomicBool) -> ToolResult<DnsLoadReport> {
    let mut load_threads = Vec::new();
    for thread in 0..u64::from(settings.threads) {
        let (list, mut connections) = connections(settings, thread)?;
        connections.open_all(&list)?;
        load_threads.push(TcpGeneratorThread {
            connections,
            list,
            exchanges: exchanges(settings, thread),
            pacer: pacer(settings, 0, thread),
            linger_ns: settings.linger_ns,
            query: vec![0; query_bytes(settings)],
        });
    }
    let start_ns = start_ns(settings);
    for (load_thread, thread) in load_threads.iter_mut().zip(0..) {
        load_thread.pacer = pacer(settings, start_ns, thread);
        load_thread.exchanges.keep_timeline(timeline(settings, start_ns));
    }
    let jobs = load_threads.into_iter().map(|load_thread| move || load_thread.run(stop)).collect();
    let results = run_threads(&settings.cpus, jobs)?;
    Ok(DnsLoadReport::from_threads(settings, start_ns, results, None))
}

/// Returns the TCP connections of thread `thread`, none open, and the list that reports the
/// connections that are ready.
fn connections(
    settings: &DnsLoadSettings,
    thread: u64,
) -> Result<(ReadyList, Connections), NetError> {
    let list = ReadyList::new().map_err(NetError::on("make", "a list of connections"))?;
    let count = settings.ports_of(thread);
    let watched_ns = settings.limits.watched_ns();
    let queries = settings.queries_per_connection.map(u64::from);
    let retirement = queries.map(|queries| ConnectionRetirementRule { queries, watched_ns });
    Ok((list, Connections::new(settings.server, settings.local, count, retirement)))
}

fn fallback(
    settings: &DnsLoadSettings,
    thread: u64,
) -> Result<Option<(ReadyList, Fallback)>, NetError> {
    if settings.transport != (Transport::Udp { tc_fallback: true }) {
        return Ok(None);
    }
    let (list, connections) = connections(settings, thread)?;
    Ok(Some((list, Fallback { connections, query: vec![0; query_bytes(settings)] })))
}

/// Returns the smallest receive buffer that the kernel granted to a port, in bytes of kernel
/// memory.
fn smallest_buffer(load_threads: &[DnsLoadThread<'_>]) -> Result<usize, NetError> {
    let ports = load_threads.iter().flat_map(|load_thread| &load_thread.ports);
    let granted = ports.map(UdpSocket::receive_buffer_bytes).collect::<Result<Vec<_>, _>>();
    let granted = granted.map_err(NetError::on("ask", "the generator's ports"))?;
    Ok(granted.into_iter().min().unwrap_or(0))
}

/// Returns the size of the socket buffers that each port requests, in bytes of kernel memory.
pub(crate) fn port_buffer_bytes(settings: &DnsLoadSettings) -> usize {
    // The kernel grants even numbers.
    (BUFFER_BYTES / settings.ports as usize).max(PORT_BUFFER_BYTES) & !1
}

fn open(settings: &DnsLoadSettings) -> Result<UdpSocket, NetError> {
    let any: IpAddr = match settings.server.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let buffer_bytes = port_buffer_bytes(settings);
    UdpSocket::open(&UdpOptions {
        receive_buffer_bytes: Some(buffer_bytes),
        send_buffer_bytes: Some(buffer_bytes),
        coalesce: settings.segmentation,
        ..UdpOptions::at(own_endpoint(settings.local.unwrap_or(any), settings.server))
    })
}

fn outbox(settings: &DnsLoadSettings, thread: u32) -> Result<MessageOutbox, NetError> {
    let route = MessageRoute {
        destination: settings.server,
        sources: Vec::new(),
        segmentation: settings.segmentation,
    };
    match &settings.frames {
        Some(frames) if !settings.segmentation => {
            // Each thread has a queue of the interface to itself.
            let frames = FrameRoute { queue: thread, ..frames.clone() };
            MessageOutbox::for_frames(route, &frames, query_bytes(settings))
        }
        _ => Ok(MessageOutbox::new(route, query_bytes(settings))),
    }
}

/// Returns the source of a thread's answers: its ports, or the ring of an interface. A ring gets
/// the answers of all threads, so several threads read their ports instead.
fn input(
    settings: &DnsLoadSettings,
    ports: &[UdpSocket],
    addresses: &[SocketAddr],
) -> Result<AnswerSource, NetError> {
    match &settings.frames {
        Some(route) if settings.threads == 1 => {
            AnswerSource::at_interface(route, settings.server, ports, addresses)
        }
        _ if settings.segmentation => Ok(AnswerSource::at_ports_in_groups()),
        _ => Ok(AnswerSource::at_ports(settings.answer_bytes)),
    }
}

fn exchanges(settings: &DnsLoadSettings, thread: u64) -> Exchanges<'_> {
    let identities = QueryIdentities {
        ports: settings.ports_of(thread),
        id_base: QueryIdentities::id_base_of(settings.seed),
    };
    let threads = settings.threads.into();
    // A quarter above the mean and a minimum: a Poisson schedule needs that at any rate.
    let watched = settings.watched().div_ceil(threads);
    let capacity = if settings.window.is_some() { watched } else { watched * 5 / 4 + 1_024 };
    let (limits, workload) = (settings.limits, &settings.workload);
    let share = ThreadShare { thread, threads };
    let mut exchanges = Exchanges::new(identities, limits, workload, share, capacity);
    if let Some(answered) = &settings.answered {
        exchanges.count_in(Arc::clone(answered));
    }
    if let Some(timed_out) = &settings.timed_out {
        exchanges.report_timeouts(timed_out.clone());
    }
    if settings.window.is_some() {
        exchanges.forget_answered();
    }
    exchanges
}

/// Returns an empty time line whose intervals reach from `start_ns` to the time at which the last
/// query is no longer watched.
fn timeline(settings: &DnsLoadSettings, start_ns: u64) -> Timeline {
    let DnsLoadSettings { timeline_ns, duration_ns, limits, .. } = settings;
    Timeline::for_run(start_ns, *timeline_ns, *duration_ns, *limits)
}

fn pacer(settings: &DnsLoadSettings, start_ns: u64, thread: u64) -> QueryPacer {
    let threads = u64::from(settings.threads);
    let share = |whole: u64| whole / threads + u64::from(thread < whole % threads);
    let count = settings.count.map(share);
    if let Some(most) = settings.window {
        return QueryPacer::window(share(most), start_ns..start_ns + settings.duration_ns, count);
    }
    let period = LoadPeriod { start_ns, duration_ns: settings.duration_ns };
    let share = ThreadShare { thread, threads };
    let (shape, rate) = (&settings.shape, settings.rate);
    let schedule = Schedule::for_thread(shape, rate, period, share, settings.seed);
    QueryPacer::scheduled(schedule, count)
}

/// Runs every job on its own thread, bound to `cpus` in turn, and returns the results.
fn run_threads(
    cpus: &[usize],
    jobs: Vec<impl FnOnce() -> io::Result<DnsThreadResult> + Send>,
) -> Result<Vec<DnsThreadResult>, NetError> {
    netio::thread::run_timed("dns-load", "the generator's ports", cpus, jobs)
}

/// Returns the length of a buffer for the longest query of the run, in bytes.
fn query_bytes(settings: &DnsLoadSettings) -> usize {
    settings.workload.longest().max(QUERY_BYTES_MAX)
}
