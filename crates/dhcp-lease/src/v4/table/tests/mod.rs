//! Tests that look inside the table.

mod audit;
mod holds;
mod load;
mod model;
mod reconfigure;
mod stress;
mod wheel;

use core::net::Ipv4Addr;

use base::Now;

use super::LeaseTable;
use crate::v4::{Action, Change, Facts, FetchKeys, LeaseTerms, Receipt, Refusal, SlotView};
use crate::v4::{PoolIndex, PoolSet, PoolSpec};
use crate::{HardwareAddress, Identity};

const START: Now = Now { mono_ns: 1_000_000_000, wall_us: 1_700_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;

fn pool(first: u32, last: u32) -> PoolSpec {
    PoolSpec { subnet_id: 1, pool_id: 0, first: first.into(), last: last.into() }
}

fn client(number: u32) -> Identity<'static> {
    let octets = (u64::from(number) + 1).to_be_bytes();
    Identity {
        hardware: HardwareAddress::new(1, &octets[2..]),
        client_id: None,
        match_client_id: true,
    }
}

fn lease_for(valid_lifetime_s: u32) -> Action<'static> {
    Action::Lease(LeaseTerms { valid_lifetime_s, subnet_id: 1, pool_id: 0, hostname: "" })
}

fn change<'a>(who: u32, slot: &SlotView, action: Action<'a>) -> Change<'a> {
    let (address, expected_version) = (slot.address, slot.version);
    Change { identity: client(who), address, expected_version, action }
}

/// Asks for `address`.
fn slot(table: &LeaseTable, pools: &PoolSet, now: Now, address: u32) -> Option<SlotView> {
    let mut facts = Facts::default();
    let keys = FetchKeys {
        identity: client(0),
        addresses: [Some(Ipv4Addr::from(address)), None],
        pools,
        candidate_pools: &[],
        is_candidate_spare: false,
    };
    table.fetch(now, 0, &keys, &mut facts);
    facts.asked[0]
}

/// Asks for a candidate of the first pool.
fn candidate(table: &LeaseTable, pools: &PoolSet, now: Now, who: u32) -> Option<SlotView> {
    let mut facts = Facts::default();
    let keys = FetchKeys {
        identity: client(who),
        addresses: [None; 2],
        pools,
        candidate_pools: &[PoolIndex(0)],
        is_candidate_spare: false,
    };
    table.fetch(now, 0, &keys, &mut facts);
    facts.candidate
}

/// Changes one slot, unlogged epochs.
fn commit(
    table: &LeaseTable,
    now: Now,
    who: u32,
    slot: &SlotView,
    action: Action<'_>,
) -> Result<Receipt, Refusal> {
    table.apply(now, &[change(who, slot, action)], 0, 0, &mut |_| {})
}
