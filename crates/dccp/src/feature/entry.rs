//! State of one feature of one end: its value, the requested value, and the progress of the request
//! (§6.6.1).

use super::{Feature, FeatureProperties};

/// Values of a server-priority feature, the most wanted first; sixteen at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preferences {
    values: [u8; Self::LEN_MAX],
    len: u8,
}

impl Preferences {
    const LEN_MAX: usize = 16;

    /// Returns a list of values, each of them at most once.
    ///
    /// # Panics
    ///
    /// Panics when there is no value or more than sixteen.
    #[must_use]
    pub fn new(list: &[u8]) -> Self {
        assert!((1..=Self::LEN_MAX).contains(&list.len()), "one to sixteen preferences");
        let mut values = [0; Self::LEN_MAX];
        values[..list.len()].copy_from_slice(list);
        Self { values, len: list.len() as u8 }
    }

    /// Returns the list, the most wanted value first.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.values[..usize::from(self.len)]
    }

    /// Returns true if the list has this value.
    #[must_use]
    pub fn has(&self, value: u8) -> bool {
        self.as_slice().contains(&value)
    }
}

/// Progress of a Change of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeProgress {
    /// No Change is under way.
    Stable,
    /// A Change with a new content must be sent first.
    Unstable,
    /// A Change was sent and not confirmed; `is_due` when it must be sent again.
    Changing {
        /// True if the Change goes onto the next packet that may carry it.
        is_due: bool,
    },
}

/// A feature and the state of its negotiation.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeatureNegotiation {
    pub(super) feature: Feature,
    pub(super) kind: FeatureProperties,
    pub(super) value: u64,
    /// Values that this end accepts, for server-priority features.
    pub(super) preferences: Preferences,
    /// Requested value, for non-negotiable features.
    pub(super) wanted: u64,
    pub(super) is_mandatory: bool,
    /// True if the other end has sent a Change.
    pub(super) has_received_change: bool,
    /// True if the other end has left every Change of this end without an answer.
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

    /// Returns the value that both lists lead to (§6.3.1); `None` when they have no value in
    /// common.
    pub(super) fn reconcile(&self, is_server: bool, theirs: &[u8]) -> Option<u8> {
        let ours = self.preferences.as_slice();
        let (server, client) = if is_server { (ours, theirs) } else { (theirs, ours) };
        server.iter().copied().find(|value| client.contains(value))
    }
}
