//! Parser and writer of IPv4 headers (RFC 791).

use core::net::Ipv4Addr;

use base::{ByteReader, ByteWriter};

use crate::PacketDefect;
use crate::checksum::checksum;

/// Length of an IPv4 header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// Greatest length of the options of an IPv4 header, in bytes.
pub const OPTIONS_MAX: usize = 40;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

/// IPv4 header. Total length and checksum are no fields: [`Header::parse`] checks them,
/// [`Header::emit`] computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Differentiated services field and ECN field, one byte together (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// Identification of the packet, equal in all fragments of a datagram.
    pub identification: u16,
    /// True if routers may not fragment the packet.
    pub dont_fragment: bool,
    /// True if further fragments of the datagram follow this one.
    pub more_fragments: bool,
    /// Offset of the packet's payload in the datagram, in bytes, a multiple of 8.
    pub fragment_offset: u16,
    /// Time to live: number of routers that may still forward the packet.
    pub ttl: u8,
    /// Protocol number of the payload ([`crate::protocol`]).
    pub protocol: u8,
    /// IPv4 address of the packet's sender.
    pub source: Ipv4Addr,
    /// IPv4 address of the packet's receiver.
    pub destination: Ipv4Addr,
    /// IPv4 options as bytes, a multiple of 4.
    pub options: &'a [u8],
}

impl<'a> Header<'a> {
    /// Creates an IPv4 header for a whole datagram that may be fragmented, with a time to live of
    /// 64 and no options.
    pub const fn new(protocol: u8, source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self {
            traffic_class: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            source,
            destination,
            options: &[],
        }
    }

    /// Returns the length of the IPv4 header with its options, in bytes.
    pub const fn len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Returns false: an IPv4 header always has bytes.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns true if the packet is one of several fragments of a datagram.
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }

    /// Parses an IPv4 packet and checks the checksum of its header (RFC 1122 §3.2.1.2); returns
    /// header and payload. The payload ends at the length in the header, without the padding of
    /// short frames.
    ///
    /// # Errors
    ///
    /// [`PacketDefect::Truncated`], [`PacketDefect::Version`], [`PacketDefect::Length`],
    /// [`PacketDefect::Checksum`].
    pub fn parse(packet: &'a [u8]) -> Result<(Self, &'a [u8]), PacketDefect> {
        let (fixed, _) = packet.split_first_chunk::<HEADER_LEN>().ok_or(PacketDefect::Truncated)?;
        if fixed[0] >> 4 != 4 {
            return Err(PacketDefect::Version);
        }
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if header_len < HEADER_LEN || total_len < header_len {
            return Err(PacketDefect::Length);
        }
        let header = packet.get(..header_len).ok_or(PacketDefect::Truncated)?;
        let payload = packet.get(header_len..total_len).ok_or(PacketDefect::Truncated)?;
        if checksum(header) != 0 {
            return Err(PacketDefect::Checksum);
        }
        let mut reader = ByteReader::new(header);
        Ok((Self::fields(&mut reader).ok_or(PacketDefect::Truncated)?, payload))
    }

    fn fields(reader: &mut ByteReader<'a>) -> Option<Self> {
        let _version = reader.u8()?;
        let traffic_class = reader.u8()?;
        let _total_len = reader.u16()?;
        let identification = reader.u16()?;
        let fragment = reader.u16()?;
        let ttl = reader.u8()?;
        let protocol = reader.u8()?;
        let _checksum = reader.u16()?;
        Some(Self {
            traffic_class,
            identification,
            dont_fragment: fragment & DONT_FRAGMENT != 0,
            more_fragments: fragment & MORE_FRAGMENTS != 0,
            fragment_offset: (fragment & 0x1fff) * 8,
            ttl,
            protocol,
            source: Ipv4Addr::from_bits(reader.u32()?),
            destination: Ipv4Addr::from_bits(reader.u32()?),
            options: reader.rest(),
        })
    }

    /// Writes the IPv4 header of a packet with `payload_len` bytes of payload to `writer`, which
    /// records whether the header fitted.
    ///
    /// # Panics
    ///
    /// If the options are no multiple of 4 or longer than [`OPTIONS_MAX`], the fragment offset is
    /// no multiple of 8, or header and payload are longer than 65,535 bytes.
    pub fn emit(&self, payload_len: usize, writer: &mut ByteWriter<'_>) {
        assert!(self.options.len() <= OPTIONS_MAX && self.options.len().is_multiple_of(4));
        assert!(self.fragment_offset.is_multiple_of(8), "offsets count in units of 8 octets");
        let total_len =
            u16::try_from(self.len() + payload_len).expect("a packet of 64 KiB at most");
        let dont = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let more = if self.more_fragments { MORE_FRAGMENTS } else { 0 };
        let fragment = dont | more | (self.fragment_offset / 8);
        let mut header = [0; HEADER_LEN + OPTIONS_MAX];
        let mut fields = ByteWriter::new(&mut header);
        fields.u8(0x40 | (self.len() / 4) as u8).u8(self.traffic_class).u16(total_len);
        fields.u16(self.identification).u16(fragment).u8(self.ttl).u8(self.protocol).u16(0);
        fields.u32(self.source.to_bits()).u32(self.destination.to_bits()).put(self.options);
        let sum = checksum(fields.written());
        let header = &mut header[..self.len()];
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        writer.put(header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the header of a captured packet: 192.0.2.2 to 192.0.2.1 with the router-alert
    /// option, 20 bytes of payload.
    fn written() -> ([u8; 44], Header<'static>) {
        let mut header = Header::new(17, Ipv4Addr::new(192, 0, 2, 2), Ipv4Addr::new(192, 0, 2, 1));
        header.options = &[0x94, 4, 0, 0];
        header.dont_fragment = true;
        let mut buffer = [0; 44];
        header.emit(20, &mut ByteWriter::new(&mut buffer));
        (buffer, header)
    }

    #[test]
    fn cuts_and_flips_are_refused() {
        let (packet, header) = written();
        assert_eq!(Header::parse(&packet), Ok((header, &[0; 20][..])));
        for cut in 0..packet.len() {
            assert_eq!(Header::parse(&packet[..cut]), Err(PacketDefect::Truncated), "{cut}");
        }
        for bit in 0..24 * 8 {
            let mut flipped = packet;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::parse(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_fragment_offset_is_read_back() {
        let (_, mut header) = written();
        for offset in (0..=u16::MAX - 7).step_by(8) {
            header.fragment_offset = offset;
            header.more_fragments = offset % 16 == 0;
            let mut buffer = [0; 44];
            header.emit(20, &mut ByteWriter::new(&mut buffer));
            assert_eq!(Header::parse(&buffer).map(|(read, _)| read), Ok(header));
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let (packet, _) = written();
        for (at, value) in [(0, 0x44), (3, 23), (2, 0xff)] {
            let mut wrong = packet;
            wrong[at] = value;
            let refused = Header::parse(&wrong).unwrap_err();
            assert!(matches!(refused, PacketDefect::Length | PacketDefect::Truncated), "{at}");
        }
        assert_eq!(Header::parse(&[0x60; 40]), Err(PacketDefect::Version));
    }
}
