//! Clocks of the kernel, read through the vDSO without a system call, about 25 ns per reading.
//! Callers read them once per batch, never per packet.
#![allow(unsafe_code, reason = "clock_gettime, localtime_r")]

use base::Now;

/// Clocks of this machine: monotonic, wall clock and processor time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write a timespec to.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(result, 0, "the clocks used here exist on every Linux");
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

impl Clock {
    /// Reads `CLOCK_MONOTONIC` and `CLOCK_REALTIME`, one after the other, into one [`Now`].
    #[must_use]
    pub fn now() -> Now {
        Now { mono_ns: Self::mono_ns(), wall_us: nanoseconds(libc::CLOCK_REALTIME) / 1_000 }
    }

    /// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
    #[must_use]
    pub fn mono_ns() -> u64 {
        nanoseconds(libc::CLOCK_MONOTONIC)
    }

    /// Returns the offset of local time from UTC, in seconds, at `wall_s` seconds since 1970;
    /// positive east of Greenwich.
    #[must_use]
    pub fn utc_offset_s(wall_s: u64) -> i64 {
        let time: libc::time_t = wall_s.cast_signed();
        // SAFETY: all fields are integers or a pointer that may be null.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers lead to values that live through the call; nothing here changes
        // the environment that the call reads.
        let result = unsafe { libc::localtime_r(&raw const time, &raw mut local) };
        if result.is_null() { 0 } else { local.tm_gmtoff }
    }

    /// Returns the processor time of the calling thread in nanoseconds, including interrupts served
    /// on it.
    #[must_use]
    pub fn thread_cpu_ns() -> u64 {
        nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Returns the processor time that all threads of the process have used together, in
    /// nanoseconds.
    #[must_use]
    pub fn process_cpu_ns() -> u64 {
        nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_does_not_go_back_and_wall_time_is_of_this_century() {
        let (a, b) = (Clock::now(), Clock::now());
        assert!(b.mono_ns >= a.mono_ns);
        assert!(a.wall_s() > 1_700_000_000 && a.wall_s() < 5_000_000_000);
        assert!(Clock::process_cpu_ns() > 0 && Clock::thread_cpu_ns() > 0);
        assert!(Clock::utc_offset_s(a.wall_s()).abs() <= 14 * 3_600);
    }
}
