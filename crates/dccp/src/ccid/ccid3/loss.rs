//! Detection of lost packets, and of the losses that are one loss event (RFC 5348 §5.1, §5.2;
//! RFC 4342 §10.2).

use super::counter;
use crate::ccid::PacketArrival;
use crate::sequence::SequenceNumber;

/// Later packets that must arrive before a gap counts as a loss (NDUPACK, RFC 5348 §5.1).
const LATER_PACKETS: usize = 3;

/// Packet that arrived after a gap in the sequence.
#[derive(Clone, Copy, Debug)]
struct PacketAfterHole {
    sequence: SequenceNumber,
    ccval: u8,
    is_data: bool,
    is_marked: bool,
    ndp_count: u64,
}

/// Change to the history of loss intervals, found by the detector. The changes come in the order of
/// sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossHistoryChange {
    /// Packet that is not lost.
    Arrived { number: SequenceNumber, is_data: bool },
    /// New loss event with the lost packets `first` to `last`.
    Event { first: SequenceNumber, last: SequenceNumber },
    /// Further losses in the current loss event, up to the packet `last`.
    More { last: SequenceNumber },
}

/// Detector of lost packets and loss events for a CCID 3 receiver.
#[derive(Clone, Debug)]
pub(super) struct LossDetector {
    /// Sequence number of the next packet in order.
    expected: SequenceNumber,
    /// Window counter of the last packet in order.
    last_ccval: u8,
    beyond: Vec<PacketAfterHole>,
    event: Option<CurrentLossEvent>,
}

/// Loss event to which further losses may belong.
#[derive(Clone, Copy, Debug)]
struct CurrentLossEvent {
    /// Window counter of the packet before the event's first loss.
    ccval: u8,
    /// True if a later packet was sent more than a round trip after the event: the next loss begins
    /// another event.
    is_over: bool,
}

impl LossDetector {
    pub(super) const fn new(first: SequenceNumber) -> Self {
        Self { expected: first, last_ccval: 0, beyond: Vec::new(), event: None }
    }

    /// Processes the arrival of a packet, and calls `report` with each change to the loss history.
    pub(super) fn record_arrival(
        &mut self,
        arrival: &PacketArrival,
        mut report: impl FnMut(LossHistoryChange),
    ) {
        let packet = PacketAfterHole {
            sequence: arrival.sequence,
            ccval: arrival.ccval,
            is_data: arrival.data_len.is_some(),
            is_marked: arrival.is_marked,
            ndp_count: arrival.ndp_count.unwrap_or(0),
        };
        if self.expected.is_after(packet.sequence) {
            return;
        }
        let at = self.beyond.iter().position(|other| !packet.sequence.is_after(other.sequence));
        match at {
            Some(at) if self.beyond[at].sequence == packet.sequence => return,
            Some(at) => self.beyond.insert(at, packet),
            None => self.beyond.push(packet),
        }
        self.advance(&mut report);
        while self.beyond.len() >= LATER_PACKETS {
            self.lose(&mut report);
            self.advance(&mut report);
        }
    }

    /// Moves the packets of `beyond` that are in order now to the loss history.
    fn advance(&mut self, report: &mut impl FnMut(LossHistoryChange)) {
        while self.beyond.first().is_some_and(|packet| packet.sequence == self.expected) {
            let packet = self.beyond.remove(0);
            let number = packet.sequence;
            self.expected = number.next();
            if packet.is_marked {
                self.event(number, number, report);
            } else {
                report(LossHistoryChange::Arrived { number, is_data: packet.is_data });
            }
            // Only data packets carry the counter.
            if packet.is_data {
                self.last_ccval = packet.ccval;
                if let Some(event) = &mut self.event {
                    event.is_over |= counter::distance(event.ccval, packet.ccval) > 4;
                }
            }
        }
    }

    /// Declares the packets in the gap before the first packet of `beyond` lost, unless they had no
    /// data.
    fn lose(&mut self, report: &mut impl FnMut(LossHistoryChange)) {
        let first = self.expected;
        let next = self.beyond[0];
        let lost = next.sequence.distance_from(first).max(0) as u64;
        self.expected = next.sequence;
        if next.ndp_count >= lost {
            // The hole is only packets without data (RFC 4340 §7.7).
            for back in 0..lost {
                report(LossHistoryChange::Arrived { number: first.plus(back), is_data: false });
            }
        } else {
            self.event(first, next.sequence.minus(1), report);
        }
    }

    fn event(
        &mut self,
        first: SequenceNumber,
        last: SequenceNumber,
        report: &mut impl FnMut(LossHistoryChange),
    ) {
        if self.event.is_some_and(|event| !event.is_over) {
            report(LossHistoryChange::More { last });
        } else {
            self.event = Some(CurrentLossEvent { ccval: self.last_ccval, is_over: false });
            report(LossHistoryChange::Event { first, last });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u64) -> SequenceNumber {
        SequenceNumber::new(value)
    }

    /// Passes data packets of (sequence number, window counter) to a detector. Returns the loss
    /// events and the additions to them.
    fn events(packets: &[(u64, u8)]) -> Vec<(u64, u64, bool)> {
        let mut detector = LossDetector::new(n(0));
        let mut events = Vec::new();
        for &(number, ccval) in packets {
            let arrival = PacketArrival {
                now_ns: 0,
                sequence: n(number),
                data_len: Some(1),
                ccval,
                is_marked: false,
                ndp_count: None,
                is_in_order: true,
            };
            detector.record_arrival(&arrival, |finding| match finding {
                LossHistoryChange::Event { first, last } => {
                    events.push((first.value(), last.value(), true));
                }
                LossHistoryChange::More { last } => events.push((0, last.value(), false)),
                LossHistoryChange::Arrived { .. } => (),
            });
        }
        events
    }

    #[test]
    fn tfrc_13_a_hole_is_a_loss_after_three_later_packets() {
        assert_eq!(events(&[(0, 0), (2, 0), (3, 0)]), []);
        assert_eq!(events(&[(0, 0), (2, 0), (3, 0), (1, 0), (4, 0), (5, 0)]), []);
        assert_eq!(events(&[(0, 0), (2, 0), (3, 0), (4, 0)]), [(1, 1, true)]);
        assert_eq!(events(&[(0, 0), (4, 0), (2, 0), (5, 0)]), [(1, 1, true)]);
        assert_eq!(events(&[(0, 0), (4, 0), (5, 0), (6, 0)]), [(1, 3, true)]);
    }

    #[test]
    fn tfrc_07_losses_within_four_quarters_are_one_event() {
        let packets = |ccvals: [u8; 9]| -> Vec<(u64, u8)> {
            // 1 and 5 are lost.
            let numbers = [0, 2, 3, 4, 6, 7, 8, 9, 10];
            numbers.into_iter().zip(ccvals).collect()
        };
        let near = events(&packets([0, 1, 2, 4, 4, 5, 6, 7, 7]));
        assert_eq!(near, [(1, 1, true), (0, 5, false)]);
        let far = events(&packets([0, 1, 2, 5, 5, 5, 6, 7, 7]));
        assert_eq!(far, [(1, 1, true), (5, 5, true)]);
        // Once around the counter: some packet in between was more than four steps away.
        let around = events(&packets([14, 3, 8, 13, 14, 14, 14, 14, 14]));
        assert_eq!(around, [(1, 1, true), (5, 5, true)]);
    }

    #[test]
    fn tfrc_14_lost_packets_without_data_are_no_loss() {
        let mut detector = LossDetector::new(n(0));
        let mut findings = Vec::new();
        for (number, ndp_count) in [(0, None), (3, Some(2)), (4, None), (5, None)] {
            let arrival = PacketArrival {
                now_ns: 0,
                sequence: n(number),
                data_len: Some(1),
                ccval: 0,
                is_marked: false,
                ndp_count,
                is_in_order: true,
            };
            detector.record_arrival(&arrival, |finding| findings.push(finding));
        }
        let expected = [true, false, false, true, true, true];
        let has_data: Vec<_> = findings
            .iter()
            .map(|finding| matches!(finding, LossHistoryChange::Arrived { is_data: true, .. }))
            .collect();
        assert_eq!(has_data, expected);
    }
}
