//! Sending of many datagrams, to many destinations, with one system call from a pool of slots.
//!
//! Budget: one `sendmmsg` per batch and about 20 ns per datagram of our own; nothing is allocated
//! after construction. With segmentation, neighbours of equal size to one destination share one
//! header and one traversal of the kernel's stack (`UDP_SEGMENT`, `udp(7)`): about a tenth.
//!
//! No datagram is lost silently: datagrams that the kernel did not accept are either still in the
//! batch ([`FlushResult::left`]) or counted and named ([`SendBatch::refused`]).
#![allow(unsafe_code, reason = "sendmmsg")]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use crate::control::{self, SEND_BYTES};
use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::slab::Slab;
use crate::udp::DatagramSocket;

/// Largest number of datagrams that one message header of `sendmmsg(2)` may carry with
/// `UDP_SEGMENT` (`UDP_MAX_SEGMENTS` of older kernels).
const GROUP_DATAGRAMS: usize = 64;
/// Largest UDP payload over IPv4 in bytes, into which a group of datagrams as a whole must fit.
const GROUP_BYTES: usize = 65_507;

/// Source address and interface of a datagram (`IP_PKTINFO`, `IPV6_PKTINFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendSource {
    /// Own address to send the datagram from, of the socket's family; the kernel chooses if it is
    /// unspecified.
    pub address: IpAddr,
    /// Index of the interface to send the datagram through; the routing table chooses if it is 0.
    pub interface: u32,
}

/// Result of one flush of a batch, in datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushResult {
    /// Number of datagrams that the kernel accepted in this flush.
    pub sent: usize,
    /// Number of datagrams that the kernel refused for good: counted, removed from the batch, named
    /// by [`SendBatch::refused`].
    pub refused: usize,
    /// Number of datagrams still in the batch because the socket or the device is full; flush again
    /// when the socket is writable.
    pub left: usize,
}

base::counts! {
    /// Totals of a [`SendBatch`] since its construction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SendCounts {
        /// Number of datagrams that the kernel accepted.
        pub sent: u64,
        /// Number of bytes of the accepted datagrams.
        pub sent_bytes: u64,
        /// Number of datagrams that the kernel refused for good.
        pub refused: u64,
        /// Number of flushes stopped by a full send buffer (EAGAIN) or device queue (ENOBUFS).
        pub stalled: u64,
        /// Number of groups that the kernel refused to segment, so that their datagrams were sent
        /// one by one.
        pub ungrouped: u64,
        /// Number of system calls that sent datagrams.
        pub calls: u64,
    }
}

#[derive(Clone, Copy)]
struct BatchDatagram {
    destination: SocketAddr,
    source: Option<SendSource>,
    len: usize,
    ecn: u8,
}

/// Group of neighbouring datagrams in a [`SendBatch`] that share one message header
/// (`UDP_SEGMENT`).
#[derive(Clone, Copy)]
struct DatagramGroup {
    first: usize,
    count: usize,
    segment: usize,
    bytes: usize,
    /// True if the group's last datagram is shorter than the others, so that none may follow.
    closed: bool,
}

/// Batch of UDP or raw datagrams to be sent: a pool of transmit slots, with the datagrams waiting
/// in them.
pub struct SendBatch {
    slot_bytes: usize,
    segmentation: bool,
    octets: Slab<u8>,
    control: Slab<u8>,
    names: Slab<SocketAddressBuffer>,
    vectors: Slab<libc::iovec>,
    headers: Slab<libc::mmsghdr>,
    items: Vec<BatchDatagram>,
    groups: Vec<DatagramGroup>,
    /// Number of the first group in the batch that was not sent.
    next: usize,
    refused: Vec<usize>,
    refusal: Option<i32>,
    /// True if an error of a call may concern an earlier datagram, so that a refused one is tried
    /// again.
    has_path_errors: bool,
    /// Number of the group that was tried again after an error.
    repeated: Option<usize>,
    counts: SendCounts,
}

impl SendBatch {
    /// Creates a pool of `slots` transmit slots (at most 1,024) of `slot_bytes` bytes each.
    /// `segmentation` groups equal datagrams; check [`crate::UdpSocket::supports_segmentation`]
    /// first.
    pub fn new(slots: usize, slot_bytes: usize, segmentation: bool) -> Self {
        assert!((1..=1_024).contains(&slots) && slot_bytes > 0, "{slots} slots of {slot_bytes}");
        let octets = Slab::new(0_u8, slots * slot_bytes);
        let control = Slab::new(0_u8, slots * SEND_BYTES);
        let names = Slab::new(SocketAddressBuffer::EMPTY, slots);
        let nowhere = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut vectors = Slab::new(nowhere, slots);
        // SAFETY: an all-zero mmsghdr is a valid, empty one.
        let mut headers = Slab::new(unsafe { std::mem::zeroed::<libc::mmsghdr>() }, slots);
        for slot in 0..slots {
            vectors.get_mut(slot).iov_base = octets.address(slot * slot_bytes).cast();
            let header = &mut headers.get_mut(slot).msg_hdr;
            header.msg_name = names.address(slot).cast();
            header.msg_namelen = NAME_BYTES;
        }
        Self {
            slot_bytes,
            segmentation,
            octets,
            control,
            names,
            vectors,
            headers,
            items: Vec::with_capacity(slots),
            groups: Vec::with_capacity(slots),
            next: 0,
            refused: Vec::with_capacity(slots),
            refusal: None,
            has_path_errors: false,
            repeated: None,
            counts: SendCounts::default(),
        }
    }

    /// Makes the batch try a datagram that the kernel refuses once more: for sockets with
    /// [`crate::path_error::report`], on which a call may return the error of an earlier datagram
    /// and send nothing.
    #[must_use]
    pub const fn with_path_errors(mut self) -> Self {
        self.has_path_errors = true;
        self
    }

    /// Returns the next free slot of the batch to write a datagram into; `None` if the batch is
    /// full. The slot still has its old content. Nothing is queued until [`SendBatch::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        let index = self.items.len();
        let (at, len) = (index * self.slot_bytes, self.slot_bytes);
        (index < self.headers.len()).then(|| self.octets.slice_mut(at, len))
    }

    /// Queues the first `len` bytes of the slot that [`SendBatch::slot`] returned. Returns the
    /// slot's number, by which [`SendBatch::refused`] names it; numbers start at 0 whenever the
    /// batch has been emptied.
    ///
    /// # Panics
    ///
    /// If the batch is full or `len` exceeds the slot.
    pub fn commit(
        &mut self,
        len: usize,
        destination: impl Into<SocketAddr>,
        source: Option<SendSource>,
    ) -> usize {
        self.commit_ecn(len, destination, source, 0)
    }

    /// Queues a datagram as [`SendBatch::commit`] does, with `ecn` as the ECN field of its IP
    /// header (RFC 3168 §5).
    ///
    /// # Panics
    ///
    /// If the batch is full or `len` exceeds the slot.
    pub fn commit_ecn(
        &mut self,
        len: usize,
        destination: impl Into<SocketAddr>,
        source: Option<SendSource>,
        ecn: u8,
    ) -> usize {
        let index = self.items.len();
        assert!(index < self.headers.len() && len <= self.slot_bytes, "commit without a slot");
        self.items.push(BatchDatagram { destination: destination.into(), source, len, ecn });
        self.vectors.get_mut(index).iov_len = len;
        self.join_or_open(index);
        index
    }

    /// Queues the last queued datagram once more, in the next slot; returns false if there is no
    /// free slot, or nothing was queued since the batch was empty.
    pub fn repeat(&mut self) -> bool {
        let (Some(&item), true) = (self.items.last(), self.items.len() < self.headers.len()) else {
            return false;
        };
        let last = (self.items.len() - 1) * self.slot_bytes;
        let both = self.octets.slice_mut(last, 2 * self.slot_bytes);
        both.copy_within(..item.len, self.slot_bytes);
        self.commit_ecn(item.len, item.destination, item.source, item.ecn);
        true
    }

    fn join_or_open(&mut self, index: usize) {
        let item = self.items[index];
        if self.segmentation
            && self.groups.len() > self.next
            && let Some(group) = self.groups.last_mut()
            && !group.closed
            && item.len > 0
            && item.len <= group.segment
            && group.count < GROUP_DATAGRAMS
            && group.bytes + item.len <= GROUP_BYTES
            && self.items[group.first].destination == item.destination
            && self.items[group.first].source == item.source
            && self.items[group.first].ecn == item.ecn
        {
            group.count += 1;
            group.bytes += item.len;
            group.closed = item.len < group.segment;
        } else {
            let (segment, bytes) = (item.len, item.len);
            self.groups.push(DatagramGroup {
                first: index,
                count: 1,
                segment,
                bytes,
                closed: false,
            });
        }
    }

    /// Returns the number of datagrams waiting in the batch to be flushed.
    pub fn waiting(&self) -> usize {
        self.groups[self.next..].iter().map(|group| group.count).sum()
    }

    /// Returns true if no datagram waits in the batch to be flushed.
    pub fn is_empty(&self) -> bool {
        self.groups.len() == self.next
    }

    /// Returns the number of free slots of the batch.
    pub fn free(&self) -> usize {
        self.headers.len() - self.items.len()
    }

    /// Returns true if the batch has no free slot.
    pub fn is_full(&self) -> bool {
        self.items.len() == self.headers.len()
    }

    /// Writes the message headers (`struct msghdr`) of the groups that were not sent.
    fn prepare(&mut self) {
        for index in self.next..self.groups.len() {
            let group = self.groups[index];
            let item = self.items[group.first];
            *self.names.get_mut(index) = SocketAddressBuffer::from_address(item.destination);
            let mut used = 0;
            let control = self.control.slice_mut(index * SEND_BYTES, SEND_BYTES);
            if let Some(source) = item.source {
                used = control::put_source(control, used, source.address, source.interface);
            }
            if item.ecn != 0 {
                used = control::put_ecn(control, used, item.destination.is_ipv4(), item.ecn);
            }
            if group.count > 1 {
                used = control::put_segment(control, used, group.segment as u16);
            }
            let address = self.control.address(index * SEND_BYTES);
            let vector = self.vectors.address(group.first);
            let header = &mut self.headers.get_mut(index).msg_hdr;
            header.msg_iov = vector;
            header.msg_iovlen = group.count as _;
            header.msg_control = if used > 0 { address.cast() } else { std::ptr::null_mut() };
            header.msg_controllen = used as _;
        }
    }

    /// Passes all waiting datagrams of the batch to the kernel, without waiting itself. Call it
    /// again later while [`FlushResult::left`] is not 0.
    pub fn flush(&mut self, socket: &impl DatagramSocket) -> FlushResult {
        self.refused.clear();
        self.repeated = None;
        let mut result = FlushResult::default();
        self.prepare();
        while self.next < self.groups.len() {
            match self.send_once(socket) {
                Ok(count) => {
                    let left = &self.groups[self.next..self.next + count];
                    result.sent += left.iter().map(|group| group.count).sum::<usize>();
                    self.counts.sent_bytes +=
                        left.iter().map(|group| group.bytes as u64).sum::<u64>();
                    self.next += count;
                }
                Err(error) => match error.raw_os_error().unwrap_or(0) {
                    libc::EINTR => {}
                    libc::EAGAIN | libc::ENOBUFS => {
                        self.counts.stalled += 1;
                        break;
                    }
                    // The error of an earlier datagram: this one has not been tried.
                    _ if self.has_path_errors && self.repeated != Some(self.next) => {
                        self.repeated = Some(self.next);
                    }
                    code => self.refuse_or_ungroup(code),
                },
            }
        }
        result.refused = self.refused.len();
        result.left = self.waiting();
        self.counts.sent += result.sent as u64;
        self.counts.refused += result.refused as u64;
        if result.left == 0 {
            self.clear();
        }
        result
    }

    fn send_once(&mut self, socket: &impl DatagramSocket) -> io::Result<usize> {
        self.counts.calls += 1;
        let count = (self.groups.len() - self.next) as libc::c_uint;
        let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_DONTWAIT as _);
        // SAFETY: headers `next..next + count` were prepared; they and all that they point to live
        // in slabs of `self`, borrowed mutably for the whole call, with their true lengths.
        let result = unsafe { libc::sendmmsg(fd, self.headers.address(self.next), count, flags) };
        crate::check(result).map(|count| count.cast_unsigned() as usize)
    }

    /// Handles an error that concerns the group `next` alone: splits a real group, whose datagrams
    /// are then tried one by one, or gives up a single datagram.
    fn refuse_or_ungroup(&mut self, code: i32) {
        let group = self.groups[self.next];
        if group.count == 1 {
            self.refused.push(group.first);
            self.refusal = Some(code);
            self.next += 1;
            return;
        }
        self.counts.ungrouped += 1;
        if code == libc::EIO {
            // The device computes no checksums, so it will never segment.
            self.segmentation = false;
        }
        let (old_len, more) = (self.groups.len(), group.count - 1);
        self.groups.resize(old_len + more, group);
        self.groups.copy_within(self.next + 1..old_len, self.next + 1 + more);
        for offset in 0..group.count {
            let first = group.first + offset;
            let len = self.items[first].len;
            self.groups[self.next + offset] =
                DatagramGroup { first, count: 1, segment: len, bytes: len, closed: true };
        }
        self.prepare();
    }

    /// Drops the datagrams waiting in the batch, counts them as refused and returns their number.
    pub fn discard(&mut self) -> usize {
        let count = self.waiting();
        self.counts.refused += count as u64;
        self.clear();
        count
    }

    fn clear(&mut self) {
        self.items.clear();
        self.groups.clear();
        self.next = 0;
    }

    /// Returns the slot numbers of the datagrams that the kernel refused for good in the last
    /// flush.
    pub fn refused(&self) -> &[usize] {
        &self.refused
    }

    /// Returns the kernel's error for the datagram that it refused last.
    pub fn last_refusal(&self) -> Option<io::Error> {
        self.refusal.map(io::Error::from_raw_os_error)
    }

    /// Returns true while the batch groups equal datagrams; false once a device has refused to
    /// segment.
    pub const fn segmentation(&self) -> bool {
        self.segmentation
    }

    /// Returns the totals of the batch since its construction.
    pub const fn counts(&self) -> SendCounts {
        self.counts
    }
}
