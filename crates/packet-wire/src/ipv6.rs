//! Parser and writer of the fixed IPv6 header (RFC 8200 §3). Extension headers count as payload.

use core::net::Ipv6Addr;

use base::{ByteReader, ByteWriter};

use crate::PacketDefect;

/// Length of the fixed IPv6 header in bytes.
pub const HEADER_LEN: usize = 40;

/// Fixed IPv6 header. The payload length is no field: [`Header::parse`] checks it, [`Header::emit`]
/// writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Differentiated services field and ECN field, one byte together (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// Flow label of the packet, 20 bits.
    pub flow_label: u32,
    /// Protocol number of the payload ([`crate::protocol`]).
    pub next_header: u8,
    /// Number of routers that may still forward the packet.
    pub hop_limit: u8,
    /// IPv6 address of the packet's sender.
    pub source: Ipv6Addr,
    /// IPv6 address of the packet's receiver.
    pub destination: Ipv6Addr,
}

impl Header {
    /// Creates an IPv6 header with a hop limit of 64, no traffic class and no flow label.
    pub const fn new(next_header: u8, source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self { traffic_class: 0, flow_label: 0, next_header, hop_limit: 64, source, destination }
    }

    /// Parses an IPv6 packet; returns header and payload. The payload ends at the length in the
    /// header. (Jumbograms, RFC 2675, have length 0 and so no payload.)
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

    /// Writes the IPv6 header of a packet with `payload_len` bytes of payload to `writer`, which
    /// records whether the header fitted.
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
