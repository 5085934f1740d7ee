//! One feature of one end: its value, what is wanted, and how far the wish has come (§6.6.1).

use super::{Feature, Kind};

/// Values of a server-priority feature, the most wanted first; sixteen at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preferences {
    values: [u8; Self::LEN_MAX],
    len: u8,
}

impl Preferences {
    const LEN_MAX: usize = 16;

    /// A list of values, each of them at most once.
    ///
    /// # Panics
    ///
    /// When there is no value or more than sixteen.
    #[must_use]
    pub fn new(list: &[u8]) -> Self {
        assert!((1..=Self::LEN_MAX).contains(&list.len()), "one to sixteen preferences");
        let mut values = [0; Self::LEN_MAX];
        values[..list.len()].copy_from_slice(list);
        Self { values, len: list.len() as u8 }
    }

    /// The list.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.values[..usize::from(self.len)]
    }

    /// Whether the list has this value.
    #[must_use]
    pub fn has(&self, value: u8) -> bool {
        self.as_slice().contains(&value)
    }
}

/// How far a Change of ours has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing is asked for.
    Stable,
    /// A Change with a new content must be sent first.
    Unstable,
    /// A Change was sent and not confirmed; `is_due` when it must be sent again.
    Changing {
        /// Whether it goes onto the next packet that may carry it.
        is_due: bool,
    },
}

/// A feature and the state of its negotiation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) feature: Feature,
    pub(super) kind: Kind,
    pub(super) value: u64,
    /// For server-priority features, the values that we can do.
    pub(super) preferences: Preferences,
    /// For non-negotiable ones, the value that was asked for.
    pub(super) wanted: u64,
    pub(super) is_mandatory: bool,
    /// The other end has sent a Change.
    pub(super) was_asked: bool,
    /// The other end has left every Change of ours without an answer.
    pub(super) is_ignored: bool,
    pub(super) progress: Progress,
}

impl Entry {
    pub(super) fn new(feature: Feature, kind: Kind) -> Self {
        // Without a wish of its own an endpoint can do the initial value, and whatever else the
        // connection says it can.
        Self {
            feature,
            kind,
            value: kind.initial,
            preferences: Preferences::new(&[kind.initial as u8]),
            wanted: kind.initial,
            is_mandatory: false,
            was_asked: false,
            is_ignored: false,
            progress: Progress::Stable,
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        matches!(self.progress, Progress::Unstable | Progress::Changing { is_due: true })
    }

    /// The value that both lists lead to (§6.3.1); `None` when they have nothing in common.
    pub(super) fn reconcile(&self, is_server: bool, theirs: &[u8]) -> Option<u8> {
        let ours = self.preferences.as_slice();
        let (server, client) = if is_server { (ours, theirs) } else { (theirs, ours) };
        server.iter().copied().find(|value| client.contains(value))
    }
}
