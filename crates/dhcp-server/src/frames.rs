//! Packets from packet sockets on their way in: whole, sound, and for an interface on which we have
//! an address to be known by.

use base::Counters;
use dhcp_engine::v4::Ingress;
use netio::packet::Packet;
use packet_wire::{Malformed, frame};

use crate::doors::Doors;

/// Packets that were left out: by what was wrong, and those that came through an interface without
/// an address of our own.
#[derive(Debug, Default)]
pub(crate) struct FrameCounters {
    malformed: Counters<{ Malformed::ALL.len() }>,
    no_address: Counters<1>,
}

impl FrameCounters {
    /// Every counter that is not zero, with its name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (String, u64)> {
        let malformed = Malformed::ALL.iter().map(|reason| format!("frame-{}", reason.name()));
        malformed
            .zip(self.malformed.snapshot())
            .chain([("frame-no-address".to_owned(), self.no_address.value(0))])
            .filter(|&(_, value)| value > 0)
    }
}

/// The DHCP message in `packet` and how it came in; `None`, counted, when there is none for us.
pub(crate) fn open<'p>(
    packet: &Packet<'p>,
    doors: &Doors,
    door: u16,
    counters: &FrameCounters,
) -> Option<(&'p [u8], Ingress)> {
    let Some(local) = doors.address(packet.interface) else {
        counters.no_address.add(0, 1);
        return None;
    };
    let datagram = match frame::open_packet(packet.octets) {
        Ok(datagram) if packet.is_checksum_settled || datagram.is_checksum_right() => datagram,
        Ok(_) => {
            counters.malformed.add(Malformed::Checksum.index(), 1);
            return None;
        }
        Err(reason) => {
            counters.malformed.add(reason.index(), 1);
            return None;
        }
    };
    // The sockets' filter lets nothing else in.
    let is_broadcast = true;
    let (source, interface) = (datagram.source, packet.interface);
    Some((datagram.payload, Ingress { source, local, interface, is_broadcast, door }))
}
