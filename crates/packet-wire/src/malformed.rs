//! The reasons why a header was refused. The peer causes them, so a reason is a small value to
//! count.

use core::fmt;

/// A defect of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketDefect {
    /// The packet ends before the header does, or before the length that the header states.
    Truncated,
    /// The version field names another protocol.
    Version,
    /// The stated header length or total length is impossible.
    Length,
    /// The checksum does not match.
    Checksum,
    /// The frame has more VLAN tags than the parser reads through ([`crate::ethernet::TAGS_MAX`]).
    TooManyTags,
    /// The packet is a fragment, where a whole datagram is expected.
    Fragment,
    /// The packet is of another protocol than the expected one.
    Protocol,
}

impl PacketDefect {
    /// All reasons, in the order of [`PacketDefect::index`].
    pub const ALL: [Self; 7] = [
        Self::Truncated,
        Self::Version,
        Self::Length,
        Self::Checksum,
        Self::TooManyTags,
        Self::Fragment,
        Self::Protocol,
    ];

    /// Returns the position in [`PacketDefect::ALL`], for counters kept as an array.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns a short name for counters: lower case, words joined by hyphens.
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
