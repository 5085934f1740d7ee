//! Statistics for a summary: medians, means, intervals, ratios. Ratios are computed on logarithms,
//! so that A over B and B over A agree.

mod student;
mod trimmed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use student::student_t;
pub use trimmed::{
    LEAST_TO_DROP, MeanInterval, ratio_of_means, trimmed_interval, trimmed_paired_ratio,
};

/// Ratio between two servers with its 95 % confidence interval. In JSON `low` and `high` are left
/// out when there is only one pair: equal ends would read as infinite precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredRatio", into = "StoredRatio")]
pub struct RatioInterval {
    /// Geometric mean of the ratios of all pairs of values.
    pub ratio: f64,
    /// Lower end of the ratio's interval; equal to `ratio` when there is only one pair, which has
    /// no interval.
    pub low: f64,
    /// Upper end of the ratio's interval; equal to `ratio` when there is only one pair.
    pub high: f64,
    /// Number of pairs of values that the ratio is made from.
    pub pairs: u32,
}

/// Form in which a [`RatioInterval`] is stored as JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
struct StoredRatio {
    ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    pairs: u32,
}

impl From<RatioInterval> for StoredRatio {
    fn from(of: RatioInterval) -> Self {
        let [low, high] = match of.ends() {
            Some((low, high)) => [Some(low), Some(high)],
            None => [None; 2],
        };
        Self { ratio: of.ratio, low, high, pairs: of.pairs }
    }
}

impl From<StoredRatio> for RatioInterval {
    fn from(of: StoredRatio) -> Self {
        let [low, high] = [of.low, of.high].map(|end| end.unwrap_or(of.ratio));
        Self { ratio: of.ratio, low, high, pairs: of.pairs }
    }
}

/// Noise floor: the difference between two measurements of one server. A ratio nearer to 1 than the
/// noise floor is not evidence of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    /// Root mean square of the differences between repeated measurements, in percent.
    pub typical_percent: f64,
    /// Largest difference between repeated measurements, in percent.
    pub largest_percent: f64,
    /// Number of pairs of measurements of the same server (A/A pairs).
    pub pairs: u32,
}

/// Returns a copy of `values` in ascending order.
fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the median of `values`: the middle one, or the mean of the two middle ones; `None`
/// without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[sorted.len() / 2 - 1], upper)
    } else {
        upper
    })
}

/// Returns the lower median of `values`: the middle one, or the lower of the two middle ones,
/// always one that was measured. `None` without values.
pub fn lower_median(values: &[f64]) -> Option<f64> {
    sorted(values).get(values.len().saturating_sub(1) / 2).copied()
}

/// Returns the standard deviation of the sample `values`; `None` for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
}

/// Returns the mean of `values` without the best and the worst one; for fewer than four values the
/// median, which is steadier. `None` without values.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    if values.len() < 4 {
        return median(values);
    }
    let sorted = sorted(values);
    let inner = &sorted[1..sorted.len() - 1];
    Some(inner.iter().sum::<f64>() / inner.len() as f64)
}

/// Returns the ratio first over second of `pairs` that were measured in turn: geometric mean, with
/// Student's 95 % interval on the logarithms. Pairs with a value that is not above zero are left
/// out; `None` when none remains.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<RatioInterval> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(a, b)| *a > 0.0 && *b > 0.0 && a.is_finite() && b.is_finite())
        .map(|(a, b)| (a / b).ln())
        .collect();
    if logs.is_empty() {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let half_width = if logs.len() > 1 {
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        student_t((logs.len() - 1) as f64) * (variance / n).sqrt()
    } else {
        0.0
    };
    Some(RatioInterval {
        ratio: mean.exp(),
        low: (mean - half_width).exp(),
        high: (mean + half_width).exp(),
        pairs: logs.len() as u32,
    })
}

impl RatioInterval {
    /// Returns both ends of the ratio's interval; `None` for a single pair, which has no interval.
    pub fn ends(&self) -> Option<(f64, f64)> {
        (self.pairs > 1).then_some((self.low, self.high))
    }

    /// Returns the ratio with the interval that follows when both sides of every pair are only
    /// known to within `factor` (at least 1). A single pair stays without an interval.
    #[must_use]
    pub fn widened(self, factor: f64) -> Self {
        if self.pairs < 2 {
            return self;
        }
        Self { low: self.low / factor, high: self.high * factor, ..self }
    }
}

/// Returns the noise floor from `pairs` of measurements of the same server; `None` without a usable
/// pair.
pub fn noise_floor(pairs: &[(f64, f64)]) -> Option<NoiseFloor> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(a, b)| *a > 0.0 && *b > 0.0)
        .map(|(a, b)| (a / b).ln().abs())
        .collect();
    if logs.is_empty() {
        return None;
    }
    let mean_square = logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64;
    let percent = |log: f64| log.exp_m1() * 100.0;
    Some(NoiseFloor {
        typical_percent: percent(mean_square.sqrt()),
        largest_percent: percent(logs.iter().copied().fold(0.0, f64::max)),
        pairs: logs.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    //! Expected values of the statistics, computed with SciPy 1.17.1 (`stats.t`, `stats.gmean`,
    //! `stats.trim_mean`).

    use base::Random;

    use super::*;

    fn near(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} is not {expected}");
    }

    const PAIRS: [(f64, f64); 6] = [
        (412.0, 101.0),
        (398.5, 97.2),
        (420.25, 110.0),
        (371.0, 95.5),
        (405.0, 99.0),
        (388.0, 104.5),
    ];

    #[test]
    fn paired_ratios_are_those_of_scipy() {
        for (count, ratio, low, high) in [
            (2, 4.089_488_125_921_624, 3.960_770_523_316_585, 4.222_388_808_844_71),
            (3, 3.997_768_545_866_733, 3.625_300_510_454_009_5, 4.408_504_426_111_674),
            (6, 3.945_116_116_401_181_6, 3.774_620_213_247_621, 4.123_313_152_741_632),
        ] {
            let interval = paired_ratio(&PAIRS[..count]).unwrap();
            near(interval.ratio, ratio);
            near(interval.low, low);
            near(interval.high, high);
            assert_eq!(interval.pairs as usize, count);
        }
    }

    #[test]
    fn middles() {
        let values = [12.5, 11.0, 13.25, 90.0, 12.0, 10.5, 12.75];
        near(trimmed_mean(&values).unwrap(), 12.3);
        assert_eq!(median(&values), Some(12.5));
        assert_eq!(median(&values[..4]), Some(12.875));
        assert_eq!(lower_median(&values[..4]), Some(12.5));
        assert_eq!(lower_median(&values[..1]), Some(12.5));
        assert_eq!(trimmed_mean(&values[..3]), Some(12.5));
        assert_eq!((median(&[]), lower_median(&[]), trimmed_mean(&[])), (None, None, None));
    }

    #[test]
    fn the_noise_floor_ignores_which_came_first() {
        let floor = noise_floor(&[(1.03, 1.0), (0.98, 1.0), (1.0, 1.10), (0.95, 1.0), (1.01, 1.0)]);
        let floor = floor.unwrap();
        near(floor.typical_percent, 5.251_017_255_153_537_5);
        near(floor.largest_percent, 10.0);
        assert_eq!(floor.pairs, 5);
        assert_eq!(noise_floor(&[]), None);
    }

    #[test]
    fn pairs_without_a_figure_are_left_out() {
        let interval = paired_ratio(&[(2.0, 1.0), (0.0, 1.0), (3.0, f64::NAN)]).unwrap();
        assert_eq!(
            (interval.pairs, interval.low, interval.high),
            (1, interval.ratio, interval.ratio)
        );
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn ninety_five_of_a_hundred_intervals_hold_the_truth() {
        let mut random = Random::from_seed(6);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut covered = 0;
        for _ in 0..4_000 {
            let pairs: Vec<(f64, f64)> =
                (0..4).map(|_| ((0.1 * normal()).exp() * 7.0, (0.1 * normal()).exp())).collect();
            let interval = paired_ratio(&pairs).unwrap();
            covered += u32::from((interval.low..=interval.high).contains(&7.0));
        }
        assert!((3_740..3_860).contains(&covered), "{covered} of 4000");
    }
}
