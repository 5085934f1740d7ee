//! Receiving of many IPv4 packets with one system call into a pool of slots.
//!
//! Budget: one `recvmmsg` per up to 64 packets, nothing allocated after construction.

use std::io;

use super::{PacketSocket, link_address};
use crate::control;
use crate::slots::MessageSlots;

const SLOTS: usize = 64;
/// Bytes of a receive slot: the largest packet of a 1,500-byte link fits; no DHCP client sends
/// longer messages.
const SLOT_BYTES: usize = 2_048;
/// Status `TP_STATUS_CSUMNOTREADY` of a packet: the sender's kernel left the checksum to a device
/// that does not exist.
const CHECKSUM_PENDING: u32 = 1 << 3;
/// Status `TP_STATUS_CSUM_VALID` of a packet: the receiving device or kernel has checked its
/// checksum.
const CHECKSUM_SEEN: u32 = 1 << 7;

/// IPv4 packet that a [`PacketRecvBatch`] received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPacket<'a> {
    /// Bytes of the packet from the IPv4 header on.
    pub octets: &'a [u8],
    /// Index of the interface that the packet came through.
    pub interface: u32,
    /// Hardware address of the station that sent the frame; `None` if it is not that of a station:
    /// not six bytes, a group's, all 0.
    pub source_mac: Option<[u8; 6]>,
    /// Time when the kernel received the packet, in nanoseconds since 1970.
    pub kernel_wall_ns: Option<u64>,
    /// True if the kernel vouches for the packet's UDP checksum: it was checked, or never computed
    /// because the packet has not left the machine. Otherwise the reader must check the checksum.
    pub is_checksum_settled: bool,
}

/// Returns the hardware address of the sending station from the kernel's `address`; `None` if it is
/// not that of a station.
fn station_of(address: &libc::sockaddr_ll) -> Option<[u8; 6]> {
    let mac = *address.sll_addr.first_chunk()?;
    (address.sll_halen == 6 && mac[0] & 1 == 0 && mac != [0; 6]).then_some(mac)
}

/// Pool of receive slots, with the packets of the last call of [`PacketRecvBatch::receive`].
pub struct PacketRecvBatch {
    slots: MessageSlots<libc::sockaddr_ll>,
    len: usize,
    truncated: u64,
}

impl Default for PacketRecvBatch {
    fn default() -> Self {
        let slots = MessageSlots::new(
            SLOTS,
            SLOT_BYTES,
            control::TIMED_AUXDATA_BYTES,
            link_address(0, [0; 6]),
        );
        Self { slots, len: 0, truncated: 0 }
    }
}

impl PacketRecvBatch {
    /// Receives the waiting packets of `socket`, as many as there are slots, without waiting
    /// itself. Returns the number of packets, 0 if nothing waits; those of the last call are gone.
    ///
    /// # Errors
    ///
    /// The error of `recvmmsg(2)`, except EAGAIN and EINTR: ENETDOWN once if an interface went
    /// down.
    pub fn receive(&mut self, socket: &PacketSocket) -> io::Result<usize> {
        self.len = 0;
        self.len = self.slots.receive(socket)?;
        let whole = (0..self.len).filter(|&slot| self.slots.received_len(slot).is_some()).count();
        self.truncated += (self.len - whole) as u64;
        Ok(self.len)
    }

    /// Returns the packets that the last call received, in order of arrival, without those longer
    /// than a slot.
    pub fn iter(&self) -> impl Iterator<Item = ReceivedPacket<'_>> {
        (0..self.len).filter_map(|slot| {
            let beside = control::parse(self.slots.control(slot));
            let status = beside.packet_status.unwrap_or(0);
            let from = self.slots.name(slot);
            Some(ReceivedPacket {
                octets: self.slots.octets(slot, 0, self.slots.received_len(slot)?),
                interface: from.sll_ifindex.cast_unsigned(),
                source_mac: station_of(from),
                kernel_wall_ns: beside.kernel_wall_ns,
                is_checksum_settled: status & (CHECKSUM_PENDING | CHECKSUM_SEEN) != 0,
            })
        })
    }

    /// Returns true if the last call filled every slot, so that more packets may wait.
    pub const fn is_full(&self) -> bool {
        self.len == SLOTS
    }

    /// Returns the number of packets dropped because they were longer than a slot, since the pool
    /// was created.
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }
}
