//! Sending side of a flow: due times of datagrams, the datagrams that could be sent, and the end
//! message, which is repeated until the receiver has reported.

use dccp::connection::SendError;

use super::conduit::Conduit;
use super::figures::{IntervalDatagramCounts, ReceivedDataFigures, SentDataFigures};
use super::message::{PerfMessage, TransferParameters};

/// Time in nanoseconds after a datagram's due time in which it may still be sent.
const LATE_NS: u64 = 10_000_000;
/// Least time in nanoseconds between repetitions of the end message.
const FIN_NS: u64 = 200_000_000;
/// Time in nanoseconds between checks of the send queue until it is empty, without control
/// messages.
const QUEUE_NS: u64 = 1_000_000;
/// Time in nanoseconds after the end of the data at which a sender stops repeating its end message.
const FIN_GIVE_UP_NS: u64 = 10_000_000_000;
/// Largest number of datagrams that one call of [`FlowSender::feed`] queues.
const FEED_MAX: usize = 128;

/// State of a flow's sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FlowSenderState {
    Running,
    /// Sender that repeats its end message: time of the next one, and time to give up, in
    /// nanoseconds.
    Ending {
        next_ns: u64,
        give_up_ns: u64,
    },
    Reported(ReceivedDataFigures),
    /// Sender that has ended without a report of the receiver.
    Unreported,
}

/// Sending side of a flow while the flow runs.
#[derive(Clone, Debug)]
pub(crate) struct FlowSender {
    buffer: Vec<u8>,
    bits_per_s: Option<u64>,
    /// Bytes of data that are left to be sent; `None` without a limit.
    octets_left: Option<u64>,
    started_ns: u64,
    ends_ns: u64,
    /// Time in nanoseconds at which the settling time ends: from then on, datagrams that are due
    /// and not sent count.
    settled_ns: u64,
    /// Count of datagrams that were due before `settled_ns` and not sent.
    skipped: u64,
    cpu_first_ns: u64,
    sent: SentDataFigures,
    is_blocked: bool,
    /// True without control messages: the sender sends no end message and waits for no report.
    pub(crate) is_plain: bool,
    state: FlowSenderState,
    mark: SentDataFigures,
}

impl FlowSender {
    /// Returns a sender that begins the transfer `order` at `now_ns`, in datagrams of at most
    /// `bytes_max` bytes.
    pub(crate) fn new(
        now_ns: u64,
        cpu_ns: u64,
        order: &TransferParameters,
        bytes_max: usize,
    ) -> Self {
        Self {
            buffer: vec![0; order.datagram_bytes.min(bytes_max)],
            bits_per_s: order.bits_per_s,
            octets_left: order.octets,
            started_ns: now_ns,
            ends_ns: now_ns + order.duration_ms * 1_000_000,
            settled_ns: now_ns + order.settling_ms * 1_000_000,
            skipped: 0,
            cpu_first_ns: cpu_ns,
            sent: SentDataFigures::default(),
            is_blocked: false,
            is_plain: false,
            state: FlowSenderState::Running,
            mark: SentDataFigures::default(),
        }
    }

    /// Returns the length of each datagram in bytes.
    pub(crate) const fn datagram_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the bytes of data that DCCP has accepted for sending so far.
    pub(crate) const fn sent_bytes(&self) -> u64 {
        self.sent.bytes
    }

    /// Returns the count of datagrams that have come due until `at_ns` at the rate `bits_per_s`;
    /// the first is due at the start.
    fn due(&self, bits_per_s: u64, at_ns: u64) -> u64 {
        let Some(passed_ns) = at_ns.min(self.ends_ns).checked_sub(self.started_ns) else {
            return 0;
        };
        let bits = u128::from(passed_ns) * u128::from(bits_per_s) / 1_000_000_000;
        let each = self.buffer.len().max(1) as u128 * 8;
        // A datagram due exactly at the end belongs to the time after it.
        let is_over = at_ns >= self.ends_ns && bits.is_multiple_of(each);
        (bits / each) as u64 + u64::from(!is_over)
    }

    /// Queues the datagrams that are due, as far as the connection accepts them. Returns their
    /// count.
    pub(crate) fn feed(
        &mut self,
        now_ns: u64,
        cpu_ns: u64,
        connection: &mut impl Conduit,
    ) -> usize {
        if self.state == FlowSenderState::Running {
            let count = self.feed_data(now_ns, connection);
            let is_behind =
                self.bits_per_s.is_some_and(|rate| self.due(rate, now_ns) > self.offered());
            let has_time = now_ns < self.ends_ns || (is_behind && now_ns < self.ends_ns + LATE_NS);
            if has_time && !self.is_complete() {
                return count;
            }
            if self.is_complete() {
                self.end_now(now_ns);
            }
            self.give_up_late(now_ns);
            self.sent = self.figures(cpu_ns);
            self.state =
                FlowSenderState::Ending { next_ns: now_ns, give_up_ns: now_ns + FIN_GIVE_UP_NS };
        }
        if let FlowSenderState::Ending { next_ns, give_up_ns } = self.state {
            if now_ns >= give_up_ns {
                self.state = FlowSenderState::Unreported;
            } else if now_ns >= next_ns {
                if self.is_plain {
                    self.state = if !connection.has_queued() {
                        FlowSenderState::Unreported
                    } else {
                        FlowSenderState::Ending { next_ns: now_ns + QUEUE_NS, give_up_ns }
                    };
                    return 0;
                }
                let fin = PerfMessage::Fin(self.sent).write();
                if connection.send(&fin, u32::MAX) == Ok(()) {
                    let wait_ns = FIN_NS.max(2 * connection.rtt_ns().unwrap_or(0));
                    self.state = FlowSenderState::Ending { next_ns: now_ns + wait_ns, give_up_ns };
                    return 1;
                }
            }
        }
        0
    }

    fn feed_data(&mut self, now_ns: u64, connection: &mut impl Conduit) -> usize {
        let due = match self.bits_per_s {
            Some(rate) => self.due(rate, now_ns),
            None if now_ns < self.ends_ns => u64::MAX,
            None => 0,
        };
        self.is_blocked = false;
        let mut count = 0;
        while self.offered() < due && count < FEED_MAX && !self.is_complete() {
            PerfMessage::number(&mut self.buffer, self.sent.datagrams);
            match connection.send(&self.buffer, 0) {
                Ok(()) => {
                    self.sent.datagrams += 1;
                    self.sent.bytes += self.buffer.len() as u64;
                    let len = self.buffer.len() as u64;
                    self.octets_left = self.octets_left.map(|left| left.saturating_sub(len));
                    count += 1;
                }
                Err(SendError::TooLong) => {
                    // The path has become narrower.
                    self.buffer.truncate(connection.data_bytes_max());
                }
                Err(SendError::QueueFull | SendError::Closed) => {
                    self.is_blocked = true;
                    break;
                }
            }
        }
        count
    }

    /// Returns true if the sender has sent the requested number of bytes.
    const fn is_complete(&self) -> bool {
        matches!(self.octets_left, Some(0))
    }

    const fn offered(&self) -> u64 {
        self.sent.datagrams + self.sent.never_sent + self.skipped
    }

    /// Gives up datagrams that have been due for longer than [`LATE_NS`], and counts them as never
    /// sent.
    pub(crate) fn give_up_late(&mut self, now_ns: u64) {
        if self.state != FlowSenderState::Running {
            return;
        }
        if !self.is_complete()
            && let Some(rate) = self.bits_per_s
        {
            let is_over = now_ns >= self.ends_ns + LATE_NS;
            let late_ns = if is_over { Some(now_ns) } else { now_ns.checked_sub(LATE_NS) };
            let late = late_ns.map_or(0, |late_ns| self.due(rate, late_ns));
            let late = late.saturating_sub(self.offered());
            if now_ns < self.settled_ns {
                self.skipped += late;
            } else {
                self.sent.never_sent += late;
            }
        }
        self.sent.seconds = now_ns.min(self.ends_ns).saturating_sub(self.started_ns) as f64 / 1e9;
    }

    /// Returns the time in nanoseconds at which [`FlowSender::feed`] is due although no packet
    /// arrives.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        match self.state {
            FlowSenderState::Running => {
                let due_ns = self.bits_per_s.map_or(self.ends_ns, |rate| {
                    let each_bits = self.buffer.len().max(1) as u128 * 8;
                    let passed_ns =
                        u128::from(self.offered()) * each_bits * 1_000_000_000 / u128::from(rate);
                    (self.started_ns + passed_ns as u64).min(self.ends_ns)
                });
                // A datagram that the queue does not accept now is given up when it is late.
                Some(if self.is_blocked { due_ns + LATE_NS } else { due_ns })
            }
            FlowSenderState::Ending { next_ns, .. } => Some(next_ns),
            FlowSenderState::Reported(_) | FlowSenderState::Unreported => None,
        }
    }

    /// Ends the sender's data at `now_ns`, before its time.
    pub(crate) fn end_now(&mut self, now_ns: u64) {
        self.ends_ns = self.ends_ns.min(now_ns);
    }

    /// Ends the sender after its connection is gone, without a report unless it has one.
    pub(crate) fn cut_off(&mut self, now_ns: u64) {
        self.end_now(now_ns);
        self.give_up_late(now_ns);
        if !matches!(self.state, FlowSenderState::Reported(_)) {
            self.state = FlowSenderState::Unreported;
        }
    }

    /// Stores the receiver's report of the figures that it counted, if the sender has ended its
    /// data.
    pub(crate) fn reported(&mut self, received: ReceivedDataFigures) {
        if !matches!(self.state, FlowSenderState::Running) {
            self.state = FlowSenderState::Reported(received);
        }
    }

    /// Returns the receiver's report; `None` before it has arrived.
    pub(crate) const fn report(&self) -> Option<ReceivedDataFigures> {
        match self.state {
            FlowSenderState::Reported(received) => Some(received),
            _ => None,
        }
    }

    /// Returns true if the send queue was full when a datagram was due.
    pub(crate) const fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    pub(crate) const fn is_running(&self) -> bool {
        matches!(self.state, FlowSenderState::Running)
    }

    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.state, FlowSenderState::Reported(_) | FlowSenderState::Unreported)
    }

    /// Returns the sender's figures of all sent data.
    pub(crate) fn figures(&self, cpu_ns: u64) -> SentDataFigures {
        if !self.is_running() {
            return self.sent;
        }
        let cpu_s = cpu_ns.saturating_sub(self.cpu_first_ns) as f64 / 1e9;
        let cpu = if self.sent.seconds > 0.0 { cpu_s / self.sent.seconds } else { 0.0 };
        SentDataFigures { cpu, ..self.sent }
    }

    /// Returns the counts of datagrams that the flow sent since the last call.
    pub(crate) const fn step(&mut self) -> IntervalDatagramCounts {
        let (datagrams, bytes) = (self.mark.datagrams, self.mark.bytes);
        self.mark = self.sent;
        IntervalDatagramCounts {
            datagrams: self.sent.datagrams - datagrams,
            bytes: self.sent.bytes - bytes,
            lost: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_due_at_even_distances() {
        let order = TransferParameters {
            datagram_bytes: 125,
            duration_ms: 10,
            octets: None,
            bits_per_s: Some(1_000_000),
            settling_ms: 0,
        };
        // One in each millisecond.
        let outgoing = FlowSender::new(1_000, 0, &order, 1_424);
        let due = |at_us: u64| outgoing.due(1_000_000, 1_000 + at_us * 1_000);
        assert_eq!([due(0), due(999), due(1_000), due(9_999)], [1, 1, 2, 10]);
        assert_eq!([due(10_000), due(99_000)], [10, 10], "none at the end or behind it");
        assert_eq!(outgoing.next_ns(), Some(1_000));
    }

    #[test]
    fn what_is_late_while_it_settles_does_not_count() {
        let bits_per_s = Some(1_000_000);
        let order = TransferParameters {
            datagram_bytes: 125,
            duration_ms: 100,
            octets: None,
            bits_per_s,
            settling_ms: 20,
        };
        let mut outgoing = FlowSender::new(0, 0, &order, 1_424);
        outgoing.give_up_late(19_000_000);
        assert_eq!((outgoing.sent.never_sent, outgoing.skipped), (0, 10));
        outgoing.give_up_late(50_000_000);
        assert_eq!((outgoing.sent.never_sent, outgoing.skipped), (31, 10));
        outgoing.cut_off(200_000_000);
        assert_eq!(outgoing.figures(0).never_sent, 90);
    }

    #[test]
    fn what_is_late_is_never_sent() {
        let order = TransferParameters {
            datagram_bytes: 125,
            duration_ms: 100,
            octets: None,
            bits_per_s: Some(1_000_000),
            settling_ms: 0,
        };
        let mut outgoing = FlowSender::new(0, 0, &order, 1_424);
        outgoing.give_up_late(5_000_000);
        assert_eq!(outgoing.sent.never_sent, 0, "nothing is late yet");
        outgoing.give_up_late(50_000_000);
        assert_eq!(outgoing.sent.never_sent, 41);
        outgoing.cut_off(200_000_000);
        assert_eq!(outgoing.figures(0).never_sent, 100);
        assert!((outgoing.figures(0).seconds - 0.1).abs() < 1e-9);
        assert!(outgoing.is_over());
    }
}
