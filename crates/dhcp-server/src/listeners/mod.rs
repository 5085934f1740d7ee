//! Listeners of the shards, which receive messages and send replies. A listener has the sockets of
//! one shard at one endpoint. `plan` decides which listeners are needed, `registry` opens and
//! closes them while shards run, `manager` decides when to check again, and `receive_queue` limits
//! the queue of one socket.

mod manager;
mod plan;
mod receive_queue;
mod registry;
mod settings;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use dhcp_config::{Dhcp4, Dhcp6};
use dhcp_engine::InterfaceNames;
use netio::{PacketSocket, UdpSocket, interface};

use crate::ServerError;

pub(crate) use manager::ListenerManager;
pub(crate) use receive_queue::{BURST_BYTES, STANDING_BYTES, SocketQueueState, SocketReadResult};
pub(crate) use registry::{ListenerSocketOptions, Steering};
pub(crate) use settings::ListenerSettings;

/// Returns one sentence for each interface or address that a DHCPv4 server's `interfaces-config`
/// names and this machine lacks. A running server waits for them.
///
/// # Errors
///
/// The interfaces cannot be listed.
pub fn missing_dhcp4(config: &Dhcp4) -> Result<Vec<String>, ServerError> {
    missing(&ListenerSettings::v4(&config.interfaces))
}

/// Returns one sentence for each interface or address that a DHCPv6 server's `interfaces-config`
/// names and this machine lacks. A running server waits for them.
///
/// # Errors
///
/// The interfaces cannot be listed.
pub fn missing_dhcp6(config: &Dhcp6) -> Result<Vec<String>, ServerError> {
    missing(&ListenerSettings::v6(&config.interfaces))
}

fn missing(settings: &ListenerSettings) -> Result<Vec<String>, ServerError> {
    let mut missing = plan::plan(settings, &list()?).missing;
    if settings.is_empty() {
        let empty = "`interfaces` in `interfaces-config` is empty: the server receives no \
                     messages; name an interface or \"*\"";
        missing.push(empty.to_owned());
    }
    if settings.require_all && !missing.is_empty() {
        let key =
            "`service-sockets-require-all` is set: the server would not start on this machine";
        missing.push(key.to_owned());
    }
    Ok(missing)
}

fn list() -> Result<Vec<interface::Interface>, ServerError> {
    interface::list().map_err(|cause| ServerError::System { tried: "list interfaces", cause })
}

/// Socket of a shard's listener.
#[derive(Debug)]
pub(crate) enum ListenerSocket {
    /// UDP socket, for clients that have an address, and for relay agents.
    Udp(UdpSocket),
    /// Packet socket, for clients on the link.
    Packet(PacketSocket),
}

impl ListenerSocket {
    /// Sets the size of the socket's receive queue in bytes of kernel memory. If the kernel allows
    /// less, it sets the most that it allows.
    pub(crate) fn set_receive_buffer(&self, bytes: usize) {
        match self {
            Self::Udp(socket) => socket.set_receive_buffer(bytes).ok(),
            Self::Packet(socket) => socket.set_receive_buffer(bytes).ok(),
        };
    }

    /// Returns the bytes of kernel memory that messages waiting at the socket use, and the number
    /// of messages that found no room since the socket was opened.
    pub(crate) fn queue(&self) -> Option<(usize, u32)> {
        match self {
            Self::Udp(socket) => Some((socket.receive_queued_bytes().ok()?, socket.drops().ok()?)),
            Self::Packet(socket) => {
                Some((socket.receive_queued_bytes().ok()?, socket.drops().ok()?))
            }
        }
    }
}

impl AsFd for ListenerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Packet(socket) => socket.as_fd(),
        }
    }
}

/// Kinds of [`ListenerSocket`], in the order in which they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerSocketKind {
    /// Packet socket, [`ListenerSocket::Packet`].
    Packet,
    /// UDP socket ([`ListenerSocket::Udp`]) at one of the server's addresses, or at all.
    Udp,
    /// UDP socket ([`ListenerSocket::Udp`]) at a multicast group's address, which its first shard
    /// has joined.
    Group,
}

/// Identity of one interface during its existence: another interface of the same name has another
/// index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceIdentity {
    pub(crate) name: String,
    pub(crate) index: u32,
}

/// Endpoint of listeners: their interface and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenerEndpoint {
    pub(crate) kind: ListenerSocketKind,
    /// Interface of the listener; `None` for all interfaces.
    pub(crate) device: Option<InterfaceIdentity>,
    /// Address of the listener; unspecified for all addresses.
    pub(crate) address: IpAddr,
}

impl ListenerEndpoint {
    /// Returns the address to bind the listener's socket to, with `port`. A link-local address has
    /// the interface's index as its scope.
    pub(crate) fn socket_address(&self, port: u16) -> SocketAddr {
        match self.address {
            IpAddr::V4(address) => (address, port).into(),
            IpAddr::V6(address) => {
                let is_of_link = address.is_unicast_link_local() || address.is_multicast();
                let device = if is_of_link { self.device.as_ref() } else { None };
                SocketAddrV6::new(address, port, 0, device.map_or(0, |device| device.index)).into()
            }
        }
    }

    /// Returns true if messages from this listener can leave through interface `index`.
    pub(crate) fn reaches(&self, index: u32) -> bool {
        self.device.as_ref().is_none_or(|device| device.index == index)
    }
}

impl fmt::Display for ListenerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => f.write_str(&device.name)?,
            None => f.write_str("all interfaces")?,
        }
        match self.kind {
            ListenerSocketKind::Packet => f.write_str(" for clients on the link"),
            ListenerSocketKind::Udp if self.address.is_unspecified() => Ok(()),
            ListenerSocketKind::Udp | ListenerSocketKind::Group => write!(f, ", {}", self.address),
        }
    }
}

/// Listener of one shard: its sockets at one endpoint.
#[derive(Debug)]
pub(crate) struct ShardListener {
    /// Number of the listener, different from those of all other open listeners and of listeners
    /// that a pending reply may still name.
    pub(crate) id: u16,
    pub(crate) endpoint: ListenerEndpoint,
    pub(crate) socket: ListenerSocket,
    /// Receiving socket for messages that continue an exchange (such as DHCPREQUEST) or, at a
    /// packet listener, for messages to the server's addresses, most of which are renewals. The
    /// shard reads it first, so that under overload it ends exchanges before it begins others.
    pub(crate) express: Option<ListenerSocket>,
    /// Number of the listener's shard, and the count of shards.
    pub(crate) shard: (u32, u32),
}

/// Role of a socket in its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerSocketRole {
    /// First socket of the listener, [`ShardListener::socket`].
    First,
    /// Express socket of the listener, which the shard reads first ([`ShardListener::express`]).
    Express,
}

impl ShardListener {
    /// Returns the listener's socket of `role`.
    pub(crate) const fn socket_of(&self, role: ListenerSocketRole) -> Option<&ListenerSocket> {
        match role {
            ListenerSocketRole::First => Some(&self.socket),
            ListenerSocketRole::Express => self.express.as_ref(),
        }
    }

    /// Returns the role of the listener's socket that has room for bursts: the UDP socket for
    /// messages that begin an exchange, or the packet socket for messages that a UDP socket would
    /// else get.
    pub(crate) const fn burst_socket_role(&self) -> ListenerSocketRole {
        match self.socket {
            ListenerSocket::Udp(_) => ListenerSocketRole::First,
            ListenerSocket::Packet(_) => ListenerSocketRole::Express,
        }
    }

    /// Returns true if the socket of `role` serves the datagram from `source`, of which the kernel
    /// gave every socket of the port a copy, so that the datagram is served once.
    pub(crate) fn takes_copy(&self, role: ListenerSocketRole, source: SocketAddrV4) -> bool {
        let (index, of) = self.shard;
        let key = source.ip().to_bits() ^ u32::from(source.port());
        role == ListenerSocketRole::First && key % of.max(1) == index
    }
}

/// Set of all listeners of all shards, with data about their interfaces.
#[derive(Debug, Default)]
pub(crate) struct ListenerSet {
    /// Listeners by the number of their shard.
    shards: Vec<Vec<Arc<ShardListener>>>,
    pub(crate) names: Arc<InterfaceNames>,
    /// Addresses that the server answers from, by interface index, ascending.
    addresses: Vec<(u32, Ipv4Addr)>,
    /// True if replies to relay agents leave by the interface that the routing table chooses, not
    /// by the interface of the request (Kea's `outbound-interface`).
    pub(crate) is_routed: bool,
}

impl ListenerSet {
    /// Returns the listeners of shard number `shard`.
    pub(crate) fn of_shard(&self, shard: usize) -> &[Arc<ShardListener>] {
        &self.shards[shard]
    }

    /// Returns the server's own address on interface `index`, by which clients without an address
    /// know the server.
    pub(crate) fn address(&self, index: u32) -> Option<Ipv4Addr> {
        let at = self.addresses.binary_search_by_key(&index, |&(index, _)| index).ok()?;
        Some(self.addresses[at].1)
    }

    /// Creates a listener set without listeners, and with one interface that has an address.
    #[cfg(test)]
    pub(crate) fn with_address(index: u32, address: Ipv4Addr) -> Self {
        Self { addresses: vec![(index, address)], ..Self::default() }
    }
}
