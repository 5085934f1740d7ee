//! Tests of Debian's perfdhcp against the server: no losses at a moderate rate, every lease in the
//! file and loaded again after a restart, no malformed packet on the wire.

use std::process::Command;

use crate::common::capture::{self, TcpdumpProcess};
use crate::common::perfdhcp::{PATIENT, RUNS_MAX, exact_run, figures, keys};
use crate::common::{
    ServerProcess, TempFolder, configuration, is_root, require, run_bounded, waited_until,
};

fn perfdhcp(server: &ServerProcess, arguments: &[&str]) -> String {
    let output = run_bounded(
        Command::new("perfdhcp")
            .args(["-4", "-R", "100000"])
            .args(arguments)
            .args(["-l", "127.0.0.1", "-L", &server.relay_port.to_string()])
            .args(["-N", &server.port.to_string(), "127.0.0.1"]),
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Number of exchanges in a round. perfdhcp's receive buffer holds about 160 replies: as many as
/// can come at once, after a slow flush, while perfdhcp does not read.
const ROUND: u64 = 50;

/// Number of tries of a round, of which one must get all replies: the server drops a reply that
/// waits longer for its row than its client would wait for the reply.
const TRIES_MAX: usize = 5;

/// Runs `rounds` rounds of exchanges by new clients, which the number `run` distinguishes from
/// others, and returns the number of ACKs.
fn exchanges(server: &ServerProcess, run: u8, rounds: u8) -> u64 {
    let number = ROUND.to_string();
    let acknowledged = (0..rounds).map(|round| {
        let run = |attempt| {
            let base = format!("mac=00:0c:{run:02x}:{round:02x}:{attempt:02x}:00");
            let words = ["-r", "200", "-n", &number, "-n", &number, "-b", &base];
            perfdhcp(server, &[&words[..], &PATIENT].concat())
        };
        let is_whole = |report: &String| {
            figures(report, "received packets:").iter().all(|&received| received >= ROUND)
        };
        let whole = (1..TRIES_MAX).map(|_| exact_run(ROUND, run).report).find(is_whole);
        let report = whole.unwrap_or_else(|| exact_run(ROUND, run).report);
        assert_eq!(figures(&report, "drops:"), [0, 0], "{report}");
        let received = figures(&report, "received packets:");
        assert!(received.len() == 2 && received[1] >= ROUND, "{report}");
        received[1]
    });
    acknowledged.sum()
}

#[test]
fn it_drops_nothing_and_leaves_every_lease_in_the_file() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("perfdhcp");
    let config = configuration(folder.path(), "always", 1);
    let server = ServerProcess::start(&config, folder.path());
    let acknowledged = exchanges(&server, 1, 20);
    server.kill();
    let leases = keys(&folder.path().join("leases.csv"));
    assert!(leases.len() as u64 >= acknowledged, "{} rows of {acknowledged}", leases.len());

    let server = ServerProcess::start(&config, folder.path());
    let log = server.log();
    assert!(log.contains(&format!("{} leases", leases.len())), "{log}");
    // New clients get other addresses: the earlier ones are still leased.
    let again = exchanges(&server, 2, 4) as usize;
    server.stop();
    assert!(keys(&folder.path().join("leases.csv")).len() >= leases.len() + again);
}

#[test]
fn renewals_and_releases_are_served_and_nothing_is_malformed() {
    if !require(&["perfdhcp", "tcpdump", "tshark"]) || !is_root() {
        return;
    }
    let folder = TempFolder::new("capture");
    let config = configuration(folder.path(), "always", 2);
    let server = ServerProcess::start(&config, folder.path());
    let port = server.port;
    let capture = folder.path().join("run.pcap");
    let tcpdump = Command::new("tcpdump");
    let capture =
        TcpdumpProcess::start(tcpdump, "lo", &format!("udp port {}", server.port), &capture);
    let decode_as = ["-d", &format!("udp.port=={port},dhcp")];
    let count = |kind: u8| {
        let filter = format!("dhcp.option.dhcp == {kind}");
        capture.so_far().packets(&decode_as, &filter).len() as u64
    };
    // For a few seconds, and again where a server that was held up let nobody renew meanwhile.
    let words = ["-r", "100", "-f", "40", "-F", "20", "-p", "5", "-d", "60", "-d", "60"];
    let (mut sent, mut report) = (0, String::new());
    let has_come = (0..RUNS_MAX).any(|_| {
        report = perfdhcp(&server, &[&words[..], &["-W", "2000000"]].concat());
        sent += figures(&report, "sent packets:").iter().sum::<u64>();
        // One request at most follows an offer: the others renew.
        count(3) > count(2) && count(7) > 0
    });
    assert!(has_come, "some renew, some release: {report}");
    let counts = || [1, 2, 3, 5, 7].map(count);
    // Whatever perfdhcp has waited for: each question that went to the server has its answer, and
    // tcpdump has written all that was sent.
    let is_answered = || {
        let [discovers, offers, requests, acks, releases] = counts();
        let is_whole = discovers + requests + releases == sent;
        discovers == offers && requests == acks && is_whole
    };
    assert!(waited_until(is_answered), "{:?} of {sent} {report}", counts());
    server.stop();
    let run = capture.end();
    let decoded = run.packets(&decode_as, "dhcp");
    assert!(decoded.len() as u64 > sent, "{} messages decoded", decoded.len());
    assert_eq!(run.packets(&decode_as, capture::MALFORMED), Vec::<String>::new());
}
