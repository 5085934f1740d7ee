//! A whole message, checked once and then read in place.

use crate::Malformed;
use crate::header::{Flags, HEADER_BYTES, Header};
use crate::kind::{Class, Kind};
use crate::name::{self, Name};
use crate::rcode::Rcode;
use crate::record::{Edns, Record};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// About which name.
    pub name: Name<'a>,
    /// For records of which type.
    pub kind: Kind,
    /// For records of which class.
    pub class: Class,
}

/// A message whose names and records are known to be sound.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    octets: &'a [u8],
    header: Header,
    questions_end: usize,
    edns: Option<Edns>,
}

/// Where the question at `at` ends.
fn check_question(octets: &[u8], at: usize) -> Result<usize, Malformed> {
    let end = name::check(octets, at)? + 4;
    if end > octets.len() { Err(Malformed::Truncated) } else { Ok(end) }
}

impl<'a> Message<'a> {
    /// Checks `octets` from end to end. Of a response with TC set what is there must be sound, and the
    /// rest may be missing (RFC 2181 section 9).
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        let header = Header::parse(octets)?;
        let [questions, answers, authorities, additionals] = header.counts;
        let mut at = HEADER_BYTES;
        for _ in 0..questions {
            at = check_question(octets, at)?;
        }
        let mut message = Self { octets, header, questions_end: at, edns: None };
        let before = u32::from(answers) + u32::from(authorities);
        for number in 0..before + u32::from(additionals) {
            let record = match Record::parse(octets, at) {
                Ok((record, end)) => {
                    at = end;
                    record
                }
                Err(Malformed::Truncated) if header.flags.has(Flags::TRUNCATED) => {
                    return Ok(message);
                }
                Err(reason) => return Err(reason),
            };
            if let Some(edns) = record.edns() {
                if number < before || message.edns.is_some() || !record.name.is_root() {
                    return Err(Malformed::Opt);
                }
                message.edns = Some(edns);
            }
        }
        if at == octets.len() { Ok(message) } else { Err(Malformed::Trailing) }
    }

    /// Its header.
    #[must_use]
    pub const fn header(&self) -> Header {
        self.header
    }

    /// Its response code with the bits of EDNS.
    #[must_use]
    pub fn rcode(&self) -> Rcode {
        let extended = self.edns.map_or(0, |edns| u16::from(edns.extended_rcode));
        Rcode(extended << 4 | self.header.flags.rcode().0)
    }

    /// What its OPT record says, if it has one.
    #[must_use]
    pub const fn edns(&self) -> Option<Edns> {
        self.edns
    }

    /// Its questions as octets: what follows the header up to the first record.
    #[must_use]
    pub fn question_octets(&self) -> &'a [u8] {
        &self.octets[HEADER_BYTES..self.questions_end]
    }

    /// Its questions.
    pub fn questions(&self) -> impl Iterator<Item = Question<'a>> + use<'a> {
        let octets = self.octets;
        let mut at = HEADER_BYTES;
        (0..self.header.counts[0]).map_while(move |_| {
            let (name, end) = Name::parse(octets, at).ok()?;
            let fixed = octets.get(end..end + 4)?;
            at = end + 4;
            let kind = Kind(u16::from_be_bytes([fixed[0], fixed[1]]));
            Some(Question { name, kind, class: Class(u16::from_be_bytes([fixed[2], fixed[3]])) })
        })
    }

    /// Its records in order: answers, authority, additional. Fewer than the header says when it was
    /// truncated.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let (octets, mut at) = (self.octets, self.questions_end);
        let count = self.header.counts[1..].iter().map(|&count| u32::from(count)).sum::<u32>();
        (0..count).map_while(move |_| {
            let (record, end) = Record::parse(octets, at).ok()?;
            at = end;
            Some(record)
        })
    }

    /// True when it asks what `other` asks, names in any case (RFC 4343).
    #[must_use]
    pub fn asks_as(&self, other: &Self) -> bool {
        self.header.counts[0] == other.header.counts[0]
            && (self.question_octets() == other.question_octets()
                || self.questions().eq(other.questions()))
    }
}
