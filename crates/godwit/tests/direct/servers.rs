//! Tests of `godwit perfdhcp --direct` with real servers: `godwit dhcp4` and Debian's Kea, each
//! with packet sockets on the link.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{bare_link, figures, link_figures, measured};
use crate::common::capture::{self, CaptureFile, TcpdumpProcess};
use crate::common::kea::KeaProcess;
use crate::common::link::{LinkNamespaces, SERVER_END};
use crate::common::{ServerProcess, TempFolder, figure, require, waited_until};

/// Writes a configuration that either server accepts, with additions that only one needs, and
/// returns its path. Replies of Godwit do not wait for the disk: it drops those that wait too long,
/// and the test counts each.
fn configuration(folder: &Path, further: &str) -> PathBuf {
    let path = folder.join("dhcp4.conf");
    let text = format!(
        r#"{{ "Dhcp4": {{
            "interfaces-config": {{ "interfaces": [ "{SERVER_END}" ], "dhcp-socket-type": "raw" }},
            "lease-database": {{ "type": "memfile", "name": "{0}/leases.csv", "lfc-interval": 0 }},
            "control-socket": {{ "socket-type": "unix", "socket-name": "{0}/ctrl" }},
            "valid-lifetime": 3600, {further}
            "user-context": {{ "godwit": {{ "shards": 2, "durability": "none" }} }},
            "subnet4": [ {{ "id": 1, "subnet": "10.77.0.0/16",
                            "pools": [ {{ "pool": "10.77.1.1 - 10.77.9.254" }} ] }} ]
        }} }}"#,
        folder.display()
    );
    fs::write(&path, text).unwrap();
    path
}

/// Returns the number of addresses that are leased at the end of the lease file.
fn leased(folder: &Path) -> u64 {
    let text = fs::read_to_string(folder.join("leases.csv")).unwrap();
    let rows = text.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let last: BTreeMap<String, bool> =
        rows.map(|row| (row[0].to_owned(), row[9] == "0" && row[3] != "0")).collect();
    last.values().filter(|is_leased| **is_leased).count() as u64
}

/// Returns the number of messages of each type in the run's document: DISCOVER, REQUEST (of both
/// kinds), RELEASE.
fn sent(json: &Value) -> [u64; 3] {
    let [firsts, seconds, renewals, releases] =
        [0, 1, 2, 3].map(|exchange| figures(json, exchange, ["sent"])[0]);
    [firsts, seconds + renewals, releases]
}

/// Checks that every exchange was complete on time, by broadcast if the client requested that and
/// had no address, and that the lease file has as many leases as the run.
fn judge(json: &Value, is_flagged: bool, folder: &Path) {
    let names = ["sent", "on_time", "lost", "late", "nak", "invalid", "wrong_client", "unmatched"];
    for exchange in 0..3 {
        let [sent, rest @ ..] = figures(json, exchange, names);
        assert!(sent > 0, "{json}");
        assert_eq!(rest, [sent, 0, 0, 0, 0, 0, 0], "{json}");
    }
    let [firsts, seconds, renewals] = [0, 1, 2].map(|index| figures(json, index, ["sent"])[0]);
    let [broadcast, unicast, overheard, _] = link_figures(json);
    let new = firsts + seconds;
    let expected = if is_flagged { (new, renewals) } else { (0, new + renewals) };
    assert_eq!((broadcast, unicast, overheard), (expected.0, expected.1, 0), "{json}");
    assert_eq!(json["own_socket_drops"], 0, "{json}");
    assert_eq!(json["leases"].as_u64().unwrap(), leased(folder), "{json}");
}

/// Waits until the lease file has as many leases as the run reports, and `further` ones: no reply
/// confirms the last RELEASEs and DECLINEs.
fn wait_for_leases(json: &Value, further: u64, folder: &Path) {
    let expected = json["leases"].as_u64().unwrap() + further;
    assert!(waited_until(|| leased(folder) == expected), "{} leases: {json}", leased(folder));
}

const LINE: &str = "-r 200 -n 300 -R 300 -f 60 -F 20 -d 20 --answer-arp";

/// Load for Kea, whose sockets hold less than 300 messages while it is held up.
const LINE_FOR_KEA: &str = "-r 50 -n 150 -R 150 -f 20 -F 10 -d 20 --answer-arp";
/// Arguments with which tshark prints the messages on the link: frame source, source, destination,
/// and payload.
const FIELDS: [&str; 12] = [
    "-T",
    "fields",
    "-e",
    "eth.src",
    "-e",
    "eth.dst",
    "-e",
    "ip.src",
    "-e",
    "ip.dst",
    "-e",
    "udp.payload",
];

/// Returns the contents of a capture file, packet by packet, sorted.
fn messages(captured: &CaptureFile) -> Vec<String> {
    let mut all = captured.packets(&FIELDS, "dhcp");
    all.sort_unstable();
    all
}

fn server(link: &LinkNamespaces, config: &Path, folder: &Path) -> ServerProcess {
    ServerProcess::start_on_standard_ports(link.at_server(), "dhcp4", config, folder)
}

#[test]
fn ours_serves_clients_on_its_link_and_both_sides_have_counted_the_same() {
    if !require(&["tcpdump", "tshark"]) {
        return;
    }
    let Some(link) = bare_link() else { return };
    for is_flagged in [false, true] {
        let folder = TempFolder::new("direct-ours");
        let config = configuration(folder.path(), "");
        let mut tcpdump = link.at_server();
        tcpdump.arg("tcpdump");
        let path = folder.path().join("link.pcap");
        let on_link = TcpdumpProcess::start(tcpdump, SERVER_END, "port 67 or port 68", &path);
        let server = server(&link, &config, folder.path());
        let own = folder.path().join("own.pcap");
        let flag = if is_flagged { "--broadcast-flag" } else { "" };
        let (json, code) = measured(&link, &format!("{LINE} {flag} --pcap {}", own.display()));
        assert_eq!(code, 0, "{json}");
        on_link.wait_for("dhcp.option.dhcp == 7");
        let count = json["messages_sent"].as_u64().unwrap() as usize;
        wait_for_leases(&json, 0, folder.path());
        let log = server.stop();
        judge(&json, is_flagged, folder.path());
        assert_eq!(link_figures(&json)[3], 0, "answers need no ARP: {json}");
        let counted =
            ["DHCPDISCOVER", "DHCPREQUEST", "DHCPRELEASE"].map(|name| figure(&log, name) as u64);
        assert_eq!(counted, sent(&json), "{log}");
        // tcpdump writes nothing more after the signal to end.
        let all = count + json["messages_received"].as_u64().unwrap() as usize;
        assert!(waited_until(|| messages(&on_link.so_far()).len() >= all), "{all}: {json}");
        let on_link = on_link.end();
        assert_eq!(on_link.packets(&[], capture::MALFORMED), Vec::<String>::new());
        let (theirs, ours) = (messages(&on_link), messages(&CaptureFile::of(&own)));
        assert_eq!(ours.len(), all);
        assert_eq!(ours, theirs, "what is told of the link is what went over it");
        // Each client sends its own frames, and sets its flag while it has no address.
        let flags = "dhcp.flags.bc == 1 && dhcp.type == 1 && dhcp.ip.client == 0.0.0.0";
        let firsts = "udp.srcport == 68 && ip.src == 0.0.0.0 && ip.dst == 255.255.255.255";
        let broadcasts = format!("{firsts} && eth.dst == ff:ff:ff:ff:ff:ff");
        let broadcasts = on_link.packets(&[], &broadcasts);
        let flagged = on_link.packets(&[], &format!("{firsts} && {flags}"));
        assert_eq!(broadcasts.len(), 600);
        assert_eq!(flagged.len(), if is_flagged { 600 } else { 0 });
        let others = "udp.srcport == 68 && !(eth.src == dhcp.hw.mac_addr)";
        assert_eq!(on_link.packets(&[], others), Vec::<String>::new());
    }
    all_at_once_and_whole_lives(&link);
}

fn all_at_once_and_whole_lives(link: &LinkNamespaces) {
    // These clients get former addresses of other clients.
    let folder = TempFolder::new("direct-lives");
    let config = configuration(folder.path(), "");
    let server = server(link, &config, folder.path());
    let (json, code) = measured(link, "--scenario avalanche -R 200");
    assert_eq!((code, json["leases"].as_u64()), (0, Some(200)), "{json}");
    wait_for_leases(&json, 0, folder.path());
    let line = "--scenario lifecycle -R 100 -r 100 -p 6 -d 20 --speed 2000 --stay 3000 --away 2000 \
                --releasing 40 --informing 30 --declining 5 --answer-arp -s 7 \
                -b mac=00:0d:00:00:00:00";
    let (json, code) = measured(link, line);
    assert_eq!(code, 0, "{json}");
    for exchange in json["exchanges"].as_array().unwrap() {
        let is_rare = exchange["name"] == "REQUEST-ACK (rebinding)";
        assert!(is_rare || exchange["sent"].as_u64().unwrap() > 0, "{exchange}");
    }
    wait_for_leases(&json, 200, folder.path());
    server.stop();
}

/// Returns Kea's answer to a command at the socket at `path`.
fn commanded(path: &Path, command: &str) -> Value {
    let mut socket = UnixStream::connect(path).unwrap();
    write!(socket, r#"{{ "command": "{command}" }}"#).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn debians_kea_serves_clients_on_its_link_and_both_sides_have_counted_the_same() {
    if !require(&["kea-dhcp4"]) {
        return;
    }
    let Some(link) = bare_link() else { return };
    for is_flagged in [false, true] {
        let folder = TempFolder::new("direct-kea");
        let output = folder.path().join("kea.log").display().to_string();
        let loggers = format!(
            r#""loggers": [ {{ "name": "kea-dhcp4", "severity": "INFO",
                               "output_options": [ {{ "output": "{output}" }} ] }} ],"#
        );
        let config = configuration(folder.path(), &loggers);
        let mut program: Command = link.at_server();
        program.arg("kea-dhcp4");
        let kea = KeaProcess::start_by(program, &config, folder.path(), [67, 68]);
        let flag = if is_flagged { "--broadcast-flag" } else { "" };
        let (json, code) = measured(&link, &format!("{LINE_FOR_KEA} {flag}"));
        assert_eq!(code, 0, "{json}");
        let socket = folder.path().join("ctrl");
        let names = ["pkt4-discover-received", "pkt4-request-received", "pkt4-release-received"];
        let counted = || {
            let all = commanded(&socket, "statistic-get-all");
            names.map(|name| all["arguments"][name][0][0].as_u64().unwrap_or(0))
        };
        wait_for_leases(&json, 0, folder.path());
        assert!(waited_until(|| counted() == sent(&json)), "{:?} {json}", counted());
        kea.stop();
        judge(&json, is_flagged, folder.path());
    }
}
