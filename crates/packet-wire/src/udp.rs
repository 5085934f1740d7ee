//! Parser and writer of UDP headers (RFC 768; over IPv6, RFC 8200 §8.1).

use core::net::{IpAddr, SocketAddr};

use base::{ByteReader, ByteWriter};

use crate::checksum::ChecksumAccumulator;
use crate::{PacketDefect, protocol};

/// Length of the UDP header in bytes.
pub const HEADER_LEN: usize = 8;

/// UDP header. The length is no field: [`UdpHeader::parse`] checks it, the functions that write
/// compute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// UDP port of the datagram's sender.
    pub source_port: u16,
    /// UDP port of the datagram's receiver.
    pub destination_port: u16,
    /// UDP checksum as it was received; 0 means that the sender computed none.
    pub checksum: u16,
}

impl UdpHeader {
    /// Parses a UDP datagram, the payload of an IP packet; returns header and payload. The checksum
    /// is not checked ([`is_checksum_right`]), since packets that never left the machine may have
    /// an unfinished one.
    ///
    /// # Errors
    ///
    /// [`PacketDefect::Truncated`]; [`PacketDefect::Length`] if the length is below that of the
    /// header.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), PacketDefect> {
        let mut reader = ByteReader::new(datagram);
        let (header, len) = Self::fields(&mut reader).ok_or(PacketDefect::Truncated)?;
        let payload_len = usize::from(len).checked_sub(HEADER_LEN).ok_or(PacketDefect::Length)?;
        let payload = reader.take(payload_len).ok_or(PacketDefect::Truncated)?;
        Ok((header, payload))
    }

    fn fields(reader: &mut ByteReader<'_>) -> Option<(Self, u16)> {
        let source_port = reader.u16()?;
        let destination_port = reader.u16()?;
        let len = reader.u16()?;
        Some((Self { source_port, destination_port, checksum: reader.u16()? }, len))
    }
}

/// Returns true if a UDP datagram (header and payload, ending at the length in the header) has the
/// right checksum. An omitted checksum is right over IPv4 only.
#[must_use]
pub fn is_checksum_right(source: IpAddr, destination: IpAddr, datagram: &[u8]) -> bool {
    let Ok((header, payload)) = UdpHeader::parse(datagram) else { return false };
    let datagram = &datagram[..HEADER_LEN + payload.len()];
    let len = datagram.len() as u32;
    let pseudo = match (source, destination) {
        (IpAddr::V4(_), IpAddr::V4(_)) if header.checksum == 0 => return true,
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ChecksumAccumulator::pseudo_v4(source, destination, protocol::UDP, len as u16)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) if header.checksum != 0 => {
            ChecksumAccumulator::pseudo_v6(source, destination, protocol::UDP, len)
        }
        _ => return false,
    };
    pseudo.with(datagram).finish() == 0
}

/// Returns the UDP header, checksum included, of a datagram with `payload`.
///
/// # Panics
///
/// If the datagram would be longer than 65,535 bytes or the addresses are of two families.
pub fn header_for(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> [u8; HEADER_LEN] {
    let len = u16::try_from(HEADER_LEN + payload.len()).expect("a datagram of 64 KiB at most");
    let mut header = [0; HEADER_LEN];
    ByteWriter::new(&mut header).u16(source.port()).u16(destination.port()).u16(len);
    let pseudo = match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ChecksumAccumulator::pseudo_v4(source, destination, protocol::UDP, len)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            ChecksumAccumulator::pseudo_v6(source, destination, protocol::UDP, u32::from(len))
        }
        _ => panic!("source and destination are of one family"),
    };
    // A sum of 0 is sent as all ones, since 0 means "none".
    let checksum = match pseudo.with(&header).with(payload).finish() {
        0 => 0xffff,
        sum => sum,
    };
    header[6..].copy_from_slice(&checksum.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn datagram(payload: &[u8], buffer: &mut [u8]) -> usize {
        let mut writer = ByteWriter::new(buffer);
        let source = SocketAddr::from(([192, 0, 2, 2], 68));
        let destination = SocketAddr::from(([192, 0, 2, 1], 67));
        writer.put(&header_for(source, destination, payload)).put(payload);
        writer.len()
    }

    #[test]
    fn a_sum_of_zero_is_sent_as_all_ones() {
        let (source, destination) = (Ipv4Addr::new(192, 0, 2, 2), Ipv4Addr::new(192, 0, 2, 1));
        let mut seen = false;
        for word in 0..=u16::MAX {
            let mut buffer = [0; 10];
            datagram(&word.to_be_bytes(), &mut buffer);
            let (header, _) = UdpHeader::parse(&buffer).unwrap();
            assert_ne!(header.checksum, 0);
            seen |= header.checksum == 0xffff;
            assert!(is_checksum_right(source.into(), destination.into(), &buffer));
        }
        assert!(seen, "one of all payloads adds up to 0");
    }

    #[test]
    fn bad_lengths_are_refused() {
        let mut buffer = [0; 12];
        assert_eq!(datagram(b"four", &mut buffer), 12);
        for cut in 0..12 {
            assert_eq!(UdpHeader::parse(&buffer[..cut]), Err(PacketDefect::Truncated), "{cut}");
        }
        buffer[5] = 7;
        assert_eq!(UdpHeader::parse(&buffer), Err(PacketDefect::Length));
    }

    #[test]
    fn no_checksum_is_right_over_ipv4_only() {
        let datagram = [0, 1, 0, 2, 0, 8, 0, 0];
        let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::V6(core::net::Ipv6Addr::LOCALHOST);
        assert!(is_checksum_right(v4, v4, &datagram));
        assert!(!is_checksum_right(v6, v6, &datagram));
        assert!(!is_checksum_right(v4, v6, &datagram));
    }
}
