//! Look-up of the facts that a transaction requests from the lease table.

use core::sync::atomic::Ordering;

use base::prefetch::prefetch_value;
use base::{Now, Prefetch};

use super::slot::LeaseSlot;
use super::table_family::{ClientIndex, SlotClientRelation, SlotNumberMap, TableFamily};
use super::{LeaseTable, STRIPES};
use crate::contract::{CLIENT_SLOTS_MAX, Facts, FetchKeys, SlotOccupancy, SlotView};
use crate::family::PoolIndex;

/// Number of cache lines of a slot, for prefetching.
const SLOT_LINES: usize = 2;
/// Largest number of addresses marked free whose slots are taken nevertheless that one fetch
/// passes.
const STALE_BITS: u32 = 1024;
/// Largest number of slots that one fetch sweeps for ended leases when no address is free.
const EARLY_SWEEP: u32 = 64;
/// Number of stripes of the lease table, and of holds in each, that a search for the oldest hold
/// looks at.
const HOLD_STRIPES: usize = 16;
const HOLDS_EACH: usize = 64;

impl<F: TableFamily> LeaseTable<F> {
    /// Looks up the facts that `keys` request, and writes them to `facts`, which is overwritten.
    /// Lease rows of epochs up to `settled_epoch` are settled (durable). A free candidate is
    /// claimed: the caller must commit it or give it back.
    pub fn fetch(
        &self,
        now: Now,
        settled_epoch: u64,
        keys: &FetchKeys<'_, F>,
        facts: &mut Facts<F>,
    ) {
        self.look_up(now, settled_epoch, keys, facts);
        self.add_candidate(now, settled_epoch, keys, facts);
    }

    /// Looks up the facts that `keys` request, but no candidate, and writes them to `facts`, which
    /// is overwritten.
    pub fn look_up(
        &self,
        now: Now,
        settled_epoch: u64,
        keys: &FetchKeys<'_, F>,
        facts: &mut Facts<F>,
    ) {
        let now = self.check_clock(now).now;
        let fetch = Fetch { table: self, now, settled_epoch, keys };
        facts.candidate = None;
        facts.client_slots[..facts.client_slot_count].fill(None);
        facts.client_slot_count = 0;
        facts.unread_epoch = 0;
        fetch.find_client_slots(facts);
        for at in 0..keys.addresses.len() {
            match keys.addresses[at] {
                Some(address) => facts.address_slots[at] = fetch.address_slot(address, facts),
                None => facts.address_slots[at] = None,
            }
        }
    }

    /// Adds the candidate that `keys` request to `facts`, which [`Self::look_up`] has filled.
    pub fn add_candidate(
        &self,
        now: Now,
        settled_epoch: u64,
        keys: &FetchKeys<'_, F>,
        facts: &mut Facts<F>,
    ) {
        let is_spared = keys.is_candidate_spare && facts.client_slot_count > 0;
        let is_unwanted = keys.candidate_pools.is_empty() || is_spared;
        if !is_unwanted {
            let now = self.check_clock(now).now;
            facts.candidate = Fetch { table: self, now, settled_epoch, keys }.candidate();
        }
    }
}

impl<F: TableFamily> LeaseTable<F> {
    /// Returns the slot number of `address`; `None` when the address has none.
    pub(crate) fn slot_number_of(&self, address: F::Address) -> Option<u32> {
        self.slot_numbers.find(address)
    }

    /// Prefetches the index entries that lead to the slots of `identity`.
    pub(crate) fn prefetch_client(&self, identity: &F::Identity<'_>, prefetch: Prefetch) {
        self.index.prefetch(identity, prefetch);
    }

    /// Prefetches the slot `slot_number`, if the slot has been made.
    pub(crate) fn prefetch_slot(&self, slot_number: u32, prefetch: Prefetch) {
        let stripe = self.lock_of(slot_number);
        if let Some(id) = stripe.find(slot_number) {
            prefetch_value(prefetch, stripe.slot(id), SLOT_LINES);
        }
    }
}

/// State of one look-up of facts for a transaction.
struct Fetch<'f, 'k, F: TableFamily> {
    table: &'f LeaseTable<F>,
    now: Now,
    settled_epoch: u64,
    keys: &'f FetchKeys<'k, F>,
}

impl<F: TableFamily> Fetch<'_, '_, F> {
    /// Returns the view of the slot of `address`; `None` when no pool ever had the address and it
    /// has no lease.
    fn view(&self, address: F::Address) -> Option<SlotView<F>> {
        let identity = &self.keys.identity;
        match self.table.slot_numbers.find(address) {
            Some(slot_number) => {
                let stripe = self.table.lock_of(slot_number);
                let view = stripe.view(slot_number, address, identity, self.settled_epoch)?;
                Some(self.table.compared(self.now, slot_number, view))
            }
            None if self.table.slot_numbers.can_be_made(address) => {
                let view = LeaseSlot::fresh(0, address).view(identity, self.settled_epoch);
                Some(self.table.compared(self.now, 0, view))
            }
            None => None,
        }
    }

    fn find_client_slots(&self, facts: &mut Facts<F>) {
        self.table.index.visit(&self.keys.identity, |slot_number, owner| {
            self.add_client_slot(slot_number, owner, facts)
        });
    }

    /// Adds the slot `slot_number` to the client's slots if it belongs to the client by `owner`. A
    /// slot that the client has takes precedence over one that it had.
    fn add_client_slot(
        &self,
        slot_number: u32,
        owner: &F::Identity<'_>,
        facts: &mut Facts<F>,
    ) -> SlotClientRelation {
        let table = self.table;
        let stripe = table.lock_of(slot_number);
        let Some(slot) = stripe.find(slot_number).map(|id| stripe.slot(id)) else {
            return SlotClientRelation::Others;
        };
        if !slot.is_owned_by(owner) {
            return SlotClientRelation::Others;
        }
        let view = slot.view(&self.keys.identity, self.settled_epoch);
        let view = table.compared(self.now, slot_number, view);
        let is_past = |view: &Option<SlotView<F>>| {
            view.is_some_and(|view| view.occupancy == SlotOccupancy::Free)
        };
        if facts.client_slot_count < CLIENT_SLOTS_MAX {
            facts.client_slots[facts.client_slot_count] = Some(view);
            facts.client_slot_count += 1;
        } else if !is_past(&Some(view))
            && let Some(past) = facts.client_slots.iter_mut().find(|past| is_past(past))
        {
            *past = Some(view);
        }
        if view.occupancy == SlotOccupancy::Free {
            SlotClientRelation::Past
        } else {
            SlotClientRelation::InUse
        }
    }

    fn address_slot(&self, address: F::Address, facts: &Facts<F>) -> Option<SlotView<F>> {
        match facts.client_slots().find(|view| view.address == address) {
            Some(view) => Some(*view),
            None => self.view(address),
        }
    }

    fn candidate(&self) -> Option<SlotView<F>> {
        let (table, now, settled_epoch) = (self.table, self.now, self.settled_epoch);
        let claimed = self
            .claim()
            .or_else(|| table.free_early(now, settled_epoch, EARLY_SWEEP).then(|| self.claim())?);
        let claimed = claimed.or_else(|| {
            table.sweep_early(now, settled_epoch, EARLY_SWEEP).then(|| self.claim())?
        });
        claimed.or_else(|| self.oldest_hold())
    }

    /// Takes the next free address of the first candidate pool that has one, and returns its slot.
    fn claim(&self) -> Option<SlotView<F>> {
        self.keys.candidate_pools.iter().find_map(|&pool| self.claim_from(pool))
    }

    fn claim_from(&self, pool: PoolIndex) -> Option<SlotView<F>> {
        for _ in 0..STALE_BITS {
            let (_, address) = self.table.claim(self.keys.pools, pool)?;
            let view = self.view(address)?;
            if view.occupancy == SlotOccupancy::Free && !view.is_overlapped {
                return Some(view);
            }
        }
        None
    }

    /// Returns the slot with the oldest hold of the candidate pools. The search is bounded, so it
    /// may miss an older hold when other pools have very many holds.
    fn oldest_hold(&self) -> Option<SlotView<F>> {
        let mut heads: [u64; STRIPES] = core::array::from_fn(|stripe| {
            self.table.stripes[stripe].hints.first_hold_ns.load(Ordering::Relaxed)
        });
        let mut oldest: Option<SlotView<F>> = None;
        for _ in 0..HOLD_STRIPES {
            let (stripe, &head) = heads.iter().enumerate().min_by_key(|&(_, &head)| head)?;
            if head >= oldest.map_or(u64::MAX, |view| view.hold_deadline_ns) {
                break;
            }
            heads[stripe] = u64::MAX;
            if let Some(view) = self.oldest_hold_of(stripe)
                && oldest.is_none_or(|oldest| view.hold_deadline_ns < oldest.hold_deadline_ns)
            {
                oldest = Some(view);
            }
        }
        oldest
    }

    fn oldest_hold_of(&self, stripe: usize) -> Option<SlotView<F>> {
        let stripe = self.table.lock(stripe);
        let slots = &stripe.state.slots;
        stripe
            .state
            .deadlines
            .holds(slots)
            .take(HOLDS_EACH)
            .map(|id| slots.get(id))
            .find(|slot| {
                self.is_in_candidate_pool(slot.address())
                    && slot.row_epoch <= self.settled_epoch
                    && !self.table.is_reserved(slot.number, slot.address())
            })
            .map(|slot| {
                let view = slot.view(&self.keys.identity, self.settled_epoch);
                self.table.compared(self.now, slot.number, view)
            })
    }

    fn is_in_candidate_pool(&self, address: F::Address) -> bool {
        let mut pools = self.keys.candidate_pools.iter();
        pools.any(|&pool| self.keys.pools.contains(pool, address))
    }
}
