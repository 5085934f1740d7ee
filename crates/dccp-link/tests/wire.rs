//! Tests of packets on the wire, as Wireshark's dissector reads them.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{DccpTestServer, PATIENCE, RAW, V4, V6, config, in_a_namespace, open, serve};
use dccp_link::{CarrierKind, UDP_PORT};
use packet_wire::pcap;
use testkit::{TempFolder, require};

/// Time between two checks of a capture.
const LOOK: Duration = Duration::from_millis(5);

/// A tcpdump that ends when the value is dropped.
struct TcpdumpCapture(Child);

impl Drop for TcpdumpCapture {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts tcpdump on loopback and waits until it listens.
fn capture(file: &Path) -> TcpdumpCapture {
    // Each slot of its ring holds the largest packet of the interface, 64 KiB on loopback: the
    // usual 2 MiB have slots for only 31 waiting packets on a busy machine.
    let mut tcpdump = Command::new("tcpdump")
        .args(["-i", "lo", "-U", "--immediate-mode", "-s", "0", "-B", "65536", "-w"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(tcpdump.stderr.take().unwrap()).read_line(&mut line).unwrap();
    TcpdumpCapture(tcpdump)
}

/// Script for Wireshark, which knows DCCP over IP only: it adds DCCP inside of UDP.
const IN_UDP: &str =
    "DissectorTable.get('udp.port'):add(6511, DissectorTable.get('ip.proto'):get_dissector(33))";

/// Fields of one packet in tshark's output.
#[derive(Debug)]
struct TsharkPacket {
    packet_type: String,
    checksum: String,
    /// Status of the packet's DCCP checksum: 1 if it is right.
    checksum_status: String,
    /// ECN field of the IP header.
    ecn: String,
    /// Problem that tshark reports about the packet.
    complaint: String,
}

/// Returns all packets of `file`, read with `options`.
fn packets(file: &Path, options: &[&str]) -> Vec<TsharkPacket> {
    let script = file.with_extension("lua");
    std::fs::write(&script, IN_UDP).unwrap();
    let fields = [
        "dccp.type",
        "dccp.checksum",
        "dccp.checksum.status",
        "ip.dsfield.ecn",
        "ipv6.tclass.ecn",
        "_ws.malformed",
    ];
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-X", &format!("lua_script:{}", script.display())])
        .args(options)
        .args(["-T", "fields", "-e", "_ws.expert.message"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let seen = text.lines().map(|line| {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut next = || columns.next().unwrap();
        let expert = next();
        let (packet_type, checksum, checksum_status) = (next(), next(), next());
        let ecn = next() + &next();
        TsharkPacket { packet_type, checksum, checksum_status, ecn, complaint: expert + &next() }
    });
    seen.collect()
}

/// Returns true if the capture has the Reset that ends a connection. The capture may be incomplete,
/// because tcpdump still writes it.
fn has_reset(file: &Path, headers_len: usize) -> bool {
    let octets = std::fs::read(file).unwrap();
    let Ok(reader) = pcap::CaptureReader::new(&octets) else { return false };
    let mut records = reader.map_while(Result::ok);
    records.any(|record| record.octets.get(headers_len + 8).is_some_and(|octet| octet >> 1 == 7))
}

/// Runs a connection from its Request to its last Reset, with some data. Returns its capture.
fn conversation(folder: &TempFolder, kind: CarrierKind, address: IpAddr, ccid: u8) -> PathBuf {
    let file = folder.path().join(format!("{ccid}-{}.pcap", address.is_ipv4()));
    let mut tcpdump = capture(&file);
    let DccpTestServer { listener, endpoint, peer } = serve(kind, address, &config(ccid));
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
    let ip_len = if address.is_ipv4() { 20 } else { 40 };
    let headers_len = 14 + ip_len + if matches!(kind, CarrierKind::Udp { .. }) { 8 } else { 0 };
    let deadline = Instant::now() + PATIENCE;
    while !has_reset(&file, headers_len) {
        assert!(Instant::now() < deadline, "no Reset was captured");
        std::thread::sleep(LOOK);
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
        let folder = TempFolder::new("raw");
        for (address, ccid) in [(V4, 2), (V4, 3), (V6, 2), (V6, 3)] {
            let file = conversation(&folder, RAW, address, ccid);
            let seen = packets(&file, &["-o", "dccp.check_checksum:TRUE"]);
            assert!(seen.len() > 12, "{seen:#?}");
            for packet in &seen {
                assert_eq!(packet.checksum_status, "1", "{packet:?}");
                assert_eq!(packet.complaint, "", "{packet:?}");
            }
            let types: Vec<_> = seen.iter().map(|packet| packet.packet_type.as_str()).collect();
            // A Request without a quick answer was repeated.
            let behind_requests = types.iter().find(|&&packet_type| packet_type != "0");
            assert_eq!((types[0], behind_requests), ("0", Some(&"1")), "Request and Response");
            assert_eq!(types.last(), Some(&"7"), "Reset");
            assert_ecn(&seen);
        }
    });
}

/// Checks ECN: packets of a connection may be marked, but not its Request, Response and Reset.
fn assert_ecn(seen: &[TsharkPacket]) {
    for packet in seen {
        let is_capable = !matches!(packet.packet_type.as_str(), "0" | "1" | "7");
        let expected = if is_capable { "2" } else { "0" };
        assert_eq!(packet.ecn, expected, "{packet:?}");
    }
}

#[test]
fn in_udp_the_same_packets_have_no_checksum_of_their_own() {
    if !require(&["tcpdump", "tshark"]) {
        return;
    }
    in_a_namespace(|| {
        let folder = TempFolder::new("udp");
        for (address, ccid) in [(V4, 2), (V6, 3)] {
            let file = conversation(&folder, CarrierKind::Udp { port: UDP_PORT }, address, ccid);
            // The field does not have a checksum (RFC 6773 §3.1).
            let seen = packets(&file, &["-o", "dccp.check_checksum:FALSE"]);
            assert!(seen.len() > 12, "{seen:#?}");
            for packet in &seen {
                assert_eq!((packet.checksum.as_str(), packet.complaint.as_str()), ("0x0000", ""));
                assert_ne!(packet.packet_type, "", "{packet:?}");
            }
            assert_ecn(&seen);
        }
    });
}
