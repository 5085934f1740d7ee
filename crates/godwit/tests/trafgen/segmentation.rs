//! Tests of frames that leave as segments of larger datagrams: the received data is that of the
//! frames, and figures are right.

use std::time::Instant;

use netio::frame::TrainKind;
use netio::{FrameReceiver, PollFd, ReceivedFrame, RecvBatch, UdpOptions, UdpSocket, poll};
use packet_wire::checksum::checksum;

use super::{GODWIT, MOMENT_NS, TrafgenLink, outcome, take, trafgen};
use crate::common::{PATIENCE, waited_until};

/// Frame of 85 bytes; its IPv4 identification counts as that of segments does.
const PACKET: &str = "{ eth(da=02:00:00:00:00:05), ipv4(id=dinc(), ttl=64, sa=10.9.0.1, da=10.9.0.2), \
                      udp(sp=4000, dp=53), drnd(2), dinc(0,255), fill(7,40) }";
const HEADER_BYTES: usize = 42;
/// Offsets of lengths and checksums.
const IP_LEN_AT: usize = 16;
const IP_SUM_AT: usize = 24;
const UDP_LEN_AT: usize = 38;

fn link() -> Option<TrafgenLink> {
    let link = TrafgenLink::new()?;
    link.inside("ip link set in0 address 02:00:00:00:00:05", &[]);
    Some(link)
}

/// Returns the frames in received data, without their checksums.
fn frames_of(frame: ReceivedFrame<'_>) -> Vec<Vec<u8>> {
    let Some(train) = frame.train else { return vec![without_sums(frame.octets)] };
    assert_eq!(train.kind, TrainKind::Udp);
    let (headers, payload) = frame.octets.split_at(HEADER_BYTES);
    let id = u16::from_be_bytes([headers[18], headers[19]]);
    let segment = |(number, payload): (usize, &[u8])| {
        let mut octets = [headers, payload].concat();
        let udp_bytes = (payload.len() + 8) as u16;
        octets[IP_LEN_AT..IP_LEN_AT + 2].copy_from_slice(&(udp_bytes + 20).to_be_bytes());
        octets[UDP_LEN_AT..UDP_LEN_AT + 2].copy_from_slice(&udp_bytes.to_be_bytes());
        octets[18..20].copy_from_slice(&id.wrapping_add(number as u16).to_be_bytes());
        without_sums(&octets)
    };
    payload.chunks(train.payload_bytes).enumerate().map(segment).collect()
}

fn without_sums(frame: &[u8]) -> Vec<u8> {
    let mut octets = frame.to_vec();
    octets[IP_SUM_AT..IP_SUM_AT + 2].fill(0);
    octets[UDP_LEN_AT + 2..UDP_LEN_AT + 4].fill(0);
    octets
}

/// Returns the result of `of` for each received datagram, until `count` frames have come.
fn taken<T>(
    receiver: &mut FrameReceiver,
    count: usize,
    of: impl Fn(ReceivedFrame<'_>) -> Vec<T>,
) -> Vec<T> {
    let mut all = Vec::new();
    let ends = Instant::now() + PATIENCE;
    while all.len() < count && Instant::now() < ends {
        take(receiver, 1, |frame| all.extend(of(frame)));
    }
    all
}

#[test]
fn segments_are_the_frames_that_plain_sending_sends() {
    let Some(link) = link() else { return };
    let mut receiver = link.receiver();
    link.trafgen("-o out0 -n 1001 -P 1 -E 7 --path sendmmsg", PACKET);
    let plain = taken(&mut receiver, 1_001, |frame| vec![without_sums(frame.octets)]);
    assert_eq!(plain.len(), 1_001);
    // Over a veth pair datagrams stay whole, unless the interface is configured to take none.
    for (most, datagrams_counted) in [(65_536, true), (1_000, false)] {
        link.inside(&format!("ip link set out0 gso_max_size {most}"), &[]);
        let before = (link.count("out0", "tx_packets"), link.count("in0", "rx_packets"));
        let report = link.trafgen("-o out0 -n 1001 -P 1 -E 7 --segmentation", PACKET);
        let after = (link.count("out0", "tx_packets"), link.count("in0", "rx_packets"));
        assert_eq!((&report["sent"], &report["sent_bytes"]), (&1_001.into(), &(1_001 * 85).into()));
        let datagrams = report["segmentation"]["datagrams"].as_u64().expect("a number");
        // 15 trains of 64 and one of 41.
        assert_eq!(datagrams, 16, "{report}");
        let counted = if datagrams_counted { datagrams } else { 1_001 };
        assert_eq!((after.0 - before.0, after.1 - before.1), (counted, counted), "{most}");
        assert!(report["path"].as_str().is_some_and(|path| path.contains("segmented")), "{report}");
        let sums = |frame: ReceivedFrame<'_>| {
            let pending = frame.checksum.map_or(0, |pending| pending.start);
            let ip_sum = checksum(&frame.octets[14..34]);
            frames_of(frame).into_iter().map(|octets| (octets, pending, ip_sum)).collect()
        };
        let segments = taken(&mut receiver, 1_001, sums);
        assert_eq!(segments.len(), 1_001, "{most}");
        for (number, (segment, frame)) in std::iter::zip(&segments, &plain).enumerate() {
            assert_eq!(&segment.0, frame, "frame {number} of {most}");
            assert_eq!((segment.1, segment.2), (34, 0), "checksums of frame {number}");
        }
    }
}

#[test]
fn a_receiver_gets_as_many_datagrams_as_the_report_says() {
    let Some(link) = link() else { return };
    link.inside("ip addr add 10.9.0.2/24 dev in0", &[]);
    let socket = link.enter(|| {
        let bind = std::net::SocketAddr::from(([10, 9, 0, 2], 53));
        let options = UdpOptions { receive_buffer_bytes: Some(16 << 20), ..UdpOptions::at(bind) };
        UdpSocket::open(&options).expect("root may")
    });
    let mut batch = RecvBatch::new(64, 2_048);
    // Two flows in turn, in pairs, and pairs of another length: trains of two.
    let flow = |port: u16, len| {
        format!(
            "{{ eth(da=02:00:00:00:00:05), ipv4(ttl=64, sa=10.9.0.1, da=10.9.0.2), \
             udp(sp={port}, dp=53), fill(7,{len}) }}"
        )
    };
    let pairs = [flow(1, 30), flow(1, 30), flow(2, 30), flow(2, 30), flow(2, 31), flow(2, 31)];
    for (words, packet, trains) in [
        ("-n 3001 -P 1", PACKET.to_owned(), 3_001_u64.div_ceil(64)),
        ("-n 3000 -P 1 -q", pairs.concat(), 1_500),
        ("-n 500 -b 20kpps", PACKET.to_owned(), 1),
    ] {
        let report = link.trafgen(&format!("-o out0 --segmentation {words}"), &packet);
        let datagrams = report["segmentation"]["datagrams"].as_u64().expect("a number");
        assert!(datagrams >= trains, "{words}: {report}");
        if report["gaps"].is_null() {
            assert_eq!(datagrams, trains, "{words}");
        }
        let (mut received, sent) = (0, report["sent"].as_u64());
        // Until all have come, and then while more come.
        waited_until(|| {
            let ready = poll(&mut [PollFd::readable(&socket)], Some(MOMENT_NS)).expect("it can");
            if ready > 0 {
                received += batch.receive(&socket).expect("the socket stays") as u64;
            }
            ready == 0 && Some(received) >= sent
        });
        assert_eq!(Some(received), sent, "{words}: {report}");
    }
}

#[test]
fn what_cannot_be_segmented_is_refused_in_one_line() {
    let Some(link) = link() else { return };
    for (words, packet, complaint) in [
        ("", "{ udp(sp=drnd()), 1 }", "--segmentation: packet 1 changes its UDP source port"),
        ("", "{ tcp() }", "--segmentation: packet 1 is not a UDP datagram"),
        ("", "{ udp(dp=1), 1 } { udp(dp=2), 1 }", "1 and 2 differ in their UDP destination port"),
        ("--path xdp", "{ udp(), 1 }", "--segmentation works only with --path sendmmsg"),
    ] {
        let words = format!(
            "netns exec {} {GODWIT} trafgen --segmentation -o out0 -n 1 {words}",
            link.0[0]
        );
        let mut command = std::process::Command::new("ip");
        let output = command.args(words.split_whitespace()).arg(packet).output();
        let (text, code) = outcome(&output.expect("ip starts"));
        let last = text.lines().last().unwrap_or_default();
        assert!(last.contains(complaint) && code == Some(2), "{text}");
    }
    let (text, code) =
        outcome(&trafgen(&["--segmentation", "-o", "x.pcap", "-n", "1", "{ udp(), 1 }"]));
    assert!(text.contains("--segmentation needs an interface") && code == Some(2), "{text}");
}
