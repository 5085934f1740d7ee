//! Leases of DHCPv4: addresses.

mod table_family;
pub mod testing;

use core::net::Ipv4Addr;

use crate::family::Family;
use crate::{ClientId, HardwareAddress};

pub use base::V4;

pub use crate::contract::{
    CHANGES_MAX, CLIENT_SLOTS_MAX, CommitRefusal, FETCHED_ADDRESSES_MAX, LeaseStore, Receipt,
    SlotOccupancy, SlotOwner, SweepCounts,
};
pub use crate::family::PoolIndex;
pub use crate::lease::LeaseState;
pub use crate::pool::Allocator;
pub use crate::table::Usage;

/// Fields of a fetched slot that only DHCPv4 has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// True if the lease is stored under exactly the hardware address and the client identifier of
    /// the requesting client; false unless leased.
    pub is_same_client: bool,
}

/// Client of a DHCPv4 lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseClient {
    /// Hardware address of the client; empty after a decline.
    pub hardware: HardwareAddress,
    /// Client identifier (option 61), if the client sent one.
    pub client_id: Option<ClientId>,
}

impl LeaseClient {
    /// Returns the bytes of the client identifier, if the client sent one.
    #[must_use]
    pub fn identifier(&self) -> Option<&[u8]> {
        self.client_id.as_ref().map(ClientId::octets)
    }
}

impl Family for V4 {
    type Address = Ipv4Addr;
    type Kind = ();
    type Identity<'a> = crate::Identity<'a>;
    type LeaseClient = LeaseClient;
    type LeaseExtra = ();
    type Detail = Detail;
    type PoolSet = PoolSet;

    fn kind(_address: Ipv4Addr) {}

    fn may_be_one(one: &LeaseClient, other: &LeaseClient) -> bool {
        let has_one_identifier = one.client_id.is_some() && one.client_id == other.client_id;
        has_one_identifier || one.hardware == other.hardware
    }
}

/// DHCPv4 lease with all fields that a lease file keeps.
pub type Lease = crate::lease::Lease<V4>;
/// Columns of one changed DHCPv4 lease, borrowed from its slot.
pub type RowView<'a> = crate::lease::RowView<'a, V4>;
/// Terms of a new or renewed DHCPv4 lease.
pub type LeaseTerms<'a> = crate::lease::LeaseTerms<'a, V4>;
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
/// Pool of DHCPv4 as configured.
pub type PoolSpec = crate::pool::PoolSpec<V4>;
/// Pools of one DHCPv4 configuration snapshot.
pub type PoolSet = crate::pool::PoolSet<V4>;
/// Table of all DHCPv4 leases of a server.
pub type LeaseTable = crate::table::LeaseTable<V4>;
/// Handle of one shard on a table of DHCPv4 leases.
pub type TableShard = crate::store::TableShard<V4>;
/// Store of DHCPv4 leases without storage.
pub type MemoryStore = crate::store::MemoryStore<V4>;
