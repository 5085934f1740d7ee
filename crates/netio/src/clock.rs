//! Clocks of the kernel, read through the vDSO without a system call, about 25 ns per reading.
//! Callers read them once per batch, never per packet.
#![allow(unsafe_code, reason = "clock_gettime, localtime_r, strftime")]

use std::ffi::CString;

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

/// Maximum length of a formatted time, in bytes.
const FORMATTED_TIME_MAX: usize = 1_000;

fn local_time(wall_s: u64) -> Option<libc::tm> {
    let time: libc::time_t = wall_s.cast_signed();
    // SAFETY: all fields are integers or a pointer that may be null.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers lead to values that live through the call; nothing here changes the
    // environment that the call reads.
    let result = unsafe { libc::localtime_r(&raw const time, &raw mut local) };
    (!result.is_null()).then_some(local)
}

impl Clock {
    /// Reads `CLOCK_MONOTONIC` and `CLOCK_REALTIME`, one after the other, into one [`Now`].
    pub fn now() -> Now {
        Now { mono_ns: Self::mono_ns(), wall_us: nanoseconds(libc::CLOCK_REALTIME) / 1_000 }
    }

    /// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
    pub fn mono_ns() -> u64 {
        nanoseconds(libc::CLOCK_MONOTONIC)
    }

    /// Returns the offset of local time from UTC, in seconds, at `wall_s` seconds since 1970;
    /// positive east of Greenwich.
    pub fn utc_offset_s(wall_s: u64) -> i64 {
        local_time(wall_s).map_or(0, |local| local.tm_gmtoff)
    }

    /// Returns the local time `wall_s` seconds after 1970 by the format `format` of `strftime(3)`.
    /// Returns an empty text if that has a NUL, or if the time has more than 1,000 bytes.
    #[must_use]
    pub fn format_local(wall_s: u64, format: &str) -> String {
        let (Some(local), Ok(format)) = (local_time(wall_s), CString::new(format)) else {
            return String::new();
        };
        let mut text = vec![0_u8; FORMATTED_TIME_MAX + 1];
        // SAFETY: the buffer has the length that the call is given, and the other pointers lead to
        // values that live through the call: `format` ends with a NUL, and the name of the time
        // zone in `local` is static memory of the C library, or that of its last reading of the
        // zone, which nothing here repeats.
        let len = unsafe {
            let buffer = text.as_mut_ptr().cast();
            libc::strftime(buffer, text.len(), format.as_ptr(), &raw const local)
        };
        text.truncate(len);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Returns the processor time of the calling thread in nanoseconds, including interrupts served
    /// on it.
    pub fn thread_cpu_ns() -> u64 {
        nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Returns the processor time that all threads of the process have used together, in
    /// nanoseconds.
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

    #[test]
    fn times_are_formatted_as_by_strftime() {
        let time = |format: &str| Clock::format_local(1_769_903_999, format);
        assert_eq!(time("%s %% ü"), "1769903999 % ü");
        let offset_s = Clock::utc_offset_s(1_769_903_999);
        let hour = (1_769_903_999 + offset_s) / 3_600 % 24;
        assert_eq!(time("%H:%M:%S"), format!("{hour:02}:{}:59", time("%M")));
        assert!(!time("%Z").is_empty());
        assert_eq!([time(""), time("a\0"), time(&"x".repeat(FORMATTED_TIME_MAX + 1))], [""; 3]);
    }
}
