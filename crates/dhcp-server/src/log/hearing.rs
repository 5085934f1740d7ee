//! Which loggers want to know of single messages, small enough to be looked at with every batch.

use crate::narrate::Topic;

/// For each [`Topic`] an octet: one more than the `debuglevel` up to which it is wanted, 0 for not
/// at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hearing(u32);

impl Hearing {
    /// Nobody wants anything.
    pub(crate) const NOBODY: Self = Self(0);

    /// As atomics keep it.
    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }

    /// From what [`Hearing::to_bits`] gave.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// This one, with `topic` wanted up to `debug_level`.
    pub(crate) const fn with(self, topic: Topic, debug_level: u8) -> Self {
        let shift = 8 * topic as u32;
        let octet = debug_level.saturating_add(1) as u32;
        Self(self.0 & !(0xff << shift) | octet << shift)
    }

    /// Whether anybody wants anything.
    pub(crate) const fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Whether anybody wants what `topic` tells from `debug_level` on.
    pub(crate) const fn takes(self, topic: Topic, debug_level: u8) -> bool {
        debug_level < (self.0 >> (8 * topic as u32)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_level_of_its_own() {
        let hearing = Hearing::NOBODY.with(Topic::Packets, 15).with(Topic::Leases, 0);
        let takes = |level| Topic::ALL.map(|topic| hearing.takes(topic, level));
        assert_eq!(takes(0), [true, false, true]);
        assert_eq!(takes(15), [true, false, false]);
        assert_eq!(takes(16), [false; 3]);
        assert!(hearing.is_any() && !Hearing::NOBODY.is_any());
        assert_eq!(Hearing::from_bits(hearing.to_bits()), hearing);
        assert!(!Hearing::NOBODY.takes(Topic::Leases, 0));
    }
}
