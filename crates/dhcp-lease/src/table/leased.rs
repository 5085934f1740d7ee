//! What the table asks of a family: where an address's slot is, what a slot keeps of a client, and
//! how a client's slots are found again. The rest of the table is the same for both.
//!
//! Inside the table every address has a *place*, 32 bits that belong to it for ever. In v4 it is
//! the address itself; in v6 `v6::places` gives them out.

use core::fmt::Debug;
use core::ops::Range;

use base::Prefetch;

use super::address_map::AddressMap;
use super::overlap::Overlaps;
use super::slot::{Extra, Slot};
use crate::contract::Occupancy;
use crate::family::{Family, PoolIndex};
use crate::identity::ClientKey;
use crate::lease::LeaseState;
use crate::pool::{Allocator, PoolSet};

/// A family whose leases a [`LeaseTable`](super::LeaseTable) keeps. It cannot be implemented
/// elsewhere, since it names what only the table has.
pub trait Leased: Family<PoolSet = PoolSet<Self>> {
    /// A pool as the configuration has it.
    type Spec: Copy + Eq + Debug + Send + Sync;
    /// Where the slots of addresses are.
    type Places: Places<Self>;
    /// How a client's slots are found again.
    type Index: ClientIndex<Self>;
    /// What a slot keeps beyond what both families have.
    type Kept: Kept<Self>;

    /// What is leased, where kinds are counted apart.
    type Kind: Copy + Ord + Debug + Send + Sync;

    /// The kind of `address`.
    fn kind(address: Self::Address) -> Self::Kind;

    /// Whether what a client is given outside the pools is assigned: Kea counts it in DHCPv4.
    const COUNTS_OUTSIDE: bool;

    /// Returns the pool that counts what is leased at `address`: the one that gives it, else the one
    /// that it lies inside of with another length.
    fn pool_around(pools: &PoolSet<Self>, address: Self::Address) -> Option<PoolIndex> {
        pools.find(address)
    }

    /// The order in which leases are listed.
    type Order: Copy + Ord + Send;

    /// The position of `address` in that order.
    fn order(address: Self::Address) -> Self::Order;

    /// How a pool's addresses are given.
    fn allocator(spec: &Self::Spec) -> Allocator;

    /// A pool's subnet and its own `pool-id`.
    fn ids(spec: &Self::Spec) -> (u32, u32);

    /// First and last address of a pool.
    fn bounds(spec: &Self::Spec) -> (Self::Address, Self::Address);

    /// How many addresses a pool has.
    fn capacity(spec: &Self::Spec) -> u128;

    /// What terms of both families have.
    fn common<'a>(terms: &'a Self::Terms<'_>) -> CommonTerms<'a>;

    /// Keeps what only this family's terms have.
    fn keep_terms(slot: &mut Slot<Self>, terms: &Self::Terms<'_>);

    /// The slot's lease as a row in `state`.
    fn row(slot: &Slot<Self>, state: LeaseState) -> Self::Row<'_>;

    /// Whether a row is of the client with `key`.
    fn is_of(row: &Self::Row<'_>, key: ClientKey<'_>) -> bool;

    /// A copy of a row that outlives the slot's lock.
    fn to_lease(row: &Self::Row<'_>) -> Self::Lease;

    /// What `lease` is of.
    fn address_of(lease: &Self::Lease) -> Self::Address;

    /// What the index finds the client of `lease` by.
    fn indexed_by(lease: &Self::Lease) -> Self::Identity<'_>;

    /// A lease as a slot keeps it.
    fn take_apart(lease: Self::Lease) -> Loaded<Self>;
}

/// What the terms of both families have.
#[derive(Clone, Copy, Debug)]
pub struct CommonTerms<'a> {
    /// Seconds from now.
    pub valid_lifetime_s: u32,
    /// `id` of the subnet.
    pub subnet_id: u32,
    /// `pool-id` of the pool, 0 when it has none.
    pub pool_id: u32,
    /// Names and context.
    pub text: Text<'a>,
}

/// Names and context of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Host name, possibly empty.
    pub hostname: &'a str,
    /// JSON text; empty keeps what is there.
    pub user_context: &'a str,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
}

impl Text<'_> {
    /// Whether there is nothing to keep.
    pub(super) const fn is_empty(&self) -> bool {
        self.hostname.is_empty() && self.user_context.is_empty() && !self.fqdn_fwd && !self.fqdn_rev
    }
}

/// A lease taken apart, to be put into a slot.
#[derive(Debug)]
pub struct Loaded<F: Leased> {
    /// What is leased.
    pub address: F::Address,
    /// Seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time, wall-clock seconds.
    pub cltt_s: u64,
    /// The subnet's `id`.
    pub subnet_id: u32,
    /// The pool's `pool-id`.
    pub pool_id: u32,
    /// Kea's state.
    pub state: LeaseState,
    /// What few leases have.
    pub extra: Extra,
    /// The family's part, with the client.
    pub kept: F::Kept,
}

impl<F: Leased> Loaded<F> {
    /// What the lease's slot is used for.
    pub(super) const fn occupancy(&self) -> Occupancy {
        match self.state {
            _ if self.valid_lifetime_s == 0 => Occupancy::Free,
            LeaseState::Assigned | LeaseState::Registered => Occupancy::Leased,
            LeaseState::Declined => Occupancy::Declined,
            LeaseState::ExpiredReclaimed | LeaseState::Released => Occupancy::Free,
        }
    }
}

/// The family's part of a slot; the default is that of an address that nobody ever had.
pub trait Kept<F: Family>: Debug + Default + Send {
    /// Makes it the part of `address`'s slot.
    fn settle_at(&mut self, address: F::Address);

    /// The address of the slot at `place`.
    fn address(&self, place: u32) -> F::Address;

    /// What a fetch by `identity` tells of it; `is_leased`: the slot is.
    fn detail(&self, identity: &F::Identity<'_>, is_leased: bool) -> F::Detail;

    /// Whether a client is known: the one that has it or the last that had it.
    fn has_client(&self) -> bool;

    /// Whether the slot is `identity`'s, or was last.
    fn is_owned_by(&self, identity: &F::Identity<'_>) -> bool;

    /// Whether exactly the identities of `identity` are kept.
    fn has_identity(&self, identity: &F::Identity<'_>) -> bool;

    /// Whether both keep the same client.
    fn has_client_of(&self, other: &Self) -> bool;

    /// Keeps a client where there was none.
    fn remember(&mut self, identity: &F::Identity<'_>);

    /// Keeps no client any more, nor what belonged to it.
    fn forget(&mut self);

    /// The term has ended before its time.
    fn end_term(&mut self);
}

/// Leads from a client to the places of its slots.
pub trait ClientIndex<F: Leased>: Send + Sync {
    /// An empty index. `seed` keeps clients from choosing identities that collide.
    fn new(seed: u64) -> Self;

    /// Makes room for the clients of `count` slots.
    fn reserve(&self, count: usize);

    /// Adds that the client in `kept`, if any, has the slot at `place`.
    fn insert(&self, kept: &F::Kept, place: u32);

    /// Takes that back.
    fn remove(&self, kept: &F::Kept, place: u32);

    /// Gives every place that may be `identity`'s to `visit`, with as much of the identity as the slot
    /// must have been given to. Less certain identities are not followed once a slot was in use.
    fn visit(
        &self,
        identity: &F::Identity<'_>,
        visit: impl FnMut(u32, &F::Identity<'_>) -> Visited,
    );

    /// Brings near what a visit of `identity`'s reads.
    fn expect(&self, identity: &F::Identity<'_>, prefetch: Prefetch);

    /// Every place that may be of the client with `key`; `None` when the index does not lead to all
    /// of them.
    fn lead(&self, key: ClientKey<'_>) -> Option<Vec<u32>>;

    /// Octets that it takes.
    fn bytes(&self) -> usize;

    /// Number of entries.
    #[cfg(test)]
    fn len(&self) -> usize;

    /// How many entries a slot with `kept` at `place` must have; all are looked for.
    #[cfg(test)]
    fn audit(&self, kept: &F::Kept, place: u32) -> usize;
}

/// What a slot is to a client that an index led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visited {
    /// Another's, or nobody's.
    Others,
    /// It was the client's.
    Past,
    /// It is the client's and in use.
    InUse,
}

/// What the places of some pools need before they can be given away: see [`Places`].
#[derive(Debug)]
pub struct Opening<P> {
    /// Ranges of places, each from the first to the last.
    pub ranges: Vec<(u32, u32)>,
    /// What is said when they are ready.
    pub publication: P,
}

/// Leads from addresses to places. Changes happen under the table's configuration lock: what a
/// `plan` function gives is made ready (free bits, rows for the slots) and then published.
pub trait Places<F: Leased>: Overlaps<F> {
    /// Where the addresses of one pool are.
    type Run: Debug + Send + Sync;
    /// What [`Places::publish`] is given.
    type Publication;

    /// Whether `plan_growth` and `plan_cover` ever give anything.
    const CAN_GROW: bool;
    /// The first of the places whose free bits, if their addresses come to have any, are other
    /// places'; `None` when there are no such places.
    const FIRST_APART: Option<u32>;

    /// No places yet.
    fn new(seed: u64) -> Self;

    /// The place of `address`; `None` as long as it has none.
    fn find(&self, address: F::Address) -> Option<u32>;

    /// The place of `address`, given now if need be: to what is loaded always, else only to what a
    /// pool ever had.
    fn make(&self, address: F::Address, is_loaded: bool) -> Option<u32>;

    /// Whether [`Places::make`] would give `address`, which has no place yet, one without a load.
    fn can_be_made(&self, address: F::Address) -> bool;

    /// Whether a pool ever held `address`, which is at `place`.
    fn is_pooled(&self, map: &AddressMap, place: u32, address: F::Address) -> bool;

    /// The free bit of `address`, which is at `place`; `None` when it is not given from any pool.
    fn bit(&self, place: u32, address: F::Address) -> Option<u32>;

    /// The free bit that `address` has or will have when its place is opened; `None` when no pool
    /// keeps a place for it.
    fn bit_to_be(&self, map: &AddressMap, address: F::Address) -> Option<u32>;

    /// Blocks of 256 places that hold addresses `after` one, each with its first address: in several
    /// runs, of which each ascends.
    fn runs(&self, map: &AddressMap, after: Option<F::Order>) -> Vec<Vec<(u32, F::Address)>>;

    /// What makes `specs` pools, and where each of them is.
    fn plan(&self, specs: &[F::Spec]) -> (Vec<Self::Run>, Opening<Self::Publication>);

    /// What opens more of a pool all of whose open places are taken; `None` when all are open.
    fn plan_growth(&self, run: &Self::Run) -> Option<Opening<Self::Publication>>;

    /// What opens the place of `address`, when a pool keeps one for it.
    fn plan_cover(&self, address: F::Address) -> Option<Opening<Self::Publication>>;

    /// Lets `publication` be seen. True when addresses that have other places already may be among
    /// what was opened.
    fn publish(&self, publication: Self::Publication) -> bool;

    /// The place that a search in a pool starts at when nothing was given from it yet.
    fn start(spec: &F::Spec, run: &Self::Run) -> u32;

    /// How many positions a pool has from the first on, those of places that are not open left out
    /// where that is possible.
    fn count(spec: &F::Spec, run: &Self::Run) -> u64;

    /// The positions of a pool whose places are open, in ranges that ascend and only grow at their
    /// ends.
    fn open_positions(spec: &F::Spec, run: &Self::Run) -> impl Iterator<Item = Range<u64>>;

    /// The place at `position` of a pool; `None` as long as it is not open.
    fn at(spec: &F::Spec, run: &Self::Run, position: u64) -> Option<(u32, F::Address)>;

    /// The position of `address` in a pool that holds it; `None` when it has none.
    fn position(spec: &F::Spec, run: &Self::Run, address: F::Address) -> Option<u32>;

    /// Octets that it takes.
    fn bytes(&self) -> usize;

    /// Takes a free bit of a pool away from everybody else: the next at or after `start`, wrapping
    /// around once.
    fn claim(
        map: &AddressMap,
        spec: &F::Spec,
        run: &Self::Run,
        start: u32,
    ) -> Option<(u32, F::Address)>;
}
