//! Messages of a load generator on their way into the kernel, each with a number by which the sent
//! and the refused ones are reported. Budget: one `sendmmsg` and one clock reading per flush;
//! nothing is allocated after construction.

use std::io;
use std::net::SocketAddr;

use crate::frame_outbox::{FrameBatch, FrameRoute};
use crate::send::SendCounts;
use crate::{Clock, DatagramSocket, NetError, PollFd, SendBatch, SendSource, poll};

/// Greatest number of messages sent with one system call.
pub(crate) const SEND_SLOTS: usize = 128;
/// Time in nanoseconds to wait for a full socket before its messages are given up.
pub const STALL_LIMIT_NS: u64 = 1_000_000_000;
/// Longest duration of one wait for a full socket, in nanoseconds.
pub const STALL_CHECK_NS: u64 = 1_000_000;

/// Route of a generator's messages to a server.
#[derive(Clone, Debug)]
pub struct MessageRoute {
    /// Address and port of the server.
    pub destination: SocketAddr,
    /// Own addresses that messages are sent from in turn; if empty, that of the socket.
    pub sources: Vec<SendSource>,
    /// True if messages of equal size may be sent in groups (`UDP_SEGMENT`).
    pub segmentation: bool,
}

/// Batch that carries the messages of an outbox: datagrams of a UDP socket, or frames through
/// AF_XDP.
enum OutboxBatch {
    Datagrams(SendBatch),
    Frames(FrameBatch),
}

/// Outbox of a load generator: messages on their way into the kernel, each with the number of the
/// exchange that it belongs to.
pub struct MessageOutbox {
    server: SocketAddr,
    sources: Vec<SendSource>,
    carrier: OutboxBatch,
    numbers: Vec<u64>,
    /// Number of the first slot in the batch whose message was neither sent nor refused.
    settled: usize,
}

impl MessageOutbox {
    /// Creates an empty outbox for messages of up to `message_bytes` on `route`, sent as UDP
    /// datagrams.
    pub fn new(route: MessageRoute, message_bytes: usize) -> Self {
        let slot_bytes = message_bytes.next_multiple_of(64);
        let batch = SendBatch::new(SEND_SLOTS, slot_bytes, route.segmentation);
        Self::with_batch(route, OutboxBatch::Datagrams(batch))
    }

    /// Creates an empty outbox whose messages are sent as frames on the route `frames`, past the
    /// kernel's UDP and never in groups.
    ///
    /// # Errors
    ///
    /// There is no such interface, it has no hardware address, messages may be too long for it
    /// (`EMSGSIZE`), or the kernel refuses the socket: see
    /// [`XdpSender::open`](crate::XdpSender::open).
    pub fn for_frames(
        route: MessageRoute,
        frames: &FrameRoute,
        message_bytes: usize,
    ) -> Result<Self, NetError> {
        let batch = FrameBatch::open(frames, route.destination, message_bytes)?;
        Ok(Self::with_batch(route, OutboxBatch::Frames(batch)))
    }

    fn with_batch(route: MessageRoute, carrier: OutboxBatch) -> Self {
        Self {
            server: route.destination,
            sources: route.sources,
            carrier,
            numbers: Vec::with_capacity(SEND_SLOTS),
            settled: 0,
        }
    }

    /// Returns the slot for the next message; `None` if the caller has to flush first.
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        match &mut self.carrier {
            OutboxBatch::Datagrams(batch) => batch.slot(),
            OutboxBatch::Frames(batch) => batch.slot(),
        }
    }

    /// Returns the counts of messages that the kernel has accepted and refused so far.
    pub const fn counts(&self) -> SendCounts {
        match &self.carrier {
            OutboxBatch::Datagrams(batch) => batch.counts(),
            OutboxBatch::Frames(batch) => batch.counts(),
        }
    }

    /// Returns true while the outbox sends messages of equal size in groups (`UDP_SEGMENT`).
    pub const fn segmentation(&self) -> bool {
        match &self.carrier {
            OutboxBatch::Datagrams(batch) => batch.segmentation(),
            OutboxBatch::Frames(_) => false,
        }
    }

    /// Returns true if the outbox sends messages as frames, regardless of the socket that it is
    /// flushed to.
    pub const fn sends_frames(&self) -> bool {
        matches!(self.carrier, OutboxBatch::Frames(_))
    }

    /// Queues the first `len` bytes of the slot as the message `number`, from the route's own
    /// address with the index `source`. Frames need a call of [`MessageOutbox::leave_from`] before,
    /// which sets their port.
    ///
    /// # Panics
    ///
    /// Without a slot before it.
    pub fn push(&mut self, number: u64, len: usize, source: usize) {
        let source = self.sources.get(source).copied();
        match &mut self.carrier {
            OutboxBatch::Datagrams(batch) => {
                let slot = batch.commit(len, self.server, source);
                debug_assert_eq!(
                    slot,
                    self.numbers.len(),
                    "slots are numbered from the last empty batch"
                );
            }
            OutboxBatch::Frames(batch) => batch.commit(len, source.map(|source| source.address)),
        }
        self.numbers.push(number);
    }

    /// Sets the source address and port of frames from now on; a source of the route replaces the
    /// address.
    pub fn leave_from(&mut self, source: SocketAddr) {
        if let OutboxBatch::Frames(batch) = &mut self.carrier {
            batch.leave_from(source);
        }
    }

    /// Queues the last queued message once more; returns false if the caller has to flush first.
    pub fn repeat(&mut self) -> bool {
        let number = self.numbers.last().copied();
        let is_queued = match &mut self.carrier {
            OutboxBatch::Datagrams(batch) => batch.repeat(),
            OutboxBatch::Frames(batch) => batch.repeat(),
        };
        if is_queued {
            self.numbers.extend(number);
        }
        is_queued
    }

    /// Sends all queued messages, and waits while the socket is full, a second at most. Calls
    /// `left` with the number of each message that the kernel accepted, and the time in
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// The error of `ppoll(2)`, and for frames that of `sendto(2)`.
    pub fn flush(
        &mut self,
        socket: &impl DatagramSocket,
        mut left: impl FnMut(u64, u64),
    ) -> io::Result<()> {
        let batch = match &mut self.carrier {
            OutboxBatch::Datagrams(batch) => batch,
            OutboxBatch::Frames(batch) => {
                let now_ns = Clock::mono_ns();
                batch.flush(now_ns)?;
                self.numbers.drain(..).for_each(|number| left(number, now_ns));
                return Ok(());
            }
        };
        let mut stalled_since_ns = None;
        while !batch.is_empty() {
            let now_ns = Clock::mono_ns();
            let sent = batch.flush(socket);
            let settled = self.settled + sent.sent + sent.refused;
            for slot in self.settled..settled {
                if !batch.refused().contains(&slot) {
                    left(self.numbers[slot], now_ns);
                }
            }
            self.settled = settled;
            if sent.left > 0 {
                let since_ns = *stalled_since_ns.get_or_insert(now_ns);
                if now_ns - since_ns > STALL_LIMIT_NS {
                    batch.discard();
                } else {
                    poll(&mut [PollFd::writable(socket)], Some(STALL_CHECK_NS))?;
                }
            }
        }
        self.numbers.clear();
        self.settled = 0;
        Ok(())
    }
}
