//! Steps of the wall clock that affect the times of leases.
//!
//! Leases keep their times in seconds of the wall clock, as Kea's files do. When that clock is set,
//! leases would end early or late by the size of the step. So the table compares the difference
//! between wall clock and monotonic clock: when it changes by a second or more, the table moves the
//! times set before the step with it, so that a lease ends after its lifetime by the monotonic
//! clock and not before. A step forward moves all of them; a step back moves those that would be in
//! the future, and the others end late by the step at most.
//!
//! The comparison costs one memory read for each call; a step of the clock costs a pass over all
//! slots, during which the shards wait.

use core::sync::atomic::{AtomicI64, Ordering};
use std::sync::Mutex;

use base::Now;
use base::time::{NS_PER_MS, US_PER_S};

/// Smallest change of the difference between wall clock and monotonic clock that counts as a step,
/// in microseconds.
pub(super) const STEP_US: u64 = US_PER_S;
/// Time after a step of the wall clock within which a shard may still have a reading from before
/// it, in nanoseconds.
pub(super) const STALE_NS: u64 = NS_PER_MS;
/// Mark in place of the clocks' difference: the lease table does not follow the clocks.
pub(super) const NOT_FOLLOWED: i64 = i64::MIN;
/// Mark in place of the clocks' difference: the times of leases are being moved.
pub(super) const MOVING: i64 = i64::MAX;

/// Step of the wall clock by which the lease table has moved the times of its leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// Size of the step in seconds forward; negative for back.
    pub by_s: i64,
    /// Number of leases whose times were moved.
    pub leases: u64,
}

/// State of the clocks at the start of the server, compared with the loaded leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStart {
    /// Seconds by which the newest loaded lease is ahead of the wall clock; 0 for none.
    pub ahead_s: u64,
    /// Number of loaded leases whose last transaction time was in the future: they last for their
    /// lifetime from the start of the server on.
    pub leases: u64,
}

/// Difference between wall clock and monotonic clock, and the steps that are not reported yet.
pub(super) struct WallClock {
    /// Wall clock minus monotonic clock, in microseconds.
    pub(super) difference_us: AtomicI64,
    pub(super) following: Mutex<ClockDifference>,
}

#[derive(Default)]
pub(super) struct ClockDifference {
    /// Monotonic time at which the clocks' difference was read, in nanoseconds.
    pub(super) since_ns: u64,
    pub(super) difference_us: i64,
    pub(super) steps: Vec<ClockStep>,
}

/// Largest number of unreported steps of the wall clock.
pub(super) const STEPS_MAX: usize = 16;

/// Corrected reading of the clocks, and the difference that it was compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReading {
    pub(super) now: Now,
    pub(super) difference_us: i64,
}

/// Returns wall clock minus monotonic clock at `now`, in microseconds.
pub(super) fn difference_us(now: Now) -> i64 {
    now.wall_us.cast_signed().wrapping_sub((now.mono_ns / 1_000).cast_signed())
}

impl WallClock {
    pub(super) fn new() -> Self {
        Self {
            difference_us: AtomicI64::new(NOT_FOLLOWED),
            following: Mutex::new(ClockDifference::default()),
        }
    }

    /// Returns true if the times of leases were moved since `timed` was read. Callers hold the lock
    /// of a stripe.
    pub(super) fn has_moved(&self, timed: &ClockReading) -> bool {
        self.difference_us.load(Ordering::Relaxed) != timed.difference_us
    }
}
