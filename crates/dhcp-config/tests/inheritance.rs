//! Tests of defaults and of inheritance from the global scope to a subnet.

use core::net::Ipv4Addr;

use crate::common::{accepted, folder, shipped_includes};
use dhcp_config::{
    Dhcp4, Durability, ExpiredLeases, GodwitSettings, InterfaceSelection, LeaseChecks,
    LeaseDatabase, Lifetime, LogDestination, LogSeverity, OnFail, OutboundInterface, Shards,
    SocketType, parse_dhcp4,
};

fn shipped(name: &str) -> Dhcp4 {
    let (_, text) =
        folder("accepted").into_iter().find(|(file, _)| file == name).expect("the file is shipped");
    parse_dhcp4(name, &text, &mut shipped_includes()).expect("the file is good").config
}

#[test]
fn defaults_are_those_of_kea() {
    let config =
        accepted("{\"Dhcp4\":{\"subnet4\":[{\"id\":1,\"subnet\":\"10.0.0.0/24\"}]}}").config;
    let subnet = &config.subnets[0];
    assert_eq!(subnet.valid_lifetime, Lifetime { default_s: 7200, min_s: 7200, max_s: 7200 });
    assert_eq!((subnet.renew_timer_s, subnet.rebind_timer_s), (None, None));
    assert_eq!(
        (subnet.calculate_tee_times, subnet.t1_percent, subnet.t2_percent),
        (false, 0.5, 0.875)
    );
    assert_eq!((subnet.cache_threshold, subnet.cache_max_age_s), (0.25, None));
    assert_eq!((subnet.own.authoritative, subnet.own.match_client_id), (false, true));
    assert_eq!((subnet.own.offer_lifetime_s, subnet.own.next_server), (0, Ipv4Addr::UNSPECIFIED));
    assert_eq!((subnet.own.server_hostname.as_str(), subnet.own.boot_file_name.as_str()), ("", ""));
    assert_eq!((subnet.network, subnet.interface.as_deref()), (None, None));
    assert_eq!(config.global.decline_probation_period_s, 86_400);
    assert!(config.own.echo_client_id && !config.own.authoritative);
    assert_eq!(config.global.lease_checks, LeaseChecks::Warn);
    assert_eq!(config.global.lease_database, LeaseDatabase::default());
    assert_eq!(config.interfaces.interfaces, []);
    assert_eq!(config.interfaces.own.socket_type, SocketType::Raw);
    assert_eq!(config.global.godwit, GodwitSettings::default());
    assert_eq!(config.global.godwit.durability, Durability::Always);
}

#[test]
fn inner_scopes_win_key_by_key() {
    let config = shipped("lifetimes.conf");
    let lifetimes: Vec<_> = config.subnets.iter().map(|s| (s.id, s.valid_lifetime)).collect();
    let life = |default_s, min_s, max_s| Lifetime { default_s, min_s, max_s };
    assert_eq!(
        lifetimes,
        [(7, life(900, 600, 900)), (8, life(1800, 600, 7200)), (9, life(3600, 600, 7200))]
    );
    let [seven, eight, nine] = &config.subnets[..] else { panic!("three subnets") };
    assert!(!seven.own.match_client_id && !eight.own.match_client_id && nine.own.match_client_id);
    assert_eq!((eight.renew_timer_s, eight.rebind_timer_s), (Some(100), Some(200)));
    assert_eq!((seven.renew_timer_s, nine.renew_timer_s), (None, None));
    assert_eq!((nine.calculate_tee_times, nine.t1_percent, nine.t2_percent), (true, 0.4, 0.8));
    assert!(config.subnets.iter().all(|s| s.cache_threshold == 0.5));
    assert!(config.subnets.iter().all(|s| s.cache_max_age_s == Some(600)));
    assert_eq!((seven.network, nine.network), (Some(0), None));
    assert_eq!(config.networks[0].subnets, [0, 1]);
}

#[test]
fn relays_and_interfaces_come_from_the_network_unless_the_subnet_has_its_own() {
    let config = shipped("networks-and-relays.conf");
    let address = |last| Ipv4Addr::new(10, 0, 0, last);
    let relays: Vec<_> = config.subnets.iter().map(|s| s.relay_addresses.clone()).collect();
    assert_eq!(relays, [vec![address(1), address(2)], vec![address(3)], vec![]]);
    assert_eq!(config.networks[0].relay_addresses, [address(1), address(2)]);
    let interfaces: Vec<_> = config.subnets.iter().map(|s| s.interface.as_deref()).collect();
    assert_eq!(interfaces, [None, None, Some("lo")]);
    assert_eq!(config.subnets[1].own.next_server, Ipv4Addr::new(10, 9, 9, 9));
    assert_eq!(config.subnets[1].own.server_hostname, "boot");
    assert_eq!(config.subnets[1].own.boot_file_name, "/pxe");
    let pools: Vec<_> = config.subnets[0].pools.iter().map(|p| (p.first, p.last)).collect();
    let host = |last| Ipv4Addr::new(10, 1, 0, last);
    assert_eq!(pools, [(host(0), host(127)), (host(128), host(255))]);
    assert_eq!(config.networks[1].interface.as_deref(), Some("lo"));
}

#[test]
fn automatic_numbers_count_subnets_without_one_networks_first() {
    // kea-dhcp4 2.2.0 refuses 1, 2, 3 and 77 for one more subnet of this file, and takes 4.
    let config = shipped("numbered-automatically.conf");
    let ids: Vec<_> = config.subnets.iter().map(|s| (s.prefix.0.octets()[2], s.id)).collect();
    assert_eq!(ids, [(0, 1), (1, 2), (3, 3), (2, 77)]);
}

#[test]
fn included_files_are_part_of_the_text() {
    let config = shipped("include.conf");
    assert_eq!(config.subnets.len(), 2);
    assert_eq!(config.subnets[1].renew_timer_s, Some(900));
}

#[test]
fn every_other_part_is_read() {
    let config = shipped("everything-else.conf");
    assert!(config.own.authoritative && !config.own.echo_client_id);
    assert_eq!(config.global.decline_probation_period_s, 60);
    let expired = ExpiredLeases {
        reclaim_timer_wait_s: 1,
        flush_reclaimed_timer_wait_s: 2,
        hold_reclaimed_s: 3,
        max_reclaim_leases: 4,
        max_reclaim_time_ms: 5,
        unwarned_reclaim_cycles: 6,
    };
    assert_eq!(config.global.expired_leases, expired);
    let godwit = GodwitSettings {
        durability: Durability::Interval,
        flush_interval_ms: 50,
        shards: Shards::Fixed(2),
        ..GodwitSettings::default()
    };
    assert_eq!(config.global.godwit, godwit);
    assert_eq!(config.global.lease_checks, LeaseChecks::FixDel);
    let database = &config.global.lease_database;
    assert!(!database.persist);
    assert_eq!((database.max_row_errors, database.on_fail), (10, OnFail::ServeRetryContinue));
    let interfaces = &config.interfaces;
    let address = Some(Ipv4Addr::LOCALHOST);
    let lo = InterfaceSelection::Named { name: "lo".to_owned(), address };
    assert_eq!(interfaces.interfaces, [InterfaceSelection::All, lo]);
    assert_eq!(interfaces.own.socket_type, SocketType::Udp);
    assert_eq!(interfaces.own.outbound, OutboundInterface::UseRouting);
    assert!(!interfaces.re_detect && interfaces.require_all_sockets);
    assert_eq!((interfaces.socket_max_retries, interfaces.socket_retry_wait_ms), (2, 100));
    let [logger] = &config.global.loggers[..] else { panic!("one logger") };
    assert_eq!((logger.severity, logger.debug_level), (LogSeverity::Debug, 40));
    let [output] = &logger.outputs[..] else { panic!("one output") };
    assert_eq!(output.destination, LogDestination::Stdout);
    assert_eq!((output.max_size_bytes, output.max_versions), (1_048_576, 4));
    assert_eq!(output.pattern, "%-5p %m\n");
}
