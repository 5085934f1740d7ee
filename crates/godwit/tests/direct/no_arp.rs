//! Tests of clients that answer no ARP: replies go to the hardware address that the request came
//! from, whatever its other addresses were (Kea's raw sockets do the same).

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};

use netio::{FrameReceiver, FrameSender, PollFd, interface, poll};
use packet_wire::ethernet::MacAddress;
use packet_wire::frame::{self, Endpoints};

use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::{ServerProcess, TempFolder, figure, waited_until};

use super::bare_link;

const NOWHERE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const EVERYONE: Ipv4Addr = Ipv4Addr::BROADCAST;
const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SECOND: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Address of a relay agent on the link.
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 9);
const GROUP: MacAddress = MacAddress([1, 0, 0x5e, 0, 0, 1]);

const DISCOVER: u8 = 1;
const REQUEST: u8 = 3;
const DECLINE: u8 = 4;
const RELEASE: u8 = 7;
const INFORM: u8 = 8;

/// Message of a client, and the way in which it is sent.
#[derive(Clone, Copy, Debug)]
struct NoArpCase {
    number: u16,
    kind: u8,
    /// Destination address of the frame.
    mac: MacAddress,
    /// True if the IP packet comes from the client's own address.
    has_source: bool,
    to: Ipv4Addr,
    /// True if the message has the client's own address.
    has_ciaddr: bool,
    giaddr: Ipv4Addr,
}

impl NoArpCase {
    /// Returns every combination for the server at hardware address `server`.
    fn all(server: MacAddress) -> Vec<Self> {
        let mut all = Vec::new();
        for kind in [DISCOVER, REQUEST, INFORM, RELEASE, DECLINE] {
            for mac in [server, MacAddress::BROADCAST, GROUP] {
                for to in [OURS, SECOND, EVERYONE] {
                    for giaddr in [NOWHERE, RELAY] {
                        for has_source in [false, true] {
                            for has_ciaddr in [false, true] {
                                let number = all.len() as u16;
                                let same =
                                    Self { number, kind, mac, to, giaddr, has_source, has_ciaddr };
                                all.push(same);
                            }
                        }
                    }
                }
            }
        }
        all.retain(Self::is_sensible);
        all
    }

    /// Returns true if RFC 2131 table 5 has such messages and their replies come to the clients'
    /// end of the link.
    fn is_sensible(&self) -> bool {
        match self.kind {
            DISCOVER | DECLINE => !self.has_ciaddr,
            RELEASE => self.has_ciaddr,
            INFORM => self.has_ciaddr,
            _ => true,
        }
    }

    fn client(&self) -> MacAddress {
        let [high, low] = self.number.to_be_bytes();
        MacAddress([2, 0, 0, 7, high, low])
    }

    /// Returns the address reserved for the client.
    fn address(&self) -> Ipv4Addr {
        let [high, low] = self.number.to_be_bytes();
        Ipv4Addr::new(10, 77, 100 + high, low)
    }

    /// Returns the hardware address of the sender: relay agents send their clients' messages in
    /// frames of their own.
    fn station(&self) -> MacAddress {
        if self.giaddr.is_unspecified() { self.client() } else { MacAddress([2, 0, 0, 9, 9, 9]) }
    }

    fn message(&self) -> Vec<u8> {
        let mut message = vec![0; 236];
        message[..4].copy_from_slice(&[1, 1, 6, 0]);
        message[4..8].copy_from_slice(&(0x7700_0000 + u32::from(self.number)).to_be_bytes());
        if self.has_ciaddr {
            message[12..16].copy_from_slice(&self.address().octets());
        }
        message[24..28].copy_from_slice(&self.giaddr.octets());
        message[28..34].copy_from_slice(&self.client().0);
        message.extend([99, 130, 83, 99, 53, 1, self.kind]);
        if matches!(self.kind, REQUEST | DECLINE) && !self.has_ciaddr {
            message.extend([50, 4]);
            message.extend(self.address().octets());
        }
        if matches!(self.kind, RELEASE | DECLINE) || self.kind == REQUEST && !self.has_ciaddr {
            message.extend([54, 4]);
            message.extend(if self.to == SECOND { SECOND } else { OURS }.octets());
        }
        message.push(255);
        message
    }

    fn source(&self) -> SocketAddrV4 {
        match (self.has_source, self.giaddr.is_unspecified()) {
            (false, _) => SocketAddrV4::new(NOWHERE, 68),
            (true, true) => SocketAddrV4::new(self.address(), 68),
            (true, false) => SocketAddrV4::new(RELAY, 67),
        }
    }

    /// Returns the destination of the reply: hardware address and address; `None` without a reply.
    fn answered_at(&self) -> Option<(MacAddress, SocketAddrV4)> {
        let to_client = |address| (self.station(), SocketAddrV4::new(address, 68));
        match self.kind {
            RELEASE | DECLINE => None,
            // The reply bypasses the relay agent, by UDP: the client's hardware address is not the
            // frame's.
            INFORM => Some((self.client(), SocketAddrV4::new(self.address(), 68))),
            _ if !self.giaddr.is_unspecified() => {
                Some((self.station(), SocketAddrV4::new(RELAY, 67)))
            }
            _ => Some(to_client(self.address())),
        }
    }
}

/// Clients' end of the link, which answers no ARP.
struct NoArpClients {
    receiver: FrameReceiver,
    sender: FrameSender,
}

impl NoArpClients {
    fn at(link: &LinkNamespaces) -> Self {
        link.opened_at_client(|| {
            let found = interface::named(CLIENT_END).unwrap();
            Self {
                receiver: FrameReceiver::open(&found).unwrap(),
                sender: FrameSender::open(&found).unwrap(),
            }
        })
    }

    fn send(&mut self, case: &NoArpCase) {
        let endpoints = Endpoints {
            source_mac: case.station(),
            destination_mac: case.mac,
            source: case.source(),
            destination: SocketAddrV4::new(case.to, 67),
        };
        let message = case.message();
        let slot = self.sender.slot().unwrap();
        slot[frame::HEADROOM..frame::HEADROOM + message.len()].copy_from_slice(&message);
        let len = frame::seal(slot, message.len(), &endpoints);
        self.sender.commit(len);
        while !self.sender.is_empty() {
            self.sender.flush();
        }
    }

    /// Adds the replies that the server sends within 5 ms: the number of the client, the source,
    /// the destination.
    fn collect(&mut self, answers: &mut Vec<(u16, Ipv4Addr, (MacAddress, SocketAddrV4))>) {
        poll(&mut [PollFd::readable(&self.receiver)], Some(5_000_000)).unwrap();
        for index in 0..self.receiver.receive().unwrap() {
            let octets = self.receiver.frame(index).unwrap().octets;
            let Ok((from, payload)) = frame::open(octets) else { continue };
            if from.source.port() == 67 && payload.len() > 240 && payload[0] == 2 {
                let number = u16::from_be_bytes([payload[6], payload[7]]);
                let to = (from.destination_mac, from.destination);
                answers.push((number, *from.source.ip(), to));
            }
        }
    }
}

/// Starts a server with `terms` as its own settings and an address reserved for the client of each
/// case.
fn server(
    link: &LinkNamespaces,
    folder: &TempFolder,
    terms: &str,
    cases: &[NoArpCase],
) -> ServerProcess {
    let reserve = |case: &NoArpCase| {
        let mac: Vec<String> = case.client().0.iter().map(|octet| format!("{octet:02x}")).collect();
        format!(r#"{{ "hw-address": "{}", "ip-address": "{}" }}"#, mac.join(":"), case.address())
    };
    let reservations: Vec<String> = cases.iter().map(reserve).collect();
    let path = folder.path().join("dhcp4.conf");
    let text = format!(
        r#"{{ "Dhcp4": {{
            "interfaces-config": {{ "interfaces": [ "{SERVER_END}" ] }},
            "lease-database": {{ "type": "memfile", "name": "{}/leases.csv", "lfc-interval": 0 }},
            "valid-lifetime": 3600,
            "user-context": {{ "godwit": {{ {terms} }} }},
            "subnet4": [ {{ "id": 1, "subnet": "10.77.0.0/16",
                            "reservations": [ {} ] }} ] }} }}"#,
        folder.path().display(),
        reservations.join(", ")
    );
    fs::write(&path, text).unwrap();
    ServerProcess::start_on_standard_ports(link.at_server(), "dhcp4", &path, folder.path())
}

#[test]
fn a_client_that_answers_no_arp_is_answered_once_however_it_asks() {
    let Some(link) = bare_link() else { return };
    link.ip_at_server(&format!("addr add {SECOND}/16 dev {SERVER_END}"));
    // The relay agent's address is known: UDP answers its messages to the server's address.
    link.ip_at_server(&format!(
        "neigh add {RELAY} lladdr 02:00:00:09:09:09 dev {SERVER_END} nud permanent"
    ));
    let mac = link.opened_at_server(|| interface::named(SERVER_END).unwrap().mac.unwrap());
    let cases = NoArpCase::all(MacAddress(mac));
    for case in cases.iter().filter(|case| case.kind == INFORM && case.giaddr == RELAY) {
        let (address, client) = (case.address(), case.client());
        link.ip_at_server(&format!(
            "neigh add {address} lladdr {client} dev {SERVER_END} nud permanent"
        ));
    }
    for shards in [1, 3] {
        let folder = TempFolder::new("direct-no-arp");
        let server = server(&link, &folder, &format!(r#""shards": {shards}"#), &cases);
        let mut clients = NoArpClients::at(&link);
        let mut answers = Vec::new();
        for case in &cases {
            clients.send(case);
            clients.collect(&mut answers);
        }
        let expected = |case: &&NoArpCase| case.answered_at().is_some();
        let count = cases.iter().filter(expected).count();
        waited_until(|| {
            clients.collect(&mut answers);
            answers.len() >= count
        });
        // The last ones have no answers.
        server.wait_until_all_is_read();
        let log = server.stop();
        clients.collect(&mut answers);
        for case in &cases {
            let own: Vec<_> =
                answers.iter().filter(|(number, ..)| *number == case.number).collect();
            let from = if case.to == SECOND { SECOND } else { OURS };
            let expected: Vec<_> =
                case.answered_at().map(|to| (case.number, from, to)).into_iter().collect();
            assert_eq!(own, expected.iter().collect::<Vec<_>>(), "{case:?}: {log}");
        }
        for (name, kind) in [
            ("DHCPDISCOVER", DISCOVER),
            ("DHCPREQUEST", REQUEST),
            ("DHCPINFORM", INFORM),
            ("DHCPRELEASE", RELEASE),
            ("DHCPDECLINE", DECLINE),
        ] {
            let sent = cases.iter().filter(|case| case.kind == kind).count();
            assert_eq!(figure(&log, name), sent, "{name}: {log}");
        }
    }
}

#[test]
fn a_renewal_is_answered_before_the_broadcasts_that_came_before_it() {
    let Some(link) = bare_link() else { return };
    let mac = link.opened_at_server(|| interface::named(SERVER_END).unwrap().mac.unwrap());
    let discover = |number| NoArpCase {
        number,
        kind: DISCOVER,
        mac: MacAddress::BROADCAST,
        has_source: false,
        to: EVERYONE,
        has_ciaddr: false,
        giaddr: NOWHERE,
    };
    let mut cases: Vec<_> = (0..200).map(discover).collect();
    let renewal = NoArpCase {
        number: 200,
        kind: REQUEST,
        mac: MacAddress(mac),
        has_source: true,
        to: OURS,
        has_ciaddr: true,
        giaddr: NOWHERE,
    };
    cases.push(renewal);
    let folder = TempFolder::new("direct-renewal-first");
    // Only the queues of one shard decide the order of the replies.
    let server = server(&link, &folder, r#""durability": "none", "shards": 1"#, &cases);
    let mut clients = NoArpClients::at(&link);
    server.signal("STOP");
    let stat = format!("/proc/{}/stat", server.pid());
    let is_stopped = || fs::read_to_string(&stat).is_ok_and(|text| text.contains(") T "));
    assert!(waited_until(is_stopped), "SIGSTOP stops it");
    cases.iter().for_each(|case| clients.send(case));
    server.signal("CONT");
    let mut answers = Vec::new();
    waited_until(|| {
        clients.collect(&mut answers);
        answers.len() >= cases.len()
    });
    let log = server.stop();
    assert_eq!(answers.len(), cases.len(), "{log}");
    let at = answers.iter().position(|(number, ..)| *number == renewal.number);
    // The server may have been stopped between the reads of its two sockets, each of up to 64
    // messages.
    assert!(at.is_some_and(|at| at <= 64), "{at:?}: {log}");
}
