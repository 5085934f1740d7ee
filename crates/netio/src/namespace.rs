//! Entering of network namespaces by a thread. The testbed creates and removes the namespaces.
#![allow(unsafe_code, reason = "setns, unshare")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::NetError;

/// Moves the calling thread, and only it, into the network namespace at `path` (`/run/netns/NAME`
/// or `/proc/PID/ns/net`). Sockets stay in the namespace in which they were opened, so a
/// short-lived thread can open them for other threads.
///
/// # Errors
///
/// The path cannot be opened, is no network namespace, or the capability (`CAP_SYS_ADMIN`) is
/// missing.
pub fn enter(path: &Path) -> Result<(), NetError> {
    let path_text = || path.display().to_string();
    let file = File::open(path).map_err(NetError::on("open network namespace", path_text()))?;
    // SAFETY: no pointers; the descriptor is open for the whole call.
    crate::check(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) })
        .map_err(NetError::on("enter network namespace", path_text()))
        .map(drop)
}

/// Moves the calling thread, and only it, into a new network namespace that lasts as long as a
/// thread or socket uses it. Its loopback interface is down.
///
/// # Errors
///
/// The capability (`CAP_SYS_ADMIN`) is missing.
pub fn enter_new() -> Result<(), NetError> {
    // SAFETY: no pointers.
    crate::check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
        .map_err(NetError::on("make", "a network namespace"))
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_namespace_is_refused_with_its_path() {
        let missing = enter(Path::new("/nonexistent/netns")).unwrap_err().to_string();
        assert!(missing.contains("/nonexistent/netns"), "{missing}");
        let wrong = enter(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(wrong.starts_with("cannot enter network namespace /dev/null"), "{wrong}");
    }

    #[test]
    fn the_own_namespace_can_be_entered_again() {
        // Without the capability the kernel returns EPERM, which is the other legitimate outcome.
        if let Err(error) = enter(Path::new("/proc/self/ns/net")) {
            assert_eq!(error.cause().raw_os_error(), Some(libc::EPERM));
        }
    }
}
