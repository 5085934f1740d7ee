//! DHCPv4: snapshot, transaction, reply.

pub mod reply;
pub mod snapshot;
pub mod transaction;

mod decide;
mod serve;

use dhcp_lease::v4::V4;

pub use crate::reason::DropReason;
pub use reply::{Destination, Reply, ReplyKind};
pub use snapshot::Snapshot;
pub use transaction::{Input, Outcome, Step, Transaction, drive};

use core::net::{Ipv4Addr, SocketAddrV4};

/// A shard that speaks DHCPv4.
pub type Shard<S> = crate::shard::Shard<V4, S>;
/// The counters of such a shard.
pub type ShardCounters = crate::counters::ShardCounters<V4>;

/// How a message came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// Who sent the datagram (a relay, or a client that has an address).
    pub source: SocketAddrV4,
    /// The server's own address that it was sent to, or that its interface has: the server
    /// identifier of the replies.
    pub local: Ipv4Addr,
    /// Which of the driver's sockets it came through; the reply leaves through the same.
    pub door: u16,
}
