//! Text as Kea writes it: JSON with spaces inside brackets, octets in hexadecimal, time stamps.

use core::fmt::Write as _;

use base::time::US_PER_S;
use serde_json::Value;

/// `value` on one line with Kea's spaces: `{ "a": [ 1, 2 ] }`. User contexts are stored so.
#[must_use]
pub fn kea_json(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            text.push_str("[ ");
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write_value(text, item);
            }
            text.push_str(" ]");
        }
        Value::Object(map) => {
            text.push_str("{ ");
            for (index, (key, item)) in map.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                let _ = write!(text, "{}: ", Value::from(key.as_str()));
                write_value(text, item);
            }
            text.push_str(" }");
        }
        scalar => {
            let _ = write!(text, "{scalar}");
        }
    }
}

/// Octets as `01:02:ff`.
#[must_use]
pub(crate) fn colon_hex(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 3);
    for (index, octet) in octets.iter().enumerate() {
        if index > 0 {
            text.push(':');
        }
        let _ = write!(text, "{octet:02x}");
    }
    text
}

/// Octets from text: pairs of hexadecimal digits with colons or spaces between them, single digits
/// allowed there, or without any separator.
///
/// # Errors
/// What is wrong, in Kea's words.
pub(crate) fn octets_from_hex(text: &str) -> Result<Vec<u8>, String> {
    let separator = if text.contains(':') { Some(':') } else { text.contains(' ').then_some(' ') };
    let Some(separator) = separator else { return undivided(text) };
    let parts: Vec<&str> = text.split(separator).collect();
    let mut octets = Vec::with_capacity(parts.len());
    for part in &parts {
        if part.is_empty() && parts.len() > 1 {
            return Err(format!(
                "two consecutive separators ('{separator}') specified in a decoded string '{text}'"
            ));
        }
        if part.len() > 2 {
            return Err(format!("invalid format of the decoded string '{text}'"));
        }
        check_digits(part, text)?;
        octets.push(u8::from_str_radix(part, 16).unwrap_or_default());
    }
    Ok(octets)
}

fn undivided(text: &str) -> Result<Vec<u8>, String> {
    check_digits(text, text)?;
    let padded = if text.len() % 2 == 1 { format!("0{text}") } else { text.to_owned() };
    let pairs = padded.as_bytes().chunks(2);
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
    Ok(pairs.map(|pair| value(pair[0]) << 4 | value(pair[1])).collect())
}

fn check_digits(part: &str, whole: &str) -> Result<(), String> {
    match part.chars().find(|digit| !digit.is_ascii_hexdigit()) {
        None => Ok(()),
        Some(other) => {
            Err(format!("'{other}' is not a valid hexadecimal digit in decoded string '{whole}'"))
        }
    }
}

/// Microseconds since 1970 as `YYYY-MM-DD HH:MM:SS.ffffff`, in UTC.
#[must_use]
pub fn time_stamp(wall_us: u64) -> String {
    let seconds = wall_us / US_PER_S;
    let (year, month, day) = civil_date(seconds / 86_400);
    let of_day = seconds % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:06}",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60,
        wall_us % US_PER_S
    )
}

/// Year, month and day of the day `days` after 1970-01-01, in the Gregorian calendar. Years are
/// counted from March, so that a leap day is the last of its year.
const fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_spaces_that_kea_writes() {
        let value = serde_json::json!({"b": 1, "a": [1, 2], "c": {}, "d": [], "e": "x\"y"});
        let expected = r#"{ "a": [ 1, 2 ], "b": 1, "c": {  }, "d": [  ], "e": "x\"y" }"#;
        assert_eq!(kea_json(&value), expected);
    }

    #[test]
    fn octets_are_read_with_and_without_separators() {
        for (text, octets) in [
            ("1:2:ff", vec![1, 2, 255]),
            ("01 02", vec![1, 2]),
            ("0102ff", vec![1, 2, 255]),
            ("102", vec![1, 2]),
            ("", vec![]),
        ] {
            assert_eq!(octets_from_hex(text).unwrap(), octets, "{text}");
        }
        for text in ["zz", "1:2:", "1::2", "123:4", "1:é", ":"] {
            assert!(octets_from_hex(text).is_err(), "{text}");
        }
        let error = octets_from_hex("zz").unwrap_err();
        assert_eq!(error, "'z' is not a valid hexadecimal digit in decoded string 'zz'");
    }

    #[test]
    fn time_stamps_are_those_of_the_calendar() {
        for (wall_us, text) in [
            (0, "1970-01-01 00:00:00.000000"),
            (951_782_400_000_001, "2000-02-29 00:00:00.000001"),
            (1_795_315_192_262_110, "2026-11-22 02:39:52.262110"),
            (4_107_542_399_999_999, "2100-02-28 23:59:59.999999"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000000"),
        ] {
            assert_eq!(time_stamp(wall_us), text);
        }
    }
}
