//! Reasons to drop a DCCP packet that does not parse. The peer is to blame, so the reason is a
//! small value that can be counted.

use core::fmt;

/// Defect of a packet that step 1 of RFC 4340 §8.5 finds. The receiver drops such a packet without
/// a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DccpPacketDefect {
    /// Packet shorter than 12 bytes, or shorter than its type and its X bit require.
    Truncated,
    /// Packet of a reserved type, 10 to 15 (RFC 4340 §5.1).
    Type,
    /// Packet with 24-bit sequence numbers of a type that must have 48 bits.
    ShortSequence,
    /// Packet whose Data Offset is less than the header length of its type, or beyond the end of
    /// the packet.
    DataOffset,
    /// Packet whose checksum coverage is more data than it has (RFC 4340 §9.2).
    Coverage,
    /// Packet whose checksum does not match (RFC 4340 §9).
    Checksum,
}

impl DccpPacketDefect {
    /// Every packet defect, in the order of [`DccpPacketDefect::index`].
    pub const ALL: [Self; 6] = [
        Self::Truncated,
        Self::Type,
        Self::ShortSequence,
        Self::DataOffset,
        Self::Coverage,
        Self::Checksum,
    ];

    /// Returns the position of the defect in [`DccpPacketDefect::ALL`], for counters kept as an
    /// array.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns a short name of the defect for counters: lower case, words joined by hyphens.
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
