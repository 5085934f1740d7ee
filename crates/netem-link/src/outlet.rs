//! Where packets leave a link: out of the core, into a batch, through an interface.
//!
//! Budget: one copy per packet, one `sendmmsg` per batch of up to 64; nothing allocated.

use crate::ecn;
use crate::ends::Output;
use netem::Link;

/// How long frames wait for an interface that takes none before they are given up. Packets would only
/// be later, and more of them.
const STUCK_MAX_NS: u64 = 20_000_000;

/// The batch on its way to the interface.
pub(crate) struct Outlet {
    sender: Output,
    refused: u64,
    /// Since when the interface takes nothing.
    stuck_since_ns: Option<u64>,
}

impl Outlet {
    pub(crate) const fn new(sender: Output) -> Self {
        Self { sender, refused: 0, stuck_since_ns: None }
    }

    /// Packets that were not taken.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether the interface takes nothing at the moment: [`Outlet::flush`] tries again.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.stuck_since_ns.is_some()
    }

    /// Takes what leaves the link now; whole batches are sent, the last packets wait for
    /// [`Outlet::flush`]. What there is no room for stays in the link.
    pub(crate) fn pass(&mut self, link: &mut Link, now_ns: u64) {
        let framing = self.sender.framing();
        loop {
            while let Some(slot) = self.sender.slot() {
                let Some(transmit) = link.poll_transmit(now_ns, slot) else { return };
                let packet = &mut slot[..transmit.len];
                // The link has marked a packet without knowing where in it the mark is.
                if link.settings().marks
                    && transmit.ecn == ecn::MARKED
                    && ecn::of(packet, framing) != ecn::MARKED
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

    /// Sends what waits; true when nothing does any more.
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

    /// Gives up what waits.
    pub(crate) fn close(&mut self) {
        self.refused += self.sender.discard() as u64;
        self.stuck_since_ns = None;
    }
}
