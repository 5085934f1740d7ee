//! One thread of the generator: the loop between a schedule, a population and a socket.
//!
//! A turn sends what is due, takes in what has come, takes up offers, and sleeps when there is
//! nothing to do. Never sends early; never waits to fill a batch. Budget at saturation: 1 clock
//! reading and at most 2 `sendmmsg` per turn of up to 128 exchanges, 1 `recvmmsg` per 64 answers.
//!
//! An answer's time is `CLOCK_MONOTONIC` read right after the batch that brought it: the wall
//! clock of kernel time stamps may step. An answer that waits in the socket counts as late as it
//! is read, so a slow generator makes itself look worse, not better, and its verdict says why.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use load::Schedule;
use netio::receive::DEFAULT_SLOTS;
use netio::send::SendCounts;
use netio::{Clock, Outbox, PollFd, RecvBatch, Route, UdpSocket, poll};

use crate::leases::Resource;
use crate::population::{Finished, Outgoing, Population};
use crate::protocol::Protocol;

/// Receive calls per turn, so that a flood of answers cannot keep the schedule from being served.
const RECEIVES_PER_TURN: usize = 4;
/// A wait shorter than this is spent looking, because going to sleep and waking up takes as long.
const SPIN_NS: u64 = 10_000;
/// How often a silent thread looks at its stop flag and for expired exchanges.
const IDLE_NS: u64 = 20_000_000;

/// One thread's share of a run.
pub struct Lane<P: Protocol> {
    socket: UdpSocket,
    population: Population<P>,
    schedule: Schedule,
    outbox: Outbox,
    input: RecvBatch,
    quiet_ns: Option<u64>,
    /// Every message is sent twice.
    chatty: bool,
}

/// What a lane leaves behind.
pub struct LaneResult<R: Resource> {
    /// Outcomes, leases and messages.
    pub finished: Finished<R>,
    /// What the kernel took and refused.
    pub sends: SendCounts,
    /// Datagrams that the kernel dropped at the socket.
    pub socket_drops: u64,
    /// Processor time of the thread, nanoseconds.
    pub cpu_ns: u64,
    /// Messages still left in groups at the end.
    pub segmentation: bool,
    /// When the stop flag was seen, if it was before the schedule's end.
    pub stopped_ns: Option<u64>,
}

impl<P: Protocol> Lane<P> {
    /// A lane through `socket`. With `quiet_ns` it gives up what is open once the schedule has
    /// ended and nothing has come for so long.
    #[must_use]
    pub fn new(
        socket: UdpSocket,
        population: Population<P>,
        schedule: Schedule,
        route: Route,
        quiet_ns: Option<u64>,
    ) -> Self {
        let route_segments = route.segmentation;
        let outbox = Outbox::new(route, population.protocol().message_bytes_max());
        let input = if route_segments {
            RecvBatch::coalescing_into(DEFAULT_SLOTS)
        } else {
            RecvBatch::default()
        };
        Self { socket, population, schedule, outbox, input, quiet_ns, chatty: false }
    }

    /// The same with every message sent twice, or not.
    #[must_use]
    pub fn chatty(self, chatty: bool) -> Self {
        Self { chatty, ..self }
    }

    /// Queues a message that has been written into the slot, twice where clients are chatty.
    fn queue(&mut self, outgoing: Outgoing) -> io::Result<()> {
        self.outbox.push(outgoing.number, outgoing.len, outgoing.source);
        if self.chatty && !self.outbox.repeat() {
            self.flush()?;
        }
        Ok(())
    }

    /// Runs until the schedule has ended and no exchange is open, or for as long as exchanges are
    /// watched after `stop` was set.
    ///
    /// # Errors
    ///
    /// What the kernel reports for the socket.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<LaneResult<P::Resource>> {
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
            self.send_due(now_ns)?;
            let received = self.take_answers()?;
            let next_due_ns = self.schedule.next_due_ns();
            if received > 0 || next_due_ns.is_some() {
                heard_ns = now_ns;
            }
            let is_quiet = self.quiet_ns.is_some_and(|quiet_ns| now_ns - heard_ns > quiet_ns);
            self.population.expire(if is_quiet { u64::MAX } else { now_ns });
            if next_due_ns.is_none() && self.population.is_settled() {
                break;
            }
            if received == 0 {
                self.rest(next_due_ns)?;
            }
        }
        let segmentation = self.outbox.segmentation();
        let finished = self.population.finish();
        Ok(LaneResult {
            finished,
            sends: self.outbox.counts(),
            socket_drops: self.socket.drops()?.into(),
            cpu_ns: Clock::thread_cpu_ns() - cpu_start_ns,
            segmentation,
            stopped_ns,
        })
    }

    fn send_due(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(slot) = self.outbox.slot() {
            let Some(due_ns) = self.schedule.take(now_ns) else { break };
            if let Some(outgoing) = self.population.begin(due_ns, slot) {
                self.queue(outgoing)?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let population = &mut self.population;
        self.outbox.flush(&self.socket, |number, at_ns| population.left(number, at_ns))
    }

    /// Takes in what has come; returns how many datagrams.
    fn take_answers(&mut self) -> io::Result<usize> {
        let mut total = 0;
        for _ in 0..RECEIVES_PER_TURN {
            let count = self.input.receive(&self.socket)?;
            if count == 0 {
                break;
            }
            total += count;
            let now_ns = Clock::mono_ns();
            for index in 0..count {
                if self.outbox.slot().is_none() {
                    self.flush()?;
                }
                let slot = self.outbox.slot().expect("what waited has left");
                let datagram = self.input.get(index);
                if let Some(outgoing) = self.population.answer(now_ns, datagram.octets, slot) {
                    self.queue(outgoing)?;
                }
            }
            self.flush()?;
        }
        Ok(total)
    }

    /// Sleeps until an answer comes or the next exchange is due.
    fn rest(&self, next_due_ns: Option<u64>) -> io::Result<()> {
        let wait_ns = next_due_ns.map_or(IDLE_NS, |due| due.saturating_sub(Clock::mono_ns()));
        if wait_ns > SPIN_NS {
            poll(&mut [PollFd::readable(&self.socket)], Some(wait_ns.min(IDLE_NS)))?;
        }
        Ok(())
    }
}
