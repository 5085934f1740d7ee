//! Answers of one thread of the DNS responder.

use std::collections::VecDeque;
use std::net::SocketAddr;

use base::Random;
use dns_wire::header::HEADER_BYTES;
use dns_wire::{DnsHeader, DnsMessage, Flags};
use netio::InboundDatagram;
use netio::responder::{REPLY_BYTES_MAX, ReplyBatch, Respond};
use serde::Serialize;

use super::capacity::CapacityBucket;
use super::faults::{EchoFaults, QueryShare};

/// Largest number of answers that a responder thread holds back at a time.
const DELAYED_MAX: usize = 1 << 20;

base::counts! {
    /// Counts of the messages that one responder thread received. Each message is one of `dropped`,
    /// `not_queries` and `answered`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub struct EchoCounts {
        /// Number of messages shorter than a header, or with QR set; not answered.
        pub not_queries: u64,
        /// Number of queries dropped on purpose.
        pub dropped: u64,
        /// Number of queries in `dropped` that came when too many queries were waiting.
        pub overloaded: u64,
        /// Number of queries answered at least once, at once or later.
        pub answered: u64,
        /// Number of queries answered a second time.
        pub duplicated: u64,
        /// Number of queries in `answered` whose answers the responder delayed on purpose.
        pub delayed: u64,
        /// Number of queries in `answered` with the configured response code.
        pub rcode_set: u64,
        /// Number of queries in `answered` with a truncated answer.
        pub truncated: u64,
        /// Number of queries in `answered` with an answer to another question.
        pub wrong: u64,
        /// Number of queries in `answered` with an answer without its last byte.
        pub malformed: u64,
        /// Number of delayed answers given up because too many waited to be sent.
        #[serde(skip)]
        pub overflowed: u64,
    }
}

/// Output of the responder's answers: a batch of datagrams, or connections.
pub(super) trait AnswerOutput {
    /// Queues an answer of `len` bytes to `destination`, which `write` writes; returns false when
    /// there is no room.
    fn push(&mut self, destination: SocketAddr, len: usize, write: impl FnOnce(&mut [u8])) -> bool;
}

impl AnswerOutput for ReplyBatch<'_> {
    fn push(&mut self, destination: SocketAddr, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        ReplyBatch::push(self, destination, len, write)
    }
}

/// Answer that the responder delays on purpose; its bytes are in a queue of their own.
struct DelayedAnswer {
    due_ns: u64,
    destination: SocketAddr,
    len: usize,
}

/// Responder of one thread: it turns queries into answers, with faults.
pub struct EchoWorker {
    faults: EchoFaults,
    bucket: Option<CapacityBucket>,
    random: Random,
    counts: EchoCounts,
    /// Answers that the thread holds back, in the order of their times.
    delayed_answers: VecDeque<DelayedAnswer>,
    delayed_octets: VecDeque<u8>,
    /// Buffer for the answer that the thread is making.
    answer: Vec<u8>,
}

impl EchoWorker {
    /// Creates the responder of one thread with `faults` drawn from `random`.
    pub fn new(faults: EchoFaults, random: Random) -> Self {
        Self {
            faults,
            bucket: faults.capacity.map(CapacityBucket::new),
            random,
            counts: EchoCounts::default(),
            delayed_answers: VecDeque::new(),
            delayed_octets: VecDeque::new(),
            answer: Vec::with_capacity(REPLY_BYTES_MAX),
        }
    }

    /// Returns the responder without truncated answers, for a transport that has room for whole
    /// ones.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.faults.truncate = QueryShare::NONE;
        self
    }

    /// Returns the counts of the thread's queries so far.
    pub const fn counts(&self) -> EchoCounts {
        self.counts
    }

    /// Returns the number of delayed answers that wait in the thread now.
    pub fn delayed_count(&self) -> u64 {
        self.delayed_answers.len() as u64
    }

    /// Turns the query in `octets` into its answer; returns the answer's length in bytes.
    fn make_answer(&mut self, octets: &mut [u8]) -> usize {
        let (mut len, faults, random) = (octets.len(), self.faults, &mut self.random);
        octets[2] = (octets[2] | 0x80) & !0x06;
        octets[3] = 0;
        if faults.rcode.1.hits(random) {
            octets[3] = faults.rcode.0.0 as u8;
            self.counts.rcode_set += 1;
        }
        if faults.truncate.hits(random) {
            if let Ok(message) = DnsMessage::parse(octets) {
                len = HEADER_BYTES + message.question_octets().len();
                octets[6..HEADER_BYTES].fill(0);
            }
            octets[2] |= 0x02;
            self.counts.truncated += 1;
        }
        if faults.wrong.hits(random) && len > HEADER_BYTES + 2 {
            // The first letter, or the type's last byte after the root.
            let is_root = octets[HEADER_BYTES] == 0;
            octets[HEADER_BYTES + 1 + usize::from(is_root)] ^= 1;
            self.counts.wrong += 1;
        }
        if faults.malformed.hits(random) {
            // A part of a message with TC set is sound, so this message has TC cleared.
            octets[2] &= !0x02;
            len -= 1;
            self.counts.malformed += 1;
        }
        len
    }
}

impl Respond for EchoWorker {
    const REPLIES_MAX: usize = 2;

    fn handle_datagram(
        &mut self,
        now_ns: u64,
        datagram: &InboundDatagram<'_>,
        replies: &mut ReplyBatch<'_>,
    ) {
        self.take_query(now_ns, datagram.source, datagram.octets, replies);
    }

    fn release(&mut self, now_ns: u64, replies: &mut ReplyBatch<'_>) {
        self.release_to(now_ns, replies);
    }

    fn next_ns(&self) -> Option<u64> {
        self.next_release_ns()
    }
}

impl EchoWorker {
    /// Processes a query from `source` received at `now_ns`, and queues the answers that are due at
    /// once: at most two.
    pub(super) fn take_query(
        &mut self,
        now_ns: u64,
        source: SocketAddr,
        octets: &[u8],
        replies: &mut impl AnswerOutput,
    ) {
        let header = DnsHeader::parse(octets);
        if !header.is_ok_and(|header| !header.flags.has(Flags::RESPONSE)) {
            self.counts.not_queries += 1;
            return;
        }
        if self.faults.drop.hits(&mut self.random) {
            self.counts.dropped += 1;
            return;
        }
        // The earliest time of an answer.
        let mut due_ns = now_ns;
        if let Some(bucket) = &mut self.bucket {
            let Some(free_ns) = bucket.admit(now_ns) else {
                self.counts.dropped += 1;
                self.counts.overloaded += 1;
                return;
            };
            due_ns = free_ns;
        }
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        answer.extend_from_slice(octets);
        let len = self.make_answer(&mut answer);
        let is_double = self.faults.duplicate.hits(&mut self.random);
        let is_delayed = self.faults.delay.1.hits(&mut self.random);
        self.counts.answered += 1;
        self.counts.duplicated += u64::from(is_double);
        self.counts.delayed += u64::from(is_delayed);
        if is_delayed {
            due_ns += self.faults.delay.0;
        }
        for _ in 0..=u8::from(is_double) {
            if due_ns <= now_ns {
                let is_queued =
                    replies.push(source, len, |room| room.copy_from_slice(&answer[..len]));
                debug_assert!(is_queued, "the loop leaves room for two replies");
            } else if self.delayed_answers.len() < DELAYED_MAX {
                // The answers form a queue: none overtakes another.
                let due_ns =
                    self.delayed_answers.back().map_or(due_ns, |last| last.due_ns.max(due_ns));
                self.delayed_answers.push_back(DelayedAnswer { due_ns, destination: source, len });
                self.delayed_octets.extend(&answer[..len]);
            } else {
                self.counts.overflowed += 1;
            }
        }
        self.answer = answer;
    }

    /// Queues delayed answers that are due at `now_ns` to `replies`, as many as there is room for.
    pub(super) fn release_to(&mut self, now_ns: u64, replies: &mut impl AnswerOutput) {
        while let Some(answer) =
            self.delayed_answers.front().filter(|answer| answer.due_ns <= now_ns)
        {
            let octets = &self.delayed_octets;
            let is_queued = replies.push(answer.destination, answer.len, |room| {
                for (slot, octet) in room.iter_mut().zip(octets) {
                    *slot = *octet;
                }
            });
            if !is_queued {
                break;
            }
            self.delayed_octets.drain(..answer.len);
            self.delayed_answers.pop_front();
        }
    }

    /// Returns the time at which the next delayed answer is due, in nanoseconds; `None` without
    /// any.
    pub(super) fn next_release_ns(&self) -> Option<u64> {
        self.delayed_answers.front().map(|answer| answer.due_ns)
    }
}
