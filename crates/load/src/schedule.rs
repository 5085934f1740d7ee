//! Due times of a generator's exchanges.

use base::Random;
use base::time::NS_PER_S;

use crate::LoadShape;

/// Rate of exchanges per second, kept in thousandths so that due times need only integer
/// arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadRate {
    per_1000_s: u64,
}

impl LoadRate {
    /// Returns the rate nearest to `per_s` exchanges per second; `None` unless it is between 0.001
    /// and 10^9 per second.
    pub fn per_second(per_s: f64) -> Option<Self> {
        let thousandths = (per_s * 1_000.0).round();
        (1.0..=1e12).contains(&thousandths).then_some(Self { per_1000_s: thousandths as u64 })
    }

    /// Returns the rate in exchanges per second.
    pub fn as_per_second(self) -> f64 {
        self.per_1000_s as f64 / 1_000.0
    }

    /// Returns the rate in thousandths of an exchange per second.
    pub(crate) const fn thousandths(self) -> u64 {
        self.per_1000_s
    }

    /// Returns the share of the rate that each of `threads` threads has, at least 0.001 per second.
    #[must_use]
    pub fn share(self, threads: u64) -> Self {
        let per_s = self.as_per_second() / threads.max(1) as f64;
        Self::per_second(per_s.max(0.001)).expect("a share of a rate is a rate")
    }

    /// Returns the nanoseconds from the start of the run to the due time of exchange `k`, rounded
    /// down; no error adds up over `k`.
    pub const fn offset_ns(self, k: u64) -> u64 {
        (k as u128 * (NS_PER_S as u128 * 1_000) / self.per_1000_s as u128) as u64
    }

    /// Returns the number of exchanges due within `duration_ns`: the number of `k` with
    /// `offset_ns(k) < duration_ns`.
    pub const fn count_in(self, duration_ns: u64) -> u64 {
        let unit = NS_PER_S as u128 * 1_000;
        (duration_ns as u128 * self.per_1000_s as u128).div_ceil(unit) as u64
    }
}

#[derive(Clone, Debug)]
enum Spacing {
    /// Due times by the load's `shape` at `rate`: every `stride`-th exchange, from number `next`
    /// on.
    Fixed { shape: LoadShape, rate: LoadRate, next: u64, stride: u64 },
    /// Spacing by gaps with an exponential distribution of mean `mean_gap_ns` nanoseconds.
    Poisson { random: Random, mean_gap_ns: f64, fraction_ns: f64 },
}

/// Start and length of a generator's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadPeriod {
    /// Start of the run on the monotonic clock, in nanoseconds.
    pub start_ns: u64,
    /// Length of the run in nanoseconds.
    pub duration_ns: u64,
}

/// Share of a load that one of several threads has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadShare {
    /// Number of the thread among the generator's threads, from 0.
    pub thread: u64,
    /// Number of all threads of the generator.
    pub threads: u64,
}

/// Due times of one thread's exchanges, ascending, until the end of the run.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: u64,
    end_ns: u64,
    duration_ns: u64,
    next_due_ns: u64,
    taken_count: u64,
    spacing: Spacing,
}

impl Schedule {
    /// Creates the due times of one thread of several that together have the rate `rate`.
    /// `seed` decides on the gaps of a Poisson process.
    ///
    /// # Panics
    ///
    /// Panics unless the thread's number is below the number of threads.
    pub fn for_thread(
        shape: &LoadShape,
        rate: LoadRate,
        period: LoadPeriod,
        share: ThreadShare,
        seed: u64,
    ) -> Self {
        if *shape == LoadShape::Poisson {
            let random = Random::from_seed(seed).fork(share.thread + 1);
            let LoadPeriod { start_ns, duration_ns } = period;
            return Self::poisson(rate.share(share.threads), start_ns, duration_ns, random);
        }
        Self::fixed(shape.clone(), rate, period, share)
    }

    /// Creates equally spaced due times: exchange k of the whole load is due at `start_ns` + k /
    /// `rate`. This thread takes the numbers `thread`, `thread + threads`, `thread + 2 × threads`
    /// and so on.
    ///
    /// # Panics
    ///
    /// Panics unless `thread < threads`.
    pub fn even(
        rate: LoadRate,
        start_ns: u64,
        duration_ns: u64,
        thread: u64,
        threads: u64,
    ) -> Self {
        let period = LoadPeriod { start_ns, duration_ns };
        Self::fixed(LoadShape::Even, rate, period, ThreadShare { thread, threads })
    }

    fn fixed(shape: LoadShape, rate: LoadRate, period: LoadPeriod, share: ThreadShare) -> Self {
        let LoadPeriod { start_ns, duration_ns } = period;
        let ThreadShare { thread, threads } = share;
        assert!(thread < threads, "thread {thread} of {threads}");
        let mut schedule = Self {
            start_ns,
            end_ns: start_ns + duration_ns,
            duration_ns,
            next_due_ns: start_ns,
            taken_count: 0,
            spacing: Spacing::Fixed { shape, rate, next: thread, stride: threads },
        };
        schedule.look();
        schedule
    }

    /// Creates the due times of a Poisson process, as many independent clients produce. `rate` is
    /// this thread's share: several threads with shares of the rate and their own `random` make one
    /// process of the whole rate.
    pub fn poisson(rate: LoadRate, start_ns: u64, duration_ns: u64, random: Random) -> Self {
        let mean_gap_ns = NS_PER_S as f64 / rate.as_per_second();
        let mut schedule = Self {
            start_ns,
            end_ns: start_ns + duration_ns,
            duration_ns,
            next_due_ns: start_ns,
            taken_count: 0,
            spacing: Spacing::Poisson { random, mean_gap_ns, fraction_ns: 0.0 },
        };
        schedule.step();
        schedule
    }

    /// Returns the due time of the next exchange in nanoseconds; `None` when the run has no more.
    pub fn next_due_ns(&self) -> Option<u64> {
        (self.next_due_ns < self.end_ns).then_some(self.next_due_ns)
    }

    /// Takes the next exchange if it is due at `now_ns`; returns its due time in nanoseconds.
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_due_ns().filter(|&due_ns| due_ns <= now_ns)?;
        self.taken_count += 1;
        self.step();
        Some(due_ns)
    }

    /// Returns the number of exchanges taken so far.
    pub const fn taken_count(&self) -> u64 {
        self.taken_count
    }

    /// Ends the run at `end_ns`, if that is earlier than its present end.
    pub fn end_at(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
    }

    /// Computes the due time of the next exchange of a load shape with fixed due times.
    fn look(&mut self) {
        if let Spacing::Fixed { shape, rate, next, .. } = &self.spacing {
            let offset_ns = shape.offset_ns(*rate, self.duration_ns, *next);
            self.next_due_ns = offset_ns.map_or(u64::MAX, |ns| self.start_ns.saturating_add(ns));
        }
    }

    fn step(&mut self) {
        match &mut self.spacing {
            Spacing::Fixed { next, stride, .. } => {
                *next += *stride;
                self.look();
            }
            Spacing::Poisson { random, mean_gap_ns, fraction_ns } => {
                let gap = exponential(random) * *mean_gap_ns + *fraction_ns;
                self.next_due_ns = self.next_due_ns.saturating_add(gap as u64);
                *fraction_ns = gap - (gap as u64) as f64;
            }
        }
    }
}

/// Draws a number of an exponential distribution with mean 1, equal on every machine.
pub fn exponential(random: &mut Random) -> f64 {
    // (0, 1], so the logarithm is finite.
    -logarithm(1.0 - random.unit())
}

/// Returns the natural logarithm of a normal `x` > 0 to about 1e-15, from operations that IEEE 754
/// fixes to the bit: unlike a C library's `log`, it is equal on every machine.
fn logarithm(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1_023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1_023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); the argument is at most 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for term in (0..10).rev() {
        sum = sum * square + 1.0 / f64::from(2 * term + 1);
    }
    2.0 * s * sum + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_are_exact_after_any_number_of_exchanges() {
        let rate = LoadRate::per_second(3.0).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|k| rate.offset_ns(k)),
            [0, 333_333_333, 666_666_666, NS_PER_S]
        );
        assert_eq!(rate.offset_ns(3_000_000_000), 1_000_000_000 * NS_PER_S);
        let mut random = Random::from_seed(1);
        for _ in 0..10_000 {
            let rate =
                LoadRate::per_second(random.below(2_000_000_000) as f64 / 1_000.0 + 0.001).unwrap();
            let duration_ns = random.below(100 * NS_PER_S) + 1;
            let count = rate.count_in(duration_ns);
            assert!(rate.offset_ns(count) >= duration_ns, "{rate:?} {duration_ns}");
            assert!(rate.offset_ns(count - 1) < duration_ns, "{rate:?} {duration_ns}");
        }
    }

    #[test]
    fn the_threads_of_a_run_carry_its_rate_together() {
        let rate = LoadRate::per_second(1_000.0).unwrap();
        for shape in [LoadShape::Even, LoadShape::Poisson] {
            let of = |thread| {
                let period = LoadPeriod { start_ns: 0, duration_ns: 10 * NS_PER_S };
                let share = ThreadShare { thread, threads: 4 };
                let mut schedule = Schedule::for_thread(&shape, rate, period, share, 3);
                while schedule.take(u64::MAX).is_some() {}
                schedule.taken_count()
            };
            let counts = [of(0), of(1), of(2), of(3)];
            let sum: u64 = counts.iter().sum();
            assert!(sum.abs_diff(10_000) < 500, "{shape}: {counts:?}");
            assert_eq!(counts == [2_500; 4], shape == LoadShape::Even, "{counts:?}");
        }
        assert_eq!(
            LoadRate::per_second(0.001).unwrap().share(8),
            LoadRate::per_second(0.001).unwrap()
        );
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for wrong in [0.0, -1.0, 0.0001, f64::NAN, f64::INFINITY, 1e10] {
            assert_eq!(LoadRate::per_second(wrong), None, "{wrong}");
        }
        assert_eq!(LoadRate::per_second(0.5).unwrap().as_per_second(), 0.5);
    }

    #[test]
    fn threads_divide_one_schedule_among_them() {
        let rate = LoadRate::per_second(977.0).unwrap();
        let (start, duration) = (77, 3 * NS_PER_S);
        let drain = |mut schedule: Schedule| {
            std::iter::from_fn(move || schedule.take(u64::MAX)).collect::<Vec<_>>()
        };
        let whole = drain(Schedule::even(rate, start, duration, 0, 1));
        assert_eq!(whole.len() as u64, rate.count_in(duration));
        assert_eq!(whole[..2], [77, 77 + 1_023_541]);
        for threads in 2..6 {
            let mut parts: Vec<u64> = (0..threads)
                .flat_map(|thread| drain(Schedule::even(rate, start, duration, thread, threads)))
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, whole);
        }
    }

    #[test]
    fn nothing_is_taken_before_it_is_due_nor_after_the_end() {
        let rate = LoadRate::per_second(10.0).unwrap();
        let mut schedule = Schedule::even(rate, 1_000, NS_PER_S, 0, 1);
        assert_eq!((schedule.take(999), schedule.take(1_000)), (None, Some(1_000)));
        assert_eq!(schedule.next_due_ns(), Some(100_001_000));
        assert_eq!(schedule.take(100_000_999), None);
        schedule.end_at(200_001_001);
        assert_eq!(schedule.take(u64::MAX), Some(100_001_000));
        assert_eq!(schedule.take(u64::MAX), Some(200_001_000));
        assert_eq!((schedule.take(u64::MAX), schedule.next_due_ns()), (None, None));
        assert_eq!(schedule.taken_count(), 3);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_a_poisson_process() {
        let rate = LoadRate::per_second(100_000.0).unwrap();
        let mut schedule = Schedule::poisson(rate, 0, 10 * NS_PER_S, Random::from_seed(5));
        let (mut bins, mut count) = (vec![0_u32; 10_000], 0_u64);
        while let Some(due_ns) = schedule.take(u64::MAX) {
            bins[(due_ns / 1_000_000) as usize] += 1;
            count += 1;
        }
        assert!((997_000..1_003_000).contains(&count), "{count}");
        let mean = count as f64 / bins.len() as f64;
        let square: f64 = bins.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum();
        let dispersion = square / (bins.len() as f64 - 1.0) / mean;
        assert!((0.93..1.07).contains(&dispersion), "{dispersion}");
    }

    #[test]
    fn a_poisson_schedule_replays_to_the_nanosecond() {
        let rate = LoadRate::per_second(1_000.0).unwrap();
        let mut schedule = Schedule::poisson(rate, 0, NS_PER_S, Random::from_seed(5));
        let first = [(); 4].map(|()| schedule.take(u64::MAX).unwrap());
        assert_eq!(first, PINNED);
    }

    /// Due times of a Poisson process in nanoseconds, confirmed once with another language's
    /// library; a change means that old records no longer replay.
    const PINNED: [u64; 4] = [345_343, 1_290_649, 1_393_749, 1_454_148];

    #[test]
    fn the_logarithm_agrees_with_the_library() {
        let mut random = Random::from_seed(6);
        for _ in 0..100_000 {
            let x = 1.0 - random.unit();
            let (got, truth) = (logarithm(x), x.ln());
            assert!((got - truth).abs() <= 1e-14 * truth.abs().max(1.0), "{x}: {got} {truth}");
        }
        assert_eq!(logarithm(1.0), 0.0);
    }
}
