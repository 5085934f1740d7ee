//! Generator thread for queries over UDP: the loop between a schedule, queries and ports.
//!
//! A turn sends the queries that are due, waits until a port can be read or the next query is due,
//! and reads the answers that have come. The thread never sends early, and never waits to fill a
//! batch. Budget at saturation: one `epoll_wait`, one clock reading and a `sendmmsg` per 16
//! queries, per turn of up to 128 queries, in addition to the budget of [`crate::input`].
//!
//! The time of an answer is `CLOCK_MONOTONIC`, read when its batch has come, so a slow generator
//! makes itself look worse, not better. The list of TCP connections for queries with truncated
//! answers, if there are any, is one more descriptor to wait for.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use netio::send::SendCounts;
use netio::{Clock, MessageOutbox, PollFd, ReadyList, UdpSocket, poll};

use crate::exchanges::{Answered, Exchanges};
use crate::input::AnswerSource;
use crate::pacer::QueryPacer;
use crate::tcp::{ConnectionCounts, Connections};

/// Largest number of queries that one turn of a generator thread sends, so that answers are read
/// while the schedule is late.
pub(crate) const QUERIES_PER_TURN: usize = 128;
/// Shortest wait, in nanoseconds, for which a generator thread sleeps. It polls during shorter
/// waits, because going to sleep and waking up takes as long.
const SPIN_NS: u64 = 10_000;
/// Interval, in nanoseconds, at which a thread without answers looks at its stop flag and for
/// expired queries.
const IDLE_NS: u64 = 20_000_000;

/// Generator thread with its share of a run: its ports, queries and schedule.
pub(crate) struct DnsLoadThread<'w> {
    pub(crate) ports: Vec<UdpSocket>,
    /// Source address of each port of the thread.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) server: SocketAddr,
    pub(crate) exchanges: Exchanges<'w>,
    pub(crate) pacer: QueryPacer,
    pub(crate) linger_ns: u64,
    pub(crate) outbox: MessageOutbox,
    pub(crate) input: AnswerSource,
    /// TCP connections over which the thread sends queries with truncated answers again, if the run
    /// does that.
    pub(crate) fallback: Option<(ReadyList, Fallback)>,
}

/// TCP connections of a thread in addition to its ports, for queries with truncated answers.
pub(crate) struct Fallback {
    pub(crate) connections: Connections,
    /// Buffer for a query that is sent again over TCP, as long as the longest one.
    pub(crate) query: Vec<u8>,
}

impl Fallback {
    /// Sends queries again over TCP whose answers were truncated, and reads the answers that have
    /// come.
    fn turn(&mut self, list: &ReadyList, exchanges: &mut Exchanges<'_>) -> io::Result<()> {
        let now_ns = Clock::mono_ns();
        while let Some((port, len)) = exchanges.next_tcp_retry(&mut self.query) {
            self.connections.send(list, port, now_ns, &self.query[..len])?;
        }
        self.connections.flush(list, now_ns)?;
        self.connections.turn(list, exchanges)
    }
}

/// Results of one generator thread.
pub(crate) struct DnsThreadResult {
    /// Outcomes of the thread's queries and counts of its datagrams.
    pub(crate) answered: Answered,
    /// Counts of the thread's queries that the kernel took and refused.
    pub(crate) sends: SendCounts,
    /// Counts of the thread's TCP connections.
    pub(crate) connections: ConnectionCounts,
    /// Number of datagrams that the kernel dropped at the thread's ports.
    pub(crate) socket_drops: u64,
    /// Number of received datagrams longer than the largest accepted answer.
    pub(crate) too_long: u64,
    /// Processor time of the thread, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// True if the kernel still sent queries in groups (UDP_SEGMENT) at the end.
    pub(crate) segmentation: bool,
    /// Time at which the thread saw the stop flag, in nanoseconds of the monotonic clock, if that
    /// was before the schedule's end.
    pub(crate) stopped_ns: Option<u64>,
    /// Time at which the thread began the last of a limited number of queries, in nanoseconds of
    /// the monotonic clock.
    pub(crate) ran_out_ns: Option<u64>,
}

impl DnsLoadThread<'_> {
    /// Runs the thread until the schedule has ended, no query is open and the ports have been
    /// silent, or, after `stop` was set, for as long as queries are watched.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for a port.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<DnsThreadResult> {
        let cpu_start_ns = Clock::thread_cpu_ns();
        let ports = std::mem::take(&mut self.ports);
        let (list, mut fallback) = self.fallback.take().unzip();
        // With `ppoll` alone 64 silent ports cost more in each turn than the query that it sends.
        let ready = ReadyList::new()?;
        self.input.watch(&ready, &ports)?;
        let list_number = ports.len() as u32;
        if let Some(list) = &list {
            ready.add(list, list_number)?;
        }
        let mut numbers = Vec::with_capacity(ports.len() + 1);
        let mut stopped_ns = None;
        let mut heard_ns = Clock::mono_ns();
        loop {
            let now_ns = Clock::mono_ns();
            let is_scheduled = self.next_ns(now_ns).is_some();
            if is_scheduled && stop.load(Ordering::Relaxed) {
                self.pacer.end_at(now_ns);
                stopped_ns = Some(now_ns);
            }
            self.send_due(&ports, now_ns)?;
            let next_due_ns = self.next_ns(now_ns);
            let is_over = next_due_ns.is_none() && self.exchanges.is_settled();
            let was_silent = is_over && now_ns.saturating_sub(heard_ns) >= self.linger_ns;
            if !is_over {
                heard_ns = now_ns;
            }
            wait(&ready, if was_silent { 0 } else { wait_ns(next_due_ns) })?;
            ready.look(&mut numbers)?;
            // What came while the thread stood still counts as heard.
            if was_silent && numbers.is_empty() {
                break;
            }
            for port in numbers.iter().filter(|number| **number != list_number) {
                self.input.process_answers(
                    *port as usize,
                    &ports,
                    self.server,
                    &mut self.exchanges,
                )?;
            }
            let fallback = list.as_ref().zip(fallback.as_mut());
            if !numbers.is_empty()
                && let Some((list, fallback)) = fallback
            {
                fallback.turn(list, &mut self.exchanges)?;
            }
            if next_due_ns.is_none() && !numbers.is_empty() {
                // The thread may have stood still since the turn began.
                heard_ns = Clock::mono_ns();
            }
            self.exchanges.expire(now_ns);
        }
        Ok(DnsThreadResult {
            answered: self.exchanges.finish(),
            sends: self.outbox.counts(),
            connections: fallback.map_or_else(Default::default, |it| it.connections.finish()),
            socket_drops: self.input.drops(&ports)?,
            too_long: self.input.too_long(),
            cpu_ns: Clock::thread_cpu_ns() - cpu_start_ns,
            segmentation: self.outbox.segmentation(),
            stopped_ns,
            ran_out_ns: self.pacer.ran_out_ns(),
        })
    }

    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        self.pacer.next_ns(now_ns, self.exchanges.unsettled())
    }

    fn send_due(&mut self, ports: &[UdpSocket], now_ns: u64) -> io::Result<()> {
        let mut port = self.exchanges.next_port();
        let sends_frames = self.outbox.sends_frames();
        for _ in 0..QUERIES_PER_TURN {
            // A batch of datagrams leaves by one port.
            let next_port = self.exchanges.next_port();
            if next_port != port && !sends_frames {
                self.flush(&ports[port])?;
            }
            port = next_port;
            let Some(slot) = self.outbox.slot() else { break };
            let waiting = self.exchanges.unsettled();
            let Some(due_ns) = self.pacer.take_due_ns(now_ns, waiting) else { break };
            if let Some(outgoing) = self.exchanges.begin(due_ns, slot) {
                self.outbox.leave_from(self.addresses[port]);
                self.outbox.push(outgoing.number, outgoing.len, 0);
            }
        }
        self.flush(&ports[port])
    }

    fn flush(&mut self, port: &UdpSocket) -> io::Result<()> {
        let exchanges = &mut self.exchanges;
        self.outbox.flush(port, |number, at_ns| exchanges.record_departure(number, at_ns))
    }
}

/// Waits until a descriptor in `ready` can be read, but at most `wait_ns` nanoseconds.
fn wait(ready: &ReadyList, wait_ns: u64) -> io::Result<()> {
    if wait_ns == 0 {
        Ok(())
    } else {
        poll(&mut [PollFd::readable(ready)], Some(wait_ns)).map(drop)
    }
}

/// Returns the longest time for which a thread may wait for answers, in nanoseconds.
pub(crate) fn wait_ns(next_due_ns: Option<u64>) -> u64 {
    let wait_ns = next_due_ns.map_or(IDLE_NS, |due_ns| due_ns.saturating_sub(Clock::mono_ns()));
    if wait_ns > SPIN_NS { wait_ns.min(IDLE_NS) } else { 0 }
}
