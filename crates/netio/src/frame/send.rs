//! Sending of many Ethernet frames through one interface with one system call, and of trains of
//! datagrams as one frame.
//!
//! Budget: one `sendmmsg` per up to 64 frames, nothing allocated after construction. No frame is
//! lost silently: frames that the kernel did not accept are still in the batch or counted as
//! refused.

use std::os::fd::{AsFd, BorrowedFd};

use super::train::{HEAD_BYTES, udp_head};
use super::{BUFFER_BYTES, FRAME_BYTES_MAX, FrameSocket, SLOTS, subject};
use crate::interface::Interface;
use crate::slots::MessageSlots;
use crate::socket_option::SocketOptions;
use crate::{FlushResult, NetError};

/// Open socket that sends frames through an interface, with the frames that wait to be sent.
pub struct FrameSender {
    socket: FrameSocket,
    slots: MessageSlots<()>,
    /// Number of the first frame in the batch that was neither sent nor refused.
    next: usize,
    len: usize,
    refused: Vec<usize>,
    mtu_bytes: usize,
    /// Number of bytes before each frame that describe the work left to a device (`struct
    /// virtio_net_hdr`): `HEAD_BYTES`, or 0.
    head_bytes: usize,
}

impl FrameSender {
    /// Opens a sender of plain frames through `interface`.
    ///
    /// # Errors
    ///
    /// The step that failed; `EPERM` without the capability `CAP_NET_RAW`.
    pub fn open(interface: &Interface) -> Result<Self, NetError> {
        Self::open_with(interface, 0)
    }

    /// Opens a sender of frames through `interface`, including trains of datagrams
    /// ([`FrameSender::commit_train`]; `PACKET_VNET_HDR`).
    ///
    /// # Errors
    ///
    /// The errors of [`FrameSender::open`].
    pub fn open_for_trains(interface: &Interface) -> Result<Self, NetError> {
        Self::open_with(interface, HEAD_BYTES)
    }

    fn open_with(interface: &Interface, head_bytes: usize) -> Result<Self, NetError> {
        let subject = &subject(interface);
        let socket = FrameSocket::open(subject)?;
        if head_bytes > 0 {
            socket
                .set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)
                .map_err(NetError::on("set PACKET_VNET_HDR for", subject))?;
        }
        socket
            .set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER_BYTES)
            .map_err(NetError::on("set the buffer of", subject))?;
        socket.bind(interface.index, 0).map_err(NetError::on("bind", subject))?;
        let mtu_bytes = socket
            .mtu_bytes(&interface.name)
            .map_err(NetError::on("ask for the MTU of", &interface.name))?;
        let slots = MessageSlots::new(SLOTS, head_bytes + FRAME_BYTES_MAX, 0, ());
        let refused = Vec::with_capacity(SLOTS);
        Ok(Self { socket, slots, next: 0, len: 0, refused, mtu_bytes, head_bytes })
    }

    /// Makes the sender send past the queueing discipline of the interface from now on
    /// (`PACKET_QDISC_BYPASS`).
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`.
    pub fn bypass_queue(&mut self) -> std::io::Result<()> {
        self.socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)
    }

    /// Returns the length in bytes of the largest IP packet that the interface accepted when the
    /// socket was opened (MTU).
    pub const fn mtu_bytes(&self) -> usize {
        self.mtu_bytes
    }

    /// Returns the next free slot of the batch to write a frame into; `None` if the batch is full.
    /// Nothing is queued until [`FrameSender::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        let head_bytes = self.head_bytes;
        (self.len < self.slots.len()).then(|| &mut self.slots.buffer(self.len)[head_bytes..])
    }

    /// Returns the number of free slots of the batch.
    pub const fn free(&self) -> usize {
        self.slots.len() - self.len
    }

    /// Queues the first `len` bytes of the slot that [`FrameSender::slot`] returned, a frame from
    /// its Ethernet header on.
    ///
    /// # Panics
    ///
    /// If the batch is full or `len` exceeds the slot.
    pub fn commit(&mut self, len: usize) {
        self.commit_behind([0; HEAD_BYTES], len);
    }

    /// Queues the first `len` bytes of the slot that [`FrameSender::slot`] returned: a frame that
    /// stands for UDP datagrams of `payload_bytes` each, of which the last one may have fewer. Its
    /// UDP header begins at byte `transport_at`. Lengths in its headers are those of the whole, the
    /// UDP checksum is the sum of the pseudo-header. The interface cuts it up, or the kernel in
    /// front of it; the other end of a veth pair gets it whole. Each segment gets lengths and
    /// checksums of its own, and an IPv4 identification one above that of the previous segment.
    /// Trains need Linux 6.2.
    ///
    /// # Panics
    ///
    /// If the socket was not opened for trains, the batch is full or `len` exceeds the slot.
    pub fn commit_train(&mut self, len: usize, transport_at: usize, payload_bytes: usize) {
        assert!(self.head_bytes > 0, "a train through a socket for single frames");
        self.commit_behind(udp_head(transport_at, payload_bytes), len);
    }

    fn commit_behind(&mut self, head: [u8; HEAD_BYTES], len: usize) {
        assert!(self.len < self.slots.len(), "commit without a slot");
        let head_bytes = self.head_bytes;
        self.slots.buffer(self.len)[..head_bytes].copy_from_slice(&head[..head_bytes]);
        self.slots.address(self.len, head_bytes + len, ());
        self.len += 1;
    }

    /// Returns true if no frame waits to be flushed.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Passes all waiting frames to the kernel, without waiting itself. Call it again later while
    /// [`FlushResult::left`] is not 0.
    pub fn flush(&mut self) -> FlushResult {
        self.refused.clear();
        let refuse = |slot| self.refused.push(slot);
        let result = self.slots.flush(&self.socket, &mut self.next, self.len, refuse);
        if result.left == 0 {
            self.discard();
        }
        result
    }

    /// Returns the numbers of the frames that the kernel refused for good in the last flush,
    /// counted from the first that was committed since the batch was empty.
    pub fn refused(&self) -> &[usize] {
        &self.refused
    }

    /// Drops the frames waiting in the batch and returns their number.
    pub const fn discard(&mut self) -> usize {
        let count = self.len - self.next;
        self.len = 0;
        self.next = 0;
        count
    }
}

impl AsFd for FrameSender {
    /// Returns the socket's descriptor, which is writable when the kernel accepts frames again.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
