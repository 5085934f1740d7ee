//! Why a datagram is no DHCPv6 message: the peer's doing, so a small value to count.

use crate::shared::reasons;

reasons! {
    /// What was wrong with a datagram.
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
        /// An option that is read has a length that its definition does not allow.
        OptionLength = "option-length",
        /// An IA, or an option that is read in one, has a length that its definition does not allow.
        IaLength = "ia-length",
        /// A prefix of more than 128 bits.
        PrefixLength = "prefix-length",
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
