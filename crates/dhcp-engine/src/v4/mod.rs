//! Service of DHCPv4: snapshot, transaction, reply.

pub mod destination;
pub mod hosts;
pub mod identifiers;
pub mod reply;
pub mod scopes;
pub mod snapshot;
pub mod transaction;

mod bulk;
mod claim;
mod decide;
mod grant;
mod lease_query;
mod lifetime;
mod name;
mod prefetch;
mod relay_info;
mod request;
mod select;
mod serve;
mod stored_relay_information;
mod vendor;

use dhcp_lease::v4::V4;

pub use crate::reason::DropReason;
pub use claim::AddressLocation;
pub use destination::Destination;
pub use identifiers::Dhcp4TransactionScratch;
pub use reply::{Reply, ReplyKind};
pub use request::{Dhcp4Intent, RequestingClientState};
pub use snapshot::Snapshot;
pub use stored_relay_information::StoredRelayInformation;
pub use transaction::Transaction;

use core::net::{Ipv4Addr, SocketAddrV4};

/// Shard that speaks DHCPv4.
pub type Shard<S> = crate::shard::Shard<V4, S>;
/// Counters of a DHCPv4 shard.
pub type ShardCounters = crate::counters::ShardCounters<V4>;

/// Ingress of a DHCPv4 message: the addresses and the interface at which it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// Address of the datagram's sender: a relay agent, or a client, which sends from 0.0.0.0 while
    /// it has no address.
    pub source: SocketAddrV4,
    /// Address of the server that the message was sent to, or that its interface has: the server
    /// identifier of the replies.
    pub local: Ipv4Addr,
    /// Index of the interface that the message was received through; 0 when unknown.
    pub interface: u32,
    /// True if the message was sent to 255.255.255.255 or to the broadcast address of a network.
    pub is_broadcast: bool,
    /// Number of the server's socket that the message was received from; the reply leaves through
    /// the same socket, or through another one that reaches the destination over the same
    /// interface.
    pub listener_index: u16,
    /// Hardware address that the frame was sent from, where the server knows it: a client's, or
    /// that of the router or relay agent that forwarded the message. A reply to an address goes
    /// there without ARP.
    pub mac: Option<[u8; 6]>,
}

impl Ingress {
    /// Returns the ingress of a unicast datagram from `source`, at any distance, to the server's
    /// address `local`.
    #[must_use]
    pub const fn routed(source: SocketAddrV4, local: Ipv4Addr) -> Self {
        Self { source, local, interface: 0, is_broadcast: false, listener_index: 0, mac: None }
    }
}
