//! Entries of the legal log, and the parts of their texts that both families have.

use std::fmt::Write as _;

use base::ColonHex;
use dhcp_control::kea_json;
use dhcp_lease::{HardwareAddress, INFINITE_LIFETIME_S};
use netio::Clock;

/// Entry of the legal log: an address with the text about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEntry {
    /// Address of the lease, a prefix with its length; empty if a command names none.
    pub(super) address: String,
    /// Text of the entry, of one or more lines; expressions may put any bytes into it.
    pub(super) text: Vec<u8>,
}

impl LogEntry {
    /// Appends the lines of the entry, each after the time `time`.
    pub(super) fn append_lines(&self, time: &str, target: &mut Vec<u8>) {
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        for line in text.split(|&octet| octet == b'\n') {
            target.extend_from_slice(time.as_bytes());
            target.push(b' ');
            target.extend_from_slice(line);
            target.push(b'\n');
        }
    }
}

/// Action on a lease that the legal log reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogAction {
    /// Grant or renewal of the lease.
    Assigned,
    /// End of the lease by its client, or by the server for it.
    Released,
}

impl LogAction {
    /// Appends the action, and for a grant the lifetime, up to the article before the client.
    pub(super) fn append(self, valid_lifetime_s: u32, text: &mut String) {
        match self {
            Self::Assigned => {
                text.push_str(" has been assigned for ");
                append_duration(valid_lifetime_s, text);
                text.push_str(" to a device with ");
            }
            Self::Released => text.push_str(" has been released from a device with "),
        }
    }
}

/// Appends a time of `seconds` in words.
pub(super) fn append_duration(seconds: u32, text: &mut String) {
    if seconds == INFINITE_LIFETIME_S {
        text.push_str("infinite duration");
        return;
    }
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    if hours >= 24 {
        let _ = write!(text, "{} days ", hours / 24);
    }
    let _ = write!(text, "{} hrs {} mins {} secs", hours % 24, minutes % 60, seconds % 60);
}

/// Appends `octets` in hexadecimal digits and, if all are printable characters, as text.
pub(super) fn append_octets(octets: &[u8], text: &mut String) {
    let _ = write!(text, "{}", ColonHex(octets));
    append_if_printable(octets, text);
}

/// Appends ` (TEXT)` if `octets` are printable ASCII characters only.
pub(super) fn append_if_printable(octets: &[u8], text: &mut String) {
    if octets.iter().all(|octet| (b' '..=b'~').contains(octet)) {
        let _ = write!(text, " ({})", String::from_utf8_lossy(octets));
    }
}

/// Appends a hardware address with its type.
pub(super) fn append_hardware(hardware: &HardwareAddress, text: &mut String) {
    let _ = write!(text, "hwtype={} {}", hardware.htype(), ColonHex(hardware.octets()));
}

/// Appends the identifiers `identifiers` of relay agents, each with its name, after the words
/// `before`; nothing if all are missing or empty.
pub(super) fn append_identifiers(
    before: &str,
    identifiers: &[(&str, Option<Vec<u8>>)],
    text: &mut String,
) {
    let mut word = before;
    for (name, octets) in identifiers {
        let Some(octets) = octets.as_deref().filter(|octets| !octets.is_empty()) else { continue };
        let _ = write!(text, "{word}{name}: ");
        append_octets(octets, text);
        word = " and ";
    }
}

/// Appends the user context `context` of a lease, a JSON text, unless it is empty.
pub(super) fn append_context(context: &str, text: &mut String) {
    if context.is_empty() {
        return;
    }
    text.push_str(", context: ");
    match serde_json::from_str(context) {
        Ok(value) => text.push_str(&kea_json(&value)),
        Err(_) => text.push_str(context),
    }
}

/// Returns the time `wall_us` microseconds after 1970 in local time, in the notation of strftime
/// with `%Q` for milliseconds, a point and the microseconds in them.
pub(super) fn timestamp(wall_us: u64, format: &str) -> String {
    let mut expanded = String::with_capacity(format.len());
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        rest = match after.chars().next() {
            Some('Q') => {
                let within_s = wall_us % 1_000_000;
                let _ = write!(expanded, "{:03}.{:03}", within_s / 1_000, within_s % 1_000);
                &after[1..]
            }
            Some(letter) => {
                expanded.extend(['%', letter]);
                &after[letter.len_utf8()..]
            }
            None => {
                expanded.push('%');
                after
            }
        };
    }
    expanded.push_str(rest);
    Clock::format_local(wall_us / 1_000_000, &expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(append: impl FnOnce(&mut String)) -> String {
        let mut text = String::new();
        append(&mut text);
        text
    }

    #[test]
    fn durations_are_keas() {
        for (seconds, expected) in [
            (0, "0 hrs 0 mins 0 secs"),
            (713, "0 hrs 11 mins 53 secs"),
            (86_399, "23 hrs 59 mins 59 secs"),
            (86_400, "1 days 0 hrs 0 mins 0 secs"),
            (4_294_967_294, "49710 days 6 hrs 28 mins 14 secs"),
            (u32::MAX, "infinite duration"),
        ] {
            assert_eq!(appended(|text| append_duration(seconds, text)), expected);
        }
    }

    #[test]
    fn identifiers_are_text_too_where_all_octets_are_printable() {
        assert_eq!(appended(|text| append_octets(b"~ ", text)), "7e:20 (~ )");
        assert_eq!(appended(|text| append_octets(b"\x7fa", text)), "7f:61");
        let identifiers =
            [("a", Some(vec![1])), ("b", None), ("c", Some(Vec::new())), ("d", Some(vec![b'x']))];
        let expected = ", by a: 01 and d: 78 (x)";
        assert_eq!(appended(|text| append_identifiers(", by ", &identifiers, text)), expected);
        assert_eq!(appended(|text| append_identifiers(", by ", &identifiers[1..3], text)), "");
    }

    #[test]
    fn contexts_have_sorted_members_and_keas_spaces() {
        let context = r#"{"b":[1,"x"],"a":1}"#;
        let expected = r#", context: { "a": 1, "b": [ 1, "x" ] }"#;
        assert_eq!(appended(|text| append_context(context, text)), expected);
        assert_eq!(appended(|text| append_context("", text)), "");
        assert_eq!(appended(|text| append_context("{", text)), ", context: {");
    }

    #[test]
    fn every_line_of_an_entry_has_the_time() {
        let lines = |text: &[u8]| {
            let entry = LogEntry { address: String::new(), text: text.to_vec() };
            let mut target = Vec::new();
            entry.append_lines("T", &mut target);
            target
        };
        assert_eq!(lines(b"a"), b"T a\n");
        assert_eq!(lines(b"a\n\nb\n"), b"T a\nT \nT b\n");
        assert_eq!(lines(b"\n"), b"T \n");
    }

    #[test]
    fn timestamps_are_those_of_strftime_with_fractions() {
        let time = |format: &str| timestamp(1_769_903_999_723_636, format);
        assert_eq!(time("%s %Q"), "1769903999 723.636");
        assert_eq!(time("%%Q|x%"), "%Q|x%");
        assert_eq!(time("ü %Q"), "ü 723.636");
    }
}
