//! Tests of the checks of a DHCPv6 configuration: each problem with its place and help. Checks that
//! both families share are tested here only where the family matters.

use crate::common::{check_marked, problems6};

fn global(marked: &str, expected: &[&str]) {
    check_marked(problems6, &format!("{{ \"Dhcp6\": {{\n {marked}\n}} }}"), expected);
}

fn subnet(marked: &str, expected: &[&str]) {
    let subnet = format!("{{ \"id\": 1, \"subnet\": \"2001:db8::/64\",\n  {marked} }}");
    global(&format!(r#""subnet6": [ {subnet} ]"#), expected);
}

fn help_of(text: &str) -> Option<String> {
    problems6(&format!(r#"{{"Dhcp6":{{{text}}}}}"#)).remove(0).help
}

#[test]
fn keys_without_effect_are_warned_of() {
    global(
        r#""compatibility": { "lenient-option-parsing": true },
         "mac-sources": [ "any", "duid", "rfc6939" ], "allow-address-registration": true,
         "interfaces-config": { "interfaces": [ "*" ] },
         "server-id": { "type": "EN", "htype": ^1, "time": ^7 }"#,
        &[
            "warning `htype` has no effect with this type of `server-id`",
            "warning `time` has no effect with this type of `server-id`",
        ],
    );
    global(
        r#""pd-allocator": "iterative", "allow-address-registration": false,
         "mac-sources": [ "any" ], "relay-supplied-options": [ ],
         "server-id": { "type": "LL", "htype": 1, "time": 0, "enterprise-id": 0 }"#,
        &[],
    );
}

#[test]
fn unknown_keys_come_with_advice() {
    for (text, help) in [
        (r#""preferred-lifetme":1"#, Some("did you mean `preferred-lifetime`?")),
        (r#""pd-pools":[]"#, Some("`pd-pools` belongs in a subnet")),
        (r#""subnet4":[]"#, Some("`subnet4` is a key of DHCPv4")),
        (r#""match-client-id":true"#, Some("`match-client-id` is a key of DHCPv4")),
        (r#""rapid-commit":true"#, Some("`rapid-commit` belongs in a subnet or a shared network")),
        (
            r#""interfaces-config":{"dhcp-socket-type":"udp"}"#,
            Some("`dhcp-socket-type` is a key of DHCPv4"),
        ),
        (r#""server-id":{"type":"EN","enterprise":1}"#, Some("did you mean `enterprise-id`?")),
        (r#""server-id":{"type":"EN","identifer":""}"#, Some("did you mean `identifier`?")),
        (r#""loggers":[{}]"#, Some("`kea-dhcp6` is the logger of all messages")),
        (
            r#""subnet6":[{"id":1,"subnet":"::/1","user-context":{"godwit":{}}}]"#,
            Some("put it into the `user-context` of `Dhcp6` itself"),
        ),
        (r#""subnet6":[{"id":1}]"#, Some("write it as `\"subnet\": \"2001:db8::/64\"`")),
        (
            r#""subnet6":[{"id":1,"subnet":"::/1","pools":[{"pool":"x"}]}]"#,
            Some("write `2001:db8::10 - 2001:db8::20` or `2001:db8::/80`"),
        ),
    ] {
        assert_eq!(help_of(text).as_deref(), help, "{text}");
    }
}

#[test]
fn pools_are_checked_against_their_subnet_and_each_other() {
    subnet(
        r#""pools": [ { "pool": ^"2001:db8::1 - 2001:db8:0:1::5" }, { "pool": ^"3001::/16" } ]"#,
        &[
            "error pool 2001:db8::1 - 2001:db8:0:1::5 is not inside subnet 2001:db8::/64",
            "error pool 3001:: - 3001:ffff:ffff:ffff:ffff:ffff:ffff:ffff is not inside subnet \
             2001:db8::/64",
        ],
    );
    subnet(
        r#""pools": [ { "pool": "2001:db8::/80" }, { "pool": ^"2001:db8::2-2001:db8::3" },
         { "pool": "2001:db8:0:0:1::/80" }, { "pool": ^"2001:db8::9-2001:db8::1" },
         { "pool": ^"10.0.0.1-10.0.0.2" }, { "pool": ^"2001:db8::/129" }, { "pool": ^"::/0" } ]"#,
        &[
            "error pool 2001:db8::2 - 2001:db8::3 overlaps another of its subnet",
            "error pool 2001:db8::9 - 2001:db8::1 ends before it begins",
            "error `10.0.0.1-10.0.0.2` is not a pool",
            "error `2001:db8::/129` is not a pool",
            "error a pool cannot be the whole address space",
        ],
    );
    global(
        r#""subnet6": [ { "id": 1, "subnet": "2001:db8::/32",
         "pools": [ { "pool": "2001:db8::/64" } ] },
         { "id": 2, "subnet": "2001:db8::/48",
         "pools": [ { "pool": "2001:db8::ff-2001:db8::ff" } ] } ]"#,
        &[],
    );
}

#[test]
fn prefix_pools_are_checked() {
    subnet(
        r#""pd-pools": [ ^{ "prefix-len": 48, "delegated-len": 56 },
         { "prefix": "3001::", "prefix-len": 56, "delegated-len": ^48 },
         { "prefix": "3002::", "prefix-len": ^0, "delegated-len": ^129 },
         { "prefix": ^"3003::1", "prefix-len": 48, "delegated-len": 56 }, ^5,
         { "prefix": ^"3004::/48", "prefix-len": 48, "delegated-len": 56, ^"pool": 1 } ]"#,
        &[
            "error a prefix pool lacks `prefix`",
            "error `delegated-len` (48) is below `prefix-len` (56)",
            "error `prefix-len` is 0; it must be from 1 to 128",
            "error `delegated-len` is 129; it must be from 1 to 128",
            "warning prefix 3003::1/48 has host bits",
            "error a prefix pool must be a map, not an integer",
            "error `prefix`: `3004::/48` is not an IPv6 address",
            "error unknown key `pool` in a prefix pool",
        ],
    );
    let excluded = |marked: &str, expected: &[&str]| {
        let pool = r#""prefix": "3001:db8::", "prefix-len": 48, "delegated-len": 56"#;
        subnet(&format!(r#""pd-pools": [ {{ {pool}, {marked} }} ]"#), expected);
    };
    excluded(
        r#""excluded-prefix": ^"3001:db8:0:100::", "excluded-prefix-len": 64"#,
        &["error excluded prefix 3001:db8:0:100::/64 is not inside 3001:db8::/56"],
    );
    excluded(
        r#""excluded-prefix": ^"3001:db8::", "excluded-prefix-len": 56"#,
        &["error `excluded-prefix-len` (56) is not above `delegated-len`"],
    );
    excluded(
        r#""excluded-prefix": ^"3001:db8::""#,
        &["error `excluded-prefix` needs `excluded-prefix-len`"],
    );
    excluded(
        r#""excluded-prefix-len": ^64"#,
        &["error `excluded-prefix-len` needs `excluded-prefix`"],
    );
    excluded(
        r#""excluded-prefix": ^"x", "excluded-prefix-len": ^129"#,
        &[
            "error `excluded-prefix`: `x` is not an IPv6 address",
            "error `excluded-prefix-len` is 129; it must be from 0 to 128",
        ],
    );
    excluded(
        r#""excluded-prefix": ^"3001:db8:0:ff::1", "excluded-prefix-len": 64"#,
        &["warning prefix 3001:db8:0:ff::1/64 has host bits"],
    );
    excluded(r#""excluded-prefix": "::", "excluded-prefix-len": 0"#, &[]);
}

#[test]
fn prefix_pools_share_no_addresses() {
    let pool = |prefix: &str| {
        format!(r#"{{ "prefix": "{prefix}", "prefix-len": 48, "delegated-len": 64 }}"#)
    };
    subnet(
        &format!(
            r#""pd-pools": [ {}, ^{}, {} ]"#,
            pool("3001::"),
            pool("3001::"),
            pool("3001:0:1::")
        ),
        &["error prefix pool 3001::/48 overlaps another of its subnet"],
    );
    global(
        &format!(
            r#""subnet6": [ {{ "id": 1, "subnet": "2001:db8::/64", "pd-pools": [ {} ] }},
             {{ "id": 2, "subnet": "2001:db8:1::/64", "pd-pools": [ {} ] }} ]"#,
            pool("3001::"),
            pool("3001::")
        ),
        &[],
    );
    // Addresses and prefixes exclude each other within a subnet.
    subnet(
        &format!(
            r#""pools": [ {{ "pool": "2001:db8::/80" }} ], "pd-pools": [ ^{} ]"#,
            pool("2001:db8::")
        ),
        &["error prefix pool 2001:db8::/48 overlaps another of its subnet"],
    );
    global(
        &format!(
            r#""subnet6": [ {{ "id": 1, "subnet": "2001:db8::/64", "pd-pools": [ {} ] }},
             {{ "id": 2, "subnet": "2001:db8:1::/64", "pools": [ {{ "pool": "2001:db8:1::/80" }} ] }} ]"#,
            pool("2001:db8:1::")
        ),
        &[],
    );
}

#[test]
fn subnets_need_a_prefix_and_numbers_of_their_own() {
    global(
        r#""subnet6": [ ^{ "id": 1, "renew-timer": ^9, "rebind-timer": 8 },
         { "id": 2, "subnet": ^"2001:db8::" }, { "id": ^2, "subnet": "2001::/16" },
         { "id": 5, "subnet": ^"3000::1/64" }, { "id": 6, "subnet": ^"3000::/64" } ]"#,
        &[
            "error a subnet lacks `subnet`",
            "warning `renew-timer` (9 s) is above `rebind-timer` (8 s)",
            "error `2001:db8::` is not a prefix",
            "error subnet id 2 is used already",
            "warning prefix 3000::1/64 has host bits",
            "error prefix 3000::/64 has a subnet already",
        ],
    );
}

#[test]
fn lifetimes_lie_between_their_bounds() {
    global(
        r#""max-preferred-lifetime": ^10, "min-preferred-lifetime": 5"#,
        &["error `max-preferred-lifetime` (10 s) is below the default `preferred-lifetime` \
           (4500 s)"],
    );
    global(
        r#""valid-lifetime": 100, "min-valid-lifetime": ^200, "preferred-lifetime": 50,
         "min-preferred-lifetime": ^60, "subnet6": [ { "id": 1, "subnet": "2001:db8::/64" } ]"#,
        &[
            "error `min-valid-lifetime` (200 s) is above `valid-lifetime` (100 s)",
            "error `min-preferred-lifetime` (60 s) is above `preferred-lifetime` (50 s)",
        ],
    );
    subnet(
        r#""valid-lifetime": 3000, "preferred-lifetime": ^4000"#,
        &["warning `preferred-lifetime` (4000 s) is above `valid-lifetime` (3000 s)"],
    );
    global(
        r#""preferred-lifetime": 4000, "subnet6": [
         { "id": 1, "subnet": "2001:db8::/64", "valid-lifetime": ^1000 } ]"#,
        &["warning `preferred-lifetime` (4000 s) is above `valid-lifetime` (1000 s)"],
    );
    // The default adapts without a warning.
    subnet(r#""valid-lifetime": 1000"#, &[]);
    global(r#""preferred-lifetime": ^0"#, &["warning `preferred-lifetime` is 0 s"]);
    assert_eq!(
        help_of(r#""preferred-lifetime":4000,"valid-lifetime":800"#).as_deref(),
        Some("five eighths of `valid-lifetime`, 500 s, are used")
    );
}

#[test]
fn timers_come_in_order() {
    subnet(
        r#""renew-timer": ^50, "rebind-timer": 50"#,
        &["warning `renew-timer` and `rebind-timer` are both 50 s"],
    );
    subnet(
        r#""renew-timer": 50, "rebind-timer": ^7200"#,
        &["warning `rebind-timer` (7200 s) is not below `valid-lifetime` (7200 s)"],
    );
    // Computed unless that is switched off.
    subnet(r#""t1-percent": ^0.9"#, &["error `t1-percent` (0.9) is not below `t2-percent` (0.8)"]);
    subnet(r#""calculate-tee-times": false, "t1-percent": 0.9, "t2-percent": 7"#, &[]);
}

#[test]
fn members_of_a_network_agree() {
    global(
        r#""shared-networks": [ { "name": "a", "subnet6": [
         { "id": 1, "subnet": "2001:db8:1::/64", "interface": "eth0", "rapid-commit": ^true },
         { "id": 2, "subnet": "2001:db8:2::/64", "interface": ^"eth1" },
         { "id": 3, "subnet": "2001:db8:3::/64", "rapid-commit": ^false } ] } ]"#,
        &[
            "error subnets of a shared network differ in `rapid-commit`",
            "error interface `eth1` differs from `eth0` elsewhere in the shared network",
            "error subnets of a shared network differ in `rapid-commit`",
        ],
    );
}

#[test]
fn an_interface_and_an_interface_id_exclude_each_other() {
    let message = "error `interface` and `interface-id` exclude each other";
    subnet(r#""interface": "lo", "interface-id": ^"a""#, &[message]);
    subnet(r#""interface-id": ^"a", "interface": "lo""#, &[message]);
    subnet(r#""interface": "", "interface-id": "a""#, &[]);
    global(
        r#""shared-networks": [ { "name": "a", "interface": "lo", "interface-id": ^"a" } ]"#,
        &[message],
    );
    assert_eq!(
        help_of(r#""subnet6":[{"id":1,"subnet":"::/1","interface":"lo","interface-id":"a"}]"#)
            .as_deref(),
        Some("`interface` is at t:1:58")
    );
}

#[test]
fn interfaces_are_selected_once() {
    global(
        r#""interfaces-config": { "interfaces": [ "*", "eth0", "eth0/2001:db8::1", ^"eth0",
         ^"eth0/2001:db8:0::1", ^"*/::1", ^"eth0/ff02::1:2", ^"eth0/10.0.0.1", ^"/::1" ] }"#,
        &[
            "error interface `eth0` is selected already",
            "error interface `eth0/2001:db8:0::1` is selected already",
            "error `*` takes no address",
            "error ff02::1:2 is a multicast address",
            "error `interfaces`: `10.0.0.1` is not an IPv6 address",
            "error the name of an interface is empty",
        ],
    );
}

#[test]
fn the_server_id_is_checked() {
    global(
        r#""server-id": ^{ "identifier": ^"a6:5d", "htype": ^65536, "time": ^-1,
         "enterprise-id": ^4294967296, "persist": ^1, ^"what": 1 }"#,
        &[
            "error `server-id` lacks `type`",
            "error `identifier`: `a6:5d` is not pairs of hexadecimal digits",
            "error `htype` is 65536; it must be from 0 to 65535",
            "error `time` is -1; it must be from 0 to 4294967295",
            "error `enterprise-id` is 4294967296; it must be from 0 to 4294967295",
            "error `persist` must be `true` or `false`, not an integer",
            "error unknown key `what` in `server-id`",
        ],
    );
    let long = "ab".repeat(125);
    global(
        &format!(r#""server-id": {{ "type": "LL", "identifier": ^"{long}" }}"#),
        &["error `identifier` has 125 bytes; at most 124 are allowed"],
    );
    global(r#""server-id": { "type": ^"ll" }"#, &["error `type` cannot be `ll`"]);
}

#[test]
fn lists_of_words_are_checked() {
    global(
        r#""relay-supplied-options": [ "1000", "rsoo", ^"65536", ^"no-such", ^7 ],
         "mac-sources": [ "duid", ^"duid", ^"tag" ]"#,
        &[
            "error `65536` is neither an option code nor a name",
            "error `no-such` is neither an option code nor a name",
            "error `relay-supplied-options` must be a string, not an integer",
            "error `duid` is in this list already",
            "error `mac-sources` cannot hold `tag`",
        ],
    );
    global(r#""mac-sources": ^[ ]"#, &["error `mac-sources` is empty"]);
}

#[test]
fn configurations_of_other_servers_are_named() {
    check_marked(
        problems6,
        r#"{ "Dhcp6": { }, ^"Dhcp4": { }, ^"Logging": { } }"#,
        &[
            "error `Dhcp4` is the configuration of another server",
            "error `Logging` is no longer a key at the top of the file",
        ],
    );
    check_marked(problems6, "^{ }", &["error there is no `Dhcp6` here"]);
}
