//! Tests of `godwit perfdhcp --direct` on a link of the test, against servers that keep their own
//! counts: Godwit, Debian's Kea, and a responder that misbehaves by plan. In every case the counts
//! of both ends agree to the last exchange.

mod no_arp;
mod servers;
mod station;

use std::fs;
use std::process::{Command, Stdio};

use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::{require, run_bounded, waited_until};
use crate::generator::responder::{ClientTreatment, DhcpResponder, ResponderListener};
use packet_wire::arp;
use packet_wire::frame::Endpoints;
use serde_json::Value;
use station::ServerLinkFrames;

/// Returns `godwit perfdhcp --direct` at the client's end, run by `wrapper`, with `line` and a JSON
/// document as its output.
fn command(link: &LinkNamespaces, wrapper: &str, line: &str) -> Command {
    let mut command = link.at_client();
    command.args(wrapper.split_whitespace()).arg(env!("CARGO_BIN_EXE_godwit"));
    command.args(["perfdhcp", "--direct", "-l", CLIENT_END, "--json", "-"]);
    command.args(line.split_whitespace());
    command
}

/// Runs the command and returns its document and its exit code.
fn measured(link: &LinkNamespaces, line: &str) -> (Value, i32) {
    let output = run_bounded(&mut command(link, "env", line));
    let text = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{told}"));
    (json, output.status.code().unwrap())
}

fn figures<const N: usize>(json: &Value, exchange: usize, names: [&str; N]) -> [u64; N] {
    names.map(|name| json["exchanges"][exchange][name].as_u64().unwrap_or_else(|| panic!("{name}")))
}

fn link_figures(json: &Value) -> [u64; 4] {
    ["broadcast", "unicast", "overheard", "arp_answered"]
        .map(|name| json["link"][name].as_u64().unwrap_or_else(|| panic!("{name}: {json}")))
}

/// Returns a link without a server.
fn bare_link() -> Option<LinkNamespaces> {
    let link = LinkNamespaces::new()?;
    link.join(SERVER_END, CLIENT_END, "10.77.0.1/16");
    Some(link)
}

/// Returns the responder's treatment of each client: ten kinds, for a tenth of the clients each.
fn misbehave(client: u32) -> ClientTreatment {
    match client % 10 {
        1 => ClientTreatment::Nothing,
        2 => ClientTreatment::NothingTo(3),
        3 => ClientTreatment::Nak,
        4 => ClientTreatment::Twice,
        5 => ClientTreatment::WrongNumber,
        6 => ClientTreatment::OtherClient,
        7 => ClientTreatment::NoAddress,
        8 => ClientTreatment::Cut,
        9 => ClientTreatment::SameAddress,
        _ => ClientTreatment::Good,
    }
}

#[test]
fn an_unhealthy_servers_ledger_is_ours_by_unicast_and_by_broadcast() {
    let Some(link) = bare_link() else { return };
    for flag in ["", "--broadcast-flag"] {
        let responder = DhcpResponder::behind(ServerLinkFrames::at(&link), 67, false, misbehave);
        let (json, code) = measured(&link, &format!("-r 400 -n 400 -R 400 -d 20 {flag}"));
        assert_eq!(code, 3, "{json}");
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
        let firsts = figures(&json, 0, names);
        assert_eq!(firsts, [400, 240, 120, 0, 40, 0, 40, 40, 40, 0, 0], "{json}");
        let seconds = figures(&json, 1, names);
        assert_eq!(seconds, [240, 120, 40, 40, 0, 40, 40, 0, 0, 0, 0], "{json}");
        assert_eq!(responder.counts(), [400, 240, 0, 0]);
        assert_eq!(json["exchanges"][1]["conflict_count"], 39, "{json}");
        let received = json["messages_received"].as_u64().unwrap();
        // A refusal is a broadcast.
        let expected =
            if flag.is_empty() { [40, received - 40, 0, 0] } else { [received, 0, 0, 0] };
        assert_eq!(link_figures(&json), expected, "{json}");
        assert_eq!((responder.clients().len(), responder.relays()), (400, 1));
    }
}

/// Returns true if the packet sockets of the client's namespace, which the generator opened, are
/// empty.
fn is_all_read(link: &LinkNamespaces) -> bool {
    let output = link.at_client().args(["cat", "/proc/net/packet"]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let mut rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    // The column Rmem.
    rows.all(|row| row[6] == "0")
}

#[test]
fn of_a_burst_that_the_socket_does_not_hold_each_frame_is_accounted_for() {
    if !require(&["setpriv"]) {
        return;
    }
    let Some(link) = bare_link() else { return };
    // Without this right a socket has at most `rmem_max`, which the kernel doubles.
    let wrapper = "setpriv --bounding-set=-net_admin --inh-caps=-net_admin";
    let most = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let held: u32 = 2 * most.trim().parse::<u32>().unwrap() / 768;
    let copies = (held * 3 / 2).div_ceil(300);
    let responder =
        DhcpResponder::behind(ServerLinkFrames::at(&link), 67, false, |_| ClientTreatment::Good);
    responder.hold(copies);
    // No deadline passes while it reads its socket: it would leave the rest unread.
    let mut command = command(&link, wrapper, "-i -r 300 -n 300 -R 300 -d 1800");
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    responder.wait_for(300);
    let pid = run.id().to_string();
    let signal = |name: &str| drop(run_bounded(Command::new("kill").args([name, &pid])));
    signal("-STOP");
    let path = format!("/proc/{pid}/stat");
    let stands = || fs::read_to_string(&path).is_ok_and(|stat| stat.contains(") T "));
    assert!(waited_until(stands), "SIGSTOP stops it");
    responder.release();
    signal("-CONT");
    assert!(waited_until(|| is_all_read(&link)), "it reads all that its socket holds");
    signal("-INT");
    let mut output = run.stdout.take().unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text).unwrap();
    let code = run.wait().unwrap().code().unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let names = ["on_time", "late", "lost", "in_flight", "duplicates", "unmatched"];
    let [on_time, late, lost, in_flight, duplicates, unmatched] = figures(&json, 0, names);
    let drops = json["own_socket_drops"].as_u64().unwrap();
    let received = json["messages_received"].as_u64().unwrap();
    assert_eq!(received + drops, u64::from(300 * copies), "{json}");
    assert_eq!(on_time + late + duplicates + unmatched, received, "{json}");
    assert_eq!((on_time + in_flight, late + lost, code), (300, 0, 130), "{json}");
    assert!(drops > 0 && in_flight > 0, "{json}");
    assert!(json["generator_limited_reason"].as_str().unwrap().contains("own socket"), "{json}");
    drop(responder);
    who_has_an_address_is_told_by_arp_with_the_flag_only(&link);
}

/// Answers the server's next request correctly, and returns the client's hardware address.
fn serve(station: &mut ServerLinkFrames) -> [u8; 6] {
    let (request, from) = station.next();
    answer(station, &request, &from);
    from.source_mac.0
}

fn answer(station: &mut ServerLinkFrames, request: &[u8], from: &Endpoints) {
    let mut answer = request[..240].to_vec();
    answer[0] = 2;
    let last = request[33];
    answer[16..20].copy_from_slice(&[10, 77, 0, last]);
    answer.extend([53, 1, if request[242] == 1 { 2 } else { 5 }]);
    answer.extend([54, 4, 10, 77, 0, 1, 51, 4, 0, 0, 14, 16, 255]);
    station.send(&answer, from);
}

fn who_has_an_address_is_told_by_arp_with_the_flag_only(link: &LinkNamespaces) {
    for flag in ["", "--answer-arp"] {
        let mut station = ServerLinkFrames::at(link);
        let line = format!("-r 20 -n 3 -R 3 -d 60 {flag}");
        let run = command(link, "env", &line).stdout(Stdio::piped()).spawn().unwrap();
        let (request, from) = station.next();
        let mac = from.source_mac.0;
        let address = [10, 77, 0, mac[5]].into();
        // The client does not have the address yet.
        station.ask(address);
        answer(&mut station, &request, &from);
        let mut left = 5;
        while serve(&mut station) != mac {
            left -= 1;
        }
        station.ask(address);
        // The last of these replies arrives after both ARP requests, and the run ends with it.
        for _ in 1..left {
            serve(&mut station);
        }
        let output = run.wait_with_output().unwrap();
        while station.take() {}
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{json}");
        let answered = figures_of(&station);
        if flag.is_empty() {
            assert_eq!((answered.len(), link_figures(&json)[3]), (0, 0), "{json}");
        } else {
            assert_eq!(
                (answered, link_figures(&json)[3]),
                (vec![(mac, mac, address)], 1),
                "{json}"
            );
        }
    }
}

/// Returns, for each ARP reply, the hardware address of its frame and its contents.
fn figures_of(station: &ServerLinkFrames) -> Vec<([u8; 6], [u8; 6], std::net::Ipv4Addr)> {
    let answers = station.arp_answers.iter().filter(|(_, answer)| answer.operation == arp::REPLY);
    let told = answers.map(|(from, answer)| {
        assert_eq!((answer.target_mac, answer.target), (station::MAC, station::ADDRESS));
        (from.0, answer.sender_mac.0, answer.sender)
    });
    told.collect()
}

#[test]
fn what_makes_no_sense_for_clients_on_the_link_is_told_at_once_and_nothing_sent() {
    let told = |words: &[&str], expected: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        let output = run_bounded(command.arg("perfdhcp").args(words));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(output.stdout.is_empty(), "{words:?}");
        for part in expected {
            assert!(error.contains(part), "{words:?}: no `{part}` in {error}");
        }
        let problems = error.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(problems, expected.len(), "{error}");
    };
    told(
        &["--broadcast-flag", "--answer-arp", "127.0.0.1"],
        &[
            "--broadcast-flag is for clients on a link of this \
           machine",
            "--answer-arp is for clients",
        ],
    );
    told(&["--direct"], &["--direct needs -l"]);
    told(
        &["--direct", "-l", "10.0.0.9", "-B", "-J", "x", "10.0.0.1"],
        &["-l 10.0.0.9: --direct", "-B has no effect", "-J has no meaning", "SERVER 10.0.0.1"],
    );
    told(
        &["--direct", "-l", "x0", "--answer-arp", "-i", "--broadcast-flag", "-T", "x"],
        &["--answer-arp is not compatible with -i", "--broadcast-flag cannot be put into packets"],
    );
    told(
        &["--direct", "-l", "x0", "--answer-arp", "-R", "5000000"],
        &["--answer-arp: takes 4194304 clients"],
    );
    told(&["-6", "--direct", "-l", "x0"], &["--direct is for DHCPv4"]);
    told(&["--direct", "-l", "no-such-if0"], &["-l no-such-if0: no interface"]);
    told(&["--direct", "-l", "lo"], &["-l lo: --direct needs an Ethernet interface"]);
    told(
        &["--direct", "--generators", "a=10.0.0.9,b", "-R", "9"],
        &["-l 10.0.0.9: --direct", "--direct needs -l"],
    );
}
