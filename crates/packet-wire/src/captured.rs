//! Parser of captured packets down to their UDP datagrams, or to the reason why a packet has none.
//!
//! The parser does not check checksums: in packets that a machine sends and captures itself, the
//! interface fills them in later.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::link::{self, LinkError};
use crate::pcap::CapturedPacket;
use crate::protocol;

/// Next-header numbers of the IPv6 extension headers that the parser skips (RFC 8200 §4):
/// hop-by-hop options (here) and the next constants.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
/// Protocol number of the authentication header of IPv4 and IPv6 (RFC 4302).
const AUTHENTICATION: u8 = 51;

/// UDP datagram in a captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedDatagram<'a> {
    /// Address and port of the datagram's sender.
    pub source: SocketAddr,
    /// Address and port of the datagram's receiver.
    pub destination: SocketAddr,
    /// Payload of the datagram, without the UDP header.
    pub payload: &'a [u8],
}

base::worded! {
    /// Reason why a captured packet has no UDP datagram that can be read.
    pub enum SkipReason {
        /// Packet of which the capture kept only the beginning, as `tcpdump -s` does.
        Cut = "cut short by the capture (tcpdump -s 0 keeps all)",
        /// Fragment of an IP datagram.
        Fragment = "fragments",
        /// Packet from a link of a type that cannot be read.
        LinkType = "of links that cannot be read",
        /// Packet with a header that contradicts itself, or encrypted packet.
        Header = "with headers that cannot be read",
        /// Packet of a protocol other than IP.
        NotIp = "not of IP",
        /// IP packet of a protocol other than UDP.
        NotUdp = "not of UDP",
    }
}

/// Returns the UDP datagram in the captured packet `record`, or the reason why there is none.
///
/// # Errors
///
/// The reason why there is none.
pub fn datagram<'a>(record: &CapturedPacket<'a>) -> Result<CapturedDatagram<'a>, SkipReason> {
    let is_cut = record.octets.len() < record.original_len as usize;
    let too_short = if is_cut { SkipReason::Cut } else { SkipReason::Header };
    let packet = link::ip_packet(record.link_type, record.octets).map_err(|error| match error {
        LinkError::Truncated => too_short,
        LinkError::LinkType(_) => SkipReason::LinkType,
        LinkError::NotIp => SkipReason::NotIp,
        LinkError::Header => SkipReason::Header,
    })?;
    let datagram = match packet.first() {
        Some(first) if first >> 4 == 6 => ipv6(packet),
        _ => ipv4(packet),
    };
    datagram.map_err(|reason| reason.unwrap_or(too_short))
}

/// Result of parsing: a datagram, the reason why there is none, or an error without a reason
/// (`None`) for a packet that ends too early.
type DatagramResult<'a> = Result<CapturedDatagram<'a>, Option<SkipReason>>;

fn ipv4(packet: &[u8]) -> DatagramResult<'_> {
    let head = packet.first_chunk::<20>().ok_or(None)?;
    let header_len = usize::from(head[0] & 0xf) * 4;
    let total_len = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if header_len < head.len() || (total_len != 0 && total_len < header_len) {
        return Err(Some(SkipReason::Header));
    }
    if ![protocol::UDP, AUTHENTICATION].contains(&head[9]) {
        return Err(Some(SkipReason::NotUdp));
    }
    // More fragments follow, or this is not the first one.
    if u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0 {
        return Err(Some(SkipReason::Fragment));
    }
    let address =
        |at: usize| IpAddr::V4(Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]));
    // The length is 0 where the interface cuts large packets up.
    let end = if total_len == 0 { packet.len() } else { total_len.min(packet.len()) };
    let mut segment = packet.get(header_len..end).ok_or(None)?;
    if head[9] == AUTHENTICATION {
        if segment.first().ok_or(None)? != &protocol::UDP {
            return Err(Some(SkipReason::NotUdp));
        }
        segment = segment.get(authentication_bytes(segment)?..).ok_or(None)?;
    }
    udp(address(12), address(16), segment)
}

/// Returns the length of the authentication header that `header` begins with, in bytes.
fn authentication_bytes(header: &[u8]) -> Result<usize, Option<SkipReason>> {
    Ok(4 * (2 + usize::from(*header.get(1).ok_or(None)?)))
}

fn ipv6(packet: &[u8]) -> DatagramResult<'_> {
    let (head, mut rest) = packet.split_first_chunk::<40>().ok_or(None)?;
    let payload_len = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if payload_len != 0 {
        rest = rest.get(..payload_len).unwrap_or(rest);
    }
    let mut next = head[6];
    loop {
        let len = match next {
            protocol::UDP => break,
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY => {
                8 + 8 * usize::from(*rest.get(1).ok_or(None)?)
            }
            AUTHENTICATION => authentication_bytes(rest)?,
            FRAGMENT => {
                let [high, low] = [2, 3].map(|at| rest.get(at).copied());
                let offset_and_flags = u16::from_be_bytes([high.ok_or(None)?, low.ok_or(None)?]);
                if offset_and_flags & 0xfff9 != 0 {
                    return Err(Some(SkipReason::Fragment));
                }
                8
            }
            _ => return Err(Some(SkipReason::NotUdp)),
        };
        next = *rest.first().ok_or(None)?;
        rest = rest.get(len..).ok_or(None)?;
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&head[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    udp(address(8), address(24), rest)
}

fn udp(source: IpAddr, destination: IpAddr, segment: &[u8]) -> DatagramResult<'_> {
    let (head, rest) = segment.split_first_chunk::<8>().ok_or(None)?;
    let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let payload_len = match usize::from(port(4)) {
        // A jumbogram (RFC 2675).
        0 => rest.len(),
        len => len.checked_sub(head.len()).ok_or(Some(SkipReason::Header))?,
    };
    Ok(CapturedDatagram {
        source: (source, port(0)).into(),
        destination: (destination, port(2)).into(),
        payload: rest.get(..payload_len).ok_or(None)?,
    })
}
