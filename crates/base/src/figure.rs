//! Numbers formatted with as many digits as their value needs.

use alloc::format;
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
        let text = format!("{:.decimals$}", self.0);
        let digits = match text.split_once('.') {
            Some(_) => text.trim_end_matches('0').trim_end_matches('.'),
            None => &text,
        };
        f.pad(digits)
    }
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
