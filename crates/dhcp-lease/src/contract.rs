//! The contract, the same for both families, between the message transaction (`dhcp-engine`) and a lease store: fetch facts,
//! commit changes by compare-and-set, learn when what was committed may be spoken of.
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

/// What a slot is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// Nobody's; it may remember its last client.
    Free,
    /// Offered: a volatile hold until [`SlotView::hold_deadline_ns`].
    Held,
    /// Leased until [`SlotView::expires_s`].
    Leased,
    /// Declined, on probation until [`SlotView::expires_s`].
    Declined,
    /// Given back, but the row that says so is not settled: taken, not free.
    Releasing,
}

/// Whose slot it is, seen by the client that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's so far.
    Nobody,
    /// The asking client's; for a free slot: it was the last to have it.
    Asking,
    /// Some other client's; for a free slot: that one was the last to have it.
    Other,
}

/// One address slot as it stood when it was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView<F: Family> {
    /// The address (or delegated prefix).
    pub address: F::Address,
    /// Changes with every change of the slot; what a compare-and-set compares.
    pub version: u32,
    /// Use of the slot.
    pub occupancy: Occupancy,
    /// Whose it is.
    pub owner: Owner,
    /// Kea's state of the lease; in a slot that is free or held, that of the past lease of the same
    /// client, [`LeaseState::Assigned`] without one.
    pub state: LeaseState,
    /// Subnet under which it was last leased or held; 0 = never.
    pub subnet_id: u32,
    /// Client's last transaction time, wall-clock seconds; 0 unless leased or declined.
    pub cltt_s: u64,
    /// Lifetime given at that time, seconds.
    pub valid_lifetime_s: u32,
    /// Monotonic end of the hold, nanoseconds; 0 unless held.
    pub hold_deadline_ns: u64,
    /// Epoch of the slot's last row; 0 = none in this run.
    pub row_epoch: u64,
    /// What else the lease says, so that one that would be written again as it is need not be.
    pub text: TextView,
    /// Whether something else that it has addresses in common with is in use, so that it can be
    /// neither given nor renewed.
    pub is_overlapped: bool,
    /// What only this family's leases have.
    pub detail: F::Detail,
}

/// Names and context of a lease, in a form that tells whether they are the same. All zero unless
/// leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextView {
    /// [`text_hash`] of the host name; 0 = none.
    pub hostname: u32,
    /// [`text_hash`] of the user context; 0 = none.
    pub user_context: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
}

/// What [`TextView`] has for `text`; 0 when it is empty. Equal texts have equal hashes. That unequal
/// ones have unequal hashes is not certain: who makes them collide keeps an old name, no more.
#[must_use]
pub fn text_hash(text: &str) -> u32 {
    if text.is_empty() { 0 } else { (FixedState::with_seed(0).hash_one(text) as u32).max(1) }
}

impl<F: Family> SlotView<F> {
    /// Wall-clock second at which lease or probation ends; `u64::MAX` when infinite.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        if self.valid_lifetime_s == INFINITE_LIFETIME_S {
            u64::MAX
        } else {
            self.cltt_s + self.valid_lifetime_s as u64
        }
    }

    /// Whether another client could take the address now: free, or a hold or lease that has ended.
    /// An unsettled row still refuses at commit.
    #[must_use]
    pub const fn is_available(&self, now: Now) -> bool {
        if self.is_overlapped {
            return false;
        }
        match self.occupancy {
            Occupancy::Free => true,
            Occupancy::Held => self.hold_deadline_ns <= now.mono_ns,
            Occupancy::Leased | Occupancy::Declined => self.expires_s() <= now.wall_s(),
            Occupancy::Releasing => false,
        }
    }
}

/// What a transaction wants to know.
#[derive(Clone, Copy, Debug)]
pub struct FetchKeys<'a, F: Family> {
    /// The client, under all its identities; v6: for one of its identity associations.
    pub identity: F::Identity<'a>,
    /// Addresses to look at: requested address, `ciaddr`, what is reserved for the client; v6: those
    /// of the association.
    pub addresses: [Option<F::Address>; ASKED_MAX],
    /// The pool set of the transaction's configuration snapshot.
    pub pools: &'a F::PoolSet,
    /// Pools to take a free candidate from, in order of preference; empty: none is wanted.
    pub candidate_pools: &'a [PoolIndex],
    /// The candidate is wanted only when the client has no slot of its own.
    pub is_candidate_spare: bool,
}

/// Addresses that one fetch looks at at most, beside the client's own.
pub const ASKED_MAX: usize = 4;
/// Slots of one client that are reported at most.
pub const MINE_MAX: usize = 8;
/// Changes that one commit takes at most.
pub const CHANGES_MAX: usize = 8;

/// The answer to [`FetchKeys`]. Reused between packets.
#[derive(Clone, Copy, Debug)]
pub struct Facts<F: Family> {
    /// Slots that the client owns (leased, held) or owned last (free, expired), in no order that
    /// means anything; the first `mine_count` are set. A client that owns one by its client
    /// identifier is not looked for by its hardware address.
    pub mine: [Option<SlotView<F>>; MINE_MAX],
    /// How many of `mine` are set.
    pub mine_count: usize,
    /// The slots of [`FetchKeys::addresses`]; `None` for an address that no pool ever had and that is
    /// not reserved.
    pub asked: [Option<SlotView<F>>; ASKED_MAX],
    /// A free address, claimed for this transaction until it commits; `None` when none was wanted
    /// or all pools are exhausted. When no address was free, the slot with the oldest hold.
    pub candidate: Option<SlotView<F>>,
    /// 0 when that is all. Otherwise the store is asking a database that it shares with others what
    /// they have given to the client: look again once this epoch is settled.
    pub unread_epoch: u64,
}

impl<F: Family> Default for Facts<F> {
    fn default() -> Self {
        Self {
            mine: [None; MINE_MAX],
            mine_count: 0,
            asked: [None; ASKED_MAX],
            candidate: None,
            unread_epoch: 0,
        }
    }
}

impl<F: Family> Facts<F> {
    /// The client's slots.
    pub fn mine(&self) -> impl Iterator<Item = &SlotView<F>> {
        self.mine[..self.mine_count].iter().flatten()
    }
}

/// One change of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<I, A, T> {
    /// Who asks for it.
    pub identity: I,
    /// The slot.
    pub address: A,
    /// The version that the decision was made on; any other refuses the change.
    pub expected_version: u32,
    /// What becomes of it.
    pub action: Action<T>,
}

/// A [`Change`] of a slot of family `F`.
pub type ChangeOf<'a, F> =
    Change<<F as Family>::Identity<'a>, <F as Family>::Address, <F as Family>::Terms<'a>>;

/// What becomes of a slot. The client is [`Change::identity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// Offer it to the client. Not logged.
    Hold {
        /// Monotonic end, nanoseconds.
        deadline_ns: u64,
        /// `id` of the subnet.
        subnet_id: u32,
    },
    /// Give up the client's hold. Not logged.
    Unhold,
    /// Lease it to the client from now on. Logged.
    Lease(T),
    /// The client chose the address itself and registers it (RFC 9686); any address will do.
    /// Expected version 0 when nothing was found. Logged.
    Register(T),
    /// The client gives it back: free once the row is settled, and remembered for the client as
    /// [`Expiry`](crate::Expiry) says. Logged.
    Release,
    /// The client found it in use: nobody's until the probation ends. Logged.
    Decline {
        /// Seconds from now.
        probation_s: u32,
    },
}

impl<T> Action<T> {
    /// Whether there is a row of it.
    #[must_use]
    pub const fn is_logged(&self) -> bool {
        !matches!(self, Self::Hold { .. } | Self::Unhold)
    }
}

/// What a successful commit tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The reply may leave once this epoch is settled; 0 when nothing was logged.
    pub row_epoch: u64,
}

/// Why a commit changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A slot has changed since it was fetched: fetch and decide again.
    Stale,
    /// A slot has a row that is not settled yet: try again after this epoch.
    Unsettled(u64),
    /// The address belongs to no pool and no lease.
    NoSuchSlot,
    /// The store can no longer log; nothing may be acknowledged.
    Failed,
}

/// What one call of [`LeaseStore::sweep`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Holds that had ended and were given up.
    pub holds: u32,
    /// Leases that had run out and were reclaimed.
    pub leases: u32,
    /// Leases that had been given back and were reclaimed.
    pub released: u32,
    /// Reclaimed leases that are not remembered any longer.
    pub flushed: u32,
    /// Declined addresses whose probation was over.
    pub declined: u32,
    /// True when the budget ended before the work.
    pub is_more_due: bool,
}

impl Swept {
    /// Leases in whatever state that were reclaimed.
    #[must_use]
    pub const fn reclaimed(&self) -> u32 {
        self.leases + self.released + self.declined
    }
}

/// What [`LeaseStore::put`] is to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// No lease, not even one that was reclaimed.
    Add,
    /// A lease, to be replaced.
    Update,
    /// One or none.
    Force,
}

/// Why [`LeaseStore::put`] or [`LeaseStore::remove`] changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutRefusal {
    /// There is a lease.
    Exists,
    /// There is none.
    Missing,
    /// Something else that it has addresses in common with is leased.
    Overlaps,
    /// The slot has a row that is not settled yet: try again after this epoch.
    Unsettled(u64),
    /// The store can no longer log; nothing may be acknowledged.
    Failed,
}

/// What a message that is about to be served will want of the leases, beside those of its client.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'e, F: Family> {
    /// Nothing that is known yet.
    Nothing,
    /// The slot of this.
    Address(F::Address),
    /// What this pool gives next.
    Candidate(&'e F::PoolSet, PoolIndex),
}

/// One shard's handle on a store of `F`'s leases. Shards share the leases behind it.
pub trait LeaseStore<F: Family> {
    /// Looks up what `keys` ask for. `facts` is overwritten.
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>);

    /// Says that a transaction for message `number` begins, for the first time or again after a
    /// wait: what was read for it before need not be read again.
    fn begin_message(&mut self, _number: u64) {}

    /// Says that a message is about to be served whose client is `identity`, if that has not been
    /// said before: what it will need may be brought near by then.
    fn expect(
        &mut self,
        _identity: Option<&F::Identity<'_>>,
        _expected: Expected<'_, F>,
        _prefetch: Prefetch,
    ) {
    }

    /// Appends what the running lease of `address` keeps as user context, when it is a lease of the
    /// client `identity`; false when there is no such lease.
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
    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, Refusal>;

    /// Says that a candidate will not be committed, so that others may have it at once. Claims
    /// that are neither committed nor given back end with the batch; a commit later than that may
    /// find the slot taken.
    fn give_back(&mut self, _address: F::Address) {}

    /// Reserves `address` besides what the configuration reserves: nobody is given it who does not ask
    /// for it, and whoever does may have it, also where no pool is. Of no effect where it is
    /// reserved already.
    fn set_aside(&mut self, _address: F::Address) {}

    /// Ends a batch: hands the rows logged so far to whoever writes them.
    fn submit(&mut self, now: Now);

    /// The highest epoch whose rows are all as safe as the store promises. Never goes down.
    fn settled_epoch(&self) -> u64;

    /// Finishes what had waited for settling (releases become free) and takes back holds, leases
    /// and declined addresses that have ended, at most `budget` slots. What becomes of leases is
    /// logged.
    fn sweep(&mut self, now: Now, budget: u32) -> Swept;

    /// As [`LeaseStore::sweep`], also when sweeps are told to leave ended leases alone, and released
    /// leases at once; with `is_removing` reclaimed leases are deleted, not remembered. Slots that are
    /// only looked at count for `budget` too: all released leases are taken back when a call, which
    /// goes on where the last one stopped, says that no more is due.
    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> Swept;

    /// Makes `lease` the lease of its address, whatever an operator wants to be there: also outside
    /// the pools, and whoever has or is offered the address now. Logged.
    ///
    /// # Errors
    ///
    /// See [`PutRefusal`]; then nothing has changed.
    fn put(&mut self, lease: &F::Lease, mode: PutMode) -> Result<Receipt, PutRefusal>;

    /// Deletes the lease of `address`, in whatever state. Logged.
    ///
    /// # Errors
    ///
    /// See [`PutRefusal`]; then nothing has changed.
    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal>;

    /// False once a thread has panicked while it changed leases: one may be changed in part, or its row
    /// be half written, and nothing may go on with that.
    fn is_sound(&self) -> bool;

    /// True once logging has failed: waiting replies must be dropped.
    fn has_failed(&self) -> bool;

    /// Whether `reply`, which rests on the settled `epoch`, names an address that the store was not
    /// allowed to give in that epoch: another server, with which it shares a database, had given it
    /// to somebody else, or the store has refused the lease. Such a reply must be dropped.
    fn is_refused(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }

    /// Returns whether `reply` is refused ([`LeaseStore::is_refused`]) since the store has no room
    /// for what the lease holds, not since the address was given by another server.
    fn is_refused_for_data(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }
}
