//! DHCPv4 leases.

mod kept;
pub mod lease;
pub mod pool;
pub mod row;
pub mod testing;

use core::net::Ipv4Addr;

use crate::family::Family;

pub use crate::contract::{
    ASKED_MAX, CHANGES_MAX, LeaseStore, MINE_MAX, Occupancy, Owner, Receipt, Refusal, Swept,
};
pub use crate::family::PoolIndex;
pub use crate::pool::Allocator;
pub use crate::table::Usage;
pub use lease::{Lease, LeaseState, LeaseTerms};
pub use pool::PoolSpec;
pub use row::RowView;

/// What only a v4 slot tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Whether the lease is kept under exactly the hardware address and the client identifier that
    /// the asking client has; false unless leased.
    pub is_same_client: bool,
}

/// The family of IPv4 addresses.
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

/// What becomes of a v4 slot.
pub type Action<'a> = crate::contract::Action<LeaseTerms<'a>>;
/// One change of one v4 slot.
pub type Change<'a> = crate::contract::ChangeOf<'a, V4>;
/// What was found for a v4 transaction.
pub type Facts = crate::contract::Facts<V4>;
/// What a v4 transaction wants to know.
pub type FetchKeys<'a> = crate::contract::FetchKeys<'a, V4>;
/// One v4 slot as it was fetched.
pub type SlotView = crate::contract::SlotView<V4>;
/// The v4 pools of one configuration snapshot.
pub type PoolSet = crate::pool::PoolSet<V4>;
/// All v4 leases of a server.
pub type LeaseTable = crate::table::LeaseTable<V4>;
/// One shard's end of a v4 table.
pub type TableShard = crate::store::TableShard<V4>;
/// A v4 store without storage.
pub type MemoryStore = crate::store::MemoryStore<V4>;
