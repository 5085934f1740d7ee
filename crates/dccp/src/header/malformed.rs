//! Why a packet is not looked at: the peer's doing, so a small value to count.

use core::fmt;

/// What step 1 of RFC 4340 §8.5 found wrong with a packet. Each of them is dropped in silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// Fewer than 12 octets, or fewer than its type and its X bit ask for.
    Truncated,
    /// A reserved packet type.
    Type,
    /// 24-bit sequence numbers on a type that must have 48 bits.
    ShortSequence,
    /// Data Offset is below the header of the type or behind the end of the packet.
    DataOffset,
    /// The checksum covers more data than there is (§9.2).
    Coverage,
    /// The checksum does not match (§9).
    Checksum,
}

impl Malformed {
    /// Every reason, in the order of [`Malformed::index`].
    pub const ALL: [Self; 6] = [
        Self::Truncated,
        Self::Type,
        Self::ShortSequence,
        Self::DataOffset,
        Self::Coverage,
        Self::Checksum,
    ];

    /// Position in [`Malformed::ALL`], for counters kept as an array.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// A short name for counters: lower case, words joined by hyphens.
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

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (position, reason) in Malformed::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), position);
        }
    }
}
