//! Requirements of every lease store, as tests over a factory of stores. A backend implements
//! [`StoreFactory`] and calls [`lease_store_contract!`](crate::lease_store_contract) in its tests,
//! which makes one test of each function here, with the same names for every backend of both
//! families.

mod administer;
mod candidates;
mod changes;
mod ends;
mod v4;
mod v6;

use std::sync::Arc;

use base::Now;

use crate::contract::{
    Action, Change, CommitRefusal, Facts, FetchKeys, LeaseStore, PutMode, PutRefusal, Receipt,
    SlotOccupancy, SlotOwner, SlotView, TextView, text_hash,
};
use crate::family::{Family, PoolIndex};
use crate::lease::{Lease, LeaseState, LeaseTerms};
use crate::pool::{PoolSet, PoolSpec};
use crate::sample::{SampleFamily, SampleLease};
use crate::table::LeaseTable;
use crate::table::table_family::TableFamily;
use crate::{Expiry, PoolStatistics};

pub use administer::*;
pub use candidates::*;
pub use changes::*;
pub use ends::*;
pub use v4::*;
pub use v6::*;

/// Factory of lease stores that share one table.
pub trait StoreFactory {
    /// Family of the leases in the stores.
    type Family: SampleFamily;
    /// Type of the store of one shard.
    type Store: LeaseStore<Self::Family>;

    /// Returns the table of leases that all stores of this backend share.
    fn table(&self) -> &LeaseTable<Self::Family>;

    /// Returns the store of one more shard.
    fn store(&mut self) -> Self::Store;

    /// Makes all lease rows durable (settled) that the stores submitted, and returns when they are.
    fn settle(&mut self);

    /// Waits until the look-ups of `store` in a database that servers share have ended. Its claims
    /// on free addresses stay open.
    fn read(&mut self, _store: &mut Self::Store, _now: Now) {
        unreachable!("a store that shares nothing knows every client");
    }
}

/// Makes the contract's tests for a backend of one family:
/// `lease_store_contract!(v4: MyBackend::new());`. The expression is evaluated once for each test.
/// `v6_by_number` is for backends that cannot keep an address and a prefix with the same number, as
/// Kea's tables cannot.
#[macro_export]
macro_rules! lease_store_contract {
    (v4: $backend:expr) => {
        $crate::lease_store_contract!(@both $backend);
        $crate::lease_store_contract!(@each $backend;
            an_identity_is_known_by_either_key,
            clients_with_one_hardware_address_are_told_apart,
        );
    };
    (v6: $backend:expr) => {
        $crate::lease_store_contract!(v6_by_number: $backend);
        $crate::lease_store_contract!(@each $backend;
            an_address_and_a_prefix_with_one_number_take_turns,
        );
    };
    (v6_by_number: $backend:expr) => {
        $crate::lease_store_contract!(@both $backend);
        $crate::lease_store_contract!(@each $backend;
            associations_of_one_client_are_told_apart,
            several_associations_of_a_message_succeed_together,
            prefixes_of_another_length_are_others,
            the_preferred_lifetime_is_told_while_leased,
            a_huge_pool_gives_from_its_start_without_end,
            an_address_far_out_in_a_huge_pool_can_be_had,
            nothing_is_given_twice_when_a_pool_opens_over_leases,
        );
    };
    (@both $backend:expr) => {
        $crate::lease_store_contract!(@each $backend;
            a_candidate_is_held_and_then_leased,
            addresses_are_given_in_order_and_wrap,
            pools_are_used_in_the_order_of_preference,
            two_fetches_get_different_candidates,
            a_spare_candidate_is_for_clients_without_a_slot,
            an_unused_claim_ends_with_the_batch,
            a_candidate_given_back_is_there_at_once,
            an_exhausted_pool_gives_the_oldest_hold,
            an_exhausted_pool_prefers_an_ended_lease,
            a_reserved_address_is_no_candidate,
            a_reserved_address_outside_the_pools_is_leased,
            what_is_set_aside_is_reserved,
            a_slot_tells_whether_its_text_is_the_same,
            a_change_on_an_old_version_is_stale,
            a_commit_changes_all_or_nothing,
            an_address_outside_every_pool_has_no_slot,
            a_slot_with_an_unsettled_row_takes_no_change,
            settled_epochs_never_go_down,
            a_running_lease_is_not_given_to_another,
            a_hold_is_given_up,
            a_hold_on_the_own_lease_changes_nothing,
            a_loaded_lease_is_found,
            a_running_lease_tells_its_client_what_it_keeps,
            other_shards_see_a_commit_at_once,
            a_renewal_moves_the_end,
            an_ended_lease_is_given_to_another,
            a_swept_lease_is_free_and_remembers_its_client,
            a_hold_ends_by_itself,
            a_release_is_free_once_settled,
            a_declined_address_is_nobodys_until_probation_ends,
            a_sweep_keeps_to_its_budget,
            an_ended_lease_is_reclaimed_and_flushed,
            a_released_lease_waits_for_its_client,
            without_affinity_a_release_deletes,
            leases_are_reclaimed_on_demand,
            released_leases_are_reclaimed_on_demand,
            an_offer_can_be_a_short_lease,
            an_operator_puts_and_removes_leases,
            what_an_operator_changed_is_fetched_again,
            a_lease_gives_way_to_a_later_one_only,
            a_released_lease_gives_way_to_a_later_one_only,
            a_lease_that_is_put_when_it_has_ended_is_free_at_once,
            what_an_operator_puts_is_assigned_and_was_not_given,
            what_is_given_outside_the_pools_is_assigned_in_dhcpv4_alone,
            leases_are_listed_in_pages,
            the_leases_of_a_client_are_found,
            an_address_is_registered,
        );
    };
    (@each $backend:expr; $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::contract_suite::$name(&mut $backend);
            }
        )*
    };
}

/// Time at which each test begins, 2001-09-09T01:46:40Z.
const START: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;
const HOLD_NS: u64 = 10 * SECOND_NS;
const LIFETIME_S: u32 = 600;
/// Number of the address before those of the test's pools: 192.0.2.0.
const BASE: u32 = 0xc000_0200;
/// Number of an address that is in no pool: 203.0.113.1.
const OUTSIDE: u32 = 0xcb00_7101;

type AddressOf<B> = <<B as StoreFactory>::Family as Family>::Address;
type ClientOf<B> = <<B as StoreFactory>::Family as Family>::Identity<'static>;
type SpecOf<B> = PoolSpec<<B as StoreFactory>::Family>;
type ActionOf<B> = Action<LeaseTerms<'static, <B as StoreFactory>::Family>>;
type ViewOf<B> = SlotView<<B as StoreFactory>::Family>;
type ChangeBy<B> =
    Change<ClientOf<B>, AddressOf<B>, LeaseTerms<'static, <B as StoreFactory>::Family>>;

fn address<B: StoreFactory>(last: u8) -> AddressOf<B> {
    B::Family::address(BASE + u32::from(last))
}

/// Returns an address that is in no pool.
fn outside<B: StoreFactory>() -> AddressOf<B> {
    B::Family::address(OUTSIDE)
}

fn client<B: StoreFactory>(number: u8) -> ClientOf<B> {
    B::Family::client(u32::from(number))
}

fn pool<B: StoreFactory>(first: u8, last: u8) -> SpecOf<B> {
    B::Family::pool(BASE + u32::from(first), BASE + u32::from(last))
}

fn lease_for<B: StoreFactory>(valid_lifetime_s: u32) -> ActionOf<B> {
    Action::Lease(B::Family::terms(valid_lifetime_s, 1, ""))
}

const fn hold_from<B: StoreFactory>(now: Now) -> ActionOf<B> {
    Action::Hold { deadline_ns: now.mono_ns + HOLD_NS, subnet_id: 1 }
}

/// Store of one contract test, with its pools and its clock.
struct ContractFixture<'b, B: StoreFactory> {
    backend: &'b mut B,
    store: B::Store,
    pools: Arc<PoolSet<B::Family>>,
    now: Now,
}

impl<'b, B: StoreFactory> ContractFixture<'b, B> {
    fn new(backend: &'b mut B, specs: &[SpecOf<B>]) -> Self {
        let pools = backend.table().configure(specs, &[]);
        let store = backend.store();
        Self { backend, store, pools, now: START }
    }

    /// Configures the pools anew, with reserved addresses.
    fn reserve(&mut self, specs: &[SpecOf<B>], reserved: &[AddressOf<B>]) {
        self.pools = self.backend.table().configure(specs, reserved);
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
        who: ClientOf<B>,
        address: Option<AddressOf<B>>,
        candidate_pools: &[PoolIndex],
    ) -> Facts<B::Family> {
        self.fetch_as(who, address, candidate_pools, false)
    }

    /// Fetches the facts for a client, with a free address only for a client that has none.
    fn fetch_spare(&mut self, who: ClientOf<B>, candidate_pools: &[PoolIndex]) -> Facts<B::Family> {
        self.fetch_as(who, None, candidate_pools, true)
    }

    fn fetch_as(
        &mut self,
        who: ClientOf<B>,
        address: Option<AddressOf<B>>,
        candidate_pools: &[PoolIndex],
        is_candidate_spare: bool,
    ) -> Facts<B::Family> {
        let mut facts = Facts::default();
        let keys = FetchKeys {
            identity: B::Family::borrow(who),
            addresses: [address, None, None, None],
            pools: &*self.pools,
            candidate_pools,
            is_candidate_spare,
        };
        self.store.fetch(self.now, &keys, &mut facts);
        if facts.unread_epoch > 0 && !candidate_pools.is_empty() {
            // There is no candidate before the client is known.
            self.backend.read(&mut self.store, self.now);
            self.store.fetch(self.now, &keys, &mut facts);
        }
        facts
    }

    /// Returns Kea's state of the lease of the address `at`, if it has one.
    fn state(&self, at: AddressOf<B>) -> Option<LeaseState> {
        self.backend.table().lease(at).map(|lease| B::Family::sample(&lease).state)
    }

    /// Returns a free candidate of the first pool, or the oldest hold of an exhausted pool.
    fn candidate(&mut self, who: ClientOf<B>) -> Option<ViewOf<B>> {
        self.fetch(who, None, &[PoolIndex(0)]).candidate
    }

    fn slot(&mut self, who: ClientOf<B>, at: AddressOf<B>) -> ViewOf<B> {
        self.fetch(who, Some(at), &[]).address_slots[0].expect("a pooled address has a slot")
    }

    fn commit(
        &mut self,
        who: ClientOf<B>,
        slot: &ViewOf<B>,
        action: ActionOf<B>,
    ) -> Result<Receipt, CommitRefusal> {
        let change = change::<B>(who, slot, action);
        self.store.commit(self.now, &[change])
    }

    /// Commits `action` of the client `who` on the slot of the address `at`.
    fn make(&mut self, who: ClientOf<B>, at: AddressOf<B>, action: ActionOf<B>) -> Receipt {
        let slot = self.slot(who, at);
        self.commit(who, &slot, action).expect("nothing stands in the way")
    }

    fn sweep(&mut self) {
        while self.store.sweep(self.now, 64).is_more_due {}
    }
}

fn change<B: StoreFactory>(who: ClientOf<B>, slot: &ViewOf<B>, action: ActionOf<B>) -> ChangeBy<B> {
    Change { identity: who, address: slot.address, expected_version: slot.version, action }
}
