//! The socket of one thread of a generator with the messages that wait to leave it, as both loops of
//! this crate ([`crate::drive`], [`crate::perfdhcp::drive`]) use it: a UDP socket, or for clients on the
//! own link its frames ([`crate::link`]).
//!
//! Never waits to fill a batch. Budget: 1 `recvmmsg` and 1 clock reading per 64 answers, 1 `sendmmsg`
//! per 128 messages; nothing is allocated after construction.
//!
//! An answer's time is `CLOCK_MONOTONIC` read right after the batch that brought it: the wall
//! clock of kernel time stamps may step. An answer that waits in the socket counts as late as it
//! is read, so a slow generator makes itself look worse, not better, and its verdict says why.

use std::io;
use std::net::Ipv4Addr;

use base::time::NS_PER_MS;
use netio::receive::DEFAULT_SLOTS;
use netio::send::SendCounts;
use netio::{Clock, Outbox, PollFd, RecvBatch, UdpSocket, poll};
use packet_wire::frame::Endpoints;

use crate::link::Link;
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

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// What it carries.
    pub octets: &'a [u8],
    /// Who its frame was from and for, when it was taken from one.
    pub endpoints: Option<Endpoints>,
    /// A header or a checksum is wrong, for which no station would have taken it.
    pub is_damaged: bool,
}

impl<'a> Incoming<'a> {
    /// What a UDP socket gave.
    #[must_use]
    pub const fn of(octets: &'a [u8]) -> Self {
        Self { octets, endpoints: None, is_damaged: false }
    }
}

/// The requests that messages belong to.
pub trait Requests {
    /// Takes in a datagram received at `now_ns`. When it calls for a further message, that is written
    /// into `buffer`.
    fn answer(
        &mut self,
        now_ns: u64,
        incoming: &Incoming<'_>,
        buffer: &mut [u8],
    ) -> Option<Outgoing>;

    /// Notes that the kernel took the message named `name` at `at_ns`.
    fn left(&mut self, name: u64, at_ns: u64);

    /// The hardware address of the client that has `address` at `now_ns` and says so when it is asked.
    fn holder(&mut self, _now_ns: u64, _address: Ipv4Addr) -> Option<[u8; 6]> {
        None
    }

    /// The next client that tells everybody of its new address: its hardware address, and that.
    fn announcement(&mut self) -> Option<([u8; 6], Ipv4Addr)> {
        None
    }
}

/// A socket, what waits to leave it, and room for what comes.
pub struct Wire(Carrier);

enum Carrier {
    Datagrams(Box<Datagrams>),
    Frames(Box<Link>),
}

struct Datagrams {
    socket: UdpSocket,
    outbox: Outbox,
    input: RecvBatch,
    received: usize,
    /// Every message is sent twice, where there is room.
    chatty: bool,
    /// How long a turn that did something lasts at least.
    turn_ns: u64,
}

impl Datagrams {
    fn push(&mut self, outgoing: Outgoing) {
        self.outbox.push(outgoing.number, outgoing.len, outgoing.source);
        if self.chatty {
            self.outbox.repeat();
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        self.received = self.input.receive(&self.socket)?;
        Ok(self.received)
    }

    fn message(&mut self, index: usize) -> Option<(Incoming<'_>, &mut [u8])> {
        Some((Incoming::of(self.input.get(index).octets), self.outbox.slot()?))
    }
}

impl Carrier {
    fn slot(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Datagrams(datagrams) => datagrams.outbox.slot(),
            Self::Frames(link) => link.slot(),
        }
    }

    fn push(&mut self, outgoing: Outgoing) {
        match self {
            Self::Datagrams(datagrams) => datagrams.push(outgoing),
            Self::Frames(link) => link.push(outgoing),
        }
    }

    fn flush(&mut self, left: impl FnMut(u64, u64)) -> io::Result<()> {
        match self {
            Self::Datagrams(datagrams) => datagrams.outbox.flush(&datagrams.socket, left),
            Self::Frames(link) => link.flush(left),
        }
    }

    /// Takes what waits, as much as there is room for; 0 when nothing does.
    fn receive(&mut self) -> io::Result<usize> {
        match self {
            Self::Datagrams(datagrams) => datagrams.receive(),
            Self::Frames(link) => link.receive(),
        }
    }

    /// How many messages the last call brought.
    const fn messages(&self) -> usize {
        match self {
            Self::Datagrams(datagrams) => datagrams.received,
            Self::Frames(link) => link.messages(),
        }
    }

    /// One of them, with room for what it calls for; `None` when what waits must be sent first.
    fn message(&mut self, index: usize) -> Option<(Incoming<'_>, &mut [u8])> {
        match self {
            Self::Datagrams(datagrams) => datagrams.message(index),
            Self::Frames(link) => link.message(index),
        }
    }
}

impl Wire {
    /// The frames of `link`.
    #[must_use]
    pub fn on_link(link: Link) -> Self {
        Self(Carrier::Frames(Box::new(link)))
    }

    /// `socket`, and `outbox` for what leaves it. With `coalesced` the socket takes answers in groups
    /// ([`UdpSocket::coalesce`]).
    #[must_use]
    pub fn new(socket: UdpSocket, outbox: Outbox, coalesced: bool) -> Self {
        let input = if coalesced {
            RecvBatch::coalescing_into(DEFAULT_SLOTS)
        } else {
            RecvBatch::default()
        };
        let datagrams = Datagrams { socket, outbox, input, received: 0, chatty: false, turn_ns: 0 };
        Self(Carrier::Datagrams(Box::new(datagrams)))
    }

    /// The same with every datagram sent twice, or not.
    #[must_use]
    pub fn chatty(mut self, chatty: bool) -> Self {
        if let Carrier::Datagrams(datagrams) = &mut self.0 {
            datagrams.chatty = chatty;
        }
        self
    }

    /// What the kernel took and refused so far.
    #[must_use]
    pub const fn counts(&self) -> SendCounts {
        match &self.0 {
            Carrier::Datagrams(datagrams) => datagrams.outbox.counts(),
            Carrier::Frames(link) => link.counts(),
        }
    }

    /// True while messages leave in groups.
    #[must_use]
    pub const fn segmentation(&self) -> bool {
        match &self.0 {
            Carrier::Datagrams(datagrams) => datagrams.outbox.segmentation(),
            Carrier::Frames(_) => false,
        }
    }

    /// What the kernel dropped because the socket was full.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn drops(&mut self) -> io::Result<u64> {
        match &mut self.0 {
            Carrier::Datagrams(datagrams) => datagrams.socket.drops().map(u64::from),
            Carrier::Frames(link) => link.drops(),
        }
    }

    /// The same with turns that do something `turn_ns` apart at least, so that more is sent and read in
    /// each; at once without.
    #[must_use]
    pub fn paced(mut self, turn_ns: u64) -> Self {
        if let Carrier::Datagrams(datagrams) = &mut self.0 {
            datagrams.turn_ns = turn_ns;
        }
        self
    }

    const fn turn_ns(&self) -> u64 {
        match &self.0 {
            Carrier::Datagrams(datagrams) => datagrams.turn_ns,
            Carrier::Frames(_) => 0,
        }
    }

    /// True unless what waits must be sent first.
    pub fn has_room(&mut self) -> bool {
        self.0.slot().is_some()
    }

    /// Queues the message that `write` writes, if it does and there is room; whether it did.
    pub fn put(&mut self, write: impl FnOnce(&mut [u8]) -> Option<Outgoing>) -> bool {
        let Some(outgoing) = self.0.slot().and_then(write) else { return false };
        self.0.push(outgoing);
        true
    }

    /// Sends all that waits.
    ///
    /// # Errors
    ///
    /// What the kernel reports for the socket.
    pub fn flush(&mut self, requests: &mut impl Requests) -> io::Result<()> {
        self.0.flush(|name, at_ns| requests.left(name, at_ns))
    }

    /// Takes in what has come, and sends what it calls for; returns how many datagrams or frames.
    ///
    /// # Errors
    ///
    /// As [`Wire::flush`].
    pub fn take_answers(&mut self, requests: &mut impl Requests) -> io::Result<usize> {
        let mut total = 0;
        for _ in 0..RECEIVES_PER_TURN {
            let count = self.0.receive()?;
            if count == 0 {
                break;
            }
            total += count;
            let now_ns = Clock::mono_ns();
            for index in 0..self.0.messages() {
                if !self.has_room() {
                    self.flush(requests)?;
                }
                let (incoming, slot) = self.0.message(index).expect("what waited has left");
                if let Some(outgoing) = requests.answer(now_ns, &incoming, slot) {
                    self.0.push(outgoing);
                }
            }
            self.flush(requests)?;
            if let Carrier::Frames(link) = &mut self.0 {
                link.answer_arp(|address| requests.holder(now_ns, address));
                while let Some((mac, address)) = requests.announcement() {
                    if link.slot().is_none() {
                        link.flush(|name, at_ns| requests.left(name, at_ns))?;
                    }
                    link.announce(mac, address);
                }
                self.flush(requests)?;
            }
            if matches!(&self.0, Carrier::Datagrams(datagrams) if !datagrams.input.is_full()) {
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
        if self.turn_ns() > 0 {
            let left_ns = (began_ns + self.turn_ns()).saturating_sub(Clock::mono_ns());
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
        let wait_ns = wait_ns.max(self.turn_ns());
        if wait_ns > SPIN_NS {
            let readable = match &self.0 {
                Carrier::Datagrams(datagrams) => PollFd::readable(&datagrams.socket),
                Carrier::Frames(link) => link.readable(),
            };
            poll(&mut [readable], Some(wait_ns.min(IDLE_NS)))?;
        }
        Ok(())
    }
}

impl<P: Protocol> Requests for Population<P> {
    fn answer(
        &mut self,
        now_ns: u64,
        incoming: &Incoming<'_>,
        buffer: &mut [u8],
    ) -> Option<Outgoing> {
        Self::answer(self, now_ns, incoming.octets, buffer)
    }

    fn left(&mut self, name: u64, at_ns: u64) {
        Self::left(self, name, at_ns);
    }
}

impl<D: Dialect> Requests for Traffic<D> {
    fn answer(
        &mut self,
        now_ns: u64,
        incoming: &Incoming<'_>,
        buffer: &mut [u8],
    ) -> Option<Outgoing> {
        Self::answer(self, now_ns, incoming, buffer)
    }

    fn left(&mut self, name: u64, at_ns: u64) {
        Self::left(self, name, at_ns);
    }

    fn holder(&mut self, now_ns: u64, address: Ipv4Addr) -> Option<[u8; 6]> {
        Self::holder(self, now_ns, address)
    }

    fn announcement(&mut self) -> Option<([u8; 6], Ipv4Addr)> {
        Self::announcement(self)
    }
}
