//! Waking of a thread that waits in [`crate::poll`], by an eventfd. Waking costs one system call,
//! and so does draining; several wakes before the thread drains it count as one.
#![allow(unsafe_code, reason = "eventfd")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Wake-up signal for one waiting thread. Share it by reference or in an `Arc`.
#[derive(Debug)]
pub struct Waker {
    fd: OwnedFd,
}

impl Waker {
    /// Creates a wake-up signal that is not set.
    ///
    /// # Errors
    ///
    /// The process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let raw =
            crate::check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Makes the wake-up signal's descriptor readable. Safe to call from a signal handler.
    pub fn wake(&self) {
        let one = 1_u64;
        // The only possible failure is a full counter, which is readable anyway.
        // SAFETY: the pointer leads to eight readable octets.
        unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Makes the wake-up signal's descriptor unreadable again; returns true if a thread had woken
    /// it.
    pub fn drain(&self) -> bool {
        let mut count = 0_u64;
        // SAFETY: the pointer leads to eight writable octets.
        unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) == 8 }
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_merge_and_drain_once() {
        let waker = Waker::new().unwrap();
        assert!(!waker.drain());
        waker.wake();
        waker.wake();
        assert!(waker.drain());
        assert!(!waker.drain());
    }
}
