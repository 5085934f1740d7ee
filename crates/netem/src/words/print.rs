//! Printer of link settings, as words of `tc` that parse to the same settings.

use core::fmt;
use core::num::NonZeroU64;

use super::units::in_units;
use crate::distribution::Distribution;
use crate::settings::{
    BucketLimit, LinkLayer, LinkSettings, Loss, RandomEvent, SlotInterval, SlotSettings,
    TokenBucket,
};
use crate::share::UnitShare;

const TIMES: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
const RATES: [(u64, &str); 5] = [
    (125_000_000_000, "tbit"),
    (125_000_000, "gbit"),
    (125_000, "mbit"),
    (125, "kbit"),
    (1, "Bps"),
];
const SIZES: [(u64, &str); 3] = [(1 << 20, "mb"), (1 << 10, "kb"), (1, "b")];

fn time(ns: u64) -> String {
    in_units(ns, &TIMES)
}

fn rate(bytes_per_s: NonZeroU64) -> String {
    in_units(bytes_per_s.get(), &RATES)
}

fn size(bytes: u64) -> String {
    in_units(bytes, &SIZES)
}

fn percent(share: UnitShare) -> String {
    format!("{}%", share.to_percent())
}

impl fmt::Display for RandomEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&percent(self.share))?;
        if self.correlation.is_none() {
            return Ok(());
        }
        write!(f, " {}", percent(self.correlation))
    }
}

/// Link settings as words of `tc`, without settings that have their default value; `limit` is
/// always printed.
impl fmt::Display for LinkSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limit {}", self.limit_packets)?;
        let delay = &self.delay;
        if delay.base_ns > 0 || delay.jitter_ns > 0 {
            write!(f, " delay {}", time(delay.base_ns))?;
            if delay.jitter_ns > 0 || !delay.correlation.is_none() {
                write!(f, " {}", time(delay.jitter_ns))?;
            }
            if !delay.correlation.is_none() {
                write!(f, " {}", percent(delay.correlation))?;
            }
        }
        if delay.distribution != Distribution::Uniform {
            write!(f, " distribution {}", delay.distribution.name())?;
        }
        write_loss(f, &self.loss)?;
        if self.marks {
            f.write_str(" ecn")?;
        }
        for (name, often) in [("corrupt", self.corrupt), ("duplicate", self.duplicate)] {
            if often != RandomEvent::default() {
                write!(f, " {name} {often}")?;
            }
        }
        if let Some(reorder) = self.reorder {
            write!(f, " reorder {} gap {}", reorder.often, reorder.gap)?;
        }
        if let Some(wire) = self.rate {
            write!(f, " rate {}", rate(wire.bytes_per_s))?;
            let further = [
                i64::from(wire.packet_overhead_bytes),
                i64::from(wire.cell_bytes),
                i64::from(wire.cell_overhead_bytes),
            ];
            let count = further.iter().rposition(|&number| number != 0).map_or(0, |last| last + 1);
            for number in &further[..count] {
                write!(f, " {number}")?;
            }
        }
        if let Some(slot) = self.slot {
            write_slot(f, &slot)?;
        }
        if let Some(seed) = self.seed {
            write!(f, " seed {seed}")?;
        }
        self.bucket.map_or(Ok(()), |bucket| write_bucket(f, &bucket))
    }
}

fn write_loss(f: &mut fmt::Formatter<'_>, loss: &Loss) -> fmt::Result {
    match *loss {
        Loss::None => Ok(()),
        Loss::Random(often) => write!(f, " loss {often}"),
        Loss::State { p13, p31, p32, p23, p14 } => {
            let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(percent);
            write!(f, " loss state {p13} {p31} {p32} {p23} {p14}")
        }
        Loss::Gilbert { to_bad, to_good, bad_loss, good_loss } => {
            let [p, r, bad, good] = [to_bad, to_good, bad_loss, good_loss].map(percent);
            write!(f, " loss gemodel {p} {r} {bad} {good}")
        }
    }
}

fn write_slot(f: &mut fmt::Formatter<'_>, slot: &SlotSettings) -> fmt::Result {
    match slot.opening {
        SlotInterval::Between { min_ns, max_ns } => {
            write!(f, " slot {} {}", time(min_ns), time(max_ns))?;
        }
        SlotInterval::Around { base_ns, jitter_ns, distribution } => {
            let name = distribution.name();
            write!(f, " slot distribution {name} {} {}", time(base_ns), time(jitter_ns))?;
        }
    }
    if slot.packets_max > 0 {
        write!(f, " packets {}", slot.packets_max)?;
    }
    if slot.bytes_max > 0 {
        write!(f, " bytes {}", size(slot.bytes_max.into()))?;
    }
    Ok(())
}

fn write_bucket(f: &mut fmt::Formatter<'_>, bucket: &TokenBucket) -> fmt::Result {
    write!(f, " tbf rate {} burst {}", rate(bucket.bytes_per_s), size(bucket.burst_bytes))?;
    match bucket.limit {
        BucketLimit::Bytes(bytes) => write!(f, " limit {}", size(bytes))?,
        BucketLimit::Time { latency_ns } => write!(f, " latency {}", time(latency_ns))?,
    }
    if let Some(peak) = bucket.peak {
        write!(f, " peakrate {} mtu {}", rate(peak.bytes_per_s), size(peak.burst_bytes))?;
    }
    if bucket.packet_bytes_min > 0 {
        write!(f, " mpu {}", size(bucket.packet_bytes_min.into()))?;
    }
    if bucket.overhead_bytes > 0 {
        write!(f, " overhead {}", bucket.overhead_bytes)?;
    }
    if bucket.link_layer == LinkLayer::Atm {
        f.write_str(" linklayer atm")?;
    }
    Ok(())
}
