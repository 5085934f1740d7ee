//! Reset codes: reasons why an end resets a connection (RFC 4340 §5.6, Table 2).

use core::fmt;

/// Code of a Reset: the reason why a connection ended. An unknown code keeps its number and has the
/// meaning of [`ResetCode::Unspecified`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetCode {
    /// Reset that gives no reason (code 0).
    Unspecified,
    /// Normal end of a connection, in answer to a Close.
    Closed,
    /// Connection that the sender of the Reset gave up, for instance after a timeout.
    Aborted,
    /// Packet for a connection that does not exist, or for one that does not accept such packets.
    NoConnection,
    /// Packet of a type that the connection's state does not allow; byte Data 1 of the Reset is its
    /// type.
    PacketError,
    /// Option with an impossible value; byte Data 1 of the Reset is the option's type, Data 2 and 3
    /// begin its value.
    OptionError,
    /// Mandatory option that the receiver cannot honour; the Reset's data are as for
    /// [`ResetCode::OptionError`].
    MandatoryError,
    /// Request to a DCCP port without a listener.
    ConnectionRefused,
    /// Request for a service code that no listener at the port accepts.
    BadServiceCode,
    /// Request to a server that has too many connections.
    TooBusy,
    /// Init Cookie that the client returned changed, or did not return.
    BadInitCookie,
    /// Violation of congestion control by the end that gets the Reset.
    AggressionPenalty,
    /// Reset code of a congestion control (128 to 255), or a reserved one.
    Other(u8),
}

impl ResetCode {
    /// Reset codes with a name, each at the position of its number.
    const NAMED: [(Self, &'static str); 12] = [
        (Self::Unspecified, "Unspecified"),
        (Self::Closed, "Closed"),
        (Self::Aborted, "Aborted"),
        (Self::NoConnection, "No Connection"),
        (Self::PacketError, "Packet Error"),
        (Self::OptionError, "Option Error"),
        (Self::MandatoryError, "Mandatory Error"),
        (Self::ConnectionRefused, "Connection Refused"),
        (Self::BadServiceCode, "Bad Service Code"),
        (Self::TooBusy, "Too Busy"),
        (Self::BadInitCookie, "Bad Init Cookie"),
        (Self::AggressionPenalty, "Aggression Penalty"),
    ];

    /// Returns the Reset code of a number on the wire.
    pub const fn from_number(number: u8) -> Self {
        if (number as usize) < Self::NAMED.len() {
            Self::NAMED[number as usize].0
        } else {
            Self::Other(number)
        }
    }

    /// Returns the Reset code's number on the wire.
    pub fn number(self) -> u8 {
        if let Self::Other(number) = self {
            return number;
        }
        let position = Self::NAMED.iter().position(|(code, _)| *code == self);
        position.expect("every other Reset code has a name") as u8
    }

    /// Returns the Reset code's name as RFC 4340 §5.6, Table 2, writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other(128..) => "CCID-specific",
            Self::Other(_) => "Reserved",
            named => Self::NAMED[usize::from(named.number())].1,
        }
    }
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Content of a Reset packet (RFC 4340 §5.6): its code and the bytes Data 1 to 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reset {
    /// Code of the Reset: the reason why it was sent.
    pub code: ResetCode,
    /// Bytes Data 1 to 3 of the Reset: the subject of its code, if it has one; otherwise zeros.
    pub data: [u8; 3],
}

impl Reset {
    /// Returns a Reset with the code `code` and no data.
    pub const fn plain(code: ResetCode) -> Self {
        Self { code, data: [0; 3] }
    }

    /// Returns a Reset about an option: its data are the option's type and the first two bytes of
    /// its value (RFC 4340 §5.6).
    pub fn about_option(code: ResetCode, number: u8, value: &[u8]) -> Self {
        let octet = |index: usize| value.get(index).copied().unwrap_or(0);
        Self { code, data: [number, octet(0), octet(1)] }
    }

    /// Returns a Reset about a packet that the connection's state does not allow (RFC 4340 §5.6,
    /// code 4).
    pub const fn about_packet(packet_type: super::PacketType) -> Self {
        Self { code: ResetCode::PacketError, data: [packet_type.number(), 0, 0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_one_to_one() {
        for number in 0..=255 {
            assert_eq!(ResetCode::from_number(number).number(), number);
        }
        assert_eq!(ResetCode::from_number(11), ResetCode::AggressionPenalty);
        assert_eq!(ResetCode::from_number(12), ResetCode::Other(12));
    }
}
