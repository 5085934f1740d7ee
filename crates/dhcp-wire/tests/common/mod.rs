//! The captures of `conformance/vectors/dhcp4`.

use std::path::PathBuf;

use packet_wire::{frame, pcap};

/// The captures, by name without `.pcap`.
pub(crate) const CAPTURES: [&str; 5] = ["perfdhcp", "dhclient", "dhclient-nak", "udhcpc", "odd"];

/// Where a file of the vectors is.
pub(crate) fn vector(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors/dhcp4").join(name)
}

/// The UDP payloads of a capture.
pub(crate) fn payloads(capture: &str) -> Vec<Vec<u8>> {
    let file = std::fs::read(vector(&format!("{capture}.pcap"))).unwrap();
    let payload = |record: pcap::Record<'_>| frame::open(record.octets).unwrap().1.to_vec();
    pcap::Reader::new(&file).unwrap().map(|record| payload(record.unwrap())).collect()
}
