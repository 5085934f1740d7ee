//! Tests of `godwit perfdhcp` as a program, over loopback, against a responder that misbehaves by
//! plan and keeps its own counts: figures, texts and exit codes. Deadlines are long; no assertion
//! depends on the speed of the machine.

mod agreement;
mod files;
mod lab_hosts;
mod machine;
pub(crate) mod responder;
mod several;
mod several_hosts;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{fs, io};

use crate::common::{TempFolder, free_port, require, run_bounded};
use responder::{ClientTreatment, DhcpResponder};
use serde_json::Value;

/// Returns the arguments with which perfdhcp sends to `responder` from the port `own_port`.
fn send_args(responder: &DhcpResponder, own_port: u16) -> Vec<String> {
    let (port, own) = (responder.port.to_string(), own_port.to_string());
    let host = if responder.is_v6 { "::1" } else { "127.0.0.1" };
    ["-l", host, "-L", &own, "-N", &port, host].map(Into::into).into()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace()
}

fn godwit(line: &str, responder: &DhcpResponder) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg("perfdhcp").args(words(line)).args(send_args(responder, free_port()));
    run_bounded(&mut command)
}

/// Runs the command and returns its document and its exit code.
fn measured(line: &str, responder: &DhcpResponder) -> (Value, i32) {
    let output = godwit(&format!("{line} --json -"), responder);
    let text = String::from_utf8(output.stdout).unwrap();
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (json, output.status.code().unwrap())
}

fn figures<const N: usize>(json: &Value, exchange: usize, names: [&str; N]) -> [u64; N] {
    names.map(|name| json["exchanges"][exchange][name].as_u64().unwrap_or_else(|| panic!("{name}")))
}

#[test]
fn a_healthy_server_gets_and_answers_exactly_what_was_asked() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let (json, code) = measured("-4 -r 500 -n 300 -R 100 -d 60 -s 7", &responder);
    assert_eq!((code, json["exchanges"].as_array().unwrap().len()), (0, 2));
    let names = ["due", "sent", "on_time", "late", "lost", "nak", "invalid", "in_flight"];
    for exchange in 0..2 {
        assert_eq!(figures(&json, exchange, names), [300, 300, 300, 0, 0, 0, 0, 0]);
    }
    assert_eq!(responder.counts(), [300, 300, 0, 0]);
    assert_eq!((json["leases"].as_u64(), json["seed"].as_u64()), (Some(100), Some(7)));
    assert_eq!(json["completed_per_s"].as_f64(), Some(500.0));
    assert_eq!(json["exchanges"][1]["latency_due"]["count"], 300);
}

#[test]
fn an_unhealthy_servers_ledger_is_ours_and_the_exit_code_says_so() {
    let plan = |client: u32| match client % 12 {
        1 => ClientTreatment::Nothing,
        2 => ClientTreatment::NothingTo(3),
        3 => ClientTreatment::Nak,
        4 => ClientTreatment::Twice,
        5 => ClientTreatment::WrongNumber,
        6 => ClientTreatment::OtherClient,
        7 => ClientTreatment::NoAddress,
        8 => ClientTreatment::NoServer,
        9 => ClientTreatment::Cut,
        10 => ClientTreatment::SameAddress,
        _ => ClientTreatment::Good,
    };
    let responder = DhcpResponder::start(false, plan);
    let (json, code) = measured("-r 1200 -n 1200 -R 1200 -d 20", &responder);
    assert_eq!(code, 3);
    let names = [
        "sent",
        "on_time",
        "lost",
        "nak",
        "invalid",
        "wrong_client",
        "duplicates",
        "unmatched",
        "malformed",
        "late",
        "in_flight",
    ];
    // A hundred clients for each remainder.
    assert_eq!(
        figures(&json, 0, names),
        [1_200, 700, 300, 0, 200, 0, 100, 100, 100, 0, 0],
        "{json}"
    );
    assert_eq!(figures(&json, 1, names), [700, 400, 100, 100, 0, 100, 100, 0, 0, 0, 0], "{json}");
    assert_eq!(responder.counts(), [1_200, 700, 0, 0]);
    assert_eq!(json["exchanges"][1]["conflict_count"], 99);
    assert_eq!(json["exchanges"][0]["invalid_reasons"]["no_address"], 100);
    assert_eq!(json["exchanges"][0]["invalid_reasons"]["no_server_identifier"], 100);
    assert_eq!(json["orphans"], 100);
    // Fewer addresses than served clients.
    assert_eq!(json["leases"], 301);
}

#[test]
fn renewals_releases_and_first_exchanges_alone() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let (json, code) = measured("-r 400 -n 400 -R 400 -f 100 -F 40 -d 60", &responder);
    let [_, _, renewals, releases] = responder.counts();
    assert_eq!(code, 0, "{json}");
    assert_eq!(figures(&json, 2, ["sent", "on_time"]), [renewals, renewals]);
    assert_eq!(figures(&json, 3, ["sent", "lost"]), [releases, 0]);
    // Each that is due is sent, or no lease is at hand yet; on a busy machine the run takes longer
    // than its second.
    let elapsed_s = json["elapsed_s"].as_f64().expect("a number");
    for (kind, sent, rate) in [(2, renewals, 100.0), (3, releases, 40.0)] {
        let due = sent + figures(&json, kind, ["without_lease"])[0];
        let most = (rate * elapsed_s) as u64 + 1;
        assert!(sent > 0 && (rate as u64 - 1..=most).contains(&due), "{due} of {most}: {json}");
    }
    assert_eq!(json["leases"].as_u64(), Some(400 - releases));
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let (json, code) = measured("-i -n 50 -R 9 -W 1000000 -d 60", &responder);
    assert_eq!((code, responder.counts()), (0, [50, 0, 0, 0]), "best effort sends no more: {json}");
    assert_eq!(json["exchanges"].as_array().unwrap().len(), 1);
}

#[test]
fn dhcpv6_bare_relayed_with_prefixes_and_with_rapid_commit() {
    for line in ["", "-A 1 --or 18,6162", "-e address-and-prefix -A 1", "-e prefix-only"] {
        let responder = DhcpResponder::start(true, |client| {
            if client % 10 == 3 { ClientTreatment::Nak } else { ClientTreatment::Good }
        });
        let (json, code) = measured(&format!("-6 -r 500 -n 200 -R 200 -d 60 {line}"), &responder);
        assert_eq!(code, 3, "{line}");
        assert_eq!(figures(&json, 0, ["sent", "on_time"]), [200, 200], "{line} {json}");
        assert_eq!(figures(&json, 1, ["sent", "on_time", "nak"]), [200, 180, 0], "{line} {json}");
        assert_eq!(json["exchanges"][1]["rejected"]["NoAddrsAvail"], 20, "{line}");
        assert_eq!(responder.counts(), [200, 200, 0, 0], "{line}");
        let each = if line.contains("and-prefix") { 2 } else { 1 };
        assert_eq!(json["leases"], each * 180, "{line}");
    }
    let responder = DhcpResponder::start(true, |_| ClientTreatment::Good);
    let (json, code) = measured("-6 -i -c -r 500 -n 100 -R 100 -d 60", &responder);
    assert_eq!((code, json["leases"].as_u64()), (0, Some(100)), "{json}");
    let responder = DhcpResponder::start(true, |_| ClientTreatment::Good);
    let (json, code) = measured("-6 -r 400 -n 400 -R 400 -f 100 -F 40 -d 60", &responder);
    let [_, _, renewals, releases] = responder.counts();
    assert_eq!(code, 0, "{json}");
    assert!(renewals > 50 && releases > 20, "{renewals} {releases}");
    assert_eq!(figures(&json, 2, ["sent", "on_time"]), [renewals, renewals]);
    assert_eq!(figures(&json, 3, ["sent", "on_time"]), [releases, releases]);
}

#[test]
fn an_avalanche_ends_when_everybody_is_served() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let (json, code) = measured("--scenario avalanche -R 300", &responder);
    assert_eq!((code, json["leases"].as_u64()), (0, Some(300)), "{json}");
    assert_eq!(figures(&json, 1, ["sent", "on_time"]), [300, 300]);
}

#[test]
fn lists_of_relays_and_hardware_addresses_are_used_to_the_last_line() {
    let folder = TempFolder::new("perfdhcp-lists");
    let macs = folder.path().join("macs");
    fs::write(&macs, "02:00:00:00:00:01\n\n02:00:00:00:00:02\n2:0:0:0:0:3\n").unwrap();
    let relays = folder.path().join("relays");
    fs::write(&relays, "127.0.0.1\n127.0.0.5\n").unwrap();
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let line = format!("-r 500 -n 100 -d 60 -M {} -J {}", macs.display(), relays.display());
    let (json, code) = measured(&line, &responder);
    assert_eq!((code, json["leases"].as_u64()), (0, Some(3)), "{json}");
    assert_eq!(responder.clients(), [1, 2, 3]);
    assert_eq!(responder.relays(), 2);
}

#[test]
fn packets_from_files_are_sent_with_their_clients() {
    let folder = TempFolder::new("perfdhcp-packets");
    let hex = |name: &str, message_type: u8, own: &str| {
        let options = format!("6382536335 01{message_type:02x}\n{own} 0c 04 68 6f 73 74 ff");
        let head = format!("01010601{}{}{}", "00".repeat(20), "7f000001", "00".repeat(208));
        let path = folder.path().join(name);
        fs::write(&path, format!("{head}\n{options}\n")).unwrap();
        path.display().to_string()
    };
    let discover = hex("discover", 1, "");
    let request = hex("request", 3, &"00".repeat(12));
    let responder = DhcpResponder::start(false, |client| {
        if client % 5 == 1 { ClientTreatment::OtherClient } else { ClientTreatment::Good }
    });
    let line = format!("-r 500 -n 100 -R 100 -d 60 -T {discover} -T {request} -S 243 -I 249");
    let (json, code) = measured(&line, &responder);
    assert_eq!((code, responder.counts()), (3, [100, 100, 0, 0]), "{json}");
    assert_eq!(figures(&json, 1, ["on_time", "wrong_client"]), [80, 20], "{json}");
    assert_eq!(responder.clients().len(), 100);
    // An option instead of another: the generator sends only REQUESTs.
    let line = format!("-n 1 -T {discover} -T {request} -S 54 -I 249");
    let output = godwit(&line, &responder);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a REQUEST"));
}

#[test]
fn what_cannot_stand_together_or_is_not_there_ends_with_2() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    for (line, told) in [
        ("-4 -6", "choose one"),
        ("-B -6", "-B is not compatible"),
        ("-c -i", "-c needs -6"),
        ("-6 -c", "-c needs -i"),
        ("-A 1", "-A is for DHCPv6"),
        ("-A 2 -6", "invalid value"),
        ("-i -n 1 -n 2", "a second -n"),
        ("-i -d 1 -d 2", "a second -d"),
        ("-i -D 1 -D 2", "a second -D"),
        ("-i -1", "-1 is not compatible"),
        ("-i -r 5 -f 2", "-f is not compatible"),
        ("-e prefix-only", "needs -6"),
        ("-r 5 -f 3 -F 3", "must not exceed"),
        ("-f 3", "needs the rate"),
        ("-T /nonexistent", "cannot be read"),
        ("-6 -1 -T x", "-1 cannot be put"),
        ("--shape burst:3", "needs the rate"),
        ("--shape ramp:0%..5% -r 5", "need -p"),
        ("--shape odd", "must be one of even"),
        ("--shape replay:/nonexistent", "cannot be read"),
        ("--pcap-failed", "--pcap"),
        ("--scenario lifecycle -R 5 -r 5 -p 5 -i", "-i has no meaning"),
        ("-T x -T y -S 249", "-I must give"),
        ("-T x -O 33 -O 33", "more offsets than packets"),
        ("-E 8", "second packet"),
        ("-T x -o 60,61", "cannot be put into packets"),
        ("-i -T x -T y -S 1 -I 2", "a second -T"),
        ("-M x -b mac=00:0c:01:02:03:04", "cannot be combined"),
        ("-y 5", "must be used together"),
        ("--scenario avalanche", "needs -R"),
        ("--scenario avalanche -R 5 -r 5", "no meaning"),
        ("-o 53,01", "already"),
        ("-o 60,012", "hexadecimal"),
        ("-b mac=1:2", "six bytes"),
        ("-b duid=0102", "6 to 64"),
        ("-x z", "diagnostics"),
        ("-d 0", "above 0"),
        ("-D 100%", "between"),
        ("-n 0", "whole number"),
        ("-p 1.5", "whole number"),
        ("-J /nonexistent", "cannot be read"),
        ("--live", "needs a terminal"),
        ("--generators a,b", "needs -R"),
        ("--generators a,b -R 1", "needs -R"),
        ("--generators a,b -R 9 -n 1", "fewer than there are generators"),
        ("--generators a,b -R 9 -D 3", "-D is not available"),
        ("--generators a,b -R 9 -x e", "-x is not available"),
        ("--generators a,b -R 9 --pcap x", "--pcap is not available"),
        ("--generators=-oProxyCommand=x -R 9", "must be the name"),
        ("--generators a,,b -R 9", "must be the name"),
        ("--generators a -M /nonexistent", "cannot be read"),
        ("--ssh-command ssh", "--generators"),
        ("127.0.0.2", "unexpected argument"),
    ] {
        let output = godwit(line, &responder);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains(told), "{line}: {error}");
        assert!(output.stdout.is_empty(), "{line}");
    }
    assert_eq!(responder.counts(), [0; 4], "nothing was sent");
    let mut without = Command::new(env!("CARGO_BIN_EXE_godwit"));
    let output = run_bounded(without.args(["perfdhcp", "-4"]));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_program_around_the_run_is_told_start_and_stop_and_a_link_is_enough() {
    let folder = TempFolder::new("perfdhcp-link");
    let link = folder.path().join("perfdhcp");
    symlink(env!("CARGO_BIN_EXE_godwit"), &link).unwrap();
    let (script, log) = (folder.path().join("script"), folder.path().join("log"));
    fs::write(&script, format!("#!/bin/sh\necho $1 >> {}\n", log.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let mut command = Command::new(&link);
    command.args(words("-4 -r100 -n20 -d60 -xes -w")).arg(&script);
    let output = run_bounded(command.args(send_args(&responder, free_port())));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("Running: perfdhcp -4 -r 100 -n 20 -d 60 -x es -w "), "{text}");
    for line in
        ["received packets: 20\n", "drops ratio: 0 %\n", "std deviation: ", "Reached max requests"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
    let mut told: Vec<_> = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    told.sort_unstable();
    assert_eq!(told, ["start", "stop"]);
}

#[test]
fn a_server_of_dhcpv6_that_is_silent_to_unicast_is_told_with_the_reason() {
    let socket = std::net::UdpSocket::bind("[::1]:0").expect("loopback has an address");
    let port = socket.local_addr().expect("it is bound").port().to_string();
    let output_text = |words_of_relay: &str| {
        let own = free_port().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.args(words("perfdhcp -6 -i -r 50 -n 3 -d 0.1 -l ::1")).args(["-L", &own]);
        command.args(words(words_of_relay));
        let output = run_bounded(command.args(["-N", &port, "::1"]));
        String::from_utf8(output.stderr).expect("plain text")
    };
    let as_client = output_text("-x e");
    assert!(as_client.contains("write -A 1 to be a relay"), "{as_client}");
    let as_relay = output_text("-A 1");
    assert!(as_relay.contains("a subnet for the relay"), "{as_relay}");
}

#[test]
fn a_silent_server_is_told_with_what_to_check() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let run = || {
        let own = free_port().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.args(words("perfdhcp -4 -r 50 -n 3 -d 0.1 -l 127.0.0.1")).args(["-L", &own]);
        let output = run_bounded(command.args(["-N", &port, "localhost"]));
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, output_text) = run();
    assert_eq!(code, Some(3), "{output_text}");
    assert!(output_text.contains("no answer at all: is 127.0.0.1:"), "{output_text}");
    assert!(output_text.contains("a subnet for the relay 127.0.0.1"), "{output_text}");
    drop(socket);
    let (code, output_text) = run();
    assert_eq!(code, Some(3), "{output_text}");
    assert!(output_text.contains(&format!("nothing listens at 127.0.0.1:{port}")), "{output_text}");
}

#[test]
fn a_signal_ends_the_run_with_130_and_a_valid_document() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command
        .args(words("perfdhcp -4 -r 100 -p 3600 --json -"))
        .args(send_args(&responder, free_port()));
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    responder.wait_for(5);
    run_bounded(Command::new("kill").args(["-INT", &child.id().to_string()]));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["interrupted"], &json["ended"]), (&true.into(), &"Interrupted".into()));
    assert!(figures(&json, 0, ["on_time"])[0] >= 4, "{json}");
}

/// Returns the lines of a report without measured values: the rate and the delays, and Debian's
/// garbled line about missing delays.
fn comparable(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line == "avg delay: min delay: n/a" {
            continue;
        }
        if let Some((_, rest)) = line.strip_prefix("Rate: ").and_then(|line| line.split_once(' ')) {
            lines.push(format!("Rate: X {rest}"));
        } else if let Some((name, value)) = line
            .split_once(": ")
            .filter(|(name, _)| name.ends_with(" delay") || *name == "std deviation")
        {
            let is_there = value.ends_with(" ms") && value != "inf ms";
            lines.push(format!("{name}: {}", if is_there { "X ms" } else { "n/a" }));
        } else {
            lines.push(line.into());
        }
    }
    lines
}

/// Maximum number of times that two programs run until their reports agree: a machine that stops
/// for a second makes a reply late.
const TRIES_MAX: usize = 30;

/// Runs Debian's program and Godwit's with the same arguments, each against a responder that does
/// the same, and returns their texts and exit codes.
fn both(
    line: &str,
    ours: &str,
    plan: fn(u32) -> ClientTreatment,
) -> io::Result<[(String, i32); 2]> {
    let own_port = free_port();
    let mut port = None;
    let mut results = Vec::new();
    for (program, further) in [("/usr/sbin/perfdhcp", ""), (env!("CARGO_BIN_EXE_godwit"), ours)] {
        let responder = match port {
            None => DhcpResponder::start(false, plan),
            Some(port) => DhcpResponder::start_at(port, plan)?,
        };
        port = Some(responder.port);
        let mut command = Command::new(program);
        if Path::new(program).ends_with("godwit") {
            command.arg("perfdhcp");
        }
        command.args(words(line)).args(words(further)).args(send_args(&responder, own_port));
        let output = run_bounded(&mut command);
        results
            .push((String::from_utf8_lossy(&output.stdout).into(), output.status.code().unwrap()));
    }
    let ours = results.pop().unwrap_or_default();
    Ok([results.pop().unwrap_or_default(), ours])
}

#[test]
fn the_compatible_text_is_debians_line_by_line() {
    if !require(&["perfdhcp"]) {
        return;
    }
    type Case = (&'static str, fn(u32) -> ClientTreatment, i32);
    let cases: [Case; 4] = [
        ("-4 -r 200 -n 200 -R 200 -W 2000000 -u", |_| ClientTreatment::Good, 0),
        (
            "-4 -r 200 -n 210 -R 210 -W 2000000",
            |client| match client % 10 {
                3 => ClientTreatment::Nothing,
                7 => ClientTreatment::NothingTo(3),
                _ => ClientTreatment::Good,
            },
            3,
        ),
        ("-4 -i -r 100 -p 1 -R 50 -W 2000000 -n 40 -C ,", |_| ClientTreatment::Good, 0),
        // Debian's program ends at once with everything in flight; no reply ever comes.
        ("-4 -r 50 -n 10 -f 2", |_| ClientTreatment::Nothing, 3),
    ];
    for (line, plan, code) in cases {
        // -i with -n and -W is one of the combinations with which Debian's program ends with an
        // exception.
        let is_first_only = line.contains("-i ");
        let line = if is_first_only { line.replace("-W 2000000 ", "") } else { line.into() };
        let run = || both(&line, "--compat", plan).unwrap();
        let mut texts = run();
        for _ in 1..TRIES_MAX {
            let [debian, ours] = &texts;
            let is_same = if is_first_only {
                comparable(&ours.0).len() == comparable(&debian.0).len()
            } else {
                comparable(&ours.0) == comparable(&debian.0) && debian.1 == code
            };
            if is_same && ours.1 == code {
                break;
            }
            texts = run();
        }
        let [debian, ours] = texts;
        if is_first_only {
            // The last exchange of Debian's program is in flight at the end and counts as a drop.
            assert!(matches!(debian.1, 0 | 3), "{line}");
            let lines = |text: &str| comparable(text).len();
            assert_eq!(lines(&debian.0), lines(&ours.0), "{line}\n{}\n{}", debian.0, ours.0);
        } else {
            assert_eq!(comparable(&ours.0), comparable(&debian.0), "{line}");
            assert_eq!(debian.1, code, "{line}");
        }
        assert_eq!(ours.1, code, "{line}: {}", ours.0);
    }
}
