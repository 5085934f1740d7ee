//! Test that the steady path allocates nothing: a direction between two pairs of interfaces, turn
//! by turn.

use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use netio::{FrameReceiver, FrameSender, interface, namespace};

use super::*;
use crate::ends::LinkOutput;
use crate::parse_words;

/// Number of rounds in which frames pass the link; at least one must allocate nothing.
const ROUNDS: usize = 10;

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
}

/// Runs `test` in a new network namespace with the veth pairs `in0`, `in1` and `out0`, `out1`;
/// returns false if that is not permitted.
fn between_two_pairs(test: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
                return false;
            }
            let script = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6";
            Command::new("sh").args(["-c", script]).output().unwrap();
            for pair in ["in", "out"] {
                ip(&format!("link add {pair}0 type veth peer name {pair}1"));
                ip(&format!("link set {pair}0 up"));
                ip(&format!("link set {pair}1 up"));
            }
            // Until the kernel has noticed that an interface is up, it drops frames sent there.
            let ends = Instant::now() + Duration::from_secs(300);
            while ["in0", "in1", "out0", "out1"].map(|name| interface::named(name).unwrap().is_up)
                != [true; 4]
            {
                assert!(Instant::now() < ends, "the interfaces never come up");
                std::thread::sleep(Duration::from_millis(1));
            }
            test();
            true
        });
        inside.join().unwrap()
    })
}

/// Sends `count` frames and runs the direction's loop until the link has handled them.
fn pass(direction: &mut LinkDirection, source: &mut FrameSender, count: u64) {
    let expected = direction.link.counters().received + count;
    for _ in 0..count {
        let frame = &mut source.slot().unwrap()[..1_000];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
        source.commit(1_000);
    }
    assert_eq!(source.flush().sent as u64, count);
    let mut woken = WakeReasons { by_input: true, by_order: false };
    loop {
        assert!(direction.turn(woken).unwrap());
        let is_done = direction.link.counters().received >= expected;
        if is_done && direction.link.backlog().packets == 0 {
            return;
        }
        woken = direction.wait().unwrap();
    }
}

#[test]
fn a_link_that_has_seen_its_busiest_time_allocates_nothing() {
    let is_allowed = between_two_pairs(|| {
        let open = |name: &str| interface::named(name).unwrap();
        let words = "delay 1ms 1ms loss 1% duplicate 3% corrupt 1% reorder 5%";
        let sockets = LinkSockets {
            input: LinkInput::Frames(FrameReceiver::open(&open("in1")).unwrap()),
            output: LinkOutput::Frames(FrameSender::open(&open("out0")).unwrap()),
        };
        let names =
            DirectionNames { name: "forward", from: "in1".to_owned(), to: "out0".to_owned() };
        let (_orders, inbox) = mpsc::channel();
        let waker = Arc::new(Waker::new().unwrap());
        let link = EmulatedLink::new(parse_words(words).unwrap(), 1);
        let mut direction = LinkDirection::new(names, link, sockets, inbox, waker);
        let mut source = FrameSender::open(&open("in0")).unwrap();
        for _ in 0..5 {
            pass(&mut direction, &mut source, 60);
        }
        let before = direction.link.counters().sent;
        // On a busy machine packets may leave while others still come, so that a later time is the
        // busiest; an allocation per packet happens in all rounds.
        let mut round = || {
            allocation_counter::measure(|| {
                for _ in 0..30 {
                    pass(&mut direction, &mut source, 32);
                }
            })
        };
        let mut counted = round();
        for _ in 1..ROUNDS {
            if counted.count_total > 0 {
                counted = round();
            }
        }
        assert_eq!(counted.count_total, 0, "{counted:?}");
        let report = direction.report();
        assert!(report.sent > before + 800 && report.lost > 0 && report.duplicated > 0, "{report}");
    });
    if !is_allowed {
        testkit::skip("making a network namespace needs root and iproute2");
    }
}
