//! Reader of the captures in `tests/captures`.

use std::net::IpAddr;
use std::path::Path;

use dccp::header::Integrity;
use packet_wire::{ethernet, ipv4, ipv6, pcap};

/// Names of all captures: their file names without the ending.
pub(crate) const CAPTURES: [&str; 14] = [
    "ccid-asym-c3s2-a",
    "ccid-mismatch-a",
    "ccid2-basic-a",
    "ccid2-reorder-a",
    "ccid2-v6-a",
    "ccid3-basic-a",
    "ccid3-echo-a",
    "ccid3-v6-a",
    "cscov-a",
    "refused-a",
    "request-lost-a",
    "server-closes-a",
    "server-timewait-a",
    "zero-length-a",
];

/// Packet of DCCP in a capture, with its time and addresses.
#[derive(Clone, Debug)]
pub(crate) struct CapturedDccpPacket {
    /// Time at which the packet was captured, in nanoseconds since 1970.
    pub(crate) time_ns: u64,
    /// IP address of the packet's sender.
    pub(crate) source: IpAddr,
    /// IP address of the packet's receiver.
    pub(crate) destination: IpAddr,
    /// Bytes of the packet, from the DCCP header on.
    pub(crate) octets: Vec<u8>,
}

impl CapturedDccpPacket {
    /// Returns the addresses that the packet's checksum covers.
    pub(crate) fn integrity(&self) -> Integrity {
        Integrity::Addresses { source: self.source, destination: self.destination }
    }
}

/// Returns the DCCP packets of the capture `name` in order.
pub(crate) fn packets(name: &str) -> Vec<CapturedDccpPacket> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/captures/{name}.pcap"));
    let file = std::fs::read(path).unwrap();
    pcap::CaptureReader::new(&file)
        .unwrap()
        .filter_map(|record| captured(&record.unwrap()))
        .collect()
}

fn captured(record: &pcap::CapturedPacket<'_>) -> Option<CapturedDccpPacket> {
    let (frame, packet) = ethernet::EthernetHeader::parse(record.octets).unwrap();
    let (source, destination, protocol, octets): (IpAddr, IpAddr, u8, &[u8]) =
        match frame.ether_type {
            ethernet::TYPE_IPV4 => {
                let (ip, octets) = ipv4::Header::parse(packet).unwrap();
                (ip.source.into(), ip.destination.into(), ip.protocol, octets)
            }
            ethernet::TYPE_IPV6 => {
                let (ip, octets) = ipv6::Header::parse(packet).unwrap();
                (ip.source.into(), ip.destination.into(), ip.next_header, octets)
            }
            _ => return None,
        };
    (protocol == dccp::header::checksum::PROTOCOL).then(|| CapturedDccpPacket {
        time_ns: record.time_ns,
        source,
        destination,
        octets: octets.to_vec(),
    })
}
