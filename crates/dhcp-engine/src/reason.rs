//! Reasons for which a well-formed message gets no reply. Each has its counter, and most count in
//! one of Kea's statistics of dropped packets.

use crate::statistic::DropStatistic;

base::named! {
    /// Reason for which the server sends no reply to a well-formed message. The peer or the
    /// server's present limits cause them; the server never logs them as errors. Names are those of
    /// counters: lower case, words joined by hyphens.
    pub enum DropReason {
        /// `op` field that is not BOOTREQUEST (DHCPv4).
        NotARequest = "not-a-request",
        /// Message type that clients do not send to servers.
        UnexpectedMessageType = "unexpected-message-type",
        /// BOOTP message, while the server does not serve BOOTP (Kea's hook library
        /// `libdhcp_bootp.so`).
        Bootp = "bootp",
        /// Disabled service (control command `dhcp-disable`): the server did not read the datagram.
        ServiceDisabled = "service-disabled",
        /// Client for whom the partner of a pair is responsible (high availability).
        PartnersClient = "partners-client",
        /// Message of a subnet whose relationship is not ready to serve clients, if there are
        /// several relationships (high availability).
        PairNotReady = "pair-not-ready",
        /// Message of a subnet that belongs to none of several relationships (high availability).
        NoRelationship = "no-relationship",
        /// Lease that the partner of a pair has refused (high availability).
        PartnerRefused = "partner-refused",
        /// Message that would change a lease while too many changes wait for listeners that hold
        /// replies, such as the partner of a pair.
        ListenersBehind = "listeners-behind",
        /// Client in the class `DROP`.
        Filtered = "filtered",
        /// DHCPDISCOVER by a client in the class `REJECT`.
        Rejected = "rejected",
        /// Message from a link that no subnet serves.
        NoSubnet = "no-subnet",
        /// DHCPINFORM without an address: neither `ciaddr` nor the datagram has the address of its
        /// sender.
        NoAddress = "no-address",
        /// DHCPv4 message through an interface that has no address of the server that could be the
        /// server identifier.
        NoOwnAddress = "no-own-address",
        /// Message with neither a hardware address nor a client identifier; in DHCPv6 one with the
        /// DUID 00:00:00, which marks Kea's leases that belong to no client.
        NoIdentity = "no-identity",
        /// Client identifier that is longer than a lease can store.
        ClientIdTooLong = "client-id-too-long",
        /// Client that chose another server (DHCPv4 option 54 or DHCPv6 option 2, Server
        /// Identifier).
        ClientChoseOtherServer = "client-chose-other-server",
        /// DHCPv6 message without a required Server Identifier (RFC 9915 §16).
        NoServerId = "no-server-id",
        /// Message with a server identifier although its type forbids one (RFC 2131 §4.3.1 table 5;
        /// RFC 9915 §16).
        UnexpectedServerId = "unexpected-server-id",
        /// DHCPDECLINE that does not name an address (RFC 2131 §4.3.3).
        NothingDeclined = "nothing-declined",
        /// DHCPv6 message with several Client Identifier (1) or Server Identifier (2) options.
        RepeatedIdentity = "repeated-identity",
        /// ADDR-REG-INFORM of DHCPv6 with an identity association (RFC 9686 §4.2).
        UnexpectedAssociation = "unexpected-association",
        /// ADDR-REG-INFORM of DHCPv6 that does not register one address of its own, or one that is
        /// leased or reserved (RFC 9686 §4.2).
        InvalidRegistration = "invalid-registration",
        /// Lease query of a requester that is not configured (`requesters` of Kea's hook library
        /// `libdhcp_lease_query.so`).
        LeaseQueryRefused = "lease-query-refused",
        /// Lease query that does not make one query, or lacks what every query has.
        MalformedLeaseQuery = "malformed-lease-query",
        /// DHCPv6 message that a client sent to one of the server's own addresses instead of the
        /// multicast address.
        UnicastFromClient = "unicast-from-client",
        /// CONFIRM of DHCPv6 without any address (RFC 9915 §18.3.3).
        NothingToConfirm = "nothing-to-confirm",
        /// DHCPREQUEST of a client in INIT-REBOOT or RENEWING that the server has no record of,
        /// while the server is not `authoritative` (RFC 2131 §4.3.2).
        UnknownClient = "unknown-client",
        /// Exhaustion of all address pools that the client may use.
        PoolExhausted = "pool-exhausted",
        /// RELEASE or DECLINE of an address that the client has no lease of.
        NotTheClientsLease = "not-the-clients-lease",
        /// Contention: other messages kept changing the lease of the address while the server
        /// decided on this one.
        Contention = "contention",
        /// Message of a client for which the server already processes one message and holds
        /// another.
        DuplicateInFlight = "duplicate-in-flight",
        /// Full queue of messages that wait for another message of their client, a lease row or a
        /// host look-up.
        HeldFull = "held-full",
        /// Failed lease store that cannot log any more rows: the server must not acknowledge
        /// anything.
        StoreFailed = "store-failed",
        /// Reply that waited too long for its lease row to be durable.
        GateDeadline = "gate-deadline",
        /// Address that another server, which shares the database, has leased to another client.
        LeasedElsewhere = "given-elsewhere",
        /// Lease that the lease store refused: a value of it does not fit there, or the stored row
        /// of the address cannot be read.
        LeaseRefused = "lease-refused",
        /// Failed look-up of reservations, one of which may be the client's.
        HostsUnavailable = "hosts-unavailable",
        /// Full outbox: too many replies wait for their lease rows to be durable.
        OutboxFull = "outbox-full",
        /// Reply that is larger than the largest message that the client accepts.
        ReplyTooLarge = "reply-too-large",
        /// Client that wants to do without IPv4 (option 108, RFC 8925), for whom the configured
        /// options of the reply do not include option 108.
        NoIpv6OnlyTime = "no-ipv6-only-time",
        /// Reply that the kernel did not accept for sending.
        SendFailed = "send-failed",
        /// Request that waited so long, while requests arrived faster than the server replied, that
        /// a later message is served instead.
        WaitedTooLong = "waited-too-long",
        /// Defect of the server: its work on the message panicked.
        InternalError = "internal-error",
    }
}

impl DropReason {
    /// Returns Kea's statistic of dropped packets that counts the reason. `None` where Kea counts
    /// nothing: Kea only sends no reply.
    #[must_use]
    pub const fn statistic(self) -> Option<DropStatistic> {
        match self {
            Self::NotARequest
            | Self::UnexpectedMessageType
            | Self::Bootp
            | Self::NoAddress
            | Self::NoIdentity
            | Self::NoServerId
            | Self::UnexpectedServerId
            | Self::NothingDeclined
            | Self::RepeatedIdentity
            | Self::UnexpectedAssociation
            | Self::InvalidRegistration
            | Self::MalformedLeaseQuery
            | Self::UnicastFromClient
            | Self::NothingToConfirm => Some(DropStatistic::RfcViolation),
            Self::ServiceDisabled => Some(DropStatistic::ServiceDisabled),
            Self::Filtered | Self::LeaseQueryRefused => Some(DropStatistic::AdminFiltered),
            Self::Rejected
            | Self::PartnersClient
            | Self::PairNotReady
            | Self::NoRelationship
            | Self::NoSubnet
            | Self::NoOwnAddress
            | Self::UnknownClient
            | Self::PoolExhausted
            | Self::NotTheClientsLease
            | Self::NoIpv6OnlyTime
            | Self::SendFailed => None,
            Self::ClientIdTooLong
            | Self::Contention
            | Self::StoreFailed
            | Self::GateDeadline
            | Self::LeasedElsewhere
            | Self::PartnerRefused
            | Self::LeaseRefused
            | Self::HostsUnavailable
            | Self::ReplyTooLarge
            | Self::InternalError => Some(DropStatistic::ProcessingFailed),
            Self::ClientChoseOtherServer => Some(DropStatistic::NotForUs),
            Self::DuplicateInFlight => Some(DropStatistic::Duplicate),
            Self::HeldFull | Self::ListenersBehind | Self::OutboxFull | Self::WaitedTooLong => {
                Some(DropStatistic::QueueFull)
            }
        }
    }
}
