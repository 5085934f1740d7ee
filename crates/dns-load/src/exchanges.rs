//! All DNS queries of one generator thread, from their due times to their classes in the ledger.
//! The module uses no sockets and no clock: a test can play any server on virtual time.
//!
//! A query is watched from its due time until the deadline and the grace after it have passed, also
//! when it has its answer earlier. So late answers can be distinguished from lost ones, and second
//! answers from answers to strangers. Every received datagram is counted under exactly one name of
//! [`DnsMessageTally`]. Budget: about 100 ns per answer of one record; nothing is allocated after
//! construction.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use base::Histogram;
use dns_wire::{DnsMessage, Flags, Rcode};
use load::{
    ExchangeClass, ExchangeLedger, ExchangeTimeLimits, LATENCY_LIMIT_NS, Outstanding, ThreadShare,
    Timeline,
};

use crate::identities::QueryIdentities;
use crate::queries::QueryWorkload;
use crate::tally::{AnswerFault, DnsMessageTally};

/// Results of a generator thread's queries.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// Outcomes and latencies of the thread's queries. [`ExchangeClass::Nak`] is an answer in time
    /// with a response code other than NOERROR and NXDOMAIN, [`ExchangeClass::WrongClient`] an
    /// answer to another question than the query's, or with other content than expected.
    pub ledger: ExchangeLedger,
    /// Counts of the thread's datagrams by kind.
    pub tally: DnsMessageTally,
    /// Counts of the thread's queries by interval; empty unless the settings ask for intervals.
    pub timeline: Timeline,
    /// Latencies in nanoseconds from the due time to the answer, of all queries whose answers
    /// [`DnsMessageTally::rcodes`] counts: in time or late, with any response code.
    pub response_latency: ResponseLatency,
    /// Time of the last answer that [`DnsMessageTally::rcodes`] counts, in nanoseconds of the
    /// monotonic clock; 0 without any.
    pub answered_ns: u64,
}

/// Latencies of answers in nanoseconds, as a histogram of the ledger's kind.
#[derive(Clone, Debug)]
pub struct ResponseLatency(pub Histogram);

impl Default for ResponseLatency {
    fn default() -> Self {
        Self(Histogram::up_to(LATENCY_LIMIT_NS))
    }
}

/// DNS query that was written into the given buffer and must be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingQuery {
    /// Number of the query among those of its thread.
    pub number: u64,
    /// Length of the DNS query, in bytes.
    pub len: usize,
}

/// State of a query that the thread watches.
#[derive(Clone, Copy, Debug)]
struct WatchedQuery {
    /// Time at which the kernel accepted the query, in nanoseconds of the monotonic clock; 0 before
    /// that.
    sent_ns: u64,
    /// True if the query's answer was truncated, and the query is sent again over TCP.
    over_tcp: bool,
    ended: Option<ExchangeClass>,
}

const NEW: WatchedQuery = WatchedQuery { sent_ns: 0, over_tcp: false, ended: None };

/// All DNS queries of one generator thread.
pub struct Exchanges<'w> {
    identities: QueryIdentities,
    limits: ExchangeTimeLimits,
    workload: &'w QueryWorkload,
    /// Number in the run of this thread's first query: query n of this thread is query `first` + n
    /// × `stride` of the run.
    first: u64,
    stride: u64,
    /// Number of queries that the thread may watch at a time, rounded up as the ring is.
    capacity: u64,
    open: Outstanding<WatchedQuery>,
    unsettled: u64,
    ledger: ExchangeLedger,
    tally: DnsMessageTally,
    timeline: Timeline,
    response_latency: ResponseLatency,
    answered_ns: u64,
    /// Numbers of queries to be sent again over TCP; `None` where truncated answers count as
    /// answers.
    tcp_retries: Option<VecDeque<u64>>,
    /// Counter of first answers to the queries of all threads, for a display of the progress.
    answered: Option<Arc<AtomicU64>>,
    /// Channel for the identifiers of queries that time out; `None` sends none.
    timed_out: Option<Sender<u16>>,
    /// True if the thread stops watching a query once this query and those before it have their
    /// answers.
    forgets_answered: bool,
}

impl<'w> Exchanges<'w> {
    /// Creates the set of a thread's queries, empty. `capacity` is the number of queries that may
    /// be watched at a time; the threads take the queries of `workload` in turn.
    pub fn new(
        identities: QueryIdentities,
        limits: ExchangeTimeLimits,
        workload: &'w QueryWorkload,
        share: ThreadShare,
        capacity: u64,
    ) -> Self {
        Self {
            identities,
            limits,
            workload,
            first: share.thread,
            stride: share.threads,
            capacity: capacity.next_power_of_two(),
            open: Outstanding::with_capacity(capacity, NEW),
            unsettled: 0,
            ledger: ExchangeLedger::default(),
            tally: DnsMessageTally::default(),
            timeline: Timeline::default(),
            response_latency: ResponseLatency::default(),
            answered_ns: 0,
            tcp_retries: None,
            answered: None,
            timed_out: None,
            forgets_answered: false,
        }
    }

    /// Makes truncated datagrams count as no answers from now on: their query stays open, and is to
    /// be sent again over TCP. Call it before the first query.
    pub fn follow_truncation(&mut self) {
        self.tcp_retries = Some(VecDeque::with_capacity(self.capacity as usize));
    }

    /// Counts first answers in `answered` as well. Call it before the first query.
    pub fn count_in(&mut self, answered: Arc<AtomicU64>) {
        self.answered = Some(answered);
    }

    /// Sends the identifier of every query that times out to `timed_out`. Call it before the first
    /// query.
    pub fn report_timeouts(&mut self, timed_out: Sender<u16>) {
        self.timed_out = Some(timed_out);
    }

    /// Stops watching a query that has its answer, as long as all queries before it have theirs. A
    /// second answer then belongs to no query, and any number of queries per second has room.
    pub const fn forget_answered(&mut self) {
        self.forgets_answered = true;
    }

    /// Counts queries in `timeline` as well; call it before the first query.
    pub fn keep_timeline(&mut self, timeline: Timeline) {
        self.timeline = timeline;
    }

    fn index_of(&self, number: u64) -> usize {
        ((self.first + number * self.stride) % self.workload.len() as u64) as usize
    }

    /// Returns the index of the port that the next query leaves by.
    pub const fn next_port(&self) -> usize {
        self.identities.port(self.open.next_number())
    }

    /// Begins the query that came due at `due_ns`: writes it into `buffer` and returns it. Returns
    /// `None` when more queries are watched than there is room for; the query is then lost, unsent.
    pub fn begin(&mut self, due_ns: u64, buffer: &mut [u8]) -> Option<OutgoingQuery> {
        self.ledger.record_due();
        self.timeline.record_due(due_ns);
        let Some(number) = self.open.open(due_ns, NEW) else {
            self.ledger.record_end(ExchangeClass::Lost);
            self.timeline.record_missed(due_ns);
            return None;
        };
        self.unsettled += 1;
        Some(OutgoingQuery { number, len: self.write(number, buffer) })
    }

    /// Writes the next query to be sent again over TCP into `buffer`, and returns its port and its
    /// length in bytes.
    pub fn next_tcp_retry(&mut self, buffer: &mut [u8]) -> Option<(usize, usize)> {
        let number = self.tcp_retries.as_mut()?.pop_front()?;
        Some((self.identities.port(number), self.write(number, buffer)))
    }

    /// Writes query `number` into `buffer`; returns its length in bytes.
    fn write(&self, number: u64, buffer: &mut [u8]) -> usize {
        let query = self.workload.query(self.index_of(number));
        buffer[..query.len()].copy_from_slice(query);
        buffer[..2].copy_from_slice(&self.identities.id(number).to_be_bytes());
        query.len()
    }

    /// Notes that query `number` left at `at_ns`.
    pub fn record_departure(&mut self, number: u64, at_ns: u64) {
        if let Some((due_ns, watched)) = self.open.find(number) {
            watched.sent_ns = at_ns.max(1);
            self.ledger.record_sent(due_ns, at_ns);
        }
    }

    /// Counts a datagram from another address than the server's.
    pub const fn count_foreign(&mut self) {
        self.tally.received += 1;
        self.tally.foreign += 1;
    }

    /// Processes a datagram that the server sent to `port`, received at `now_ns`.
    pub fn handle_datagram(&mut self, now_ns: u64, port: usize, octets: &[u8]) {
        self.handle_message(now_ns, port, octets, true);
    }

    /// Processes a DNS message that came over the TCP connection instead of `port`, received at
    /// `now_ns`.
    pub fn handle_tcp_message(&mut self, now_ns: u64, port: usize, octets: &[u8]) {
        self.handle_message(now_ns, port, octets, false);
    }

    fn handle_message(&mut self, now_ns: u64, port: usize, octets: &[u8], is_datagram: bool) {
        self.tally.received += 1;
        self.tally.octets += octets.len() as u64;
        let message = match DnsMessage::parse(octets) {
            Ok(message) => message,
            Err(reason) => {
                self.tally.malformed[reason.index()] += 1;
                return;
            }
        };
        let next = self.open.next_number();
        let number = self.identities.number_of(port, message.header().id, next);
        let Some((number, index)) = number.map(|number| (number, self.index_of(number))) else {
            self.tally.unmatched += 1;
            return;
        };
        let Some((due_ns, watched)) = self.open.find(number) else {
            self.tally.unmatched += 1;
            return;
        };
        let was_open = watched.ended.is_none();
        let is_truncated = message.header().flags.has(Flags::TRUNCATED);
        let is_late = now_ns.saturating_sub(due_ns) > self.limits.deadline_ns;
        match check_answer(self.workload, index, &message) {
            Err(fault) => {
                self.tally.faults[fault as usize] += 1;
                let class = fault.class();
                watched.ended.get_or_insert(class);
            }
            Ok(_) if !was_open => {
                self.tally.repeated += 1;
                if watched.ended == Some(ExchangeClass::OnTime) {
                    watched.ended = Some(ExchangeClass::DuplicateAnswered);
                }
            }
            Ok(_) if self.tcp_retries.is_some() && is_datagram && is_truncated && !is_late => {
                if watched.over_tcp {
                    self.tally.repeated += 1;
                } else if let Some(again) = &mut self.tcp_retries {
                    watched.over_tcp = true;
                    self.tally.asked_again += 1;
                    again.push_back(number);
                }
            }
            Ok(rcode) => {
                self.tally.rcodes[usize::from(rcode.0)] += 1;
                self.tally.truncated += u64::from(is_truncated);
                self.timeline.record_answered(now_ns);
                if let Some(answered) = &self.answered {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                self.answered_ns = now_ns;
                self.response_latency.0.record(now_ns.saturating_sub(due_ns));
                let class = if is_late {
                    self.tally.late += 1;
                    self.ledger.record_completed_late(due_ns, watched.sent_ns, now_ns);
                    ExchangeClass::Late
                } else if matches!(rcode, Rcode::NOERROR | Rcode::NXDOMAIN) {
                    self.ledger.record_completed(due_ns, watched.sent_ns, now_ns);
                    self.timeline.record_completed(now_ns);
                    ExchangeClass::OnTime
                } else {
                    ExchangeClass::Nak
                };
                watched.ended = Some(class);
            }
        }
        self.unsettled -= u64::from(was_open && watched.ended.is_some());
    }

    /// Ends queries whose watched time is over at `now_ns`, and counts them in the ledger.
    pub fn expire(&mut self, now_ns: u64) {
        if self.forgets_answered {
            self.close_answered();
        }
        self.close_before(now_ns.saturating_sub(self.limits.watched_ns()));
    }

    /// Returns the number of the thread's queries that can still get an answer.
    pub const fn unsettled(&self) -> u64 {
        self.unsettled
    }

    /// Returns true when no query of the thread can still get an answer: every one has ended or
    /// expired.
    pub const fn is_settled(&self) -> bool {
        self.unsettled == 0
    }

    fn close_answered(&mut self) {
        loop {
            let oldest = self.open.next_number() - self.open.len();
            let is_answered = self.open.get(oldest).is_some_and(|watched| watched.ended.is_some());
            if !is_answered || !self.close_oldest(u64::MAX) {
                break;
            }
        }
    }

    fn close_before(&mut self, due_before_ns: u64) {
        while self.close_oldest(due_before_ns) {}
    }

    /// Ends the oldest query if it came due before `due_before_ns`, and counts it in the ledger;
    /// returns true if it did.
    fn close_oldest(&mut self, due_before_ns: u64) -> bool {
        let Some(due_ns) = self.open.oldest_due_ns() else { return false };
        let Some((number, watched)) = self.open.close_oldest(due_before_ns) else { return false };
        if watched.ended.is_none() {
            self.unsettled -= 1;
            if let Some(timed_out) = &self.timed_out {
                // Without a receiver no identifiers are wanted.
                let _ = timed_out.send(self.identities.id(number));
            }
        }
        let class = watched.ended.unwrap_or(ExchangeClass::Lost);
        self.ledger.record_end(class);
        if watched.sent_ns != 0 {
            self.timeline.record_sent(due_ns, class == ExchangeClass::Lost);
        }
        if !matches!(class, ExchangeClass::OnTime | ExchangeClass::DuplicateAnswered) {
            self.timeline.record_missed(due_ns);
        }
        true
    }

    /// Stops watching all queries and returns the thread's results. Queries without an answer count
    /// as lost.
    #[must_use]
    pub fn finish(mut self) -> Answered {
        self.close_before(u64::MAX);
        let Self { ledger, tally, timeline, response_latency, answered_ns, .. } = self;
        Answered { ledger, tally, timeline, response_latency, answered_ns }
    }
}

/// Returns the response code of `message`, an answer to query `index` of the workload, or the fault
/// of the answer.
fn check_answer(
    workload: &QueryWorkload,
    index: usize,
    message: &DnsMessage<'_>,
) -> Result<Rcode, AnswerFault> {
    let (header, rcode) = (message.header(), message.rcode());
    if !header.flags.has(Flags::RESPONSE) {
        return Err(AnswerFault::NotAResponse);
    }
    if header.flags.opcode() != workload.operation(index) {
        return Err(AnswerFault::Opcode);
    }
    // A server that could not read the question, or refused it, may leave it out.
    let is_refusal = !matches!(rcode, Rcode::NOERROR | Rcode::NXDOMAIN);
    let is_left_out = header.counts[0] == 0 && is_refusal;
    if !is_left_out && !workload.has_question_of(index, message) {
        return Err(AnswerFault::Question);
    }
    match workload.expected(index) {
        Some(expected) if !is_refusal => expected.compare(message).map(|()| rcode),
        _ => Ok(rcode),
    }
}
