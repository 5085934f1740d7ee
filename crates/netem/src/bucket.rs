//! Token bucket of a link: in any time no more bytes leave than the burst and the rate multiplied
//! by that time. Packets that do not fit wait in order; packets that find the queue full are
//! dropped.
//!
//! Tokens are counted in bytes times nanoseconds per second, so nothing is ever rounded; only the
//! time at which there are enough is rounded up.

use std::collections::VecDeque;

use crate::pool::{BufferIndex, PacketPool};
use crate::settings::TokenBucket;

const NS_PER_S: i128 = 1_000_000_000;

/// Reason why the token bucket drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketRefusal {
    /// Queue of the token bucket that is full.
    Full,
    /// Packet that needs more tokens than the bucket can hold.
    TooLong,
}

/// Tokens of one bucket, with its rate and depth.
#[derive(Clone, Copy, Debug)]
struct Tokens {
    bytes_per_s: u64,
    burst_bytes: u64,
    /// Level of the token bucket in bytes, multiplied by the nanoseconds of a second.
    level: i128,
}

impl Tokens {
    const fn full(bytes_per_s: u64, burst_bytes: u64) -> Self {
        Self { bytes_per_s, burst_bytes, level: burst_bytes as i128 * NS_PER_S }
    }

    /// Returns the level of the token bucket after `elapsed_ns`, at most its depth, in bytes times
    /// nanoseconds per second.
    fn level_after(&self, elapsed_ns: u64) -> i128 {
        let filled = self.level + i128::from(elapsed_ns) * i128::from(self.bytes_per_s);
        filled.min(i128::from(self.burst_bytes) * NS_PER_S)
    }

    /// Returns the time in nanoseconds until the bucket has the tokens for a packet that costs
    /// `cost_bytes`.
    fn wait_ns(&self, cost_bytes: u64) -> u64 {
        let missing = (i128::from(cost_bytes) * NS_PER_S - self.level).max(0);
        let rate = i128::from(self.bytes_per_s);
        ((missing + rate - 1) / rate).min(i128::from(u64::MAX)) as u64
    }
}

/// Queue of packets that wait for tokens, and the token bucket. Without a bucket packets leave at
/// once, such as those that waited when it was removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct BucketQueue {
    state: Option<BucketState>,
    waiting: VecDeque<BufferIndex>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct BucketState {
    settings: TokenBucket,
    limit_bytes: u64,
    rate: Tokens,
    peak: Option<Tokens>,
    /// Time to which the levels of the buckets belong, in nanoseconds.
    at_ns: u64,
}

impl BucketState {
    fn new(settings: TokenBucket, now_ns: u64) -> Self {
        Self {
            settings,
            limit_bytes: settings.limit_bytes(),
            rate: Tokens::full(settings.bytes_per_s.get(), settings.burst_bytes),
            peak: settings.peak.map(|p| Tokens::full(p.bytes_per_s.get(), p.burst_bytes)),
            at_ns: now_ns,
        }
    }

    fn buckets(&self) -> impl Iterator<Item = &Tokens> {
        core::iter::once(&self.rate).chain(self.peak.as_ref())
    }

    /// Returns the time in nanoseconds when both buckets (rate and peak rate) have the tokens for a
    /// packet that costs `cost_bytes`.
    fn ready_ns(&self, cost_bytes: u64) -> u64 {
        let wait_ns = self.buckets().map(|tokens| tokens.wait_ns(cost_bytes)).max().unwrap_or(0);
        self.at_ns.saturating_add(wait_ns)
    }

    fn spend(&mut self, now_ns: u64, cost_bytes: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.at_ns);
        for tokens in core::iter::once(&mut self.rate).chain(self.peak.as_mut()) {
            tokens.level = tokens.level_after(elapsed_ns) - i128::from(cost_bytes) * NS_PER_S;
        }
        self.at_ns = self.at_ns.max(now_ns);
    }
}

impl BucketQueue {
    /// Replaces the settings of the token bucket and fills it; `None` removes it. Waiting packets
    /// stay.
    pub(crate) fn change(&mut self, settings: Option<TokenBucket>, now_ns: u64) {
        self.state = settings.map(|settings| BucketState::new(settings, now_ns));
    }

    /// Returns true if packets must pass the token bucket's queue.
    pub(crate) fn is_used(&self) -> bool {
        self.state.is_some() || !self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a packet to the token bucket's queue, or returns the reason to drop it.
    pub(crate) fn push(
        &mut self,
        index: BufferIndex,
        packet_bytes: usize,
    ) -> Result<(), BucketRefusal> {
        if let Some(state) = &self.state {
            let cost_bytes = state.settings.cost_bytes(packet_bytes);
            if state.buckets().any(|tokens| cost_bytes > tokens.burst_bytes) {
                return Err(BucketRefusal::TooLong);
            }
            if (self.bytes + packet_bytes) as u64 > state.limit_bytes {
                return Err(BucketRefusal::Full);
            }
        }
        self.waiting.push_back(index);
        self.bytes += packet_bytes;
        Ok(())
    }

    /// Removes and returns the next packet of the queue, if the bucket has the tokens for it.
    pub(crate) fn pop(&mut self, now_ns: u64, pool: &PacketPool) -> Option<BufferIndex> {
        let packet_bytes = pool.bytes(*self.waiting.front()?);
        if let Some(state) = &mut self.state {
            let cost_bytes = state.settings.cost_bytes(packet_bytes);
            if state.ready_ns(cost_bytes) > now_ns {
                return None;
            }
            state.spend(now_ns, cost_bytes);
        }
        self.bytes -= packet_bytes;
        self.waiting.pop_front()
    }

    /// Returns the time in nanoseconds when [`BucketQueue::pop`] has a packet; `None` for an empty
    /// queue.
    pub(crate) fn ready_ns(&self, pool: &PacketPool) -> Option<u64> {
        let packet_bytes = pool.bytes(*self.waiting.front()?);
        let state = self.state.as_ref();
        Some(state.map_or(0, |state| state.ready_ns(state.settings.cost_bytes(packet_bytes))))
    }
}
