//! What the responder's frames leave by: AF_XDP, or `packet(7)` where the kernel or the interface does not
//! have it or somebody else has the queue.

use std::io;

use netio::interface::Interface;
use netio::responder::ResponderCounts;
use netio::{Clock, FrameSender, NetError, PollFd, RingSize, XdpSender, poll};

/// Memory of AF_XDP's frames, octets: 4,096 of them.
const RING: RingSize = RingSize { bytes: 8 << 20, slot_bytes: 2_048 };
/// How long a full queue is waited for before answers are given up.
const STALL_NS: u64 = 1_000_000;
/// How long one look at it takes by AF_XDP.
const LOOK_NS: u64 = 50_000;

/// An open way out of an interface, past its queueing discipline.
pub(super) enum FrameOutput {
    /// By the first queue.
    Xdp(Box<XdpSender>),
    /// By `sendmmsg`.
    Plain(FrameSender),
}

impl FrameOutput {
    /// Opens the better of both.
    ///
    /// # Errors
    ///
    /// What the kernel refuses a socket of `packet(7)` for.
    pub(super) fn open(interface: &Interface) -> Result<Self, NetError> {
        if let Ok(sender) = XdpSender::open(interface, 0, RING) {
            return Ok(Self::Xdp(Box::new(sender)));
        }
        let mut sender = FrameSender::open(interface)?;
        let bypassed = sender.bypass_queue();
        bypassed.map_err(NetError::on("bypass the queueing discipline of", &interface.name))?;
        Ok(Self::Plain(sender))
    }

    /// Frames that can be written before the next flush.
    pub(super) fn free(&self) -> usize {
        match self {
            Self::Xdp(sender) => sender.free(),
            Self::Plain(sender) => sender.free(),
        }
    }

    pub(super) fn slot(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Xdp(sender) => sender.slot(),
            Self::Plain(sender) => sender.slot(),
        }
    }

    pub(super) fn commit(&mut self, len: usize) {
        match self {
            Self::Xdp(sender) => sender.commit(len),
            Self::Plain(sender) => sender.commit(len),
        }
    }

    /// Sends what waits; what finds no room for a while is given up.
    pub(super) fn flush(&mut self, counts: &mut ResponderCounts) -> io::Result<()> {
        match self {
            Self::Xdp(sender) => flush_xdp(sender, counts),
            Self::Plain(sender) => flush_plain(sender, counts),
        }
    }
}

/// What the kernel has taken is sent: frames that it dropped are handed to it again inside of this call.
fn flush_xdp(sender: &mut XdpSender, counts: &mut ResponderCounts) -> io::Result<()> {
    let queued = sender.waiting();
    if queued == 0 {
        return Ok(());
    }
    sender.flush()?;
    if sender.waiting() > 0 || sender.free() == 0 {
        let until_ns = Clock::mono_ns() + STALL_NS;
        while (sender.waiting() > 0 || sender.free() == 0) && Clock::mono_ns() < until_ns {
            poll(&mut [], Some(LOOK_NS))?;
            sender.flush()?;
        }
    }
    let left = sender.waiting().min(queued);
    counts.sends.sent += (queued - left) as u64;
    Ok(())
}

fn flush_plain(output: &mut FrameSender, counts: &mut ResponderCounts) -> io::Result<()> {
    let mut result = output.flush();
    let mut count = |sent: usize, refused: usize| {
        counts.sends.sent += sent as u64;
        counts.sends.refused += refused as u64;
    };
    count(result.sent, result.refused);
    if result.left > 0 {
        poll(&mut [PollFd::writable(&*output)], Some(STALL_NS))?;
        result = output.flush();
        count(result.sent, result.refused + output.discard());
    }
    Ok(())
}
