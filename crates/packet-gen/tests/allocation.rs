//! Tests that frames are made without allocating, and sent by AF_XDP without.

use std::process::Command;

use netio::{RingSize, XdpSender, interface, namespace};
use packet_gen::FrameStream;
use packet_gen::language::{self, PacketParserSettings};

#[test]
fn a_frame_allocates_nothing() {
    let text = "{ eth(sa=drnd()), ipv4(id=dinc(), sa=drnd()), udp(sp=drnd(2000, 65535)), drnd(9), \
                dinc(1,9), csumip(14,33) } { ipv6(sa=dinc()), tcp(), \"hello\" } { 1, 2 }";
    let program =
        language::compile(text.as_bytes(), &PacketParserSettings::default()).expect("it is right");
    for is_shuffled in [false, true] {
        let mut stream = FrameStream::new(&program, Some(0), program.random.clone(), is_shuffled);
        let mut octets = 0;
        let allocated = allocation_counter::measure(|| {
            for _ in 0..1_000 {
                octets += stream.frame().expect("a packet takes part").len();
            }
        });
        assert!(octets > 1_000);
        assert_eq!(allocated.count_total, 0);
    }
}

/// Enters a new namespace with a veth pair on this thread; prints a message and returns false where
/// that is not possible.
fn enter_a_link() -> bool {
    if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
        return testkit::skip("making a network namespace needs root and iproute2");
    }
    let script =
        "ip link add out0 type veth peer name in0; ip link set out0 up; ip link set in0 up";
    Command::new("sh").args(["-ec", script]).status().expect("sh starts").success()
}

#[test]
fn sending_by_af_xdp_allocates_nothing() {
    if !enter_a_link() {
        return;
    }
    let size = RingSize { bytes: 64 * 2_048, slot_bytes: 2_048 };
    let out = interface::named("out0").expect("it was made");
    let mut sender = match XdpSender::open(&out, 0, size) {
        Ok(sender) => sender,
        Err(error) => {
            // EAFNOSUPPORT
            assert_eq!(error.cause().raw_os_error(), Some(97), "{error}");
            testkit::skip_even_if_required(error);
            return;
        }
    };
    let mut sent = 0;
    let allocated = allocation_counter::measure(|| {
        while sent < 10_000 {
            while let Some(slot) = sender.slot() {
                slot[..60].fill(2);
                sender.commit(60);
            }
            sent += sender.flush().expect("the interface stays").sent;
        }
    });
    assert_eq!(allocated.count_total, 0);
}
