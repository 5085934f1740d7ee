//! DHCPv6 leases: addresses (IA_NA) and delegated prefixes (IA_PD).

mod extent;
pub mod lease;
mod overlap;
pub mod pool;
pub mod resource;
pub mod row;
mod slot_number_map;
mod spans;
mod table_family;
pub mod testing;

use crate::family::Family;

pub use crate::contract::{
    CHANGES_MAX, CLIENT_SLOTS_MAX, CommitRefusal, FETCHED_ADDRESSES_MAX, LeaseStore, Receipt,
    SlotOccupancy, SlotOwner, SweepCounts,
};
pub use crate::family::PoolIndex;
pub use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
pub use crate::pool::Allocator;
pub use crate::table::Usage;
pub use lease::{HardwareSource, Lease, LeaseTerms};
pub use pool::PoolSpec;
pub use resource::{IaIdentity, Resource, ResourceKind};
pub use row::RowView;
pub use spans::Spans;

/// The family of IPv6 addresses and delegated prefixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V6;

/// Fields that v6 slots have in addition to those of both families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Preferred lifetime of the lease, seconds; 0 unless leased.
    pub preferred_lifetime_s: u32,
}

impl Family for V6 {
    type Address = Resource;
    type Identity<'a> = IaIdentity<'a>;
    type Terms<'a> = LeaseTerms<'a>;
    type Detail = Detail;
    type Lease = Lease;
    type Row<'a> = RowView<'a>;
    type PoolSet = PoolSet;
}

/// New use of a v6 slot.
pub type Action<'a> = crate::contract::Action<LeaseTerms<'a>>;
/// Change of one v6 slot.
pub type Change<'a> = crate::contract::ChangeOf<'a, V6>;
/// Answer to the [`FetchKeys`] of one identity association.
pub type Facts = crate::contract::Facts<V6>;
/// Facts that a v6 transaction requests for one identity association.
pub type FetchKeys<'a> = crate::contract::FetchKeys<'a, V6>;
/// One v6 slot as fetched.
pub type SlotView = crate::contract::SlotView<V6>;
/// Pools of one configuration snapshot, DHCPv6.
pub type PoolSet = crate::pool::PoolSet<V6>;
/// Table of all v6 leases of a server.
pub type LeaseTable = crate::table::LeaseTable<V6>;
/// One shard's handle on a v6 table.
pub type TableShard = crate::store::TableShard<V6>;
/// Store of v6 leases without storage.
pub type MemoryStore = crate::store::MemoryStore<V6>;
