//! Echo messages of ICMP (RFC 792) and of ICMPv6 (RFC 4443 §4.1, §4.2), which differ in their types
//! and in the data that the checksum covers.

use base::{ByteReader, ByteWriter};

use crate::PacketDefect;
use crate::checksum::{ChecksumAccumulator, checksum};

/// Bytes of the header before the data of an ICMP or ICMPv6 echo message.
pub const ECHO_LEN: usize = 8;

/// Message types of echo request and echo reply, of ICMP or of ICMPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoTypes {
    request: u8,
    reply: u8,
}

/// Message types of echo request and echo reply of ICMP (RFC 792).
pub const ECHO_V4: EchoTypes = EchoTypes { request: 8, reply: 0 };
/// Message types of echo request and echo reply of ICMPv6 (RFC 4443 §4.1, §4.2).
pub const ECHO_V6: EchoTypes = EchoTypes { request: 128, reply: 129 };

/// Identifier and number of an ICMP or ICMPv6 echo request (a ping) or echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpEcho {
    /// Identifier that the sender of the echo requests chose for all of them.
    pub identifier: u16,
    /// Number of the echo request among those of its sender.
    pub sequence: u16,
}

impl IcmpEcho {
    /// Writes an echo request with `data` to `writer`, which records whether the request fitted.
    /// The checksum is that of ICMP: the kernel adds the pseudo-header of ICMPv6 (RFC 3542 §3.1).
    pub fn emit_request(self, types: EchoTypes, data: &[u8], writer: &mut ByteWriter<'_>) {
        let mut header = [0; ECHO_LEN];
        ByteWriter::new(&mut header)
            .u8(types.request)
            .u8(0)
            .u16(0)
            .u16(self.identifier)
            .u16(self.sequence);
        let sum = ChecksumAccumulator::new().with(&header).with(data).finish();
        header[2..4].copy_from_slice(&sum.to_be_bytes());
        writer.put(&header).put(data);
    }

    /// Parses an echo reply from the payload of an IPv4 packet, whose checksum has to be right, or
    /// of an IPv6 packet, whose checksum the kernel has checked.
    ///
    /// # Errors
    ///
    /// [`PacketDefect::Truncated`]; [`PacketDefect::Checksum`]; [`PacketDefect::Protocol`] for
    /// another message.
    pub fn parse_reply(types: EchoTypes, message: &[u8]) -> Result<Self, PacketDefect> {
        let mut reader = ByteReader::new(message);
        let fields = |reader: &mut ByteReader<'_>| {
            let (kind, code) = (reader.u8()?, reader.u8()?);
            let _checksum = reader.u16()?;
            Some((kind, code, Self { identifier: reader.u16()?, sequence: reader.u16()? }))
        };
        let (kind, code, echo) = fields(&mut reader).ok_or(PacketDefect::Truncated)?;
        if (kind, code) != (types.reply, 0) {
            return Err(PacketDefect::Protocol);
        }
        if types == ECHO_V4 && checksum(message) != 0 {
            return Err(PacketDefect::Checksum);
        }
        Ok(echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ping with the data `abab` and its reply, worked out by hand from RFC 792.
    const REQUEST: [u8; 12] = [8, 0, 0x23, 0x06, 0x12, 0x34, 0, 1, 0x61, 0x62, 0x61, 0x62];
    const REPLY: [u8; 12] = [0, 0, 0x2b, 0x06, 0x12, 0x34, 0, 1, 0x61, 0x62, 0x61, 0x62];
    const ECHO: IcmpEcho = IcmpEcho { identifier: 0x1234, sequence: 1 };

    #[test]
    fn a_request_has_the_checksum_over_its_data() {
        let mut octets = [0; 12];
        let mut writer = ByteWriter::new(&mut octets);
        ECHO.emit_request(ECHO_V4, b"abab", &mut writer);
        assert_eq!(writer.len(), 12);
        assert_eq!(octets, REQUEST);
    }

    #[test]
    fn only_a_whole_reply_that_is_right_counts() {
        assert_eq!(IcmpEcho::parse_reply(ECHO_V4, &REPLY), Ok(ECHO));
        assert_eq!(IcmpEcho::parse_reply(ECHO_V4, &REQUEST), Err(PacketDefect::Protocol));
        assert_eq!(IcmpEcho::parse_reply(ECHO_V4, &REPLY[..7]), Err(PacketDefect::Truncated));
        let mut changed = REPLY;
        changed[9] ^= 1;
        assert_eq!(IcmpEcho::parse_reply(ECHO_V4, &changed), Err(PacketDefect::Checksum));
        // ICMPv6: the kernel checks the checksum.
        changed[0] = 129;
        assert_eq!(IcmpEcho::parse_reply(ECHO_V6, &changed), Ok(ECHO));
        assert_eq!(IcmpEcho::parse_reply(ECHO_V4, &changed), Err(PacketDefect::Protocol));
    }
}
