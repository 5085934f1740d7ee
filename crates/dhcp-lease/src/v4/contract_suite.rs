//! What every lease store must do, as tests over a factory of stores. A backend implements
//! [`Backend`] and calls [`lease_store_contract!`](crate::lease_store_contract) in its tests, which
//! makes one test of each function here, with the same names for every backend.

use core::net::Ipv4Addr;

use base::Now;

use super::lease::{Lease, LeaseState};
use super::table::LeaseTable;
use super::{
    Action, Change, Facts, FetchKeys, LeaseStore, LeaseTerms, Occupancy, Owner, Receipt, Refusal,
    SlotView,
};
use super::{PoolIndex, PoolSet, PoolSpec, V4};
use crate::{HardwareAddress, Identity};

/// Makes stores that share one table.
pub trait Backend {
    /// One shard's store.
    type Store: LeaseStore<V4>;

    /// The table of all stores that this backend makes.
    fn table(&self) -> &LeaseTable;

    /// One more shard's store.
    fn store(&mut self) -> Self::Store;

    /// Makes all rows that were submitted settle, and returns when they have.
    fn settle(&mut self);
}

/// Makes the contract's tests for a backend: `lease_store_contract!(MyBackend::new());`. The
/// expression is evaluated once for each test.
#[macro_export]
macro_rules! lease_store_contract {
    ($backend:expr) => {
        $crate::lease_store_contract!(@each $backend;
            a_candidate_is_held_and_then_leased,
            addresses_are_given_in_order_and_wrap,
            pools_are_used_in_the_order_of_preference,
            two_fetches_get_different_candidates,
            a_spare_candidate_is_for_clients_without_a_slot,
            an_unused_claim_ends_with_the_batch,
            a_candidate_given_back_is_there_at_once,
            a_change_on_an_old_version_is_stale,
            a_commit_changes_all_or_nothing,
            an_address_outside_every_pool_has_no_slot,
            a_slot_with_an_unsettled_row_takes_no_change,
            settled_epochs_never_go_down,
            a_renewal_moves_the_end,
            a_running_lease_is_not_given_to_another,
            an_ended_lease_is_given_to_another,
            a_swept_lease_is_free_and_remembers_its_client,
            a_hold_ends_by_itself,
            a_hold_is_given_up,
            a_hold_on_the_own_lease_changes_nothing,
            an_exhausted_pool_gives_the_oldest_hold,
            an_exhausted_pool_prefers_an_ended_lease,
            a_release_is_free_once_settled,
            a_declined_address_is_nobodys_until_probation_ends,
            an_identity_is_known_by_either_key,
            clients_with_one_hardware_address_are_told_apart,
            a_loaded_lease_is_found,
            other_shards_see_a_commit_at_once,
            a_sweep_keeps_to_its_budget,
        );
    };
    (@each $backend:expr; $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::v4::contract_suite::$name(&mut $backend);
            }
        )*
    };
}

/// 2001-09-09T01:46:40Z.
const START: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;
const HOLD_NS: u64 = 10 * SECOND_NS;
const LIFETIME_S: u32 = 600;

/// 192.0.2.`last`.
const fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

fn hardware(number: u8) -> HardwareAddress {
    HardwareAddress::new(1, &[2, 0, 0, 0, 0, number])
}

fn client(number: u8) -> Identity<'static> {
    Identity { hardware: hardware(number), client_id: None, match_client_id: true }
}

fn pool(first: u8, last: u8) -> PoolSpec {
    PoolSpec { subnet_id: 1, pool_id: 0, first: address(first), last: address(last) }
}

const fn lease_for(valid_lifetime_s: u32) -> Action<'static> {
    Action::Lease(LeaseTerms { valid_lifetime_s, subnet_id: 1, pool_id: 0, hostname: "" })
}

const fn hold_from(now: Now) -> Action<'static> {
    Action::Hold { deadline_ns: now.mono_ns + HOLD_NS, subnet_id: 1 }
}

/// A store with the pools and the clock of one test.
struct Bench<'b, B: Backend> {
    backend: &'b mut B,
    store: B::Store,
    pools: std::sync::Arc<PoolSet>,
    now: Now,
}

impl<'b, B: Backend> Bench<'b, B> {
    fn new(backend: &'b mut B, specs: &[PoolSpec]) -> Self {
        let pools = backend.table().configure(specs);
        let store = backend.store();
        Self { backend, store, pools, now: START }
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now.after_ns(seconds * SECOND_NS);
    }

    fn settle(&mut self) {
        self.store.submit(self.now);
        self.backend.settle();
    }

    fn fetch(
        &mut self,
        who: &Identity<'_>,
        asked: Option<Ipv4Addr>,
        candidate_pools: &[PoolIndex],
    ) -> Facts {
        let mut facts = Facts::default();
        let keys = FetchKeys {
            identity: *who,
            addresses: [asked, None],
            pools: &self.pools,
            candidate_pools,
            is_candidate_spare: false,
        };
        self.store.fetch(self.now, &keys, &mut facts);
        facts
    }

    /// A free candidate of the first pool, or what stands in for one.
    fn candidate(&mut self, who: &Identity<'_>) -> Option<SlotView> {
        self.fetch(who, None, &[PoolIndex(0)]).candidate
    }

    fn slot(&mut self, who: &Identity<'_>, at: Ipv4Addr) -> SlotView {
        self.fetch(who, Some(at), &[]).asked[0].expect("a pooled address has a slot")
    }

    fn commit(
        &mut self,
        who: &Identity<'_>,
        slot: &SlotView,
        action: Action<'_>,
    ) -> Result<Receipt, Refusal> {
        let change = Change {
            identity: *who,
            address: slot.address,
            expected_version: slot.version,
            action,
        };
        self.store.commit(self.now, &[change])
    }

    /// Brings `action` on the slot of `at` about.
    fn make(&mut self, who: &Identity<'_>, at: Ipv4Addr, action: Action<'_>) -> Receipt {
        let slot = self.slot(who, at);
        self.commit(who, &slot, action).expect("nothing stands in the way")
    }

    fn sweep(&mut self) {
        while self.store.sweep(self.now, 64).is_more_due {}
    }
}

/// DISCOVER and REQUEST of one client.
pub fn a_candidate_is_held_and_then_leased(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let candidate = bench.candidate(&client(1)).expect("the pool is empty");
    assert_eq!((candidate.occupancy, candidate.owner), (Occupancy::Free, Owner::Nobody));
    let hold = hold_from(bench.now);
    let receipt = bench.commit(&client(1), &candidate, hold).expect("nobody interferes");
    assert_eq!(receipt.row_epoch, 0, "holds are not logged");
    let facts = bench.fetch(&client(1), Some(candidate.address), &[]);
    assert_eq!(facts.mine_count, 1);
    let held = facts.asked[0].expect("it is pooled");
    assert_eq!(facts.mine[0], Some(held));
    assert_eq!((held.occupancy, held.owner), (Occupancy::Held, Owner::Asking));
    assert_eq!(held.hold_deadline_ns, bench.now.mono_ns + HOLD_NS);
    assert_ne!(held.version, candidate.version);
    let receipt = bench.commit(&client(1), &held, lease_for(LIFETIME_S)).expect("it is held");
    assert_ne!(receipt.row_epoch, 0, "leases are logged");
    bench.settle();
    assert!(bench.store.settled_epoch() >= receipt.row_epoch);
    let leased = bench.slot(&client(1), candidate.address);
    assert_eq!((leased.occupancy, leased.owner), (Occupancy::Leased, Owner::Asking));
    assert_eq!((leased.cltt_s, leased.valid_lifetime_s), (bench.now.wall_s(), LIFETIME_S));
    assert_eq!((leased.subnet_id, leased.row_epoch), (1, receipt.row_epoch));
    assert_eq!(bench.slot(&client(2), candidate.address).owner, Owner::Other);
}

/// The next address after the last given, then from the start again.
pub fn addresses_are_given_in_order_and_wrap(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 13)]);
    for last in 10..=13 {
        let candidate = bench.candidate(&client(last)).expect("there are four");
        assert_eq!(candidate.address, address(last));
        bench.commit(&client(last), &candidate, lease_for(LIFETIME_S)).expect("it is free");
        bench.settle();
    }
    assert_eq!(bench.candidate(&client(1)), None);
    for last in [12, 10] {
        bench.make(&client(last), address(last), Action::Release);
        bench.settle();
        bench.sweep();
    }
    assert_eq!(bench.candidate(&client(1)).map(|slot| slot.address), Some(address(10)));
    assert_eq!(bench.candidate(&client(1)).map(|slot| slot.address), Some(address(12)));
}

/// A later pool gives addresses when the earlier ones have none.
pub fn pools_are_used_in_the_order_of_preference(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10), pool(20, 29)]);
    let given: Vec<_> = (0..3)
        .map(|_| bench.fetch(&client(1), None, &[PoolIndex(0), PoolIndex(1)]).candidate)
        .map(|candidate| candidate.expect("there are eleven").address)
        .collect();
    assert_eq!(given, [address(10), address(20), address(21)]);
}

/// A candidate is claimed for its transaction, also against other shards.
pub fn two_fetches_get_different_candidates(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 11)]);
    let first = bench.candidate(&client(1)).expect("there are two");
    bench.store = bench.backend.store();
    let second = bench.candidate(&client(2)).expect("there are two");
    assert_ne!(first.address, second.address);
    assert_eq!(bench.candidate(&client(3)), None);
}

/// A client that comes back takes no second address away, not even for a moment.
pub fn a_spare_candidate_is_for_clients_without_a_slot(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 11)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    for (number, expected) in [(1, None), (2, Some(address(11)))] {
        let mut facts = Facts::default();
        let keys = FetchKeys {
            identity: client(number),
            addresses: [None; 2],
            pools: &bench.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        bench.store.fetch(bench.now, &keys, &mut facts);
        assert_eq!(facts.candidate.map(|slot| slot.address), expected);
    }
}

/// A transaction that takes another turn costs no address.
pub fn an_unused_claim_ends_with_the_batch(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    assert!(bench.candidate(&client(1)).is_some());
    assert_eq!(bench.candidate(&client(2)), None);
    let now = bench.now;
    bench.store.submit(now);
    assert!(bench.candidate(&client(2)).is_some());
}

/// Giving back does not wait for the end of the batch.
pub fn a_candidate_given_back_is_there_at_once(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    let candidate = bench.candidate(&client(1)).expect("there is one");
    bench.store.give_back(candidate.address);
    let again = bench.candidate(&client(2)).expect("it was given back");
    bench.commit(&client(2), &again, lease_for(LIFETIME_S)).expect("it is free");
    bench.store.give_back(again.address);
    assert_eq!(bench.candidate(&client(3)), None, "what is leased cannot be given back");
}

/// The compare of compare-and-set.
pub fn a_change_on_an_old_version_is_stale(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let before = bench.slot(&client(1), address(10));
    let hold = hold_from(bench.now);
    bench.commit(&client(1), &before, hold).expect("it is free");
    assert_eq!(bench.commit(&client(2), &before, hold), Err(Refusal::Stale));
    let held = bench.slot(&client(2), address(10));
    assert_eq!((held.occupancy, held.owner), (Occupancy::Held, Owner::Other));
}

/// One stale change undoes none and does none.
pub fn a_commit_changes_all_or_nothing(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let hold = hold_from(bench.now);
    let free: Vec<_> = [12, 10, 11].map(|last| bench.slot(&client(1), address(last))).into();
    bench.make(&client(2), address(11), hold);
    let changes = |slots: &[SlotView]| -> Vec<Change<'static>> {
        let change = |slot: &SlotView| Change {
            identity: client(1),
            address: slot.address,
            expected_version: slot.version,
            action: hold,
        };
        slots.iter().map(change).collect()
    };
    let now = bench.now;
    let refused = bench.store.commit(now, &changes(&free));
    assert_eq!(refused, Err(Refusal::Stale));
    assert_eq!(bench.fetch(&client(1), None, &[]).mine_count, 0);
    assert_eq!(bench.slot(&client(1), address(10)), free[1]);
    bench.store.commit(now, &changes(&free[..2])).expect("both are free");
    assert_eq!(bench.fetch(&client(1), None, &[]).mine_count, 2);
}

/// Clients ask for anything.
pub fn an_address_outside_every_pool_has_no_slot(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    for outside in [address(9), address(20), Ipv4Addr::new(203, 0, 113, 1)] {
        assert_eq!(bench.fetch(&client(1), Some(outside), &[]).asked[0], None);
        let change = Change {
            identity: client(1),
            address: outside,
            expected_version: 0,
            action: lease_for(LIFETIME_S),
        };
        let refused = bench.store.commit(START, &[change]);
        assert_eq!(refused, Err(Refusal::NoSuchSlot));
    }
}

/// So that the rows of an address are written in the order of its changes.
pub fn a_slot_with_an_unsettled_row_takes_no_change(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let receipt = bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    if bench.store.settled_epoch() < receipt.row_epoch {
        let leased = bench.slot(&client(1), address(10));
        let refused = bench.commit(&client(1), &leased, lease_for(LIFETIME_S));
        assert_eq!(refused, Err(Refusal::Unsettled(receipt.row_epoch)));
    }
    bench.settle();
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
}

/// What is safe stays safe.
pub fn settled_epochs_never_go_down(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let mut settled = bench.store.settled_epoch();
    for last in 10..=19 {
        let receipt = bench.make(&client(last), address(last), lease_for(LIFETIME_S));
        assert!(bench.store.settled_epoch() >= settled);
        settled = bench.store.settled_epoch();
        bench.settle();
        assert!(bench.store.settled_epoch() >= receipt.row_epoch);
        assert!(bench.store.settled_epoch() >= settled);
        settled = bench.store.settled_epoch();
    }
}

/// A renewed lease outlives its first term, and a shortened one does not.
pub fn a_renewal_moves_the_end(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.make(&client(2), address(11), lease_for(LIFETIME_S));
    bench.settle();
    bench.sweep();
    bench.pass(300);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.make(&client(2), address(11), lease_for(10));
    bench.settle();
    bench.pass(10);
    bench.sweep();
    assert_eq!(bench.slot(&client(2), address(11)).occupancy, Occupancy::Free);
    bench.pass(300);
    bench.sweep();
    assert_eq!(bench.slot(&client(1), address(10)).occupancy, Occupancy::Leased);
    bench.pass(290);
    bench.sweep();
    assert_eq!(bench.slot(&client(1), address(10)).occupancy, Occupancy::Free);
}

/// Even to one that knows the version.
pub fn a_running_lease_is_not_given_to_another(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    let leased = bench.slot(&client(2), address(10));
    assert_eq!((leased.occupancy, leased.owner), (Occupancy::Leased, Owner::Other));
    let hold = hold_from(bench.now);
    for action in [lease_for(1), hold, Action::Release, Action::Decline { probation_s: 1 }] {
        assert_eq!(bench.commit(&client(2), &leased, action), Err(Refusal::Stale));
    }
    assert_eq!(bench.slot(&client(2), address(10)), leased);
}

/// Without waiting for a sweep.
pub fn an_ended_lease_is_given_to_another(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S));
    let ended = bench.slot(&client(2), address(10));
    assert_eq!(ended.occupancy, Occupancy::Leased);
    assert!(ended.is_available(bench.now));
    bench.make(&client(2), address(10), lease_for(LIFETIME_S));
    bench.settle();
    bench.sweep();
    assert_eq!(bench.slot(&client(2), address(10)).owner, Owner::Asking);
    assert_eq!(bench.fetch(&client(1), None, &[]).mine_count, 0);
}

/// A client that comes back gets its address back.
pub fn a_swept_lease_is_free_and_remembers_its_client(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S) - 1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 0);
    assert_eq!(bench.slot(&client(1), address(10)).occupancy, Occupancy::Leased);
    bench.pass(1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 0);
    let free = bench.slot(&client(1), address(10));
    assert_eq!((free.occupancy, free.owner), (Occupancy::Free, Owner::Asking));
    assert_eq!(bench.fetch(&client(1), None, &[]).mine[0], Some(free));
    assert_eq!(bench.slot(&client(2), address(10)).owner, Owner::Other);
    assert_eq!(bench.candidate(&client(2)).map(|slot| slot.address), Some(address(10)));
}

/// An offer that nobody takes up.
pub fn a_hold_ends_by_itself(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    let hold = hold_from(bench.now);
    bench.make(&client(1), address(10), hold);
    bench.pass(9);
    assert_eq!(bench.store.sweep(bench.now, 64).holds, 0);
    assert!(!bench.slot(&client(2), address(10)).is_available(bench.now));
    bench.pass(1);
    assert!(bench.slot(&client(2), address(10)).is_available(bench.now));
    assert_eq!(bench.store.sweep(bench.now, 64).holds, 1);
    assert_eq!(bench.slot(&client(2), address(10)).occupancy, Occupancy::Free);
}

/// The client took another server's offer.
pub fn a_hold_is_given_up(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    let hold = hold_from(bench.now);
    bench.make(&client(1), address(10), hold);
    let held = bench.slot(&client(2), address(10));
    assert_eq!(bench.commit(&client(2), &held, Action::Unhold), Err(Refusal::Stale));
    let receipt = bench.make(&client(1), address(10), Action::Unhold);
    assert_eq!(receipt.row_epoch, 0);
    let free = bench.candidate(&client(2)).expect("it was given up");
    assert_eq!(free.occupancy, Occupancy::Free);
}

/// A client that discovers again while it has a lease.
pub fn a_hold_on_the_own_lease_changes_nothing(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    let leased = bench.slot(&client(1), address(10));
    let hold = hold_from(bench.now);
    bench.make(&client(1), address(10), hold);
    assert_eq!(bench.slot(&client(1), address(10)), leased);
}

/// And breaking it is allowed.
pub fn an_exhausted_pool_gives_the_oldest_hold(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 12), pool(20, 20)]);
    for last in [20, 11, 12, 10] {
        let hold = hold_from(bench.now);
        bench.make(&client(last), address(last), hold);
        bench.pass(1);
    }
    for last in [11, 12, 10, 11] {
        let oldest = bench.candidate(&client(1)).expect("holds can be broken");
        assert_eq!((oldest.address, oldest.occupancy), (address(last), Occupancy::Held));
        let hold = hold_from(bench.now);
        bench.commit(&client(1), &oldest, hold).expect("holds can be broken");
        bench.pass(1);
    }
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    let other = bench.candidate(&client(2)).expect("holds can be broken");
    assert_eq!(other.address, address(12));
}

/// Nobody's offer is broken while there is something better.
pub fn an_exhausted_pool_prefers_an_ended_lease(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 11)]);
    bench.make(&client(1), address(10), lease_for(5));
    bench.settle();
    bench.pass(5);
    let hold = hold_from(bench.now);
    bench.make(&client(2), address(11), hold);
    let candidate = bench.candidate(&client(3)).expect("a lease has ended");
    assert_eq!(candidate.address, address(10));
    assert!(candidate.is_available(bench.now));
    bench.commit(&client(3), &candidate, hold).expect("the lease has ended");
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 1, "reclaimed leases are reported");
}

/// Taken until the row is safe: a crash before would bring the lease back.
pub fn a_release_is_free_once_settled(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    let receipt = bench.make(&client(1), address(10), Action::Release);
    assert_ne!(receipt.row_epoch, 0);
    if bench.store.settled_epoch() < receipt.row_epoch {
        bench.sweep();
        assert_eq!(bench.slot(&client(2), address(10)).occupancy, Occupancy::Releasing);
        assert!(!bench.slot(&client(2), address(10)).is_available(bench.now));
        assert_eq!(bench.candidate(&client(2)), None);
    }
    bench.settle();
    bench.sweep();
    let free = bench.slot(&client(1), address(10));
    assert_eq!((free.occupancy, free.owner), (Occupancy::Free, Owner::Asking));
    assert_eq!(bench.candidate(&client(2)).map(|slot| slot.address), Some(address(10)));
}

/// DHCPDECLINE: not even the client's that declined.
pub fn a_declined_address_is_nobodys_until_probation_ends(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    let receipt = bench.make(&client(1), address(10), Action::Decline { probation_s: 10_000 });
    assert_ne!(receipt.row_epoch, 0);
    bench.settle();
    let declined = bench.slot(&client(1), address(10));
    assert_eq!((declined.occupancy, declined.owner), (Occupancy::Declined, Owner::Nobody));
    assert_eq!(bench.fetch(&client(1), None, &[]).mine_count, 0);
    bench.pass(9_999);
    bench.sweep();
    assert_eq!(bench.candidate(&client(1)), None);
    bench.pass(1);
    assert_eq!(bench.store.sweep(bench.now, 64).declined, 1);
    assert!(bench.candidate(&client(1)).is_some());
}

/// A client whose boot loader sends no client identifier.
pub fn an_identity_is_known_by_either_key(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let full = Identity { client_id: Some(b"first"), ..client(1) };
    bench.make(&full, address(10), lease_for(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.fetch(&client(1), None, &[]).mine_count, 1);
    let moved = Identity { client_id: Some(b"first"), ..client(2) };
    assert_eq!(bench.fetch(&moved, None, &[]).mine_count, 1);
    assert_eq!(bench.fetch(&client(2), None, &[]).mine_count, 0);
    bench.make(&moved, address(10), lease_for(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.fetch(&client(2), None, &[]).mine_count, 1);
    assert_eq!(bench.fetch(&client(1), None, &[]).mine_count, 0);
}

/// Client identifiers decide, unless the subnet says that they do not.
pub fn clients_with_one_hardware_address_are_told_apart(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let first = Identity { client_id: Some(b"first"), ..client(1) };
    let second = Identity { client_id: Some(b"second"), ..client(1) };
    bench.make(&first, address(10), lease_for(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.fetch(&second, None, &[]).mine_count, 0);
    assert_eq!(bench.slot(&second, address(10)).owner, Owner::Other);
    let by_hardware = Identity { match_client_id: false, ..second };
    assert_eq!(bench.fetch(&by_hardware, None, &[]).mine_count, 1);
    assert_eq!(bench.slot(&by_hardware, address(10)).owner, Owner::Asking);
}

/// Leases read at start-up, also outside the pools.
pub fn a_loaded_lease_is_found(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 10)]);
    let outside = Ipv4Addr::new(203, 0, 113, 9);
    for (at, number) in [(address(10), 1), (outside, 2)] {
        let lease = Lease {
            address: at,
            hardware: hardware(number),
            client_id: None,
            valid_lifetime_s: LIFETIME_S,
            cltt_s: START.wall_s(),
            subnet_id: 7,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "a.example".into(),
            state: LeaseState::Assigned,
            user_context: "{}".into(),
            pool_id: 3,
        };
        bench.backend.table().load(lease.clone());
        let slot = bench.slot(&client(number), at);
        assert_eq!((slot.occupancy, slot.owner), (Occupancy::Leased, Owner::Asking));
        assert_eq!((slot.subnet_id, slot.expires_s()), (7, lease.expires_s()));
        assert_eq!(bench.fetch(&client(number), None, &[]).mine[0], Some(slot));
        let mut listed = Vec::new();
        bench.backend.table().for_each_lease(|listing| listed.push(listing));
        assert!(listed.contains(&lease), "{listed:?}");
    }
    assert_eq!(bench.candidate(&client(3)), None);
    bench.make(&client(2), outside, lease_for(LIFETIME_S));
}

/// Shards share the leases.
pub fn other_shards_see_a_commit_at_once(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 19)]);
    let before = bench.slot(&client(2), address(10));
    bench.make(&client(1), address(10), lease_for(LIFETIME_S));
    bench.settle();
    bench.store = bench.backend.store();
    let after = bench.slot(&client(1), address(10));
    assert_eq!((after.occupancy, after.owner), (Occupancy::Leased, Owner::Asking));
    let refused = bench.commit(&client(2), &before, lease_for(LIFETIME_S));
    assert_eq!(refused, Err(Refusal::Stale));
}

/// Sweeping never holds up packets for long.
pub fn a_sweep_keeps_to_its_budget(backend: &mut impl Backend) {
    let mut bench = Bench::new(backend, &[pool(10, 49)]);
    for last in 10..50 {
        bench.make(&client(last), address(last), lease_for(LIFETIME_S));
    }
    bench.settle();
    bench.pass(u64::from(LIFETIME_S));
    let mut reclaimed = 0;
    for round in 0.. {
        let swept = bench.store.sweep(bench.now, 7);
        assert!(swept.leases <= 7);
        reclaimed += swept.leases;
        if !swept.is_more_due {
            break;
        }
        assert!(round < 40, "a sweep goes on where the last one stopped");
    }
    assert_eq!(reclaimed, 40);
}
