//! Service of DHCPv6: snapshot, transaction, reply.
//!
//! The server follows RFC 9915, and Kea where the RFC leaves a choice (Kea reference §5.15). An
//! identity association has one lease at most. Not supported: temporary addresses, RECONFIGURE,
//! authentication.

pub mod association;
pub mod destination;
pub mod hosts;
pub mod intent;
pub mod reply;
pub mod snapshot;
pub mod transaction;

mod bulk;
mod changes;
mod choice;
mod client;
mod decide;
mod hardware;
mod lease_query;
mod lifetimes;
mod name;
mod parameters;
mod pools;
mod prefetch;
mod prefix_order;
mod registration;
mod relay_info;
mod reserved;
mod select;
mod serve;
mod settle;
mod vendor;

use core::net::{Ipv6Addr, SocketAddrV6};

use dhcp_lease::v6::V6;

pub use crate::reason::DropReason;
pub use client::Dhcp6ClientScratch;
pub use intent::Dhcp6Intent;
pub use snapshot::Snapshot;
pub use transaction::Transaction;

/// Shard that speaks DHCPv6.
pub type Shard<S> = crate::shard::Shard<V6, S>;
/// Counters of a DHCPv6 shard.
pub type ShardCounters = crate::counters::ShardCounters<V6>;

/// Ingress of a DHCPv6 message: the addresses and the interface at which it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// Address of the datagram's sender: a relay agent, or a client, which sends from its
    /// link-local address.
    pub source: SocketAddrV6,
    /// Address of the server that the message was sent to; unspecified when the message was
    /// multicast.
    pub local: Ipv6Addr,
    /// Index of the interface that the message was received through; 0 when unknown.
    pub interface: u32,
    /// True if the message was sent to a multicast address (ff02::1:2, ff05::1:3; RFC 9915 §7.1).
    pub is_multicast: bool,
    /// Number of the server's socket that the message was received from; the reply leaves through
    /// the same socket.
    pub listener_index: u16,
}
