//! Looking up what a transaction wants to know.

use core::net::Ipv4Addr;
use core::sync::atomic::Ordering;

use base::Now;

use super::index::Found;
use super::{LeaseTable, STRIPES};
use crate::v4::PoolIndex;
use crate::v4::{Facts, FetchKeys, MINE_MAX, Occupancy, SlotView};

/// Free bits over taken slots that one fetch passes at most.
const STALE_BITS: u32 = 1024;
/// Slots that one fetch without a free address sweeps at most.
const EARLY_SWEEP: u32 = 64;
/// Stripes, and holds in each, that a search for the oldest hold looks at.
const HOLD_STRIPES: usize = 16;
const HOLDS_EACH: usize = 64;

impl LeaseTable {
    /// Looks up what `keys` ask for; `facts` is overwritten. Rows through `settled_epoch` are
    /// settled. A free candidate is claimed: it has to be committed or given back.
    pub fn fetch(&self, now: Now, settled_epoch: u64, keys: &FetchKeys<'_>, facts: &mut Facts) {
        let fetch = Fetch { table: self, now, settled_epoch, keys };
        facts.mine[..facts.mine_count].fill(None);
        facts.mine_count = 0;
        fetch.find_mine(facts);
        for at in 0..keys.addresses.len() {
            facts.asked[at] = keys.addresses[at].and_then(|address| fetch.asked(address, facts));
        }
        let is_spared = keys.is_candidate_spare && facts.mine_count > 0;
        let is_unwanted = keys.candidate_pools.is_empty() || is_spared;
        facts.candidate = if is_unwanted { None } else { fetch.candidate() };
    }
}

/// One look-up.
struct Fetch<'f, 'k> {
    table: &'f LeaseTable,
    now: Now,
    settled_epoch: u64,
    keys: &'f FetchKeys<'k>,
}

impl Fetch<'_, '_> {
    fn view(&self, address: u32) -> Option<SlotView> {
        self.table.lock_of(address).view(address, &self.keys.identity, self.settled_epoch)
    }

    fn find_mine(&self, facts: &mut Facts) {
        let identity = &self.keys.identity;
        let mut known = Found::NONE;
        if let Some(client_id) = identity.client_id
            && identity.match_client_id
        {
            known = self.table.by_client_id.find(client_id);
            for &address in known.addresses() {
                self.add_mine(address, facts);
            }
        }
        let has_any = facts.mine().any(|view| view.occupancy != Occupancy::Free);
        if has_any || identity.hardware.is_empty() {
            return;
        }
        for address in self.table.by_hardware.find(&identity.hardware).addresses() {
            if !known.addresses().contains(address) {
                self.add_mine(*address, facts);
            }
        }
    }

    /// Adds the slot of `address` if it is the client's. One that the client has is kept before
    /// one that it only had.
    fn add_mine(&self, address: u32, facts: &mut Facts) {
        let table = self.table;
        let stripe = table.lock_of(address);
        let Some(slot) = stripe.find(address).map(|id| stripe.slot(id)) else { return };
        if !slot.is_owned_by(&self.keys.identity) {
            return;
        }
        let view = slot.view(&self.keys.identity, self.settled_epoch);
        let is_past =
            |view: &Option<SlotView>| view.is_some_and(|view| view.occupancy == Occupancy::Free);
        if facts.mine_count < MINE_MAX {
            facts.mine[facts.mine_count] = Some(view);
            facts.mine_count += 1;
        } else if !is_past(&Some(view))
            && let Some(past) = facts.mine.iter_mut().find(|past| is_past(past))
        {
            *past = Some(view);
        }
    }

    fn asked(&self, address: Ipv4Addr, facts: &Facts) -> Option<SlotView> {
        match facts.mine().find(|view| view.address == address) {
            Some(view) => Some(*view),
            None => self.view(u32::from(address)),
        }
    }

    fn candidate(&self) -> Option<SlotView> {
        let claimed = self.claim();
        if claimed.is_some() {
            return claimed;
        }
        if self.table.sweep_early(self.now, self.settled_epoch, EARLY_SWEEP) {
            let claimed = self.claim();
            if claimed.is_some() {
                return claimed;
            }
        }
        self.oldest_hold()
    }

    /// Takes the next free address of the first pool that has one.
    fn claim(&self) -> Option<SlotView> {
        self.keys.candidate_pools.iter().find_map(|&pool| self.claim_from(pool))
    }

    fn claim_from(&self, pool: PoolIndex) -> Option<SlotView> {
        let spec = self.keys.pools.specs()[pool.0 as usize];
        let (first, last) = (u32::from(spec.first), u32::from(spec.last));
        for _ in 0..STALE_BITS {
            let claimed = self.table.map.claim(first, last, self.keys.pools.cursor(pool))?;
            self.keys.pools.advance(pool, claimed);
            let view = self.view(claimed)?;
            if view.occupancy == Occupancy::Free {
                return Some(view);
            }
        }
        None
    }

    /// The slot with the oldest hold of the wanted pools. With very many holds of other pools an
    /// older one may be missed.
    fn oldest_hold(&self) -> Option<SlotView> {
        let mut heads: [u64; STRIPES] = core::array::from_fn(|stripe| {
            self.table.stripes[stripe].hints.first_hold_ns.load(Ordering::Relaxed)
        });
        let mut oldest: Option<SlotView> = None;
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

    fn oldest_hold_of(&self, stripe: usize) -> Option<SlotView> {
        let stripe = self.table.lock(stripe);
        let slots = &stripe.state.slots;
        stripe
            .state
            .deadlines
            .holds(slots)
            .take(HOLDS_EACH)
            .map(|id| slots.get(id))
            .find(|slot| self.is_wanted(slot.address) && slot.row_epoch <= self.settled_epoch)
            .map(|slot| slot.view(&self.keys.identity, self.settled_epoch))
    }

    fn is_wanted(&self, address: u32) -> bool {
        let mut pools = self.keys.candidate_pools.iter();
        pools.any(|pool| self.keys.pools.specs()[pool.0 as usize].contains(address.into()))
    }
}
