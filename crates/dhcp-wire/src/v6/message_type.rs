//! Message types: the first byte of a message.

use crate::shared::coded;

coded! {
    first 1;
    /// Message type that is registered (IANA, "DHCPv6 Message Types").
    pub enum MessageType: u8 {
        /// Client looks for servers (RFC 9915).
        Solicit = "SOLICIT",
        /// Server offers itself (RFC 9915).
        Advertise = "ADVERTISE",
        /// Client requests leases from one server (RFC 9915).
        Request = "REQUEST",
        /// Client checks that its addresses fit the link (RFC 9915).
        Confirm = "CONFIRM",
        /// Client extends leases with the server that leased them (RFC 9915).
        Renew = "RENEW",
        /// Client extends leases with any server (RFC 9915).
        Rebind = "REBIND",
        /// Server replies (RFC 9915).
        Reply = "REPLY",
        /// Client releases leases (RFC 9915).
        Release = "RELEASE",
        /// Client found addresses in use by others (RFC 9915).
        Decline = "DECLINE",
        /// Server makes a client send a request again (RFC 9915).
        Reconfigure = "RECONFIGURE",
        /// Client requests configuration without leases (RFC 9915).
        InformationRequest = "INFORMATION-REQUEST",
        /// Relay agent forwards a message to servers (RFC 9915).
        RelayForw = "RELAY-FORW",
        /// Server sends a message to a client through a relay agent (RFC 9915).
        RelayRepl = "RELAY-REPL",
        /// Query for leases (RFC 5007).
        LeaseQuery = "LEASEQUERY",
        /// Reply to a lease query (RFC 5007).
        LeaseQueryReply = "LEASEQUERY-REPLY",
        /// End of the reply to a bulk lease query (RFC 5460).
        LeaseQueryDone = "LEASEQUERY-DONE",
        /// Further lease of a bulk lease query (RFC 5460).
        LeaseQueryData = "LEASEQUERY-DATA",
        /// Request of a relay agent for a RECONFIGURE (RFC 6977).
        ReconfigureRequest = "RECONFIGURE-REQUEST",
        /// Reply to a RECONFIGURE-REQUEST (RFC 6977).
        ReconfigureReply = "RECONFIGURE-REPLY",
        /// DHCPv4 message to a server (RFC 7341).
        Dhcpv4Query = "DHCPV4-QUERY",
        /// DHCPv4 message to a client (RFC 7341).
        Dhcpv4Response = "DHCPV4-RESPONSE",
        /// Query for changes of leases as they happen (RFC 7653).
        ActiveLeaseQuery = "ACTIVELEASEQUERY",
        /// Start of TLS (RFC 7653).
        StartTls = "STARTTLS",
        /// Failover: a binding changed (RFC 8156).
        BndUpd = "BNDUPD",
        /// Failover: reply to binding updates (RFC 8156).
        BndReply = "BNDREPLY",
        /// Failover: request for addresses to allocate (RFC 8156).
        PoolReq = "POOLREQ",
        /// Failover: addresses to allocate (RFC 8156).
        PoolResp = "POOLRESP",
        /// Failover: request for unseen updates (RFC 8156).
        UpdReq = "UPDREQ",
        /// Failover: request for all bindings (RFC 8156).
        UpdReqAll = "UPDREQALL",
        /// Failover: all updates were sent (RFC 8156).
        UpdDone = "UPDDONE",
        /// Failover: opening of a connection (RFC 8156).
        Connect = "CONNECT",
        /// Failover: reply to the opening of a connection (RFC 8156).
        ConnectReply = "CONNECTREPLY",
        /// Failover: closing of a connection (RFC 8156).
        Disconnect = "DISCONNECT",
        /// Failover: a server's state (RFC 8156).
        State = "STATE",
        /// Failover: sign that the server is up (RFC 8156).
        Contact = "CONTACT",
        /// Client registers an address that it chose (RFC 9686).
        AddrRegInform = "ADDR-REG-INFORM",
        /// Reply to a registration (RFC 9686).
        AddrRegReply = "ADDR-REG-REPLY",
    }
}

impl MessageType {
    /// Returns true for the two types that carry another message instead of a transaction
    /// identifier (RFC 9915 §9).
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
