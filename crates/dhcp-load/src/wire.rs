//! Socket of one generator thread with the messages that wait to leave, used by the loops of
//! `godwit load` ([`crate::drive`]) and `godwit perfdhcp` ([`crate::perfdhcp::drive`]): a UDP
//! socket, or the frames of a link ([`crate::link`]) for clients that are on it themselves.
//!
//! The socket never waits to fill a batch. Budget: 1 `recvmmsg` and 1 clock reading per 64 replies,
//! 1 `sendmmsg` per 128 messages; nothing is allocated after construction.
//!
//! The time of a reply is `CLOCK_MONOTONIC`, read right after the batch that brought it, because
//! the wall clock of kernel time stamps may step. The time that a reply waits in the socket counts
//! as latency, so a slow generator reports a worse result, not a better one, and the reason for it.

use std::io;
use std::net::Ipv4Addr;

use base::time::NS_PER_MS;
use netio::receive::DEFAULT_SLOTS;
use netio::send::SendCounts;
use netio::{Clock, MessageOutbox, PollFd, RecvBatch, UdpSocket, poll};
use packet_wire::frame::Endpoints;

use crate::link::FrameLink;

/// Number of receive calls per send and receive cycle of a generator thread, limited so that a
/// flood of replies cannot delay the requests that are due.
const RECEIVES_PER_TURN: usize = 4;
/// Shortest wait, in nanoseconds, for which a generator thread sleeps. It polls during shorter
/// waits, because going to sleep and waking up takes as long.
const SPIN_NS: u64 = 10_000;
/// Interval, in nanoseconds, at which a generator thread without replies looks at its stop flag and
/// for overdue requests.
const IDLE_NS: u64 = 10 * NS_PER_MS;

/// Datagram that a generator's socket or link received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDatagram<'a> {
    /// Payload of the received datagram: a DHCP message, unless it is malformed.
    pub octets: &'a [u8],
    /// Source and destination of the datagram's Ethernet frame; `None` when a UDP socket received
    /// it.
    pub endpoints: Option<Endpoints>,
    /// True if a header or a checksum of the datagram is wrong, so that no station would have
    /// accepted it.
    pub is_damaged: bool,
}

impl<'a> ReceivedDatagram<'a> {
    /// Wraps a datagram that a UDP socket received.
    pub const fn from_udp(octets: &'a [u8]) -> Self {
        Self { octets, endpoints: None, is_damaged: false }
    }
}

/// DHCP message that was written into the given buffer and must be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Number of the exchange that the message belongs to.
    pub number: u64,
    /// Length of the DHCP message, in bytes.
    pub len: usize,
    /// Index of the source address that the message leaves from.
    pub source: usize,
    /// Source and destination of the message's Ethernet frame; `None` when it leaves by a UDP
    /// socket.
    pub endpoints: Option<Endpoints>,
}

impl OutgoingMessage {
    /// Creates a message of `len` bytes of exchange `number` for a UDP socket.
    pub const fn datagram(number: u64, len: usize, source: usize) -> Self {
        Self { number, len, source, endpoints: None }
    }
}

/// Requests of simulated clients, which a [`GeneratorSocket`] sends and hands the replies to.
pub trait Requests {
    /// Processes a datagram received at `now_ns` and returns the message that answers it, written
    /// into `buffer`, if one must be sent.
    fn process_datagram(
        &mut self,
        now_ns: u64,
        incoming: &ReceivedDatagram<'_>,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage>;

    /// Notes that the kernel took the message with number `name` at `at_ns`.
    fn record_sent(&mut self, name: u64, at_ns: u64);

    /// Returns the hardware address of the client that has `address` at `now_ns` and answers ARP
    /// requests for it.
    fn holder(&mut self, _now_ns: u64, _address: Ipv4Addr) -> Option<[u8; 6]> {
        None
    }

    /// Returns the hardware address and the new address of the next client that announces its
    /// address.
    fn announcement(&mut self) -> Option<([u8; 6], Ipv4Addr)> {
        None
    }
}

/// Socket of one generator thread with its output queue and its receive buffers.
pub struct GeneratorSocket(GeneratorTransport);

enum GeneratorTransport {
    Datagrams(Box<GeneratorUdpSocket>),
    Frames(Box<FrameLink>),
}

struct GeneratorUdpSocket {
    socket: UdpSocket,
    outbox: MessageOutbox,
    input: RecvBatch,
    received: usize,
    /// True if every message is sent twice, where there is room in the output queue.
    chatty: bool,
    /// Shortest duration of a send and receive cycle (turn) that sent or received something, in
    /// nanoseconds (`--turn-us`).
    turn_ns: u64,
}

impl GeneratorUdpSocket {
    fn push(&mut self, outgoing: OutgoingMessage) {
        self.outbox.push(outgoing.number, outgoing.len, outgoing.source);
        if self.chatty {
            self.outbox.repeat();
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        self.received = self.input.receive(&self.socket)?;
        Ok(self.received)
    }

    fn message(&mut self, index: usize) -> Option<(ReceivedDatagram<'_>, &mut [u8])> {
        Some((ReceivedDatagram::from_udp(self.input.get(index).octets), self.outbox.slot()?))
    }
}

impl GeneratorTransport {
    fn slot(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Datagrams(datagrams) => datagrams.outbox.slot(),
            Self::Frames(link) => link.slot(),
        }
    }

    fn push(&mut self, outgoing: OutgoingMessage) {
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

    /// Receives waiting datagrams or frames, as many as there is room for, and returns their
    /// number, 0 when none waits.
    fn receive(&mut self) -> io::Result<usize> {
        match self {
            Self::Datagrams(datagrams) => datagrams.receive(),
            Self::Frames(link) => link.receive(),
        }
    }

    /// Returns the number of messages that the last call of `receive` brought.
    const fn messages(&self) -> usize {
        match self {
            Self::Datagrams(datagrams) => datagrams.received,
            Self::Frames(link) => link.messages(),
        }
    }

    /// Returns message `index` of those received last, with a buffer for the message that answers
    /// it; `None` when waiting messages must be sent first.
    fn message(&mut self, index: usize) -> Option<(ReceivedDatagram<'_>, &mut [u8])> {
        match self {
            Self::Datagrams(datagrams) => datagrams.message(index),
            Self::Frames(link) => link.message(index),
        }
    }
}

impl GeneratorSocket {
    /// Creates a generator's socket that sends and receives the frames of `link`.
    pub fn on_link(link: FrameLink) -> Self {
        Self(GeneratorTransport::Frames(Box::new(link)))
    }

    /// Creates a generator's socket from the UDP socket `socket`, with `outbox` for the messages
    /// that leave it. With `coalesced` the socket receives replies in groups
    /// ([`UdpSocket::coalesce`]).
    pub fn new(socket: UdpSocket, outbox: MessageOutbox, coalesced: bool) -> Self {
        let input = if coalesced {
            RecvBatch::coalescing_into(DEFAULT_SLOTS)
        } else {
            RecvBatch::default()
        };
        let datagrams =
            GeneratorUdpSocket { socket, outbox, input, received: 0, chatty: false, turn_ns: 0 };
        Self(GeneratorTransport::Datagrams(Box::new(datagrams)))
    }

    /// Returns the generator's socket with every datagram sent twice, or not.
    #[must_use]
    pub fn chatty(mut self, chatty: bool) -> Self {
        if let GeneratorTransport::Datagrams(datagrams) = &mut self.0 {
            datagrams.chatty = chatty;
        }
        self
    }

    /// Returns the numbers of messages that the kernel took and refused so far.
    pub const fn counts(&self) -> SendCounts {
        match &self.0 {
            GeneratorTransport::Datagrams(datagrams) => datagrams.outbox.counts(),
            GeneratorTransport::Frames(link) => link.counts(),
        }
    }

    /// Returns true while the kernel sends messages in groups (UDP_SEGMENT).
    pub const fn segmentation(&self) -> bool {
        match &self.0 {
            GeneratorTransport::Datagrams(datagrams) => datagrams.outbox.segmentation(),
            GeneratorTransport::Frames(_) => false,
        }
    }

    /// Returns the number of datagrams or frames that the kernel dropped because the socket was
    /// full.
    ///
    /// # Errors
    ///
    /// Fails with the error of `getsockopt(2)`.
    pub fn drops(&mut self) -> io::Result<u64> {
        match &mut self.0 {
            GeneratorTransport::Datagrams(datagrams) => datagrams.socket.drops().map(u64::from),
            GeneratorTransport::Frames(link) => link.drops(),
        }
    }

    /// Returns the generator's socket with send and receive cycles (turns) at least `turn_ns`
    /// nanoseconds apart when they do something, so that each sends and reads more; with 0, cycles
    /// follow at once.
    #[must_use]
    pub fn paced(mut self, turn_ns: u64) -> Self {
        if let GeneratorTransport::Datagrams(datagrams) = &mut self.0 {
            datagrams.turn_ns = turn_ns;
        }
        self
    }

    const fn turn_ns(&self) -> u64 {
        match &self.0 {
            GeneratorTransport::Datagrams(datagrams) => datagrams.turn_ns,
            GeneratorTransport::Frames(_) => 0,
        }
    }

    /// Returns true if there is room to queue another message; false when waiting messages must be
    /// sent first.
    pub fn has_room(&mut self) -> bool {
        self.0.slot().is_some()
    }

    /// Queues the message that `write` writes, if it writes one and there is room; returns true if
    /// it queued a message.
    pub fn queue_message(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Option<OutgoingMessage>,
    ) -> bool {
        let Some(outgoing) = self.0.slot().and_then(write) else { return false };
        self.0.push(outgoing);
        true
    }

    /// Sends all waiting messages, and notes their departure in `requests`.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for the socket.
    pub fn flush(&mut self, requests: &mut impl Requests) -> io::Result<()> {
        self.0.flush(|name, at_ns| requests.record_sent(name, at_ns))
    }

    /// Processes the received datagrams or frames, sends the messages that answer them, and returns
    /// the number of datagrams or frames.
    ///
    /// # Errors
    ///
    /// Fails as [`GeneratorSocket::flush`] does.
    pub fn receive_replies(&mut self, requests: &mut impl Requests) -> io::Result<usize> {
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
                if let Some(outgoing) = requests.process_datagram(now_ns, &incoming, slot) {
                    self.0.push(outgoing);
                }
            }
            self.flush(requests)?;
            if let GeneratorTransport::Frames(link) = &mut self.0 {
                link.answer_arp(|address| requests.holder(now_ns, address));
                while let Some((mac, address)) = requests.announcement() {
                    if link.slot().is_none() {
                        link.flush(|name, at_ns| requests.record_sent(name, at_ns))?;
                    }
                    link.announce(mac, address);
                }
                self.flush(requests)?;
            }
            if matches!(&self.0, GeneratorTransport::Datagrams(datagrams) if !datagrams.input.is_full())
            {
                break;
            }
        }
        Ok(total)
    }

    /// Sleeps until a send and receive cycle that began at `began_ns`, and sent or read something,
    /// has lasted the shortest duration (`--turn-us`).
    ///
    /// # Errors
    ///
    /// Fails with the error of `ppoll(2)`.
    pub fn pace(&self, began_ns: u64) -> io::Result<()> {
        if self.turn_ns() > 0 {
            let left_ns = (began_ns + self.turn_ns()).saturating_sub(Clock::mono_ns());
            if left_ns > 0 {
                poll(&mut [], Some(left_ns))?;
            }
        }
        Ok(())
    }

    /// Sleeps until a reply comes or the monotonic clock reaches `next_ns`.
    ///
    /// # Errors
    ///
    /// Fails with the error of `ppoll(2)`.
    pub fn wait_for_reply(&self, next_ns: Option<u64>) -> io::Result<()> {
        let now_ns = Clock::mono_ns();
        let wait_ns = next_ns.map_or(IDLE_NS, |next_ns| next_ns.saturating_sub(now_ns));
        let wait_ns = wait_ns.max(self.turn_ns());
        if wait_ns > SPIN_NS {
            let readable = match &self.0 {
                GeneratorTransport::Datagrams(datagrams) => PollFd::readable(&datagrams.socket),
                GeneratorTransport::Frames(link) => link.readable(),
            };
            poll(&mut [readable], Some(wait_ns.min(IDLE_NS)))?;
        }
        Ok(())
    }
}
