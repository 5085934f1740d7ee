//! Sending of frames through AF_XDP. A frame is written once into memory that the kernel knows
//! (UMEM) and named in a ring; the kernel copies it into a buffer of its own (`XDP_COPY`) and
//! passes it to one queue of an interface, past the queueing discipline. It works with every
//! driver; sending needs no program (BPF). Nothing is received.
//!
//! Budget: one `sendto` per flush (on kernels before 6.17 one per 32 frames), and two entries of
//! rings per frame. Nothing is allocated after construction. A frame counts as sent when the kernel
//! has completed it and had not dropped it; a frame that the kernel dropped because a queue was
//! full is sent again. See the kernel's Documentation/networking/af_xdp.rst.
#![allow(unsafe_code, reason = "socket, bind, getsockopt, sendto")]

mod memory;
mod queues;

pub use queues::transmit_queues;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::{BUFFER_BYTES, FrameSocket, RingSize};
use crate::interface::Interface;
use crate::socket_option::SocketOptions;
use crate::{Clock, FlushResult, NetError, check, poll};
use memory::{Mapping, Ring};

/// Length in bytes of the longest frame that AF_XDP sends: that of a slot as long as a page.
pub const XDP_FRAME_BYTES_MAX: usize = 4_096;
/// Socket option `XDP_MAX_TX_SKB_BUDGET`, since Linux 6.17: number of frames that one call may
/// send, 32 unless it is set.
const CALL_FRAMES: libc::c_int = 9;
/// Time in nanoseconds to wait for a queue of an interface that another AF_XDP socket uses.
const BUSY_NS: u64 = 500_000_000;
/// Duration in nanoseconds of one wait for a queue that another AF_XDP socket uses.
const BUSY_CHECK_NS: u64 = 5_000_000;
/// Number of entries of the ring for receiving, which an AF_XDP socket must have to be bound.
const FILL_ENTRIES: u32 = 1;

/// AF_XDP socket that may not be bound yet.
struct XdpSocket {
    fd: OwnedFd,
}

impl XdpSocket {
    fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Reads an option of `SOL_XDP` into `value`; returns the number of the option's bytes that the
    /// kernel knows.
    fn get<T>(&self, option: libc::c_int, value: &mut T) -> io::Result<usize> {
        let mut size = size_of::<T>() as libc::socklen_t;
        let (fd, pointer) = (self.fd.as_raw_fd(), std::ptr::from_mut(value).cast());
        // SAFETY: `pointer` is writable for `size` octets and both outlive the call; the callers'
        // types consist of whole numbers.
        check(unsafe { libc::getsockopt(fd, libc::SOL_XDP, option, pointer, &raw mut size) })?;
        Ok(size as usize)
    }

    /// Registers the memory of the frames' slots (UMEM) with the kernel.
    fn register(&self, slots: &Mapping, len: usize, slot_bytes: usize) -> io::Result<()> {
        let registration = libc::xdp_umem_reg {
            addr: slots.address(),
            len: len as u64,
            chunk_size: slot_bytes as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        self.fd.set_struct(libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
    }

    /// Creates the rings of the AF_XDP socket, and maps those for frames to send and for completed
    /// frames.
    fn rings(&self, entries: u32) -> io::Result<(Ring<libc::xdp_desc>, Ring<u64>)> {
        for (ring, entries) in [
            (libc::XDP_UMEM_FILL_RING, FILL_ENTRIES),
            (libc::XDP_UMEM_COMPLETION_RING, entries),
            (libc::XDP_TX_RING, entries),
        ] {
            self.fd.set_struct(libc::SOL_XDP, ring, &entries)?;
        }
        // SAFETY: an all-zero xdp_mmap_offsets is a valid one.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        if self.get(libc::XDP_MMAP_OFFSETS, &mut offsets)? != size_of_val(&offsets) {
            // Before Linux 5.4 the kernel returned the offsets of rings in another form.
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let fd = self.fd.as_fd();
        let completed_at = libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t;
        Ok((
            Ring::map(fd, libc::XDP_PGOFF_TX_RING, &offsets.tx, entries)?,
            Ring::map(fd, completed_at, &offsets.cr, entries)?,
        ))
    }

    fn bind(&self, interface: u32, queue: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_xdp of `size` octets and outlives the call.
        check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), size) })
            .map(drop)
    }
}

/// Binds the AF_XDP socket, and waits for a queue that is in use: the kernel frees the queue of a
/// closed socket later, by a worker of its own, without a notice.
fn bind_in_time(socket: &XdpSocket, interface: u32, queue: u32) -> io::Result<()> {
    let until_ns = Clock::mono_ns() + BUSY_NS;
    loop {
        match socket.bind(interface, queue) {
            Err(error)
                if error.raw_os_error() == Some(libc::EBUSY) && Clock::mono_ns() < until_ns =>
            {
                poll(&mut [], Some(BUSY_CHECK_NS))?;
            }
            result => return result,
        }
    }
}

/// Open AF_XDP socket that sends frames through one queue of an interface. Never `poll` it for
/// being writable: the kernel would then send, and not report drops.
pub struct XdpSender {
    socket: XdpSocket,
    slots: Mapping,
    to_send: Ring<libc::xdp_desc>,
    completed: Ring<u64>,
    slot_bytes: usize,
    slot_count: usize,
    /// Numbers of the free slots. The last one, which is most likely in the cache, is used next.
    free: Vec<u32>,
    /// Length in bytes of the frame in each slot if the kernel has dropped the frame, else 0.
    dropped: Vec<u32>,
    drops: u64,
    /// Number of entries written to the ring `to_send`; the next field is the number of those that
    /// the kernel has read.
    produced: u32,
    consumed: u32,
    /// Number of entries of the ring `completed` that were read.
    reaped: u32,
    mtu_bytes: usize,
}

impl XdpSender {
    /// Checks that AF_XDP sockets can be opened on this machine.
    ///
    /// # Errors
    ///
    /// `EAFNOSUPPORT` for a kernel without AF_XDP, `EPERM` without the capability `CAP_NET_RAW`.
    pub fn probe() -> Result<(), NetError> {
        XdpSocket::open().map(drop).map_err(NetError::on("open", "an AF_XDP socket"))
    }

    /// Opens a socket that sends through `queue` of `interface`, out of `size.bytes` bytes of
    /// memory, rounded down to a power of two of slots.
    ///
    /// # Errors
    ///
    /// The step that failed: `EAFNOSUPPORT` for a kernel without AF_XDP, `EPERM` without the
    /// capability `CAP_NET_RAW`, `ENOBUFS` for more memory than may be locked, `EINVAL` for a
    /// missing queue ([`transmit_queues`]), `EBUSY` for a queue that another AF_XDP socket has.
    ///
    /// # Panics
    ///
    /// If slots have other than 2,048 or 4,096 bytes; none of them are the kernel's here.
    pub fn open(interface: &Interface, queue: u32, size: RingSize) -> Result<Self, NetError> {
        let RingSize { bytes, slot_bytes } = size;
        assert!([2_048, XDP_FRAME_BYTES_MAX].contains(&slot_bytes), "slots of {slot_bytes} octets");
        let subject = &format!("an AF_XDP socket on queue {queue} of {}", interface.name);
        let slot_count = 1_u32 << (bytes / slot_bytes).clamp(1, 1 << 20).ilog2();
        let len = slot_count as usize * slot_bytes;
        let socket = XdpSocket::open().map_err(NetError::on("open", subject))?;
        let fd = &socket.fd;
        fd.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER_BYTES)
            .map_err(NetError::on("set the buffer of", subject))?;
        let slots = Mapping::anonymous(len).map_err(NetError::on("get memory for", subject))?;
        socket
            .register(&slots, len, slot_bytes)
            .map_err(NetError::on("register the memory of", subject))?;
        let (to_send, completed) =
            socket.rings(slot_count).map_err(NetError::on("make rings for", subject))?;
        // Kernels that do not know the option, and short rings, send 32 frames per call.
        socket.fd.set_struct(libc::SOL_XDP, CALL_FRAMES, &slot_count).ok();
        bind_in_time(&socket, interface.index, queue).map_err(NetError::on("bind", subject))?;
        let mtu_bytes = FrameSocket::open(subject)?
            .mtu_bytes(&interface.name)
            .map_err(NetError::on("ask for the MTU of", &interface.name))?;
        Ok(Self {
            socket,
            slots,
            to_send,
            completed,
            slot_bytes,
            slot_count: slot_count as usize,
            free: (0..slot_count).rev().collect(),
            dropped: vec![0; slot_count as usize],
            drops: 0,
            produced: 0,
            consumed: 0,
            reaped: 0,
            mtu_bytes,
        })
    }

    /// Returns the length in bytes of the largest IP packet that the interface accepted when the
    /// socket was opened (MTU).
    pub const fn mtu_bytes(&self) -> usize {
        self.mtu_bytes
    }

    /// Returns the number of frames that can wait in the socket at a time.
    pub const fn slots(&self) -> usize {
        self.slot_count
    }

    /// Returns the number of frames in the socket that the kernel has not read yet, including those
    /// that it dropped.
    pub const fn waiting(&self) -> usize {
        self.produced.wrapping_sub(self.consumed) as usize
    }

    /// Returns the number of free slots for frames.
    pub const fn free(&self) -> usize {
        self.free.len()
    }

    /// Returns the number of times that the kernel dropped a frame because a queue of the interface
    /// was full. Each of these frames was sent again.
    pub const fn drops(&self) -> u64 {
        self.drops
    }

    /// Returns the next free slot for frames to write a frame into; `None` while all slots wait for
    /// the kernel. Nothing is queued until [`XdpSender::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        let slot = *self.free.last()? as usize;
        Some(self.slots.octets(slot * self.slot_bytes, self.slot_bytes))
    }

    /// Queues the first `len` bytes of the slot that [`XdpSender::slot`] returned, a frame from its
    /// Ethernet header on.
    ///
    /// # Panics
    ///
    /// If no slot is free, or `len` is 0 or exceeds the slot.
    pub fn commit(&mut self, len: usize) {
        assert!((1..=self.slot_bytes).contains(&len), "{len} octets in a slot");
        let slot = self.free.pop().expect("a frame was written into a free slot");
        self.queue(slot, len as u32);
    }

    /// Queues the last committed frame once more; returns false while all slots wait for the
    /// kernel.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn repeat(&mut self) -> bool {
        assert!(self.waiting() > 0, "a frame was committed");
        let Some(slot) = self.free.pop() else { return false };
        let last = self.to_send.read(self.produced.wrapping_sub(1));
        let (from, len) = (last.addr as usize, last.len as usize);
        let mut octets = [0; XDP_FRAME_BYTES_MAX];
        octets[..len].copy_from_slice(self.slots.octets(from, len));
        self.slots.octets(slot as usize * self.slot_bytes, len).copy_from_slice(&octets[..len]);
        self.queue(slot, last.len);
        true
    }

    fn queue(&mut self, slot: u32, len: u32) {
        // There are as many entries as slots, so there is room.
        let addr = u64::from(slot) * self.slot_bytes as u64;
        self.to_send.write(self.produced, libc::xdp_desc { addr, len, options: 0 });
        self.produced = self.produced.wrapping_add(1);
    }

    /// Makes the kernel send the queued frames without waiting, and counts the frames sent since
    /// the last call. Call it again later while [`FlushResult::left`] is not 0: frames may be under
    /// way, or held back because a queue is full.
    ///
    /// # Errors
    ///
    /// The error of `sendto(2)`, except for a full queue: ENETDOWN if the interface is down, ENXIO
    /// if it is gone.
    pub fn flush(&mut self) -> io::Result<FlushResult> {
        self.to_send.producer().store(self.produced, Ordering::Release);
        // In this mode the kernel sends frames inside of the call only: there is no wake-up flag to
        // check.
        while self.consumed != self.produced && self.call()? {}
        let sent = self.reap();
        Ok(FlushResult { sent, refused: 0, left: self.slot_count - self.free.len() })
    }

    /// Makes one system call that sends frames; returns true if another one at once makes sense.
    fn call(&mut self) -> io::Result<bool> {
        let (fd, flags) = (self.socket.fd.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: no octets are handed over; the rings are the socket's own.
        let result = unsafe { libc::send(fd, std::ptr::null(), 0, flags) };
        let error = check(result as libc::c_int).err();
        let seen = self.to_send.consumer().load(Ordering::Acquire);
        let has_advanced = seen.wrapping_sub(self.consumed).cast_signed() > 0;
        if has_advanced {
            self.consumed = seen;
        }
        match error.as_ref().and_then(io::Error::raw_os_error) {
            None => Ok(false),
            Some(libc::EBUSY) => {
                // The kernel dropped the last frame that it read. If that was the only one, the
                // kernel's word does not show yet that it was read.
                if !has_advanced {
                    self.consumed = self.consumed.wrapping_add(1);
                }
                let entry = self.to_send.read(self.consumed.wrapping_sub(1));
                self.dropped[(entry.addr / self.slot_bytes as u64) as usize] = entry.len;
                self.drops += 1;
                Ok(false)
            }
            // The call has sent as many frames as a call may, or there is no room.
            Some(libc::EAGAIN) => Ok(has_advanced),
            Some(libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => Ok(false),
            Some(_) => error.map_or(Ok(false), Err),
        }
    }

    /// Takes back the slots of frames that the kernel has completed; returns the number of frames
    /// sent.
    fn reap(&mut self) -> usize {
        let end = self.completed.producer().load(Ordering::Acquire);
        let before = self.free.len();
        while self.reaped != end {
            let address = self.completed.read(self.reaped);
            self.reaped = self.reaped.wrapping_add(1);
            let slot = (address / self.slot_bytes as u64) as u32;
            match std::mem::take(&mut self.dropped[slot as usize]) {
                0 => self.free.push(slot),
                len => self.queue(slot, len),
            }
        }
        self.completed.consumer().store(end, Ordering::Release);
        self.free.len() - before
    }

    /// Returns the number of frames that the kernel rejected for their form, since the socket was
    /// opened. The slots of these frames do not come back.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn invalid(&self) -> io::Result<u64> {
        // SAFETY: an all-zero xdp_statistics is a valid one.
        let mut counts: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        self.socket.get(libc::XDP_STATISTICS, &mut counts)?;
        Ok(counts.tx_invalid_descs)
    }
}
