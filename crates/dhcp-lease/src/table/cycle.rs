//! How much is reclaimed in one cycle (Kea's `expired-leases-processing`): so many leases, so much
//! time. What is over waits for the next cycle, and whoever needs its address has it all the same.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};

/// Bounds of what sweeps reclaim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimLimits {
    /// Seconds from the beginning of one cycle to that of the next (Kea's
    /// `reclaim-timer-wait-time`).
    pub cycle_s: u32,
    /// Leases of one cycle (`max-reclaim-leases`); 0: any number.
    pub leases: u32,
    /// Time of one cycle in milliseconds (`max-reclaim-time`), as
    /// [`LeaseTable::spend_reclaim_time`](super::LeaseTable::spend_reclaim_time) tells of it; 0: any.
    pub time_ms: u32,
    /// Cycles in a row that may leave leases over before that is worth a warning
    /// (`unwarned-reclaim-cycles`); 0: it never is.
    pub unwarned_cycles: u32,
}

/// The cycle that is running.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    limits: ReclaimLimits,
    /// Monotonic end.
    ends_ns: u64,
    leases: u32,
    /// A limit left something over.
    is_short: bool,
    /// Cycles before this one, in a row, that left something over.
    short_in_row: u32,
    /// Warnings that are due.
    warnings: u32,
}

/// The cycle, and who has it: one shard at a time.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    is_limited: AtomicBool,
    /// Time that the cycle has taken so far; outside of the lock, so that no shard waits for it.
    spent_ns: AtomicU64,
    cycle: Mutex<Cycle>,
}

/// What one sweep may reclaim.
pub(super) enum Allowance<'c> {
    /// Anything.
    Unlimited,
    /// What the cycle has left, with the time that it has taken.
    Of(MutexGuard<'c, Cycle>, &'c AtomicU64),
    /// Nothing: another shard is at it.
    Taken,
}

impl Cycles {
    /// Holds to `limits` from here on, in a new cycle.
    pub(super) fn set_limits(&self, limits: ReclaimLimits) {
        *self.lock() = Cycle { limits, ..Cycle::default() };
        self.spent_ns.store(0, Ordering::Relaxed);
        self.is_limited.store(limits.leases > 0 || limits.time_ms > 0, Ordering::Release);
    }

    /// What a sweep at `now` may reclaim; it may not wait for another shard.
    pub(super) fn begin(&self, now: Now) -> Allowance<'_> {
        if !self.is_limited.load(Ordering::Acquire) {
            return Allowance::Unlimited;
        }
        let Ok(mut cycle) = self.cycle.try_lock() else { return Allowance::Taken };
        if cycle.follow(now) {
            self.spent_ns.store(0, Ordering::Relaxed);
        }
        Allowance::Of(cycle, &self.spent_ns)
    }

    /// Adds what the leases reclaimed last took.
    pub(super) fn spend(&self, time_ns: u64) {
        self.spent_ns.fetch_add(time_ns, Ordering::Relaxed);
    }

    /// How often a warning has become due since this was last asked, and after how many cycles.
    pub(super) fn take_warnings(&self) -> (u32, u32) {
        let mut cycle = self.lock();
        (core::mem::take(&mut cycle.warnings), cycle.limits.unwarned_cycles)
    }

    fn lock(&self) -> MutexGuard<'_, Cycle> {
        self.cycle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cycle {
    /// Begins the next cycle when this one is over; whether it did.
    fn follow(&mut self, now: Now) -> bool {
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

    fn left(&self, spent_ns: u64) -> u32 {
        let ReclaimLimits { leases, time_ms, .. } = self.limits;
        if time_ms > 0 && spent_ns >= u64::from(time_ms) * NS_PER_MS {
            return 0;
        }
        if leases == 0 { u32::MAX } else { leases.saturating_sub(self.leases) }
    }
}

impl Allowance<'_> {
    /// Leases that may still be reclaimed.
    pub(super) fn left(&self) -> u32 {
        match self {
            Self::Unlimited => u32::MAX,
            Self::Of(cycle, spent_ns) => cycle.left(spent_ns.load(Ordering::Relaxed)),
            Self::Taken => 0,
        }
    }

    /// Counts one that was.
    pub(super) fn take(&mut self) {
        if let Self::Of(cycle, _) = self {
            cycle.leases += 1;
        }
    }

    /// Notes that something is left over.
    pub(super) fn fall_short(&mut self) {
        if let Self::Of(cycle, _) = self {
            cycle.is_short = true;
        }
    }
}
