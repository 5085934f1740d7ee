//! Why a datagram is no DHCPv6 message: the peer's doing, so a small value to count.

use crate::shared::reasons;

reasons! {
    /// What was wrong with a datagram.
    ///
    /// The line is that of Kea, found by asking 2.2
    /// (`conformance/vectors/dhcp6/kea-verdicts.txt`) and in the source of 3.1.9 and later: an option that is read, in the message, in an
    /// IA or in what is leased there, makes the whole packet malformed when it is too short for its
    /// fixed part; an option that the end of its place cuts off counts as not sent
    /// ([`super::Message::is_cut`]), with the rest of that place. Unlike Kea, DUIDs may have the 130
    /// octets of RFC 9915 §11.1, and RELAY-FORW inside of RELAY-REPL and the 33rd level are refused,
    /// since nobody sends them.
    pub enum Malformed {
        /// Shorter than the fixed part of a message, or of a relay level.
        TooShort = "too-short",
        /// Longer than any UDP datagram.
        TooLong = "too-long",
        /// The message type is not registered.
        UnknownMessageType = "unknown-message-type",
        /// More than [`super::RELAYS_MAX`] relay levels.
        TooManyRelays = "too-many-relays",
        /// RELAY-FORW and RELAY-REPL levels in one packet.
        MixedRelays = "mixed-relays",
        /// A relay level without a message in it, or with one that is cut off.
        NoRelayMessage = "no-relay-message",
        /// More than [`super::OPTIONS_MAX`] options.
        TooManyOptions = "too-many-options",
        /// An option has a length that its definition does not allow.
        OptionLength = "option-length",
        /// An IA, or an option that is read in one, has a length that its definition does not allow.
        IaLength = "ia-length",
        /// Option 39 wants and does not want entries (RFC 4704 §4.1), or its name is none.
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
