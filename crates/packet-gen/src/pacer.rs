//! Pacer of a sending thread: its next frame in the schedule, the time at which that frame may be
//! sent, and the record of how well the frames sent so far kept their times. The pacer reads no
//! clock; the caller passes the time in.
//!
//! After a pause, the late frames do not leave in one burst: the pacer catches up at 1.6 times the
//! rate of the schedule, as a leaky bucket allows it ([`AT_ONCE`] frames at once). Where the kernel
//! itself takes longer than that for a frame, the pacer holds nothing back.

use base::Histogram;

use crate::report::{Gaps, LatenessSummary};
use crate::schedule::FrameSchedule;

/// Greatest lateness or gap between frames that the histograms resolve, in nanoseconds; longer ones
/// count with this value.
const LONGEST_NS: u64 = 60_000_000_000;
/// Number of frames in a burst (frames at less than half of their scheduled gap) above which the
/// burst is too long.
pub(crate) const BURST_FRAMES: u64 = 4;

/// Number of late frames that may leave at once: one less than a burst may have, because the next
/// frame may follow closely.
const AT_ONCE: u64 = BURST_FRAMES - 1;
/// Lateness in nanoseconds above which frames leave as fast as they can.
const HOPELESS_NS: u64 = 10_000_000;
/// Number of frames of a batch that fit without more memory.
const BATCH_ROOM: usize = 64;

/// Action of a sending thread that its pacer requests now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacerAction {
    /// Sending of the next frame, which was due at `due_ns`.
    Send { due_ns: u64 },
    /// Waiting until `until_ns`, before which no frame may be sent.
    Wait { until_ns: u64 },
    /// End of sending: the thread has no further frame.
    End,
}

/// Pacer of a thread that sends the frames `index`, `index + threads`, ... of a schedule that began
/// at `start_ns`.
#[derive(Debug)]
pub(crate) struct Pacer<'a> {
    schedule: &'a FrameSchedule,
    index: u64,
    threads: u64,
    start_ns: u64,
    /// Spacing of late frames; `None` if the frames of a batch leave at the same moment.
    spacing: Option<LateFrameSpacing>,
    /// Due times in nanoseconds of the frames in the batch that is being filled.
    batch: Vec<u64>,
    timings: FrameTimingRecord,
}

impl<'a> Pacer<'a> {
    /// Creates a pacer of a thread. The frames of a batch leave one after the other, unless
    /// `as_one` is set.
    pub(crate) fn new(
        schedule: &'a FrameSchedule,
        index: u64,
        threads: u64,
        start_ns: u64,
        as_one: bool,
    ) -> Self {
        let spacing = (!as_one).then(LateFrameSpacing::new);
        let batch = Vec::with_capacity(BATCH_ROOM);
        Self {
            schedule,
            index,
            threads,
            start_ns,
            spacing,
            batch,
            timings: FrameTimingRecord::new(),
        }
    }

    pub(crate) const fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Returns true if frames wait for their due times.
    pub(crate) const fn is_paced(&self) -> bool {
        self.schedule.is_paced()
    }

    /// Returns the thread's action at `now_ns` after `frame_count` frames were sent.
    pub(crate) fn next_action(&self, frame_count: u64, now_ns: u64) -> PacerAction {
        let number = frame_count * self.threads + self.index;
        let Some(due_ns) = self.schedule.due_ns(number) else { return PacerAction::End };
        let due_ns = self.start_ns.saturating_add(due_ns);
        let until_ns = self.spacing.as_ref().map_or(0, |spacing| spacing.opens_ns(due_ns, now_ns));
        let until_ns = until_ns.max(due_ns);
        if until_ns > now_ns {
            PacerAction::Wait { until_ns }
        } else {
            PacerAction::Send { due_ns }
        }
    }

    /// Adds the frame that was due at `due_ns` to the batch that is passed to the kernel from
    /// `now_ns` on.
    pub(crate) fn record_frame(&mut self, due_ns: u64, now_ns: u64) {
        if self.is_paced() {
            if let Some(spacing) = &mut self.spacing {
                spacing.take(due_ns, now_ns);
            }
            self.batch.push(due_ns);
        }
    }

    /// Records that the batch was passed to the kernel from `begin_ns` to `end_ns`: frame by frame,
    /// in even steps, unless the frames left at the same moment.
    pub(crate) fn record_batch(&mut self, begin_ns: u64, end_ns: u64) {
        let each_ns = match &mut self.spacing {
            Some(spacing) if !self.batch.is_empty() => {
                let each_ns = (end_ns - begin_ns) / self.batch.len() as u64;
                spacing.note(&self.batch, end_ns - each_ns, each_ns);
                each_ns
            }
            _ => 0,
        };
        for (index, due_ns) in self.batch.drain(..).enumerate() {
            self.timings.record(due_ns, begin_ns + index as u64 * each_ns);
        }
    }

    pub(crate) fn finish(mut self) -> FrameTimingRecord {
        self.timings.end_burst();
        self.timings
    }
}

/// Returns the time in nanoseconds between two late frames whose gap in the schedule is `gap_ns`.
/// It is more than half of `gap_ns`; otherwise a frame that leaves a little later than the next one
/// would make both a burst.
const fn spaced_ns(gap_ns: u64) -> u64 {
    gap_ns / 8 * 5
}

/// Spacing between late frames: a leaky bucket (ITU-T I.371's virtual scheduling) of [`AT_ONCE`]
/// frames that empties at 1.6 times the rate of the schedule.
#[derive(Debug)]
struct LateFrameSpacing {
    /// Due time of the last frame in nanoseconds.
    last_due_ns: Option<u64>,
    /// Time in nanoseconds at which the leaky bucket is empty.
    empty_ns: u64,
    /// Time in nanoseconds from which on the next frame may leave without extending the burst of
    /// the last batch.
    apart_ns: u64,
    /// Least time per frame, in nanoseconds, that passing a batch to the kernel took.
    quickest_ns: u64,
}

impl LateFrameSpacing {
    const fn new() -> Self {
        Self { last_due_ns: None, empty_ns: 0, apart_ns: 0, quickest_ns: u64::MAX }
    }

    /// Returns the gap in nanoseconds that the schedule has before the frame that is due at
    /// `due_ns`.
    fn gap_ns(&self, due_ns: u64) -> u64 {
        due_ns.saturating_sub(self.last_due_ns.unwrap_or(due_ns))
    }

    /// Returns the time in nanoseconds from which on the frame that is due at `due_ns` may leave.
    fn opens_ns(&self, due_ns: u64, now_ns: u64) -> u64 {
        let gap_ns = self.gap_ns(due_ns);
        if gap_ns / 2 <= self.quickest_ns || now_ns.saturating_sub(due_ns) > HOPELESS_NS {
            return 0;
        }
        self.apart_ns.max(self.empty_ns.saturating_sub((AT_ONCE - 1) * spaced_ns(gap_ns)))
    }

    /// Records a batch of frames that were due at `dues_ns` and have left: the time from one frame
    /// to the next was `each_ns`, and the last frame left at `last_ns`.
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

/// Record of how well sent frames kept their times.
///
/// A frame is in a burst with the one before when less than half of the scheduled time lay between
/// them.
#[derive(Debug)]
pub(crate) struct FrameTimingRecord {
    late_ns: Histogram,
    gaps_ns: Histogram,
    /// Time in nanoseconds at which the last frame left, and the time at which it was due.
    last: Option<(u64, u64)>,
    /// Number of frames in the burst that has not ended.
    burst: u64,
    /// Number of gaps inside bursts of more than [`BURST_FRAMES`] frames.
    in_bursts: u64,
    longest: u64,
}

impl FrameTimingRecord {
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

    /// Adds the timing record of another thread to this one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.late_ns.merge(&other.late_ns);
        self.gaps_ns.merge(&other.gaps_ns);
        self.in_bursts += other.in_bursts;
        self.longest = self.longest.max(other.longest);
    }

    /// Returns a summary of the frames' lateness; `None` if no frame had a time.
    pub(crate) fn lateness(&self) -> Option<LatenessSummary> {
        let us = |quantile| micros(&self.late_ns, quantile);
        Some(LatenessSummary { median_us: us(0.5)?, p99_us: us(0.99)?, max_us: us(1.0)? })
    }

    /// Returns a summary of the gaps between frames; `None` for fewer than two frames.
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
    use crate::schedule::parse_schedule;

    /// Simulates a sending thread on a clock that advances by `step_ns` for each reading and each
    /// batch of at most `batch` frames. The clock jumps for the thread from `stall.0` to `stall.1`;
    /// the frames of a batch leave at the same moment.
    fn run(
        schedule: &FrameSchedule,
        frames: u64,
        batch: u64,
        step_ns: u64,
        stall: (u64, u64),
    ) -> FrameTimingRecord {
        run_spaced(schedule, frames, batch, |_| step_ns, stall, true)
    }

    fn run_spaced(
        schedule: &FrameSchedule,
        frames: u64,
        batch: u64,
        step_ns: impl Fn(u64) -> u64,
        stall: (u64, u64),
        as_one: bool,
    ) -> FrameTimingRecord {
        let mut pacer = Pacer::new(schedule, 0, 1, 1_000, as_one);
        let (mut now_ns, mut frame_count) = (1_000, 0);
        while frame_count < frames {
            let mut filled = 0;
            while filled < batch && frame_count < frames {
                let PacerAction::Send { due_ns } = pacer.next_action(frame_count, now_ns) else {
                    break;
                };
                pacer.record_frame(due_ns, now_ns);
                (filled, frame_count) = (filled + 1, frame_count + 1);
            }
            let begin_ns = now_ns;
            now_ns += step_ns(filled);
            pacer.record_batch(begin_ns, now_ns);
            if (stall.0..stall.1).contains(&now_ns) {
                now_ns = stall.1;
            }
        }
        pacer.finish()
    }

    fn rate(text: &str) -> FrameSchedule {
        FrameSchedule::from_segments(&parse_schedule(text).unwrap(), 100.0)
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
        // 25 frames become due in the stall; sixteen leave with the first reading, nine with the
        // second.
        let record = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_245_000));
        let gaps = record.gaps().unwrap();
        assert_eq!(gaps.longest_burst, 25, "{gaps:?}");
        assert!((gaps.burst_share - 24.0 / 1_000.0).abs() < 1e-9, "{gaps:?}");
        assert!((240.0..260.0).contains(&gaps.max_us), "{gaps:?}");
        assert!((240.0..260.0).contains(&record.lateness().unwrap().max_us));
        // A burst of three frames is too short to be counted.
        let gaps = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_025_000)).gaps().unwrap();
        assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 3));
    }

    #[test]
    fn what_a_stall_held_back_is_spread() {
        // A stall of 245 us holds back 25 frames, which then leave at 1.6 times the rate, the first
        // three at once.
        for stall_ns in [245_000, 8_000_000] {
            let stall = (2_000_000, 2_000_000 + stall_ns);
            let record = run_spaced(&rate("100kpps"), 10_001, 16, |_| 500, stall, false);
            let gaps = record.gaps().unwrap();
            assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 3), "{gaps:?}");
            let max_us = record.lateness().unwrap().max_us;
            assert!((0.9..1.1).contains(&(max_us * 1e3 / stall_ns as f64)), "{max_us}");
            // Catching up at 1.6 times the rate takes 1.7 times as long as the stall; then frames
            // are on time.
            let late = record.late_ns.quantile(1.0 - 2.8 * stall_ns as f64 / 1e8).unwrap();
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
        // 16 frames in 16 us: 1 us each is no burst at 600 kpps, and four in 16 us would be too
        // few.
        let stall = (2_000_000, 2_400_000);
        let record = run_spaced(&rate("600kpps"), 60_001, 16, |_| 16_000, stall, false);
        let gaps = record.gaps().unwrap();
        assert!(gaps.burst_share < 0.01 && gaps.longest_burst <= 16, "{gaps:?}");
        assert!(record.late_ns.quantile(0.95).unwrap() < 20_000);
    }

    #[test]
    fn batches_that_leave_one_behind_the_other_are_no_common_burst() {
        // 400 ns per frame are less than half of the 909 ns that the schedule has.
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
            pacer.record_frame(number * 1_000, 4_000);
        }
        pacer.record_batch(4_000, 7_200);
        let record = pacer.finish();
        assert_eq!(record.gaps().unwrap().median_us.round(), 1.0);
        assert_eq!(record.last, Some((6_400, 3_000)));
    }

    #[test]
    fn a_clock_that_looks_seldom_sends_nothing_but_bursts() {
        let gaps = run(&rate("1Mpps"), 10_000, 64, 20_000, (0, 0)).gaps().unwrap();
        assert!(gaps.burst_share > 0.94 && gaps.longest_burst == 20, "{gaps:?}");
        assert_eq!(gaps.median_us, 0.0);
    }

    #[test]
    fn frames_that_are_due_together_are_no_burst() {
        let schedule = FrameSchedule::Times { offsets_ns: vec![0; 8], round_ns: 1_000_000 };
        let gaps = run(&schedule, 80, 16, 500, (0, 0)).gaps().unwrap();
        assert_eq!((gaps.burst_share, gaps.longest_burst), (0.0, 1));
    }

    #[test]
    fn frames_without_a_time_are_not_judged() {
        let record = run(&FrameSchedule::Unpaced, 100, 16, 500, (0, 0));
        assert!(record.gaps().is_none() && record.lateness().is_none());
    }

    #[test]
    fn threads_share_a_schedule_and_their_figures_add_up() {
        let schedule = rate("2pps/2s");
        let [one, two] = [0, 1].map(|index| Pacer::new(&schedule, index, 2, 0, true));
        assert_eq!(one.next_action(1, 0), PacerAction::Wait { until_ns: 1_000_000_000 });
        assert_eq!(two.next_action(1, 2_000_000_000), PacerAction::Send { due_ns: 1_500_000_000 });
        assert_eq!(two.next_action(2, 2_000_000_000), PacerAction::End);
        let quiet = run(&rate("100kpps"), 1_001, 16, 500, (0, 0));
        let mut both = run(&rate("100kpps"), 1_001, 16, 500, (2_000_000, 2_245_000));
        both.merge(&quiet);
        assert!((both.gaps().unwrap().burst_share - 24.0 / 2_000.0).abs() < 1e-9);
    }
}
