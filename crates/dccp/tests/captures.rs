//! Tests that packets of Linux kernels decode to the fields that `tshark` prints, and that decoded
//! packets are written again as the same bytes.

use crate::common;
use crate::common::{CAPTURES, CapturedDccpPacket};
use dccp::header::{DccpHeader, DccpPacket, Integrity};
use dccp::option::{DccpOption, DccpOptionIterator, DccpOptionWriter};

/// Returns the columns of `tests/captures/*.txt` as this crate decodes the packet `captured`.
fn columns(captured: &CapturedDccpPacket) -> String {
    let packet = DccpPacket::parse(&captured.octets, captured.integrity()).unwrap();
    let header = packet.header;
    let mut lists: [Vec<String>; 6] = Default::default();
    let [types, features, counts, times, echoes, elapsed] = &mut lists;
    for raw in DccpOptionIterator::new(packet.options) {
        types.push(raw.number.to_string());
        match raw.option {
            DccpOption::Feature { feature, .. } => features.push(feature.to_string()),
            DccpOption::NdpCount(count) => counts.push(count.to_string()),
            DccpOption::Timestamp(time) => times.push(time.to_string()),
            DccpOption::TimestampEcho { echo, elapsed_10us } => {
                echoes.push(echo.to_string());
                if elapsed_10us > 0 {
                    elapsed.push(elapsed_10us.to_string());
                }
            }
            DccpOption::ElapsedTime(elapsed_10us) => elapsed.push(elapsed_10us.to_string()),
            _ => (),
        }
    }
    let optional = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    let data_offset = (header.fixed_len() + packet.options.len()) / 4;
    let mut columns = vec![
        header.source_port.to_string(),
        data_offset.to_string(),
        header.ccval.to_string(),
        header.coverage.to_string(),
        header.packet_type.number().to_string(),
        u8::from(header.is_extended).to_string(),
        header.sequence.to_string(),
        optional(header.acknowledgement),
        // The packet was parsed, so its checksum is right.
        "1".to_owned(),
        optional(header.service_code.map(|code| u64::from(code.value()))),
        optional(header.reset.map(|reset| u64::from(reset.code.number()))),
    ];
    columns.extend(lists.map(|list| list.join(",")));
    columns.join("|")
}

#[test]
fn every_packet_of_the_kernels_is_read_as_tshark_reads_it() {
    let mut count = 0;
    for name in CAPTURES {
        let path = format!("{}/tests/captures/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let expected = std::fs::read_to_string(path).unwrap();
        let ours: Vec<_> = common::packets(name).iter().map(columns).collect();
        for (index, (ours, theirs)) in ours.iter().zip(expected.lines()).enumerate() {
            assert_eq!(ours, theirs, "{name}, packet {index}");
        }
        assert_eq!(ours.len(), expected.lines().count(), "{name}");
        count += ours.len();
    }
    assert_eq!(count, 1_266, "packets in all captures");
}

#[test]
fn every_packet_of_the_kernels_is_written_again_octet_for_octet() {
    for name in CAPTURES {
        for captured in common::packets(name) {
            let packet = DccpPacket::parse(&captured.octets, captured.integrity()).unwrap();
            let mut area = [0; 1_020];
            let mut options = DccpOptionWriter::new(&mut area);
            for raw in DccpOptionIterator::new(packet.options) {
                assert!(options.put(raw.option));
            }
            assert_eq!(options.written(), packet.options, "{name}");
            let mut buffer = [0; 2_000];
            let len = packet
                .header
                .write(options.written(), packet.data, captured.integrity(), &mut buffer)
                .unwrap();
            assert_eq!(buffer[..len], captured.octets, "{name}");
        }
    }
}

#[test]
fn one_changed_bit_of_what_is_covered_is_noticed() {
    for name in ["ccid2-basic-a", "ccid3-v6-a", "cscov-a"] {
        let captured = common::packets(name).swap_remove(8);
        let packet = DccpPacket::parse(&captured.octets, captured.integrity()).unwrap();
        let header_len = captured.octets.len() - packet.data.len();
        for bit in 0..captured.octets.len() * 8 {
            let mut changed = captured.octets.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let is_covered = packet.header.coverage == 0 || bit / 8 < header_len;
            let result = DccpPacket::parse(&changed, captured.integrity());
            assert_eq!(result.is_err(), is_covered, "{name}, bit {bit}");
        }
    }
}

#[test]
fn packets_of_older_kernels_from_the_vectors() {
    // 139.133.209.176 to .65, from a capture of 2006; the hexadecimal text is the DCCP part.
    let (client, server) = ([139, 133, 209, 176].into(), [139, 133, 209, 65].into());
    let up = Integrity::Addresses { source: client, destination: server };
    let octets = |text: &str| -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    let data = octets(
        "cdbb138909019dfa09000007b8bb92420000000072c5835100002603002b04004625030168656c6c6f2077\
         6f726c640a",
    );
    let packet = DccpPacket::parse(&data, up).unwrap();
    assert_eq!(packet.data, b"hello world\n");
    assert_eq!(packet.header.coverage, 1);
    let options: Vec<_> = DccpOptionIterator::new(packet.options).map(|raw| raw.option).collect();
    assert_eq!(
        options,
        [
            DccpOption::Padding,
            DccpOption::Padding,
            DccpOption::AckVector { nonce: false, runs: &[0] },
            DccpOption::ElapsedTime(70),
            DccpOption::NdpCount(1),
        ]
    );
    let reset =
        octets("1389cdbb0a00d9000f00000072c5835300000007b8bb92430100000000002603002b040003250301");
    let header: DccpHeader = DccpPacket::parse(&reset, up.reversed()).unwrap().header;
    assert_eq!(header.reset.unwrap().code, dccp::header::ResetCode::Closed);
    assert_eq!(header.acknowledgement, Some(0x0007_b8bb_9243));
}
