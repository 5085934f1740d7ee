//! Tests of the CCID 2 sender with scripted acknowledgements.

use super::*;
use crate::option::DccpOptionWriter;

const MS: u64 = 1_000_000;

fn n(value: u64) -> SequenceNumber {
    SequenceNumber::new(value)
}

/// CCID 2 sender under test, and the sequence number of its next packet.
struct Ccid2SenderFixture {
    sender: Ccid2Sender,
    next: u64,
    now_ns: u64,
}

impl Ccid2SenderFixture {
    fn new() -> Self {
        Self { sender: Ccid2Sender::new(n(1), 1_424), next: 1, now_ns: 0 }
    }

    /// Sends data packets as long as the congestion window allows. Returns the count of packets.
    fn send_all(&mut self) -> u64 {
        let before = self.next;
        while self.sender.clearance(self.now_ns) == Clearance::Now {
            self.send();
        }
        self.next - before
    }

    fn send(&mut self) {
        let (now_ns, sequence) = (self.now_ns, n(self.next));
        self.sender.sent(&PacketDeparture {
            now_ns,
            sequence,
            data_len: Some(1_424),
            acknowledges: false,
        });
        self.next += 1;
    }

    /// Delivers an acknowledgement of the packet `number` with an Ack Vector of `runs`, 50 ms
    /// later.
    fn ack(&mut self, number: u64, runs: &[u8]) {
        self.ack_with(number, &[DccpOption::AckVector { nonce: false, runs }]);
    }

    fn ack_with(&mut self, number: u64, list: &[DccpOption<'_>]) {
        self.now_ns += 50 * MS;
        let mut area = [0; 300];
        let mut options = DccpOptionWriter::new(&mut area);
        assert!(list.iter().all(|&option| options.put(option)));
        self.sender.feedback(&Feedback {
            now_ns: self.now_ns,
            acknowledgement: n(number),
            options: options.written(),
            elapsed_ns: 0,
        });
    }

    /// Acknowledges every packet from the number `from` on, one by one.
    fn ack_all(&mut self, from: u64) {
        for number in from..self.next {
            self.ack(number, &[(number - from).min(63) as u8]);
        }
    }

    fn window(&self) -> (u32, u32, u32) {
        (self.sender.cwnd, self.sender.ssthresh, self.sender.pipe)
    }
}

#[test]
fn ack_07_the_window_begins_with_three_packets_of_1424_octets() {
    for (segment_bytes, cwnd) in [(100, 4), (1_095, 4), (1_424, 3), (2_190, 2), (8_960, 2)] {
        assert_eq!(Ccid2Sender::new(n(0), segment_bytes).cwnd, cwnd, "{segment_bytes}");
    }
    let mut world = Ccid2SenderFixture::new();
    assert_eq!(world.send_all(), 3);
    assert_eq!(world.sender.clearance(0), Clearance::Blocked);
}

#[test]
fn ack_07_slow_start_grows_by_one_for_two_packets_and_avoidance_by_one_for_a_window() {
    let mut world = Ccid2SenderFixture::new();
    world.send_all();
    world.ack(1, &[0]);
    assert_eq!(world.window(), (3, u32::MAX, 2));
    world.send_all();
    world.ack(2, &[1]);
    assert_eq!(world.sender.cwnd, 4);
    world.send_all();
    world.sender.ssthresh = 4;
    world.ack(3, &[0]);
    world.send_all();
    world.ack(4, &[0]);
    world.send_all();
    world.ack(5, &[0]);
    world.send_all();
    assert_eq!(world.sender.cwnd, 4);
    world.ack(6, &[0]);
    assert_eq!(world.sender.cwnd, 5);
}

/// Tests RFC 4341 §5: in congestion avoidance the window grows for windows of data acknowledged
/// without lost packets. Linux 6.1 also counts packets that arrived next to a loss.
#[test]
fn ack_07_packets_beside_a_loss_make_no_window_grow() {
    let mut world = Ccid2SenderFixture::new();
    (world.sender.cwnd, world.sender.ssthresh) = (8, 4);
    world.send_all();
    world.ack(2, &[1]);
    assert_eq!(world.window(), (8, 4, 6));
    // The third is lost; the five after it arrived.
    world.ack(8, &[4, 192]);
    assert_eq!(world.window(), (4, 4, 0));
    world.send_all();
    for number in 9..=11 {
        world.ack(number, &[0]);
        assert_eq!(world.sender.cwnd, 4, "after {number}");
    }
    world.ack(12, &[0]);
    assert_eq!(world.sender.cwnd, 5);
}

#[test]
fn ack_07_two_later_packets_are_no_loss_and_three_are() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 10;
    world.send_all();
    world.ack(2, &[0, 192]);
    world.ack(3, &[1, 192]);
    assert_eq!(world.window(), (11, u32::MAX, 8));
    world.ack(4, &[2, 192]);
    assert_eq!(world.window(), (5, 5, 6));
    // The other end reports the packet after all: it leaves the pipe only once.
    world.ack(4, &[3]);
    assert_eq!(world.sender.pipe, 6);
}

#[test]
fn ack_08_one_window_halves_once() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 16;
    world.send_all();
    world.ack(5, &[2, 193]);
    assert_eq!(world.sender.cwnd, 8);
    // Two more holes among the packets sent before the first was noticed.
    world.ack(13, &[2, 192, 0, 192, 0, 192 + 3, 2, 193]);
    assert_eq!(world.sender.cwnd, 8);
    // The next window is another event.
    world.ack(16, &[2, 0]);
    world.send_all();
    let next = world.next;
    world.ack(next - 1, &[2, 192 + 1]);
    assert_eq!(world.sender.cwnd, 4);
}

#[test]
fn ack_09_a_timeout_leaves_one_packet_and_backs_off() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 10;
    world.send_all();
    assert_eq!(world.sender.timeout_ns(), Some(1_000 * MS));
    world.sender.handle_timeout(999 * MS);
    assert_eq!(world.sender.pipe, 10);
    world.sender.handle_timeout(1_000 * MS);
    assert_eq!(world.window(), (1, 5, 0));
    world.now_ns = 1_000 * MS;
    assert_eq!(world.send_all(), 1);
    assert_eq!(world.sender.timeout_ns(), Some(3_000 * MS));
    // Packets that the sender gave up arrive: no second loss event, and `pipe` counts the packets
    // under way.
    world.ack(10, &[3]);
    assert_eq!(world.sender.pipe, 1);
}

#[test]
fn ack_10_the_ratio_doubles_on_reverse_loss_and_keeps_to_the_window() {
    let mut world = Ccid2SenderFixture::new();
    assert_eq!(world.sender.ack_ratio(), Some(1));
    world.sender.cwnd = 16;
    world.send_all();
    world.ack(1, &[0]);
    assert_eq!(world.sender.ack_ratio(), Some(2));
    world.sender.reverse_loss(world.now_ns, None);
    world.send_all();
    world.ack(17, &[15]);
    world.send_all();
    assert_eq!(world.sender.ack_ratio(), Some(4));
    // Lost data says nothing about acknowledgements.
    world.sender.reverse_loss(world.now_ns, Some(true));
    let from = world.next;
    world.send_all();
    world.ack_all(from.saturating_sub(16));
    assert_eq!(world.sender.ack_ratio(), Some(3), "a clean window");
    world.sender.congestion(n(world.next));
    world.sender.congestion(n(world.next + 1));
    world.sender.cwnd = 3;
    world.sender.limit_ratio();
    assert_eq!(world.sender.ack_ratio(), Some(1));
}

#[test]
fn ack_12_reactions_to_dropped_data() {
    let dropped = |code: u8| {
        let mut world = Ccid2SenderFixture::new();
        world.sender.cwnd = 10;
        world.send_all();
        let block = [0x80 | code << 4];
        let options =
            [DccpOption::AckVector { nonce: false, runs: &[0] }, DccpOption::DataDropped(&block)];
        world.ack_with(1, &options);
        let once = world.sender.cwnd;
        world.ack_with(1, &options);
        assert_eq!(world.sender.cwnd, once, "told again, {code}");
        once
    };
    assert_eq!([0, 1, 2, 3, 7].map(dropped), [10, 10, 9, 5, 5]);
}

#[test]
fn ack_10_a_window_that_shrinks_for_dropped_data_takes_the_ratio_along() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 8;
    world.sender.reverse.ratio = 4;
    world.send_all();
    // This acknowledgement ends a window of acknowledgements, which makes 3 of the 4.
    world.ack(1, &[0]);
    assert_eq!(world.sender.ack_ratio(), Some(3));
    // In the middle of the next window, the other end had no room for seven packets.
    let vector = DccpOption::AckVector { nonce: false, runs: &[6] };
    world.ack_with(8, &[vector, DccpOption::DataDropped(&[0xa0; 7])]);
    assert_eq!((world.sender.cwnd, world.sender.ack_ratio()), (2, Some(1)));
}

#[test]
fn ack_13_a_slow_receiver_ends_slow_start_and_growth_for_a_round_trip() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 10;
    world.send_all();
    let vector = DccpOption::AckVector { nonce: false, runs: &[1] };
    world.ack_with(2, &[vector, DccpOption::SlowReceiver]);
    assert_eq!(world.window(), (10, 10, 8));
}

#[test]
fn ack_14_a_mark_halves() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 10;
    world.send_all();
    world.ack(2, &[64, 0]);
    assert_eq!(world.window(), (5, 5, 8));
}

#[test]
fn ack_11_a_window_of_data_wants_an_acknowledgement_of_acknowledgements() {
    let mut world = Ccid2SenderFixture::new();
    world.send();
    assert!(!world.sender.wants_ack_of_acks());
    world.send_all();
    assert!(world.sender.wants_ack_of_acks());
    let sequence = n(world.next);
    world.sender.sent(&PacketDeparture {
        now_ns: 0,
        sequence,
        data_len: Some(1),
        acknowledges: true,
    });
    assert!(!world.sender.wants_ack_of_acks());
}

#[test]
fn a_window_that_was_not_used_shrinks() {
    let mut world = Ccid2SenderFixture::new();
    world.sender.cwnd = 100;
    world.send();
    world.ack(1, &[0]);
    assert_eq!(world.sender.cwnd, 100, "and does not grow");
    // Idle for four timeouts of 200 ms: halved four times, not below the initial window.
    world.now_ns += 820 * MS;
    assert_eq!(world.sender.clearance(world.now_ns), Clearance::Now);
    assert_eq!(world.window(), (6, u32::MAX, 0));
}
