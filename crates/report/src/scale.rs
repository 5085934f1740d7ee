//! Scales of charts' axes: conversion of values to coordinates, and the positions of ticks.

/// Scale of an axis of a chart.
#[derive(Clone, Copy, Debug)]
pub(super) enum AxisScale {
    /// Linear scale from 0 to `max`.
    Linear { max: f64 },
    /// Linear scale from `min` to `max`.
    Between { min: f64, max: f64 },
    /// Logarithmic scale from `min` to `max`, both above 0.
    Log { min: f64, max: f64 },
}

impl AxisScale {
    /// Creates a linear scale from 0 that contains `max`, ended by a tick of about `ticks`.
    pub(super) fn linear(max: f64, ticks: usize) -> Self {
        let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
        let step = nice_step(max / ticks.max(1) as f64);
        Self::Linear { max: (max / step - 1e-9).ceil().max(1.0) * step }
    }

    /// Creates a linear scale that contains `min` and `max`, ended by ticks of about `ticks`.
    pub(super) fn between(min: f64, max: f64, ticks: usize) -> Self {
        let step = nice_step((max - min) / ticks.max(1) as f64);
        Self::Between {
            min: (min / step + 1e-9).floor() * step,
            max: (max / step - 1e-9).ceil() * step,
        }
    }

    /// Creates a logarithmic scale that contains `min` and `max`, ended at 1, 2 or 5 times a power
    /// of ten.
    pub(super) fn log(min: f64, max: f64) -> Self {
        let min = if min.is_finite() && min > 0.0 { min } else { 1.0 };
        let max = if max.is_finite() && max > min { max } else { min * 10.0 };
        let low = marks(min / 10.0, min * 1.0001).into_iter().next_back();
        let high = marks(max * 0.9999, max * 10.0).into_iter().next();
        Self::Log { min: low.unwrap_or(min), max: high.unwrap_or(max) }
    }

    /// Returns the values at both ends of the scale.
    pub(super) const fn range(self) -> (f64, f64) {
        match self {
            Self::Linear { max } => (0.0, max),
            Self::Between { min, max } | Self::Log { min, max } => (min, max),
        }
    }

    /// Returns the position of `value` on the scale from 0 to 1, kept within the axis.
    pub(super) fn position(self, value: f64) -> f64 {
        let position = match self {
            Self::Linear { max } => value / max,
            Self::Between { min, max } => (value - min) / (max - min),
            Self::Log { min, max } => (value.max(min) / min).ln() / (max / min).ln(),
        };
        position.clamp(0.0, 1.0)
    }

    /// Returns about `count` values for ticks of the scale, ascending.
    pub(super) fn ticks(self, count: usize) -> Vec<f64> {
        match self {
            Self::Linear { max } => {
                let step = nice_step(max / count.max(1) as f64);
                let last = (max / step + 1e-9).floor() as u32;
                (0..=last).map(|index| f64::from(index) * step).collect()
            }
            Self::Between { min, max } => {
                let step = nice_step((max - min) / count.max(1) as f64);
                let (first, last) = ((min / step - 1e-9).ceil(), (max / step + 1e-9).floor());
                (0..=(last - first) as u32).map(|index| (first + f64::from(index)) * step).collect()
            }
            Self::Log { min, max } => {
                let all = marks(min, max);
                if all.len() <= count + 1 {
                    return all;
                }
                let powers: Vec<f64> = all.into_iter().filter(|v| is_power_of_ten(*v)).collect();
                let keep_every = powers.len().div_ceil(count.max(1)).max(1);
                powers.into_iter().step_by(keep_every).collect()
            }
        }
    }
}

/// Returns the smallest of 1, 2, 2.5, 5 times a power of ten that is at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// Returns 1, 2 and 5 times the powers of ten from `min` to `max`.
fn marks(min: f64, max: f64) -> Vec<f64> {
    // Values beyond these powers are not measurements, and the ticks would never end.
    let first = (min.log10().floor() as i32).max(-30);
    let last = (max.log10().ceil() as i32).min(30);
    (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)))
        .filter(|value| (min * 0.999_999..=max * 1.000_001).contains(value))
        .collect()
}

fn is_power_of_ten(value: f64) -> bool {
    let log = value.log10();
    (log - log.round()).abs() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values() {
        let AxisScale::Linear { max } = AxisScale::linear(173_000.0, 5) else { panic!() };
        assert_eq!(max, 200_000.0);
        assert_eq!(AxisScale::linear(0.83, 4).ticks(4), [0.0, 0.25, 0.5, 0.75, 1.0]);
        let AxisScale::Log { min, max } = AxisScale::log(1_700.0, 280_000.0) else { panic!() };
        assert!((min - 1_000.0).abs() < 1e-6 && (max - 500_000.0).abs() < 1e-6, "{min} {max}");
    }

    #[test]
    fn axes_between_two_values_hold_both() {
        let scale = AxisScale::between(87.0, 104.5, 5);
        assert_eq!(scale.ticks(5), [85.0, 90.0, 95.0, 100.0, 105.0]);
        assert_eq!(
            (scale.position(85.0), scale.position(105.0), scale.position(95.0)),
            (0.0, 1.0, 0.5)
        );
        assert_eq!(scale.position(0.0), 0.0);
    }

    #[test]
    fn log_ticks_thin_out() {
        let wide = AxisScale::log(10.0, 2e6).ticks(6);
        assert!(wide.len() <= 6 && wide.iter().all(|v| is_power_of_ten(*v)), "{wide:?}");
        assert_eq!(AxisScale::log(1.0, 10.0).ticks(6).len(), 4);
    }

    #[test]
    fn positions_stay_on_the_axis() {
        let log = AxisScale::log(10.0, 1_000.0);
        assert!((log.position(100.0) - 0.5).abs() < 1e-9);
        assert_eq!((log.position(1.0), log.position(1e9)), (0.0, 1.0));
        assert_eq!(AxisScale::linear(10.0, 5).position(-3.0), 0.0);
        for odd in [0.0, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE] {
            assert!(AxisScale::linear(odd, 5).position(0.5).is_finite());
            assert!(AxisScale::log(odd, odd).position(0.5).is_finite());
        }
    }
}
