//! Receiving many frames with one system call into pooled slots.
//!
//! Budget: one `recvmmsg` per up to 64 frames, about 10 ns per frame of our own; a VLAN tag that is
//! put back moves the frame once. Nothing is allocated after construction. A pool takes 4 MiB, of
//! which only what frames fill is touched again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::train::{HEAD_BYTES, PendingChecksum, Placed, Train, read_head};
use super::{FRAME_BYTES_MAX, FrameSocket, SLOTS, subject};
use crate::interface::Interface;
use crate::slots::Slots;
use crate::{NetError, control, filter};

/// Destination and source, behind which VLAN tags stand.
const ADDRESSES_BYTES: usize = 12;
const ETHERNET_BYTES: usize = 14;
const TAG_BYTES: usize = 4;

/// One received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// From the Ethernet header on, with its VLAN tags.
    pub octets: &'a [u8],
    /// The checksum that the sender's kernel left to a device.
    pub checksum: Option<PendingChecksum>,
    /// The segments that it stands for, when it is no frame of the wire.
    pub train: Option<Train>,
}

/// An open socket that receives all frames of an interface, and the pool that they are put into.
pub struct FrameReceiver {
    socket: FrameSocket,
    slots: Slots<()>,
    placed: Vec<Option<Placed>>,
    truncated: u64,
    unreadable: u64,
}

impl FrameReceiver {
    /// Listens on `interface`, to frames for other stations, too; not to those that this machine
    /// sends there.
    ///
    /// # Errors
    ///
    /// Which step failed; `EPERM` without the right to it (`CAP_NET_RAW`).
    pub fn open(interface: &Interface) -> Result<Self, NetError> {
        Self::open_with(interface, &filter::received())
    }

    /// The same, of frames with UDP datagrams over IPv4 for `port`, whole ones without a VLAN tag, and with
    /// `takes_arp` of frames with ARP. The others cost the filter that leaves them out.
    ///
    /// # Errors
    ///
    /// As [`FrameReceiver::open`].
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
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1).ok();
        for (name, option) in [
            ("set PACKET_VNET_HDR for", libc::PACKET_VNET_HDR),
            ("set PACKET_AUXDATA for", libc::PACKET_AUXDATA),
        ] {
            socket.set(libc::SOL_PACKET, option, &1).map_err(NetError::on(name, subject))?;
        }
        socket
            .set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)
            .map_err(NetError::on("set the buffer of", subject))?;
        socket
            .be_promiscuous(interface.index)
            .map_err(NetError::on("see frames for all stations by", subject))?;
        socket.bind(interface.index, libc::ETH_P_ALL).map_err(NetError::on("bind", subject))?;
        let slots = Slots::new(SLOTS, HEAD_BYTES + FRAME_BYTES_MAX, control::AUXDATA_BYTES, ());
        let placed = Vec::with_capacity(SLOTS);
        Ok(Self { socket, slots, placed, truncated: 0, unreadable: 0 })
    }

    /// Takes what waits in the socket, as much as there are slots for, and never waits itself.
    /// Returns how many places [`FrameReceiver::frame`] has, 0 when nothing waits; the frames of the
    /// call before are gone.
    ///
    /// # Errors
    ///
    /// What `recvmmsg(2)` reports, except EAGAIN and EINTR: ENETDOWN once when the interface went
    /// down, or is gone ([`FrameReceiver::is_interface_gone`]).
    pub fn receive(&mut self) -> io::Result<usize> {
        self.placed.clear();
        let count = match self.slots.receive(&self.socket) {
            // A train of a kind that virtio has no name for: the kernel has thrown it away.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.unreadable += 1;
                0
            }
            other => other?,
        };
        for slot in 0..count {
            let placed = self.place(slot);
            self.placed.push(placed);
        }
        Ok(count)
    }

    /// Reads what is in front of and beside the frame in slot `slot`.
    fn place(&mut self, slot: usize) -> Option<Placed> {
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
        let whole = self.slots.room(slot);
        let head = whole.first_chunk::<HEAD_BYTES>().expect("a slot has room for it");
        let placed = (received >= HEAD_BYTES + ETHERNET_BYTES)
            .then(|| read_head(head, received - HEAD_BYTES, tag_bytes))
            .flatten();
        if placed.is_none() {
            self.unreadable += 1;
        } else if let Some(tag) = tag {
            let at = HEAD_BYTES + ADDRESSES_BYTES;
            whole.copy_within(at..received, at + TAG_BYTES);
            whole[at..at + TAG_BYTES].copy_from_slice(&tag);
        }
        placed
    }

    /// Frame `index` of the last call; `None` for one that was left out and counted.
    ///
    /// # Panics
    ///
    /// When `index` is not below what [`FrameReceiver::receive`] returned.
    #[must_use]
    pub fn frame(&self, index: usize) -> Option<Frame<'_>> {
        let Placed { len, checksum, train } = self.placed[index]?;
        Some(Frame { octets: self.slots.octets(index, HEAD_BYTES, len), checksum, train })
    }

    /// Frames that were longer than a slot and therefore left out, since the socket was opened.
    #[must_use]
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Frames left out because what the kernel says of them makes no sense here, since the socket was
    /// opened: trains of protocols other than TCP and UDP, frames without an Ethernet header.
    #[must_use]
    pub const fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Frames that the kernel dropped because the socket was full, since the last call.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn take_drops(&self) -> io::Result<u64> {
        self.socket.take_drops()
    }

    /// Whether the interface was removed: nothing will come any more.
    #[must_use]
    pub fn is_interface_gone(&self) -> bool {
        self.socket.is_unbound().unwrap_or(false)
    }
}

impl AsFd for FrameReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
