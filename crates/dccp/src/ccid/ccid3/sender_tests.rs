//! Tests of the CCID 3 sender with scripted feedback.

use super::*;
use crate::option::DccpOptionWriter;

const MS: u64 = 1_000_000;

fn n(value: u64) -> SequenceNumber {
    SequenceNumber::new(value)
}

struct Ccid3SenderFixture {
    sender: Ccid3Sender,
    now_ns: u64,
    next: u64,
}

impl Ccid3SenderFixture {
    fn new(segment_bytes: usize) -> Self {
        Self { sender: Ccid3Sender::new(segment_bytes), now_ns: 0, next: 0 }
    }

    /// Returns a CCID 3 sender whose handshake measured a round-trip time of 100 ms.
    fn measured(segment_bytes: usize) -> Self {
        let mut world = Self::new(segment_bytes);
        world.sender.observe_rtt(0, 100 * MS);
        world
    }

    fn send(&mut self, data_len: usize) {
        self.sender.ccval(self.now_ns);
        self.sender.sent(&PacketDeparture {
            now_ns: self.now_ns,
            sequence: n(self.next),
            data_len: Some(data_len),
            acknowledges: false,
        });
        self.next += 1;
    }

    /// Sends whenever the sender's rate allows until `until_ns`. Returns the count of packets.
    fn send_until(&mut self, until_ns: u64, data_len: usize) -> u64 {
        let before = self.next;
        loop {
            match self.sender.clearance(self.now_ns) {
                Clearance::Now => self.send(data_len),
                Clearance::At(at_ns) if at_ns <= until_ns => self.now_ns = at_ns,
                _ => break,
            }
        }
        self.now_ns = until_ns;
        self.next - before
    }

    /// Delivers feedback about the last packet that was sent at least 100 ms ago.
    fn feedback(&mut self, rate: u32, inverse: u32) {
        let long_ago = self.now_ns.saturating_sub(100 * MS);
        let sent = self.sender.sent.iter().rev().find(|packet| packet.sent_ns <= long_ago);
        let packet = *sent.unwrap();
        let mut area = [0; 100];
        let mut options = DccpOptionWriter::new(&mut area);
        options.pieces(number::RECEIVE_RATE, &[&rate.to_be_bytes()]);
        options.pieces(number::LOSS_EVENT_RATE, &[&inverse.to_be_bytes()]);
        self.sender.feedback(&Feedback {
            now_ns: self.now_ns,
            acknowledgement: packet.sequence,
            options: options.written(),
            elapsed_ns: self.now_ns - 100 * MS - packet.sent_ns,
        });
    }
}

/// Tests that the window counter advances without a round-trip time: the receiver sends no feedback
/// before the counter has advanced by four (RFC 4342 §6).
#[test]
fn tfrc_05_the_counter_goes_on_without_a_round_trip_time() {
    let mut world = Ccid3SenderFixture::new(1_000);
    world.send(1_000);
    let first = world.sender.ccval;
    world.send_until(1_100 * MS, 1_000);
    assert_eq!(world.next, 2, "one packet in a second");
    assert!(crate::ccid::ccid3::counter::distance(first, world.sender.ccval) >= 4);
}

#[test]
fn tfrc_08_the_initial_window_by_packet_size() {
    for (segment, bytes) in [
        (100.0, 400.0),
        (1000.0, 4000.0),
        (1095.0, 4380.0),
        (1424.0, 4380.0),
        (1460.0, 4380.0),
        (8960.0, 17_920.0),
    ] {
        assert_eq!(initial_window_bytes(segment), bytes);
    }
    let world = Ccid3SenderFixture::measured(1_424);
    assert!((world.sender.x - 43_800.0).abs() < 1e-6);
    assert_eq!(
        Ccid3SenderFixture::new(1_424).sender.x,
        1_424.0,
        "a packet in a second without a measure"
    );
}

#[test]
fn tfrc_08_without_losses_the_rate_doubles_in_a_round_trip_within_twice_what_arrives() {
    let mut world = Ccid3SenderFixture::measured(1_000);
    world.send_until(100 * MS, 1_000);
    world.feedback(0, u32::MAX);
    assert!((world.sender.x - 80_000.0).abs() < 1.0, "{}", world.sender.x);
    world.send_until(150 * MS, 1_000);
    world.feedback(60_000, u32::MAX);
    assert!((world.sender.x - 80_000.0).abs() < 1.0, "not twice in a round trip");
    world.send_until(200 * MS, 1_000);
    world.feedback(80_000, u32::MAX);
    assert!((world.sender.x - 160_000.0).abs() < 1.0);
    world.send_until(310 * MS, 1_000);
    world.feedback(90_000, u32::MAX);
    assert!((world.sender.x - 180_000.0).abs() < 1.0, "{}", world.sender.x);
}

#[test]
fn with_losses_the_equation_rules() {
    let mut world = Ccid3SenderFixture::measured(1_460);
    world.send_until(100 * MS, 1_460);
    world.feedback(1_000_000, 100);
    let x = world.sender.x;
    assert!((x - 164_005.06).abs() < 0.01, "{x}");
    assert_eq!(world.sender.interval_ns(), 8_902_164);
    // The receive rate bounds it.
    world.send_until(400 * MS, 1_460);
    world.feedback(50_000, 100);
    assert!(world.sender.x <= 164_005.1);
    world.send_until(700 * MS, 1_460);
    world.feedback(50_000, 100);
    assert!((world.sender.x - 100_000.0).abs() < 1.0, "{}", world.sender.x);
}

#[test]
fn tfrc_09_the_nofeedback_timer_halves_down_to_a_packet_in_64_seconds() {
    let mut world = Ccid3SenderFixture::new(1_000);
    world.send(1_000);
    assert_eq!(world.sender.timeout_ns(), Some(2_000 * MS));
    world.sender.handle_timeout(1_999 * MS);
    assert_eq!(world.sender.x, 1_000.0);
    let mut world = Ccid3SenderFixture::measured(1_000);
    world.send(1_000);
    assert_eq!(world.sender.timeout_ns(), Some(400 * MS), "four round trips");
    let mut halvings = 0;
    while world.sender.x > 1_000.0 / 64.0 {
        world.now_ns = world.sender.timeout_ns().unwrap();
        // Not idle: a packet was sent since.
        world.sender.last_data_ns = Some(world.now_ns);
        let before = world.sender.x;
        world.sender.handle_timeout(world.now_ns);
        assert!((world.sender.x - (before / 2.0).max(1_000.0 / 64.0)).abs() < 1e-9);
        halvings += 1;
    }
    assert_eq!(halvings, 12);
    let wait_ns = world.sender.timeout_ns().unwrap() - world.now_ns;
    assert_eq!(wait_ns, 128_000 * MS, "two packets at that rate");
}

#[test]
fn tfrc_10_an_idle_sender_keeps_its_initial_rate_and_resumes_with_it() {
    let mut world = Ccid3SenderFixture::measured(1_000);
    world.send_until(100 * MS, 1_000);
    world.feedback(0, u32::MAX);
    for _ in 0..20 {
        world.now_ns = world.sender.timeout_ns().unwrap();
        world.sender.handle_timeout(world.now_ns);
    }
    assert!(world.sender.x >= 40_000.0, "{}", world.sender.x);
    // The first feedback after that reports one packet; the sender had no more, so its rate does
    // not fall to twice the reported one.
    world.send(1_000);
    world.now_ns += 100 * MS;
    world.feedback(10_000, u32::MAX);
    assert!(world.sender.x >= 40_000.0, "{}", world.sender.x);
}

#[test]
fn tfrc_09_a_first_feedback_that_tells_of_a_loss_and_no_rate_does_not_stop_the_sender() {
    let mut world = Ccid3SenderFixture::measured(1_404);
    world.send(1_404);
    world.now_ns = 100 * MS;
    world.feedback(0, 5);
    let calculated = world.sender.x_calc;
    assert!((world.sender.x - calculated).abs() < 1e-6);
    // Then a packet is lost: each run of the timer halves the rate, and no more.
    world.send(1_404);
    for part in [2.0, 4.0, 8.0] {
        world.now_ns = world.sender.timeout_ns().unwrap();
        world.sender.last_data_ns = Some(world.now_ns);
        world.sender.handle_timeout(world.now_ns);
        assert!((world.sender.x - calculated / part).abs() < 1e-6, "{}", world.sender.x);
    }
}

#[test]
fn tfrc_09_a_later_feedback_of_rate_zero_does_not_stop_the_sender() {
    let mut world = Ccid3SenderFixture::measured(1_404);
    world.send_until(100 * MS, 1_404);
    world.feedback(0, u32::MAX);
    world.send_until(200 * MS, 1_404);
    world.feedback(40_000, u32::MAX);
    world.send_until(700 * MS, 1_404);
    // A silence, a loss, and an impossible rate: the packet that is acknowledged was received.
    world.feedback(0, 1_000);
    assert!((world.sender.x - 80_000.0).abs() < 1e-6, "{}", world.sender.x);
}

#[test]
fn tfrc_15_unused_time_is_worth_one_round_trip() {
    let mut world = Ccid3SenderFixture::measured(1_000);
    world.send(1_000);
    world.now_ns = 10_000 * MS;
    // 40 packets in a second: four in 100 ms, and one that is due now.
    let mut burst = 0;
    while world.sender.clearance(world.now_ns) == Clearance::Now {
        world.send(1_000);
        burst += 1;
    }
    assert_eq!(burst, 5);
}

#[test]
fn tfrc_16_feedback_without_loss_intervals_or_elapsed_time_counts() {
    let mut world = Ccid3SenderFixture::measured(1_000);
    world.send(1_000);
    world.now_ns = 100 * MS;
    world.feedback(0, u32::MAX);
    assert!((world.sender.x - 80_000.0).abs() < 1e-6, "{}", world.sender.x);
}

#[test]
fn tfrc_03_a_loss_intervals_option_that_skips_more_than_three_is_none() {
    let intervals = |skip: u8| {
        let mut value = vec![skip];
        for data_len in [10_u8, 20, 30] {
            value.extend([0, 0, 5, 0, 0, 1, 0, 0, data_len]);
        }
        value
    };
    assert_eq!(counted_rate(&intervals(3)), Some(1.0 / 25.0));
    assert_eq!(counted_rate(&intervals(4)), None);
    assert_eq!(counted_rate(&[0, 1]), None);
}

#[test]
fn a_slow_receiver_gets_half() {
    let mut world = Ccid3SenderFixture::measured(1_000);
    world.send(1_000);
    let mut area = [0; 100];
    let mut options = DccpOptionWriter::new(&mut area);
    options.put(DccpOption::SlowReceiver);
    options.put(DccpOption::DataDropped(&[0xa0]));
    options.pieces(number::RECEIVE_RATE, &[&80_000_u32.to_be_bytes()]);
    options.pieces(number::LOSS_EVENT_RATE, &[&u32::MAX.to_be_bytes()]);
    let feedback = Feedback {
        now_ns: 100 * MS,
        acknowledgement: n(0),
        options: options.written(),
        elapsed_ns: 0,
    };
    let mut sender = world.sender.clone();
    assert_eq!(sender.read(&feedback).unwrap().rate, 40_000.0);
    let dropped = Feedback { options: &options.written()[1..], ..feedback };
    let mut sender = world.sender;
    assert_eq!(sender.read(&dropped).unwrap().rate, 35_000.0);
    assert_eq!(sender.read(&dropped).unwrap().rate, 80_000.0, "told again");
}

#[test]
fn growing_round_trips_slow_the_sender_at_once() {
    let mut world = Ccid3SenderFixture::measured(1_000);
    let before = world.sender.x_now();
    world.sender.sample_rtt(0, 0.4);
    assert!(world.sender.x_now() < before * 0.6, "{}", world.sender.x_now());
}

#[test]
fn tfrc_08_no_time_for_a_round_trip_is_no_rate_without_bound() {
    // The other end may round its hold time up to all of the round-trip time.
    let mut world = Ccid3SenderFixture::new(1_424);
    world.sender.observe_rtt(0, 0);
    assert_eq!(world.sender.x, 4_380.0 / 10e-6);
    assert!(world.sender.interval_ns() > 3_000);
}
