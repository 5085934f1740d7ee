//! Settings of a link. The names are Godwit's; each comment has the word of `tc`.

use core::num::NonZeroU64;

use crate::distribution::Distribution;
use crate::share::UnitShare;

/// All settings of one direction. With the default every packet passes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// Packets that the netem stage holds at once (`limit`); more are dropped.
    pub limit_packets: u32,
    /// Delay of packets (`delay`, `distribution`).
    pub delay: Delay,
    /// Model of lost packets (`loss`).
    pub loss: Loss,
    /// True if packets that permit it are marked instead of lost (`ecn`).
    pub marks: bool,
    /// Packets that are sent twice (`duplicate`).
    pub duplicate: RandomEvent,
    /// Packets in which one bit is changed (`corrupt`).
    pub corrupt: RandomEvent,
    /// Packets that overtake the others (`reorder`, `gap`).
    pub reorder: Option<Reorder>,
    /// Speed of the wire (`rate`).
    pub rate: Option<Rate>,
    /// Times at which packets leave together (`slot`).
    pub slot: Option<SlotSettings>,
    /// Seed that replaces the one that the link is made with (`seed`).
    pub seed: Option<u64>,
    /// Token bucket after the netem stage (`tbf`).
    pub bucket: Option<TokenBucket>,
}

/// Default of `limit`.
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

/// An event that happens to a share of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomEvent {
    /// Share of the packets.
    pub share: UnitShare,
    /// Share of the previous number in each drawn number. A correlation makes runs, and it narrows
    /// the distribution: the share of packets affected then differs from `share`.
    pub correlation: UnitShare,
}

/// Words `delay TIME [JITTER [CORRELATION]]`, `distribution NAME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// Mean delay.
    pub base_ns: u64,
    /// Unit of the deviation; with 0 all delays are equal.
    pub jitter_ns: u64,
    /// Share of the previous number in each drawn number.
    pub correlation: UnitShare,
    /// Distribution of the deviations.
    pub distribution: Distribution,
}

/// Word `loss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// No packet is lost.
    #[default]
    None,
    /// Words `loss random PERCENT [CORRELATION]`.
    Random(RandomEvent),
    /// Words `loss state`: a chain of four states. In 1 packets arrive, in 3 they are lost in
    /// bursts, in 2 they arrive within a burst, in 4 a single one is lost.
    State {
        /// Probability from 1 to 3.
        p13: UnitShare,
        /// Probability from 3 to 1.
        p31: UnitShare,
        /// Probability from 3 to 2.
        p32: UnitShare,
        /// Probability from 2 to 3.
        p23: UnitShare,
        /// Probability from 1 to 4; the next packet returns to 1.
        p14: UnitShare,
    },
    /// Words `loss gemodel`: the good and the bad state of Gilbert and Elliott.
    Gilbert {
        /// Probability from good to bad (`p`).
        to_bad: UnitShare,
        /// Probability from bad to good (`r`).
        to_good: UnitShare,
        /// Share of lost packets in the bad state (`1-h`).
        bad_loss: UnitShare,
        /// Share of lost packets in the good state (`1-k`).
        good_loss: UnitShare,
    },
}

/// Words `reorder PERCENT [CORRELATION]`, `gap DISTANCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Share of the eligible packets that leave at once.
    pub often: RandomEvent,
    /// Least distance between two packets that overtake; 1 makes each packet eligible.
    pub gap: u32,
}

/// Words `rate RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Rate in bytes per second.
    pub bytes_per_s: NonZeroU64,
    /// Bytes added to each packet: headers below those that the link sees. May be negative.
    pub packet_overhead_bytes: i32,
    /// Size of cells, which packets fill completely; 0 for no cells.
    pub cell_bytes: u32,
    /// Bytes added to each cell. May be negative.
    pub cell_overhead_bytes: i32,
}

impl Rate {
    /// Returns the time that sending a packet takes.
    #[must_use]
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

/// Word `slot`: packets leave only while a slot is open, up to a limit per slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSettings {
    /// Time from one slot to the opening of the next.
    pub opening: SlotInterval,
    /// Packets per slot; 0 for any number.
    pub packets_max: u32,
    /// Bytes after which a slot is over; 0 for any number.
    pub bytes_max: u32,
}

/// Distance between slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotInterval {
    /// Words `slot MIN [MAX]`: uniform in between.
    Between {
        /// Least distance.
        min_ns: u64,
        /// Greatest distance.
        max_ns: u64,
    },
    /// Words `slot distribution NAME DELAY JITTER`.
    Around {
        /// Mean distance.
        base_ns: u64,
        /// Unit of the deviation.
        jitter_ns: u64,
        /// Distribution of the deviations.
        distribution: Distribution,
    },
}

/// Word `tbf`: in any time no more leaves than the burst and the rate multiplied by that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate in bytes per second (`rate`).
    pub bytes_per_s: NonZeroU64,
    /// Depth of the bucket (`burst`); longer packets are dropped.
    pub burst_bytes: u64,
    /// Size of the queue (`limit` or `latency`).
    pub limit: BucketLimit,
    /// A second bucket for short times (`peakrate`, `mtu`).
    pub peak: Option<Peak>,
    /// Least size that a packet counts as (`mpu`).
    pub packet_bytes_min: u32,
    /// Bytes added to each packet (`overhead`).
    pub overhead_bytes: u16,
    /// Carrier of the packets (`linklayer`).
    pub link_layer: LinkLayer,
}

/// Size of the queue for tokens; more packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketLimit {
    /// Size in bytes (`limit`).
    Bytes(u64),
    /// Size that the rate sends within this time, plus a full bucket (`latency`).
    Time {
        /// Longest wait of a packet.
        latency_ns: u64,
    },
}

/// Words `peakrate RATE`, `mtu BYTES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Rate in bytes per second.
    pub bytes_per_s: NonZeroU64,
    /// Depth of the bucket.
    pub burst_bytes: u64,
}

/// Carrier of packets, as far as their length on the wire depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// Whole packets.
    #[default]
    Ethernet,
    /// Cells of 53 bytes that carry 48 (`atm`, `adsl`).
    Atm,
}

impl TokenBucket {
    /// Returns the size that a packet counts as.
    #[must_use]
    pub fn cost_bytes(&self, packet_bytes: usize) -> u64 {
        let bytes = packet_bytes as u64 + u64::from(self.overhead_bytes);
        let bytes = bytes.max(u64::from(self.packet_bytes_min));
        match self.link_layer {
            LinkLayer::Ethernet => bytes,
            LinkLayer::Atm => bytes.div_ceil(48) * 53,
        }
    }

    /// Returns the size of the queue in bytes.
    #[must_use]
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
