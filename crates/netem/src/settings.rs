//! What a link does to packets. Names are ours, each with the word of `tc` that it stands for.

use core::num::NonZeroU64;

use crate::distribution::Distribution;
use crate::share::Share;

/// All settings of one direction. The default lets everything pass at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Packets that the netem stage holds at once (`limit`); more are dropped.
    pub limit_packets: u32,
    /// How long packets take (`delay`, `distribution`).
    pub delay: Delay,
    /// Which packets are lost (`loss`).
    pub loss: Loss,
    /// Packets that allow it are marked and not lost (`ecn`).
    pub marks: bool,
    /// Packets that are sent twice (`duplicate`).
    pub duplicate: Sometimes,
    /// Packets of which one bit is changed (`corrupt`).
    pub corrupt: Sometimes,
    /// Packets that overtake the others (`reorder`, `gap`).
    pub reorder: Option<Reorder>,
    /// How fast the wire is (`rate`).
    pub rate: Option<Rate>,
    /// Times at which packets leave together (`slot`).
    pub slot: Option<Slot>,
    /// Takes the place of the seed that the link is made with (`seed`).
    pub seed: Option<u64>,
    /// The token bucket behind it all (`tbf`).
    pub bucket: Option<TokenBucket>,
}

/// `limit` when nothing is said.
pub(crate) const LIMIT_PACKETS: u32 = 1_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            limit_packets: LIMIT_PACKETS,
            delay: Delay::default(),
            loss: Loss::None,
            marks: false,
            duplicate: Sometimes::default(),
            corrupt: Sometimes::default(),
            reorder: None,
            rate: None,
            slot: None,
            seed: None,
            bucket: None,
        }
    }
}

/// Something that happens to a share of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sometimes {
    /// To how many.
    pub share: Share,
    /// How much of each number drawn is the number before it. It makes runs, and it narrows the
    /// distribution: with a correlation the share that is hit is another than `share`.
    pub correlation: Share,
}

/// `delay TIME [JITTER [CORRELATION]]`, `distribution NAME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The time around which delays lie.
    pub base_ns: u64,
    /// The unit of their deviation; 0 makes all delays the same.
    pub jitter_ns: u64,
    /// How much of each number drawn is the number before it.
    pub correlation: Share,
    /// How the deviations lie.
    pub distribution: Distribution,
}

/// `loss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// No packet is lost.
    #[default]
    None,
    /// `loss random PERCENT [CORRELATION]`.
    Random(Sometimes),
    /// `loss state`: a chain of four states. In 1 packets arrive, in 3 they are lost in bursts, in 2
    /// they arrive within a burst, in 4 one is lost by itself.
    State {
        /// From 1 to 3.
        p13: Share,
        /// From 3 to 1.
        p31: Share,
        /// From 3 to 2.
        p32: Share,
        /// From 2 to 3.
        p23: Share,
        /// From 1 to 4, and back with the next packet.
        p14: Share,
    },
    /// `loss gemodel`: Gilbert's and Elliott's good and bad state.
    Gilbert {
        /// From good to bad (`p`).
        to_bad: Share,
        /// From bad to good (`r`).
        to_good: Share,
        /// Lost in the bad state (`1-h`).
        bad_loss: Share,
        /// Lost in the good state (`1-k`).
        good_loss: Share,
    },
}

/// `reorder PERCENT [CORRELATION]`, `gap DISTANCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// How many of those whose turn it may be leave at once.
    pub often: Sometimes,
    /// No more than one of so many packets; 1 lets each be one.
    pub gap: u32,
}

/// `rate RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Octets in a second.
    pub bytes_per_s: NonZeroU64,
    /// Counted with each packet: headers below those that the link sees. May be negative.
    pub packet_overhead_bytes: i32,
    /// Packets fill whole cells of this size; 0 for no cells.
    pub cell_bytes: u32,
    /// Counted with each cell.
    pub cell_overhead_bytes: i32,
}

impl Rate {
    /// How long a packet takes to be sent.
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

/// `slot`: packets leave only when a slot is open, so many at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// When the next slot opens, counted from the one before.
    pub opening: Opening,
    /// Packets of a slot; 0 for any number.
    pub packets_max: u32,
    /// Octets after which a slot is over; 0 for any number.
    pub bytes_max: u32,
}

/// How far apart slots are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// `slot MIN [MAX]`: anywhere in between.
    Between {
        /// No earlier.
        min_ns: u64,
        /// No later.
        max_ns: u64,
    },
    /// `slot distribution NAME DELAY JITTER`.
    Around {
        /// The time around which they lie.
        base_ns: u64,
        /// The unit of their deviation.
        jitter_ns: u64,
        /// How the deviations lie.
        distribution: Distribution,
    },
}

/// `tbf`: what leaves in any time is no more than the burst and what the rate gives in that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Octets in a second (`rate`).
    pub bytes_per_s: NonZeroU64,
    /// Depth of the bucket (`burst`); longer packets are dropped.
    pub burst_bytes: u64,
    /// How much may wait (`limit` or `latency`).
    pub room: Room,
    /// A second bucket for short times (`peakrate`, `mtu`).
    pub peak: Option<Peak>,
    /// A packet counts as no less than this (`mpu`).
    pub packet_bytes_min: u32,
    /// Counted with each packet (`overhead`).
    pub overhead_bytes: u16,
    /// What the packets are carried in (`linklayer`).
    pub link_layer: LinkLayer,
}

/// How much waits for tokens before packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many octets (`limit`).
    Bytes(u64),
    /// What leaves within this time, behind a full bucket (`latency`).
    Time {
        /// The longest that a packet waits.
        latency_ns: u64,
    },
}

/// `peakrate RATE`, `mtu BYTES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Octets in a second.
    pub bytes_per_s: NonZeroU64,
    /// Depth of the bucket.
    pub burst_bytes: u64,
}

/// What packets are carried in, as far as their length on the wire depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// Whole packets.
    #[default]
    Ethernet,
    /// Cells of 53 octets that carry 48 (`atm`, `adsl`).
    Atm,
}

impl TokenBucket {
    /// What a packet counts as.
    #[must_use]
    pub fn cost_bytes(&self, packet_bytes: usize) -> u64 {
        let bytes = packet_bytes as u64 + u64::from(self.overhead_bytes);
        let bytes = bytes.max(u64::from(self.packet_bytes_min));
        match self.link_layer {
            LinkLayer::Ethernet => bytes,
            LinkLayer::Atm => bytes.div_ceil(48) * 53,
        }
    }

    /// Octets that may wait.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        match self.room {
            Room::Bytes(bytes) => bytes,
            Room::Time { latency_ns } => {
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
