//! Path of a packet through both stages of an emulated link (netem, token bucket), and the link's
//! run loop.

use crate::bucket::{BucketQueue, BucketRefusal};
use crate::chance::Chances;
use crate::counters::{Backlog, LinkCounters};
use crate::delayed::DelayedPackets;
use crate::loss::ChainState;
use crate::pool::{BufferIndex, PacketPool};
use crate::settings::LinkSettings;
use crate::slots::SlotState;

/// Value 3 of the ECN field: "congestion experienced" (RFC 3168 §5).
const ECN_MARKED: u8 = 3;

/// Description of a packet that left the link and was written to the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmittedPacket {
    /// Length of the packet, in bytes.
    pub len: usize,
    /// ECN field of the packet's IP header, two bits, after possible marking by the link.
    pub ecn: u8,
}

/// Emulated link in one direction, with the packets in it.
///
/// The owner passes packets to [`EmulatedLink::handle_datagram`], calls
/// [`EmulatedLink::handle_timeout`] at the time of [`EmulatedLink::poll_timeout`], and after either
/// calls [`EmulatedLink::poll_transmit`] until it returns nothing.
#[derive(Clone, Debug)]
pub struct EmulatedLink {
    settings: LinkSettings,
    chances: Chances,
    chain: ChainState,
    /// Count of packets since the last packet that overtook others (`reorder`).
    since_reordered: u32,
    pool: PacketPool,
    delayed: DelayedPackets,
    slots: Option<SlotState>,
    bucket: BucketQueue,
    counters: LinkCounters,
    /// Time of the last call that moved packets, in nanoseconds.
    last_call_ns: u64,
}

/// Decision of the loss model about a packet.
enum LossVerdict {
    Passes,
    Marked,
    Lost,
}

impl EmulatedLink {
    /// Returns an empty link with these settings. A seed in the settings takes precedence over
    /// `seed`.
    pub fn new(settings: LinkSettings, seed: u64) -> Self {
        let mut link = Self {
            chances: Chances::from_seed(seed),
            settings: LinkSettings::default(),
            chain: ChainState::default(),
            since_reordered: 0,
            pool: PacketPool::default(),
            delayed: DelayedPackets::default(),
            slots: None,
            bucket: BucketQueue::default(),
            counters: LinkCounters::default(),
            last_call_ns: 0,
        };
        link.change(0, settings);
        link
    }

    /// Replaces all settings of the link from now on, as `tc qdisc change` does. Packets under way
    /// stay and keep their time. The states of `loss state` or `loss gemodel`, the `gap` of
    /// `reorder`, the slots and the tokens start again; the random streams do so only if the
    /// settings have a seed.
    pub fn change(&mut self, now_ns: u64, settings: LinkSettings) {
        if let Some(seed) = settings.seed {
            self.chances = Chances::from_seed(seed);
        }
        self.chain = ChainState::default();
        self.since_reordered = 0;
        self.slots = settings.slot.map(|slot| SlotState::new(slot, now_ns));
        self.bucket.change(settings.bucket, now_ns);
        self.settings = settings;
    }

    /// Returns the present settings of the link.
    pub const fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// Returns the link's counts of packets by outcome.
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Returns the count and bytes of the packets in the link.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.delayed.len() + self.bucket.len(),
            bytes: self.delayed.bytes() + self.bucket.bytes(),
        }
    }

    /// Passes a packet into the link; `ecn` is the ECN field of its IP header, two bits.
    pub fn handle_datagram(&mut self, now_ns: u64, ecn: u8, octets: &[u8]) {
        self.last_call_ns = now_ns;
        self.counters.received += 1;
        let is_doubled = self.chances.duplicate.hits(self.settings.duplicate);
        match self.draw_loss(ecn) {
            // A packet that is lost and duplicated leaves once.
            LossVerdict::Lost if is_doubled => self.admit(now_ns, ecn, octets),
            LossVerdict::Lost => self.counters.lost += 1,
            verdict => {
                let ecn = if matches!(verdict, LossVerdict::Marked) { ECN_MARKED } else { ecn };
                if is_doubled {
                    self.counters.duplicated += 1;
                    self.handle_copy(now_ns, ecn, octets);
                }
                self.admit(now_ns, ecn, octets);
            }
        }
        if self.bucket.is_used() {
            self.advance(now_ns);
        }
    }

    /// Passes the copy of a duplicated packet into the link: it precedes its original, may be lost
    /// like any packet, and is not copied again.
    fn handle_copy(&mut self, now_ns: u64, ecn: u8, octets: &[u8]) {
        match self.draw_loss(ecn) {
            LossVerdict::Lost => self.counters.lost += 1,
            LossVerdict::Marked => self.admit(now_ns, ECN_MARKED, octets),
            LossVerdict::Passes => self.admit(now_ns, ecn, octets),
        }
    }

    fn draw_loss(&mut self, ecn: u8) -> LossVerdict {
        if !self.chain.loses(&self.settings.loss, &mut self.chances.loss) {
            return LossVerdict::Passes;
        }
        if self.settings.marks && ecn & ECN_MARKED != 0 {
            self.counters.marked += 1;
            return LossVerdict::Marked;
        }
        LossVerdict::Lost
    }

    /// Puts a packet into the queue of the netem stage, perhaps with a bit changed, if the queue
    /// has room.
    fn admit(&mut self, now_ns: u64, ecn: u8, octets: &[u8]) {
        let is_corrupt = self.chances.corrupt.hits(self.settings.corrupt) && !octets.is_empty();
        let bit = if is_corrupt { self.chances.bit.below(octets.len() as u64 * 8) } else { 0 };
        if self.delayed.len() >= self.settings.limit_packets as usize {
            self.counters.over_limit += 1;
            return;
        }
        let index = self.pool.insert(ecn, octets);
        if is_corrupt {
            self.counters.corrupted += 1;
            self.pool.get_mut(index).octets[bit as usize / 8] ^= 1 << (bit % 8);
        }
        if self.overtakes() {
            self.counters.reordered += 1;
            self.since_reordered = 0;
            self.delayed.push_ahead(index, octets.len());
        } else {
            self.since_reordered = self.since_reordered.saturating_add(1);
            let due_ns = self.due_ns(now_ns, octets.len());
            self.delayed.push(due_ns, index, octets.len());
        }
        self.delayed.update_slot(now_ns, self.slots.as_mut(), &mut self.chances.slot);
    }

    /// Returns true if the next packet overtakes all others and leaves at once.
    fn overtakes(&mut self) -> bool {
        let Some(reorder) = self.settings.reorder else { return false };
        self.since_reordered >= reorder.gap.saturating_sub(1)
            && self.chances.reorder.hits(reorder.often)
    }

    /// Returns the due time of a packet in nanoseconds. With a rate the link sends the packet after
    /// the last one in the queue, and the time that the packet waits for that one counts as part of
    /// its delay.
    fn due_ns(&mut self, now_ns: u64, packet_bytes: usize) -> i64 {
        let delay = self.settings.delay;
        let delay_ns = match delay.jitter_ns {
            0 => delay.base_ns.min(i64::MAX as u64 / 2) as i64,
            jitter_ns => {
                let drawn = self.chances.delay.draw(delay.correlation);
                delay.distribution.time_ns(delay.base_ns, jitter_ns, drawn)
            }
        };
        let arrives_ns = (now_ns as i64).saturating_add(delay_ns);
        let Some(rate) = self.settings.rate else { return arrives_ns };
        let begins_ns = self.delayed.latest_ns().map_or(arrives_ns, |last| arrives_ns.max(last));
        begins_ns.saturating_add_unsigned(rate.packet_time_ns(packet_bytes))
    }

    /// Moves packets whose due time has come to the token bucket.
    fn advance(&mut self, now_ns: u64) {
        while let Some(index) = self.pop_delayed(now_ns) {
            let Err(refusal) = self.bucket.push(index, self.pool.bytes(index)) else { continue };
            match refusal {
                BucketRefusal::Full => self.counters.over_bucket_limit += 1,
                BucketRefusal::TooLong => self.counters.too_long += 1,
            }
            self.pool.let_go(index);
        }
    }

    fn pop_delayed(&mut self, now_ns: u64) -> Option<BufferIndex> {
        self.delayed.pop(now_ns, &self.pool, self.slots.as_mut(), &mut self.chances.slot)
    }

    /// Writes the next packet that leaves the link now to `buffer`.
    ///
    /// # Panics
    ///
    /// If the packet is longer than `buffer`.
    pub fn poll_transmit(&mut self, now_ns: u64, buffer: &mut [u8]) -> Option<TransmittedPacket> {
        self.last_call_ns = now_ns;
        let index = if self.bucket.is_used() {
            self.advance(now_ns);
            self.bucket.pop(now_ns, &self.pool)
        } else {
            self.pop_delayed(now_ns)
        }?;
        let packet = self.pool.get(index);
        let (len, ecn) = (packet.octets.len(), packet.ecn);
        assert!(len <= buffer.len(), "the buffer has room for a packet of {len} octets");
        buffer[..len].copy_from_slice(&packet.octets);
        self.pool.let_go(index);
        self.counters.sent += 1;
        self.counters.sent_bytes += len as u64;
        Some(TransmittedPacket { len, ecn })
    }

    /// Returns the time in nanoseconds when [`EmulatedLink::handle_timeout`] is due next: no
    /// earlier than the time of the last call, and equal to it if a packet is ready.
    pub fn poll_timeout(&self) -> Option<u64> {
        let delayed_ns = self.delayed.ready_ns(self.slots.as_ref());
        let bucket_ns = self.bucket.ready_ns(&self.pool);
        delayed_ns.into_iter().chain(bucket_ns).min().map(|at_ns| at_ns.max(self.last_call_ns))
    }

    /// Moves packets whose due time has come to the token bucket, if the link has one.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.last_call_ns = now_ns;
        if self.bucket.is_used() {
            self.advance(now_ns);
        }
    }
}
