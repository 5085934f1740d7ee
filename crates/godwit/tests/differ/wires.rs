//! Links with clients on them: a veth pair for each sequence, whose one end is a daemon's.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Mutex;

use netio::{FrameReceiver, FrameSender, PollFd, interface, poll};
use packet_wire::ethernet::MacAddress;
use packet_wire::frame::{self, Endpoints};

use super::v4::{LAST_LINK, LAST_RELAY};
use super::value::Fields;
use crate::common::link::{ip, within};
use crate::common::namespaces::Namespaces;
use crate::common::{is_root, require, waited_until};
use crate::subjects::process::{Make, ServedLink};

/// Hardware address of the daemon's end of each link.
const SERVER_MAC: MacAddress = MacAddress([2, 0, 1, 0, 0, 1]);
/// Ends the hardware address of a client that asks for no lease, but for an answer.
const MARKER: u8 = 0xfe;
/// How long a thread waits for frames before it looks around.
const MOMENT_NS: u64 = 5_000_000;

/// The links of both daemons.
pub(super) struct BothWires {
    ours: Wires,
    theirs: Wires,
    _namespaces: Namespaces<4>,
}

/// The links of one daemon.
pub(super) struct Wires {
    namespace: String,
    interfaces: String,
    wires: Vec<Mutex<Wire>>,
}

/// The clients' end of a link.
struct Wire {
    receiver: FrameReceiver,
    sender: FrameSender,
    markers: u32,
}

impl BothWires {
    /// Makes `count` links for each daemon; `None`, said, where that is not possible.
    pub(super) fn new(count: usize) -> Option<Self> {
        if !require(&["ip"]) || !is_root() {
            return None;
        }
        let namespaces = Namespaces::<4>::make();
        let [ours, theirs] = [[0, 1], [2, 3]]
            .map(|[server, client]| Wires::new(count, &namespaces[server], &namespaces[client]));
        Some(Self { ours, theirs, _namespaces: namespaces })
    }

    pub(super) fn of(&self, make: Make) -> &Wires {
        if make.is_kea() { &self.theirs } else { &self.ours }
    }
}

impl Wires {
    fn new(count: usize, server: &str, client: &str) -> Self {
        ip(&format!("-n {server} link set lo up"));
        for index in 0..count {
            let pair = format!("link add s{index} address {SERVER_MAC} netns {server} type veth");
            ip(&format!("{pair} peer name c{index} netns {client}"));
            ip(&format!("-n {server} addr add 10.0.{index}.1/24 dev s{index}"));
            ip(&format!("-n {server} link set s{index} up"));
            ip(&format!("-n {client} link set c{index} up"));
            // The relay agent of those that ask for an answer is on each link.
            let metric = index + 1;
            ip(&format!("-n {server} route add {LAST_LINK} dev s{index} metric {metric}"));
            let relay = format!("{LAST_RELAY} lladdr 02:00:ff:00:00:fe dev s{index}");
            ip(&format!("-n {server} neigh add {relay} nud permanent"));
        }
        let open = |index| {
            let found = interface::named(&format!("c{index}")).expect("it was made");
            let receiver = FrameReceiver::open(&found).expect("root may");
            let sender = FrameSender::open(&found).expect("root may");
            Mutex::new(Wire { receiver, sender, markers: 0 })
        };
        let wires = within(client, || (0..count).map(open).collect());
        let names: Vec<String> = (0..count).map(|index| format!("\"s{index}\"")).collect();
        Self { namespace: server.to_owned(), interfaces: names.join(", "), wires }
    }

    /// Returns what the daemon has to serve.
    pub(super) fn served(&self) -> ServedLink<'_> {
        ServedLink { namespace: &self.namespace, interfaces: &self.interfaces }
    }

    /// Sends `message` on link `index`, to the server or to all; the replies, each with the way
    /// that it came.
    ///
    /// A relayed client asks for a server after it, twice and in the same way: its second answer is
    /// later than any reply to the message, which the server has taken before.
    ///
    /// # Errors
    /// That client has no answer.
    pub(super) fn exchange(
        &self,
        index: usize,
        is_unicast: bool,
        message: &[u8],
    ) -> Result<Vec<(Vec<u8>, Fields)>, String> {
        let wire = &mut *self.wires[index].lock().expect("nothing panics");
        let mut replies = Vec::new();
        wire.send(index, is_unicast, message);
        for _ in 0..2 {
            wire.markers += 1;
            let number = wire.markers;
            let xid = 0xff00_0000 | number;
            wire.send(index, is_unicast, &asking(xid));
            let mut is_answered = false;
            let has_come = waited_until(|| {
                for (reply, way) in wire.take() {
                    is_answered |= reply[4..8] == xid.to_be_bytes();
                    if reply[4] != 0xff {
                        replies.push((reply, way));
                    }
                }
                is_answered
            });
            if !has_come {
                return Err(format!("link {index}: nothing comes back"));
            }
        }
        Ok(replies)
    }
}

impl Wire {
    fn send(&mut self, index: usize, is_unicast: bool, message: &[u8]) {
        let [ciaddr, giaddr] = [12, 24].map(|at| {
            Ipv4Addr::from([message[at], message[at + 1], message[at + 2], message[at + 3]])
        });
        let from = if giaddr.is_unspecified() { (ciaddr, 68) } else { (giaddr, 67) };
        let mac: [u8; 6] = message[28..34].try_into().expect("six octets");
        let (to, destination_mac) = if is_unicast {
            (Ipv4Addr::new(10, 0, index as u8, 1), SERVER_MAC)
        } else {
            (Ipv4Addr::BROADCAST, MacAddress::BROADCAST)
        };
        let endpoints = Endpoints {
            source_mac: MacAddress(mac),
            destination_mac,
            source: SocketAddrV4::new(from.0, from.1),
            destination: SocketAddrV4::new(to, 67),
        };
        let slot = self.sender.slot().expect("all was sent");
        slot[frame::HEADROOM..frame::HEADROOM + message.len()].copy_from_slice(message);
        let len = frame::seal(slot, message.len(), &endpoints);
        self.sender.commit(len);
        while !self.sender.is_empty() {
            self.sender.flush();
        }
    }

    /// Takes the server's replies that have come, or come in the next moment.
    fn take(&mut self) -> Vec<(Vec<u8>, Fields)> {
        poll(&mut [PollFd::readable(&self.receiver)], Some(MOMENT_NS)).expect("it can be polled");
        let count = self.receiver.receive().expect("the interface is there");
        let frames = (0..count).filter_map(|at| self.receiver.frame(at));
        let opened = frames.filter_map(|received| frame::open(received.octets).ok());
        let replies = opened.filter(|(ends, payload)| {
            ends.source.port() == 67 && payload.len() > 240 && payload[0] == 2
        });
        replies.map(|(ends, payload)| (payload.to_vec(), way(&ends))).collect()
    }
}

/// Returns the way of a reply as fields.
fn way(ends: &Endpoints) -> Fields {
    BTreeMap::from([
        ("frame from".to_owned(), ends.source_mac.to_string()),
        ("frame to".to_owned(), ends.destination_mac.to_string()),
        ("sent from".to_owned(), ends.source.to_string()),
        ("sent to".to_owned(), ends.destination.to_string()),
    ])
}

/// Returns a DISCOVER by way of the relay agent of the link that every configuration has.
fn asking(xid: u32) -> Vec<u8> {
    let mut message = vec![0; 236];
    message[..4].copy_from_slice(&[1, 1, 6, 1]);
    message[4..8].copy_from_slice(&xid.to_be_bytes());
    message[24..28].copy_from_slice(&LAST_RELAY.octets());
    message[28..34].copy_from_slice(&[2, 0, 0xff, 0, 0, MARKER]);
    message.extend([0x63, 0x82, 0x53, 0x63, 53, 1, 1, 255]);
    message.resize(300, 0);
    message
}
