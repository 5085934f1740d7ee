//! Actions of clients of either family on a store.

use base::{Now, Random};
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, SlotView};
use dhcp_lease::{LeaseState, LeaseStore, PoolIndex, PoolSet, PoolSpec, SlotOccupancy, SlotOwner};

use crate::power_cut::case::SimulatedFamily;
use crate::power_cut::ledger::PromiseLedger;

const CLIENTS: u64 = 40;
const ADDRESSES: u32 = 30;
/// Number of the first address.
const FIRST: u32 = 0x0a00_0001;

/// Returns a pool with fewer addresses than clients.
pub fn pool<F: SimulatedFamily>() -> PoolSpec<F> {
    F::pool(FIRST, FIRST + ADDRESSES - 1)
}

/// Lets a random client get, keep, give back or decline an address; returns the ledger's error if
/// the store must not have allowed that.
pub fn act<F: SimulatedFamily>(
    random: &mut Random,
    now: Now,
    pools: &PoolSet<F>,
    store: &mut impl LeaseStore<F>,
    ledger: &mut PromiseLedger<F>,
) -> Result<(), String> {
    let octets = F::octets(random.below(CLIENTS) as u8);
    let identity = F::identity(&octets);
    let keys = FetchKeys {
        identity,
        addresses: [None; FETCHED_ADDRESSES_MAX],
        pools,
        candidate_pools: &[PoolIndex(0)],
        is_candidate_spare: true,
    };
    let mut facts = Facts::<F>::default();
    store.fetch(now, &keys, &mut facts);
    let mine = |slot: &&SlotView<F>| {
        slot.owner == SlotOwner::Requester && slot.occupancy == SlotOccupancy::Leased
    };
    let mine = facts.client_slots().find(mine).copied();
    let Some(slot) = mine.or(facts.candidate) else { return Ok(()) };
    let valid_lifetime_s = 5 + random.below(100) as u32;
    let terms = F::terms(valid_lifetime_s, 1, "a,b.example");
    let now_s = now.wall_s();
    let leased = Some((LeaseState::Assigned, octets.clone(), now_s, valid_lifetime_s));
    let (action, state) = match (mine.is_some(), random.below(10)) {
        (true, 0..4) => (Action::Release, None),
        (true, 4) => {
            let probation_s = 20;
            let declined = Some((LeaseState::Declined, Vec::new(), now_s, probation_s));
            (Action::Decline { probation_s }, declined)
        }
        _ => (Action::Lease(terms), leased),
    };
    let (address, expected_version) = (slot.address, slot.version);
    let change = Change { identity, address, expected_version, action };
    let receipt = store.commit(now, &[change]);
    store.submit(now);
    match receipt {
        Ok(receipt) => ledger.commit(slot.address, state, receipt.row_epoch, now_s),
        Err(_) => Ok(()),
    }
}
