//! Message types: the first octet of a message.

use crate::shared::coded;

coded! {
    first 1;
    /// A registered message type (IANA, "DHCPv6 Message Types").
    pub enum MessageType: u8 {
        /// A client looks for servers (RFC 9915).
        Solicit = "SOLICIT",
        /// A server offers itself (RFC 9915).
        Advertise = "ADVERTISE",
        /// A client asks one server for leases (RFC 9915).
        Request = "REQUEST",
        /// A client asks whether its addresses fit the link (RFC 9915).
        Confirm = "CONFIRM",
        /// A client extends leases with the server that gave them (RFC 9915).
        Renew = "RENEW",
        /// A client extends leases with any server (RFC 9915).
        Rebind = "REBIND",
        /// A server answers (RFC 9915).
        Reply = "REPLY",
        /// A client gives leases back (RFC 9915).
        Release = "RELEASE",
        /// A client found addresses in use by others (RFC 9915).
        Decline = "DECLINE",
        /// A server tells a client to ask again (RFC 9915).
        Reconfigure = "RECONFIGURE",
        /// A client asks for configuration without leases (RFC 9915).
        InformationRequest = "INFORMATION-REQUEST",
        /// A relay agent passes a message towards servers (RFC 9915).
        RelayForw = "RELAY-FORW",
        /// A server passes a message towards a client (RFC 9915).
        RelayRepl = "RELAY-REPL",
        /// Asks for leases (RFC 5007).
        LeaseQuery = "LEASEQUERY",
        /// Answers a lease query (RFC 5007).
        LeaseQueryReply = "LEASEQUERY-REPLY",
        /// Ends the answer to a bulk lease query (RFC 5460).
        LeaseQueryDone = "LEASEQUERY-DONE",
        /// A further lease of a bulk lease query (RFC 5460).
        LeaseQueryData = "LEASEQUERY-DATA",
        /// A relay agent asks for a RECONFIGURE (RFC 6977).
        ReconfigureRequest = "RECONFIGURE-REQUEST",
        /// Answers a RECONFIGURE-REQUEST (RFC 6977).
        ReconfigureReply = "RECONFIGURE-REPLY",
        /// Carries a DHCPv4 message to a server (RFC 7341).
        Dhcpv4Query = "DHCPV4-QUERY",
        /// Carries a DHCPv4 message to a client (RFC 7341).
        Dhcpv4Response = "DHCPV4-RESPONSE",
        /// Asks for changes of leases as they happen (RFC 7653).
        ActiveLeaseQuery = "ACTIVELEASEQUERY",
        /// Begins TLS (RFC 7653).
        StartTls = "STARTTLS",
        /// Failover: a binding changed (RFC 8156).
        BndUpd = "BNDUPD",
        /// Failover: answers binding updates (RFC 8156).
        BndReply = "BNDREPLY",
        /// Failover: asks for addresses to allocate (RFC 8156).
        PoolReq = "POOLREQ",
        /// Failover: gives addresses to allocate (RFC 8156).
        PoolResp = "POOLRESP",
        /// Failover: asks for unseen updates (RFC 8156).
        UpdReq = "UPDREQ",
        /// Failover: asks for all bindings (RFC 8156).
        UpdReqAll = "UPDREQALL",
        /// Failover: all updates were sent (RFC 8156).
        UpdDone = "UPDDONE",
        /// Failover: opens a connection (RFC 8156).
        Connect = "CONNECT",
        /// Failover: answers a connection (RFC 8156).
        ConnectReply = "CONNECTREPLY",
        /// Failover: closes a connection (RFC 8156).
        Disconnect = "DISCONNECT",
        /// Failover: a server's state (RFC 8156).
        State = "STATE",
        /// Failover: still there (RFC 8156).
        Contact = "CONTACT",
        /// A client registers an address that it chose (RFC 9686).
        AddrRegInform = "ADDR-REG-INFORM",
        /// Answers a registration (RFC 9686).
        AddrRegReply = "ADDR-REG-REPLY",
    }
}

impl MessageType {
    /// True for the two types that carry another message instead of a transaction identifier (RFC
    /// 9915 §9).
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
