//! Sender of CCID 2 (RFC 4341 §5, §6.1): a congestion window like TCP's. The window counts packets,
//! not bytes.

use super::rto::Rto;
use super::sent::{Ccid2SentPacket, SentPacketState, SentPackets};
use crate::ack_vector::{PacketState, Runs, dropped};
use crate::ccid::{
    Clearance, Feedback, PacketDeparture, RTT_DEFAULT_NS, RTT_MIN_NS, SenderFigures, SenderHalf,
};
use crate::option::{DccpOption, DccpOptionIterator};
use crate::sequence::SequenceNumber;

/// Later packets that must arrive before an unacknowledged packet counts as lost (NUMDUPACK,
/// RFC 4341 §5).
const LATER_PACKETS: u32 = 3;

/// State of a CCID 2 sender: congestion window, packets in flight, retransmission timer, Ack Ratio.
#[derive(Clone, Debug)]
pub struct Ccid2Sender {
    cwnd: u32,
    ssthresh: u32,
    pipe: u32,
    initial_cwnd: u32,
    /// Count of acknowledged packets that have not made the congestion window grow yet.
    credit: u32,
    sent: SentPackets,
    /// Lost data packets that one acknowledgement shows; the memory is reused.
    lost_data: Vec<SequenceNumber>,
    first: SequenceNumber,
    /// Greatest sequence number that belongs to the last congestion event.
    event_high: Option<SequenceNumber>,
    rto: Rto,
    deadline_ns: Option<u64>,
    last_data_ns: Option<u64>,
    no_growth_until_ns: u64,
    was_full: bool,
    /// Largest number of packets in flight since `used_since_ns`, by which an unused congestion
    /// window shrinks (RFC 2861).
    used: u32,
    used_since_ns: u64,
    reverse: ReverseWindow,
    data_since_ack: u32,
}

/// Ack Ratio (data packets per acknowledgement) of the sender, and the state from which it follows
/// (RFC 4341 §6.1.2).
#[derive(Clone, Copy, Debug)]
struct ReverseWindow {
    ratio: u16,
    /// Count of windows of data in a row without a lost acknowledgement.
    clean_windows: u32,
    window_end: Option<SequenceNumber>,
    had_loss: bool,
}

impl Ccid2Sender {
    /// Returns a CCID 2 sender whose packets have at most `segment_bytes` bytes of data and whose
    /// sequence numbers begin with `first`. The initial window is that of RFC 3390 in packets.
    pub fn new(first: SequenceNumber, segment_bytes: usize) -> Self {
        let initial_cwnd = (4_380 / segment_bytes.max(1)).clamp(2, 4) as u32;
        Self {
            cwnd: initial_cwnd,
            ssthresh: u32::MAX,
            pipe: 0,
            initial_cwnd,
            credit: 0,
            sent: SentPackets::new(),
            lost_data: Vec::new(),
            first,
            event_high: None,
            rto: Rto::new(),
            deadline_ns: None,
            last_data_ns: None,
            no_growth_until_ns: 0,
            was_full: false,
            used: 0,
            used_since_ns: 0,
            reverse: ReverseWindow {
                ratio: 1,
                clean_windows: 0,
                window_end: None,
                had_loss: false,
            },
            data_since_ack: 0,
        }
    }

    /// Marks the sent packets that an acknowledgement reports as received. Returns the count of
    /// newly received data packets, and a packet that was marked for congestion, if any.
    fn mark_received(&mut self, feedback: &Feedback<'_>) -> (u32, Option<SequenceNumber>) {
        let mut newly = 0;
        let mut marked = None;
        let runs = Runs::new(
            feedback.acknowledgement,
            self.first,
            DccpOptionIterator::new(feedback.options),
        );
        for run in runs.filter(|run| run.state != PacketState::Missing) {
            for packet in self.sent.range_mut(run.low, run.high) {
                if packet.state == SentPacketState::Received {
                    continue;
                }
                if packet.is_data {
                    if packet.state == SentPacketState::Open {
                        self.pipe = self.pipe.saturating_sub(1);
                    }
                    if run.state == PacketState::Received {
                        newly += 1;
                    }
                }
                packet.state = SentPacketState::Received;
                if run.state == PacketState::Marked {
                    marked = marked.or(Some(run.high));
                }
            }
        }
        (newly, marked)
    }

    /// Halves the congestion window, at most once for each window: packets sent before the last
    /// congestion event was noticed belong to that event.
    fn congestion(&mut self, number: SequenceNumber) {
        if self.event_high.is_some_and(|high| !number.is_after(high)) {
            return;
        }
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
        self.credit = 0;
        self.event_high = Some(self.sent.end().minus(1));
        self.limit_ratio();
    }

    /// Grows the congestion window by the `newly` received packets, if the window was used
    /// (RFC 4341 §5, RFC 2861).
    fn grow(&mut self, now_ns: u64, newly: u32) {
        if !self.was_full || now_ns < self.no_growth_until_ns {
            return;
        }
        if self.cwnd < self.ssthresh {
            // One for each two, and for one acknowledgement no more than it should cover.
            self.credit += newly;
            let most = u32::from(self.reverse.ratio).div_ceil(2).max(1);
            let grown = (self.credit / 2).min(most);
            self.credit = if grown == most { 0 } else { self.credit - 2 * grown };
            self.cwnd += grown;
        } else {
            self.credit += newly;
            if self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd += 1;
            }
        }
    }

    /// Reacts to reports that the other end dropped data or is slow (RFC 4340 §11.7.2,
    /// RFC 4341 §5).
    fn data_dropped(&mut self, feedback: &Feedback<'_>) {
        for raw in DccpOptionIterator::new(feedback.options) {
            match raw.option {
                DccpOption::DataDropped(blocks) => {
                    for (number, code) in dropped::read(feedback.acknowledgement, blocks) {
                        let known = self
                            .sent
                            .get_mut(number)
                            .map(|packet| core::mem::replace(&mut packet.is_drop_known, true));
                        if known != Some(false) {
                            continue;
                        }
                        if code.counts_as_mark() {
                            self.congestion(number);
                        } else if code == dropped::DropCode::ReceiveBuffer {
                            self.cwnd = (self.cwnd - 1).max(1);
                        }
                        self.ssthresh = self.ssthresh.min(self.cwnd.max(2));
                    }
                }
                DccpOption::SlowReceiver => {
                    let rtt_ns = self.rto.smoothed_ns().unwrap_or(RTT_DEFAULT_NS);
                    self.no_growth_until_ns = feedback.now_ns + rtt_ns;
                    self.ssthresh = self.ssthresh.min(self.cwnd.max(2));
                }
                _ => (),
            }
        }
        self.limit_ratio();
    }

    /// Shrinks a congestion window that was not used for a while, because it says nothing about the
    /// network (RFC 2861).
    fn validate_window(&mut self, now_ns: u64) {
        let rto_ns = self.rto.timeout_ns();
        if let Some(last_ns) = self.last_data_ns {
            let restart = self.initial_cwnd.min(self.cwnd);
            let mut idle_ns = now_ns.saturating_sub(last_ns);
            if idle_ns >= rto_ns {
                self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
            }
            while idle_ns >= rto_ns && self.cwnd > restart {
                self.cwnd = (self.cwnd / 2).max(restart);
                idle_ns -= rto_ns;
                (self.used, self.used_since_ns) = (0, now_ns);
            }
        }
        if self.was_full {
            self.used = 0;
            self.used_since_ns = now_ns;
        } else if now_ns.saturating_sub(self.used_since_ns) >= rto_ns {
            if self.used < self.cwnd && self.used > 0 {
                self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
                self.cwnd = u32::midpoint(self.cwnd, self.used.max(self.initial_cwnd)).max(1);
            }
            self.used = 0;
            self.used_since_ns = now_ns;
        }
        self.limit_ratio();
    }

    /// Limits the Ack Ratio to half of the congestion window, with 2 allowed from a window of 4
    /// packets on. Below 4 packets the ratio is 1; otherwise the other end's delayed
    /// acknowledgement timer would set the rate.
    fn limit_ratio(&mut self) {
        let most = if self.cwnd < 4 { 1 } else { self.cwnd.div_ceil(2).min(u32::from(u16::MAX)) };
        let least = if self.cwnd < 4 { 1 } else { 2 };
        self.reverse.ratio = self.reverse.ratio.clamp(least, most as u16);
    }

    /// Ends a window of data and adapts the Ack Ratio (data packets per acknowledgement) to lost
    /// acknowledgements in that window (RFC 4341 §6.1.2).
    fn end_reverse_window(&mut self, acknowledgement: SequenceNumber) {
        match self.reverse.window_end {
            Some(end) if !acknowledgement.is_after(end) => return,
            Some(_) if self.reverse.had_loss => {
                self.reverse.ratio = self.reverse.ratio.saturating_mul(2);
                self.reverse.clean_windows = 0;
            }
            Some(_) => self.reverse.clean_windows += 1,
            None => (),
        }
        let ratio = u32::from(self.reverse.ratio);
        if ratio > 2 && self.reverse.clean_windows >= self.cwnd / (ratio * ratio - ratio) {
            self.reverse.ratio -= 1;
            self.reverse.clean_windows = 0;
        }
        self.reverse.had_loss = false;
        self.reverse.window_end = Some(self.sent.end().minus(1));
        self.limit_ratio();
    }

    fn restart_timer(&mut self, now_ns: u64) {
        self.deadline_ns = (self.pipe > 0).then(|| now_ns + self.rto.timeout_ns());
    }
}

impl SenderHalf for Ccid2Sender {
    fn clearance(&mut self, now_ns: u64) -> Clearance {
        if self.pipe == 0 {
            self.validate_window(now_ns);
        }
        if self.pipe < self.cwnd { Clearance::Now } else { Clearance::Blocked }
    }

    fn ccval(&mut self, _now_ns: u64) -> u8 {
        0
    }

    fn sent(&mut self, sent: &PacketDeparture) {
        let is_data = sent.data_len.is_some();
        if sent.acknowledges {
            self.data_since_ack = 0;
        }
        self.sent.push(
            sent.sequence,
            Ccid2SentPacket {
                sent_ns: sent.now_ns,
                is_data,
                state: SentPacketState::Open,
                is_drop_known: false,
            },
        );
        if !is_data {
            return;
        }
        self.pipe += 1;
        self.used = self.used.max(self.pipe);
        self.was_full = self.pipe >= self.cwnd;
        self.last_data_ns = Some(sent.now_ns);
        self.data_since_ack += u32::from(!sent.acknowledges);
        if self.deadline_ns.is_none() {
            self.restart_timer(sent.now_ns);
        }
    }

    fn feedback(&mut self, feedback: &Feedback<'_>) {
        self.was_full |= self.pipe >= self.cwnd;
        let acknowledged = self.sent.get_mut(feedback.acknowledgement).copied();
        let (newly, marked) = self.mark_received(feedback);
        if let Some(packet) = acknowledged
            && packet.state == SentPacketState::Open
        {
            let rtt_ns = feedback.now_ns.saturating_sub(packet.sent_ns);
            self.rto.sample(rtt_ns.saturating_sub(feedback.elapsed_ns).max(RTT_MIN_NS));
        }
        let mut lost_data = core::mem::take(&mut self.lost_data);
        self.data_dropped(feedback);
        self.sent.lose(LATER_PACKETS, |number, packet| {
            if packet.is_data {
                lost_data.push(number);
            }
        });
        self.pipe = self.pipe.saturating_sub(lost_data.len() as u32);
        let event_before = self.event_high;
        for number in lost_data.drain(..).rev().chain(marked) {
            self.congestion(number);
        }
        self.lost_data = lost_data;
        if self.event_high == event_before {
            self.grow(feedback.now_ns, newly);
        }
        if newly > 0 {
            self.restart_timer(feedback.now_ns);
        } else if self.pipe == 0 {
            self.deadline_ns = None;
        }
        self.end_reverse_window(feedback.acknowledgement);
    }

    fn timeout_ns(&self) -> Option<u64> {
        self.deadline_ns
    }

    /// Handles a retransmission timeout without an acknowledgement (RFC 4341 §5): restarts with a
    /// window of one packet.
    fn handle_timeout(&mut self, now_ns: u64) {
        if self.deadline_ns.is_none_or(|deadline_ns| now_ns < deadline_ns) {
            return;
        }
        self.sent.lose_all();
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.pipe = 0;
        self.credit = 0;
        self.event_high = Some(self.sent.end().minus(1));
        self.rto.back_off();
        self.deadline_ns = None;
        self.limit_ratio();
    }

    fn rtt_ns(&self) -> Option<u64> {
        self.rto.smoothed_ns()
    }

    fn observe_rtt(&mut self, _now_ns: u64, rtt_ns: u64) {
        if self.rto.smoothed_ns().is_none() {
            self.rto.sample(rtt_ns.max(RTT_MIN_NS));
        }
    }

    fn reverse_loss(&mut self, _now_ns: u64, had_data: Option<bool>) {
        self.reverse.had_loss |= had_data != Some(true);
    }

    fn ack_ratio(&self) -> Option<u16> {
        Some(self.reverse.ratio)
    }

    fn packets_per_rtt(&self) -> u64 {
        u64::from(self.cwnd)
    }

    fn wants_ack_of_acks(&self) -> bool {
        self.data_since_ack >= self.cwnd
    }

    fn figures(&self) -> SenderFigures {
        SenderFigures::Window {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            pipe: self.pipe,
            rto_ns: self.rto.timeout_ns(),
            ack_ratio: self.reverse.ratio,
        }
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
