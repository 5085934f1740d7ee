//! Tests of UDP datagrams through a link, counted one by one.

use std::collections::BTreeSet;
use std::net::UdpSocket as StdUdpSocket;
use std::time::{Duration, Instant};

use netem_link::{Bridge, DirectionSelector, parse_words};
use netio::{PollFd, RecvBatch, UdpOptions, UdpSocket, poll};
use testkit::PATIENCE;

use crate::bridge::namespaces::{
    BridgeNamespaces, LEFT, PATIENCE_NS, RIGHT, assert_sums, forward, wait_for,
};

const PORT: u16 = 4_000;
/// Length of the Ethernet, IPv4 and UDP headers of a datagram, in bytes.
const HEADERS_BYTES: u64 = 14 + 20 + 8;
/// Number of datagrams that a test sends between two checks of the link's counts, so that no queue
/// on the way to it is ever full.
const BURST: u32 = 50;

/// Opens a receiver with room for all datagrams of a test.
fn receiver(namespaces: &BridgeNamespaces) -> UdpSocket {
    namespaces.at_right(|| {
        let options =
            UdpOptions { receive_buffer_bytes: Some(32 << 20), ..UdpOptions::at((RIGHT, PORT)) };
        UdpSocket::open(&options).unwrap()
    })
}

fn sender(namespaces: &BridgeNamespaces) -> StdUdpSocket {
    let socket = namespaces.at_left(|| StdUdpSocket::bind((LEFT, PORT)).unwrap());
    socket.connect((RIGHT, PORT)).unwrap();
    socket
}

/// Sends datagrams numbered `numbers`, of `len` bytes, after all earlier ones have reached the
/// link.
fn send(bridge: &Bridge, socket: &StdUdpSocket, numbers: std::ops::Range<u32>, len: usize) {
    let before = forward(&bridge.report().unwrap()).received;
    let mut octets = vec![7; len];
    for (sent, number) in (1_u32..).zip(numbers) {
        octets[..4].copy_from_slice(&number.to_be_bytes());
        assert_eq!(socket.send(&octets).unwrap(), len);
        if sent % BURST == 0 {
            wait_for(bridge, |forward| forward.received >= before + u64::from(sent));
        }
    }
}

/// Receives `count` datagrams and returns their numbers in order of arrival.
fn receive(socket: &UdpSocket, count: usize) -> Vec<u32> {
    let (mut batch, mut numbers) = (RecvBatch::default(), Vec::new());
    while numbers.len() < count {
        batch.receive(socket).unwrap();
        numbers.extend(
            batch
                .iter()
                .map(|datagram| u32::from_be_bytes(*datagram.octets.first_chunk().unwrap())),
        );
        if numbers.len() < count {
            let ready = poll(&mut [PollFd::readable(socket)], Some(PATIENCE_NS)).unwrap();
            assert_eq!(ready, 1, "{} of {count} arrived", numbers.len());
        }
    }
    numbers
}

/// Checks that no further datagram has arrived.
fn assert_empty(socket: &UdpSocket) {
    assert_eq!(RecvBatch::default().receive(socket).unwrap(), 0);
}

#[test]
fn an_echo_takes_the_delays_of_both_ways() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("delay 30ms", "delay 20ms", 1);
    let (left, right) = (sender(&namespaces), receiver(&namespaces));
    let back = namespaces.at_right(|| StdUdpSocket::bind((RIGHT, PORT + 1)).unwrap());
    let from_back = namespaces.at_left(|| StdUdpSocket::bind((LEFT, PORT + 1)).unwrap());
    from_back.set_read_timeout(Some(PATIENCE)).unwrap();
    for number in 0..5 {
        let began = Instant::now();
        left.send(&u32::to_be_bytes(number)).unwrap();
        assert_eq!(receive(&right, 1), [number]);
        assert!(began.elapsed() >= Duration::from_millis(30), "{:?}", began.elapsed());
        back.send_to(b"echo", (LEFT, PORT + 1)).unwrap();
        assert_eq!(from_back.recv(&mut [0; 8]).unwrap(), 4);
        assert!(began.elapsed() >= Duration::from_millis(50), "{:?}", began.elapsed());
    }
    let report = bridge.stop().unwrap();
    for direction in &report.directions {
        assert_sums(direction);
        assert_eq!((direction.received, direction.sent), (5, 5), "{direction}");
        assert_eq!(direction.lateness.count, 5, "{direction}");
    }
    // The kernel does not pad a datagram of four bytes.
    assert_eq!(forward(&report).received_bytes, 5 * (HEADERS_BYTES + 4));
}

/// Sends 2,000 datagrams through a link with the settings `words`, which lose some; returns the
/// numbers of those that arrive.
fn survivors(namespaces: &BridgeNamespaces, words: &str, seed: u64) -> BTreeSet<u32> {
    const COUNT: u32 = 2_000;
    // The limit has room for all: a quick machine has more than the usual 1,000 on a link that
    // delays.
    let bridge = namespaces.link(&format!("limit {COUNT} {words}"), "", seed);
    let (left, right) = (sender(namespaces), receiver(namespaces));
    send(&bridge, &left, 0..COUNT, 100);
    wait_for(&bridge, |forward| {
        forward.received == u64::from(COUNT) && forward.waiting_packets == 0
    });
    let report = bridge.stop().unwrap();
    let forward = forward(&report);
    assert_sums(forward);
    let arrived = receive(&right, forward.sent as usize);
    assert_empty(&right);
    assert_eq!(arrived.len() as u64, u64::from(COUNT) - forward.lost);
    let arrived: BTreeSet<u32> = arrived.into_iter().collect();
    assert_eq!(arrived.len() as u64, forward.sent, "each once");
    // 200 with a deviation of 13.4.
    assert!((120..280).contains(&forward.lost), "{}", forward.lost);
    arrived
}

#[test]
fn what_is_lost_is_what_the_link_says_and_a_seed_loses_the_same() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let first = survivors(&namespaces, "delay 3ms loss 10%", 7);
    assert_eq!(survivors(&namespaces, "delay 3ms loss 10%", 7), first);
    // Delays have a random stream of their own.
    assert_eq!(survivors(&namespaces, "delay 2ms 1ms loss 10%", 7), first);
    assert_ne!(survivors(&namespaces, "delay 3ms loss 10%", 8), first);
    // The seed of the words takes precedence over that of the command.
    let own = survivors(&namespaces, "loss 10% seed 99", 7);
    assert_ne!(own, first);
    assert_eq!(survivors(&namespaces, "loss 10% seed 99", 8), own);
}

#[test]
fn copies_arrive_and_are_counted() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("duplicate 100%", "", 1);
    let (left, right) = (sender(&namespaces), receiver(&namespaces));
    send(&bridge, &left, 0..100, 60);
    let mut arrived = receive(&right, 200);
    arrived.sort_unstable();
    assert_eq!(arrived, (0..100).flat_map(|number| [number; 2]).collect::<Vec<u32>>());
    let report = bridge.stop().unwrap();
    assert_sums(forward(&report));
    assert_eq!((forward(&report).received, forward(&report).duplicated), (100, 100));
    assert_empty(&right);
}

#[test]
fn no_more_passes_than_the_rate_allows() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    // 1,000,000 bytes per second.
    for (words, burst_bytes) in [("tbf rate 8mbit burst 5000b limit 1mb", 5_000), ("rate 8mbit", 0)]
    {
        let (count, len) = (400, 1_000);
        let bridge = namespaces.link(words, "", 1);
        let (left, right) = (sender(&namespaces), receiver(&namespaces));
        let began = Instant::now();
        send(&bridge, &left, 0..count, len);
        assert_eq!(receive(&right, count as usize), (0..count).collect::<Vec<_>>(), "in order");
        let elapsed_us = began.elapsed().as_micros() as u64;
        let bytes = u64::from(count) * (HEADERS_BYTES + len as u64);
        assert!(bytes <= burst_bytes + elapsed_us, "{words}: {bytes} in {elapsed_us} us");
        let report = bridge.stop().unwrap();
        assert_sums(forward(&report));
        assert_eq!(forward(&report).sent_bytes, bytes);
    }
}

#[test]
fn what_exceeds_a_queue_is_dropped_and_counted() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("delay 500ms limit 10", "", 1);
    let (left, right) = (sender(&namespaces), receiver(&namespaces));
    // All datagrams are in the link before the first one leaves, or the machine is so slow that
    // some have left.
    send(&bridge, &left, 0..40, 50);
    wait_for(&bridge, |forward| forward.received == 40 && forward.waiting_packets == 0);
    let report = bridge.stop().unwrap();
    assert_sums(forward(&report));
    let arrived = receive(&right, forward(&report).sent as usize);
    assert_empty(&right);
    assert_eq!(arrived[..10], (0..10).collect::<Vec<u32>>());
    assert_eq!(arrived.len() as u64, 40 - forward(&report).over_limit);
}

#[test]
fn a_change_holds_for_the_next_packet_of_its_direction() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("loss 100%", "delay 1ms", 1);
    let (left, right) = (sender(&namespaces), receiver(&namespaces));
    send(&bridge, &left, 0..10, 50);
    wait_for(&bridge, |forward| forward.lost == 10);
    bridge.change(DirectionSelector::Forward, &parse_words("delay 1ms limit 7").unwrap());
    let report = bridge.report().unwrap();
    assert_eq!(forward(&report).settings, "limit 7 delay 1ms");
    assert_eq!(report.directions[1].settings, "limit 1000 delay 1ms", "the other is as it was");
    for number in 10..20 {
        send(&bridge, &left, number..number + 1, 50);
        assert_eq!(receive(&right, 1), [number]);
    }
    bridge.change(DirectionSelector::Both, &parse_words("loss 100%").unwrap());
    send(&bridge, &left, 20..30, 50);
    wait_for(&bridge, |forward| forward.lost == 20);
    let report = bridge.stop().unwrap();
    assert_eq!((forward(&report).received, forward(&report).sent), (30, 10));
    assert_eq!(report.directions[1].settings, "limit 1000 loss 100%");
    assert_empty(&right);
}
