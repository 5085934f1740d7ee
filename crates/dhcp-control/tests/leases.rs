//! Tests of lease commands that Kea 2.2 does not have, and of failures that a test cannot cause in
//! Kea.

use crate::common;
use crate::common::Fake;
use dhcp_config::ExtendedInfoChecks;
use dhcp_control::{CommandFamily, IpVersion, PutFailure};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use serde_json::{Value, json};

const NONE: Value = Value::Null;

fn error(text: &str) -> Value {
    json!({ "result": 1, "text": text })
}

fn conflict(text: &str) -> Value {
    json!({ "result": 4, "text": text })
}

/// Returns a lease in the form of `lease#-add`.
fn lease<F: CommandFamily>(last: u8) -> Value {
    match F::VERSION {
        IpVersion::V4 => json!({ "ip-address": format!("192.0.2.{last}"), "hw-address": "01:02" }),
        IpVersion::V6 => {
            json!({ "ip-address": format!("2001:db8::{last}"), "duid": "01:02:03", "iaid": last })
        }
    }
}

fn name<F: CommandFamily>(pattern: &str) -> String {
    pattern.replace('#', &F::VERSION.number().to_string())
}

/// Stork looks for declined leases so: they have no hardware address any more.
#[test]
fn leases_without_hardware_address_are_found_by_an_empty_one() {
    let mut server = Fake::<V4>::with_subnets();
    for (last, hardware, state) in [(1, "01:02", 0), (2, "", 1), (3, "", 1)] {
        let mut lease = lease::<V4>(last);
        (lease["hw-address"], lease["state"]) = (json!(hardware), json!(state));
        assert_eq!(server.call("lease4-add", lease)["result"], 0);
    }
    let answer = server.call("lease4-get-by-hw-address", json!({ "hw-address": "" }));
    assert_eq!(answer["text"], "2 IPv4 lease(s) found.", "{answer}");
}

/// Stork looks for declined DHCPv6 leases by the DUID that commands show for them.
#[test]
fn leases_without_duid_are_found_by_the_duid_that_is_shown() {
    let mut server = Fake::<V6>::with_subnets();
    for (last, duid, state) in [(1, "01:02:03", 0), (2, "00:00:00", 1), (3, "00:00:00", 1)] {
        let mut lease = lease::<V6>(last);
        (lease["duid"], lease["iaid"], lease["state"]) = (json!(duid), json!(last), json!(state));
        assert_eq!(server.call("lease6-add", lease)["result"], 0);
    }
    let answer = server.call("lease6-get-by-duid", json!({ "duid": "00:00:00" }));
    assert_eq!(answer["text"], "2 IPv6 lease(s) found.", "{answer}");
    let one = json!({ "identifier-type": "duid", "identifier": "00:00:00", "iaid": 3,
        "subnet-id": 1 });
    let answer = server.call("lease6-get", one);
    assert_eq!(answer["arguments"]["ip-address"], "2001:db8::3", "{answer}");
}

fn by_state<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let command = name::<F>("lease#-get-by-state");
    let family = F::VERSION.name();
    for (last, state) in [(1, 0), (2, 1), (3, 1), (4, 2)] {
        let mut lease = lease::<F>(last);
        lease["state"] = json!(state);
        assert_eq!(server.call(&name::<F>("lease#-add"), lease)["result"], 0);
    }
    for (arguments, text) in [
        (NONE, "Command arguments missing or a not a map."),
        (json!({}), "'state' parameter not specified"),
        (json!({ "state": [] }), "'state' parameter must be a number or a string"),
        (json!({ "state": "" }), "'state' parameter is empty"),
        (json!({ "state": "lost" }), "'state' parameter value (lost) is not recognized"),
        (json!({ "state": 0, "subnet-id": "1" }), "'subnet-id' parameter must be a number"),
        (
            json!({ "state": 0, "subnet-id": -1 }),
            "'subnet-id' parameter must be a 32 bit unsigned integer",
        ),
    ] {
        assert_eq!(server.call(&command, arguments), error(text));
    }
    for (arguments, count, text) in [
        (json!({ "state": 1 }), 2, "declined (1)."),
        (json!({ "state": "declined", "subnet-id": 1 }), 2, "declined (1) in subnet 1."),
        (json!({ "state": "declined", "subnet-id": 7 }), 0, "declined (1) in subnet 7."),
        (json!({ "state": "assigned", "subnet-id": 0 }), 1, "default (0)."),
        (json!({ "state": "expired-reclaimed" }), 1, "expired-reclaimed (2)."),
        (json!({ "state": 77 }), 0, "77."),
        (json!({ "state": -1 }), 0, "4294967295."),
    ] {
        let answer = server.call(&command, arguments);
        let text = format!("{count} {family} lease(s) found with state {text}");
        assert_eq!(answer["text"], text.as_str());
        assert_eq!(answer["arguments"]["leases"].as_array().unwrap().len(), count);
        assert_eq!(answer["result"], if count == 0 { 3 } else { 0 });
    }
}

#[test]
fn leases_are_found_by_their_state() {
    by_state::<V4>();
    by_state::<V6>();
}

fn failures<F: CommandFamily>() {
    let family = F::VERSION.name();
    let mut server = Fake::<F>::with_subnets();
    let (add, update) = (name::<F>("lease#-add"), name::<F>("lease#-update"));
    let arguments = lease::<F>(1);
    let ip = arguments["ip-address"].as_str().unwrap().to_owned();
    for (failure, command, expected) in [
        (
            PutFailure::Busy,
            &add,
            conflict(&format!("ResourceBusy: IP address:{ip} could not be added.")),
        ),
        (PutFailure::Failed("disk full".to_owned()), &add, error("disk full")),
        (
            PutFailure::Busy,
            &update,
            conflict(&format!("ResourceBusy: IP address:{ip} could not be updated.")),
        ),
        (PutFailure::Exists, &update, conflict("lost race between calls to get and add")),
    ] {
        server.leases.refuses = Some(failure);
        assert_eq!(server.call(command, arguments.clone()), expected);
    }
    let write = name::<F>("lease#-write");
    server.answers(&[
        (&write, NONE, error("no parameters specified for the command")),
        (&write, json!({}), error("'filename' parameter not specified")),
        (&write, json!({ "filename": 1 }), error("'filename' parameter must be a string")),
        (&write, json!({ "filename": "/x" }), error("cannot create '/x'")),
        (
            &write,
            json!({ "filename": "x.csv" }),
            json!({ "result": 0, "text": format!("{family} lease database into 'x.csv'.") }),
        ),
        (
            &name::<F>("sflq-pool#-get-all"),
            NONE,
            error("the lease backend has no shared free lease queue"),
        ),
        (
            &name::<F>("lease#-add"),
            arguments,
            json!({ "result": 0, "text": format!("Lease for address {ip}, subnet-id 1 added.") }),
        ),
    ]);
    assert_eq!(
        (server.leases.written.as_slice(), server.leases.len()),
        (&["x.csv".to_owned()][..], 1)
    );
}

#[test]
fn failures_of_the_store_are_told() {
    failures::<V4>();
    failures::<V6>();
}

#[test]
fn an_update_replaces_all_of_a_lease_and_a_selector_sees_it() {
    let mut server = Fake::<V4>::with_subnets();
    let first = json!({ "ip-address": "192.0.2.11", "hw-address": "01:02", "client-id": "01:01",
        "pool-id": 3, "expire": 1_795_325_192_u64, "valid-lft": 4_294_967_295_u64, "state": 3 });
    let refused = server.call("lease4-add", first.clone());
    assert_eq!(
        refused["text"],
        "expiration time must be greater than valid lifetime for address 192.0.2.11"
    );
    let mut first = first;
    first["valid-lft"] = json!(100);
    server.call("lease4-add", first);
    let answer = server.call("lease4-get", json!({ "ip-address": "192.0.2.11" }));
    assert_eq!(
        answer["arguments"],
        json!({
        "ip-address": "192.0.2.11", "hw-address": "01:02", "client-id": "01:01", "subnet-id": 1,
        "pool-id": 3, "cltt": 1_795_325_092, "valid-lft": 100, "fqdn-fwd": false, "fqdn-rev": false,
        "hostname": "", "state": 3 })
    );
    server.call("lease4-update", lease::<V4>(11));
    let answer = server.call("lease4-get", json!({ "ip-address": "192.0.2.11" }));
    let cltt = common::WALL_US / 1_000_000;
    assert_eq!(
        answer["arguments"],
        json!({
        "ip-address": "192.0.2.11", "hw-address": "01:02", "subnet-id": 1, "cltt": cltt,
        "valid-lft": 7200, "fqdn-fwd": false, "fqdn-rev": false, "hostname": "", "state": 0 })
    );
}

/// A client that left an address for another has two leases, of which one is released.
#[test]
fn of_the_leases_of_a_client_the_active_one_is_selected() {
    for (released, active) in [("192.0.2.11", "192.0.2.12"), ("192.0.2.12", "192.0.2.11")] {
        let mut server = Fake::<V4>::with_subnets();
        for (address, state) in [(released, 3), (active, 0)] {
            let lease = json!({ "ip-address": address, "hw-address": "01:02", "state": state });
            assert_eq!(server.call("lease4-add", lease)["result"], 0);
        }
        let client = json!({ "identifier-type": "hw-address", "identifier": "01:02",
            "subnet-id": 1 });
        let mut deleted = Vec::new();
        while let answer = server.call("lease4-get", client.clone())
            && answer["result"] == 0
        {
            deleted.push(answer["arguments"]["ip-address"].clone());
            assert_eq!(server.call("lease4-del", client.clone())["result"], 0);
        }
        assert_eq!(deleted, [active, released]);
    }
}

#[test]
fn an_update_neither_registers_an_address_in_use_nor_uses_a_registered_one() {
    let in_state = |mut lease: Value, state: u8| {
        lease["state"] = json!(state);
        lease["force-create"] = json!(true);
        lease
    };
    let mut server = Fake::<V4>::with_subnets();
    let refused = error("DHCPv4 leases do not support registered state");
    server.answers(&[
        ("lease4-update", in_state(lease::<V4>(11), 4), refused.clone()),
        (
            "lease4-update",
            in_state(lease::<V4>(11), 0),
            json!({ "result": 0, "text": "IPv4 lease added." }),
        ),
        ("lease4-update", in_state(lease::<V4>(11), 4), refused),
    ]);
    let mut server = Fake::<V6>::with_subnets();
    let done = |what: &str| json!({ "result": 0, "text": format!("IPv6 lease {what}.") });
    server.answers(&[
        ("lease6-update", in_state(lease::<V6>(1), 4), done("added")),
        ("lease6-update", in_state(lease::<V6>(1), 4), done("updated")),
        (
            "lease6-update",
            in_state(lease::<V6>(1), 0),
            error("illegal reuse of registered address 2001:db8::1"),
        ),
        ("lease6-update", in_state(lease::<V6>(2), 0), done("added")),
        (
            "lease6-update",
            in_state(lease::<V6>(2), 4),
            error("address in use: 2001:db8::2 can't be registered"),
        ),
    ]);
}

#[test]
fn only_a_declined_lease_may_be_nobody_s() {
    let nobodys =
        |state: u8| json!({ "ip-address": "192.0.2.11", "hw-address": "", "state": state });
    let mut server = Fake::<V4>::with_subnets();
    let text = "Lease4: 192.0.2.11, state: default has neither hardware address or client id";
    server.answers(&[("lease4-add", nobodys(0), error(text))]);
    assert_eq!(server.call("lease4-add", nobodys(1))["result"], 0);
    server.answers(&[("lease4-update", nobodys(0), error(text))]);
    let nobodys = |state: u8| json!({ "ip-address": "2001:db8::1", "duid": "00:00:00", "iaid": 1, "state": state });
    let mut server = Fake::<V6>::with_subnets();
    let text = "Lease6: 2001:db8::1, state: released, has no DUID";
    server.answers(&[("lease6-add", nobodys(3), error(text))]);
    assert_eq!(server.call("lease6-add", nobodys(1))["result"], 0);
    let answer = server.call("lease6-get", json!({ "ip-address": "2001:db8::1" }));
    assert_eq!(answer["arguments"]["duid"], "00:00:00");
    server.answers(&[("lease6-update", nobodys(3), error(text))]);
}

#[test]
fn prefixes_are_leased_beside_addresses() {
    let mut server = Fake::<V6>::with_subnets();
    let prefix = json!({ "ip-address": "2001:db8:8000::", "type": "IA_PD", "prefix-len": 48,
        "duid": "00:00:01", "iaid": 1, "subnet-id": 1 });
    let with = |key: &str, value: Value| {
        let mut prefix = prefix.clone();
        prefix[key] = value;
        prefix
    };
    server.answers(&[
        ("lease6-add", with("prefix-len", json!(0)), error("Invalid prefix length: 0")),
        ("lease6-add", with("prefix-len", json!(129)), error("Invalid prefix length: 129")),
        ("lease6-add", with("ip-address", json!("2001:db8:8000::1")),
            error("Prefix address: 2001:db8:8000::1 exceeds prefix/prefix-len pair: 2001:db8:8000::/48")),
        ("lease6-add", with("state", json!(1)), error("Invalid declined state for PD prefix.")),
        ("lease6-add", with("type", json!("IA_TA")), error("Incorrect lease type: IA_TA, the only supported values are: IA_NA and IA_PD")),
        ("lease6-add", prefix, json!({ "result": 0, "text": "Lease for prefix 2001:db8:8000::/48, subnet-id 1 added." })),
    ]);
    let answer = server.call("lease6-get", json!({ "ip-address": "2001:db8:8000::", "type": "2" }));
    assert_eq!(answer["arguments"]["duid"], "00:00:01");
    assert_eq!(answer["arguments"]["prefix-len"], 48);
    let failing = json!({ "leases": [lease::<V6>(1), lease::<V6>(2)] });
    server.leases.refuses = Some(PutFailure::Busy);
    let answer = server.call("lease6-bulk-apply", failing);
    assert_eq!(
        answer,
        json!({ "result": 0, "text": "Bulk apply of 1 IPv6 leases completed.",
        "arguments": { "failed-leases": [{ "type": "IA_NA", "ip-address": "2001:db8::1", "result": 4,
            "error-message": "ResourceBusy: IP address:2001:db8::1 could not be updated." }] } })
    );
}

#[test]
fn many_dhcpv4_leases_change_in_one_command() {
    let mut server = Fake::<V4>::with_subnets();
    let [one, two] = [1, 2].map(lease::<V4>);
    let text = |text: &str| json!({ "result": 0, "text": text });
    let both = json!({ "leases": [one, two] });
    let answer = server.call("lease4-bulk-apply", both);
    assert_eq!(answer, text("Bulk apply of 2 IPv4 leases completed."));
    let address = |lease: &Value| json!({ "ip-address": lease["ip-address"] });
    let change = json!({ "deleted-leases": [address(&one)], "leases": [lease::<V4>(3)] });
    let answer = server.call("lease4-bulk-apply", change);
    assert_eq!(answer, text("Bulk apply of 2 IPv4 leases completed."));
    let codes = [1, 2, 3].map(|number| {
        let answer = server.call("lease4-get", address(&lease::<V4>(number)));
        answer["result"].clone()
    });
    assert_eq!(codes, [3, 0, 0]);
    server.leases.refuses = Some(PutFailure::Busy);
    let answer = server.call("lease4-bulk-apply", json!({ "leases": [two] }));
    let failed = &answer["arguments"]["failed-leases"];
    assert_eq!((&failed[0]["ip-address"], &failed[0]["result"]), (&two["ip-address"], &json!(4)));
}

/// Returns data of relay agents in the form of older versions of Kea, and in that of newer ones.
fn extended_info<F: CommandFamily>() -> [Value; 2] {
    match F::VERSION {
        IpVersion::V4 => [
            json!({ "ISC": { "relay-agent-info": "0x0201AA" } }),
            json!({ "ISC": { "relay-agent-info": { "sub-options": "0x0201AA", "remote-id": "AA" } } }),
        ],
        IpVersion::V6 => [
            json!({ "ISC": { "relays": [ { "link": "::", "options": "0x00350001BB" } ] } }),
            json!({ "ISC": { "relay-info": [
                { "link": "::", "options": "0x00350001BB", "relay-id": "BB" }
            ] } }),
        ],
    }
}

fn added_with_extended_info<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let [old, new] = extended_info::<F>();
    let added = |server: &mut Fake<F>, command: &str, checks| {
        server.extended_info_checks = checks;
        let mut fields = lease::<F>(7);
        fields["user-context"] = old.clone();
        let selector = json!({ "ip-address": fields["ip-address"] });
        assert_eq!(server.call(&name::<F>(command), fields)["result"], 0);
        server.call(&name::<F>("lease#-get"), selector)["arguments"]["user-context"].clone()
    };
    assert_eq!(added(&mut server, "lease#-add", ExtendedInfoChecks::None), old);
    assert_eq!(added(&mut server, "lease#-update", ExtendedInfoChecks::Fix), new);
    if F::VERSION == IpVersion::V6 {
        // The data has no peer.
        assert_eq!(added(&mut server, "lease#-update", ExtendedInfoChecks::Pedantic), NONE);
    }
}

#[test]
fn what_relay_agents_said_is_brought_into_the_present_form() {
    added_with_extended_info::<V4>();
    added_with_extended_info::<V6>();
}

/// Checks that every command that creates a lease refuses a context that no store can keep.
fn contexts_are_bounded<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let commands = ["lease#-add", "lease#-update", "lease#-bulk-apply"].map(name::<F>);
    let zero = "Invalid user context: user context contains U+0000.";
    let long = "Invalid user context: user context has 65536 bytes; at most 65535 are allowed.";
    let of_length = |octets: usize| json!({ "a": "x".repeat(octets - r#"{ "a": "" }"#.len()) });
    for (context, expected) in [
        (json!({ "a": "\0" }), Some(zero)),
        (json!({ "a": [ { "b\0c": 1 } ] }), Some(zero)),
        (of_length(65_536), Some(long)),
        (json!({ "a": "\\u0000" }), None),
        (of_length(65_535), None),
    ] {
        for command in &commands {
            let mut fields = lease::<F>(7);
            fields["user-context"] = context.clone();
            fields["force-create"] = json!(true);
            let is_bulk = command.ends_with("-bulk-apply");
            let arguments = if is_bulk { json!({ "leases": [ fields ] }) } else { fields };
            let answer = server.call(command, arguments);
            match expected {
                Some(text) => assert_eq!(answer, error(text), "{command}"),
                None => assert_eq!(answer["result"], 0, "{command}: {answer}"),
            }
            let address = json!({ "ip-address": lease::<F>(7)["ip-address"] });
            server.call(&name::<F>("lease#-del"), address);
        }
    }
    let mut commented = lease::<F>(7);
    commented["comment"] = json!("a\0b");
    assert_eq!(server.call(&name::<F>("lease#-add"), commented), error(zero));
}

#[test]
fn contexts_that_no_store_keeps_are_refused() {
    contexts_are_bounded::<V4>();
    contexts_are_bounded::<V6>();
}

fn names_are_cut<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let mut lease = lease::<F>(7);
    lease["hostname"] = json!("x".repeat(300) + "\0");
    assert_eq!(server.call(&name::<F>("lease#-add"), lease)["result"], 0);
    let address = json!({ "ip-address": self::lease::<F>(7)["ip-address"] });
    let answer = server.call(&name::<F>("lease#-get"), address);
    assert_eq!(answer["arguments"]["hostname"], "x".repeat(255), "{answer}");
}

#[test]
fn names_that_are_too_long_are_cut() {
    names_are_cut::<V4>();
    names_are_cut::<V6>();
}

/// Returns the answer's code and the number of seconds by which the stored lease of the address is
/// later than `from`, after an update of a client's lease that is `later_s` later than `from`.
fn update_by_partner<F: CommandFamily>(
    server: &mut Fake<F>,
    client: u8,
    later_s: u64,
    origin: &Value,
    hears_later_lease: bool,
) -> (Value, Option<u64>) {
    let from = 1_700_000_000;
    let mut arguments = lease::<F>(11);
    let key = if F::VERSION == IpVersion::V4 { "hw-address" } else { "duid" };
    arguments[key] = json!(format!("01:02:{client:02x}"));
    arguments["valid-lft"] = json!(100);
    arguments["expire"] = json!(from + 100 + later_s);
    arguments["origin"] = origin.clone();
    arguments["hears-later-lease"] = json!(hears_later_lease);
    arguments["force-create"] = json!(true);
    let answer = server.call(&name::<F>("lease#-update"), arguments.clone());
    let stored =
        server.call(&name::<F>("lease#-get"), json!({ "ip-address": arguments["ip-address"] }));
    let cltt_s = stored["arguments"]["cltt"].as_u64();
    (answer["result"].clone(), cltt_s.map(|cltt_s| cltt_s - from))
}

fn late_updates_are_ignored<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let partner = json!("ha-partner");
    for (client, later_s, origin, hears, result, stored) in [
        (1, 5, &partner, true, 0, 5),
        (1, 5, &partner, true, 0, 5),
        (1, 4, &partner, true, 3, 5),
        (1, 4, &partner, false, 3, 5),
        (2, 4, &partner, true, 4, 5),
        // No second client may be acknowledged by Kea.
        (2, 4, &partner, false, 1, 5),
        // Another client may have the reply to a request of the same second.
        (2, 5, &partner, true, 4, 5),
        (2, 5, &partner, false, 1, 5),
        (2, 9, &partner, true, 0, 9),
        (1, 8, &json!("user"), true, 0, 8),
        (1, 7, &NONE, true, 0, 7),
    ] {
        let outcome = update_by_partner(&mut server, client, later_s, origin, hears);
        assert_eq!(outcome, (json!(result), Some(stored)), "{client} {later_s} {origin} {hears}");
    }
}

/// The time of a lease may come from a clock that was ahead.
#[test]
fn an_update_of_the_partner_replaces_a_lease_of_the_future() {
    let mut server = Fake::<V4>::with_subnets();
    let partner = json!("ha-partner");
    let ahead_s = |s: u64| common::WALL_US / 1_000_000 + s - 1_700_000_000;
    for (later_s, stored) in [(ahead_s(60), ahead_s(60)), (ahead_s(61), ahead_s(0))] {
        update_by_partner(&mut server, 1, later_s, &NONE, true);
        let outcome = update_by_partner(&mut server, 1, ahead_s(0), &partner, true);
        assert_eq!(outcome.1, Some(stored));
    }
}

#[test]
fn a_late_update_of_the_partner_changes_nothing() {
    late_updates_are_ignored::<V4>();
    late_updates_are_ignored::<V6>();
}

#[test]
fn a_late_deletion_by_the_partner_changes_nothing() {
    let mut server = Fake::<V4>::with_subnets();
    let partner = json!("ha-partner");
    update_by_partner(&mut server, 1, 5, &partner, true);
    let delete = |later_s: u64, origin: &Value| {
        json!({ "ip-address": "192.0.2.11", "expire": 1_700_000_100 + later_s, "valid-lft": 100,
            "origin": origin })
    };
    assert_eq!(server.call("lease4-del", delete(4, &partner))["result"], 3);
    assert_eq!(server.call("lease4-del", delete(5, &partner))["result"], 0);
    update_by_partner(&mut server, 1, 5, &partner, true);
    assert_eq!(server.call("lease4-del", delete(4, &NONE))["result"], 0);
}

/// Kea's DHCPv6 servers send updates in one command.
#[test]
fn late_changes_of_the_partner_do_not_keep_others_back() {
    let mut server = Fake::<V6>::with_subnets();
    let partner = json!("ha-partner");
    update_by_partner(&mut server, 1, 5, &partner, true);
    let lease = |last: u8, client: u8, later_s: u64| {
        json!({ "ip-address": format!("2001:db8::{last}"), "duid": format!("01:02:{client:02x}"),
            "iaid": 11, "valid-lft": 100, "expire": 1_700_000_100 + later_s })
    };
    let mut apply = |deleted: &[Value], leases: &[Value], hears_later_lease: bool| {
        let arguments = json!({ "deleted-leases": deleted, "leases": leases,
            "origin": "ha-partner", "hears-later-lease": hears_later_lease });
        let answer = server.call("lease6-bulk-apply", arguments);
        let failed = |list: &str| answer["arguments"][list][0]["result"].clone();
        let failures = [failed("failed-deleted-leases"), failed("failed-leases")];
        (answer["result"].clone(), failures)
    };
    let other = || lease(12, 3, 4);
    assert_eq!(apply(&[], &[lease(11, 1, 4), other()], true), (json!(0), [NONE, json!(3)]));
    assert_eq!(apply(&[], &[lease(11, 2, 4)], true), (json!(3), [NONE, json!(4)]));
    // Kea would end the relationship after ten such conflicts, and acknowledges all leases of a
    // command if one of them was stored.
    assert_eq!(apply(&[], &[lease(11, 2, 4)], false), (json!(1), [NONE, json!(1)]));
    assert_eq!(apply(&[], &[lease(11, 2, 4), other()], false), (json!(1), [NONE, json!(1)]));
    assert_eq!(apply(&[], &[lease(11, 1, 4), other()], false), (json!(0), [NONE, json!(3)]));
    assert_eq!(apply(&[lease(11, 1, 4)], &[other()], true), (json!(0), [json!(3), NONE]));
    assert_eq!(apply(&[lease(11, 1, 5)], &[other()], true), (json!(0), [NONE, NONE]));
}

/// Kea 2.2 refuses the state of a released lease, and would keep the lease as it was.
#[test]
fn an_old_partner_copies_released_leases_as_ended_ones() {
    let mut server = Fake::<V4>::with_subnets();
    let mut released = lease::<V4>(11);
    released["state"] = json!(3);
    assert_eq!(server.call("lease4-add", released)["result"], 0);
    let page = |origin: &str| json!({ "from": "start", "limit": 9, "origin": origin });
    for (is_old, origin, state) in
        [(false, "ha-partner", 3), (true, "user", 3), (true, "ha-partner", 2)]
    {
        server.is_partner_old = is_old;
        let answer = server.call("lease4-get-page", page(origin));
        assert_eq!(answer["arguments"]["leases"][0]["state"], state, "{is_old} {origin}");
    }
}

/// Checks that a lease of an unknown subnet is a conflict alone, and an error among others.
fn unknown_subnets_are_refused<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let mut lease = lease::<F>(7);
    lease["subnet-id"] = json!(99);
    let alone = server.call(&name::<F>("lease#-update"), lease.clone());
    let among = json!({ "leases": [self::lease::<F>(8), lease] });
    let among = server.call(&name::<F>("lease#-bulk-apply"), among);
    assert_eq!((&alone["result"], &among["result"]), (&json!(4), &json!(1)), "{alone} {among}");
    assert_eq!(alone["text"], among["text"]);
    let address = json!({ "ip-address": self::lease::<F>(8)["ip-address"] });
    assert_eq!(server.call(&name::<F>("lease#-get"), address)["result"], 3);
}

#[test]
fn a_lease_of_an_unknown_subnet_is_refused_alone_and_among_others() {
    unknown_subnets_are_refused::<V4>();
    unknown_subnets_are_refused::<V6>();
}

/// Checks that a partner's rows are stored, and refused where their lease would be.
fn rows_are_stored<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    let apply = |server: &mut Fake<F>, rows: &[Value], origin: &str| {
        let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
        let arguments = json!({ "rows": rows, "origin": origin });
        server.call(&name::<F>("lease#-bulk-apply"), arguments)
    };
    let of = |last: u8, subnet: u32| {
        let mut lease = lease::<F>(last);
        lease["subnet-id"] = json!(subnet);
        lease
    };
    let subnet = lease::<F>(7)["subnet-id"].as_u64().map_or(1, |id| id as u32);
    let stored = apply(&mut server, &[of(7, subnet), of(8, subnet)], "ha-partner");
    assert_eq!(stored["result"], 0, "{stored}");
    assert_eq!(server.leases.len(), 2);
    for (rows, origin, text) in [
        (vec![of(9, subnet), of(10, 99)], "ha-partner", "Invalid subnet-id"),
        (vec![of(9, subnet), json!("x")], "ha-partner", "'rows' has no row"),
        (vec![of(9, subnet)], "user", "neither 'deleted-leases' nor 'leases'"),
    ] {
        let refused = apply(&mut server, &rows, origin);
        assert_eq!(refused["result"], 1, "{refused}");
        assert!(refused["text"].as_str().is_some_and(|shown| shown.contains(text)), "{refused}");
        assert_eq!(server.leases.len(), 2, "{text}");
    }
    server.leases.refuses = Some(PutFailure::Busy);
    let busy = apply(&mut server, &[of(7, subnet)], "ha-partner");
    let failed = &busy["arguments"]["failed-leases"][0];
    assert_eq!(failed["ip-address"], lease::<F>(7)["ip-address"], "{busy}");
    assert_eq!(failed["result"], 4, "{busy}");
}

#[test]
fn a_partner_updates_leases_by_rows() {
    rows_are_stored::<V4>();
    rows_are_stored::<V6>();
}

/// The fake server knows the changes of its copy number 7: the lease of the second address.
#[test]
fn a_partner_copies_leases_and_then_what_has_changed() {
    let mut server = Fake::<V4>::with_subnets();
    for last in [11, 12] {
        assert_eq!(server.call("lease4-add", lease::<V4>(last))["result"], 0);
    }
    let page = |origin: &str, further: &Value| {
        let mut page = json!({ "from": "start", "limit": 9, "origin": origin });
        for (key, value) in further.as_object().into_iter().flatten() {
            page[key] = value.clone();
        }
        page
    };
    let noting = json!({ "note-changes": true });
    for (origin, copy) in [("ha-partner", json!(7)), ("user", NONE)] {
        let answer = server.call("lease4-get-page", page(origin, &noting));
        assert_eq!(answer["arguments"]["changes-of"], copy, "{origin}");
        assert_eq!(answer["arguments"]["count"], 2, "{origin}");
    }
    for (origin, form, other) in [("ha-partner", "rows", "leases"), ("user", "leases", "rows")] {
        let answer = server.call("lease4-get-page", page(origin, &json!({ "as-rows": true })));
        let arguments = &answer["arguments"];
        assert_eq!(arguments[form].as_array().map(Vec::len), Some(2), "{origin}");
        assert_eq!((&answer["result"], &arguments[other]), (&json!(0), &NONE), "{origin}");
    }
    let changes = |copy: u64| json!({ "changes-of": copy, "changes-from": 0 });
    let mut as_rows = changes(7);
    as_rows["as-rows"] = json!(true);
    let answer = server.call("lease4-get-page", page("ha-partner", &as_rows));
    assert_eq!(answer["arguments"]["rows"].as_array().map(Vec::len), Some(1), "{answer}");
    let answer = server.call("lease4-get-page", page("ha-partner", &changes(7)));
    assert_eq!(answer["result"], 0);
    let arguments = &answer["arguments"];
    assert_eq!((&arguments["count"], &arguments["changes-total"]), (&json!(1), &json!(4)));
    for list in ["leases", "ended-leases"] {
        assert_eq!(arguments[list][0]["ip-address"], "192.0.2.12", "{list}");
    }
    let unknown = server.call("lease4-get-page", page("ha-partner", &changes(8)));
    assert_eq!(unknown["text"], "this server does not know all changes since the copy began");
    let bad = server.call("lease4-get-page", page("ha-partner", &json!({ "changes-of": 7 })));
    assert_eq!(bad["text"], "'changes-from' parameter must be a number");
    // Kea ignores such arguments.
    let all = server.call("lease4-get-page", page("user", &changes(8)));
    assert_eq!(all["arguments"]["count"], 2);
}
