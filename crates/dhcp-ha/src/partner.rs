//! The partner as this server knows it by its heartbeats.

use base::Now;
use serde_json::Value;

use crate::clock::unix_s_of;
use crate::command::CommandResult;
use crate::state::HaState;

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
    /// Number of updates that the partner could not send to this server.
    pub unsent_updates: u64,
    /// Number of such updates whose leases this server has copied since.
    pub copied_updates: u64,
    /// True if the partner is terminated and starts anew when the clocks agree. Only Godwit's
    /// heartbeats say so.
    pub may_heal: bool,
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
        let state = HaState::from_name(state)
            .ok_or_else(|| format!("the heartbeat has the unknown state `{state}`"))?;
        let date = text("date-time").ok_or("the heartbeat has no `date-time`")?;
        let wall_s =
            unix_s_of(date).ok_or_else(|| format!("the heartbeat has the bad time `{date}`"))?;
        let unsent = match answer.arguments.get("unsent-update-count") {
            None => 0,
            Some(count) => count.as_u64().ok_or("`unsent-update-count` is not an integer")?,
        };
        let scopes = answer.arguments.get("scopes").and_then(Value::as_array);
        let scopes = scopes.into_iter().flatten().filter_map(Value::as_str);
        self.scopes = scopes.map(str::to_owned).collect();
        (self.state, self.last_state) = (Some(state), Some(state));
        self.heard = Some(now);
        self.partner_wall_s = wall_s;
        self.skew_s = Some(wall_s.cast_signed() - now.wall_s().cast_signed());
        self.may_heal = answer.arguments.get("may-heal").and_then(Value::as_bool) == Some(true);
        self.unsent_updates = unsent;
        if unsent < self.copied_updates {
            // The partner has started again, and counts from 0.
            self.copied_updates = 0;
        }
        self.failure.clear();
        Ok(())
    }

    /// Returns true if the partner has leases that this server has not copied.
    pub(crate) const fn has_uncopied_leases(&self) -> bool {
        self.unsent_updates != self.copied_updates
    }

    /// Records that the partner could not be reached.
    pub(crate) fn record_failure(&mut self, reason: String) {
        self.state = None;
        self.skew_s = None;
        self.failure = reason;
    }
}
