//! Counters of one shard: received messages, sent replies, malformed and dropped messages by
//! reason.

use core::marker::PhantomData;

use base::Counters;

use crate::events::EventCounters;
use crate::omission::{Omission, Omissions};
use crate::protocol::Protocol;
use crate::reason::DropReason;
use crate::statistic::{DropStatistic, StatisticEvent};

/// Largest number of kinds of messages, replies or refusals that a shard counts by name.
const KINDS_MAX: usize = 24;

/// Counters of one shard: the shard writes them, any thread may read them.
#[derive(Debug)]
pub struct ShardCounters<P> {
    received: Counters<KINDS_MAX>,
    sent: Counters<KINDS_MAX>,
    refusals: Counters<KINDS_MAX>,
    malformed: Counters<KINDS_MAX>,
    dropped: Counters<{ DropReason::ALL.len() }>,
    omitted: Counters<{ Omission::ALL.len() }>,
    silent: Counters<1>,
    events: EventCounters,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Default for ShardCounters<P> {
    fn default() -> Self {
        const {
            assert!(P::RECEIVED.len() == P::RECEIVED_STATISTICS.len(), "one name for each kind");
            assert!(P::SENT.len() == P::SENT_STATISTICS.len(), "one name for each kind");
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
            omitted: Counters::default(),
            silent: Counters::default(),
            events: EventCounters::default(),
            protocol: PhantomData,
        }
    }
}

impl<P: Protocol> ShardCounters<P> {
    /// Counts a well-formed message of the kind at `index` of [`Protocol::RECEIVED`].
    pub fn count_received(&self, index: usize) {
        self.received.add(index, 1);
    }

    /// Counts a reply handed to the socket; `index` into [`Protocol::SENT`].
    pub fn count_sent(&self, index: usize) {
        self.sent.add(index, 1);
    }

    /// Counts a refusal that was written into a reply; `index` into [`Protocol::REFUSALS`].
    pub fn count_refused(&self, index: usize) {
        self.refusals.add(index, 1);
    }

    /// Counts a malformed message for the reason at `index` of [`Protocol::MALFORMED`].
    pub fn count_malformed(&self, index: usize) {
        self.malformed.add(index, 1);
    }

    /// Counts a message that was dropped for `reason`.
    pub fn count_dropped(&self, reason: DropReason) {
        self.dropped.add(reason.index(), 1);
    }

    /// Counts the omissions from one lease and its reply.
    pub(crate) fn count_omitted(&self, omissions: Omissions) {
        omissions.iter().for_each(|omission| self.omitted.add(omission.index(), 1));
    }

    /// Counts a message to which the protocol requires no reply.
    pub fn count_silent(&self) {
        self.silent.add(0, 1);
    }

    /// Returns the event counters of the shard, which also exist for each subnet.
    #[must_use]
    pub const fn events(&self) -> &EventCounters {
        &self.events
    }

    /// Returns the number of received messages that were well formed, plus those that were not read
    /// since service is disabled or since they had waited too long.
    #[must_use]
    pub fn received_total(&self) -> u64 {
        let unread = self.dropped_for(DropReason::ServiceDisabled)
            + self.dropped_for(DropReason::WaitedTooLong);
        unread + self.received.snapshot().iter().sum::<u64>()
    }

    /// Returns the number of received messages that were malformed.
    #[must_use]
    pub fn malformed_total(&self) -> u64 {
        self.malformed.snapshot().iter().sum()
    }

    /// Returns the number of replies that were handed to the socket.
    #[must_use]
    pub fn sent_total(&self) -> u64 {
        self.sent.snapshot().iter().sum()
    }

    /// Returns the number of refusals in replies that have the name at `index` of
    /// [`Protocol::REFUSALS`].
    #[must_use]
    pub fn refused_with(&self, index: usize) -> u64 {
        self.refusals.value(index)
    }

    /// Returns the number of messages dropped for `reason`.
    #[must_use]
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped.value(reason.index())
    }

    /// Returns the number of messages dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.snapshot().iter().sum()
    }

    /// Returns the number of messages to which the protocol required no reply.
    #[must_use]
    pub fn silent_total(&self) -> u64 {
        self.silent.value(0)
    }

    /// Returns the number of dropped messages that count in Kea's `statistic`.
    #[must_use]
    pub fn dropped_as(&self, statistic: DropStatistic) -> u64 {
        let dropped = DropReason::ALL
            .into_iter()
            .filter(|reason| reason.statistic() == Some(statistic))
            .map(|reason| self.dropped_for(reason));
        let malformed = (0..P::MALFORMED.len())
            .filter(|&index| P::malformed_statistic(index).0 == statistic)
            .map(|index| self.malformed.value(index));
        dropped.chain(malformed).sum()
    }

    /// Returns the number of received messages that count in the statistic at `index` of
    /// [`Protocol::RECEIVED_STATISTICS`].
    fn received_as(&self, index: usize) -> u64 {
        let malformed = (0..P::MALFORMED.len())
            .filter(|&malformed| P::malformed_statistic(malformed).1 == Some(index))
            .map(|malformed| self.malformed.value(malformed));
        self.received.value(index) + malformed.sum::<u64>()
    }

    /// Returns all of Kea's global statistics of packets and allocations (its manual, chapter
    /// "Statistics") with their names. A name may occur several times: the caller adds up the
    /// values.
    #[must_use]
    pub fn statistics(&self) -> Vec<(String, u64)> {
        let packets = P::PACKETS;
        let mut statistics = Vec::new();
        statistics
            .push((format!("{packets}-received"), self.received_total() + self.malformed_total()));
        for (index, kind) in P::RECEIVED_STATISTICS.iter().enumerate() {
            statistics.push((format!("{packets}-{kind}-received"), self.received_as(index)));
        }
        statistics.push((format!("{packets}-sent"), self.sent_total()));
        for (kind, count) in P::SENT_STATISTICS.iter().zip(self.sent.snapshot()) {
            statistics.push((format!("{packets}-{kind}-sent"), count));
        }
        let mut dropped = 0;
        for statistic in DropStatistic::ALL {
            let count = self.dropped_as(statistic);
            statistics.push((format!("{packets}-{}", statistic.name()), count));
            dropped += count;
        }
        statistics.push((format!("{packets}-receive-drop"), dropped));
        for (event, name) in P::EVENTS.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            statistics.push(((*name).to_owned(), self.events.totals()[event]));
        }
        statistics
    }

    /// Returns Kea's statistics of the configured subnets: `id` of the subnet, name after
    /// `subnet[id].`, and value.
    #[must_use]
    pub fn subnet_statistics(&self) -> Vec<(u32, &'static str, u64)> {
        let with_names = |(id, counts): (u32, [u64; StatisticEvent::COUNT])| {
            let counts = P::EVENTS.iter().copied().zip(counts);
            counts.filter(|(name, _)| !name.is_empty()).map(move |(name, count)| (id, name, count))
        };
        self.events.by_subnet().into_iter().flat_map(with_names).collect()
    }

    /// Returns every reason for which messages are dropped or not read, by Godwit's name for the
    /// reason, with its count.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let reasons = DropReason::ALL.iter().map(|reason| reason.name());
        let malformed = P::MALFORMED.iter().copied().filter(|name| !name.is_empty());
        let counts = self.dropped.snapshot().into_iter();
        reasons.zip(counts).chain(malformed.zip(self.malformed.snapshot()))
    }

    /// Returns every kind of omission because of a size limit, by Godwit's name for it, with its
    /// count.
    pub fn omissions(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Omission::ALL.iter().map(|omission| omission.name()).zip(self.omitted.snapshot())
    }

    /// Returns every counter of the shard that is not zero, with its name.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let with_names = |names: &'static [&'static str], counters: &Counters<KINDS_MAX>| {
            names.iter().copied().zip(counters.snapshot())
        };
        let dropped = DropReason::ALL.iter().map(|reason| reason.name());
        with_names(P::RECEIVED, &self.received)
            .chain(with_names(P::SENT, &self.sent))
            .chain(with_names(P::REFUSALS, &self.refusals))
            .chain(with_names(P::MALFORMED, &self.malformed))
            .chain(dropped.zip(self.dropped.snapshot()))
            .chain(self.omissions())
            .filter(|&(_, value)| value > 0)
    }
}
