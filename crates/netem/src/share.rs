//! Probabilities and correlations of a link as 32-bit fractions, in the form in which `tc` passes
//! them to the kernel.

/// Share between 0 and 1, stored as a numerator over 2^32 − 1, so that 100 % is a value of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitShare(u32);

/// Largest number of decimals with which a share is printed.
const DECIMALS_MAX: u32 = 9;

impl UnitShare {
    /// Share of an event that never happens.
    pub const NONE: Self = Self(0);
    /// Share of an event that always happens.
    pub const ALL: Self = Self(u32::MAX);

    /// Returns the share with this numerator over 2^32 − 1.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the share of `percent` percent; values above 100 count as 100.
    pub const fn percent(percent: u32) -> Self {
        let percent = if percent > 100 { 100 } else { percent };
        Self::rounded(percent as u128, 100)
    }

    /// Returns the share nearest to `numerator` / `denominator`, at most 1.
    pub(crate) const fn rounded(numerator: u128, denominator: u128) -> Self {
        let bits = (numerator * u32::MAX as u128 + denominator / 2) / denominator;
        Self(if bits > u32::MAX as u128 { u32::MAX } else { bits as u32 })
    }

    /// Returns the numerator of the share over 2^32 − 1.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the share that is missing to one.
    #[must_use]
    pub const fn rest(self) -> Self {
        Self(u32::MAX - self.0)
    }

    /// Returns true if the share is [`UnitShare::NONE`].
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns how many of the 2^32 possible random numbers are within the share: none for 0 %, all
    /// for 100 %.
    pub(crate) const fn width(self) -> u64 {
        if self.0 == u32::MAX { 1 << 32 } else { self.0 as u64 }
    }

    /// Returns true if the drawn random number is within the share.
    pub(crate) const fn hits(self, drawn: u32) -> bool {
        (drawn as u64) < self.width()
    }

    /// Returns the share as the shortest decimal percentage that parses to it.
    pub(crate) fn to_percent(self) -> String {
        for decimals in 0..=DECIMALS_MAX {
            let scale = 10_u128.pow(decimals);
            let all = u128::from(u32::MAX);
            let percent = (u128::from(self.0) * 100 * scale + all / 2) / all;
            if Self::rounded(percent, 100 * scale) == self {
                let (whole, fraction) = (percent / scale, percent % scale);
                let width = decimals as usize;
                return match decimals {
                    0 => whole.to_string(),
                    _ => format!("{whole}.{fraction:0width$}"),
                };
            }
        }
        // Ten-millionths of a percent are finer than a share.
        unreachable!("a share has no more than {DECIMALS_MAX} decimals")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_never_and_all_is_always() {
        assert!(!UnitShare::NONE.hits(0));
        assert!(UnitShare::ALL.hits(u32::MAX) && UnitShare::percent(100) == UnitShare::ALL);
        assert!(UnitShare::from_bits(5).hits(4) && !UnitShare::from_bits(5).hits(5));
        assert_eq!(UnitShare::percent(25).rest(), UnitShare::percent(75));
    }

    #[test]
    fn every_share_has_a_decimal_of_its_own() {
        let mut random = base::Random::from_seed(1);
        for bits in (0..100_000).map(|_| random.next_u32()).chain([0, 1, 2, u32::MAX - 1, u32::MAX])
        {
            let text = UnitShare::from_bits(bits).to_percent();
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            let digits: u128 = format!("{whole}{fraction}").parse().unwrap();
            let scale = 100 * 10_u128.pow(fraction.len() as u32);
            assert_eq!(UnitShare::rounded(digits, scale).bits(), bits, "{text}");
        }
        assert_eq!(UnitShare::percent(10).to_percent(), "10");
        assert_eq!(UnitShare::rounded(1, 1_000).to_percent(), "0.1");
    }
}
