//! Reasons why a datagram is no DHCPv4 message. The peer causes them, so each is a small value to
//! count, without a text.

base::reasons! {
    /// Fault for which a datagram is refused as a DHCPv4 message.
    ///
    /// The criteria are Kea's, determined by tests of 2.2
    /// (`conformance/vectors/dhcp4/kea-verdicts.txt`) and from the source of 3.1.9 and later:
    /// messages that Kea drops unread are refused here, and messages that it answers are accepted,
    /// such as one with an option that the end of the datagram cuts off
    /// ([`super::Message::is_cut`]), with nonsense in option 52, or, under
    /// [`crate::OptionParsing::Lenient`], with bytes after the four of a requested address. Three
    /// faults that Kea accepts are refused, since no client sends them: an operation that does not
    /// exist, a hardware address longer than its field and a message type of several bytes. An
    /// option of one number, address or truth value that is repeated with the same value is
    /// accepted, as in Kea; a repetition with another value is refused as an option that is too
    /// long, since nobody knows which value is meant. Split options and those in `file` and
    /// `sname`, which Kea 2.2 does not join, are read.
    pub enum Malformed {
        /// Datagram shorter than the fixed DHCPv4 header and the magic cookie.
        TooShort = "too-short",
        /// Datagram longer than any UDP datagram.
        TooLong = "too-long",
        /// Value of the header field `op` that is neither a request nor a reply.
        Operation = "operation",
        /// Value of the header field `hlen` above 16.
        HardwareLength = "hardware-length",
        /// Magic cookie other than that of RFC 2131 §3: plain BOOTP, or no such message at all.
        Cookie = "cookie",
        /// Message with more than [`super::INSTANCES_MAX`] options.
        TooManyOptions = "too-many-options",
        /// Message type (option 53) that does not have one byte.
        MessageTypeLength = "message-type-length",
        /// Message type (option 53) that is not registered.
        UnknownMessageType = "unknown-message-type",
        /// DHCPv4 option with a length that its definition does not permit.
        OptionLength = "option-length",
        /// Client FQDN (option 81) that requests and refuses entries (RFC 4702 §2.1), or whose name
        /// is invalid.
        ClientFqdn = "client-fqdn",
        /// DHCPv4 option for domain names with other contents.
        DomainName = "domain-name",
    }
}
