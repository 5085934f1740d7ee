//! Short leases while pools are nearly full (Kea's `adaptive-lease-time-threshold`).

use base::Now;
use dhcp_config::{AllocatorKind, Lifetime};
use dhcp_lease::contract::SlotView;
use dhcp_lease::{Family, SlotOccupancy, SlotOwner};

use crate::repeat::remaining_s;

/// Returns the used part of a subnet's pools, 0 to 1, above which new leases get the minimum
/// lifetime, from the configured `adaptive-lease-time-threshold`; `None` when leases are never
/// shortened. As in Kea, the threshold counts only with the allocator `flq` (free lease queue),
/// which knows how full pools are.
pub(crate) fn threshold(configured: f64, allocator: AllocatorKind) -> Option<f64> {
    Some(configured).filter(|&part| part < 1.0 && allocator == AllocatorKind::FreeLeaseQueue)
}

/// Returns the seconds that are left of `lifetime_s` for the lease in `slot`, when the lease runs
/// and belongs to the requesting client; otherwise 0.
pub(crate) fn remaining_lifetime_s<F: Family>(
    now: Now,
    slot: &SlotView<F>,
    lifetime_s: u32,
) -> u32 {
    let is_running = slot.occupancy == SlotOccupancy::Leased
        && slot.owner == SlotOwner::Requester
        && !slot.is_available(now);
    let age_s = if is_running { now.wall_s().checked_sub(slot.cltt_s) } else { None };
    age_s.map_or(0, |age_s| remaining_s(lifetime_s, u32::try_from(age_s).unwrap_or(u32::MAX)))
}

/// Returns the shortest lifetime within `limits` that is not below `remaining_s`, the seconds that
/// are left of the client's lease, whatever lifetime the client requests.
pub(crate) fn shortest(limits: Lifetime, remaining_s: u32) -> Lifetime {
    let lifetime_s = limits.min_s.max(remaining_s);
    Lifetime { default_s: lifetime_s, min_s: lifetime_s, max_s: lifetime_s }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::INFINITE_LIFETIME_S;

    use super::*;

    #[test]
    fn only_a_queue_and_a_part_make_leases_short() {
        assert_eq!(threshold(0.5, AllocatorKind::FreeLeaseQueue), Some(0.5));
        assert_eq!(threshold(1.0, AllocatorKind::FreeLeaseQueue), None);
        assert_eq!(threshold(0.5, AllocatorKind::Iterative), None);
    }

    #[test]
    fn what_is_left_is_not_taken_away() {
        let limits = Lifetime { default_s: 1000, min_s: 100, max_s: 2000 };
        assert_eq!(shortest(limits, 0).max_s, 100);
        assert_eq!(shortest(limits, 900).min_s, 900);
        assert_eq!(shortest(limits, INFINITE_LIFETIME_S).default_s, INFINITE_LIFETIME_S);
    }
}
