//! Faults of replies and refusals by servers, for DHCPv4 and DHCPv6, with their names and their
//! indexes in records.

/// Error for a datagram that is no DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDhcpMessage;

/// Fault of a DHCP server's reply that belongs to an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyFault {
    /// Fault of a DHCPv4 reply: `op` is not BOOTREPLY.
    Op,
    /// Fault of a DHCPv4 reply: hardware type or length differ from the client's.
    Hardware,
    /// Fault of a reply: its relay address (`giaddr`, link address) differs from the request's, or
    /// it came without the relay.
    Relay,
    /// Fault of a reply: its message type is not one that may answer the exchange's last request.
    Kind,
    /// Fault of a reply: no address or prefix for a requested identity association, and no status
    /// code with the reason.
    NoAddress,
    /// Fault of a DHCPv4 reply: the address of the DHCPACK is not the offered one.
    AddressChanged,
    /// Fault of a reply: it has no server identifier (DHCPv4 option 54, DHCPv6 option 2).
    NoServer,
    /// Fault of a reply: the server identifier of the grant is not that of the offer.
    ServerChanged,
    /// Fault of a DHCPv4 reply: it has no lease time (option 51).
    NoLeaseTime,
    /// Fault of a DHCPv6 reply: it has no client identifier (RFC 9915 §16.3).
    NoClient,
    /// Fault of a DHCPv6 reply: an identity association that the client did not request, or one of
    /// them twice.
    Association,
    /// Fault of a DHCPv6 reply: it has the transaction identifier of the exchange's other request.
    Transaction,
    /// Fault of a DHCPv6 reply: T1 is greater than T2 (RFC 9915 §21.4).
    Timers,
    /// Fault of a DHCPv6 reply: the preferred lifetime exceeds the valid lifetime (RFC 9915 §21.6).
    Lifetimes,
    /// Fault of a DHCPv6 ADVERTISE: it has more data than a REQUEST of the generator can repeat.
    TooLong,
}

impl ReplyFault {
    /// All faults of replies, by [`ReplyFault::index`].
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

    /// Returns the position of the fault in [`ReplyFault::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of the fault in records.
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

/// Reply with which a DHCP server refused a lease: a DHCPNAK, or a DHCPv6 status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRefusal {
    /// Refusal by a DHCPNAK, in DHCPv4.
    Nak,
    /// Refusal by DHCPv6 status 1, UnspecFail (RFC 9915 §21.13).
    UnspecFail,
    /// Refusal by DHCPv6 status 2, NoAddrsAvail (RFC 9915 §21.13).
    NoAddrsAvail,
    /// Refusal by DHCPv6 status 3, NoBinding (RFC 9915 §21.13).
    NoBinding,
    /// Refusal by DHCPv6 status 4, NotOnLink (RFC 9915 §21.13).
    NotOnLink,
    /// Refusal by DHCPv6 status 5, UseMulticast (RFC 9915 §21.13).
    UseMulticast,
    /// Refusal by DHCPv6 status 6, NoPrefixAvail (RFC 9915 §21.13).
    NoPrefixAvail,
    /// Refusal by any other DHCPv6 status than 1 to 6.
    OtherStatus,
}

impl ServerRefusal {
    /// All refusals by servers, by [`ServerRefusal::index`].
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

    /// Returns the position of the refusal in [`ServerRefusal::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of the refusal in records, which is the RFC's.
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
