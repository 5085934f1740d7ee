//! Origins that disable the DHCP service, with their deadlines (`dhcp-disable`, `dhcp-enable`).

use std::collections::BTreeMap;

use base::Now;
use base::time::NS_PER_S;
use serde_json::{Value, json};

/// Origin number (`origin-id`) of a user's `dhcp-disable` or `dhcp-enable` command.
pub(crate) const USER: u32 = 1;
/// First origin number (`origin-id` of `dhcp-disable`) of this server's own high availability
/// service.
pub const HA_LOCAL: u32 = 1000;
/// First origin number (`origin-id` of `dhcp-disable`) of high availability partners, and the
/// number of the older origin `ha-partner`.
pub const HA_REMOTE: u32 = 2000;
/// First origin number for lost database connections, which disable the DHCP service.
pub(crate) const DATABASE: u32 = 3000;

/// State of the DHCP service, which runs while no origin (user, high availability, database) has
/// disabled it. Each origin disables the service independently, until the same origin enables the
/// service or the period is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceState {
    /// Origins that have disabled the service, each with the monotonic time in nanoseconds at which
    /// its period ends; `None` without a period.
    disabled: BTreeMap<u32, Option<u64>>,
    /// Number of relationships of high availability if there are several, else 0: the partner in
    /// each disables the service for the clients of the relationship only.
    relationships: u32,
}

impl ServiceState {
    /// Returns the state of an enabled service with `relationships` relationships of high
    /// availability.
    #[must_use]
    pub fn with_relationships(relationships: usize) -> Self {
        let several = if relationships > 1 { relationships } else { 0 };
        Self { relationships: u32::try_from(several).unwrap_or(0), ..Self::default() }
    }

    /// Returns true if no origin has disabled the service as a whole, so that the server replies to
    /// requests.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        let of_relationships = HA_REMOTE..HA_REMOTE + self.relationships;
        self.disabled.keys().all(|origin| of_relationships.contains(origin))
    }

    /// Returns true if the partner in the relationship at position `at`, one of several, has
    /// disabled the service for the clients of the relationship.
    #[must_use]
    pub fn is_disabled_by_partner(&self, at: usize) -> bool {
        let at = u32::try_from(at).ok().filter(|at| *at < self.relationships);
        at.is_some_and(|at| self.disabled.contains_key(&(HA_REMOTE + at)))
    }

    /// Disables the service for `origin`, for `period_s` seconds if given. Without a period, an
    /// earlier period of the same origin stays.
    pub fn disable(&mut self, now: Now, origin: u32, period_s: Option<u64>) {
        let deadline =
            period_s.map(|period| now.mono_ns.saturating_add(period.saturating_mul(NS_PER_S)));
        let end = self.disabled.entry(origin).or_default();
        *end = deadline.or(*end);
    }

    /// Disables the service as the command `dhcp-disable` of a user without a period does.
    pub fn disable_for_user(&mut self, now: Now) {
        self.disable(now, USER, None);
    }

    /// Ends the disabling of the service by `origin`.
    pub fn enable(&mut self, origin: u32) {
        self.disabled.remove(&origin);
    }

    /// Ends the periods of disabling that are over at the time `now`.
    pub fn pass_time(&mut self, now: Now) {
        self.disabled.retain(|_, end| end.is_none_or(|end| end > now.mono_ns));
    }

    /// Returns the state as the map `dhcp-state` that `status-get` shows.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let within = |from: u32, to: u32| -> Vec<u32> {
            self.disabled.range(from..to).map(|(&origin, _)| origin).collect()
        };
        json!({
            "globally-disabled": !self.is_enabled(),
            "disabled-by-user": self.disabled.contains_key(&USER),
            "disabled-by-local-command": within(HA_LOCAL, HA_REMOTE),
            "disabled-by-remote-command": within(HA_REMOTE, DATABASE),
            "disabled-by-db-connection": within(DATABASE, u32::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_in_one_of_several_relationships_disables_the_service_for_that_one() {
        let now = Now::default();
        for (relationships, is_enabled) in [(0, false), (1, false), (2, true), (3, true)] {
            let mut state = ServiceState::with_relationships(relationships);
            state.disable(now, HA_REMOTE + 1, None);
            assert_eq!(state.is_enabled(), is_enabled, "{relationships}");
            assert_eq!(state.is_disabled_by_partner(1), is_enabled, "{relationships}");
            assert!(!state.is_disabled_by_partner(0), "{relationships}");
            state.disable(now, HA_REMOTE + 3, None);
            assert!(!state.is_enabled() && !state.is_disabled_by_partner(3), "{relationships}");
        }
    }

    #[test]
    fn every_origin_has_to_enable_what_it_disabled() {
        let mut state = ServiceState::default();
        let now = Now::default();
        state.disable(now, USER, None);
        state.disable(now, HA_REMOTE + 2, Some(5));
        state.enable(USER);
        assert!(!state.is_enabled());
        assert_eq!(state.to_json()["disabled-by-remote-command"], json!([2002]));
        state.disable(now.after_ns(NS_PER_S), HA_REMOTE + 2, None);
        state.pass_time(now.after_ns(5 * NS_PER_S - 1));
        assert!(!state.is_enabled());
        state.pass_time(now.after_ns(5 * NS_PER_S));
        assert!(state.is_enabled());
        state.disable(now, USER, Some(u64::MAX));
        state.pass_time(now.after_ns(u64::MAX - 1));
        assert!(!state.is_enabled());
    }
}
