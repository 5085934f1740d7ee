//! Check of zones, `godwit ddns check`: a line for each server, which says if it takes updates; the
//! zones stay as they are.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::servers::{DnsServerProcess, TestZone};
use super::updater::configuration;
use crate::common::{TempFolder, free_port, require, run_bounded};

const ZONES: [TestZone; 2] = [
    TestZone { name: "example.", key: Some("sha256"), records: "host 60 IN A 10.0.0.9" },
    TestZone { name: "10.in-addr.arpa.", key: None, records: "" },
];

/// Writes the configuration into `folder`, and returns the check's exit code and output.
fn check(folder: &TempFolder, configuration: &Value) -> (Option<i32>, String) {
    let path = folder.path().join("checked.conf");
    fs::write(&path, configuration.to_string()).expect("the folder is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    let output = run_bounded(command.args(["ddns", "check", "-X"]).arg(&path));
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_check_of_zones_says_which_servers_take_updates() {
    if !require(&["named"]) {
        return;
    }
    let folder = TempFolder::new("ddns-check");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    server.start();
    let port = server.port;
    let before = ZONES.map(|zone| server.records(zone.name));
    let right = configuration(free_port(), &[port], &ZONES);
    let (at, key) = (format!("at 127.0.0.1 port {port}"), "key sha256.");
    let forward = format!("example. {at}, {key}: takes updates\n");
    let reverse = format!("10.in-addr.arpa. {at}, without a key: takes updates\n");
    assert_eq!(check(&folder, &right), (Some(0), forward.clone() + &reverse));
    // A DHCP server with an updater inside has the same zones.
    let mut inside = right["DhcpDdns"].clone();
    for other in ["ip-address", "port", "control-socket", "loggers"] {
        inside.as_object_mut().expect("it is a map").remove(other);
    }
    let dhcp = json!({ "Dhcp4": { "dhcp-ddns": { "enable-updates": true },
                                  "user-context": { "godwit": { "ddns": inside } } } });
    assert_eq!(check(&folder, &dhcp), (Some(0), forward + &reverse));
    assert_eq!(check(&folder, &json!({ "Dhcp4": {} })), (Some(2), String::new()));
    let domain = |is_reverse: bool, change: &dyn Fn(&mut Value)| {
        let mut changed = right.clone();
        let direction = if is_reverse { "reverse-ddns" } else { "forward-ddns" };
        change(&mut changed["DhcpDdns"][direction]["ddns-domains"][0]);
        let (code, text) = check(&folder, &changed);
        assert_eq!(code, Some(1), "{text}");
        text
    };
    let other_key = domain(false, &|zone| zone["dns-servers"][0]["key-name"] = json!("sha512"));
    assert!(other_key.contains(", key sha512.: the server answers REFUSED\n"), "{other_key}");
    let no_key = domain(false, &|zone| zone["dns-servers"][0]["key-name"] = json!(""));
    assert!(no_key.contains(", without a key: the server answers REFUSED\n"), "{no_key}");
    let no_zone = domain(true, &|zone| zone["name"] = json!("11.in-addr.arpa."));
    assert!(no_zone.contains("11.in-addr.arpa. "), "{no_zone}");
    assert!(no_zone.contains("the server answers NOTAUTH\n"), "{no_zone}");
    let mut wrong = right.clone();
    for key in wrong["DhcpDdns"]["tsig-keys"].as_array_mut().expect("it is a list") {
        key["secret"] = json!("b3RoZXIgc2VjcmV0IHRoYW4gdGhlcmU=");
    }
    let (code, text) = check(&folder, &wrong);
    assert_eq!(code, Some(1));
    assert!(text.contains("key sha256.: the server refuses the key: BADSIG(16)\n"), "{text}");
    assert_eq!(ZONES.map(|zone| server.records(zone.name)), before);
    server.kill();
    let mut quick = right.clone();
    quick["DhcpDdns"]["dns-server-timeout"] = json!(50);
    let (code, text) = check(&folder, &quick);
    assert_eq!((code, text.matches(": there is no answer\n").count()), (Some(1), 2), "{text}");
}
