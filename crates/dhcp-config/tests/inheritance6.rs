//! Tests of defaults and of inheritance from the global scope to a subnet, DHCPv6.

use core::net::Ipv6Addr;

use crate::common::{accepted6, folder, shipped_includes};
use dhcp_config::{
    Dhcp6, Durability, InterfaceSelection, InterfacesConfig, LeaseChecks, LeaseDatabase, Lifetime,
    OnFail, ServerIdConfig, ServerIdType, Shards, parse_dhcp6,
};

fn shipped(name: &str) -> Dhcp6 {
    let (_, text) = folder("accepted6")
        .into_iter()
        .find(|(file, _)| file == name)
        .expect("the file is shipped");
    parse_dhcp6(name, &text, &mut shipped_includes()).expect("the file is good").config
}

fn address(text: &str) -> Ipv6Addr {
    text.parse().expect("the test spells addresses")
}

const fn life(default_s: u32, min_s: u32, max_s: u32) -> Lifetime {
    Lifetime { default_s, min_s, max_s }
}

#[test]
fn defaults_are_those_of_kea() {
    let config =
        accepted6("{\"Dhcp6\":{\"subnet6\":[{\"id\":1,\"subnet\":\"2001:db8::/64\"}]}}").config;
    let subnet = &config.subnets[0];
    assert_eq!(subnet.valid_lifetime, life(7200, 7200, 7200));
    // Five eighths of the valid lifetime that a client gets.
    assert_eq!(subnet.own.preferred_lifetime, life(0, 0, 0));
    assert_eq!((subnet.renew_timer_s, subnet.rebind_timer_s), (None, None));
    assert_eq!(
        (subnet.calculate_tee_times, subnet.t1_percent, subnet.t2_percent),
        (true, 0.5, 0.8)
    );
    assert_eq!((subnet.cache_threshold, subnet.cache_max_age_s), (0.25, None));
    assert_eq!((subnet.network, subnet.interface.as_deref()), (None, None));
    assert_eq!((subnet.interface_id.as_deref(), subnet.own.rapid_commit), (None, false));
    assert_eq!(config.global.decline_probation_period_s, 86_400);
    assert_eq!(config.own.relay_supplied_options, [65]);
    assert_eq!(config.own.server_id, ServerIdConfig::default());
    assert_eq!(
        (config.own.server_id.kind, config.own.server_id.persist),
        (ServerIdType::Llt, true)
    );
    assert_eq!(config.global.lease_checks, LeaseChecks::Warn);
    assert_eq!(config.global.lease_database, LeaseDatabase::default());
    assert_eq!(config.interfaces, InterfacesConfig::default());
    assert_eq!(config.own.data_directory, None);
    assert!(!config.compatibility.lenient_option_parsing && config.interfaces.re_detect);
}

#[test]
fn inner_scopes_win_key_by_key() {
    let config = shipped("lifetimes.conf");
    let [seven, eight, nine] = &config.subnets[..] else { panic!("three subnets") };
    assert_eq!(seven.valid_lifetime, life(1600, 600, 1700));
    assert_eq!(eight.valid_lifetime, life(5400, 600, 9000));
    assert_eq!(nine.valid_lifetime, life(7200, 600, 9000));
    // Accepted though it is above the valid lifetime: that of a class may be longer.
    assert_eq!(seven.own.preferred_lifetime, life(3000, 500, 4000));
    assert_eq!(eight.own.preferred_lifetime, life(700, 500, 4000));
    assert_eq!(nine.own.preferred_lifetime, life(3000, 500, 4000));
    assert_eq!((eight.renew_timer_s, eight.rebind_timer_s), (Some(100), Some(200)));
    assert_eq!((seven.renew_timer_s, nine.renew_timer_s), (None, None));
    assert_eq!((nine.calculate_tee_times, nine.t1_percent, nine.t2_percent), (false, 0.4, 0.7));
    assert!(config.subnets.iter().all(|s| s.cache_threshold == 0.5));
    assert!(config.subnets.iter().all(|s| s.cache_max_age_s == Some(600)));
    assert!(seven.own.rapid_commit && eight.own.rapid_commit && !nine.own.rapid_commit);
    assert!(config.networks[0].own.rapid_commit);
    assert_eq!(config.networks[0].subnets, [0, 1]);
}

#[test]
fn a_preferred_lifetime_above_the_valid_one_stays_as_it_is() {
    let config = shipped("edges.conf");
    let preferred: Vec<_> =
        config.subnets.iter().map(|s| (s.id, s.own.preferred_lifetime)).collect();
    let of = |id| preferred.iter().find(|subnet| subnet.0 == id).map(|subnet| subnet.1);
    assert_eq!(of(4), Some(life(4000, 4000, 4000)));
    assert_eq!(of(5), Some(life(0, 0, 0)));
    assert_eq!(of(6), Some(life(500, 10, 500)));
}

#[test]
fn links_come_from_the_network_unless_the_subnet_has_its_own() {
    let config = shipped("networks-and-relays.conf");
    let relays: Vec<_> = config.subnets.iter().map(|s| s.relay_addresses.clone()).collect();
    let both = vec![address("2001:db8::1"), address("fe80::2")];
    let none = Vec::new;
    assert_eq!(
        relays,
        [both.clone(), vec![address("2001:db8::3")], none(), none(), none(), none(), none()]
    );
    assert_eq!(config.networks[0].relay_addresses, both);
    let interfaces: Vec<_> = config.subnets.iter().map(|s| s.interface.as_deref()).collect();
    assert_eq!(interfaces, [None, None, Some("lo"), Some("lo"), None, None, None]);
    let ids: Vec<_> = config.subnets.iter().map(|s| s.interface_id.as_deref()).collect();
    let port = Some(&b"port-0"[..]);
    // Kea takes the text as written, hexadecimal digits too.
    let digits = Some(&b"0xabcd"[..]);
    assert_eq!(ids, [port, Some(b"caf\xe9"), None, digits, None, None, Some(b"lone")]);
    assert_eq!(config.networks[0].interface_id.as_deref(), port);
    assert_eq!(config.networks[1].interface.as_deref(), Some("lo"));
    // The subnets agree with each other, not with their network.
    let rapid: Vec<bool> = config.networks.iter().map(|n| n.own.rapid_commit).collect();
    assert_eq!(rapid, [false, false, false, true]);
}

#[test]
fn prefix_pools_are_read() {
    let config = shipped("delegation.conf");
    let [first, second] = &config.subnets[..] else { panic!("two subnets") };
    let pools: Vec<_> =
        first.own.pd_pools.iter().map(|p| (p.prefix, p.delegated_len, p.excluded)).collect();
    assert_eq!(
        pools,
        [
            ((address("3001:db8:8000::"), 48), 56, Some((address("3001:db8:8000:80::"), 64))),
            ((address("3001:db8:9000::"), 48), 48, None),
            ((address("3001:db8:a000::"), 40), 64, None),
        ]
    );
    assert!(first.own.pd_pools[0].options.is_empty());
    let [option] = &first.own.pd_pools[2].options[..] else { panic!("one option") };
    assert_eq!((option.code, option.octets[15], option.always_send), (31, 2, false));
    assert_eq!((second.own.pd_pools[0].prefix.1, second.own.pd_pools[0].delegated_len), (52, 127));
}

#[test]
fn pools_are_ranges_or_prefixes() {
    let config = shipped("basic.conf");
    let pools: Vec<_> = config.subnets[0].pools.iter().map(|p| (p.first, p.last)).collect();
    assert_eq!(
        pools,
        [
            (address("2001:db8:1::10"), address("2001:db8:1::ffff")),
            (address("2001:db8:1:0:8000::"), address("2001:db8:1:0:ffff:ffff:ffff:ffff")),
        ]
    );
}

#[test]
fn automatic_numbers_count_subnets_without_one_networks_first() {
    let config = shipped("numbered-automatically.conf");
    let ids: Vec<_> = config.subnets.iter().map(|s| (s.prefix.0.segments()[2], s.id)).collect();
    assert_eq!(ids, [(0, 1), (1, 2), (3, 3), (2, 77)]);
}

#[test]
fn every_other_part_is_read() {
    let config = shipped("everything-else.conf");
    assert_eq!(config.global.decline_probation_period_s, 60);
    assert_eq!(config.own.data_directory.as_deref(), Some("/tmp"));
    let server_id = ServerIdConfig {
        kind: ServerIdType::En,
        identifier: Some(vec![0x87, 0xab, 0xef, 0x7a, 0x5b, 0xb5, 0x45]),
        enterprise_id: Some(2495),
        persist: false,
        ..ServerIdConfig::default()
    };
    assert_eq!(config.own.server_id, server_id);
    assert_eq!(config.own.relay_supplied_options, [59, 65, 110]);
    assert_eq!(config.global.expired_leases.hold_reclaimed_s, 3);
    assert_eq!(
        (config.global.godwit.durability, config.global.godwit.shards),
        (Durability::Interval, Shards::Fixed(2))
    );
    assert_eq!(config.global.lease_checks, LeaseChecks::FixDel);
    let database = &config.global.lease_database;
    assert!(!database.persist);
    assert_eq!((database.max_row_errors, database.on_fail), (10, OnFail::ServeRetryContinue));
    let lo = |address| InterfaceSelection::Named { name: "lo".to_owned(), address };
    let interfaces = InterfacesConfig {
        interfaces: vec![InterfaceSelection::All, lo(None), lo(Some(Ipv6Addr::LOCALHOST))],
        re_detect: false,
        require_all_sockets: true,
        socket_max_retries: 2,
        socket_retry_wait_ms: 100,
        own: (),
    };
    assert_eq!(config.interfaces, interfaces);
    assert_eq!(config.global.loggers[0].name, "kea-dhcp6");
}

#[test]
fn parts_of_the_server_id_that_are_zero_count_as_not_set() {
    for (text, expected) in [
        (
            r#""type":"LLT","htype":8,"identifier":" A65D c741 ","time":2518920166"#,
            ServerIdConfig {
                identifier: Some(vec![0xa6, 0x5d, 0xc7, 0x41]),
                time_s: Some(2_518_920_166),
                hardware_type: Some(8),
                ..ServerIdConfig::default()
            },
        ),
        (
            r#""type":"LL","htype":0,"identifier":"","time":0,"enterprise-id":0"#,
            ServerIdConfig { kind: ServerIdType::Ll, ..ServerIdConfig::default() },
        ),
    ] {
        let checked = accepted6(&format!(r#"{{"Dhcp6":{{"server-id":{{{text}}}}}}}"#));
        assert_eq!(checked.config.own.server_id, expected, "{text}");
        assert_eq!(checked.warnings, []);
    }
}
