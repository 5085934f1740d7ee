//! Contract between the transaction of a DHCP message (`dhcp-engine`) and a lease store, equal for
//! DHCPv4 and DHCPv6: fetch facts, commit changes by compare-and-set, learn when a committed change
//! may appear in a reply.
//!
//! A *row epoch* orders durability: every logged change belongs to an epoch, and once
//! [`LeaseStore::settled_epoch`] has reached it, the row is as safe as the store's durability
//! promises. No reply that read or wrote a slot leaves before that slot's epoch is settled, and a
//! slot whose epoch is not settled takes no other change.

use core::hash::BuildHasher;
use std::sync::Arc;

use base::{Now, Prefetch};
use foldhash::fast::FixedState;

use crate::event::{Answer, ExchangeCell, ExchangeDetail};
use crate::family::{Family, PoolIndex};
use crate::identity::ClientKey;
use crate::lease::{Lease, LeaseState, LeaseTerms, expires_s};

/// Use of the slot of an address or prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotOccupancy {
    /// Free slot, which may remember its last client.
    Free,
    /// Offered slot: held for a client, in memory only, until [`SlotView::hold_deadline_ns`].
    Held,
    /// Slot that is leased until [`SlotView::expires_s`].
    Leased,
    /// Declined slot: a client found the address in use, so no client gets it until
    /// [`SlotView::expires_s`].
    Declined,
    /// Released slot: the row of the release is not durable yet, so the address is still taken.
    Releasing,
}

/// Owner of a slot, relative to the requesting client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotOwner {
    /// No client has owned the slot so far.
    NoClient,
    /// Requesting client: it has the slot or, if the slot is free, had it last.
    Requester,
    /// Client other than the requesting one: it has the slot or, if the slot is free, had it last.
    Other,
}

/// State of the slot of an address or prefix at the time of the fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView<F: Family> {
    /// Address (or delegated prefix) of the slot.
    pub address: F::Address,
    /// Version of the slot that a compare-and-set compares; every change of the slot changes the
    /// version.
    pub version: u32,
    /// Use of the slot: free, held, leased, declined or releasing.
    pub occupancy: SlotOccupancy,
    /// Owner of the slot, relative to the requesting client.
    pub owner: SlotOwner,
    /// Kea's state of the slot's lease; in a slot that is free or held, the state of the same
    /// client's past lease, or [`LeaseState::Assigned`] without one.
    pub state: LeaseState,
    /// `id` of the subnet under which the slot was last leased or held; 0 = never.
    pub subnet_id: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970; 0 unless leased or
    /// declined.
    pub cltt_s: u64,
    /// Valid lifetime that the lease was given at `cltt_s`, in seconds.
    pub valid_lifetime_s: u32,
    /// Monotonic time at which the hold of an offered address ends, in nanoseconds; 0 unless held.
    pub hold_deadline_ns: u64,
    /// Epoch of the slot's last lease row; 0 = no row since the server started.
    pub row_epoch: u64,
    /// Hashes of the lease's names and user context, so that a lease that would be written again
    /// unchanged need not be written.
    pub text: TextView,
    /// True if an overlapping address or prefix is in use, so that the slot can be neither leased
    /// nor renewed.
    pub is_overlapped: bool,
    /// Fields of the slot that only leases of this family have.
    pub detail: F::Detail,
}

/// Hashes of a lease's host name and user context, for comparison with another lease. All zero
/// unless leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextView {
    /// Hash of the host name by [`text_hash`]; 0 = none.
    pub hostname: u32,
    /// Hash of the user context by [`text_hash`]; 0 = none.
    pub user_context: u32,
    /// True if the server keeps the forward DNS entry of the lease.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry of the lease.
    pub fqdn_rev: bool,
}

/// Returns the hash of the lease text `text` for a [`TextView`]; 0 when `text` is empty. Equal
/// texts have equal hashes. Unequal texts may have equal hashes: a client that makes two of its
/// texts collide only keeps its old one.
#[must_use]
pub fn text_hash(text: &str) -> u32 {
    if text.is_empty() { 0 } else { (FixedState::with_seed(0).hash_one(text) as u32).max(1) }
}

impl<F: Family> SlotView<F> {
    /// Returns the wall-clock second at which the slot's lease or probation ends; `u64::MAX` when
    /// infinite.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        expires_s(self.cltt_s, self.valid_lifetime_s)
    }

    /// Returns true if another client could take the slot's address now: the slot is free, or its
    /// hold or lease has ended. A commit still refuses a slot whose last row is not durable.
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

/// Keys of the facts (slots, free candidate) that the transaction of a message requests from the
/// lease store.
#[derive(Clone, Copy, Debug)]
pub struct FetchKeys<'a, F: Family> {
    /// Client under all its identities (hardware address, client identifier); in DHCPv6 its DUID
    /// with one identity association.
    pub identity: F::Identity<'a>,
    /// Addresses whose slots the fetch reads: in DHCPv4 the requested address, `ciaddr` and
    /// addresses reserved for the client; in DHCPv6 those of one identity association.
    pub addresses: [Option<F::Address>; FETCHED_ADDRESSES_MAX],
    /// Pool set of the transaction's configuration snapshot.
    pub pools: &'a F::PoolSet,
    /// Pools from which the store takes a free candidate, in order of preference; empty: no
    /// candidate is wanted.
    pub candidate_pools: &'a [PoolIndex],
    /// True if the transaction wants the candidate only when the client has no slot of its own.
    pub is_candidate_spare: bool,
}

/// Largest number of addresses that one fetch looks at, in addition to the client's own.
pub const FETCHED_ADDRESSES_MAX: usize = 4;
/// Largest number of slots of one client that a fetch reports.
pub const CLIENT_SLOTS_MAX: usize = 8;
/// Largest number of changes in one commit.
pub const CHANGES_MAX: usize = 8;

/// Facts that the lease store fetched for [`FetchKeys`]. The memory is reused from message to
/// message.
#[derive(Clone, Copy, Debug)]
pub struct Facts<F: Family> {
    /// Slots that the client owns (leased, held) or owned last (free, expired), in arbitrary order;
    /// the first `client_slot_count` are set. The store does not look for a client by its hardware
    /// address when the client owns a slot by its client identifier.
    pub client_slots: [Option<SlotView<F>>; CLIENT_SLOTS_MAX],
    /// Number of slots that are set in `client_slots`.
    pub client_slot_count: usize,
    /// Slots of the addresses in [`FetchKeys::addresses`]; `None` for an address that no pool ever
    /// had and that is not reserved.
    pub address_slots: [Option<SlotView<F>>; FETCHED_ADDRESSES_MAX],
    /// Slot of a free address, claimed for this transaction until it commits; when no address was
    /// free, the slot with the oldest hold. `None` when no candidate was requested or all pools are
    /// exhausted.
    pub candidate: Option<SlotView<F>>,
    /// Epoch to wait for before the facts are complete; 0 when they are. A store whose database
    /// other servers share sets it while it queries the database for the client's leases: there is
    /// no candidate yet, and the caller fetches again once this epoch is settled.
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
    /// Returns the slots that the client owns or owned last.
    pub fn client_slots(&self) -> impl Iterator<Item = &SlotView<F>> {
        self.client_slots[..self.client_slot_count].iter().flatten()
    }
}

/// Change of one slot by a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<I, A, T> {
    /// Client that requests the change.
    pub identity: I,
    /// Address (or delegated prefix) of the slot.
    pub address: A,
    /// Version of the slot on which the decision rests; the store refuses the change if the slot
    /// has another one.
    pub expected_version: u32,
    /// Action on the slot: hold, lease, release, decline or another.
    pub action: Action<T>,
}

/// Change of the slot of an address (or prefix) of family `F`.
pub type ChangeOf<'a, F> =
    Change<<F as Family>::Identity<'a>, <F as Family>::Address, LeaseTerms<'a, F>>;

/// Action on a slot by a change, for the client [`Change::identity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// Hold the offered address for the client, in memory only: no lease row is written.
    Hold {
        /// Monotonic end of the hold, in nanoseconds.
        deadline_ns: u64,
        /// `id` of the subnet under which the address is held.
        subnet_id: u32,
    },
    /// End the client's hold of an offered address, without a lease row.
    Unhold,
    /// Lease the address to the client from now on, and write a lease row.
    Lease(T),
    /// Register an address that the client chose itself (RFC 9686), and write a lease row; any
    /// address is accepted. The expected version is 0 when the fetch found no slot.
    Register(T),
    /// Release the client's lease, and write a lease row: the address is free once the row is
    /// settled, and remembered for the client as [`Expiry`](crate::Expiry) configures.
    Release,
    /// Decline the lease, since the client found the address in use, and write a lease row: no
    /// client gets the address until the probation ends.
    Decline {
        /// Time from now on for which no client gets the declined address, in seconds (Kea's
        /// `decline-probation-period`).
        probation_s: u32,
    },
}

impl<T> Action<T> {
    /// Returns true if the action on the slot writes a lease row.
    #[must_use]
    pub const fn is_logged(&self) -> bool {
        !matches!(self, Self::Hold { .. } | Self::Unhold)
    }
}

/// Receipt of a successful commit of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Epoch of the commit's lease rows, which must be settled before the reply may leave; 0 when
    /// no row was logged.
    pub row_epoch: u64,
}

/// Reason why a commit changed no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitRefusal {
    /// Stale version: a slot has changed since it was fetched; fetch and decide again.
    Stale,
    /// Unsettled row: the last lease row of a slot is not durable yet; try again once this epoch
    /// has settled.
    Unsettled(u64),
    /// No slot: the address belongs to no pool and no lease.
    NoSuchSlot,
    /// Failed store, which can no longer log; the server must not acknowledge any change.
    Failed,
}

/// Counts of the slots that one call of [`LeaseStore::sweep`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// Number of holds of offered addresses that had ended and were removed.
    pub holds: u32,
    /// Number of leases that had run out and were reclaimed.
    pub leases: u32,
    /// Number of leases that clients had released and the sweep reclaimed.
    pub released: u32,
    /// Number of reclaimed leases that are not remembered any longer.
    pub flushed: u32,
    /// Number of declined addresses whose probation was over.
    pub declined: u32,
    /// True when the sweep stopped at its budget of slots and more work is due.
    pub is_more_due: bool,
}

impl SweepCounts {
    /// Returns the number of leases, in any state, that the sweep reclaimed.
    #[must_use]
    pub const fn reclaimed(&self) -> u32 {
        self.leases + self.released + self.declined
    }
}

/// Requirement of [`LeaseStore::put`] for the existing lease of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// Requirement that the address has no lease, not even a reclaimed one that the server
    /// remembers.
    Add,
    /// Requirement that the address has a lease, which is replaced.
    Update,
    /// No requirement: the address has a lease, which is replaced, or none.
    Force,
    /// Requirement that the address has no lease with a later transaction that is in use, or that
    /// is of the same client.
    UnlessLater,
    /// Requirement of [`PutMode::UnlessLater`], and that the address has no lease of the same
    /// second that is in use by another client ([`Family::may_be_one`]), which may have its reply
    /// already.
    UnlessTaken,
}

/// Reason why [`LeaseStore::put`] or [`LeaseStore::remove`] changed no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutRefusal {
    /// Existing lease of the address, where none may exist.
    Exists,
    /// Missing lease of the address, where one must exist.
    Missing,
    /// Later lease: the existing one has a later transaction, and stays.
    Later,
    /// Lease of an overlapping address or prefix.
    Overlaps,
    /// Unsettled row: the last lease row of the slot is not durable yet; try again once this epoch
    /// has settled.
    Unsettled(u64),
    /// Failed store, which can no longer log; the server must not acknowledge any change.
    Failed,
}

/// Slot that a message about to be served will need, apart from the slots of its client; for
/// prefetching.
#[derive(Clone, Copy, Debug)]
pub enum ExpectedSlot<'e, F: Family> {
    /// No slot: the message does not reveal which one it will need.
    Nothing,
    /// Slot of this address or prefix.
    Address(F::Address),
    /// Slot of the next free address of this pool.
    Candidate(&'e F::PoolSet, PoolIndex),
}

/// Search for whole leases, in any state, as a lease query needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseSearch<'a, F: Family> {
    /// Search for the lease of this address or prefix.
    Address(F::Address),
    /// Search for the leases of the client with this identifier.
    Client(ClientKey<'a>),
}

/// Handle of one shard on a store of `F`'s leases. All shards share the leases of a store. No
/// method has a default: a store that wraps another one has to forward each of them.
pub trait LeaseStore<F: Family> {
    /// Looks up the facts that `keys` request, and writes them to `facts`, which is overwritten.
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>);

    /// Announces to the store that a transaction for message `number` begins, for the first time or
    /// again after a wait: facts already read for it need not be read again.
    fn begin_message(&mut self, number: u64);

    /// Makes `exchange` the exchange that recorded events of later commits refer to; `None` for
    /// none.
    fn set_exchange(&mut self, exchange: Option<&Arc<ExchangeCell>>);

    /// Returns the detail in which the lease table records the exchanges that cause events. Unless
    /// it is [`ExchangeDetail::None`], a transaction needs an exchange
    /// ([`LeaseStore::set_exchange`]).
    fn exchange_detail(&self) -> ExchangeDetail;

    /// Returns true if the lease table records answers that change no lease also.
    fn is_recording_answers(&self) -> bool;

    /// Records `answer` as an event of the present exchange, if the lease table records answers.
    fn record_answer(&mut self, now: Now, answer: &Answer<'_, F>);

    /// Returns the position of the end of an exchange among the lease table's events.
    fn take_event_order(&self) -> u64;

    /// Announces to the store that a message of the client `identity`, if known, is about to be
    /// served, at most once per message: the store may prefetch what the message will need.
    fn prefetch_message(
        &mut self,
        identity: Option<&F::Identity<'_>>,
        expected: ExpectedSlot<'_, F>,
        prefetch: Prefetch,
    );

    /// Appends to `target` the user context of the running lease of `address` when it is a lease of
    /// the client `identity`; returns false when there is no such lease.
    fn user_context(
        &mut self,
        now: Now,
        address: F::Address,
        identity: &F::Identity<'_>,
        target: &mut String,
    ) -> bool;

    /// Appends the leases that `search` finds, ascending by address, to `leases`. Returns the epoch
    /// of their newest row, which must be settled before a reply may tell of them; 0 without rows.
    fn find_leases(&mut self, search: LeaseSearch<'_, F>, leases: &mut Vec<Lease<F>>) -> u64;

    /// Applies all `changes` of slots or none (at most [`CHANGES_MAX`], distinct addresses), each
    /// only if its slot still has the expected version and no unsettled row.
    ///
    /// # Errors
    ///
    /// The first reason met; then nothing has changed.
    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, CommitRefusal>;

    /// Ends the claim on the candidate `address` that the transaction will not commit, so that
    /// others may have it at once. Claims that are neither committed nor given back end with the
    /// batch of messages; a later commit may find the slot taken.
    fn release_claim(&mut self, address: F::Address);

    /// Reserves `address` in addition to the reservations of the configuration: the store gives the
    /// address only to a client that requests it, also if no pool contains the address. Has no
    /// effect on an address that is reserved already.
    fn reserve_address(&mut self, address: F::Address);

    /// Ends a batch of messages: hands the lease rows logged so far to the thread or database that
    /// writes them.
    fn submit(&mut self, now: Now);

    /// Returns the highest epoch whose lease rows, with those of all earlier epochs, are as durable
    /// as the store promises. The result never decreases.
    fn settled_epoch(&self) -> u64;

    /// Frees released addresses whose lease rows are durable, and holds, leases and declined
    /// addresses that have ended, in at most `budget` slots. Reclaimed leases are logged.
    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts;

    /// Reclaims ended leases as [`LeaseStore::sweep`] does, also when sweeps are configured to
    /// leave them alone, and released leases at once; with `is_removing` the store deletes
    /// reclaimed leases instead of remembering them. Slots that are only looked at count for
    /// `budget` too. Each call continues at the slot after the last one; all released leases are
    /// reclaimed once a call reports that no more is due.
    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts;

    /// Makes `lease` the lease of its address for an operator, also outside the pools, and also
    /// when another client has or is offered the address now; logs a row.
    ///
    /// # Errors
    ///
    /// See [`PutRefusal`]; then nothing has changed.
    fn put(&mut self, lease: &Lease<F>, mode: PutMode) -> Result<Receipt, PutRefusal>;

    /// Deletes the lease of `address`, in any state, and logs a row.
    ///
    /// # Errors
    ///
    /// See [`PutRefusal`]; then nothing has changed.
    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal>;

    /// Returns false once a thread has panicked while it changed leases: a lease may be changed in
    /// part, or its row be half written, and the server must not continue with that.
    fn is_sound(&self) -> bool;

    /// Returns true once the store can no longer log lease rows: the server must drop waiting
    /// replies.
    fn has_failed(&self) -> bool;

    /// Returns true if `reply`, which depends on the settled `epoch`, names an address that the
    /// store could not lease in that epoch: another server that shares the database had leased the
    /// address to another client, or the store has refused the lease. The server must drop such a
    /// reply.
    fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool;

    /// Returns true if `reply` is refused ([`LeaseStore::is_refused`]) because the store has no
    /// room for the lease's data, not because another server has leased the address.
    fn is_refused_for_data(&self, epoch: u64, reply: &[u8]) -> bool;
}
