//! The places where messages come in and replies go out. A door is one socket of one shard; which
//! doors there shall be is `plan`'s, opening and closing them while shards run is `keeper`'s, when to
//! look again is `tending`'s, how much may wait at one `room`'s.

mod keeper;
mod listening;
mod plan;
mod room;
mod tending;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use dhcp_config::{Dhcp4, Dhcp6};
use dhcp_engine::InterfaceNames;
use netio::{PacketSocket, UdpSocket, interface};

use crate::ServerError;

pub(crate) use keeper::{Sockets, Steering};
pub(crate) use listening::Listening;
pub(crate) use room::{BURST_BYTES, Reading, Room, STANDING_BYTES};
pub(crate) use tending::Tending;

/// What a DHCPv4 server's `interfaces-config` names and this machine does not have as it is, one
/// sentence each. A server that runs waits for it.
///
/// # Errors
///
/// The interfaces cannot be listed.
pub fn missing_dhcp4(config: &Dhcp4) -> Result<Vec<String>, ServerError> {
    missing(&Listening::v4(&config.interfaces))
}

/// [`missing_dhcp4`] of a DHCPv6 server.
///
/// # Errors
///
/// The interfaces cannot be listed.
pub fn missing_dhcp6(config: &Dhcp6) -> Result<Vec<String>, ServerError> {
    missing(&Listening::v6(&config.interfaces))
}

fn missing(listening: &Listening) -> Result<Vec<String>, ServerError> {
    let mut missing = plan::plan(listening, &list()?).missing;
    if listening.require_all && !missing.is_empty() {
        let key =
            "`service-sockets-require-all` is set: the server would not start on this machine";
        missing.push(key.to_owned());
    }
    Ok(missing)
}

fn list() -> Result<Vec<interface::Interface>, ServerError> {
    interface::list().map_err(|cause| ServerError::System { tried: "list interfaces", cause })
}

/// What a door is made of.
#[derive(Debug)]
pub(crate) enum Socket {
    /// For whoever has an address.
    Udp(UdpSocket),
    /// For stations on the link.
    Packet(PacketSocket),
}

impl Socket {
    /// Changes how much may wait, in octets of kernel memory. A kernel that does not give as much
    /// gives what it may.
    pub(crate) fn give_room(&self, bytes: usize) {
        match self {
            Self::Udp(socket) => socket.set_receive_buffer(bytes).ok(),
            Self::Packet(socket) => socket.set_receive_buffer(bytes).ok(),
        };
    }

    /// What waits, in octets of kernel memory, and how many messages found no room since the socket was
    /// opened.
    pub(crate) fn queue(&self) -> Option<(usize, u32)> {
        match self {
            Self::Udp(socket) => Some((socket.receive_queued_bytes().ok()?, socket.drops().ok()?)),
            Self::Packet(socket) => {
                Some((socket.receive_queued_bytes().ok()?, socket.drops().ok()?))
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Packet(socket) => socket.as_fd(),
        }
    }
}

/// The kinds of [`Socket`]; in the order in which they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// [`Socket::Packet`].
    Packet,
    /// [`Socket::Udp`] at one of our addresses, or at all.
    Udp,
    /// [`Socket::Udp`] at a group's address, which its first shard has joined.
    Group,
}

/// One interface, as long as it exists: another one of the same name has another index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) index: u32,
}

/// Where a door stands. Each shard has one there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    /// `None`: all interfaces.
    pub(crate) device: Option<Device>,
    /// Unspecified: all addresses.
    pub(crate) address: IpAddr,
}

impl Place {
    /// What a socket is bound to here, `port` given; a link-local address is one of the device.
    pub(crate) fn socket_address(&self, port: u16) -> SocketAddr {
        match self.address {
            IpAddr::V4(address) => (address, port).into(),
            IpAddr::V6(address) => {
                let is_of_link = address.is_unicast_link_local() || address.is_multicast();
                let device = self.device.as_ref().filter(|_| is_of_link);
                SocketAddrV6::new(address, port, 0, device.map_or(0, |device| device.index)).into()
            }
        }
    }

    /// Whether what goes out here can go through interface `index`.
    pub(crate) fn reaches(&self, index: u32) -> bool {
        self.device.as_ref().is_none_or(|device| device.index == index)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => f.write_str(&device.name)?,
            None => f.write_str("all interfaces")?,
        }
        match self.kind {
            Kind::Packet => f.write_str(" for clients on the link"),
            Kind::Udp if self.address.is_unspecified() => Ok(()),
            Kind::Udp | Kind::Group => write!(f, ", {}", self.address),
        }
    }
}

/// A socket of one shard.
#[derive(Debug)]
pub(crate) struct Door {
    /// Unlike any other door's that is open, or that replies on their way may still name.
    pub(crate) id: u16,
    pub(crate) place: Place,
    pub(crate) socket: Socket,
    /// Where messages arrive that go on with an exchange, or, at a packet door, those for our
    /// addresses, renewals most of them; they are read first, so that under overload exchanges are
    /// ended before others are begun. Nothing is sent through it.
    pub(crate) express: Option<Socket>,
    /// Number of the shard, and of how many.
    pub(crate) shard: (u32, u32),
}

/// The sockets of a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// [`Door::socket`].
    First,
    /// [`Door::express`].
    Express,
}

impl Door {
    /// The socket of `lane`.
    pub(crate) const fn socket_of(&self, lane: Lane) -> Option<&Socket> {
        match lane {
            Lane::First => Some(&self.socket),
            Lane::Express => self.express.as_ref(),
        }
    }

    /// The lane that has room for bursts: where a UDP socket gets what begins an exchange, or a packet
    /// socket what a UDP socket would else get.
    pub(crate) const fn burst_lane(&self) -> Lane {
        match self.socket {
            Socket::Udp(_) => Lane::First,
            Socket::Packet(_) => Lane::Express,
        }
    }

    /// Returns whether a copy of a datagram from `source` is this socket's to serve, of those that
    /// the kernel gave to every socket of the port: one datagram is served once.
    pub(crate) fn takes_copy(&self, lane: Lane, source: SocketAddrV4) -> bool {
        let (index, of) = self.shard;
        let key = source.ip().to_bits() ^ u32::from(source.port());
        lane == Lane::First && key % of.max(1) == index
    }
}

/// All doors of all shards, and what is known of the interfaces behind them.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    /// The doors of each shard.
    shards: Vec<Vec<Arc<Door>>>,
    pub(crate) names: Arc<InterfaceNames>,
    /// The address to answer from, by interface index, ascending.
    addresses: Vec<(u32, Ipv4Addr)>,
    /// What is sent to relay agents leaves by the interface that the routing table says, not by
    /// that of the request (Kea's `outbound-interface`).
    pub(crate) is_routed: bool,
}

impl Doors {
    /// The doors of shard number `shard`.
    pub(crate) fn of_shard(&self, shard: usize) -> &[Arc<Door>] {
        &self.shards[shard]
    }

    /// Our own address on interface `index`, by which clients without one know us.
    pub(crate) fn address(&self, index: u32) -> Option<Ipv4Addr> {
        let at = self.addresses.binary_search_by_key(&index, |&(index, _)| index).ok()?;
        Some(self.addresses[at].1)
    }

    /// No doors, and one interface with an address.
    #[cfg(test)]
    pub(crate) fn with_address(index: u32, address: Ipv4Addr) -> Self {
        Self { addresses: vec![(index, address)], ..Self::default() }
    }
}
