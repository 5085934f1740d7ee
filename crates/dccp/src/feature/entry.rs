//! State of one feature of one end: its value, the requested value, and the progress of the request
//! (RFC 4340 §6.6.1).

use super::{Feature, FeatureProperties};

/// Values of a server-priority feature that an end accepts, the most wanted first; sixteen at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preferences {
    values: [u8; Self::LEN_MAX],
    len: u8,
}

impl Preferences {
    const LEN_MAX: usize = 16;

    /// Returns a list of feature values, each at most once.
    ///
    /// # Panics
    ///
    /// Panics when there is no value or more than sixteen.
    pub fn new(list: &[u8]) -> Self {
        assert!((1..=Self::LEN_MAX).contains(&list.len()), "one to sixteen preferences");
        let mut values = [0; Self::LEN_MAX];
        values[..list.len()].copy_from_slice(list);
        Self { values, len: list.len() as u8 }
    }

    /// Returns the list of feature values, the most wanted first.
    pub fn as_slice(&self) -> &[u8] {
        &self.values[..usize::from(self.len)]
    }

    /// Returns true if the list of feature values contains `value`.
    pub fn has(&self, value: u8) -> bool {
        self.as_slice().contains(&value)
    }
}

/// Progress of a Change option of this end for one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeProgress {
    /// Progress "none": this end waits for no answer to a Change.
    Stable,
    /// Progress "to send": a Change with new content must be sent first.
    Unstable,
    /// Progress "sent": the other end has not confirmed the Change; `is_due` when it must be sent
    /// again.
    Changing {
        /// True if the Change goes on the next packet that may carry it.
        is_due: bool,
    },
}

/// Feature of one end and the state of its negotiation.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeatureNegotiation {
    pub(super) feature: Feature,
    pub(super) kind: FeatureProperties,
    pub(super) value: u64,
    /// Values that this end accepts for a server-priority feature.
    pub(super) preferences: Preferences,
    /// Value that this end requests for a non-negotiable feature.
    pub(super) wanted: u64,
    pub(super) is_mandatory: bool,
    /// True if the other end has sent a Change of this feature.
    pub(super) has_received_change: bool,
    /// True if the other end has left every Change of this feature unanswered.
    pub(super) is_ignored: bool,
    pub(super) progress: ChangeProgress,
}

impl FeatureNegotiation {
    pub(super) fn new(feature: Feature, kind: FeatureProperties) -> Self {
        // Without preferences of its own an endpoint accepts the initial value, and any other value
        // that the connection allows.
        Self {
            feature,
            kind,
            value: kind.initial,
            preferences: Preferences::new(&[kind.initial as u8]),
            wanted: kind.initial,
            is_mandatory: false,
            has_received_change: false,
            is_ignored: false,
            progress: ChangeProgress::Stable,
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        matches!(
            self.progress,
            ChangeProgress::Unstable | ChangeProgress::Changing { is_due: true }
        )
    }

    /// Returns the value on which the lists of both ends agree (RFC 4340 §6.3.1); `None` when they
    /// have no value in common.
    pub(super) fn reconcile(&self, is_server: bool, theirs: &[u8]) -> Option<u8> {
        let ours = self.preferences.as_slice();
        let (server, client) = if is_server { (ours, theirs) } else { (theirs, ours) };
        server.iter().copied().find(|value| client.contains(value))
    }
}
