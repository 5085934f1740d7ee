//! Tests of a link between two TUN devices: one that the link creates, and one that existed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use netem_link::{Bridge, LinkInterface, LinkRequest, parse_words};
use netio::{PollFd, RecvBatch, SendBatch, SendSource, UdpOptions, UdpSocket, poll};

use crate::bridge::namespaces::{BridgeNamespaces, PATIENCE_NS, assert_sums, forward};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 2);
/// Length of the headers of IPv4 and UDP, in bytes.
const HEADERS_LEN: u64 = 28;

/// Returns true if TUN devices can be created here; prints a note if not.
fn is_possible(namespaces: &BridgeNamespaces) -> bool {
    let tried = namespaces.at_left(|| netio::tun::open("probe0").map(drop));
    if let Err(error) = &tried {
        testkit::skip(error);
    }
    tried.is_ok()
}

/// Starts a link between `t0` of the left namespace and `t1` of the right one.
fn link(namespaces: &BridgeNamespaces, words: &str) -> Bridge {
    namespaces.ip_at_right("tuntap add mode tun name t1");
    let between = [namespaces.left_interface("t0/tun"), namespaces.right_interface("t1/tun")];
    let request = LinkRequest {
        interfaces: between.map(|interface| interface.parse::<LinkInterface>().unwrap()),
        settings: [words, ""].map(|words| parse_words(words).unwrap()),
        seed: 1,
        socket: None,
        interval: None,
        duration: None,
    };
    let bridge = Bridge::start(&request).unwrap();
    namespaces.ip_at_left(&format!("addr add {NEAR}/24 dev t0"));
    namespaces.ip_at_left("link set t0 up");
    namespaces.ip_at_right(&format!("addr add {FAR}/24 dev t1"));
    namespaces.ip_at_right("link set t1 up");
    bridge
}

/// UDP socket with its own address.
struct BoundSocket {
    socket: UdpSocket,
    address: SocketAddr,
}

fn open(address: Ipv4Addr) -> BoundSocket {
    let options = UdpOptions { ecn: true, ..UdpOptions::at((IpAddr::V4(address), 0)) };
    let socket = UdpSocket::open(&options).unwrap();
    let address = socket.local_address().unwrap();
    BoundSocket { socket, address }
}

/// Sends datagrams of these lengths, and returns the lengths and ECN fields that arrived.
fn send(from: &BoundSocket, to: &BoundSocket, lens: &[usize], ecn: u8) -> Vec<(usize, u8)> {
    // No trains: the test covers packets that a program sends one by one.
    let mut batch = SendBatch::new(lens.len(), 60_000, false);
    for (number, &len) in lens.iter().enumerate() {
        batch.slot().unwrap()[..len].fill(number as u8);
        let source = SendSource { address: from.address.ip(), interface: 0 };
        batch.commit_ecn(len, to.address, Some(source), ecn);
    }
    assert_eq!(batch.flush(&from.socket).sent, lens.len());
    let (mut receiving, mut arrived) = (RecvBatch::new(64, 60_000), Vec::new());
    while arrived.len() < lens.len() {
        assert_eq!(poll(&mut [PollFd::readable(&to.socket)], Some(PATIENCE_NS)).unwrap(), 1);
        receiving.receive(&to.socket).unwrap();
        for datagram in receiving.iter() {
            let number = arrived.len() as u8;
            assert!(datagram.octets.iter().all(|&octet| octet == number));
            assert_eq!(datagram.source, from.address);
            arrived.push((datagram.octets.len(), datagram.ecn));
        }
    }
    arrived
}

#[test]
fn packets_pass_between_two_tun_devices_as_they_are() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    if !is_possible(&namespaces) {
        return;
    }
    let bridge = link(&namespaces, "delay 1ms");
    let near = namespaces.at_left(|| open(NEAR));
    let far = namespaces.at_right(|| open(FAR));
    let lens = [0, 1, 100, 1_472];
    let as_sent: Vec<_> = lens.iter().map(|&len| (len, 0)).collect();
    assert_eq!(send(&near, &far, &lens, 0), as_sent);
    assert_eq!(send(&far, &near, &lens, 0), as_sent);
    let report = bridge.stop().unwrap();
    for direction in &report.directions {
        assert_sums(direction);
        assert!(direction.received >= lens.len() as u64, "{direction}");
    }
    let octets: u64 = lens.iter().map(|&len| len as u64 + HEADERS_LEN).sum();
    assert!(forward(&report).received_bytes >= octets);
}

#[test]
fn a_mark_is_written_into_a_packet_without_a_frame() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    if !is_possible(&namespaces) {
        return;
    }
    let bridge = link(&namespaces, "loss 100% ecn");
    let near = namespaces.at_left(|| open(NEAR));
    let far = namespaces.at_right(|| open(FAR));
    assert_eq!(send(&near, &far, &[500, 500], 2), [(500, 3), (500, 3)]);
    assert_eq!(send(&far, &near, &[500], 2), [(500, 2)]);
    let report = bridge.stop().unwrap();
    assert_eq!((forward(&report).marked, forward(&report).sent), (2, 2));
}

#[test]
fn a_tun_device_and_an_ethernet_interface_do_not_go_together() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let between = [namespaces.left_interface("l0"), namespaces.right_interface("t1/tun")];
    let request = LinkRequest {
        interfaces: between.map(|interface| interface.parse::<LinkInterface>().unwrap()),
        settings: ["", ""].map(|words| parse_words(words).unwrap()),
        seed: 1,
        socket: None,
        interval: None,
        duration: None,
    };
    let error = Bridge::start(&request).err().unwrap();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("no Ethernet header"), "{error}");
}
