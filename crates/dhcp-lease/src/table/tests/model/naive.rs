//! Naive model: a sorted map of slots, searched from end to end, and counters in another.

use std::collections::{BTreeMap, BTreeSet};

use base::Now;

use super::super::modelled::Modelled;
use super::super::{ChangeBy, START};
use super::{POOLS, is_pooled};
use crate::contract::{
    Action, CommitRefusal, PutMode, PutRefusal, Receipt, SlotOccupancy, SlotOwner, SlotView,
    SweepCounts, TextView, text_hash,
};
use crate::family::PoolIndex;
use crate::lease::{INFINITE_LIFETIME_S, LeaseState, LeaseTerms};
use crate::sample::SampleLease;
use crate::{Expiry, PoolStatistics};

#[derive(Clone)]
pub(super) struct ModelSlot<F: Modelled> {
    pub(super) version: u32,
    pub(super) occupancy: SlotOccupancy,
    pub(super) state: LeaseState,
    pub(super) client: Option<F::Who>,
    pub(super) subnet_id: u32,
    pub(super) cltt_s: u64,
    pub(super) lifetime_s: u32,
    pub(super) deadline_ns: u64,
    pub(super) epoch: u64,
    pub(super) text: TextView,
    /// Second before which no sweep looks at the slot.
    comes_up_s: u64,
    /// True if a client leased the address outside the pools, where that does not count.
    is_uncounted: bool,
}

impl<F: Modelled> ModelSlot<F> {
    pub(super) const UNKNOWN: Self = Self {
        version: 0,
        occupancy: SlotOccupancy::Free,
        state: LeaseState::Assigned,
        client: None,
        subnet_id: 0,
        cltt_s: 0,
        lifetime_s: 0,
        deadline_ns: 0,
        epoch: 0,
        text: TextView { hostname: 0, user_context: 0, fqdn_fwd: false, fqdn_rev: false },
        comes_up_s: 0,
        is_uncounted: false,
    };

    /// Returns true if the slot counts as leased or declined.
    fn is_in_use(&self) -> bool {
        matches!(self.occupancy, SlotOccupancy::Leased | SlotOccupancy::Declined)
    }

    fn expires_s(&self) -> u64 {
        match self.lifetime_s {
            INFINITE_LIFETIME_S => u64::MAX,
            lifetime_s => self.cltt_s + u64::from(lifetime_s),
        }
    }

    fn due_s(&self, expiry: Expiry) -> u64 {
        match (self.occupancy, self.state) {
            (SlotOccupancy::Leased | SlotOccupancy::Declined, _) => self.expires_s(),
            (SlotOccupancy::Free, LeaseState::ExpiredReclaimed) => {
                self.expires_s().saturating_add(expiry.hold_reclaimed_s.into())
            }
            (SlotOccupancy::Free, LeaseState::Released) => {
                self.cltt_s + u64::from(expiry.reclaim_wait_s)
            }
            _ => u64::MAX,
        }
    }

    pub(super) fn owner(&self, who: F::Who) -> SlotOwner {
        match self.client {
            None => SlotOwner::NoClient,
            Some(theirs) if F::owns(theirs, who) => SlotOwner::Requester,
            Some(_) => SlotOwner::Other,
        }
    }

    pub(super) fn view(&self, address: u32, who: F::Who, settled: u64) -> SlotView<F> {
        let occupancy = match self.occupancy {
            SlotOccupancy::Releasing if self.epoch <= settled => SlotOccupancy::Free,
            other => other,
        };
        let is_leased = occupancy == SlotOccupancy::Leased;
        let has_term = [SlotOccupancy::Leased, SlotOccupancy::Declined].contains(&occupancy);
        SlotView {
            address: F::address(address),
            version: self.version,
            occupancy,
            owner: self.owner(who),
            state: self.state,
            subnet_id: self.subnet_id,
            cltt_s: if has_term { self.cltt_s } else { 0 },
            valid_lifetime_s: if has_term { self.lifetime_s } else { 0 },
            hold_deadline_ns: if occupancy == SlotOccupancy::Held { self.deadline_ns } else { 0 },
            row_epoch: self.epoch,
            text: if is_leased { self.text } else { TextView::default() },
            is_overlapped: false,
            detail: match self.client {
                Some(theirs) if is_leased => F::detail(theirs, who, self.lifetime_s),
                _ => F::Detail::default(),
            },
        }
    }

    /// Returns the state of the lease that is listed.
    pub(super) fn visible_state(&self) -> Option<LeaseState> {
        let is_present = matches!(self.occupancy, SlotOccupancy::Leased | SlotOccupancy::Declined);
        (self.version != 0 && (is_present || self.state.is_past())).then_some(self.state)
    }

    /// Removes the lease's client and the remembered lease.
    fn forget(&mut self) {
        self.client = None;
        self.state = LeaseState::Assigned;
    }
}

/// Key of a counter: a pool, or a subnet.
pub(super) type Account = (Option<u32>, u32);

pub(super) struct TableModel<F: Modelled> {
    pub(super) slots: BTreeMap<u32, ModelSlot<F>>,
    pub(super) claimed: BTreeSet<u32>,
    pub(super) reserved: BTreeSet<u32>,
    pub(super) now: Now,
    pub(super) settled: u64,
    pub(super) open: u64,
    pub(super) swept: SweepCounts,
    /// Rows that a sweep has logged: address, state, whether the lease is deleted.
    pub(super) rows: Vec<(u32, LeaseState, bool)>,
    pub(super) expiry: Expiry,
    pub(super) counted: BTreeMap<Account, PoolStatistics>,
    cursors: [u32; POOLS.len()],
    /// Second of the last sweep.
    wheel_s: u64,
}

impl<F: Modelled> TableModel<F> {
    pub(super) fn new(expiry: Expiry) -> Self {
        let pooled = POOLS.iter().flat_map(|&(first, last)| first..=last);
        Self {
            slots: pooled.map(|address| (address, ModelSlot::UNKNOWN)).collect(),
            claimed: BTreeSet::new(),
            reserved: BTreeSet::new(),
            now: START,
            settled: 0,
            open: 1,
            swept: SweepCounts::default(),
            rows: Vec::new(),
            expiry,
            counted: BTreeMap::new(),
            cursors: POOLS.map(|(first, _)| first),
            wheel_s: 0,
        }
    }

    pub(super) fn account(address: u32, slot: &ModelSlot<F>) -> Account {
        match is_pooled(address) {
            Some(pool) => (Some(pool), 0),
            None => (None, slot.subnet_id),
        }
    }

    fn counters(&mut self, address: u32) -> &mut PoolStatistics {
        self.counted.entry(Self::account(address, &self.slots[&address])).or_default()
    }

    /// Returns all counters: events, and the sums over the slots.
    pub(super) fn statistics(&self) -> BTreeMap<Account, PoolStatistics> {
        let mut sums = self.counted.clone();
        for (&address, slot) in &self.slots {
            let sum = sums.entry(Self::account(address, slot)).or_default();
            match (slot.occupancy, slot.state) {
                (SlotOccupancy::Leased, LeaseState::Registered) => sum.registered += 1,
                (SlotOccupancy::Leased, _) => sum.assigned += u64::from(!slot.is_uncounted),
                (SlotOccupancy::Declined, _) => {
                    sum.assigned += u64::from(!slot.is_uncounted);
                    sum.declined += 1;
                }
                _ => {}
            }
        }
        sums.retain(|_, sum| *sum != PoolStatistics::default());
        sums
    }

    /// Sets the second in which the slot comes up.
    fn link(&mut self, address: u32) {
        let (expiry, wheel_s) = (self.expiry, self.wheel_s);
        let slot = self.slots.get_mut(&address).unwrap();
        slot.comes_up_s = slot.due_s(expiry).max(wheel_s + 1);
    }

    fn claim(&mut self, pools: &[PoolIndex]) -> Option<u32> {
        for &PoolIndex(index) in pools {
            let (first, last) = POOLS[index as usize];
            let cursor = self.cursors[index as usize].clamp(first, last + 1);
            let free = (cursor..=last).chain(first..cursor).find(|address| {
                self.slots[address].occupancy == SlotOccupancy::Free
                    && !self.claimed.contains(address)
                    && !self.reserved.contains(address)
            });
            if let Some(free) = free {
                self.cursors[index as usize] = free + 1;
                self.claimed.insert(free);
                return Some(free);
            }
        }
        None
    }

    /// Frees ended slots, without rows when `is_early`; returns true if any had ended.
    pub(super) fn sweep(&mut self, is_early: bool) -> bool {
        let mut freed = self.free_ended();
        for address in self.slots.keys().copied().collect::<Vec<_>>() {
            freed |= self.take_back(address, is_early);
        }
        self.wheel_s = self.wheel_s.max(self.now.wall_s());
        freed
    }

    /// Frees slots that only wait to be freed; returns true if there were any.
    fn free_ended(&mut self) -> bool {
        let mut freed = false;
        for address in self.slots.keys().copied().collect::<Vec<_>>() {
            let slot = self.slots.get_mut(&address).unwrap();
            let has_ended = match slot.occupancy {
                SlotOccupancy::Held => slot.deadline_ns <= self.now.mono_ns,
                SlotOccupancy::Releasing => slot.epoch <= self.settled,
                _ => false,
            };
            if has_ended {
                self.swept.holds += u32::from(slot.occupancy == SlotOccupancy::Held);
                slot.occupancy = SlotOccupancy::Free;
                slot.version += 1;
                self.claimed.remove(&address);
                self.link(address);
                freed = true;
            }
        }
        freed
    }

    fn take_back(&mut self, address: u32, is_early: bool) -> bool {
        let (wall_s, expiry) = (self.now.wall_s(), self.expiry);
        let slot = self.slots.get_mut(&address).unwrap();
        if slot.comes_up_s > wall_s || slot.due_s(expiry) > wall_s {
            return false;
        }
        let is_past = slot.occupancy == SlotOccupancy::Free;
        if (is_early && is_past) || (!is_early && slot.epoch > self.settled) {
            slot.comes_up_s = wall_s + 1;
            return false;
        }
        let state = slot.state;
        let flushes_at = slot.expires_s() + u64::from(expiry.hold_reclaimed_s);
        let is_remembered = expiry.is_remembering
            && state != LeaseState::Declined
            && state != LeaseState::ExpiredReclaimed
            && flushes_at > wall_s;
        match state {
            LeaseState::ExpiredReclaimed => self.swept.flushed += 1,
            LeaseState::Released => self.swept.released += 1,
            LeaseState::Declined => self.swept.declined += 1,
            LeaseState::Assigned | LeaseState::Registered => self.swept.leases += 1,
        }
        slot.version += 1;
        slot.occupancy = SlotOccupancy::Free;
        if !is_early {
            slot.epoch = self.open;
        }
        if is_remembered {
            slot.state = LeaseState::ExpiredReclaimed;
        } else {
            slot.lifetime_s = if is_early { slot.lifetime_s } else { 0 };
            slot.forget();
        }
        if !is_early {
            let row_state = if is_remembered { LeaseState::ExpiredReclaimed } else { state };
            self.rows.push((address, row_state, slot.lifetime_s == 0));
        }
        self.claimed.remove(&address);
        self.link(address);
        let counters = self.counters(address);
        counters.reclaimed += u64::from(state != LeaseState::ExpiredReclaimed);
        counters.reclaimed_declined += u64::from(state == LeaseState::Declined);
        !is_past
    }

    /// Returns the candidate; for a hold, the first of the oldest.
    pub(super) fn candidate(&mut self, pools: &[PoolIndex], who: F::Who) -> Option<SlotView<F>> {
        if pools.is_empty() {
            return None;
        }
        let mut address = self.claim(pools);
        if address.is_none() && self.free_ended() {
            address = self.claim(pools);
        }
        if address.is_none() && self.sweep(true) {
            address = self.claim(pools);
        }
        if address.is_none() {
            let is_in_pools = |address: u32| {
                pools.iter().any(|&PoolIndex(index)| is_pooled(address) == Some(index))
            };
            let holds = self.slots.iter().filter(|(address, slot)| {
                slot.occupancy == SlotOccupancy::Held
                    && slot.epoch <= self.settled
                    && !self.reserved.contains(address)
                    && is_in_pools(**address)
            });
            address = holds.min_by_key(|(_, slot)| slot.deadline_ns).map(|(&address, _)| address);
        }
        address.map(|address| self.slots[&address].view(address, who, self.settled))
    }

    fn check(&self, who: F::Who, change: &ChangeBy<F>) -> Result<(), CommitRefusal> {
        let address = F::number(change.address);
        let is_registration = matches!(change.action, Action::Register(_));
        let Some(slot) = self.slots.get(&address) else {
            let is_new = is_registration && change.expected_version == 0;
            return if is_new { Ok(()) } else { Err(CommitRefusal::NoSuchSlot) };
        };
        if slot.version != change.expected_version {
            return Err(CommitRefusal::Stale);
        }
        if slot.epoch > self.settled {
            return Err(CommitRefusal::Unsettled(slot.epoch));
        }
        let is_mine = slot.owner(who) == SlotOwner::Requester;
        let is_over = slot.expires_s() <= self.now.wall_s();
        let is_registered = slot.state == LeaseState::Registered;
        let fits = match (change.action, slot.occupancy) {
            (Action::Register(_), SlotOccupancy::Leased) if is_registered => true,
            (
                Action::Hold { .. } | Action::Lease(_) | Action::Register(_),
                SlotOccupancy::Leased,
            ) => is_mine || is_over,
            (
                Action::Hold { .. } | Action::Lease(_) | Action::Register(_),
                SlotOccupancy::Declined,
            ) => is_over,
            (Action::Hold { .. } | Action::Lease(_) | Action::Register(_), _) => true,
            (Action::Unhold, SlotOccupancy::Held) => is_mine,
            (Action::Release, SlotOccupancy::Leased) => is_mine,
            (Action::Decline { .. }, SlotOccupancy::Leased | SlotOccupancy::Held) => is_mine,
            _ => false,
        };
        if fits { Ok(()) } else { Err(CommitRefusal::Stale) }
    }

    /// Makes all changes or none, and returns the row that is logged for each.
    pub(super) fn commit(
        &mut self,
        who: F::Who,
        changes: &[ChangeBy<F>],
    ) -> Result<(Receipt, Vec<Option<LeaseState>>), CommitRefusal> {
        for change in changes {
            self.check(who, change)?;
        }
        let mut states = Vec::new();
        for change in changes {
            let address = F::number(change.address);
            let now = self.now;
            let slot = self.slots.entry(address).or_insert(ModelSlot::UNKNOWN);
            let is_running =
                slot.occupancy == SlotOccupancy::Leased && slot.expires_s() > now.wall_s();
            if matches!(change.action, Action::Hold { .. }) && is_running {
                states.push(None);
                continue;
            }
            self.claimed.remove(&address);
            let state = self.perform(who, address, change.action);
            let slot = self.slots.get_mut(&address).unwrap();
            slot.version += 1;
            if state.is_some() {
                slot.cltt_s = now.wall_s();
                slot.epoch = self.open;
            }
            self.link(address);
            states.push(state);
        }
        let is_logged = states.iter().any(Option::is_some);
        Ok((Receipt { row_epoch: if is_logged { self.open } else { 0 } }, states))
    }

    /// Counts the end of a lease that no sweep has counted.
    fn count_ended(&mut self, address: u32) {
        let slot = &self.slots[&address];
        let is_declined = slot.occupancy == SlotOccupancy::Declined;
        let is_ended = match slot.occupancy {
            SlotOccupancy::Leased => slot.expires_s() <= self.now.wall_s(),
            SlotOccupancy::Declined => true,
            _ => slot.state == LeaseState::Released,
        };
        let counters = self.counters(address);
        counters.reclaimed += u64::from(is_ended);
        counters.reclaimed_declined += u64::from(is_declined);
    }

    fn perform(
        &mut self,
        who: F::Who,
        address: u32,
        action: super::super::ActionOf<F>,
    ) -> Option<LeaseState> {
        let has_affinity = self.expiry.has_affinity();
        let wall_s = self.now.wall_s();
        let is_same = self.slots[&address].client.is_some_and(|theirs| F::is_same(theirs, who));
        match action {
            Action::Hold { deadline_ns, subnet_id } => {
                if !(is_same && self.slots[&address].state == LeaseState::Released) {
                    self.count_ended(address);
                }
                let slot = self.slots.get_mut(&address).unwrap();
                if slot.occupancy == SlotOccupancy::Leased {
                    slot.state = LeaseState::ExpiredReclaimed;
                }
                if !is_same || !slot.state.is_past() {
                    slot.state = LeaseState::Assigned;
                }
                slot.occupancy = SlotOccupancy::Held;
                slot.client = Some(who);
                slot.deadline_ns = deadline_ns;
                slot.subnet_id = subnet_id;
                None
            }
            Action::Unhold => {
                self.slots.get_mut(&address).unwrap().occupancy = SlotOccupancy::Free;
                None
            }
            Action::Lease(terms) => Some(self.lease(who, address, &terms, LeaseState::Assigned)),
            Action::Register(terms) => {
                Some(self.lease(who, address, &terms, LeaseState::Registered))
            }
            Action::Release => {
                let slot = self.slots.get_mut(&address).unwrap();
                let is_remembered = has_affinity && slot.lifetime_s != INFINITE_LIFETIME_S;
                let state = if is_remembered { LeaseState::Released } else { slot.state };
                slot.occupancy = SlotOccupancy::Releasing;
                slot.lifetime_s = 0;
                slot.cltt_s = wall_s;
                if is_remembered {
                    slot.state = LeaseState::Released;
                } else {
                    slot.forget();
                }
                Some(state)
            }
            Action::Decline { probation_s } => {
                if self.slots[&address].occupancy == SlotOccupancy::Held {
                    self.count_ended(address);
                }
                let slot = self.slots.get_mut(&address).unwrap();
                slot.is_uncounted &= slot.is_in_use();
                slot.occupancy = SlotOccupancy::Declined;
                slot.state = LeaseState::Declined;
                slot.client = None;
                slot.lifetime_s = probation_s;
                slot.cltt_s = wall_s;
                Some(LeaseState::Declined)
            }
        }
    }

    fn lease(
        &mut self,
        who: F::Who,
        address: u32,
        terms: &LeaseTerms<'_, F>,
        state: LeaseState,
    ) -> LeaseState {
        self.count_ended(address);
        let wall_s = self.now.wall_s();
        let slot = self.slots.get_mut(&address).unwrap();
        let is_renewed = slot.occupancy == SlotOccupancy::Leased
            && slot.expires_s() > wall_s
            && slot.state == state
            && slot.owner(who) == SlotOwner::Requester;
        slot.is_uncounted &= slot.is_in_use();
        slot.occupancy = SlotOccupancy::Leased;
        slot.state = state;
        slot.client = Some(who);
        slot.lifetime_s = terms.valid_lifetime_s;
        slot.cltt_s = wall_s;
        slot.subnet_id = terms.subnet_id;
        slot.text = TextView {
            hostname: text_hash(terms.hostname),
            user_context: 0,
            fqdn_fwd: terms.fqdn_fwd,
            fqdn_rev: terms.fqdn_rev,
        };
        if !is_renewed {
            self.count_lease(address, state);
        }
        state
    }

    fn count_lease(&mut self, address: u32, state: LeaseState) {
        match state {
            LeaseState::Registered => self.counters(address).cumulative_registered += 1,
            _ if F::COUNTS_OUTSIDE || is_pooled(address).is_some() => {
                self.counters(address).cumulative_assigned += 1;
            }
            _ => self.slots.get_mut(&address).unwrap().is_uncounted = true,
        }
    }

    /// Installs a lease as it comes from a file or an operator.
    pub(super) fn install(&mut self, who: F::Who, lease: &SampleLease<'_>, epoch: u64) {
        let has_lease = lease.valid_lifetime_s > 0;
        let has_slot = self.slots.contains_key(&lease.address);
        if !has_lease && !has_slot {
            return;
        }
        let slot = self.slots.entry(lease.address).or_insert(ModelSlot::UNKNOWN);
        *slot = ModelSlot {
            version: slot.version + 1,
            occupancy: match lease.state {
                _ if !has_lease => SlotOccupancy::Free,
                LeaseState::Assigned | LeaseState::Registered => SlotOccupancy::Leased,
                LeaseState::Declined => SlotOccupancy::Declined,
                LeaseState::ExpiredReclaimed | LeaseState::Released => SlotOccupancy::Free,
            },
            state: if has_lease { lease.state } else { LeaseState::Assigned },
            client: Some(who),
            subnet_id: lease.subnet_id,
            cltt_s: lease.cltt_s,
            lifetime_s: lease.valid_lifetime_s,
            epoch,
            is_uncounted: slot.is_uncounted && slot.is_in_use(),
            ..ModelSlot::UNKNOWN
        };
        self.claimed.remove(&lease.address);
        self.link(lease.address);
    }

    fn visible_state(&self, address: u32) -> Option<LeaseState> {
        self.slots.get(&address).and_then(ModelSlot::visible_state)
    }

    fn has_later(&self, who: F::Who, lease: &SampleLease<'_>) -> bool {
        let Some(state) = self.visible_state(lease.address) else { return false };
        let slot = &self.slots[&lease.address];
        let is_same_client = slot.client.is_some_and(|client| F::is_same(client, who));
        slot.cltt_s > lease.cltt_s && (!state.is_past() || is_same_client)
    }

    pub(super) fn put(
        &mut self,
        who: F::Who,
        lease: &SampleLease<'_>,
        mode: PutMode,
    ) -> Result<Receipt, PutRefusal> {
        let had = self.visible_state(lease.address);
        match mode {
            PutMode::Add if had.is_some() => return Err(PutRefusal::Exists),
            PutMode::Update if had.is_none() => return Err(PutRefusal::Missing),
            PutMode::UnlessLater if self.has_later(who, lease) => return Err(PutRefusal::Later),
            _ => {}
        }
        let epoch = self.slots.get(&lease.address).map_or(0, |slot| slot.epoch);
        if epoch > self.settled {
            return Err(PutRefusal::Unsettled(epoch));
        }
        self.install(who, lease, self.open);
        let is_present = self.slots[&lease.address].occupancy == SlotOccupancy::Leased;
        let is_registered = lease.state == LeaseState::Registered;
        if is_present && is_registered && had != Some(lease.state) {
            self.count_lease(lease.address, lease.state);
        }
        let (expiry, wheel_s) = (self.expiry, self.wheel_s);
        let slot = self.slots.get_mut(&lease.address).unwrap();
        if slot.is_in_use() && slot.due_s(expiry) <= wheel_s {
            slot.comes_up_s = 0;
        }
        Ok(Receipt { row_epoch: self.open })
    }

    pub(super) fn remove(&mut self, address: u32) -> Result<Receipt, PutRefusal> {
        if self.visible_state(address).is_none() {
            return Err(PutRefusal::Missing);
        }
        let (open, settled) = (self.open, self.settled);
        let slot = self.slots.get_mut(&address).unwrap();
        if slot.epoch > settled {
            return Err(PutRefusal::Unsettled(slot.epoch));
        }
        slot.version += 1;
        slot.occupancy = SlotOccupancy::Releasing;
        slot.lifetime_s = 0;
        slot.epoch = open;
        slot.forget();
        self.claimed.remove(&address);
        Ok(Receipt { row_epoch: open })
    }
}
