//! Sending of frames from several processors: threads, their shares, and reports during the run and
//! at the end.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::time::NS_PER_S;
use base::{ToolError, ToolResult};
use netio::interface::Interface;
use netio::signal::Signals;
use netio::{Clock, PollFd, Waker, poll};

use crate::error::refused;
use crate::language::PacketProgram;
use crate::pacer::{FrameTimingRecord, Pacer};
use crate::path::{PathOptions, SendPath};
use crate::random::LibcRandom;
use crate::report::{ProcessorFigures, SCHEMA, SegmentationFigures, TrafgenReport};
use crate::schedule::FrameSchedule;
use crate::smoke::Smoke;
use crate::stream::FrameStream;
use crate::worker::{SendThreadCounters, SendThreadResult, Worker};

/// Bytes of an Ethernet header, which the MTU does not include; the next constant has those of a
/// VLAN tag.
const HEADER_BYTES: usize = 14;
const TAG_BYTES: usize = 4;

/// Frames to be sent, and the options of sending.
pub(crate) struct SendJob<'a> {
    pub(crate) interface: &'a Interface,
    pub(crate) program: &'a PacketProgram,
    /// Numbers of the processors; a thread sends from each of them.
    pub(crate) cpus: Vec<u32>,
    pub(crate) schedule: FrameSchedule,
    /// Number of frames of all threads together; `None` for no end.
    pub(crate) count: Option<u64>,
    pub(crate) seed: u32,
    /// True if all sending threads begin with the same random numbers, as in trafgen.
    pub(crate) same_streams: bool,
    pub(crate) is_shuffled: bool,
    pub(crate) path: PathOptions,
    /// True if successive frames of one flow leave as segments of larger datagrams.
    pub(crate) segments: bool,
    /// Host to be pinged after each frame; only one thread sends then.
    pub(crate) smoke_test: Option<IpAddr>,
    pub(crate) interval_s: Option<f64>,
}

/// Sends the frames of `sending`, calls `tell` with a report at every interval and returns the
/// total.
///
/// # Errors
///
/// A path that cannot be opened, a packet that fits no frame of the interface, an interface that
/// went away, or the error of `tell`.
pub(crate) fn run(
    sending: &SendJob<'_>,
    signals: Signals,
    mut tell: impl FnMut(&TrafgenReport) -> ToolResult<()>,
) -> ToolResult<TrafgenReport> {
    let threads = streams(sending)?;
    let paths = paths(sending, &threads)?;
    check_lengths(sending, &paths[0])?;
    let path_name = paths[0].to_string();
    let progress: Vec<SendThreadCounters> =
        threads.iter().map(|_| SendThreadCounters::default()).collect();
    let (stop, count) = (AtomicBool::new(false), threads.len() as u64);
    let mut smoke = smoke(sending, &signals)?;
    let cannot = || ToolError::cannot("send by", &sending.interface.name);
    let ended = Waker::new().map_err(ToolError::cannot("make", "a wake-up"))?;
    let start_ns = Clock::mono_ns();
    let cpus: Vec<u32> = threads.iter().map(|(cpu, _)| *cpu).collect();
    let mut reporter = Reporter::new(sending, path_name, &progress, &cpus, start_ns);
    let results = thread::scope(|scope| {
        let mut handles = Vec::new();
        for (index, ((cpu, stream), path)) in threads.into_iter().zip(paths).enumerate() {
            let schedule = &sending.schedule;
            let worker = Worker {
                pacer: Pacer::new(schedule, index as u64, count, start_ns, path.is_of_trains()),
                path,
                stream,
                quota: sending.count.map(|frames| share(frames, index as u64, count)),
                smoke: smoke.take(),
                stop: &stop,
                progress: &progress[index],
            };
            let ended = &ended;
            handles.push(scope.spawn(move || {
                // A process that may not choose its processor sends from the one that it runs on.
                netio::thread::pin_to_cpu(cpu as usize).ok();
                netio::thread::set_timer_slack_ns(1_000).ok();
                let done = worker.run();
                ended.wake();
                done
            }));
        }
        let waited = wait(&signals, &ended, &stop, || handles.iter().all(|h| h.is_finished()), {
            let reporter = &mut reporter;
            let interval_ns = sending.interval_s.map(|seconds| (seconds * 1e9) as u64);
            move |now_ns| reporter.interval(now_ns, interval_ns, &mut tell)
        });
        stop.store(true, Ordering::Relaxed);
        let results: Vec<io::Result<SendThreadResult>> = handles
            .into_iter()
            .map(|handle| handle.join().expect("a worker does not panic"))
            .collect();
        waited.map(|()| results)
    })?;
    let done =
        results.into_iter().collect::<io::Result<Vec<SendThreadResult>>>().map_err(cannot())?;
    Ok(reporter.total(&done))
}

/// Opens the path of each thread into the interface.
fn paths(sending: &SendJob<'_>, threads: &[(u32, FrameStream)]) -> ToolResult<Vec<SendPath>> {
    let (interface, options) = (sending.interface, sending.path);
    if !sending.segments {
        return SendPath::open_all(interface, options, threads.len() as u32);
    }
    let flows = threads.iter().map(|(_, stream)| stream.flows()).collect::<Result<_, _>>();
    let flows = flows.map_err(|problem| ToolError::Usage(format!("--segmentation: {problem}")))?;
    SendPath::open_trains(interface, flows).map_err(refused)
}

/// Opens the socket for pings to the host of the smoke test. A host that does not answer before the
/// first frame is an error: its silence would otherwise be blamed on that frame.
fn smoke(sending: &SendJob<'_>, signals: &Signals) -> ToolResult<Option<Smoke>> {
    let Some(host) = sending.smoke_test else { return Ok(None) };
    let mut smoke = Smoke::open(host, sending.interface.index).map_err(refused)?;
    let cannot = ToolError::cannot("wait for the answer of", host);
    if !smoke.answers(signals.stop()).map_err(cannot)? {
        return Err(ToolError::Failed(format!(
            "{host} does not answer pings before the first packet; -s needs a host that does"
        )));
    }
    Ok(Some(smoke))
}

/// Returns the number of frames that thread `index` of `count` threads sends if all threads
/// together send `frames`.
const fn share(frames: u64, index: u64, count: u64) -> u64 {
    frames / count + (index < frames % count) as u64
}

/// Returns the processors that have packets to send, with their frames.
fn streams(sending: &SendJob<'_>) -> ToolResult<Vec<(u32, FrameStream)>> {
    let mut threads = Vec::new();
    for (index, cpu) in sending.cpus.iter().enumerate() {
        let random = if index == 0 || sending.same_streams {
            sending.program.random.clone()
        } else {
            LibcRandom::from_seed(sending.seed.wrapping_add(index as u32))
        };
        let stream = FrameStream::new(sending.program, Some(*cpu), random, sending.is_shuffled);
        if stream.packets() > 0 {
            threads.push((*cpu, stream));
        }
    }
    let has_sender =
        |first: u32, last: u32| sending.cpus.iter().any(|cpu| (first..=last).contains(cpu));
    let unsent = sending
        .program
        .packets
        .iter()
        .filter(|packet| packet.cpus.is_some_and(|(first, last)| !has_sender(first, last)));
    let unsent = unsent.count();
    if unsent > 0 && !threads.is_empty() {
        netio::stderr::print_line(format_args!(
            "trafgen: {unsent} packets are left out: their cpu() names processors that do not \
             send; -P chooses the processors"
        ));
    }
    if threads.is_empty() {
        let message = "cpu() leaves no packet for the processors that send; -P chooses the \
                       processors";
        return Err(ToolError::Usage(message.to_owned()));
    }
    Ok(threads)
}

/// Checks that the interface accepts the lengths of all packets.
fn check_lengths(sending: &SendJob<'_>, path: &SendPath) -> ToolResult<()> {
    let mut problems = Vec::new();
    for (number, packet) in sending.program.packets.iter().enumerate() {
        let len = packet.octets.len();
        let is_tagged = packet.octets.get(12..14) == Some(&[0x81, 0]);
        let most = path.mtu_bytes() + HEADER_BYTES + if is_tagged { TAG_BYTES } else { 0 };
        if !(HEADER_BYTES..=most).contains(&len) {
            let name = &sending.interface.name;
            problems.push(format!(
                "packet {} has {len} bytes; {name} accepts {HEADER_BYTES} to {most}",
                number + 1
            ));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(ToolError::Usage(problems.join("\n"))) }
}

/// Waits until the threads have ended or a signal comes; `tick` returns the time at which it is to
/// be called again.
fn wait(
    signals: &Signals,
    ended: &Waker,
    stop: &AtomicBool,
    is_over: impl Fn() -> bool,
    mut tick: impl FnMut(u64) -> ToolResult<Option<u64>>,
) -> ToolResult<()> {
    /// Time in nanoseconds between two checks after a thread has reported its end: it ends a moment
    /// later.
    const MOMENT_NS: u64 = 1_000_000;
    let mut has_ended = false;
    loop {
        let now_ns = Clock::mono_ns();
        let next_ns = tick(now_ns)?;
        if is_over() {
            return Ok(());
        }
        let timeout_ns = next_ns.map(|next_ns| next_ns.saturating_sub(now_ns));
        let timeout_ns = if has_ended { Some(MOMENT_NS) } else { timeout_ns };
        let mut fds = [PollFd::readable(signals), PollFd::readable(ended)];
        poll(&mut fds, timeout_ns).map_err(ToolError::cannot("wait for", "signals"))?;
        has_ended |= fds[1].is_readable();
        ended.drain();
        signals.drain();
        if signals.stop().load(Ordering::Acquire) {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Maker of reports: the last report, and the counters of the threads.
struct Reporter<'a> {
    last: TrafgenReport,
    progress: &'a [SendThreadCounters],
    cpus: &'a [u32],
    segments: bool,
    start_ns: u64,
    next_ns: Option<u64>,
}

impl<'a> Reporter<'a> {
    fn new(
        sending: &SendJob<'_>,
        path: String,
        progress: &'a [SendThreadCounters],
        cpus: &'a [u32],
        start_ns: u64,
    ) -> Self {
        let last = TrafgenReport {
            schema: SCHEMA.to_owned(),
            kind: "interval".to_owned(),
            output: sending.interface.name.clone(),
            path,
            seed: sending.seed,
            ..TrafgenReport::default()
        };
        let segments = sending.segments;
        Self { last, progress, cpus, segments, start_ns, next_ns: None }
    }

    /// Reports to `tell` if it is time, and returns the time of the next report in nanoseconds.
    fn interval(
        &mut self,
        now_ns: u64,
        interval_ns: Option<u64>,
        tell: &mut impl FnMut(&TrafgenReport) -> ToolResult<()>,
    ) -> ToolResult<Option<u64>> {
        let Some(interval_ns) = interval_ns else { return Ok(None) };
        let next_ns = *self.next_ns.get_or_insert(self.start_ns + interval_ns);
        if now_ns < next_ns {
            return Ok(Some(next_ns));
        }
        let report = self.now(now_ns);
        tell(&report)?;
        self.last = report;
        self.next_ns = Some(next_ns + interval_ns);
        Ok(self.next_ns)
    }

    /// Returns a report of the threads' counters now, with rates since the last report.
    fn now(&self, now_ns: u64) -> TrafgenReport {
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let elapsed_s = (now_ns - self.start_ns) as f64 / NS_PER_S as f64;
        let processors: Vec<ProcessorFigures> = std::iter::zip(self.progress, self.cpus)
            .map(|(progress, cpu)| ProcessorFigures {
                cpu: *cpu,
                sent: read(&progress.sent),
                sent_bytes: read(&progress.sent_bytes),
                elapsed_s,
            })
            .collect();
        let sum = |of: fn(&SendThreadCounters) -> &std::sync::atomic::AtomicU64| -> u64 {
            self.progress.iter().map(|progress| read(of(progress))).sum()
        };
        let mut report = TrafgenReport {
            elapsed_s,
            sent: processors.iter().map(|processor| processor.sent).sum(),
            sent_bytes: processors.iter().map(|processor| processor.sent_bytes).sum(),
            refused: sum(|progress| &progress.refused),
            stalled: sum(|progress| &progress.stalled),
            processors,
            ..self.last.clone()
        };
        let datagrams = sum(|progress| &progress.datagrams);
        report.segmentation = self.segments.then(|| SegmentationFigures {
            datagrams,
            frames_per_datagram: report.sent as f64 / datagrams.max(1) as f64,
        });
        let seconds = (elapsed_s - self.last.elapsed_s).max(1e-9);
        report.rate_pps = (report.sent - self.last.sent) as f64 / seconds;
        report.rate_bps = (report.sent_bytes - self.last.sent_bytes) as f64 * 8.0 / seconds;
        report
    }

    fn total(mut self, done: &[SendThreadResult]) -> TrafgenReport {
        let elapsed_ns = done.iter().map(|done| done.elapsed_ns).max().unwrap_or(0);
        (self.last.elapsed_s, self.last.sent, self.last.sent_bytes) = (0.0, 0, 0);
        let mut report = self.now(self.start_ns + elapsed_ns);
        report.kind = "total".to_owned();
        report.unsent = done.iter().map(|done| done.unsent).sum();
        for (processor, done) in report.processors.iter_mut().zip(done) {
            processor.elapsed_s = done.elapsed_ns as f64 / NS_PER_S as f64;
        }
        let mut timings = FrameTimingRecord::new();
        for done in done {
            timings.merge(&done.timings);
        }
        (report.late, report.gaps) = (timings.lateness(), timings.gaps());
        report.smoke_test = done.iter().find_map(|done| done.smoke_test.clone());
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (frames, count) in [(0, 1), (7, 3), (9, 3), (2, 5)] {
            let sum: u64 = (0..count).map(|index| share(frames, index, count)).sum();
            assert_eq!(sum, frames);
        }
    }
}
