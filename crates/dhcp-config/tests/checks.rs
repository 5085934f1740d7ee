//! Tests of the checks of a configuration: each problem with its place and help.

use crate::common::{check_marked, problems};

fn check(marked: &str, expected: &[&str]) {
    check_marked(problems, marked, expected);
}

fn global(marked: &str, expected: &[&str]) {
    check(&format!("{{ \"Dhcp4\": {{\n {marked}\n}} }}"), expected);
}

fn subnet(marked: &str, expected: &[&str]) {
    let subnet = format!("{{ \"id\": 1, \"subnet\": \"10.0.0.0/24\",\n  {marked} }}");
    global(&format!(r#""subnet4": [ {subnet} ]"#), expected);
}

fn help_of(text: &str) -> Option<String> {
    problems(&format!(r#"{{"Dhcp4":{{{text}}}}}"#)).remove(0).help
}

#[test]
fn keys_that_ask_for_nothing_are_accepted() {
    global(
        r#""client-classes": [], "hooks-libraries": [], "reservations": [], "option-def": [],
         "hosts-databases": [], "config-control": { "config-databases": [] },
         "reservations-global": false, "reservations-in-subnet": true, "dhcp4o6-port": 0,
         "reservations-out-of-pool": false, "allocator": "iterative",
         "early-global-reservations-lookup": false, "ip-reservations-unique": true,
         "reservations-lookup-first": false, "store-extended-info": false,
         "adaptive-lease-time-threshold": 1.0, "host-reservation-identifiers": [ "duid" ],
         "ddns-send-updates": false, "ddns-qualifying-suffix": "",
         "statistic-default-sample-age": 1,
         "ddns-replace-client-name": "never", "control-sockets": [], "server-tag": "x",
         "dhcp-ddns": { "enable-updates": false, "server-port": 1 }, "parked-packet-limit": 1,
         "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "raw" }, "sanity-checks": { "lease-checks": "del",
         "extended-info-checks": "strict" }, "compatibility": { "exclude-first-last-24": false }"#,
        &[],
    );
}

#[test]
fn keys_without_effect_are_warned_of() {
    global(
        r#""lease-database": { "type": "memfile", ^"host": "x" },
         "loggers": [ { "name": "a", "debuglevel": ^100 } ]"#,
        &[
            "warning `host` has no effect on a memfile",
            "warning `debuglevel` goes from 0 to 99; 99 is used",
        ],
    );
}

#[test]
fn unknown_keys_come_with_advice() {
    for (text, help) in [
        (r#""valid-lifetme":1"#, Some("did you mean `valid-lifetime`?")),
        (r#""client-clases":[]"#, Some("did you mean `client-classes`?")),
        (r#""Renew_Timer":1"#, Some("did you mean `renew-timer`?")),
        (r#""pools":[]"#, Some("`pools` belongs in a subnet")),
        (r#""subnet6":[]"#, Some("`subnet6` is a key of DHCPv6")),
        (r#""frobnicate":1"#, None),
        (r#""user-context":{"godwit":{"hold_time_ms":1}}"#, Some("did you mean `hold-time-ms`?")),
        (r#""loggers":[{"name":"x","severty":1}]"#, Some("did you mean `severity`?")),
    ] {
        assert_eq!(help_of(text).as_deref(), help, "{text}");
    }
}

#[test]
fn second_places_are_named() {
    let subnets = |second: &str| {
        help_of(&format!("\"subnet4\":[{{\"id\":1,\"subnet\":\"10.0.0.0/24\"}},\n{{{second}}}]"))
    };
    let second = r#""id":1,"subnet":"10.0.1.0/24""#;
    assert_eq!(subnets(second).as_deref(), Some("the other is at t:1:28"));
    let second = r#""id":2,"subnet":"10.0.0.0/24""#;
    assert_eq!(subnets(second).as_deref(), Some("the other is at t:1:39"));
}

#[test]
fn pools_are_checked_against_their_subnet_and_each_other() {
    subnet(
        r#""pools": [ { "pool": ^"10.0.0.1 - 10.0.1.5" }, { "pool": ^"9.0.0.0/8" } ]"#,
        &[
            "error pool 10.0.0.1 - 10.0.1.5 is not inside subnet 10.0.0.0/24",
            "error pool 9.0.0.0 - 9.255.255.255 is not inside subnet 10.0.0.0/24",
        ],
    );
    subnet(
        r#""pools": [ { "pool": "10.0.0.0/25" }, { "pool": ^"10.0.0.2-10.0.0.3" },
         { "pool": ^"10.0.0.100-10.0.0.130" }, { "pool": "10.0.0.131-10.0.0.131" } ]"#,
        &[
            "error pool 10.0.0.2 - 10.0.0.3 overlaps another of its subnet",
            "error pool 10.0.0.100 - 10.0.0.130 overlaps another of its subnet",
        ],
    );
    subnet(
        r#""pools": [ { "pool": ^"10.0.0.9-10.0.0.1" }, { "pool": ^"10.0.0.1" },
         { "pool": ^"10.0.0.0/33" }, { "pool": ^"0.0.0.0/0" }, ^{ }, { "pool": ^5 },
         { "pool": "10.0.0.1-10.0.0.1", "pool-id": ^4294967296 } ]"#,
        &[
            "error pool 10.0.0.9 - 10.0.0.1 ends before it begins",
            "error `10.0.0.1` is not a pool",
            "error `10.0.0.0/33` is not a pool",
            "error a pool cannot be the whole address space",
            "error a pool lacks `pool`",
            "error `pool` must be a string, not an integer",
            "error `pool-id` is 4294967296; it must be from 0 to 4294967295",
        ],
    );
    global(
        r#""subnet4": [ { "id": 1, "subnet": "10.0.0.0/16",
         "pools": [ { "pool": "10.0.0.0/24" } ] },
         { "id": 2, "subnet": "10.0.0.0/24",
         "pools": [ { "pool": "10.0.0.255-10.0.0.255" } ] } ]"#,
        &[],
    );
}

#[test]
fn subnets_need_a_prefix_and_numbers_of_their_own() {
    global(
        r#""subnet4": [ ^{ "id": 1 }, { "id": 2, "subnet": ^"10.0.0.0" }, { "id": ^-1,
         "subnet": "10.0.0.0/8" },
         { "id": ^4294967295, "subnet": "11.0.0.0/8" }, { "id": ^"4", "subnet": "12.0.0.0/8" }, ^7,
         { "id": 5, "subnet": ^"13.0.0.1/8" }, { "id": 6, "subnet": ^"13.0.0.0/8" } ]"#,
        &[
            "error a subnet lacks `subnet`",
            "error `10.0.0.0` is not a prefix",
            "error subnet id -1 is not from 1 to 4294967294",
            "error subnet id 4294967295 is not from 1 to 4294967294",
            "error `id` must be an integer, not a string",
            "error a subnet must be a map, not an integer",
            "warning prefix 13.0.0.1/8 has host bits",
            "error prefix 13.0.0.0/8 has a subnet already",
        ],
    );
    global(
        r#""subnet4": [ ^{ "subnet": "10.0.0.0/24" }, { "id": 0, "subnet": "10.0.1.0/24" } ]"#,
        &["warning 2 subnets have no `id`, this one first: they are numbered"],
    );
}

#[test]
fn lifetimes_lie_between_their_bounds() {
    global(
        r#""min-valid-lifetime": ^8000"#,
        &["error `min-valid-lifetime` (8000 s) is above the default `valid-lifetime` (7200 s)"],
    );
    global(
        r#""valid-lifetime": 100, "max-valid-lifetime": ^99"#,
        &["error `max-valid-lifetime` (99 s) is below `valid-lifetime` (100 s)"],
    );
    // A bad global value is reported once, however many subnets inherit it.
    global(
        r#""valid-lifetime": 100, "min-valid-lifetime": ^200, "subnet4": [
         { "id": 1, "subnet": "10.0.0.0/24" }, { "id": 2, "subnet": "10.0.1.0/24" } ]"#,
        &["error `min-valid-lifetime` (200 s) is above `valid-lifetime` (100 s)"],
    );
    subnet(
        r#""min-valid-lifetime": ^8000, "max-valid-lifetime": ^5"#,
        &[
            "error `min-valid-lifetime` (8000 s) is above the default `valid-lifetime` (7200 s)",
            "error `max-valid-lifetime` (5 s) is below the default `valid-lifetime` (7200 s)",
        ],
    );
    global(
        r#""valid-lifetime": ^-1, "cache-max-age": ^4294967296"#,
        &[
            "error `valid-lifetime` is -1; it must be from 0 to 4294967295",
            "error `cache-max-age` is 4294967296; it must be from 0 to 4294967295",
        ],
    );
}

#[test]
fn timers_come_in_order() {
    subnet(
        r#""renew-timer": ^100, "rebind-timer": 50"#,
        &["warning `renew-timer` (100 s) is above `rebind-timer` (50 s)"],
    );
    subnet(
        r#""renew-timer": ^50, "rebind-timer": 50"#,
        &["warning `renew-timer` and `rebind-timer` are both 50 s"],
    );
    subnet(
        r#""renew-timer": 50, "rebind-timer": ^7200"#,
        &["warning `rebind-timer` (7200 s) is not below `valid-lifetime` (7200 s)"],
    );
    subnet(
        r#""calculate-tee-times": true, "t1-percent": ^1.0, "t2-percent": ^0"#,
        &["error `t1-percent` is 1", "error `t2-percent` is 0"],
    );
    subnet(
        r#""calculate-tee-times": true, "t2-percent": ^0.5"#,
        &["error `t1-percent` (0.5) is not below `t2-percent` (0.5)"],
    );
    subnet(r#""t1-percent": 0.9, "t2-percent": 0.1, "cache-threshold": 0.0"#, &[]);
    subnet(r#""cache-threshold": ^1.0"#, &["error `cache-threshold` is 1"]);
}

#[test]
fn members_of_a_network_agree() {
    global(
        r#""shared-networks": [ { "name": "a", "subnet4": [
         { "id": 1, "subnet": "10.0.0.0/24", "interface": "eth0" },
         { "id": 2, "subnet": "10.0.1.0/24", "interface": ^"eth1", "authoritative": ^true } ] },
         ^{ }, { "name": ^"" }, { "name": ^"a" } ]"#,
        &[
            "error interface `eth1` differs from `eth0` elsewhere in the shared network",
            "error `authoritative` is false for the shared network",
            "error a shared network needs a `name`",
            "error a shared network needs a `name`",
            "error shared network `a` exists already",
        ],
    );
    global(
        r#""authoritative": true, "shared-networks": [ { "name": "a", "subnet4": [
         { "id": 1, "subnet": "10.0.0.0/24", "authoritative": true } ] } ]"#,
        &[],
    );
}

#[test]
fn addresses_and_names_are_checked() {
    subnet(
        r#""next-server": ^"::1", "relay": { "ip-address": "10.0.0.1",
         ^"ip-addresses": [ ^"10.0.0.1", ^"x", ^1 ] }"#,
        &[
            "error `next-server`: `::1` is not an IPv4 address",
            "error `relay` has both `ip-address` and `ip-addresses`",
            "error 10.0.0.1 is in this list already",
            "error `ip-addresses`: `x` is not an IPv4 address",
            "error `ip-addresses` must be a string, not an integer",
        ],
    );
    let long = "x".repeat(128);
    global(
        &format!(r#""boot-file-name": ^"{long}""#),
        &["error `boot-file-name` has 128 bytes; at most 127 are allowed"],
    );
    global(r#""server-hostname": ^"\u00e9""#, &["error `server-hostname` is not valid UTF-8"]);
}

#[test]
fn interfaces_are_selected_once() {
    global(
        r#""interfaces-config": { "dhcp-socket-type": "udp", "interfaces":
         [ "*", "eth0/10.0.0.1", "eth0/10.0.0.2", ^"eth0", ^"*", ^"eth1/", ^"/10.0.0.1", ^"" ] }"#,
        &[
            "error interface `eth0` is selected already",
            "error interface `*` is selected already",
            "error `interfaces`: `` is not an IPv4 address",
            "error the name of an interface is empty",
            "error the name of an interface is empty",
        ],
    );
}

#[test]
fn databases_timers_and_loggers_are_checked() {
    global(r#""lease-database": ^{ "persist": true }"#, &["error `lease-database` lacks `type`"]);
    global(
        r#""lease-database": { "type": ^"sqlite", "on-fail": ^"panic", "lfc-interval": ^-1 }"#,
        &[
            "error unknown kind of database `sqlite`",
            "error `on-fail` cannot be `panic`",
            "error `lfc-interval` is -1; it must be from 0 to 4294967295",
        ],
    );
    global(
        r#""expired-leases-processing": { "reclaim-timer-wait-time": ^65536,
         "max-reclaim-time": ^10001 }"#,
        &[
            "error `reclaim-timer-wait-time` is 65536; it must be from 0 to 65535",
            "error `max-reclaim-time` is 10001; it must be from 0 to 10000",
        ],
    );
    global(
        r#""loggers": [ ^{ }, { "name": "a", "severity": ^"TRACE", "output-options": [ ^1 ],
         ^"output_options": [] } ]"#,
        &[
            "error a logger lacks `name`",
            "error `severity` cannot be `TRACE`",
            "error `output-options` must be a map, not an integer",
            "error `output-options` and `output_options` are the same key",
        ],
    );
}

#[test]
fn godwit_settings_are_checked() {
    global(
        r#""user-context": { "godwit": { "durability": ^"maybe", "shards": ^0, "hold-time-ms": ^0,
         "flush-interval-ms": ^100, "segmentation": ^1, "receive-buffer-bytes": ^9, ^"speed": 9 } }"#,
        &[
            "error `durability` cannot be `maybe`",
            "error `shards` is 0; it must be from 1 to 1024",
            "error `hold-time-ms` is 0; it must be from 1 to 3600000",
            "warning `flush-interval-ms` has no effect here",
            "error `segmentation` must be `true` or `false`, not an integer",
            "error `receive-buffer-bytes` is 9; it must be from 4608 to 1073741824",
            "error unknown key `speed` in `user-context.godwit`",
        ],
    );
    subnet(
        r#""user-context": { "godwit": ^{ } }"#,
        &["warning `godwit` is read from the global scope only"],
    );
    global(
        r#""user-context": ^[ ], "comment": ^1"#,
        &[
            "error `user-context` must be a map, not a list",
            "error `comment` must be a string, not an integer",
        ],
    );
}
