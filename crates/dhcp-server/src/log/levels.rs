//! Levels of detail that loggers want about single DHCP messages, small enough to be read with
//! every batch.

use crate::loggers::LogTopic;

/// Levels of detail about single DHCP messages: for each [`LogTopic`] a byte, which is one more
/// than the highest `debuglevel` that a logger takes, or 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogTopicLevels(u32);

impl LogTopicLevels {
    /// Levels of detail at which no logger takes lines about single DHCP messages.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the levels as an integer for atomics.
    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }

    /// Converts an integer of [`LogTopicLevels::to_bits`] back to levels.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns a copy of the levels in which a logger takes lines of `topic` up to Kea's
    /// `debuglevel` `debug_level`.
    pub(crate) const fn with(self, topic: LogTopic, debug_level: u8) -> Self {
        let shift = 8 * topic as u32;
        let octet = debug_level.saturating_add(1) as u32;
        Self(self.0 & !(0xff << shift) | octet << shift)
    }

    /// Returns true if a logger takes any topic of lines about single DHCP messages.
    pub(crate) const fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Returns true if a logger takes lines of `topic` at Kea's `debuglevel` `debug_level`.
    pub(crate) const fn takes(self, topic: LogTopic, debug_level: u8) -> bool {
        debug_level < (self.0 >> (8 * topic as u32)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_level_of_its_own() {
        let topic_levels =
            LogTopicLevels::NONE.with(LogTopic::Packets, 15).with(LogTopic::Leases, 0);
        let takes = |level| LogTopic::ALL.map(|topic| topic_levels.takes(topic, level));
        assert_eq!(takes(0), [true, false, true]);
        assert_eq!(takes(15), [true, false, false]);
        assert_eq!(takes(16), [false; 3]);
        assert!(topic_levels.is_any() && !LogTopicLevels::NONE.is_any());
        assert_eq!(LogTopicLevels::from_bits(topic_levels.to_bits()), topic_levels);
        assert!(!LogTopicLevels::NONE.takes(LogTopic::Leases, 0));
    }
}
