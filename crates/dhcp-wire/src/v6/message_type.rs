//! DHCPv6 message types: the first byte of a message.

use crate::shared::coded;

coded! {
    first 1;
    /// DHCPv6 message type that is registered (IANA, "DHCPv6 Message Types").
    pub enum MessageType: u8 {
        /// SOLICIT: a client looks for servers (RFC 9915).
        Solicit = "SOLICIT",
        /// ADVERTISE: a server offers itself (RFC 9915).
        Advertise = "ADVERTISE",
        /// REQUEST: a client requests leases from one server (RFC 9915).
        Request = "REQUEST",
        /// CONFIRM: a client checks that its addresses fit the link (RFC 9915).
        Confirm = "CONFIRM",
        /// RENEW: a client extends leases with the server that leased them (RFC 9915).
        Renew = "RENEW",
        /// REBIND: a client extends leases with any server (RFC 9915).
        Rebind = "REBIND",
        /// REPLY: a server replies with leases or configuration (RFC 9915).
        Reply = "REPLY",
        /// RELEASE: a client releases leases (RFC 9915).
        Release = "RELEASE",
        /// DECLINE: a client found addresses in use by others (RFC 9915).
        Decline = "DECLINE",
        /// RECONFIGURE: a server makes a client send a request again (RFC 9915).
        Reconfigure = "RECONFIGURE",
        /// INFORMATION-REQUEST: a client requests configuration without leases (RFC 9915).
        InformationRequest = "INFORMATION-REQUEST",
        /// RELAY-FORW: a relay agent forwards a message to servers (RFC 9915).
        RelayForw = "RELAY-FORW",
        /// RELAY-REPL: a server sends a message to a client through a relay agent (RFC 9915).
        RelayRepl = "RELAY-REPL",
        /// LEASEQUERY: query for leases (RFC 5007).
        LeaseQuery = "LEASEQUERY",
        /// LEASEQUERY-REPLY: reply to a lease query (RFC 5007).
        LeaseQueryReply = "LEASEQUERY-REPLY",
        /// LEASEQUERY-DONE: end of the reply to a bulk lease query (RFC 5460).
        LeaseQueryDone = "LEASEQUERY-DONE",
        /// LEASEQUERY-DATA: further lease of a bulk lease query (RFC 5460).
        LeaseQueryData = "LEASEQUERY-DATA",
        /// RECONFIGURE-REQUEST: request of a relay agent for a RECONFIGURE (RFC 6977).
        ReconfigureRequest = "RECONFIGURE-REQUEST",
        /// RECONFIGURE-REPLY: reply to a RECONFIGURE-REQUEST (RFC 6977).
        ReconfigureReply = "RECONFIGURE-REPLY",
        /// DHCPV4-QUERY: DHCPv4 message to a server, carried over DHCPv6 (RFC 7341).
        Dhcpv4Query = "DHCPV4-QUERY",
        /// DHCPV4-RESPONSE: DHCPv4 message to a client, carried over DHCPv6 (RFC 7341).
        Dhcpv4Response = "DHCPV4-RESPONSE",
        /// ACTIVELEASEQUERY: query for changes of leases as they happen (RFC 7653).
        ActiveLeaseQuery = "ACTIVELEASEQUERY",
        /// STARTTLS: start of TLS on a connection for active lease queries (RFC 7653).
        StartTls = "STARTTLS",
        /// BNDUPD: a failover partner reports changed bindings (RFC 8156).
        BndUpd = "BNDUPD",
        /// BNDREPLY: reply to the binding updates of a failover partner (RFC 8156).
        BndReply = "BNDREPLY",
        /// POOLREQ: a failover partner requests addresses to allocate (RFC 8156).
        PoolReq = "POOLREQ",
        /// POOLRESP: addresses that a failover partner may allocate (RFC 8156).
        PoolResp = "POOLRESP",
        /// UPDREQ: a failover partner requests the updates that it has not seen (RFC 8156).
        UpdReq = "UPDREQ",
        /// UPDREQALL: a failover partner requests all bindings (RFC 8156).
        UpdReqAll = "UPDREQALL",
        /// UPDDONE: a failover partner has sent all requested updates (RFC 8156).
        UpdDone = "UPDDONE",
        /// CONNECT: opening of a failover connection (RFC 8156).
        Connect = "CONNECT",
        /// CONNECTREPLY: reply to the opening of a failover connection (RFC 8156).
        ConnectReply = "CONNECTREPLY",
        /// DISCONNECT: closing of a failover connection (RFC 8156).
        Disconnect = "DISCONNECT",
        /// STATE: state of a failover partner (RFC 8156).
        State = "STATE",
        /// CONTACT: sign that a failover partner is up (RFC 8156).
        Contact = "CONTACT",
        /// ADDR-REG-INFORM: a client registers an address that it chose (RFC 9686).
        AddrRegInform = "ADDR-REG-INFORM",
        /// ADDR-REG-REPLY: reply to the registration of an address (RFC 9686).
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
