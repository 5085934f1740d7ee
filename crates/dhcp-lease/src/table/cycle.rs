//! Limits on the leases that sweeps reclaim in one cycle (Kea's `expired-leases-processing`): a
//! number of leases and an amount of time. Leases left over wait for the next cycle; a client that
//! needs such an address gets it nevertheless.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};

/// Limits on the leases that sweeps reclaim in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimLimits {
    /// Time from the beginning of one reclaim cycle to that of the next, in seconds (Kea's
    /// `reclaim-timer-wait-time`).
    pub cycle_s: u32,
    /// Largest number of leases reclaimed in one cycle (`max-reclaim-leases`); 0: any number.
    pub leases: u32,
    /// Largest time that reclaiming may take in one cycle, in milliseconds (`max-reclaim-time`), as
    /// reported to [`LeaseTable::spend_reclaim_time`](super::LeaseTable::spend_reclaim_time); 0:
    /// any.
    pub time_ms: u32,
    /// Number of cycles in a row that may leave leases over without a warning
    /// (`unwarned-reclaim-cycles`); 0: never warn.
    pub unwarned_cycles: u32,
}

/// State of the running reclaim cycle.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    limits: ReclaimLimits,
    /// Monotonic end of the reclaim cycle, in nanoseconds.
    ends_ns: u64,
    leases: u32,
    /// True if a limit (`max-reclaim-leases`, `max-reclaim-time`) left ended leases over in the
    /// current cycle.
    is_short: bool,
    /// Number of reclaim cycles in a row before the current one that left ended leases over.
    short_in_row: u32,
    /// Number of warnings about ended leases left over that are due (`unwarned-reclaim-cycles`).
    warnings: u32,
}

/// Current reclaim cycle, used by one shard at a time.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    is_limited: AtomicBool,
    /// Time that reclaiming has taken so far in the cycle, in nanoseconds; outside of the lock, so
    /// that no shard waits for it.
    spent_ns: AtomicU64,
    cycle: Mutex<Cycle>,
}

/// Limit on the leases that one sweep may reclaim.
pub(super) enum Allowance<'c> {
    /// Unlimited number of leases.
    Unlimited,
    /// Rest of the limit of the current reclaim cycle, with the time that reclaiming has taken in
    /// it, in nanoseconds.
    Of(MutexGuard<'c, Cycle>, &'c AtomicU64),
    /// No lease, since another shard is reclaiming.
    Busy,
}

impl Cycles {
    /// Applies the limits on reclaimed leases from now on, in a new reclaim cycle.
    pub(super) fn set_limits(&self, limits: ReclaimLimits) {
        *self.lock() = Cycle { limits, ..Cycle::default() };
        self.spent_ns.store(0, Ordering::Relaxed);
        self.is_limited.store(limits.leases > 0 || limits.time_ms > 0, Ordering::Release);
    }

    /// Returns the limit on the leases that a sweep at `now` may reclaim; does not wait for another
    /// shard.
    pub(super) fn begin(&self, now: Now) -> Allowance<'_> {
        if !self.is_limited.load(Ordering::Acquire) {
            return Allowance::Unlimited;
        }
        let Ok(mut cycle) = self.cycle.try_lock() else { return Allowance::Busy };
        if cycle.begin_if_over(now) {
            self.spent_ns.store(0, Ordering::Relaxed);
        }
        Allowance::Of(cycle, &self.spent_ns)
    }

    /// Adds the nanoseconds that reclaiming the last leases took to the time of the cycle.
    pub(super) fn spend(&self, time_ns: u64) {
        self.spent_ns.fetch_add(time_ns, Ordering::Relaxed);
    }

    /// Returns the number of warnings that became due since the last call, and the number of cycles
    /// in a row after which a warning becomes due.
    pub(super) fn take_warnings(&self) -> (u32, u32) {
        let mut cycle = self.lock();
        (core::mem::take(&mut cycle.warnings), cycle.limits.unwarned_cycles)
    }

    fn lock(&self) -> MutexGuard<'_, Cycle> {
        self.cycle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cycle {
    /// Begins the next reclaim cycle when the current one is over at `now`. Returns true if it did.
    fn begin_if_over(&mut self, now: Now) -> bool {
        if now.mono_ns < self.ends_ns {
            return false;
        }
        self.short_in_row = if self.is_short { self.short_in_row + 1 } else { 0 };
        if self.limits.unwarned_cycles > 0 && self.short_in_row > self.limits.unwarned_cycles {
            self.warnings += 1;
            self.short_in_row = 0;
        }
        self.ends_ns = now.mono_ns + u64::from(self.limits.cycle_s) * NS_PER_S;
        (self.leases, self.is_short) = (0, false);
        true
    }

    fn remaining(&self, spent_ns: u64) -> u32 {
        let ReclaimLimits { leases, time_ms, .. } = self.limits;
        if time_ms > 0 && spent_ns >= u64::from(time_ms) * NS_PER_MS {
            return 0;
        }
        if leases == 0 { u32::MAX } else { leases.saturating_sub(self.leases) }
    }
}

impl Allowance<'_> {
    /// Returns the number of leases that the sweep may still reclaim.
    pub(super) fn remaining(&self) -> u32 {
        match self {
            Self::Unlimited => u32::MAX,
            Self::Of(cycle, spent_ns) => cycle.remaining(spent_ns.load(Ordering::Relaxed)),
            Self::Busy => 0,
        }
    }

    /// Counts one reclaimed lease against the limit.
    pub(super) fn take(&mut self) {
        if let Self::Of(cycle, _) = self {
            cycle.leases += 1;
        }
    }

    /// Records that the limit leaves ended leases over in the current reclaim cycle.
    pub(super) fn fall_short(&mut self) {
        if let Self::Of(cycle, _) = self {
            cycle.is_short = true;
        }
    }
}
