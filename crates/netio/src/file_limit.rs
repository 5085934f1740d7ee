//! Limit of open files of a process, including sockets (`RLIMIT_NOFILE`, getrlimit(2)).
#![allow(unsafe_code, reason = "getrlimit, setrlimit")]

use std::io;

/// Number of files that a process is expected to have open in addition to those that [`need`]
/// counts.
const OTHERS: u64 = 64;

/// Raises the soft limit of open files as far as `count` more files need, and the hard limit if the
/// process may.
///
/// # Errors
///
/// A text, if the hard limit is lower and cannot be raised.
pub fn need(count: u64) -> Result<(), String> {
    let wanted = count.saturating_add(OTHERS);
    let limits =
        limits().map_err(|error| format!("cannot read the limit of open files: {error}"))?;
    if limits.rlim_cur >= wanted {
        return Ok(());
    }
    let hard = limits.rlim_max;
    if set(libc::rlimit { rlim_cur: wanted, rlim_max: hard.max(wanted) }).is_ok() {
        return Ok(());
    }
    Err(format!(
        "{count} sockets and up to {OTHERS} other files need a limit of {wanted} open files, but \
         the hard limit is {hard}: as root, `ulimit -Hn {wanted}` in this shell or `prlimit \
         --nofile={wanted} COMMAND` raises it"
    ))
}

fn limits() -> io::Result<libc::rlimit> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one structure of this type, which outlives the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits) };
    if result == 0 { Ok(limits) } else { Err(io::Error::last_os_error()) }
}

fn set(limits: libc::rlimit) -> io::Result<()> {
    // SAFETY: the kernel reads one structure of this type, which outlives the call.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_needed() {
        let before = limits().unwrap();
        // The limit must not be below the files of tests that run at the same time.
        set(libc::rlimit { rlim_cur: 900, ..before }).unwrap();
        need(10).unwrap();
        assert_eq!(limits().unwrap().rlim_cur, 900);
        need(900).unwrap();
        assert_eq!(limits().unwrap().rlim_cur, 964);
        set(before).unwrap();
        // More than the kernel grants to any process (fs.nr_open).
        let problem = need(1 << 40).unwrap_err();
        assert!(problem.contains("ulimit -Hn"), "{problem}");
    }
}
