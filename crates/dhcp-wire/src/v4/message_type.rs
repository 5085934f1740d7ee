//! DHCPv4 message types: the values of option 53.

use crate::shared::coded;

coded! {
    first 1;
    /// DHCPv4 message type that is registered (IANA, "DHCP Message Type 53 Values").
    pub enum MessageType: u8 {
        /// DHCPDISCOVER (RFC 2132).
        Discover = "DHCPDISCOVER",
        /// DHCPOFFER (RFC 2132).
        Offer = "DHCPOFFER",
        /// DHCPREQUEST (RFC 2132).
        Request = "DHCPREQUEST",
        /// DHCPDECLINE (RFC 2132).
        Decline = "DHCPDECLINE",
        /// DHCPACK (RFC 2132).
        Ack = "DHCPACK",
        /// DHCPNAK (RFC 2132).
        Nak = "DHCPNAK",
        /// DHCPRELEASE (RFC 2132).
        Release = "DHCPRELEASE",
        /// DHCPINFORM (RFC 2132).
        Inform = "DHCPINFORM",
        /// DHCPFORCERENEW (RFC 3203).
        ForceRenew = "DHCPFORCERENEW",
        /// DHCPLEASEQUERY (RFC 4388).
        LeaseQuery = "DHCPLEASEQUERY",
        /// DHCPLEASEUNASSIGNED (RFC 4388).
        LeaseUnassigned = "DHCPLEASEUNASSIGNED",
        /// DHCPLEASEUNKNOWN (RFC 4388).
        LeaseUnknown = "DHCPLEASEUNKNOWN",
        /// DHCPLEASEACTIVE (RFC 4388).
        LeaseActive = "DHCPLEASEACTIVE",
        /// DHCPBULKLEASEQUERY (RFC 6926).
        BulkLeaseQuery = "DHCPBULKLEASEQUERY",
        /// DHCPLEASEQUERYDONE (RFC 6926).
        LeaseQueryDone = "DHCPLEASEQUERYDONE",
        /// DHCPACTIVELEASEQUERY (RFC 7724).
        ActiveLeaseQuery = "DHCPACTIVELEASEQUERY",
        /// DHCPLEASEQUERYSTATUS (RFC 7724).
        LeaseQueryStatus = "DHCPLEASEQUERYSTATUS",
        /// DHCPTLS (RFC 7724).
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
