//! Sending of frames through memory that is shared with the kernel (`PACKET_TX_RING`,
//! `TPACKET_V2`): frames are written once and never copied into the socket.
//!
//! Budget: one `send` per flush however many frames wait, and one load per frame to see that it has
//! left. A frame counts as sent when its slot has come back, not when the kernel got it.
#![allow(unsafe_code, reason = "mmap, munmap, the ring's status words, send")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{BUFFER_BYTES, FrameSocket, subject};
use crate::interface::Interface;
use crate::socket_option::SocketOptions;
use crate::{FlushResult, NetError, check};

/// Offset in bytes of the frame in a slot of a ring: `struct tpacket2_hdr` and padding.
const HEAD_BYTES: usize = 32;
/// Offset of `tp_len` (the frame's length) in `struct tpacket2_hdr`.
const LEN_AT: usize = 4;
/// States of a slot in a transmit ring (`TP_STATUS_...`): free (here), with a frame to send, with a
/// frame that the kernel refused.
const AVAILABLE: u32 = 0;
const SEND_REQUEST: u32 = 1;
const WRONG_FORMAT: u32 = 4;

/// Size of a ring of frames and of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Size of the whole ring in bytes, rounded down to whole slots; at least one slot.
    pub bytes: usize,
    /// Size of a slot in bytes, a power of two from 2,048 to 131,072; 32 of the bytes are the
    /// kernel's.
    pub slot_bytes: usize,
}

/// Open socket that sends frames from a ring that it shares with the kernel.
pub struct FrameRing {
    socket: FrameSocket,
    memory: RingMapping,
    slot_bytes: usize,
    slots: usize,
    /// Number of frames committed to the ring since it was opened; the next field is the number of
    /// those that were sent.
    committed: u64,
    done: u64,
    mtu_bytes: usize,
}

/// Mapping of a ring's memory. The kernel keeps its pages until the mapping and the socket are
/// gone.
pub(super) struct RingMapping {
    first: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to one ring, and moves between threads with it.
unsafe impl Send for RingMapping {}

impl RingMapping {
    fn map(socket: &FrameSocket, len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = socket.fd.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice; the result is checked.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { first, len })
    }

    /// Returns the status word of the ring's slot that begins at `at`.
    pub(super) fn status(&self, at: usize) -> &AtomicU32 {
        assert!(at + HEAD_BYTES <= self.len && at.is_multiple_of(16), "slot at {at}");
        // SAFETY: inside of the mapping and aligned; the kernel and this process both access it as
        // a whole word only.
        unsafe { AtomicU32::from_ptr(self.first.as_ptr().add(at).cast()) }
    }

    /// Returns `len` bytes from `at` on, of a slot of the ring that now belongs to the process.
    pub(super) fn octets(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at + len <= self.len, "{at}+{len} of {}", self.len);
        // SAFETY: inside of the mapping; the kernel does not touch a slot that is the process's,
        // which the callers have seen, and `&mut self` makes the access exclusive in the process.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().add(at), len) }
    }
}

impl FrameSocket {
    /// Creates a ring of `size` for `direction` (`PACKET_TX_RING`, `PACKET_RX_RING`), in slots of
    /// `TPACKET_V2`, and maps it; returns the mapping and the number of slots.
    ///
    /// # Panics
    ///
    /// If the size of slots is not permitted.
    pub(super) fn ring(
        &self,
        direction: libc::c_int,
        size: RingSize,
        subject: &str,
    ) -> Result<(RingMapping, usize), NetError> {
        let RingSize { bytes, slot_bytes } = size;
        let is_allowed = slot_bytes.is_power_of_two() && (2_048..=131_072).contains(&slot_bytes);
        assert!(is_allowed, "slots of {slot_bytes} octets");
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, version)
            .map_err(NetError::on("choose TPACKET_V2 for", subject))?;
        let block_bytes = slot_bytes.max(4_096);
        let blocks = (bytes / block_bytes).max(1);
        let slots = blocks * (block_bytes / slot_bytes);
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        self.set_struct(libc::SOL_PACKET, direction, &request)
            .map_err(NetError::on("make a ring for", subject))?;
        let memory = RingMapping::map(self, blocks * block_bytes)
            .map_err(NetError::on("map the ring of", subject))?;
        Ok((memory, slots))
    }
}

impl Drop for RingMapping {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map`, and nothing refers to it any more.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.len) };
    }
}

impl FrameRing {
    /// Opens a socket that only sends, from a ring; `bypass` sends past the queueing discipline
    /// (`PACKET_QDISC_BYPASS`).
    ///
    /// # Errors
    ///
    /// The step that failed; `EPERM` without the capability `CAP_NET_RAW`, `ENOMEM` for a ring that
    /// is too large.
    ///
    /// # Panics
    ///
    /// If the size of slots is not permitted.
    pub fn open(interface: &Interface, size: RingSize, bypass: bool) -> Result<Self, NetError> {
        let slot_bytes = size.slot_bytes;
        let subject = &subject(interface);
        let socket = FrameSocket::open(subject)?;
        socket
            .set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER_BYTES)
            .map_err(NetError::on("set the buffer of", subject))?;
        if bypass {
            socket
                .set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)
                .map_err(NetError::on("bypass the queueing discipline by", subject))?;
        }
        let (memory, slots) = socket.ring(libc::PACKET_TX_RING, size, subject)?;
        socket.bind(interface.index, 0).map_err(NetError::on("bind", subject))?;
        let mtu_bytes = socket
            .mtu_bytes(&interface.name)
            .map_err(NetError::on("ask for the MTU of", &interface.name))?;
        Ok(Self { socket, memory, slot_bytes, slots, committed: 0, done: 0, mtu_bytes })
    }

    /// Returns the length in bytes of the largest IP packet that the interface accepted when the
    /// socket was opened (MTU).
    pub const fn mtu_bytes(&self) -> usize {
        self.mtu_bytes
    }

    /// Returns the length of the longest frame that a slot of the ring holds, in bytes.
    pub const fn frame_bytes_max(&self) -> usize {
        self.slot_bytes - HEAD_BYTES
    }

    /// Returns the number of slots of the ring.
    pub const fn slots(&self) -> usize {
        self.slots
    }

    const fn slot_offset(&self, number: u64) -> usize {
        (number % self.slots as u64) as usize * self.slot_bytes
    }

    /// Returns the next free slot of the ring to write a frame into; `None` while all wait for the
    /// kernel. Nothing is queued until [`FrameRing::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        let at = self.slot_offset(self.committed);
        let is_free = self.committed - self.done < self.slots as u64
            && self.memory.status(at).load(Ordering::Acquire) == AVAILABLE;
        let len = self.frame_bytes_max();
        is_free.then(|| self.memory.octets(at + HEAD_BYTES, len))
    }

    /// Queues the first `len` bytes of the slot that [`FrameRing::slot`] returned.
    ///
    /// # Panics
    ///
    /// If `len` exceeds the slot.
    pub fn commit(&mut self, len: usize) {
        assert!(len <= self.frame_bytes_max(), "{len} octets in a slot");
        let at = self.slot_offset(self.committed);
        self.memory.octets(at + LEN_AT, 4).copy_from_slice(&(len as u32).to_ne_bytes());
        self.memory.status(at).store(SEND_REQUEST, Ordering::Release);
        self.committed += 1;
    }

    /// Makes the kernel send the queued frames without waiting, and counts the frames sent since
    /// the last call. Call it again later while [`FlushResult::left`] is not 0: frames may be under
    /// way, or held back because a queue is full.
    ///
    /// # Errors
    ///
    /// The error of `send(2)`, except for a full queue; EINVAL for a frame that the interface can
    /// never send.
    pub fn flush(&mut self) -> io::Result<FlushResult> {
        if self.committed > self.done {
            let (fd, flags) = (self.socket.fd.as_raw_fd(), libc::MSG_DONTWAIT);
            // SAFETY: no octets are handed over; the ring is the socket's own.
            let result = unsafe { libc::send(fd, std::ptr::null(), 0, flags) };
            if let Err(error) = check(result as libc::c_int) {
                let code = error.raw_os_error().unwrap_or(0);
                if ![libc::EAGAIN, libc::ENOBUFS, libc::EINTR].contains(&code) {
                    return Err(error);
                }
            }
        }
        let before = self.done;
        while self.done < self.committed {
            let at = self.slot_offset(self.done);
            match self.memory.status(at).load(Ordering::Acquire) {
                AVAILABLE => self.done += 1,
                WRONG_FORMAT => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
                _ => break,
            }
        }
        let sent = (self.done - before) as usize;
        Ok(FlushResult { sent, refused: 0, left: (self.committed - self.done) as usize })
    }
}

impl AsFd for FrameRing {
    /// Returns the socket's descriptor, which is writable when a slot of the ring may be free.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
