//! Links of DHCPv6: sockets of clients at their link-local addresses, and of relay agents.

use std::net::{IpAddr, Ipv6Addr, SocketAddrV6, UdpSocket};

use netio::{PollFd, interface, poll};
use serde_json::{Value, json};

use super::super::choices::CLIENTS;
use super::super::protocol::DifferProtocol;
use super::super::v6::{LAST_RELAY_LINK, V6, global_relay, link_local};
use super::super::value::Fields;
use super::MOMENT_NS;
use crate::common::link::ip;

/// Multicast address of all servers and relay agents (RFC 9915 §7.1).
const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// Ports of clients, and of servers and relay agents.
const PORTS: [u16; 2] = [546, 547];
/// Link-local address of the relay agents of a link.
const RELAY: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xff);
/// First bits of the transaction identifiers of markers.
const MARKER_XID: u32 = 0xff_0000;
/// Maximum length of a reply in bytes.
const REPLY_LEN_MAX: usize = 65_536;

/// Clients' end of a link.
pub(super) struct Dhcp6LinkEnd {
    scope: u32,
    /// Sockets of the clients, of the relay agents at their link-local address, and of those at a
    /// global one.
    sockets: Vec<(String, UdpSocket)>,
}

/// Makes link `index` between two namespaces.
pub(super) fn join(index: usize, server: &str, client: &str) {
    ip(&format!("link add s{index} netns {server} type veth peer name c{index} netns {client}"));
    for (namespace, end) in [(server, "s"), (client, "c")] {
        ip(&format!("-n {namespace} link set {end}{index} addrgenmode none"));
        ip(&format!("-n {namespace} link set {end}{index} up"));
    }
    ip(&format!("-n {server} addr add fe80::1/64 dev s{index} nodad"));
    ip(&format!("-n {server} route add {}/64 dev s{index}", global_relay(index)));
    let addresses = (1..=CLIENTS).map(|number| link_local(index, number));
    for address in addresses.chain([RELAY, global_relay(index)]) {
        ip(&format!("-n {client} addr add {address}/64 dev c{index} nodad"));
    }
}

impl Dhcp6LinkEnd {
    /// Opens the clients' end of link `index`, within their namespace.
    pub(super) fn open(index: usize) -> Self {
        let scope = interface::named(&format!("c{index}")).expect("it was made").index;
        let open = |(name, address, port): (String, Ipv6Addr, u16)| {
            let socket = UdpSocket::bind(SocketAddrV6::new(address, port, 0, scope));
            let socket = socket.unwrap_or_else(|error| panic!("{name} {address}: {error}"));
            socket.set_nonblocking(true).expect("it is open");
            (name, socket)
        };
        let clients = (1..=CLIENTS)
            .map(|number| (format!("client {number}"), link_local(index, number), PORTS[0]));
        let relays = [
            ("relay agent".to_owned(), RELAY, PORTS[1]),
            ("global relay agent".to_owned(), global_relay(index), PORTS[1]),
        ];
        Self { scope, sockets: clients.chain(relays).map(open).collect() }
    }

    /// Returns the socket that sends the message of `step`.
    fn socket(&self, step: &Value, is_relayed: bool) -> &UdpSocket {
        let clients = CLIENTS as usize;
        let number = match (is_relayed, step["global"] == true) {
            (true, true) => clients + 1,
            (true, false) => clients,
            (false, _) => step["client"].as_u64().unwrap_or(1).clamp(1, CLIENTS) as usize - 1,
        };
        &self.sockets[number].1
    }
}

impl super::ClientLinkEnd for Dhcp6LinkEnd {
    fn send(&mut self, step: &Value, message: &[u8]) {
        let is_relayed = message.first() == Some(&12);
        let to = SocketAddrV6::new(SERVERS, PORTS[1], 0, self.scope);
        self.socket(step, is_relayed).send_to(message, to).expect("the link is up");
    }

    fn take(&mut self) -> Vec<(Vec<u8>, Fields)> {
        let mut readable: Vec<PollFd<'_>> =
            self.sockets.iter().map(|(_, socket)| PollFd::readable(socket)).collect();
        poll(&mut readable, Some(MOMENT_NS)).expect("they can be polled");
        drop(readable);
        let mut replies = Vec::new();
        let mut buffer = vec![0; REPLY_LEN_MAX];
        for (name, socket) in &self.sockets {
            while let Ok((len, from)) = socket.recv_from(&mut buffer) {
                let address = match from.ip() {
                    IpAddr::V6(address) => address.to_string(),
                    IpAddr::V4(address) => address.to_string(),
                };
                let addressing = Fields::from([
                    ("sent from".to_owned(), format!("{address} {}", from.port())),
                    ("sent to".to_owned(), name.clone()),
                ]);
                replies.push((buffer[..len].to_vec(), addressing));
            }
        }
        replies
    }

    fn marker(&self, number: u32) -> Vec<u8> {
        let relay = json!([{ "link": LAST_RELAY_LINK }]);
        let learned = [("duid", vec![0, 3, 0, 1, 2, 0, 0xff, 0xff, 0, 2])].into();
        let step = json!({ "type": 1, "ias": [{ "kind": "na", "iaid": 1 }] });
        V6.message(&step, &relay, MARKER_XID | (number & !MARKER_XID), &learned)
    }

    fn marker_of(&self, reply: &[u8]) -> Option<u32> {
        let xid = V6.xid(reply)?;
        (xid & MARKER_XID == MARKER_XID).then_some(xid & !MARKER_XID)
    }
}
