//! What the responder does wrong on purpose, and how often.

use std::fmt;
use std::str::FromStr;

use base::Random;
use dns_wire::Rcode;

use super::capacity::Capacity;

/// A share of all queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share(f64);

impl Share {
    /// None of them.
    pub const NONE: Self = Self(0.0);
    /// All of them.
    pub const ALL: Self = Self(1.0);

    /// Draws. One that is certain draws nothing, so that it changes no other fault's sequence.
    pub fn hits(self, random: &mut Random) -> bool {
        self.0 >= 1.0 || (self.0 > 0.0 && random.unit() < self.0)
    }
}

impl FromStr for Share {
    type Err = &'static str;

    /// `5%` or `0.05`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
        let share = number.trim().parse().map(|number: f64| number / unit).ok();
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or("it is a share, like 5% or 0.05, 100% at most")
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", 100.0 * self.0)
    }
}

/// All faults. Each query draws for each of them by itself; one that is dropped meets no other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Answer no more than this, and drop what is more.
    pub capacity: Option<Capacity>,
    /// Give no answer.
    pub drop: Share,
    /// Answer twice.
    pub duplicate: Share,
    /// Answer after so many nanoseconds.
    pub delay: (u64, Share),
    /// Answer with this response code.
    pub rcode: (Rcode, Share),
    /// Set TC and leave all behind the question out.
    pub truncate: Share,
    /// Answer another question: another first letter, or type where the root is asked about.
    pub wrong: Share,
    /// Cut the last octet off.
    pub malformed: Share,
}

/// `VALUE` or `VALUE=SHARE`; all without a share.
pub(super) fn with_share<V>(
    text: &str,
    value: impl Fn(&str) -> Result<V, String>,
) -> Result<(V, Share), String> {
    match text.split_once('=') {
        Some((word, share)) => Ok((value(word)?, share.parse()?)),
        None => Ok((value(text)?, Share::ALL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_met() {
        assert_eq!("5%".parse(), Ok(Share(0.05)));
        assert_eq!("0.25".parse::<Share>().unwrap().to_string(), "25%");
        for wrong in ["", "%", "101%", "-1%", "1.5", "nan", "x"] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
        let mut random = Random::from_seed(1);
        let hits = (0..100_000).filter(|_| Share(0.05).hits(&mut random)).count();
        assert!((4_800..5_200).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| Share::ALL.hits(&mut random)));
        assert!((0..1_000).all(|_| !Share::NONE.hits(&mut random)));
    }
}
