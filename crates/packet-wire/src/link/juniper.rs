//! Captures of Juniper's routers: a capture header, on some cards a cookie, and then the frame of
//! the link (<https://www.tcpdump.org/linktypes.html>, and the printer of tcpdump).

use super::rare::{NLPID_IPV4, NLPID_IPV6, UNNUMBERED, atm, frame_relay, multilink_frame_relay};
use super::{LinkError, by_version, bytes_from, ethernet, half, octet, ppp, typed};

pub(super) const MULTILINK_PPP: u32 = 130;
pub(super) const MULTILINK_FRAME_RELAY: u32 = 131;
pub(super) const ENCRYPTION: u32 = 132;
pub(super) const MOBILE_GATEWAY: u32 = 133;
pub(super) const FRAGMENTED_FRAME_RELAY: u32 = 134;
pub(super) const ATM_2: u32 = 135;
pub(super) const SERVICES: u32 = 136;
pub(super) const ATM_1: u32 = 137;
pub(super) const MONITOR: u32 = 164;
pub(super) const PPPOE: u32 = 167;
pub(super) const PPPOE_ON_ATM: u32 = 168;
pub(super) const ETHERNET: u32 = 178;
pub(super) const PPP: u32 = 179;
pub(super) const FRAME_RELAY: u32 = 180;
pub(super) const CISCO_HDLC: u32 = 181;

/// Flags of the header that Juniper's captures have before each frame.
const IS_INCOMING: u8 = 0x01;
const HAS_NO_LINK_HEADER: u8 = 0x02;
const HAS_EXTENSIONS: u8 = 0x80;

/// First bytes of the cookies that Juniper's link services and adaptive services put before a
/// frame.
const LINK_SERVICES: u8 = 0x54;
const ADAPTIVE_SERVICES: u8 = 0x47;
const COOKIE_BYTES_MAX: usize = 8;

/// Returns the IP packet in a frame of Juniper's link type `link_type`, one of the constants of
/// this module.
pub(super) fn packet(link_type: u32, frame: &[u8]) -> Result<&[u8], LinkError> {
    const MAGIC: [u8; 3] = *b"MGC";
    const HEAD_BYTES: usize = 4;
    if frame.first_chunk::<3>().ok_or(LinkError::Truncated)? != &MAGIC {
        return Err(LinkError::Header);
    }
    let flags = octet(frame, 3)?;
    let mut behind = bytes_from(frame, HEAD_BYTES)?;
    if flags & HAS_EXTENSIONS != 0 {
        behind = bytes_from(behind, 2 + usize::from(half(behind, 0)?))?;
    }
    if flags & HAS_NO_LINK_HEADER != 0 {
        return by_version(bytes_from(behind, 4)?);
    }
    let cookie_len = cookie_bytes(link_type, behind)?;
    let cookie = behind.get(..cookie_len).ok_or(LinkError::Truncated)?;
    let payload = bytes_from(behind, cookie_len)?;
    match link_type {
        ETHERNET | PPPOE => ethernet(payload, 12),
        PPPOE_ON_ATM => typed(half(payload, 0)?, bytes_from(payload, 2)?),
        PPP => ppp(payload),
        FRAME_RELAY => frame_relay(payload),
        CISCO_HDLC => typed(half(payload, 2)?, bytes_from(payload, 4)?),
        MONITOR | SERVICES | MOBILE_GATEWAY => by_version(payload),
        ENCRYPTION => encrypted(payload),
        ATM_1 if cookie.first() == Some(&0x80) => Err(LinkError::NotIp),
        ATM_1 => atm(payload),
        ATM_2 => atm_2(cookie, flags & IS_INCOMING != 0, payload),
        _ => multilink(link_type, cookie, payload),
    }
}

/// Returns the number of bytes of the cookie that a card of a Juniper router puts before a frame.
fn cookie_bytes(link_type: u32, behind: &[u8]) -> Result<usize, LinkError> {
    /// Flags of a frame of FRF.16 that is both first and last fragment, so whole; such a frame has
    /// no cookie.
    const IS_WHOLE: u8 = 0xc0;
    let usual = match link_type {
        ETHERNET | PPP | FRAME_RELAY | CISCO_HDLC => return Ok(0),
        MULTILINK_PPP | MULTILINK_FRAME_RELAY => 2,
        ATM_1 | FRAGMENTED_FRAME_RELAY => 4,
        ATM_2 | MOBILE_GATEWAY | MONITOR | SERVICES => 8,
        _ => 0,
    };
    let bytes = match octet(behind, 0)? {
        LINK_SERVICES => usual + 2,
        ADAPTIVE_SERVICES => COOKIE_BYTES_MAX,
        first if link_type == FRAGMENTED_FRAME_RELAY && first & IS_WHOLE == IS_WHOLE => 0,
        _ => usual,
    };
    if bytes > COOKIE_BYTES_MAX { Err(LinkError::Header) } else { Ok(bytes) }
}

/// Returns the IP packet that a Juniper router captured before or after its encryption, by the type
/// in the header of the encryption card.
fn encrypted(payload: &[u8]) -> Result<&[u8], LinkError> {
    const HEAD_BYTES: usize = 16;
    match octet(payload, 3)? {
        1 | 2 => by_version(payload),
        3..=5 => by_version(bytes_from(payload, HEAD_BYTES)?),
        _ => Err(LinkError::Header),
    }
}

/// Returns the IP packet after the cookie of Juniper's second kind of ATM card
/// (`DLT_JUNIPER_ATM2`): after an LLC header, in an Ethernet frame or in PPP, or alone on its
/// circuit.
fn atm_2<'p>(cookie: &[u8], is_incoming: bool, payload: &'p [u8]) -> Result<&'p [u8], LinkError> {
    const IS_MAINTENANCE: u8 = 0x70;
    const GAP_COUNT: u8 = 0x3f;
    if octet(cookie, 7)? & IS_MAINTENANCE != 0 {
        return Err(LinkError::NotIp);
    }
    match payload {
        [0xaa, 0xaa, UNNUMBERED, ..] | [0xfe, 0xfe, UNNUMBERED, ..] => atm(payload),
        _ if !is_incoming && octet(cookie, 3)? & GAP_COUNT != 0 => ethernet(payload, 12),
        [0, 0x21 | 0x57, ..] => ppp(payload),
        _ => by_version(payload),
    }
}

/// Returns the IP packet after the cookie of a Juniper card for several links (multilink PPP or
/// frame relay).
fn multilink<'p>(link_type: u32, cookie: &[u8], payload: &'p [u8]) -> Result<&'p [u8], LinkError> {
    const FROM_ROUTER: u8 = 0x0c;
    const PROTOCOL: u8 = 0x70;
    const PROTOCOLS_IP: [u8; 2] = [0, 0x10];
    if cookie.first() == Some(&ADAPTIVE_SERVICES) {
        let protocol = octet(cookie, 5)? & PROTOCOL;
        let is_ppp = link_type == MULTILINK_PPP
            && (octet(cookie, 4)? == FROM_ROUTER || !PROTOCOLS_IP.contains(&protocol));
        return if is_ppp { ppp(payload) } else { by_version(payload) };
    }
    if link_type == MULTILINK_PPP {
        return ppp(payload);
    }
    if cookie.is_empty() {
        return multilink_frame_relay(payload);
    }
    match (octet(payload, 0)?, octet(payload, 1)?) {
        (UNNUMBERED, NLPID_IPV4 | NLPID_IPV6) => by_version(bytes_from(payload, 2)?),
        _ => Err(LinkError::NotIp),
    }
}
