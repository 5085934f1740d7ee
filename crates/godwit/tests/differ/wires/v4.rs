//! Links of DHCPv4: frames, as clients without an address send and receive them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use netio::{FrameReceiver, FrameSender, PollFd, interface, poll};
use packet_wire::ethernet::MacAddress;
use packet_wire::frame::{self, Endpoints};
use serde_json::Value;

use super::super::v4::{LAST_LINK, LAST_RELAY};
use super::super::value::Fields;
use super::MOMENT_NS;
use crate::common::link::ip;

/// Hardware address of the server's end of each link.
const SERVER_MAC: MacAddress = MacAddress([2, 0, 1, 0, 0, 1]);
/// Last byte of the hardware address of a client that requests a reply but no lease.
const MARKER: u8 = 0xfe;
/// First bits of the transaction identifiers of such a client.
const MARKER_XID: u32 = 0xff00_0000;

/// Clients' end of a link.
pub(super) struct Dhcp4LinkEnd {
    index: usize,
    receiver: FrameReceiver,
    sender: FrameSender,
}

/// Makes link `index` between two namespaces.
pub(super) fn join(index: usize, server: &str, client: &str) {
    let pair = format!("link add s{index} address {SERVER_MAC} netns {server} type veth");
    ip(&format!("{pair} peer name c{index} netns {client}"));
    ip(&format!("-n {server} addr add 10.0.{index}.1/24 dev s{index}"));
    ip(&format!("-n {server} link set s{index} up"));
    ip(&format!("-n {client} link set c{index} up"));
    // The relay agent of the markers is on each link.
    let metric = index + 1;
    ip(&format!("-n {server} route add {LAST_LINK} dev s{index} metric {metric}"));
    let relay = format!("{LAST_RELAY} lladdr 02:00:ff:00:00:fe dev s{index}");
    ip(&format!("-n {server} neigh add {relay} nud permanent"));
}

impl Dhcp4LinkEnd {
    /// Opens the clients' end of link `index`, within their namespace.
    pub(super) fn open(index: usize) -> Self {
        let found = interface::named(&format!("c{index}")).expect("it was made");
        let receiver = FrameReceiver::open(&found).expect("root may");
        let sender = FrameSender::open(&found).expect("root may");
        Self { index, receiver, sender }
    }
}

impl super::ClientLinkEnd for Dhcp4LinkEnd {
    fn send(&mut self, step: &Value, message: &[u8]) {
        let [ciaddr, giaddr] = [12, 24].map(|at| {
            Ipv4Addr::from([message[at], message[at + 1], message[at + 2], message[at + 3]])
        });
        let from = if giaddr.is_unspecified() { (ciaddr, 68) } else { (giaddr, 67) };
        let mac: [u8; 6] = message[28..34].try_into().expect("six octets");
        let (to, destination_mac) = if step["unicast"] == true {
            (Ipv4Addr::new(10, 0, self.index as u8, 1), SERVER_MAC)
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

    fn take(&mut self) -> Vec<(Vec<u8>, Fields)> {
        poll(&mut [PollFd::readable(&self.receiver)], Some(MOMENT_NS)).expect("it can be polled");
        let count = self.receiver.receive().expect("the interface is there");
        let frames = (0..count).filter_map(|at| self.receiver.frame(at));
        let opened = frames.filter_map(|received| frame::open(received.octets).ok());
        let replies = opened.filter(|(ends, payload)| {
            ends.source.port() == 67 && payload.len() > 240 && payload[0] == 2
        });
        replies.map(|(ends, payload)| (payload.to_vec(), addressing(&ends))).collect()
    }

    fn marker(&self, number: u32) -> Vec<u8> {
        asking(MARKER_XID | number)
    }

    fn marker_of(&self, reply: &[u8]) -> Option<u32> {
        let xid = u32::from_be_bytes(reply.get(4..8)?.try_into().ok()?);
        (xid & MARKER_XID == MARKER_XID).then_some(xid & !MARKER_XID)
    }
}

/// Returns the addresses and ports of a reply's frame as fields.
fn addressing(ends: &Endpoints) -> Fields {
    BTreeMap::from([
        ("frame from".to_owned(), ends.source_mac.to_string()),
        ("frame to".to_owned(), ends.destination_mac.to_string()),
        ("sent from".to_owned(), ends.source.to_string()),
        ("sent to".to_owned(), ends.destination.to_string()),
    ])
}

/// Returns a DISCOVER through the relay agent of the link that every configuration has.
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
