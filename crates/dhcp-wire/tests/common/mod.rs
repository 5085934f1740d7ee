//! Captures of `conformance/vectors`.

use std::path::PathBuf;

use packet_wire::{ethernet, frame, ipv6, pcap, protocol, udp};

/// Vectors of one family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors {
    folder: &'static str,
    /// Names of the captures, without `.pcap`.
    pub(crate) captures: &'static [&'static str],
}

/// Vectors of DHCPv4.
pub(crate) const V4: Vectors = Vectors {
    folder: "dhcp4",
    captures: &["perfdhcp", "dhclient", "dhclient-nak", "udhcpc", "odd"],
};
/// Vectors of DHCPv6.
pub(crate) const V6: Vectors =
    Vectors { folder: "dhcp6", captures: &["perfdhcp", "dhclient", "dhcpcd", "odd"] };

impl Vectors {
    /// Returns the path of a file.
    pub(crate) fn file(self, name: &str) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors");
        folder.join(self.folder).join(name)
    }

    /// Returns the UDP payloads of a capture.
    pub(crate) fn payloads(self, capture: &str) -> Vec<Vec<u8>> {
        let file = std::fs::read(self.file(&format!("{capture}.pcap"))).unwrap();
        let payload = |record: pcap::CapturedPacket<'_>| open(record.octets).to_vec();
        pcap::CaptureReader::new(&file).unwrap().map(|record| payload(record.unwrap())).collect()
    }

    /// Returns the UDP payloads of all captures.
    pub(crate) fn all_payloads(self) -> Vec<Vec<u8>> {
        self.captures.iter().flat_map(|capture| self.payloads(capture)).collect()
    }
}

/// Returns the UDP payload of a frame.
fn open(octets: &[u8]) -> &[u8] {
    let (header, packet) = ethernet::EthernetHeader::parse(octets).unwrap();
    if header.ether_type == ethernet::TYPE_IPV4 {
        return frame::open(octets).unwrap().1;
    }
    let (ip, datagram) = ipv6::Header::parse(packet).unwrap();
    assert_eq!(ip.next_header, protocol::UDP);
    assert!(udp::is_checksum_right(ip.source.into(), ip.destination.into(), datagram));
    udp::UdpHeader::parse(datagram).unwrap().1
}
