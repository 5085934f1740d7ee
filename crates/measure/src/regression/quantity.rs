//! Times and rates of links with their units, in words that `tc` also accepts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of the longest word of a quantity that the parser accepts, in bytes.
const WORD_BYTES_MAX: usize = 20;
/// Units of time, each with its number in a second.
const TIMES: [(&str, f64); 3] = [("us", 1e6), ("ms", 1e3), ("s", 1.0)];
/// Units of rates of a line, each in bits per second.
const RATES: [(&str, f64); 4] = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];
const DELAY_S_MAX: f64 = 60.0;
const RATE_MAX: f64 = 1e12;

/// Delay of a packet on an emulated link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct LinkDelay {
    words: String,
    seconds: f64,
}

impl LinkDelay {
    /// Returns the link's delay as written in the plan.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns the delay of the link in seconds.
    pub const fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl TryFrom<String> for LinkDelay {
    type Error = &'static str;

    fn try_from(words: String) -> Result<Self, Self::Error> {
        let seconds = split(&words, &TIMES).map(|(number, unit)| number / unit);
        match seconds.filter(|&seconds| seconds <= DELAY_S_MAX) {
            Some(seconds) => Ok(Self { words, seconds }),
            None => Err("must be a time of at most 60s, a number with us, ms or s: 75ms"),
        }
    }
}

impl From<LinkDelay> for String {
    fn from(delay: LinkDelay) -> Self {
        delay.words
    }
}

/// Rate of the line of an emulated link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct LineRate {
    words: String,
    bits_per_s: f64,
}

impl LineRate {
    /// Returns the line's rate as written in the plan, with its unit.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns the rate of the line in bits per second.
    pub const fn bits_per_s(&self) -> f64 {
        self.bits_per_s
    }
}

impl TryFrom<String> for LineRate {
    type Error = &'static str;

    fn try_from(words: String) -> Result<Self, Self::Error> {
        let bits_per_s = split(&words, &RATES).map(|(number, unit)| number * unit);
        match bits_per_s.filter(|rate| (1e3..=RATE_MAX).contains(rate)) {
            Some(bits_per_s) => Ok(Self { words, bits_per_s }),
            None => {
                Err("must be a rate from 1kbit to 1000gbit, a number with bit, kbit, mbit or gbit")
            }
        }
    }
}

impl From<LineRate> for String {
    fn from(rate: LineRate) -> Self {
        rate.words
    }
}

/// Splits the word of a quantity into its number and the value of its unit, one of `units`.
fn split(word: &str, units: &[(&str, f64)]) -> Option<(f64, f64)> {
    let (number, unit) = units
        .iter()
        .find_map(|&(name, unit)| word.strip_suffix(name).map(|number| (number, unit)))?;
    let is_plain = number.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    if !is_plain || word.len() > WORD_BYTES_MAX {
        return None;
    }
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_tc() {
        let seconds =
            |word: &str| LinkDelay::try_from(word.to_owned()).map(|delay| delay.seconds());
        for (word, expected) in [("75ms", 0.075), ("100us", 1e-4), ("1.5s", 1.5), ("0ms", 0.0)] {
            assert_eq!(seconds(word).unwrap().to_bits(), f64::to_bits(expected), "{word}");
        }
        let rate = |word: &str| LineRate::try_from(word.to_owned()).map(|rate| rate.bits_per_s());
        for (word, expected) in
            [("100mbit", 1e8), ("1.5gbit", 1.5e9), ("64kbit", 64e3), ("9000bit", 9e3)]
        {
            assert_eq!(rate(word).unwrap().to_bits(), f64::to_bits(expected), "{word}");
        }
        for word in ["", "ms", "75", "-1ms", "1e3ms", "61s", "1.2.3s", "75 ms", "7m", "infs"] {
            assert!(seconds(word).is_err(), "{word}");
        }
        for word in ["mbit", "100", "0mbit", "1tbit", "100MBit", "2000gbit", "1 mbit", "nanbit"] {
            assert!(rate(word).is_err(), "{word}");
        }
    }
}
