//! Receiving of many Ethernet frames with one system call into a pool of slots.
//!
//! Budget: one `recvmmsg` per up to 64 frames, about 10 ns per frame of our own; putting a VLAN tag
//! back moves the frame once. Nothing is allocated after construction. A pool takes 4 MiB, of which
//! only the part that frames fill is touched again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::train::{FrameProperties, HEAD_BYTES, PendingChecksum, Train, read_head};
use super::{BUFFER_BYTES, FRAME_BYTES_MAX, FrameSocket, SLOTS, subject};
use crate::interface::Interface;
use crate::slots::MessageSlots;
use crate::socket_option::SocketOptions;
use crate::{NetError, control, filter};

/// Length in bytes of an Ethernet header's destination and source, after which VLAN tags are.
const ADDRESSES_BYTES: usize = 12;
const ETHERNET_BYTES: usize = 14;
const TAG_BYTES: usize = 4;

/// Ethernet frame that a [`FrameReceiver`] received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame<'a> {
    /// Bytes of the frame from the Ethernet header on, with its VLAN tags.
    pub octets: &'a [u8],
    /// Checksum of the frame that the sender's kernel left to a device, if it has one.
    pub checksum: Option<PendingChecksum>,
    /// Segments that the frame stands for, if it is a train (several TCP segments or UDP datagrams
    /// under one header); `None` for a frame as on the wire.
    pub train: Option<Train>,
}

/// Open socket that receives all frames of an interface, with the pool of their slots.
pub struct FrameReceiver {
    socket: FrameSocket,
    slots: MessageSlots<()>,
    properties: Vec<Option<FrameProperties>>,
    truncated: u64,
    unreadable: u64,
}

impl FrameReceiver {
    /// Opens a receiver of the frames on `interface`, also of those for other stations, but not of
    /// those that this machine sends.
    ///
    /// # Errors
    ///
    /// The step that failed; `EPERM` without the capability `CAP_NET_RAW`.
    pub fn open(interface: &Interface) -> Result<Self, NetError> {
        Self::open_with(interface, &filter::received())
    }

    /// Opens a receiver of the frames on `interface` without a VLAN tag that carry complete UDP
    /// datagrams over IPv4 for `port`, and with `takes_arp` of frames with ARP. Other frames cost
    /// only the filter that drops them.
    ///
    /// # Errors
    ///
    /// The errors of [`FrameReceiver::open`].
    pub fn open_at_port(
        interface: &Interface,
        port: u16,
        takes_arp: bool,
    ) -> Result<Self, NetError> {
        Self::open_with(interface, &filter::datagrams_to(port, takes_arp))
    }

    fn open_with(interface: &Interface, wanted: &[libc::sock_filter]) -> Result<Self, NetError> {
        let subject = &subject(interface);
        let socket = FrameSocket::open(subject)?;
        socket.filter(wanted).map_err(NetError::on("filter", subject))?;
        // Known since Linux 4.20; it spares copies of frames that the filter drops anyway.
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).ok();
        for (name, option) in [
            ("set PACKET_VNET_HDR for", libc::PACKET_VNET_HDR),
            ("set PACKET_AUXDATA for", libc::PACKET_AUXDATA),
        ] {
            socket.set(libc::SOL_PACKET, option, 1).map_err(NetError::on(name, subject))?;
        }
        socket
            .set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, BUFFER_BYTES)
            .map_err(NetError::on("set the buffer of", subject))?;
        socket
            .be_promiscuous(interface.index)
            .map_err(NetError::on("see frames for all stations by", subject))?;
        socket.bind(interface.index, libc::ETH_P_ALL).map_err(NetError::on("bind", subject))?;
        let slots =
            MessageSlots::new(SLOTS, HEAD_BYTES + FRAME_BYTES_MAX, control::AUXDATA_BYTES, ());
        let properties = Vec::with_capacity(SLOTS);
        Ok(Self { socket, slots, properties, truncated: 0, unreadable: 0 })
    }

    /// Receives the waiting frames, as many as there are slots, without waiting itself. Returns the
    /// number of indexes for [`FrameReceiver::frame`], 0 if nothing waits; the frames of the last
    /// call are gone.
    ///
    /// # Errors
    ///
    /// The error of `recvmmsg(2)`, except EAGAIN and EINTR: ENETDOWN once if the interface went
    /// down, or is gone ([`FrameReceiver::is_interface_gone`]).
    pub fn receive(&mut self) -> io::Result<usize> {
        self.properties.clear();
        let count = match self.slots.receive(&self.socket) {
            // A train of a kind that virtio has no name for: the kernel has dropped it.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.unreadable += 1;
                0
            }
            other => other?,
        };
        for slot in 0..count {
            let properties = self.read_properties(slot);
            self.properties.push(properties);
        }
        Ok(count)
    }

    /// Returns the properties of the frame in slot `slot` from its `struct virtio_net_hdr` and its
    /// control messages; `None` for a frame that is dropped.
    fn read_properties(&mut self, slot: usize) -> Option<FrameProperties> {
        let tag = control::vlan_tag(self.slots.control(slot));
        let tag_bytes = tag.map_or(0, |tag| tag.len());
        let Some(received) = self
            .slots
            .received_len(slot)
            .filter(|received| received + tag_bytes <= HEAD_BYTES + FRAME_BYTES_MAX)
        else {
            self.truncated += 1;
            return None;
        };
        let whole = self.slots.buffer(slot);
        let head = whole.first_chunk::<HEAD_BYTES>().expect("a slot has room for it");
        let properties = if received >= HEAD_BYTES + ETHERNET_BYTES {
            read_head(head, received - HEAD_BYTES, tag_bytes)
        } else {
            None
        };
        if properties.is_none() {
            self.unreadable += 1;
        } else if let Some(tag) = tag {
            let at = HEAD_BYTES + ADDRESSES_BYTES;
            whole.copy_within(at..received, at + TAG_BYTES);
            whole[at..at + TAG_BYTES].copy_from_slice(&tag);
        }
        properties
    }

    /// Returns frame `index` of the last call; `None` for a frame that was dropped and counted.
    ///
    /// # Panics
    ///
    /// If `index` is not below the number that [`FrameReceiver::receive`] returned.
    pub fn frame(&self, index: usize) -> Option<ReceivedFrame<'_>> {
        let FrameProperties { len, checksum, train } = self.properties[index]?;
        Some(ReceivedFrame { octets: self.slots.octets(index, HEAD_BYTES, len), checksum, train })
    }

    /// Returns the number of frames dropped because they were longer than a slot, since the socket
    /// was opened.
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Returns the number of frames dropped since the socket was opened because their header from
    /// the kernel is not supported: trains of protocols other than TCP and UDP, frames without an
    /// Ethernet header.
    pub const fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Returns the number of frames that the kernel dropped since the last call because the socket
    /// was full.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn take_drops(&self) -> io::Result<u64> {
        self.socket.take_drops()
    }

    /// Returns true if the receiver's interface was removed, so that no further frame will arrive.
    pub fn is_interface_gone(&self) -> bool {
        self.socket.is_unbound().unwrap_or(false)
    }
}

impl AsFd for FrameReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
