//! What one shard counts: messages in, replies out, malformed and dropped ones by reason.

use core::marker::PhantomData;

use base::Counters;

use crate::protocol::Protocol;
use crate::reason::DropReason;

/// Most kinds of message, reply or refusal that are counted by name.
const KINDS_MAX: usize = 16;

/// The counters of one shard. The shard writes, anyone reads.
#[derive(Debug)]
pub struct ShardCounters<P> {
    received: Counters<KINDS_MAX>,
    sent: Counters<KINDS_MAX>,
    refusals: Counters<KINDS_MAX>,
    malformed: Counters<KINDS_MAX>,
    dropped: Counters<{ DropReason::ALL.len() }>,
    silent: Counters<1>,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Default for ShardCounters<P> {
    fn default() -> Self {
        const {
            let names = [P::RECEIVED, P::SENT, P::REFUSALS, P::MALFORMED];
            let mut list = 0;
            while list < names.len() {
                assert!(names[list].len() <= KINDS_MAX, "every name has its counter");
                list += 1;
            }
        }
        Self {
            received: Counters::default(),
            sent: Counters::default(),
            refusals: Counters::default(),
            malformed: Counters::default(),
            dropped: Counters::default(),
            silent: Counters::default(),
            protocol: PhantomData,
        }
    }
}

impl<P: Protocol> ShardCounters<P> {
    /// Counts a well-formed message; `index` into [`Protocol::RECEIVED`].
    pub fn received(&self, index: usize) {
        self.received.add(index, 1);
    }

    /// Counts a reply handed to the socket; `index` into [`Protocol::SENT`].
    pub fn sent(&self, index: usize) {
        self.sent.add(index, 1);
    }

    /// Counts a refusal that was written into a reply; `index` into [`Protocol::REFUSALS`].
    pub fn refused(&self, index: usize) {
        self.refusals.add(index, 1);
    }

    /// Counts a malformed message; `index` into [`Protocol::MALFORMED`].
    pub fn malformed(&self, index: usize) {
        self.malformed.add(index, 1);
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

    /// Refusals written with the name at `index` of [`Protocol::REFUSALS`].
    #[must_use]
    pub fn refused_with(&self, index: usize) -> u64 {
        self.refusals.value(index)
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
        let named = |names: &'static [&'static str], counters: &Counters<KINDS_MAX>| {
            names.iter().copied().zip(counters.snapshot())
        };
        let dropped = DropReason::ALL.iter().map(|reason| reason.name());
        named(P::RECEIVED, &self.received)
            .chain(named(P::SENT, &self.sent))
            .chain(named(P::REFUSALS, &self.refusals))
            .chain(named(P::MALFORMED, &self.malformed))
            .chain(dropped.zip(self.dropped.snapshot()))
            .filter(|&(_, value)| value > 0)
    }
}
