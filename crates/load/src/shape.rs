//! Shape of a load: the distribution of its due times over the time of the run.

use core::fmt;
use std::sync::Arc;

use base::time::NS_PER_S;

use crate::LoadRate;

/// Spacing of the due times of a load's exchanges. The run's rate is the highest rate of the shape;
/// for bursts and replays it is the mean rate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LoadShape {
    /// Equal gaps between exchanges.
    #[default]
    Even,
    /// Poisson process of exchanges, as many independent clients produce.
    Poisson,
    /// Bursts of this many exchanges at a time.
    Burst(u32),
    /// Linear change of the rate from one value to another over the run, in thousandths of the
    /// run's rate.
    Ramp(u32, u32),
    /// Rates that follow each other for equal parts of the run, in thousandths of the run's rate.
    Steps(Vec<u32>),
    /// Due times equal to the times of recorded events, in nanoseconds from the first one,
    /// ascending.
    Replay(Arc<[u64]>),
}

/// Largest number of rates in a load of steps.
const STEPS_MAX: usize = 1_000;

/// Load shapes that a command line may name, for help texts.
pub const SHAPES: &str = "even, poisson, burst:N, ramp:P%..P%, steps:P%,P%..., replay:FILE";

fn share(text: &str) -> Option<u32> {
    let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| (percent * 10.0).round() as u32)
}

struct Percent(u32);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 10 {
            0 => write!(f, "{}%", self.0 / 10),
            tenths => write!(f, "{}.{tenths}%", self.0 / 10),
        }
    }
}

impl LoadShape {
    /// Parses the load shape that `text` describes, any but a replay, whose file the caller reads.
    ///
    /// # Errors
    ///
    /// Returns a message when no such shape exists.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let shape = match (name, value) {
            ("even" | "constant", None) => Some(Self::Even),
            ("poisson", None) => Some(Self::Poisson),
            ("burst", Some(count)) => {
                count.parse().ok().filter(|&count| count > 0).map(Self::Burst)
            }
            ("ramp", Some(ends)) => ends
                .split_once("..")
                .and_then(|(from, to)| Some(Self::Ramp(share(from)?, share(to)?)))
                .filter(|shape| *shape != Self::Ramp(0, 0)),
            ("steps", Some(steps)) => {
                let steps: Option<Vec<u32>> = steps.split(',').map(share).collect();
                let is_good =
                    |steps: &Vec<u32>| steps.len() <= STEPS_MAX && steps.iter().any(|&s| s > 0);
                steps.filter(is_good).map(Self::Steps)
            }
            _ => None,
        };
        shape.ok_or_else(|| {
            format!("must be one of {SHAPES}; P is a percentage of the rate, from 0 to 100")
        })
    }

    /// Returns true if the load shape depends on the duration of the run (ramps and steps).
    pub const fn fills_the_run(&self) -> bool {
        matches!(self, Self::Ramp(..) | Self::Steps(_))
    }

    /// Creates a replay of events at `times_ns`, ascending, from the first time on; `None` without
    /// any.
    pub fn replay(times_ns: &[u64]) -> Option<Self> {
        let first_ns = *times_ns.first()?;
        Some(Self::Replay(times_ns.iter().map(|time_ns| time_ns - first_ns).collect()))
    }

    /// Returns the duration of a replay in nanoseconds, with the mean gap after its last time;
    /// `None` for other shapes.
    pub fn length_ns(&self) -> Option<u64> {
        let Self::Replay(times_ns) = self else { return None };
        let last_ns = *times_ns.last()?;
        Some(last_ns + last_ns / (times_ns.len() as u64 - 1).max(1) + 1)
    }

    /// Returns the mean rate of a replay; `None` for other load shapes.
    pub fn mean_rate(&self) -> Option<LoadRate> {
        let Self::Replay(times_ns) = self else { return None };
        let per_s = times_ns.len() as f64 * NS_PER_S as f64 / self.length_ns()? as f64;
        LoadRate::per_second(per_s.clamp(0.001, 1e9))
    }

    /// Returns a replay slowed down or sped up to the mean rate `rate`; other shapes unchanged.
    #[must_use]
    pub fn at(self, rate: LoadRate) -> Self {
        let (Self::Replay(times_ns), Some(mean)) = (&self, self.mean_rate()) else { return self };
        let factor = mean.as_per_second() / rate.as_per_second();
        Self::Replay(times_ns.iter().map(|&ns| (ns as f64 * factor).round() as u64).collect())
    }

    /// Returns the approximate maximum of exchanges that come due at `rate` within `window_ns`
    /// nanoseconds: a Poisson process may have more.
    pub fn most_in(&self, rate: LoadRate, window_ns: u64) -> u64 {
        match self {
            Self::Burst(count) => rate.count_in(window_ns).saturating_add((*count).into()),
            Self::Replay(times_ns) => {
                let mut first = 0;
                let counts = times_ns.iter().enumerate().map(|(last, &ns)| {
                    while ns - times_ns[first] >= window_ns {
                        first += 1;
                    }
                    last - first + 1
                });
                counts.max().unwrap_or(0) as u64
            }
            _ => rate.count_in(window_ns),
        }
    }

    /// Returns the due time of exchange `k` of a run of `duration_ns` at `rate`, in nanoseconds
    /// from the run's beginning; `None` when the run has fewer exchanges. It works for every shape
    /// but a Poisson process, which is drawn.
    pub(crate) fn offset_ns(&self, rate: LoadRate, duration_ns: u64, k: u64) -> Option<u64> {
        match self {
            Self::Even | Self::Poisson => Some(rate.offset_ns(k)),
            Self::Burst(count) => Some(rate.offset_ns(k - k % u64::from(*count))),
            Self::Ramp(from, to) => ramp_ns(rate, *from, *to, duration_ns, k),
            Self::Steps(steps) => step_ns(rate, steps, duration_ns, k),
            Self::Replay(times_ns) => times_ns.get(usize::try_from(k).ok()?).copied(),
        }
    }
}

/// Returns the time in nanoseconds at which the integral of a rate that rises or falls linearly
/// reaches `k` exchanges. It uses only operations that IEEE 754 fixes to the bit.
fn ramp_ns(rate: LoadRate, from: u32, to: u32, duration_ns: u64, k: u64) -> Option<u64> {
    let per_s = |share: u32| rate.as_per_second() * f64::from(share) / 1_000.0;
    let (from, to) = (per_s(from), per_s(to));
    let slope = (to - from) * NS_PER_S as f64 / duration_ns as f64;
    let k = k as f64;
    let square = from * from + 2.0 * slope * k;
    let both = from + square.max(0.0).sqrt();
    if square < 0.0 || both == 0.0 {
        return (k == 0.0).then_some(0);
    }
    Some((2.0 * k / both * NS_PER_S as f64) as u64)
}

fn step_ns(rate: LoadRate, steps: &[u32], duration_ns: u64, k: u64) -> Option<u64> {
    // Exchanges are counted in millionths of those that come due in a nanosecond, so that integers
    // suffice: thousandths of exchanges per second, times thousandths of that.
    let unit = u128::from(NS_PER_S) * 1_000_000;
    let units = u128::from(k) * unit;
    let count = steps.len() as u64;
    let mut before = 0;
    for (index, &share) in (0_u64..).zip(steps) {
        let begin_ns = (u128::from(duration_ns) * u128::from(index) / u128::from(count)) as u64;
        let end_ns = (u128::from(duration_ns) * u128::from(index + 1) / u128::from(count)) as u64;
        let units_per_ns = u128::from(rate.thousandths()) * u128::from(share);
        let all = units_per_ns * u128::from(end_ns - begin_ns);
        if units < before + all {
            let into_ns = (units - before) / units_per_ns;
            return Some(begin_ns + into_ns as u64);
        }
        before += all;
    }
    None
}

impl fmt::Display for LoadShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("even"),
            Self::Poisson => f.write_str("poisson"),
            Self::Burst(count) => write!(f, "burst:{count}"),
            Self::Ramp(from, to) => write!(f, "ramp:{}..{}", Percent(*from), Percent(*to)),
            Self::Steps(steps) => {
                let steps: Vec<_> = steps.iter().map(|&step| Percent(step).to_string()).collect();
                write!(f, "steps:{}", steps.join(","))
            }
            Self::Replay(times_ns) => write!(f, "replay of {}", times_ns.len()),
        }
    }
}

/// Load shape that a command line selects: a shape, or a file to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadShapeArg {
    /// Load shape that needs no file.
    Shape(LoadShape),
    /// Replay of the times in the file at this path.
    Replay(String),
}

impl Default for LoadShapeArg {
    fn default() -> Self {
        Self::Shape(LoadShape::Even)
    }
}

impl fmt::Display for LoadShapeArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(shape) => shape.fmt(f),
            Self::Replay(path) => write!(f, "replay:{path}"),
        }
    }
}

impl LoadShapeArg {
    /// Parses the load shape that `text` selects on a command line.
    ///
    /// # Errors
    ///
    /// Fails as [`LoadShape::parse`] does.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("replay:") {
            Some(path) if !path.is_empty() => Ok(Self::Replay(path.into())),
            _ => LoadShape::parse(text).map(Self::Shape),
        }
    }

    /// Returns the load shape and the rate of a run with the requested `rate`. A replay without one
    /// goes as fast as its recording, whose times `times` reads from a file.
    ///
    /// # Errors
    ///
    /// Fails when a needed rate is missing, or with the error of `times`.
    pub fn with_rate(
        &self,
        rate: Option<LoadRate>,
        times: impl FnOnce(&str) -> Result<Vec<u64>, String>,
    ) -> Result<(LoadShape, LoadRate), String> {
        let shape = match self {
            Self::Shape(shape) => shape.clone(),
            Self::Replay(path) => {
                let problem = |problem| format!("replay:{path}: {problem}");
                let times_ns = times(path).map_err(problem)?;
                LoadShape::replay(&times_ns).ok_or_else(|| problem("has no times".into()))?
            }
        };
        match rate.or_else(|| shape.mean_rate()) {
            Some(rate) if self.is_replay() => Ok((shape.at(rate), rate)),
            Some(rate) => Ok((shape, rate)),
            None => Err("every shape but a replay needs a rate".into()),
        }
    }

    /// Returns true if the load shape repeats the times in a file.
    pub const fn is_replay(&self) -> bool {
        matches!(self, Self::Replay(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadPeriod, Schedule, ThreadShare};

    const S: u64 = NS_PER_S;
    /// Share of a load for a generator's only thread.
    const WHOLE: ThreadShare = ThreadShare { thread: 0, threads: 1 };

    fn rate(per_s: f64) -> LoadRate {
        LoadRate::per_second(per_s).unwrap()
    }

    fn period(start_ns: u64, seconds: u64) -> LoadPeriod {
        LoadPeriod { start_ns, duration_ns: seconds * S }
    }

    /// Returns all due times of a run of ten seconds at `per_s` exchanges per second with the load
    /// shape `text`.
    fn due(text: &str, per_s: f64) -> Vec<u64> {
        let shape = LoadShape::parse(text).unwrap();
        assert_eq!(LoadShape::parse(&shape.to_string()), Ok(shape.clone()), "{text}");
        let mut schedule = Schedule::for_thread(&shape, rate(per_s), period(7, 10), WHOLE, 3);
        let due =
            std::iter::from_fn(|| schedule.take(u64::MAX)).map(|ns| ns - 7).collect::<Vec<_>>();
        assert!(due.is_sorted() && due.last() < Some(&(10 * S)), "{text}");
        due
    }

    /// Returns the number of due times in each second of the run.
    fn by_second(due: &[u64]) -> Vec<usize> {
        (0..10).map(|s| due.iter().filter(|&&ns| ns / S == s).count()).collect()
    }

    #[test]
    fn each_shape_is_what_it_is_called() {
        assert_eq!(by_second(&due("even", 100.0)), [100; 10]);
        assert_eq!(due("constant", 100.0), due("even", 100.0));
        assert_eq!(due("steps:100%", 97.0), due("even", 97.0));
        let bursts = due("burst:50", 100.0);
        assert_eq!(bursts.len(), 1_000);
        assert!(bursts.chunks(50).zip(0..).all(|(burst, n)| burst == [n * S / 2; 50]));
        // The rate in the middle of each second: 95, 85 ... 5.
        let ramp = by_second(&due("ramp:100%..0%", 100.0));
        let middles = (0..10).map(|s| 95 - 10 * s);
        assert!(ramp.iter().zip(middles).all(|(&n, middle)| n.abs_diff(middle) <= 1), "{ramp:?}");
        let rising = due("ramp:0%..100%", 1_000.0);
        assert_eq!(rising.len(), 5_000);
        // A quarter of the time has a sixteenth of the exchanges.
        let early = rising.iter().filter(|&&ns| ns < 10 * S / 4).count();
        assert!(early.abs_diff(5_000 / 16) <= 1, "{early}");
        let steps = by_second(&due("steps:20%,100%,0%,50%,12.5%", 400.0));
        assert_eq!(steps, [80, 80, 400, 400, 0, 0, 200, 200, 50, 50]);
    }

    #[test]
    fn gaps_of_a_poisson_process_are_exponential() {
        let due = due("poisson", 10_000.0);
        let gaps: Vec<u64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // The share of gaps longer than x means is e^-x.
        for x in [0.1_f64, 0.5, 1.0, 2.0, 4.0] {
            let longer = gaps.iter().filter(|&&gap| gap as f64 > x * 1e5).count() as f64;
            let share = longer / gaps.len() as f64;
            assert!((share - (-x).exp()).abs() < 0.006, "{x}: {share}");
        }
    }

    #[test]
    fn threads_share_every_shape() {
        for text in ["even", "burst:7", "ramp:10%..90%", "steps:30%,70%,0%,100%"] {
            let whole = due(text, 97.0);
            let shape = LoadShape::parse(text).unwrap();
            let of = |thread| {
                let share = ThreadShare { thread, threads: 3 };
                let mut part = Schedule::for_thread(&shape, rate(97.0), period(7, 10), share, 3);
                std::iter::from_fn(move || part.take(u64::MAX)).map(|ns| ns - 7)
            };
            let mut parts: Vec<u64> = (0..3).flat_map(of).collect();
            parts.sort_unstable();
            assert_eq!(parts, whole, "{text}");
        }
    }

    #[test]
    fn a_replay_keeps_its_gaps_or_their_proportions() {
        let shape = LoadShape::replay(&[5 * S, 5 * S, 6 * S, 9 * S]).unwrap();
        assert_eq!(shape, LoadShape::Replay([0, 0, S, 4 * S].into()));
        let due_times = |shape: &LoadShape, per_s| {
            let mut schedule = Schedule::for_thread(shape, rate(per_s), period(0, 100), WHOLE, 3);
            std::iter::from_fn(move || schedule.take(u64::MAX)).collect::<Vec<_>>()
        };
        assert_eq!(due_times(&shape, 1.0), [0, 0, S, 4 * S]);
        assert_eq!(shape.mean_rate(), Some(rate(0.75)));
        assert_eq!(due_times(&shape.clone().at(rate(1.5)), 1.5), [0, 0, S / 2, 2 * S]);
        assert_eq!((shape.most_in(rate(1.0), S), shape.most_in(rate(1.0), S + 1)), (2, 3));
        assert_eq!(LoadShape::replay(&[]), None);
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for wrong in [
            "",
            "odd",
            "even:1",
            "burst",
            "burst:0",
            "burst:x",
            "ramp:1%",
            "ramp:0%..0%",
            "ramp:5..9",
            "ramp:1%..101%",
            "steps:",
            "steps:0%",
            "steps:1%,,2%",
            "replay:x",
        ] {
            assert!(LoadShape::parse(wrong).is_err(), "{wrong}");
        }
    }
}
