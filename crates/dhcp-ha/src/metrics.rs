//! Numbers about a relationship, for monitoring: states, lag and conflicts.

use base::Now;
use base::time::NS_PER_S;

use crate::relationship::Relationship;
use crate::state::HaState;

/// Numbers about a relationship at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaMetrics {
    /// State of this server.
    pub state: HaState,
    /// State of the partner; `None` if the last heartbeat failed.
    pub partner: Option<HaState>,
    /// Changes of this server's state, by the state that it entered ([`HaState::ALL`]).
    pub entered: [u64; HaState::ALL.len()],
    /// Time since the last heartbeat that succeeded, in seconds; since the start of the server if
    /// none has, and 0 without a partner.
    pub silent_s: u64,
    /// Partner's clock minus this server's, in seconds; `None` after a failure.
    pub clock_skew_s: Option<i64>,
    /// Changes of leases that the partner does not know, because the state has no updates.
    pub unsent_updates: u64,
    /// Updates that the partner has refused since the start.
    pub refused_updates: u64,
    /// Clients whose last update the partner has refused.
    pub refused_clients: u64,
    /// Clients that the partner leaves without an answer while the communication is interrupted.
    pub unacked_clients: u64,
}

impl Relationship {
    /// Returns the numbers about the relationship at `now`.
    #[must_use]
    pub fn metrics(&self, now: Now) -> HaMetrics {
        let heard =
            if self.has_partner() { self.partner.heard.unwrap_or(self.started) } else { now };
        HaMetrics {
            state: self.state,
            partner: self.partner.state,
            entered: self.entered_states,
            silent_s: now.mono_ns.saturating_sub(heard.mono_ns) / NS_PER_S,
            clock_skew_s: self.partner.skew_s,
            unsent_updates: self.unsent_updates,
            refused_updates: self.refused_updates,
            refused_clients: self.rejected_clients(now) as u64,
            unacked_clients: self.unacked.unacked() as u64,
        }
    }
}
