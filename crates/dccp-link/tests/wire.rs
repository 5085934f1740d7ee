//! What goes over the wire, as Wireshark's dissector reads it.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{PATIENCE, RAW, Server, V4, V6, config, in_a_namespace, open, serve};
use dccp_link::{CarrierKind, UDP_PORT};

/// tshark's filter for what is wrong with a packet.
const WRONG: &str = "_ws.malformed || _ws.expert.severity >= 0x600000";

/// A folder that goes away with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(label: &str) -> Self {
        let path = std::env::temp_dir().join(format!("godwit-dccp-{}-{label}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn require(tools: &[&str]) -> bool {
    let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let is_there = |tool: &str| folders.split(':').any(|f| Path::new(f).join(tool).exists());
    let missing: Vec<_> = tools.iter().filter(|tool| !is_there(tool)).collect();
    if missing.is_empty() {
        return true;
    }
    assert!(std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none(), "not installed: {missing:?}");
    println!("skipped: {missing:?} not installed");
    false
}

/// A tcpdump that ends with the value.
struct Capture(Child);

impl Drop for Capture {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts tcpdump on loopback and waits until it listens.
fn capture(file: &Path) -> Capture {
    let mut tcpdump = Command::new("tcpdump")
        .args(["-i", "lo", "-U", "--immediate-mode", "-s", "0", "-w"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(tcpdump.stderr.take().unwrap()).read_line(&mut line).unwrap();
    Capture(tcpdump)
}

/// Wireshark knows DCCP over IP only; this tells it where it travels inside of UDP.
const IN_UDP: &str =
    "DissectorTable.get('udp.port'):add(6511, DissectorTable.get('ip.proto'):get_dissector(33))";

/// One line for each packet of `file` that passes `filter`.
fn packets(file: &Path, options: &[&str], filter: &str) -> Vec<String> {
    let script = file.with_extension("lua");
    std::fs::write(&script, IN_UDP).unwrap();
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-X", &format!("lua_script:{}", script.display())])
        .args(options)
        .args(["-Y", filter])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// A connection from its Request to its last Reset, with some data; the capture of it.
fn conversation(folder: &Folder, kind: CarrierKind, address: IpAddr, ccid: u8) -> PathBuf {
    let file = folder.0.join(format!("{ccid}-{}.pcap", address.is_ipv4()));
    let mut tcpdump = capture(&file);
    let Server { listener, endpoint, peer } = serve(kind, address, &config(ccid));
    let client = open(
        match kind {
            CarrierKind::Udp { .. } => CarrierKind::Udp { port: 0 },
            CarrierKind::Raw { .. } => kind,
        },
        address,
    );
    let mut connection = client.connect(peer, &config(ccid)).unwrap();
    let mut accepted = listener.accept_within(PATIENCE).unwrap();
    connection.set_receive_timeout(Some(PATIENCE));
    accepted.set_receive_timeout(Some(PATIENCE));
    for len in [0, 1, 3, 100, 1_000] {
        connection.send(&vec![0x5a; len]).unwrap();
        let datagram = accepted.receive().unwrap().unwrap();
        accepted.send(&datagram).unwrap();
        assert_eq!(connection.receive().unwrap().unwrap().len(), len);
    }
    connection.close();
    assert!(client.wait_closed(PATIENCE));
    assert!(endpoint.wait_closed(PATIENCE));
    // The last packet is known to have been written once tshark shows it.
    let is_last = "dccp.type == 7";
    let deadline = std::time::Instant::now() + PATIENCE;
    while packets(&file, &[], is_last).is_empty() {
        assert!(std::time::Instant::now() < deadline, "no Reset was captured");
    }
    Command::new("kill").args(["-INT", &tcpdump.0.id().to_string()]).status().unwrap();
    tcpdump.0.wait().unwrap();
    file
}

#[test]
fn over_ip_every_packet_is_well_formed_with_a_right_checksum() {
    if !require(&["tcpdump", "tshark"]) {
        return;
    }
    in_a_namespace(|| {
        let folder = Folder::new("raw");
        for (address, ccid) in [(V4, 2), (V4, 3), (V6, 2), (V6, 3)] {
            let file = conversation(&folder, RAW, address, ccid);
            let all = packets(&file, &[], "dccp");
            assert!(all.len() > 12, "{all:#?}");
            assert_eq!(packets(&file, &[], WRONG), Vec::<String>::new());
            assert_eq!(packets(&file, &[], "dccp.checksum.status == 1").len(), all.len());
            let types = packets(&file, &["-T", "fields", "-e", "dccp.type"], "dccp");
            assert_eq!(types[..2], ["0", "1"], "Request and Response");
            assert_eq!(types.last().map(String::as_str), Some("7"), "Reset");
        }
    });
}

#[test]
fn in_udp_the_same_packets_have_no_checksum_of_their_own() {
    if !require(&["tcpdump", "tshark"]) {
        return;
    }
    in_a_namespace(|| {
        let folder = Folder::new("udp");
        // What stands in for a checksum is not one (RFC 6773 §3.1).
        let unchecked = ["-o", "dccp.check_checksum:FALSE"];
        for (address, ccid) in [(V4, 2), (V6, 3)] {
            let file = conversation(&folder, CarrierKind::Udp { port: UDP_PORT }, address, ccid);
            let all = packets(&file, &unchecked, "dccp");
            assert!(all.len() > 12, "{all:#?}");
            assert_eq!(packets(&file, &unchecked, "udp").len(), all.len());
            assert_eq!(packets(&file, &unchecked, WRONG), Vec::<String>::new());
            let fields = ["-T", "fields", "-e", "dccp.checksum"];
            for line in packets(&file, &[&unchecked[..], &fields].concat(), "dccp") {
                assert_eq!(line, "0x0000");
            }
        }
    });
}
