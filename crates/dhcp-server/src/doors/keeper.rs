//! Opening and closing doors to match a plan, whatever is open already.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dhcp_engine::InterfaceNames;
use netio::filter::{self, Broadcasts, Share, Unicast};
use netio::interface::Interface;
use netio::steer::{self, Beginning, Key};
use netio::{NetError, PacketOptions, PacketSocket, UdpOptions, UdpSocket};

use super::plan::Plan;
use super::{Device, Door, Doors, Kind, Place, Socket};
use crate::service::v4::{CLIENT_OFFSET, RELAY_OFFSET};

/// Kernel memory for replies on their way out.
const SEND_BUFFER_BYTES: usize = 4 << 20;

/// How clients are spread over the sockets of a port, and what begins an exchange.
pub(crate) type Steering = (Key<'static>, Beginning);

/// A socket that replies leave through too, and the one beside it that is read first.
type Pair = (Socket, Option<Socket>);

/// How the sockets of doors are opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sockets {
    /// Our own port.
    pub(crate) port: u16,
    /// For how many shards.
    pub(crate) shards: u16,
    /// How clients are spread over those.
    pub(crate) steering: Steering,
    /// Take what the kernel has joined (`UDP_GRO`).
    pub(crate) coalesce: bool,
    /// Kernel memory for what waits at each of them.
    pub(crate) receive_buffer_bytes: usize,
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
        opening.problems.extend(self.share(plan));
        opening
    }

    fn open_one(&self, place: &Place) -> Result<Vec<Pair>, NetError> {
        let alone = |socket| (socket, None);
        Ok(match place.kind {
            Kind::Packet => {
                let options = PacketOptions {
                    interface: place.device.as_ref().map(|device| device.index),
                    port: self.sockets.port,
                    payload_offset: CLIENT_OFFSET,
                    receive_buffer_bytes: self.sockets.receive_buffer_bytes,
                    send_buffer_bytes: SEND_BUFFER_BYTES,
                };
                let shards = self.sockets.shards.into();
                let first = PacketSocket::open_group(&options, shards)?;
                let express = PacketSocket::open_silent_group(&options, shards)?;
                pairs(
                    first.into_iter().map(Socket::Packet),
                    express.into_iter().map(Socket::Packet),
                )
            }
            Kind::Udp => {
                let shards = self.sockets.shards.into();
                let mut sockets = self.open_udp(place, 2 * shards)?;
                let express = sockets.split_off(shards);
                pairs(sockets.into_iter().map(Socket::Udp), express.into_iter().map(Socket::Udp))
            }
            Kind::Group => {
                self.open_group(place)?.into_iter().map(Socket::Udp).map(alone).collect()
            }
        })
    }

    /// `count` sockets at `place`, with two for each shard those that are read first behind the
    /// others.
    fn open_udp(&self, place: &Place, count: usize) -> Result<Vec<UdpSocket>, NetError> {
        let mut options = UdpOptions::at(place.socket_address(self.sockets.port));
        options.device = place.device.as_ref().map(|device| device.name.clone());
        options.broadcast = place.address.is_ipv4();
        options.packet_info = true;
        options.kernel_times = true;
        options.coalesce = self.sockets.coalesce;
        options.receive_buffer_bytes = Some(self.sockets.receive_buffer_bytes);
        options.send_buffer_bytes = Some(SEND_BUFFER_BYTES);
        let first = UdpSocket::open(&options)?;
        if count == 1 {
            return Ok(vec![first]);
        }
        first.share_port().map_err(NetError::on("share the port of", place.to_string()))?;
        options.reuse_port = true;
        let others = (1..count).map(|_| UdpSocket::open(&options));
        let sockets: Vec<_> = [Ok(first)].into_iter().chain(others).collect::<Result<_, _>>()?;
        let shards = u32::from(self.sockets.shards);
        let (key, beginning) = self.sockets.steering;
        let beginning = (count > shards as usize).then_some(beginning);
        steer::spread(&sockets[0], key, shards, beginning)
            .map_err(NetError::on("steer clients to shards at", place.to_string()))?;
        Ok(sockets)
    }

    /// One socket reads for all shards: every one that joined would be given a copy.
    fn open_group(&self, place: &Place) -> Result<Vec<UdpSocket>, NetError> {
        let sockets = self.open_udp(place, self.sockets.shards.into())?;
        if let (IpAddr::V6(group), Some(device)) = (place.address, &place.device) {
            sockets[0]
                .join_group(group, device.index)
                .map_err(NetError::on("join", format!("{group} on {}", device.name)))?;
        }
        Ok(sockets)
    }

    fn doors_of(&mut self, place: &Place, sockets: Vec<Pair>) -> Vec<Arc<Door>> {
        let of = u32::from(self.sockets.shards);
        (0..)
            .zip(sockets)
            .map(|(index, (socket, express))| {
                let (id, place) = (self.free_id(), place.clone());
                Arc::new(Door { id, place, socket, express, shard: (index, of) })
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

    /// Leaves broadcasts and what was sent to an own address by a client, not by a relay agent, to the
    /// packet sockets where there are any, and lets one shard have each of the other broadcasts. On a
    /// device where the kernel refuses a filter (ENOMEM by `net.core.optmem_max`), UDP sockets keep all
    /// unicast messages. Returns what was refused.
    fn share(&self, plan: &Plan) -> Vec<NetError> {
        let mut problems = Vec::new();
        let mut shared: Vec<&Option<Device>> = Vec::new();
        for (place, _) in self.open.iter().filter(|(place, _)| place.kind == Kind::Packet) {
            // The kernel would hand over what it has joined as one datagram.
            let addresses = if self.sockets.coalesce { Vec::new() } else { plan.heard_at(place) };
            let device = &place.device;
            // Packet sockets take what they are left before UDP sockets leave it.
            let taken = self.take_unicast(device, &addresses);
            let left = taken.and_then(|()| self.leave(device, Some(&addresses)));
            if let Err(problem) = left {
                problems.push(problem);
                // Filters without addresses are short. All sockets of the device are gone through
                // whichever refuse; a second error says nothing new.
                self.leave(device, Some(&[])).ok();
                self.take_unicast(device, &[]).ok();
            }
            shared.push(device);
        }
        for (place, _) in &self.open {
            if !shared.contains(&&place.device) {
                problems.extend(self.leave(&place.device, None).err());
                shared.push(&place.device);
            }
        }
        problems
    }

    /// Has the packet sockets of `device` take unicast messages of clients for `addresses`; the first
    /// error, after all of them.
    fn take_unicast(
        &self,
        device: &Option<Device>,
        addresses: &[Ipv4Addr],
    ) -> Result<(), NetError> {
        let unicast = Unicast { addresses, zero_offset: RELAY_OFFSET };
        let mut result = Ok(());
        for (place, doors) in self.open.iter().filter(|(place, _)| place.device == *device) {
            for door in doors {
                let Some(Socket::Packet(socket)) = &door.express else { continue };
                let set = filter::set_unicast(socket, self.sockets.port, unicast);
                let set = set.map_err(NetError::on("filter", messages_at(place)));
                result = result.and(set);
            }
        }
        result
    }

    /// Has the UDP sockets of `device` leave broadcasts, and unicast messages of clients for
    /// addresses, to the packet sockets, when there are addresses, be it none; the first error, after
    /// all of them.
    fn leave(
        &self,
        device: &Option<Device>,
        addresses: Option<&[Ipv4Addr]>,
    ) -> Result<(), NetError> {
        let addresses_left = addresses.filter(|addresses| !addresses.is_empty());
        let unicast_left =
            addresses_left.map(|addresses| Unicast { addresses, zero_offset: RELAY_OFFSET });
        let of = u32::from(self.sockets.shards);
        let is_shared = |place: &Place| place.address.is_ipv4() && place.device == *device;
        let mut result = Ok(());
        for (place, doors) in self.open.iter().filter(|(place, _)| is_shared(place)) {
            for (index, door) in (0..).zip(doors) {
                // What is read first has a number that no such datagram has.
                for (socket, index) in [(Some(&door.socket), index), (door.express.as_ref(), of)] {
                    let Some(Socket::Udp(socket)) = socket else { continue };
                    let share = Some(Share { payload_offset: CLIENT_OFFSET, index, of });
                    let are_left = addresses.is_some();
                    let set = filter::set_broadcasts(
                        socket,
                        Broadcasts { are_left, unicast_left, share },
                    );
                    let set = set.map_err(NetError::on("filter", messages_at(place)));
                    result = result.and(set);
                }
            }
        }
        result
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

fn pairs(first: impl Iterator<Item = Socket>, express: impl Iterator<Item = Socket>) -> Vec<Pair> {
    first.zip(express.map(Some)).collect()
}

fn messages_at(place: &Place) -> String {
    format!("the messages at {place}")
}

/// Whether `problem` is that duplicate address detection has not ended (RFC 4862 §5.4): the address
/// is the interface's, or it would not be planned for, and yet cannot be bound to.
fn is_tentative(place: &Place, problem: &NetError) -> bool {
    place.kind == Kind::Udp
        && place.address.is_ipv6()
        && problem.cause().kind() == ErrorKind::AddrNotAvailable
}

#[cfg(test)]
mod tests;
