//! The messages of a generator on their way into the kernel, each with a number, so that what left and
//! what was refused can be told apart. Budget: one `sendmmsg` and one clock reading per flush; nothing
//! is allocated after construction.

use std::io;
use std::net::SocketAddr;

use crate::send::SendCounts;
use crate::{Clock, DatagramSocket, PollFd, SendBatch, Source, poll};

/// Messages sent with one system call.
const SEND_SLOTS: usize = 128;
/// How long a full socket is waited for before its messages are given up.
const STALL_LIMIT_NS: u64 = 1_000_000_000;
/// How long one wait for a full socket lasts at most.
const STALL_CHECK_NS: u64 = 1_000_000;

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

/// Messages on their way into the kernel, each with the number of what it belongs to.
pub struct Outbox {
    server: SocketAddr,
    sources: Vec<Source>,
    batch: SendBatch,
    numbers: Vec<u64>,
    /// Slots before this one have left or been refused.
    settled: usize,
}

impl Outbox {
    /// An empty one for messages of up to `message_bytes` on `route`.
    #[must_use]
    pub fn new(route: Route, message_bytes: usize) -> Self {
        let slot_bytes = message_bytes.next_multiple_of(64);
        Self {
            server: route.destination,
            sources: route.sources,
            batch: SendBatch::new(SEND_SLOTS, slot_bytes, route.segmentation),
            numbers: Vec::with_capacity(SEND_SLOTS),
            settled: 0,
        }
    }

    /// Where the next message is written; `None` when what waits must be sent first.
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        self.batch.slot()
    }

    /// What the kernel took and refused so far.
    #[must_use]
    pub const fn counts(&self) -> SendCounts {
        self.batch.counts()
    }

    /// True while messages leave in groups.
    #[must_use]
    pub const fn segmentation(&self) -> bool {
        self.batch.segmentation()
    }

    /// Queues the first `len` octets of the slot for `number`, from the own address `source` of the
    /// route.
    ///
    /// # Panics
    ///
    /// Without a slot before it.
    pub fn push(&mut self, number: u64, len: usize, source: usize) {
        let source = self.sources.get(source).copied();
        let slot = self.batch.commit(len, self.server, source);
        debug_assert_eq!(slot, self.numbers.len(), "slots are numbered from the last empty batch");
        self.numbers.push(number);
    }

    /// Queues the message that was queued last once more; false when what waits must be sent first.
    pub fn repeat(&mut self) -> bool {
        let number = self.numbers.last().copied();
        let is_queued = self.batch.repeat();
        self.numbers.extend(number.filter(|_| is_queued));
        is_queued
    }

    /// Sends everything, waiting while the socket is full, a second at most. Calls `left` with the
    /// number of each message that the kernel took, and when.
    ///
    /// # Errors
    ///
    /// What `ppoll(2)` reports.
    pub fn flush(
        &mut self,
        socket: &impl DatagramSocket,
        mut left: impl FnMut(u64, u64),
    ) -> io::Result<()> {
        let mut stalled_since_ns = None;
        while !self.batch.is_empty() {
            let now_ns = Clock::mono_ns();
            let sent = self.batch.flush(socket);
            let settled = self.settled + sent.sent + sent.refused;
            for slot in self.settled..settled {
                if !self.batch.refused().contains(&slot) {
                    left(self.numbers[slot], now_ns);
                }
            }
            self.settled = settled;
            if sent.left > 0 {
                let since_ns = *stalled_since_ns.get_or_insert(now_ns);
                if now_ns - since_ns > STALL_LIMIT_NS {
                    self.batch.discard();
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
