//! The fixed IPv6 header (RFC 8200 §3). Extension headers are payload here.

use core::net::Ipv6Addr;

use base::{ByteReader, ByteWriter};

use crate::PacketDefect;

/// The length of the header in bytes.
pub const HEADER_LEN: usize = 40;

/// An IPv6 header. The payload length is not kept: reading checks it, writing makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The differentiated services and congestion bits (RFC 2474, 3168).
    pub traffic_class: u8,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// The protocol of the payload ([`crate::protocol`]).
    pub next_header: u8,
    /// The number of hops left.
    pub hop_limit: u8,
    /// The address of the sender.
    pub source: Ipv6Addr,
    /// The address of the receiver.
    pub destination: Ipv6Addr,
}

impl Header {
    /// Creates a header with 64 hops, no traffic class and no flow label.
    #[must_use]
    pub const fn new(next_header: u8, source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self { traffic_class: 0, flow_label: 0, next_header, hop_limit: 64, source, destination }
    }

    /// Reads a packet. The payload ends at the length in the header. (Jumbograms, RFC 2675, have
    /// length 0 and so no payload.)
    ///
    /// # Errors
    ///
    /// [`PacketDefect::Truncated`], [`PacketDefect::Version`].
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), PacketDefect> {
        let mut reader = ByteReader::new(packet);
        let (header, payload_len) = Self::fields(&mut reader).ok_or(PacketDefect::Truncated)?;
        if packet[0] >> 4 != 6 {
            return Err(PacketDefect::Version);
        }
        let payload = reader.take(usize::from(payload_len)).ok_or(PacketDefect::Truncated)?;
        Ok((header, payload))
    }

    fn fields(reader: &mut ByteReader<'_>) -> Option<(Self, u16)> {
        let first = reader.u32()?;
        let payload_len = reader.u16()?;
        let header = Self {
            traffic_class: (first >> 20) as u8,
            flow_label: first & 0x000f_ffff,
            next_header: reader.u8()?,
            hop_limit: reader.u8()?,
            source: Ipv6Addr::from(reader.array::<16>()?),
            destination: Ipv6Addr::from(reader.array::<16>()?),
        };
        Some((header, payload_len))
    }

    /// Writes the header in front of `payload_len` bytes; the writer records whether the header
    /// fitted.
    ///
    /// # Panics
    ///
    /// If the payload is longer than 65,535 bytes or the flow label has more than 20 bits.
    pub fn emit(&self, payload_len: usize, writer: &mut ByteWriter<'_>) {
        assert!(self.flow_label >> 20 == 0, "a flow label has 20 bits");
        let payload_len = u16::try_from(payload_len).expect("a payload of 64 KiB at most");
        writer.u32(6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label);
        writer.u16(payload_len).u8(self.next_header).u8(self.hop_limit);
        writer.put(&self.source.octets()).put(&self.destination.octets());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_is_truncated() {
        let mut header = Header::new(17, Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        header.traffic_class = 0xab;
        header.flow_label = 0xf_1234;
        let mut buffer = [7; 45];
        header.emit(5, &mut ByteWriter::new(&mut buffer));
        for cut in 0..buffer.len() {
            assert_eq!(Header::parse(&buffer[..cut]), Err(PacketDefect::Truncated), "{cut}");
        }
        assert_eq!(Header::parse(&buffer), Ok((header, &[7; 5][..])));
        buffer[0] = 0x4a;
        assert_eq!(Header::parse(&buffer), Err(PacketDefect::Version));
    }
}
