//! Tests of the commands that need no hook library, in both families.

use crate::common::Fake;
use base::time::NS_PER_S;
use dhcp_control::{ApplyFailure, CleanupStartResult, CommandFamily, IpVersion, Selected};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use serde_json::{Value, json};

const NONE: Value = Value::Null;

fn error(text: &str) -> Value {
    json!({ "result": 1, "text": text })
}

fn success(text: &str) -> Value {
    json!({ "result": 0, "text": text })
}

#[test]
fn a_command_that_is_none_is_refused() {
    let mut server = Fake::<V4>::with_subnets();
    for (command, text) in [
        (json!([1]), "expected toplevel entry to be a map, got list instead"),
        (json!("x"), "expected toplevel entry to be a map, got string instead"),
        (json!(1.5), "expected toplevel entry to be a map, got real instead"),
        (json!({}), "does not contain mandatory 'command'"),
        (json!({ "command": 5 }), "expected 'command' to be a string, got integer instead"),
        (json!({ "command": "list-commands", "argument": {} }), "unsupported parameter 'argument'"),
    ] {
        let text = format!("Error during command processing: invalid command: {text}");
        assert_eq!(server.run(&command), error(&text));
    }
    let unknown = json!({ "result": 2, "text": "'foo' command not supported." });
    assert_eq!(server.run(&json!({ "command": "foo" })), unknown);
    let served = json!({ "command": "server-tag-get", "service": ["dhcp4"] });
    assert_eq!(server.run(&served)["result"], 0);
}

#[test]
fn commands_are_listed_with_those_of_the_configured_hook_libraries() {
    let mut server = Fake::<V4>::with_subnets();
    let names = |answer: &Value| -> Vec<String> {
        let list = answer["arguments"].as_array().unwrap().iter();
        list.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let all = names(&server.run(&json!({ "command": "list-commands" })));
    assert!(all.is_sorted());
    for name in
        ["lease4-add", "stat-lease4-get", "reservation-add", "subnet4-delta-add", "class-add"]
    {
        assert!(all.iter().any(|known| known == name), "{name}");
    }
    // As in Kea the server has those of the other family, except the commands that need no library.
    for name in ["lease6-add", "lease6-bulk-apply", "subnet6-list", "stat-lease6-get"] {
        assert!(all.iter().any(|known| known == name), "{name}");
    }
    assert!(!all.iter().any(|name| name == "subnet6-select-test"));
    server.hooks.clear();
    let few = names(&server.run(&json!({ "command": "list-commands" })));
    assert!(few.iter().all(|name| !name.starts_with("lease4")));
    assert_eq!(server.call("lease4-get-all", json!({}))["result"], 2);
    let six = names(&Fake::<V6>::with_subnets().run(&json!({ "command": "list-commands" })));
    assert!(six.iter().any(|name| name == "lease6-bulk-apply"));
    assert!(six.iter().any(|name| name == "lease4-get-by-client-id"));
    assert!(!six.iter().any(|name| name == "subnet4-select-test"));
    assert!(six.iter().chain(&all).all(|name| !name.contains("class6")));
    assert!(six.iter().all(|name| !name.contains('#')));
}

/// Answers to commands of the other family; the results are those of Kea 3.0.
#[test]
fn commands_of_the_other_family_find_nothing() {
    let (mut four, mut six) = (Fake::<V4>::with_subnets(), Fake::<V6>::with_subnets());
    let name = json!({ "name": "n", "id": 1 });
    for (result, verb, arguments, text) in [
        (1, "lease#-get", json!({}), "Mandatory 'subnet-id' parameter missing."),
        (3, "lease#-get-all", json!({ "subnets": [1] }), "0 IPv# lease(s) found."),
        (1, "lease#-get-all", json!({}), "'subnets' parameter not specified"),
        (3, "lease#-get-page", json!({ "from": "start", "limit": 5 }), "0 IPv# lease(s) found."),
        (1, "lease#-get-page", json!({}), "'from' parameter not specified"),
        (1, "lease#-get-by-hostname", json!({}), "'hostname' parameter not specified"),
        (3, "lease#-wipe", json!({}), "Deleted 0 IPv# lease(s) from subnet(s)"),
        (3, "subnet#-list", json!({}), "0 IPv# subnets found"),
        (3, "subnet#-get", json!({ "id": 1 }), "No subnet with id 1 found"),
        (3, "network#-list", json!({}), "0 IPv# networks found"),
        (3, "network#-del", name, "no shared network with name 'n' found"),
    ] {
        let of = |digit: &str| (verb.replace('#', digit), text.replace('#', digit));
        let (name, text) = of("6");
        let answer = four.call(&name, arguments.clone());
        assert_eq!((&answer["result"], &answer["text"]), (&json!(result), &json!(text)), "{name}");
        let (name, text) = of("4");
        let answer = six.call(&name, arguments);
        assert_eq!((&answer["result"], &answer["text"]), (&json!(result), &json!(text)), "{name}");
    }
    assert_eq!(four.call("stat-lease6-get", json!({}))["result"], 3);
    let bulk = four.call("lease6-bulk-apply", json!({ "leases": [] }));
    assert_eq!(bulk["text"], "Bulk apply of 0 IPv6 leases completed.");
    four.hooks.clear();
    assert_eq!(four.call("lease6-get-all", json!({}))["result"], 2);
}

/// Checks the answers that are equal in both families.
fn alike<F: CommandFamily>() {
    let mut server = Fake::<F>::with_subnets();
    server.document[F::VERSION.root()]["server-tag"] = json!("here");
    // Only the DHCPv6 server of Kea has tables of relay agents' data.
    let tables = match F::VERSION {
        IpVersion::V4 => "",
        IpVersion::V6 => "\"extended-info-tables\": false, ",
    };
    let multi = "\"multi-threading-enabled\"";
    let rows = include_str!("answers/server.jsonl").replace(multi, &format!("{tables}{multi}"));
    server.answers_of(&rows);
    assert_eq!(
        server.run(&json!({ "command": "interface-redetect" }))["text"],
        "1 interfaces detected."
    );
    assert_eq!(server.added_interfaces, ["a", "b/10.0.0.1"]);
    assert_eq!((server.exit, server.reclaimed), (Some(3), vec![true]));
}

#[test]
fn both_families_answer_alike() {
    alike::<V4>();
    alike::<V6>();
}

/// Checks that `status-get` reports the threads that serve, and the queue as in `multi-threading`.
#[test]
fn the_status_has_the_threads_that_serve() {
    let mut server = Fake::<V4>::with_subnets();
    server.document["Dhcp4"]["multi-threading"] = json!({
        "enable-multi-threading": true, "thread-pool-size": 7, "packet-queue-size": 99
    });
    let status = server.run(&json!({ "command": "status-get" }))["arguments"].clone();
    assert_eq!(status["multi-threading-enabled"], true);
    assert_eq!(
        (&status["thread-pool-size"], &status["packet-queue-size"]),
        (&json!(2), &json!(99)),
        "threads that are configured count from the next start on"
    );
    server.document["Dhcp4"]["multi-threading"] = json!({ "enable-multi-threading": false });
    let status = server.run(&json!({ "command": "status-get" }))["arguments"].clone();
    assert_eq!(status["multi-threading-enabled"], true, "`shards` may say otherwise");
    assert_eq!(status["thread-pool-size"], 2);
    server.status.threads = 1;
    let status = server.run(&json!({ "command": "status-get" }))["arguments"].clone();
    assert_eq!(status["multi-threading-enabled"], false);
    for key in ["thread-pool-size", "packet-queue-size", "packet-queue-statistics"] {
        assert!(status.get(key).is_none(), "{key}");
    }
}

#[test]
fn a_disabled_service_comes_back_when_its_period_is_over() {
    let mut server = Fake::<V4>::with_subnets();
    server.call("dhcp-disable", json!({ "max-period": 20 }));
    assert!(!server.service.is_enabled());
    server.now = server.now.after_ns(20 * NS_PER_S);
    let answer = server.run(&json!({ "command": "status-get" }));
    assert_eq!(answer["arguments"]["dhcp-state"]["globally-disabled"], false);
    assert!(server.service.is_enabled());
}

#[test]
fn failures_of_the_server_are_told() {
    let mut server = Fake::<V4>::with_subnets();
    for (cleanup, result, text) in [
        (CleanupStartResult::Running, 3, "kea-lfc already running"),
        (CleanupStartResult::Failed, 1, "failed to start kea-lfc"),
        (
            CleanupStartResult::NoLeaseFile,
            2,
            "'persist' parameter of 'memfile' lease backend was configured to 'false'",
        ),
    ] {
        server.cleanup = cleanup;
        let answer = server.run(&json!({ "command": "kea-lfc-start" }));
        assert_eq!(answer, json!({ "result": result, "text": text }));
    }
    server.status.socket_errors.push("no eth9".to_owned());
    let sockets = |server: &mut Fake<V4>| {
        server.run(&json!({ "command": "status-get" }))["arguments"]["sockets"].clone()
    };
    assert_eq!(sockets(&mut server), json!({ "status": "failed", "errors": ["no eth9"] }));
    server.status.retries_sockets = true;
    assert_eq!(sockets(&mut server)["status"], "retrying");
}

#[test]
fn the_lease_file_and_its_size_are_shown_where_there_is_one() {
    let mut server = Fake::<V4>::with_subnets();
    let lease_file = |server: &mut Fake<V4>| {
        let answer = server.run(&json!({ "command": "status-get" }));
        ["csv-lease-file", "lease-file-size"].map(|key| answer["arguments"][key].clone())
    };
    assert_eq!(lease_file(&mut server), [Value::Null, Value::Null]);
    server.status.lease_file = Some("/var/lib/kea/x.csv".to_owned());
    server.status.lease_file_bytes = Some(4_711);
    assert_eq!(lease_file(&mut server), [json!("/var/lib/kea/x.csv"), json!(4_711)]);
}

#[test]
fn a_configuration_is_shown_checked_and_used() {
    let mut server = Fake::<V4>::new(json!({ "valid-lifetime": 10 }));
    // Another program computed the digest of `{ "Dhcp4": { "valid-lifetime": 10 } }`.
    let hash = "D5D52C147A668526C7079E427A6F6450FAC20D2AAFEE4112D337A99A7514FACB";
    let answer = server.run(&json!({ "command": "config-get" }));
    assert_eq!(answer["arguments"]["Dhcp4"], json!({ "valid-lifetime": 10 }));
    assert_eq!(answer["arguments"]["hash"], hash);
    let sane = "Configuration seems sane. Control-sockets, hook-libraries, and D2 configuration \
                were sanity checked, but not applied.";
    server.answers(&[
        ("config-hash-get", NONE, json!({ "result": 0, "arguments": { "hash": hash } })),
        ("config-set", NONE, error("Missing mandatory 'arguments' parameter.")),
        ("config-set", json!([]), error("Argument must be a map")),
        ("config-set", json!({ "Dhcp6": {} }), error("Missing mandatory 'Dhcp4' parameter.")),
        ("config-set", json!({ "Dhcp4": 1 }), error("'Dhcp4' parameter expected to be a map.")),
        ("config-test", json!({ "Dhcp4": {}, "A": 1, "B": 2 }), error("Unsupported 'A' parameter (and 'B').")),
        ("config-test", json!({ "Dhcp4": { "valid-lifetime": 20 } }), success(sane)),
        ("config-set", json!({ "Dhcp4": { "half": 1 } }), json!({ "result": 5, "text": "the sockets are gone" })),
        ("config-hash-get", NONE, json!({ "result": 0, "arguments": { "hash": hash } })),
        ("config-write", json!({ "filename": 5 }), error("passed parameter 'filename' is not a string")),
        ("config-write", json!({ "filename": "/etc/passwd" }), error("Error during config-write: not there")),
        ("config-write", NONE, json!({ "result": 0, "text": "Configuration written to own.conf successful",
            "arguments": { "size": 10, "filename": "own.conf" } })),
        ("config-write", json!({ "filename": "x" }), json!({ "result": 0,
            "text": "Configuration written to x successful", "arguments": { "size": 10, "filename": "x" } })),
    ]);
    let wrong = json!({ "Dhcp4": { "wrong": 1 } });
    for command in ["config-set", "config-test"] {
        let answer = server.call(command, wrong.clone());
        assert_eq!(answer["result"], 1);
        assert!(answer["text"].as_str().unwrap().contains("(command:1:"), "{answer}");
    }
    let set = server.call("config-set", json!({ "Dhcp4": { "valid-lifetime": 20 } }));
    assert_eq!((&set["result"], &set["text"]), (&json!(0), &json!("Configuration successful.")));
    assert_ne!(set["arguments"]["hash"], hash);
    assert_eq!(server.document, json!({ "Dhcp4": { "valid-lifetime": 20 } }));
    assert_eq!(server.run(&json!({ "command": "config-reload" }))["result"], 0);
    server.reload = Some(ApplyFailure::Refused("no file".to_owned()));
    let failed = server.run(&json!({ "command": "config-reload" }));
    assert_eq!(failed, error("Config reload failed: no file"));
}

#[test]
fn a_subnet_is_selected_for_a_message() {
    let mut server = Fake::<V4>::with_subnets();
    server.answers(&[
        ("subnet4-select-test", NONE, error("empty arguments")),
        ("subnet4-select-test", json!([]), error("arguments must be a map")),
        ("subnet4-select-test", json!({ "x": 1 }), error("unknown entry 'x'")),
        ("subnet4-select-test", json!({ "relay": 1 }), error("'relay' entry must be a string")),
        ("subnet4-select-test", json!({ "relay": "::1" }), error("bad 'relay' entry: not IPv4")),
        (
            "subnet4-select-test",
            json!({ "address": "x" }),
            error("bad 'address' entry: Failed to convert string to address 'x': Invalid argument"),
        ),
        ("subnet4-select-test", json!({ "classes": "x" }), error("'classes' entry must be a list")),
        (
            "subnet4-select-test",
            json!({ "classes": [1] }),
            error("'classes' entry must be a list of strings"),
        ),
        (
            "subnet4-select-test",
            json!({ "interface": "eth0" }),
            json!({ "result": 3, "text": "no subnet selected" }),
        ),
    ]);
    server.selected = Some(Selected { network: None, subnet: "192.0.2.0/24".to_owned(), id: 1 });
    let arguments = json!({ "relay": "192.0.2.1", "link": "10.0.0.1", "subnet": "10.0.0.2", "classes": ["a", ""] });
    let answer = server.call("subnet4-select-test", arguments.clone());
    assert_eq!(answer, success("selected subnet '192.0.2.0/24' id 1"));
    let selector = server.selector.take().unwrap();
    assert_eq!(selector.relay, Some("192.0.2.1".parse().unwrap()));
    assert_eq!((selector.link.is_some(), selector.subnet), (true, None));
    assert_eq!(selector.classes, ["a"]);
    server.document["Dhcp4"]["compatibility"] = json!({ "ignore-rai-link-selection": true });
    server.selected.as_mut().unwrap().network = Some("floor".to_owned());
    let answer = server.call("subnet4-select-test", arguments);
    let text = "selected shared network 'floor' starting with subnet '192.0.2.0/24' id 1";
    assert_eq!(answer, success(text));
    let selector = server.selector.take().unwrap();
    assert_eq!((selector.link, selector.subnet.is_some()), (None, true));
    assert_eq!(server.call("subnet4o6-select-test", json!({}))["result"], 2);

    let mut server = Fake::<V6>::with_subnets();
    server.answers(&[
        ("subnet6-select-test", json!({ "relay": "::1" }), error("unknown entry 'relay'")),
        (
            "subnet6-select-test",
            json!({ "interface-id": "''" }),
            error("'interface-id' must be not empty"),
        ),
        (
            "subnet6-select-test",
            json!({ "interface-id": "zz" }),
            error("value of 'interface-id' was not recognized"),
        ),
        ("subnet6-select-test", json!({ "link": "10.0.0.1" }), error("bad 'link' entry: not IPv6")),
        (
            "subnet6-select-test",
            json!({ "remote": "::1", "interface-id": "'ab'" }),
            json!({ "result": 3, "text": "no subnet selected" }),
        ),
    ]);
    assert_eq!(server.selector.take().unwrap().interface_id, Some(b"ab".to_vec()));
}
