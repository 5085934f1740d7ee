//! Loop of a responder: receives datagrams and sends replies, in batches. Implementations of
//! [`Respond`] make the replies; [`crate::limit`] is the limit responder.
//!
//! Budget: one `recvmmsg`, one `sendmmsg` and one clock reading per up to 64 datagrams.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::send::SendCounts;
use crate::{Clock, InboundDatagram, PollFd, RecvBatch, SendBatch, UdpSocket, poll};

/// Interval in nanoseconds at which an idle responder checks whether it must stop.
const STOP_CHECK_NS: u64 = 20_000_000;
/// Time in nanoseconds to wait for a full socket before replies are given up.
const STALL_NS: u64 = 1_000_000;
/// Largest number of datagrams that one receive call of a responder takes.
pub const BATCH_MAX: usize = 64;
const COALESCED_SLOTS: usize = 1_024;
/// Length of the longest reply of a responder, in bytes.
pub const REPLY_BYTES_MAX: usize = 2_048;

/// Source of a responder's replies to datagrams.
pub trait Respond {
    /// Largest number of replies that one call of [`Respond::handle_datagram`] queues.
    const REPLIES_MAX: usize;

    /// Handles a datagram received at `now_ns` (nanoseconds of the monotonic clock) and queues its
    /// immediate replies.
    fn handle_datagram(
        &mut self,
        now_ns: u64,
        datagram: &InboundDatagram<'_>,
        replies: &mut ReplyBatch<'_>,
    );

    /// Queues delayed replies that are due at `now_ns`, as many as `_replies` has room for.
    fn release(&mut self, _now_ns: u64, _replies: &mut ReplyBatch<'_>) {}

    /// Returns the time at which [`Respond::release`] has further replies to queue, in nanoseconds
    /// of the monotonic clock; `None` if it has none.
    fn next_ns(&self) -> Option<u64> {
        None
    }
}

/// Batch of a responder's replies that wait to be sent.
pub struct ReplyBatch<'b> {
    batch: &'b mut SendBatch,
}

impl ReplyBatch<'_> {
    /// Queues a reply of `len` bytes to `destination`, whose bytes `write` writes. Returns false if
    /// the batch has no room.
    ///
    /// # Panics
    ///
    /// If `len` exceeds [`REPLY_BYTES_MAX`].
    pub fn push(
        &mut self,
        destination: SocketAddr,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> bool {
        let Some(slot) = self.batch.slot() else { return false };
        write(&mut slot[..len]);
        self.batch.commit(len, destination, None);
        true
    }

    /// Returns true if the batch has no room for another reply.
    pub fn is_full(&self) -> bool {
        self.batch.is_full()
    }
}

/// Counters of a responder's socket, in datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderCounts {
    /// Number of datagrams that the responder received from the socket.
    pub received: u64,
    /// Number of receive calls that received at least one datagram.
    pub batches: u64,
    /// Results of sending the responder's replies.
    pub sends: SendCounts,
    /// Number of datagrams dropped because they were longer than [`REPLY_BYTES_MAX`].
    pub too_long: u64,
    /// Number of datagrams that the kernel dropped because the socket's receive buffer was full.
    pub socket_drops: u64,
}

/// Options of a responder's loop: how it waits, receives and sends.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Number of datagrams per receive call without segmentation, 1 to [`BATCH_MAX`].
    pub batch: usize,
    /// True to group replies to one source (`UDP_SEGMENT`) and to receive datagrams that the kernel
    /// joined (`UDP_GRO`); the socket must have been opened with `coalesce`.
    pub segmentation: bool,
    /// True if the responder's thread polls without ever sleeping.
    pub busy: bool,
}

impl Default for Loop {
    fn default() -> Self {
        Self { batch: BATCH_MAX, segmentation: false, busy: false }
    }
}

/// Runs `responder` on `socket` until `stop` is set, and returns the counters of its datagrams.
///
/// # Errors
///
/// The kernel's error for the socket.
pub fn answer<R: Respond>(
    socket: &UdpSocket,
    how: Loop,
    responder: &mut R,
    stop: &AtomicBool,
) -> io::Result<ResponderCounts> {
    let mut counts = ResponderCounts::default();
    let (mut input, mut output) = if how.segmentation {
        let can_segment = socket.supports_segmentation();
        (RecvBatch::coalescing(), SendBatch::new(COALESCED_SLOTS, REPLY_BYTES_MAX, can_segment))
    } else {
        let batch = how.batch.clamp(1, BATCH_MAX);
        let replies = SendBatch::new(batch * R::REPLIES_MAX, REPLY_BYTES_MAX, false);
        (RecvBatch::new(batch, REPLY_BYTES_MAX), replies)
    };
    while !stop.load(Ordering::Relaxed) {
        let received = input.receive(socket)?;
        let now_ns = Clock::mono_ns();
        counts.received += received as u64;
        counts.batches += u64::from(received > 0);
        for datagram in input.iter() {
            if output.free() < R::REPLIES_MAX {
                flush(socket, &mut output)?;
            }
            responder.handle_datagram(now_ns, &datagram, &mut ReplyBatch { batch: &mut output });
        }
        flush(socket, &mut output)?;
        responder.release(now_ns, &mut ReplyBatch { batch: &mut output });
        let was_due = !output.is_empty();
        flush(socket, &mut output)?;
        if received == 0 && !was_due && !how.busy {
            let due_ns = responder.next_ns().map_or(STOP_CHECK_NS, |at| at.saturating_sub(now_ns));
            poll(&mut [PollFd::readable(socket)], Some(due_ns.min(STOP_CHECK_NS)))?;
        }
    }
    counts.sends = output.counts();
    counts.too_long = input.truncated();
    counts.socket_drops = socket.drops()?.into();
    Ok(counts)
}

fn flush(socket: &UdpSocket, output: &mut SendBatch) -> io::Result<()> {
    if !output.is_empty() && output.flush(socket).left > 0 {
        poll(&mut [PollFd::writable(socket)], Some(STALL_NS))?;
        output.flush(socket);
        output.discard();
    }
    Ok(())
}
