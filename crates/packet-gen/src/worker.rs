//! Thread that sends: it moves frames from its stream into its path when they are due.
//!
//! Budget: per frame one copy of its bytes; per batch one system call, one reading of the clock and
//! four stores of counters. Nothing is allocated after construction, nothing is shared but counters
//! that one thread writes. A full queue is waited for and counted, and is never an error.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use netio::{Clock, poll};

use crate::pacer::{FrameTimingRecord, Pacer, PacerAction};
use crate::path::SendPath;
use crate::report::SmokeTest;
use crate::smoke::Smoke;
use crate::stream::FrameStream;

/// Number of frames of a batch if frames wait for their due time.
const PACED_BATCH: usize = 16;
/// Time in nanoseconds before the next frame below which a thread spins instead of sleeping.
const SPIN_NS: u64 = 100_000;
/// Longest sleep of a thread in nanoseconds, so that it notices signals.
const SLEEP_NS: u64 = 50_000_000;
/// Time in nanoseconds that frames in the kernel may take to leave after a signal.
const DRAIN_NS: u64 = 200_000_000;

/// Counters of a sending thread so far; only the thread writes them.
#[derive(Debug, Default)]
pub(crate) struct SendThreadCounters {
    pub(crate) sent: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    /// Number of frames that the interface refused for good.
    pub(crate) refused: AtomicU64,
    /// Number of times that the thread waited for a full queue.
    pub(crate) stalled: AtomicU64,
    /// Number of datagrams that have left with frames as their segments.
    pub(crate) datagrams: AtomicU64,
}

/// Result of a sending thread at its end.
#[derive(Debug)]
pub(crate) struct SendThreadResult {
    /// Number of frames that were passed to the kernel and not known to have left.
    pub(crate) unsent: u64,
    /// Record of how well the thread's frames kept their times.
    pub(crate) timings: FrameTimingRecord,
    pub(crate) elapsed_ns: u64,
    /// Result for the host that was pinged after each frame, if one was.
    pub(crate) smoke_test: Option<SmokeTest>,
}

/// Sending thread: the packets that it generates, its pacer and its path into the interface.
pub(crate) struct Worker<'a> {
    pub(crate) path: SendPath,
    pub(crate) stream: FrameStream,
    pub(crate) pacer: Pacer<'a>,
    /// Number of frames of this thread; `None` for no end.
    pub(crate) quota: Option<u64>,
    /// Smoke test of the host after each frame, if one was requested.
    pub(crate) smoke: Option<Smoke>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a SendThreadCounters,
}

/// Result of one attempt of a sending thread to fill a batch of frames.
struct BatchFillResult {
    count: usize,
    /// Time in nanoseconds at which the next frame may leave, if it may not leave yet.
    waits_until_ns: Option<u64>,
}

impl Worker<'_> {
    /// Sends frames until the quota or the schedule is exhausted, or `stop` is set.
    pub(crate) fn run(mut self) -> io::Result<SendThreadResult> {
        let mut lens: VecDeque<u32> = VecDeque::with_capacity(self.path.capacity());
        let mut frame_count = 0_u64;
        let mut stops_ns = None;
        let unsent = loop {
            let now_ns = Clock::mono_ns();
            if stops_ns.is_none() && self.stop.load(Ordering::Relaxed) {
                self.quota = Some(frame_count);
                stops_ns = Some(now_ns + DRAIN_NS);
            }
            let filled = self.fill(now_ns, &mut frame_count, &mut lens);
            let left = self.flush(&mut lens)?;
            if filled.count > 0 && self.pacer.is_paced() {
                self.pacer.record_batch(now_ns, Clock::mono_ns());
            }
            if left == 0 {
                if let Some(smoke) = &mut self.smoke
                    && !smoke.survives(frame_count, self.stop)?
                {
                    break 0;
                }
                if self.quota == Some(frame_count) {
                    break 0;
                }
                if let Some(until_ns) = filled.waits_until_ns {
                    sleep_towards(until_ns)?;
                }
            } else if stops_ns.is_some_and(|stops_ns| stops_ns <= now_ns) {
                break left as u64;
            } else if filled.count == 0 {
                self.hold(left, &filled)?;
            }
        };
        let elapsed_ns = Clock::mono_ns() - self.pacer.start_ns();
        let smoke_test = self.smoke.map(Smoke::into_report);
        Ok(SendThreadResult { unsent, timings: self.pacer.finish(), elapsed_ns, smoke_test })
    }

    /// Writes frames that are due into free slots of the path.
    fn fill(
        &mut self,
        now_ns: u64,
        frame_count: &mut u64,
        lens: &mut VecDeque<u32>,
    ) -> BatchFillResult {
        let batch = match &self.smoke {
            Some(_) => usize::from(lens.is_empty()),
            None if self.pacer.is_paced() => PACED_BATCH,
            None => self.path.batch(),
        };
        let mut filled = BatchFillResult { count: 0, waits_until_ns: None };
        while filled.count < batch && self.quota != Some(*frame_count) {
            let due_ns = match self.pacer.next_action(*frame_count, now_ns) {
                PacerAction::Send { due_ns } => due_ns,
                PacerAction::Wait { until_ns } => {
                    filled.waits_until_ns = Some(until_ns);
                    break;
                }
                PacerAction::End => {
                    self.quota = Some(*frame_count);
                    break;
                }
            };
            if !self.path.has_room(self.stream.next_index()) {
                break;
            }
            let Some((index, frame)) = self.stream.numbered_frame() else {
                self.quota = Some(*frame_count);
                break;
            };
            if let Some(smoke) = &mut self.smoke {
                smoke.keep(frame);
            }
            self.path.push(index, frame);
            lens.push_back(frame.len() as u32);
            self.pacer.record_frame(due_ns, now_ns);
            *frame_count += 1;
            filled.count += 1;
        }
        filled
    }

    /// Passes the frames in the path to the kernel and counts them; returns the number of frames
    /// left in the path.
    fn flush(&mut self, lens: &mut VecDeque<u32>) -> io::Result<usize> {
        let sent = self.path.flush()?;
        let bytes: u64 = lens.drain(..sent.sent).map(u64::from).sum();
        lens.drain(..sent.refused);
        let add = |counter: &AtomicU64, more: u64| {
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        add(&self.progress.sent, sent.sent as u64);
        add(&self.progress.sent_bytes, bytes);
        add(&self.progress.refused, sent.refused as u64);
        self.progress.datagrams.store(self.path.datagrams(), Ordering::Relaxed);
        Ok(sent.left)
    }

    /// Waits while the path has frames and accepts no further one, because its queue is full or the
    /// batch has ended.
    fn hold(&mut self, left: usize, filled: &BatchFillResult) -> io::Result<()> {
        let next = self.stream.next_index();
        if !self.path.has_room(next) {
            let stalled = self.progress.stalled.load(Ordering::Relaxed);
            self.progress.stalled.store(stalled + 1, Ordering::Relaxed);
            return self.path.wait(next);
        }
        match filled.waits_until_ns {
            Some(until_ns) => sleep_towards(until_ns.min(Clock::mono_ns() + SPIN_NS / 2)),
            None if left > 0 => poll(&mut [], Some(SPIN_NS / 2)).map(drop),
            None => Ok(()),
        }
    }
}

/// Sleeps until shortly before `until_ns` (nanoseconds of the monotonic clock), unless that is too
/// close.
fn sleep_towards(until_ns: u64) -> io::Result<()> {
    let ahead_ns = until_ns.saturating_sub(Clock::mono_ns());
    if ahead_ns > SPIN_NS {
        poll(&mut [], Some((ahead_ns - SPIN_NS / 2).min(SLEEP_NS)))?;
    } else {
        std::hint::spin_loop();
    }
    Ok(())
}
