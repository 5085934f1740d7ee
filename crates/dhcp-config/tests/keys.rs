//! Tests of keys of the server as a whole and of its scopes, beyond the terms of leases: their
//! effects, their inheritance, their checks, and the unsupported features among them.

use core::net::{IpAddr, Ipv4Addr};

use crate::common::{accepted, accepted6, check_marked, problems, problems6};
use dhcp_config::{
    AllocatorKind, AuthenticatedClient, CharacterSet, ControlSocket, Dhcp4, Dhcp6,
    ExtendedInfoChecks, GodwitHostsDatabases, Hook, IdentifierKind, LeaseDatabase, MacSource,
    NameKeys, NameUpdateKeys, OnFail, ReplaceName, ReservationModes, SecretSource, Shards,
    SqlDatabase, SqlKind, SqlTls, SslMode, TlsFiles,
};

fn global(marked: &str, expected: &[&str]) {
    check_marked(problems, &format!("{{ \"Dhcp4\": {{\n {marked}\n}} }}"), expected);
}

fn global6(marked: &str, expected: &[&str]) {
    check_marked(problems6, &format!("{{ \"Dhcp6\": {{\n {marked}\n}} }}"), expected);
}

fn dhcp4(text: &str) -> Dhcp4 {
    accepted(&format!(r#"{{ "Dhcp4": {{ {text} }} }}"#)).config
}

fn dhcp6(text: &str) -> Dhcp6 {
    accepted6(&format!(r#"{{ "Dhcp6": {{ {text} }} }}"#)).config
}

/// Returns the names of unsupported features that are configured; a `!` marks those that keep the
/// server from starting.
fn inactive(text: &str) -> Vec<String> {
    let mark = |dangerous| if dangerous { "!" } else { "" };
    let features = dhcp4(text).global.inactive.into_iter();
    features.map(|feature| format!("{}{}", feature.name, mark(feature.is_dangerous))).collect()
}

#[test]
fn keas_defaults_hold() {
    let config = dhcp4(r#""subnet4": [ { "id": 1, "subnet": "10.0.0.0/8" } ]"#);
    let kinds = [
        IdentifierKind::HardwareAddress,
        IdentifierKind::Duid,
        IdentifierKind::CircuitId,
        IdentifierKind::ClientId,
    ];
    assert_eq!(config.global.host_identifiers, kinds);
    let modes = ReservationModes { global: false, in_subnet: true, out_of_pool: false };
    assert_eq!((config.reservation_modes, config.subnets[0].reservation_modes), (modes, modes));
    assert!(
        config.global.ip_reservations_unique && !config.global.early_global_reservations_lookup
    );
    assert!(!config.own.stash_agent_options);
    assert_eq!((config.global.samples.count, config.global.samples.age_s), (20, 0));
    assert_eq!(config.global.extended_info_checks, ExtendedInfoChecks::Fix);
    assert_eq!((&config.global.control_sockets[..], &config.global.hooks[..]), (&[][..], &[][..]));
    assert_eq!((config.global.server_tag.as_str(), &config.global.inactive[..]), ("", &[][..]));
    let subnet = &config.subnets[0];
    assert_eq!(subnet.allocator, AllocatorKind::Iterative);
    assert_eq!(subnet.adaptive_lease_time_threshold, 1.0);
    assert!(!subnet.store_extended_info);

    let config = dhcp6("");
    assert_eq!(
        config.global.host_identifiers,
        [IdentifierKind::HardwareAddress, IdentifierKind::Duid]
    );
    assert!(config.own.allow_address_registration);
    assert_eq!(config.own.mac_sources.len(), 8);
}

#[test]
fn policies_are_inherited_key_by_key() {
    let config = dhcp4(
        r#""reservations-global": true, "allocator": "random", "store-extended-info": true,
        "shared-networks": [ { "name": "n", "reservations-in-subnet": false, "allocator": "flq",
          "adaptive-lease-time-threshold": 0.5, "subnet4": [
            { "id": 1, "subnet": "10.0.0.0/24", "reservations-global": false },
            { "id": 2, "subnet": "10.0.1.0/24", "reservations-in-subnet": true,
              "reservations-out-of-pool": true, "store-extended-info": false } ] } ],
        "subnet4": [ { "id": 3, "subnet": "10.0.2.0/24", "reservation-mode": "out-of-pool" },
          { "id": 4, "subnet": "10.0.3.0/24", "reservation-mode": "disabled" } ]"#,
    );
    let modes =
        |global, in_subnet, out_of_pool| ReservationModes { global, in_subnet, out_of_pool };
    let actual: Vec<_> = config.subnets.iter().map(|subnet| subnet.reservation_modes).collect();
    let expected = [
        modes(false, false, false),
        modes(true, true, true),
        modes(false, true, true),
        modes(false, false, false),
    ];
    assert_eq!(actual, expected);
    assert_eq!(config.reservation_modes, modes(true, true, false));
    let actual: Vec<_> = config
        .subnets
        .iter()
        .map(|s| (s.allocator, s.adaptive_lease_time_threshold, s.store_extended_info))
        .collect();
    let expected = [
        (AllocatorKind::FreeLeaseQueue, 0.5, true),
        (AllocatorKind::FreeLeaseQueue, 0.5, false),
        (AllocatorKind::Random, 1.0, true),
        (AllocatorKind::Random, 1.0, true),
    ];
    assert_eq!(actual, expected);

    let config = dhcp6(
        r#""pd-allocator": "random", "subnet6": [ { "id": 1, "subnet": "2001:db8::/64" },
        { "id": 2, "subnet": "2001:db9::/64", "pd-allocator": "flq", "allocator": "random" } ]"#,
    );
    let actual: Vec<_> = config.subnets.iter().map(|s| (s.allocator, s.own.pd_allocator)).collect();
    let expected = [
        (AllocatorKind::Iterative, AllocatorKind::Random),
        (AllocatorKind::Random, AllocatorKind::FreeLeaseQueue),
    ];
    assert_eq!(actual, expected);
}

#[test]
fn policies_are_checked() {
    global(
        r#""allocator": ^"fast", "adaptive-lease-time-threshold": ^0.0, "reservation-mode": "all",
         "reservations-global": ^false, "host-reservation-identifiers": [ "duid", ^"duid", ^"mac" ]"#,
        &[
            "error `allocator` cannot be `fast`",
            "error `adaptive-lease-time-threshold` is 0",
            "error `reservations-global` and the older `reservation-mode` exclude each other",
            "error `duid` repeats an identifier of this list",
            "error `host-reservation-identifiers` cannot hold `mac`",
        ],
    );
    let empty = r#""host-reservation-identifiers": ^[ ]"#;
    global(empty, &["error `host-reservation-identifiers` is empty"]);
    global6(
        r#""host-reservation-identifiers": [ "auto", ^"duid", ^"circuit-id" ]"#,
        &[
            "error `duid` repeats an identifier of this list",
            "error `host-reservation-identifiers` cannot hold `circuit-id`",
        ],
    );
    let kinds = dhcp4(r#""host-reservation-identifiers": [ "auto" ]"#).global.host_identifiers;
    assert_eq!((kinds.len(), kinds.last()), (5, Some(&IdentifierKind::FlexId)));
    let kinds =
        dhcp4(r#""host-reservation-identifiers": [ "flex-id", "duid" ]"#).global.host_identifiers;
    assert_eq!(kinds, [IdentifierKind::FlexId, IdentifierKind::Duid]);
}

/// Checks that without `shards` the number of threads is that of `multi-threading`, which is on by
/// default.
#[test]
fn threads_follow_multi_threading() {
    let threads = |text: &str| [dhcp4(text).global.godwit.shards, dhcp6(text).global.godwit.shards];
    let own = r#""user-context": { "godwit": { "shards": 5 } }"#;
    for (text, expected) in [
        ("", Shards::Processors),
        (r#""multi-threading": {}"#, Shards::Processors),
        (r#""multi-threading": { "thread-pool-size": 0 }"#, Shards::Processors),
        (r#""multi-threading": { "thread-pool-size": 3 }"#, Shards::Fixed(3)),
        (r#""multi-threading": { "thread-pool-size": 65535 }"#, Shards::Fixed(1024)),
        (
            r#""multi-threading": { "enable-multi-threading": true, "thread-pool-size": 4 }"#,
            Shards::Fixed(4),
        ),
        (
            r#""multi-threading": { "enable-multi-threading": false, "thread-pool-size": 4 }"#,
            Shards::Fixed(1),
        ),
    ] {
        assert_eq!(threads(text), [expected; 2], "{text}");
        let separator = if text.is_empty() { "" } else { "," };
        assert_eq!(threads(&format!("{text}{separator} {own}")), [Shards::Fixed(5); 2], "{text}");
    }
}

#[test]
fn global_values_are_kept() {
    let config = dhcp4(
        r#""ip-reservations-unique": false, "early-global-reservations-lookup": true,
        "stash-agent-options": true, "server-tag": "t", "statistic-default-sample-count": 5,
        "statistic-default-sample-age": 60, "sanity-checks": { "extended-info-checks": "strict" },
        "compatibility": { "ignore-rai-link-selection": true }, "reservations-lookup-first": true,
        "parked-packet-limit": 8, "dhcp-queue-control": { "enable-queue": true, "queue-type": "q",
        "own": [ 1 ] }, "multi-threading": { "enable-multi-threading": true }"#,
    );
    assert!(
        !config.global.ip_reservations_unique && config.global.early_global_reservations_lookup
    );
    assert!(config.own.stash_agent_options && config.compatibility.ignore_rai_link_selection);
    assert_eq!((config.global.samples.count, config.global.samples.age_s), (5, 60));
    assert_eq!(config.global.extended_info_checks, ExtendedInfoChecks::Strict);
    assert_eq!(config.global.server_tag, "t");
    let config = dhcp6(
        r#""allow-address-registration": false, "compatibility": { "lenient-option-parsing": true },
        "mac-sources": [ "rfc6939", "client-link-addr-option", "duid" ]"#,
    );
    assert!(!config.own.allow_address_registration && config.compatibility.lenient_option_parsing);
    assert_eq!(config.own.mac_sources, [MacSource::ClientLinkAddress, MacSource::Duid]);
}

#[test]
fn control_sockets_are_read() {
    let config = dhcp4(
        r#""control-sockets": [ { "socket-type": "unix", "socket-name": "kea4.sock" },
        { "socket-type": "http" },
        { "socket-type": "https", "socket-address": "::", "socket-port": 8443, "trust-anchor": "ca",
          "cert-file": "c", "key-file": "k", "cert-required": false,
          "http-headers": [ { "name": "Strict-Transport-Security", "value": "max-age=1" } ],
          "authentication": { "type": "basic", "realm": "r", "directory": "/d", "clients": [
            { "user": "a", "password": "b", "comment": "first" }, { "user-file": "u", "password-file": "p" },
            { "password-file": "both" }, { "user": "c" } ] } } ]"#,
    );
    let [unix, http, https] = &config.global.control_sockets[..] else { panic!("three sockets") };
    assert_eq!(*unix, ControlSocket::Unix("kea4.sock".to_owned()));
    let ControlSocket::Http(http) = http else { panic!("{http:?}") };
    assert_eq!((http.address, http.port), (IpAddr::from([127, 0, 0, 1]), 8000));
    assert!(http.tls.is_none() && http.authentication.is_none() && http.headers.is_empty());
    let ControlSocket::Http(https) = https else { panic!("{https:?}") };
    assert_eq!((https.address, https.port), (IpAddr::from([0u16; 8]), 8443));
    let tls = TlsFiles {
        trust_anchor: "ca".to_owned(),
        certificate: "c".to_owned(),
        key: "k".to_owned(),
        is_client_certificate_required: false,
    };
    assert_eq!(https.tls, Some(tls));
    let header = ("Strict-Transport-Security".to_owned(), "max-age=1".to_owned());
    assert_eq!(https.headers, [header]);
    let authentication = https.authentication.as_ref().expect("it is set");
    assert_eq!(
        (authentication.realm.as_str(), authentication.directory.as_deref()),
        ("r", Some("/d"))
    );
    let text = |text: &str| SecretSource::Text(text.to_owned());
    let file = |path: &str| SecretSource::File(path.to_owned());
    let expected = [
        (text("a"), text("b")),
        (file("u"), file("p")),
        (text(""), file("both")),
        (text("c"), text("")),
    ];
    let expected = expected.map(|(user, password)| AuthenticatedClient { user, password });
    assert_eq!(authentication.clients, expected);

    let config = dhcp4(r#""control-socket": { "socket-type": "unix", "socket-name": "/run/s" }"#);
    assert_eq!(config.global.control_sockets, [ControlSocket::Unix("/run/s".to_owned())]);
}

#[test]
fn control_sockets_are_checked() {
    global(
        r#""control-sockets": [ ^{ }, { "socket-type": ^"tcp" }, ^{ "socket-type": "unix",
         ^"socket-port": 1 }, { "socket-type": "unix", "socket-name": ^"" }, ^7,
         { "socket-type": "unix", "socket-name": "a" }, ^{ "socket-type": "unix", "socket-name": "b" },
         ^{ "socket-type": "http", ^"socket-name": "a", "socket-address": ^"here",
         "socket-port": ^65536, "cert-file": "c" }, ^{ "socket-type": "https", "socket-port": 9 },
         ^{ "socket-type": "http", "socket-address": "0.0.0.0", "socket-port": 1 },
         ^{ "socket-type": "http", "socket-address": "0.0.0.0", "socket-port": 1,
         "http-headers": [ ^{ "value": "x" }, { "name": ^"a b", "value": "x" },
         { "name": "a", "value": ^"x\n" } ], "authentication": { "type": ^"digest", "clients": [
         ^{ "password": "x" }, { "user": ^"a:b" }, { "user": "a", "user-file": ^"a" }, ^1 ] } } ]"#,
        &[
            "error a control socket lacks `socket-type`",
            "error `socket-type` cannot be `tcp`",
            "error a `unix` control socket lacks `socket-name`",
            "error `socket-port` has no meaning for a `unix` control socket",
            "error `socket-name` is empty",
            "error a control socket must be a map, not an integer",
            "error there is a `unix` control socket already",
            "error a control socket with TLS lacks `trust-anchor`, `key-file`",
            "error `socket-name` is for a `unix` control socket",
            "error `socket-address`: `here` is not an address",
            "error `socket-port` is 65536; it must be from 0 to 65535",
            "error a control socket with TLS lacks `trust-anchor`, `cert-file`, `key-file`",
            "warning every client that can reach 0.0.0.0 may send commands",
            "error a control socket has 0.0.0.0 and port 1 already",
            "error a header lacks `name`",
            "error `a b` is not the name of a header",
            "error the value of a header cannot hold control characters",
            "error `type` cannot be `digest`",
            "error a client lacks `user`",
            "error `user` must not be empty and cannot hold `:`",
            "error `user-file` and `user` exclude each other",
            "error a client must be a map, not an integer",
        ],
    );
    global(
        r#""control-sockets": [], ^"control-socket": ^3"#,
        &[
            "error `control-socket` is the older form of `control-sockets`",
            "error `control-socket` must be a map, not an integer",
        ],
    );
}

#[test]
fn hooks_of_kea_are_built_in() {
    let library =
        |name: &str| format!(r#"{{ "library": "/usr/lib/kea/hooks/libdhcp_{name}.so" }}"#);
    let names = [
        "bootp",
        "class_cmds",
        "host_cmds",
        "lease_cmds",
        "mysql",
        "pgsql",
        "stat_cmds",
        "subnet_cmds",
    ];
    let list = names.map(library).join(", ");
    let config = dhcp4(&format!(
        r#""hooks-libraries": [ {list}, {{ "library": "libdhcp_flex_id.so", "parameters": {{
        "identifier-expression": "pkt4.mac", "replace-client-id": true, "cid-as-rfc4361-duid": true }} }} ]"#
    ));
    let hooks = [
        Hook::Bootp,
        Hook::ClassCommands,
        Hook::HostCommands,
        Hook::LeaseCommands,
        Hook::Mysql,
        Hook::Pgsql,
        Hook::StatCommands,
        Hook::SubnetCommands,
        Hook::FlexId,
    ];
    assert_eq!((&config.global.hooks[..], &config.global.inactive[..]), (&hooks[..], &[][..]));
    assert!(config.global.flex_id.expression.is_some());
    assert!(config.global.flex_id.replaces_client_id && !config.global.flex_id.ignores_iaid);
    assert!(config.global.flex_id.is_like_a_duid);
}

#[test]
fn run_script_has_a_script_and_keas_errors() {
    let library = |parameters: &str| {
        format!(r#""hooks-libraries": [ {{ "library": "libdhcp_run_script.so"{parameters} }} ]"#)
    };
    let config = dhcp4(&library(r#", "parameters": { "name": "x.sh", "sync": true }"#));
    assert_eq!(config.global.hooks, [Hook::RunScript]);
    assert_eq!(config.global.run_script.map(|script| script.name).as_deref(), Some("x.sh"));
    global(
        r#""hooks-libraries": [ { "library": ^"libdhcp_run_script.so", "parameters": { } } ]"#,
        &["error The 'name' parameter is mandatory"],
    );
    global(
        r#""hooks-libraries": [ { "library": "libdhcp_run_script.so",
            "parameters": { "name": ^5, "sync": ^"x" } } ]"#,
        &[
            "error The 'name' parameter must be a string",
            "error The 'sync' parameter must be a boolean",
        ],
    );
    global(
        r#""hooks-libraries": [ { "library": "libdhcp_run_script.so",
            "parameters": { "name": "x", ^"other": 1 } } ]"#,
        &["warning run_script has no parameter `other`"],
    );
}

#[test]
fn hooks_that_are_not_built_in_are_told() {
    let library =
        |name: &str| format!(r#"{{ "library": "/usr/lib/kea/hooks/libdhcp_{name}.so" }}"#);
    for (name, feature) in [
        ("cb_cmds", "cb-cmds"),
        ("flex_option", "flex-option"),
        ("gss_tsig", "gss-tsig"),
        ("ha", "high-availability!"),
        ("host_cache", "host-cache"),
        ("limits", "limits"),
        ("mysql_cb", "config-backend-library"),
        ("perfmon", "perfmon"),
        ("pgsql_cb", "config-backend-library"),
        ("ping_check", "ping-check"),
        ("radius", "radius"),
        ("rbac", "rbac"),
        ("user_chk", "user-chk"),
    ] {
        let text = format!(r#""hooks-libraries": [ {} ]"#, library(name));
        assert_eq!(inactive(&text), [feature]);
    }
    let strangers =
        r#""hooks-libraries": [ { "library": "/opt/own.so" }, { "library": "own.so" } ]"#;
    assert_eq!(inactive(strangers), ["unknown-hook!"]);
    global(
        r#""hooks-libraries": [ ^{ }, ^1, { "library": ^"libdhcp_lease_cmd.so" },
         { "library": "libdhcp_lease_cmds.so", "parameters": { ^"what": 1 } },
         { "library": ^"libdhcp_lease_cmds.so" }, { "library": "libdhcp_flex_id.so",
         "parameters": { ^"what": 1, "replace-client-id": ^1, "identifier-expression": "pkt4.^what" } } ]"#,
        &[
            "error a hook library lacks `library`",
            "error a hook library must be a map, not an integer",
            "error unknown hook library `libdhcp_lease_cmd.so`",
            "warning this hook library has no parameter `what`",
            "warning this hook library is loaded already",
            "error unknown key `what` in the parameters of flex-id",
            "error `replace-client-id` must be `true` or `false`, not an integer",
            "error `w` is not allowed here",
        ],
    );
    global6(
        r#""hooks-libraries": [ { "library": ^"libdhcp_bootp.so" } ]"#,
        &["error the BOOTP library is for DHCPv4"],
    );
}

#[test]
fn what_is_inactive_is_told_once() {
    for (text, feature) in [
        (r#""config-control": { "config-databases": [ { "type": "mysql" } ] }"#, "config-backend!"),
        (r#""dhcp4o6-port": 6767"#, "dhcp4o6"),
        (
            r#""subnet4": [ { "id": 1, "subnet": "10.0.0.0/8", "4o6-subnet": "2001:db8::/32" } ]"#,
            "dhcp4o6",
        ),
        (r#""allocator": "shared-flq""#, "shared-flq"),
    ] {
        assert_eq!(inactive(text), [feature], "{text}");
    }
}

#[test]
fn what_shapes_names_is_inherited() {
    let config = dhcp4(
        r#""ddns-qualifying-suffix": "a", "ddns-generated-prefix": "p",
         "hostname-char-replacement": "-", "subnet4": [ { "id": 1,
         "subnet": "10.0.0.0/8", "ddns-replace-client-name": "when-not-present",
         "pools": [ { "pool": "10.0.0.0/24", "ddns-qualifying-suffix": "" } ] } ]"#,
    );
    assert!(config.global.inactive.is_empty());
    let subnet = &config.subnets[0];
    let expected = NameKeys {
        replace: Some(ReplaceName::WhenNotPresent),
        generated_prefix: Some("p".to_owned()),
        qualifying_suffix: Some("a".to_owned()),
        character_set: Some(CharacterSet::default()),
        character_replacement: Some("-".to_owned()),
        updates: NameUpdateKeys {
            sends: Some(true),
            overrides_no_update: Some(false),
            overrides_client_update: Some(false),
            updates_on_renew: Some(false),
            conflict_mode: Some(Default::default()),
            ..NameUpdateKeys::default()
        },
    };
    assert_eq!(subnet.names, expected);
    let own = NameKeys { qualifying_suffix: Some(String::new()), ..NameKeys::default() };
    assert_eq!(subnet.pools[0].names, own);
}

#[test]
fn characters_that_do_not_count_are_told_of() {
    let text = r#""hostname-char-replacement": ^"$1", "subnet4": [ { "id": 1,
        "subnet": "10.0.0.0/8", "hostname-char-replacement": "$&$$", "pools": [ {
        "pool": "10.0.0.0/24", "hostname-char-set": ^"x", "hostname-char-replacement": ^"y" } ] } ]"#;
    let expected = [
        "warning `hostname-char-replacement` names a group of `hostname-char-set`",
        "warning `hostname-char-set` has no effect in a pool",
        "warning `hostname-char-replacement` has no effect in a pool",
    ];
    global(text, &expected);
    global6(
        r#""hostname-char-set": ^"(.{99}){99999}""#,
        &["error `hostname-char-set` is not a \
        regular expression: it needs an automaton above a mebibyte, or nests too deeply"],
    );
}

#[test]
fn databases_are_checked() {
    global(
        r#""lease-database": { "type": "memfile", "read-timeout": ^5, ^"tcp-user-timeout": 0 },
         "hosts-databases": [ { "type": "mysql", "port": ^70000, "tcp-user-timeout": ^1,
         "password": "x", "password-file": ^"y" }, ^{ "type": "memfile" }, ^{ }, ^1 ],
         "config-control": { "config-fetch-wait-time": ^65536, "config-databases": [ {
         "type": ^"sqlite", "ssl-mode": ^"maybe", "readonly": ^1, "cipher-list": ^2 } ] }"#,
        &[
            "error `read-timeout` is for `mysql` databases",
            "warning `tcp-user-timeout` has no effect on a memfile",
            "error `port` is 70000; it must be from 0 to 65535",
            "error `tcp-user-timeout` is for `postgresql` databases",
            "error `password-file` and `password` exclude each other",
            "error a hosts database cannot be a `memfile`",
            "error a hosts database lacks `type`",
            "error a hosts database must be a map, not an integer",
            "error `config-fetch-wait-time` is 65536; it must be from 0 to 65535",
            "error unknown kind of database `sqlite`",
            "error `ssl-mode` cannot be `maybe`",
            "error `readonly` must be `true` or `false`, not an integer",
            "error `cipher-list` must be a string, not an integer",
        ],
    );
    global(
        r#"^"hosts-database": ^{ "type": "memfile" }, "hosts-databases": []"#,
        &[
            "error `hosts-database` is the older form of `hosts-databases`",
            "error a hosts database cannot be a `memfile`",
        ],
    );
}

#[test]
fn webhooks_are_read() {
    let config = dhcp6(
        r#""user-context": { "godwit": { "webhooks": [
               { "url": "https://a.example/x" },
               { "url": "http://[::1]:8080", "max-backlog": 300, "timeout-ms": 200 },
               { "url": "https://b", "trust-anchor": "ca", "cert-file": "c", "key-file": "k",
                 "user": "u", "password-file": "p" }
           ] } }"#,
    );
    let [first, second, third] = &config.global.godwit.webhooks[..] else { panic!("{config:?}") };
    assert_eq!(
        (&*first.host, first.port, &*first.path, first.is_tls),
        ("a.example", 443, "/x", true)
    );
    assert_eq!((first.backlog_max, first.timeout_ms), (16_384, 10_000));
    assert_eq!((&*second.host, second.port, &*second.path), ("::1", 8080, "/"));
    assert_eq!((second.backlog_max, second.timeout_ms, second.is_tls), (300, 200, false));
    assert_eq!(third.trust_anchor, "ca");
    assert_eq!(third.identity, Some(("c".to_owned(), "k".to_owned())));
    assert_eq!(third.credentials, Some(("u".to_owned(), "p".to_owned())));
    global(
        r#""user-context": { "godwit": { "webhooks": [
               ^{ },
               { "url": ^"a.example" },
               { "url": "https://a", "cert-file": ^"c", "max-backlog": ^1, ^"what": 1 },
               { "url": ^"http://a", "trust-anchor": ^"c", "user": "u", "password-file": "p" }
           ] } }"#,
        &[
            "error a webhook lacks `url`",
            "error `a.example` is not a URL of a webhook",
            "error `cert-file` and `key-file` are set together or not at all",
            "error `max-backlog` is 1; it must be from 256 to 32768",
            "error unknown key `what` in a webhook",
            "warning the password goes over the network in clear",
            "warning `trust-anchor` has no effect with `http`",
        ],
    );
}

#[test]
fn hosts_databases_are_read() {
    let mysql = SqlDatabase { user: "x".to_owned(), ..SqlDatabase::new(SqlKind::Mysql, "kea") };
    let config = dhcp4(r#""hosts-database": { "type": "mysql", "user": "x" }"#);
    assert_eq!(config.global.hosts_databases, std::slice::from_ref(&mysql));
    assert!(config.global.inactive.is_empty());
    assert_eq!(config.global.godwit.hosts_databases, GodwitHostsDatabases::default());
    let config = dhcp6(
        r#""hosts-databases": [ { "type": "postgresql", "name": "h", "readonly": true },
                                { "type": "mysql", "user": "x" } ],
           "user-context": { "godwit": { "hosts-databases": { "cache-keys": 40000,
                                                              "cache-lifetime-ms": 100 } } }"#,
    );
    let first = SqlDatabase { is_readonly: true, ..SqlDatabase::new(SqlKind::Postgresql, "h") };
    assert_eq!(config.global.hosts_databases, [first, mysql]);
    let expected = GodwitHostsDatabases { cache_keys: 40_000, cache_lifetime_ms: 100 };
    assert_eq!(config.global.godwit.hosts_databases, expected);
    global(
        r#""user-context": { "godwit": { "hosts-databases": { "cache-keys": ^7,
                                         "cache-lifetime-ms": ^99, ^"what": 1 } } }"#,
        &[
            "error `cache-keys` is 7; it must be from 32768 to 268435456",
            "error `cache-lifetime-ms` is 99; it must be from 100 to 3600000",
            "error unknown key `what` in `hosts-databases` of `godwit`",
        ],
    );
}

#[test]
fn hosts_of_databases_are_read_by_the_definitions_of_the_configuration() {
    let definitions = r#"[ { "name": "own", "code": 222, "type": "uint16" } ]"#;
    let host = r#"{ "client-id": "01:02", "ip-address": "192.0.2.7", "hostname": "a",
                    "client-classes": [ "gold" ],
                    "option-data": [ { "code": 222, "data": "258" },
                                     { "code": 6, "csv-format": false, "data": "C0000235" } ] }"#;
    let (host, warnings) = dhcp_config::parse_host4(definitions, host).unwrap();
    assert_eq!(warnings.len(), 0);
    assert_eq!(host.reserved.address, Some(Ipv4Addr::new(192, 0, 2, 7)));
    let octets: Vec<_> = host.options.iter().map(|option| &option.octets[..]).collect();
    assert_eq!(octets, [&[192, 0, 2, 53][..], &[1, 2]]);
    let problems = dhcp_config::parse_host4("[]", r#"{ "client-id": "01:0" "#).unwrap_err();
    assert!(!problems.is_empty());
    let host = r#"{ "duid": "01:02:03", "option-data": [ { "code": 222, "data": "258" } ] }"#;
    let problems = dhcp_config::parse_host6("[]", host).unwrap_err();
    assert_eq!(problems[0].message, "option 222 has no definition");
    let long = format!(r#"{{ "client-id": "01:02", "hostname": "{}\u0000" }}"#, "a".repeat(300));
    let (host, warnings) = dhcp_config::parse_host4("[]", &long).unwrap();
    assert_eq!(host.hostname.len(), 255);
    let messages: Vec<&str> = warnings.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`hostname`: a label has 301 bytes; options 39 and 81 carry at most 63",
            "`hostname`: host name has 301 bytes; at most 255 are allowed; the server cuts off the \
             rest",
        ]
    );
}

#[test]
fn databases_are_read() {
    assert_eq!(dhcp4("").global.lease_database, LeaseDatabase::default());
    let config = dhcp4(r#""lease-database": { "type": "mysql", "user": "x" }"#);
    let expected = SqlDatabase { user: "x".to_owned(), ..SqlDatabase::new(SqlKind::Mysql, "kea") };
    assert_eq!(config.global.lease_database.sql, Some(expected));
    assert!(config.global.inactive.is_empty());
    let config = dhcp6(
        r#""lease-database": { "type": "postgresql", "name": "leases", "host": "db", "port": 5433,
         "user": "u", "password-file": "/p", "connect-timeout": 7, "tcp-user-timeout": 8,
         "trust-anchor": "ca", "cert-file": "cert", "key-file": "key", "cipher-list": "list",
         "ssl-mode": "verify-full", "max-reconnect-tries": 9, "reconnect-wait-time": 10,
         "on-fail": "serve-retry-exit", "retry-on-startup": true, "readonly": true }"#,
    );
    let expected = SqlDatabase {
        host: "db".to_owned(),
        port: Some(5433),
        user: "u".to_owned(),
        password: SecretSource::File("/p".to_owned()),
        connect_timeout_s: 7,
        tcp_user_timeout_s: 8,
        tls: SqlTls {
            trust_anchor: Some("ca".to_owned()),
            cert_file: Some("cert".to_owned()),
            key_file: Some("key".to_owned()),
            cipher_list: Some("list".to_owned()),
            mode: Some(SslMode::VerifyFull),
        },
        max_reconnect_tries: 9,
        reconnect_wait_time_ms: 10,
        on_fail: OnFail::ServeRetryExit,
        retries_on_startup: true,
        is_readonly: true,
        ..SqlDatabase::new(SqlKind::Postgresql, "leases")
    };
    assert_eq!(config.global.lease_database.sql, Some(expected));
    let mysql = r#""type": "mysql", "read-timeout": 3, "write-timeout": 4, "password": "p""#;
    let sql =
        dhcp4(&format!(r#""lease-database": {{ {mysql} }}"#)).global.lease_database.sql.unwrap();
    assert_eq!((sql.read_timeout_s, sql.write_timeout_s), (3, 4));
    assert_eq!(sql.password, SecretSource::Text("p".to_owned()));
}

#[test]
fn godwit_adds_to_a_lease_database() {
    let with = |godwit: &str, database: &str| {
        format!(
            r#""user-context": {{ "godwit": {{ "lease-database": {{ {godwit} }} }} }}{database}"#
        )
    };
    let mysql = r#", "lease-database": { "type": "mysql" }"#;
    let hosts = r#""hosts": [ "a", "b:1", "2001:db8::1", "[2001:db8::2]:3" ], "exclusive": true"#;
    let added = dhcp4(&with(hosts, mysql)).global.godwit.lease_database;
    let host = |name: &str, port| (name.to_owned(), port);
    let expected = [
        host("a", None),
        host("b", Some(1)),
        host("2001:db8::1", None),
        host("2001:db8::2", Some(3)),
    ];
    assert_eq!(added.hosts, expected);
    assert!(added.is_exclusive);
    let sqlite = r#""sqlite": "/leases.db""#;
    let memfile = r#", "lease-database": { "type": "memfile", "on-fail": "serve-retry-exit" }"#;
    let database = dhcp6(&with(sqlite, memfile)).global.lease_database.sql.unwrap();
    assert_eq!((database.kind, &*database.name), (SqlKind::Sqlite, "/leases.db"));
    assert_eq!(database.on_fail, OnFail::ServeRetryExit);
    assert_eq!(dhcp4(&with(sqlite, "")).global.lease_database.sql.unwrap().kind, SqlKind::Sqlite);
    global(
        &with(sqlite, r#", ^"lease-database": { "type": "mysql" }"#),
        &["error there are two lease databases, this one and `sqlite` of `user-context.godwit`"],
    );
    global(
        &with(r#""exclusive": true"#, r#", ^"lease-database": { "type": "memfile" }"#),
        &["warning `lease-database` of `user-context.godwit` has no effect"],
    );
    global(
        &with(r#""hosts": [ ^"a:0", ^":1", ^"a:x", ^1 ], ^"host": "a""#, mysql),
        &[
            "error `a:0` is not a host",
            "error `:1` is not a host",
            "error `a:x` is not a host",
            "error `hosts` must be a string, not an integer",
            "error unknown key `host` in `lease-database` of `godwit`",
        ],
    );
}
