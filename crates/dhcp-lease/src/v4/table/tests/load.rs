//! Leases in and out.

use std::collections::{BTreeMap, BTreeSet};

use base::Random;

use super::super::{LeaseTable, Usage};
use super::audit::audit;
use super::{START, change, client, commit, lease_for, pool, slot};
use crate::ClientId;
use crate::v4::lease::{Lease, LeaseState};
use crate::v4::{Action, LeaseTerms, Occupancy};

fn lease(address: u32, number: u32) -> Lease {
    Lease {
        address: address.into(),
        hardware: client(number).hardware,
        client_id: Some(ClientId::new(&number.to_be_bytes())),
        valid_lifetime_s: 1_000,
        cltt_s: START.wall_s(),
        subnet_id: number % 7,
        fqdn_fwd: true,
        fqdn_rev: false,
        hostname: format!("host-{number}").into(),
        state: if number.is_multiple_of(5) { LeaseState::Declined } else { LeaseState::Assigned },
        user_context: "{ \"a\": 1 }".into(),
        pool_id: number % 3,
    }
}

#[test]
fn leases_loaded_by_several_threads_are_listed_as_they_were() {
    let table = LeaseTable::new(1);
    // Many parts of each stripe, and addresses of no pool.
    table.configure(&[pool(0x0a00_0000, 0x0a1f_ffff)]);
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
            scope.spawn(move || share.iter().for_each(|&lease| table.load(lease.clone())));
        }
    });
    audit(&table, &BTreeSet::new());
    let mut listed = BTreeMap::new();
    table.for_each_lease(|lease| {
        assert_eq!(listed.insert(u32::from(lease.address), lease), None, "listed twice");
    });
    assert_eq!(listed, leases);
    let by_subnet = table.usage_by_subnet();
    let leased = |subnet_id| {
        let of_subnet = leases.values().filter(|lease| lease.subnet_id == subnet_id);
        of_subnet.filter(|lease| lease.state == LeaseState::Assigned).count() as u64
    };
    assert!((0..7).all(|subnet_id| by_subnet[&subnet_id].leased == leased(subnet_id)));
}

#[test]
fn the_last_row_of_an_address_wins() {
    let table = LeaseTable::new(1);
    let pools = table.configure(&[pool(0x0a00_0000, 0x0a00_0003)]);
    let first = lease(0x0a00_0001, 1);
    let last = lease(0x0a00_0001, 2);
    let gone = Lease { valid_lifetime_s: 0, ..lease(0x0a00_0002, 3) };
    let reclaimed = Lease { state: LeaseState::ExpiredReclaimed, ..lease(0x0a00_0003, 4) };
    let outside = Lease { valid_lifetime_s: 0, ..lease(0x0b00_0000, 6) };
    for row in [&first, &last, &lease(0x0a00_0002, 3), &gone, &reclaimed, &outside] {
        table.load(row.clone());
    }
    let mut listed = Vec::new();
    table.for_each_lease(|lease| listed.push(lease));
    assert_eq!(listed, [last]);
    assert_eq!(slot(&table, &pools, START, 0x0a00_0002).unwrap().occupancy, Occupancy::Free);
    assert_eq!(slot(&table, &pools, START, 0x0a00_0003).unwrap().occupancy, Occupancy::Free);
    assert_eq!(slot(&table, &pools, START, 0x0b00_0000), None);
    assert_eq!(table.usage(), Usage { leased: 1, ..Usage::default() });
    audit(&table, &BTreeSet::new());
}

#[test]
fn a_renewal_keeps_what_only_the_file_knew() {
    let table = LeaseTable::new(1);
    let pools = table.configure(&[pool(0x0a00_0000, 0x0a00_0000)]);
    let loaded = Lease { client_id: None, ..lease(0x0a00_0000, 1) };
    table.load(loaded.clone());
    let mut rows = Vec::new();
    let mut renew = |number, hostname| {
        let terms = LeaseTerms { valid_lifetime_s: 10, subnet_id: 2, pool_id: 4, hostname };
        let known = slot(&table, &pools, START, 0x0a00_0000).unwrap();
        let changes = [change(number, &known, Action::Lease(terms))];
        let now = START.after_ns(20_000_000_000);
        let now = if number == 1 { START } else { now };
        table.apply(now, &changes, 0, 0, &mut |row| rows.push(row.to_lease())).unwrap();
    };
    renew(1, "other");
    renew(2, "");
    let expected = Lease {
        valid_lifetime_s: 10,
        subnet_id: 2,
        pool_id: 4,
        hostname: "other".into(),
        ..loaded
    };
    assert_eq!(rows[0], expected);
    let blank = (&*rows[1].hostname, &*rows[1].user_context, rows[1].fqdn_fwd);
    assert_eq!(blank, ("", "", false), "another client's lease starts anew");
    assert_eq!(rows[1].hardware, client(2).hardware);
}

#[test]
fn a_released_row_names_the_client_that_releases() {
    let table = LeaseTable::new(1);
    let pools = table.configure(&[pool(0x0a00_0000, 0x0a00_0000)]);
    let free = slot(&table, &pools, START, 0x0a00_0000).unwrap();
    commit(&table, START, 1, &free, lease_for(100)).unwrap();
    let leased = slot(&table, &pools, START, 0x0a00_0000).unwrap();
    let mut rows = Vec::new();
    let now = START.after_ns(7_000_000_000);
    table
        .apply(now, &[change(1, &leased, Action::Release)], 0, 0, &mut |row| {
            rows.push(row.to_lease());
        })
        .unwrap();
    assert_eq!(rows[0].hardware, client(1).hardware);
    let (lifetime_s, cltt_s) = (rows[0].valid_lifetime_s, rows[0].cltt_s);
    assert_eq!((rows[0].state, lifetime_s, cltt_s), (LeaseState::Released, 0, now.wall_s()));
}
