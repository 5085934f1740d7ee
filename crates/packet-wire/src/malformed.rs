//! Reasons why a packet was refused. The peer causes them, so a reason is a small value to count.

use core::fmt;

/// Defect of a packet for which a parser refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketDefect {
    /// Packet that ends before its header does, or before the length that its header states.
    Truncated,
    /// Version field that names a protocol other than the expected one.
    Version,
    /// Header length or total length that is impossible.
    Length,
    /// Checksum that does not match the packet.
    Checksum,
    /// Frame with more VLAN tags than the parser accepts ([`crate::ethernet::TAGS_MAX`]).
    TooManyTags,
    /// Fragment where a whole datagram is expected.
    Fragment,
    /// Packet of a protocol other than the expected one.
    Protocol,
}

impl PacketDefect {
    /// All defects of packets, in the order of [`PacketDefect::index`].
    pub const ALL: [Self; 7] = [
        Self::Truncated,
        Self::Version,
        Self::Length,
        Self::Checksum,
        Self::TooManyTags,
        Self::Fragment,
        Self::Protocol,
    ];

    /// Returns the position of the defect in [`PacketDefect::ALL`], for counters kept as an array.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the short name of the defect for counters: lower case, words joined by hyphens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Version => "version",
            Self::Length => "length",
            Self::Checksum => "checksum",
            Self::TooManyTags => "too-many-tags",
            Self::Fragment => "fragment",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for PacketDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for PacketDefect {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (position, reason) in PacketDefect::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), position);
        }
    }
}
