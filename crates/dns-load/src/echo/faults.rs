//! Deliberate faults of the DNS responder, and the shares of queries that they hit.

use std::fmt;
use std::str::FromStr;

use base::Random;
use dns_wire::Rcode;

use super::capacity::Capacity;

/// Share of all queries that a fault of the responder hits, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryShare(f64);

impl QueryShare {
    /// Share of a fault that hits no query.
    pub const NONE: Self = Self(0.0);
    /// Share of a fault that hits every query.
    pub const ALL: Self = Self(1.0);

    /// Draws from `random` if the fault hits a query. A share of 0 or 1 draws nothing, so that it
    /// changes no other fault's sequence.
    pub fn hits(self, random: &mut Random) -> bool {
        self.0 >= 1.0 || (self.0 > 0.0 && random.unit() < self.0)
    }
}

impl FromStr for QueryShare {
    type Err = &'static str;

    /// Parses a share of queries such as `5%` or `0.05`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
        let share = number.trim().parse().map(|number: f64| number / unit).ok();
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or("must be a share, like 5% or 0.05, 100% at most")
    }
}

impl fmt::Display for QueryShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", 100.0 * self.0)
    }
}

/// Deliberate faults of the responder. Each query draws for each of them by itself; a query that is
/// dropped meets no other fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EchoFaults {
    /// Limit of the responder's answers; it drops queries beyond the limit.
    pub capacity: Option<Capacity>,
    /// Share of queries that get no answer.
    pub drop: QueryShare,
    /// Share of queries that get two answers.
    pub duplicate: QueryShare,
    /// Delay of the responder's answers in nanoseconds, with the share of queries that it hits.
    pub delay: (u64, QueryShare),
    /// Response code that the responder sets in answers, with the share of queries that it hits.
    pub rcode: (Rcode, QueryShare),
    /// Share of answers with the flag TC (truncated) set and everything after the question left
    /// out.
    pub truncate: QueryShare,
    /// Share of answers to another question than the query's: with another first letter, or another
    /// type where the query is for the root.
    pub wrong: QueryShare,
    /// Share of answers that lack their last byte.
    pub malformed: QueryShare,
}

/// Parses `VALUE` or `VALUE=SHARE` of a fault; without a share the fault hits all queries.
pub(super) fn with_share<V>(
    text: &str,
    value: impl Fn(&str) -> Result<V, String>,
) -> Result<(V, QueryShare), String> {
    match text.split_once('=') {
        Some((word, share)) => Ok((value(word)?, share.parse()?)),
        None => Ok((value(text)?, QueryShare::ALL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_met() {
        assert_eq!("5%".parse(), Ok(QueryShare(0.05)));
        assert_eq!("0.25".parse::<QueryShare>().unwrap().to_string(), "25%");
        for wrong in ["", "%", "101%", "-1%", "1.5", "nan", "x"] {
            assert!(wrong.parse::<QueryShare>().is_err(), "{wrong}");
        }
        let mut random = Random::from_seed(1);
        let hits = (0..100_000).filter(|_| QueryShare(0.05).hits(&mut random)).count();
        assert!((4_800..5_200).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| QueryShare::ALL.hits(&mut random)));
        assert!((0..1_000).all(|_| !QueryShare::NONE.hits(&mut random)));
    }
}
