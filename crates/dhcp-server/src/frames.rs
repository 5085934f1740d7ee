//! Parser of packets from packet sockets (Ethernet and IP): accepts complete, valid packets for an
//! address of this server, and broadcasts on an interface on which this server has an address.

use base::Counters;
use dhcp_engine::v4::Ingress;
use netio::packet::ReceivedPacket;
use packet_wire::{PacketDefect, frame};

use crate::listeners::ListenerSet;

/// Counters of packets dropped by the parser, by defect, and of packets that came through an
/// interface without an address of this server.
#[derive(Debug, Default)]
pub(crate) struct FrameCounters {
    malformed: Counters<{ PacketDefect::ALL.len() }>,
    no_address: Counters<1>,
}

impl FrameCounters {
    /// Returns every packet counter that is not zero, with its name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (String, u64)> {
        let malformed = PacketDefect::ALL.iter().map(|reason| format!("frame-{}", reason.name()));
        malformed
            .zip(self.malformed.snapshot())
            .chain([("frame-no-address".to_owned(), self.no_address.value(0))])
            .filter(|&(_, value)| value > 0)
    }
}

/// Returns the DHCP message in the packet `packet` and its ingress. Otherwise counts the packet and
/// returns `None`.
pub(crate) fn open<'p>(
    packet: &ReceivedPacket<'p>,
    listeners: &ListenerSet,
    listener_id: u16,
    counters: &FrameCounters,
) -> Option<(&'p [u8], Ingress)> {
    let datagram = match frame::open_packet(packet.octets) {
        Ok(datagram) if packet.is_checksum_settled || datagram.is_checksum_right() => datagram,
        Ok(_) => {
            counters.malformed.add(PacketDefect::Checksum.index(), 1);
            return None;
        }
        Err(reason) => {
            counters.malformed.add(reason.index(), 1);
            return None;
        }
    };
    let (source, interface, mac) = (datagram.source, packet.interface, packet.source_mac);
    let is_broadcast = datagram.destination.ip().is_broadcast();
    // The sockets' filter lets only broadcasts and messages for an address of ours pass.
    let own =
        if is_broadcast { listeners.address(interface) } else { Some(*datagram.destination.ip()) };
    let Some(local) = own else {
        counters.no_address.add(0, 1);
        return None;
    };
    Some((
        datagram.payload,
        Ingress { source, local, interface, is_broadcast, listener_index: listener_id, mac },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddrV4};

    use base::Random;

    const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];

    fn sealed(payload: &[u8]) -> Vec<u8> {
        sealed_for(Ipv4Addr::BROADCAST, payload)
    }

    fn sealed_for(address: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0; frame::PACKET_HEADROOM];
        octets.extend(payload);
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
        let to = SocketAddrV4::new(address, 67);
        frame::seal_packet(&mut octets, payload.len(), nowhere, to);
        octets
    }

    fn counted(counters: &FrameCounters) -> Vec<(String, u64)> {
        counters.entries().collect()
    }

    #[test]
    fn a_sound_packet_opens_and_others_are_counted() {
        let listeners = ListenerSet::with_address(3, LOCAL);
        let counters = FrameCounters::default();
        let good = sealed(b"DHCP");
        let packet = ReceivedPacket {
            octets: &good,
            interface: 3,
            source_mac: Some(STATION),
            kernel_wall_ns: None,
            is_checksum_settled: false,
        };
        let (octets, ingress) = open(&packet, &listeners, 7, &counters).unwrap();
        assert_eq!(octets, b"DHCP");
        assert_eq!((ingress.local, ingress.interface, ingress.listener_index), (LOCAL, 3, 7));
        assert!(ingress.is_broadcast && ingress.source.ip().is_unspecified());
        assert_eq!(ingress.mac, Some(STATION));
        assert!(counted(&counters).is_empty());

        assert!(
            open(&ReceivedPacket { interface: 4, ..packet }, &listeners, 7, &counters).is_none()
        );
        let mut bad = good.clone();
        bad[frame::PACKET_HEADROOM] ^= 1;
        let packet = ReceivedPacket { octets: &bad, ..packet };
        assert!(open(&packet, &listeners, 7, &counters).is_none());
        let expected = [("frame-checksum".to_owned(), 1), ("frame-no-address".to_owned(), 1)];
        assert_eq!(counted(&counters), expected);
        // A packet for one of our addresses needs no address of the interface.
        let other = Ipv4Addr::new(10, 0, 0, 2);
        let unicast = sealed_for(other, b"DHCP");
        let packet = ReceivedPacket { octets: &unicast, interface: 4, ..packet };
        let (_, ingress) = open(&packet, &listeners, 7, &counters).unwrap();
        assert_eq!((ingress.local, ingress.is_broadcast), (other, false));
        let packet = ReceivedPacket { octets: &bad, interface: 3, ..packet };
        // The kernel vouches for the packet: its checksum was never computed.
        let packet = ReceivedPacket { is_checksum_settled: true, ..packet };
        assert!(open(&packet, &listeners, 7, &counters).is_some());
    }

    #[test]
    fn any_octets_open_or_are_counted() {
        let listeners = ListenerSet::with_address(3, LOCAL);
        let counters = FrameCounters::default();
        let mut random = Random::from_seed(4);
        let mut opened = 0;
        for _ in 0..100_000 {
            let mut octets = sealed(&[7; 300]);
            for _ in 0..random.below(3) {
                let at = random.below(octets.len() as u64) as usize;
                octets[at] = random.next_u64() as u8;
            }
            octets.truncate(octets.len() - random.below(8).saturating_sub(6) as usize * 9);
            let is_checksum_settled = random.chance(1, 2);
            let source_mac = Some(STATION);
            let packet = ReceivedPacket {
                octets: &octets,
                interface: 3,
                source_mac,
                kernel_wall_ns: None,
                is_checksum_settled,
            };
            opened += u64::from(open(&packet, &listeners, 0, &counters).is_some());
        }
        let refused: u64 = counted(&counters).iter().map(|(_, count)| count).sum();
        assert_eq!(opened + refused, 100_000);
        assert!(opened > 10_000 && refused > 10_000, "{opened} {refused}");
    }
}
