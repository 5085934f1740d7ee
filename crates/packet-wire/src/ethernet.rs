//! Headers of Ethernet II frames with up to two VLAN tags (IEEE 802.3, 802.1Q, 802.1ad).

use core::fmt;

use base::{ByteReader, ByteWriter};

use crate::PacketDefect;

/// Length of an Ethernet header without VLAN tags, in bytes.
pub const HEADER_LEN: usize = 14;
/// Length of one VLAN tag, in bytes.
pub const TAG_LEN: usize = 4;
/// Greatest number of VLAN tags that the parser of Ethernet headers accepts.
pub const TAGS_MAX: usize = 2;

/// EtherType of IPv4 (RFC 894).
pub const TYPE_IPV4: u16 = 0x0800;
/// EtherType of ARP (RFC 826).
pub const TYPE_ARP: u16 = 0x0806;
/// EtherType of a customer VLAN tag (IEEE 802.1Q).
pub const TYPE_VLAN: u16 = 0x8100;
/// EtherType of IPv6 (RFC 2464).
pub const TYPE_IPV6: u16 = 0x86dd;
/// EtherType of a service VLAN tag (IEEE 802.1ad).
pub const TYPE_SERVICE_VLAN: u16 = 0x88a8;

/// Ethernet hardware address of 48 bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Hardware address of all stations: all bits are one.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns true for the hardware address of a group of stations, broadcast included.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// VLAN tag of an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// EtherType of the VLAN tag: [`TYPE_VLAN`] or [`TYPE_SERVICE_VLAN`].
    pub tag_type: u16,
    /// Tag control information: priority (3 bits), drop eligible bit, VLAN identifier (12 bits).
    pub control: u16,
}

impl Tag {
    /// Returns the VLAN identifier of the tag, 0 to 4095.
    pub const fn vlan(self) -> u16 {
        self.control & 0x0fff
    }

    /// Returns the priority of the tag's frame, 0 to 7.
    pub const fn priority(self) -> u8 {
        (self.control >> 13) as u8
    }

    /// Returns true if switches may drop the tag's frame before others.
    pub const fn is_drop_eligible(self) -> bool {
        self.control & 0x1000 != 0
    }
}

/// Ethernet header with up to two VLAN tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Hardware address of the frame's receiver.
    pub destination: MacAddress,
    /// Hardware address of the frame's sender.
    pub source: MacAddress,
    /// VLAN tags of the frame, the outer one first; a `Some` never follows a `None`.
    pub tags: [Option<Tag>; TAGS_MAX],
    /// EtherType of the payload. A value below 1536 is an IEEE 802.3 length.
    pub ether_type: u16,
}

impl EthernetHeader {
    /// Returns the length of the Ethernet header with its VLAN tags, in bytes.
    pub fn len(&self) -> usize {
        HEADER_LEN + TAG_LEN * self.tags.iter().flatten().count()
    }

    /// Returns false: an Ethernet header always has bytes.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Parses an Ethernet frame; returns its header and its payload, which still has the padding of
    /// short frames.
    ///
    /// # Errors
    ///
    /// [`PacketDefect::Truncated`], [`PacketDefect::TooManyTags`].
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), PacketDefect> {
        let mut reader = ByteReader::new(frame);
        let read = |reader: &mut ByteReader<'_>| {
            Some((MacAddress(reader.array()?), MacAddress(reader.array()?), reader.u16()?))
        };
        let (destination, source, mut ether_type) =
            read(&mut reader).ok_or(PacketDefect::Truncated)?;
        let mut tags = [None; TAGS_MAX];
        for tag in &mut tags {
            if !is_tag(ether_type) {
                break;
            }
            let control = reader.u16().ok_or(PacketDefect::Truncated)?;
            *tag = Some(Tag { tag_type: ether_type, control });
            ether_type = reader.u16().ok_or(PacketDefect::Truncated)?;
        }
        if is_tag(ether_type) {
            return Err(PacketDefect::TooManyTags);
        }
        Ok((Self { destination, source, tags, ether_type }, reader.rest()))
    }

    /// Writes the Ethernet header to `writer`, which records whether the header fitted.
    pub fn emit(&self, writer: &mut ByteWriter<'_>) {
        writer.put(&self.destination.0).put(&self.source.0);
        for tag in self.tags.iter().flatten() {
            writer.u16(tag.tag_type).u16(tag.control);
        }
        writer.u16(self.ether_type);
    }
}

const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, TYPE_VLAN | TYPE_SERVICE_VLAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_of_a_tagged_header_is_truncated() {
        let header = EthernetHeader {
            destination: MacAddress::BROADCAST,
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            tags: [Some(Tag { tag_type: TYPE_SERVICE_VLAN, control: 0xd007 }), None],
            ether_type: TYPE_IPV4,
        };
        let mut buffer = [0; 20];
        let mut writer = ByteWriter::new(&mut buffer);
        header.emit(&mut writer);
        let len = writer.len();
        assert_eq!(len, header.len());
        for cut in 0..len {
            assert_eq!(
                EthernetHeader::parse(&buffer[..cut]),
                Err(PacketDefect::Truncated),
                "{cut}"
            );
        }
        assert_eq!(EthernetHeader::parse(&buffer[..len]), Ok((header, &[][..])));
        let tag = header.tags[0].unwrap();
        assert_eq!((tag.vlan(), tag.priority(), tag.is_drop_eligible()), (7, 6, true));
    }

    #[test]
    fn a_third_tag_is_refused() {
        let mut frame = [0; 30];
        for at in [12, 16, 20] {
            frame[at..at + 2].copy_from_slice(&TYPE_VLAN.to_be_bytes());
        }
        assert_eq!(EthernetHeader::parse(&frame), Err(PacketDefect::TooManyTags));
    }
}
