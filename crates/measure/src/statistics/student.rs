//! Quantiles of Student's t for any number of degrees of freedom, which Welch's need not be whole.

/// Returns the 97.5 % quantile of Student's t, which is the factor of a 95 % interval, with
/// `freedom` degrees of freedom (above 0), found by bisection on the distribution function.
pub(super) fn student_t(freedom: f64) -> f64 {
    let tail = |t: f64| {
        let x = freedom / (freedom + t * t);
        0.5 * incomplete_beta(x, freedom / 2.0, 0.5)
    };
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while tail(high) > 0.025 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > 0.025 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Returns the regularized incomplete beta function of `x` by its continued fraction (DLMF
/// 8.17.22), on the side where that converges fast.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let ln_factor = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    ln_factor.exp() / a / fraction(x, a, b)
}

/// Evaluates 1 + d1/(1 + d2/(1 + …)) from the front by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut c, mut d) = (1.0_f64, 1.0_f64, 0.0_f64);
    for step in 1..=500_u32 {
        let m = f64::from(step / 2);
        let term = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / keep(1.0 + term * d);
        c = keep(1.0 + term / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// Returns the logarithm of the gamma function of `x` above 0: Stirling's series after moving
/// upwards (Abramowitz and Stegun 6.1.41).
fn ln_gamma(mut x: f64) -> f64 {
    let mut moved = 0.0;
    while x < 12.0 {
        moved += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x * square)
        + 1.0 / (1_260.0 * x * square * square)
        - 1.0 / (1_680.0 * x * square.powi(3));
    (x - 0.5) * x.ln() - x + 0.5 * core::f64::consts::TAU.ln() + series - moved
}

#[cfg(test)]
mod tests {
    use super::student_t;

    #[test]
    fn quantiles_are_those_of_scipy() {
        // SciPy 1.17.1: stats.t.ppf(0.975, freedom)
        for (freedom, t) in [
            (1.0, 12.706_204_736_174_694),
            (1.5, 6.016_663_104_427_929),
            (2.34, 3.755_741_809_427_408_7),
            (3.7, 2.867_520_707_191_189_5),
            (5.25, 2.534_196_800_466_212),
            (8.125, 2.299_843_459_967_747_5),
            (13.9, 2.146_235_189_525_079_5),
            (31.0, 2.039_513_446_396_408),
            (47.3, 2.011_403_753_282_670_5),
            (120.0, 1.979_930_405_082_440_2),
            (1_000.0, 1.962_339_080_826_408_3),
        ] {
            assert!((student_t(freedom) - t).abs() < 1e-9 * t, "{freedom}: {}", student_t(freedom));
        }
    }
}
