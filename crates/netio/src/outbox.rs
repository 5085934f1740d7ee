//! The messages of a generator on their way into the kernel, each with a number, so that what left and
//! what was refused can be told apart. Budget: one `sendmmsg` and one clock reading per flush; nothing
//! is allocated after construction.

use std::io;
use std::net::SocketAddr;

use crate::frame_outbox::{FrameBatch, FrameRoute};
use crate::send::SendCounts;
use crate::{Clock, DatagramSocket, NetError, PollFd, SendBatch, Source, poll};

/// Messages sent with one system call.
pub(crate) const SEND_SLOTS: usize = 128;
/// How long a full socket is waited for before its messages are given up.
pub const STALL_LIMIT_NS: u64 = 1_000_000_000;
/// How long one wait for a full socket lasts at most.
pub const STALL_CHECK_NS: u64 = 1_000_000;

/// Where messages go.
#[derive(Clone, Debug)]
pub struct Route {
    /// The server.
    pub destination: SocketAddr,
    /// The own addresses that messages leave from in turn; empty: the socket's.
    pub sources: Vec<Source>,
    /// Messages may leave in groups.
    pub segmentation: bool,
}

/// What carries messages.
enum Carrier {
    Datagrams(SendBatch),
    Frames(FrameBatch),
}

/// Messages on their way into the kernel, each with the number of what it belongs to.
pub struct Outbox {
    server: SocketAddr,
    sources: Vec<Source>,
    carrier: Carrier,
    numbers: Vec<u64>,
    /// Slots before this one have left or been refused.
    settled: usize,
}

impl Outbox {
    /// An empty one for messages of up to `message_bytes` on `route`.
    #[must_use]
    pub fn new(route: Route, message_bytes: usize) -> Self {
        let slot_bytes = message_bytes.next_multiple_of(64);
        let batch = SendBatch::new(SEND_SLOTS, slot_bytes, route.segmentation);
        Self::of(route, Carrier::Datagrams(batch))
    }

    /// The same, whose messages leave as `frames`, past UDP of the kernel and never in groups.
    ///
    /// # Errors
    ///
    /// When there is no such interface, or it has no hardware address, or messages may be too long for it
    /// (`EMSGSIZE`), or the kernel refuses the socket: see [`XdpSender::open`](crate::XdpSender::open).
    pub fn of_frames(
        route: Route,
        frames: &FrameRoute,
        message_bytes: usize,
    ) -> Result<Self, NetError> {
        let batch = FrameBatch::open(frames, route.destination, message_bytes)?;
        Ok(Self::of(route, Carrier::Frames(batch)))
    }

    fn of(route: Route, carrier: Carrier) -> Self {
        Self {
            server: route.destination,
            sources: route.sources,
            carrier,
            numbers: Vec::with_capacity(SEND_SLOTS),
            settled: 0,
        }
    }

    /// Where the next message is written; `None` when what waits must be sent first.
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        match &mut self.carrier {
            Carrier::Datagrams(batch) => batch.slot(),
            Carrier::Frames(batch) => batch.slot(),
        }
    }

    /// What the kernel took and refused so far.
    #[must_use]
    pub const fn counts(&self) -> SendCounts {
        match &self.carrier {
            Carrier::Datagrams(batch) => batch.counts(),
            Carrier::Frames(batch) => batch.counts(),
        }
    }

    /// True while messages leave in groups.
    #[must_use]
    pub const fn segmentation(&self) -> bool {
        match &self.carrier {
            Carrier::Datagrams(batch) => batch.segmentation(),
            Carrier::Frames(_) => false,
        }
    }

    /// Whether messages leave as frames, by whatever socket they are flushed.
    #[must_use]
    pub const fn sends_frames(&self) -> bool {
        matches!(self.carrier, Carrier::Frames(_))
    }

    /// Queues the first `len` octets of the slot for `number`, from the own address `source` of the
    /// route; frames need their port told by [`Outbox::leave_from`] before.
    ///
    /// # Panics
    ///
    /// Without a slot before it.
    pub fn push(&mut self, number: u64, len: usize, source: usize) {
        let source = self.sources.get(source).copied();
        match &mut self.carrier {
            Carrier::Datagrams(batch) => {
                let slot = batch.commit(len, self.server, source);
                debug_assert_eq!(
                    slot,
                    self.numbers.len(),
                    "slots are numbered from the last empty batch"
                );
            }
            Carrier::Frames(batch) => batch.commit(len, source.map(|source| source.address)),
        }
        self.numbers.push(number);
    }

    /// Frames leave from `source` from now on, where their route says nothing else of the address.
    pub fn leave_from(&mut self, source: SocketAddr) {
        if let Carrier::Frames(batch) = &mut self.carrier {
            batch.leave_from(source);
        }
    }

    /// Queues the message that was queued last once more; false when what waits must be sent first.
    pub fn repeat(&mut self) -> bool {
        let number = self.numbers.last().copied();
        let is_queued = match &mut self.carrier {
            Carrier::Datagrams(batch) => batch.repeat(),
            Carrier::Frames(batch) => batch.repeat(),
        };
        self.numbers.extend(number.filter(|_| is_queued));
        is_queued
    }

    /// Sends everything, waiting while the socket is full, a second at most. Calls `left` with the
    /// number of each message that the kernel took, and when.
    ///
    /// # Errors
    ///
    /// What `ppoll(2)` reports, and for frames what `sendto(2)` does.
    pub fn flush(
        &mut self,
        socket: &impl DatagramSocket,
        mut left: impl FnMut(u64, u64),
    ) -> io::Result<()> {
        let batch = match &mut self.carrier {
            Carrier::Datagrams(batch) => batch,
            Carrier::Frames(batch) => {
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
