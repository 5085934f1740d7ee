//! Tests of loading and listing leases.

use std::collections::{BTreeMap, BTreeSet};

use base::Random;

use super::super::{LeaseTable, Usage};
use super::audit::audit;
use super::{SETTLED, START, change, commit, for_both_families, lease_for, slot};
use crate::contract::{Action, SlotOccupancy};
use crate::identity::{ClientId, ClientKey};
use crate::lease::LeaseState;
use crate::sample::{SampleFamily, SampleLease};
use crate::v6::{LeaseClient, V6};

for_both_families! {
    leases_loaded_by_several_threads_are_listed_as_they_were,
    the_last_row_of_an_address_wins,
    a_renewal_keeps_what_only_the_file_knew,
    a_client_is_found_among_many_by_looking_at_its_own_slots,
    a_released_row_names_the_client_that_releases,
    times_of_any_size_are_loaded,
}

fn lease(address: u32, number: u32) -> SampleLease<'static> {
    SampleLease {
        address,
        client: number,
        valid_lifetime_s: 1_000,
        cltt_s: START.wall_s(),
        subnet_id: number % 7,
        pool_id: number % 3,
        hostname: ["b", "a.example", ""][number as usize % 3],
        state: if number.is_multiple_of(5) { LeaseState::Declined } else { LeaseState::Assigned },
        user_context: "{ \"a\": 1 }",
    }
}

fn leases_loaded_by_several_threads_are_listed_as_they_were<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    // Many parts of each stripe, and addresses of no pool.
    table.configure(&[F::pool(0x0a00_0000, 0x0a1f_ffff)], &[]);
    let mut random = Random::from_seed(3);
    let mut leases = BTreeMap::new();
    for number in 0..30_000 {
        let base = if random.chance(1, 2) { 0x0a00_0000 } else { 0xc000_0000 };
        let address = base + random.below(1 << 21) as u32;
        leases.insert(address, lease(address, number));
    }
    let all: Vec<_> = leases.values().collect();
    std::thread::scope(|scope| {
        for share in all.chunks(all.len().div_ceil(3)) {
            let table = &table;
            scope.spawn(move || share.iter().for_each(|&lease| table.load(F::lease(lease))));
        }
    });
    audit(&table, &BTreeSet::new());
    let mut listed = BTreeMap::new();
    table.for_each_lease(|lease| {
        let number = F::number(F::sample(&lease).address);
        assert_eq!(listed.insert(number, lease), None, "listed twice");
    });
    let expected: BTreeMap<_, _> =
        leases.iter().map(|(&address, lease)| (address, F::lease(lease))).collect();
    assert_eq!(listed, expected);
    let by_subnet = table.usage_by_subnet();
    let leased = |subnet_id| {
        let of_subnet = leases.values().filter(|lease| lease.subnet_id == subnet_id);
        of_subnet.filter(|lease| lease.state == LeaseState::Assigned).count() as u64
    };
    assert!((0..7).all(|subnet_id| by_subnet[&subnet_id].leased == leased(subnet_id)));
}

fn the_last_row_of_an_address_wins<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(0x0a00_0000, 0x0a00_0003)], &[]);
    let first = lease(0x0a00_0001, 1);
    let last = lease(0x0a00_0001, 2);
    let deletion = SampleLease { valid_lifetime_s: 0, ..lease(0x0a00_0002, 3) };
    let reclaimed = SampleLease { state: LeaseState::ExpiredReclaimed, ..lease(0x0a00_0003, 4) };
    let outside = SampleLease { valid_lifetime_s: 0, ..lease(0x0b00_0000, 6) };
    for row in [&first, &last, &lease(0x0a00_0002, 3), &deletion, &reclaimed, &outside] {
        table.load(F::lease(row));
    }
    let mut listed = Vec::new();
    table.for_each_lease(|lease| listed.push(lease));
    assert_eq!(listed, [F::lease(&last), F::lease(&reclaimed)]);
    assert_eq!(slot(&table, &pools, START, 0x0a00_0002).unwrap().occupancy, SlotOccupancy::Free);
    assert_eq!(slot(&table, &pools, START, 0x0a00_0003).unwrap().occupancy, SlotOccupancy::Free);
    assert_eq!(slot(&table, &pools, START, 0x0b00_0000), None);
    assert_eq!(table.usage(), Usage { leased: 1, ..Usage::default() });
    audit(&table, &BTreeSet::new());
}

fn a_renewal_keeps_what_only_the_file_knew<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(0x0a00_0000, 0x0a00_0000)], &[]);
    let loaded = lease(0x0a00_0000, 1);
    table.load(F::lease(&loaded));
    let mut rows = Vec::new();
    let later = START.after_ns(20_000_000_000);
    // By the second one the first lease has expired.
    for (number, now, hostname) in [(1, START, "other"), (2, later, "")] {
        let current = slot(&table, &pools, START, 0x0a00_0000).unwrap();
        let action = Action::Lease(F::terms(10, 2, hostname));
        let changes = [change(number, &current, action)];
        table.apply(now, &changes, SETTLED, &mut |row| rows.push(row.to_lease())).unwrap();
    }
    let renewed =
        SampleLease { valid_lifetime_s: 10, subnet_id: 2, pool_id: 0, hostname: "other", ..loaded };
    let anew = SampleLease {
        client: 2,
        cltt_s: later.wall_s(),
        hostname: "",
        user_context: "",
        ..renewed
    };
    assert_eq!(rows, [F::lease(&renewed), F::lease(&anew)]);
}

fn a_released_row_names_the_client_that_releases<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(0x0a00_0000, 0x0a00_0000)], &[]);
    let free = slot(&table, &pools, START, 0x0a00_0000).unwrap();
    commit(&table, START, 1, &free, lease_for::<F>(100)).unwrap();
    let leased = slot(&table, &pools, START, 0x0a00_0000).unwrap();
    let mut rows = Vec::new();
    let now = START.after_ns(7_000_000_000);
    table
        .apply(now, &[change(1, &leased, Action::Release)], SETTLED, &mut |row| {
            rows.push(row.to_lease());
        })
        .unwrap();
    let row = F::sample(&rows[0]);
    assert_eq!(row.client, F::sample(&F::lease(&lease(0x0a00_0000, 1))).client);
    assert_eq!((row.state, row.valid_lifetime_s), (LeaseState::Released, 0));
    assert_eq!(row.cltt_s, now.wall_s());
}

/// Files, databases and partners may have any number as a time.
fn times_of_any_size_are_loaded<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    table.configure(&[F::pool(0x0a00_0000, 0x0a00_ffff)], &[]);
    let mut address = 0x0a00_0000;
    for number in 0..=4 {
        let state = LeaseState::from_number(number).expect("it is a state");
        for valid_lifetime_s in [0, 1, u32::MAX - 1, u32::MAX] {
            for cltt_s in [0, 1, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
                let lease =
                    SampleLease { state, valid_lifetime_s, cltt_s, ..lease(address, address) };
                table.load(F::lease(&lease));
                address += 1;
            }
        }
    }
    audit(&table, &BTreeSet::new());
}

fn a_client_is_found_among_many_by_looking_at_its_own_slots<F: SampleFamily>() {
    const MANY: u32 = 20_000;
    let table = LeaseTable::<F>::new(1);
    table.configure(&[F::pool(0, MANY - 1)], &[]);
    let assigned =
        |address, client| SampleLease { state: LeaseState::Assigned, ..lease(address, client) };
    // Client 7 has three leases among those of others, client 8 more than the index leads to.
    for number in 0..MANY {
        let client = match number {
            0..3 => 7,
            10..70 => 8,
            _ => 1_000 + number,
        };
        table.load(F::lease(&SampleLease { client, ..assigned(number, number) }));
    }
    let client_addresses = |client: u32| {
        let who = F::client(client);
        let (leases, looked_at) = table.search(F::key(&who));
        let numbers: Vec<u32> = leases.iter().map(|l| F::number(F::sample(l).address)).collect();
        (numbers, looked_at)
    };
    assert_eq!(client_addresses(7), ((0..3).collect(), 3));
    assert_eq!(client_addresses(9), (Vec::new(), 0));
    let (eight, looked_at) = client_addresses(8);
    assert_eq!(eight, (10..70).collect::<Vec<_>>());
    assert!(looked_at >= MANY as usize, "{looked_at}");
    // When other clients have the addresses to which the index leads, the rest is still found.
    for number in 10..45 {
        table.load(F::lease(&assigned(number, 1_000 + number)));
    }
    assert_eq!(client_addresses(8).0, (45..70).collect::<Vec<_>>());
}

#[test]
fn a_duid_alone_leads_to_all_leases_where_it_is_indexed() {
    const MANY: u32 = 5_000;
    let duid_of = |client: u32| ClientId::new(&[&[0, 3, 0, 1], &client.to_be_bytes()[..]].concat());
    for is_indexed in [false, true] {
        let mut table = LeaseTable::<V6>::new(1);
        if is_indexed {
            table = table.with_whole_clients_indexed();
        }
        table.configure(&[V6::pool(0, MANY - 1)], &[]);
        let load = |number, client| {
            let mut lease = V6::lease(&lease(number, client));
            lease.state = LeaseState::Assigned;
            // Three associations of one client.
            lease.client = LeaseClient { duid: duid_of(client), iaid: number };
            table.load(lease);
        };
        (0..MANY).for_each(|number| load(number, if number < 3 { 7 } else { 1_000 + number }));
        let duid = duid_of(7);
        let find = || {
            let (leases, looked_at) = table.search(ClientKey::Identifier(duid.octets()));
            (leases.len(), looked_at == leases.len())
        };
        assert_eq!(find(), (3, is_indexed));
        load(1, 1_001);
        assert_eq!(find(), (2, is_indexed));
        audit(&table, &BTreeSet::new());
    }
}
