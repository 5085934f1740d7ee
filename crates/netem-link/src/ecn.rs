//! ECN field (RFC 3168 §5) in the IP header of a frame, or of a packet without a frame: reading and
//! marking.

/// Value 3 of the ECN field: "congestion experienced" (RFC 3168 §5).
pub(crate) const MARKED: u8 = 3;

/// Length of the destination and source addresses of an Ethernet frame, in bytes.
const ADDRESSES_BYTES: usize = 12;
const TAG_BYTES: usize = 4;

/// First header of a packet on a link: Ethernet or IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Packet that begins with an Ethernet header.
    Ethernet,
    /// Packet that begins with its IP header.
    Ip,
}

impl Framing {
    /// Returns the EtherType and the offset of the network header of `packet`, in bytes.
    fn network(self, packet: &[u8]) -> Option<(u16, usize)> {
        match self {
            Self::Ethernet => network(packet),
            Self::Ip => match packet.first()? >> 4 {
                4 => Some((packet_wire::ethernet::TYPE_IPV4, 0)),
                6 => Some((packet_wire::ethernet::TYPE_IPV6, 0)),
                _ => None,
            },
        }
    }
}

/// Returns the EtherType and the offset of the header after the Ethernet header and VLAN tags, in
/// bytes.
pub(crate) fn network(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = ADDRESSES_BYTES;
    loop {
        let kind = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        match kind {
            packet_wire::ethernet::TYPE_VLAN | packet_wire::ethernet::TYPE_SERVICE_VLAN => {
                at += TAG_BYTES;
            }
            _ => return Some((kind, at + 2)),
        }
    }
}

/// Returns the ECN field of a frame's IP header; 0 if the frame carries no IP.
pub(crate) fn read(frame: &[u8], framing: Framing) -> u8 {
    let second = |at: usize| frame.get(at + 1).copied();
    match framing.network(frame) {
        Some((packet_wire::ethernet::TYPE_IPV4, at)) => second(at).unwrap_or(0) & 3,
        Some((packet_wire::ethernet::TYPE_IPV6, at)) => (second(at).unwrap_or(0) >> 4) & 3,
        _ => 0,
    }
}

/// Sets the ECN field of a frame's IP header to [`MARKED`] and adapts the checksum of an IPv4
/// header (RFC 1624 §3).
pub(crate) fn mark(frame: &mut [u8], framing: Framing) {
    match framing.network(frame) {
        Some((packet_wire::ethernet::TYPE_IPV4, at)) => {
            let Some(header) = frame.get_mut(at..at + 20) else { return };
            let before = u16::from_be_bytes([header[0], header[1]]);
            header[1] |= MARKED;
            let after = u16::from_be_bytes([header[0], header[1]]);
            let checksum = u16::from_be_bytes([header[10], header[11]]);
            let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            sum = (sum & 0xffff) + (sum >> 16);
            sum = (sum & 0xffff) + (sum >> 16);
            header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        Some((packet_wire::ethernet::TYPE_IPV6, at)) => {
            if let Some(octet) = frame.get_mut(at + 1) {
                *octet |= MARKED << 4;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::Framing::{Ethernet, Ip};
    use super::*;
    use packet_wire::checksum::checksum;

    /// Returns a frame with an IPv4 header of type of service `tos`, after `tags`.
    fn v4(tags: &[u8], tos: u8) -> Vec<u8> {
        let mut frame = [&[0; 12], tags, &[8, 0]].concat();
        let at = frame.len();
        let mut header = vec![0x45, tos, 0, 20, 0xbe, 0xef, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1];
        header.extend([10, 0, 0, 2]);
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(header);
        assert_eq!(checksum(&frame[at..]), 0);
        frame
    }

    #[test]
    fn a_mark_keeps_the_checksum_right_for_every_header() {
        for tags in [&[][..], &[0x81, 0, 0, 7], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7]] {
            for tos in 0..=255 {
                let mut frame = v4(tags, tos);
                assert_eq!(read(&frame, Ethernet), tos & 3);
                let mut packet = frame[14 + tags.len()..].to_vec();
                assert_eq!(read(&packet, Ip), tos & 3);
                mark(&mut packet, Ip);
                mark(&mut frame, Ethernet);
                assert_eq!(read(&frame, Ethernet), 3);
                assert_eq!(frame[14 + tags.len()..], packet);
                assert_eq!(packet[1], tos | 3);
                assert_eq!(checksum(&frame[14 + tags.len()..]), 0, "{tos}");
            }
        }
    }

    #[test]
    fn the_field_of_ipv6_straddles_two_octets() {
        let mut frame = [&[0; 12][..], &[0x86, 0xdd, 0x60, 0x25, 0xab, 0xcd], &[0; 36]].concat();
        assert_eq!((read(&frame, Ethernet), read(&frame[14..], Ip)), (2, 2));
        mark(&mut frame[14..], Ip);
        assert_eq!((read(&frame, Ethernet), &frame[14..18]), (3, &[0x60, 0x35, 0xab, 0xcd][..]));
    }

    #[test]
    fn other_frames_and_pieces_are_left_alone() {
        let mut arp = [&[0; 12][..], &[8, 6, 0, 3]].concat();
        let whole = v4(&[0x81, 0, 0, 7], 1);
        assert_eq!((read(&arp, Ethernet), read(&[0x25, 3], Ip)), (0, 0));
        mark(&mut arp, Ethernet);
        assert_eq!(arp[12..], [8, 6, 0, 3]);
        for len in 0..whole.len() {
            let mut cut = whole[..len].to_vec();
            read(&cut, Ethernet);
            mark(&mut cut, Ethernet);
            assert_eq!(cut, whole[..len], "{len}");
        }
    }
}
