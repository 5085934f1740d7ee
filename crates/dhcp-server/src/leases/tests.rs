//! Tests of a shard's store: what shards call reaches the store of the lease backend.

use std::sync::Arc;

use base::Now;
use dhcp_lease::contract::{FETCHED_ADDRESSES_MAX, Facts, FetchKeys};
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseState, LeaseStore, LeaseTable, SlotOwner};
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults};
use dhcp_store::database::{DatabaseCore, Refusals, SharedJournal};
use dhcp_store::log::{ShardLog, SharedLogState};
use dhcp_store::sql::SharedRows;

use super::ServerStore;

const NOW: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };
/// Number of the only address.
const ADDRESS: u32 = 0x0a00_0001;

/// Returns a lease of the only address for a client.
fn lease<F: SampleFamily>(client: u32, cltt_s: u64) -> Lease<F> {
    F::lease(&SampleLease {
        address: ADDRESS,
        client,
        valid_lifetime_s: 4000,
        cltt_s,
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "",
    })
}

fn a_message_is_answered_by_its_own_lookup<F: SharedRows + SampleFamily>() {
    let database = Arc::<FakeDatabase<F>>::default();
    let table = Arc::new(LeaseTable::<F>::new(1));
    let pools = table.configure(&[F::pool(ADDRESS, ADDRESS)], &[]);
    let shards = SharedLogState::new(1, |_| {});
    let refusals = Arc::<Refusals>::default();
    let journal = SharedJournal::new(refusals.clone(), true);
    let log = ShardLog::new(shards.clone(), 0);
    let mut store = ServerStore::Database(DatabaseStore::with_journal(table.clone(), log, journal));
    let connection = FakeConnection::new(database.clone(), FakeFaults::default(), 1);
    let mut core = DatabaseCore::new(shards, table, refusals, connection);
    let address = <F as SampleFamily>::address(ADDRESS);
    let mut addresses = [None; FETCHED_ADDRESSES_MAX];
    addresses[0] = Some(address);
    let mut facts = Facts::default();
    // Other servers give the address to one client, to another, and to the first one again.
    for (number, owner) in (1..).zip([1, 2, 1, 2]) {
        database.leases().insert(address, lease::<F>(owner, NOW.wall_s() + number));
        let keys = FetchKeys {
            identity: F::borrow(F::client(owner)),
            addresses,
            pools: &*pools,
            candidate_pools: &[],
            is_candidate_spare: false,
        };
        store.begin_message(number);
        store.fetch(NOW, &keys, &mut facts);
        assert!(facts.unread_epoch > 0, "message {number} needs a lookup");
        store.submit(NOW);
        core.round(NOW);
        store.begin_message(number);
        store.fetch(NOW, &keys, &mut facts);
        assert_eq!(facts.unread_epoch, 0, "message {number} has its lookup");
        let slot = facts.address_slots[0].expect("the pool has the address");
        assert_eq!(slot.owner, SlotOwner::Requester, "message {number}");
    }
}

#[test]
fn a_message_that_names_the_address_of_another_is_answered_by_its_own_lookup() {
    a_message_is_answered_by_its_own_lookup::<V4>();
    a_message_is_answered_by_its_own_lookup::<V6>();
}
