//! Frame sockets over a veth pair in a namespace of the test's own.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use netio::frame::{PendingChecksum, Train};
use netio::{FrameReceiver, FrameSender, PollFd, interface, namespace, poll};

const NEAR: &str = "near0";
const FAR: &str = "far0";
/// The address of the near end.
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// A station behind the far end.
const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 5);
const LONG_NS: u64 = 10_000_000_000;

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
}

/// Runs `test` in a new namespace with a veth pair; false, said, when that is not allowed here.
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
            ip(&format!("neigh replace {THEIRS} lladdr 02:00:00:00:00:05 dev {NEAR}"));
            test();
            true
        });
        inside.join().unwrap()
    });
    if !is_allowed {
        assert!(std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none(), "no namespace can be made");
        println!("skipped: making a network namespace needs root and iproute2");
    }
}

fn receiver(name: &str) -> FrameReceiver {
    FrameReceiver::open(&interface::named(name).unwrap()).unwrap()
}

fn sender(name: &str) -> FrameSender {
    FrameSender::open(&interface::named(name).unwrap()).unwrap()
}

fn send(sender: &mut FrameSender, frame: &[u8]) {
    sender.slot().unwrap()[..frame.len()].copy_from_slice(frame);
    sender.commit(frame.len());
    assert_eq!(sender.flush().sent, 1);
}

/// The only frame to come.
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

#[test]
fn a_checksum_that_was_left_to_a_device_is_named() {
    on_a_link(|| {
        let mut far = receiver(FAR);
        let socket = UdpSocket::bind((OURS, 0)).unwrap();
        socket.send_to(b"hello", (THEIRS, 9)).unwrap();
        let (octets, checksum, train) = wait_for(&mut far);
        // Behind Ethernet and IPv4 header; the field of UDP.
        assert_eq!(checksum, Some(PendingChecksum { start: 34, offset: 6 }));
        assert_eq!((&octets[42..], train), (&b"hello"[..], None));
    });
}
