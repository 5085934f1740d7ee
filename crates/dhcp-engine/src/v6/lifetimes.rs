//! Lifetimes of DHCPv6 leases within the limits of their subnet, T1 and T2.

use base::Now;
use dhcp_config::Lifetime;
use dhcp_lease::INFINITE_LIFETIME_S;
use dhcp_lease::v6::SlotView;

use super::snapshot::Subnet;
use crate::adaptive::{self, shortest};
use crate::repeat::remaining_s;

/// Limits of the lifetimes of a client's lease, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LifetimeLimits {
    /// Limits of the lease's preferred lifetime (`preferred-lifetime`).
    pub(super) preferred: Lifetime,
    /// Limits of the lease's valid lifetime (`valid-lifetime`).
    pub(super) valid: Lifetime,
    /// Preferred lifetime that is left of the client's lease, in seconds: the new one is not
    /// shorter.
    pub(super) preferred_remaining_s: u32,
}

impl LifetimeLimits {
    /// Returns the limits with the shortest lifetimes that keep all seconds left of the client's
    /// lease in `slot`.
    pub(super) fn shortest(self, now: Now, slot: &SlotView) -> Self {
        let remaining_of = |lifetime_s| adaptive::remaining_lifetime_s(now, slot, lifetime_s);
        Self {
            // The seconds left are no limit here: a preferred lifetime that is not configured is a
            // part of the valid one, so a part of a part would result.
            preferred: shortest(self.preferred, 0),
            valid: shortest(self.valid, remaining_of(slot.valid_lifetime_s)),
            preferred_remaining_s: remaining_of(slot.detail.preferred_lifetime_s),
        }
    }
}

/// Preferred and valid lifetime of a lease, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetimes {
    /// Time for which the client may begin communication from the address, in seconds, at most
    /// `valid_s`.
    pub preferred_s: u32,
    /// Time for which the lease lasts, in seconds.
    pub valid_s: u32,
}

impl Lifetimes {
    /// Returns the lifetimes within `limits` of the lease of a client that requests these; 0
    /// requests none (RFC 9915 §21.6). A preferred lifetime that results as 0 or above the valid
    /// one is five eighths of the valid one, as in Kea; it is not below the seconds left of the
    /// client's preferred lifetime.
    pub(super) fn granted(self, limits: LifetimeLimits) -> Self {
        let clamp = |requested_s: u32, limits: Lifetime| match requested_s {
            0 => limits.default_s,
            requested_s => requested_s.clamp(limits.min_s, limits.max_s),
        };
        let valid_s = clamp(self.valid_s, limits.valid);
        let preferred_s = clamp(self.preferred_s, limits.preferred);
        let is_sound = (1..=valid_s).contains(&preferred_s);
        let five_eighths_s = (u64::from(valid_s) * 5 / 8) as u32;
        let preferred_s = if is_sound { preferred_s } else { five_eighths_s };
        Self { preferred_s: preferred_s.max(limits.preferred_remaining_s).min(valid_s), valid_s }
    }

    /// Returns the lifetimes that are left of the lease in `slot`, when it was given for these
    /// lifetimes and is young enough to be repeated instead of renewed (`cache-threshold`).
    pub(super) fn remaining(self, now: Now, slot: &SlotView, subnet: &Subnet) -> Option<Self> {
        let is_same =
            slot.subnet_id == subnet.id && slot.detail.preferred_lifetime_s == self.preferred_s;
        if !is_same {
            return None;
        }
        let age_s = subnet.repeat.age_s(now, slot, self.valid_s)?;
        let preferred_s = remaining_s(self.preferred_s, age_s);
        (preferred_s > 0).then(|| Self { preferred_s, valid_s: remaining_s(self.valid_s, age_s) })
    }
}

/// Returns T1 and T2 of an identity association in seconds (Kea reference §5.8): `renew-timer` and
/// `rebind-timer`, else parts of the preferred lifetime (`calculate-tee-times`), else 0, which
/// leaves the choice to the client. A T1 that is not below T2 is 0.
pub(super) fn timers(subnet: &Subnet, preferred_s: u32) -> (u32, u32) {
    let part = |part: f64| match preferred_s {
        INFINITE_LIFETIME_S => INFINITE_LIFETIME_S,
        seconds => (f64::from(seconds) * part).round() as u32,
    };
    let calculated = |of: fn((f64, f64)) -> f64| subnet.tee_parts.map_or(0, |both| part(of(both)));
    let t1_s = subnet.renew_timer_s.unwrap_or_else(|| calculated(|(t1, _)| t1));
    let t2_s = subnet.rebind_timer_s.unwrap_or_else(|| calculated(|(_, t2)| t2));
    (if t1_s < t2_s { t1_s } else { 0 }, t2_s)
}
