//! The socket of one thread of a generator with the messages that wait to leave it, as both loops of
//! this crate ([`crate::drive`], [`crate::perfdhcp::drive`]) use it.
//!
//! Never waits to fill a batch. Budget: 1 `recvmmsg` and 1 clock reading per 64 answers, 1 `sendmmsg`
//! per 128 messages; nothing is allocated after construction.
//!
//! An answer's time is `CLOCK_MONOTONIC` read right after the batch that brought it: the wall
//! clock of kernel time stamps may step. An answer that waits in the socket counts as late as it
//! is read, so a slow generator makes itself look worse, not better, and its verdict says why.

use std::io;

use base::time::NS_PER_MS;
use netio::receive::DEFAULT_SLOTS;
use netio::{Clock, Outbox, PollFd, RecvBatch, UdpSocket, poll};

use crate::perfdhcp::dialect::Dialect;
use crate::perfdhcp::traffic::Traffic;
use crate::population::{Outgoing, Population};
use crate::protocol::Protocol;

/// Receive calls per turn, so that a flood of answers cannot keep the schedule from being served.
const RECEIVES_PER_TURN: usize = 4;
/// A wait shorter than this is spent looking, because going to sleep and waking up takes as long.
const SPIN_NS: u64 = 10_000;
/// How often a silent thread looks at its stop flag and for what is overdue.
const IDLE_NS: u64 = 10 * NS_PER_MS;

/// The requests that messages belong to.
pub trait Requests {
    /// Takes in a datagram received at `now_ns`. When it calls for a further message, that is written
    /// into `buffer`.
    fn answer(&mut self, now_ns: u64, octets: &[u8], buffer: &mut [u8]) -> Option<Outgoing>;

    /// Notes that the kernel took the message named `name` at `at_ns`.
    fn left(&mut self, name: u64, at_ns: u64);
}

/// A socket, what waits to leave it, and room for what comes.
pub struct Wire {
    /// The socket.
    pub socket: UdpSocket,
    /// What waits.
    pub outbox: Outbox,
    input: RecvBatch,
    /// Every message is sent twice, where there is room.
    chatty: bool,
    /// How long a turn that did something lasts at least.
    turn_ns: u64,
}

impl Wire {
    /// `socket`, and `outbox` for what leaves it. With `coalesced` the socket takes answers in groups
    /// ([`UdpSocket::coalesce`]).
    #[must_use]
    pub fn new(socket: UdpSocket, outbox: Outbox, coalesced: bool) -> Self {
        let input = if coalesced {
            RecvBatch::coalescing_into(DEFAULT_SLOTS)
        } else {
            RecvBatch::default()
        };
        Self { socket, outbox, input, chatty: false, turn_ns: 0 }
    }

    /// The same with every message sent twice, or not.
    #[must_use]
    pub fn chatty(self, chatty: bool) -> Self {
        Self { chatty, ..self }
    }

    /// The same with turns that do something `turn_ns` apart at least, so that more is sent and read in
    /// each; at once without.
    #[must_use]
    pub fn paced(self, turn_ns: u64) -> Self {
        Self { turn_ns, ..self }
    }

    /// True unless what waits must be sent first.
    pub fn has_room(&mut self) -> bool {
        self.outbox.slot().is_some()
    }

    /// Queues the message that `write` writes, if it does and there is room; whether it did.
    pub fn put(&mut self, write: impl FnOnce(&mut [u8]) -> Option<Outgoing>) -> bool {
        let Some(outgoing) = self.outbox.slot().and_then(write) else { return false };
        self.queue(outgoing);
        true
    }

    fn queue(&mut self, outgoing: Outgoing) {
        self.outbox.push(outgoing.number, outgoing.len, outgoing.source);
        if self.chatty {
            self.outbox.repeat();
        }
    }

    /// Sends all that waits.
    ///
    /// # Errors
    ///
    /// What the kernel reports for the socket.
    pub fn flush(&mut self, requests: &mut impl Requests) -> io::Result<()> {
        self.outbox.flush(&self.socket, |name, at_ns| requests.left(name, at_ns))
    }

    /// Takes in what has come, and sends what it calls for; returns how many datagrams.
    ///
    /// # Errors
    ///
    /// As [`Wire::flush`].
    pub fn take_answers(&mut self, requests: &mut impl Requests) -> io::Result<usize> {
        let mut total = 0;
        for _ in 0..RECEIVES_PER_TURN {
            let count = self.input.receive(&self.socket)?;
            if count == 0 {
                break;
            }
            total += count;
            let now_ns = Clock::mono_ns();
            for index in 0..count {
                if !self.has_room() {
                    self.flush(requests)?;
                }
                let slot = self.outbox.slot().expect("what waited has left");
                let octets = self.input.get(index).octets;
                if let Some(outgoing) = requests.answer(now_ns, octets, slot) {
                    self.queue(outgoing);
                }
            }
            self.flush(requests)?;
            if !self.input.is_full() {
                break;
            }
        }
        Ok(total)
    }

    /// Sleeps until a turn that began at `began_ns`, and sent or read something, has taken its time.
    ///
    /// # Errors
    ///
    /// What `ppoll(2)` reports.
    pub fn pace(&self, began_ns: u64) -> io::Result<()> {
        if self.turn_ns > 0 {
            let left_ns = (began_ns + self.turn_ns).saturating_sub(Clock::mono_ns());
            if left_ns > 0 {
                poll(&mut [], Some(left_ns))?;
            }
        }
        Ok(())
    }

    /// Sleeps until an answer comes or it is `next_ns`.
    ///
    /// # Errors
    ///
    /// What `ppoll(2)` reports.
    pub fn rest(&self, next_ns: Option<u64>) -> io::Result<()> {
        let now_ns = Clock::mono_ns();
        let wait_ns = next_ns.map_or(IDLE_NS, |next_ns| next_ns.saturating_sub(now_ns));
        let wait_ns = wait_ns.max(self.turn_ns);
        if wait_ns > SPIN_NS {
            poll(&mut [PollFd::readable(&self.socket)], Some(wait_ns.min(IDLE_NS)))?;
        }
        Ok(())
    }
}

impl<P: Protocol> Requests for Population<P> {
    fn answer(&mut self, now_ns: u64, octets: &[u8], buffer: &mut [u8]) -> Option<Outgoing> {
        Self::answer(self, now_ns, octets, buffer)
    }

    fn left(&mut self, name: u64, at_ns: u64) {
        Self::left(self, name, at_ns);
    }
}

impl<D: Dialect> Requests for Traffic<D> {
    fn answer(&mut self, now_ns: u64, octets: &[u8], buffer: &mut [u8]) -> Option<Outgoing> {
        Self::answer(self, now_ns, octets, buffer)
    }

    fn left(&mut self, name: u64, at_ns: u64) {
        Self::left(self, name, at_ns);
    }
}
