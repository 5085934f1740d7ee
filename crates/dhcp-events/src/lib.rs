//! Feed of lease events: the changes of all leases of a server in one numbered order, and the
//! positions of the listeners that read them.
//!
//! The lease table records changes ([`dhcp_lease::event`]). The owner of a [`Feed`] moves those
//! that are durable into it, where each gets the next number. A listener reads events and
//! acknowledges them; one that crashes reads again after the last event that it acknowledged. What
//! happens to a listener that is too slow is its [`FallBehindPolicy`].

mod feed;
mod listener;

pub use feed::{Feed, LeaseEvent};
pub use listener::{FallBehindPolicy, ListenerId, ListenerState};
