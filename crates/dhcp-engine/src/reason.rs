//! Why a message got no reply although it was well formed. Each has its counter, and most count in
//! one of Kea's statistics of dropped packets.

use crate::statistic::DropStatistic;

/// Reasons for silence. The peer's doing, or the server's present limits; never an error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// `op` is not BOOTREQUEST.
    NotARequest,
    /// A message type that clients do not send to servers.
    UnexpectedMessageType,
    /// A BOOTP message, and BOOTP is not served (Kea's `libdhcp_bootp.so`).
    Bootp,
    /// Service is switched off (`dhcp-disable`); the datagram was not read.
    ServiceDisabled,
    /// The client is in the class `DROP`.
    Filtered,
    /// A DISCOVER by a client in the class `REJECT`.
    Rejected,
    /// No subnet serves the place that the message came from.
    NoSubnet,
    /// An INFORM from nowhere: neither `ciaddr` nor the datagram says where its sender is.
    NoAddress,
    /// DHCPv4: the interface that the message came through has no address of ours that could be the
    /// server identifier.
    NoOwnAddress,
    /// The message carries neither a hardware address nor a client identifier; DHCPv6: it carries
    /// the DUID 00:00:00, by which Kea's leases say that they are nobody's.
    NoIdentity,
    /// The client identifier is longer than a lease keeps.
    ClientIdTooLong,
    /// The client chose another server (option 54; DHCPv6: Server Identifier).
    ClientChoseOtherServer,
    /// DHCPv6: no Server Identifier where one must be (RFC 9915 §16).
    NoServerId,
    /// A server identifier where none may be (RFC 2131 §4.3.1 table 5; RFC 9915 §16).
    UnexpectedServerId,
    /// A DECLINE that does not say which address (RFC 2131 §4.3.3).
    NothingDeclined,
    /// DHCPv6: several Client or Server Identifiers.
    RepeatedIdentity,
    /// DHCPv6: an identity association in an ADDR-REG-INFORM (RFC 9686 §4.2).
    UnexpectedAssociation,
    /// DHCPv6: an ADDR-REG-INFORM that does not register one address of its own, or one that is
    /// leased or reserved (RFC 9686 §4.2).
    InvalidRegistration,
    /// DHCPv6: a client sent to our own address instead of the multicast address.
    UnicastFromClient,
    /// DHCPv6: a CONFIRM without any address (RFC 9915 §18.3.3).
    NothingToConfirm,
    /// INIT-REBOOT or renewal by a client that we know nothing of, and we are not authoritative
    /// (RFC 2131 §4.3.2).
    UnknownClient,
    /// All pools are in use.
    PoolExhausted,
    /// RELEASE or DECLINE of an address that the client does not have.
    NotTheClientsLease,
    /// The slot kept changing under the transaction.
    Contention,
    /// The client is in flight and a message of it is held already.
    DuplicateInFlight,
    /// No room to hold one more message.
    HeldFull,
    /// The store can log no more: nothing may be acknowledged.
    StoreFailed,
    /// The reply waited too long for its row to be safe.
    GateDeadline,
    /// Another server, which shares the database, has given the address to somebody else.
    GivenElsewhere,
    /// The store refused the lease: it holds something that has no room there, or what is there for
    /// the address cannot be read.
    LeaseRefused,
    /// Reservations cannot be looked up, and one may be the client's.
    HostsUnavailable,
    /// No room for one more waiting reply.
    OutboxFull,
    /// The reply does not fit the largest message that the client takes.
    ReplyTooLarge,
    /// The client wants to do without IPv4 (RFC 8925), but no scope of the reply lets it.
    NoIpv6OnlyTime,
    /// The kernel did not take the reply.
    SendFailed,
    /// More comes than can be served, and it waited so long that a later message is better served.
    WaitedTooLong,
    /// A mistake of the server: what it did with the message panicked.
    InternalError,
}

impl DropReason {
    /// All of them, in the order of their counters.
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
        Self::GivenElsewhere,
        Self::LeaseRefused,
        Self::HostsUnavailable,
        Self::OutboxFull,
        Self::ReplyTooLarge,
        Self::NoIpv6OnlyTime,
        Self::SendFailed,
        Self::WaitedTooLong,
        Self::InternalError,
    ];

    /// Position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name under which it is counted.
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
            Self::GivenElsewhere => "given-elsewhere",
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

    /// Kea's statistic of dropped packets that counts it. `None` where Kea counts nothing: it gives
    /// no reply and leaves it at that.
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
            | Self::GivenElsewhere
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
