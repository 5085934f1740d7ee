//! The ten DCCP packet types (RFC 4340 §5.1, Table 1) and the fields that each of them carries.

base::named! {
    /// Type of a DCCP packet: its purpose. Types 10 to 15 are reserved; packets with them do not
    /// parse (RFC 4340 §5.1). Names are those of RFC 4340, without the prefix "DCCP-".
    pub enum PacketType {
        /// Request: the first packet of a connection, from the client (RFC 4340 §5.2).
        Request = "Request",
        /// Response: the server's answer to a Request (RFC 4340 §5.3).
        Response = "Response",
        /// Data: application data without an acknowledgement (RFC 4340 §5.4).
        Data = "Data",
        /// Ack: an acknowledgement without data (RFC 4340 §5.4).
        Ack = "Ack",
        /// DataAck: application data with an acknowledgement (RFC 4340 §5.4).
        DataAck = "DataAck",
        /// CloseReq: the server's request that the client close the connection (RFC 4340 §5.5).
        CloseReq = "CloseReq",
        /// Close: a request to close the connection, which the other end answers with a Reset
        /// (RFC 4340 §5.5).
        Close = "Close",
        /// Reset: the end of the connection, normal or not (RFC 4340 §5.6).
        Reset = "Reset",
        /// Sync: a request for the current sequence numbers of the other end (RFC 4340 §5.7).
        Sync = "Sync",
        /// SyncAck: the answer to a Sync (RFC 4340 §5.7).
        SyncAck = "SyncAck",
    }
}

impl PacketType {
    /// Returns the packet type of a number on the wire; `None` for the reserved numbers.
    pub const fn from_number(number: u8) -> Option<Self> {
        if number < 10 { Some(Self::ALL[number as usize]) } else { None }
    }

    /// Returns the packet type's number on the wire, 0 to 9.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns true if packets of this type have an acknowledgement number: all but Request and
    /// Data.
    pub const fn has_acknowledgement(self) -> bool {
        !matches!(self, Self::Request | Self::Data)
    }

    /// Returns true if packets of this type have a service code: Request and Response.
    pub const fn has_service_code(self) -> bool {
        matches!(self, Self::Request | Self::Response)
    }

    /// Returns true if packets of this type carry data of the application. In the other types that
    /// area is padding or, in a Reset, text about the error (RFC 4340 §5.1).
    pub const fn carries_data(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }

    /// Returns true if NDP Count treats the packet type as a data packet (RFC 4340 §7.7): the types
    /// that carry data, or may.
    pub const fn is_data_packet(self) -> bool {
        self.carries_data()
    }

    /// Returns true if packets of this type may have 24-bit sequence numbers, X = 0
    /// (RFC 4340 §5.1).
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Returns the length of a packet's header before the options, in bytes.
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
