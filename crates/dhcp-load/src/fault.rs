//! Faults of replies and refusals by servers, for both families, with their names and their indexes
//! in records.

/// Error for a datagram that is no DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDhcpMessage;

/// Fault of a reply that belongs to an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyFault {
    /// DHCPv4: `op` is not BOOTREPLY.
    Op,
    /// DHCPv4: hardware type or length differ from the client's.
    Hardware,
    /// The relay address differs from the request's: another relay, another link, or direct for
    /// relayed.
    Relay,
    /// The message type is not one that this stage expects.
    Kind,
    /// No address or prefix for a requested association, and no status with the reason.
    NoAddress,
    /// DHCPv4: the ACK's address is not the offered one.
    AddressChanged,
    /// No server identifier.
    NoServer,
    /// The server identifier of the last reply is not that of the first.
    ServerChanged,
    /// DHCPv4: no lease time.
    NoLeaseTime,
    /// DHCPv6: no client identifier (RFC 9915 §16.3).
    NoClient,
    /// DHCPv6: an identity association that the client did not request, or one of them twice.
    Association,
    /// DHCPv6: the transaction identifier of the exchange's other request.
    Transaction,
    /// DHCPv6: T1 is greater than T2 (RFC 9915 §21.4).
    Timers,
    /// DHCPv6: the preferred lifetime exceeds the valid one (RFC 9915 §21.6).
    Lifetimes,
    /// DHCPv6: more than a REQUEST can repeat.
    TooLong,
}

impl ReplyFault {
    /// All faults, by [`ReplyFault::index`].
    pub const ALL: [Self; 15] = [
        Self::Op,
        Self::Hardware,
        Self::Relay,
        Self::Kind,
        Self::NoAddress,
        Self::AddressChanged,
        Self::NoServer,
        Self::ServerChanged,
        Self::NoLeaseTime,
        Self::NoClient,
        Self::Association,
        Self::Transaction,
        Self::Timers,
        Self::Lifetimes,
        Self::TooLong,
    ];

    /// Returns the position in [`ReplyFault::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Hardware => "hardware",
            Self::Relay => "relay",
            Self::Kind => "message_type",
            Self::NoAddress => "no_address",
            Self::AddressChanged => "address_changed",
            Self::NoServer => "no_server_identifier",
            Self::ServerChanged => "server_identifier_changed",
            Self::NoLeaseTime => "no_lease_time",
            Self::NoClient => "no_client_identifier",
            Self::Association => "association",
            Self::Transaction => "transaction_identifier",
            Self::Timers => "timers",
            Self::Lifetimes => "lifetimes",
            Self::TooLong => "too_long",
        }
    }
}

/// Form in which a server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRefusal {
    /// DHCPv4: a DHCPNAK.
    Nak,
    /// Status 1 (RFC 9915 §21.13, like those below).
    UnspecFail,
    /// Status 2.
    NoAddrsAvail,
    /// Status 3.
    NoBinding,
    /// Status 4.
    NotOnLink,
    /// Status 5.
    UseMulticast,
    /// Status 6.
    NoPrefixAvail,
    /// Any other status.
    OtherStatus,
}

impl ServerRefusal {
    /// All refusals, by [`ServerRefusal::index`].
    pub const ALL: [Self; 8] = [
        Self::Nak,
        Self::UnspecFail,
        Self::NoAddrsAvail,
        Self::NoBinding,
        Self::NotOnLink,
        Self::UseMulticast,
        Self::NoPrefixAvail,
        Self::OtherStatus,
    ];

    /// Returns the refusal of a DHCPv6 status code; `None` for 0, success.
    #[must_use]
    pub const fn from_status(code: u16) -> Option<Self> {
        match code {
            0 => None,
            1..=6 => Some(Self::ALL[code as usize]),
            _ => Some(Self::OtherStatus),
        }
    }

    /// Returns the position in [`ServerRefusal::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name in records: the RFC's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nak => "DHCPNAK",
            Self::UnspecFail => "UnspecFail",
            Self::NoAddrsAvail => "NoAddrsAvail",
            Self::NoBinding => "NoBinding",
            Self::NotOnLink => "NotOnLink",
            Self::UseMulticast => "UseMulticast",
            Self::NoPrefixAvail => "NoPrefixAvail",
            Self::OtherStatus => "other_status",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_follow_the_lists_and_statuses_their_codes() {
        for (index, fault) in ReplyFault::ALL.into_iter().enumerate() {
            assert_eq!(fault.index(), index);
        }
        for (index, refusal) in ServerRefusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal.index(), index);
        }
        assert_eq!(ServerRefusal::from_status(0), None);
        assert_eq!(ServerRefusal::from_status(2), Some(ServerRefusal::NoAddrsAvail));
        assert_eq!(ServerRefusal::from_status(6), Some(ServerRefusal::NoPrefixAvail));
        assert_eq!(ServerRefusal::from_status(7), Some(ServerRefusal::OtherStatus));
    }
}
