//! The ten packet types (RFC 4340 §5.1, Table 1) and the fields that each of them carries.

/// Purpose of a packet. Types 10 to 15 are reserved; packets with them do not parse (§5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// First packet of a connection, from the client (§5.2).
    Request = 0,
    /// The server's answer to a Request (§5.3).
    Response = 1,
    /// Application data (§5.4).
    Data = 2,
    /// An acknowledgement without data (§5.4).
    Ack = 3,
    /// Data with an acknowledgement (§5.4).
    DataAck = 4,
    /// Request of the server that the client close (§5.5).
    CloseReq = 5,
    /// Request to close the connection, answered with a Reset (§5.5).
    Close = 6,
    /// End of the connection, normal or not (§5.6).
    Reset = 7,
    /// Request for the current sequence numbers (§5.7).
    Sync = 8,
    /// Answer to a Sync (§5.7).
    SyncAck = 9,
}

impl PacketType {
    /// Every type, in the order of its number.
    pub const ALL: [Self; 10] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
    ];

    /// Returns the type for a number on the wire; `None` for the reserved ones.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        if number < 10 { Some(Self::ALL[number as usize]) } else { None }
    }

    /// Returns the number on the wire, 0 to 9.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the name without its prefix, as the RFC writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Response => "Response",
            Self::Data => "Data",
            Self::Ack => "Ack",
            Self::DataAck => "DataAck",
            Self::CloseReq => "CloseReq",
            Self::Close => "Close",
            Self::Reset => "Reset",
            Self::Sync => "Sync",
            Self::SyncAck => "SyncAck",
        }
    }

    /// Returns true if an acknowledgement number follows the generic header: on all but Request and
    /// Data.
    #[must_use]
    pub const fn has_acknowledgement(self) -> bool {
        !matches!(self, Self::Request | Self::Data)
    }

    /// Returns true if a service code follows the generic header: on Request and Response.
    #[must_use]
    pub const fn has_service_code(self) -> bool {
        matches!(self, Self::Request | Self::Response)
    }

    /// Returns true if the application data area belongs to the application. In the other types
    /// that area is padding or, in a Reset, text about the error (§5.1).
    #[must_use]
    pub const fn carries_data(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }

    /// Returns true if NDP Count treats the type as a data packet (§7.7): the types that carry
    /// data, or may.
    #[must_use]
    pub const fn is_data_packet(self) -> bool {
        self.carries_data()
    }

    /// Returns true if the type may have 24-bit sequence numbers, X = 0 (§5.1).
    #[must_use]
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Returns the length of the header before the options, in bytes.
    #[must_use]
    pub const fn fixed_len(self, is_extended: bool) -> usize {
        let (generic, acknowledgement) = if is_extended { (16, 8) } else { (12, 4) };
        let mut len = generic;
        if self.has_acknowledgement() {
            len += acknowledgement;
        }
        if self.has_service_code() || matches!(self, Self::Reset) {
            len += 4;
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_are_one_to_one() {
        for number in 0..=255 {
            let packet_type = PacketType::from_number(number);
            assert_eq!(packet_type.is_some(), number < 10, "{number}");
            assert!(packet_type.is_none_or(|t| t.number() == number));
        }
    }

    #[test]
    fn fixed_lengths_are_those_of_section_5() {
        let lens = PacketType::ALL.map(|t| t.fixed_len(true));
        assert_eq!(lens, [20, 28, 16, 24, 24, 24, 24, 28, 24, 24]);
        let short = [PacketType::Data, PacketType::Ack, PacketType::DataAck];
        assert_eq!(short.map(|t| t.fixed_len(false)), [12, 16, 16]);
    }
}
