//! Leases of DHCPv4: addresses.

pub mod lease;
pub mod pool;
pub mod row;
mod table_family;
pub mod testing;

use core::net::Ipv4Addr;

use crate::family::Family;

pub use crate::contract::{
    CHANGES_MAX, CLIENT_SLOTS_MAX, CommitRefusal, FETCHED_ADDRESSES_MAX, LeaseStore, Receipt,
    SlotOccupancy, SlotOwner, SweepCounts,
};
pub use crate::family::PoolIndex;
pub use crate::pool::Allocator;
pub use crate::table::Usage;
pub use lease::{Lease, LeaseState, LeaseTerms};
pub use pool::PoolSpec;
pub use row::RowView;

/// Fields of a fetched slot that only DHCPv4 has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// True if the lease is stored under exactly the hardware address and the client identifier of
    /// the requesting client; false unless leased.
    pub is_same_client: bool,
}

/// Address family DHCPv4, whose leases are IPv4 addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V4;

impl Family for V4 {
    type Address = Ipv4Addr;
    type Identity<'a> = crate::Identity<'a>;
    type Terms<'a> = LeaseTerms<'a>;
    type Detail = Detail;
    type Lease = Lease;
    type Row<'a> = RowView<'a>;
    type PoolSet = PoolSet;
}

/// Action on a DHCPv4 slot by a change.
pub type Action<'a> = crate::contract::Action<LeaseTerms<'a>>;
/// Change of one DHCPv4 slot by a commit.
pub type Change<'a> = crate::contract::ChangeOf<'a, V4>;
/// Facts that a lease store fetched for the [`FetchKeys`] of a DHCPv4 transaction.
pub type Facts = crate::contract::Facts<V4>;
/// Facts that a DHCPv4 transaction requests from the lease store.
pub type FetchKeys<'a> = crate::contract::FetchKeys<'a, V4>;
/// State of one DHCPv4 slot at the time of the fetch.
pub type SlotView = crate::contract::SlotView<V4>;
/// Pools of one DHCPv4 configuration snapshot.
pub type PoolSet = crate::pool::PoolSet<V4>;
/// Table of all DHCPv4 leases of a server.
pub type LeaseTable = crate::table::LeaseTable<V4>;
/// Handle of one shard on a table of DHCPv4 leases.
pub type TableShard = crate::store::TableShard<V4>;
/// Store of DHCPv4 leases without storage.
pub type MemoryStore = crate::store::MemoryStore<V4>;
