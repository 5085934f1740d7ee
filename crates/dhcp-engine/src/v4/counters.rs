//! What one shard counts: messages in, replies out, malformed and dropped ones by reason.

use base::Counters;
use dhcp_wire::v4::{Malformed, MessageType};

use super::{DropReason, ReplyKind};

const MALFORMED: usize = Malformed::ALL.len();
const DROPS: usize = DropReason::ALL.len();

/// Message types that are counted by name; others together.
const RECEIVED_TYPES: [MessageType; 5] = [
    MessageType::Discover,
    MessageType::Request,
    MessageType::Decline,
    MessageType::Release,
    MessageType::Inform,
];

/// The counters of one shard. The shard writes, anyone reads.
#[derive(Debug, Default)]
pub struct ShardCounters {
    received: Counters<{ RECEIVED_TYPES.len() + 1 }>,
    sent: Counters<4>,
    malformed: Counters<MALFORMED>,
    dropped: Counters<DROPS>,
    silent: Counters<1>,
}

impl ShardCounters {
    /// Counts a well-formed message.
    pub fn received(&self, kind: Option<MessageType>) {
        let index = RECEIVED_TYPES
            .iter()
            .position(|&counted| Some(counted) == kind)
            .unwrap_or(RECEIVED_TYPES.len());
        self.received.add(index, 1);
    }

    /// Counts a reply handed to the socket; `kind` as [`reply_index`] gives it.
    pub fn sent(&self, kind: usize) {
        self.sent.add(kind, 1);
    }

    /// Counts a malformed message.
    pub fn malformed(&self, reason: Malformed) {
        self.malformed.add(reason.index(), 1);
    }

    /// Counts a dropped message.
    pub fn dropped(&self, reason: DropReason) {
        self.dropped.add(reason.index(), 1);
    }

    /// Counts a message that the protocol leaves without a reply.
    pub fn silent(&self) {
        self.silent.add(0, 1);
    }

    /// Messages that were well formed.
    #[must_use]
    pub fn received_total(&self) -> u64 {
        self.received.snapshot().iter().sum()
    }

    /// Messages that were malformed.
    #[must_use]
    pub fn malformed_total(&self) -> u64 {
        self.malformed.snapshot().iter().sum()
    }

    /// Replies sent.
    #[must_use]
    pub fn sent_total(&self) -> u64 {
        self.sent.snapshot().iter().sum()
    }

    /// Messages dropped for `reason`.
    #[must_use]
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped.value(reason.index())
    }

    /// Messages dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.snapshot().iter().sum()
    }

    /// Messages that ended in silence.
    #[must_use]
    pub fn silent_total(&self) -> u64 {
        self.silent.value(0)
    }

    /// Every counter that is not zero, with its name.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let received = RECEIVED_TYPES.iter().map(|kind| kind.name()).chain(["other"]);
        let malformed = Malformed::ALL.iter().map(|reason| reason.name());
        let dropped = DropReason::ALL.iter().map(|reason| reason.name());
        let sent = ["OFFER", "ACK", "ACK (inform)", "NAK"];
        received
            .zip(self.received.snapshot())
            .chain(sent.into_iter().zip(self.sent.snapshot()))
            .chain(malformed.zip(self.malformed.snapshot()))
            .chain(dropped.zip(self.dropped.snapshot()))
            .filter(|&(_, value)| value > 0)
    }
}

/// Position of a reply's kind in the counters.
#[must_use]
pub const fn reply_index(kind: ReplyKind) -> usize {
    match kind {
        ReplyKind::Offer => 0,
        ReplyKind::Ack => 1,
        ReplyKind::InformAck => 2,
        ReplyKind::Nak => 3,
    }
}
