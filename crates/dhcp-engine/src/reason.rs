//! Reasons for which a well-formed message gets no reply. Each has its counter, and most count in
//! one of Kea's statistics of dropped packets.

use crate::statistic::DropStatistic;

/// Reason for which the server sends no reply to a well-formed message. The peer or the server's
/// present limits cause them; the server never logs them as errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// `op` field that is not BOOTREQUEST (DHCPv4).
    NotARequest,
    /// Message type that clients do not send to servers.
    UnexpectedMessageType,
    /// BOOTP message, while the server does not serve BOOTP (Kea's hook library
    /// `libdhcp_bootp.so`).
    Bootp,
    /// Disabled service (control command `dhcp-disable`): the server did not read the datagram.
    ServiceDisabled,
    /// Client in the class `DROP`.
    Filtered,
    /// DHCPDISCOVER by a client in the class `REJECT`.
    Rejected,
    /// Message from a link that no subnet serves.
    NoSubnet,
    /// DHCPINFORM without an address: neither `ciaddr` nor the datagram has the address of its
    /// sender.
    NoAddress,
    /// DHCPv4 message through an interface that has no address of the server that could be the
    /// server identifier.
    NoOwnAddress,
    /// Message with neither a hardware address nor a client identifier; in DHCPv6 one with the DUID
    /// 00:00:00, which marks Kea's leases that belong to no client.
    NoIdentity,
    /// Client identifier that is longer than a lease can store.
    ClientIdTooLong,
    /// Client that chose another server (DHCPv4 option 54 or DHCPv6 option 2, Server Identifier).
    ClientChoseOtherServer,
    /// DHCPv6 message without a required Server Identifier (RFC 9915 §16).
    NoServerId,
    /// Message with a server identifier although its type forbids one (RFC 2131 §4.3.1 table 5; RFC
    /// 9915 §16).
    UnexpectedServerId,
    /// DHCPDECLINE that does not name an address (RFC 2131 §4.3.3).
    NothingDeclined,
    /// DHCPv6 message with several Client Identifier (1) or Server Identifier (2) options.
    RepeatedIdentity,
    /// ADDR-REG-INFORM of DHCPv6 with an identity association (RFC 9686 §4.2).
    UnexpectedAssociation,
    /// ADDR-REG-INFORM of DHCPv6 that does not register one address of its own, or one that is
    /// leased or reserved (RFC 9686 §4.2).
    InvalidRegistration,
    /// DHCPv6 message that a client sent to one of the server's own addresses instead of the
    /// multicast address.
    UnicastFromClient,
    /// CONFIRM of DHCPv6 without any address (RFC 9915 §18.3.3).
    NothingToConfirm,
    /// DHCPREQUEST of a client in INIT-REBOOT or RENEWING that the server has no record of, while
    /// the server is not `authoritative` (RFC 2131 §4.3.2).
    UnknownClient,
    /// Exhaustion of all address pools that the client may use.
    PoolExhausted,
    /// RELEASE or DECLINE of an address that the client has no lease of.
    NotTheClientsLease,
    /// Contention: other messages kept changing the lease of the address while the server decided
    /// on this one.
    Contention,
    /// Message of a client for which the server already processes one message and holds another.
    DuplicateInFlight,
    /// Full queue of messages that wait for another message of their client, a lease row or a host
    /// look-up.
    HeldFull,
    /// Failed lease store that cannot log any more rows: the server must not acknowledge anything.
    StoreFailed,
    /// Reply that waited too long for its lease row to be durable.
    GateDeadline,
    /// Address that another server, which shares the database, has leased to another client.
    LeasedElsewhere,
    /// Lease that the lease store refused: a value of it does not fit there, or the stored row of
    /// the address cannot be read.
    LeaseRefused,
    /// Failed look-up of reservations, one of which may be the client's.
    HostsUnavailable,
    /// Full outbox: too many replies wait for their lease rows to be durable.
    OutboxFull,
    /// Reply that is larger than the largest message that the client accepts.
    ReplyTooLarge,
    /// Client that wants to do without IPv4 (option 108, RFC 8925), for whom the configured options
    /// of the reply do not include option 108.
    NoIpv6OnlyTime,
    /// Reply that the kernel did not accept for sending.
    SendFailed,
    /// Request that waited so long, while requests arrived faster than the server replied, that a
    /// later message is served instead.
    WaitedTooLong,
    /// Defect of the server: its work on the message panicked.
    InternalError,
}

impl DropReason {
    /// Reasons for which messages are dropped, in the order of their counters.
    pub const ALL: [Self; 37] = [
        Self::NotARequest,
        Self::UnexpectedMessageType,
        Self::Bootp,
        Self::ServiceDisabled,
        Self::Filtered,
        Self::Rejected,
        Self::NoSubnet,
        Self::NoAddress,
        Self::NoOwnAddress,
        Self::NoIdentity,
        Self::ClientIdTooLong,
        Self::ClientChoseOtherServer,
        Self::NoServerId,
        Self::UnexpectedServerId,
        Self::NothingDeclined,
        Self::RepeatedIdentity,
        Self::UnexpectedAssociation,
        Self::InvalidRegistration,
        Self::UnicastFromClient,
        Self::NothingToConfirm,
        Self::UnknownClient,
        Self::PoolExhausted,
        Self::NotTheClientsLease,
        Self::Contention,
        Self::DuplicateInFlight,
        Self::HeldFull,
        Self::StoreFailed,
        Self::GateDeadline,
        Self::LeasedElsewhere,
        Self::LeaseRefused,
        Self::HostsUnavailable,
        Self::OutboxFull,
        Self::ReplyTooLarge,
        Self::NoIpv6OnlyTime,
        Self::SendFailed,
        Self::WaitedTooLong,
        Self::InternalError,
    ];

    /// Returns the position of the reason in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of the reason's counter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotARequest => "not-a-request",
            Self::UnexpectedMessageType => "unexpected-message-type",
            Self::Bootp => "bootp",
            Self::ServiceDisabled => "service-disabled",
            Self::Filtered => "filtered",
            Self::Rejected => "rejected",
            Self::NoSubnet => "no-subnet",
            Self::NoAddress => "no-address",
            Self::NoOwnAddress => "no-own-address",
            Self::NoIdentity => "no-identity",
            Self::ClientIdTooLong => "client-id-too-long",
            Self::ClientChoseOtherServer => "client-chose-other-server",
            Self::NoServerId => "no-server-id",
            Self::UnexpectedServerId => "unexpected-server-id",
            Self::NothingDeclined => "nothing-declined",
            Self::RepeatedIdentity => "repeated-identity",
            Self::UnexpectedAssociation => "unexpected-association",
            Self::InvalidRegistration => "invalid-registration",
            Self::UnicastFromClient => "unicast-from-client",
            Self::NothingToConfirm => "nothing-to-confirm",
            Self::UnknownClient => "unknown-client",
            Self::PoolExhausted => "pool-exhausted",
            Self::NotTheClientsLease => "not-the-clients-lease",
            Self::Contention => "contention",
            Self::DuplicateInFlight => "duplicate-in-flight",
            Self::HeldFull => "held-full",
            Self::StoreFailed => "store-failed",
            Self::GateDeadline => "gate-deadline",
            Self::LeasedElsewhere => "given-elsewhere",
            Self::LeaseRefused => "lease-refused",
            Self::HostsUnavailable => "hosts-unavailable",
            Self::OutboxFull => "outbox-full",
            Self::ReplyTooLarge => "reply-too-large",
            Self::NoIpv6OnlyTime => "no-ipv6-only-time",
            Self::SendFailed => "send-failed",
            Self::WaitedTooLong => "waited-too-long",
            Self::InternalError => "internal-error",
        }
    }

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
            | Self::UnicastFromClient
            | Self::NothingToConfirm => Some(DropStatistic::RfcViolation),
            Self::ServiceDisabled => Some(DropStatistic::ServiceDisabled),
            Self::Filtered => Some(DropStatistic::AdminFiltered),
            Self::Rejected
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
            | Self::LeaseRefused
            | Self::HostsUnavailable
            | Self::ReplyTooLarge
            | Self::InternalError => Some(DropStatistic::ProcessingFailed),
            Self::ClientChoseOtherServer => Some(DropStatistic::NotForUs),
            Self::DuplicateInFlight => Some(DropStatistic::Duplicate),
            Self::HeldFull | Self::OutboxFull | Self::WaitedTooLong => {
                Some(DropStatistic::QueueFull)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_the_order_of_the_variants() {
        for (position, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), position, "{}", reason.name());
        }
    }
}
