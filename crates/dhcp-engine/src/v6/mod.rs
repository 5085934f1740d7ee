//! DHCPv6: snapshot, transaction, reply.
//!
//! RFC 9915, with what Kea does where the RFC leaves it open (reference §5.15). An identity
//! association has one lease at most. Not spoken: temporary addresses, RECONFIGURE,
//! authentication, lease queries.

pub mod association;
pub mod destination;
pub mod hosts;
pub mod intent;
pub mod reply;
pub mod snapshot;
pub mod transaction;

mod ahead;
mod changes;
mod choice;
mod client;
mod decide;
mod hardware;
mod lifetimes;
mod name;
mod parameters;
mod pools;
mod prefix_order;
mod referred;
mod registration;
mod relay_info;
mod select;
mod serve;
mod settle;
mod vendor;

use core::net::{Ipv6Addr, SocketAddrV6};

use dhcp_lease::v6::V6;

pub use crate::reason::DropReason;
pub use client::Scratch;
pub use intent::Intent;
pub use snapshot::Snapshot;
pub use transaction::{Input, Outcome, Step, Transaction, drive};

/// A shard that speaks DHCPv6.
pub type Shard<S> = crate::shard::Shard<V6, S>;
/// The counters of such a shard.
pub type ShardCounters = crate::counters::ShardCounters<V6>;

/// How a message came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// Who sent the datagram: a relay agent, or a client from its link-local address.
    pub source: SocketAddrV6,
    /// The server's own address that it was sent to; unspecified when it was multicast.
    pub local: Ipv6Addr,
    /// Index of the interface that it came through; 0 when unknown.
    pub interface: u32,
    /// Whether it was sent to a multicast address (ff02::1:2, ff05::1:3).
    pub is_multicast: bool,
    /// Which of the driver's sockets it came through; the reply leaves through the same.
    pub door: u16,
}
