//! Generator thread whose queries all go over TCP: the loop between a schedule, queries and
//! connections.
//!
//! As over UDP, the thread never sends early and never waits to fill a batch, and the time of an
//! answer is the clock read right after the read that brought it. A query has left when it was
//! handed to its connection; delays after that are the server's.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use netio::send::SendCounts;
use netio::{Clock, PollFd, ReadyList, poll};

use super::Connections;
use crate::drive::{DnsThreadResult, QUERIES_PER_TURN, wait_ns};
use crate::exchanges::Exchanges;
use crate::pacer::QueryPacer;

/// Generator thread with its share of a run over TCP: its connections, queries and schedule.
pub(crate) struct TcpGeneratorThread<'w> {
    pub(crate) connections: Connections,
    pub(crate) list: ReadyList,
    pub(crate) exchanges: Exchanges<'w>,
    pub(crate) pacer: QueryPacer,
    pub(crate) linger_ns: u64,
    /// Buffer for the next query, as long as the longest one.
    pub(crate) query: Vec<u8>,
}

impl TcpGeneratorThread<'_> {
    /// Runs the thread until the schedule has ended, no query is open and the connections have been
    /// silent, or, after `stop` was set, for as long as queries are watched.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for the list of connections. An error of one
    /// connection ends only that connection.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<DnsThreadResult> {
        let cpu_start_ns = Clock::thread_cpu_ns();
        let list = self.list;
        let mut stopped_ns = None;
        let mut heard_ns = Clock::mono_ns();
        loop {
            let now_ns = Clock::mono_ns();
            let waiting = self.exchanges.unsettled();
            if self.pacer.next_ns(now_ns, waiting).is_some() && stop.load(Ordering::Relaxed) {
                self.pacer.end_at(now_ns);
                stopped_ns = Some(now_ns);
            }
            for _ in 0..QUERIES_PER_TURN {
                let waiting = self.exchanges.unsettled();
                let Some(due_ns) = self.pacer.take_due_ns(now_ns, waiting) else { break };
                let port = self.exchanges.next_port();
                let Some(outgoing) = self.exchanges.begin(due_ns, &mut self.query) else {
                    continue;
                };
                self.exchanges.record_departure(outgoing.number, now_ns);
                self.connections.send(&list, port, now_ns, &self.query[..outgoing.len])?;
            }
            self.connections.flush(&list, now_ns)?;
            let next_due_ns = self.pacer.next_ns(now_ns, self.exchanges.unsettled());
            let is_over = next_due_ns.is_none() && self.exchanges.is_settled();
            let was_silent = is_over && now_ns.saturating_sub(heard_ns) >= self.linger_ns;
            if !is_over {
                heard_ns = now_ns;
            }
            let wait_ns = if was_silent { 0 } else { wait_ns(next_due_ns) };
            let is_ready = poll(&mut [PollFd::readable(&list)], Some(wait_ns))? > 0;
            // What came while the thread stood still counts as heard.
            if was_silent && !is_ready {
                break;
            }
            if is_ready {
                self.connections.turn(&list, &mut self.exchanges)?;
                if next_due_ns.is_none() {
                    // The thread may have stood still since the turn began.
                    heard_ns = Clock::mono_ns();
                }
            }
            self.exchanges.expire(now_ns);
        }
        Ok(DnsThreadResult {
            answered: self.exchanges.finish(),
            sends: SendCounts::default(),
            connections: self.connections.finish(),
            socket_drops: 0,
            too_long: 0,
            cpu_ns: Clock::thread_cpu_ns() - cpu_start_ns,
            segmentation: false,
            stopped_ns,
            ran_out_ns: self.pacer.ran_out_ns(),
        })
    }
}
