//! Tests of IPv6 link-local addresses and groups, in a network namespace of their own with one veth
//! pair, because loopback has neither.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netio::{PollFd, RecvBatch, SendBatch, SendSource, UdpOptions, UdpSocket, interface, poll};

use super::packet::tx_dropped;

const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// Timeout that no test reaches on any machine.
const LONG_NS: u64 = 300_000_000_000;
const ONE: &str = "fe80::a:1";
const TWO: &str = "fe80::a:2";

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split_whitespace()).status().unwrap();
    assert!(status.success(), "ip {words}");
}

/// Moves this thread into a namespace with the joined interfaces `one` and `two`, which lasts as
/// long as the test.
fn enter_namespace() -> bool {
    let tools = Command::new("ip").arg("-V").output().is_ok_and(|output| output.status.success());
    if !tools || netio::namespace::enter_new().is_err() {
        return testkit::skip("needs iproute2 and the right to make a network namespace");
    }
    ip("link set lo up");
    ip("link add one type veth peer name two");
    for (name, address) in [("one", ONE), ("two", TWO)] {
        ip(&format!("link set {name} addrgenmode none"));
        ip(&format!("link set {name} up"));
        ip(&format!("addr add {address}/64 dev {name} nodad"));
    }
    // Until the kernel has noticed that an interface is up, it drops frames sent there.
    while ["one", "two"].iter().any(|name| !interface::named(name).unwrap().is_up) {
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

fn open(address: Ipv6Addr, scope: u32, port: u16) -> (UdpSocket, SocketAddrV6) {
    let bind = SocketAddrV6::new(address, port, 0, scope);
    let socket =
        UdpSocket::open(&UdpOptions { packet_info: true, ..UdpOptions::at(bind) }).unwrap();
    let SocketAddr::V6(bound) = socket.local_address().unwrap() else { unreachable!() };
    (socket, bound)
}

/// Sends a datagram, and again if the kernel dropped it because the processor's queue of packets
/// was full: other namespaces fill it, too.
fn send(from: &UdpSocket, octets: &[u8], to: SocketAddrV6, source: Option<SendSource>) {
    let dropped = || tx_dropped("one") + tx_dropped("two");
    let mut batch = SendBatch::new(1, 64, false);
    loop {
        let before = dropped();
        batch.slot().unwrap()[..octets.len()].copy_from_slice(octets);
        batch.commit(octets.len(), to, source);
        assert_eq!(batch.flush(from).sent, 1, "{:?}", batch.last_refusal());
        if dropped() == before {
            return;
        }
    }
}

fn waits(socket: &UdpSocket, timeout_ns: u64) -> bool {
    poll(&mut [PollFd::readable(socket)], Some(timeout_ns)).unwrap() > 0
}

#[test]
fn a_group_is_heard_where_it_was_joined_and_answered_from_a_link_local_address() {
    if !enter_namespace() {
        return;
    }
    let (one, two) = (interface::named("one").unwrap(), interface::named("two").unwrap());
    assert_eq!(one.link_local(), Some(ONE.parse().unwrap()));
    assert!(one.is_up && one.is_multicast && !one.is_loopback && one.mac.is_some());

    let (server, at) = open(Ipv6Addr::UNSPECIFIED, 0, 0);
    server.join_group(GROUP, two.index).unwrap();
    // Another member on the same interface must not make this socket receive the group's datagrams
    // too.
    let (deaf, _) = open(Ipv6Addr::UNSPECIFIED, 0, 0);
    let (client, client_at) = open(one.link_local().unwrap(), one.index, 0);
    client.set_multicast_route(one.index, 1).unwrap();
    for port in [at.port(), deaf.local_address().unwrap().port()] {
        send(&client, b"solicit", SocketAddrV6::new(GROUP, port, 0, one.index), None);
    }
    assert!(waits(&server, LONG_NS));
    let mut batch = RecvBatch::default();
    assert_eq!(batch.receive(&server).unwrap(), 1);
    let datagram = batch.get(0);
    let source = SocketAddrV6::new(*client_at.ip(), client_at.port(), 0, two.index);
    assert_eq!((datagram.octets, datagram.source), (&b"solicit"[..], source.into()));
    assert_eq!((datagram.destination, datagram.local), (Some(GROUP.into()), None));
    assert_eq!(datagram.interface, two.index);
    assert!(!waits(&deaf, 0), "a socket that joined nothing hears no group");

    let from: IpAddr = TWO.parse().unwrap();
    send(&server, b"advertise", source, Some(SendSource { address: from, interface: two.index }));
    assert!(waits(&client, LONG_NS));
    assert_eq!(batch.receive(&client).unwrap(), 1);
    let datagram = batch.get(0);
    let two_at_one = SocketAddrV6::new(TWO.parse().unwrap(), at.port(), 0, one.index);
    assert_eq!(datagram.source, two_at_one.into());
    assert_eq!(datagram.local, Some(ONE.parse().unwrap()));

    server.leave_group(GROUP, two.index).unwrap();
    assert!(server.leave_group(GROUP, two.index).is_err());
    // The datagram that was sent first would arrive first.
    send(&client, b"late", SocketAddrV6::new(GROUP, at.port(), 0, one.index), None);
    send(&client, b"unicast", two_at_one, None);
    assert!(waits(&server, LONG_NS));
    assert_eq!(batch.receive(&server).unwrap(), 1);
    assert_eq!(batch.get(0).octets, b"unicast");
}

#[test]
fn the_plain_responder_answers_a_group_from_a_link_local_address() {
    if !enter_namespace() {
        return;
    }
    let (one, two) = (interface::named("one").unwrap(), interface::named("two").unwrap());
    let (client, client_at) = open(ONE.parse().unwrap(), one.index, 0);
    client.set_multicast_route(one.index, 1).unwrap();
    let stop = AtomicBool::new(false);
    let listen = SocketAddrV6::new(GROUP, 547, 0, two.index);
    std::thread::scope(|scope| {
        let responder = scope.spawn(|| netio::limit::run(listen.into(), &stop).unwrap());
        // The test cannot see when the responder has joined; the responder answers datagrams from
        // then on.
        let to = SocketAddrV6::new(GROUP, 547, 0, one.index);
        for _ in 0..LONG_NS / 20_000_000 {
            send(&client, b"solicit", to, None);
            if waits(&client, 20_000_000) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(responder.join().unwrap().sent > 0);
    });
    let mut batch = RecvBatch::default();
    assert!(batch.receive(&client).unwrap() > 0);
    let datagram = batch.get(0);
    let source = SocketAddrV6::new(TWO.parse().unwrap(), 547, 0, client_at.scope_id());
    assert_eq!((datagram.octets, datagram.source), (&b"solicit"[..], source.into()));
}
