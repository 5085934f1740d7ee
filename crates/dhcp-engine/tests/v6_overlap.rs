//! Delegations that could overlap: reservations and leases of other lengths in a pool, commands,
//! and pools whose length changed.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::sync::Arc;

use crate::common::v6::{Dhcp6MessageBuilder, RELAY, Server};
use base::Random;
use dhcp_lease::v6::{LeaseState, LeaseStore as _, MemoryStore, Resource};
use dhcp_lease::{PutMode, PutRefusal};
use dhcp_wire::v6::{IaKind, MessageType};

/// Returns a configuration of one subnet with these prefix pools and reservations.
fn config(pd_pools: &str, reservations: &str) -> String {
    format!(
        r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }},
            "preferred-lifetime": 3000, "valid-lifetime": 4000, "cache-threshold": 0.0,
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64",
                "pd-pools": [ {pd_pools} ], "reservations": [ {reservations} ] }} ] }} }}"#
    )
}

fn pool(prefix: &str, len: u8, delegated: u8) -> String {
    format!(r#"{{ "prefix": "{prefix}", "prefix-len": {len}, "delegated-len": {delegated} }}"#)
}

fn host(n: u16, prefix: &str) -> String {
    format!(r#"{{ "duid": "00:03:00:01:02:00:00:00:00:{n:02x}", "prefixes": [ "{prefix}" ] }}"#)
}

fn prefix(text: &str, len: u8) -> Resource {
    Resource::prefix(text.parse().expect("an address"), len)
}

/// Returns the prefix that client `n` gets when it requests `hint`, or any prefix.
fn delegated(server: &mut Server, n: u16, hint: Option<Resource>) -> Option<Resource> {
    let hint: Vec<_> = hint.iter().map(|hint| (hint.address, hint.len)).collect();
    let reply =
        server.ask(&Dhcp6MessageBuilder::new(MessageType::Request, n).for_us().pd(1, &hint));
    let ia = reply.ias.iter().find(|ia| ia.kind == IaKind::Pd).expect("it is answered");
    let leased = ia.leased.iter().find(|&&(.., valid_s)| valid_s > 0)?;
    Some(Resource::prefix(leased.0, leased.1))
}

fn check(server: &Server) -> Vec<Resource> {
    let mut leased = Vec::new();
    server.table.for_each_lease(|lease| {
        let is_running = lease.state == LeaseState::Assigned && lease.valid_lifetime_s > 0;
        leased.extend(is_running.then_some(lease.address));
    });
    for (at, &one) in leased.iter().enumerate() {
        let other = leased[..at].iter().find(|&&other| other.overlaps(one));
        assert_eq!(other, None, "{one} overlaps");
    }
    leased
}

#[test]
fn nobody_is_given_a_part_of_a_reserved_prefix_nor_what_holds_it() {
    for (reserved, len) in [("2001:db8:f000::/60", 60), ("2001:db8:f000:1::/64", 64)] {
        let hosts = host(9, reserved);
        let mut server = Server::new(&config(&pool("2001:db8:f000::", 58, 61), &hosts));
        let reserved_prefix = prefix("2001:db8:f000:1::", len);
        for n in 1..=6 {
            let leased_prefix = delegated(&mut server, n, Some(prefix("2001:db8:f000::", 61)));
            assert!(
                leased_prefix.is_some_and(|leased_prefix| !leased_prefix.overlaps(reserved_prefix)),
                "{n} in {reserved}"
            );
        }
        assert_eq!(delegated(&mut server, 9, None), Some(reserved_prefix));
        check(&server);
    }
}

#[test]
fn a_lease_of_another_length_keeps_its_prefix_after_a_reload() {
    let mut server = Server::new(&config(&pool("2001:db8::", 32, 33), ""));
    assert_eq!(delegated(&mut server, 1, None), Some(prefix("2001:db8::", 33)));
    server.reload(&config(&pool("2001:db8::", 32, 34), ""));
    assert_eq!(delegated(&mut server, 2, None), Some(prefix("2001:db8:8000::", 34)));
    let part = prefix("2001:db8:4000::", 34);
    assert_eq!(delegated(&mut server, 3, Some(part)), Some(prefix("2001:db8:c000::", 34)));
    assert_eq!(delegated(&mut server, 4, Some(part)), None);
    check(&server);
    // The client of the old prefix keeps it, as in Kea, until it gives it up.
    let old = ("2001:db8::".parse().expect("an address"), 33);
    let reply = server.ask(&Dhcp6MessageBuilder::new(MessageType::Renew, 1).for_us().pd(1, &[old]));
    assert_eq!(reply.ias[0].leased, [(old.0, 33, 3000, 4000)], "{reply:?}");
    assert_eq!(delegated(&mut server, 4, Some(part)), None);
    check(&server);
    server.ask(&Dhcp6MessageBuilder::new(MessageType::Release, 1).for_us().pd(1, &[old]));
    server.pass_s(1);
    assert_eq!(delegated(&mut server, 4, Some(part)), Some(part));
    check(&server);
}

/// Each server of a pair may have given the client a prefix while they could not talk; it has heard
/// of the last one.
#[test]
fn an_association_with_two_leases_gets_the_newest() {
    let mut server = Server::new(&config(&pool("2001:db8:f000::", 52, 56), ""));
    let first = delegated(&mut server, 1, None).expect("the pool is not used up");
    let mut store = MemoryStore::new(Arc::clone(&server.table));
    let mut lease = server.table.page(None, 1).remove(0);
    lease.address = prefix("2001:db8:f000:f00::", 56);
    lease.cltt_s += 5;
    store.put(&lease, PutMode::Force).unwrap();
    assert!(first < lease.address);
    server.pass_s(6);
    assert_eq!(delegated(&mut server, 1, None), Some(lease.address));
}

#[test]
fn a_command_adds_no_lease_that_overlaps_one() {
    let mut server = Server::new(&config(&pool("2001:db8:f000::", 52, 56), ""));
    let leased_prefix = delegated(&mut server, 1, None).expect("the pool is not used up");
    let mut store = MemoryStore::new(Arc::clone(&server.table));
    let mut existing = None;
    server.table.for_each_lease(|lease| existing = Some(lease));
    let existing = existing.expect("one is leased");
    for len in [48, 55, 57, 64, 128] {
        let other = Resource::prefix(leased_prefix.address, len);
        let lease = dhcp_lease::v6::Lease { address: other, ..existing.clone() };
        for mode in [PutMode::Add, PutMode::Force] {
            assert_eq!(store.put(&lease, mode), Err(PutRefusal::Overlaps), "{other}");
        }
    }
    let inside =
        dhcp_lease::v6::Lease { address: Resource::address(leased_prefix.address), ..existing };
    assert_eq!(store.put(&inside, PutMode::Add), Err(PutRefusal::Overlaps));
    check(&server);
}

/// This test takes pools, reservations, clients that request any prefix, and reloads from a seed.
#[test]
fn no_two_delegations_overlap_whatever_is_configured_and_asked_for() {
    for seed in 0..60 {
        let mut random = Random::from_seed(seed);
        let mut server = Server::new(&any_config(&mut random));
        let mut all_leased = BTreeSet::new();
        for step in 0..40 {
            if random.chance(1, 8) {
                server.reload(&any_config(&mut random));
            }
            let hint = random.chance(1, 2).then(|| any_prefix(&mut random));
            let leased_prefix = delegated(&mut server, 1 + random.below(9) as u16, hint);
            all_leased.extend(leased_prefix);
            let leased = check(&server);
            assert!(
                leased_prefix.is_none_or(|leased_prefix| leased.contains(&leased_prefix)),
                "seed {seed}, {step}"
            );
        }
        assert!(!all_leased.is_empty(), "seed {seed} gives something");
    }
}

fn any_prefix(random: &mut Random) -> Resource {
    let [_, _, _, d, ..] = RELAY.segments();
    let address = Ipv6Addr::new(0x2001, 0xdb8, 0xf000 + d, random.below(256) as u16, 0, 0, 0, 0);
    Resource::prefix(address, 56 + random.below(9) as u8)
}

fn any_config(random: &mut Random) -> String {
    // The pools are halves of one region, so that no two pools of a configuration overlap.
    let pools: Vec<_> = ["2001:db8:f000::", "2001:db8:f000:80::"]
        .into_iter()
        .map(|prefix| pool(prefix, 57, 57 + random.below(7) as u8))
        .collect();
    let mut hosts: Vec<(u16, Resource)> = Vec::new();
    for n in 7..=9 {
        let prefix = any_prefix(random);
        if hosts.iter().all(|&(_, other)| other.address != prefix.address) {
            hosts.push((n, prefix));
        }
    }
    let hosts: Vec<_> = hosts.iter().map(|(n, prefix)| host(*n, &prefix.to_string())).collect();
    config(&pools.join(","), &hosts.join(","))
}
