//! Tests of the CCID 3 receiver, packet by packet.

use super::super::intervals::read_intervals;
use super::*;
use crate::option::DccpOptionIterator;

const MS: u64 = 1_000_000;

fn n(value: u64) -> SequenceNumber {
    SequenceNumber::new(value)
}

fn receiver() -> Ccid3Receiver {
    let mut receiver = Ccid3Receiver::new(n(0), true);
    receiver.set_rtt(100 * MS);
    receiver
}

/// Delivers a data packet of 1,000 bytes with sequence number `number` and window counter `ccval`.
fn data(receiver: &mut Ccid3Receiver, number: u64, now_ms: u64, ccval: u8) {
    receiver.record_arrival(&PacketArrival {
        now_ns: now_ms * MS,
        sequence: n(number),
        data_len: Some(1_000),
        ccval,
        is_marked: false,
        ndp_count: None,
        is_in_order: true,
    });
}

/// Returns the options of a feedback packet: receive rate, inverse of the loss event rate, lengths
/// of the loss intervals.
fn feedback(receiver: &mut Ccid3Receiver, now_ms: u64) -> Option<(u32, u32, Vec<u64>)> {
    let mut area = [0; 300];
    let mut options = DccpOptionWriter::new(&mut area);
    receiver.write(now_ms * MS, &mut options);
    let octets = options.written().to_vec();
    let value = |wanted: u8| {
        let mut matching = DccpOptionIterator::new(&octets).filter(|raw| raw.number == wanted);
        matching.next().map(|raw| raw.value.to_vec())
    };
    let word = |octets: Vec<u8>| u32::from_be_bytes(octets.try_into().unwrap());
    value(number::ELAPSED_TIME)?;
    let intervals = value(number::LOSS_INTERVALS)?;
    let lengths = read_intervals(&intervals)?.1.map(|interval| interval.data_len).collect();
    Some((word(value(number::RECEIVE_RATE)?), word(value(number::LOSS_EVENT_RATE)?), lengths))
}

#[test]
fn tfrc_01_feedback_has_its_three_options_and_the_first_says_nothing_yet() {
    let mut receiver = receiver();
    assert_eq!(feedback(&mut receiver, 0), None, "an acknowledgement without data is no feedback");
    data(&mut receiver, 0, 0, 0);
    assert_eq!(receiver.ack_due_ns(), Some(0));
    assert_eq!(feedback(&mut receiver, 0), Some((0, u32::MAX, vec![1])));
    assert_eq!(receiver.ack_due_ns(), None);
}

#[test]
fn tfrc_01_without_feature_192_the_rate_is_left_to_the_sender() {
    let mut receiver = Ccid3Receiver::new(n(0), false);
    data(&mut receiver, 0, 0, 0);
    let mut area = [0; 300];
    let mut options = DccpOptionWriter::new(&mut area);
    receiver.write(7 * MS, &mut options);
    let numbers: Vec<_> =
        DccpOptionIterator::new(options.written()).map(|raw| raw.number).collect();
    assert_eq!(numbers, [43, 194, 193]);
    assert_eq!(options.written()[..4], [43, 4, 2, 188], "7 ms");
}

#[test]
fn tfrc_04_the_inverse_is_rounded_up() {
    for (p, inverse) in [(0.0, u32::MAX), (1.0, 1), (0.1, 10), (0.3, 4), (1.0 / 1234.0, 1234)] {
        assert_eq!(inverse_rate(p), inverse, "{p}");
    }
}

#[test]
fn tfrc_06_feedback_follows_four_steps_of_the_counter_or_a_new_event() {
    let mut receiver = receiver();
    data(&mut receiver, 0, 0, 14);
    feedback(&mut receiver, 0);
    data(&mut receiver, 1, 25, 15);
    data(&mut receiver, 2, 75, 1);
    assert_eq!(receiver.ack_due_ns(), None);
    data(&mut receiver, 3, 100, 2);
    assert_eq!(receiver.ack_due_ns(), Some(100 * MS));
    let (rate, inverse, _) = feedback(&mut receiver, 100).unwrap();
    assert_eq!((rate, inverse), (30_000, u32::MAX));
    // 4 is lost; the third packet after it makes feedback due at once.
    for (number, now_ms) in [(5, 110), (6, 115)] {
        data(&mut receiver, number, now_ms, 2);
        assert_eq!(receiver.ack_due_ns(), None);
    }
    data(&mut receiver, 7, 120, 2);
    assert_eq!(receiver.ack_due_ns(), Some(120 * MS));
}

#[test]
fn tfrc_06_a_loss_that_no_data_shows_is_told_with_the_next_data() {
    let mut receiver = receiver();
    data(&mut receiver, 0, 0, 0);
    feedback(&mut receiver, 0);
    // After a long silence acknowledgements show that much was lost.
    for number in 500..503 {
        receiver.record_arrival(&PacketArrival {
            now_ns: 900 * MS,
            sequence: n(number),
            data_len: None,
            ccval: 0,
            is_marked: false,
            ndp_count: Some(number - 499),
            is_in_order: true,
        });
    }
    assert_eq!(receiver.ack_due_ns(), None, "a rate of zero would stop the sender");
    data(&mut receiver, 503, 910, 1);
    assert_eq!(receiver.ack_due_ns(), Some(910 * MS));
    let (rate, inverse, _) = feedback(&mut receiver, 910).unwrap();
    assert_eq!(rate, 10_000, "one packet in a round trip");
    assert_ne!(inverse, u32::MAX);
}

#[test]
fn tfrc_11_the_first_interval_is_what_the_rate_would_have_needed() {
    let mut receiver = receiver();
    for packet in 0..200 {
        data(&mut receiver, packet, packet * 10, ((packet * 10 / 25) % 16) as u8);
        feedback(&mut receiver, packet * 10);
    }
    for packet in 201..204 {
        data(&mut receiver, packet, packet * 10, ((packet * 10 / 25) % 16) as u8);
    }
    // 10 packets of 1,000 bytes in 100 ms are 100,000 bytes per second; f(p) = 0.1.
    let (_, inverse, lengths) = feedback(&mut receiver, 2_040).unwrap();
    let p = equation::loss_event_rate(1_000.0, 0.1, 100_000.0);
    let expected = (1.0 / p).round() as u64;
    assert!(lengths[1].abs_diff(expected) <= 6, "{lengths:?}, {expected}");
    assert_eq!(lengths[0], 4, "200 is lost, 201 to 203 came");
    assert_eq!(u64::from(inverse), lengths[1]);
}

#[test]
fn tfrc_12_a_lost_first_packet_means_half_a_packet_per_round_trip() {
    let mut receiver = receiver();
    for number in 1..=3 {
        data(&mut receiver, number, 0, 0);
    }
    // f(p) = 2 at p = 0.206.
    assert_eq!(feedback(&mut receiver, 0).unwrap().2, [4, 5]);
    assert_eq!(receiver.loss_event_rate(), 0.2);
}

#[test]
fn tfrc_14_acks_of_the_sender_are_not_data_in_an_interval() {
    let mut receiver = receiver();
    for number in 0..20 {
        receiver.record_arrival(&PacketArrival {
            now_ns: number * MS,
            sequence: n(number),
            data_len: (number % 2 == 0).then_some(1_000),
            ccval: 0,
            is_marked: false,
            ndp_count: (number % 2 == 0 && number > 0).then_some(1),
            is_in_order: true,
        });
    }
    assert_eq!(feedback(&mut receiver, 20).unwrap().2, [10]);
}

#[test]
fn a_mark_is_a_loss_event_at_once() {
    let mut receiver = receiver();
    data(&mut receiver, 0, 0, 0);
    feedback(&mut receiver, 0);
    receiver.record_arrival(&PacketArrival {
        now_ns: 5 * MS,
        sequence: n(1),
        data_len: Some(1_000),
        ccval: 0,
        is_marked: true,
        ndp_count: None,
        is_in_order: true,
    });
    assert_eq!(receiver.ack_due_ns(), Some(5 * MS));
    assert!(receiver.loss_event_rate() > 0.0);
}
