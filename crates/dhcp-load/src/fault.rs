//! Faults of replies and refusals by servers, for DHCPv4 and DHCPv6, with their names and their
//! indexes in records.

/// Error for a datagram that is no DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDhcpMessage;

base::named! {
    /// Fault of a DHCP server's reply that belongs to an exchange. Names are those of records.
    pub enum ReplyFault {
        /// Fault of a DHCPv4 reply: `op` is not BOOTREPLY.
        Op = "op",
        /// Fault of a DHCPv4 reply: hardware type or length differ from the client's.
        Hardware = "hardware",
        /// Fault of a reply: its relay address (`giaddr`, link address) differs from the request's,
        /// or it came without the relay.
        Relay = "relay",
        /// Fault of a reply: its message type is not one that may answer the exchange's last
        /// request.
        Kind = "message_type",
        /// Fault of a reply: no address or prefix for a requested identity association, and no
        /// status code with the reason.
        NoAddress = "no_address",
        /// Fault of a DHCPv4 reply: the address of the DHCPACK is not the offered one.
        AddressChanged = "address_changed",
        /// Fault of a reply: it has no server identifier (DHCPv4 option 54, DHCPv6 option 2).
        NoServer = "no_server_identifier",
        /// Fault of a reply: the server identifier of the grant is not that of the offer.
        ServerChanged = "server_identifier_changed",
        /// Fault of a DHCPv4 reply: it has no lease time (option 51).
        NoLeaseTime = "no_lease_time",
        /// Fault of a DHCPv6 reply: it has no client identifier (RFC 9915 §16.3).
        NoClient = "no_client_identifier",
        /// Fault of a DHCPv6 reply: an identity association that the client did not request, or one
        /// of them twice.
        Association = "association",
        /// Fault of a DHCPv6 reply: it has the transaction identifier of the exchange's other
        /// request.
        Transaction = "transaction_identifier",
        /// Fault of a DHCPv6 reply: T1 is greater than T2 (RFC 9915 §21.4).
        Timers = "timers",
        /// Fault of a DHCPv6 reply: the preferred lifetime exceeds the valid lifetime (RFC 9915
        /// §21.6).
        Lifetimes = "lifetimes",
        /// Fault of a DHCPv6 ADVERTISE: it has more data than a REQUEST of the generator can
        /// repeat.
        TooLong = "too_long",
    }
}

base::named! {
    /// Reply with which a DHCP server refused a lease: a DHCPNAK, or a DHCPv6 status code. Names
    /// are those of records.
    pub enum ServerRefusal {
        /// Refusal by a DHCPNAK, in DHCPv4.
        Nak = "DHCPNAK",
        /// Refusal by DHCPv6 status 1, UnspecFail (RFC 9915 §21.13).
        UnspecFail = "UnspecFail",
        /// Refusal by DHCPv6 status 2, NoAddrsAvail (RFC 9915 §21.13).
        NoAddrsAvail = "NoAddrsAvail",
        /// Refusal by DHCPv6 status 3, NoBinding (RFC 9915 §21.13).
        NoBinding = "NoBinding",
        /// Refusal by DHCPv6 status 4, NotOnLink (RFC 9915 §21.13).
        NotOnLink = "NotOnLink",
        /// Refusal by DHCPv6 status 5, UseMulticast (RFC 9915 §21.13).
        UseMulticast = "UseMulticast",
        /// Refusal by DHCPv6 status 6, NoPrefixAvail (RFC 9915 §21.13).
        NoPrefixAvail = "NoPrefixAvail",
        /// Refusal by any other DHCPv6 status than 1 to 6.
        OtherStatus = "other_status",
    }
}

impl ServerRefusal {
    /// Returns the refusal of a DHCPv6 status code; `None` for 0, success.
    pub const fn from_status(code: u16) -> Option<Self> {
        match code {
            0 => None,
            1..=6 => Some(Self::ALL[code as usize]),
            _ => Some(Self::OtherStatus),
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
