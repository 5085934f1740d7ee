//! Tests with frames made by a kernel and by hand, against tshark's reading of them.
//!
//! The committed text of a capture is tshark's own output, so the comparison needs no tshark. If
//! tshark is installed, the test first compares the text with its output. `GODWIT_REQUIRE_TOOLS=1`
//! makes a missing tshark a failure.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use packet_wire::pcap::{self, ByteOrder, Resolution};
use packet_wire::{ethernet, frame, ipv4, ipv6, udp};
use testkit::TempFolder;

/// Columns of the committed texts: names of tshark's fields, in order.
const FIELDS: &str = "frame.time_epoch frame.len eth.dst eth.src vlan.priority vlan.id ip.src \
    ip.dst ip.dsfield ip.id ip.flags.df ip.flags.mf ip.frag_offset ip.ttl ip.proto ip.hdr_len \
    ip.checksum.status ipv6.src ipv6.dst ipv6.tclass ipv6.flow ipv6.nxt ipv6.hlim udp.srcport \
    udp.dstport udp.length udp.checksum udp.checksum.status udp.payload";

pub(crate) fn vector(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors/packet").join(name)
}

/// Returns tshark's reading of the capture `file`, in the form of the committed texts; `None` when
/// tshark is not installed.
fn tshark(file: &std::path::Path) -> Option<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-T", "fields", "-E", "header=y", "-E", "separator=|"]);
    for preference in ["ip.defragment:FALSE", "udp.check_checksum:TRUE", "ip.check_checksum:TRUE"] {
        command.args(["-o", preference]);
    }
    command.args(FIELDS.split_whitespace().flat_map(|field| ["-e", field]));
    let Ok(output) = command.output() else {
        testkit::skip("tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Since 4.2, tshark prints flags as words.
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.replace("True", "1").replace("False", "0"))
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").unwrap();
        text
    })
}

/// Returns this crate's reading of one captured packet, by the names of tshark's fields.
fn ours(record: &pcap::CapturedPacket<'_>) -> HashMap<&'static str, String> {
    let mut row = HashMap::new();
    row.insert(
        "frame.time_epoch",
        format!("{}.{:09}", record.time_ns / 1_000_000_000, record.time_ns % 1_000_000_000),
    );
    row.insert("frame.len", record.octets.len().to_string());
    let (ethernet, packet) = ethernet::EthernetHeader::parse(record.octets).unwrap();
    row.insert("eth.dst", ethernet.destination.to_string());
    row.insert("eth.src", ethernet.source.to_string());
    for tag in ethernet.tags.iter().flatten().filter(|t| t.tag_type == ethernet::TYPE_VLAN) {
        row.insert("vlan.priority", tag.priority().to_string());
        row.insert("vlan.id", tag.vlan().to_string());
    }
    let (source, destination, datagram): (IpAddr, IpAddr, _) = match ethernet.ether_type {
        ethernet::TYPE_IPV4 => {
            let (ip, datagram) = ipv4::Header::parse(packet).unwrap();
            row.insert("ip.src", ip.source.to_string());
            row.insert("ip.dst", ip.destination.to_string());
            row.insert("ip.dsfield", format!("0x{:02x}", ip.traffic_class));
            row.insert("ip.id", format!("0x{:04x}", ip.identification));
            row.insert("ip.flags.df", u8::from(ip.dont_fragment).to_string());
            row.insert("ip.flags.mf", u8::from(ip.more_fragments).to_string());
            row.insert("ip.frag_offset", (ip.fragment_offset / 8).to_string());
            row.insert("ip.ttl", ip.ttl.to_string());
            row.insert("ip.proto", ip.protocol.to_string());
            row.insert("ip.hdr_len", ip.len().to_string());
            // The value 1 means good; parse has checked the checksum.
            row.insert("ip.checksum.status", "1".into());
            if ip.is_fragment() {
                assert_eq!(frame::open(record.octets), Err(packet_wire::PacketDefect::Fragment));
                return row;
            }
            (ip.source.into(), ip.destination.into(), datagram)
        }
        other => {
            assert_eq!(other, ethernet::TYPE_IPV6);
            let (ip, datagram) = ipv6::Header::parse(packet).unwrap();
            row.insert("ipv6.src", ip.source.to_string());
            row.insert("ipv6.dst", ip.destination.to_string());
            row.insert("ipv6.tclass", format!("0x{:08x}", ip.traffic_class));
            row.insert("ipv6.flow", format!("0x{:06x}", ip.flow_label));
            row.insert("ipv6.nxt", ip.next_header.to_string());
            row.insert("ipv6.hlim", ip.hop_limit.to_string());
            (ip.source.into(), ip.destination.into(), datagram)
        }
    };
    let (header, payload) = udp::UdpHeader::parse(datagram).unwrap();
    assert!(udp::is_checksum_right(source, destination, datagram));
    row.insert("udp.srcport", header.source_port.to_string());
    row.insert("udp.dstport", header.destination_port.to_string());
    row.insert("udp.length", (payload.len() + udp::HEADER_LEN).to_string());
    row.insert("udp.checksum", format!("0x{:04x}", header.checksum));
    // The value 1 means good, 3 that the sender made none.
    row.insert("udp.checksum.status", if header.checksum == 0 { "3" } else { "1" }.into());
    row.insert("udp.payload", hex(payload));
    row
}

#[test]
fn we_read_what_tshark_reads() {
    let file = std::fs::read(vector("udp.pcap")).unwrap();
    let expected = std::fs::read_to_string(vector("udp.txt")).unwrap();
    if let Some(fresh) = tshark(&vector("udp.pcap")) {
        assert_eq!(fresh, expected, "udp.txt is not the output of tshark");
    }
    let mut lines = expected.lines();
    let names: Vec<&str> = lines.next().unwrap().split('|').collect();
    assert_eq!(names, FIELDS.split_whitespace().collect::<Vec<_>>());
    let records: Vec<_> = pcap::CaptureReader::new(&file).unwrap().map(Result::unwrap).collect();
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len(), records.len());
    let mut fragments = 0;
    for (record, line) in records.iter().zip(rows) {
        let ours = ours(record);
        let is_fragment = !ours.contains_key("udp.srcport");
        fragments += usize::from(is_fragment);
        for (name, theirs) in names.iter().zip(line.split('|')) {
            // tshark dissects UDP in a first fragment, which this crate does not do.
            if !(is_fragment && name.starts_with("udp.")) {
                assert_eq!(ours.get(name).map_or("", String::as_str), theirs, "{name}");
            }
        }
    }
    assert_eq!(fragments, 2);
}

/// Checks that a header read from the capture and written again gives the same bytes.
#[test]
fn what_is_emitted_is_what_was_captured() {
    let file = std::fs::read(vector("udp.pcap")).unwrap();
    let mut buffer = [0; 2_000];
    for record in pcap::CaptureReader::new(&file).unwrap().map(Result::unwrap) {
        let mut writer = base::ByteWriter::new(&mut buffer);
        let (header, packet) = ethernet::EthernetHeader::parse(record.octets).unwrap();
        header.emit(&mut writer);
        if let Ok((ip, payload)) = ipv4::Header::parse(packet) {
            ip.emit(payload.len(), &mut writer);
            writer.put(payload);
        } else {
            let (ip, datagram) = ipv6::Header::parse(packet).unwrap();
            ip.emit(datagram.len(), &mut writer);
            let (udp, payload) = udp::UdpHeader::parse(datagram).unwrap();
            let from = std::net::SocketAddrV6::new(ip.source, udp.source_port, 0, 0);
            let to = std::net::SocketAddrV6::new(ip.destination, udp.destination_port, 0, 0);
            writer.put(&udp::header_for(from.into(), to.into(), payload)).put(payload);
        }
        let padding = record.octets.len() - writer.len();
        writer.fill(0, padding);
        assert_eq!(writer.written(), record.octets);
    }
}

#[test]
fn every_kind_of_pcap_file_is_read_back_also_by_tshark() {
    let file = std::fs::read(vector("udp.pcap")).unwrap();
    let records: Vec<_> = pcap::CaptureReader::new(&file).unwrap().map(Result::unwrap).collect();
    let temporary = TempFolder::new("packet-wire");
    let folder = temporary.path();
    let path = folder.join("written.pcap");
    let mut read_by_tshark = Vec::new();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for resolution in [Resolution::Microseconds, Resolution::Nanoseconds] {
            let mut writer = pcap::CaptureWriter::new(pcap::LINK_ETHERNET, order, resolution);
            for record in &records {
                writer.packet(record.time_ns, record.octets);
            }
            let written = writer.octets();
            let reader = pcap::CaptureReader::new(written).unwrap();
            assert_eq!((reader.byte_order(), reader.resolution()), (order, resolution));
            assert_eq!(reader.link_type(), pcap::LINK_ETHERNET);
            assert_eq!(reader.map(Result::unwrap).collect::<Vec<_>>(), records);
            if (order, resolution) == (ByteOrder::Little, Resolution::Microseconds) {
                assert_eq!(written[40..], file[40..], "the records are those of tcpdump");
            }
            std::fs::write(&path, written).unwrap();
            read_by_tshark.extend(tshark(&path));
        }
    }
    let expected = std::fs::read_to_string(vector("udp.txt")).unwrap();
    assert!(read_by_tshark.iter().all(|read| *read == expected));
}

#[test]
fn a_capture_that_editcap_turned_into_pcapng_has_the_same_records() {
    let [classic, newer] =
        ["udp.pcap", "udp.pcapng"].map(|name| std::fs::read(vector(name)).unwrap());
    let [classic, newer] = [&classic, &newer].map(|file| pcap::CaptureReader::new(file).unwrap());
    assert_eq!(newer.link_type(), classic.link_type());
    let newer: Vec<_> = newer.map(Result::unwrap).collect();
    assert_eq!(newer, classic.map(Result::unwrap).collect::<Vec<_>>());
    assert!(newer.len() > 1);
}

#[test]
fn a_cut_capture_ends_in_an_error_or_at_a_record() {
    let file = std::fs::read(vector("udp.pcap")).unwrap();
    let whole = pcap::CaptureReader::new(&file).unwrap().count();
    let mut clean = 0;
    for cut in 0..file.len() {
        let Ok(reader) = pcap::CaptureReader::new(&file[..cut]) else {
            assert!(cut < 24, "{cut}");
            continue;
        };
        let read: Vec<_> = reader.collect();
        assert!(read.len() <= whole);
        clean += usize::from(read.iter().all(Result::is_ok));
        assert!(read.iter().rev().skip(1).all(Result::is_ok), "only the last can be an error");
    }
    assert_eq!(clean, whole, "once after the header and once after each record but the last");
}

#[test]
fn files_of_other_kinds_are_refused() {
    let file = std::fs::read(vector("udp.pcap")).unwrap();
    let with = |at: usize, value: u8| {
        let mut changed = file.clone();
        changed[at] = value;
        changed
    };
    assert_eq!(pcap::CaptureReader::new(&with(0, 0)).err(), Some(pcap::PcapError::Magic));
    assert_eq!(pcap::CaptureReader::new(&with(4, 9)).err(), Some(pcap::PcapError::Version));
    let longer_than_on_the_wire = with(24 + 8, 255);
    let first = pcap::CaptureReader::new(&longer_than_on_the_wire).unwrap().next().unwrap();
    assert_eq!(first, Err(pcap::PcapError::Length));
}
