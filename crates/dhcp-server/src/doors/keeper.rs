//! Opening and closing doors to match a plan, whatever is open already.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;

use dhcp_engine::InterfaceNames;
use netio::filter::{self, Broadcasts, Share};
use netio::interface::Interface;
use netio::{NetError, PacketOptions, PacketSocket, UdpOptions, UdpSocket};

use super::plan::Plan;
use super::{Door, Doors, Kind, Place, Socket};
use crate::service::v4::CLIENT_OFFSET;

/// Kernel memory for waiting messages: at 768 octets each 10,000 messages, 100 ms at 100,000/s.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// Kernel memory for replies on their way out.
const SEND_BUFFER_BYTES: usize = 4 << 20;

/// Spreads the datagrams of a socket's port over as many sockets.
pub(crate) type Steer = fn(&UdpSocket, u32) -> Result<(), std::io::Error>;

/// How the sockets of doors are opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sockets {
    /// Our own port.
    pub(crate) port: u16,
    /// For how many shards.
    pub(crate) shards: u16,
    /// How clients are spread over those.
    pub(crate) steer: Steer,
    /// Take what the kernel has joined (`UDP_GRO`).
    pub(crate) coalesce: bool,
}

/// What came of opening doors.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// The places that are open now and were not.
    pub(super) opened: Vec<Place>,
    /// Those whose address the kernel does not let anyone use yet.
    pub(super) tentative: Vec<Place>,
    /// Why others could not be opened.
    pub(super) problems: Vec<NetError>,
}

/// Knows every door that is open.
#[derive(Debug)]
pub(super) struct Keeper {
    sockets: Sockets,
    /// For each place that is open, the doors of all shards.
    open: Vec<(Place, Vec<Arc<Door>>)>,
    next_id: u16,
}

impl Keeper {
    pub(super) const fn new(sockets: Sockets) -> Self {
        Self { sockets, open: Vec::new(), next_id: 0 }
    }

    /// True when no door is open through which an answer could leave. A group's is none.
    pub(super) fn is_mute(&self) -> bool {
        self.open.iter().all(|(place, _)| place.kind == Kind::Group)
    }

    /// Gives up the doors that `plan` does not have; their places. They close when the shards let go
    /// of them too.
    pub(super) fn give_up(&mut self, plan: &Plan) -> Vec<Place> {
        let (kept, given_up): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(place, _)| plan.places.contains(place));
        self.open = kept;
        given_up.into_iter().map(|(place, _)| place).collect()
    }

    /// Opens the doors that `plan` has and that are not open.
    pub(super) fn open(&mut self, plan: &Plan) -> Opening {
        let mut opening = Opening::default();
        for place in &plan.places {
            if self.open.iter().any(|(known, _)| known == place) {
                continue;
            }
            match self.open_one(place) {
                Ok(sockets) => {
                    let doors = self.doors_of(place, sockets);
                    self.open.push((place.clone(), doors));
                    opening.opened.push(place.clone());
                }
                Err(problem) if is_tentative(place, &problem) => {
                    opening.tentative.push(place.clone());
                }
                Err(problem) => opening.problems.push(problem),
            }
        }
        opening.problems.extend(self.share_broadcasts().err());
        opening
    }

    fn open_one(&self, place: &Place) -> Result<Vec<Socket>, NetError> {
        Ok(match place.kind {
            Kind::Packet => {
                let options = PacketOptions {
                    interface: place.device.as_ref().map(|device| device.index),
                    port: self.sockets.port,
                    payload_offset: CLIENT_OFFSET,
                    receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
                    send_buffer_bytes: SEND_BUFFER_BYTES,
                };
                let sockets = PacketSocket::open_group(&options, self.sockets.shards.into())?;
                sockets.into_iter().map(Socket::Packet).collect()
            }
            Kind::Udp => self.open_udp(place)?.into_iter().map(Socket::Udp).collect(),
            Kind::Group => self.open_group(place)?.into_iter().map(Socket::Udp).collect(),
        })
    }

    fn open_udp(&self, place: &Place) -> Result<Vec<UdpSocket>, NetError> {
        let mut options = UdpOptions::at(place.socket_address(self.sockets.port));
        options.device = place.device.as_ref().map(|device| device.name.clone());
        options.reuse_port = self.sockets.shards > 1;
        options.broadcast = place.address.is_ipv4();
        options.packet_info = true;
        options.kernel_times = true;
        options.coalesce = self.sockets.coalesce;
        options.receive_buffer_bytes = Some(RECEIVE_BUFFER_BYTES);
        options.send_buffer_bytes = Some(SEND_BUFFER_BYTES);
        let sockets: Vec<_> = (0..self.sockets.shards)
            .map(|_| UdpSocket::open(&options))
            .collect::<Result<_, _>>()?;
        if self.sockets.shards > 1 {
            (self.sockets.steer)(&sockets[0], self.sockets.shards.into())
                .map_err(NetError::on("steer clients to shards at", place.to_string()))?;
        }
        Ok(sockets)
    }

    /// One socket reads for all shards: every one that joined would be given a copy.
    fn open_group(&self, place: &Place) -> Result<Vec<UdpSocket>, NetError> {
        let sockets = self.open_udp(place)?;
        if let (IpAddr::V6(group), Some(device)) = (place.address, &place.device) {
            sockets[0]
                .join_group(group, device.index)
                .map_err(NetError::on("join", format!("{group} on {}", device.name)))?;
        }
        Ok(sockets)
    }

    fn doors_of(&mut self, place: &Place, sockets: Vec<Socket>) -> Vec<Arc<Door>> {
        sockets
            .into_iter()
            .map(|socket| {
                let id = self.free_id();
                Arc::new(Door { id, place: place.clone(), socket })
            })
            .collect()
    }

    /// The next number; after 65,536 doors numbers come again, those in use left out.
    fn free_id(&mut self) -> u16 {
        loop {
            let id = self.next_id;
            self.next_id = id.wrapping_add(1);
            if !self.open.iter().flat_map(|(_, doors)| doors).any(|door| door.id == id) {
                return id;
            }
        }
    }

    /// Leaves broadcasts to the packet sockets where there are any, and lets one shard have each of
    /// the others.
    fn share_broadcasts(&self) -> Result<(), NetError> {
        for (place, doors) in self.open.iter().filter(|(place, _)| place.address.is_ipv4()) {
            let are_left = self
                .open
                .iter()
                .any(|(other, _)| other.kind == Kind::Packet && other.device == place.device);
            for (index, door) in (0..).zip(doors) {
                let Socket::Udp(socket) = &door.socket else { continue };
                let share =
                    Share { payload_offset: CLIENT_OFFSET, index, of: self.sockets.shards.into() };
                let share = (self.sockets.shards > 1).then_some(share);
                filter::set_broadcasts(socket, Broadcasts { are_left, share })
                    .map_err(NetError::on("share broadcasts at", place.to_string()))?;
            }
        }
        Ok(())
    }

    /// Whether a door reaches interface `index`.
    pub(super) fn reaches(&self, index: u32) -> bool {
        self.open.iter().any(|(place, _)| place.reaches(index))
    }

    /// Everything that shards need to know.
    pub(super) fn doors(&self, plan: &Plan, machine: &[Interface]) -> Doors {
        let of_shard = |shard: usize| {
            self.open.iter().map(|(_, doors)| Arc::clone(&doors[shard])).collect::<Vec<_>>()
        };
        let names = machine.iter().map(|interface| (interface.index, interface.name.as_str()));
        Doors {
            shards: (0..usize::from(self.sockets.shards)).map(of_shard).collect(),
            names: Arc::new(InterfaceNames::new(names)),
            addresses: plan.addresses.clone(),
            is_routed: plan.is_routed,
        }
    }
}

/// Whether `problem` is that duplicate address detection has not ended (RFC 4862 §5.4): the address
/// is the interface's, or it would not be planned for, and yet cannot be bound to.
fn is_tentative(place: &Place, problem: &NetError) -> bool {
    place.kind == Kind::Udp
        && place.address.is_ipv6()
        && problem.cause().kind() == ErrorKind::AddrNotAvailable
}
