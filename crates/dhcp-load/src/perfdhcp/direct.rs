//! Clients on the generator's own link (`--direct`): source and destination of their frames, after
//! RFC 2131 sections 4.1, 4.3.6 and 4.4.
//!
//! A client without an address is 0.0.0.0 and sends to all stations. A client with an address sends
//! to its server to renew, to release and to request configuration, and to all stations in
//! REBINDING. The generator learns the hardware address for a server from the server's replies: for
//! a server behind a relay agent, that is the relay agent's address.

use std::net::{Ipv4Addr, SocketAddrV4};

use packet_wire::ethernet::MacAddress;
use packet_wire::frame::Endpoints;

use super::dialect::ExchangeKind;
use super::persona::Personas;
use crate::v4::answer::Dhcp4Reply;
use crate::v4::protocol::OfferedAddress;

/// Number of servers whose hardware addresses are kept. Frames for further servers go to all
/// stations.
const SERVERS_MAX: usize = 64;

/// Addresses and ports of frames between clients on the generator's link and servers.
#[derive(Clone, Debug)]
pub struct DirectAddressing {
    /// UDP ports of clients and of servers.
    ports: [u16; 2],
    servers: Vec<(Ipv4Addr, MacAddress)>,
    /// Hardware addresses of the clients when they come from a list (`-M`), sorted; otherwise
    /// empty.
    listed: Vec<[u8; 6]>,
}

impl DirectAddressing {
    /// Creates the addressing for the clients `personas`, with the UDP ports of clients and of
    /// servers.
    pub fn new(ports: [u16; 2], personas: &Personas) -> Self {
        let mut listed = personas.own_list();
        listed.sort_unstable();
        Self { ports, servers: Vec::with_capacity(SERVERS_MAX), listed }
    }

    /// Returns true if one of the clients `personas` has the hardware address `mac`.
    pub fn has(&self, personas: &Personas, mac: [u8; 6]) -> bool {
        if personas.list.is_empty() {
            return personas.counts(mac);
        }
        self.listed.binary_search(&mac).is_ok()
    }

    /// Notes that the server that sent `answer` is reached by the hardware address `from`.
    pub fn learn_server(&mut self, answer: &Dhcp4Reply<'_>, from: MacAddress) {
        let Some(server) = answer.server else { return };
        if let Some(entry) = self.servers.iter_mut().find(|entry| entry.0 == server) {
            entry.1 = from;
        } else if self.servers.len() < SERVERS_MAX {
            self.servers.push((server, from));
        }
    }

    /// Returns source and destination of the Ethernet frame for a message of `kind` by the client
    /// with hardware address `mac`, about `lease`.
    pub fn endpoints(
        &self,
        kind: ExchangeKind,
        mac: [u8; 6],
        lease: Option<&OfferedAddress>,
    ) -> Endpoints {
        let has_address = matches!(
            kind,
            ExchangeKind::Renewal
                | ExchangeKind::Rebinding
                | ExchangeKind::Release
                | ExchangeKind::Information
        );
        let source = match lease {
            Some(lease) if has_address => lease.address,
            _ => Ipv4Addr::UNSPECIFIED,
        };
        let server = match lease {
            Some(lease) if has_address && kind != ExchangeKind::Rebinding => Some(lease.server),
            _ => None,
        };
        let entry = self.servers.iter().find(|entry| Some(entry.0) == server);
        let [client_port, server_port] = self.ports;
        Endpoints {
            source_mac: MacAddress(mac),
            destination_mac: entry.map_or(MacAddress::BROADCAST, |entry| entry.1),
            source: SocketAddrV4::new(source, client_port),
            destination: SocketAddrV4::new(server.unwrap_or(Ipv4Addr::BROADCAST), server_port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfdhcp::part::GeneratorPart;

    const MAC: [u8; 6] = [0, 0x0c, 1, 2, 3, 9];
    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    const SERVER_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const LEASE: OfferedAddress =
        OfferedAddress { address: Ipv4Addr::new(10, 77, 0, 10), server: SERVER };

    fn personas(list: Vec<[u8; 6]>) -> Personas {
        let part = GeneratorPart { index: 1, of: 2 };
        let (base_mac, base_duid) = ([0, 0x0c, 1, 2, 3, 0xfe], vec![0; 14]);
        Personas { base_mac, base_duid, clients: 5, part, list }
    }

    fn answer_of(server: Ipv4Addr) -> Vec<u8> {
        let mut octets = vec![0; 236];
        octets.extend([0x63, 0x82, 0x53, 0x63, 53, 1, 2, 54, 4]);
        octets.extend(server.octets());
        octets.push(255);
        octets
    }

    fn learned() -> DirectAddressing {
        let mut direct = DirectAddressing::new([68, 67], &personas(Vec::new()));
        direct.learn_server(&Dhcp4Reply::read(&answer_of(SERVER)).unwrap(), SERVER_MAC);
        direct
    }

    #[test]
    fn who_has_no_address_speaks_from_nowhere_to_everybody() {
        let direct = learned();
        for (kind, lease) in [
            (ExchangeKind::First, None),
            (ExchangeKind::Second, None),
            (ExchangeKind::Reboot, Some(&LEASE)),
            (ExchangeKind::Decline, Some(&LEASE)),
        ] {
            let expected = Endpoints {
                source_mac: MacAddress(MAC),
                destination_mac: MacAddress::BROADCAST,
                source: "0.0.0.0:68".parse().unwrap(),
                destination: "255.255.255.255:67".parse().unwrap(),
            };
            assert_eq!(direct.endpoints(kind, MAC, lease), expected, "{kind:?}");
        }
    }

    #[test]
    fn who_has_an_address_speaks_from_it_to_its_server_or_to_any() {
        let direct = learned();
        for kind in [ExchangeKind::Renewal, ExchangeKind::Release, ExchangeKind::Information] {
            let expected = Endpoints {
                source_mac: MacAddress(MAC),
                destination_mac: SERVER_MAC,
                source: "10.77.0.10:68".parse().unwrap(),
                destination: "10.77.0.1:67".parse().unwrap(),
            };
            assert_eq!(direct.endpoints(kind, MAC, Some(&LEASE)), expected, "{kind:?}");
        }
        let any = direct.endpoints(ExchangeKind::Rebinding, MAC, Some(&LEASE));
        assert_eq!(any.destination_mac, MacAddress::BROADCAST);
        assert_eq!(any.source, "10.77.0.10:68".parse().unwrap());
        assert_eq!(any.destination, "255.255.255.255:67".parse().unwrap());
    }

    #[test]
    fn a_server_is_where_its_last_answer_came_from_and_unknown_ones_are_everywhere() {
        let mut direct = learned();
        let mac_of = |direct: &DirectAddressing, server: Ipv4Addr| {
            let lease = OfferedAddress { server, ..LEASE };
            direct.endpoints(ExchangeKind::Renewal, MAC, Some(&lease)).destination_mac
        };
        let moved = MacAddress([2, 0, 0, 0, 0, 7]);
        direct.learn_server(&Dhcp4Reply::read(&answer_of(SERVER)).unwrap(), moved);
        assert_eq!(mac_of(&direct, SERVER), moved);
        for number in 0..100 {
            let server = Ipv4Addr::new(10, 78, 0, number);
            direct.learn_server(&Dhcp4Reply::read(&answer_of(server)).unwrap(), SERVER_MAC);
        }
        assert_eq!(mac_of(&direct, Ipv4Addr::new(10, 78, 0, 62)), SERVER_MAC);
        assert_eq!(mac_of(&direct, Ipv4Addr::new(10, 78, 0, 63)), MacAddress::BROADCAST);
    }

    #[test]
    fn the_own_stations_are_those_of_the_own_part() {
        let counted = personas(Vec::new());
        let direct = DirectAddressing::new([68, 67], &counted);
        for client in 0..7 {
            let is_own = client == 1 || client == 3;
            assert_eq!(direct.has(&counted, counted.mac(client)), is_own, "{client}");
        }
        assert!(!direct.has(&counted, [2, 0x0c, 1, 2, 3, 0xff]));
        let list: Vec<[u8; 6]> = [9, 7, 5, 8].map(|last| [2, 0, 0, 0, 0, last]).into();
        let listed = personas(list.clone());
        let direct = DirectAddressing::new([68, 67], &listed);
        let own: Vec<bool> = list.iter().map(|mac| direct.has(&listed, *mac)).collect();
        assert_eq!(own, [false, true, false, true]);
        assert!(!direct.has(&listed, counted.mac(1)));
    }
}
