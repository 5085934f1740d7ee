//! Leases of DHCPv6: addresses (IA_NA) and delegated prefixes (IA_PD).

mod extent;
pub mod lease;
mod overlap;
pub mod resource;
mod slot_number_map;
mod spans;
mod table_family;
pub mod testing;

use crate::family::Family;

pub use base::V6;

pub use crate::contract::{
    CHANGES_MAX, CLIENT_SLOTS_MAX, CommitRefusal, FETCHED_ADDRESSES_MAX, LeaseStore, Receipt,
    SlotOccupancy, SlotOwner, SweepCounts,
};
pub use crate::family::PoolIndex;
pub use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
pub use crate::pool::Allocator;
pub use crate::table::Usage;
pub use lease::{HardwareSource, LeaseClient, LeaseExtra};
pub use resource::{IaIdentity, Resource, ResourceKind};
pub use spans::Spans;

/// Fields of a fetched slot that only DHCPv6 has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Preferred lifetime of the slot's lease, in seconds; 0 unless leased.
    pub preferred_lifetime_s: u32,
}

impl Family for V6 {
    type Address = Resource;
    type Kind = ResourceKind;
    type Identity<'a> = IaIdentity<'a>;
    type LeaseClient = LeaseClient;
    type LeaseExtra = LeaseExtra;
    type Detail = Detail;
    type PoolSet = PoolSet;

    fn kind(resource: Resource) -> ResourceKind {
        resource.kind
    }

    fn may_be_one(one: &LeaseClient, other: &LeaseClient) -> bool {
        one.duid == other.duid
    }
}

/// DHCPv6 lease with all fields that a lease file keeps.
pub type Lease = crate::lease::Lease<V6>;
/// Columns of one changed DHCPv6 lease, borrowed from its slot.
pub type RowView<'a> = crate::lease::RowView<'a, V6>;
/// Terms of a new or renewed DHCPv6 lease.
pub type LeaseTerms<'a> = crate::lease::LeaseTerms<'a, V6>;
/// Action on a DHCPv6 slot by a change.
pub type Action<'a> = crate::contract::Action<LeaseTerms<'a>>;
/// Change of one DHCPv6 slot by a commit.
pub type Change<'a> = crate::contract::ChangeOf<'a, V6>;
/// Facts that a lease store fetched for the [`FetchKeys`] of one identity association.
pub type Facts = crate::contract::Facts<V6>;
/// Facts that a DHCPv6 transaction requests from the lease store for one identity association.
pub type FetchKeys<'a> = crate::contract::FetchKeys<'a, V6>;
/// State of one DHCPv6 slot at the time of the fetch.
pub type SlotView = crate::contract::SlotView<V6>;
/// Pool of DHCPv6 as configured.
pub type PoolSpec = crate::pool::PoolSpec<V6>;
/// Pools of one DHCPv6 configuration snapshot.
pub type PoolSet = crate::pool::PoolSet<V6>;
/// Table of all DHCPv6 leases of a server.
pub type LeaseTable = crate::table::LeaseTable<V6>;
/// Handle of one shard on a table of DHCPv6 leases.
pub type TableShard = crate::store::TableShard<V6>;
/// Store of DHCPv6 leases without storage.
pub type MemoryStore = crate::store::MemoryStore<V6>;
