//! The loop of a responder: datagrams in, replies out, in batches. What a reply is belongs to whoever
//! implements [`Respond`]; the plain one is [`crate::limit`].
//!
//! Budget: one `recvmmsg`, one `sendmmsg` and one clock reading per up to 64 datagrams.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::send::SendCounts;
use crate::{Clock, Datagram, PollFd, RecvBatch, SendBatch, UdpSocket, poll};

/// How often a silent responder looks at its stop flag.
const STOP_CHECK_NS: u64 = 20_000_000;
/// How long a full socket is waited for before replies are given up.
const STALL_NS: u64 = 1_000_000;
/// Datagrams of a receive call at most.
pub const BATCH_MAX: usize = 64;
const COALESCED_SLOTS: usize = 1_024;
/// Octets of a reply at most.
pub const REPLY_BYTES_MAX: usize = 2_048;

/// What answers datagrams.
pub trait Respond {
    /// Replies that one call of [`Respond::take`] makes at most.
    const REPLIES_MAX: usize;

    /// Takes in a datagram received at `now_ns` and queues what it is answered with at once.
    fn take(&mut self, now_ns: u64, datagram: &Datagram<'_>, replies: &mut Replies<'_>);

    /// Queues what is due at `now_ns`, as much as there is room for.
    fn release(&mut self, _now_ns: u64, _replies: &mut Replies<'_>) {}

    /// When [`Respond::release`] has more to do, nanoseconds of the monotonic clock.
    fn next_ns(&self) -> Option<u64> {
        None
    }
}

/// The batch that replies are put into.
pub struct Replies<'b> {
    batch: &'b mut SendBatch,
}

impl Replies<'_> {
    /// Queues a reply of `len` octets to `destination`, which `write` writes. False when there is no
    /// room.
    ///
    /// # Panics
    ///
    /// When `len` exceeds [`REPLY_BYTES_MAX`].
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

    /// True when a reply more has no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.batch.is_full()
    }
}

/// What a responder's socket did, in datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderCounts {
    /// Taken from the socket.
    pub received: u64,
    /// Receive calls that took something.
    pub batches: u64,
    /// What became of the replies.
    pub sends: SendCounts,
    /// Longer than [`REPLY_BYTES_MAX`] and therefore left out.
    pub too_long: u64,
    /// Dropped by the kernel because the socket was full.
    pub socket_drops: u64,
}

/// How the loop waits and sends.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Datagrams of a receive call, 1 to [`BATCH_MAX`]; without segmentation.
    pub batch: usize,
    /// Group replies to one source (`UDP_SEGMENT`) and take trains (`UDP_GRO`); the socket was opened
    /// with `coalesce`.
    pub segmentation: bool,
    /// Never sleep.
    pub busy: bool,
}

impl Default for Loop {
    fn default() -> Self {
        Self { batch: BATCH_MAX, segmentation: false, busy: false }
    }
}

/// Answers on `socket` until `stop` is set.
///
/// # Errors
///
/// What the kernel reports for the socket.
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
            responder.take(now_ns, &datagram, &mut Replies { batch: &mut output });
        }
        flush(socket, &mut output)?;
        responder.release(now_ns, &mut Replies { batch: &mut output });
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
