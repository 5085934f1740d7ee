//! Parser and writer of ARP messages for IPv4 over Ethernet (RFC 826; probes and announcements, RFC
//! 5227).

use core::net::Ipv4Addr;

use base::{ByteReader, ByteWriter};

use crate::PacketDefect;
use crate::ethernet::{MacAddress, TYPE_IPV4};

/// Length of an ARP message for IPv4 over Ethernet, in bytes.
pub const LEN: usize = 28;
/// ARP operation of a request (RFC 826).
pub const REQUEST: u16 = 1;
/// ARP operation of a reply (RFC 826).
pub const REPLY: u16 = 2;

/// ARP hardware type of Ethernet (RFC 826).
const ETHERNET: u16 = 1;
/// Lengths field of an ARP message: length in bytes of a hardware address and of an IPv4 address,
/// one byte each.
const LENGTHS: u16 = 0x0604;

/// ARP message for IPv4 over Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpMessage {
    /// ARP operation: [`REQUEST`] or [`REPLY`].
    pub operation: u16,
    /// Hardware address of the station that sends the ARP message.
    pub sender_mac: MacAddress,
    /// IPv4 address of the sender; 0.0.0.0 in a probe (RFC 5227), whose sender only checks whether
    /// another station has the target address.
    pub sender: Ipv4Addr,
    /// Hardware address of the station that a reply is for; a request asks for it.
    pub target_mac: MacAddress,
    /// IPv4 address that a request asks for, or of the station that a reply is for.
    pub target: Ipv4Addr,
}

impl ArpMessage {
    /// Parses an ARP message from the payload of an Ethernet frame. Bytes after the message are
    /// padding.
    ///
    /// # Errors
    ///
    /// [`PacketDefect::Truncated`]; [`PacketDefect::Protocol`] for other addresses than those of
    /// Ethernet and IPv4.
    pub fn parse(payload: &[u8]) -> Result<Self, PacketDefect> {
        let mut reader = ByteReader::new(payload.get(..LEN).ok_or(PacketDefect::Truncated)?);
        let kinds = (reader.u16(), reader.u16(), reader.u16());
        if kinds != (Some(ETHERNET), Some(TYPE_IPV4), Some(LENGTHS)) {
            return Err(PacketDefect::Protocol);
        }
        Self::fields(&mut reader).ok_or(PacketDefect::Truncated)
    }

    fn fields(reader: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            operation: reader.u16()?,
            sender_mac: MacAddress(reader.array()?),
            sender: Ipv4Addr::from(reader.array::<4>()?),
            target_mac: MacAddress(reader.array()?),
            target: Ipv4Addr::from(reader.array::<4>()?),
        })
    }

    /// Writes the ARP message to `writer`, which records whether the message fitted.
    pub fn emit(&self, writer: &mut ByteWriter<'_>) {
        writer.u16(ETHERNET).u16(TYPE_IPV4).u16(LENGTHS).u16(self.operation);
        writer.put(&self.sender_mac.0).put(&self.sender.octets());
        writer.put(&self.target_mac.0).put(&self.target.octets());
    }

    /// Returns the ARP reply to this request from the station `mac`, which has the target address.
    #[must_use]
    pub const fn answered_by(&self, mac: MacAddress) -> Self {
        Self {
            operation: REPLY,
            sender_mac: mac,
            sender: self.target,
            target_mac: self.sender_mac,
            target: self.sender,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request and its reply, byte by byte as RFC 826 has them.
    const REQUEST_OCTETS: [u8; LEN] = [
        0, 1, 8, 0, 6, 4, 0, 1, 0x02, 0, 0, 0, 0, 0x01, 10, 77, 0, 1, 0, 0, 0, 0, 0, 0, 10, 77, 0,
        10,
    ];
    const ANSWERED: [u8; LEN] = [
        0, 1, 8, 0, 6, 4, 0, 2, 0, 0x0c, 1, 2, 3, 5, 10, 77, 0, 10, 0x02, 0, 0, 0, 0, 0x01, 10, 77,
        0, 1,
    ];

    #[test]
    fn a_question_is_answered_to_whom_asked() {
        let mut frame = REQUEST_OCTETS.to_vec();
        frame.resize(46, 0xff);
        let request = ArpMessage::parse(&frame).unwrap();
        assert_eq!((request.operation, request.target), (REQUEST, Ipv4Addr::new(10, 77, 0, 10)));
        let mut buffer = [0; LEN];
        request
            .answered_by(MacAddress([0, 0x0c, 1, 2, 3, 5]))
            .emit(&mut ByteWriter::new(&mut buffer));
        assert_eq!(buffer, ANSWERED);
        request.emit(&mut ByteWriter::new(&mut buffer));
        assert_eq!(buffer, REQUEST_OCTETS);
    }

    #[test]
    fn what_is_cut_or_of_other_addresses_is_refused() {
        for cut in 0..LEN {
            assert_eq!(
                ArpMessage::parse(&REQUEST_OCTETS[..cut]),
                Err(PacketDefect::Truncated),
                "{cut}"
            );
        }
        for at in 0..6 {
            let mut other = REQUEST_OCTETS;
            other[at] ^= 2;
            assert_eq!(ArpMessage::parse(&other), Err(PacketDefect::Protocol), "{at}");
        }
    }
}
