//! DHCP messages that a run keeps for a capture file (`--pcap`): all of them, or those of exchanges
//! that failed. Memory is bounded; messages that do not fit are counted.

use std::collections::{HashSet, VecDeque};

use packet_wire::frame::Endpoints;

use super::dialect::ExchangeKind;

/// Upper limit of the memory for kept messages, in bytes.
const OCTETS_MAX: usize = 256 << 20;

/// Selection of the messages that a run keeps for its capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All messages of the run.
    All,
    /// Messages of exchanges that did not end on time, from the first request on, and replies to no
    /// request.
    Failed,
}

/// DHCP message that the generator sent or received, for a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedMessage {
    /// Time at which the message left or came, in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// True if the generator sent the message, false if it received it.
    pub is_sent: bool,
    /// Bytes of the DHCP message.
    pub octets: Box<[u8]>,
    /// Source and destination of the message's frame, for clients on the generator's link.
    pub endpoints: Option<Endpoints>,
    exchange: Option<u64>,
}

/// Messages of a run that are kept for a capture file, or may still be.
#[derive(Clone, Debug)]
pub struct MessageCapture {
    keep: Keep,
    /// Queued messages that the kernel has not yet accepted, each with the number under which its
    /// departure will be reported.
    waiting: VecDeque<(u64, CapturedMessage)>,
    /// Messages of exchanges whose end is not known yet, kept in case they fail.
    recent: VecDeque<CapturedMessage>,
    failed: HashSet<u64>,
    messages: Vec<CapturedMessage>,
    octets: usize,
    left_out: u64,
}

/// Returns the number of the exchange that a request of `kind` belongs to, unique among kinds. A
/// second request belongs to the exchange of the first one, whose number is `exchange`.
pub(crate) const fn exchange_of(kind: ExchangeKind, exchange: u64) -> u64 {
    let tag = match kind {
        ExchangeKind::First | ExchangeKind::Second => 0,
        kind => kind.index() as u64,
    };
    exchange << 3 | tag
}

impl MessageCapture {
    /// Creates an empty capture for this selection of messages.
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            waiting: VecDeque::new(),
            recent: VecDeque::new(),
            failed: HashSet::new(),
            messages: Vec::new(),
            octets: 0,
            left_out: 0,
        }
    }

    /// Notes the message with number `name`, which waits to be sent.
    pub(crate) fn record_queued(
        &mut self,
        name: u64,
        exchange: u64,
        octets: &[u8],
        endpoints: Option<Endpoints>,
    ) {
        let (octets, exchange) = (octets.into(), Some(exchange));
        let message = CapturedMessage { at_ns: 0, is_sent: true, octets, endpoints, exchange };
        self.waiting.push_back((name, message));
    }

    /// Notes that the message with number `name` left at `at_ns`. The kernel refused the messages
    /// written before it.
    pub(crate) fn record_sent(&mut self, name: u64, at_ns: u64) {
        while let Some((waiting, message)) = self.waiting.pop_front() {
            if waiting == name {
                self.note(CapturedMessage { at_ns, ..message });
                return;
            }
        }
    }

    /// Notes a message received at `at_ns`, for `exchange` or, with `None`, for no request.
    pub(crate) fn record_received(
        &mut self,
        at_ns: u64,
        exchange: Option<u64>,
        octets: &[u8],
        endpoints: Option<Endpoints>,
    ) {
        let octets = octets.into();
        self.note(CapturedMessage { at_ns, is_sent: false, octets, endpoints, exchange });
    }

    fn note(&mut self, message: CapturedMessage) {
        self.octets += message.octets.len();
        match self.keep {
            Keep::All => self.keep(message),
            Keep::Failed => self.recent.push_back(message),
        }
        while self.octets > OCTETS_MAX && !self.recent.is_empty() {
            self.settle_oldest();
        }
    }

    fn keep(&mut self, message: CapturedMessage) {
        if self.octets > OCTETS_MAX {
            self.octets -= message.octets.len();
            self.left_out += 1;
        } else {
            self.messages.push(message);
        }
    }

    /// Notes that `exchange` failed, so that its messages are kept.
    pub(crate) fn mark_failed(&mut self, exchange: u64) {
        if self.keep == Keep::Failed {
            self.failed.insert(exchange);
        }
    }

    fn settle_oldest(&mut self) {
        let Some(message) = self.recent.pop_front() else { return };
        if message.exchange.is_none_or(|exchange| self.failed.contains(&exchange)) {
            self.keep(message);
        } else {
            self.octets -= message.octets.len();
        }
    }

    /// Decides on messages that left or came before `before_ns`, whose exchanges have ended: keeps
    /// those of failed exchanges, drops the others.
    pub(crate) fn settle(&mut self, before_ns: u64) {
        while self.recent.front().is_some_and(|message| message.at_ns < before_ns) {
            self.settle_oldest();
        }
    }

    /// Returns all kept messages, in order, and the number of messages that did not fit into
    /// memory.
    #[must_use]
    pub fn into_messages(mut self) -> (Vec<CapturedMessage>, u64) {
        self.settle(u64::MAX);
        (self.messages, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(keep: Keep) -> (Vec<(u64, bool, u8)>, u64) {
        let mut capture = MessageCapture::new(keep);
        for name in 0..4 {
            capture.record_queued(
                name,
                exchange_of(ExchangeKind::First, name),
                &[name as u8],
                None,
            );
        }
        // The kernel refuses the message of exchange 1.
        for (name, at_ns) in [(0, 10), (2, 11), (3, 12)] {
            capture.record_sent(name, at_ns);
        }
        capture.record_received(20, Some(exchange_of(ExchangeKind::Second, 2)), &[7], None);
        capture.record_received(21, None, &[8], None);
        capture.record_received(22, Some(exchange_of(ExchangeKind::Renewal, 2)), &[9], None);
        capture.mark_failed(exchange_of(ExchangeKind::Second, 2));
        capture.settle(21);
        let (messages, left_out) = capture.into_messages();
        let rows =
            messages.iter().map(|message| (message.at_ns, message.is_sent, message.octets[0]));
        (rows.collect(), left_out)
    }

    #[test]
    fn of_failed_exchanges_everything_is_kept_and_of_others_nothing() {
        let all = [(10, true, 0), (11, true, 2), (12, true, 3), (20, false, 7), (21, false, 8)];
        assert_eq!(played(Keep::All), ([&all[..], &[(22, false, 9)]].concat(), 0));
        let failed = vec![(11, true, 2), (20, false, 7), (21, false, 8)];
        assert_eq!(played(Keep::Failed), (failed, 0));
    }
}
