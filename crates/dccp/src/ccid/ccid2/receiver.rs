//! Receiver of CCID 2 (RFC 4341 §6): decides when to send an acknowledgement. The connection's Ack
//! Vector is the content of the acknowledgement.

use crate::ccid::{PacketArrival, RTT_DEFAULT_NS, ReceiverHalf};
use crate::option::DccpOptionWriter;

/// Longest time in nanoseconds that a data packet waits for more packets before its acknowledgement
/// (RFC 4341 §6.1, as TCP).
const DELAY_NS: u64 = 200_000_000;

/// State of a CCID 2 receiver: the Ack Ratio (data packets per acknowledgement), and when the next
/// acknowledgement is due.
#[derive(Clone, Copy, Debug)]
pub struct Ccid2Receiver {
    ratio: u16,
    unacknowledged: u32,
    due_ns: Option<u64>,
    /// Time in nanoseconds of the last acknowledgement that left at once because of a gap or a
    /// mark.
    hurried_ns: Option<u64>,
    rtt_ns: u64,
}

impl Ccid2Receiver {
    /// Returns a receiver that acknowledges one of `ratio` data packets; 0 counts as 1.
    pub const fn new(ratio: u16) -> Self {
        Self { ratio, unacknowledged: 0, due_ns: None, hurried_ns: None, rtt_ns: RTT_DEFAULT_NS }
    }
}

impl ReceiverHalf for Ccid2Receiver {
    fn record_arrival(&mut self, arrival: &PacketArrival) {
        let is_data = arrival.data_len.is_some();
        if is_data {
            self.unacknowledged += 1;
        }
        let is_urgent = arrival.is_marked || (is_data && !arrival.is_in_order);
        let may_hurry =
            self.hurried_ns.is_none_or(|last_ns| arrival.now_ns >= last_ns + self.rtt_ns);
        if is_urgent && may_hurry {
            self.hurried_ns = Some(arrival.now_ns);
            self.due_ns = Some(arrival.now_ns);
        } else if is_data && self.unacknowledged >= u32::from(self.ratio) {
            self.due_ns = Some(arrival.now_ns);
        } else if is_data && self.due_ns.is_none() {
            self.due_ns = Some(arrival.now_ns + DELAY_NS);
        }
    }

    fn ack_due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    fn write(&mut self, _now_ns: u64, _options: &mut DccpOptionWriter<'_>) {
        self.unacknowledged = 0;
        self.due_ns = None;
    }

    fn set_ack_ratio(&mut self, ratio: u16) {
        self.ratio = ratio;
    }

    fn needs_ack_vector(&self) -> bool {
        true
    }

    fn set_reports_loss_event_rate(&mut self, _tells: bool) {}

    fn set_rtt(&mut self, rtt_ns: u64) {
        self.rtt_ns = rtt_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::SequenceNumber;

    const MS: u64 = 1_000_000;

    fn arrive(receiver: &mut Ccid2Receiver, now_ns: u64, is_in_order: bool, is_marked: bool) {
        receiver.record_arrival(&PacketArrival {
            now_ns,
            sequence: SequenceNumber::new(0),
            data_len: Some(10),
            ccval: 0,
            is_marked,
            ndp_count: None,
            is_in_order,
        });
    }

    fn acknowledge(receiver: &mut Ccid2Receiver) {
        receiver.write(0, &mut DccpOptionWriter::new(&mut []));
    }

    #[test]
    fn ack_05_one_acknowledgement_for_each_ratio_of_packets_or_200_ms() {
        for ratio in [1, 2, 4] {
            let mut receiver = Ccid2Receiver::new(ratio);
            for packet in 1..ratio {
                arrive(&mut receiver, u64::from(packet) * MS, true, false);
                assert_eq!(receiver.ack_due_ns(), Some(201 * MS), "{ratio}");
            }
            arrive(&mut receiver, 50 * MS, true, false);
            assert_eq!(receiver.ack_due_ns(), Some(50 * MS), "{ratio}");
            acknowledge(&mut receiver);
            assert_eq!(receiver.ack_due_ns(), None);
        }
    }

    #[test]
    fn ack_06_a_hole_or_a_mark_is_told_at_once_once_in_a_round_trip() {
        let mut receiver = Ccid2Receiver::new(4);
        receiver.set_rtt(100 * MS);
        arrive(&mut receiver, 10 * MS, false, false);
        assert_eq!(receiver.ack_due_ns(), Some(10 * MS));
        acknowledge(&mut receiver);
        arrive(&mut receiver, 20 * MS, true, true);
        assert_eq!(receiver.ack_due_ns(), Some(220 * MS));
        arrive(&mut receiver, 110 * MS, true, true);
        assert_eq!(receiver.ack_due_ns(), Some(110 * MS));
    }
}
