//! Receiving many packets with one system call into pooled slots.
//!
//! Budget: one `recvmmsg` per up to 64 packets, nothing allocated after construction.

use std::io;

use super::{PacketSocket, link_address};
use crate::control;
use crate::slots::Slots;

const SLOTS: usize = 64;
/// The largest packet of a 1,500-octet link fits; longer messages are no DHCP client's.
const SLOT_BYTES: usize = 2_048;
/// `TP_STATUS_CSUMNOTREADY`: the sender's kernel left the checksum to a device that there is not.
const CHECKSUM_PENDING: u32 = 1 << 3;
/// `TP_STATUS_CSUM_VALID`: the receiving device or kernel has checked it.
const CHECKSUM_SEEN: u32 = 1 << 7;

/// One received packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// From the IPv4 header on.
    pub octets: &'a [u8],
    /// Index of the interface that it came through.
    pub interface: u32,
    /// Hardware address of the station whose frame it was; `None` where that is no station's: not six
    /// octets, a group's, all 0.
    pub source_mac: Option<[u8; 6]>,
    /// When the kernel received it, nanoseconds since 1970.
    pub kernel_wall_ns: Option<u64>,
    /// The kernel vouches for the transport checksum: it was checked, or it was never computed
    /// because the packet has not left the machine. Otherwise whoever reads it must check.
    pub is_checksum_settled: bool,
}

/// The station at the hardware address `address`.
fn station_of(address: &libc::sockaddr_ll) -> Option<[u8; 6]> {
    let mac = *address.sll_addr.first_chunk()?;
    (address.sll_halen == 6 && mac[0] & 1 == 0 && mac != [0; 6]).then_some(mac)
}

/// A pool of receive slots and the packets that the last call put there.
pub struct PacketRecvBatch {
    slots: Slots<libc::sockaddr_ll>,
    len: usize,
    truncated: u64,
}

impl Default for PacketRecvBatch {
    fn default() -> Self {
        let slots =
            Slots::new(SLOTS, SLOT_BYTES, control::TIMED_AUXDATA_BYTES, link_address(0, [0; 6]));
        Self { slots, len: 0, truncated: 0 }
    }
}

impl PacketRecvBatch {
    /// Takes what waits in the socket, as much as there are slots for, and never waits itself.
    /// Returns the number of packets, 0 when nothing waits; those of the call before are gone.
    ///
    /// # Errors
    ///
    /// What `recvmmsg(2)` reports, except EAGAIN and EINTR: ENETDOWN once when an interface went
    /// down.
    pub fn receive(&mut self, socket: &PacketSocket) -> io::Result<usize> {
        self.len = 0;
        self.len = self.slots.receive(socket)?;
        let whole = (0..self.len).filter(|&slot| self.slots.received_len(slot).is_some()).count();
        self.truncated += (self.len - whole) as u64;
        Ok(self.len)
    }

    /// The packets of the last call in order of arrival, without those longer than a slot.
    pub fn iter(&self) -> impl Iterator<Item = Packet<'_>> {
        (0..self.len).filter_map(|slot| {
            let beside = control::parse(self.slots.control(slot));
            let status = beside.packet_status.unwrap_or(0);
            let from = self.slots.name(slot);
            Some(Packet {
                octets: self.slots.octets(slot, 0, self.slots.received_len(slot)?),
                interface: from.sll_ifindex.cast_unsigned(),
                source_mac: station_of(from),
                kernel_wall_ns: beside.kernel_wall_ns,
                is_checksum_settled: status & (CHECKSUM_PENDING | CHECKSUM_SEEN) != 0,
            })
        })
    }

    /// Whether the last call filled every slot: more may wait.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.len == SLOTS
    }

    /// Packets that were longer than a slot and therefore left out, since construction.
    #[must_use]
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }
}
