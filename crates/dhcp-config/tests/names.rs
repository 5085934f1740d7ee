//! Tests of the keys that shape host names.

use dhcp_config::{LifetimePart, NameUpdateKeys, NameUpdateSender};
use ncr::ConflictMode;

use crate::common::{accepted, check_marked, problems, problems6};

fn global(marked: &str, expected: &[&str]) {
    check_marked(problems, &format!("{{ \"Dhcp4\": {{\n {marked}\n}} }}"), expected);
}

fn global6(marked: &str, expected: &[&str]) {
    check_marked(problems6, &format!("{{ \"Dhcp6\": {{\n {marked}\n}} }}"), expected);
}

#[test]
fn names_are_checked() {
    global(
        r#""dhcp-ddns": ^{ "server-port": ^65536, "ncr-protocol": ^"TCP", "ncr-format": ^"XML",
         "sender-ip": ^"::1", "max-queue-size": ^-1, ^"what": 1 }"#,
        &[
            "error `dhcp-ddns` lacks `enable-updates`",
            "error `server-port` is 65536; it must be from 0 to 65535",
            "error `ncr-protocol` cannot be `TCP`",
            "error `ncr-format` cannot be `XML`",
            "error `sender-ip` ::1 and `server-ip` 127.0.0.1 are of different families",
            "error `max-queue-size` is -1; it must be from 0 to 4294967295",
            "error unknown key `what` in `dhcp-ddns`",
        ],
    );
    global(
        r#""dhcp-ddns": { "enable-updates": false, "sender-ip": ^"127.0.0.1",
         "sender-port": 53001 }"#,
        &["error `sender-ip` and `server-ip` are the same address and port"],
    );
    global(
        r#""ddns-ttl-percent": 0.5, "ddns-ttl-min": 9, "ddns-ttl-max": ^8,
         "ddns-replace-client-name": ^"perhaps", "ddns-conflict-resolution-mode": ^"none",
         "ddns-send-updates": ^1, "ddns-generated-prefix": ^2"#,
        &[
            "error `ddns-ttl-max` (8 s) is below `ddns-ttl-min` (9 s)",
            "error `ddns-replace-client-name` cannot be `perhaps`",
            "error `ddns-conflict-resolution-mode` cannot be `none`",
            "error `ddns-send-updates` must be `true` or `false`, not an integer",
            "error `ddns-generated-prefix` must be a string, not an integer",
        ],
    );
    global(
        r#""ddns-ttl": 1, "ddns-ttl-percent": ^0.5, "ddns-ttl-min": ^9, "ddns-ttl-max": ^10,
         "ddns-use-conflict-resolution": ^true, "ddns-conflict-resolution-mode": "check-with-dhcid",
         "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8", "4o6-subnet": ^"10.0.0.0/8" } ]"#,
        &[
            "error `ddns-ttl-percent` and `ddns-ttl` exclude each other",
            "error `ddns-ttl-min` and `ddns-ttl` exclude each other",
            "error `ddns-ttl-max` and `ddns-ttl` exclude each other",
            "error `ddns-use-conflict-resolution` is the older form of \
             `ddns-conflict-resolution-mode`",
            "error `4o6-subnet`: `10.0.0.0/8` is not an IPv6 prefix",
        ],
    );
}

#[test]
fn characters_to_leave_out_are_a_regular_expression() {
    let old = r#""dhcp-ddns": { "enable-updates": false, "hostname-char-set": ^"a)" }"#;
    let networks = r#""hostname-char-set": ^"^^[A-", "shared-networks": [ { "name": "n",
        "hostname-char-set": ^"*", "#;
    let expected = [
        "error `hostname-char-set` is not a regular expression: a `[` is not closed",
        "error `hostname-char-set` is not a regular expression: `*` has nothing before it to repeat",
        "error `hostname-char-set` is not a regular expression: nothing follows its last `\\`",
    ];
    let closed = ["error `hostname-char-set` is not a regular expression: `)` closes nothing"];
    global(old, &closed);
    global6(old, &closed);
    let rest = r#": [ { "id": 1, "hostname-char-set": ^"x\\", "subnet": "#;
    let networks = networks.replace("^^", "");
    global(&format!(r#"{networks} "subnet4"{rest} "10.0.0.0/8" }} ] }} ]"#), &expected);
    global6(&format!(r#"{networks} "subnet6"{rest} "2001:db8::/32" }} ] }} ]"#), &expected);
    let text =
        r#"{ "Dhcp6": { "dhcp-ddns": { "enable-updates": false, "hostname-char-set": "[" } } }"#;
    let help = problems6(text)[0].help.clone();
    assert!(help.is_some_and(|help| help.contains("`[^A-Za-z0-9.-]`")));
}

#[test]
fn settings_of_updates_are_inherited_key_by_key() {
    let config = accepted(
        r#"{ "Dhcp4": { "ddns-send-updates": false, "ddns-ttl": 5, "ddns-update-on-renew": true,
        "ddns-use-conflict-resolution": false, "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8",
        "ddns-send-updates": true, "ddns-override-no-update": true, "ddns-ttl-percent": 0.5,
        "pools": [ { "pool": "10.0.0.0/24", "ddns-ttl-max": 9, "ddns-override-client-update": true,
        "ddns-conflict-resolution-mode": "check-exists-with-dhcid" } ] } ] } }"#,
    );
    let subnet = &config.config.subnets[0];
    let expected = NameUpdateKeys {
        sends: Some(true),
        overrides_no_update: Some(true),
        overrides_client_update: Some(false),
        updates_on_renew: Some(true),
        conflict_mode: Some(ConflictMode::NoCheckWithDhcid),
        ttl_s: Some(5),
        ttl_part: Some(LifetimePart(0.5)),
        ttl_min_s: None,
        ttl_max_s: None,
    };
    assert_eq!(subnet.names.updates, expected);
    let pool = NameUpdateKeys {
        overrides_client_update: Some(true),
        conflict_mode: Some(ConflictMode::CheckExistsWithDhcid),
        ttl_max_s: Some(9),
        ..NameUpdateKeys::default()
    };
    assert_eq!(subnet.pools[0].names.updates, pool);
    assert_eq!(config.config.global.name_updates, None);
}

#[test]
fn the_sender_of_requests_has_keas_defaults() {
    let sender = |text: &str| {
        let text = format!(r#"{{ "Dhcp4": {{ "dhcp-ddns": {{ {text} }} }} }}"#);
        accepted(&text).config.global.name_updates
    };
    assert_eq!(sender(r#""enable-updates": false, "server-port": 1"#), None);
    let expected = NameUpdateSender {
        server: "127.0.0.1:53001".parse().unwrap(),
        sender: "0.0.0.0:0".parse().unwrap(),
        queue_max: 1_024,
    };
    assert_eq!(sender(r#""enable-updates": true"#), Some(expected));
    let expected = NameUpdateSender {
        server: "[::1]:1".parse().unwrap(),
        sender: "[::]:2".parse().unwrap(),
        queue_max: 3,
    };
    let text = r#""enable-updates": true, "server-ip": "::1", "server-port": 1, "sender-ip": "",
        "sender-port": 2, "max-queue-size": 3, "ncr-protocol": "udp", "ncr-format": "json""#;
    assert_eq!(sender(text), Some(expected));
}

#[test]
fn keys_before_kea_1_8_are_told_of() {
    global(
        r#""dhcp-ddns": { "enable-updates": true, "override-no-update": ^true,
         "override-client-update": false, "replace-client-name": ^"always",
         "generated-prefix": ^"p", "qualifying-suffix": ^"s", "hostname-char-set": ^"x",
         "hostname-char-replacement": ^"y" }"#,
        &[
            "warning `override-no-update` has no effect in `dhcp-ddns`",
            "warning `replace-client-name` has no effect in `dhcp-ddns`",
            "warning `generated-prefix` has no effect in `dhcp-ddns`",
            "warning `qualifying-suffix` has no effect in `dhcp-ddns`",
            "warning `hostname-char-set` has no effect in `dhcp-ddns`",
            "warning `hostname-char-replacement` has no effect in `dhcp-ddns`",
        ],
    );
    global(
        r#""dhcp-ddns": { "enable-updates": true, "override-no-update": false,
         "replace-client-name": "never", "generated-prefix": "myhost", "qualifying-suffix": "",
         "hostname-char-replacement": "" }"#,
        &[],
    );
}
