//! DNS servers that are down, refuse, or have another key, answers that do not fit a datagram, and
//! updaters that are killed: no request is lost.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::thread;

use base::Random;
use serde_json::json;

use super::life::{ClientLife, addition};
use super::servers::{DnsServerProcess, TestZone};
use super::updater::{UpdaterMake, UpdaterProcess, configuration};
use super::zones_of_all_keys;
use crate::common::{TempFolder, free_port, require, waited_until};

const ZONES: [TestZone; 2] = [
    TestZone { name: "example.", key: Some("sha256"), records: "" },
    TestZone { name: "10.in-addr.arpa.", key: Some("sha512"), records: "" },
];

fn lease(number: u16) -> ncr::NameChangeRequest {
    let [high, low] = number.to_be_bytes();
    addition(&format!("n{number}.example."), Ipv4Addr::new(10, 0, high, low).into(), number)
}

/// Returns the number of lines of the log with `text`.
fn lines(updater: &UpdaterProcess, text: &str) -> usize {
    updater.log().lines().filter(|line| line.contains(text)).count()
}

#[test]
fn killed_updaters_lose_no_request() {
    if !require(&["named"]) {
        return;
    }
    let seed = std::env::var("GODWIT_DDNS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let repeat = format!("repeat: GODWIT_DDNS_SEED={seed} cargo test -p godwit killed_updaters");
    let mut random = Random::from_seed(seed);
    let folder = TempFolder::new("ddns-kill");
    let zones = zones_of_all_keys();
    let mut server = DnsServerProcess::bind(&folder, free_port(), &zones);
    server.start();
    let port = free_port();
    let config = configuration(port, &[server.port], &zones);
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, &folder, port, &config);
    updater.start();
    let mut life = ClientLife::new(200);
    let mut sent = 0;
    for request in life.requests() {
        updater.send(&request);
        sent += 1;
        if !random.chance(1, 12) {
            continue;
        }
        // A datagram that the process has not read is lost with its socket.
        let is_read = || updater.statistic("ncr-received") >= sent;
        assert!(waited_until(is_read), "{repeat}");
        updater.kill();
        sent = 0;
        updater.start();
    }
    let pending = || {
        updater.command(&json!({ "command": "status-get" }))["arguments"]["pending-requests"]
            .as_u64()
    };
    assert!(waited_until(|| updater.statistic("ncr-received") >= sent && pending() == Some(0)));
    for zone in &zones {
        let (actual, expected) = (server.records(zone.name), life.expected(zone.name));
        assert_eq!(actual, expected, "{}: {repeat}", zone.name);
    }
    updater.stop();
}

#[test]
fn requests_wait_for_a_server_that_is_down() {
    if !require(&["named"]) {
        return;
    }
    let folder = TempFolder::new("ddns-down");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    let port = free_port();
    let mut config = configuration(port, &[server.port], &ZONES);
    config["DhcpDdns"]["dns-server-timeout"] = json!(100);
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, &folder, port, &config);
    updater.start();
    (0..50).for_each(|number| updater.send(&lease(number)));
    assert!(waited_until(|| lines(&updater, "DHCP_DDNS_ZONE_PAUSED") > 0), "{}", updater.log());
    // The server comes, serves some, is killed, and comes again: its journal keeps what it took.
    server.start();
    assert!(waited_until(|| lines(&updater, "DHCP_DDNS_ADD_SUCCEEDED") > 10), "{}", updater.log());
    server.kill();
    (50..100).for_each(|number| updater.send(&lease(number)));
    assert!(waited_until(|| updater.statistic("ncr-received") == 100));
    server.start();
    updater.wait_for_outcomes(100);
    assert_eq!(server.records("example.").len(), 200);
    assert_eq!(server.records("10.in-addr.arpa.").len(), 200);
    assert_eq!(lines(&updater, "FAILED"), 0, "{}", updater.log());
    let paused = lines(&updater, "DHCP_DDNS_ZONE_PAUSED");
    assert!((1..=4).contains(&paused), "one line for each pause of a zone: {}", updater.log());
    assert!(updater.statistic("update-timeout") > 0);
    updater.stop();
}

#[test]
fn wrong_keys_and_refusals_have_one_line_and_end_with_the_right_configuration() {
    if !require(&["named"]) {
        return;
    }
    let folder = TempFolder::new("ddns-key");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    server.start();
    let port = free_port();
    let right = configuration(port, &[server.port], &ZONES);
    let mut wrong = right.clone();
    for key in wrong["DhcpDdns"]["tsig-keys"].as_array_mut().expect("it is a list") {
        if key["name"] == "sha256" {
            key["secret"] = json!("b3RoZXIgc2VjcmV0IHRoYW4gdGhlcmU=");
        }
    }
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, &folder, port, &wrong);
    updater.start();
    let set = |configuration: &serde_json::Value| {
        let command = json!({ "command": "config-set", "arguments": configuration });
        let answer = updater.command(&command);
        assert_eq!(answer["result"], 0, "{answer}");
    };
    (0..20).for_each(|number| updater.send(&lease(number)));
    let refused = "no server of zone example. takes updates: the server refuses the key: BADSIG";
    assert!(waited_until(|| lines(&updater, refused) == 1), "{}", updater.log());
    assert!(updater.statistic("key[sha256.].update-error") > 0);
    // The key of the other zone is one that the server knows, but not for this zone.
    let mut other = right.clone();
    other["DhcpDdns"]["forward-ddns"]["ddns-domains"][0]["dns-servers"][0]["key-name"] =
        json!("sha512");
    set(&other);
    let refused = "no server of zone example. takes updates: the server answers REFUSED";
    assert!(waited_until(|| lines(&updater, refused) == 1), "{}", updater.log());
    set(&right);
    updater.wait_for_outcomes(20);
    assert_eq!(server.records("example.").len(), 40);
    assert_eq!(lines(&updater, "FAILED"), 0, "{}", updater.log());
    assert_eq!(lines(&updater, "DHCP_DDNS_ZONE_PAUSED"), 2, "{}", updater.log());
    updater.stop();
}

/// DNS server that answers every datagram with a cut answer, and over TCP that it has carried out
/// the update. Returns its port.
fn truncating_server() -> u16 {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    let address = udp.local_addr().expect("it is bound");
    let tcp = TcpListener::bind(address).expect("the port is free over TCP, too");
    let answer = |update: &[u8], flags: u8| {
        let mut answer = update[..12].to_vec();
        answer[2] |= 0x80 | flags;
        answer[4..12].fill(0);
        answer
    };
    thread::spawn(move || {
        let mut buffer = [0; 2_048];
        while let Ok((len, from)) = udp.recv_from(&mut buffer) {
            udp.send_to(&answer(&buffer[..len], 0x02), from).expect("loopback sends");
        }
    });
    thread::spawn(move || {
        for stream in tcp.incoming() {
            let mut stream = stream.expect("a client connects");
            let mut len = [0; 2];
            stream.read_exact(&mut len).expect("the updater sends");
            let mut update = vec![0; usize::from(u16::from_be_bytes(len))];
            stream.read_exact(&mut update).expect("the updater sends");
            let answer = answer(&update, 0);
            // In pieces, as streams may come.
            for byte in [&(answer.len() as u16).to_be_bytes()[..], &answer].concat() {
                stream.write_all(&[byte]).expect("the updater reads");
            }
        }
    });
    address.port()
}

#[test]
fn cut_answers_are_fetched_over_tcp() {
    let folder = TempFolder::new("ddns-tcp");
    let zones = ZONES.map(|zone| TestZone { key: None, ..zone });
    let port = free_port();
    let config = configuration(port, &[truncating_server()], &zones);
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, &folder, port, &config);
    updater.start();
    (0..100).for_each(|number| updater.send(&lease(number)));
    assert!(
        waited_until(|| lines(&updater, "DHCP_DDNS_ADD_SUCCEEDED") == 100),
        "{}",
        updater.log()
    );
    assert_eq!(updater.statistic("update-truncated"), 200);
    updater.stop();
}

#[test]
fn datagrams_that_are_no_requests_are_counted_and_commands_are_answered() {
    let folder = TempFolder::new("ddns-commands");
    let port = free_port();
    let config = configuration(port, &[9], &ZONES);
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, &folder, port, &config);
    updater.start();
    for bytes in [&b""[..], b"\0", b"\0\x02{}", b"\xff\xff{}", b"\0\x04null"] {
        updater.send_bytes(bytes);
    }
    assert!(waited_until(|| updater.statistic("ncr-invalid") == 5), "{}", updater.log());
    let answer = |text: serde_json::Value| updater.command(&text);
    let gss = answer(json!({ "command": "gss-tsig-get-all" }));
    assert_eq!(gss["result"], 2, "{gss}");
    assert!(gss["text"].as_str().is_some_and(|text| text.contains("Kerberos")), "{gss}");
    let shown = answer(json!({ "command": "config-get" }));
    let ddns = &shown["arguments"]["DhcpDdns"];
    assert_eq!(
        (&ddns["tsig-keys"][0]["secret"], &ddns["ncr-format"]),
        (&json!("*****"), &json!("JSON"))
    );
    let mut again = shown["arguments"].clone();
    again.as_object_mut().expect("it is a map").remove("hash");
    let set = answer(json!({ "command": "config-set", "arguments": again }));
    assert_eq!(
        (&set["result"], &set["arguments"]["hash"]),
        (&json!(0), &shown["arguments"]["hash"])
    );
    let mut bad = shown["arguments"].clone();
    bad["DhcpDdns"]["port"] = json!(0);
    let refused = answer(json!({ "command": "config-test", "arguments": bad }));
    assert_eq!(refused["result"], 1, "{refused}");
    let reset = answer(json!({ "command": "statistic-reset-all" }));
    assert_eq!(reset["result"], 0);
    assert_eq!(updater.statistic("ncr-invalid"), 0);
    for command in [
        "build-report",
        "config-hash-get",
        "config-reload",
        "status-get",
        "version-get",
        "statistic-get-all",
        "list-commands",
    ] {
        let answer = answer(json!({ "command": command }));
        assert_eq!(answer["result"], 0, "{answer}");
    }
    let end = answer(json!({ "command": "shutdown", "arguments": { "type": "now" } }));
    assert_eq!(end["text"], "Shutdown initiated, type is: now");
}
