//! DHCPv6 status codes: the first two bytes of option 13.

use crate::shared::coded;

coded! {
    first 0;
    /// DHCPv6 status code that is registered (IANA, "DHCPv6 Status Codes").
    pub enum StatusCode: u16 {
        /// Success of the requested operation (RFC 9915).
        Success = "Success",
        /// Failure of a request for a reason that has no code (RFC 9915).
        UnspecFail = "UnspecFail",
        /// No addresses are available for this IA (RFC 9915).
        NoAddrsAvail = "NoAddrsAvail",
        /// The server has no such lease (RFC 9915).
        NoBinding = "NoBinding",
        /// The address does not fit the client's link (RFC 9915).
        NotOnLink = "NotOnLink",
        /// Obsolete: the client should have sent to the multicast address (RFC 9915).
        UseMulticast = "UseMulticast",
        /// No prefixes are available for this IA_PD (RFC 9915).
        NoPrefixAvail = "NoPrefixAvail",
        /// Lease query: the kind of query is unknown (RFC 5007).
        UnknownQueryType = "UnknownQueryType",
        /// Lease query: the query is malformed (RFC 5007).
        MalformedQuery = "MalformedQuery",
        /// Lease query: this server does not serve the link (RFC 5007).
        NotConfigured = "NotConfigured",
        /// Lease query: the server does not permit it to the requestor (RFC 5007).
        NotAllowed = "NotAllowed",
        /// Bulk lease query: the server ended the query early (RFC 5460).
        QueryTerminated = "QueryTerminated",
        /// Active lease query: some updates are lost (RFC 7653).
        DataMissing = "DataMissing",
        /// Active lease query: older updates were sent (RFC 7653).
        CatchUpComplete = "CatchUpComplete",
        /// Active lease query: the server does not support it (RFC 7653).
        NotSupported = "NotSupported",
        /// Active lease query: the server does not support TLS (RFC 7653).
        TlsConnectionRefused = "TLSConnectionRefused",
        /// Failover: the address is in use (RFC 8156).
        AddressInUse = "AddressInUse",
        /// Failover: the configurations disagree (RFC 8156).
        ConfigurationConflict = "ConfigurationConflict",
        /// Failover: a binding update is not complete (RFC 8156).
        MissingBindingInformation = "MissingBindingInformation",
        /// Failover: the server has a newer binding (RFC 8156).
        OutdatedBindingInformation = "OutdatedBindingInformation",
        /// Failover: the server is stopping (RFC 8156).
        ServerShuttingDown = "ServerShuttingDown",
        /// Failover: the server does not support DNS updates (RFC 8156).
        DnsUpdateNotSupported = "DNSUpdateNotSupported",
        /// Failover: the clocks of the two servers differ too much (RFC 8156).
        ExcessiveTimeSkew = "ExcessiveTimeSkew",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_registered_ones() {
        assert_eq!(StatusCode::from_code(0), Some(StatusCode::Success));
        assert_eq!(StatusCode::NoPrefixAvail.code(), 6);
        assert_eq!(StatusCode::QueryTerminated.code(), 11);
        assert_eq!(StatusCode::ExcessiveTimeSkew.code(), 22);
        assert_eq!(StatusCode::from_code(23), None);
    }
}
