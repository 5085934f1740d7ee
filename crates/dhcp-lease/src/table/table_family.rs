//! Interface between the lease table and a family: where an address's slot is, the fields of a slot
//! that describe its client, and the index that finds a client's slots. The rest of the table is
//! the same for both families.
//!
//! Inside the table every address has a *slot number*, 32 bits that belong to it for ever. In
//! DHCPv4 it is the address itself; in DHCPv6 `v6::slot_number_map` allocates them.

use core::fmt::Debug;
use core::ops::Range;

use base::Prefetch;

use super::address_map::AddressMap;
use super::overlap::Overlaps;
use super::slot::LeaseSlot;
use crate::family::{Family, PoolIndex};
use crate::identity::{ClientKey, HardwareAddress};
use crate::lease::{Lease, RowView};
use crate::pool::{PoolSet, PoolSpec};

/// Address family whose leases a [`LeaseTable`](super::LeaseTable) keeps. Other crates cannot
/// implement it, since it names types private to the table.
pub trait TableFamily: Family<PoolSet = PoolSet<Self>> {
    /// Type of the map from addresses to the numbers of their slots.
    type SlotNumbers: SlotNumberMap<Self>;
    /// Type of the index that finds a client's slots.
    type Index: ClientIndex<Self>;
    /// Type of the part of a slot that only this family has.
    type SlotFields: FamilySlotFields<Self>;

    /// True if a lease outside the pools counts as assigned: Kea counts such a lease in DHCPv4.
    const COUNTS_OUTSIDE: bool;

    /// Returns the pool that counts a lease of `address`: the pool that leases the address,
    /// otherwise the pool of another length that contains it.
    fn pool_around(pools: &PoolSet<Self>, address: Self::Address) -> Option<PoolIndex> {
        pools.find(address)
    }

    /// Type of the position of a lease in the order in which leases are listed.
    type Order: Copy + Ord + Send;

    /// Returns the position of `address` in the order in which leases are listed.
    fn order(address: Self::Address) -> Self::Order;

    /// Returns the number of addresses of a pool.
    fn capacity(spec: &PoolSpec<Self>) -> u128;

    /// Stores in `slot` the fields of a new or renewed lease that only this family has.
    fn set_extra(slot: &mut LeaseSlot<Self>, extra: &Self::LeaseExtra);

    /// Returns true if the lease in `row` belongs to the client with `key`.
    fn is_of(row: &RowView<'_, Self>, key: ClientKey<'_>) -> bool;

    /// Returns the identity by which the index finds the client of `lease`.
    fn indexed_by(lease: &Lease<Self>) -> Self::Identity<'_>;

    /// Returns the family's fields of the slot of a lease with `client` and `extra`, and the
    /// hardware address that is stored outside the slot.
    fn slot_fields(
        address: Self::Address,
        client: Self::LeaseClient,
        extra: &Self::LeaseExtra,
    ) -> (Self::SlotFields, HardwareAddress);
}

/// Fields of a slot that only its family has; the default is that of an address that no client ever
/// had.
pub trait FamilySlotFields<F: Family>: Debug + Default + Send {
    /// Turns a default value into the family's fields of the slot of `address`.
    fn settle_at(&mut self, address: F::Address);

    /// Returns the address of the slot `slot_number`.
    fn address(&self, slot_number: u32) -> F::Address;

    /// Returns the family's fields of a view of the slot for `identity`; `is_leased`: the slot is
    /// leased.
    fn detail(&self, identity: &F::Identity<'_>, is_leased: bool) -> F::Detail;

    /// Returns the identifiers of the slot's client: its present or its last one.
    fn client(&self) -> &F::LeaseClient;

    /// Returns the fields of the slot's lease that only this family has; `boxed` is the hardware
    /// address stored outside the slot.
    fn extra(&self, boxed: HardwareAddress) -> F::LeaseExtra;

    /// Returns true if the slot has a client: its present or its last one.
    fn has_client(&self) -> bool;

    /// Returns true if the slot belongs or last belonged to `identity`.
    fn is_owned_by(&self, subnet_id: u32, identity: &F::Identity<'_>) -> bool;

    /// Returns true if the identities stored in the slot are exactly those of `identity`.
    fn has_identity(&self, identity: &F::Identity<'_>) -> bool;

    /// Returns true if both slots store the same client.
    fn has_client_of(&self, other: &Self) -> bool;

    /// Stores the client `identity` in a slot without a client.
    fn remember(&mut self, identity: &F::Identity<'_>);

    /// Removes the client from the slot, with the fields that belong to it.
    fn forget(&mut self);

    /// Ends the term of the slot's lease before its time.
    fn end_term(&mut self);
}

/// Index from a client to the slot numbers of its slots.
pub trait ClientIndex<F: TableFamily>: Send + Sync {
    /// Returns an empty index. The secret `seed` prevents clients from choosing identities that
    /// collide.
    fn new(seed: u64) -> Self;

    /// Makes the index, while it is empty, lead to all slots of a client by its identifier alone
    /// too, where it does not anyway.
    fn index_whole_clients(&mut self);

    /// Makes room in the index for the clients of `count` slots.
    fn reserve(&self, count: usize);

    /// Adds to the index that the client in `fields`, if any, has the slot `slot_number`.
    fn insert(&self, fields: &F::SlotFields, slot_number: u32);

    /// Removes the entry of the index that [`ClientIndex::insert`] added for these arguments.
    fn remove(&self, fields: &F::SlotFields, slot_number: u32);

    /// Calls `visit` with every slot number that may belong to `identity`, and with the part of the
    /// identity that the slot's client must have. Once the client has a slot in use, its less
    /// certain identities, such as the hardware address, are not looked up.
    fn visit(
        &self,
        identity: &F::Identity<'_>,
        visit: impl FnMut(u32, &F::Identity<'_>) -> SlotClientRelation,
    );

    /// Prefetches the memory of the index that a visit of `identity` reads.
    fn prefetch(&self, identity: &F::Identity<'_>, prefetch: Prefetch);

    /// Returns every slot number that may belong to the client with `key`; `None` when the index
    /// does not lead to all of them.
    fn find_all(&self, key: ClientKey<'_>) -> Option<Vec<u32>>;

    /// Returns the memory that the index takes, in bytes.
    fn bytes(&self) -> usize;

    /// Returns the number of entries in the index.
    #[cfg(test)]
    fn len(&self) -> usize;

    /// Returns the number of entries that the index must have for the slot `slot_number` with
    /// `fields`; looks for all of them.
    #[cfg(test)]
    fn audit(&self, fields: &F::SlotFields, slot_number: u32) -> usize;
}

/// Relation between a slot and the client for which an index led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotClientRelation {
    /// No relation: the slot belongs to another client or to none.
    Others,
    /// Past owner: the slot belonged to the client.
    Past,
    /// Owner: the slot belongs to the client and is in use.
    InUse,
}

/// Steps that make slot numbers of some pools ready to be leased, see [`SlotNumberMap`].
#[derive(Debug)]
pub struct OpeningPlan<P> {
    /// Ranges of slot numbers, each from the first to the last.
    pub ranges: Vec<(u32, u32)>,
    /// Value to publish when the ranges of slot numbers are ready.
    pub publication: P,
}

/// Map from addresses to the numbers of their slots. Changes happen under the table's configuration
/// lock: the table makes the result of a `plan` function ready (free bits, rows for the slots) and
/// then publishes it.
pub trait SlotNumberMap<F: TableFamily>: Overlaps<F> {
    /// Type of the location of the addresses of one pool.
    type Run: Debug + Send + Sync;
    /// Type of the change of slot numbers that [`SlotNumberMap::publish`] makes visible.
    type Publication;

    /// True if `plan_growth` and `plan_cover` ever return a plan to open slot numbers.
    const CAN_GROW: bool;
    /// First of the slot numbers that do not have a free bit of their own; `None` when there are no
    /// such slot numbers. Their addresses may have the free bits of other slot numbers.
    const FIRST_APART: Option<u32>;

    /// Returns a map without slot numbers.
    fn new(seed: u64) -> Self;

    /// Returns the slot number of `address`; `None` as long as the address has none.
    fn find(&self, address: F::Address) -> Option<u32>;

    /// Returns the slot number of `address` and creates the number if necessary: for a loaded lease
    /// always, otherwise only for an address that a pool ever had.
    fn make(&self, address: F::Address, is_loaded: bool) -> Option<u32>;

    /// Returns true if [`SlotNumberMap::make`] would create a slot number, without a load, for
    /// `address`, which has none yet.
    fn can_be_made(&self, address: F::Address) -> bool;

    /// Returns true if a pool ever contained `address`, which has `slot_number`.
    fn is_pooled(&self, map: &AddressMap, slot_number: u32, address: F::Address) -> bool;

    /// Returns the number of the free bit of `address`, which has `slot_number`; `None` when no
    /// pool leases the address.
    fn bit(&self, slot_number: u32, address: F::Address) -> Option<u32>;

    /// Returns the free bit that `address` has or will have when its slot number is opened; `None`
    /// when no pool reserves a slot number for the address.
    fn bit_to_be(&self, map: &AddressMap, address: F::Address) -> Option<u32>;

    /// Returns the blocks of 256 slot numbers that have addresses `after` a given one, each with
    /// its first address, as several lists that ascend.
    fn runs(&self, map: &AddressMap, after: Option<F::Order>) -> Vec<Vec<(u32, F::Address)>>;

    /// Plans the slot numbers of the pools `specs`; returns the run of each pool and the opening.
    fn plan(&self, specs: &[PoolSpec<F>]) -> (Vec<Self::Run>, OpeningPlan<Self::Publication>);

    /// Plans to open more of a pool all of whose open slot numbers are taken; `None` when all are
    /// open.
    fn plan_growth(&self, run: &Self::Run) -> Option<OpeningPlan<Self::Publication>>;

    /// Plans to open the slot number of `address`, when a pool reserves one for the address.
    fn plan_cover(&self, address: F::Address) -> Option<OpeningPlan<Self::Publication>>;

    /// Makes the planned slot numbers of `publication` visible to all threads. Returns true if
    /// addresses that have other slot numbers already may be among the opened ones.
    fn publish(&self, publication: Self::Publication) -> bool;

    /// Returns the slot number at which a search in a pool starts when no address was leased from
    /// it yet.
    fn start(spec: &PoolSpec<F>, run: &Self::Run) -> u32;

    /// Returns the number of positions of a pool from the first on, without those of slot numbers
    /// that are not open where that is possible.
    fn count(spec: &PoolSpec<F>, run: &Self::Run) -> u64;

    /// Returns the positions of a pool whose slot numbers are open, in ranges that ascend and only
    /// grow at their ends.
    fn open_positions(spec: &PoolSpec<F>, run: &Self::Run) -> impl Iterator<Item = Range<u64>>;

    /// Returns the slot number and address at `position` of a pool; `None` as long as the position
    /// is not open.
    fn at(spec: &PoolSpec<F>, run: &Self::Run, position: u64) -> Option<(u32, F::Address)>;

    /// Returns the position of `address` in a pool that contains it; `None` when the address has no
    /// position.
    fn position(spec: &PoolSpec<F>, run: &Self::Run, address: F::Address) -> Option<u32>;

    /// Returns the memory that the map takes, in bytes.
    fn bytes(&self) -> usize;

    /// Clears a free bit of a pool's address and returns its slot number, so that no other thread
    /// gets the address: the next at or after `start`, wrapping around once.
    fn claim(
        map: &AddressMap,
        spec: &PoolSpec<F>,
        run: &Self::Run,
        start: u32,
    ) -> Option<(u32, F::Address)>;
}
