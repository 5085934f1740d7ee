//! A UDP datagram over IPv4 in its Ethernet frame: what a server that answers clients without an
//! address must read and write by itself.

use core::net::{SocketAddr, SocketAddrV4};

use base::Writer;

use crate::ethernet::{self, MacAddress};
use crate::{Malformed, ipv4, protocol, udp};

/// Octets in front of the payload of a frame that [`seal`] writes: no tags, no IP options.
pub const HEADROOM: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN;

/// Who a frame with a UDP datagram over IPv4 is from and for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Hardware address of the sender.
    pub source_mac: MacAddress,
    /// Hardware address of the receiver.
    pub destination_mac: MacAddress,
    /// Address and port of the sender.
    pub source: SocketAddrV4,
    /// Address and port of the receiver.
    pub destination: SocketAddrV4,
}

/// Reads a frame, through VLAN tags and IP options, down to the UDP payload. The UDP checksum is
/// not looked at ([`udp::is_checksum_right`]).
///
/// # Errors
///
/// What the headers are refused for; [`Malformed::Protocol`] when it is not UDP over IPv4;
/// [`Malformed::Fragment`] when it is only a piece.
pub fn open(frame: &[u8]) -> Result<(Endpoints, &[u8]), Malformed> {
    let (ethernet, packet) = ethernet::Header::parse(frame)?;
    if ethernet.ether_type != ethernet::TYPE_IPV4 {
        return Err(Malformed::Protocol);
    }
    let (ip, datagram) = ipv4::Header::parse(packet)?;
    if ip.protocol != protocol::UDP {
        return Err(Malformed::Protocol);
    }
    if ip.is_fragment() {
        return Err(Malformed::Fragment);
    }
    let (udp, payload) = udp::Header::parse(datagram)?;
    let endpoints = Endpoints {
        source_mac: ethernet.source,
        destination_mac: ethernet.destination,
        source: SocketAddrV4::new(ip.source, udp.source_port),
        destination: SocketAddrV4::new(ip.destination, udp.destination_port),
    };
    Ok((endpoints, payload))
}

/// Writes the headers in front of a payload of `payload_len` octets that is already in `buffer`
/// behind [`HEADROOM`] octets; gives the length of the frame.
///
/// # Panics
///
/// When `buffer` is shorter than headers and payload, or the packet longer than 65,535 octets.
pub fn seal(buffer: &mut [u8], payload_len: usize, endpoints: &Endpoints) -> usize {
    let frame_len = HEADROOM + payload_len;
    let (headers, payload) = buffer[..frame_len].split_at_mut(HEADROOM);
    let mut writer = Writer::new(headers);
    let ethernet = ethernet::Header {
        destination: endpoints.destination_mac,
        source: endpoints.source_mac,
        tags: [None; ethernet::TAGS_MAX],
        ether_type: ethernet::TYPE_IPV4,
    };
    ethernet.emit(&mut writer);
    let (source, destination) = (endpoints.source, endpoints.destination);
    let ip = ipv4::Header::new(protocol::UDP, *source.ip(), *destination.ip());
    ip.emit(udp::HEADER_LEN + payload_len, &mut writer);
    writer.put(&udp::header_for(SocketAddr::V4(source), SocketAddr::V4(destination), payload));
    frame_len
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
            assert_eq!(open(&buffer[..cut]), Err(Malformed::Truncated), "{cut}");
        }
    }
}
