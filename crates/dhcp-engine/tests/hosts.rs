//! Tables of hosts: against a model, and with a million hosts.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use base::Random;
use dhcp_config::{
    HostIdentifier, IdentifierKind, NoIncludes, ReservationModes, Reserved4, Reserved6,
    ReservedPrefix, parse_dhcp4,
};
use dhcp_engine::hosts::{HostHashes, HostIndex, HostsBuilder, Identifiers, ReservationScope};
use dhcp_lease::LeaseTable;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::{Resource, V6};

const KINDS: [IdentifierKind; 5] = [
    IdentifierKind::HardwareAddress,
    IdentifierKind::Duid,
    IdentifierKind::CircuitId,
    IdentifierKind::ClientId,
    IdentifierKind::FlexId,
];

fn scope(random: &mut Random) -> ReservationScope {
    match random.below(4) {
        0 => ReservationScope::Global,
        id => ReservationScope::Subnet(id as u32),
    }
}

/// Returns one of a few identifiers, so that scopes and kinds share many.
fn identifier(random: &mut Random) -> HostIdentifier {
    let octets: Vec<u8> = (0..=random.below(2)).map(|_| random.below(6) as u8).collect();
    // Some are too long for a record, or just not.
    let octets = octets.repeat([1, 1, 8, 9][random.below(4) as usize]);
    HostIdentifier { kind: KINDS[random.below(5) as usize], octets }
}

fn address(random: &mut Random) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, random.below(40) as u8)
}

#[test]
fn hosts_are_found_as_in_a_model() {
    for seed in 0..60 {
        let mut random = Random::from_seed(seed);
        let mut builder = HostsBuilder::<V4, u64>::new(seed, 8);
        let mut model = BTreeMap::new();
        for number in 0..random.below(120) {
            let (scope, identifier) = (scope(&mut random), identifier(&mut random));
            let address = (random.below(3) > 0).then(|| address(&mut random));
            let terms = (random.below(2) == 0).then_some(number);
            let key = (scope, identifier.kind, identifier.octets.clone());
            if model.contains_key(&key) {
                continue;
            }
            model.insert(key, (address, terms));
            let reserved = Reserved4 { address, ..Reserved4::default() };
            builder.add(scope, &identifier, &reserved, terms);
        }
        let hosts = builder.finish();
        assert_eq!(hosts.len(), model.len());
        for _ in 0..2000 {
            let (scope, identifier) = (scope(&mut random), identifier(&mut random));
            let key = (scope, identifier.kind, identifier.octets.clone());
            let stored_host = hosts.find(scope, identifier.kind, &identifier.octets);
            let stored_host = stored_host.map(|index| hosts.get(index));
            let found_host =
                stored_host.as_ref().map(|host| (host.addresses().next(), host.terms.copied()));
            assert_eq!(found_host, model.get(&key).copied(), "seed {seed}, {key:?}");
            let identifiers = Identifiers::new(&KINDS, |kind| {
                (kind == identifier.kind).then_some(&identifier.octets[..])
            });
            let (id, global) = match scope {
                ReservationScope::Global => (0, true),
                ReservationScope::Subnet(id) => (id, false),
            };
            let modes = ReservationModes { global, in_subnet: !global, out_of_pool: false };
            let host_hashes = HostHashes::new(&hosts, id, modes, &identifiers);
            let reserved = stored_host.as_ref().and_then(|host| host.addresses().next());
            assert_eq!(host_hashes.reserved(&hosts), reserved, "seed {seed}, {key:?}");
            if let Some(host) = stored_host {
                assert_eq!((host.scope, host.kind), (scope, identifier.kind));
                assert_eq!(host.identifier, identifier.octets);
                assert!(hosts.kinds(scope).contains(host.kind));
            }

            let lookup = address(&mut random);
            let mut owners: Vec<_> = hosts
                .owners_of(scope, lookup)
                .map(|index| hosts.get(index))
                .map(|host| (host.kind, host.identifier.to_vec()))
                .collect();
            owners.sort();
            let expected: Vec<_> = model
                .iter()
                .filter(|((of, ..), (address, _))| *of == scope && *address == Some(lookup))
                .map(|((_, kind, octets), _)| (*kind, octets.clone()))
                .collect();
            assert_eq!(owners, expected, "seed {seed}, {lookup}");
            assert_eq!(hosts.owner_of(scope, lookup).is_some(), !expected.is_empty());
        }
        let mut reserved: Vec<_> = hosts.reserved().collect();
        reserved.sort();
        let mut expected: Vec<_> = model
            .iter()
            .filter_map(|((scope, ..), (address, _))| Some((*scope, (*address)?)))
            .collect();
        expected.sort();
        assert_eq!(reserved, expected);
    }
}

#[test]
fn only_kinds_that_a_scope_uses_are_named() {
    let mut builder = HostsBuilder::<V4, ()>::new(1, 2);
    let host = |kind| HostIdentifier { kind, octets: vec![1, 2, 3] };
    builder.add(
        ReservationScope::Subnet(9),
        &host(IdentifierKind::Duid),
        &Reserved4::default(),
        None,
    );
    builder.add(
        ReservationScope::Subnet(9),
        &host(IdentifierKind::FlexId),
        &Reserved4::default(),
        None,
    );
    builder.add(
        ReservationScope::Global,
        &host(IdentifierKind::ClientId),
        &Reserved4::default(),
        None,
    );
    let hosts = builder.finish();
    let of = |scope| KINDS.map(|kind| hosts.kinds(scope).contains(kind));
    assert_eq!(of(ReservationScope::Subnet(9)), [false, true, false, false, true]);
    assert_eq!(of(ReservationScope::Global), [false, false, false, true, false]);
    assert!(hosts.kinds(ReservationScope::Subnet(1)).is_empty());
    let both = hosts.kinds(ReservationScope::Subnet(9)).or(hosts.kinds(ReservationScope::Global));
    assert!(both.contains(IdentifierKind::ClientId) && both.contains(IdentifierKind::Duid));
}

#[test]
fn addresses_and_prefixes_of_a_host_are_its_own() {
    let address = |text: &str| text.parse::<Ipv6Addr>().unwrap();
    let reserved = Reserved6 {
        addresses: vec![address("2001:db8::1"), address("2001:db8::2")],
        prefixes: vec![ReservedPrefix {
            prefix: (address("3000:1::"), 48),
            excluded: Some((address("3000:1:0:f::"), 64)),
        }],
    };
    let mut builder = HostsBuilder::<V6, ()>::new(2, 1);
    let host = HostIdentifier { kind: IdentifierKind::Duid, octets: vec![0, 3, 0, 1] };
    builder.add(ReservationScope::Subnet(1), &host, &reserved, None);
    let hosts = builder.finish();
    let index =
        hosts.find(ReservationScope::Subnet(1), IdentifierKind::Duid, &[0, 3, 0, 1]).unwrap();
    let resources = [
        Resource::address(address("2001:db8::1")),
        Resource::address(address("2001:db8::2")),
        Resource::prefix(address("3000:1::"), 48),
    ];
    assert_eq!(hosts.get(index).addresses().collect::<Vec<_>>(), resources);
    assert_eq!(hosts.get(index).reserved[2].excluded, Some((address("3000:1:0:f::"), 64)));
    for resource in resources {
        assert_eq!(hosts.owner_of(ReservationScope::Subnet(1), resource), Some(index));
        assert_eq!(hosts.owner_of(ReservationScope::Subnet(2), resource), None);
    }
    let shorter = Resource::prefix(address("3000:1::"), 31);
    assert_eq!(
        hosts.owner_of(ReservationScope::Subnet(1), Resource::prefix(address("3000:1::"), 56)),
        Some(index)
    );
    assert_eq!(shorter.address, address("3000::"));
    assert_eq!(hosts.owner_of(ReservationScope::Subnet(1), shorter), None);
}

#[test]
fn a_million_hosts_are_each_found_and_nobody_else_is() {
    const COUNT: u32 = 1_000_000;
    let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
    let host = |number: u32| HostIdentifier {
        kind: IdentifierKind::HardwareAddress,
        octets: [&[2, 0][..], &number.to_be_bytes()].concat(),
    };
    let mut builder = HostsBuilder::<V4, ()>::new(3, COUNT as usize);
    for number in 0..COUNT {
        let reserved = Reserved4 { address: Some((first + number).into()), ..Reserved4::default() };
        builder.add(ReservationScope::Subnet(1), &host(number), &reserved, None);
    }
    let hosts = builder.finish();
    let find = |number: u32| {
        hosts.find(
            ReservationScope::Subnet(1),
            IdentifierKind::HardwareAddress,
            &host(number).octets,
        )
    };
    let mut indexes: Vec<HostIndex> = Vec::with_capacity(COUNT as usize);
    for number in 0..COUNT {
        let index = find(number).expect("it was added");
        let address = Ipv4Addr::from(first + number);
        assert_eq!(hosts.get(index).reserved, [address]);
        assert_eq!(hosts.owner_of(ReservationScope::Subnet(1), address), Some(index));
        indexes.push(index);
    }
    indexes.sort();
    indexes.dedup();
    assert_eq!(indexes.len(), COUNT as usize);
    for number in COUNT..COUNT + 10_000 {
        assert_eq!(find(number), None);
        assert_eq!(hosts.owner_of(ReservationScope::Subnet(1), (first + number).into()), None);
    }
}

/// This test goes the whole way from a file to the tables; `examples/reservations.rs` does it with
/// a million hosts and prints the cost.
#[test]
fn the_hosts_of_a_file_are_each_found_in_their_subnet() {
    const COUNT: u32 = 20_000;
    const KEYS: [(&str, IdentifierKind); 4] = [
        ("hw-address", IdentifierKind::HardwareAddress),
        ("duid", IdentifierKind::Duid),
        ("client-id", IdentifierKind::ClientId),
        ("flex-id", IdentifierKind::FlexId),
    ];
    // Hosts with equal bytes differ by kind and subnet.
    let of = |number: u32| (1 + number % 2, KEYS[number as usize / 2 % 4], number / 8);
    let address = |number: u32| Ipv4Addr::from(0x0a00_0000 | (number % 2) << 16 | (number / 2 + 1));
    let mut subnets = ["", ""].map(String::from);
    for number in 0..COUNT {
        let (subnet, (key, _), octets) = of(number);
        let list = &mut subnets[subnet as usize - 1];
        let comma = if list.is_empty() { "" } else { "," };
        let host = format!(
            r#"{comma}{{"{key}":"02{octets:08x}","ip-address":"{}","hostname":"h{number}"}}"#,
            address(number)
        );
        list.push_str(&host);
    }
    let [one, two] = subnets;
    let text = format!(
        r#"{{"Dhcp4":{{"subnet4":[
            {{"id":1,"subnet":"10.0.0.0/16","reservations":[{one}]}},
            {{"id":2,"subnet":"10.1.0.0/16","reservations":[{two}]}}]}}}}"#
    );
    let checked = parse_dhcp4("t", &text, &mut NoIncludes).expect("a good configuration");
    let table = LeaseTable::new(1);
    let snapshot = dhcp_engine::v4::Snapshot::compile(&checked.config, |pools, aside| {
        table.configure(pools, aside)
    });
    let octets = |number: u32| [&[2][..], &number.to_be_bytes()].concat();
    for number in 0..COUNT {
        let (subnet, (_, kind), identifier) = of(number);
        let host = snapshot.hosts.find(ReservationScope::Subnet(subnet), kind, &octets(identifier));
        let host = snapshot.hosts.get(host.expect("it is in the file"));
        assert_eq!(host.reserved, [address(number)]);
        assert_eq!(host.terms.map(|terms| &*terms.hostname), Some(&*format!("h{number}")));
    }
    for (_, kind) in KEYS {
        let absent = octets(COUNT / 8);
        assert_eq!(snapshot.hosts.find(ReservationScope::Subnet(1), kind, &absent), None);
        assert_eq!(snapshot.hosts.find(ReservationScope::Global, kind, &octets(0)), None);
    }
}
