//! View of a whole DNS message, which is checked once and then read in place.

use crate::DnsMessageDefect;
use crate::header::{DnsHeader, Flags, HEADER_BYTES};
use crate::kind::{RecordClass, RecordType};
use crate::name::{self, DnsName};
use crate::rcode::Rcode;
use crate::record::{DnsRecord, Edns};

/// Question of a DNS query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// Name of the records that the question requests.
    pub name: DnsName<'a>,
    /// Type of the records that the question requests.
    pub kind: RecordType,
    /// Class of the records that the question requests.
    pub class: RecordClass,
}

/// Checked view of a DNS message whose names and records are sound.
#[derive(Clone, Copy, Debug)]
pub struct DnsMessage<'a> {
    octets: &'a [u8],
    header: DnsHeader,
    questions_end: usize,
    edns: Option<Edns>,
}

/// Checks the question at `at` and returns its end.
fn check_question(octets: &[u8], at: usize) -> Result<usize, DnsMessageDefect> {
    let end = name::check(octets, at)? + 4;
    if end > octets.len() { Err(DnsMessageDefect::Truncated) } else { Ok(end) }
}

impl<'a> DnsMessage<'a> {
    /// Checks the DNS message in `octets` from end to end. In a response with TC set the part that
    /// was sent must be sound, and the rest may be missing (RFC 2181 section 9).
    ///
    /// # Errors
    ///
    /// Returns the first defect.
    pub fn parse(octets: &'a [u8]) -> Result<Self, DnsMessageDefect> {
        let header = DnsHeader::parse(octets)?;
        let [questions, answers, authorities, additionals] = header.counts;
        let mut at = HEADER_BYTES;
        for _ in 0..questions {
            at = check_question(octets, at)?;
        }
        let mut message = Self { octets, header, questions_end: at, edns: None };
        let before = u32::from(answers) + u32::from(authorities);
        for number in 0..before + u32::from(additionals) {
            let record = match DnsRecord::parse(octets, at) {
                Ok((record, end)) => {
                    at = end;
                    record
                }
                Err(DnsMessageDefect::Truncated) if header.flags.has(Flags::TRUNCATED) => {
                    return Ok(message);
                }
                Err(reason) => return Err(reason),
            };
            if let Some(edns) = record.edns() {
                if number < before || message.edns.is_some() || !record.name.is_root() {
                    return Err(DnsMessageDefect::Opt);
                }
                message.edns = Some(edns);
            }
        }
        if at == octets.len() { Ok(message) } else { Err(DnsMessageDefect::Trailing) }
    }

    /// Returns the header of the message.
    pub const fn header(&self) -> DnsHeader {
        self.header
    }

    /// Returns the response code of the message, including the bits of its OPT record.
    pub fn rcode(&self) -> Rcode {
        let extended = self.edns.map_or(0, |edns| u16::from(edns.extended_rcode));
        Rcode(extended << 4 | self.header.flags.rcode().0)
    }

    /// Returns the content of the OPT record, if the message has one.
    pub const fn edns(&self) -> Option<Edns> {
        self.edns
    }

    /// Returns the questions of the message as bytes: everything after the header up to the first
    /// record.
    pub fn question_octets(&self) -> &'a [u8] {
        &self.octets[HEADER_BYTES..self.questions_end]
    }

    /// Returns the questions of the message, in order.
    pub fn questions(&self) -> impl Iterator<Item = Question<'a>> + use<'a> {
        let octets = self.octets;
        let mut at = HEADER_BYTES;
        (0..self.header.counts[0]).map_while(move |_| {
            let (name, end) = DnsName::parse(octets, at).ok()?;
            let fixed = octets.get(end..end + 4)?;
            at = end + 4;
            let kind = RecordType(u16::from_be_bytes([fixed[0], fixed[1]]));
            Some(Question {
                name,
                kind,
                class: RecordClass(u16::from_be_bytes([fixed[2], fixed[3]])),
            })
        })
    }

    /// Returns the records of the message in order: answers, authority, additional. A truncated
    /// message may have fewer than its header announces.
    pub fn records(&self) -> impl Iterator<Item = DnsRecord<'a>> + use<'a> {
        let (octets, mut at) = (self.octets, self.questions_end);
        let count = self.header.counts[1..].iter().map(|&count| u32::from(count)).sum::<u32>();
        (0..count).map_while(move |_| {
            let (record, end) = DnsRecord::parse(octets, at).ok()?;
            at = end;
            Some(record)
        })
    }

    /// Returns true when this message and `other` have equal questions, with names in any case (RFC
    /// 4343).
    pub fn has_same_questions(&self, other: &Self) -> bool {
        self.header.counts[0] == other.header.counts[0]
            && (self.question_octets() == other.question_octets()
                || self.questions().eq(other.questions()))
    }
}
