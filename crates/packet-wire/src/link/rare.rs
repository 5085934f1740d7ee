//! Parsers of link headers that few captures have: token ring, ARCNET, ATM, frame relay, and those
//! that drivers put before another link's header (<https://www.tcpdump.org/linktypes.html>, and the
//! printers of tcpdump).

use super::{
    LinkError, by_version, bytes_from, ethernet, half, half_little, llc, octet, typed, wireless,
    word_little,
};

/// Network layer protocol identifiers (NLPID, ISO/IEC TR 9577) in frames of frame relay and ATM:
/// SNAP (here), IPv6, IPv4.
const NLPID_SNAP: u8 = 0x80;
pub(super) const NLPID_IPV6: u8 = 0x8e;
pub(super) const NLPID_IPV4: u8 = 0xcc;
/// Control field of an unnumbered information frame (IEEE 802.2).
pub(super) const UNNUMBERED: u8 = 0x03;

/// Packet types of ARCNET: IPv4 (RFC 1201, RFC 1051) and IPv6 (RFC 2497).
const ARCNET_IPV4: u8 = 212;
const ARCNET_IPV4_OLD: u8 = 240;
const ARCNET_IPV6: u8 = 196;

/// Returns the IP packet in a frame of a token ring (IEEE 802.5), also with a route in its header.
pub(super) fn token_ring(frame: &[u8]) -> Result<&[u8], LinkError> {
    const HEAD_BYTES: usize = 14;
    let has_route = octet(frame, 8)? & 0x80 != 0;
    let route_len = if has_route { usize::from(octet(frame, HEAD_BYTES)? & 0x1f) } else { 0 };
    llc(bytes_from(frame, HEAD_BYTES + route_len)?)
}

/// Returns the IP packet in a frame of classical IP over ATM (RFC 2684): after a SNAP header, after
/// an LLC header with a protocol identifier, or alone on its circuit.
pub(super) fn atm(frame: &[u8]) -> Result<&[u8], LinkError> {
    match frame {
        [0xaa, 0xaa, UNNUMBERED, ..] => llc(frame),
        [0xfe, 0xfe, UNNUMBERED, NLPID_IPV4 | NLPID_IPV6, packet @ ..] => by_version(packet),
        _ => by_version(frame),
    }
}

/// Returns the IP packet in an ATM frame that Sun's driver captured: after an LLC header, or in an
/// Ethernet frame of an emulated LAN.
pub(super) fn sun_atm(frame: &[u8]) -> Result<&[u8], LinkError> {
    const KIND: u8 = 0x0f;
    const EMULATED_LAN: u8 = 1;
    let (kind, payload) = (octet(frame, 0)? & KIND, bytes_from(frame, 4)?);
    if kind == EMULATED_LAN { ethernet(bytes_from(payload, 2)?, 12) } else { atm(payload) }
}

/// Returns the IP packet in a frame of frame relay over several links (FRF.16) that is no fragment.
pub(super) fn multilink_frame_relay(frame: &[u8]) -> Result<&[u8], LinkError> {
    const KIND: u8 = 0xe0;
    const IS_WHOLE: u8 = 0xc0;
    match octet(frame, 0)? & KIND {
        IS_WHOLE => frame_relay(bytes_from(frame, 2)?),
        _ => Err(LinkError::Header),
    }
}

/// Returns the IP packet in a frame of frame relay (RFC 2427), or of Cisco's kind with an
/// EtherType.
pub(super) fn frame_relay(frame: &[u8]) -> Result<&[u8], LinkError> {
    const ADDRESS_MAX: usize = 4;
    // The last byte of the address has its lowest bit set.
    let address = frame.iter().take(ADDRESS_MAX).position(|octet| octet & 1 == 1);
    let address_len = address.ok_or(LinkError::Truncated)? + 1;
    if address_len < 2 {
        return Err(LinkError::Header);
    }
    let rest = bytes_from(frame, address_len)?;
    if octet(rest, 0)? != UNNUMBERED {
        return typed(half(rest, 0)?, bytes_from(rest, 2)?);
    }
    let pad = usize::from(octet(rest, 1)? == 0);
    let payload = bytes_from(rest, 2 + pad)?;
    match octet(rest, 1 + pad)? {
        NLPID_IPV4 | NLPID_IPV6 => by_version(payload),
        // Three bytes of an organization, then the EtherType.
        NLPID_SNAP => typed(half(payload, 3)?, bytes_from(payload, 5)?),
        _ => Err(LinkError::NotIp),
    }
}

/// Returns the IP packet in an ARCNET frame whose type is at `type_at`: one that is no fragment
/// (RFC 1201), or of the kind without sequence numbers (RFC 1051).
pub(super) fn arcnet(frame: &[u8], type_at: usize) -> Result<&[u8], LinkError> {
    match octet(frame, type_at)? {
        ARCNET_IPV4_OLD => by_version(bytes_from(frame, type_at + 1)?),
        ARCNET_IPV4 | ARCNET_IPV6 => match octet(frame, type_at + 1)? {
            0 => by_version(bytes_from(frame, type_at + 4)?),
            _ => Err(LinkError::Header),
        },
        _ => Err(LinkError::NotIp),
    }
}

/// Returns the IP packet in a frame of a wireless network (IEEE 802.11) after the header of a
/// driver: that of AVS, which begins with its version, or that of PRISM.
pub(super) fn monitored(frame: &[u8]) -> Result<&[u8], LinkError> {
    const AVS: u16 = 0x8021;
    let len = word_little(frame, 4)?;
    let len = if half(frame, 0)? == AVS { len.swap_bytes() } else { len };
    wireless(bytes_from(frame, usize::try_from(len).map_err(|_| LinkError::Header)?)?)
}

/// Returns true if the radiotap header says that the header of the wireless frame after it is
/// padded to a multiple of four bytes (flag `0x20` of the field "Flags").
pub(super) fn is_padded(radiotap: &[u8]) -> bool {
    const HAS_TIME: u32 = 1;
    const HAS_FLAGS: u32 = 1 << 1;
    const HAS_MORE: u32 = 1 << 31;
    const PADDED: u8 = 0x20;
    let Ok(present) = word_little(radiotap, 4) else { return false };
    let mut at = 8;
    let mut word = present;
    while word & HAS_MORE != 0 {
        let Ok(next) = word_little(radiotap, at) else { return false };
        (word, at) = (next, at + 4);
    }
    if present & HAS_TIME != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let len = half_little(radiotap, 2).map_or(0, usize::from);
    let flags = if at < len { radiotap.get(at) } else { None };
    present & HAS_FLAGS != 0 && flags.is_some_and(|flags| flags & PADDED != 0)
}
