//! Waiting for a few file descriptors: `ppoll` with nanosecond timeouts. A data-plane thread has
//! one to four descriptors, so a readiness list costs more than it saves. Each wait costs one
//! system call.
#![allow(unsafe_code, reason = "ppoll")]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// File descriptor to wait for in [`poll`], with its readiness after the wait.
#[repr(transparent)]
pub struct PollFd<'fd> {
    raw: libc::pollfd,
    borrowed: PhantomData<BorrowedFd<'fd>>,
}

impl<'fd> PollFd<'fd> {
    fn new(fd: &'fd impl AsFd, events: libc::c_short) -> Self {
        let raw = libc::pollfd { fd: fd.as_fd().as_raw_fd(), events, revents: 0 };
        Self { raw, borrowed: PhantomData }
    }

    /// Creates an entry of [`poll`] that waits until `fd` can be read.
    pub fn readable(fd: &'fd impl AsFd) -> Self {
        Self::new(fd, libc::POLLIN)
    }

    /// Creates an entry of [`poll`] that waits until `fd` can be written.
    pub fn writable(fd: &'fd impl AsFd) -> Self {
        Self::new(fd, libc::POLLOUT)
    }

    /// Creates an entry of [`poll`] that waits until `fd` can be read or written.
    pub fn readable_or_writable(fd: &'fd impl AsFd) -> Self {
        Self::new(fd, libc::POLLIN | libc::POLLOUT)
    }

    /// Returns true if, after [`poll`], the descriptor has something to read, or an error to fetch
    /// by reading.
    pub const fn is_readable(&self) -> bool {
        self.raw.revents & (libc::POLLIN | libc::POLLERR | libc::POLLHUP) != 0
    }

    /// Returns true if, after [`poll`], a write to the descriptor will not block.
    pub const fn is_writable(&self) -> bool {
        self.raw.revents & (libc::POLLOUT | libc::POLLERR) != 0
    }
}

/// Waits until a descriptor of `fds` is ready or `timeout_ns` nanoseconds have passed (`None`: no
/// limit, 0: no wait). Returns the number of ready descriptors; 0 also if a signal interrupted the
/// wait.
///
/// The kernel adds the thread's timer slack (50 µs unless [`crate::thread::set_timer_slack_ns`]
/// lowered it) to the timeout.
///
/// # Errors
///
/// The error of `ppoll(2)`, except EINTR.
pub fn poll(fds: &mut [PollFd<'_>], timeout_ns: Option<u64>) -> io::Result<usize> {
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let first = fds.as_mut_ptr().cast::<libc::pollfd>();
    // SAFETY: `PollFd` is transparent over `pollfd`, so `first` leads `fds.len()` of them;
    // `timeout` is null or points to a timespec that outlives the call.
    let result =
        unsafe { libc::ppoll(first, fds.len() as libc::nfds_t, timeout, std::ptr::null()) };
    match crate::check(result) {
        Ok(count) => Ok(count.cast_unsigned() as usize),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            for fd in fds {
                fd.raw.revents = 0;
            }
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waker;

    #[test]
    fn only_the_ready_descriptor_is_reported() {
        let (quiet, loud) = (Waker::new().unwrap(), Waker::new().unwrap());
        loud.wake();
        let mut fds = [PollFd::readable(&quiet), PollFd::readable(&loud)];
        assert_eq!(poll(&mut fds, None).unwrap(), 1);
        assert!(!fds[0].is_readable() && fds[1].is_readable());
        let mut fds = [PollFd::readable(&quiet)];
        assert_eq!(poll(&mut fds, Some(0)).unwrap(), 0);
        assert_eq!(poll(&mut fds, Some(1_000)).unwrap(), 0);
    }
}
