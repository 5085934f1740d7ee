//! DHCPv6 status codes: the first two bytes of option 13.

base::coded! {
    first 0;
    /// DHCPv6 status code that is registered (IANA, "DHCPv6 Status Codes").
    pub enum StatusCode: u16 {
        /// Status code 0: success of the requested operation (RFC 9915).
        Success = "Success",
        /// Status code 1: failure of a request for a reason that has no code (RFC 9915).
        UnspecFail = "UnspecFail",
        /// Status code 2: no addresses are available for the IA (RFC 9915).
        NoAddrsAvail = "NoAddrsAvail",
        /// Status code 3: the server has no such lease (RFC 9915).
        NoBinding = "NoBinding",
        /// Status code 4: the address or prefix does not fit the client's link (RFC 9915).
        NotOnLink = "NotOnLink",
        /// Status code 5, obsolete: the client should have sent to the multicast address (RFC
        /// 9915).
        UseMulticast = "UseMulticast",
        /// Status code 6: no prefixes are available for the IA_PD (RFC 9915).
        NoPrefixAvail = "NoPrefixAvail",
        /// Status code 7, lease query: the kind of query is unknown (RFC 5007).
        UnknownQueryType = "UnknownQueryType",
        /// Status code 8, lease query: the query is malformed (RFC 5007).
        MalformedQuery = "MalformedQuery",
        /// Status code 9, lease query: this server does not serve the link (RFC 5007).
        NotConfigured = "NotConfigured",
        /// Status code 10, lease query: the server does not permit the query to this requestor (RFC
        /// 5007).
        NotAllowed = "NotAllowed",
        /// Status code 11, bulk lease query: the server ended the query early (RFC 5460).
        QueryTerminated = "QueryTerminated",
        /// Status code 12, active lease query: some updates are lost (RFC 7653).
        DataMissing = "DataMissing",
        /// Status code 13, active lease query: all older updates were sent (RFC 7653).
        CatchUpComplete = "CatchUpComplete",
        /// Status code 14, active lease query: the server does not support it (RFC 7653).
        NotSupported = "NotSupported",
        /// Status code 15, active lease query: the server does not support TLS (RFC 7653).
        TlsConnectionRefused = "TLSConnectionRefused",
        /// Status code 16, failover: the address is in use (RFC 8156).
        AddressInUse = "AddressInUse",
        /// Status code 17, failover: the configurations disagree (RFC 8156).
        ConfigurationConflict = "ConfigurationConflict",
        /// Status code 18, failover: a binding update is not complete (RFC 8156).
        MissingBindingInformation = "MissingBindingInformation",
        /// Status code 19, failover: the server has a newer binding (RFC 8156).
        OutdatedBindingInformation = "OutdatedBindingInformation",
        /// Status code 20, failover: the server is stopping (RFC 8156).
        ServerShuttingDown = "ServerShuttingDown",
        /// Status code 21, failover: the server does not support DNS updates (RFC 8156).
        DnsUpdateNotSupported = "DNSUpdateNotSupported",
        /// Status code 22, failover: the clocks of the two servers differ too much (RFC 8156).
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
