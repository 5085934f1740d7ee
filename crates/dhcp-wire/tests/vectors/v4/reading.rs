//! tshark's reading of a capture, reduced to the fields that matter here.

use std::fmt::Write as _;
use std::path::Path;

use crate::vectors::tshark::{self, attribute};

/// Our name and tshark's name of each fixed field.
const FIELDS: [(&str, &str); 11] = [
    ("op", "dhcp.type"),
    ("htype", "dhcp.hw.type"),
    ("hlen", "dhcp.hw.len"),
    ("hops", "dhcp.hops"),
    ("xid", "dhcp.id"),
    ("secs", "dhcp.secs"),
    ("flags", "dhcp.flags"),
    ("ciaddr", "dhcp.ip.client"),
    ("yiaddr", "dhcp.ip.your"),
    ("siaddr", "dhcp.ip.server"),
    ("giaddr", "dhcp.ip.relay"),
];

/// Values in hexadecimal by name or code, in order.
pub(super) type Values<K> = Vec<(K, String)>;

/// Option, or one piece of a split one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HexOption {
    /// Code of the option.
    pub(super) code: u8,
    /// Value in hexadecimal.
    pub(super) value: String,
    /// Sub-options of option 82.
    pub(super) subs: Values<u8>,
}

/// Message with all values in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HexMessage {
    /// Fixed fields by name, in order, then `chaddr`, `sname`, `file` without their padding.
    pub(super) fields: Values<String>,
    /// Options in the order in which they are read.
    pub(super) options: Vec<HexOption>,
}

impl HexMessage {
    /// Returns the options with the pieces of each code joined, in the order of the first pieces.
    pub(super) fn joined(&self) -> Values<u8> {
        let mut joined = Values::new();
        for HexOption { code, value, .. } in &self.options {
            match joined.iter_mut().find(|(known, _)| known == code) {
                Some((_, whole)) => whole.push_str(value),
                None => joined.push((*code, value.clone())),
            }
        }
        joined
    }
}

/// Returns the text form of readings, as in the counterparts.
fn render(readings: &[HexMessage]) -> String {
    let mut text = String::new();
    for (index, reading) in readings.iter().enumerate() {
        writeln!(text, "packet {}", index + 1).unwrap();
        for (name, value) in &reading.fields {
            writeln!(text, "{name} {}", or_dash(value)).unwrap();
        }
        for HexOption { code, value, subs } in &reading.options {
            writeln!(text, "option {code} {}", or_dash(value)).unwrap();
            for (code, value) in subs {
                writeln!(text, "  sub-option {code} {}", or_dash(value)).unwrap();
            }
        }
    }
    text
}

/// Returns the text form of tshark's packets.
pub(super) fn render_packets(packets: &[String]) -> String {
    let readings: Vec<HexMessage> = packets.iter().map(|pdml| message(pdml)).collect();
    render(&readings)
}

/// Reads the text form.
pub(super) fn parse(text: &str) -> Vec<HexMessage> {
    let mut readings: Vec<HexMessage> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value = |word: &str| if word == "-" { String::new() } else { word.to_owned() };
        if let ["packet", _] = words[..] {
            readings.push(HexMessage::default());
            continue;
        }
        let reading = readings.last_mut().unwrap();
        match words[..] {
            ["option", code, octets] => {
                let code = code.parse().unwrap();
                reading.options.push(HexOption { code, value: value(octets), subs: Vec::new() });
            }
            ["sub-option", code, octets] => {
                let subs = &mut reading.options.last_mut().unwrap().subs;
                subs.push((code.parse().unwrap(), value(octets)));
            }
            [name, octets] => reading.fields.push((name.to_owned(), value(octets))),
            _ => panic!("{line}"),
        }
    }
    readings
}

fn or_dash(value: &str) -> &str {
    if value.is_empty() { "-" } else { value }
}

/// Returns tshark's reading of a capture; `None` without tshark.
pub(super) fn read(file: &Path) -> Option<Vec<HexMessage>> {
    Some(tshark::packets(file)?.iter().map(|pdml| message(pdml)).collect())
}

/// Reduces the PDML of one packet.
fn message(pdml: &str) -> HexMessage {
    let mut start = None;
    let mut found = std::collections::HashMap::new();
    let mut options: Vec<(usize, HexOption)> = Vec::new();
    for line in pdml.lines().map(str::trim_start) {
        if line.starts_with("<proto name=\"dhcp\"") {
            start = attribute(line, "pos").parse::<usize>().ok();
        }
        let Some(start) = start else { continue };
        let (name, value) = (attribute(line, "name"), attribute(line, "value"));
        match name {
            "dhcp.option.type" if !matches!(attribute(line, "value"), "00" | "ff") => {
                let at = attribute(line, "pos").parse::<usize>().unwrap() - start;
                let (code, octets) = typed(value);
                options.push((place(at), HexOption { code, value: octets, subs: Vec::new() }));
            }
            "dhcp.option.agent_information_option.suboption" => {
                options.last_mut().unwrap().1.subs.push(typed(value));
            }
            _ => {
                found.entry(name).or_insert(value);
            }
        }
    }
    let get = |name: &str| found.get(name).copied().unwrap_or_default();
    let mut fields: Values<String> =
        FIELDS.iter().map(|(ours, theirs)| ((*ours).to_owned(), get(theirs).to_owned())).collect();
    let chaddr = [get("dhcp.hw.mac_addr"), get("dhcp.hw.addr")].concat();
    fields.push(("chaddr".to_owned(), chaddr));
    fields.push(("sname".to_owned(), until_zero(get("dhcp.server"))));
    fields.push(("file".to_owned(), until_zero(get("dhcp.file"))));
    // tshark shows overloaded fields in the middle of the options field.
    options.sort_by_key(|&(place, ..)| place);
    let options = options.into_iter().map(|(_, piece)| piece).collect();
    HexMessage { fields, options }
}

/// Returns the position of a place in the order of reading (RFC 3396 §5).
fn place(at: usize) -> usize {
    match at {
        44..108 => 2,
        108..236 => 1,
        _ => 0,
    }
}

/// Returns code and value of an option or sub-option in hexadecimal; the length must be correct.
fn typed(hex: &str) -> (u8, String) {
    let octet = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    assert_eq!(usize::from(octet(2)) * 2, hex.len() - 4, "{hex}");
    (octet(0), hex[4..].to_owned())
}

fn until_zero(hex: &str) -> String {
    let len = (0..hex.len()).step_by(2).find(|&at| &hex[at..at + 2] == "00");
    hex[..len.unwrap_or(hex.len())].to_owned()
}
