//! One thread of the generator: the loop between a schedule, a population and a socket.
//!
//! A send and receive cycle (a turn) sends the requests that are due, reads the replies that have
//! arrived, takes up offers, and sleeps when there is nothing to do. The thread never sends early.
//! Budget at saturation: 1 clock reading and at most 2 `sendmmsg` calls per turn of up to 128
//! exchanges, in addition to the budget of [`crate::wire`].

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use base::time::NS_PER_MS;
use load::Schedule;
use netio::Clock;
use netio::send::SendCounts;

use crate::leases::LeasedResource;
use crate::population::{Population, ThreadExchangeResults};
use crate::protocol::DhcpLoadProtocol;
use crate::wire::GeneratorSocket;

/// Silence of a generator's socket after its last exchange has ended, in nanoseconds, before the
/// thread stops: 50 ms, because a second reply to the last request comes after the first one.
pub(crate) const LINGER_NS: u64 = 50 * NS_PER_MS;

/// Generator thread with its share of a run: its socket, exchanges and schedule.
pub struct DhcpLoadThread<P: DhcpLoadProtocol> {
    wire: GeneratorSocket,
    population: Population<P>,
    schedule: Schedule,
    quiet_ns: Option<u64>,
    linger_ns: u64,
}

/// Results of one thread of the load generator.
pub struct DhcpThreadResult<R: LeasedResource> {
    /// Outcomes, leases and messages of the thread's exchanges.
    pub finished: ThreadExchangeResults<R>,
    /// Counts of the thread's messages that the kernel took and refused.
    pub sends: SendCounts,
    /// Number of datagrams that the kernel dropped at the thread's socket.
    pub socket_drops: u64,
    /// Processor time of the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// True if the kernel still sent the thread's messages in groups (UDP_SEGMENT) at the end.
    pub segmentation: bool,
    /// Time at which the thread saw the stop flag (the user's interruption), in nanoseconds of the
    /// monotonic clock, if that was before the schedule's end.
    pub stopped_ns: Option<u64>,
}

impl<P: DhcpLoadProtocol> DhcpLoadThread<P> {
    /// Creates a thread that sends the exchanges of `population` through `wire` when `schedule`
    /// says so. With `quiet_ns` the thread gives up open exchanges once the schedule has ended and
    /// no reply has come for that many nanoseconds.
    pub fn new(
        wire: GeneratorSocket,
        population: Population<P>,
        schedule: Schedule,
        quiet_ns: Option<u64>,
    ) -> Self {
        Self { wire, population, schedule, quiet_ns, linger_ns: LINGER_NS }
    }

    /// Returns the thread with another time of silence of its socket before its end, in
    /// nanoseconds.
    #[must_use]
    pub fn lingering(self, linger_ns: u64) -> Self {
        Self { linger_ns, ..self }
    }

    /// Runs the thread until the schedule has ended and no exchange is open, or, after `stop` was
    /// set, for as long as exchanges are watched.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for the socket.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<DhcpThreadResult<P::Resource>> {
        let cpu_start_ns = Clock::thread_cpu_ns();
        let mut stopped_ns = None;
        let mut heard_ns = Clock::mono_ns();
        loop {
            let now_ns = Clock::mono_ns();
            if stopped_ns.is_none()
                && self.schedule.next_due_ns().is_some()
                && stop.load(Ordering::Relaxed)
            {
                self.schedule.end_at(now_ns);
                stopped_ns = Some(now_ns);
            }
            let sent = self.send_due(now_ns)?;
            let received = self.wire.receive_replies(&mut self.population)?;
            let next_due_ns = self.schedule.next_due_ns();
            if next_due_ns.is_some() {
                heard_ns = now_ns;
            } else if sent || received > 0 {
                // The thread may have stood still since the turn began.
                heard_ns = Clock::mono_ns();
            }
            let silent_ns = now_ns.saturating_sub(heard_ns);
            let was_settled = self.population.is_settled();
            let is_quiet = self.quiet_ns.is_some_and(|quiet_ns| silent_ns > quiet_ns);
            self.population.expire(if is_quiet { u64::MAX } else { now_ns });
            let is_over = next_due_ns.is_none() && self.population.is_settled();
            // The thread gave these exchanges up after a silence, so it has waited long enough
            // already.
            if is_over && (!was_settled || silent_ns >= self.linger_ns) {
                break;
            }
            if sent || received > 0 {
                self.wire.pace(now_ns)?;
            } else {
                self.wire.wait_for_reply(next_due_ns)?;
            }
        }
        let segmentation = self.wire.segmentation();
        let finished = self.population.finish();
        Ok(DhcpThreadResult {
            finished,
            sends: self.wire.counts(),
            socket_drops: self.wire.drops()?,
            cpu_ns: Clock::thread_cpu_ns() - cpu_start_ns,
            segmentation,
            stopped_ns,
        })
    }

    fn send_due(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut is_any = false;
        while self.wire.has_room()
            && let Some(due_ns) = self.schedule.take(now_ns)
        {
            is_any = true;
            self.wire.queue_message(|slot| self.population.begin(due_ns, slot));
        }
        self.wire.flush(&mut self.population)?;
        Ok(is_any)
    }
}
