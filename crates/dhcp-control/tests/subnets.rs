//! Commands about subnets, shared networks and classes.

mod common;

use common::Fake;
use dhcp_control::{Commanded, IpVersion};
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

/// A command and its answer in both families: `#` is 4 or 6, `PREFIX` a subnet's.
fn both(table: &[(&str, Value, Value)]) {
    fn run<F: Commanded>(table: &[(&str, Value, Value)]) {
        let (number, prefix) = match F::VERSION {
            IpVersion::V4 => ("4", "10.9.0.0/16"),
            IpVersion::V6 => ("6", "2001:db8:9::/48"),
        };
        let in_family = |text: String| text.replace('#', number).replace("PREFIX", prefix);
        let read = |value: &Value| serde_json::from_str(&in_family(value.to_string())).unwrap();
        let mut server = Fake::<F>::new(json!({}));
        for (name, arguments, expected) in table {
            let name = in_family((*name).to_owned());
            server.answers(&[(&name, read(arguments), read(expected))]);
        }
    }
    run::<V4>(table);
    run::<V6>(table);
}

fn subnet(subnet: Value) -> Value {
    json!({ "subnet#": [subnet] })
}

#[test]
fn subnets_are_added_changed_shown_and_deleted() {
    let named = json!({ "subnets": [{ "id": 5, "subnet": "PREFIX" }] });
    both(&[
        (
            "subnet#-list",
            NONE,
            json!({ "result": 3, "text": "0 IPv# subnets found", "arguments": { "subnets": [] } }),
        ),
        ("subnet#-add", NONE, error("no arguments specified for the 'subnet#-add' command")),
        (
            "subnet#-add",
            json!([]),
            error("arguments specified for the 'subnet#-add' command are not a map"),
        ),
        (
            "subnet#-add",
            json!({}),
            error(
                "invalid number of arguments 0 for the 'subnet#-add' command. Expecting 'subnet#' list",
            ),
        ),
        (
            "subnet#-add",
            json!({ "x": 1 }),
            error("missing 'subnet#' argument for the 'subnet#-add' command"),
        ),
        (
            "subnet#-add",
            json!({ "subnet#": 1 }),
            error("'subnet#' argument specified for the 'subnet#-add' command is not a list"),
        ),
        (
            "subnet#-add",
            json!({ "subnet#": [] }),
            error(
                "invalid number of subnets specified for the 'subnet#-add' command. Expected one subnet",
            ),
        ),
        (
            "subnet#-add",
            json!({ "subnet#": [1] }),
            error(
                "invalid subnet information specified for the 'subnet#-add' command. Expected a map",
            ),
        ),
        (
            "subnet#-add",
            subnet(json!({ "reservations": [] })),
            error(
                "must not specify host reservations with 'subnet#-add'. Use 'reservation-add' to add a reservation to a subnet",
            ),
        ),
        (
            "subnet#-add",
            subnet(json!({ "id": 5, "subnet": "PREFIX", "renew-timer": 1 })),
            json!({ "result": 0, "text": "IPv# subnet added", "arguments": named }),
        ),
        (
            "subnet#-list",
            NONE,
            json!({ "result": 0, "text": "1 IPv# subnet found", "arguments": { "subnets": [
            { "id": 5, "subnet": "PREFIX", "shared-network-name": null }] } }),
        ),
        (
            "subnet#-get",
            json!({ "id": 5 }),
            json!({ "result": 0, "text": "Info about IPv# subnet PREFIX (id 5) returned",
            "arguments": { "subnet#": [{ "id": 5, "subnet": "PREFIX", "renew-timer": 1 }] } }),
        ),
        (
            "subnet#-get",
            json!({}),
            error(
                "invalid number of arguments 0 for the 'subnet#-get' command. Expecting 'id' or 'subnet'",
            ),
        ),
        ("subnet#-get", json!({ "x": 5 }), error("'id' or 'subnet' parameter required")),
        ("subnet#-get", json!({ "id": "5" }), error("'id' parameter must be an integer")),
        ("subnet#-get", json!({ "subnet": 5 }), error("'subnet' parameter must be a string")),
        ("subnet#-get", json!({ "id": 9 }), empty("No subnet with id 9 found")),
        ("subnet#-get", json!({ "subnet": "x" }), empty("No x subnet found")),
        (
            "subnet#-update",
            subnet(json!({ "subnet": "PREFIX" })),
            error("must specify subnet id with 'subnet#-update' command."),
        ),
        (
            "subnet#-update",
            subnet(json!({ "id": "5" })),
            error("invalid type specified for parameter 'id'"),
        ),
        (
            "subnet#-update",
            subnet(json!({ "id": 0 })),
            error("The 'id' value (0) is not within expected range: (1 - 4294967294)"),
        ),
        ("subnet#-update", subnet(json!({ "id": 9 })), error("Can't find subnet '9' to update")),
        (
            "subnet#-update",
            subnet(json!({ "id": 5, "reservations": [] })),
            error("must not specify host reservations with 'subnet#-update'."),
        ),
        (
            "subnet#-update",
            subnet(json!({ "id": 5, "subnet": "PREFIX", "rebind-timer": 2 })),
            json!({ "result": 0, "text": "IPv# subnet updated", "arguments": named }),
        ),
        (
            "subnet#-delta-add",
            subnet(json!({ "id": 5, "renew-timer": 3, "pools": [{ "pool": "PREFIX" }] })),
            json!({ "result": 0, "text": "IPv# subnet updated", "arguments": named }),
        ),
        (
            "subnet#-delta-del",
            subnet(json!({ "id": 5, "rebind-timer": 2 })),
            json!({ "result": 0, "text": "IPv# subnet updated", "arguments": named }),
        ),
        (
            "subnet#-get",
            json!({ "subnet": "PREFIX" }),
            json!({ "result": 0, "text": "Info about IPv# subnet PREFIX (id 5) returned",
            "arguments": { "subnet#": [{ "id": 5, "subnet": "PREFIX", "renew-timer": 3, "pools": [{ "pool": "PREFIX" }] }] } }),
        ),
        (
            "subnet#-del",
            json!({}),
            error(
                "invalid number of arguments specified for the 'subnet#-del command. Expected subnet identifier",
            ),
        ),
        (
            "subnet#-del",
            json!({ "x": 1 }),
            error("subnet identifier is required for the 'subnet#-del' command"),
        ),
        (
            "subnet#-del",
            json!({ "id": "1" }),
            error("subnet identifier specified for the 'subnet#-del' is not a number"),
        ),
        ("subnet#-del", json!({ "id": 9 }), empty("no subnet with id 9 found")),
        (
            "subnet#-del",
            json!({ "id": 5 }),
            json!({ "result": 0, "text": "IPv# subnet PREFIX (id 5) deleted", "arguments": named }),
        ),
        ("subnet#-del", json!({ "id": 5 }), empty("no subnet with id 5 found")),
    ]);
}

#[test]
fn shared_networks_take_subnets_in_and_let_them_go() {
    let list = |network: Value| {
        json!({ "result": 0, "text": "1 IPv# subnet found", "arguments": { "subnets": [
            { "id": 5, "subnet": "PREFIX", "shared-network-name": network }] } })
    };
    let named = json!({ "shared-networks": [{ "name": "floor" }] });
    both(&[
        (
            "network#-list",
            NONE,
            json!({ "result": 3, "text": "0 IPv# networks found", "arguments": { "shared-networks": [] } }),
        ),
        (
            "network#-add",
            json!({}),
            error("missing 'shared-networks' argument for the 'network#-add' command"),
        ),
        (
            "network#-add",
            json!({ "shared-networks": 1 }),
            error(
                "'shared-networks' argument specified for the 'network#-add' command is not a list",
            ),
        ),
        (
            "network#-add",
            json!({ "shared-networks": [] }),
            error(
                "invalid number of networks specified for the 'network#-add' command. Expected one network",
            ),
        ),
        (
            "network#-add",
            json!({ "shared-networks": [1] }),
            error(
                "invalid network information specified for the 'network#-add' command. Expected a map",
            ),
        ),
        ("network#-add", json!({ "shared-networks": [{}] }), error("missing parameter 'name'")),
        (
            "network#-add",
            json!({ "shared-networks": [{ "name": "floor" }] }),
            json!({ "result": 0, "text": "A new IPv# shared network 'floor' added", "arguments": named }),
        ),
        (
            "network#-list",
            NONE,
            json!({ "result": 0, "text": "1 IPv# network found", "arguments": named }),
        ),
        (
            "network#-get",
            json!({}),
            error("invalid 'network#-get': missing mandatory 'name' parameter"),
        ),
        ("network#-get", json!({ "name": 1 }), error("'name' parameter must be a string")),
        ("network#-get", json!({ "name": "x" }), empty("No 'x' shared network found")),
        (
            "subnet#-add",
            subnet(json!({ "id": 5, "subnet": "PREFIX" })),
            json!({ "result": 0, "text": "IPv# subnet added",
            "arguments": { "subnets": [{ "id": 5, "subnet": "PREFIX" }] } }),
        ),
        (
            "network#-subnet-add",
            json!({ "id": 5 }),
            error("missing 'name' argument for the 'network#-subnet-add' command"),
        ),
        (
            "network#-subnet-add",
            json!({ "name": 1, "id": 5 }),
            error(
                "'name' argument specified for the 'network#-subnet-add' command is not a string",
            ),
        ),
        (
            "network#-subnet-add",
            json!({ "name": "floor", "id": "5" }),
            error(
                "'id' argument specified for the 'network#-subnet-add' command is not an integer",
            ),
        ),
        (
            "network#-subnet-add",
            json!({ "name": "x", "id": 5 }),
            empty("no IPv# shared network with name 'x' found"),
        ),
        (
            "network#-subnet-add",
            json!({ "name": "floor", "id": 6 }),
            empty("no IPv# subnet with id '6' found"),
        ),
        (
            "network#-subnet-add",
            json!({ "name": "floor", "id": 5 }),
            success("IPv# subnet PREFIX (id 5) is now part of shared network 'floor'"),
        ),
        (
            "network#-subnet-add",
            json!({ "name": "floor", "id": 5 }),
            error("subnet with id 5 is already part of a shared network"),
        ),
        ("subnet#-list", NONE, list(json!("floor"))),
        (
            "network#-get",
            json!({ "name": "floor" }),
            json!({ "result": 0, "text": "Info about IPv# shared network 'floor' returned",
            "arguments": { "shared-networks": [{ "name": "floor", "subnet#": [{ "id": 5, "subnet": "PREFIX" }] }] } }),
        ),
        (
            "subnet#-delta-add",
            subnet(json!({ "id": 5, "renew-timer": 3 })),
            json!({ "result": 0, "text": "IPv# subnet updated",
            "arguments": { "subnets": [{ "id": 5, "subnet": "PREFIX" }] } }),
        ),
        (
            "network#-subnet-del",
            json!({ "name": "floor", "id": 6 }),
            empty(
                "The IPv# subnet with id 6 is not part of the shared network with name 'floor' found",
            ),
        ),
        (
            "network#-subnet-del",
            json!({ "name": "floor", "id": 5 }),
            success("IPv# subnet PREFIX (id 5) is now removed from shared network 'floor'"),
        ),
        ("subnet#-list", NONE, list(NONE)),
        (
            "network#-subnet-add",
            json!({ "name": "floor", "id": 5 }),
            success("IPv# subnet PREFIX (id 5) is now part of shared network 'floor'"),
        ),
        (
            "network#-del",
            json!({}),
            error("network name ('name') is required for the 'network#-del' command"),
        ),
        (
            "network#-del",
            json!({ "name": 1 }),
            error("network name ('name') specified for the 'network#-del' is not a string"),
        ),
        (
            "network#-del",
            json!({ "name": "floor", "subnets-action": 1 }),
            error(
                "subnets-action parameter for network#-del command must be a string. Supported values are: 'keep' and 'delete'.",
            ),
        ),
        (
            "network#-del",
            json!({ "name": "floor", "subnets-action": "x" }),
            error(
                "Invalid value for subnets-action parameter: x, Supported values: 'keep' and 'delete'.",
            ),
        ),
        ("network#-del", json!({ "name": "x" }), empty("no shared network with name 'x' found")),
        (
            "network#-del",
            json!({ "name": "floor", "subnets-action": "keep" }),
            json!({ "result": 0, "text": "IPv# shared network 'floor' deleted", "arguments": named }),
        ),
        ("subnet#-list", NONE, list(NONE)),
        (
            "network#-add",
            json!({ "shared-networks": [{ "name": "floor", "subnet#": [{ "id": 6, "subnet": "x" }] }] }),
            json!({ "result": 0, "text": "A new IPv# shared network 'floor' added", "arguments": named }),
        ),
        (
            "network#-del",
            json!({ "name": "floor", "subnets-action": "delete" }),
            json!({ "result": 0, "text": "IPv# shared network 'floor' deleted", "arguments": named }),
        ),
        ("subnet#-list", NONE, list(NONE)),
    ]);
}

#[test]
fn classes_are_added_changed_shown_and_deleted() {
    let class = |class: Value| json!({ "client-classes": [class] });
    both(&[
        (
            "class-list",
            NONE,
            json!({ "result": 3, "text": "0 classes found", "arguments": { "client-classes": [] } }),
        ),
        ("class-add", NONE, error("invalid command 'class-add': no arguments specified")),
        (
            "class-add",
            json!([]),
            error(
                "invalid command 'class-add': expected 'arguments' to be a map, got list instead",
            ),
        ),
        ("class-add", json!({}), error("invalid command 'class-add': 'arguments' is empty")),
        (
            "class-add",
            json!({ "a": 1, "b": 2 }),
            error(
                "invalid number of arguments 2 for the 'class-add' command. Expecting 'client-classes' list",
            ),
        ),
        (
            "class-add",
            json!({ "a": 1 }),
            error("missing 'client-classes' argument for the 'class-add' command"),
        ),
        (
            "class-add",
            json!({ "client-classes": 1 }),
            error("'client-classes' argument specified for the 'class-add' command is not a list"),
        ),
        (
            "class-add",
            json!({ "client-classes": [] }),
            error(
                "invalid number of classes specified for the 'class-add' command. Expected one class",
            ),
        ),
        (
            "class-add",
            class(json!(1)),
            error("invalid class definition specified for the 'class-add' command. Expected a map"),
        ),
        ("class-add", class(json!({})), error("missing parameter 'name'")),
        ("class-add", class(json!({ "name": "a" })), success("Class 'a' added")),
        (
            "class-add",
            class(json!({ "name": "a" })),
            error("Client Class: a has already been defined"),
        ),
        (
            "class-list",
            NONE,
            json!({ "result": 0, "text": "1 class found", "arguments": { "client-classes": [{ "name": "a" }] } }),
        ),
        (
            "class-add",
            class(json!({ "name": "b", "template-test": "member('a')" })),
            success("Class 'b' added"),
        ),
        ("class-update", class(json!({ "name": "x" })), empty("Class 'x' is not found")),
        (
            "class-update",
            class(json!({ "name": "b", "valid-lifetime": 1 })),
            success("Class 'b' updated"),
        ),
        (
            "class-get",
            json!({ "name": "b" }),
            json!({ "result": 0, "text": "Class 'b' definition returned",
            "arguments": { "client-classes": [{ "name": "b", "valid-lifetime": 1, "template-test": "member('a')" }] } }),
        ),
        ("class-get", json!({ "name": "x" }), empty("Class 'x' not found")),
        (
            "class-get",
            json!({ "name": 1 }),
            error("'name' argument specified for the 'class-get' command is not a string"),
        ),
        (
            "class-get",
            json!({ "x": 1 }),
            error("missing 'name' argument for the 'class-get' command"),
        ),
        ("class-del", json!({ "name": "x" }), empty("Class 'x' not found")),
        ("class-del", json!({ "name": "a" }), error("Class 'a' is used by class 'b'")),
        ("class-del", json!({ "name": "b" }), success("Class 'b' deleted")),
        ("class-del", json!({ "name": "a" }), success("Class 'a' deleted")),
    ]);
}

#[test]
fn a_change_that_is_no_configuration_is_refused() {
    let mut server = Fake::<V4>::with_subnets();
    let before = server.document.clone();
    let wrong = json!({ "subnet4": [{ "id": 9, "subnet": "10.9.0.0/16", "wrong": 1 }] });
    let answer = server.call("subnet4-add", wrong);
    assert_eq!(answer["result"], 1);
    assert_eq!(server.document, before);
    let half = json!({ "client-classes": [{ "name": "a", "half": 1 }] });
    assert_eq!(server.call("class-add", half)["result"], 5);
}

#[test]
fn an_updated_subnet_keeps_its_reservations() {
    let mut server = Fake::<V4>::with_subnets();
    server.document["Dhcp4"]["subnet4"][0]["reservations"] = json!([{ "hw-address": "01:02" }]);
    server.call("subnet4-update", json!({ "subnet4": [{ "id": 1, "subnet": "192.0.2.0/24" }] }));
    let expected =
        json!({ "id": 1, "subnet": "192.0.2.0/24", "reservations": [{ "hw-address": "01:02" }] });
    assert_eq!(server.document["Dhcp4"]["subnet4"][0], expected);
    let shown = server.call("subnet4-get", json!({ "id": 1 }));
    assert!(shown["arguments"]["subnet4"][0].get("reservations").is_none());
}
