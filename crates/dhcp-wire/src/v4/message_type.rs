//! DHCPv4 message types: the values of option 53.

base::coded! {
    first 1;
    /// DHCPv4 message type that is registered (IANA, "DHCP Message Type 53 Values").
    pub enum MessageType: u8 {
        /// DHCPDISCOVER, type 1: a client looks for servers (RFC 2132).
        Discover = "DHCPDISCOVER",
        /// DHCPOFFER, type 2: a server offers an address (RFC 2132).
        Offer = "DHCPOFFER",
        /// DHCPREQUEST, type 3: a client requests an offered address, or keeps the one that it has
        /// (RFC 2132).
        Request = "DHCPREQUEST",
        /// DHCPDECLINE, type 4: a client found its address in use by another host (RFC 2132).
        Decline = "DHCPDECLINE",
        /// DHCPACK, type 5: a server grants an address or sends configuration (RFC 2132).
        Ack = "DHCPACK",
        /// DHCPNAK, type 6: a server refuses an address (RFC 2132).
        Nak = "DHCPNAK",
        /// DHCPRELEASE, type 7: a client gives its address back (RFC 2132).
        Release = "DHCPRELEASE",
        /// DHCPINFORM, type 8: a client with an address requests configuration only (RFC 2132).
        Inform = "DHCPINFORM",
        /// DHCPFORCERENEW, type 9: a server makes a client renew its lease (RFC 3203).
        ForceRenew = "DHCPFORCERENEW",
        /// DHCPLEASEQUERY, type 10: query for the lease of an address or client (RFC 4388).
        LeaseQuery = "DHCPLEASEQUERY",
        /// DHCPLEASEUNASSIGNED, type 11: reply to a lease query that the address has no lease (RFC
        /// 4388).
        LeaseUnassigned = "DHCPLEASEUNASSIGNED",
        /// DHCPLEASEUNKNOWN, type 12: reply to a lease query about which the server knows nothing
        /// (RFC 4388).
        LeaseUnknown = "DHCPLEASEUNKNOWN",
        /// DHCPLEASEACTIVE, type 13: reply to a lease query with the lease (RFC 4388).
        LeaseActive = "DHCPLEASEACTIVE",
        /// DHCPBULKLEASEQUERY, type 14: query for many leases over TCP (RFC 6926).
        BulkLeaseQuery = "DHCPBULKLEASEQUERY",
        /// DHCPLEASEQUERYDONE, type 15: end of the replies to a bulk lease query (RFC 6926).
        LeaseQueryDone = "DHCPLEASEQUERYDONE",
        /// DHCPACTIVELEASEQUERY, type 16: query for changes of leases as they happen (RFC 7724).
        ActiveLeaseQuery = "DHCPACTIVELEASEQUERY",
        /// DHCPLEASEQUERYSTATUS, type 17: status of an active lease query (RFC 7724).
        LeaseQueryStatus = "DHCPLEASEQUERYSTATUS",
        /// DHCPTLS, type 18: start of TLS on a connection for active lease queries (RFC 7724).
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
