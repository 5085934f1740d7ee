//! DHCPv6 leases: addresses (IA_NA) and delegated prefixes (IA_PD).

mod extent;
mod kept;
pub mod lease;
mod overlap;
mod places;
pub mod pool;
pub mod resource;
pub mod row;
mod spans;
pub mod testing;

use crate::family::Family;

pub use crate::contract::{
    ASKED_MAX, CHANGES_MAX, LeaseStore, MINE_MAX, Occupancy, Owner, Receipt, Refusal, Swept,
};
pub use crate::family::PoolIndex;
pub use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
pub use crate::pool::Allocator;
pub use crate::table::Usage;
pub use lease::{HardwareSource, Lease, LeaseTerms};
pub use pool::PoolSpec;
pub use resource::{IaIdentity, IaKind, Resource};
pub use row::RowView;
pub use spans::Spans;

/// The family of IPv6 addresses and delegated prefixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V6;

/// What a v6 slot tells beyond a v4 one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Preferred lifetime given with the valid one, seconds; 0 unless leased.
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

/// What becomes of a v6 slot.
pub type Action<'a> = crate::contract::Action<LeaseTerms<'a>>;
/// One change of one v6 slot.
pub type Change<'a> = crate::contract::ChangeOf<'a, V6>;
/// What was found for one identity association.
pub type Facts = crate::contract::Facts<V6>;
/// What a v6 transaction wants to know for one identity association.
pub type FetchKeys<'a> = crate::contract::FetchKeys<'a, V6>;
/// One v6 slot as it was fetched.
pub type SlotView = crate::contract::SlotView<V6>;
/// The v6 pools of one configuration snapshot.
pub type PoolSet = crate::pool::PoolSet<V6>;
/// All v6 leases of a server.
pub type LeaseTable = crate::table::LeaseTable<V6>;
/// One shard's end of a v6 table.
pub type TableShard = crate::store::TableShard<V6>;
/// A v6 store without storage.
pub type MemoryStore = crate::store::MemoryStore<V6>;
