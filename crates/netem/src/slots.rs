//! Slots of a link: times at which packets leave together (`slot`).

use crate::chance::Chance;
use crate::settings::{SlotInterval, SlotSettings};
use crate::share::UnitShare;

/// Slot of a link that is open, or opens next.
#[derive(Clone, Debug)]
pub(crate) struct SlotState {
    settings: SlotSettings,
    opens_ns: u64,
    packets_left: u64,
    bytes_left: u64,
}

/// Returns the limit of packets or bytes per slot, where `max` 0 means no limit.
fn budget(max: u32) -> u64 {
    if max == 0 { u64::MAX } else { u64::from(max) }
}

impl SlotState {
    /// Returns the first slot of a link, which opens at once.
    pub(crate) fn new(settings: SlotSettings, now_ns: u64) -> Self {
        Self {
            settings,
            opens_ns: now_ns,
            packets_left: budget(settings.packets_max),
            bytes_left: budget(settings.bytes_max),
        }
    }

    pub(crate) const fn opens_ns(&self) -> u64 {
        self.opens_ns
    }

    /// Replaces a slot that opens before the next packet is due, since it does not serve that
    /// packet.
    pub(crate) fn replace_if_early(&mut self, now_ns: u64, due_ns: i64, chance: &mut Chance) {
        if (self.opens_ns as i64) < due_ns {
            self.open_next(now_ns, chance);
        }
    }

    /// Counts a packet that leaves in the slot, and opens the next slot when a limit is reached.
    pub(crate) fn spend(&mut self, now_ns: u64, packet_bytes: usize, chance: &mut Chance) {
        self.packets_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(packet_bytes as u64);
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.open_next(now_ns, chance);
        }
    }

    fn open_next(&mut self, now_ns: u64, chance: &mut Chance) {
        let drawn = chance.draw(UnitShare::NONE);
        let wait_ns = match self.settings.opening {
            SlotInterval::Between { min_ns, max_ns } => {
                let span_ns = max_ns.saturating_sub(min_ns);
                min_ns + ((u128::from(drawn) * u128::from(span_ns)) >> 32) as u64
            }
            SlotInterval::Around { base_ns, jitter_ns, distribution } => {
                distribution.time_ns(base_ns, jitter_ns, drawn).max(0) as u64
            }
        };
        *self =
            Self { opens_ns: now_ns.saturating_add(wait_ns), ..Self::new(self.settings, now_ns) };
    }
}
