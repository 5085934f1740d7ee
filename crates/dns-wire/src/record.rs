//! Resource records (RFC 1035 section 4.1.3) and what an OPT record says (RFC 6891 section 6.1).

use crate::Malformed;
use crate::kind::{Class, Kind};
use crate::name::{self, Name};

/// Octets between the name and the data of a record.
const FIXED_BYTES: usize = 10;

/// One record in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Whose it is.
    pub name: Name<'a>,
    /// Its type.
    pub kind: Kind,
    /// Its class; in an OPT record the sender's largest UDP payload.
    pub class: Class,
    /// Its time to live in seconds as written; see [`Record::ttl_s`].
    pub ttl: u32,
    /// Its data, names in them perhaps compressed.
    pub data: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record at `at` of `message`, and where it ends.
    ///
    /// # Errors
    ///
    /// What is wrong with its name, or that it is not all there.
    pub(crate) fn parse(message: &'a [u8], at: usize) -> Result<(Self, usize), Malformed> {
        let fixed_at = name::check(message, at)?;
        let data_at = fixed_at + FIXED_BYTES;
        let fixed = message.get(fixed_at..data_at).ok_or(Malformed::Truncated)?;
        let end = data_at + usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let data = message.get(data_at..end).ok_or(Malformed::Truncated)?;
        let record = Self {
            name: Name::checked(message, at),
            kind: Kind(u16::from_be_bytes([fixed[0], fixed[1]])),
            class: Class(u16::from_be_bytes([fixed[2], fixed[3]])),
            ttl: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            data,
        };
        Ok((record, end))
    }

    /// How long it may be kept, seconds: one with the highest bit set counts as 0 (RFC 2181 section 8).
    #[must_use]
    pub const fn ttl_s(&self) -> u32 {
        if self.ttl >> 31 == 0 { self.ttl } else { 0 }
    }

    /// What it says when it is an OPT record.
    #[must_use]
    pub fn edns(&self) -> Option<Edns> {
        let [extended_rcode, version, flags, _] = self.ttl.to_be_bytes();
        (self.kind == Kind::OPT).then_some(Edns {
            udp_payload_bytes: self.class.0,
            extended_rcode,
            version,
            dnssec_ok: flags & 0x80 != 0,
        })
    }
}

/// EDNS without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    /// The largest UDP payload that the sender takes; below 512 it counts as 512.
    pub udp_payload_bytes: u16,
    /// The upper eight bits of the response code.
    pub extended_rcode: u8,
    /// 0 is the only one there is.
    pub version: u8,
    /// Records of DNSSEC are wanted, or may be sent (DO, RFC 3225).
    pub dnssec_ok: bool,
}

impl Edns {
    /// The OPT record as it stands in a message, without options.
    #[must_use]
    pub const fn emit(&self) -> [u8; 11] {
        let [high, low] = self.udp_payload_bytes.to_be_bytes();
        let flags = (self.dnssec_ok as u8) << 7;
        [0, 0, Kind::OPT.0 as u8, high, low, self.extended_rcode, self.version, flags, 0, 0, 0]
    }
}
