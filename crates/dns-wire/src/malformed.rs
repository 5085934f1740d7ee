//! Reasons to refuse a DNS message: errors of the peer, each a small value that can be counted.

use core::fmt;

/// Defect for which a DNS message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DnsMessageDefect {
    /// The message is shorter than a DNS header (RFC 1035 section 4.1.1).
    Header,
    /// The message ends within a question or a record that its header announces.
    Truncated,
    /// The first two bits of a name's label are 01 or 10 (RFC 1035 section 4.1.4, RFC 6891 section
    /// 5).
    Label,
    /// A compression pointer in a name does not point to bytes before it.
    Pointer,
    /// A name has more than 255 bytes (RFC 1035 section 3.1).
    NameTooLong,
    /// Bytes follow the last record of the message.
    Trailing,
    /// The message has a second OPT record, or one that is not in the additional section or not of
    /// the root (RFC 6891 section 6.1.1).
    Opt,
}

impl DnsMessageDefect {
    /// Every defect of a DNS message, in the order of [`DnsMessageDefect::index`].
    pub const ALL: [Self; 7] = [
        Self::Header,
        Self::Truncated,
        Self::Label,
        Self::Pointer,
        Self::NameTooLong,
        Self::Trailing,
        Self::Opt,
    ];

    /// Returns the position of the defect in [`DnsMessageDefect::ALL`], for counters kept as an
    /// array.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns a short name of the defect for counters: lower case, words joined by hyphens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Truncated => "truncated",
            Self::Label => "label",
            Self::Pointer => "pointer",
            Self::NameTooLong => "name-too-long",
            Self::Trailing => "trailing",
            Self::Opt => "opt",
        }
    }
}

impl fmt::Display for DnsMessageDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for DnsMessageDefect {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (position, reason) in DnsMessageDefect::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), position);
        }
    }
}
