//! Tests that look inside the table, for both families.

mod allocators;
mod audit;
mod clock;
mod copies;
mod cycle;
mod events;
mod holds;
mod leases_before;
mod load;
mod model;
mod modelled;
mod overlap;
mod panic;
mod queues;
mod reconfigure;
mod reserved_blocks;
mod rows_and_events;
mod slot_numbers;
mod stress;
mod wheel;

use base::Now;

use super::LeaseTable;
use super::commit_epochs::CommitEpochs;
use crate::contract::{
    Action, Change, CommitRefusal, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, Receipt, SlotView,
};
use crate::family::{Family, PoolIndex};
use crate::lease::LeaseTerms;
use crate::pool::PoolSet;
use crate::sample::SampleFamily;

const START: Now = Now { mono_ns: 1_000_000_000, wall_us: 1_700_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;
/// Epochs of a change whose lease row is settled at once.
const SETTLED: CommitEpochs = CommitEpochs { row_epoch: 0, settled_epoch: 0 };

type ActionOf<F> = Action<LeaseTerms<'static, F>>;
type ChangeBy<F> =
    Change<<F as Family>::Identity<'static>, <F as Family>::Address, LeaseTerms<'static, F>>;

/// Makes a test for each family of functions that are generic over it.
macro_rules! for_both_families {
    ($($name:ident,)*) => {
        mod of_v4 {
            $(#[test] fn $name() { super::$name::<crate::v4::V4>(); })*
        }
        mod of_v6 {
            $(#[test] fn $name() { super::$name::<crate::v6::V6>(); })*
        }
    };
}
use for_both_families;

fn lease_for<F: SampleFamily>(valid_lifetime_s: u32) -> ActionOf<F> {
    Action::Lease(F::terms(valid_lifetime_s, 1, ""))
}

fn change<F: SampleFamily>(who: u32, slot: &SlotView<F>, action: ActionOf<F>) -> ChangeBy<F> {
    let (address, expected_version) = (slot.address, slot.version);
    Change { identity: F::client(who), address, expected_version, action }
}

/// Returns the slot of the address with `number`, as a fetch reports it.
fn slot<F: SampleFamily>(
    table: &LeaseTable<F>,
    pools: &PoolSet<F>,
    now: Now,
    number: u32,
) -> Option<SlotView<F>> {
    let mut facts = Facts::default();
    let keys = FetchKeys {
        identity: F::borrow(F::client(0)),
        addresses: [Some(F::address(number)), None, None, None],
        pools,
        candidate_pools: &[],
        is_candidate_spare: false,
    };
    table.fetch(now, 0, &keys, &mut facts);
    facts.address_slots[0]
}

/// Fetches a candidate of the first pool.
fn candidate<F: SampleFamily>(
    table: &LeaseTable<F>,
    pools: &PoolSet<F>,
    now: Now,
    who: u32,
) -> Option<SlotView<F>> {
    candidate_at(table, pools, now, 0, who)
}

/// Fetches a candidate of the first pool when rows through an epoch are settled.
fn candidate_at<F: SampleFamily>(
    table: &LeaseTable<F>,
    pools: &PoolSet<F>,
    now: Now,
    settled_epoch: u64,
    who: u32,
) -> Option<SlotView<F>> {
    let mut facts = Facts::default();
    let keys = FetchKeys {
        identity: F::borrow(F::client(who)),
        addresses: [None; FETCHED_ADDRESSES_MAX],
        pools,
        candidate_pools: &[PoolIndex(0)],
        is_candidate_spare: false,
    };
    table.fetch(now, settled_epoch, &keys, &mut facts);
    facts.candidate
}

/// Changes one slot, unlogged epochs.
fn commit<F: SampleFamily>(
    table: &LeaseTable<F>,
    now: Now,
    who: u32,
    slot: &SlotView<F>,
    action: ActionOf<F>,
) -> Result<Receipt, CommitRefusal> {
    table.apply(now, &[change(who, slot, action)], SETTLED, &mut |_| {})
}
