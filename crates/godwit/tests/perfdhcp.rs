//! Debian's perfdhcp against the server: nothing lost at a moderate rate, every lease in the file
//! and there again after a restart, nothing malformed on the wire.

use std::process::Command;

use crate::common::capture::{self, Capture};
use crate::common::perfdhcp::{exact_run, figures, keys};
use crate::common::{ServerProcess, TempFolder, configuration, is_root, require, run_bounded};

fn perfdhcp(server: &ServerProcess, arguments: &[&str]) -> String {
    let output = run_bounded(
        Command::new("perfdhcp")
            .args(["-4", "-R", "100000", "-d", "2", "-d", "2", "-W", "2000000"])
            .args(arguments)
            .args(["-l", "127.0.0.1", "-L", &server.relay_port.to_string()])
            .args(["-N", &server.port.to_string(), "127.0.0.1"]),
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Exchanges a second. A flush that takes half a second on a disk that others write to lets the
/// answers of half a second go at once, and perfdhcp's receive buffer holds about 160.
const RATE: &str = "200";

/// A run of `count` exchanges by new clients, told from others by the number `run`.
fn exchanges(server: &ServerProcess, run: u8, count: u64) -> String {
    let number = count.to_string();
    let run = |attempt| {
        let base = format!("mac=00:0c:{run:02x}:{attempt:02x}:00:00");
        perfdhcp(server, &["-r", RATE, "-n", &number, "-n", &number, "-b", &base])
    };
    exact_run(count, run).report
}

#[test]
fn it_drops_nothing_and_leaves_every_lease_in_the_file() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("perfdhcp");
    let config = configuration(folder.path(), "always", 1);
    let server = ServerProcess::start(&config, folder.path());
    let report = exchanges(&server, 1, 1000);
    assert_eq!(figures(&report, "drops:"), [0, 0], "{report}");
    let received = figures(&report, "received packets:");
    assert_eq!(received.len(), 2, "{report}");
    assert!(received[1] >= 1000, "{report}");
    server.kill();
    let leases = keys(&folder.path().join("leases.csv"));
    assert!(leases.len() as u64 >= received[1], "{} rows, {received:?}", leases.len());

    let server = ServerProcess::start(&config, folder.path());
    let log = server.log();
    assert!(log.contains(&format!("{} leases", leases.len())), "{log}");
    // New clients get other addresses: the old ones are still taken.
    let again = exchanges(&server, 2, 200);
    assert_eq!(figures(&again, "drops:"), [0, 0], "{again}");
    server.stop();
    assert!(keys(&folder.path().join("leases.csv")).len() >= leases.len() + 200);
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
    let capture = Capture::start(tcpdump, "lo", &format!("udp port {}", server.port), &capture);
    let report = perfdhcp(&server, &["-r", "300", "-f", "100", "-F", "50", "-p", "3"]);
    let drops = figures(&report, "drops:");
    assert_eq!(drops[..3], [0, 0, 0], "{report}");
    server.stop();
    let decode_as = ["-d", &format!("udp.port=={port},dhcp")];
    let run = capture.end();
    let decoded = run.packets(&decode_as, "dhcp");
    assert!(decoded.len() > 1_000, "{} messages decoded", decoded.len());
    assert_eq!(run.packets(&decode_as, capture::MALFORMED), Vec::<String>::new());
}
