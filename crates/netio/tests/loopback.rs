//! Batches over loopback, judged by the standard library's sockets where possible.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket as StdSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Random;
use netio::{Clock, PollFd, RecvBatch, SendBatch, Source, UdpOptions, UdpSocket, poll};

fn loopback(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn open(change: impl FnOnce(&mut UdpOptions)) -> (UdpSocket, SocketAddrV4) {
    let mut options =
        UdpOptions { receive_buffer_bytes: Some(4 << 20), ..UdpOptions::at(loopback(0)) };
    change(&mut options);
    let socket = UdpSocket::open(&options).unwrap();
    let address = socket.local_address().unwrap();
    (socket, address)
}

fn std_socket() -> (StdSocket, SocketAddrV4) {
    let socket = StdSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let std::net::SocketAddr::V4(address) = socket.local_addr().unwrap() else { unreachable!() };
    (socket, address)
}

/// Receives until `count` datagrams have come; loopback delivers before the sender's call returns.
fn receive_all(socket: &UdpSocket, batch: &mut RecvBatch, count: usize) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    while got.len() < count {
        if batch.receive(socket).unwrap() == 0 {
            let ready = poll(&mut [PollFd::readable(socket)], Some(10_000_000_000)).unwrap();
            assert!(ready > 0, "{} of {count} datagrams", got.len());
        }
        got.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
    }
    got
}

fn push(batch: &mut SendBatch, octets: &[u8], to: SocketAddrV4) -> usize {
    batch.slot().unwrap()[..octets.len()].copy_from_slice(octets);
    batch.commit(octets.len(), to, None)
}

#[test]
fn a_datagram_arrives_with_its_source_destination_interface_and_time() {
    let (socket, address) = open(|options| {
        options.bind = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        options.packet_info = true;
        options.kernel_times = true;
    });
    let (sender, from) = std_socket();
    let before = Clock::now().wall_us * 1_000;
    let to = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 9), address.port());
    sender.send_to(b"godwit", to).unwrap();
    let mut batch = RecvBatch::default();
    assert_eq!(batch.receive(&socket).unwrap(), 1);
    let datagram = batch.get(0);
    assert_eq!(datagram.octets, b"godwit");
    assert_eq!(datagram.source, from);
    assert_eq!(datagram.destination, Some(*to.ip()));
    assert_eq!(datagram.local, Some(*to.ip()));
    assert_eq!(datagram.interface, 1, "loopback is the first interface");
    let time = datagram.kernel_wall_ns.unwrap();
    assert!((before..=Clock::now().wall_us * 1_000 + 999).contains(&time));
    assert_eq!(batch.receive(&socket).unwrap(), 0);
    assert!(batch.is_empty());
}

#[test]
fn slots_are_reused_and_lengths_never_leak_from_the_batch_before() {
    let (socket, address) = open(|_| {});
    let (sender, _) = std_socket();
    let mut random = Random::from_seed(11);
    let mut batch = RecvBatch::new(8, 512);
    for _ in 0..50 {
        let sent: Vec<Vec<u8>> = (0..=random.below(20))
            .map(|_| {
                let mut octets = vec![0; random.below(513) as usize];
                random.fill(&mut octets);
                octets
            })
            .collect();
        for octets in &sent {
            sender.send_to(octets, address).unwrap();
        }
        assert_eq!(receive_all(&socket, &mut batch, sent.len()), sent);
    }
    assert_eq!(batch.truncated(), 0);
    sender.send_to(&[1; 513], address).unwrap();
    assert_eq!((batch.receive(&socket).unwrap(), batch.truncated()), (0, 1));
}

#[test]
fn one_flush_reaches_many_destinations_from_a_chosen_address() {
    let (socket, _) = open(|options| options.bind = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
    let receivers: Vec<_> = (0..10).map(|_| std_socket()).collect();
    for segmentation in [false, true] {
        let mut batch = SendBatch::new(64, 64, segmentation);
        for (index, (_, to)) in receivers.iter().enumerate() {
            batch.slot().unwrap()[..4].copy_from_slice(&[index as u8; 4]);
            let source = Source { address: Ipv4Addr::new(127, 0, 0, 77), interface: 0 };
            batch.commit(4, *to, Some(source));
        }
        let sent = batch.flush(&socket);
        assert_eq!((sent.sent, sent.refused, sent.left), (10, 0, 0));
        for (index, (receiver, _)) in receivers.iter().enumerate() {
            let mut octets = [0; 16];
            let (len, from) = receiver.recv_from(&mut octets).unwrap();
            assert_eq!(octets[..len], [index as u8; 4]);
            assert_eq!(from.ip(), Ipv4Addr::new(127, 0, 0, 77));
        }
        assert_eq!(batch.counts().calls, 1);
    }
}

#[test]
fn segmented_datagrams_arrive_as_if_sent_one_by_one() {
    let (sender, _) = open(|_| {});
    assert!(sender.supports_segmentation());
    let mut random = Random::from_seed(12);
    for coalesce in [false, true] {
        let (receiver, to) = open(|options| options.coalesce = coalesce);
        let mut input = if coalesce { RecvBatch::coalescing() } else { RecvBatch::default() };
        let mut output = SendBatch::new(512, 2_048, true);
        for round in 0..40 {
            let mut sent = Vec::new();
            let mut size = 262;
            while output.slot().is_some() && sent.len() < 400 {
                if random.chance(1, 30) {
                    size = random.below(1_400) as usize;
                }
                let mut octets = vec![0; size];
                random.fill(&mut octets);
                push(&mut output, &octets, to);
                sent.push(octets);
            }
            assert_eq!(output.flush(&sender).sent, sent.len());
            assert_eq!(receive_all(&receiver, &mut input, sent.len()), sent, "round {round}");
        }
        assert!(output.counts().calls <= 80, "{:?}", output.counts());
        assert_eq!(output.counts().ungrouped, 0);
    }
}

#[test]
fn a_refused_datagram_is_named_and_its_neighbours_leave() {
    let (socket, _) = open(|_| {});
    let (receiver, to) = std_socket();
    for segmentation in [false, true] {
        let mut batch = SendBatch::new(8, 64, segmentation);
        push(&mut batch, b"one", to);
        // Port 0 is EINVAL, a broadcast without SO_BROADCAST EACCES.
        let bad = push(&mut batch, b"bad", SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        let worse = push(&mut batch, b"bad", SocketAddrV4::new(Ipv4Addr::BROADCAST, 9));
        push(&mut batch, b"two", to);
        let sent = batch.flush(&socket);
        assert_eq!((sent.sent, sent.refused, sent.left), (2, 2, 0));
        assert_eq!(batch.refused(), [bad, worse]);
        assert!(batch.last_refusal().is_some() && batch.is_empty());
        for expected in [b"one", b"two"] {
            let mut octets = [0; 8];
            let (len, _) = receiver.recv_from(&mut octets).unwrap();
            assert_eq!(&octets[..len], expected);
        }
    }
}

#[test]
fn a_group_that_cannot_be_segmented_is_taken_apart() {
    let (socket, _) = open(|_| {});
    let mut batch = SendBatch::new(8, 64, true);
    let nowhere = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let (receiver, to) = std_socket();
    for _ in 0..3 {
        push(&mut batch, b"bad", nowhere);
    }
    push(&mut batch, b"fine", to);
    push(&mut batch, b"good", to);
    let sent = batch.flush(&socket);
    assert_eq!((sent.sent, sent.refused, sent.left), (2, 3, 0));
    assert_eq!((batch.refused(), batch.counts().ungrouped), (&[0, 1, 2][..], 1));
    let mut octets = [0; 8];
    for expected in [b"fine", b"good"] {
        let (len, _) = receiver.recv_from(&mut octets).unwrap();
        assert_eq!(&octets[..len], expected);
    }
    assert!(batch.segmentation(), "only EIO says that the device never will");
}

#[test]
fn a_full_batch_gives_no_slot_and_a_discard_is_counted() {
    let mut batch = SendBatch::new(2, 16, false);
    push(&mut batch, b"a", loopback(9));
    push(&mut batch, b"b", loopback(9));
    assert!(batch.is_full() && batch.slot().is_none());
    assert_eq!((batch.waiting(), batch.discard(), batch.counts().refused), (2, 2, 2));
    assert!(batch.is_empty() && batch.slot().is_some());
}

#[test]
fn the_plain_responder_sends_back_what_it_got() {
    for segmentation in [false, true] {
        let (socket, address) = open(|options| options.coalesce = segmentation);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| netio::limit::answer(&socket, segmentation, &stop).unwrap());
            let (client, _) = std_socket();
            for number in 0..100_u8 {
                client.send_to(&[number; 262], address).unwrap();
            }
            for number in 0..100_u8 {
                let mut octets = [0; 512];
                let (len, from) = client.recv_from(&mut octets).unwrap();
                assert_eq!(octets[..len], [number; 262]);
                assert_eq!(from, address.into());
            }
            stop.store(true, Ordering::Relaxed);
            let counts = run.join().unwrap();
            assert_eq!((counts.received, counts.sent, counts.refused), (100, 100, 0));
        });
    }
}
