//! DHCPv4: snapshot, transaction, reply.

pub mod counters;
pub mod held;
pub mod outbox;
pub mod reason;
pub mod reply;
pub mod select;
pub mod shard;
pub mod snapshot;
pub mod transaction;

mod decide;

pub use counters::ShardCounters;
pub use reason::DropReason;
pub use reply::{Destination, Reply, ReplyKind};
pub use shard::{Shard, Transmit};
pub use snapshot::Snapshot;
pub use transaction::{Input, Outcome, Step, Transaction, drive};

use core::net::{Ipv4Addr, SocketAddrV4};

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
