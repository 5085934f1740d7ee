//! Tests with several threads on one table: no address is ever leased to two clients.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::Mutex;

use base::{Now, Random};

use super::super::LeaseTable;
use super::audit::audit;
use super::{CommitEpochs, SECOND_NS, START, for_both_families, lease_for};
use crate::contract::{
    Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, SlotOccupancy, SlotOwner,
};
use crate::family::PoolIndex;
use crate::lease::LeaseState;
use crate::pool::PoolSet;
use crate::sample::{SampleColumns, SampleFamily};

for_both_families! {
    no_address_is_ever_owned_by_two,
}

const FIRST: u32 = 0x0a00_00c0;
const COUNT: u32 = 150;
const THREADS: u32 = 4;
const OPERATIONS: u32 = 4_000;
const LIFETIME_S: u32 = 20;

/// Client and end of the lease of each address, as the rows report them. Rows come in under the
/// slot's lock, hence in the order of its changes.
struct StressLedger(Vec<Mutex<Option<Entry>>>);

/// Client and the end of the lease.
type Entry = (Vec<u8>, u64);

impl StressLedger {
    fn note<F: SampleFamily>(&self, row: &SampleColumns<F>, now: Now) {
        let mut entry = self.0[(F::number(row.address) - FIRST) as usize].lock().unwrap();
        let client = row.client.clone();
        if let Some((owner, expires_s)) = entry.as_ref() {
            assert!(
                *owner == client || client.is_empty() || *expires_s <= now.wall_s(),
                "{} taken from {owner:?} for {client:?}",
                row.address
            );
        }
        let expires_s = row.cltt_s + u64::from(row.valid_lifetime_s);
        *entry = (row.state != LeaseState::Released).then_some((client, expires_s));
    }
}

struct StressFixture<F: SampleFamily> {
    table: LeaseTable<F>,
    pools: std::sync::Arc<PoolSet<F>>,
    ledger: StressLedger,
    clock_ns: AtomicU64,
    open_epoch: AtomicU64,
    settled_epoch: AtomicU64,
    /// Number of offers that were declined: they end without having been leases.
    declined_offers: AtomicU64,
}

impl<F: SampleFamily> StressFixture<F> {
    fn now(&self) -> Now {
        START.after_ns(self.clock_ns.fetch_add(SECOND_NS / 50, Ordering::Relaxed))
    }

    /// Sends one message of a client that only this thread plays.
    fn one(&self, random: &mut Random, thread: u32, facts: &mut Facts<F>) {
        let now = self.now();
        let who = thread * 1_000 + random.below(70) as u32;
        let settled = self.settled_epoch.load(Ordering::Acquire);
        let wants_candidate = random.chance(1, 2);
        let requested = FIRST + random.below(u64::from(COUNT)) as u32;
        let keys = FetchKeys {
            identity: F::borrow(F::client(who)),
            addresses: [Some(F::address(requested)), None, None, None],
            pools: &*self.pools,
            candidate_pools: if wants_candidate { &[PoolIndex(0)] } else { &[] },
            is_candidate_spare: false,
        };
        self.table.fetch(now, settled, &keys, facts);
        let mine = facts.client_slots().next().copied();
        let slot = match random.below(3) {
            0 => facts.address_slots[0].unwrap(),
            1 => mine.unwrap_or_else(|| facts.address_slots[0].unwrap()),
            _ => facts.candidate.unwrap_or_else(|| facts.address_slots[0].unwrap()),
        };
        let action = match random.below(10) {
            0..3 => Action::Hold { deadline_ns: now.mono_ns + SECOND_NS, subnet_id: 1 },
            3 => Action::Unhold,
            4..8 => lease_for::<F>(LIFETIME_S),
            8 => Action::Release,
            _ => Action::Decline { probation_s: 5 },
        };
        // The epoch is read first: a row may be settled early here, never late.
        let epoch = self.open_epoch.load(Ordering::Acquire);
        let (address, expected_version) = (slot.address, slot.version);
        let identity = F::client(who);
        let changes = [Change { identity, address, expected_version, action }];
        let epochs = CommitEpochs { row_epoch: epoch, settled_epoch: settled };
        let outcome = self.table.apply(now, &changes, epochs, &mut |row| {
            // Another thread may have reclaimed the last lease by a later clock.
            self.ledger.note(&F::sample(&row.to_lease()), self.now());
        });
        if outcome.is_ok()
            && matches!(action, Action::Decline { .. })
            && slot.occupancy == SlotOccupancy::Held
        {
            self.declined_offers.fetch_add(1, Ordering::Relaxed);
        }
        if outcome.is_ok() && matches!(action, Action::Lease(_)) {
            let again = FetchKeys { addresses: [Some(slot.address), None, None, None], ..keys };
            let again = FetchKeys { candidate_pools: &[], ..again };
            let mut after = Facts::default();
            self.table.fetch(now, settled, &again, &mut after);
            let after = after.address_slots[0].unwrap();
            // Other clients can have it only once it has ended.
            let is_unchanged =
                after.occupancy == SlotOccupancy::Leased && after.owner == SlotOwner::Requester;
            let has_ended = self.now().wall_s() >= now.wall_s() + u64::from(LIFETIME_S);
            assert!(is_unchanged || has_ended, "{after:?}");
        }
        if let Some(candidate) = facts.candidate {
            self.table.release_claim(candidate.address);
        }
        match random.below(40) {
            0 => {
                let closed = self.open_epoch.fetch_add(1, Ordering::AcqRel);
                self.settled_epoch.fetch_max(closed, Ordering::AcqRel);
            }
            1..4 => {
                self.table.sweep(self.now(), settled, 1 + random.below(30) as u32);
            }
            _ => {}
        }
    }
}

fn no_address_is_ever_owned_by_two<F: SampleFamily>() {
    for seed in 0..12 {
        let table = LeaseTable::<F>::new(seed);
        let pools = table.configure(&[F::pool(FIRST, FIRST + COUNT - 1)], &[]);
        let fixture = StressFixture {
            table,
            pools,
            ledger: StressLedger((0..COUNT).map(|_| Mutex::default()).collect()),
            clock_ns: AtomicU64::new(0),
            open_epoch: AtomicU64::new(1),
            settled_epoch: AtomicU64::new(0),
            declined_offers: AtomicU64::new(0),
        };
        std::thread::scope(|scope| {
            for thread in 1..=THREADS {
                let fixture = &fixture;
                scope.spawn(move || {
                    let mut random = Random::from_seed(seed * 16 + u64::from(thread));
                    let mut facts = Facts::default();
                    for _ in 0..OPERATIONS {
                        fixture.one(&mut random, thread, &mut facts);
                    }
                });
            }
        });
        audit(&fixture.table, &BTreeSet::new());
        recount(&fixture.table);
        settle_down(&fixture);
    }
}

/// Checks that the counters agree with the leases.
fn recount<F: SampleFamily>(table: &LeaseTable<F>) {
    let (mut assigned, mut declined) = (0, 0);
    table.for_each_lease(|lease| match F::sample(&lease).state {
        LeaseState::Declined => declined += 1,
        state => assigned += u64::from(!state.is_past()),
    });
    let counted = table.statistics(PoolIndex(0));
    assert_eq!((counted.assigned, counted.declined), (assigned + declined, declined));
}

/// Checks that after the end of all leases every address can be leased, each once.
fn settle_down<F: SampleFamily>(fixture: &StressFixture<F>) {
    let end = fixture.now().after_ns(1_000 * SECOND_NS);
    while fixture.table.sweep(end, u64::MAX, 64).is_more_due {}
    // Addresses that were released and came up in the last second of the wheels.
    while fixture.table.sweep(end.after_ns(SECOND_NS), u64::MAX, 64).is_more_due {}
    recount(&fixture.table);
    let counted = fixture.table.statistics(PoolIndex(0));
    let ended = counted.cumulative_assigned + fixture.declined_offers.load(Ordering::Relaxed);
    assert!(counted.cumulative_assigned > 1_000, "{counted:?}");
    assert_eq!(counted.reclaimed, ended, "whatever was given was taken back once");
    assert_eq!(fixture.table.usage(), super::super::Usage::default());
    let mut leased = BTreeSet::new();
    let mut facts = Facts::default();
    let keys = FetchKeys {
        identity: F::borrow(F::client(9)),
        addresses: [None; FETCHED_ADDRESSES_MAX],
        pools: &*fixture.pools,
        candidate_pools: &[PoolIndex(0)],
        is_candidate_spare: false,
    };
    for _ in 0..COUNT {
        fixture.table.fetch(end, u64::MAX, &keys, &mut facts);
        let candidate = facts.candidate.unwrap();
        assert_eq!(candidate.occupancy, SlotOccupancy::Free);
        assert!(candidate.owner != SlotOwner::Requester);
        assert!(leased.insert(candidate.address));
    }
    fixture.table.fetch(end, u64::MAX, &keys, &mut facts);
    assert_eq!(facts.candidate, None);
}
