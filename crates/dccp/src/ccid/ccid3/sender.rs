//! Sender of CCID 3 (RFC 4342 §5, RFC 5348 §4): a sending rate. Rates are bytes of application data
//! per second.

use std::collections::VecDeque;

use super::counter::WindowCounter;
use super::equation;
use super::intervals::{mean_interval, read_intervals};
use super::recv_limit::{DataLimit, ReceiveRates};
use crate::ack_vector::dropped::{self, DropCode};
use crate::ccid::{
    Clearance, Feedback, PacketDeparture, RTT_DEFAULT_NS, RTT_MIN_NS, SenderFigures, SenderHalf,
};
use crate::option::{DccpOption, DccpOptionIterator, number};
use crate::sequence::SequenceNumber;

/// Greatest time between two packets, in seconds (t_mbi, RFC 5348 §4.3).
const INTERVAL_MAX_S: f64 = 64.0;
/// Duration of the nofeedback timer before the round-trip time is known, in nanoseconds
/// (RFC 5348 §4.2).
const NOFEEDBACK_INITIAL_NS: u64 = 2_000_000_000;
/// Granularity of timers in nanoseconds (t_gran, RFC 5348 §4.6).
const GRANULARITY_NS: u64 = 100_000;
/// Largest number of sent packets whose time of sending is kept.
const SENT_MAX: usize = 1 << 16;

/// Returns the initial window of a CCID 3 sender in bytes (RFC 5348 §4.2).
pub fn initial_window_bytes(segment_bytes: f64) -> f64 {
    (4.0 * segment_bytes).min((2.0 * segment_bytes).max(4_380.0))
}

#[derive(Clone, Copy, Debug)]
struct Ccid3SentPacket {
    sequence: SequenceNumber,
    sent_ns: u64,
    ccval: Option<u8>,
    is_drop_known: bool,
}

/// Content of a feedback packet of the other end.
#[derive(Clone, Copy, Debug)]
struct TfrcFeedback {
    /// Receive rate of the other end, in bytes per second.
    rate: f64,
    /// Loss event rate of the other end, 0 to 1.
    p: f64,
}

/// State of a CCID 3 sender: allowed rate, loss event rate, round-trip time, nofeedback timer.
#[derive(Clone, Debug)]
pub struct Ccid3Sender {
    segment_bytes: f64,
    x: f64,
    x_recv: f64,
    x_calc: f64,
    p: f64,
    rates: ReceiveRates,
    limit: DataLimit,
    rtt_s: Option<f64>,
    /// Mean of the square roots of round-trip times, in square roots of seconds (R_sqmean,
    /// RFC 5348 §4.5).
    rtt_root_mean: f64,
    /// Square root of the last round-trip time, in square roots of seconds (R_sample,
    /// RFC 5348 §4.5). Its ratio to the mean slows the sender down while queues grow.
    rtt_root_last: f64,
    doubled_ns: Option<u64>,
    nofeedback_ns: Option<u64>,
    /// Time in nanoseconds at which the nofeedback timer was set, to find out if the sender was
    /// idle since.
    nofeedback_set_ns: u64,
    /// Nominal sending time of the last packet, in nanoseconds.
    nominal_ns: Option<u64>,
    last_data_ns: Option<u64>,
    counter: WindowCounter,
    ccval: u8,
    sent: VecDeque<Ccid3SentPacket>,
}

impl Ccid3Sender {
    /// Returns a CCID 3 sender of packets with about `segment_bytes` bytes of data.
    pub fn new(segment_bytes: usize) -> Self {
        let segment_bytes = segment_bytes.max(1) as f64;
        Self {
            segment_bytes,
            // One packet in a second, until a round-trip time is known.
            x: segment_bytes,
            x_recv: 0.0,
            x_calc: 0.0,
            p: 0.0,
            rates: ReceiveRates::unlimited(),
            limit: DataLimit::default(),
            rtt_s: None,
            rtt_root_mean: 0.0,
            rtt_root_last: 0.0,
            doubled_ns: None,
            nofeedback_ns: None,
            nofeedback_set_ns: 0,
            nominal_ns: None,
            last_data_ns: None,
            counter: WindowCounter::default(),
            ccval: 0,
            sent: VecDeque::new(),
        }
    }

    fn least_rate(&self) -> f64 {
        self.segment_bytes / INTERVAL_MAX_S
    }

    /// Returns the initial sending rate in bytes per second, W_init / R of RFC 5348.
    fn initial_rate(&self, rtt_s: f64) -> f64 {
        initial_window_bytes(self.segment_bytes) / rtt_s
    }

    /// Returns the instantaneous sending rate in bytes per second (RFC 5348 §4.5).
    fn x_now(&self) -> f64 {
        if self.rtt_root_last > 0.0 {
            (self.x * self.rtt_root_mean / self.rtt_root_last).max(self.least_rate())
        } else {
            self.x
        }
    }

    /// Returns the time between two packets at the present rate, in nanoseconds.
    fn interval_ns(&self) -> u64 {
        (self.segment_bytes / self.x_now() * 1e9) as u64
    }

    /// Returns the time in nanoseconds at which the next packet is due: one interval after the
    /// packet before. Unused time counts for at most one round trip (RFC 5348 §4.6).
    fn next_ns(&self, now_ns: u64) -> u64 {
        let Some(nominal_ns) = self.nominal_ns else { return now_ns };
        let credit_ns = self.rtt_s.map_or(0, |rtt_s| (rtt_s * 1e9) as u64);
        (nominal_ns + self.interval_ns()).max(now_ns.saturating_sub(credit_ns))
    }

    /// Restarts the nofeedback timer (RFC 5348 §4.3 step 6).
    fn restart_nofeedback(&mut self, now_ns: u64) {
        let wait_ns = match self.rtt_s {
            None => NOFEEDBACK_INITIAL_NS,
            Some(rtt_s) => ((4.0 * rtt_s).max(2.0 * self.segment_bytes / self.x) * 1e9) as u64,
        };
        self.nofeedback_ns = Some(now_ns + wait_ns);
        self.nofeedback_set_ns = now_ns;
    }

    fn sample_rtt(&mut self, now_ns: u64, sample_s: f64) {
        let root = sample_s.sqrt();
        match self.rtt_s {
            None => {
                self.rtt_s = Some(sample_s);
                self.rtt_root_mean = root;
                self.x = self.initial_rate(sample_s);
                self.doubled_ns = Some(now_ns);
                if self.nofeedback_ns.is_some() {
                    self.restart_nofeedback(now_ns);
                }
            }
            Some(rtt_s) => {
                self.rtt_s = Some(0.9 * rtt_s + 0.1 * sample_s);
                self.rtt_root_mean = 0.9 * self.rtt_root_mean + 0.1 * root;
            }
        }
        self.rtt_root_last = root;
    }

    /// Sets the sending rate that a feedback allows (RFC 5348 §4.3 steps 4 and 5).
    fn update_rate(&mut self, now_ns: u64, feedback: TfrcFeedback, is_data_limited: bool) {
        let rtt_s = self.rtt_s.unwrap_or(0.2);
        let rtt_ns = (rtt_s * 1e9) as u64;
        let has_more_loss = feedback.p > self.p;
        self.p = feedback.p;
        self.x_recv = feedback.rate;
        let limit = if feedback.rate == 0.0 {
            // The first feedback follows a single packet and has no rate. A later one with rate
            // zero has none either: a packet that it acknowledges was received.
            2.0 * self.rates.max()
        } else if is_data_limited && has_more_loss {
            self.rates.halve();
            self.rates.maximize(now_ns, 0.85 * feedback.rate);
            self.rates.max()
        } else if is_data_limited {
            self.rates.maximize(now_ns, feedback.rate);
            2.0 * self.rates.max()
        } else {
            self.rates.update(now_ns, feedback.rate, rtt_ns);
            2.0 * self.rates.max()
        };
        if self.p > 0.0 {
            self.x_calc = equation::rate(self.segment_bytes, rtt_s, self.p);
            self.x = self.x_calc.min(limit).max(self.least_rate());
        } else if self.doubled_ns.is_none_or(|doubled_ns| now_ns >= doubled_ns + rtt_ns) {
            let initial = self.initial_rate(rtt_s);
            self.x = (2.0 * self.x).min(limit).max(initial);
            self.doubled_ns = Some(now_ns);
        }
    }

    /// Reduces the sending rate after a long time without feedback (RFC 5348 §4.4).
    fn nofeedback(&mut self, now_ns: u64) {
        let was_idle = self.last_data_ns.is_none_or(|last_ns| last_ns < self.nofeedback_set_ns);
        match self.rtt_s {
            None if !was_idle => self.x = (self.x / 2.0).max(self.least_rate()),
            None => (),
            Some(rtt_s) => {
                let recover = self.initial_rate(rtt_s);
                // The greatest of the set, not the rate of the last feedback: the first one reports
                // zero, and half of that would be a packet a minute.
                let received = self.rates.max();
                let is_slow =
                    if self.p > 0.0 { received < recover } else { self.x < 2.0 * recover };
                if was_idle && is_slow {
                    // An idle sender keeps the rate that it would begin with anyway.
                } else if self.p == 0.0 {
                    self.x = (self.x / 2.0).max(self.least_rate());
                } else if self.x_calc > 2.0 * received {
                    self.limit_to(now_ns, received);
                } else {
                    self.limit_to(now_ns, self.x_calc / 2.0);
                }
            }
        }
        self.restart_nofeedback(now_ns);
    }

    /// Limits the sending rate to `limit` bytes per second (Update_Limits of RFC 5348 §4.4).
    fn limit_to(&mut self, now_ns: u64, limit: f64) {
        let limit = limit.max(self.least_rate());
        self.rates = ReceiveRates::only(now_ns, limit / 2.0);
        self.x = self.x_calc.min(limit).max(self.least_rate());
    }

    /// Returns the receive rate and loss event rate that a packet reports, reduced for dropped
    /// data; `None` when the packet is no feedback (RFC 4342 §6). Linux sends no Loss Intervals;
    /// then Loss Event Rate suffices.
    fn read(&mut self, feedback: &Feedback<'_>) -> Option<TfrcFeedback> {
        let (mut rate, mut p_reported, mut p_counted) = (None, None, None);
        let mut drops = 0_u32;
        let mut is_slow = false;
        for raw in DccpOptionIterator::new(feedback.options) {
            match raw.option {
                DccpOption::Unknown { number: number::RECEIVE_RATE, value } => {
                    rate =
                        value.try_into().ok().map(|octets| f64::from(u32::from_be_bytes(octets)));
                }
                DccpOption::Unknown { number: number::LOSS_EVENT_RATE, value } => {
                    p_reported =
                        value.try_into().ok().map(|octets| match u32::from_be_bytes(octets) {
                            u32::MAX => 0.0,
                            inverse => 1.0 / f64::from(inverse.max(1)),
                        });
                }
                DccpOption::Unknown { number: number::LOSS_INTERVALS, value } => {
                    p_counted = p_counted.or_else(|| counted_rate(value));
                }
                DccpOption::SlowReceiver => is_slow = true,
                DccpOption::DataDropped(blocks) => {
                    for (number, code) in dropped::read(feedback.acknowledgement, blocks) {
                        if code == DropCode::ReceiveBuffer && self.is_new_drop(number) {
                            drops += 1;
                        }
                    }
                }
                _ => (),
            }
        }
        let mut rate = rate?;
        if let Some(rtt_s) = self.rtt_s {
            // RFC 4342 §5.2 and §8.5: half of the rate that the receiver still accepts.
            let one = self.segment_bytes / rtt_s;
            if is_slow {
                rate /= 2.0;
            } else if drops > 0 {
                let left = (rate - f64::from(drops) * one).max(rate.min(one));
                rate = rate.min(left / 2.0);
            }
        }
        Some(TfrcFeedback { rate, p: p_reported.or(p_counted)? })
    }

    fn position(&self, sequence: SequenceNumber) -> Option<usize> {
        let first = self.sent.front()?;
        let index = usize::try_from(sequence.distance_from(first.sequence)).ok()?;
        (index < self.sent.len()).then_some(index)
    }

    fn is_new_drop(&mut self, sequence: SequenceNumber) -> bool {
        let Some(index) = self.position(sequence) else { return false };
        !core::mem::replace(&mut self.sent[index].is_drop_known, true)
    }
}

/// Returns the loss event rate that follows from the intervals of a Loss Intervals option. The skip
/// length is at most 3 (RFC 4342 §8.6.1).
fn counted_rate(value: &[u8]) -> Option<f64> {
    let (skip, intervals) = read_intervals(value)?;
    if skip > 3 {
        return None;
    }
    let mut lengths = [0.0; 9];
    let mut count = 0;
    for (slot, interval) in lengths.iter_mut().zip(intervals) {
        *slot = interval.data_len.max(1) as f64;
        count += 1;
    }
    Some(mean_interval(&lengths[..count]).map_or(0.0, |mean| (1.0 / mean).min(1.0)))
}

impl SenderHalf for Ccid3Sender {
    fn clearance(&mut self, now_ns: u64) -> Clearance {
        let due_ns = self.next_ns(now_ns);
        let rtt_ns = self.rtt_s.map_or(u64::MAX, |rtt_s| (rtt_s * 1e9) as u64);
        let early_ns = self.interval_ns().min(GRANULARITY_NS).min(rtt_ns) / 2;
        if due_ns <= now_ns + early_ns {
            return Clearance::Now;
        }
        self.limit.is_not_limited(now_ns);
        Clearance::At(due_ns - early_ns)
    }

    fn ccval(&mut self, now_ns: u64) -> u8 {
        // Without a measured round-trip time that of RFC 4340 §3.4 counts: the receiver sends no
        // feedback before the counter has advanced, and the first feedback may be lost.
        let rtt_ns = self.rtt_s.map_or(RTT_DEFAULT_NS, |rtt_s| (rtt_s * 1e9) as u64);
        self.ccval = self.counter.at(now_ns, rtt_ns);
        self.ccval
    }

    fn sent(&mut self, sent: &PacketDeparture) {
        if self.sent.back().is_some_and(|last| last.sequence.next() != sent.sequence) {
            self.sent.clear();
        }
        if self.sent.len() == SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(Ccid3SentPacket {
            sequence: sent.sequence,
            sent_ns: sent.now_ns,
            ccval: sent.data_len.is_some().then_some(self.ccval),
            is_drop_known: false,
        });
        let Some(data_len) = sent.data_len else { return };
        let nominal_ns = self.next_ns(sent.now_ns);
        self.nominal_ns = Some(nominal_ns);
        self.segment_bytes = (0.9 * self.segment_bytes + 0.1 * data_len as f64).max(1.0);
        self.last_data_ns = Some(sent.now_ns);
        if self.nofeedback_ns.is_none() {
            self.restart_nofeedback(sent.now_ns);
        }
    }

    fn feedback(&mut self, feedback: &Feedback<'_>) {
        let now_ns = feedback.now_ns;
        let Some(report) = self.read(feedback) else { return };
        let Some(index) = self.position(feedback.acknowledgement) else { return };
        let packet = self.sent[index];
        // The newest packet is kept, for further feedback about it.
        self.sent.drain(..index);
        let earliest_ns = packet.sent_ns + feedback.elapsed_ns;
        self.sample_rtt(now_ns, now_ns.saturating_sub(earliest_ns).max(RTT_MIN_NS) as f64 / 1e9);
        if let Some(ccval) = packet.ccval {
            self.counter.acknowledged(ccval, now_ns);
        }
        let is_data_limited = self.limit.feedback(packet.sent_ns);
        self.update_rate(now_ns, report, is_data_limited);
        self.restart_nofeedback(now_ns);
    }

    fn timeout_ns(&self) -> Option<u64> {
        self.nofeedback_ns
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        if self.nofeedback_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns) {
            self.nofeedback(now_ns);
        }
    }

    fn rtt_ns(&self) -> Option<u64> {
        self.rtt_s.map(|rtt_s| (rtt_s * 1e9) as u64)
    }

    fn observe_rtt(&mut self, now_ns: u64, rtt_ns: u64) {
        if self.rtt_s.is_none() {
            self.sample_rtt(now_ns, rtt_ns.max(RTT_MIN_NS) as f64 / 1e9);
        }
    }

    fn reverse_loss(&mut self, _now_ns: u64, _had_data: Option<bool>) {}

    fn ack_ratio(&self) -> Option<u16> {
        None
    }

    fn packets_per_rtt(&self) -> u64 {
        let rtt_s = self.rtt_s.unwrap_or(0.2);
        (self.x * rtt_s / self.segment_bytes).min(1e9) as u64 + 1
    }

    fn wants_ack_of_acks(&self) -> bool {
        false
    }

    fn figures(&self) -> SenderFigures {
        SenderFigures::Rate {
            x: self.x,
            x_recv: self.x_recv,
            x_calc: self.x_calc,
            p: self.p,
            interval_ns: self.interval_ns(),
            segment_bytes: self.segment_bytes,
        }
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
