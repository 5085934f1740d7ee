//! Tests of commands about reservations.

use crate::common::Fake;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use serde_json::{Value, json};

const NONE: Value = Value::Null;

fn error(text: &str) -> Value {
    json!({ "result": 1, "text": text })
}

fn empty(text: &str) -> Value {
    json!({ "result": 3, "text": text })
}

fn success(text: &str) -> Value {
    json!({ "result": 0, "text": text })
}

/// Returns the arguments of `reservation-add` or `-update` for the configuration.
fn memory(reservation: Value) -> Value {
    json!({ "reservation": reservation, "operation-target": "memory" })
}

fn in_memory(mut arguments: Value) -> Value {
    arguments["operation-target"] = json!("memory");
    arguments
}

#[test]
fn reservations_are_added_changed_and_deleted() {
    let mut server = Fake::<V4>::with_subnets();
    let host =
        json!({ "subnet-id": 1, "hw-address": "1a:1b:1c:1d:1e:1f", "ip-address": "192.0.2.202" });
    let by_hardware =
        json!({ "subnet-id": 1, "identifier-type": "hw-address", "identifier": "1a1b1c1d1e1f" });
    let set = |mut host: Value, key: &str, value: Value| {
        host[key] = value;
        host
    };
    let no_database = error("Host database not available, cannot add host.");
    server.answers(&[
        ("reservation-add", NONE, error("no parameters specified for the command")),
        ("reservation-add", json!({}), error("reservation must be specified")),
        ("reservation-add", json!({ "reservation": host, "operation-target": "x" }),
            error("The 'operation-target' value (x) is not within expected set: (memory, database, all, default)")),
        ("reservation-add", json!({ "reservation": host }), no_database.clone()),
        ("reservation-add", json!({ "reservation": host, "operation-target": "database" }), no_database),
        ("reservation-add", memory(set(host.clone(), "subnet-id", json!(5))), error("IPv4 subnet with ID of '5' is not configured")),
        ("reservation-add", memory(set(host.clone(), "subnet-id", json!(7))),
            error("specified reservation '192.0.2.202' is not matching the IPv4 subnet prefix '10.0.0.0/24'")),
        ("reservation-add", memory(json!({ "hw-address": "01:02", "ip-address": "192.0.2.3" })),
            error("Mandatory 'subnet-id' parameter missing. The address '192.0.2.3' belongs to subnet '192.0.2.0/24' id 1.")),
        ("reservation-add", memory(json!({ "hw-address": "01:02", "ip-address": "172.16.0.3" })),
            error("Mandatory 'subnet-id' parameter missing. The address '172.16.0.3' belongs to no configured subnet.")),
        ("reservation-add", memory(host.clone()), success("Host added.")),
        ("reservation-add", memory(set(host.clone(), "ip-address", json!("192.0.2.203"))),
            error("failed to add new host using the HW address '1a:1b:1c:1d:1e:1f' to the IPv4 subnet id '1' as this host has already been added")),
        ("reservation-add", memory(set(host.clone(), "hw-address", json!("01:02"))),
            error("failed to add address reservation for host to the IPv4 subnet id '1' for address/prefix 192.0.2.202: There's already reservation for this address/prefix")),
        ("reservation-add", memory(json!({ "flex-id": "'abc'", "hostname": "Foo.example" })),
            success("Host added. subnet-id not specified, assumed global (subnet-id 0).")),
        ("reservation-get", by_hardware.clone(), json!({ "result": 0, "text": "Host found.", "arguments": host })),
        ("reservation-get", json!({ "subnet-id": 1, "ip-address": "192.0.2.202" }),
            json!({ "result": 0, "text": "Host found.", "arguments": host })),
        ("reservation-get", json!({ "subnet-id": 7, "ip-address": "192.0.2.202" }), empty("Host not found.")),
        ("reservation-get", json!({ "subnet-id": 1, "ip-address": "192.0.2.202", "operation-target": "database" }), empty("Host not found.")),
        ("reservation-get", json!({ "subnet-id": 0, "identifier-type": "flex-id", "identifier": "61:62:63" }),
            json!({ "result": 0, "text": "Host found.", "arguments": { "flex-id": "'abc'", "hostname": "Foo.example", "subnet-id": 0 } })),
        ("reservation-update", memory(set(host.clone(), "hostname", json!("bar"))), success("Host updated.")),
        ("reservation-get-all", json!({ "subnet-id": 1 }), json!({ "result": 0, "text": "1 IPv4 host(s) found.",
            "arguments": { "hosts": [set(host.clone(), "hostname", json!("bar"))] } })),
        ("reservation-update", memory(json!({ "subnet-id": 1, "hw-address": "09:09", "hostname": "x" })), error("Host not updated (not found).")),
        ("reservation-get", json!({ "subnet-id": 1, "identifier-type": "hw-address", "identifier": "09:09" }), empty("Host not found.")),
        ("reservation-del", in_memory(json!({ "subnet-id": 1, "ip-address": "192.0.2.9" })), empty("Host not deleted (not found).")),
        ("reservation-del", in_memory(json!({ "subnet-id": 9, "ip-address": "192.0.2.9" })), empty("Host not deleted (not found).")),
        ("reservation-del", by_hardware.clone(), error("Unable to delete a host because there is no hosts-databases configured.")),
        ("reservation-del", in_memory(by_hardware.clone()), success("Host deleted.")),
        ("reservation-get", by_hardware, empty("Host not found.")),
        ("reservation-add", memory(json!({ "hw-address": "03:04", "wrong": 1, "subnet-id": 0 })), {
            let text = server_text(&json!({ "hw-address": "03:04", "wrong": 1 }));
            error(&text)
        }),
    ]);
    assert_eq!(server.document["Dhcp4"]["subnet4"][0]["reservations"], json!([]));
}

/// Checks that `ip-reservations-unique` applies to commands as it does to files.
#[test]
fn an_address_is_reserved_twice_where_that_is_allowed() {
    for (is_unique, result) in [(true, 1), (false, 0)] {
        let mut server = Fake::<V4>::with_subnets();
        server.document["Dhcp4"]["ip-reservations-unique"] = json!(is_unique);
        for (number, expected) in [(1, 0), (2, result)] {
            let host = json!({ "subnet-id": 1, "hw-address": format!("09:0{number}"), "ip-address": "192.0.2.77" });
            assert_eq!(server.call("reservation-add", memory(host))["result"], expected);
        }
    }
}

/// Returns the text of the configuration reader about a global reservation with an unknown key.
fn server_text(host: &Value) -> String {
    let mut server = Fake::<V4>::with_subnets();
    let mut document = server.document.clone();
    document["Dhcp4"]["reservations"] =
        json!([{ "flex-id": "'abc'", "hostname": "Foo.example" }, host]);
    document["Dhcp4"]["subnet4"][0]["reservations"] = json!([]);
    let answer = server.call("config-test", document);
    assert_eq!(answer["result"], 1);
    answer["text"].as_str().unwrap().to_owned()
}

#[test]
fn reservations_are_found() {
    let mut server = Fake::<V4>::with_subnets();
    server.document["Dhcp4"]["reservations"] = json!([
        { "client-id": "01:02:03", "hostname": "a" },
        { "duid": "01:02:03", "ip-address": "192.0.2.9" },
    ]);
    server.document["Dhcp4"]["subnet4"][1]["reservations"] =
        json!([{ "client-id": "010203", "ip-address": "10.0.0.9", "hostname": "A" }]);
    let missing = "Parameters missing or are not a map.";
    let first = json!({ "client-id": "01:02:03", "hostname": "a", "subnet-id": 0 });
    let second = json!({ "duid": "01:02:03", "ip-address": "192.0.2.9", "subnet-id": 0 });
    let third =
        json!({ "client-id": "010203", "ip-address": "10.0.0.9", "hostname": "A", "subnet-id": 7 });
    let hosts_answer = |hosts: &[&Value]| {
        let text = format!("{} IPv4 host(s) found.", hosts.len());
        json!({ "result": if hosts.is_empty() { 3 } else { 0 }, "text": text, "arguments": { "hosts": hosts } })
    };
    let paged = |hosts: &[&Value], next: Value| {
        let mut page = hosts_answer(hosts);
        page["arguments"]["count"] = json!(hosts.len());
        if !next.is_null() {
            page["arguments"]["next"] = json!({ "source-index": 0, "from": next });
        }
        page
    };
    server.answers(&[
        ("reservation-get", NONE, error(missing)),
        ("reservation-get", json!([]), error(missing)),
        ("reservation-get", json!({}), error("missing parameter 'subnet-id'")),
        ("reservation-get", json!({ "ip-address": "192.0.2.9" }), error("missing parameter 'subnet-id', use 'reservation-get-by-address' with 'ip-address' set to \"192.0.2.9\" to get the list of reservations with this address")),
        ("reservation-get", json!({ "ip-address": 1 }), error("'ip-address' is not a string.")),
        ("reservation-get", json!({ "subnet-id": 1 , "ip-address": "x" }), error("Failed to convert string to address 'x': Invalid argument")),
        ("reservation-get", json!({ "subnet-id": 1 }), error("No 'ip-address' provided and 'identifier-type' is either missing or not a string.")),
        ("reservation-get", json!({ "subnet-id": 1, "identifier-type": "duid", "identifier": "zz" }), error("Unable to parse 'identifier' value.")),
        ("reservation-get", json!({ "subnet-id": 1, "identifier-type": "duid", "identifier": "" }), error("Unable to query for empty 'identifier'.")),
        ("reservation-get", json!({ "subnet-id": 1, "identifier-type": "x", "identifier": "01" }), error("Value of 'identifier-type' was not recognized.")),
        ("reservation-get", json!({ "identifier-type": "duid", "identifier": "01" }), error("missing parameter 'subnet-id', use 'reservation-get-by-id' with 'identifier-type' set to \"duid\" and 'identifier' to \"01\" to get the list of reservations with this identifier")),
        ("reservation-get-all", json!({}), error("missing parameter 'subnet-id'")),
        ("reservation-get-all", json!({ "subnet-id": 9 }), error("IPv4 subnet with ID of '9' is not configured")),
        ("reservation-get-all", json!({ "subnet-id": 0 }), hosts_answer(&[&first, &second])),
        ("reservation-get-all", json!({ "subnet-id": 1 }), hosts_answer(&[])),
        ("reservation-get-by-address", json!({ "ip-address": "x" }), error("Failed to convert 'x' to address: Failed to convert string to address 'x': Invalid argument")),
        ("reservation-get-by-address", json!({ "ip-address": "10.0.0.9" }), hosts_answer(&[&third])),
        ("reservation-get-by-address", json!({ "ip-address": "10.0.0.9", "subnet-id": 1 }), hosts_answer(&[])),
        ("reservation-get-by-hostname", json!({}), error("missing parameter 'hostname'")),
        ("reservation-get-by-hostname", json!({ "hostname": "" }), error("Empty hostname")),
        ("reservation-get-by-hostname", json!({ "hostname": "A" }), hosts_answer(&[&third, &first])),
        ("reservation-get-by-hostname", json!({ "hostname": "a", "subnet-id": 7 }), hosts_answer(&[&third])),
        ("reservation-get-by-id", json!({}), error("'identifier-type' is either missing or not a string.")),
        ("reservation-get-by-id", json!({ "identifier-type": "client-id", "identifier": "01:02:03", "subnet-id": 1 }), error("'subnet-id' is forbidden in reservation-get-by-id")),
        ("reservation-get-by-id", json!({ "identifier-type": "client-id", "identifier": "01:02:03" }), hosts_answer(&[&third, &first])),
        ("reservation-get-page", json!({}), error("missing parameter 'limit'")),
        ("reservation-get-page", json!({ "limit": 0 }), error("page size of retrieved hosts must not be 0")),
        ("reservation-get-page", json!({ "limit": 2 }), paged(&[&third, &first], json!(2))),
        ("reservation-get-page", json!({ "limit": 2, "from": 2 }), paged(&[&second], json!(3))),
        ("reservation-get-page", json!({ "limit": 2, "from": 3 }), paged(&[], NONE)),
        ("reservation-get-page", json!({ "limit": 2, "subnet-id": 7 }), paged(&[&third], json!(1))),
        ("reservation-get-page", json!({ "limit": 2, "source-index": 1 }), paged(&[], NONE)),
        ("reservation-get-page", json!({ "limit": 2, "source-index": 11 }), error("The 'source-index' value (11) is not within expected range: (0 - 10)")),
    ]);
}

#[test]
fn reservations_of_dhcpv6_hold_addresses_and_prefixes() {
    let mut server = Fake::<V6>::with_subnets();
    let host = json!({ "subnet-id": 1, "duid": "01:02:03:04",
        "ip-addresses": ["2001:db8::5", "2001:db8::6"], "prefixes": ["2001:db8:9::/48"] });
    let mut foreign = host.clone();
    foreign["ip-addresses"] = json!(["2001:db8::5", "3001::1"]);
    server.answers(&[
        ("reservation-add", memory(foreign), error("specified reservation '3001::1' is not matching the IPv6 subnet prefix '2001:db8::/32'")),
        ("reservation-add", memory(json!({ "duid": "01:02:03", "ip-addresses": ["2001:db8::5"] })),
            error("Mandatory 'subnet-id' parameter missing. Reserved IPv6 addresses belong to subnet '2001:db8::/32' id 1.")),
        ("reservation-add", memory(json!({ "duid": "01:02:03", "ip-addresses": ["2001:db8::5", "3001::1"] })),
            error("Mandatory 'subnet-id' parameter missing. Reserved IPv6 addresses do not belong to a common configured subnet.")),
        ("reservation-add", memory(json!({ "duid": "01:02:03", "prefixes": ["2001:db8:9::/48"] })),
            error("Mandatory 'subnet-id' parameter missing. Prefixes are not attached to subnets so no hint is available.")),
        ("reservation-add", memory(host.clone()), success("Host added.")),
        ("reservation-get", json!({ "subnet-id": 1, "ip-address": "2001:db8:9::" }),
            json!({ "result": 0, "text": "Host found.", "arguments": host })),
        ("reservation-get-by-address", json!({ "ip-address": "2001:db8::6" }),
            json!({ "result": 0, "text": "1 IPv6 host(s) found.", "arguments": { "hosts": [host] } })),
        ("reservation-update", NONE, error("invalid command: does not contain mandatory 'arguments'")),
        ("reservation-update", json!([]), error("invalid command: expected 'arguments' to be a map, got list instead")),
        ("reservation-update", json!({}), error("invalid command: expected 'reservation' as the sole parameter inside the 'arguments' map, didn't get it instead")),
        ("reservation-update", json!({ "reservation": 1 }), error("invalid command: expected 'reservation' to be a map, got integer instead")),
        ("reservation-update", memory(json!({ "duid": "01:02:03" })), error("Mandatory 'subnet-id' parameter missing. Use `reservation-get-by-id' or 'reservation-get-by-address' to get the list of reservations with given identifier or address.")),
        ("reservation-update", json!({ "reservation": { "duid": "01:02:03", "subnet-id": 1 } }), error("host database not available, cannot update host")),
        ("reservation-del", in_memory(json!({ "subnet-id": 1, "ip-address": "2001:db8::5" })), success("Host deleted.")),
    ]);
}
