//! Lifetimes of DHCPv4 leases, and the times at which clients renew them.

use dhcp_config::v4::Lifetime;

use super::snapshot::Subnet;

/// Returns the lifetime within `limits`, in seconds, of a lease whose client requests `requested_s`
/// in option 51; 0 counts as no request.
pub(super) fn granted_s(limits: &Lifetime, requested_s: Option<u32>) -> u32 {
    match requested_s {
        None | Some(0) => limits.default_s,
        // Kea gives the upper limit precedence when an operator has swapped the limits.
        Some(requested_s) => requested_s.max(limits.min_s).min(limits.max_s),
    }
}

/// Returns T1 and T2 of a lease in seconds (Kea reference §5.8): `renew-timer` and `rebind-timer`,
/// else parts of the lifetime with `calculate-tee-times`; `None` for one that is 0 or out of order.
pub(super) fn timers_s(subnet: &Subnet, lifetime_s: u32) -> (Option<u32>, Option<u32>) {
    let part = |part: f64| (f64::from(lifetime_s) * part).round() as u32;
    let rebind_s = subnet
        .rebind_timer_s
        .or_else(|| subnet.tee_parts.map(|(_, t2)| part(t2)))
        .filter(|&t2| 0 < t2 && t2 < lifetime_s);
    let renew_s = subnet
        .renew_timer_s
        .or_else(|| subnet.tee_parts.map(|(t1, _)| part(t1)))
        .filter(|&t1| 0 < t1 && t1 < rebind_s.unwrap_or(lifetime_s));
    (renew_s, rebind_s)
}
