//! Registry that opens and closes listeners to match a plan, starting from those that are open
//! already.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dhcp_engine::InterfaceNames;
use netio::filter::{self, BroadcastShare, Broadcasts, Unicast};
use netio::interface::Interface;
use netio::steer::{self, ExchangeStartTest, SteeringKey};
use netio::{NetError, PacketOptions, PacketSocket, UdpOptions, UdpSocket};

use super::plan::ListenerPlan;
use super::{
    InterfaceIdentity, ListenerEndpoint, ListenerSet, ListenerSocket, ListenerSocketKind,
    ShardListener,
};
use crate::service::v4::{CLIENT_OFFSET, RELAY_OFFSET};

/// Size of a listener socket's send buffer for replies, in bytes of kernel memory.
const SEND_BUFFER_BYTES: usize = 4 << 20;

/// Key that spreads clients over the sockets of a UDP port, and the test for messages that begin an
/// exchange.
pub(crate) type Steering = (SteeringKey<'static>, ExchangeStartTest);

/// Socket of a listener that also sends replies, and its express socket, which the shard reads
/// first.
type Pair = (ListenerSocket, Option<ListenerSocket>);

/// Options of the sockets of all listeners of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListenerSocketOptions {
    /// UDP port at which the server listens.
    pub(crate) port: u16,
    /// Number of the server's shards.
    pub(crate) shards: u16,
    /// Rule that spreads the messages of clients over the shards.
    pub(crate) steering: Steering,
    /// True if UDP sockets accept datagrams that the kernel has joined (`UDP_GRO`).
    pub(crate) coalesce: bool,
    /// Size of each socket's receive queue in bytes of kernel memory.
    pub(crate) receive_buffer_bytes: usize,
}

/// Result of opening the listeners of a plan.
#[derive(Debug, Default)]
pub(super) struct ListenerOpeningResult {
    /// Endpoints of listeners that were closed before and are open now.
    pub(super) opened: Vec<ListenerEndpoint>,
    /// Endpoints whose address the kernel does not let any socket use yet (duplicate address
    /// detection).
    pub(super) tentative: Vec<ListenerEndpoint>,
    /// Errors of the endpoints that could not be opened.
    pub(super) problems: Vec<NetError>,
}

/// Registry of the server's open listeners.
#[derive(Debug)]
pub(super) struct ListenerRegistry {
    sockets: ListenerSocketOptions,
    /// Open endpoints, each with the listeners of all shards.
    open: Vec<(ListenerEndpoint, Vec<Arc<ShardListener>>)>,
    next_id: u16,
}

impl ListenerRegistry {
    pub(super) const fn new(sockets: ListenerSocketOptions) -> Self {
        Self { sockets, open: Vec::new(), next_id: 0 }
    }

    /// Returns true if no open listener can send a reply. A listener at a multicast group's address
    /// cannot.
    pub(super) fn is_mute(&self) -> bool {
        self.open.iter().all(|(endpoint, _)| endpoint.kind == ListenerSocketKind::Group)
    }

    /// Removes the listeners that `plan` does not have and returns their endpoints. A listener
    /// closes when its shard drops its reference as well.
    pub(super) fn give_up(&mut self, plan: &ListenerPlan) -> Vec<ListenerEndpoint> {
        let (remaining, closed): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(endpoint, _)| plan.endpoints.contains(endpoint));
        self.open = remaining;
        closed.into_iter().map(|(endpoint, _)| endpoint).collect()
    }

    /// Opens the listeners of `plan` that are not open yet.
    pub(super) fn open(&mut self, plan: &ListenerPlan) -> ListenerOpeningResult {
        let mut opening = ListenerOpeningResult::default();
        for endpoint in &plan.endpoints {
            if self.open.iter().any(|(open_endpoint, _)| open_endpoint == endpoint) {
                continue;
            }
            match self.open_one(endpoint) {
                Ok(sockets) => {
                    let listeners = self.make_listeners(endpoint, sockets);
                    self.open.push((endpoint.clone(), listeners));
                    opening.opened.push(endpoint.clone());
                }
                Err(problem) if is_tentative(endpoint, &problem) => {
                    opening.tentative.push(endpoint.clone());
                }
                Err(problem) => opening.problems.push(problem),
            }
        }
        opening.problems.extend(self.share(plan));
        opening
    }

    fn open_one(&self, endpoint: &ListenerEndpoint) -> Result<Vec<Pair>, NetError> {
        let alone = |socket| (socket, None);
        Ok(match endpoint.kind {
            ListenerSocketKind::Packet => {
                let options = PacketOptions {
                    interface: endpoint.device.as_ref().map(|device| device.index),
                    port: self.sockets.port,
                    payload_offset: CLIENT_OFFSET,
                    receive_buffer_bytes: self.sockets.receive_buffer_bytes,
                    send_buffer_bytes: SEND_BUFFER_BYTES,
                };
                let shards = self.sockets.shards.into();
                let first = PacketSocket::open_group(&options, shards)?;
                let express = PacketSocket::open_silent_group(&options, shards)?;
                pairs(
                    first.into_iter().map(ListenerSocket::Packet),
                    express.into_iter().map(ListenerSocket::Packet),
                )
            }
            ListenerSocketKind::Udp => {
                let shards = self.sockets.shards.into();
                let mut sockets = self.open_udp(endpoint, 2 * shards)?;
                let express = sockets.split_off(shards);
                pairs(
                    sockets.into_iter().map(ListenerSocket::Udp),
                    express.into_iter().map(ListenerSocket::Udp),
                )
            }
            ListenerSocketKind::Group => {
                self.open_group(endpoint)?.into_iter().map(ListenerSocket::Udp).map(alone).collect()
            }
        })
    }

    /// Opens `count` UDP sockets at `endpoint`. With two sockets per shard, the express sockets,
    /// which shards read first, follow the others.
    fn open_udp(
        &self,
        endpoint: &ListenerEndpoint,
        count: usize,
    ) -> Result<Vec<UdpSocket>, NetError> {
        let mut options = UdpOptions::at(endpoint.socket_address(self.sockets.port));
        options.device = endpoint.device.as_ref().map(|device| device.name.clone());
        options.broadcast = endpoint.address.is_ipv4();
        options.packet_info = true;
        options.kernel_times = true;
        options.coalesce = self.sockets.coalesce;
        options.receive_buffer_bytes = Some(self.sockets.receive_buffer_bytes);
        options.send_buffer_bytes = Some(SEND_BUFFER_BYTES);
        let first = UdpSocket::open(&options)?;
        if count == 1 {
            return Ok(vec![first]);
        }
        first.share_port().map_err(NetError::on("share the port of", endpoint.to_string()))?;
        options.reuse_port = true;
        let others = (1..count).map(|_| UdpSocket::open(&options));
        let sockets: Vec<_> = [Ok(first)].into_iter().chain(others).collect::<Result<_, _>>()?;
        let shards = u32::from(self.sockets.shards);
        let (key, beginning) = self.sockets.steering;
        let beginning = (count > shards as usize).then_some(beginning);
        steer::spread(&sockets[0], key, shards, beginning)
            .map_err(NetError::on("steer clients to shards at", endpoint.to_string()))?;
        Ok(sockets)
    }

    /// Opens the UDP sockets of a multicast group's endpoint. Only one socket joins the group and
    /// reads for all shards, since every socket that joined would get a copy of each message.
    fn open_group(&self, endpoint: &ListenerEndpoint) -> Result<Vec<UdpSocket>, NetError> {
        let sockets = self.open_udp(endpoint, self.sockets.shards.into())?;
        if let (IpAddr::V6(group), Some(device)) = (endpoint.address, &endpoint.device) {
            sockets[0]
                .join_group(group, device.index)
                .map_err(NetError::on("join", format!("{group} on {}", device.name)))?;
        }
        Ok(sockets)
    }

    fn make_listeners(
        &mut self,
        endpoint: &ListenerEndpoint,
        sockets: Vec<Pair>,
    ) -> Vec<Arc<ShardListener>> {
        let of = u32::from(self.sockets.shards);
        (0..)
            .zip(sockets)
            .map(|(index, (socket, express))| {
                let (id, endpoint) = (self.free_id(), endpoint.clone());
                Arc::new(ShardListener { id, endpoint, socket, express, shard: (index, of) })
            })
            .collect()
    }

    /// Returns the next free number of a listener. After 65,536 listeners, numbers are reused,
    /// except those in use.
    fn free_id(&mut self) -> u16 {
        loop {
            let id = self.next_id;
            self.next_id = id.wrapping_add(1);
            if !self
                .open
                .iter()
                .flat_map(|(_, listeners)| listeners)
                .any(|listener| listener.id == id)
            {
                return id;
            }
        }
    }

    /// Divides messages between the listeners' packet sockets and UDP sockets by filters. Where
    /// there are packet sockets, they get broadcasts and unicast messages that a client, not a
    /// relay agent, sent to an own address. Each other broadcast goes to one shard. On a device
    /// where the kernel refuses a filter (ENOMEM, limited by `net.core.optmem_max`), UDP sockets
    /// keep all unicast messages. Returns the errors of refused filters.
    fn share(&self, plan: &ListenerPlan) -> Vec<NetError> {
        let mut problems = Vec::new();
        let mut shared: Vec<&Option<InterfaceIdentity>> = Vec::new();
        for (endpoint, _) in
            self.open.iter().filter(|(endpoint, _)| endpoint.kind == ListenerSocketKind::Packet)
        {
            // The kernel would deliver joined datagrams as one.
            let addresses =
                if self.sockets.coalesce { Vec::new() } else { plan.udp_addresses(endpoint) };
            let device = &endpoint.device;
            // Packet sockets accept unicast messages before UDP sockets leave them.
            let accepted = self.take_unicast(device, &addresses);
            let filtered =
                accepted.and_then(|()| self.filter_udp_sockets(device, Some(&addresses)));
            if let Err(problem) = filtered {
                problems.push(problem);
                // Filters without addresses are short. The loop covers all sockets of the device,
                // whichever refuse; a second error adds no information.
                self.filter_udp_sockets(device, Some(&[])).ok();
                self.take_unicast(device, &[]).ok();
            }
            shared.push(device);
        }
        for (endpoint, _) in &self.open {
            if !shared.contains(&&endpoint.device) {
                problems.extend(self.filter_udp_sockets(&endpoint.device, None).err());
                shared.push(&endpoint.device);
            }
        }
        problems
    }

    /// Makes the packet sockets of `device` accept unicast messages of clients to `addresses`.
    /// Returns the first error, after all sockets.
    fn take_unicast(
        &self,
        device: &Option<InterfaceIdentity>,
        addresses: &[Ipv4Addr],
    ) -> Result<(), NetError> {
        let unicast = Unicast { addresses, zero_offset: RELAY_OFFSET };
        let mut result = Ok(());
        for (endpoint, listeners) in
            self.open.iter().filter(|(endpoint, _)| endpoint.device == *device)
        {
            for listener in listeners {
                let Some(ListenerSocket::Packet(socket)) = &listener.express else { continue };
                let set = filter::set_unicast(socket, self.sockets.port, unicast);
                let set = set.map_err(NetError::on("filter", messages_at(endpoint)));
                result = result.and(set);
            }
        }
        result
    }

    /// Filters the UDP sockets of `device` for messages that its packet sockets get: with
    /// `addresses`, even empty ones, the UDP sockets leave broadcasts and clients' unicast messages
    /// to these addresses to the packet sockets. Returns the first error, after all sockets.
    fn filter_udp_sockets(
        &self,
        device: &Option<InterfaceIdentity>,
        addresses: Option<&[Ipv4Addr]>,
    ) -> Result<(), NetError> {
        let nonempty = addresses.filter(|addresses| !addresses.is_empty());
        let unicast = nonempty.map(|addresses| Unicast { addresses, zero_offset: RELAY_OFFSET });
        let of = u32::from(self.sockets.shards);
        let is_shared =
            |endpoint: &ListenerEndpoint| endpoint.address.is_ipv4() && endpoint.device == *device;
        let mut result = Ok(());
        for (endpoint, listeners) in self.open.iter().filter(|(endpoint, _)| is_shared(endpoint)) {
            for (index, listener) in (0..).zip(listeners) {
                // An express socket has an index that no such datagram has.
                for (socket, index) in
                    [(Some(&listener.socket), index), (listener.express.as_ref(), of)]
                {
                    let Some(ListenerSocket::Udp(socket)) = socket else { continue };
                    let share =
                        Some(BroadcastShare { payload_offset: CLIENT_OFFSET, index, count: of });
                    let leaves_limited_broadcasts = addresses.is_some();
                    let set = filter::set_broadcasts(
                        socket,
                        Broadcasts { leaves_limited_broadcasts, unicast_left: unicast, share },
                    );
                    let set = set.map_err(NetError::on("filter", messages_at(endpoint)));
                    result = result.and(set);
                }
            }
        }
        result
    }

    /// Returns true if an open listener reaches interface `index`.
    pub(super) fn reaches(&self, index: u32) -> bool {
        self.open.iter().any(|(endpoint, _)| endpoint.reaches(index))
    }

    /// Returns the set of all shards' listeners, with the data about interfaces that shards need.
    pub(super) fn listener_set(&self, plan: &ListenerPlan, machine: &[Interface]) -> ListenerSet {
        let of_shard = |shard: usize| {
            self.open.iter().map(|(_, listeners)| Arc::clone(&listeners[shard])).collect::<Vec<_>>()
        };
        let names = machine.iter().map(|interface| (interface.index, interface.name.as_str()));
        ListenerSet {
            shards: (0..usize::from(self.sockets.shards)).map(of_shard).collect(),
            names: Arc::new(InterfaceNames::new(names)),
            addresses: plan.addresses.clone(),
            is_routed: plan.is_routed,
        }
    }
}

fn pairs(
    first: impl Iterator<Item = ListenerSocket>,
    express: impl Iterator<Item = ListenerSocket>,
) -> Vec<Pair> {
    first.zip(express.map(Some)).collect()
}

fn messages_at(endpoint: &ListenerEndpoint) -> String {
    format!("the messages at {endpoint}")
}

/// Returns true if `problem` means that duplicate address detection has not ended (RFC 4862 §5.4):
/// the interface has the address (else the plan would not have it), but a socket cannot bind to it.
fn is_tentative(endpoint: &ListenerEndpoint, problem: &NetError) -> bool {
    endpoint.kind == ListenerSocketKind::Udp
        && endpoint.address.is_ipv6()
        && problem.cause().kind() == ErrorKind::AddrNotAvailable
}

#[cfg(test)]
mod tests;
