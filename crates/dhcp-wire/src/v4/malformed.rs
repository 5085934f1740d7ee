//! Why a datagram is no DHCPv4 message: the peer's doing, so a small value to count.

use crate::shared::reasons;

reasons! {
    /// What was wrong with a datagram.
    ///
    /// The line is that of Kea, found by asking 2.2
    /// (`conformance/vectors/dhcp4/kea-verdicts.txt`) and in the source of 3.1.9 and later: what it
    /// drops unread is refused here, and what it answers is taken, such as an option that the end of
    /// the datagram cuts off ([`super::Message::is_cut`]), nonsense in option 52, or, under
    /// [`crate::Parsing::Lenient`], octets behind the four of a requested address. Three things that Kea lets pass are refused, since no client sends them: an
    /// operation that does not exist, a hardware address longer than its field and a message type
    /// of several octets. An option of one number, address or truth value that is said again with the same
    /// value is taken, as in Kea; with another value it is too long, since it is not known which one is
    /// meant. Split options and those in `file` and `sname`, which Kea 2.2 does not put
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
        /// An option has a length that its definition does not allow.
        OptionLength = "option-length",
        /// Option 81 wants and does not want entries (RFC 4702 §2.1), or its name is none.
        ClientFqdn = "client-fqdn",
        /// An option that is made of domain names has something else in it.
        DomainName = "domain-name",
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
