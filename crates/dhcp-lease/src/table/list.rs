//! Leases of the lease table as whole values: a single lease, a page, or all.
//!
//! No lock is held for long: leases are copied a few hundred at a time. A lease that changes
//! meanwhile is seen as it was or as it is.

use std::collections::BTreeMap;

use base::Now;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::slot::LeaseSlot;
use super::table_family::{ClientIndex, SlotNumberMap, TableFamily};
use crate::contract::{LeaseSearch, SlotOccupancy};
use crate::identity::ClientKey;
use crate::lease::Lease;

/// Number of blocks of 256 addresses that a listing reads before it checks for a full page.
const PAGE_BLOCKS: usize = 16;

/// Returns the lease that `slot` has or remembers, if any.
pub(super) fn visible_lease<F: TableFamily>(slot: &LeaseSlot<F>) -> Option<Lease<F>> {
    let state = if slot.version == 0 { None } else { slot.shown_state() };
    state.map(|state| slot.row(state).to_lease())
}

/// Returns the lease that `slot` has or remembers, if it is one of the client with `key`.
fn lease_of_client<F: TableFamily>(slot: &LeaseSlot<F>, key: ClientKey<'_>) -> Option<Lease<F>> {
    let row = slot.shown_state().map(|state| slot.row(state));
    row.filter(|row| F::is_of(row, key)).map(|row| row.to_lease())
}

impl<F: TableFamily> LeaseTable<F> {
    /// Returns the lease of `address`, in any state: also one that was released or reclaimed, as
    /// long as the table remembers the lease.
    #[must_use]
    pub fn lease(&self, address: F::Address) -> Option<Lease<F>> {
        let slot_number = self.slot_numbers.find(address)?;
        let stripe = self.lock_of(slot_number);
        stripe.find(slot_number).and_then(|id| visible_lease(stripe.slot(id)))
    }

    /// Appends the user context of a lease to `target`, as
    /// [`LeaseStore::user_context`](crate::LeaseStore::user_context) does. Takes the lock of one
    /// stripe.
    pub fn user_context(
        &self,
        now: Now,
        address: F::Address,
        identity: &F::Identity<'_>,
        target: &mut String,
    ) -> bool {
        let Some(slot_number) = self.slot_numbers.find(address) else { return false };
        let stripe = self.lock_of(slot_number);
        let Some(slot) = stripe.find(slot_number).map(|id| stripe.slot(id)) else { return false };
        let is_running = slot.occupancy == SlotOccupancy::Leased && now.wall_s() < slot.expires_s();
        if !is_running || slot.address() != address || !slot.is_owned_by(identity) {
            return false;
        }
        if let Some(extra) = &slot.extra {
            target.push_str(&extra.user_context);
        }
        true
    }

    /// Calls `visit` with every lease, in any state, in arbitrary order. About a thousand slots at
    /// a time are copied; no lock is held during a visit.
    pub fn for_each_lease(&self, mut visit: impl FnMut(Lease<F>)) {
        let mut copies = Vec::new();
        for stripe in 0..STRIPES {
            for part in 0.. {
                {
                    let stripe = self.lock(stripe);
                    let Some(slots) = stripe.state.slots.part(part) else { break };
                    let row = |slot: &LeaseSlot<F>| Some(slot.row(slot.shown_state()?).to_lease());
                    copies.extend(slots.filter_map(row));
                }
                copies.drain(..).for_each(&mut visit);
            }
        }
    }

    /// Returns the leases, in any state, that the client with `key` has or had last, in ascending
    /// order. If an index leads to all of them, only they are read.
    #[must_use]
    pub fn leases_of(&self, key: ClientKey<'_>) -> Vec<Lease<F>> {
        self.search(key).0
    }

    /// Returns the leases of [`LeaseTable::leases_of`], and the number of slots that the search
    /// looked at.
    pub(super) fn search(&self, key: ClientKey<'_>) -> (Vec<Lease<F>>, usize) {
        let (mut leases, mut looked_at) = (Vec::new(), 0);
        self.visit_client_slots(key, &mut |slot| {
            looked_at += 1;
            leases.extend(lease_of_client(slot, key));
        });
        leases.sort_by_key(|lease| F::order(lease.address));
        (leases, looked_at)
    }

    /// Appends the leases that `search` finds to `leases` and returns the epoch of their newest
    /// row, as [`LeaseStore::find_leases`](crate::LeaseStore::find_leases) does.
    pub fn find_leases(&self, search: LeaseSearch<'_, F>, leases: &mut Vec<Lease<F>>) -> u64 {
        let (mut newest_epoch, before) = (0, leases.len());
        let mut add = |lease: Option<Lease<F>>, slot: &LeaseSlot<F>| {
            if let Some(lease) = lease {
                newest_epoch = newest_epoch.max(slot.row_epoch);
                leases.push(lease);
            }
        };
        match search {
            LeaseSearch::Address(address) => {
                let Some(slot_number) = self.slot_numbers.find(address) else { return 0 };
                let stripe = self.lock_of(slot_number);
                if let Some(id) = stripe.find(slot_number) {
                    let slot = stripe.slot(id);
                    add(visible_lease(slot), slot);
                }
            }
            LeaseSearch::Client(key) => {
                self.visit_client_slots(key, &mut |slot| add(lease_of_client(slot, key), slot));
            }
        }
        leases[before..].sort_by_key(|lease| F::order(lease.address));
        newest_epoch
    }

    /// Calls `visit` with every slot that may have a lease of the client with `key`: if an index
    /// leads to all of them, only with those.
    fn visit_client_slots(&self, key: ClientKey<'_>, visit: &mut dyn FnMut(&LeaseSlot<F>)) {
        if let Some(mut slot_numbers) = self.index.find_all(key) {
            slot_numbers.sort_unstable();
            slot_numbers.dedup();
            for slot_number in slot_numbers {
                let stripe = self.lock_of(slot_number);
                if let Some(id) = stripe.find(slot_number) {
                    visit(stripe.slot(id));
                }
            }
        } else {
            for number in 0..STRIPES {
                for part in 0.. {
                    let stripe = self.lock(number);
                    let Some(slots) = stripe.state.slots.part(part) else { break };
                    slots.for_each(&mut *visit);
                }
            }
        }
    }

    /// Returns the leases, in any state, of up to `limit` addresses that come next `after` a given
    /// one, in ascending order ([`TableFamily::order`]); the first ones for `None`.
    ///
    /// Slots of pools are read from `after` on until the page is full; slots outside of pools are
    /// all read every time.
    #[must_use]
    pub fn page(&self, after: Option<F::Address>, limit: usize) -> Vec<Lease<F>> {
        let after = after.map(F::order);
        let mut page = LeasePage { after, limit, leases: BTreeMap::new() };
        for run in self.slot_numbers.runs(&self.map, after) {
            for blocks in run.chunks(PAGE_BLOCKS) {
                if blocks.first().is_some_and(|&(_, first)| page.is_before(F::order(first))) {
                    break;
                }
                self.add_blocks(blocks, &mut page);
            }
        }
        for number in 0..STRIPES {
            for part in (1..).step_by(2) {
                let stripe = self.lock(number);
                let Some(slots) = stripe.state.slots.part(part) else { break };
                slots.for_each(|slot| page.add(slot));
            }
        }
        page.leases.into_values().collect()
    }

    fn add_blocks(&self, blocks: &[(u32, F::Address)], page: &mut LeasePage<F>) {
        for number in 0..STRIPES {
            let stripe = self.lock(number);
            for (block, _) in blocks {
                if let Some(id) = stripe.find(block << 8 | number as u32) {
                    page.add(stripe.slot(id));
                }
            }
        }
    }
}

/// Page of a list of leases that is being filled.
struct LeasePage<F: TableFamily> {
    after: Option<F::Order>,
    limit: usize,
    leases: BTreeMap<F::Order, Lease<F>>,
}

impl<F: TableFamily> LeasePage<F> {
    /// Returns true if the page is full and ends before `order`.
    fn is_before(&self, order: F::Order) -> bool {
        self.leases.len() >= self.limit
            && self.leases.last_key_value().is_none_or(|(&last, _)| last < order)
    }

    fn add(&mut self, slot: &LeaseSlot<F>) {
        let order = F::order(slot.address());
        if self.after.is_some_and(|after| order <= after) || self.is_before(order) {
            return;
        }
        let Some(lease) = visible_lease(slot) else { return };
        self.leases.insert(order, lease);
        if self.leases.len() > self.limit {
            self.leases.pop_last();
        }
    }
}
