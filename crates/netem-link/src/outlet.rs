//! Output of a link's direction: packets leave the core, enter a batch, and leave through an
//! interface.
//!
//! Budget: one copy per packet, one `sendmmsg` per batch of up to 64; nothing allocated.

use crate::ecn;
use crate::ends::LinkOutput;
use netem::EmulatedLink;

/// Longest time in nanoseconds that frames wait for an interface that accepts none; then they are
/// dropped. Longer waits would only make packets later and more numerous.
const STUCK_MAX_NS: u64 = 20_000_000;

/// Batch of frames that leave through one interface.
pub(crate) struct FrameOutlet {
    sender: LinkOutput,
    refused: u64,
    /// Time in nanoseconds since which the interface accepts no frames; `None` while it accepts
    /// them.
    stuck_since_ns: Option<u64>,
}

impl FrameOutlet {
    pub(crate) const fn new(sender: LinkOutput) -> Self {
        Self { sender, refused: 0, stuck_since_ns: None }
    }

    /// Returns the number of packets that the interface has not accepted.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns true if the interface accepts no frames at present, so that [`FrameOutlet::flush`]
    /// must try again.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.stuck_since_ns.is_some()
    }

    /// Moves packets that leave the link now into the batch; sends full batches, and leaves the
    /// last packets to [`FrameOutlet::flush`]. Packets for which there is no room stay in the link.
    pub(crate) fn pass(&mut self, link: &mut EmulatedLink, now_ns: u64) {
        let framing = self.sender.framing();
        loop {
            while let Some(slot) = self.sender.slot() {
                let Some(transmit) = link.poll_transmit(now_ns, slot) else { return };
                let packet = &mut slot[..transmit.len];
                // The link has marked a packet without knowing the position of the mark in it.
                if link.settings().marks
                    && transmit.ecn == ecn::MARKED
                    && ecn::read(packet, framing) != ecn::MARKED
                {
                    ecn::mark(packet, framing);
                }
                self.sender.commit(transmit.len);
            }
            if !self.flush(now_ns) {
                return;
            }
        }
    }

    /// Sends the packets of the batch; returns true if no packet waits any more.
    pub(crate) fn flush(&mut self, now_ns: u64) -> bool {
        if self.sender.is_empty() {
            return true;
        }
        let sent = self.sender.flush();
        self.refused += sent.refused as u64;
        if sent.left == 0 || sent.sent > 0 {
            self.stuck_since_ns = None;
        }
        if sent.left == 0 {
            return true;
        }
        let since_ns = *self.stuck_since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) < STUCK_MAX_NS {
            return false;
        }
        self.close();
        true
    }

    /// Drops the packets of the batch, and counts them as refused.
    pub(crate) fn close(&mut self) {
        self.refused += self.sender.discard() as u64;
        self.stuck_since_ns = None;
    }
}
