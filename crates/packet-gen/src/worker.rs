//! One thread that sends: frames from its stream into its path, when they are due.
//!
//! Budget: per frame one copy of its octets; per batch one system call, one reading of the clock and
//! four stores of counters. Nothing is allocated after construction, nothing is shared but counters
//! that one thread writes. A queue that is full is waited for and counted, never an error.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Histogram;
use netio::{Clock, poll};

use crate::pace::Schedule;
use crate::path::Path;
use crate::stream::Stream;

/// Frames of a batch: when nothing waits for its time, and when frames do.
const BATCH: usize = 64;
const PACED_BATCH: usize = 16;
/// Closer than this to the next frame a thread spins instead of sleeping.
const SPIN_NS: u64 = 100_000;
/// The longest sleep, so that signals are seen.
const SLEEP_NS: u64 = 50_000_000;
/// How long frames that were handed over may take to leave after a signal.
const DRAIN_NS: u64 = 200_000_000;

/// What a thread has done so far; it alone writes.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) sent: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    /// Refused by the interface for good.
    pub(crate) refused: AtomicU64,
    /// Times that a full queue was waited for.
    pub(crate) stalled: AtomicU64,
}

/// What a thread has done in the end.
#[derive(Debug)]
pub(crate) struct Done {
    /// Handed over and not known to have left.
    pub(crate) unsent: u64,
    /// By how much frames were late, in nanoseconds.
    pub(crate) late_ns: Histogram,
    pub(crate) elapsed_ns: u64,
}

/// A thread's work.
pub(crate) struct Worker<'a> {
    pub(crate) path: Path,
    pub(crate) stream: Stream,
    pub(crate) schedule: &'a Schedule,
    /// This thread takes frames `index`, `index + threads`, ... of the schedule.
    pub(crate) index: u64,
    pub(crate) threads: u64,
    /// Frames of this thread; `None` for no end.
    pub(crate) quota: Option<u64>,
    pub(crate) start_ns: u64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a Progress,
}

/// What became of one attempt to fill a batch.
struct Filled {
    count: usize,
    /// The next frame is due then, when it is not due yet.
    waits_until_ns: Option<u64>,
}

impl Worker<'_> {
    /// Sends until the quota or the schedule is exhausted, or `stop` is set.
    pub(crate) fn run(mut self) -> io::Result<Done> {
        let mut lens: VecDeque<u32> = VecDeque::with_capacity(self.path.room());
        let mut late_ns = Histogram::up_to(60_000_000_000);
        let mut taken = 0_u64;
        let mut stops_ns = None;
        let unsent = loop {
            let now_ns = Clock::mono_ns();
            if stops_ns.is_none() && self.stop.load(Ordering::Relaxed) {
                self.quota = Some(taken);
                stops_ns = Some(now_ns + DRAIN_NS);
            }
            let filled = self.fill(now_ns, &mut taken, &mut lens, &mut late_ns);
            let left = self.flush(&mut lens)?;
            if left == 0 {
                if self.quota == Some(taken) {
                    break 0;
                }
                if let Some(due_ns) = filled.waits_until_ns {
                    sleep_towards(due_ns)?;
                }
            } else if stops_ns.is_some_and(|stops_ns| stops_ns <= now_ns) {
                break left as u64;
            } else if filled.count == 0 {
                self.hold(left, &filled)?;
            }
        };
        Ok(Done { unsent, late_ns, elapsed_ns: Clock::mono_ns() - self.start_ns })
    }

    /// Writes frames that are due into free slots.
    fn fill(
        &mut self,
        now_ns: u64,
        taken: &mut u64,
        lens: &mut VecDeque<u32>,
        late_ns: &mut Histogram,
    ) -> Filled {
        let is_paced = self.schedule.is_paced();
        let batch = if is_paced { PACED_BATCH } else { BATCH };
        let mut filled = Filled { count: 0, waits_until_ns: None };
        while filled.count < batch && self.quota != Some(*taken) {
            if is_paced {
                let number = *taken * self.threads + self.index;
                let Some(due_ns) = self.schedule.due_ns(number) else {
                    self.quota = Some(*taken);
                    break;
                };
                let due_ns = self.start_ns.saturating_add(due_ns);
                if due_ns > now_ns {
                    filled.waits_until_ns = Some(due_ns);
                    break;
                }
                if self.path.slot().is_some() {
                    late_ns.record(now_ns - due_ns);
                }
            }
            let Some(slot) = self.path.slot() else { break };
            let Some(frame) = self.stream.frame() else {
                self.quota = Some(*taken);
                break;
            };
            slot[..frame.len()].copy_from_slice(frame);
            let len = frame.len();
            self.path.commit(len);
            lens.push_back(len as u32);
            *taken += 1;
            filled.count += 1;
        }
        filled
    }

    /// Has the kernel send, and counts; how many frames are left.
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
        Ok(sent.left)
    }

    /// Frames wait in the path and none could be added: a full queue, or the end of a batch.
    fn hold(&mut self, left: usize, filled: &Filled) -> io::Result<()> {
        if self.path.slot().is_none() {
            let stalled = self.progress.stalled.load(Ordering::Relaxed);
            self.progress.stalled.store(stalled + 1, Ordering::Relaxed);
            return self.path.wait();
        }
        match filled.waits_until_ns {
            Some(due_ns) => sleep_towards(due_ns.min(Clock::mono_ns() + SPIN_NS / 2)),
            None if left > 0 => poll(&mut [], Some(SPIN_NS / 2)).map(drop),
            None => Ok(()),
        }
    }
}

/// Sleeps, unless it is too close, until shortly before `due_ns`.
fn sleep_towards(due_ns: u64) -> io::Result<()> {
    let ahead_ns = due_ns.saturating_sub(Clock::mono_ns());
    if ahead_ns > SPIN_NS {
        poll(&mut [], Some((ahead_ns - SPIN_NS / 2).min(SLEEP_NS)))?;
    } else {
        std::hint::spin_loop();
    }
    Ok(())
}
