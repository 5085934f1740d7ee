//! Reasons why a datagram is no DHCPv6 message. The peer causes them, so each is a small value to
//! count, without a text.

base::reasons! {
    /// Fault for which a datagram is refused as a DHCPv6 packet.
    ///
    /// The criteria are Kea's, determined by tests of 2.2
    /// (`conformance/vectors/dhcp6/kea-verdicts.txt`) and from the source of 3.1.9 and later: an
    /// option that is read, be it in the message, in an IA or in an address or prefix there, makes
    /// the whole packet malformed when it is too short for its fixed part; an option that the end
    /// of the message or of the option around it cuts off counts as not sent
    /// ([`super::Message::is_cut`]). Unlike in Kea, DUIDs may have the 130 bytes of RFC 9915 §11.1,
    /// and RELAY-FORW inside of RELAY-REPL (or the reverse) and a 33rd relay level are refused,
    /// since no relay agent sends them.
    pub enum Malformed {
        /// Datagram shorter than the fixed part of a DHCPv6 message (4 bytes), or of a relay level
        /// (34 bytes).
        TooShort = "too-short",
        /// Datagram longer than any UDP datagram.
        TooLong = "too-long",
        /// DHCPv6 message type that is not registered.
        UnknownMessageType = "unknown-message-type",
        /// Packet with more than [`super::RELAYS_MAX`] relay levels (RELAY-FORW or RELAY-REPL)
        /// around the message.
        TooManyRelays = "too-many-relays",
        /// DHCPv6 packet with both RELAY-FORW and RELAY-REPL around the message.
        MixedRelays = "mixed-relays",
        /// RELAY-FORW or RELAY-REPL without a Relay Message (option 9), or with one that is cut
        /// off.
        NoRelayMessage = "no-relay-message",
        /// Packet with more than [`super::OPTIONS_MAX`] options.
        TooManyOptions = "too-many-options",
        /// DHCPv6 option with a length that its definition does not permit.
        OptionLength = "option-length",
        /// Identity association, or an option that is read in one, with a length that its
        /// definition does not permit.
        IaLength = "ia-length",
        /// Client FQDN (option 39) that requests and refuses entries (RFC 4704 §4.1), or whose name
        /// is invalid.
        ClientFqdn = "client-fqdn",
        /// DHCPv6 option for domain names with other contents.
        DomainName = "domain-name",
    }
}
