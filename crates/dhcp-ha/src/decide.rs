//! Rules by which a server changes its state: Kea's, but for seven. A command of the partner is a
//! sign of life: the server asks for the partner's state before it decides. The first heartbeat is
//! due at once, not after a whole `heartbeat-delay`. A server in partner-down copies the leases of
//! a partner that has served alone, too; Kea misses that if the partner was heard before it got
//! ready. A server in normal operation also copies leases of a partner that it does not know,
//! since the partner may have started again between two heartbeats. A server that is terminated
//! because of the clocks starts anew when they agree again, and `take-over-delay` limits the time
//! for which a server waits for clients without an answer. A maintenance also ends when the partner
//! has started again between two heartbeats.

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};
use dhcp_config::{HaMode, HaRole};

use crate::relationship::Relationship;
use crate::state::HaState;

/// Difference of the clocks from which on the servers do not cooperate, in seconds.
const SKEW_MAX_S: u64 = 60;
/// Difference of the clocks at which terminated servers cooperate again, in seconds: well below the
/// maximum, so that the servers do not go back and forth.
const SKEW_HEALED_S: u64 = 30;
/// Time after which a waiting server gives up on a partner that is terminated, in nanoseconds.
const TERMINATED_NS: u64 = 600 * NS_PER_S;
/// Maximum number of changes of state at once: no chain of the rules is longer.
const CHAIN_MAX: usize = 4;

/// State to enter, and the reason.
type Decision = Option<(HaState, String)>;

fn enter(state: HaState, reason: impl Into<String>) -> Decision {
    Some((state, reason.into()))
}

impl Relationship {
    /// Changes the state as far as the rules demand it.
    pub(crate) fn decide(&mut self, now: Now) {
        for _ in 0..CHAIN_MAX {
            if self.synchronization.is_some() || self.must_ask_partner || self.is_paused() {
                return;
            }
            let Some((state, reason)) = self.next_state(now) else { return };
            self.enter(now, state, reason);
        }
    }

    fn next_state(&self, now: Now) -> Decision {
        match self.state {
            HaState::InMaintenance | HaState::Backup | HaState::PassiveBackup => return None,
            HaState::Terminated => return self.after_terminated(),
            _ => {}
        }
        if !self.has_partner() {
            let reason = "the server has no partner to wait for";
            return enter(self.normal(), reason);
        }
        if let Some(reason) = self.reason_to_terminate(now) {
            return enter(HaState::Terminated, reason);
        }
        if let Some(reason) = self.other_mode_of_partner() {
            let is_waiting = self.state == HaState::Waiting;
            return if is_waiting { None } else { enter(HaState::Waiting, reason) };
        }
        match (self.state, self.partner.state) {
            (HaState::Waiting, partner) => self.after_waiting(now, partner),
            (HaState::Syncing, partner) => self.after_syncing(now, partner),
            (HaState::Ready, partner) => self.after_ready(now, partner),
            (HaState::HotStandby | HaState::LoadBalancing, partner) => {
                self.after_normal(now, partner)
            }
            (HaState::CommunicationRecovery, partner) => self.after_recovery(now, partner),
            (HaState::PartnerDown, partner) => self.after_partner_down(partner),
            (HaState::PartnerInMaintenance, None) => {
                enter(HaState::PartnerDown, "the partner in maintenance has ended")
            }
            (
                HaState::PartnerInMaintenance,
                Some(HaState::Waiting | HaState::Syncing | HaState::Ready),
            ) => enter(HaState::PartnerDown, "the partner in maintenance has started again"),
            (_, _) => None,
        }
    }

    fn reason_to_terminate(&self, now: Now) -> Option<String> {
        if let Some(skew_s) = self.partner.skew_s.filter(|skew| skew.unsigned_abs() > SKEW_MAX_S) {
            return Some(format!("the clocks of the servers differ by {skew_s} s"));
        }
        self.has_refusals(now).then(|| {
            let rejected = self.rejected_clients(now);
            format!("the partner has refused updates of {rejected} clients")
        })
    }

    /// Returns the state of normal operation in the mode of the relationship.
    fn normal(&self) -> HaState {
        if self.config.own.role == HaRole::Backup {
            return HaState::Backup;
        }
        HaState::normal(self.config.mode)
    }

    /// Returns a message if the partner is in a state that the mode of this server does not have.
    fn other_mode_of_partner(&self) -> Option<String> {
        let partner = self.partner.state?;
        let is_balanced = self.config.mode == HaMode::LoadBalancing;
        let is_valid = match partner {
            HaState::CommunicationRecovery => is_balanced,
            HaState::HotStandby | HaState::LoadBalancing => partner == self.normal(),
            _ => true,
        };
        let mode = self.config.mode;
        (!is_valid).then(|| format!("the partner is in {partner}, but `mode` is `{mode}` here"))
    }

    /// Returns true if the partner may have leases that this server has not copied, but would.
    fn lacks_leases(&self) -> bool {
        self.config.synchronizes_leases && self.partner.has_uncopied_leases()
    }

    /// Returns the change to partner-down if the partner has failed.
    fn down(&self, now: Now) -> Decision {
        if !self.is_interrupted(now) {
            return None;
        }
        let limit = self.config.limits.unacked_clients as usize;
        let observes_partner = match self.config.mode {
            HaMode::LoadBalancing => true,
            HaMode::HotStandby | HaMode::PassiveBackup => !self.config.is_primary(),
        };
        let looks_at_clients = self.is_service_enabled() && observes_partner && limit > 0;
        let silent_ns = self.partner.heard.unwrap_or(self.started).mono_ns;
        let silent_s = now.mono_ns.saturating_sub(silent_ns) / NS_PER_S;
        let failure = &self.partner.failure;
        if !looks_at_clients {
            let reason = format!("no heartbeat has succeeded for {silent_s} s ({failure})");
            return enter(HaState::PartnerDown, reason);
        }
        if let Some(limit_ms) = self.config.limits.take_over_ms
            && now.mono_ns.saturating_sub(silent_ns) > u64::from(limit_ms) * NS_PER_MS
        {
            let reason = format!(
                "no heartbeat has succeeded for {silent_s} s ({failure}), longer than \
                 `take-over-delay` allows"
            );
            return enter(HaState::PartnerDown, reason);
        }
        let unacked = self.unacked.unacked();
        (unacked > limit).then(|| {
            let reason = format!(
                "no heartbeat has succeeded for {silent_s} s ({failure}), and the partner does not \
                 answer {unacked} clients"
            );
            (HaState::PartnerDown, reason)
        })
    }

    /// Returns true if the server is terminated for a reason that may pass: the clocks, or a
    /// partner that is terminated.
    pub(crate) fn may_heal(&self) -> bool {
        let has_refusals = self.is_terminated_for_refusals;
        self.state == HaState::Terminated && self.config.heals_clock_skew && !has_refusals
    }

    fn after_terminated(&self) -> Decision {
        if !self.may_heal() {
            return None;
        }
        let is_healed = self.partner.skew_s?.unsigned_abs() <= SKEW_HEALED_S;
        // A partner of another make stays terminated until it is started again, and serves its own
        // clients only.
        let takes_part = self.partner.state? != HaState::Terminated || self.partner.may_heal;
        let reason = "the clocks of the servers agree again";
        if is_healed && takes_part { enter(HaState::Waiting, reason) } else { None }
    }

    fn after_waiting(&self, now: Now, partner: Option<HaState>) -> Decision {
        let Some(partner) = partner else { return self.down(now) };
        let copies = || {
            let reason = format!("the partner is in {partner}");
            if self.config.synchronizes_leases {
                enter(HaState::Syncing, reason)
            } else {
                enter(HaState::Ready, reason + ", and `sync-leases` is false")
            }
        };
        match partner {
            HaState::HotStandby
            | HaState::LoadBalancing
            | HaState::CommunicationRecovery
            | HaState::InMaintenance
            | HaState::PartnerDown
            | HaState::PartnerInMaintenance
            | HaState::Ready => copies(),
            HaState::Waiting if self.config.is_primary() => copies(),
            HaState::Terminated => {
                let since_ns = self.terminated_since_ns?;
                (now.mono_ns.saturating_sub(since_ns) > TERMINATED_NS)
                    .then(|| (HaState::Terminated, "the partner stays terminated".to_owned()))
            }
            _ => None,
        }
    }

    fn after_syncing(&self, now: Now, partner: Option<HaState>) -> Decision {
        match partner {
            None => self.down(now),
            Some(HaState::Terminated) => enter(HaState::Terminated, "the partner is terminated"),
            Some(_) => None,
        }
    }

    fn after_ready(&self, now: Now, partner: Option<HaState>) -> Decision {
        match partner {
            None => self.down(now),
            Some(
                HaState::HotStandby
                | HaState::LoadBalancing
                | HaState::CommunicationRecovery
                | HaState::Ready,
            ) if self.lacks_leases() => {
                enter(HaState::Waiting, "the partner has leases that this server does not know")
            }
            Some(HaState::HotStandby | HaState::LoadBalancing | HaState::CommunicationRecovery) => {
                enter(self.normal(), "the partner is in normal operation")
            }
            Some(HaState::Ready) if self.config.is_primary() => {
                enter(self.normal(), "the partner is ready")
            }
            other => self.maintenance_or_end(other),
        }
    }

    fn after_normal(&self, now: Now, partner: Option<HaState>) -> Decision {
        match partner {
            None if self.config.limits.delayed_updates > 0 => self.down(now).or_else(|| {
                let failure = &self.partner.failure;
                let reason = format!("the partner does not answer ({failure})");
                Some((HaState::CommunicationRecovery, reason))
            }),
            None => self.down(now),
            Some(HaState::PartnerDown) => {
                enter(HaState::Waiting, "the partner has taken this server for failed")
            }
            // The partner has started again or come back while this server did not miss it.
            Some(HaState::HotStandby | HaState::LoadBalancing | HaState::Ready)
                if self.lacks_leases() =>
            {
                enter(HaState::Waiting, "the partner has leases that this server does not know")
            }
            other => self.maintenance_or_end(other),
        }
    }

    fn after_recovery(&self, now: Now, partner: Option<HaState>) -> Decision {
        match partner {
            None => self.down(now),
            Some(HaState::PartnerDown) => {
                enter(HaState::Waiting, "the partner has taken this server for failed")
            }
            Some(HaState::Waiting | HaState::Syncing | HaState::Ready)
                if self.has_too_many_delayed_updates() =>
            {
                enter(HaState::Waiting, "more updates came than could wait for the partner")
            }
            Some(HaState::LoadBalancing | HaState::CommunicationRecovery)
                if self.takes_delayed_updates(now) && self.has_sent_delayed_updates() =>
            {
                enter(self.normal(), "the partner answers again and has all leases")
            }
            other => self.maintenance_or_end(other),
        }
    }

    fn maintenance_or_end(&self, partner: Option<HaState>) -> Decision {
        match partner? {
            HaState::InMaintenance => {
                enter(HaState::PartnerInMaintenance, "the partner is in maintenance")
            }
            HaState::PartnerInMaintenance => {
                enter(HaState::InMaintenance, "the partner has taken over for maintenance")
            }
            HaState::Terminated => enter(HaState::Terminated, "the partner is terminated"),
            _ => None,
        }
    }

    fn after_partner_down(&self, partner: Option<HaState>) -> Decision {
        match partner? {
            other @ (HaState::CommunicationRecovery
            | HaState::PartnerDown
            | HaState::PartnerInMaintenance) => {
                enter(HaState::Waiting, format!("the partner is back, in {other}"))
            }
            HaState::Ready => {
                if self.lacks_leases() {
                    let reason = "the partner has leases that this server does not know";
                    return enter(HaState::Waiting, reason);
                }
                enter(self.normal(), "the partner is ready")
            }
            HaState::Terminated => enter(HaState::Terminated, "the partner is terminated"),
            _ => None,
        }
    }
}
