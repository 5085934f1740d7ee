//! Reasons to drop a DCCP packet that does not parse. The peer is to blame, so the reason is a
//! small value that can be counted.

base::reasons! {
    /// Defect of a packet that step 1 of RFC 4340 §8.5 finds. The receiver drops such a packet
    /// without a reply.
    pub enum DccpPacketDefect {
        /// Packet shorter than 12 bytes, or shorter than its type and its X bit require.
        Truncated = "truncated",
        /// Packet of a reserved type, 10 to 15 (RFC 4340 §5.1).
        Type = "type",
        /// Packet with 24-bit sequence numbers of a type that must have 48 bits.
        ShortSequence = "short-sequence",
        /// Packet whose Data Offset is less than the header length of its type, or beyond the end
        /// of the packet.
        DataOffset = "data-offset",
        /// Packet whose checksum coverage is more data than it has (RFC 4340 §9.2).
        Coverage = "coverage",
        /// Packet whose checksum does not match (RFC 4340 §9).
        Checksum = "checksum",
    }
}
