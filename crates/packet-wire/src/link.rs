//! Parsers of the link headers of captured frames down to the IP packet, for the link types that
//! tcpdump writes on Linux and on BSD (<https://www.tcpdump.org/linktypes.html>).

mod juniper;
mod rare;

use crate::pcap::LINK_ETHERNET;

/// Link types by their numbers in capture files: BSD loopback (here) and the next constants.
const NULL: u32 = 0;
const TOKEN_RING: u32 = 6;
const ARCNET: u32 = 7;
const SLIP: u32 = 8;
const PPP: u32 = 9;
const FDDI: u32 = 10;
const ATM: u32 = 11;
const RAW_OF_BSD: u32 = 12;
const RAW_OF_OPENBSD: u32 = 14;
const PPP_SERIAL: u32 = 50;
const PPP_ETHER: u32 = 51;
const SYMANTEC_FIREWALL: u32 = 99;
const LLC: u32 = 100;
const RAW: u32 = 101;
const SLIP_OF_BSD_OS: u32 = 102;
const CISCO_HDLC: u32 = 104;
const WIRELESS: u32 = 105;
const ATM_OF_LINUX: u32 = 106;
const FRAME_RELAY: u32 = 107;
const LOOP: u32 = 108;
const IPSEC: u32 = 109;
const COOKED: u32 = 113;
const PACKET_FILTER_LOG: u32 = 117;
const PRISM: u32 = 119;
const FIBRE_CHANNEL: u32 = 122;
const SUN_ATM: u32 = 123;
const RADIOTAP: u32 = 127;
const ARCNET_OF_LINUX: u32 = 129;
const FIREWIRE: u32 = 138;
/// Link type of a packet tap in captures of the time before the tap had its own number.
const PACKET_TAP_OLD: u32 = 149;
const AVS: u32 = 163;
const MULTILINK_FRAME_RELAY: u32 = 182;
const PER_PACKET: u32 = 192;
const SOLARIS_IPNET: u32 = 226;
const IPV4: u32 = 228;
const IPV6: u32 = 229;
const NETFILTER_LOG: u32 = 239;
const NET_ANALYZER: u32 = 240;
const NET_ANALYZER_TRANSPARENT: u32 = 241;
const INFINIBAND: u32 = 242;
const PACKET_TAP: u32 = 258;
const COOKED_2: u32 = 276;
const SWITCH_BROADCOM: u32 = 281;
const SWITCH_BROADCOM_FIRST: u32 = 282;
const SWITCH_MARVELL: u32 = 283;
const SWITCH_MARVELL_TYPED: u32 = 284;

/// EtherTypes of packets after a link header.
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// EtherTypes of VLAN tags of any kind: 802.1Q, 802.1ad and those in use before them.
const TYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const TYPES_MPLS: [u16; 2] = [0x8847, 0x8848];
const TYPE_PPPOE: u16 = 0x8864;
/// Smallest EtherType; smaller values of the field are lengths (IEEE 802.3).
const TYPE_MIN: u16 = 0x0600;
/// PPP protocol numbers of IP packets: IPv4 (here) and IPv6.
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Greatest number of link headers inside one another, and of VLAN tags in a row, that the parser
/// reads.
const DEPTH_MAX: usize = 8;

/// Reason why a captured frame has no IP packet that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// Frame that ends inside the headers of its link.
    Truncated,
    /// Frame of a link type, given by its number, that cannot be read.
    LinkType(u32),
    /// Frame with a packet of a protocol other than IP, for instance ARP.
    NotIp,
    /// Frame with a link header that contradicts itself or is encrypted.
    Header,
}

/// Returns the IP packet in `frame`, which was captured on a link of the type `link_type`; bytes
/// that do not belong to the packet may follow it.
///
/// # Errors
///
/// [`LinkError`].
pub fn ip_packet(link_type: u32, frame: &[u8]) -> Result<&[u8], LinkError> {
    inside(link_type, frame, DEPTH_MAX)
}

/// Returns the IP packet in `frame`, as [`ip_packet`] does, with at most `depth` link headers
/// inside one another.
fn inside(link_type: u32, frame: &[u8], depth: usize) -> Result<&[u8], LinkError> {
    let depth = depth.checked_sub(1).ok_or(LinkError::Header)?;
    match link_type {
        RAW | RAW_OF_BSD | RAW_OF_OPENBSD | IPV4 | IPV6 => by_version(frame),
        NULL | LOOP => by_version(bytes_from(frame, 4)?),
        IPSEC => by_version(bytes_from(frame, 12)?),
        LINK_ETHERNET => ethernet(frame, 12),
        SWITCH_BROADCOM | SWITCH_MARVELL => ethernet(frame, 16),
        SWITCH_MARVELL_TYPED => ethernet(frame, 20),
        SWITCH_BROADCOM_FIRST => ethernet(bytes_from(frame, 4)?, 12),
        COOKED => typed(half(frame, 14)?, bytes_from(frame, 16)?),
        COOKED_2 => typed(half(frame, 0)?, bytes_from(frame, 20)?),
        FIREWIRE => typed(half(frame, 16)?, bytes_from(frame, 18)?),
        CISCO_HDLC => typed(half(frame, 2)?, bytes_from(frame, 4)?),
        PPP | PPP_SERIAL => ppp(frame),
        PPP_ETHER => ppp(bytes_from(frame, 6)?),
        LLC => llc(frame),
        FDDI => llc(bytes_from(frame, 13)?),
        WIRELESS => wireless(frame),
        RADIOTAP => {
            let behind = bytes_from(frame, half_little(frame, 2)?.into())?;
            wireless_filled(behind, rare::is_padded(frame))
        }
        PRISM | AVS => rare::monitored(frame),
        TOKEN_RING => rare::token_ring(frame),
        ARCNET => rare::arcnet(frame, 2),
        ARCNET_OF_LINUX => rare::arcnet(frame, 4),
        SLIP | SLIP_OF_BSD_OS => by_version(bytes_from(frame, 16)?),
        ATM | ATM_OF_LINUX => rare::atm(frame),
        SUN_ATM => rare::sun_atm(frame),
        FRAME_RELAY => rare::frame_relay(frame),
        MULTILINK_FRAME_RELAY => rare::multilink_frame_relay(frame),
        FIBRE_CHANNEL => llc(bytes_from(frame, 16)?),
        INFINIBAND => typed(half(frame, 40)?, bytes_from(frame, 44)?),
        SOLARIS_IPNET => by_version(bytes_from(frame, 24)?),
        SYMANTEC_FIREWALL => typed(half(frame, 6)?, bytes_from(frame, 44)?),
        juniper::MULTILINK_PPP..=juniper::ATM_1
        | juniper::MONITOR
        | juniper::PPPOE
        | juniper::PPPOE_ON_ATM
        | juniper::ETHERNET..=juniper::CISCO_HDLC => juniper::packet(link_type, frame),
        NET_ANALYZER => ethernet(bytes_from(frame, 4)?, 12),
        NET_ANALYZER_TRANSPARENT => ethernet(bytes_from(frame, 12)?, 12),
        PER_PACKET => {
            let behind = bytes_from(frame, half_little(frame, 2)?.into())?;
            inside(word_little(frame, 4)?, behind, depth)
        }
        PACKET_TAP | PACKET_TAP_OLD => inside(word_little(frame, 8)?, tapped(frame)?, depth),
        PACKET_FILTER_LOG => {
            let len = usize::from(*frame.first().ok_or(LinkError::Truncated)?);
            by_version(bytes_from(frame, len.next_multiple_of(4))?)
        }
        NETFILTER_LOG => netfilter_log(bytes_from(frame, 4)?),
        other => Err(LinkError::LinkType(other)),
    }
}

fn bytes_from(octets: &[u8], at: usize) -> Result<&[u8], LinkError> {
    octets.get(at..).ok_or(LinkError::Truncated)
}

fn octet(octets: &[u8], at: usize) -> Result<u8, LinkError> {
    octets.get(at).copied().ok_or(LinkError::Truncated)
}

fn half(octets: &[u8], at: usize) -> Result<u16, LinkError> {
    let octets = bytes_from(octets, at)?.first_chunk::<2>().ok_or(LinkError::Truncated)?;
    Ok(u16::from_be_bytes(*octets))
}

fn half_little(octets: &[u8], at: usize) -> Result<u16, LinkError> {
    half(octets, at).map(u16::swap_bytes)
}

fn word_little(octets: &[u8], at: usize) -> Result<u32, LinkError> {
    let octets = bytes_from(octets, at)?.first_chunk::<4>().ok_or(LinkError::Truncated)?;
    Ok(u32::from_le_bytes(*octets))
}

/// Returns `packet` if its first four bits name IP version 4 or 6, else an error.
fn by_version(packet: &[u8]) -> Result<&[u8], LinkError> {
    match packet.first().ok_or(LinkError::Truncated)? >> 4 {
        4 | 6 => Ok(packet),
        _ => Err(LinkError::NotIp),
    }
}

/// Returns the IP packet in an Ethernet frame whose type or length field is at `type_at`.
fn ethernet(frame: &[u8], type_at: usize) -> Result<&[u8], LinkError> {
    let (ether_type, payload) = (half(frame, type_at)?, bytes_from(frame, type_at + 2)?);
    if ether_type < TYPE_MIN { llc(payload) } else { typed(ether_type, payload) }
}

/// Returns the IP packet in `payload`, whose kind `ether_type` names, through VLAN tags, MPLS
/// labels and PPPoE.
fn typed(ether_type: u16, payload: &[u8]) -> Result<&[u8], LinkError> {
    let (mut ether_type, mut payload) = (ether_type, payload);
    for _ in 0..DEPTH_MAX {
        match ether_type {
            TYPE_IPV4 | TYPE_IPV6 => return by_version(payload),
            TYPE_PPPOE => return ppp(bytes_from(payload, 6)?),
            _ if TYPES_VLAN.contains(&ether_type) => {
                (ether_type, payload) = (half(payload, 2)?, bytes_from(payload, 4)?);
            }
            _ if TYPES_MPLS.contains(&ether_type) => {
                let is_last = half(payload, 2)? & 0x0100 != 0;
                payload = bytes_from(payload, 4)?;
                if is_last {
                    return by_version(payload);
                }
            }
            _ => return Err(LinkError::NotIp),
        }
    }
    Err(LinkError::Header)
}

/// Returns the IP packet after a header of IEEE 802.2 (LLC) with a SNAP header, which has an
/// EtherType.
fn llc(frame: &[u8]) -> Result<&[u8], LinkError> {
    let head = frame.first_chunk::<3>().ok_or(LinkError::Truncated)?;
    if *head != [0xaa, 0xaa, 0x03] {
        return Err(LinkError::NotIp);
    }
    typed(half(frame, 6)?, bytes_from(frame, 8)?)
}

/// Returns the IP packet in a PPP frame with or without its address and control field, or with
/// Cisco's HDLC header instead (RFC 1661, RFC 1662).
fn ppp(frame: &[u8]) -> Result<&[u8], LinkError> {
    let frame = match frame {
        [0x0f | 0x8f, 0, ..] => return typed(half(frame, 2)?, bytes_from(frame, 4)?),
        [0xff, 0x03, rest @ ..] => rest,
        rest => rest,
    };
    let first = *frame.first().ok_or(LinkError::Truncated)?;
    // An odd first byte is a protocol field that the sender shortened by one byte.
    let (protocol, packet) = if first & 1 == 1 {
        (u16::from(first), bytes_from(frame, 1)?)
    } else {
        (half(frame, 0)?, bytes_from(frame, 2)?)
    };
    if [PPP_IPV4, PPP_IPV6].contains(&protocol) {
        by_version(packet)
    } else {
        Err(LinkError::NotIp)
    }
}

/// Returns the IP packet in a data frame of a wireless network (IEEE 802.11).
fn wireless(frame: &[u8]) -> Result<&[u8], LinkError> {
    wireless_filled(frame, false)
}

/// Returns the IP packet in a data frame of a wireless network (IEEE 802.11) whose header is padded
/// to a multiple of four bytes if `is_padded`.
fn wireless_filled(frame: &[u8], is_padded: bool) -> Result<&[u8], LinkError> {
    let control = half_little(frame, 0)?;
    let is_data = control >> 2 & 3 == 2;
    let (has_no_data, has_quality) = (control & 0x40 != 0, control & 0x80 != 0);
    if !is_data || has_no_data {
        return Err(LinkError::NotIp);
    }
    if control & 0x4000 != 0 {
        return Err(LinkError::Header);
    }
    let mut len = 24_usize;
    if control & 0x0300 == 0x0300 {
        len += 6;
    }
    if has_quality {
        // Several packets in one frame.
        if octet(frame, len)? & 0x80 != 0 {
            return Err(LinkError::Header);
        }
        len += 2;
        if control & 0x8000 != 0 {
            len += 4;
        }
    }
    llc(bytes_from(frame, if is_padded { len.next_multiple_of(4) } else { len })?)
}

/// Returns the captured frame after the header of a packet tap.
fn tapped(frame: &[u8]) -> Result<&[u8], LinkError> {
    bytes_from(frame, usize::try_from(word_little(frame, 0)?).map_err(|_| LinkError::Header)?)
}

/// Returns the IP packet among the attributes of a netfilter log message, in the byte order of the
/// machine that wrote them.
fn netfilter_log(attributes: &[u8]) -> Result<&[u8], LinkError> {
    const HEAD_BYTES: usize = 4;
    const PAYLOAD: u16 = 9;
    let mut rest = attributes;
    let is_big = half(rest, 0)? < half_little(rest, 0)?;
    while !rest.is_empty() {
        let [len, kind] =
            [0, 2].map(|at| if is_big { half(rest, at) } else { half_little(rest, at) });
        let (len, kind) = (usize::from(len?), kind? & 0x7fff);
        if len < HEAD_BYTES {
            return Err(LinkError::Header);
        }
        if kind == PAYLOAD {
            let attribute = rest.get(..len).unwrap_or(rest);
            return by_version(bytes_from(attribute, HEAD_BYTES)?);
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Err(LinkError::NotIp)
}

#[cfg(test)]
mod tests;
