//! Numbers formatted with as many digits as their value needs.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// Number of significant digits that a [`Figure`] with a fraction shows.
const DIGITS: usize = 6;
/// Greatest number of decimal places of a [`Figure`], for values near 0.
const DECIMALS_MAX: usize = 12;

/// Number that is displayed with six significant digits, but with all digits in front of the
/// decimal point, and not as 0 if it is near 0: `1234567`, `33333.3`, `2.5`, `0.4`, `0.000048`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure(pub f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = if self.0 < 0.0 { -self.0 } else { self.0 };
        let mut decimals = DIGITS - 1;
        let mut bound = 10.0;
        while decimals > 0 && size >= bound {
            decimals -= 1;
            bound *= 10.0;
        }
        let mut bound = 1.0;
        while size > 0.0 && size < bound && decimals < DECIMALS_MAX {
            decimals += 1;
            bound /= 10.0;
        }
        f.pad(without_zeros(&format!("{:.decimals$}", self.0)))
    }
}

/// Formats a number with six significant digits without unnecessary zeros, as C++ streams do by
/// default: `1.5`, `2e+06`, `3.25e-05`.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.*e}", DIGITS - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS as i32).contains(&exponent) {
        let decimals = usize::try_from(DIGITS as i32 - 1 - exponent).unwrap_or(0);
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

/// Returns the digits of a number without zeros at the end of its fraction.
fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_figure_has_the_digits_that_it_needs() {
        for (value, digits) in [
            (0.0, "0"),
            (0.4, "0.4"),
            (2.5, "2.5"),
            (0.000_048, "0.000048"),
            (1_000.0, "1000"),
            (100_000.0, "100000"),
            (33_333.333, "33333.3"),
            (99_999.96, "100000"),
            (1_234_567.8, "1234568"),
            (-0.25, "-0.25"),
            (1.0 / 3.0, "0.333333"),
        ] {
            assert_eq!(Figure(value).to_string(), digits, "{value}");
        }
        assert_eq!(format!("{:>6}", Figure(2.5)), "   2.5");
    }
}
