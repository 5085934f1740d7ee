//! Quantities as iperf reads and prints them: rates in powers of 1,000, amounts in powers of 1,024.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use base::Figure;

/// Parses a rate in bits per second: a number, optionally followed by `k`, `m` or `g`.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("invalid rate {text}: must be bits per second, like 500k, 12m or 1.5g");
    let rate = parse_scaled(text, 1e3).filter(|rate| (1.0..=1e12).contains(rate));
    rate.map(|rate| rate as u64).ok_or_else(wrong)
}

/// Parses a number, optionally followed by `k`, `m` or `g`: the first three powers of `base`.
fn parse_scaled(text: &str, base: f64) -> Option<f64> {
    let power = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        _ => return text.parse().ok(),
    };
    let value: f64 = text[..text.len() - 1].parse().ok()?;
    Some(value * base.powi(power))
}

/// Parses a number of seconds in `range`.
fn seconds_in(range: RangeInclusive<f64>, text: &str) -> Option<Duration> {
    text.parse().ok().filter(|seconds| range.contains(seconds)).map(Duration::from_secs_f64)
}

/// Parses a duration in seconds, with decimals if needed.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("invalid time {text}: must be seconds from 0.01 to 1000000");
    seconds_in(0.01..=1e6, text).ok_or_else(wrong)
}

/// Parses the time between two samples of a probe in seconds, from 0.001 to 60.
pub(crate) fn parse_sample_interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("invalid time between samples {text}: must be seconds from 0.001 to 60");
    seconds_in(0.001..=60.0, text).ok_or_else(wrong)
}

/// Parses an amount of bytes: a number, optionally followed by `K`, `M` or `G`, powers of 1,024.
pub(crate) fn parse_amount(text: &str) -> Result<u64, String> {
    let wrong = || format!("invalid amount {text}: must be bytes, like 100000, 64K, 10M or 1.5G");
    let octets = parse_scaled(text, 1_024.0).filter(|octets| (1.0..=1e15).contains(octets));
    octets.map(|octets| octets as u64).ok_or_else(wrong)
}

/// Parses the length of a datagram in bytes, 0 to 65,535, with the suffixes of [`parse_amount`].
pub(crate) fn parse_length(text: &str) -> Result<u16, String> {
    if text == "0" {
        return Ok(0);
    }
    let octets = parse_amount(text)
        .map_err(|_| format!("invalid length {text}: must be a number of bytes"))?;
    u16::try_from(octets)
        .map_err(|_| format!("invalid length {text}: a datagram has at most 65535 bytes"))
}

/// Unit of amounts and rates that iperf's `-f` chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitFormat {
    /// Unit chosen for each value by its size.
    Fitting,
    /// Bits per second for rates, in this power of 1,000, and bytes for amounts, in the same power
    /// of 1,024.
    Bits(usize),
    /// Bytes per second for rates and bytes for amounts, in this power of 1,024.
    Octets(usize),
}

impl FromStr for UnitFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "a" | "A" => Self::Fitting,
            "b" => Self::Bits(0),
            "k" => Self::Bits(1),
            "m" => Self::Bits(2),
            "g" => Self::Bits(3),
            "B" => Self::Octets(0),
            "K" => Self::Octets(1),
            "M" => Self::Octets(2),
            "G" => Self::Octets(3),
            _ => return Err("must be one of b, k, m, g, B, K, M, G and a".to_owned()),
        })
    }
}

impl fmt::Display for UnitFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fitting => "a",
            Self::Bits(power) => ["b", "k", "m", "g"][*power],
            Self::Octets(power) => ["B", "K", "M", "G"][*power],
        })
    }
}

const AMOUNTS: [&str; 4] = ["Bytes", "KBytes", "MBytes", "GBytes"];
const RATES: [&str; 4] = ["bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec"];
const RATES_OF_OCTETS: [&str; 4] = ["Bytes/sec", "KBytes/sec", "MBytes/sec", "GBytes/sec"];

impl UnitFormat {
    /// Returns an amount of bytes as text in this unit.
    pub(crate) fn amount(self, bytes: u64) -> String {
        match self {
            Self::Fitting => scaled(bytes as f64, 1_024.0, AMOUNTS),
            Self::Bits(power) | Self::Octets(power) => {
                in_unit(bytes as f64, 1_024.0, power, AMOUNTS)
            }
        }
    }

    /// Returns a rate as text in this unit.
    pub(crate) fn rate(self, bits_per_s: f64) -> String {
        match self {
            Self::Fitting => rate(bits_per_s),
            Self::Bits(power) => in_unit(bits_per_s, 1_000.0, power, RATES),
            Self::Octets(power) => in_unit(bits_per_s / 8.0, 1_024.0, power, RATES_OF_OCTETS),
        }
    }
}

/// Returns a rate as text in the unit that suits its size.
pub(crate) fn rate(bits_per_s: f64) -> String {
    scaled(bits_per_s, 1_000.0, RATES)
}

fn scaled(value: f64, step: f64, names: [&str; 4]) -> String {
    let (mut power, mut rest) = (0, value);
    while rest >= step && power < 3 {
        rest /= step;
        power += 1;
    }
    in_unit(value, step, power, names)
}

/// Returns `value` as text in units of `step` to the power `power`, with three digits; values below
/// 0.01 of a requested unit have the digits that they need.
fn in_unit(value: f64, step: f64, power: usize, names: [&str; 4]) -> String {
    let scaled = value / step.powi(power as i32);
    let digits = match scaled {
        _ if power == 0 => 0,
        0.0 => 2,
        0.0..0.01 => return format!("{} {}", Figure(scaled), names[power]),
        0.01..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {}", names[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_decimal_and_amounts_binary() {
        assert_eq!(parse_rate("12m"), Ok(12_000_000));
        assert_eq!(parse_rate("1.5G"), Ok(1_500_000_000));
        assert_eq!(parse_rate("64"), Ok(64));
        for text in ["", "m", "0", "-1m", "1x", "nan"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        assert_eq!(rate(94_900_000.0), "94.9 Mbits/sec");
        assert_eq!(rate(999.0), "999 bits/sec");
        assert_eq!(UnitFormat::Fitting.amount(1_048_576), "1.00 MBytes");
        assert_eq!(UnitFormat::Fitting.amount(900), "900 Bytes");
        assert_eq!([parse_amount("1K"), parse_amount("1.5m")], [Ok(1_024), Ok(1_572_864)]);
        assert_eq!([parse_length("1K"), parse_length("0")], [Ok(1_024), Ok(0)]);
        for text in ["", "K", "-1", "64K", "1T"] {
            assert!(parse_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_unit_that_was_asked_for_is_kept() {
        let rate_text =
            |letter: &str, value: f64| letter.parse::<UnitFormat>().unwrap().rate(value);
        assert_eq!(rate_text("k", 1_500_000.0), "1500 Kbits/sec");
        assert_eq!(rate_text("M", 8.0 * 1_048_576.0), "1.00 MBytes/sec");
        assert_eq!(rate_text("g", 100_000.0), "0.0001 Gbits/sec");
        assert_eq!(rate_text("b", 12.0), "12 bits/sec");
        assert_eq!("K".parse::<UnitFormat>().unwrap().amount(2_048), "2.00 KBytes");
        for letter in ["a", "b", "k", "m", "g", "B", "K", "M", "G"] {
            assert_eq!(letter.parse::<UnitFormat>().unwrap().to_string(), letter);
        }
        assert!("x".parse::<UnitFormat>().is_err());
    }
}
