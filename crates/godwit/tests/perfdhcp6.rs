//! Tests of Debian's perfdhcp against the DHCPv6 server, on its link and through a relay agent: no
//! losses at a moderate rate, every lease in the file and loaded again after a restart, no
//! malformed packet on the wire.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::capture::{self, TcpdumpProcess};
use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::perfdhcp::{PATIENT, RUNS_MAX, figures, is_exact, keys};
use crate::common::{
    ServerProcess, TempFolder, configuration6, require, run_bounded, waited_until,
};

fn configuration(folder: &Path) -> PathBuf {
    let subnet = format!(
        r#"{{ "id": 1, "subnet": "2001:db8:1::/64", "interface": "{SERVER_END}",
              "pools": [ {{ "pool": "2001:db8:1::1:0/112" }} ],
              "pd-pools": [ {{ "prefix": "2001:db8:4000::", "prefix-len": 40,
                               "delegated-len": 56 }} ] }}"#
    );
    configuration6(folder, &format!("\"{SERVER_END}\""), "", &subnet)
}

/// Returns the report of perfdhcp, run at the client's end.
fn perfdhcp(link: &LinkNamespaces, arguments: &[&str]) -> String {
    let mut command = link.at_client();
    command.args(["perfdhcp", "-6", "-l", CLIENT_END, "-R", "100000"]);
    let output = run_bounded(command.args(arguments));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Number of exchanges in a round. perfdhcp's receive buffer holds about 160 replies: as many as
/// can come at once, after a slow flush, while perfdhcp does not read.
const ROUND: usize = 50;
/// Number of tries of a round, of which one must get all replies.
const TRIES_MAX: usize = 5;
/// Number of rounds of a run.
const ROUNDS: usize = 10;
/// Number of exchanges in a run.
const COUNT: usize = ROUND * ROUNDS;

/// Runs [`COUNT`] complete exchanges by new clients, which the number `run` distinguishes from
/// others, and returns the counts of messages. Each client has `each` leases in the lease file
/// `leases` after it.
fn exchanges(
    link: &LinkNamespaces,
    run: u8,
    arguments: &[&str],
    leases: &Path,
    each: usize,
) -> MessageTotals {
    let mut all = MessageTotals::default();
    for round in 0..ROUNDS {
        let of_round = one_round(link, [run, round as u8], arguments, leases, each);
        all.sent += of_round.sent;
        all.received += of_round.received;
    }
    all
}

/// Numbers of messages of perfdhcp in a run.
#[derive(Default)]
struct MessageTotals {
    sent: usize,
    /// Number of replies that perfdhcp has waited for.
    received: usize,
}

/// Runs a round of [`ROUND`] exchanges. perfdhcp sends in bursts, and when it was held up it may
/// send one exchange more than requested, and exit without waiting for the last replies: such a
/// round proves nothing and is repeated with other clients. A round is also repeated if the server
/// dropped a reply because it had waited longer for its row than its client would wait for the
/// reply, unless that happens every time.
fn one_round(
    link: &LinkNamespaces,
    [run, round]: [u8; 2],
    arguments: &[&str],
    leases: &Path,
    each: usize,
) -> MessageTotals {
    let count = ROUND.to_string();
    let mut all = MessageTotals::default();
    let mut tries = 0;
    for attempt in 0..RUNS_MAX {
        let before = keys(leases).len();
        let base = format!("mac=00:0c:{run:02x}:{round:02x}:{attempt:02x}:00");
        let common = ["-r", "200", "-n", &count, "-n", &count, "-b", &base];
        let report = perfdhcp(link, &[&common[..], &PATIENT, arguments].concat());
        let sent = figures(&report, "sent packets:");
        let received = figures(&report, "received packets:");
        all.sent += sent.iter().sum::<u64>() as usize;
        all.received += received.iter().sum::<u64>() as usize;
        if !is_exact(&report, ROUND as u64) {
            println!("perfdhcp sent more than it was told to: {report}");
            continue;
        }
        tries += 1;
        if received != [ROUND as u64; 2] && tries < TRIES_MAX {
            println!("not all clients were answered: {report}");
            continue;
        }
        assert_eq!(figures(&report, "drops:"), [0, 0], "{report}");
        assert_eq!(figures(&report, "rejected leases:"), [0, 0], "{report}");
        assert_eq!(received, [ROUND as u64; 2], "{report}");
        // Those of a round before may be written late.
        assert!(keys(leases).len() - before >= each * ROUND, "{report}");
        return all;
    }
    panic!("perfdhcp never sent as many messages as it was told to");
}

/// Starts a server on a link of its own.
fn set(label: &str) -> Option<(ServerProcess, LinkNamespaces, TempFolder)> {
    if !require(&["perfdhcp", "tcpdump", "tshark"]) {
        return None;
    }
    let link = LinkNamespaces::new()?;
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    let folder = TempFolder::new(label);
    let server = start(&link, folder.path());
    Some((server, link, folder))
}

fn start(link: &LinkNamespaces, folder: &Path) -> ServerProcess {
    let config = configuration(folder);
    ServerProcess::start_on_standard_ports(link.at_server(), "dhcp6", &config, folder)
}

#[test]
fn it_drops_nothing_and_leaves_every_lease_in_the_file() {
    let Some((server, link, folder)) = set("perfdhcp6") else { return };
    let leases = folder.path().join("leases.csv");
    let relays = folder.path().join("relays");
    fs::write(&relays, "2001:db8:1::1\n").expect("the test's folder can be written");
    let relays = relays.display().to_string();

    exchanges(&link, 1, &[], &leases, 1);
    exchanges(&link, 2, &["-e", "address-and-prefix"], &leases, 2);
    exchanges(&link, 3, &["-e", "prefix-only"], &leases, 1);
    exchanges(&link, 4, &["-A", "1", "-J", &relays], &leases, 1);
    server.kill();
    let (count, prefixes) = (keys(&leases).len(), prefixes(&leases));
    assert!(count >= 5 * COUNT && prefixes >= 2 * COUNT, "{count} leases, {prefixes} prefixes");

    let server = start(&link, folder.path());
    let log = server.log();
    assert!(log.contains(&format!("{count} leases")), "{log}");
    // New clients get other addresses and prefixes: the earlier ones are still leased.
    exchanges(&link, 5, &["-e", "address-and-prefix"], &leases, 2);
    server.stop();
    let (new, new_prefixes) = (keys(&leases).len() - count, self::prefixes(&leases) - prefixes);
    assert!(new >= 2 * COUNT && new == 2 * new_prefixes, "{new} new leases");
}

/// Returns the number of prefixes that are or were leased.
fn prefixes(leases: &Path) -> usize {
    let text = fs::read_to_string(leases).expect("the lease file is there");
    let rows = text.lines().skip(1).filter(|row| row.contains(",56,0,0,"));
    rows.filter_map(|row| row.split(',').next()).collect::<BTreeSet<_>>().len()
}

#[test]
fn renewals_and_releases_are_served_and_nothing_is_malformed() {
    let Some((server, link, folder)) = set("capture6") else { return };
    let mut tcpdump = link.at_server();
    tcpdump.arg("tcpdump");
    let file = folder.path().join("run.pcap");
    let capture = TcpdumpProcess::start(tcpdump, SERVER_END, "udp", &file);
    let run = ["-r", "100", "-f", "40", "-F", "20", "-p", "5", "-d", "60", "-d", "60"];
    let further = ["-W", "2000000", "-e", "address-and-prefix"];
    // The run takes a few seconds, and is repeated if the server stood still for all of them.
    let mut report = String::new();
    let has_come = (0..RUNS_MAX).any(|_| {
        report = perfdhcp(&link, &[&run[..], &further].concat());
        assert_eq!(figures(&report, "rejected leases:"), [0; 4], "{report}");
        figures(&report, "received packets:").iter().all(|&count| count > 0)
    });
    assert!(has_come, "{report}");
    // Whichever replies perfdhcp has waited for, each request to the server has its reply.
    let count = |kind: u8| {
        let filter = format!("dhcpv6.msgtype == {kind}");
        capture.so_far().packets(&[], &filter).len()
    };
    let counts = || [1, 2, 3, 5, 8, 7].map(count);
    let is_answered = || {
        let [solicits, advertises, requests, renews, releases, replies] = counts();
        solicits == advertises && requests + renews + releases == replies
    };
    assert!(waited_until(is_answered), "{:?} {report}", counts());
    let relays = folder.path().join("relays");
    fs::write(&relays, "2001:db8:1::1\n").expect("the test's folder can be written");
    let leases = folder.path().join("leases.csv");
    let through = ["-A", "1", "-J", &relays.display().to_string()];
    let MessageTotals { sent, received } = exchanges(&link, 4, &through, &leases, 1);
    server.stop();
    // tcpdump may have written the last ones not yet.
    let relayed = || capture.so_far().packets(&[], "dhcpv6.msgtype == 13").len();
    waited_until(|| relayed() >= received);
    let run = capture.end();
    let relayed = run.packets(&[], "dhcpv6.msgtype == 13");
    assert!((received..=sent).contains(&relayed.len()), "{received} {} {sent}", relayed.len());
    let wrong = format!("{} || (udp && !dhcpv6)", capture::MALFORMED);
    assert_eq!(run.packets(&[], &wrong), Vec::<String>::new());
    assert_eq!(run.badly_framed_dhcpv6(), Vec::<String>::new());
}
