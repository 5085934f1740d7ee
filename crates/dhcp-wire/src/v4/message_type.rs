//! DHCPv4 message types: the values of option 53.

use crate::shared::coded;

coded! {
    first 1;
    /// DHCPv4 message type that is registered (IANA, "DHCP Message Type 53 Values").
    pub enum MessageType: u8 {
        /// DHCPDISCOVER: a client looks for servers (RFC 2132).
        Discover = "DHCPDISCOVER",
        /// DHCPOFFER: a server offers an address (RFC 2132).
        Offer = "DHCPOFFER",
        /// DHCPREQUEST: a client requests an offered address, or keeps the one that it has (RFC
        /// 2132).
        Request = "DHCPREQUEST",
        /// DHCPDECLINE: a client found its address in use by another host (RFC 2132).
        Decline = "DHCPDECLINE",
        /// DHCPACK: a server grants an address or sends configuration (RFC 2132).
        Ack = "DHCPACK",
        /// DHCPNAK: a server refuses an address (RFC 2132).
        Nak = "DHCPNAK",
        /// DHCPRELEASE: a client gives its address back (RFC 2132).
        Release = "DHCPRELEASE",
        /// DHCPINFORM: a client with an address requests configuration only (RFC 2132).
        Inform = "DHCPINFORM",
        /// DHCPFORCERENEW: a server makes a client renew its lease (RFC 3203).
        ForceRenew = "DHCPFORCERENEW",
        /// DHCPLEASEQUERY: query for the lease of an address or client (RFC 4388).
        LeaseQuery = "DHCPLEASEQUERY",
        /// DHCPLEASEUNASSIGNED: reply to a lease query that the address has no lease (RFC 4388).
        LeaseUnassigned = "DHCPLEASEUNASSIGNED",
        /// DHCPLEASEUNKNOWN: reply to a lease query about which the server knows nothing (RFC
        /// 4388).
        LeaseUnknown = "DHCPLEASEUNKNOWN",
        /// DHCPLEASEACTIVE: reply to a lease query with the lease (RFC 4388).
        LeaseActive = "DHCPLEASEACTIVE",
        /// DHCPBULKLEASEQUERY: query for many leases over TCP (RFC 6926).
        BulkLeaseQuery = "DHCPBULKLEASEQUERY",
        /// DHCPLEASEQUERYDONE: end of the replies to a bulk lease query (RFC 6926).
        LeaseQueryDone = "DHCPLEASEQUERYDONE",
        /// DHCPACTIVELEASEQUERY: query for changes of leases as they happen (RFC 7724).
        ActiveLeaseQuery = "DHCPACTIVELEASEQUERY",
        /// DHCPLEASEQUERYSTATUS: status of an active lease query (RFC 7724).
        LeaseQueryStatus = "DHCPLEASEQUERYSTATUS",
        /// DHCPTLS: start of TLS on a connection for active lease queries (RFC 7724).
        Tls = "DHCPTLS",
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
                None => assert!(code == 0 || code > 18, "{code}"),
            }
        }
        assert_eq!(MessageType::Tls.code(), 18);
        assert_eq!(MessageType::LeaseActive.code(), 13);
    }
}
