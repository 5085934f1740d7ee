//! DNS message header (RFC 1035 section 4.1.1, with the flags AD and CD of RFC 4035 section 3).

use base::{ByteReader, ByteWriter};

use crate::DnsMessageDefect;
use crate::rcode::Rcode;

/// Length of a DNS message header, in bytes.
pub const HEADER_BYTES: usize = 12;

/// Flags of a DNS header: the sixteen bits between identifier and counts, with opcode and response
/// code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// Flag QR of a DNS header (RFC 1035 section 4.1.1): the message is a response.
    pub const RESPONSE: u16 = 0x8000;
    /// Flag AA of a DNS header (RFC 1035 section 4.1.1): the answer is authoritative.
    pub const AUTHORITATIVE: u16 = 0x0400;
    /// Flag TC of a DNS header (RFC 1035 section 4.1.1): the message did not fit and is truncated.
    pub const TRUNCATED: u16 = 0x0200;
    /// Flag RD of a DNS header (RFC 1035 section 4.1.1): the client desires recursion.
    pub const RECURSION_DESIRED: u16 = 0x0100;
    /// Flag RA of a DNS header (RFC 1035 section 4.1.1): the server offers recursion.
    pub const RECURSION_AVAILABLE: u16 = 0x0080;
    /// Flag AD of a DNS header (RFC 4035 section 3): the server has authenticated the data.
    pub const AUTHENTIC: u16 = 0x0020;
    /// Flag CD of a DNS header (RFC 4035 section 3): the client disables the server's check of
    /// signatures.
    pub const CHECKING_DISABLED: u16 = 0x0010;

    /// Returns true when any flag of `bits` is set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    /// Returns the opcode (RFC 1035 section 4.1.1), the kind of query; 0 is a standard query.
    pub const fn opcode(self) -> u8 {
        (self.0 >> 11) as u8 & 0xf
    }

    /// Returns the response code as far as the header holds it; [`crate::Edns`] may extend it.
    pub const fn rcode(self) -> Rcode {
        Rcode(self.0 & 0xf)
    }
}

/// Header of a DNS message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DnsHeader {
    /// Identifier of the DNS message, which connects a response with its query.
    pub id: u16,
    /// Flags, opcode and response code of the DNS message.
    pub flags: Flags,
    /// Numbers of questions, answers, authority records and additional records in the DNS message.
    pub counts: [u16; 4],
}

impl DnsHeader {
    /// Reads the DNS header that `octets` begin with.
    ///
    /// # Errors
    ///
    /// [`DnsMessageDefect::Header`] when `octets` are fewer than twelve bytes.
    pub fn parse(octets: &[u8]) -> Result<Self, DnsMessageDefect> {
        let mut reader = ByteReader::new(octets);
        let mut next = || reader.u16().ok_or(DnsMessageDefect::Header);
        Ok(Self {
            id: next()?,
            flags: Flags(next()?),
            counts: [next()?, next()?, next()?, next()?],
        })
    }

    /// Writes the DNS header, twelve bytes.
    pub fn emit(&self, writer: &mut ByteWriter<'_>) {
        writer.u16(self.id).u16(self.flags.0);
        for count in self.counts {
            writer.u16(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_has_its_place() {
        // RFC 1035 section 4.1.1: QR, opcode (4), AA, TC, RD, RA, Z, AD, CD, RCODE (4).
        let octets = [0xab, 0xcd, 0b1010_1101, 0b1011_0011, 0, 1, 0, 2, 0, 3, 0, 4, 9];
        let header = DnsHeader::parse(&octets).unwrap();
        assert_eq!((header.id, header.counts), (0xabcd, [1, 2, 3, 4]));
        let flags = header.flags;
        assert_eq!((flags.opcode(), flags.rcode()), (5, Rcode::NXDOMAIN));
        assert!(flags.has(Flags::RESPONSE) && flags.has(Flags::AUTHORITATIVE));
        assert!(!flags.has(Flags::TRUNCATED) && flags.has(Flags::RECURSION_DESIRED));
        assert!(flags.has(Flags::RECURSION_AVAILABLE) && flags.has(Flags::AUTHENTIC));
        assert!(flags.has(Flags::CHECKING_DISABLED));
        let mut buffer = [0; HEADER_BYTES];
        header.emit(&mut ByteWriter::new(&mut buffer));
        assert_eq!(buffer, octets[..HEADER_BYTES]);
        assert_eq!(DnsHeader::parse(&octets[..11]), Err(DnsMessageDefect::Header));
    }
}
