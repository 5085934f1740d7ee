//! Tests of frame sockets over a veth pair in a network namespace of their own.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::process::Command;
use std::time::Duration;

use netio::frame::{PendingChecksum, Train, TrainKind, transmit_queues};
use netio::{
    Clock, FrameReceiver, FrameRingReceiver, FrameSender, PollFd, RingSize, SendBatch, UdpOptions,
    XdpSender, interface, namespace, poll,
};
use packet_wire::ethernet::MacAddress;
use packet_wire::frame::{self, Endpoints};

use super::packet::tx_dropped;

const NEAR: &str = "near0";
const FAR: &str = "far0";
/// Address of the near end of the veth pair.
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Address of a station behind the far end of the veth pair.
const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 5);
const LONG_NS: u64 = 300_000_000_000;

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
}

/// Waits until the kernel has noticed that the interfaces are up; until then it drops frames sent
/// there.
fn wait_until_up(names: &[&str]) {
    while names.iter().any(|name| !interface::named(name).unwrap().is_up) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `test` in a new namespace with a veth pair. Prints a note where that is not permitted.
fn on_a_link(test: impl FnOnce() + Send) {
    let is_allowed = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
                return false;
            }
            let script = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6";
            Command::new("sh").args(["-c", script]).output().unwrap();
            ip(&format!("link add {NEAR} type veth peer name {FAR}"));
            ip(&format!("addr add {OURS}/24 dev {NEAR}"));
            for name in [NEAR, FAR] {
                ip(&format!("link set {name} up"));
            }
            wait_until_up(&[NEAR, FAR]);
            ip(&format!("neigh replace {THEIRS} lladdr 02:00:00:00:00:05 dev {NEAR}"));
            test();
            true
        });
        inside.join().unwrap()
    });
    if !is_allowed {
        testkit::skip("making a network namespace needs root and iproute2");
    }
}

fn receiver(name: &str) -> FrameReceiver {
    FrameReceiver::open(&interface::named(name).unwrap()).unwrap()
}

fn sender(name: &str) -> FrameSender {
    FrameSender::open(&interface::named(name).unwrap()).unwrap()
}

/// Sends `frame`, and again if the kernel dropped it because the processor's queue of packets was
/// full: other namespaces fill it, too.
fn send(sender: &mut FrameSender, frame: &[u8]) {
    let dropped = || tx_dropped(NEAR) + tx_dropped(FAR);
    loop {
        let before = dropped();
        sender.slot().unwrap()[..frame.len()].copy_from_slice(frame);
        sender.commit(frame.len());
        assert_eq!(sender.flush().sent, 1);
        if dropped() == before {
            return;
        }
    }
}

/// Waits for the only frame to come, and returns it with its unfinished checksum and its train, if
/// any.
fn wait_for(receiver: &mut FrameReceiver) -> (Vec<u8>, Option<PendingChecksum>, Option<Train>) {
    assert_eq!(poll(&mut [PollFd::readable(receiver)], Some(LONG_NS)).unwrap(), 1);
    assert_eq!(receiver.receive().unwrap(), 1);
    let frame = receiver.frame(0).unwrap();
    (frame.octets.to_vec(), frame.checksum, frame.train)
}

#[test]
fn frames_keep_their_tags_and_what_is_sent_does_not_come_back() {
    on_a_link(|| {
        let (mut near, mut far) = (receiver(NEAR), receiver(FAR));
        let mut out = sender(NEAR);
        assert_eq!(out.mtu_bytes(), 1_500);
        for behind in
            [&[0x88, 0xb5][..], &[0x81, 0, 0xe0, 7, 0x88, 0xb5], &[0x88, 0xa8, 0, 9, 8, 0]]
        {
            let mut frame = [&[2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 1][..], behind].concat();
            frame.resize(100, 0xa5);
            send(&mut out, &frame);
            let (octets, checksum, train) = wait_for(&mut far);
            assert_eq!((octets, checksum, train), (frame, None, None));
        }
        assert_eq!(near.receive().unwrap(), 0);
        assert_eq!((far.take_drops().unwrap(), far.truncated(), far.unreadable()), (0, 0, 0));
    });
}

/// Returns a frame with a UDP datagram over IPv4 for `port`.
fn datagram(port: u16) -> Vec<u8> {
    let mut octets = vec![0; frame::HEADROOM + 5];
    let endpoints = Endpoints {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 9]),
        source: SocketAddrV4::new(OURS, 67),
        destination: SocketAddrV4::new(THEIRS, port),
    };
    frame::seal(&mut octets, 5, &endpoints);
    octets
}

/// Returns all frames that come until the frame `last` does.
fn until(receiver: &mut FrameReceiver, last: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    while all.last().is_none_or(|octets| octets != last) {
        assert_eq!(poll(&mut [PollFd::readable(receiver)], Some(LONG_NS)).unwrap(), 1);
        let count = receiver.receive().unwrap();
        all.extend((0..count).map(|index| receiver.frame(index).unwrap().octets.to_vec()));
    }
    all
}

#[test]
fn a_receiver_at_a_port_gets_what_is_for_it_and_arp_when_it_wants_that() {
    on_a_link(|| {
        let far = interface::named(FAR).unwrap();
        let mut at_port = FrameReceiver::open_at_port(&far, 68, false).unwrap();
        let mut with_arp = FrameReceiver::open_at_port(&far, 68, true).unwrap();
        let mut out = sender(NEAR);
        let wanted = datagram(68);
        let mut fragment = wanted.clone();
        fragment[20] = 0x20;
        let mut tcp = wanted.clone();
        tcp[23] = 6;
        let tagged = [&wanted[..12], &[0x81, 0, 0, 7], &wanted[12..]].concat();
        let mut ip6 = wanted.clone();
        ip6[12..14].copy_from_slice(&[0x86, 0xdd]);
        let mut arp = [&wanted[..12], &[8, 6]].concat();
        arp.resize(60, 0);
        for frame in [&datagram(67), &fragment, &tcp, &tagged, &ip6, &arp, &wanted] {
            send(&mut out, frame);
        }
        assert_eq!(until(&mut at_port, &wanted), std::slice::from_ref(&wanted));
        assert_eq!(until(&mut with_arp, &wanted), [arp, wanted]);
    });
}

#[test]
fn of_a_batch_the_frames_that_no_link_takes_are_named() {
    on_a_link(|| {
        let mut far = receiver(FAR);
        let mut out = sender(NEAR);
        for (number, len) in [(0, 100), (1, 1_600), (2, 100), (3, 1_600), (4, 100)] {
            let slot = out.slot().unwrap();
            slot[..14].copy_from_slice(&[2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
            slot[14..len].fill(number);
            out.commit(len);
        }
        let sent = out.flush();
        assert_eq!((sent.sent, sent.refused, sent.left), (3, 2, 0));
        assert_eq!((out.refused(), out.is_empty()), (&[1, 3][..], true));
        let mut last = vec![2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
        last.resize(100, 4);
        assert_eq!(until(&mut far, &last).len(), 3);
        last[99] = 5;
        send(&mut out, &last);
        assert_eq!(out.refused(), [0_usize; 0]);
    });
}

#[test]
fn a_checksum_that_was_left_to_a_device_is_named() {
    on_a_link(|| {
        let mut far = receiver(FAR);
        let socket = UdpSocket::bind((OURS, 0)).unwrap();
        socket.send_to(b"hello", (THEIRS, 9)).unwrap();
        let (octets, checksum, train) = wait_for(&mut far);
        // After Ethernet and IPv4 header; the field of UDP.
        assert_eq!(checksum, Some(PendingChecksum { start: 34, offset: 6 }));
        assert_eq!((&octets[42..], train), (&b"hello"[..], None));
    });
}

#[test]
fn a_train_is_sent_as_one_was_received_and_single_frames_beside_it() {
    on_a_link(|| {
        let (mut near, mut far) = (receiver(NEAR), receiver(FAR));
        let socket = netio::UdpSocket::open(&UdpOptions::at((OURS, 0))).unwrap();
        let mut batch = SendBatch::new(4, 100, true);
        for octet in 0..3 {
            batch.slot().unwrap()[..100].fill(octet);
            batch.commit(100, (THEIRS, 9), None);
        }
        assert_eq!(batch.flush(&socket).sent, 3);
        let (octets, checksum, train) = wait_for(&mut far);
        assert_eq!((octets.len(), checksum), (342, Some(PendingChecksum { start: 34, offset: 6 })));
        assert_eq!(train, Some(Train { kind: TrainKind::Udp, payload_bytes: 100 }));
        let mut out = FrameSender::open_for_trains(&interface::named(FAR).unwrap()).unwrap();
        out.slot().unwrap()[..342].copy_from_slice(&octets);
        out.commit_train(342, 34, 100);
        assert_eq!(out.free(), 63);
        assert_eq!(out.flush().sent, 1);
        assert_eq!(wait_for(&mut near), (octets, checksum, train));
        let single = numbered(1, 80);
        send(&mut out, &single);
        assert_eq!(wait_for(&mut near), (single, None, None));
    });
}

/// Opens AF_XDP on queue 0; prints a note and returns `None` on a kernel without it.
fn xdp_sender(name: &str, slots: usize) -> Option<XdpSender> {
    let size = RingSize { bytes: slots * 2_048, slot_bytes: 2_048 };
    // On a busy machine the kernel's worker may free a queue later than the sender waits for it.
    let until_ns = Clock::mono_ns() + LONG_NS;
    loop {
        match XdpSender::open(&interface::named(name).unwrap(), 0, size) {
            Err(error) if error.cause().raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                testkit::skip_even_if_required("the kernel has no AF_XDP");
                return None;
            }
            Err(error)
                if error.cause().raw_os_error() == Some(libc::EBUSY)
                    && Clock::mono_ns() < until_ns => {}
            opened => return Some(opened.unwrap()),
        }
    }
}

/// Returns a frame of `len` bytes that contains `number`, so that no other frame is equal.
fn numbered(number: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    frame.extend(number.to_be_bytes());
    frame.resize(len, number as u8);
    frame
}

fn queue(sender: &mut XdpSender, frame: &[u8]) {
    sender.slot().unwrap()[..frame.len()].copy_from_slice(frame);
    sender.commit(frame.len());
}

/// Flushes the sender until it holds no frame; returns the number of frames that left.
fn flush_all(sender: &mut XdpSender) -> usize {
    let mut sent = 0;
    loop {
        let flushed = sender.flush().unwrap();
        sent += flushed.sent;
        if flushed.left == 0 {
            return sent;
        }
    }
}

/// Returns the next `count` frames to come.
fn take(receiver: &mut FrameReceiver, count: usize) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while frames.len() < count {
        assert_eq!(poll(&mut [PollFd::readable(receiver)], Some(LONG_NS)).unwrap(), 1);
        let received = receiver.receive().unwrap();
        frames.extend((0..received).map(|index| receiver.frame(index).unwrap().octets.to_vec()));
    }
    frames
}

#[test]
fn frames_by_af_xdp_arrive_as_they_were_written() {
    on_a_link(|| {
        let mut far = receiver(FAR);
        let Some(mut out) = xdp_sender(NEAR, 100) else { return };
        assert_eq!((out.slots(), out.mtu_bytes()), (64, 1_500));
        // The rings wrap around several times, and each round sends more frames than a call does by
        // default.
        for round in 0..10 {
            let frames: Vec<_> = (0..64)
                .map(|number| numbered(64 * round + number, 60 + 23 * number as usize))
                .collect();
            for frame in &frames {
                queue(&mut out, frame);
            }
            assert!(out.slot().is_none(), "all slots wait");
            assert_eq!(flush_all(&mut out), 64);
            assert_eq!(take(&mut far, 64), frames);
        }
        assert_eq!((out.invalid().unwrap(), out.drops()), (0, 0));
    });
}

#[test]
fn a_frame_that_was_dropped_among_others_is_sent_again() {
    on_a_link(|| {
        let Some(mut out) = xdp_sender(NEAR, 8) else { return };
        // The far end drops frames longer than its MTU, as it does with those that find its queue
        // full.
        ip(&format!("link set {FAR} mtu 1000"));
        let mut far = receiver(FAR);
        let frames: Vec<_> =
            [100, 101, 1_200, 103, 1_300].iter().map(|&len| numbered(len as u32, len)).collect();
        for frame in &frames {
            queue(&mut out, frame);
        }
        let mut sent = 0;
        for _ in 0..10 {
            sent += out.flush().unwrap().sent;
        }
        assert_eq!(sent, 3);
        assert!(out.drops() >= 9, "both are tried again and again");
        assert_eq!(take(&mut far, 3), [&frames[0], &frames[1], &frames[3]].map(Vec::clone));
        ip(&format!("link set {FAR} mtu 1500"));
        assert_eq!(flush_all(&mut out), 2);
        let mut rest = take(&mut far, 2);
        rest.sort_by_key(Vec::len);
        assert_eq!(rest, [&frames[2], &frames[4]].map(Vec::clone));
        assert_eq!((far.receive().unwrap(), out.invalid().unwrap()), (0, 0));
        // Without a far end every single frame is dropped.
        ip(&format!("link set {FAR} down"));
        queue(&mut out, &frames[0]);
        let drops = out.drops();
        let flushed: Vec<_> = (0..3).map(|_| out.flush().unwrap()).collect();
        assert!(flushed.iter().all(|flushed| (flushed.sent, flushed.left) == (0, 1)));
        assert_eq!(out.drops() - drops, 3);
    });
}

#[test]
fn af_xdp_takes_a_queue_that_there_is_and_that_nobody_has() {
    on_a_link(|| {
        let near = interface::named(NEAR).unwrap();
        assert_eq!(transmit_queues(&near).unwrap(), 1);
        let Some(_first) = xdp_sender(NEAR, 8) else { return };
        let refusal = |name: &str, queue| {
            let size = RingSize { bytes: 1 << 14, slot_bytes: 4_096 };
            let opened = XdpSender::open(&interface::named(name).unwrap(), queue, size);
            opened.err().and_then(|error| error.cause().raw_os_error())
        };
        assert_eq!(refusal(NEAR, 0), Some(libc::EBUSY));
        assert_eq!(refusal(NEAR, 1), Some(libc::EINVAL));
        let queues = "numtxqueues 2 numrxqueues 2";
        ip(&format!("link add more0 {queues} type veth peer name more1 {queues}"));
        let more = interface::named("more0").unwrap();
        assert_eq!(transmit_queues(&more).unwrap(), 2);
        assert_eq!(refusal("more0", 1), None);
    });
}

#[test]
fn a_queue_that_was_left_can_be_had_again() {
    on_a_link(|| {
        // The kernel frees the queue some time after the socket was closed.
        for number in 0..10 {
            let Some(mut out) = xdp_sender(NEAR, 8) else { return };
            let frame = numbered(number, 60);
            out.slot().unwrap()[..60].copy_from_slice(&frame);
            out.commit(60);
            out.flush().unwrap();
        }
    });
}

/// Opens a ring of `slots` for datagrams from port 9.
fn ring(name: &str, slots: usize) -> FrameRingReceiver {
    let size = RingSize { bytes: slots * 2_048, slot_bytes: 2_048 };
    FrameRingReceiver::open(&interface::named(name).unwrap(), 9, size).unwrap()
}

/// Waits until `ring` has `wanted` frames.
fn wait_for_frames(ring: &FrameRingReceiver, wanted: usize) {
    while ring.waiting(wanted) < wanted {
        assert_eq!(poll(&mut [PollFd::readable(ring)], Some(LONG_NS)).unwrap(), 1);
    }
}

#[test]
fn a_ring_has_whole_datagrams_of_one_port_and_counts_what_finds_no_slot() {
    on_a_link(|| {
        let mut ring = ring(FAR, 4);
        let from = |port: u16| UdpSocket::bind((OURS, port)).unwrap();
        let (ours, other) = (from(9), from(10));
        // More frames than slots, round after round.
        for round in 0..10_u8 {
            other.send_to(b"of another port", (THEIRS, 7)).unwrap();
            for number in 0..3 {
                ours.send_to(&[round, number], (THEIRS, 7)).unwrap();
            }
            wait_for_frames(&ring, 3);
            let mut payloads = Vec::new();
            let count = ring.receive(8, |frame| payloads.push(frame.octets[42..44].to_vec()));
            let expected: Vec<_> = (0..3).map(|number| vec![round, number]).collect();
            assert_eq!((count, payloads), (3, expected));
        }
        // Fragments, and a train that is longer than a slot.
        ours.send_to(&[7; 3_000], (THEIRS, 7)).unwrap();
        let options = UdpOptions::at(SocketAddr::from((OURS, 9)));
        drop(ours);
        // A program that another test starts has a copy of the socket until it runs.
        let grouped = loop {
            match netio::UdpSocket::open(&options) {
                Err(error) if error.cause().kind() == ErrorKind::AddrInUse => {
                    std::thread::yield_now();
                }
                opened => break opened.unwrap(),
            }
        };
        let mut batch = SendBatch::new(64, 64, true);
        for _ in 0..60 {
            batch.slot().unwrap()[..50].fill(8);
            batch.commit(50, SocketAddr::from((THEIRS, 7)), None);
        }
        assert_eq!(batch.flush(&grouped).sent, 60);
        wait_for_frames(&ring, 1);
        assert_eq!(ring.receive(8, |_| panic!("a frame longer than a slot")), 1);
        assert_eq!((ring.truncated(), ring.take_drops().unwrap()), (1, 0));
        for _ in 0..7 {
            batch.slot().unwrap()[..50].fill(9);
            batch.commit(50, SocketAddr::from((THEIRS, 7)), None);
            batch.flush(&grouped);
        }
        // Before a slot is free again the other three have found none.
        let (mut drops, until_ns) = (0, Clock::mono_ns() + LONG_NS);
        while drops < 3 && Clock::mono_ns() < until_ns {
            drops += ring.take_drops().unwrap();
        }
        wait_for_frames(&ring, 4);
        assert_eq!(ring.receive(8, |frame| assert_eq!(frame.octets[42], 9)), 4);
        assert_eq!((drops + ring.take_drops().unwrap(), ring.unreadable()), (3, 0));
    });
}
