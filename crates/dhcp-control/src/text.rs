//! Text as Kea writes it: JSON with spaces inside brackets, bytes in hexadecimal, time stamps.

use core::fmt::Write as _;

use base::time::US_PER_S;
use base::{CivilTime, ColonHex};
use serde_json::Value;

/// Returns a JSON value as text on one line with Kea's spaces: `{ "a": [ 1, 2 ] }`. User contexts
/// are stored in this form.
#[must_use]
pub fn kea_json(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// Appends a JSON value to `text`, as [`kea_json`] writes it.
pub(crate) fn write_value(text: &mut String, value: &Value) {
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

/// Returns bytes as hexadecimal text in the form `01:02:ff`.
#[must_use]
pub(crate) fn colon_hex(octets: &[u8]) -> String {
    ColonHex(octets).to_string()
}

/// Reads bytes from pairs of hexadecimal digits with colons between them; single digits are
/// allowed.
///
/// # Errors
///
/// Returns the error in Kea's words.
pub(crate) fn octets_from_colon_hex(text: &str) -> Result<Vec<u8>, String> {
    separated(text, ':')
}

/// Reads bytes from hexadecimal digits with colons, spaces or nothing between pairs, the latter
/// also after `0x`.
///
/// # Errors
///
/// Returns the error in Kea's words.
pub(crate) fn octets_from_hex(text: &str) -> Result<Vec<u8>, String> {
    if let Some(separator) = [':', ' '].into_iter().find(|&separator| text.contains(separator)) {
        return separated(text, separator);
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let padding = if digits.len() % 2 == 1 { "0" } else { "" };
    let values: Option<Vec<u32>> =
        padding.chars().chain(digits.chars()).map(|digit| digit.to_digit(16)).collect();
    let Some(values) = values else {
        return Err(format!("'{text}' is not a valid string of hexadecimal digits"));
    };
    Ok(values.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

fn separated(text: &str, separator: char) -> Result<Vec<u8>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let part_of = |part: &str| {
        if part.is_empty() {
            return Err(format!(
                "two consecutive separators ('{separator}') specified in a decoded string '{text}'"
            ));
        }
        if part.len() > 2 {
            return Err(format!("invalid format of the decoded string '{text}'"));
        }
        part.chars().try_fold(0, |octet, digit| match digit.to_digit(16) {
            Some(digit) => Ok(octet << 4 | digit as u8),
            None => Err(format!(
                "'{digit}' is not a valid hexadecimal digit in decoded string '{text}'"
            )),
        })
    };
    text.split(separator).map(part_of).collect()
}

/// Returns a time in microseconds since 1970 as `YYYY-MM-DD HH:MM:SS.ffffff`, in UTC.
#[must_use]
pub fn time_stamp(wall_us: u64) -> String {
    // Microseconds since 1970 are below 2^64, so the seconds fit.
    let time = CivilTime::from_unix_s((wall_us / US_PER_S).cast_signed());
    format!("{time}.{:06}", wall_us % US_PER_S)
}

/// Returns Kea's name of the type of a JSON value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "real",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
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
            ("0x102", vec![1, 2]),
            ("", vec![]),
        ] {
            assert_eq!(octets_from_hex(text).unwrap(), octets, "{text}");
        }
        for (text, why) in [
            ("zz", "'zz' is not a valid string of hexadecimal digits"),
            ("1:2:", "two consecutive separators (':') specified in a decoded string '1:2:'"),
            ("123 4", "invalid format of the decoded string '123 4'"),
            ("1:g", "'g' is not a valid hexadecimal digit in decoded string '1:g'"),
            ("1:\u{e9}", "'\u{e9}' is not a valid hexadecimal digit in decoded string '1:\u{e9}'"),
        ] {
            assert_eq!(octets_from_hex(text).unwrap_err(), why);
        }
        assert_eq!(octets_from_colon_hex("1").unwrap(), [1]);
        let why = octets_from_colon_hex("0102").unwrap_err();
        assert_eq!(why, "invalid format of the decoded string '0102'");
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
