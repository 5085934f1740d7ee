//! Means without the best and the worst value, with their confidence intervals.
//!
//! The interval of a trimmed mean must not be Student's over the remaining values: values were
//! removed because of their size, so the remaining ones are closer together than the measured ones.
//! Tukey and `McLaughlin` take the spread of the *winsorized* values instead, where each value
//! dropped is replaced by the nearest one kept, and degrees of freedom of the values kept (J. W.
//! Tukey, D. H. `McLaughlin`, "Less vulnerable confidence and significance procedures for location
//! based on a single sample: Trimming/Winsorization 1", Sankhyā A 25 (1963) 331–352). For the
//! difference of two such means: K. K. Yuen, "The two-sample trimmed t for unequal population
//! variances", Biometrika 61 (1974) 165–170; without trimming that is Welch's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::student::student_t;
use super::{RatioInterval, lower_median, paired_ratio, sorted};

/// Smallest number of values of which the best and the worst are dropped: two must remain to have a
/// spread.
pub const LEAST_TO_DROP: usize = 4;

/// Mean of repeated measurements with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MeanInterval {
    /// Mean of the values that were not dropped; the lower median if there were too few values to
    /// drop any.
    pub mean: f64,
    /// Lower end of the mean's interval; equal to `mean` when there is no interval.
    pub low: f64,
    /// Upper end of the mean's interval; equal to `mean` when there is no interval.
    pub high: f64,
    /// Number of values that were measured, those dropped included.
    pub values: u32,
    /// Number of values dropped at each end before the mean.
    pub dropped: u32,
    /// Degrees of freedom of the mean's interval; 0 when there is no interval.
    pub freedom: u32,
}

impl MeanInterval {
    /// Returns the number of values in the mean, without those dropped.
    pub const fn averaged_count(&self) -> u32 {
        self.values - 2 * self.dropped
    }

    /// Returns true if the mean has an interval; otherwise `mean` is a lower median.
    pub const fn has_interval(&self) -> bool {
        self.freedom > 0
    }
}

/// Returns the sum of squares of the winsorized values around their mean, and the mean of the
/// values that were not dropped. `sorted` ascends and has more than `2 * drop` values.
fn winsorized(sorted: &[f64], drop: usize) -> (f64, f64) {
    let middle = &sorted[drop..sorted.len() - drop];
    let (least, most) = (middle[0], middle[middle.len() - 1]);
    let values = || sorted.iter().map(|value| value.clamp(least, most));
    let center = values().sum::<f64>() / sorted.len() as f64;
    let squares = values().map(|value| (value - center).powi(2)).sum();
    (squares, middle.iter().sum::<f64>() / middle.len() as f64)
}

/// Returns the mean of `values` without the `drop` smallest and the `drop` largest, with the
/// interval of Tukey and McLaughlin; `None` without values.
///
/// With fewer than `2 * drop + 2` values nothing is dropped and there is no interval.
pub fn trimmed_interval(values: &[f64], drop: usize) -> Option<MeanInterval> {
    let sorted = sorted(values);
    let count = sorted.len();
    if count < 2 * drop + 2 {
        let mean = lower_median(values)?;
        let values = count as u32;
        return Some(MeanInterval { mean, low: mean, high: mean, values, dropped: 0, freedom: 0 });
    }
    let kept_count = count - 2 * drop;
    let (squares, mean) = winsorized(&sorted, drop);
    let deviation = (squares / (count - 1) as f64).sqrt();
    let error = deviation * (count as f64).sqrt() / kept_count as f64;
    let half_width = student_t((kept_count - 1) as f64) * error;
    Some(MeanInterval {
        mean,
        low: mean - half_width,
        high: mean + half_width,
        values: count as u32,
        dropped: drop as u32,
        freedom: (kept_count - 1) as u32,
    })
}

/// Returns the ratio first over second of pairs measured in turn: the mean of the logarithms
/// without the `drop` smallest and largest, with the interval of Tukey and McLaughlin.
///
/// A pair with one value of 0 is infinitely far out and may only be dropped: `None` when more such
/// pairs are on one side than are dropped there. Pairs of two zeros say nothing and are left out.
/// With too few pairs none is dropped, and the ratio is that of [`paired_ratio`].
pub fn trimmed_paired_ratio(pairs: &[(f64, f64)], drop: usize) -> Option<RatioInterval> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(a, b)| a.is_finite() && b.is_finite() && a.max(*b) > 0.0)
        .map(|(a, b)| (a.max(0.0) / b.max(0.0)).ln())
        .collect();
    if logs.len() < 2 * drop + 2 {
        let is_whole = logs.iter().all(|log| log.is_finite());
        return if is_whole { paired_ratio(pairs) } else { None };
    }
    let of_logs = trimmed_interval(&logs, drop)?;
    of_logs.mean.is_finite().then(|| RatioInterval {
        ratio: of_logs.mean.exp(),
        low: of_logs.low.exp(),
        high: of_logs.high.exp(),
        pairs: logs.len() as u32,
    })
}

/// Returns the ratio of `above` over `below`, which were not measured in turn: means of logarithms
/// without the `drop` smallest and largest of each, with Yuen's interval (Welch's when `drop` is
/// 0). `pairs` of the result is the smaller number of values.
///
/// With fewer than `2 * drop + 2` values on a side, nothing is dropped on either; with one value on
/// a side there is no interval. `None` when a side has no value, or more zeros than are dropped.
pub fn ratio_of_means(above: &[f64], below: &[f64], drop: usize) -> Option<RatioInterval> {
    let logs = |values: &[f64]| -> Vec<f64> {
        sorted(values).into_iter().map(|value| value.max(0.0).ln()).collect()
    };
    let (above, below) = (logs(above), logs(below));
    let least = above.len().min(below.len());
    if least == 0 {
        return None;
    }
    let drop = if least < 2 * drop + 2 { 0 } else { drop };
    let ((above_squares, above_mean), (below_squares, below_mean)) =
        (winsorized(&above, drop), winsorized(&below, drop));
    let difference = above_mean - below_mean;
    if !difference.is_finite() {
        return None;
    }
    let freedom = |logs: &[f64]| (logs.len() - 2 * drop - 1) as f64;
    // The square of the standard error of one side's mean.
    let error = |squares: f64, logs: &[f64]| squares / (freedom(logs) * (freedom(logs) + 1.0));
    let half_width = if least < 2 {
        0.0
    } else {
        let (a, b) = (error(above_squares, &above), error(below_squares, &below));
        if a + b > 0.0 {
            let degrees =
                (a + b).powi(2) / (a.powi(2) / freedom(&above) + b.powi(2) / freedom(&below));
            student_t(degrees) * (a + b).sqrt()
        } else {
            0.0
        }
    };
    Some(RatioInterval {
        ratio: difference.exp(),
        low: (difference - half_width).exp(),
        high: (difference + half_width).exp(),
        pairs: least as u32,
    })
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    fn near(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-9, "{got} is not {expected}");
    }

    /// Rates of nine runs, of which one went wrong.
    const RUNS: [f64; 9] =
        [41_230.0, 40_120.0, 43_510.0, 39_990.0, 42_040.0, 41_870.0, 28_700.0, 44_020.0, 40_760.0];
    const OTHERS: [f64; 9] =
        [51_230.0, 50_120.0, 46_510.0, 52_990.0, 49_040.0, 51_870.0, 58_700.0, 50_020.0, 53_760.0];

    #[test]
    fn the_mean_of_seven_is_that_of_scipy() {
        // SciPy 1.17.1:
        // mstats.trimmed_mean_ci(runs, limits=(1/9, 1/9)), stats.trim_mean(runs, 1/9 + 1e-9)
        let of = trimmed_interval(&RUNS, 1).unwrap();
        near(of.mean, 41_360.0);
        near(of.low, 39_897.096_271_851_18);
        near(of.high, 42_822.903_728_148_82);
        assert_eq!((of.values, of.dropped, of.freedom), (9, 1, 6));
    }

    #[test]
    fn the_ratio_of_two_trimmed_means_is_yuens() {
        // SciPy 1.17.1: stats.ttest_ind(log(others), log(runs), equal_var=False, trim=1/9 + 1e-9)
        // gives t = 9.918814041363062 with 11.89536025568808 degrees of freedom; the interval is
        // difference ± t.ppf(0.975, df) * difference / t, and its exponential.
        let of = ratio_of_means(&OTHERS, &RUNS, 1).unwrap();
        near(of.ratio, 1.239_972_512_165_796);
        near(of.low, 1.182_694_816_595_317_3);
        near(of.high, 1.300_024_156_149_534);
        assert_eq!(of.pairs, 9);
    }

    #[test]
    fn the_ratio_of_two_means_is_welchs() {
        // SciPy 1.17.1: stats.ttest_ind(log(others[:4]), log(runs[:3]),
        // equal_var=False).confidence_interval(0.95), and its exponential.
        let of = ratio_of_means(&OTHERS[..4], &RUNS[..3], 0).unwrap();
        near(of.ratio, 1.205_769_993_246_591_7);
        near(of.low, 1.097_712_039_266_383_5);
        near(of.high, 1.324_465_091_578_603_4);
        let too_few = ratio_of_means(&OTHERS[..4], &RUNS[..3], 1).unwrap();
        assert_eq!(too_few, of, "nothing is dropped of three");
        let single = ratio_of_means(&OTHERS[..1], &RUNS, 1).unwrap();
        assert_eq!((single.low, single.high, single.pairs), (single.ratio, single.ratio, 1));
    }

    #[test]
    fn too_few_values_are_not_dropped_and_give_no_interval() {
        for (count, mean) in [(1, 41_230.0), (2, 40_120.0), (3, 41_230.0)] {
            let of = trimmed_interval(&RUNS[..count], 1).unwrap();
            assert_eq!((of.mean, of.low, of.high), (mean, mean, mean));
            assert_eq!((of.dropped, of.freedom), (0, 0));
        }
        assert_eq!(trimmed_interval(&RUNS[..LEAST_TO_DROP], 1).unwrap().freedom, 1);
        assert_eq!(trimmed_interval(&[], 1), None);
        assert_eq!(ratio_of_means(&[], &RUNS, 1), None);
    }

    #[test]
    fn a_failed_run_may_be_the_one_that_is_dropped_and_no_more() {
        let mut pairs: Vec<(f64, f64)> = OTHERS.into_iter().zip(RUNS).collect();
        pairs[3].0 = 0.0;
        let of = trimmed_paired_ratio(&pairs, 1).unwrap();
        assert!(of.low > 0.0 && of.high.is_finite(), "{of:?}");
        assert_eq!(of.pairs, 9, "the failed one is dropped, not forgotten");
        pairs[5].1 = 0.0;
        assert!(trimmed_paired_ratio(&pairs, 1).is_some(), "one on each side");
        pairs[4].0 = 0.0;
        assert_eq!(trimmed_paired_ratio(&pairs, 1), None, "two on one side");
        pairs[4] = (0.0, 0.0);
        assert_eq!(trimmed_paired_ratio(&pairs, 1).unwrap().pairs, 8);
        assert_eq!(ratio_of_means(&[0.0, 0.0, 3.0, 4.0, 5.0], &RUNS, 1), None);
        let three = &pairs[..3];
        assert_eq!(trimmed_paired_ratio(three, 1), paired_ratio(three));
        assert_eq!(trimmed_paired_ratio(&[(1.0, 2.0), (0.0, 2.0)], 1), None);
    }

    #[test]
    fn turning_a_ratio_around_turns_its_interval_around() {
        let (there, back) = (
            ratio_of_means(&OTHERS, &RUNS, 1).unwrap(),
            ratio_of_means(&RUNS, &OTHERS, 1).unwrap(),
        );
        near(there.ratio * back.ratio, 1.0);
        near(there.low * back.high, 1.0);
    }

    /// Makes runs of a server: spread of some percent, and now and then a run that a busy machine
    /// spoiled.
    fn runs(random: &mut Random, count: usize, spoiled_in_100: u64) -> Vec<f64> {
        let mut run = || {
            let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            let spread = if random.chance(spoiled_in_100, 100) { 0.25 } else { 0.03 };
            1_000.0 * (spread * normal).exp()
        };
        (0..count).map(|_| run()).collect()
    }

    /// Counts how many of 4,000 intervals contain the true value, for each way of spoiling. The
    /// distribution is symmetric on the logarithms, so the true value of every mean of them is the
    /// same.
    fn covered_count(spoiled_in_100: u64, mut holds: impl FnMut(&mut Random, u64) -> bool) -> u32 {
        let mut random = Random::from_seed(40 + spoiled_in_100);
        (0..4_000).map(|_| u32::from(holds(&mut random, spoiled_in_100))).sum()
    }

    #[test]
    fn about_ninety_five_of_a_hundred_intervals_hold_the_truth() {
        for spoiled in [0, 10] {
            let logs = covered_count(spoiled, |random, spoiled| {
                let logs: Vec<f64> =
                    runs(random, 9, spoiled).iter().map(|run| (run / 1_000.0).ln()).collect();
                let of = trimmed_interval(&logs, 1).unwrap();
                (of.low..=of.high).contains(&0.0)
            });
            assert!((3_740..3_930).contains(&logs), "{logs} of 4000 with {spoiled} % spoiled");
            let ratios = covered_count(spoiled, |random, spoiled| {
                let (a, b) = (runs(random, 9, spoiled), runs(random, 9, spoiled));
                let of = ratio_of_means(&a, &b, 1).unwrap();
                (of.low..=of.high).contains(&1.0)
            });
            assert!((3_740..3_930).contains(&ratios), "{ratios} of 4000, {spoiled} % spoiled");
            let pairs = covered_count(spoiled, |random, spoiled| {
                let (a, b) = (runs(random, 9, spoiled), runs(random, 9, spoiled));
                let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
                let of = trimmed_paired_ratio(&pairs, 1).unwrap();
                (of.low..=of.high).contains(&1.0)
            });
            assert!((3_740..3_930).contains(&pairs), "{pairs} of 4000, {spoiled} % spoiled");
        }
    }

    #[test]
    fn students_interval_over_the_seven_kept_would_be_too_narrow() {
        // This mistake shows why the winsorized spread is necessary.
        let naive = covered_count(0, |random, spoiled| {
            let mut logs: Vec<f64> =
                runs(random, 9, spoiled).iter().map(|run| (run / 1_000.0).ln()).collect();
            logs.sort_by(f64::total_cmp);
            let of = trimmed_interval(&logs[1..8], 0).unwrap();
            (of.low..=of.high).contains(&0.0)
        });
        assert!(naive < 3_620, "{naive} of 4000");
    }
}
