//! Interface of the control thread to lease events, equal for both families.

use std::fmt::Debug;

use dhcp_control::statistics::EventCounts;
use hyper::body::Bytes;
use tokio::sync::watch;

use super::text::EventFormat;

/// Request of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionRequest {
    pub(crate) format: EventFormat,
    /// True if the stream is to begin with all leases, unless it can be resumed.
    pub(crate) wants_snapshot: bool,
    /// Position after which the stream is to be resumed: `INSTANCE-NUMBER`, or a number alone.
    pub(crate) after: Option<String>,
}

/// Reason why a subscriber is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscribeRefusal {
    /// Maximum number of subscribers reached.
    TooMany,
    /// Failure of the system to start the thread of the feed.
    NoThread,
    /// Process without leases.
    NoLeases,
}

/// Next text of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubscriptionText {
    /// Text to send; `is_more` if more follows at once.
    Text {
        /// Text to send, empty if the subscription has not come to any yet.
        text: Bytes,
        /// True if more text follows at once.
        is_more: bool,
    },
    /// Absence of text until further events.
    Wait,
    /// Last text of the subscription.
    End(Bytes),
}

/// Source of lease events for subscribers, and of the counts of all listeners.
pub(crate) trait EventSource: Debug + Send + Sync {
    /// Adds a subscriber. The first one makes the server record events.
    ///
    /// # Errors
    ///
    /// The reason why there can be no further subscriber.
    fn subscribe(
        &self,
        request: &SubscriptionRequest,
    ) -> Result<Box<dyn EventSubscription>, SubscribeRefusal>;

    /// Returns a receiver that learns of new events.
    fn progress(&self) -> watch::Receiver<u64>;

    /// Counts a subscriber whose connection was closed because it did not read.
    fn count_cut_off(&self);

    /// Returns the counts of all listeners and subscribers.
    fn counts(&self) -> EventCounts;
}

/// Subscription to lease events. Dropping it ends it.
pub(crate) trait EventSubscription: Send {
    /// Returns the next text for the subscriber.
    fn next(&mut self) -> SubscriptionText;

    /// Returns true while the subscriber gets the leases of a snapshot.
    fn is_in_snapshot(&self) -> bool;
}
