//! Sections of the header function `dns()`: questions and records (RFC 1035 §4.1), in the order of
//! a message.

use super::expression;
use super::fields::{self, HeaderFieldValue};
use super::headers::PacketBuilder;
use super::parser::Parser;
use super::source::{Cursor, Parsed, fault};
use crate::packet::{BitField, FieldChange, FieldChangeRule};

/// Default name of a DNS question.
const DEFAULT_NAME: &str = "www.netsniff-ng.com";
/// Default name of a DNS question as trafgen 0.6.8 writes it: as text, without the lengths of
/// labels.
const DEFAULT_NAME_QUIRK: &[u8] = b"www.netsniff-ng.com\0";
/// Longest label of a DNS name in bytes; the next constant is that of the whole name (RFC 1035
/// §2.3.4).
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 255;

/// Section of a DNS message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Question,
    Answer,
    Authority,
    Additional,
}

impl Section {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "qry" | "query" => Self::Question,
            "ans" | "answer" => Self::Answer,
            "auth" | "authority" => Self::Authority,
            "add" | "additional" => Self::Additional,
            _ => return None,
        })
    }
}

/// Field of a DNS record that changes from frame to frame: its position in the record, and its
/// change.
struct ChangingField {
    at: usize,
    len: usize,
    function: fields::Function,
    text_at: usize,
    /// True if the packet text also gives a number for the field.
    has_number: bool,
}

/// Records of a DNS message under construction, section by section.
#[derive(Default)]
pub(crate) struct DnsRecordSections {
    sections: [Vec<(Vec<u8>, Vec<ChangingField>)>; 4],
}

/// Fields of a DNS record while the parser reads it.
struct DnsRecordFields {
    name: Vec<u8>,
    kind: u16,
    class: u16,
    ttl: u32,
    len: Option<u16>,
    data: Vec<u8>,
    /// Fields that change from frame to frame, by their index among type, class, time to live and
    /// length.
    changing: Vec<(usize, fields::Function, usize)>,
    /// True for each of the fields type, class, time to live and length for which the packet text
    /// gives a number.
    has_number: [bool; 4],
}

impl DnsRecordSections {
    /// Parses the records in `section(...)`, whose name was already read.
    pub(crate) fn read(&mut self, parser: &mut Parser<'_>, section: Section) -> Parsed<()> {
        let is_question = section == Section::Question;
        let mut record = DnsRecordFields {
            name: default_name(is_question, parser.settings.quirks),
            kind: u16::from(is_question),
            class: 1,
            ttl: 1,
            len: None,
            data: Vec::new(),
            changing: Vec::new(),
            has_number: [false; 4],
        };
        parser.cursor.expect(b'(')?;
        parser.cursor.skip_blanks();
        let mut is_done = parser.cursor.take(b')');
        while !is_done {
            parser.cursor.skip_blanks();
            if let Err(fault) = record.argument(parser, is_question) {
                parser.faults.push(fault);
                parser.cursor.skip_argument();
            }
            is_done = fields::is_last(parser)?;
        }
        self.sections[section as usize].push(record.write(is_question));
        Ok(())
    }

    /// Appends the records of all sections to the last header and writes their counts.
    pub(crate) fn append(self, builder: &mut PacketBuilder, at: usize) -> Parsed<()> {
        let counts = [0, 1, 2, 3].map(|section: usize| self.sections[section].len() as u32);
        builder.count_records(counts);
        for (octets, changing) in self.sections.into_iter().flatten() {
            let record_offset = builder.append_to_header(&octets, at)?;
            for ChangingField { at, len, function, text_at, has_number } in changing {
                let mask = if len == 4 { u32::MAX } else { 0xffff };
                let slot = BitField { at: record_offset + at, len, shift: 0, mask };
                let quirks = builder.quirks();
                let octets = &builder.packet.octets;
                let mut change = function.change(&slot, octets, quirks, text_at)?;
                if let (true, false, FieldChangeRule::Increment { min: 0, value, .. }) =
                    (quirks, has_number, &mut change)
                {
                    // The reference puts defaults into records after it has read the starting
                    // value.
                    *value = 0;
                }
                builder.packet.fields.push(FieldChange { slot, change });
            }
        }
        Ok(())
    }
}

impl DnsRecordFields {
    fn argument(&mut self, parser: &mut Parser<'_>, is_question: bool) -> Parsed<()> {
        let at = parser.cursor.at;
        let name = parser.cursor.take_word().to_ascii_lowercase();
        parser.cursor.skip_blanks();
        let is_data = matches!(name.as_str(), "addr" | "ns" | "cname" | "ptr");
        if is_data && !is_question {
            parser.cursor.expect(b'(')?;
            parser.cursor.skip_blanks();
            self.typed(parser, &name)?;
            return parser.cursor.expect(b')');
        }
        let index = match name.as_str() {
            "name" => None,
            "type" => Some(0),
            "class" => Some(1),
            "ttl" if !is_question => Some(2),
            "len" | "length" if !is_question => Some(3),
            "data" if !is_question => None,
            _ => {
                let known = if is_question {
                    "name, type and class"
                } else {
                    "name, type, class, ttl, len, data, addr(), ns(), cname() and ptr()"
                };
                return fault(at, format!("unknown field `{name}`; fields are {known}"));
            }
        };
        parser.cursor.expect(b'=')?;
        parser.cursor.skip_blanks();
        let value_at = parser.cursor.at;
        let Some(index) = index else { return self.octets(parser, &name) };
        if let Some(function) = fields::function(parser)? {
            self.changing.push((index, function, value_at));
            return Ok(());
        }
        let number = expression::plain(&mut parser.cursor, parser.settings.quirks)?;
        let most = if index == 2 { u64::from(u32::MAX) } else { 0xffff };
        if number > most {
            parser.warn(value_at, format!("{number} does not fit into the field: {most} at most"));
        }
        self.has_number[index] = true;
        match index {
            0 => self.kind = number as u16,
            1 => self.class = number as u16,
            2 => self.ttl = number as u32,
            _ => self.len = Some(number as u16),
        }
        Ok(())
    }

    /// Parses the value of `name=` or `data=`, a field of a DNS record.
    fn octets(&mut self, parser: &mut Parser<'_>, field: &str) -> Parsed<()> {
        if field == "name" {
            self.name = domain(&mut parser.cursor, parser.settings.quirks)?;
        } else if parser.cursor.peek() == Some(b'"') {
            self.data = parser.cursor.string()?.to_vec();
            if parser.settings.quirks {
                self.data.push(0);
            }
        } else {
            let at = parser.cursor.at;
            let Some(address) = fields::address(&mut parser.cursor)? else {
                return fault(at, "data is a string or an address");
            };
            self.data = address.octets().to_vec();
        }
        Ok(())
    }

    /// Parses the argument of `addr()`, `ns()`, `cname()` and `ptr()`, a typed DNS record.
    fn typed(&mut self, parser: &mut Parser<'_>, name: &str) -> Parsed<()> {
        self.kind = match name {
            "ns" => 2,
            "cname" => 5,
            "ptr" => 12,
            _ => {
                let at = parser.cursor.at;
                let address = fields::address(&mut parser.cursor)?;
                let Some(address @ (HeaderFieldValue::Ip4(_) | HeaderFieldValue::Ip6(_))) = address
                else {
                    return fault(at, "an IPv4 or IPv6 address expected");
                };
                self.data = address.octets().to_vec();
                self.kind = if self.data.len() == 4 { 1 } else { 28 };
                return Ok(());
            }
        };
        self.data = domain(&mut parser.cursor, parser.settings.quirks)?;
        Ok(())
    }

    /// Returns the bytes of the DNS record, and its changing fields.
    fn write(self, is_question: bool) -> (Vec<u8>, Vec<ChangingField>) {
        let behind_name = self.name.len();
        let mut octets = self.name;
        octets.extend(self.kind.to_be_bytes());
        octets.extend(self.class.to_be_bytes());
        if !is_question {
            octets.extend(self.ttl.to_be_bytes());
            let len = self.len.unwrap_or(self.data.len() as u16);
            octets.extend(len.to_be_bytes());
            octets.extend(self.data);
        }
        let changing = self.changing.into_iter().map(|(index, function, text_at)| {
            let (offset, len) = [(0, 2), (2, 2), (4, 4), (8, 2)][index];
            let has_number = self.has_number[index];
            ChangingField { at: behind_name + offset, len, function, text_at, has_number }
        });
        (octets, changing.collect())
    }
}

/// Returns the default name of a DNS question or record; for a record the root, which trafgen 0.6.8
/// omits.
fn default_name(is_question: bool, quirks: bool) -> Vec<u8> {
    match (is_question, quirks) {
        (true, true) => DEFAULT_NAME_QUIRK.to_vec(),
        (true, false) => encode(DEFAULT_NAME.as_bytes()),
        (false, true) => Vec::new(),
        (false, false) => vec![0],
    }
}

fn encode(name: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(name.len() + 2);
    // An empty label is the root, which ends a name.
    for label in name.split(|octet| *octet == b'.').take_while(|label| !label.is_empty()) {
        octets.push(label.len() as u8);
        octets.extend_from_slice(label);
    }
    octets.push(0);
    octets
}

/// Parses a domain name in quotes and encodes it for DNS. A dot at the end has no effect; `"."` is
/// the root.
fn domain(cursor: &mut Cursor<'_>, quirks: bool) -> Parsed<Vec<u8>> {
    let at = cursor.at;
    if cursor.peek() != Some(b'"') {
        return fault(
            at,
            format!("a name in double quotes expected, found {}", cursor.describe_next()),
        );
    }
    let text = cursor.string()?;
    let name = text.strip_suffix(b".").unwrap_or(text);
    let mut labels = name.split(|octet| *octet == b'.');
    if !name.is_empty() && !quirks && labels.clone().any(<[u8]>::is_empty) {
        return fault(at, "a name with an empty label");
    }
    if labels.any(|label| label.len() > LABEL_BYTES_MAX) {
        return fault(at, format!("a label has at most {LABEL_BYTES_MAX} bytes (RFC 1035)"));
    }
    let octets = encode(name);
    if octets.len() > NAME_BYTES_MAX {
        return fault(at, format!("a name has at most {NAME_BYTES_MAX} bytes (RFC 1035)"));
    }
    Ok(octets)
}
