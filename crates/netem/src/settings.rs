//! Settings of an emulated link. The names are Godwit's; each comment has the word of `tc`.

use core::num::NonZeroU64;

use crate::distribution::Distribution;
use crate::share::UnitShare;

/// Settings of one direction of an emulated link. With the default every packet passes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// Largest number of packets that the netem stage holds (`limit`); more are dropped.
    pub limit_packets: u32,
    /// Delay that each packet gets (`delay`, `distribution`).
    pub delay: Delay,
    /// Model that decides which packets are lost (`loss`).
    pub loss: Loss,
    /// True if the link marks packets that permit it (ECN) instead of dropping them (`ecn`).
    pub marks: bool,
    /// Share of packets that the link sends twice (`duplicate`).
    pub duplicate: RandomEvent,
    /// Share of packets in which the link changes one bit (`corrupt`).
    pub corrupt: RandomEvent,
    /// Share of packets that overtake the others (`reorder`, `gap`).
    pub reorder: Option<Reorder>,
    /// Speed of the emulated wire (`rate`); `None` for no limit.
    pub rate: Option<Rate>,
    /// Slots in which packets leave together (`slot`); `None` for no slots.
    pub slot: Option<SlotSettings>,
    /// Seed of the random numbers (`seed`), instead of the one with which the link is created.
    pub seed: Option<u64>,
    /// Token bucket after the netem stage (`tbf`); `None` for no bucket.
    pub bucket: Option<TokenBucket>,
}

/// Default of `limit`: largest number of packets that the netem stage holds.
pub(crate) const LIMIT_PACKETS: u32 = 1_000;

impl Default for LinkSettings {
    fn default() -> Self {
        Self {
            limit_packets: LIMIT_PACKETS,
            delay: Delay::default(),
            loss: Loss::None,
            marks: false,
            duplicate: RandomEvent::default(),
            corrupt: RandomEvent::default(),
            reorder: None,
            rate: None,
            slot: None,
            seed: None,
            bucket: None,
        }
    }
}

/// Random event that happens to a share of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomEvent {
    /// Share of the packets to which the event happens.
    pub share: UnitShare,
    /// Share of the previous random number in each drawn number. A correlation makes runs, and it
    /// narrows the distribution: the share of packets affected then differs from `share`.
    pub correlation: UnitShare,
}

/// Delay of packets: words `delay TIME [JITTER [CORRELATION]]`, `distribution NAME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// Mean of the delay, in nanoseconds.
    pub base_ns: u64,
    /// Unit of the delay's deviation in nanoseconds; with 0 all delays are equal.
    pub jitter_ns: u64,
    /// Share of the previous random number in each number drawn for a delay.
    pub correlation: UnitShare,
    /// Distribution of the delay's deviations from its mean.
    pub distribution: Distribution,
}

/// Model that decides which packets are lost: word `loss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// Model without loss: no packet is lost.
    #[default]
    None,
    /// Independent or correlated losses: words `loss random PERCENT [CORRELATION]`.
    Random(RandomEvent),
    /// Chain of four states: words `loss state`. In state 1 packets arrive, in 3 they are lost in
    /// bursts, in 2 they arrive within a burst, in 4 a single one is lost.
    State {
        /// Probability of the change from state 1 (packets arrive) to 3 (bursts of losses).
        p13: UnitShare,
        /// Probability of the change from state 3 (bursts of losses) to 1 (packets arrive).
        p31: UnitShare,
        /// Probability of the change from state 3 (bursts of losses) to 2 (packets arrive within a
        /// burst).
        p32: UnitShare,
        /// Probability of the change from state 2 (packets arrive within a burst) to 3 (bursts of
        /// losses).
        p23: UnitShare,
        /// Probability of the change from state 1 (packets arrive) to 4 (a single loss); the next
        /// packet returns to 1.
        p14: UnitShare,
    },
    /// Model of Gilbert and Elliott with a good and a bad state: words `loss gemodel`.
    Gilbert {
        /// Probability of the change from the good to the bad state (`p`).
        to_bad: UnitShare,
        /// Probability of the change from the bad to the good state (`r`).
        to_good: UnitShare,
        /// Share of packets that are lost in the bad state (`1-h`).
        bad_loss: UnitShare,
        /// Share of packets that are lost in the good state (`1-k`).
        good_loss: UnitShare,
    },
}

/// Reordering of packets: words `reorder PERCENT [CORRELATION]`, `gap DISTANCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Share of the eligible packets (see `gap`) that leave at once, before all others.
    pub often: RandomEvent,
    /// Least distance between two packets that overtake, in packets; 1 makes each packet eligible.
    pub gap: u32,
}

/// Speed of the emulated wire: words `rate RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Speed of the wire, in bytes per second.
    pub bytes_per_s: NonZeroU64,
    /// Bytes added to each packet's size, for headers below those that the link sees. May be
    /// negative.
    pub packet_overhead_bytes: i32,
    /// Size of the wire's cells in bytes, which packets fill completely; 0 for no cells.
    pub cell_bytes: u32,
    /// Bytes added to each cell of the wire. May be negative.
    pub cell_overhead_bytes: i32,
}

impl Rate {
    /// Returns the time in nanoseconds that the wire takes to send a packet.
    pub fn packet_time_ns(&self, packet_bytes: usize) -> u64 {
        let mut bytes = (packet_bytes as i128 + i128::from(self.packet_overhead_bytes)).max(0);
        if self.cell_bytes > 0 {
            let cell_bytes = i128::from(self.cell_bytes);
            let cells_count = (bytes + cell_bytes - 1) / cell_bytes;
            let sent_bytes = (cell_bytes + i128::from(self.cell_overhead_bytes)).max(0);
            bytes = cells_count * sent_bytes;
        }
        (bytes * 1_000_000_000 / i128::from(self.bytes_per_s.get())).min(i128::from(u64::MAX))
            as u64
    }
}

/// Slots in which packets leave together (`slot`): packets leave only while a slot is open, up to a
/// limit per slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSettings {
    /// Time from one slot to the opening of the next one.
    pub opening: SlotInterval,
    /// Largest number of packets per slot; 0 for any number.
    pub packets_max: u32,
    /// Number of bytes after which a slot is over; 0 for any number.
    pub bytes_max: u32,
}

/// Time between the openings of two slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotInterval {
    /// Uniform distribution between two times: words `slot MIN [MAX]`.
    Between {
        /// Least time between two slots, in nanoseconds.
        min_ns: u64,
        /// Greatest time between two slots, in nanoseconds.
        max_ns: u64,
    },
    /// Distribution around a mean: words `slot distribution NAME DELAY JITTER`.
    Around {
        /// Mean time between two slots, in nanoseconds.
        base_ns: u64,
        /// Unit of the deviation from the mean, in nanoseconds.
        jitter_ns: u64,
        /// Distribution of the deviations from the mean.
        distribution: Distribution,
    },
}

/// Token bucket (word `tbf`, tc-tbf(8)): in any time no more bytes leave than the burst and the
/// rate multiplied by that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate of the bucket's tokens in bytes per second (`rate`).
    pub bytes_per_s: NonZeroU64,
    /// Depth of the bucket in bytes (`burst`); longer packets are dropped.
    pub burst_bytes: u64,
    /// Size of the queue of packets that wait for tokens (`limit` or `latency`).
    pub limit: BucketLimit,
    /// Second bucket that limits the rate over short times (`peakrate`, `mtu`).
    pub peak: Option<Peak>,
    /// Least size in bytes that a packet counts as (`mpu`).
    pub packet_bytes_min: u32,
    /// Bytes added to the size of each packet (`overhead`).
    pub overhead_bytes: u16,
    /// Link layer below the packets, on which their counted size depends (`linklayer`).
    pub link_layer: LinkLayer,
}

/// Size of the queue of packets that wait for tokens; more packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketLimit {
    /// Size of the queue in bytes (`limit`).
    Bytes(u64),
    /// Size of the queue as the bytes that the rate sends within a time, plus a full bucket
    /// (`latency`).
    Time {
        /// Longest wait of a packet for tokens, in nanoseconds.
        latency_ns: u64,
    },
}

/// Bucket that limits the rate over short times: words `peakrate RATE`, `mtu BYTES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Rate of the peak bucket's tokens, in bytes per second.
    pub bytes_per_s: NonZeroU64,
    /// Depth of the peak bucket, in bytes.
    pub burst_bytes: u64,
}

/// Link layer below the packets, as far as their length on the wire depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// Link layer that carries whole packets.
    #[default]
    Ethernet,
    /// ATM cells of 53 bytes that carry 48 bytes each (`atm`, `adsl`).
    Atm,
}

impl TokenBucket {
    /// Returns the tokens in bytes that a packet of `packet_bytes` needs.
    pub fn cost_bytes(&self, packet_bytes: usize) -> u64 {
        let bytes = packet_bytes as u64 + u64::from(self.overhead_bytes);
        let bytes = bytes.max(u64::from(self.packet_bytes_min));
        match self.link_layer {
            LinkLayer::Ethernet => bytes,
            LinkLayer::Atm => bytes.div_ceil(48) * 53,
        }
    }

    /// Returns the size of the token bucket's queue in bytes.
    pub fn limit_bytes(&self) -> u64 {
        match self.limit {
            BucketLimit::Bytes(bytes) => bytes,
            BucketLimit::Time { latency_ns } => {
                let within = |bytes_per_s: NonZeroU64, burst_bytes: u64| {
                    let bytes = u128::from(bytes_per_s.get()) * u128::from(latency_ns);
                    (bytes / 1_000_000_000 + u128::from(burst_bytes)).min(u128::from(u64::MAX))
                        as u64
                };
                let bytes = within(self.bytes_per_s, self.burst_bytes);
                let of_peak = self.peak.map(|peak| within(peak.bytes_per_s, peak.burst_bytes));
                of_peak.map_or(bytes, |peak_bytes| bytes.min(peak_bytes))
            }
        }
    }
}
