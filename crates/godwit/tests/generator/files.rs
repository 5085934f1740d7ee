//! Tests of the files of a run: packets and arrival times as input, captures and histograms as
//! output; and whole lives of clients.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::responder::{ClientTreatment, DhcpResponder};
use super::{figures, godwit, measured};
use crate::common::{TempFolder, free_port, require, run_bounded};

/// Returns the message type, by tshark, of each packet that passes `filter`.
fn decoded(file: &Path, filter: &str) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-d", "udp.port==1-65535,dhcp", "-Y", filter]);
    let output = run_bounded(tshark.args(["-T", "fields", "-e", "dhcp.option.dhcp"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_capture_has_all_messages_or_those_of_failed_exchanges() {
    if !require(&["tshark"]) {
        return;
    }
    let folder = TempFolder::new("perfdhcp-capture");
    let plan = |client: u32| match client % 20 {
        3 => ClientTreatment::Nak,
        7 => ClientTreatment::Nothing,
        9 => ClientTreatment::WrongNumber,
        _ => ClientTreatment::Good,
    };
    let file = folder.path().join("run.pcap");
    let count = |message_type: &str, decoded: &[String]| {
        decoded.iter().filter(|found| *found == message_type).count()
    };
    let line = format!("-r 400 -n 200 -R 200 -d 20 --pcap {}", file.display());
    let (json, code) = measured(&line, &DhcpResponder::start(false, plan));
    assert_eq!(code, 3, "{json}");
    let all = decoded(&file, "dhcp");
    let by_type = ["1", "2", "3", "5", "6"].map(|message_type| count(message_type, &all));
    assert_eq!(by_type, [200, 190, 180, 170, 10], "{json}");
    assert_eq!(decoded(&file, "_ws.malformed || udp.checksum.status == 0"), Vec::<String>::new());
    let (json, _) = measured(&format!("{line} --pcap-failed"), &DhcpResponder::start(false, plan));
    assert_eq!(json["warnings"], Value::Array(Vec::new()));
    let failed = decoded(&file, "dhcp");
    let by_type = ["1", "2", "3", "5", "6"].map(|message_type| count(message_type, &failed));
    // Ten clients got nothing, ten a NAK, and the OFFERs to ten had another client's identifier.
    assert_eq!(by_type, [30, 20, 10, 0, 10], "{json}");
}

#[test]
fn histograms_are_written_for_every_kind_of_exchange() {
    let folder = TempFolder::new("perfdhcp-hdr");
    let file = folder.path().join("run.hlog");
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let line = format!("-r 400 -n 100 -R 100 -d 60 -f 50 --hdr {}", file.display());
    let (json, code) = measured(&line, &responder);
    assert_eq!(code, 0, "{json}");
    let log = fs::read_to_string(&file).unwrap();
    let tags: Vec<&str> = log.lines().filter_map(|line| line.split(',').next()).collect();
    let kinds = ["DISCOVER-OFFER", "REQUEST-ACK", "REQUEST-ACK-renewal"];
    for tag in
        kinds.iter().flat_map(|kind| [".due", ".sent"].map(|from| format!("Tag={kind}{from}")))
    {
        assert!(tags.contains(&&*tag), "{tag} in {log}");
    }
    // A histogram in the form that HdrHistogram calls compressed, version 2.
    assert_eq!(log.lines().filter(|line| line.contains(",HISTF")).count(), 6, "{log}");
}

#[test]
fn packets_of_dhcpv6_are_sent_with_their_clients_and_the_servers_options() {
    let folder = TempFolder::new("perfdhcp-packets6");
    let packet = |name: &str, hex: &str| {
        let path = folder.path().join(name);
        fs::write(&path, hex).unwrap();
        path.display().to_string()
    };
    let id = format!("0001 000e 0001000100000000{}", "00".repeat(6));
    let asks = "0006 0004 0017 0018 0010 0008 00000137 0002 6162";
    let association = "0003 000c 00000009 00000000 00000000";
    let solicit = packet("solicit", &format!("01000000 {id} {association} 0008 0002 0000 {asks}"));
    // Room for a server identifier of 14 bytes, and one address: the responder's is shorter.
    let server = format!("0002 000e {}", "00".repeat(14));
    let given = format!("0003 0028 00000009 0000000000000000 0005 0018 {}", "00".repeat(24));
    let request =
        packet("request", &format!("03000000 {id} {server} {given} 0008 0002 0000 {asks}"));
    let responder = DhcpResponder::start(true, |client| {
        if client % 10 == 4 { ClientTreatment::Nak } else { ClientTreatment::Good }
    });
    let line = format!("-6 -r 500 -n 100 -R 100 -d 60 -T {solicit} -T {request} -E 84");
    let (json, code) = measured(&line, &responder);
    assert_eq!((code, responder.counts()), (3, [100, 100, 0, 0]), "{json}");
    assert_eq!(figures(&json, 0, ["on_time", "invalid"]), [100, 0], "{json}");
    assert_eq!(figures(&json, 1, ["on_time", "invalid"]), [90, 0], "{json}");
    assert_eq!(responder.clients().len(), 100);
    let other = packet("other", &format!("03000000 {id} {association} {server} {asks}"));
    for (line, told) in [
        (format!("-6 -n 1 -T {request}"), "not a SOLICIT without a relay's header"),
        (format!("-6 -n 1 -T {solicit} -O 4"), "(-O) lies outside"),
        (format!("-6 -n 1 -T {solicit} -T {other}"), "-S: the second packet has no server"),
        (format!("-6 -n 1 -T {solicit} -T {solicit}"), "-S: the second packet has no server"),
        (
            format!("-6 -n 1 -T {solicit} -T {request} -E 85"),
            "-E: the second packet has no elapsed",
        ),
        (format!("-6 -A 1 -n 1 -T {solicit}"), "-A cannot be put into packets"),
    ] {
        let output = godwit(&line, &responder);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains(told), "{line}: {error}");
    }
}

#[test]
fn arrival_times_come_from_a_lease_file_or_the_capture_of_another_run() {
    let folder = TempFolder::new("perfdhcp-replay");
    let (leases, capture) = (folder.path().join("leases.csv"), folder.path().join("run.pcap"));
    let mut text = String::from("address,hwaddr,valid_lifetime,expire,state\n");
    // Forty leases within a second, ten in the next one but one.
    for number in 0..50 {
        let s = if number < 40 { 1_700_000_000 } else { 1_700_000_002 };
        text += &format!("192.0.2.{number},00:0c:01:02:03:04,3600,{},0\n", s + 3_600);
    }
    fs::write(&leases, text).unwrap();
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let line =
        format!("-R 50 -d 60 --shape replay:{} --pcap {}", leases.display(), capture.display());
    let (json, code) = measured(&line, &responder);
    assert_eq!((code, responder.counts()), (0, [50, 50, 0, 0]), "{json}");
    assert!((2.5..3.5).contains(&json["duration_s"].as_f64().unwrap()), "{json}");
    // The capture has the responder's port, not that of DHCP: it has nothing to replay.
    let output = godwit(&format!("--shape replay:{}", capture.display()), &responder);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no messages to replay"));
    let (json, code) = measured("-r 100 -p 2 -R 50 -d 60 --shape ramp:0%..100%", &responder);
    assert_eq!((code, figures(&json, 0, ["due", "on_time"])), (0, [100, 100]), "{json}");
    let (json, code) = measured("-r 100 -p 1 -R 50 -d 60 --shape burst:25", &responder);
    assert_eq!((code, figures(&json, 0, ["due", "on_time"])), (0, [100, 100]), "{json}");
}

/// Returns the number of messages sent under names that begin with one of `names`.
fn sent(json: &Value, names: &[&str]) -> u64 {
    let exchanges = json["exchanges"].as_array().unwrap().iter();
    exchanges
        .filter(|exchange| names.contains(&exchange["name"].as_str().unwrap()))
        .map(|exchange| exchange["sent"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_population_lives_and_the_responder_has_the_same_ledger() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    // Leases of an hour, with T1 after a second.
    let line = "--scenario lifecycle -R 60 -r 60 -p 6 --speed 1800 --stay 3000 --away 1800 \
                --releasing 50 --informing 30 --declining 10 -d 20";
    let (json, code) = measured(line, &responder);
    assert_eq!(code, 0, "{json}");
    let [firsts, requests, renewals, releases] = responder.counts();
    assert_eq!(sent(&json, &["DISCOVER-OFFER"]), firsts);
    assert_eq!(sent(&json, &["REQUEST-ACK", "REQUEST-ACK (INIT-REBOOT)"]), requests);
    assert_eq!(sent(&json, &["REQUEST-ACK (renewal)", "REQUEST-ACK (rebinding)"]), renewals);
    assert_eq!(sent(&json, &["RELEASE"]), releases);
    assert_eq!(sent(&json, &["INFORM-ACK", "DECLINE"]), responder.others());
    assert!(firsts >= 60 && renewals > 60 && releases > 10, "{json}");
    assert!(responder.others() > 10 && sent(&json, &["REQUEST-ACK (INIT-REBOOT)"]) > 5, "{json}");
    let output = godwit("--scenario lifecycle -R 5", &responder);
    assert_eq!(output.status.code(), Some(2));
    let output = godwit("-r 5 --stay 5", &responder);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is for --scenario lifecycle"));
}

#[test]
fn the_live_view_fills_the_terminal_and_gives_it_back() {
    if !require(&["script"]) {
        return;
    }
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let send_args = super::send_args(&responder, free_port()).join(" ");
    let ours = env!("CARGO_BIN_EXE_godwit");
    let line = format!("{ours} perfdhcp -r 50 -p 3 -R 150 -d 60 --live {send_args}");
    // A terminal of its own, whose output comes here; the exit code is the program's.
    let output = run_bounded(Command::new("script").args(["-qec", &line, "/dev/null"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let (before, rest) = text.split_once("\x1b[?1049h").unwrap_or_else(|| panic!("{text}"));
    let (screen, after) = rest.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("{text}"));
    assert!(before.contains("Scenario: basic."), "{text}");
    let frames: Vec<&str> = screen.split("\x1b[H").skip(1).collect();
    assert!(frames.len() >= 2, "one a second: {text}");
    for frame in frames {
        assert!(frame.contains("DISCOVER-OFFER") && frame.contains("to 0.1 ms"), "{frame}");
        assert!(frame.lines().count() <= 24, "{frame}");
    }
    // The last exchanges may begin after the period on a busy machine.
    let (_, rows) = after.split_once("***Statistics for: REQUEST-ACK***").expect("its rows");
    let count = |name: &str| -> u64 {
        let row = rows.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        row.and_then(|count| count.trim().parse().ok()).unwrap_or_else(|| panic!("{name}: {after}"))
    };
    let [_, requests, ..] = responder.counts();
    assert_eq!(count("sent packets"), requests, "{after}");
    assert_eq!(count("on time") + count("in flight"), requests, "{after}");
}
