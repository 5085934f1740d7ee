//! A thread's place in the schedule: which frame is its next, whether it may leave, and how the frames that
//! left kept their times. It reads no clock; moments are passed in.
//!
//! What a pause held back does not leave in one burst: late frames are caught up on at 1.6 times the rate of
//! the schedule, as a leaky bucket allows it ([`AT_ONCE`] at once). Where the kernel itself takes
//! longer than that for a frame there is nothing to hold back.

use base::Histogram;

use crate::pace::Schedule;
use crate::report::{Gaps, Lateness};

/// The longest lateness and gap that are told apart, in nanoseconds.
const LONGEST_NS: u64 = 60_000_000_000;
/// More frames than this in a burst are too many.
pub(crate) const BURST_FRAMES: u64 = 4;

/// Late frames that may leave at once: one more may follow close, as the last of them leaves after the first.
const AT_ONCE: u64 = BURST_FRAMES - 1;
/// Frames later than this leave as fast as they can.
const HOPELESS_NS: u64 = 10_000_000;
/// Frames of a batch that fit without more memory.
const BATCH_ROOM: usize = 64;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Send the next frame, which was due then.
    Send { due_ns: u64 },
    /// Nothing before that moment.
    Wait { until_ns: u64 },
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
    /// `None` where frames of a batch leave as one.
    spacing: Option<Spacing>,
    /// When the frames of the batch that is being filled were due.
    batch: Vec<u64>,
    kept: Kept,
}

impl<'a> Pacer<'a> {
    /// Frames of a batch leave one after the other, unless `as_one`.
    pub(crate) fn new(
        schedule: &'a Schedule,
        index: u64,
        threads: u64,
        start_ns: u64,
        as_one: bool,
    ) -> Self {
        let spacing = (!as_one).then(Spacing::new);
        let batch = Vec::with_capacity(BATCH_ROOM);
        Self { schedule, index, threads, start_ns, spacing, batch, kept: Kept::new() }
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
        let until_ns = self.spacing.as_ref().map_or(0, |spacing| spacing.opens_ns(due_ns, now_ns));
        let until_ns = until_ns.max(due_ns);
        if until_ns > now_ns { Turn::Wait { until_ns } } else { Turn::Send { due_ns } }
    }

    /// The frame that was due at `due_ns` is in the batch that is handed over from `now_ns` on.
    pub(crate) fn left(&mut self, due_ns: u64, now_ns: u64) {
        if self.is_paced() {
            if let Some(spacing) = &mut self.spacing {
                spacing.take(due_ns, now_ns);
            }
            self.batch.push(due_ns);
        }
    }

    /// The batch was handed over from `begin_ns` to `end_ns`: frame by frame, in even steps, unless they
    /// left as one.
    pub(crate) fn handed_over(&mut self, begin_ns: u64, end_ns: u64) {
        let each_ns = match &mut self.spacing {
            Some(spacing) if !self.batch.is_empty() => {
                let each_ns = (end_ns - begin_ns) / self.batch.len() as u64;
                spacing.note(&self.batch, end_ns - each_ns, each_ns);
                each_ns
            }
            _ => 0,
        };
        for (place, due_ns) in self.batch.drain(..).enumerate() {
            self.kept.record(due_ns, begin_ns + place as u64 * each_ns);
        }
    }

    pub(crate) fn finish(mut self) -> Kept {
        self.kept.end_burst();
        self.kept
    }
}

/// What lies between two frames that are late, where the schedule has `gap_ns`: more than half of it, or
/// each that is a little later than the next one would make both a burst.
const fn spaced_ns(gap_ns: u64) -> u64 {
    gap_ns / 8 * 5
}

/// How close to each other frames that are late may leave: a leaky bucket (ITU-T I.371's virtual
/// scheduling) of [`AT_ONCE`] that empties at 1.6 times the rate of the schedule.
#[derive(Debug)]
struct Spacing {
    /// When the last frame was due.
    last_due_ns: Option<u64>,
    /// When the bucket is empty.
    empty_ns: u64,
    /// When the next frame may leave without making the last batch's burst longer.
    apart_ns: u64,
    /// The least time for a frame that handing a batch over took.
    quickest_ns: u64,
}

impl Spacing {
    const fn new() -> Self {
        Self { last_due_ns: None, empty_ns: 0, apart_ns: 0, quickest_ns: u64::MAX }
    }

    /// The gap that the schedule has before the frame that is due at `due_ns`.
    fn gap_ns(&self, due_ns: u64) -> u64 {
        due_ns.saturating_sub(self.last_due_ns.unwrap_or(due_ns))
    }

    /// The moment from which on the frame that is due at `due_ns` may leave.
    fn opens_ns(&self, due_ns: u64, now_ns: u64) -> u64 {
        let gap_ns = self.gap_ns(due_ns);
        if gap_ns / 2 <= self.quickest_ns || now_ns.saturating_sub(due_ns) > HOPELESS_NS {
            return 0;
        }
        self.apart_ns.max(self.empty_ns.saturating_sub((AT_ONCE - 1) * spaced_ns(gap_ns)))
    }

    /// A batch of frames, due at `dues_ns`, has left, `each_ns` from one to the next; the last at `last_ns`.
    fn note(&mut self, dues_ns: &[u64], last_ns: u64, each_ns: u64) {
        self.quickest_ns = self.quickest_ns.min(each_ns);
        if let [.., before_ns, due_ns] = dues_ns {
            let gap_ns = due_ns - before_ns;
            self.apart_ns = if each_ns < gap_ns / 2 { last_ns + spaced_ns(gap_ns) } else { 0 };
        }
    }

    fn take(&mut self, due_ns: u64, now_ns: u64) {
        self.empty_ns = self.empty_ns.max(now_ns) + spaced_ns(self.gap_ns(due_ns));
        self.last_due_ns = Some(due_ns);
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
    /// stands still for the thread from `stall.0` on until `stall.1`; frames of a batch leave as one.
    fn run(schedule: &Schedule, frames: u64, batch: u64, step_ns: u64, stall: (u64, u64)) -> Kept {
        run_spaced(schedule, frames, batch, |_| step_ns, stall, true)
    }

    fn run_spaced(
        schedule: &Schedule,
        frames: u64,
        batch: u64,
        step_ns: impl Fn(u64) -> u64,
        stall: (u64, u64),
        as_one: bool,
    ) -> Kept {
        let mut pacer = Pacer::new(schedule, 0, 1, 1_000, as_one);
        let (mut now_ns, mut taken) = (1_000, 0);
        while taken < frames {
            let mut filled = 0;
            while filled < batch && taken < frames {
                let Turn::Send { due_ns } = pacer.turn(taken, now_ns) else { break };
                pacer.left(due_ns, now_ns);
                (filled, taken) = (filled + 1, taken + 1);
            }
            let begin_ns = now_ns;
            now_ns += step_ns(filled);
            pacer.handed_over(begin_ns, now_ns);
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
    fn what_a_stall_held_back_is_spread() {
        // 245 us hold back 25 frames, which then leave at 1.6 times the rate, three at once at first.
        for stall_ns in [245_000, 8_000_000] {
            let stall = (2_000_000, 2_000_000 + stall_ns);
            let kept = run_spaced(&rate("100kpps"), 10_001, 16, |_| 500, stall, false);
            let gaps = kept.gaps().unwrap();
            assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 3), "{gaps:?}");
            let max_us = kept.lateness().unwrap().max_us;
            assert!((0.9..1.1).contains(&(max_us * 1e3 / stall_ns as f64)), "{max_us}");
            // 1.6 times the rate means 1.7 times as long again as the stall was; then frames are on time.
            let late = kept.late_ns.quantile(1.0 - 2.8 * stall_ns as f64 / 1e8).unwrap();
            assert!(late < 600, "{late}");
        }
    }

    #[test]
    fn what_is_too_late_leaves_as_fast_as_it_can() {
        let stall = (2_000_000, 32_000_000);
        let gaps = run_spaced(&rate("100kpps"), 20_001, 16, |_| 500, stall, false).gaps().unwrap();
        assert!((1_900..2_200).contains(&gaps.longest_burst), "{gaps:?}");
    }

    #[test]
    fn a_kernel_slower_than_half_a_gap_is_not_held_back() {
        // 16 frames in 16 us: 1 us each is no burst at 600 kpps, and four in 16 us would be too few.
        let stall = (2_000_000, 2_400_000);
        let kept = run_spaced(&rate("600kpps"), 60_001, 16, |_| 16_000, stall, false);
        let gaps = kept.gaps().unwrap();
        assert!(gaps.burst_share < 0.01 && gaps.longest_burst <= 16, "{gaps:?}");
        assert!(kept.late_ns.quantile(0.95).unwrap() < 20_000);
    }

    #[test]
    fn batches_that_leave_one_behind_the_other_are_no_common_burst() {
        // 400 ns for a frame are less than half of the 909 that the schedule has.
        let stall = (2_000_000, 2_100_000);
        let step_ns = |frames| 100 + frames * 300;
        let gaps = run_spaced(&rate("1.1Mpps"), 60_001, 16, step_ns, stall, false).gaps().unwrap();
        assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 3), "{gaps:?}");
    }

    #[test]
    fn frames_of_a_batch_leave_one_after_the_other() {
        let schedule = rate("1Mpps");
        let mut pacer = Pacer::new(&schedule, 0, 1, 0, false);
        for number in 0..4 {
            pacer.left(number * 1_000, 4_000);
        }
        pacer.handed_over(4_000, 7_200);
        let kept = pacer.finish();
        assert_eq!(kept.gaps().unwrap().median_us.round(), 1.0);
        assert_eq!(kept.last, Some((6_400, 3_000)));
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
        let [one, two] = [0, 1].map(|index| Pacer::new(&schedule, index, 2, 0, true));
        assert_eq!(one.turn(1, 0), Turn::Wait { until_ns: 1_000_000_000 });
        assert_eq!(two.turn(1, 2_000_000_000), Turn::Send { due_ns: 1_500_000_000 });
        assert_eq!(two.turn(2, 2_000_000_000), Turn::End);
        let quiet = run(&rate("100kpps"), 1_001, 16, 500, (0, 0));
        let mut both = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_245_000));
        both.merge(&quiet);
        assert!((both.gaps().unwrap().burst_share - 24.0 / 2_000.0).abs() < 1e-9);
    }
}
