//! Receiving of datagrams as frames through memory that is shared with the kernel
//! (`PACKET_RX_RING`, `TPACKET_V2`): each costs no system call, no copy except the kernel's own,
//! and nothing of the kernel's UDP.
//!
//! Budget: one load to see whether a frame is there and one store to return its slot, per frame; no
//! system call while frames are there. Nothing is allocated after construction.
#![allow(unsafe_code, reason = "the mapping and the words of a ring")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use super::ring::{RingMapping, RingSize};
use super::train::{HEAD_BYTES, read_head};
use super::{FrameSocket, ReceivedFrame, subject};
use crate::NetError;
use crate::filter;
use crate::interface::Interface;
use crate::socket_option::SocketOptions;

/// Offsets of fields in `struct tpacket2_hdr`, the header of a frame in the ring.
const LEN_AT: usize = 4;
const CAPTURED_LEN_AT: usize = 8;
const FRAME_AT: usize = 12;
/// States of a slot in a receive ring (`TP_STATUS_...`).
const KERNEL: u32 = 0;
const USER: u32 = 1;
const VLAN_VALID: u32 = 1 << 4;

/// Open socket that receives the UDP datagrams from one port through an interface, into a ring that
/// it shares with the kernel.
pub struct FrameRingReceiver {
    socket: FrameSocket,
    memory: RingMapping,
    slot_bytes: usize,
    slots: usize,
    /// Number of the slot that the kernel fills next.
    next: usize,
    truncated: u64,
    unreadable: u64,
}

impl FrameRingReceiver {
    /// Opens a receiver of complete UDP datagrams from `source_port` on `interface` in frames
    /// without a VLAN tag, but not of those that this machine sends.
    ///
    /// # Errors
    ///
    /// The step that failed; `EPERM` without the capability `CAP_NET_RAW`, `ENOMEM` for a ring that
    /// is too large.
    ///
    /// # Panics
    ///
    /// If the size of slots is not permitted.
    pub fn open(interface: &Interface, source_port: u16, size: RingSize) -> Result<Self, NetError> {
        let subject = &subject(interface);
        let socket = FrameSocket::open(subject)?;
        let program = filter::datagrams_from(source_port);
        filter::attach(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
            .map_err(NetError::on("filter", subject))?;
        // Known since Linux 4.20; it spares copies of frames that the filter drops anyway.
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).ok();
        socket
            .set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)
            .map_err(NetError::on("set PACKET_VNET_HDR for", subject))?;
        let (memory, slots) = socket.ring(libc::PACKET_RX_RING, size, subject)?;
        let protocol = libc::ETH_P_ALL;
        socket.bind(interface.index, protocol).map_err(NetError::on("bind", subject))?;
        let slot_bytes = size.slot_bytes;
        Ok(Self { socket, memory, slot_bytes, slots, next: 0, truncated: 0, unreadable: 0 })
    }

    /// Returns the number of frames waiting in the ring, counted up to `most`.
    pub fn waiting(&self, most: usize) -> usize {
        let slots = (self.next..self.slots).chain(0..self.next).take(most);
        let is_there = |slot: &usize| {
            self.memory.status(slot * self.slot_bytes).load(Ordering::Acquire) & USER != 0
        };
        slots.take_while(is_there).count()
    }

    /// Passes the frames waiting in the ring, `most` at most, to `take`, and returns their slots to
    /// the kernel. Returns the number of frames; never waits.
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(ReceivedFrame<'_>)) -> usize {
        for count in 0..most {
            let at = self.next * self.slot_bytes;
            let status = self.memory.status(at).load(Ordering::Acquire);
            if status & USER == 0 {
                return count;
            }
            self.hand_over(at, status, &mut take);
            self.memory.status(at).store(KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        most
    }

    /// Passes the frame in the slot at `at`, which now belongs to the process, to `take` with its
    /// properties, or counts it as dropped.
    fn hand_over(&mut self, at: usize, status: u32, take: &mut impl FnMut(ReceivedFrame<'_>)) {
        let slot = self.memory.octets(at, self.slot_bytes);
        let word = |offset: usize| {
            let octets = slot[offset..].first_chunk().expect("a slot has room for its header");
            u32::from_ne_bytes(*octets) as usize
        };
        let (len, captured_len) = (word(LEN_AT), word(CAPTURED_LEN_AT));
        let frame_at = usize::from(u16::from_ne_bytes([slot[FRAME_AT], slot[FRAME_AT + 1]]));
        if captured_len < len {
            self.truncated += 1;
            return;
        }
        let octets = slot.get(frame_at..frame_at + len);
        let head = frame_at.checked_sub(HEAD_BYTES).and_then(|at| slot[at..].first_chunk());
        match head.and_then(|head| read_head(head, len, 0)).zip(octets) {
            Some((placed, octets)) if status & VLAN_VALID == 0 => {
                take(ReceivedFrame { octets, checksum: placed.checksum, train: placed.train });
            }
            _ => self.unreadable += 1,
        }
    }

    /// Returns the number of frames dropped since the socket was opened because they were longer
    /// than a slot.
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Returns the number of frames dropped since the socket was opened because they had a VLAN
    /// tag, or an unusable header from the kernel.
    pub const fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Returns the number of frames that the kernel dropped since the last call because the ring
    /// was full.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn take_drops(&self) -> io::Result<u64> {
        self.socket.take_drops()
    }
}

impl AsFd for FrameRingReceiver {
    /// Returns the socket's descriptor, which is readable when a frame waits in the ring.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
