//! Reasons why a packet was refused. The peer causes them, so a reason is a small value to count.

base::reasons! {
    /// Defect of a packet for which a parser refuses it.
    pub enum PacketDefect {
        /// Packet that ends before its header does, or before the length that its header states.
        Truncated = "truncated",
        /// Version field that names a protocol other than the expected one.
        Version = "version",
        /// Header length or total length that is impossible.
        Length = "length",
        /// Checksum that does not match the packet.
        Checksum = "checksum",
        /// Frame with more VLAN tags than the parser accepts ([`crate::ethernet::TAGS_MAX`]).
        TooManyTags = "too-many-tags",
        /// Fragment where a whole datagram is expected.
        Fragment = "fragment",
        /// Packet of a protocol other than the expected one.
        Protocol = "protocol",
    }
}
