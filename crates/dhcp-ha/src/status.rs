//! The relationship as `status-get` and `ha-explain` show it.

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::HaPeer;
use serde_json::{Value, json};

use crate::administration::HaAnswer;
use crate::clock::system_time;
use crate::relationship::Relationship;

impl Relationship {
    /// Returns the element of `high-availability` in the answer to `status-get`. Without a partner,
    /// at a backup server and in the mode `passive-backup`, it has no `remote`, as in Kea.
    #[must_use]
    pub fn status(&self, now: Now) -> Value {
        let config = &self.config;
        // Both clocks are those of the heartbeat that `clock-skew` is about.
        let measured = self.partner.heard.filter(|_| self.partner.skew_s.is_some());
        let mut servers = json!({
            "local": {
                "role": config.own.role.name(),
                "scopes": self.scopes(),
                "server-name": config.own.name,
                "state": self.state.name(),
                "system-time": measured.map(|heard| system_time(heard.wall_s())),
            },
        });
        // As in Kea, backup servers do not count: the server does not know how they are.
        if let Some(partner) = config.partner() {
            servers["remote"] = self.partner_status(now, partner);
        }
        json!({ "ha-mode": config.mode.name(), "ha-servers": servers })
    }

    /// Returns the member `remote` of the status, about `peer`.
    fn partner_status(&self, now: Now, peer: &HaPeer) -> Value {
        let partner = &self.partner;
        let heard = partner.heard.unwrap_or(self.started);
        let silent_s = now.mono_ns.saturating_sub(heard.mono_ns) / NS_PER_S;
        let is_interrupted = self.is_interrupted(now);
        let limit = self.config.limits.unacked_clients as usize;
        let unacked = self.unacked.unacked();
        let left = if is_interrupted { (limit + 1).saturating_sub(unacked) } else { 0 };
        let last_state = match (partner.state, partner.is_tried) {
            (Some(state), _) => state.name(),
            (None, true) => "unavailable",
            (None, false) => "",
        };
        json!({
            "age": if partner.is_tried { silent_s } else { 0 },
            "analyzed-packets": self.unacked.queries,
            "clock-skew": partner.skew_s,
            "communication-interrupted": is_interrupted,
            "connecting-clients": self.unacked.connecting(),
            "in-touch": partner.is_tried,
            "last-scopes": partner.scopes,
            "last-state": last_state,
            "role": peer.role.name(),
            "server-name": peer.name,
            "system-time": partner.skew_s.map(|_| system_time(partner.partner_wall_s)),
            "unacked-clients": unacked,
            "unacked-clients-left": left,
        })
    }

    /// Executes `ha-explain`: the state, its reason, and the condition that ends it.
    pub(crate) fn explain(&mut self, now: Now, _arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        let since_s = now.mono_ns.saturating_sub(self.entered.mono_ns) / NS_PER_S;
        let (state, reason, end) = (self.state.name(), &self.reason, self.state.end());
        let text = format!("{state} for {since_s} s because {reason}; it ends with {end}");
        let received = self.synchronization.as_ref().map(|one| one.leases());
        let arguments = json!({
            "state": state,
            "since-seconds": since_s,
            "reason": reason,
            "ends-with": end,
            "partner-failure": self.partner.failure,
            "synchronized-leases": received,
            "rejected-clients": self.rejected_clients(now),
            "unsent-update-count": self.unsent_updates,
            "delayed-updates": self.delayed_updates(),
        });
        Ok(HaAnswer { code: 0, text, arguments })
    }
}
