//! Contract between the message transaction (`dhcp-engine`) and a lease store, the same for both
//! families: fetch facts, commit changes by compare-and-set, learn when a committed change may
//! appear in a reply.
//!
//! A *row epoch* orders durability: every logged change belongs to an epoch, and once
//! [`LeaseStore::settled_epoch`] has reached it, the row is as safe as the store's durability
//! promises. No reply that read or wrote a slot leaves before that slot's epoch is settled, and a
//! slot whose epoch is not settled takes no other change.

use core::hash::BuildHasher;

use base::{Now, Prefetch};
use foldhash::fast::FixedState;

use crate::family::{Family, PoolIndex};
use crate::lease::{INFINITE_LIFETIME_S, LeaseState};

/// Use of an address slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotOccupancy {
    /// Free; the slot may remember its last client.
    Free,
    /// Offered: a volatile hold until [`SlotView::hold_deadline_ns`].
    Held,
    /// Leased until [`SlotView::expires_s`].
    Leased,
    /// Declined, on probation until [`SlotView::expires_s`].
    Declined,
    /// Released, but the row of the release is not settled: the address is taken, not free.
    Releasing,
}

/// Owner of a slot, relative to the requesting client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotOwner {
    /// No client so far.
    NoClient,
    /// The requesting client; for a free slot: the client that had it last.
    Requester,
    /// Another client; for a free slot: another client had it last.
    Other,
}

/// State of one address slot at the time of the fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView<F: Family> {
    /// The address (or delegated prefix).
    pub address: F::Address,
    /// Version that a compare-and-set compares; every change of the slot changes it.
    pub version: u32,
    /// Use of the slot.
    pub occupancy: SlotOccupancy,
    /// Owner of the slot, relative to the requesting client.
    pub owner: SlotOwner,
    /// Kea's state of the lease; in a slot that is free or held, that of the same client's past
    /// lease, or [`LeaseState::Assigned`] without one.
    pub state: LeaseState,
    /// Subnet under which the slot was last leased or held; 0 = never.
    pub subnet_id: u32,
    /// Client's last transaction time, wall-clock seconds; 0 unless leased or declined.
    pub cltt_s: u64,
    /// Lifetime given at that time, seconds.
    pub valid_lifetime_s: u32,
    /// Monotonic end of the hold, nanoseconds; 0 unless held.
    pub hold_deadline_ns: u64,
    /// Epoch of the slot's last row; 0 = none in this run.
    pub row_epoch: u64,
    /// Hashes of the lease's other texts, so that a lease that would be written again unchanged
    /// need not be written.
    pub text: TextView,
    /// True if an overlapping address or prefix is in use, so that the slot can be neither leased
    /// nor renewed.
    pub is_overlapped: bool,
    /// Fields that only leases of this family have.
    pub detail: F::Detail,
}

/// Hashes of a lease's names and context, for comparison with another lease. All zero unless
/// leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextView {
    /// [`text_hash`] of the host name; 0 = none.
    pub hostname: u32,
    /// [`text_hash`] of the user context; 0 = none.
    pub user_context: u32,
    /// True if the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
}

/// Returns the hash of `text` for a [`TextView`]; 0 when `text` is empty. Equal texts have equal
/// hashes. Unequal texts may have equal hashes: a client that makes two of its texts collide only
/// keeps its old one.
#[must_use]
pub fn text_hash(text: &str) -> u32 {
    if text.is_empty() { 0 } else { (FixedState::with_seed(0).hash_one(text) as u32).max(1) }
}

impl<F: Family> SlotView<F> {
    /// Returns the wall-clock second at which lease or probation ends; `u64::MAX` when infinite.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        if self.valid_lifetime_s == INFINITE_LIFETIME_S {
            u64::MAX
        } else {
            self.cltt_s + self.valid_lifetime_s as u64
        }
    }

    /// Returns true if another client could take the address now: the slot is free, or its hold or
    /// lease has ended. A commit still refuses a slot with an unsettled row.
    #[must_use]
    pub const fn is_available(&self, now: Now) -> bool {
        if self.is_overlapped {
            return false;
        }
        match self.occupancy {
            SlotOccupancy::Free => true,
            SlotOccupancy::Held => self.hold_deadline_ns <= now.mono_ns,
            SlotOccupancy::Leased | SlotOccupancy::Declined => self.expires_s() <= now.wall_s(),
            SlotOccupancy::Releasing => false,
        }
    }
}

/// Facts that a transaction requests from the store.
#[derive(Clone, Copy, Debug)]
pub struct FetchKeys<'a, F: Family> {
    /// The client, under all its identities; v6: for one of its identity associations.
    pub identity: F::Identity<'a>,
    /// Addresses to look at: requested address, `ciaddr`, addresses reserved for the client; v6:
    /// those of the association.
    pub addresses: [Option<F::Address>; FETCHED_ADDRESSES_MAX],
    /// The pool set of the transaction's configuration snapshot.
    pub pools: &'a F::PoolSet,
    /// Pools to take a free candidate from, in order of preference; empty: no candidate is wanted.
    pub candidate_pools: &'a [PoolIndex],
    /// True if the candidate is wanted only when the client has no slot of its own.
    pub is_candidate_spare: bool,
}

/// Maximum number of addresses that one fetch looks at, in addition to the client's own.
pub const FETCHED_ADDRESSES_MAX: usize = 4;
/// Maximum number of slots of one client that a fetch reports.
pub const CLIENT_SLOTS_MAX: usize = 8;
/// Maximum number of changes in one commit.
pub const CHANGES_MAX: usize = 8;

/// Answer to [`FetchKeys`]. Reused between packets.
#[derive(Clone, Copy, Debug)]
pub struct Facts<F: Family> {
    /// Slots that the client owns (leased, held) or owned last (free, expired), in arbitrary order;
    /// the first `mine_count` are set. The store does not look for a client by its hardware address
    /// when the client owns a slot by its client identifier.
    pub client_slots: [Option<SlotView<F>>; CLIENT_SLOTS_MAX],
    /// Number of slots set in `mine`.
    pub client_slot_count: usize,
    /// Slots of [`FetchKeys::addresses`]; `None` for an address that no pool ever had and that is
    /// not reserved.
    pub address_slots: [Option<SlotView<F>>; FETCHED_ADDRESSES_MAX],
    /// Free address, claimed for this transaction until it commits; `None` when none was wanted or
    /// all pools are exhausted. When no address was free, the slot with the oldest hold.
    pub candidate: Option<SlotView<F>>,
    /// Epoch to wait for, or 0 when the facts are complete. Otherwise the store is querying a
    /// database that it shares with other servers for the client's leases: there is no candidate
    /// yet, and the caller fetches again once this epoch is settled.
    pub unread_epoch: u64,
}

impl<F: Family> Default for Facts<F> {
    fn default() -> Self {
        Self {
            client_slots: [None; CLIENT_SLOTS_MAX],
            client_slot_count: 0,
            address_slots: [None; FETCHED_ADDRESSES_MAX],
            candidate: None,
            unread_epoch: 0,
        }
    }
}

impl<F: Family> Facts<F> {
    /// Returns the client's slots.
    pub fn client_slots(&self) -> impl Iterator<Item = &SlotView<F>> {
        self.client_slots[..self.client_slot_count].iter().flatten()
    }
}

/// One change of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<I, A, T> {
    /// Client that requests the change.
    pub identity: I,
    /// Address of the slot.
    pub address: A,
    /// Version that the decision was made on; any other version refuses the change.
    pub expected_version: u32,
    /// New use of the slot.
    pub action: Action<T>,
}

/// [`Change`] of a slot of family `F`.
pub type ChangeOf<'a, F> =
    Change<<F as Family>::Identity<'a>, <F as Family>::Address, <F as Family>::Terms<'a>>;

/// New use of a slot. The client is [`Change::identity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// Offer the address to the client. Not logged.
    Hold {
        /// Monotonic end, nanoseconds.
        deadline_ns: u64,
        /// `id` of the subnet.
        subnet_id: u32,
    },
    /// Give up the client's hold. Not logged.
    Unhold,
    /// Lease the address to the client from now on. Logged.
    Lease(T),
    /// Register an address that the client chose itself (RFC 9686); any address is accepted. The
    /// expected version is 0 when the fetch found no slot. Logged.
    Register(T),
    /// Release by the client: the address is free once the row is settled, and remembered for the
    /// client as [`Expiry`](crate::Expiry) configures. Logged.
    Release,
    /// Decline by the client, which found the address in use: no client gets it until the probation
    /// ends. Logged.
    Decline {
        /// Seconds from now.
        probation_s: u32,
    },
}

impl<T> Action<T> {
    /// Returns true if the action writes a row.
    #[must_use]
    pub const fn is_logged(&self) -> bool {
        !matches!(self, Self::Hold { .. } | Self::Unhold)
    }
}

/// Result of a successful commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Epoch that must be settled before the reply may leave; 0 when no row was logged.
    pub row_epoch: u64,
}

/// Reason why a commit changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitRefusal {
    /// A slot has changed since it was fetched: fetch and decide again.
    Stale,
    /// A slot has a row that is not settled yet: try again after this epoch.
    Unsettled(u64),
    /// The address belongs to no pool and no lease.
    NoSuchSlot,
    /// The store can no longer log; the server must not acknowledge any change.
    Failed,
}

/// Counts of one call of [`LeaseStore::sweep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// Holds that had ended and were removed.
    pub holds: u32,
    /// Leases that had run out and were reclaimed.
    pub leases: u32,
    /// Leases that clients had released and the sweep reclaimed.
    pub released: u32,
    /// Reclaimed leases that are not remembered any longer.
    pub flushed: u32,
    /// Declined addresses whose probation was over.
    pub declined: u32,
    /// True when the budget ended before the work.
    pub is_more_due: bool,
}

impl SweepCounts {
    /// Returns the number of leases, in any state, that were reclaimed.
    #[must_use]
    pub const fn reclaimed(&self) -> u32 {
        self.leases + self.released + self.declined
    }
}

/// Existing lease that [`LeaseStore::put`] requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// No lease, not even a reclaimed one.
    Add,
    /// A lease, to be replaced.
    Update,
    /// A lease or none.
    Force,
}

/// Reason why [`LeaseStore::put`] or [`LeaseStore::remove`] changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutRefusal {
    /// The address has a lease.
    Exists,
    /// The address has no lease.
    Missing,
    /// An overlapping address or prefix is leased.
    Overlaps,
    /// The slot has a row that is not settled yet: try again after this epoch.
    Unsettled(u64),
    /// The store can no longer log; the server must not acknowledge any change.
    Failed,
}

/// Slot that a message about to be served will need, apart from the slots of its client.
#[derive(Clone, Copy, Debug)]
pub enum ExpectedSlot<'e, F: Family> {
    /// No slot is known yet.
    Nothing,
    /// The slot of this address.
    Address(F::Address),
    /// The next free address of this pool.
    Candidate(&'e F::PoolSet, PoolIndex),
}

/// One shard's handle on a store of `F`'s leases. All shards share the leases of a store. No method
/// has a default: a store that wraps another one has to forward each of them.
pub trait LeaseStore<F: Family> {
    /// Looks up the facts that `keys` request. `facts` is overwritten.
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>);

    /// Announces that a transaction for message `number` begins, for the first time or again after
    /// a wait: facts already read for it need not be read again.
    fn begin_message(&mut self, number: u64);

    /// Announces that a message of the client `identity`, if known, is about to be served, at most
    /// once per message: the store may prefetch what the message will need.
    fn prefetch_message(
        &mut self,
        identity: Option<&F::Identity<'_>>,
        expected: ExpectedSlot<'_, F>,
        prefetch: Prefetch,
    );

    /// Appends the user context of the running lease of `address` when it is a lease of the client
    /// `identity`; returns false when there is no such lease.
    fn user_context(
        &mut self,
        now: Now,
        address: F::Address,
        identity: &F::Identity<'_>,
        target: &mut String,
    ) -> bool;

    /// Applies all `changes` or none (at most [`CHANGES_MAX`], distinct addresses), each only if
    /// its slot still has the expected version and no unsettled row.
    ///
    /// # Errors
    ///
    /// The first reason met; then nothing has changed.
    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, CommitRefusal>;

    /// Ends the claim on a candidate that the transaction will not commit, so that others may have
    /// it at once. Claims that are neither committed nor given back end with the batch; a later
    /// commit may find the slot taken.
    fn release_claim(&mut self, address: F::Address);

    /// Reserves `address` in addition to the reservations of the configuration: the store gives it
    /// only to a client that requests it, also if no pool contains it. Has no effect on an address
    /// that is reserved already.
    fn reserve_address(&mut self, address: F::Address);

    /// Ends a batch: hands the rows logged so far to the writer.
    fn submit(&mut self, now: Now);

    /// Returns the highest epoch whose rows are all as safe as the store promises. Never goes down.
    fn settled_epoch(&self) -> u64;

    /// Completes changes that waited for settling (released addresses become free) and takes back
    /// holds, leases and declined addresses that have ended, at most `budget` slots. Reclaimed
    /// leases are logged.
    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts;

    /// Reclaims as [`LeaseStore::sweep`] does, also when sweeps are configured to leave ended
    /// leases alone, and reclaims released leases at once; with `is_removing` reclaimed leases are
    /// deleted, not remembered. Slots that are only looked at count for `budget` too. Each call
    /// continues at the slot after the last one; all released leases are reclaimed once a call
    /// reports that no more is due.
    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts;

    /// Makes `lease` the lease of its address, also outside the pools, and also when another client
    /// has or is offered the address now. Logged.
    ///
    /// # Errors
    ///
    /// See [`PutRefusal`]; then nothing has changed.
    fn put(&mut self, lease: &F::Lease, mode: PutMode) -> Result<Receipt, PutRefusal>;

    /// Deletes the lease of `address`, in any state. Logged.
    ///
    /// # Errors
    ///
    /// See [`PutRefusal`]; then nothing has changed.
    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal>;

    /// Returns false once a thread has panicked while it changed leases: a lease may be changed in
    /// part, or its row be half written, and the server must not continue with that.
    fn is_sound(&self) -> bool;

    /// Returns true once logging has failed: the server must drop waiting replies.
    fn has_failed(&self) -> bool;

    /// Returns true if `reply`, which depends on the settled `epoch`, names an address that the
    /// store could not lease in that epoch: another server that shares the database had leased it
    /// to another client, or the store has refused the lease. The server must drop such a reply.
    fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool;

    /// Returns true if `reply` is refused ([`LeaseStore::is_refused`]) because the store has no
    /// room for the lease's data, not because another server has leased the address.
    fn is_refused_for_data(&self, epoch: u64, reply: &[u8]) -> bool;
}
