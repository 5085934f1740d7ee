//! Why a header was refused: the peer's doing, so a small value to count.

use core::fmt;

/// What was wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// It ends before the header does, or before the length that the header states.
    Truncated,
    /// The version field names another protocol.
    Version,
    /// The stated header or total length cannot be.
    Length,
    /// The checksum does not match.
    Checksum,
    /// More VLAN tags than are looked through ([`crate::ethernet::TAGS_MAX`]).
    TooManyTags,
    /// A fragment, where a whole datagram is wanted.
    Fragment,
    /// Another protocol than the one that is wanted.
    Protocol,
}

impl Malformed {
    /// Every reason, in the order of [`Malformed::index`].
    pub const ALL: [Self; 7] = [
        Self::Truncated,
        Self::Version,
        Self::Length,
        Self::Checksum,
        Self::TooManyTags,
        Self::Fragment,
        Self::Protocol,
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
            Self::Version => "version",
            Self::Length => "length",
            Self::Checksum => "checksum",
            Self::TooManyTags => "too-many-tags",
            Self::Fragment => "fragment",
            Self::Protocol => "protocol",
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
