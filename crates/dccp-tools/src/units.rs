//! Quantities as iperf reads and writes them: rates in powers of 1,000, amounts in powers of 1,024.

use std::time::Duration;

/// Reads bits per second: a number with `k`, `m` or `g` behind it.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text} is no rate: bits per second, like 500k, 12m or 1.5g");
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    let rate = value * factor;
    if (1.0..=1e12).contains(&rate) { Ok(rate as u64) } else { Err(wrong()) }
}

/// Reads seconds, also parts of them.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no time: seconds from 0.01 to 1000000");
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if (0.01..=1e6).contains(&value) { Ok(Duration::from_secs_f64(value)) } else { Err(wrong()) }
}

/// Reads the time between samples: seconds, from a thousandth on.
pub(crate) fn parse_sample_interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no time between samples: seconds from 0.001 to 60");
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if (0.001..=60.0).contains(&value) { Ok(Duration::from_secs_f64(value)) } else { Err(wrong()) }
}

/// An amount of octets.
pub(crate) fn amount(bytes: u64) -> String {
    scaled(bytes as f64, 1_024.0, ["Bytes", "KBytes", "MBytes", "GBytes"])
}

/// A rate.
pub(crate) fn rate(bits_per_s: f64) -> String {
    scaled(bits_per_s, 1_000.0, ["bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec"])
}

fn scaled(mut value: f64, step: f64, names: [&str; 4]) -> String {
    let mut index = 0;
    while value >= step && index < 3 {
        value /= step;
        index += 1;
    }
    let digits = match value {
        _ if index == 0 => 0,
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", names[index])
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
        assert_eq!(amount(1_048_576), "1.00 MBytes");
        assert_eq!(amount(900), "900 Bytes");
    }
}
