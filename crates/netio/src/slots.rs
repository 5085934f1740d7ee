//! Memory for `recvmmsg` and `sendmmsg`: equal slots, each with its message header, address,
//! control bytes and payload, laid out once.
#![allow(unsafe_code, reason = "recvmmsg, sendmmsg")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::slab::Slab;
use crate::{FlushResult, check};

/// Slots for messages of `recvmmsg` or `sendmmsg`, whose addresses are of type `N`, which the
/// kernel may fill with any bytes.
pub(crate) struct MessageSlots<N: Copy> {
    slot_bytes: usize,
    control_bytes: usize,
    octets: Slab<u8>,
    control: Slab<u8>,
    names: Slab<N>,
    vectors: Slab<libc::iovec>,
    headers: Slab<libc::mmsghdr>,
    /// Number of message headers (`struct msghdr`) that the kernel overwrote in the last receiving
    /// call.
    filled: usize,
}

impl<N: Copy> MessageSlots<N> {
    /// Creates `count` slots of `slot_bytes` payload bytes, each with `control_bytes` control bytes
    /// and the address `name`.
    pub(crate) fn new(count: usize, slot_bytes: usize, control_bytes: usize, name: N) -> Self {
        assert!((1..=1_024).contains(&count) && slot_bytes > 0, "{count} slots of {slot_bytes}");
        let nowhere = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: slot_bytes };
        // SAFETY: an all-zero mmsghdr is a valid, empty one.
        let empty = unsafe { std::mem::zeroed::<libc::mmsghdr>() };
        let mut slots = Self {
            slot_bytes,
            control_bytes,
            octets: Slab::new(0_u8, count * slot_bytes),
            control: Slab::new(0_u8, (count * control_bytes).max(1)),
            names: Slab::new(name, count),
            vectors: Slab::new(nowhere, count),
            headers: Slab::new(empty, count),
            filled: count,
        };
        for slot in 0..count {
            slots.vectors.get_mut(slot).iov_base = slots.octets.address(slot * slot_bytes).cast();
            let header = &mut slots.headers.get_mut(slot).msg_hdr;
            header.msg_name = slots.names.address(slot).cast();
            header.msg_iov = slots.vectors.address(slot);
            header.msg_iovlen = 1;
            if control_bytes > 0 {
                header.msg_control = slots.control.address(slot * control_bytes).cast();
            }
        }
        slots.reset();
        slots
    }

    pub(crate) const fn len(&self) -> usize {
        self.headers.len()
    }

    /// Restores the fields of message headers that the kernel overwrote.
    fn reset(&mut self) {
        for entry in self.headers.slice_mut(0, self.filled) {
            entry.msg_hdr.msg_namelen = size_of::<N>() as libc::socklen_t;
            entry.msg_hdr.msg_controllen = self.control_bytes as _;
            entry.msg_hdr.msg_flags = 0;
        }
        self.filled = 0;
    }

    /// Receives the waiting messages of `socket`, without waiting itself; returns the number of
    /// filled slots.
    pub(crate) fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        self.reset();
        let (fd, count) = (socket.as_fd().as_raw_fd(), self.len() as libc::c_uint);
        loop {
            // SAFETY: the headers, and the names, vectors, octets and control buffers that they
            // point to, live in slabs of `self`, which is borrowed mutably for the whole call;
            // the lengths in them are the true sizes (`new`, `reset`).
            let result = unsafe {
                let flags = libc::MSG_DONTWAIT as _;
                libc::recvmmsg(fd, self.headers.address(0), count, flags, std::ptr::null_mut())
            };
            match check(result) {
                Ok(count) => {
                    self.filled = count.cast_unsigned() as usize;
                    return Ok(self.filled);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends the messages in the slots `first..first + count`, without waiting; returns the number
    /// of messages that the kernel accepted.
    pub(crate) fn send(
        &mut self,
        socket: &impl AsFd,
        first: usize,
        count: usize,
    ) -> io::Result<usize> {
        assert!(first + count <= self.len(), "slots {first}+{count} of {}", self.len());
        let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_DONTWAIT as _);
        // SAFETY: headers `first..first + count` and all that they point to live in slabs of
        // `self`, borrowed mutably for the whole call, with their true lengths.
        let result = unsafe {
            libc::sendmmsg(fd, self.headers.address(first), count as libc::c_uint, flags)
        };
        check(result).map(|count| count.cast_unsigned() as usize)
    }

    /// Sends the messages in the slots `*next..len`, without waiting, and advances `next`. Calls
    /// `refuse` with each slot that the kernel will never send.
    pub(crate) fn flush(
        &mut self,
        socket: &impl AsFd,
        next: &mut usize,
        len: usize,
        mut refuse: impl FnMut(usize),
    ) -> FlushResult {
        let mut result = FlushResult::default();
        while *next < len {
            match self.send(socket, *next, len - *next) {
                Ok(count) => {
                    result.sent += count;
                    *next += count;
                }
                Err(error) => match error.raw_os_error().unwrap_or(0) {
                    libc::EINTR => {}
                    libc::EAGAIN | libc::ENOBUFS => break,
                    // The error concerns this message alone: it is too long, or its interface is
                    // gone.
                    _ => {
                        refuse(*next);
                        result.refused += 1;
                        *next += 1;
                    }
                },
            }
        }
        result.left = len - *next;
        result
    }

    /// Returns the number of payload bytes received into slot `slot`; `None` if the message was
    /// longer than the slot.
    pub(crate) fn received_len(&self, slot: usize) -> Option<usize> {
        let entry = self.headers.get(slot);
        let is_whole = entry.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
        is_whole.then_some(entry.msg_len as usize)
    }

    /// Returns `len` payload bytes of slot `slot`, from `at` on.
    pub(crate) fn octets(&self, slot: usize, at: usize, len: usize) -> &[u8] {
        assert!(at + len <= self.slot_bytes, "{at}+{len} of {}", self.slot_bytes);
        self.octets.slice(slot * self.slot_bytes + at, len)
    }

    /// Returns the control bytes received with slot `slot`.
    pub(crate) fn control(&self, slot: usize) -> &[u8] {
        let header = &self.headers.get(slot).msg_hdr;
        #[allow(clippy::unnecessary_cast, reason = "the type differs between C libraries")]
        let len = (header.msg_controllen as usize).min(self.control_bytes);
        self.control.slice(slot * self.control_bytes, len)
    }

    pub(crate) fn name(&self, slot: usize) -> &N {
        self.names.get(slot)
    }

    /// Returns the payload bytes of slot `slot` to write a message into.
    pub(crate) fn buffer(&mut self, slot: usize) -> &mut [u8] {
        self.octets.slice_mut(slot * self.slot_bytes, self.slot_bytes)
    }

    /// Makes the first `len` bytes of slot `slot` a message to the address `name`.
    pub(crate) fn address(&mut self, slot: usize, len: usize, name: N) {
        assert!(len <= self.slot_bytes, "{len} octets in a slot of {}", self.slot_bytes);
        *self.names.get_mut(slot) = name;
        self.vectors.get_mut(slot).iov_len = len;
    }
}
