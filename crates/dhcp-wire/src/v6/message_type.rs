//! DHCPv6 message types: the first byte of a message.

base::coded! {
    first 1;
    /// DHCPv6 message type that is registered (IANA, "DHCPv6 Message Types").
    pub enum MessageType: u8 {
        /// SOLICIT, type 1: a client looks for servers (RFC 9915).
        Solicit = "SOLICIT",
        /// ADVERTISE, type 2: a server offers itself (RFC 9915).
        Advertise = "ADVERTISE",
        /// REQUEST, type 3: a client requests leases from one server (RFC 9915).
        Request = "REQUEST",
        /// CONFIRM, type 4: a client checks that its addresses fit the link (RFC 9915).
        Confirm = "CONFIRM",
        /// RENEW, type 5: a client extends leases with the server that leased them (RFC 9915).
        Renew = "RENEW",
        /// REBIND, type 6: a client extends leases with any server (RFC 9915).
        Rebind = "REBIND",
        /// REPLY, type 7: a server replies with leases or configuration (RFC 9915).
        Reply = "REPLY",
        /// RELEASE, type 8: a client releases leases (RFC 9915).
        Release = "RELEASE",
        /// DECLINE, type 9: a client found addresses in use by others (RFC 9915).
        Decline = "DECLINE",
        /// RECONFIGURE, type 10: a server makes a client send a request again (RFC 9915).
        Reconfigure = "RECONFIGURE",
        /// INFORMATION-REQUEST, type 11: a client requests configuration without leases (RFC 9915).
        InformationRequest = "INFORMATION-REQUEST",
        /// RELAY-FORW, type 12: a relay agent forwards a message to servers (RFC 9915).
        RelayForw = "RELAY-FORW",
        /// RELAY-REPL, type 13: a server sends a message to a client through a relay agent (RFC
        /// 9915).
        RelayRepl = "RELAY-REPL",
        /// LEASEQUERY, type 14: query for leases (RFC 5007).
        LeaseQuery = "LEASEQUERY",
        /// LEASEQUERY-REPLY, type 15: reply to a lease query (RFC 5007).
        LeaseQueryReply = "LEASEQUERY-REPLY",
        /// LEASEQUERY-DONE, type 16: end of the reply to a bulk lease query (RFC 5460).
        LeaseQueryDone = "LEASEQUERY-DONE",
        /// LEASEQUERY-DATA, type 17: further lease of a bulk lease query (RFC 5460).
        LeaseQueryData = "LEASEQUERY-DATA",
        /// RECONFIGURE-REQUEST, type 18: request of a relay agent for a RECONFIGURE (RFC 6977).
        ReconfigureRequest = "RECONFIGURE-REQUEST",
        /// RECONFIGURE-REPLY, type 19: reply to a RECONFIGURE-REQUEST (RFC 6977).
        ReconfigureReply = "RECONFIGURE-REPLY",
        /// DHCPV4-QUERY, type 20: DHCPv4 message to a server, carried over DHCPv6 (RFC 7341).
        Dhcpv4Query = "DHCPV4-QUERY",
        /// DHCPV4-RESPONSE, type 21: DHCPv4 message to a client, carried over DHCPv6 (RFC 7341).
        Dhcpv4Response = "DHCPV4-RESPONSE",
        /// ACTIVELEASEQUERY, type 22: query for changes of leases as they happen (RFC 7653).
        ActiveLeaseQuery = "ACTIVELEASEQUERY",
        /// STARTTLS, type 23: start of TLS on a connection for active lease queries (RFC 7653).
        StartTls = "STARTTLS",
        /// BNDUPD, type 24: a failover partner reports changed bindings (RFC 8156).
        BndUpd = "BNDUPD",
        /// BNDREPLY, type 25: reply to the binding updates of a failover partner (RFC 8156).
        BndReply = "BNDREPLY",
        /// POOLREQ, type 26: a failover partner requests addresses to allocate (RFC 8156).
        PoolReq = "POOLREQ",
        /// POOLRESP, type 27: addresses that a failover partner may allocate (RFC 8156).
        PoolResp = "POOLRESP",
        /// UPDREQ, type 28: a failover partner requests the updates that it has not seen (RFC
        /// 8156).
        UpdReq = "UPDREQ",
        /// UPDREQALL, type 29: a failover partner requests all bindings (RFC 8156).
        UpdReqAll = "UPDREQALL",
        /// UPDDONE, type 30: a failover partner has sent all requested updates (RFC 8156).
        UpdDone = "UPDDONE",
        /// CONNECT, type 31: opening of a failover connection (RFC 8156).
        Connect = "CONNECT",
        /// CONNECTREPLY, type 32: reply to the opening of a failover connection (RFC 8156).
        ConnectReply = "CONNECTREPLY",
        /// DISCONNECT, type 33: closing of a failover connection (RFC 8156).
        Disconnect = "DISCONNECT",
        /// STATE, type 34: state of a failover partner (RFC 8156).
        State = "STATE",
        /// CONTACT, type 35: sign that a failover partner is up (RFC 8156).
        Contact = "CONTACT",
        /// ADDR-REG-INFORM, type 36: a client registers an address that it chose (RFC 9686).
        AddrRegInform = "ADDR-REG-INFORM",
        /// ADDR-REG-REPLY, type 37: reply to the registration of an address (RFC 9686).
        AddrRegReply = "ADDR-REG-REPLY",
    }
}

impl MessageType {
    /// Returns true for RELAY-FORW and RELAY-REPL, which carry another message instead of a
    /// transaction identifier (RFC 9915 §9).
    #[must_use]
    pub const fn is_relay(self) -> bool {
        matches!(self, Self::RelayForw | Self::RelayRepl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_their_types() {
        for code in 0..=u8::MAX {
            match MessageType::from_code(code) {
                Some(message_type) => assert_eq!(message_type.code(), code),
                None => assert!(code == 0 || code > 37, "{code}"),
            }
        }
        assert_eq!(MessageType::RelayRepl.code(), 13);
        assert_eq!(MessageType::Dhcpv4Query.code(), 20);
        assert_eq!(MessageType::AddrRegReply.code(), 37);
    }
}
