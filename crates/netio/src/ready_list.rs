//! Waiting for many file descriptors, of which few are ready at a time (`epoll(7)`). The list is a
//! descriptor itself, so [`crate::poll`] can wait for it together with others. Each change and each
//! look costs one system call.
#![allow(unsafe_code, reason = "epoll_create1, epoll_ctl, epoll_wait")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::check;

/// Largest number of ready descriptors that one call of [`ReadyList::look`] reports; the next call
/// reports the others.
const LOOK_MAX: usize = 64;

/// List of file descriptors to wait for, each with a number that its owner chooses. A closed
/// descriptor leaves the list by itself.
#[derive(Debug)]
pub struct ReadyList {
    fd: OwnedFd,
}

impl ReadyList {
    /// Creates an empty list of descriptors.
    ///
    /// # Errors
    ///
    /// The process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Adds the descriptor `fd`, whose readiness to be read is reported as `number`.
    ///
    /// # Errors
    ///
    /// The error of `epoll_ctl(2)`: EEXIST if the list has it already.
    pub fn add(&self, fd: &impl AsFd, number: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, number)
    }

    /// Sets whether the list also waits until the descriptor `fd`, reported as `number`, can be
    /// written.
    ///
    /// # Errors
    ///
    /// The error of `epoll_ctl(2)`: ENOENT if the list does not have it.
    pub fn set_wants_room(&self, fd: &impl AsFd, number: u32, wants_room: bool) -> io::Result<()> {
        let events = if wants_room { libc::EPOLLIN | libc::EPOLLOUT } else { libc::EPOLLIN };
        self.control(libc::EPOLL_CTL_MOD, fd, events, number)
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: &impl AsFd,
        events: libc::c_int,
        number: u32,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: number.into() };
        let (list, fd) = (self.fd.as_raw_fd(), fd.as_fd().as_raw_fd());
        // SAFETY: `event` outlives the call.
        check(unsafe { libc::epoll_ctl(list, operation, fd, &raw mut event) }).map(drop)
    }

    /// Puts the numbers of ready descriptors into `numbers`, without waiting. A descriptor with an
    /// error counts as ready.
    ///
    /// # Errors
    ///
    /// The error of `epoll_wait(2)`, except EINTR.
    pub fn look(&self, numbers: &mut Vec<u32>) -> io::Result<()> {
        numbers.clear();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; LOOK_MAX];
        let (list, pointer) = (self.fd.as_raw_fd(), events.as_mut_ptr());
        // SAFETY: `pointer` leads to LOOK_MAX writable events that outlive the call.
        let count = unsafe { libc::epoll_wait(list, pointer, LOOK_MAX as libc::c_int, 0) };
        match check(count) {
            Ok(count) => {
                let ready = &events[..count.cast_unsigned() as usize];
                numbers.extend(ready.iter().map(|event| event.u64 as u32));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for ReadyList {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, Waker, poll};

    #[test]
    fn the_list_tells_which_are_ready_and_forgets_what_is_closed() {
        let list = ReadyList::new().unwrap();
        let wakers: Vec<Waker> = (0..3).map(|_| Waker::new().unwrap()).collect();
        for (number, waker) in (10..).zip(&wakers) {
            list.add(waker, number).unwrap();
        }
        let mut numbers = vec![99];
        list.look(&mut numbers).unwrap();
        assert_eq!(numbers, []);
        wakers[2].wake();
        wakers[0].wake();
        assert_eq!(poll(&mut [PollFd::readable(&list)], None).unwrap(), 1);
        list.look(&mut numbers).unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, [10, 12]);
        // An eventfd always has room.
        list.set_wants_room(&wakers[1], 11, true).unwrap();
        list.look(&mut numbers).unwrap();
        assert_eq!(numbers.len(), 3);
        list.set_wants_room(&wakers[1], 11, false).unwrap();
        drop(wakers);
        list.look(&mut numbers).unwrap();
        assert_eq!(numbers, []);
    }
}
