//! Effect of Kea's `expired-leases-processing` on the lease table.

use dhcp_config::ExpiredLeases;
use dhcp_lease::{Expiry, LeaseTable, ReclaimLimits, TableFamily};

/// Applies the settings of `expired-leases-processing` in `config` to the lease table `table`.
pub fn apply_expiry<F: TableFamily>(table: &LeaseTable<F>, config: &ExpiredLeases) {
    table.set_expiry(Expiry {
        reclaim_wait_s: config.reclaim_timer_wait_s,
        hold_reclaimed_s: config.hold_reclaimed_s,
        is_remembering: config.flush_reclaimed_timer_wait_s > 0,
    });
    table.set_reclaim_limits(ReclaimLimits {
        cycle_s: config.reclaim_timer_wait_s,
        leases: config.max_reclaim_leases,
        time_ms: config.max_reclaim_time_ms,
        unwarned_cycles: config.unwarned_reclaim_cycles,
    });
}
