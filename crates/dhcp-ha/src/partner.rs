//! The partner as this server knows it by its heartbeats.

use base::Now;
use serde_json::Value;

use crate::clock::unix_s_of;
use crate::command::{CommandResult, beginning_of};
use crate::state::HaState;

/// Member of a heartbeat's answer: the time from which on `unsent-update-count` counts. Kea ignores
/// it.
pub(crate) const UNSENT_SINCE: &str = "unsent-since";
/// Member of a heartbeat's answer: true until the server has copied its partner's leases, by which
/// it learns which of its own the partner lacks. Kea ignores it.
pub(crate) const MAY_HAVE_MORE: &str = "may-have-more";

/// Member of a heartbeat's answer: true if the server takes the updates of several leases in one
/// command, in DHCPv4, too, and as rows of a lease file. Kea ignores it.
pub(crate) const TAKES_LEASE_ROWS: &str = "takes-lease-rows";
/// Member of a heartbeat's answer: true if the server notes which leases change while its partner
/// copies them. Kea ignores it.
pub(crate) const NOTES_CHANGES: &str = "notes-changes";

/// Maximum number of scopes of a heartbeat; there is one for each server of a relationship.
const SCOPES_MAX: usize = 32;

/// Number of updates that a server could not send to its partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsentCount {
    /// Start of the server, from which on it counts, in microseconds since 1970; `None` for a
    /// partner of another make, whose number does not show it.
    pub since_us: Option<u64>,
    /// Number of updates.
    pub updates: u64,
}

/// State of the partner as the last heartbeats report it.
#[derive(Clone, Debug, Default)]
pub struct PartnerView {
    /// State that the last heartbeat reported; `None` if the last attempt to reach the partner
    /// failed, and before the first one.
    pub state: Option<HaState>,
    /// Last state that a heartbeat has reported, also if later ones failed.
    pub last_state: Option<HaState>,
    /// Names of the scopes that the partner serves.
    pub scopes: Vec<String>,
    /// Time of the last heartbeat that succeeded.
    pub heard: Option<Now>,
    /// Partner's clock at that heartbeat, in seconds since 1970.
    pub partner_wall_s: u64,
    /// Partner's clock minus this server's, in seconds; `None` after a failure.
    pub skew_s: Option<i64>,
    /// Updates that the partner could not send to this server.
    pub unsent: UnsentCount,
    /// True if the partner may have leases from before its start that this server lacks and that
    /// its number does not contain. Only Godwit's heartbeats say so.
    pub may_have_more: bool,
    /// Value of `unsent` that the last copy of the partner's leases covers; `None` before the first
    /// copy since the start of this server.
    pub copied: Option<UnsentCount>,
    /// True if the partner is terminated and starts anew when the clocks agree. Only Godwit's
    /// heartbeats say so.
    pub may_heal: bool,
    /// True if the partner takes the updates of several leases in one command, in DHCPv4, too, and
    /// as rows of a lease file. Only Godwit's heartbeats say so.
    pub takes_lease_rows: bool,
    /// True if the partner notes which leases change while this server copies them, so that it need
    /// not be silent meanwhile. Only Godwit's heartbeats say so.
    pub notes_changes: bool,
    /// True from the first attempt to reach the partner on.
    pub is_tried: bool,
    /// True if the partner's own heartbeats lack `server-name`, as those of Kea 2.2 do.
    pub is_old: bool,
    /// Reason of the last failure; empty after a success.
    pub failure: String,
}

impl PartnerView {
    /// Records the answer to a heartbeat.
    ///
    /// # Errors
    ///
    /// The reason why the answer is not one to a heartbeat.
    pub(crate) fn record_heartbeat(
        &mut self,
        now: Now,
        answer: Result<CommandResult, String>,
    ) -> Result<(), String> {
        self.is_tried = true;
        let answer = answer?.with_code(&[0])?;
        let text = |key: &str| answer.arguments.get(key).and_then(Value::as_str);
        let state = text("state").ok_or("the heartbeat has no `state`")?;
        let state = HaState::from_name(state).ok_or_else(|| {
            format!("the heartbeat has the unknown state `{}`", beginning_of(state))
        })?;
        let date = text("date-time").ok_or("the heartbeat has no `date-time`")?;
        let wall_s = unix_s_of(date)
            .ok_or_else(|| format!("the heartbeat has the bad time `{}`", beginning_of(date)))?;
        let updates = match answer.arguments.get("unsent-update-count") {
            None => 0,
            Some(count) => count.as_u64().ok_or("`unsent-update-count` is not an integer")?,
        };
        let since_us = answer.arguments.get(UNSENT_SINCE).and_then(Value::as_u64);
        let unsent = UnsentCount { since_us, updates };
        let scopes = answer.arguments.get("scopes").and_then(Value::as_array);
        let scopes = scopes.into_iter().flatten().filter_map(Value::as_str);
        self.scopes = scopes.take(SCOPES_MAX).map(beginning_of).collect();
        self.record_state(state);
        self.heard = Some(now);
        self.partner_wall_s = wall_s;
        self.skew_s = Some(wall_s.cast_signed() - now.wall_s().cast_signed());
        let is_set = |key: &str| answer.arguments.get(key).and_then(Value::as_bool) == Some(true);
        self.may_heal = is_set("may-heal");
        self.may_have_more = is_set(MAY_HAVE_MORE);
        self.takes_lease_rows = is_set(TAKES_LEASE_ROWS);
        self.notes_changes = is_set(NOTES_CHANGES);
        self.unsent = unsent;
        if let Some(copied) = &mut self.copied
            && copied.since_us == since_us
            && updates < copied.updates
        {
            // The partner has started again, and counts from 0.
            copied.updates = 0;
        }
        self.failure.clear();
        Ok(())
    }

    /// Records the state in which the partner is.
    pub(crate) const fn record_state(&mut self, state: HaState) {
        (self.state, self.last_state) = (Some(state), Some(state));
    }

    /// Returns true if the partner may have leases that this server has not copied.
    pub(crate) fn has_uncopied_leases(&self) -> bool {
        if self.copied == Some(self.unsent) {
            return false;
        }
        // A partner of another make does not say which of its leases from before its start this
        // server lacks.
        self.unsent.since_us.is_none() || self.may_have_more || self.unsent.updates > 0
    }

    /// Returns true if the partner may serve clients while this server copies its leases.
    pub(crate) fn serves_during_copy(&self) -> bool {
        self.notes_changes && self.state.is_some_and(HaState::serves)
    }

    /// Records that the partner could not be reached.
    pub(crate) fn record_failure(&mut self, reason: String) {
        self.state = None;
        self.skew_s = None;
        self.failure = reason;
    }
}
