//! Debian's perfdhcp against the server: nothing lost at a moderate rate, every lease in the file
//! and there again after a restart, nothing malformed on the wire.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{ServerProcess, TempFolder, configuration, require, run_bounded};

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

/// The first number behind each `label`.
fn figures(report: &str, label: &str) -> Vec<u64> {
    report
        .lines()
        .filter_map(|line| line.trim().strip_prefix(label))
        .filter_map(|rest| rest.trim().split(' ').next()?.parse().ok())
        .collect()
}

fn addresses(leases: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(leases).expect("the lease file is there");
    text.lines().skip(1).filter_map(|row| Some(row.split(',').next()?.to_owned())).collect()
}

#[test]
fn it_drops_nothing_and_leaves_every_lease_in_the_file() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("perfdhcp");
    let config = configuration(folder.path(), "always", 1);
    let server = ServerProcess::start(&config, folder.path());
    let report = perfdhcp(&server, &["-r", "500", "-n", "1000", "-n", "1000"]);
    assert_eq!(figures(&report, "drops:"), [0, 0], "{report}");
    let received = figures(&report, "received packets:");
    assert_eq!(received.len(), 2, "{report}");
    assert!(received[1] >= 1000, "{report}");
    server.kill();
    let leases = addresses(&folder.path().join("leases.csv"));
    assert!(leases.len() as u64 >= received[1], "{} rows, {received:?}", leases.len());

    let server = ServerProcess::start(&config, folder.path());
    let log = server.log();
    assert!(log.contains(&format!("{} leases", leases.len())), "{log}");
    // New clients get other addresses: the old ones are still taken.
    let again =
        perfdhcp(&server, &["-r", "200", "-n", "200", "-n", "200", "-b", "mac=00:0c:01:aa:00:00"]);
    assert_eq!(figures(&again, "drops:"), [0, 0], "{again}");
    server.stop();
    assert!(addresses(&folder.path().join("leases.csv")).len() >= leases.len() + 200);
}

#[test]
fn renewals_and_releases_are_served_and_nothing_is_malformed() {
    if !require(&["perfdhcp", "tcpdump", "tshark"]) || !is_root() {
        return;
    }
    let folder = TempFolder::new("capture");
    let config = configuration(folder.path(), "always", 2);
    let server = ServerProcess::start(&config, folder.path());
    let capture = folder.path().join("run.pcap");
    let filter = format!("udp port {}", server.port);
    let mut tcpdump = Command::new("tcpdump")
        .args(["-i", "lo", "-U", "-B", "16384", "-w"])
        .arg(&capture)
        .arg(&filter)
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcpdump runs");
    wait_for_first_line(&mut tcpdump);
    let report = perfdhcp(&server, &["-r", "300", "-f", "100", "-F", "50", "-p", "3"]);
    let drops = figures(&report, "drops:");
    assert_eq!(drops[..3], [0, 0, 0], "{report}");
    server.stop();
    Command::new("kill").args(["-INT", &tcpdump.id().to_string()]).status().expect("kill runs");
    tcpdump.wait().expect("tcpdump was started here");
    let decode_as = format!("udp.port=={},dhcp", port_of(&filter));
    let decoded = tshark(&capture, &decode_as, "dhcp");
    assert!(decoded.len() > 1_000, "{} messages decoded", decoded.len());
    let malformed =
        tshark(&capture, &decode_as, "_ws.malformed || _ws.expert.severity >= 0x800000");
    assert_eq!(malformed, Vec::<String>::new());
}

fn port_of(filter: &str) -> &str {
    filter.rsplit(' ').next().expect("the filter ends with the port")
}

fn tshark(capture: &Path, decode_as: &str, filter: &str) -> Vec<String> {
    let output = run_bounded(
        Command::new("tshark").arg("-r").arg(capture).args(["-d", decode_as, "-Y", filter]),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn wait_for_first_line(child: &mut std::process::Child) {
    use std::io::{BufRead, BufReader};
    let mut line = String::new();
    let stderr = child.stderr.take().expect("it is piped");
    BufReader::new(stderr).read_line(&mut line).expect("tcpdump says what it listens on");
}

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| {
        use std::os::unix::fs::MetadataExt;
        metadata.uid() == 0
    });
    assert!(is_root || std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none(), "capturing needs root");
    is_root
}
