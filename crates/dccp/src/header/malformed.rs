//! Reasons to drop a packet that does not parse. The peer is to blame, so the reason is a small
//! value that can be counted.

use core::fmt;

/// A defect that step 1 of RFC 4340 §8.5 finds in a packet. The receiver drops such a packet
/// without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DccpPacketDefect {
    /// A packet shorter than 12 bytes, or shorter than its type and its X bit require.
    Truncated,
    /// A reserved packet type.
    Type,
    /// 24-bit sequence numbers on a type that must have 48 bits.
    ShortSequence,
    /// A Data Offset below the header length of the type or beyond the end of the packet.
    DataOffset,
    /// A checksum coverage of more data than there is (§9.2).
    Coverage,
    /// A checksum that does not match (§9).
    Checksum,
}

impl DccpPacketDefect {
    /// Every reason, in the order of [`DccpPacketDefect::index`].
    pub const ALL: [Self; 6] = [
        Self::Truncated,
        Self::Type,
        Self::ShortSequence,
        Self::DataOffset,
        Self::Coverage,
        Self::Checksum,
    ];

    /// Returns the position in [`DccpPacketDefect::ALL`], for counters kept as an array.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns a short name for counters: lower case, words joined by hyphens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Type => "type",
            Self::ShortSequence => "short-sequence",
            Self::DataOffset => "data-offset",
            Self::Coverage => "coverage",
            Self::Checksum => "checksum",
        }
    }
}

impl fmt::Display for DccpPacketDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for DccpPacketDefect {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (position, reason) in DccpPacketDefect::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), position);
        }
    }
}
