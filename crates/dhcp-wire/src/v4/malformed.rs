//! Why a datagram is no DHCPv4 message: the peer's doing, so a small value to count.

use core::fmt;

/// What was wrong with a datagram.
///
/// The line is that of Kea 2.2, found by asking it (`conformance/vectors/dhcp4/kea-verdicts.txt`):
/// what it drops unread is refused here, and what it answers is taken, such as an option that the
/// end of the datagram cuts off ([`super::Message::is_cut`]), octets behind the four of a requested
/// address, or nonsense in option 52. Three things that Kea lets pass are refused, since no client
/// sends them: an operation that does not exist, a hardware address longer than its field and a
/// message type of several octets. Split options and those in `file` and `sname`, which Kea 2.2
/// does not put together, are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// Shorter than the fixed header and the cookie.
    TooShort,
    /// Longer than any UDP datagram.
    TooLong,
    /// `op` is neither a request nor a reply.
    Operation,
    /// `hlen` is above 16.
    HardwareLength,
    /// The cookie is not that of RFC 2131 §3: plain BOOTP, or no such message at all.
    Cookie,
    /// More than [`super::INSTANCES_MAX`] options.
    TooManyOptions,
    /// The message type (option 53) does not have one octet.
    MessageTypeLength,
    /// The message type is not registered.
    UnknownMessageType,
    /// An option that servers read has a length that its definition does not allow.
    OptionLength,
}

impl Malformed {
    /// Every reason, in the order of [`Malformed::index`].
    pub const ALL: [Self; 9] = [
        Self::TooShort,
        Self::TooLong,
        Self::Operation,
        Self::HardwareLength,
        Self::Cookie,
        Self::TooManyOptions,
        Self::MessageTypeLength,
        Self::UnknownMessageType,
        Self::OptionLength,
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
            Self::TooShort => "too-short",
            Self::TooLong => "too-long",
            Self::Operation => "operation",
            Self::HardwareLength => "hardware-length",
            Self::Cookie => "cookie",
            Self::TooManyOptions => "too-many-options",
            Self::MessageTypeLength => "message-type-length",
            Self::UnknownMessageType => "unknown-message-type",
            Self::OptionLength => "option-length",
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
