//! A thread's place in the schedule: which frame is its next, whether it is due, and how the frames that
//! left kept their times. It reads no clock; moments are passed in.

use base::Histogram;

use crate::pace::Schedule;
use crate::report::{Gaps, Lateness};

/// The longest lateness and gap that are told apart, in nanoseconds.
const LONGEST_NS: u64 = 60_000_000_000;
/// More frames than this in a burst are too many.
pub(crate) const BURST_FRAMES: u64 = 4;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Send the next frame, which was due then.
    Send { due_ns: u64 },
    /// Nothing before that moment.
    Wait { due_ns: u64 },
    /// Nothing any more.
    End,
}

/// The frames `index`, `index + threads`, ... of a schedule that began at `start_ns`.
#[derive(Debug)]
pub(crate) struct Pacer<'a> {
    schedule: &'a Schedule,
    index: u64,
    threads: u64,
    start_ns: u64,
    kept: Kept,
}

impl<'a> Pacer<'a> {
    pub(crate) fn new(schedule: &'a Schedule, index: u64, threads: u64, start_ns: u64) -> Self {
        Self { schedule, index, threads, start_ns, kept: Kept::new() }
    }

    pub(crate) const fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Whether frames wait for their time.
    pub(crate) const fn is_paced(&self) -> bool {
        self.schedule.is_paced()
    }

    /// What to do at `now_ns` when `taken` frames have been sent.
    pub(crate) fn turn(&self, taken: u64, now_ns: u64) -> Turn {
        let number = taken * self.threads + self.index;
        let Some(due_ns) = self.schedule.due_ns(number) else { return Turn::End };
        let due_ns = self.start_ns.saturating_add(due_ns);
        if due_ns > now_ns { Turn::Wait { due_ns } } else { Turn::Send { due_ns } }
    }

    /// The frame that was due at `due_ns` is handed over at `now_ns`.
    pub(crate) fn left(&mut self, due_ns: u64, now_ns: u64) {
        if self.is_paced() {
            self.kept.record(due_ns, now_ns);
        }
    }

    pub(crate) fn finish(mut self) -> Kept {
        self.kept.end_burst();
        self.kept
    }
}

/// How frames kept their times.
///
/// A frame is in a burst with the one before when less than half the time lay between them that should
/// have.
#[derive(Debug)]
pub(crate) struct Kept {
    late_ns: Histogram,
    gaps_ns: Histogram,
    /// When the last frame left, and when it was due.
    last: Option<(u64, u64)>,
    /// Frames of the burst that has not ended.
    burst: u64,
    /// Gaps inside of bursts of more than [`BURST_FRAMES`].
    in_bursts: u64,
    longest: u64,
}

impl Kept {
    pub(crate) fn new() -> Self {
        let up_to = Histogram::up_to(LONGEST_NS);
        Self {
            late_ns: up_to.clone(),
            gaps_ns: up_to,
            last: None,
            burst: 0,
            in_bursts: 0,
            longest: 0,
        }
    }

    fn record(&mut self, due_ns: u64, now_ns: u64) {
        self.late_ns.record(now_ns - due_ns);
        let is_close = self.last.is_some_and(|(last_ns, last_due_ns)| {
            let gap_ns = now_ns - last_ns;
            self.gaps_ns.record(gap_ns);
            gap_ns * 2 < due_ns.saturating_sub(last_due_ns)
        });
        if !is_close {
            self.end_burst();
        }
        self.burst += 1;
        self.last = Some((now_ns, due_ns));
    }

    fn end_burst(&mut self) {
        self.longest = self.longest.max(self.burst);
        if self.burst > BURST_FRAMES {
            self.in_bursts += self.burst - 1;
        }
        self.burst = 0;
    }

    /// Adds what another thread's frames did.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.late_ns.merge(&other.late_ns);
        self.gaps_ns.merge(&other.gaps_ns);
        self.in_bursts += other.in_bursts;
        self.longest = self.longest.max(other.longest);
    }

    /// By how much frames were late; `None` when none had a time.
    pub(crate) fn lateness(&self) -> Option<Lateness> {
        let us = |quantile| micros(&self.late_ns, quantile);
        Some(Lateness { median_us: us(0.5)?, p99_us: us(0.99)?, max_us: us(1.0)? })
    }

    /// What lay between frames; `None` for fewer than two.
    pub(crate) fn gaps(&self) -> Option<Gaps> {
        let us = |quantile| micros(&self.gaps_ns, quantile);
        Some(Gaps {
            median_us: us(0.5)?,
            p90_us: us(0.9)?,
            p99_us: us(0.99)?,
            max_us: us(1.0)?,
            burst_share: self.in_bursts as f64 / self.gaps_ns.count().max(1) as f64,
            longest_burst: self.longest,
        })
    }
}

fn micros(histogram: &Histogram, quantile: f64) -> Option<f64> {
    histogram.quantile(quantile).map(|ns| ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::parse_schedule;

    /// A thread on a clock that goes `step_ns` for each look and each batch of at most `batch` frames, and
    /// stands still for the thread from `stall.0` on until `stall.1`.
    fn run(schedule: &Schedule, frames: u64, batch: u64, step_ns: u64, stall: (u64, u64)) -> Kept {
        let mut pacer = Pacer::new(schedule, 0, 1, 1_000);
        let (mut now_ns, mut taken) = (1_000, 0);
        while taken < frames {
            let mut filled = 0;
            while filled < batch && taken < frames {
                let Turn::Send { due_ns } = pacer.turn(taken, now_ns) else { break };
                pacer.left(due_ns, now_ns);
                (filled, taken) = (filled + 1, taken + 1);
            }
            now_ns += step_ns;
            if (stall.0..stall.1).contains(&now_ns) {
                now_ns = stall.1;
            }
        }
        pacer.finish()
    }

    fn rate(text: &str) -> Schedule {
        Schedule::of(&parse_schedule(text).unwrap(), 100.0)
    }

    #[test]
    fn a_thread_that_keeps_up_sends_no_bursts() {
        let gaps = run(&rate("100kpps"), 10_001, 16, 500, (0, 0)).gaps().unwrap();
        assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 1));
        // 10 us in steps of half a microsecond, in buckets of the histogram.
        assert!((9.9..10.1).contains(&gaps.median_us), "{gaps:?}");
        assert!((9.9..10.7).contains(&gaps.max_us), "{gaps:?}");
    }

    #[test]
    fn what_a_stall_held_back_is_a_burst() {
        // 25 frames become due in the stall; sixteen leave with the first look, nine with the second.
        let kept = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_245_000));
        let gaps = kept.gaps().unwrap();
        assert_eq!(gaps.longest_burst, 25, "{gaps:?}");
        assert!((gaps.burst_share - 24.0 / 1_000.0).abs() < 1e-9, "{gaps:?}");
        assert!((240.0..260.0).contains(&gaps.max_us), "{gaps:?}");
        assert!((240.0..260.0).contains(&kept.lateness().unwrap().max_us));
        // Three in a burst are no burst to speak of.
        let gaps = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_025_000)).gaps().unwrap();
        assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 3));
    }

    #[test]
    fn a_clock_that_looks_seldom_sends_nothing_but_bursts() {
        let gaps = run(&rate("1Mpps"), 10_000, 64, 20_000, (0, 0)).gaps().unwrap();
        assert!(gaps.burst_share > 0.94 && gaps.longest_burst == 20, "{gaps:?}");
        assert_eq!(gaps.median_us, 0.0);
    }

    #[test]
    fn frames_that_are_due_together_are_no_burst() {
        let schedule = Schedule::Times { offsets_ns: vec![0; 8], round_ns: 1_000_000 };
        let gaps = run(&schedule, 80, 16, 500, (0, 0)).gaps().unwrap();
        assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 1));
    }

    #[test]
    fn frames_without_a_time_are_not_judged() {
        let kept = run(&Schedule::Unpaced, 100, 16, 500, (0, 0));
        assert!(kept.gaps().is_none() && kept.lateness().is_none());
    }

    #[test]
    fn threads_share_a_schedule_and_their_figures_add_up() {
        let schedule = rate("2pps/2s");
        let [one, two] = [0, 1].map(|index| Pacer::new(&schedule, index, 2, 0));
        assert_eq!(one.turn(1, 0), Turn::Wait { due_ns: 1_000_000_000 });
        assert_eq!(two.turn(1, 2_000_000_000), Turn::Send { due_ns: 1_500_000_000 });
        assert_eq!(two.turn(2, 2_000_000_000), Turn::End);
        let quiet = run(&rate("100kpps"), 1_001, 16, 500, (0, 0));
        let mut both = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_245_000));
        both.merge(&quiet);
        assert!((both.gaps().unwrap().burst_share - 24.0 / 2_000.0).abs() < 1e-9);
    }
}
