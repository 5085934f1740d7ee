//! Leases that change while another server copies the leases page by page, so that it can ask for
//! what its pages lack. Nothing is noted while no copy is under way; a change then costs one look
//! at a flag.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::time::NS_PER_S;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::table_family::TableFamily;
use crate::family::Family;
use crate::lease::Lease;

/// Maximum number of addresses of which a change is noted. Each takes 10 to 40 bytes.
const ADDRESSES_MAX: usize = 1 << 20;
/// Maximum number of leases that are noted because they have ended. Each takes about 300 bytes, and
/// its texts.
const ENDED_MAX: usize = 65_536;
/// Time without a request of the copying server after which the notes are dropped, in nanoseconds.
const IDLE_NS: u64 = 300 * NS_PER_S;

/// Request of a copying server for a page of the addresses whose leases have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangesRequest {
    /// Number of the copy, as at its beginning.
    pub copy: u64,
    /// Position of the first address in the round. 0 begins the next round: what has changed since
    /// the beginning of the round before, or of the copy.
    pub from: usize,
    /// Maximum number of addresses in the page.
    pub limit: usize,
    /// True if no further round follows, so that later changes need not be noted.
    pub is_last_round: bool,
}

/// Page of the addresses whose leases have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesPage<F: Family> {
    /// Addresses in ascending order.
    pub addresses: Vec<F::Address>,
    /// Leases of these addresses that have ended, or have got an earlier transaction: the last one
    /// of each client.
    pub ended: Vec<Lease<F>>,
    /// Number of addresses in all pages of the round.
    pub total: usize,
}

/// Changes of one round.
#[derive(Debug)]
struct ChangeSet<F: Family> {
    addresses: BTreeSet<F::Address>,
    ended: BTreeMap<F::Address, Vec<Lease<F>>>,
    ended_count: usize,
}

impl<F: Family> Default for ChangeSet<F> {
    fn default() -> Self {
        Self { addresses: BTreeSet::new(), ended: BTreeMap::new(), ended_count: 0 }
    }
}

impl<F: Family> ChangeSet<F> {
    /// Adds a lease that has ended in place of an earlier one of its client.
    fn add_ended(&mut self, lease: &Lease<F>) {
        let of_address = self.ended.entry(lease.address).or_default();
        match of_address.iter_mut().find(|other| other.client == lease.client) {
            Some(other) if other.cltt_s > lease.cltt_s => {}
            Some(other) => *other = lease.clone(),
            None => {
                of_address.push(lease.clone());
                self.ended_count += 1;
            }
        }
    }

    fn is_too_large(&self) -> bool {
        self.addresses.len() > ADDRESSES_MAX || self.ended_count > ENDED_MAX
    }
}

/// Notes about the changes during one copy.
#[derive(Debug)]
struct ChangeNotes<F: Family> {
    /// Number of the copy; `None` without one, and once more has changed than can be noted.
    copy: Option<u64>,
    /// Changes since the beginning of the present round.
    changes: ChangeSet<F>,
    /// Addresses of the present round, ascending.
    round: Vec<F::Address>,
    /// Leases of the present round that have ended.
    ended: BTreeMap<F::Address, Vec<Lease<F>>>,
    /// Monotonic time of the last request, in nanoseconds.
    asked_ns: u64,
}

impl<F: Family> Default for ChangeNotes<F> {
    fn default() -> Self {
        Self {
            copy: None,
            changes: ChangeSet::default(),
            round: Vec::new(),
            ended: BTreeMap::new(),
            asked_ns: 0,
        }
    }
}

/// Changes of leases since the beginning of a copy by another server. There is one copy at a time:
/// a later one takes the place of an earlier one, whose server then learns that it has missed
/// changes.
#[derive(Debug)]
pub struct ChangedLeases<F: Family> {
    is_noting: AtomicBool,
    notes: Mutex<ChangeNotes<F>>,
}

impl<F: Family> Default for ChangedLeases<F> {
    fn default() -> Self {
        Self { is_noting: AtomicBool::new(false), notes: Mutex::default() }
    }
}

impl<F: Family> ChangedLeases<F> {
    fn notes(&self) -> MutexGuard<'_, ChangeNotes<F>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if changes are noted.
    pub(super) fn is_noting(&self) -> bool {
        self.is_noting.load(Ordering::Relaxed)
    }

    /// Notes that the lease of `address` was `before` and is `after`. The caller holds the lock of
    /// the slot.
    pub(super) fn note(
        &self,
        address: F::Address,
        before: Option<&Lease<F>>,
        after: Option<&Lease<F>>,
    ) {
        let mut notes = self.notes();
        if !self.is_noting() {
            return;
        }
        let goes_on = |before: &&Lease<F>| {
            // The table may forget a lease in a past state without an event.
            after.is_some_and(|after| {
                !after.state.is_past()
                    && after.client == before.client
                    && after.cltt_s >= before.cltt_s
            })
        };
        notes.changes.addresses.insert(address);
        if let Some(before) = before.filter(|before| !goes_on(before)) {
            notes.changes.add_ended(before);
        }
        if notes.changes.is_too_large() {
            // The memory is freed by a thread that serves no clients.
            self.is_noting.store(false, Ordering::Release);
            notes.copy = None;
        }
    }

    /// Drops the notes, since leases have changed without being noted.
    pub(super) fn invalidate(&self) {
        let mut notes = self.notes();
        self.is_noting.store(false, Ordering::Release);
        notes.copy = None;
    }

    /// Frees the notes of a copy that has ended, whose server has not asked since a long time
    /// before `now_ns`, or of which too much has changed.
    pub fn end_unused(&self, now_ns: u64) {
        let mut notes = self.notes();
        if notes.copy.is_none() || notes.asked_ns.saturating_add(IDLE_NS) < now_ns {
            self.is_noting.store(false, Ordering::Release);
            let unused = core::mem::take(&mut *notes);
            drop(notes);
            drop(unused);
        }
    }

    /// Returns the page that `request` asks for at `now_ns`; `None` if the changes of that copy are
    /// not all known.
    pub fn page(&self, request: ChangesRequest, now_ns: u64) -> Option<ChangesPage<F>> {
        let mut notes = self.notes();
        if notes.copy != Some(request.copy) {
            return None;
        }
        notes.asked_ns = now_ns;
        if request.from == 0 {
            if request.is_last_round {
                self.is_noting.store(false, Ordering::Release);
            }
            let changes = core::mem::take(&mut notes.changes);
            // Shards wait for this lock.
            drop(notes);
            let round = changes.addresses.into_iter().collect();
            notes = self.notes();
            (notes.round, notes.ended) = (round, changes.ended);
            if notes.copy != Some(request.copy) {
                return None;
            }
        }
        let addresses: Vec<F::Address> =
            notes.round.iter().skip(request.from).take(request.limit).copied().collect();
        let ended = addresses.iter().filter_map(|address| notes.ended.get(address));
        let ended = ended.flatten().cloned().collect();
        Some(ChangesPage { addresses, ended, total: notes.round.len() })
    }
}

impl<F: TableFamily> LeaseTable<F> {
    /// Returns the changes of leases during a copy by another server.
    #[must_use]
    pub const fn changed(&self) -> &ChangedLeases<F> {
        &self.changed
    }

    /// Begins to note changes for a copy with the number `copy`, which no other copy has, at the
    /// monotonic time `now_ns`. Every change after the call is noted; what a page shows that is
    /// read after the call contains every change before it.
    pub fn note_changes(&self, copy: u64, now_ns: u64) {
        let mut notes = self.changed.notes();
        let fresh = ChangeNotes { copy: Some(copy), asked_ns: now_ns, ..ChangeNotes::default() };
        let unused = core::mem::replace(&mut *notes, fresh);
        self.changed.is_noting.store(true, Ordering::Release);
        drop(notes);
        drop(unused);
        // A change that was under way may not have seen the flag.
        (0..STRIPES).for_each(|stripe| drop(self.lock(stripe)));
    }
}
