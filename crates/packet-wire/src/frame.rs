//! UDP datagrams over IPv4, as packets and in Ethernet frames. A server that sends replies to
//! clients without an address must read and write these headers itself.

use core::net::{SocketAddr, SocketAddrV4};

use base::ByteWriter;

use crate::ethernet::{self, MacAddress};
use crate::{PacketDefect, ipv4, protocol, udp};

/// Bytes of the headers before the payload of a packet that [`seal_packet`] writes: IPv4 without
/// options, and UDP.
pub const PACKET_HEADROOM: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
/// Bytes of the headers before the payload of a frame that [`seal`] writes: Ethernet without VLAN
/// tags, IPv4 without options, and UDP.
pub const HEADROOM: usize = ethernet::HEADER_LEN + PACKET_HEADROOM;

/// UDP datagram over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// IPv4 address and UDP port of the datagram's sender.
    pub source: SocketAddrV4,
    /// IPv4 address and UDP port of the datagram's receiver.
    pub destination: SocketAddrV4,
    /// Payload of the datagram, without the UDP header.
    pub payload: &'a [u8],
    /// UDP header and payload, perhaps with bytes after them that belong to neither.
    segment: &'a [u8],
}

impl Datagram<'_> {
    /// Returns true if the UDP checksum of the datagram is right or was omitted
    /// ([`udp::is_checksum_right`]).
    #[must_use]
    pub fn is_checksum_right(&self) -> bool {
        let (source, destination) = (*self.source.ip(), *self.destination.ip());
        udp::is_checksum_right(source.into(), destination.into(), self.segment)
    }
}

/// Sender and receiver of an Ethernet frame with a UDP datagram over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Hardware address of the frame's sender.
    pub source_mac: MacAddress,
    /// Hardware address of the frame's receiver.
    pub destination_mac: MacAddress,
    /// IPv4 address and UDP port of the datagram's sender.
    pub source: SocketAddrV4,
    /// IPv4 address and UDP port of the datagram's receiver.
    pub destination: SocketAddrV4,
}

/// Parses an Ethernet frame, through VLAN tags and IP options, down to the UDP payload. The UDP
/// checksum is not checked ([`udp::is_checksum_right`]).
///
/// # Errors
///
/// The errors of the headers; [`PacketDefect::Protocol`] for another packet than UDP over IPv4;
/// [`PacketDefect::Fragment`] for a fragment.
pub fn open(frame: &[u8]) -> Result<(Endpoints, &[u8]), PacketDefect> {
    let (ethernet, packet) = ethernet::EthernetHeader::parse(frame)?;
    if ethernet.ether_type != ethernet::TYPE_IPV4 {
        return Err(PacketDefect::Protocol);
    }
    let datagram = open_packet(packet)?;
    let endpoints = Endpoints {
        source_mac: ethernet.source,
        destination_mac: ethernet.destination,
        source: datagram.source,
        destination: datagram.destination,
    };
    Ok((endpoints, datagram.payload))
}

/// Parses an IPv4 packet, through IP options, down to the UDP payload. The UDP checksum is not
/// checked ([`Datagram::is_checksum_right`]).
///
/// # Errors
///
/// The errors of [`open`].
pub fn open_packet(packet: &[u8]) -> Result<Datagram<'_>, PacketDefect> {
    let (ip, segment) = ipv4::Header::parse(packet)?;
    if ip.protocol != protocol::UDP {
        return Err(PacketDefect::Protocol);
    }
    if ip.is_fragment() {
        return Err(PacketDefect::Fragment);
    }
    let (udp, payload) = udp::UdpHeader::parse(segment)?;
    Ok(Datagram {
        source: SocketAddrV4::new(ip.source, udp.source_port),
        destination: SocketAddrV4::new(ip.destination, udp.destination_port),
        payload,
        segment,
    })
}

/// Writes Ethernet, IPv4 and UDP headers before a payload of `payload_len` bytes that is already in
/// `buffer` after [`HEADROOM`] bytes; returns the length of the frame.
///
/// # Panics
///
/// If `buffer` is shorter than headers and payload, or the packet is longer than 65,535 bytes.
pub fn seal(buffer: &mut [u8], payload_len: usize, endpoints: &Endpoints) -> usize {
    let (header, packet) = buffer.split_at_mut(ethernet::HEADER_LEN);
    let ethernet = ethernet::EthernetHeader {
        destination: endpoints.destination_mac,
        source: endpoints.source_mac,
        tags: [None; ethernet::TAGS_MAX],
        ether_type: ethernet::TYPE_IPV4,
    };
    ethernet.emit(&mut ByteWriter::new(header));
    let (source, destination) = (endpoints.source, endpoints.destination);
    ethernet::HEADER_LEN + seal_packet(packet, payload_len, source, destination)
}

/// Writes IPv4 and UDP headers before a payload of `payload_len` bytes that is already in `buffer`
/// after [`PACKET_HEADROOM`] bytes; returns the length of the packet.
///
/// # Panics
///
/// If `buffer` is shorter than headers and payload, or the packet is longer than 65,535 bytes.
pub fn seal_packet(
    buffer: &mut [u8],
    payload_len: usize,
    source: SocketAddrV4,
    destination: SocketAddrV4,
) -> usize {
    let packet_len = PACKET_HEADROOM + payload_len;
    let (headers, payload) = buffer[..packet_len].split_at_mut(PACKET_HEADROOM);
    let mut writer = ByteWriter::new(headers);
    let ip = ipv4::Header::new(protocol::UDP, *source.ip(), *destination.ip());
    ip.emit(udp::HEADER_LEN + payload_len, &mut writer);
    writer.put(&udp::header_for(SocketAddr::V4(source), SocketAddr::V4(destination), payload));
    packet_len
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn what_is_sealed_opens() {
        let endpoints = Endpoints {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress::BROADCAST,
            source: SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 67),
            destination: SocketAddrV4::new(Ipv4Addr::BROADCAST, 68),
        };
        let mut buffer = [0; 100];
        buffer[HEADROOM..HEADROOM + 5].copy_from_slice(b"hello");
        let len = seal(&mut buffer, 5, &endpoints);
        assert_eq!(len, 47);
        assert_eq!(open(&buffer[..len]), Ok((endpoints, &b"hello"[..])));
        for cut in 0..len {
            assert_eq!(open(&buffer[..cut]), Err(PacketDefect::Truncated), "{cut}");
        }
    }
}
