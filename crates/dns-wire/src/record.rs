//! DNS resource records (RFC 1035 section 4.1.3) and the content of an OPT record (RFC 6891 section
//! 6.1).

use crate::DnsMessageDefect;
use crate::kind::{RecordClass, RecordType};
use crate::name::{self, DnsName};

/// Number of bytes between the name and the data of a DNS record.
const FIXED_BYTES: usize = 10;

/// DNS resource record, read in place from its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsRecord<'a> {
    /// Domain name that owns the record.
    pub name: DnsName<'a>,
    /// Type of the DNS record.
    pub kind: RecordType,
    /// Class of the record; in an OPT record the sender's largest UDP payload in bytes.
    pub class: RecordClass,
    /// Time to live of the record in seconds as sent; see [`DnsRecord::ttl_s`].
    pub ttl: u32,
    /// Data of the record, in which names may be compressed.
    pub data: &'a [u8],
}

impl<'a> DnsRecord<'a> {
    /// Reads the DNS record at `at` of `message`. Returns the record and its end.
    ///
    /// # Errors
    ///
    /// Returns the defect of the record's name, or [`DnsMessageDefect::Truncated`] when the record
    /// is incomplete.
    pub(crate) fn parse(message: &'a [u8], at: usize) -> Result<(Self, usize), DnsMessageDefect> {
        let fixed_at = name::check(message, at)?;
        let data_at = fixed_at + FIXED_BYTES;
        let fixed = message.get(fixed_at..data_at).ok_or(DnsMessageDefect::Truncated)?;
        let end = data_at + usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let data = message.get(data_at..end).ok_or(DnsMessageDefect::Truncated)?;
        let record = Self {
            name: DnsName::checked(message, at),
            kind: RecordType(u16::from_be_bytes([fixed[0], fixed[1]])),
            class: RecordClass(u16::from_be_bytes([fixed[2], fixed[3]])),
            ttl: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            data,
        };
        Ok((record, end))
    }

    /// Returns the time for which the record may be cached, in seconds: a time with the highest bit
    /// set counts as 0 (RFC 2181 section 8).
    pub const fn ttl_s(&self) -> u32 {
        if self.ttl >> 31 == 0 { self.ttl } else { 0 }
    }

    /// Returns the content of the record when it is an OPT record; `None` otherwise.
    pub fn edns(&self) -> Option<Edns> {
        let [extended_rcode, version, flags, _] = self.ttl.to_be_bytes();
        (self.kind == RecordType::OPT).then_some(Edns {
            udp_payload_bytes: self.class.0,
            extended_rcode,
            version,
            dnssec_ok: flags & 0x80 != 0,
        })
    }
}

/// Content of an OPT record (EDNS) without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    /// Largest UDP payload that the sender accepts, in bytes; below 512 it counts as 512.
    pub udp_payload_bytes: u16,
    /// Upper eight bits of the message's response code.
    pub extended_rcode: u8,
    /// Version of EDNS; 0 is the only one that exists.
    pub version: u8,
    /// True if the client wants DNSSEC records, or the server may send them (flag DO, RFC 3225).
    pub dnssec_ok: bool,
}

impl Edns {
    /// Returns the bytes of the OPT record in a message, without options.
    pub const fn emit(&self) -> [u8; 11] {
        let [high, low] = self.udp_payload_bytes.to_be_bytes();
        let flags = (self.dnssec_ok as u8) << 7;
        [
            0,
            0,
            RecordType::OPT.0 as u8,
            high,
            low,
            self.extended_rcode,
            self.version,
            flags,
            0,
            0,
            0,
        ]
    }
}
