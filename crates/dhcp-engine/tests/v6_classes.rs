//! Client classes of DHCPv6: guards, DROP and REJECT, lifetimes, options, additional classes.

use crate::common;
use crate::common::v6::{Dhcp6MessageBuilder, RELAY, Server, address};
use dhcp_engine::StatisticEvent;
use dhcp_engine::v6::DropReason;
use dhcp_wire::v6::{IaKind, MessageType, StatusCode, option};

/// Returns a configuration with these classes around one subnet with `inner`.
fn config(classes: &str, inner: &str) -> String {
    format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "*" ] }},
            "preferred-lifetime": 600, "valid-lifetime": 1000, "cache-threshold": 0.0,
            "client-classes": [ {classes} ],
            "option-data": [ {{ "name": "dns-servers", "data": "2001:db8::1" }} ],
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", {inner} }} ] }} }}"#
    )
}

/// Class `gold`, of clients that send this user class.
const GOLD: &str = r#"{ "name": "gold", "test": "option[15].hex == 0x0001aa" }"#;
const POOL: &str = r#""pools": [ { "pool": "2001:db8:1::10-2001:db8:1::1f" } ]"#;

fn solicit(n: u16) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(MessageType::Solicit, n).na(1, &[])
}

fn gold(build: Dhcp6MessageBuilder) -> Dhcp6MessageBuilder {
    build.option(option::USER_CLASS, &[0, 1, 0xaa])
}

#[test]
fn pools_are_open_to_those_in_their_classes() {
    let pools = r#""pools": [ { "pool": "2001:db8:1::10/128", "client-classes": [ "gold" ] },
                              { "pool": "2001:db8:1::20/128" } ]"#;
    let mut server = Server::new(&config(GOLD, pools));
    assert_eq!(server.ask(&solicit(1)).leased(0), address(0x20));
    assert_eq!(server.ask(&gold(solicit(2))).leased(0), address(0x10));
    // A requested address in a pool that is not open is not granted, and a lease of it is not
    // extended.
    let solicitation = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(1, &[address(0x10)]);
    assert_eq!(server.ask(&solicitation).leased(0), address(0x20));
    let request =
        Dhcp6MessageBuilder::new(MessageType::Request, 2).for_us().na(1, &[address(0x10)]);
    assert_eq!(server.ask(&gold(request)).leased(0), address(0x10));
    let renew = Dhcp6MessageBuilder::new(MessageType::Renew, 2).for_us().na(1, &[address(0x10)]);
    let moved = server.ask(&renew);
    let expected = [(address(0x20), 128, 600, 1000), (address(0x10), 128, 0, 0)];
    assert_eq!(moved.ias[0].leased, expected);
    assert_eq!(server.ask(&gold(solicit(3))).leased(0), address(0x10));
}

#[test]
fn a_subnet_that_is_not_open_is_not_selected() {
    let mut server =
        Server::new(&config(GOLD, &format!(r#""client-classes": [ "gold" ], {POOL}"#)));
    let refused = server.ask(&solicit(1));
    assert_eq!(refused.statuses(), [Some(StatusCode::NoAddrsAvail)]);
    assert_eq!(server.ask(&gold(solicit(2))).leased(0), address(0x10));
}

#[test]
fn prefix_pools_have_guards_too() {
    let inner = r#""pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 56,
        "delegated-len": 64, "client-classes": [ "gold" ] } ]"#;
    let mut server = Server::new(&config(GOLD, inner));
    let pd = |n| Dhcp6MessageBuilder::new(MessageType::Solicit, n).pd(1, &[]);
    assert_eq!(server.ask(&pd(1)).statuses(), [Some(StatusCode::NoPrefixAvail)]);
    assert_eq!(server.ask(&gold(pd(2))).ias[0].leased.len(), 1);
    let counted = |event| server.counters[0].events().total(event);
    assert_eq!(counted(StatisticEvent::AllocationFailNoPools), 1);
    assert_eq!(counted(StatisticEvent::AllocationFail), 0);
    assert_eq!(counted(StatisticEvent::AllocationFailSubnet), 1);
}

#[test]
fn drop_is_silent_and_reject_refuses_each_association() {
    let drop = r#"{ "name": "DROP", "test": "option[15].exists" }"#;
    let mut server = Server::new(&config(drop, POOL));
    server.tell(&gold(solicit(1)));
    assert_eq!(server.dropped(DropReason::Filtered), 1);

    let reject = r#"{ "name": "REJECT", "test": "option[15].exists" }"#;
    let mut server = Server::new(&config(reject, POOL));
    let refused = server.ask(&gold(solicit(1).pd(2, &[])));
    assert_eq!(refused.kind, MessageType::Advertise);
    let expected = [Some(StatusCode::NoAddrsAvail), Some(StatusCode::NoPrefixAvail)];
    assert_eq!(refused.statuses(), expected);
    let renew = Dhcp6MessageBuilder::new(MessageType::Renew, 1).for_us().na(1, &[address(0x10)]);
    let refused = server.ask(&gold(renew));
    assert_eq!(refused.statuses(), [Some(StatusCode::NoAddrsAvail)]);
    assert!(refused.ias[0].leased.is_empty());
    assert_eq!(server.ask(&solicit(2)).leased(0), address(0x10));
}

#[test]
fn unknown_clients_may_be_dropped() {
    let drop = r#"{ "name": "DROP", "test": "member('UNKNOWN')" }"#;
    let host = r#""reservations": [ { "duid": "00:03:00:01:02:00:00:00:00:01" } ]"#;
    let mut server = Server::new(&config(drop, &format!("{POOL}, {host}")));
    assert_eq!(server.ask(&solicit(1)).leased(0), address(0x10));
    server.tell(&solicit(2));
    assert_eq!(server.dropped(DropReason::Filtered), 1);
}

#[test]
fn the_first_class_with_a_lifetime_gives_it() {
    let classes = r#"{ "name": "first", "test": "option[15].exists", "valid-lifetime": 500,
            "min-valid-lifetime": 400, "max-valid-lifetime": 550 },
        { "name": "second", "test": "option[15].exists", "valid-lifetime": 50,
            "preferred-lifetime": 300 }"#;
    let mut server = Server::new(&config(classes, POOL));
    let lifetimes = |answer: common::v6::ParsedDhcp6Reply| {
        let (.., preferred_s, valid_s) = answer.ias[0].leased[0];
        (preferred_s, valid_s)
    };
    assert_eq!(lifetimes(server.ask(&gold(solicit(1)))), (300, 500));
    assert_eq!(lifetimes(server.ask(&solicit(2))), (600, 1000));
    let solicitation = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).ia(
        IaKind::Na,
        1,
        &[(address(0x10), 128, 0, 9000)],
    );
    assert_eq!(lifetimes(server.ask(&gold(solicitation))), (300, 550));
}

/// Returns option 23 of an answer, by the last group of its one address.
fn resolver(answer: &common::v6::ParsedDhcp6Reply) -> Option<u8> {
    answer.option(option::DNS_SERVERS).map(|octets| octets[15])
}

#[test]
fn options_come_from_the_nearest_scope_and_classes_from_the_first() {
    let dns = |last: u8| {
        format!(r#""option-data": [ {{ "name": "dns-servers", "data": "2001:db8::{last}" }} ]"#)
    };
    let classes = format!(
        r#"{{ "name": "a", "test": "option[15].exists", {} }},
           {{ "name": "b", "test": "option[15].exists", {} }},
           {{ "name": "late", "only-in-additional-list": true, {} }}"#,
        dns(2),
        dns(3),
        dns(4)
    );
    let requesting = |n| solicit(n).wants(&[option::DNS_SERVERS]);
    let additional = r#""evaluate-additional-classes": [ "late" ]"#;

    let mut server = Server::new(&config(&classes, POOL));
    assert_eq!(resolver(&server.ask(&requesting(1))), Some(1));
    assert_eq!(resolver(&server.ask(&gold(requesting(2)))), Some(2));
    assert_eq!(resolver(&server.ask(&gold(solicit(2)))), None);

    let mut server = Server::new(&config(&classes, &format!("{additional}, {POOL}")));
    assert_eq!(resolver(&server.ask(&requesting(1))), Some(4));
    assert_eq!(resolver(&server.ask(&gold(requesting(2)))), Some(2));

    let mut server = Server::new(&config(&classes, &format!("{}, {POOL}", dns(5))));
    assert_eq!(resolver(&server.ask(&gold(requesting(1)))), Some(5));
    let pool = r#""pools": [ { "pool": "2001:db8:1::10/128", "option-data": [
        { "name": "dns-servers", "data": "2001:db8::6" } ] } ]"#;
    let mut server = Server::new(&config(&classes, &format!("{}, {pool}", dns(5))));
    assert_eq!(resolver(&server.ask(&gold(requesting(1)))), Some(6));
}

#[test]
fn vendors_options_go_to_their_clients() {
    let options = r#""option-data": [
        { "name": "vendor-opts", "data": "4491" },
        { "space": "vendor-4491", "code": 2000, "csv-format": false, "data": "0a0b" },
        { "space": "vendor-4491", "code": 2001, "csv-format": false, "data": "0c", "always-send": true } ]"#;
    let mut server = Server::new(&config("", &format!("{options}, {POOL}")));
    let vendor_options = |server: &mut Server, build: Dhcp6MessageBuilder| {
        server.ask(&build).option(option::VENDOR_OPTS).map(<[u8]>::to_vec)
    };
    assert_eq!(vendor_options(&mut server, solicit(1)), None);
    let always = [0, 0, 0x11, 0x8b, 7, 0xd1, 0, 1, 0x0c];
    assert_eq!(
        vendor_options(&mut server, solicit(1).wants(&[option::VENDOR_OPTS])).unwrap(),
        always
    );
    // A CableLabs device requests options inside of its own vendor options.
    let asking = [0, 0, 0x11, 0x8b, 0, 1, 0, 2, 7, 0xd0];
    let both = [&always[..4], &[7, 0xd0, 0, 2, 0x0a, 0x0b], &always[4..]].concat();
    assert_eq!(
        vendor_options(&mut server, solicit(1).option(option::VENDOR_OPTS, &asking)).unwrap(),
        both
    );
}

#[test]
fn relayed_options_and_addresses_are_seen_by_tests() {
    let class = r#"{ "name": "gold", "test": "relay6[0].option[18].hex == 'port'" }"#;
    let mut server =
        Server::new(&config(class, &format!(r#""client-classes": [ "gold" ], {POOL}"#)));
    let through = |id: &[u8]| solicit(1).through(&[(RELAY, &[(option::INTERFACE_ID, id)])]);
    assert_eq!(server.ask(&through(b"port")).leased(0), address(0x10));
    assert_eq!(server.ask(&through(b"other")).statuses(), [Some(StatusCode::NoAddrsAvail)]);
}
