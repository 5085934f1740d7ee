//! Receiver of CCID 3 (RFC 4342 §6, RFC 5348 §6): measures losses and the rate, and sends feedback
//! once in a round trip and after each new loss event.

use super::counter;
use super::equation;
use super::intervals::IntervalHistory;
use super::loss::{LossDetector, LossHistoryChange};
use super::received::{CounterRtt, ReceiveRateMeter};
use crate::ccid::{PacketArrival, RTT_DEFAULT_NS, ReceiverHalf};
use crate::option::{DccpOption, DccpOptionWriter, elapsed_10us, number};
use crate::sequence::SequenceNumber;

/// Steps of the window counter after which feedback is due (RFC 4342 §6).
const FEEDBACK_STEPS: u8 = 4;

/// State of a CCID 3 receiver: loss history, receive rate, and when the next feedback is due.
#[derive(Clone, Debug)]
pub struct Ccid3Receiver {
    reports_loss_event_rate: bool,
    loss: LossDetector,
    intervals: IntervalHistory,
    received: ReceiveRateMeter,
    rtt: CounterRtt,
    /// Greatest receive rate that a feedback packet has reported, in bytes per second.
    rate_max: f64,
    segment_bytes: f64,
    first: SequenceNumber,
    newest: SequenceNumber,
    newest_ns: u64,
    /// Window counter of the latest data packet at the time of the last feedback.
    reported_ccval: Option<u8>,
    due_ns: Option<u64>,
    /// True if data arrived since the last feedback.
    has_data: bool,
    /// True if a loss event occurred that no feedback has reported.
    has_unreported_event: bool,
    last_ccval: u8,
}

impl Ccid3Receiver {
    /// Returns a CCID 3 receiver of packets from the number `first` on. `tells_loss_event_rate`
    /// adds the Loss Event Rate option to each feedback (feature 192).
    pub fn new(first: SequenceNumber, tells_loss_event_rate: bool) -> Self {
        Self {
            reports_loss_event_rate: tells_loss_event_rate,
            loss: LossDetector::new(first),
            intervals: IntervalHistory::new(first),
            received: ReceiveRateMeter::default(),
            rtt: CounterRtt::default(),
            rate_max: 0.0,
            segment_bytes: 0.0,
            first,
            newest: first,
            newest_ns: 0,
            reported_ccval: None,
            due_ns: None,
            has_data: false,
            has_unreported_event: false,
            last_ccval: 0,
        }
    }

    /// Returns the loss event rate that the receiver has measured, 0 to 1.
    pub fn loss_event_rate(&self) -> f64 {
        self.intervals.loss_event_rate()
    }

    fn rtt_ns(&self) -> u64 {
        self.rtt.smoothed_ns().unwrap_or(RTT_DEFAULT_NS)
    }

    /// Adds the arrival of a packet to the loss history. Returns true if there is a new loss event.
    fn look_for_loss(&mut self, arrival: &PacketArrival) -> bool {
        let rtt_s = self.rtt_ns() as f64 / 1e9;
        let rate_now = self.received.rate(arrival.now_ns, self.rtt_ns());
        let segment_bytes = self.segment_bytes.max(1.0);
        // The first interval is as long as the equation needs for the rate that was reached, with
        // at least half a packet per round trip (RFC 5348 §6.3.1).
        let least = segment_bytes / (2.0 * rtt_s);
        let reached = self.rate_max.max(rate_now).max(least);
        let very_first = self.first;
        let synthetic = |lost: SequenceNumber| {
            let target = if lost == very_first { least } else { reached };
            let p = equation::loss_event_rate(segment_bytes, rtt_s, target);
            (1.0 / p).round().max(1.0) as u64
        };
        let intervals = &mut self.intervals;
        let mut is_new = false;
        self.loss.record_arrival(arrival, |finding| match finding {
            LossHistoryChange::Arrived { number, is_data } => {
                intervals.record_arrival(number, is_data)
            }
            LossHistoryChange::More { last } => intervals.extend_event(last),
            LossHistoryChange::Event { first, last } => {
                is_new = true;
                intervals.begin_event(first, last, || synthetic(first));
            }
        });
        is_new
    }
}

impl ReceiverHalf for Ccid3Receiver {
    fn record_arrival(&mut self, arrival: &PacketArrival) {
        if !self.newest.is_after(arrival.sequence) {
            self.newest = arrival.sequence;
            self.newest_ns = arrival.now_ns;
        }
        if let Some(data_len) = arrival.data_len {
            let len = data_len as f64;
            self.segment_bytes =
                if self.segment_bytes == 0.0 { len } else { 0.9 * self.segment_bytes + 0.1 * len };
            self.rtt.record_arrival(arrival.now_ns, arrival.ccval);
            let rtt_ns = self.rtt_ns();
            self.received.record_arrival(arrival.now_ns, data_len, rtt_ns);
            self.last_ccval = arrival.ccval;
            self.has_data = true;
        }
        self.has_unreported_event |= self.look_for_loss(arrival);
        let is_round_over = arrival.data_len.is_some()
            && self
                .reported_ccval
                .is_none_or(|ccval| counter::distance(ccval, arrival.ccval) >= FEEDBACK_STEPS);
        // Without data there is no feedback (RFC 5348 §6.2): it would report a rate of zero about a
        // packet that did arrive.
        if (self.has_unreported_event && self.has_data) || is_round_over {
            self.due_ns = Some(arrival.now_ns);
        }
    }

    fn ack_due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Writes the options of a feedback packet: Elapsed Time, Receive Rate and Loss Intervals
    /// (RFC 4342 §6).
    fn write(&mut self, now_ns: u64, options: &mut DccpOptionWriter<'_>) {
        if self.due_ns.take().is_none() {
            return;
        }
        // The first feedback reports no rate, only that a packet came.
        let rate = match self.reported_ccval {
            None => 0.0,
            Some(_) => self.received.rate(now_ns, self.rtt_ns()),
        };
        self.rate_max = self.rate_max.max(rate);
        self.reported_ccval = Some(self.last_ccval);
        self.has_data = false;
        self.has_unreported_event = false;
        let elapsed = elapsed_10us(now_ns.saturating_sub(self.newest_ns));
        options.put(DccpOption::ElapsedTime(elapsed));
        let rate = (rate.min(f64::from(u32::MAX)) as u32).to_be_bytes();
        options.pieces(number::RECEIVE_RATE, &[&rate]);
        if self.reports_loss_event_rate {
            let inverse = inverse_rate(self.intervals.loss_event_rate()).to_be_bytes();
            options.pieces(number::LOSS_EVENT_RATE, &[&inverse]);
        }
        self.intervals.write(self.newest, options);
    }

    fn set_ack_ratio(&mut self, _ratio: u16) {}

    fn needs_ack_vector(&self) -> bool {
        false
    }

    fn set_reports_loss_event_rate(&mut self, tells: bool) {
        self.reports_loss_event_rate = tells;
    }

    fn set_rtt(&mut self, rtt_ns: u64) {
        self.rtt.suggest(rtt_ns);
    }
}

/// Returns the value of the Loss Event Rate option (RFC 4342 §8.5): the inverse of the rate `p`,
/// rounded up.
fn inverse_rate(p: f64) -> u32 {
    if p <= 0.0 { u32::MAX } else { (1.0 / p - 1e-9).ceil().min(f64::from(u32::MAX - 1)) as u32 }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
