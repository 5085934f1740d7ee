//! Control messages (`cmsg(3)`) of sockets as bytes. The kernel copies them byte by byte, so
//! neither alignment nor unsafe code is needed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const WORD: usize = size_of::<usize>();
const HEADER_BYTES: usize = WORD + 8;

const fn aligned(len: usize) -> usize {
    len.next_multiple_of(WORD)
}

/// Size in bytes of all control messages with which a datagram may be received: packet info (40
/// bytes for IPv6), time (32), segment size (24), traffic class (24).
pub(crate) const RECEIVE_BYTES: usize = 120;
/// Size in bytes of all control messages with which a datagram may be sent: packet info (40 bytes
/// for IPv6), segment size (24), traffic class (24).
pub(crate) const SEND_BYTES: usize = 88;
/// Mask of the ECN field within the IP header's byte of type of service (IPv4) or traffic class
/// (IPv6; RFC 3168 §5).
const ECN_BITS: u8 = 3;

/// Size in bytes of the control message that a packet socket receives with a packet: `struct
/// tpacket_auxdata` (20 bytes).
pub(crate) const AUXDATA_BYTES: usize = HEADER_BYTES + 24;
/// Size in bytes of the control messages that a packet socket receives with a packet if it also has
/// the kernel's time (`SO_TIMESTAMPNS`): [`AUXDATA_BYTES`] and a time.
pub(crate) const TIMED_AUXDATA_BYTES: usize = AUXDATA_BYTES + HEADER_BYTES + 16;

/// Appends one control message to `buffer` at `at`; returns the position after the message.
fn put(buffer: &mut [u8], at: usize, level: i32, kind: i32, value: &[u8]) -> usize {
    let len = HEADER_BYTES + value.len();
    buffer[at..at + WORD].copy_from_slice(&len.to_ne_bytes());
    buffer[at + WORD..at + WORD + 4].copy_from_slice(&level.to_ne_bytes());
    buffer[at + WORD + 4..at + HEADER_BYTES].copy_from_slice(&kind.to_ne_bytes());
    buffer[at + HEADER_BYTES..at + len].copy_from_slice(value);
    at + aligned(len)
}

/// Appends `IP_PKTINFO` (`ip(7)`) or `IPV6_PKTINFO` (RFC 3542 §6.2), which sends from `address`
/// through `interface` (0: as routed).
pub(crate) fn put_source(buffer: &mut [u8], at: usize, address: IpAddr, interface: u32) -> usize {
    match address {
        IpAddr::V4(address) => {
            let mut value = [0; 12];
            value[..4].copy_from_slice(&interface.to_ne_bytes());
            value[4..8].copy_from_slice(&address.octets());
            put(buffer, at, libc::IPPROTO_IP, libc::IP_PKTINFO, &value)
        }
        IpAddr::V6(address) => {
            let mut value = [0; 20];
            value[..16].copy_from_slice(&address.octets());
            value[16..].copy_from_slice(&interface.to_ne_bytes());
            put(buffer, at, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &value)
        }
    }
}

/// Appends `UDP_SEGMENT` (`udp(7)`), which makes the kernel cut the payload into datagrams of
/// `octets` bytes.
pub(crate) fn put_segment(buffer: &mut [u8], at: usize, octets: u16) -> usize {
    put(buffer, at, libc::SOL_UDP, libc::UDP_SEGMENT, &octets.to_ne_bytes())
}

/// Appends `IP_TOS` (`ip(7)`) or `IPV6_TCLASS` (RFC 3542 §6.5) with the ECN field `ecn` and no
/// differentiated services class.
pub(crate) fn put_ecn(buffer: &mut [u8], at: usize, is_v4: bool, ecn: u8) -> usize {
    let value = i32::from(ecn & ECN_BITS).to_ne_bytes();
    if is_v4 {
        put(buffer, at, libc::IPPROTO_IP, libc::IP_TOS, &value)
    } else {
        put(buffer, at, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value)
    }
}

/// Interface and addresses with which a datagram arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketInfo {
    pub(crate) interface: u32,
    /// Own unicast address that the datagram came to, from which to send the reply.
    pub(crate) local: Option<IpAddr>,
    /// Destination address in the datagram's IP header.
    pub(crate) destination: IpAddr,
}

/// Values from the control messages of a received datagram or packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlMessageData {
    pub(crate) info: Option<PacketInfo>,
    pub(crate) kernel_wall_ns: Option<u64>,
    pub(crate) segment: Option<usize>,
    /// ECN field of the datagram's IP header (RFC 3168 §5).
    pub(crate) ecn: u8,
    /// Word `tp_status` of a packet from a packet socket (`packet(7)`).
    pub(crate) packet_status: Option<u32>,
}

fn int(value: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(*value.first_chunk()?))
}

/// Parses `struct in_pktinfo` of IPv4: interface, own address, address in the header.
fn v4_info(value: &[u8]) -> Option<PacketInfo> {
    let interface = int(value)?.cast_unsigned();
    let address = |at: usize| {
        let octets = value.get(at..)?.first_chunk::<4>()?;
        Some(IpAddr::V4(Ipv4Addr::from(*octets)))
    };
    Some(PacketInfo { interface, local: address(4), destination: address(8)? })
}

/// Parses `struct in6_pktinfo` of IPv6 (RFC 3542 §6): address in the header, interface.
fn v6_info(value: &[u8]) -> Option<PacketInfo> {
    let (octets, rest) = value.split_first_chunk::<16>()?;
    let address = Ipv6Addr::from(*octets);
    let (interface, destination) = (int(rest)?.cast_unsigned(), IpAddr::V6(address));
    let local = (!address.is_multicast()).then_some(destination);
    Some(PacketInfo { interface, local, destination })
}

/// Parses the control messages of one received datagram or packet. Unknown and truncated ones are
/// skipped.
pub(crate) fn parse(mut rest: &[u8]) -> ControlMessageData {
    let mut received = ControlMessageData::default();
    while let (Some(len), Some(head)) = (rest.first_chunk(), rest.get(WORD..HEADER_BYTES)) {
        let len = usize::from_ne_bytes(*len);
        let Some(value) = rest.get(HEADER_BYTES..len) else { break };
        match (int(head).unwrap_or(0), int(&head[4..]).unwrap_or(0)) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => received.info = v4_info(value),
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => received.info = v6_info(value),
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if value.len() >= 16 => {
                let word = |at: usize| value[at..].first_chunk().map(|w| u64::from_ne_bytes(*w));
                received.kernel_wall_ns =
                    word(0).zip(word(8)).map(|(s, ns)| s * 1_000_000_000 + ns);
            }
            // One byte over IPv4, an int over IPv6.
            (libc::IPPROTO_IP, libc::IP_TOS) => {
                received.ecn = value.first().map_or(0, |tos| tos & ECN_BITS);
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                received.ecn = int(value).map_or(0, |class| class as u8 & ECN_BITS);
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                received.packet_status = int(value).map(i32::cast_unsigned);
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                received.segment = int(value).and_then(|n| usize::try_from(n).ok());
            }
            _ => {}
        }
        rest = rest.get(aligned(len)..).unwrap_or_default();
    }
    received
}

/// Returns the error number and the value of `ee_info` in a control message from a socket's error
/// queue (`struct sock_extended_err`, `ip(7)`).
pub(crate) fn path_error(mut rest: &[u8]) -> Option<(i32, u32)> {
    while let (Some(len), Some(head)) = (rest.first_chunk(), rest.get(WORD..HEADER_BYTES)) {
        let len = usize::from_ne_bytes(*len);
        let value = rest.get(HEADER_BYTES..len)?;
        match (int(head)?, int(&head[4..])?) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                return Some((int(value)?, int(value.get(8..)?)?.cast_unsigned()));
            }
            _ => rest = rest.get(aligned(len)..)?,
        }
    }
    None
}

/// Returns the VLAN tag (IEEE 802.1Q) that the kernel removed from a frame, as it was on the wire;
/// `control` has the frame's control messages.
pub(crate) fn vlan_tag(control: &[u8]) -> Option<[u8; 4]> {
    /// Offset of `tp_vlan_tci` in `struct tpacket_auxdata`; the next constant is that of
    /// `tp_vlan_tpid`.
    const CONTROL_AT: usize = 16;
    const TYPE_AT: usize = 18;
    let value = auxdata(control)?;
    let status = int(value)?.cast_unsigned();
    let half = |at: usize| Some(u16::from_ne_bytes(*value.get(at..)?.first_chunk()?));
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let is_typed = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let tag_type = if is_typed { half(TYPE_AT)? } else { libc::ETH_P_8021Q as u16 };
    let [[a, b], [c, d]] = [tag_type, half(CONTROL_AT)?].map(u16::to_be_bytes);
    Some([a, b, c, d])
}

/// Returns the value of the one control message that a packet socket delivers (`packet(7)`),
/// `struct tpacket_auxdata`.
fn auxdata(control: &[u8]) -> Option<&[u8]> {
    let kind = (libc::SOL_PACKET, libc::PACKET_AUXDATA);
    let head = control.get(WORD..HEADER_BYTES)?;
    ((int(head)?, int(&head[4..])?) == kind).then(|| &control[HEADER_BYTES..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_laid_out_as_cmsg_says() {
        // CMSG_LEN of the info and CMSG_SPACE of info and segment size on a 64-bit machine.
        for (address, len, space) in [("10.0.0.1", 28, 32), ("2001:db8::1", 36, 40)] {
            let address: IpAddr = address.parse().unwrap();
            let mut buffer = [0xff; SEND_BYTES];
            let end = put_source(&mut buffer, 0, address, 7);
            assert_eq!(put_segment(&mut buffer, end, 262), space + 24);
            assert_eq!((buffer[0], end, buffer[end]), (len, space, 18));
            let info = parse(&buffer[..end]).info.unwrap();
            assert_eq!((info.interface, info.local), (7, Some(address)));
        }
    }

    #[test]
    fn all_that_is_sent_and_received_at_once_has_room() {
        let mut buffer = [0; SEND_BYTES];
        let end = put_source(&mut buffer, 0, "2001:db8::1".parse().unwrap(), 7);
        let end = put_segment(&mut buffer, end, 262);
        let end = put_ecn(&mut buffer, end, false, 0xff);
        assert_eq!((end, parse(&buffer).ecn), (SEND_BYTES, 3));
        // The kernel gives an IPv4 socket one byte, of which the upper bits are the class.
        let mut buffer = [0; 24];
        put(&mut buffer, 0, libc::IPPROTO_IP, libc::IP_TOS, &[0xb9]);
        assert_eq!(parse(&buffer).ecn, 1);
    }

    #[test]
    fn a_group_is_a_destination_and_no_address_to_answer_from() {
        let group: IpAddr = "ff02::1:2".parse().unwrap();
        let mut buffer = [0; SEND_BYTES];
        let end = put_source(&mut buffer, 0, group, 3);
        let info = parse(&buffer[..end]).info.unwrap();
        assert_eq!((info.interface, info.local, info.destination), (3, None, group));
    }

    #[test]
    fn lengths_that_lie_end_the_walk() {
        for len in [0_usize, 3, 15, 17, 1_000, usize::MAX] {
            let mut buffer = [0; 32];
            buffer[..WORD].copy_from_slice(&len.to_ne_bytes());
            assert_eq!(parse(&buffer), ControlMessageData::default(), "{len}");
        }
        assert_eq!(parse(&[1, 2, 3]), ControlMessageData::default());
    }
}
