//! Message types: the values of option 53.

use core::fmt;

/// A registered DHCP message type (IANA, "DHCP Message Type 53 Values").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MessageType {
    /// DHCPDISCOVER (RFC 2132).
    Discover = 1,
    /// DHCPOFFER (RFC 2132).
    Offer,
    /// DHCPREQUEST (RFC 2132).
    Request,
    /// DHCPDECLINE (RFC 2132).
    Decline,
    /// DHCPACK (RFC 2132).
    Ack,
    /// DHCPNAK (RFC 2132).
    Nak,
    /// DHCPRELEASE (RFC 2132).
    Release,
    /// DHCPINFORM (RFC 2132).
    Inform,
    /// DHCPFORCERENEW (RFC 3203).
    ForceRenew,
    /// DHCPLEASEQUERY (RFC 4388).
    LeaseQuery,
    /// DHCPLEASEUNASSIGNED (RFC 4388).
    LeaseUnassigned,
    /// DHCPLEASEUNKNOWN (RFC 4388).
    LeaseUnknown,
    /// DHCPLEASEACTIVE (RFC 4388).
    LeaseActive,
    /// DHCPBULKLEASEQUERY (RFC 6926).
    BulkLeaseQuery,
    /// DHCPLEASEQUERYDONE (RFC 6926).
    LeaseQueryDone,
    /// DHCPACTIVELEASEQUERY (RFC 7724).
    ActiveLeaseQuery,
    /// DHCPLEASEQUERYSTATUS (RFC 7724).
    LeaseQueryStatus,
    /// DHCPTLS (RFC 7724).
    Tls,
}

impl MessageType {
    /// Every type, by code from 1.
    pub const ALL: [Self; 18] = [
        Self::Discover,
        Self::Offer,
        Self::Request,
        Self::Decline,
        Self::Ack,
        Self::Nak,
        Self::Release,
        Self::Inform,
        Self::ForceRenew,
        Self::LeaseQuery,
        Self::LeaseUnassigned,
        Self::LeaseUnknown,
        Self::LeaseActive,
        Self::BulkLeaseQuery,
        Self::LeaseQueryDone,
        Self::ActiveLeaseQuery,
        Self::LeaseQueryStatus,
        Self::Tls,
    ];

    /// The type with this code; `None` when it is not registered.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }

    /// Its code on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its name in the RFCs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discover => "DHCPDISCOVER",
            Self::Offer => "DHCPOFFER",
            Self::Request => "DHCPREQUEST",
            Self::Decline => "DHCPDECLINE",
            Self::Ack => "DHCPACK",
            Self::Nak => "DHCPNAK",
            Self::Release => "DHCPRELEASE",
            Self::Inform => "DHCPINFORM",
            Self::ForceRenew => "DHCPFORCERENEW",
            Self::LeaseQuery => "DHCPLEASEQUERY",
            Self::LeaseUnassigned => "DHCPLEASEUNASSIGNED",
            Self::LeaseUnknown => "DHCPLEASEUNKNOWN",
            Self::LeaseActive => "DHCPLEASEACTIVE",
            Self::BulkLeaseQuery => "DHCPBULKLEASEQUERY",
            Self::LeaseQueryDone => "DHCPLEASEQUERYDONE",
            Self::ActiveLeaseQuery => "DHCPACTIVELEASEQUERY",
            Self::LeaseQueryStatus => "DHCPLEASEQUERYSTATUS",
            Self::Tls => "DHCPTLS",
        }
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
