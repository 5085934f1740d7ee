//! Routes of delegated prefixes in the kernel's main table, by `rtnetlink(7)`.

use std::io;
use std::net::Ipv6Addr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr};

use super::{DelegatedPrefix, NextHop};

/// Number of the routing protocol of Godwit's routes, by which they are told from all others.
const PROTOCOL: RouteProtocol = RouteProtocol::Other(147);
/// Metric of Godwit's routes: a route of the administrator without a metric has 1024 and wins.
const METRIC: u32 = 1_030;

/// Route of a delegated prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelRoute {
    pub(super) prefix: DelegatedPrefix,
    pub(super) next_hop: NextHop,
}

/// Routing table of the network namespace in which it was opened.
pub(super) struct RouteTable {
    socket: Socket,
    sequence: u32,
}

impl RouteTable {
    /// Opens the table.
    ///
    /// # Errors
    ///
    /// The system has no descriptor left.
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(netlink_sys::protocols::NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Adds `route`, or changes the next hop of the one that its prefix has.
    ///
    /// # Errors
    ///
    /// The process lacks the capability `CAP_NET_ADMIN`, or the next hop is not on a link.
    pub(super) fn put(&mut self, route: &KernelRoute) -> io::Result<()> {
        let mut message = message_for(&route.prefix);
        message
            .attributes
            .push(RouteAttribute::Gateway(RouteAddress::Inet6(route.next_hop.address)));
        if route.next_hop.interface != 0 {
            message.attributes.push(RouteAttribute::Oif(route.next_hop.interface));
        }
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        self.request(RouteNetlinkMessage::NewRoute(message), flags, |_| {})
    }

    /// Removes the route of `prefix`, if it has one.
    ///
    /// # Errors
    ///
    /// The process lacks the capability `CAP_NET_ADMIN`.
    pub(super) fn remove(&mut self, prefix: &DelegatedPrefix) -> io::Result<()> {
        let request = RouteNetlinkMessage::DelRoute(message_for(prefix));
        match self.request(request, NLM_F_ACK, |_| {}) {
            // ESRCH: the kernel removes routes with their interface, and so may the administrator.
            Err(error) if error.raw_os_error() == Some(3) => Ok(()),
            result => result,
        }
    }

    /// Returns Godwit's routes.
    ///
    /// # Errors
    ///
    /// The kernel does not answer.
    pub(super) fn list(&mut self) -> io::Result<Vec<KernelRoute>> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet6;
        let mut routes = Vec::new();
        self.request(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP, |message| {
            routes.extend(own_route(&message));
        })?;
        Ok(routes)
    }

    /// Sends `request`, and calls `take` with each route of the answer, up to its end.
    fn request(
        &mut self,
        request: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut octets = vec![0; message.buffer_len()];
        message.serialize(&mut octets);
        self.socket.send(&octets, 0)?;
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(io::Error::other)?;
                let length = (answer.header.length as usize).next_multiple_of(4).max(4);
                rest = rest.get(length..).unwrap_or_default();
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                match answer.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => {
                        return error.code.map_or(Ok(()), |_| Err(error.to_io()));
                    }
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => {
                        take(route);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Returns the message about Godwit's route of `prefix`, without its next hop.
fn message_for(prefix: &DelegatedPrefix) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet6;
    message.header.destination_prefix_length = prefix.len;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = PROTOCOL;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet6(prefix.address)));
    message.attributes.push(RouteAttribute::Priority(METRIC));
    message
}

/// Returns the route in `message` if it is one of Godwit's.
fn own_route(message: &RouteMessage) -> Option<KernelRoute> {
    let header = &message.header;
    if header.protocol != PROTOCOL || header.table != RouteHeader::RT_TABLE_MAIN {
        return None;
    }
    let (mut destination, mut gateway, mut interface) = (Ipv6Addr::UNSPECIFIED, None, 0);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(RouteAddress::Inet6(address)) => destination = *address,
            RouteAttribute::Gateway(RouteAddress::Inet6(address)) => gateway = Some(*address),
            RouteAttribute::Oif(index) => interface = *index,
            _ => {}
        }
    }
    let prefix = DelegatedPrefix { address: destination, len: header.destination_prefix_length };
    Some(KernelRoute { prefix, next_hop: NextHop { address: gateway?, interface } })
}
