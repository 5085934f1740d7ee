//! Why a datagram is no DHCPv4 message: the peer's doing, so a small value to count.

use crate::shared::reasons;

reasons! {
    /// What was wrong with a datagram.
    ///
    /// The line is that of Kea 2.2, found by asking it
    /// (`conformance/vectors/dhcp4/kea-verdicts.txt`): what it drops unread is refused here, and
    /// what it answers is taken, such as an option that the end of the datagram cuts off
    /// ([`super::Message::is_cut`]), octets behind the four of a requested address, or nonsense in
    /// option 52. Three things that Kea lets pass are refused, since no client sends them: an
    /// operation that does not exist, a hardware address longer than its field and a message type
    /// of several octets. Split options and those in `file` and `sname`, which Kea 2.2 does not put
    /// together, are read.
    pub enum Malformed {
        /// Shorter than the fixed header and the cookie.
        TooShort = "too-short",
        /// Longer than any UDP datagram.
        TooLong = "too-long",
        /// `op` is neither a request nor a reply.
        Operation = "operation",
        /// `hlen` is above 16.
        HardwareLength = "hardware-length",
        /// The cookie is not that of RFC 2131 §3: plain BOOTP, or no such message at all.
        Cookie = "cookie",
        /// More than [`super::INSTANCES_MAX`] options.
        TooManyOptions = "too-many-options",
        /// The message type (option 53) does not have one octet.
        MessageTypeLength = "message-type-length",
        /// The message type is not registered.
        UnknownMessageType = "unknown-message-type",
        /// An option that servers read has a length that its definition does not allow.
        OptionLength = "option-length",
    }
}

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
