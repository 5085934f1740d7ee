//! Reasons to refuse a DNS message: errors of the peer, each a small value that can be counted.

base::reasons! {
    /// Defect for which a DNS message is refused.
    pub enum DnsMessageDefect {
        /// The message is shorter than a DNS header (RFC 1035 section 4.1.1).
        Header = "header",
        /// The message ends within a question or a record that its header announces.
        Truncated = "truncated",
        /// The first two bits of a name's label are 01 or 10 (RFC 1035 section 4.1.4, RFC 6891
        /// section 5).
        Label = "label",
        /// A compression pointer in a name does not point to bytes before it.
        Pointer = "pointer",
        /// A name has more than 255 bytes (RFC 1035 section 3.1).
        NameTooLong = "name-too-long",
        /// Bytes follow the last record of the message.
        Trailing = "trailing",
        /// The message has a second OPT record, or one that is not in the additional section or not
        /// of the root (RFC 6891 section 6.1.1).
        Opt = "opt",
    }
}
