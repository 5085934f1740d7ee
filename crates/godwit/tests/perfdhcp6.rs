//! Debian's perfdhcp against the DHCPv6 server, on its link and through a relay agent: nothing lost
//! at a moderate rate, every lease in the file and there again after a restart, nothing malformed on
//! the wire.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::capture::{self, Capture};
use common::link::{CLIENT_END, Link, SERVER_END};
use common::perfdhcp::{figures, keys};
use common::{ServerProcess, TempFolder, configuration6, require, run_bounded};

fn configuration(folder: &Path) -> PathBuf {
    let subnet = format!(
        r#"{{ "id": 1, "subnet": "2001:db8:1::/64", "interface": "{SERVER_END}",
              "pools": [ {{ "pool": "2001:db8:1::1:0/112" }} ],
              "pd-pools": [ {{ "prefix": "2001:db8:4000::", "prefix-len": 40,
                               "delegated-len": 56 }} ] }}"#
    );
    configuration6(folder, &format!("\"{SERVER_END}\""), "", &subnet)
}

/// What perfdhcp reports that was run at the client's end.
fn perfdhcp(link: &Link, arguments: &[&str]) -> String {
    let mut command = link.at_client();
    command.args(["perfdhcp", "-6", "-l", CLIENT_END, "-R", "100000", "-d", "2", "-d", "2"]);
    let output = run_bounded(command.args(["-W", "2000000"]).args(arguments));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Exchanges in a run.
const COUNT: usize = 500;

/// A run of complete exchanges by clients that begin with the hardware address `base`.
fn exchanges(link: &Link, base: &str, arguments: &[&str]) {
    let (count, base) = (COUNT.to_string(), format!("mac={base}"));
    let common = ["-r", "250", "-n", &count, "-n", &count, "-b", &base];
    let report = perfdhcp(link, &[&common[..], arguments].concat());
    assert_eq!(figures(&report, "drops:"), [0, 0], "{report}");
    assert_eq!(figures(&report, "rejected leases:"), [0, 0], "{report}");
    assert_eq!(figures(&report, "received packets:"), [COUNT as u64; 2], "{report}");
}

/// A server on a link of its own.
fn set(letters: [char; 2], label: &str) -> Option<(ServerProcess, Link, TempFolder)> {
    if !require(&["perfdhcp", "tcpdump", "tshark"]) {
        return None;
    }
    let link = Link::new(letters)?;
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    let folder = TempFolder::new(label);
    let server = start(&link, folder.path());
    Some((server, link, folder))
}

fn start(link: &Link, folder: &Path) -> ServerProcess {
    let config = configuration(folder);
    ServerProcess::start_on_standard_ports(link.at_server(), "dhcp6", &config, folder)
}

#[test]
fn it_drops_nothing_and_leaves_every_lease_in_the_file() {
    let Some((server, link, folder)) = set(['g', 'h'], "perfdhcp6") else { return };
    let leases = folder.path().join("leases.csv");
    let relays = folder.path().join("relays");
    fs::write(&relays, "2001:db8:1::1\n").expect("the test's folder can be written");
    let relays = relays.display().to_string();

    exchanges(&link, "00:0c:01:00:00:00", &[]);
    assert_eq!(keys(&leases).len(), COUNT);
    exchanges(&link, "00:0c:02:00:00:00", &["-e", "address-and-prefix"]);
    assert_eq!(keys(&leases).len(), 3 * COUNT);
    exchanges(&link, "00:0c:03:00:00:00", &["-e", "prefix-only"]);
    assert_eq!(keys(&leases).len(), 4 * COUNT);
    exchanges(&link, "00:0c:04:00:00:00", &["-A", "1", "-J", &relays]);
    assert_eq!(keys(&leases).len(), 5 * COUNT);
    server.kill();

    let server = start(&link, folder.path());
    let log = server.log();
    assert!(log.contains(&format!("{} leases", 5 * COUNT)), "{log}");
    // New clients get other addresses and prefixes: the old ones are still taken.
    exchanges(&link, "00:0c:05:00:00:00", &["-e", "address-and-prefix"]);
    server.stop();
    let text = fs::read_to_string(&leases).expect("the lease file is there");
    let is_prefix = |row: &&str| row.contains(",56,0,0,");
    assert_eq!(text.lines().skip(1).filter(is_prefix).count(), 3 * COUNT);
    assert_eq!(keys(&leases).len(), 7 * COUNT);
}

#[test]
fn renewals_and_releases_are_served_and_nothing_is_malformed() {
    let Some((server, link, folder)) = set(['i', 'j'], "capture6") else { return };
    let mut tcpdump = link.at_server();
    tcpdump.arg("tcpdump");
    let file = folder.path().join("run.pcap");
    let capture = Capture::start(tcpdump, SERVER_END, "udp", &file);
    let run = ["-r", "250", "-f", "80", "-F", "40", "-p", "3", "-e", "address-and-prefix"];
    let report = perfdhcp(&link, &run);
    assert_eq!(figures(&report, "drops:"), [0; 4], "{report}");
    assert_eq!(figures(&report, "rejected leases:"), [0; 4], "{report}");
    assert!(figures(&report, "received packets:").iter().all(|&count| count > 0), "{report}");
    let relays = folder.path().join("relays");
    fs::write(&relays, "2001:db8:1::1\n").expect("the test's folder can be written");
    exchanges(&link, "00:0c:04:00:00:00", &["-A", "1", "-J", &relays.display().to_string()]);
    server.stop();
    let run = capture.end();
    let relayed = run.packets(&[], "dhcpv6.msgtype == 13");
    assert_eq!(relayed.len(), 2 * COUNT);
    let wrong = format!("{} || (udp && !dhcpv6)", capture::MALFORMED);
    assert_eq!(run.packets(&[], &wrong), Vec::<String>::new());
    assert_eq!(run.badly_framed_dhcpv6(), Vec::<String>::new());
}
