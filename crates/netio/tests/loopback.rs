//! Tests of batches over loopback, with the standard library's sockets as the other end where
//! possible.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket as StdSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base::Random;
use netio::{Clock, PollFd, RecvBatch, SendBatch, SendSource, UdpOptions, UdpSocket, poll, thread};

const FAMILIES: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// Timeout that no test reaches on any machine.
const LONG_NS: u64 = 300_000_000_000;
const LOCALHOST: IpAddr = FAMILIES[0];

/// Returns the address with which a wildcard socket receives everything of `ip`'s family.
fn wildcard(ip: IpAddr) -> SocketAddr {
    let ip: IpAddr =
        if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    (ip, 0).into()
}

/// Keeps the calling thread, and those that it starts, on one processor: loopback keeps the order
/// of what that one sends.
fn stay_on_one_processor() {
    static CALL_COUNT: AtomicUsize = AtomicUsize::new(0);
    let allowed = thread::allowed_cpus().unwrap();
    let number = CALL_COUNT.fetch_add(1, Ordering::Relaxed);
    thread::pin_to_cpu(allowed[number % allowed.len()]).unwrap();
}

fn open(ip: IpAddr, change: impl FnOnce(&mut UdpOptions)) -> (UdpSocket, SocketAddr) {
    stay_on_one_processor();
    let mut options = UdpOptions { receive_buffer_bytes: Some(4 << 20), ..UdpOptions::at((ip, 0)) };
    change(&mut options);
    let socket = UdpSocket::open(&options).unwrap();
    let address = socket.local_address().unwrap();
    (socket, address)
}

fn std_socket(ip: IpAddr) -> (StdSocket, SocketAddr) {
    let socket = StdSocket::bind((ip, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_nanos(LONG_NS))).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Waits until a datagram has come, and receives: loopback delivers before the sender's call
/// returns, but later if the processor is still busy with earlier datagrams.
fn receive_next(socket: &UdpSocket, batch: &mut RecvBatch) -> usize {
    assert!(poll(&mut [PollFd::readable(socket)], Some(LONG_NS)).unwrap() > 0, "nothing comes");
    batch.receive(socket).unwrap()
}

/// Receives until `count` datagrams have come.
fn receive_all(socket: &UdpSocket, batch: &mut RecvBatch, count: usize) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    while got.len() < count {
        receive_next(socket, batch);
        got.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
    }
    got
}

fn push(batch: &mut SendBatch, octets: &[u8], to: SocketAddr) -> usize {
    batch.slot().unwrap()[..octets.len()].copy_from_slice(octets);
    batch.commit(octets.len(), to, None)
}

#[test]
fn a_datagram_arrives_with_its_source_destination_interface_and_time() {
    for (ip, other) in [(FAMILIES[0], "127.0.0.9"), (FAMILIES[1], "::1")] {
        let (socket, address) = open(ip, |options| {
            options.bind = wildcard(ip);
            options.packet_info = true;
            options.kernel_times = true;
        });
        let (sender, from) = std_socket(ip);
        let before = Clock::now().wall_us * 1_000;
        let to: IpAddr = other.parse().unwrap();
        sender.send_to(b"godwit", (to, address.port())).unwrap();
        let mut batch = RecvBatch::default();
        assert_eq!(receive_next(&socket, &mut batch), 1);
        let datagram = batch.get(0);
        assert_eq!(datagram.octets, b"godwit");
        assert_eq!(datagram.source, from);
        assert_eq!((datagram.destination, datagram.local), (Some(to), Some(to)));
        assert_eq!(datagram.interface, 1, "loopback is the first interface");
        let time = datagram.kernel_wall_ns.unwrap();
        assert!((before..=Clock::now().wall_us * 1_000 + 999).contains(&time));
        assert_eq!(batch.receive(&socket).unwrap(), 0);
        assert!(batch.is_empty());
    }
}

#[test]
fn an_ipv6_socket_leaves_ipv4_to_others() {
    // With IPV6_V6ONLY off the port would be taken. Another test may have one port by chance, but
    // not all of them.
    let is_left = |_| {
        let (_v6, address) = open(FAMILIES[1], |options| options.bind = wildcard(FAMILIES[1]));
        let bind = (Ipv4Addr::UNSPECIFIED, address.port());
        UdpSocket::open(&UdpOptions::at(bind)).is_ok()
    };
    assert!((0..100).any(is_left));
}

#[test]
fn slots_are_reused_and_lengths_never_leak_from_the_batch_before() {
    let (socket, address) = open(LOCALHOST, |_| {});
    let (sender, _) = std_socket(LOCALHOST);
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
    for octets in [[0_u8; 9]; 9] {
        sender.send_to(&octets, address).unwrap();
    }
    let mut count = 0;
    while count < 9 {
        let came = receive_next(&socket, &mut batch);
        assert_eq!(batch.is_full(), came == 8, "{came}");
        count += came;
    }
    assert_eq!((batch.receive(&socket).unwrap(), batch.is_full()), (0, false));
    assert_eq!((count, batch.truncated()), (9, 0));
    sender.send_to(&[1; 513], address).unwrap();
    assert_eq!((receive_next(&socket, &mut batch), batch.truncated()), (0, 1));
}

#[test]
fn one_flush_reaches_many_destinations_from_a_chosen_address() {
    for (ip, source) in [(FAMILIES[0], "127.0.0.77"), (FAMILIES[1], "::1")] {
        let (socket, _) = open(ip, |options| options.bind = wildcard(ip));
        let receivers: Vec<_> = (0..10).map(|_| std_socket(ip)).collect();
        let address: IpAddr = source.parse().unwrap();
        for segmentation in [false, true] {
            let mut batch = SendBatch::new(64, 64, segmentation);
            for (index, (_, to)) in receivers.iter().enumerate() {
                batch.slot().unwrap()[..4].copy_from_slice(&[index as u8; 4]);
                batch.commit(4, *to, Some(SendSource { address, interface: 0 }));
            }
            let sent = batch.flush(&socket);
            assert_eq!((sent.sent, sent.refused, sent.left), (10, 0, 0));
            for (index, (receiver, _)) in receivers.iter().enumerate() {
                let mut octets = [0; 16];
                let (len, from) = receiver.recv_from(&mut octets).unwrap();
                assert_eq!(octets[..len], [index as u8; 4]);
                assert_eq!(from.ip(), address);
            }
            assert_eq!(batch.counts().calls, 1);
        }
    }
}

#[test]
fn segmented_datagrams_arrive_as_if_sent_one_by_one() {
    let mut random = Random::from_seed(12);
    for (ip, coalesce) in FAMILIES.into_iter().flat_map(|ip| [(ip, false), (ip, true)]) {
        let (sender, _) = open(ip, |_| {});
        assert!(sender.supports_segmentation());
        let (receiver, to) = open(ip, |options| options.coalesce = coalesce);
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
    let (socket, _) = open(LOCALHOST, |_| {});
    let (receiver, to) = std_socket(LOCALHOST);
    for segmentation in [false, true] {
        let mut batch = SendBatch::new(8, 64, segmentation);
        push(&mut batch, b"one", to);
        // Port 0 is EINVAL, a broadcast without SO_BROADCAST EACCES.
        let bad = push(&mut batch, b"bad", (LOCALHOST, 0).into());
        let worse = push(&mut batch, b"bad", (Ipv4Addr::BROADCAST, 9).into());
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
    let (socket, _) = open(LOCALHOST, |_| {});
    let mut batch = SendBatch::new(8, 64, true);
    let nowhere = (LOCALHOST, 0).into();
    let (receiver, to) = std_socket(LOCALHOST);
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
    push(&mut batch, b"a", (LOCALHOST, 9).into());
    push(&mut batch, b"b", (LOCALHOST, 9).into());
    assert!(batch.is_full() && batch.slot().is_none());
    assert_eq!((batch.waiting(), batch.discard(), batch.counts().refused), (2, 2, 2));
    assert!(batch.is_empty() && batch.slot().is_some());
}

#[test]
fn the_plain_responder_sends_back_what_it_got() {
    for (ip, segmentation) in FAMILIES.into_iter().flat_map(|ip| [(ip, false), (ip, true)]) {
        let (socket, address) = open(ip, |options| options.coalesce = segmentation);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| netio::limit::answer(&socket, segmentation, &stop).unwrap());
            let (client, _) = std_socket(ip);
            for number in 0..100_u8 {
                client.send_to(&[number; 262], address).unwrap();
            }
            for number in 0..100_u8 {
                let mut octets = [0; 512];
                let (len, from) = client.recv_from(&mut octets).unwrap();
                assert_eq!(octets[..len], [number; 262]);
                assert_eq!(from, address);
            }
            stop.store(true, Ordering::Relaxed);
            let counts = run.join().unwrap();
            assert_eq!((counts.received, counts.sent, counts.refused), (100, 100, 0));
        });
    }
}

#[test]
fn the_ecn_field_is_set_and_read_for_each_datagram() {
    for ip in FAMILIES {
        let (socket, address) = open(ip, |options| {
            options.ecn = true;
            options.coalesce = true;
        });
        let (sender, _) = open(ip, |_| {});
        let mut sending = SendBatch::new(16, 100, sender.supports_segmentation());
        let fields = [0_u8, 2, 2, 2, 3, 1, 0, 2];
        for (number, &ecn) in fields.iter().enumerate() {
            sending.slot().unwrap()[..50].fill(number as u8);
            sending.commit_ecn(50, address, None, ecn);
        }
        assert_eq!(sending.flush(&sender).sent, fields.len());
        let (mut receiving, mut seen) = (RecvBatch::coalescing(), Vec::new());
        while seen.len() < fields.len() {
            receive_next(&socket, &mut receiving);
            seen.extend(receiving.iter().map(|datagram| (datagram.octets[0], datagram.ecn)));
        }
        let expected: Vec<_> = (0..).zip(fields).collect();
        assert_eq!(seen, expected, "{ip}");
    }
}
