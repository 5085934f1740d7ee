//! Position of a listener in the feed, and the policy for a listener that falls behind.

/// Treatment of a listener that does not keep up with the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallBehindPolicy {
    /// Replies wait until the listener has acknowledged the events of their rows. The listener
    /// loses nothing, and clients wait for it.
    HoldReplies,
    /// The oldest events that the listener has not acknowledged are dropped and counted when there
    /// are more than this number of them.
    DropAbove(usize),
}

/// Number by which the feed knows a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) u32);

/// Position and counts of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerState {
    /// Treatment of the listener when it falls behind.
    pub policy: FallBehindPolicy,
    /// Number of the last event that the listener has acknowledged, or that was dropped for it.
    pub acknowledged: u64,
    /// Number of the last event that the listener has read.
    pub read: u64,
    /// Number of events that the listener has taken.
    pub delivered: u64,
    /// Number of events that were dropped for the listener.
    pub dropped: u64,
}
