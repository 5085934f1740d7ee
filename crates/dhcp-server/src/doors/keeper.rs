//! Opening and closing doors to match a plan, whatever is open already.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;

use dhcp_engine::InterfaceNames;
use netio::filter::{self, Broadcasts, Share, Unicast};
use netio::interface::Interface;
use netio::steer::{self, Beginning, Key};
use netio::{NetError, PacketOptions, PacketSocket, UdpOptions, UdpSocket};

use super::plan::Plan;
use super::{Door, Doors, Kind, Place, Socket};
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
        opening.problems.extend(self.share(plan).err());
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
    /// packet sockets where there are any, and lets one shard have each of the other broadcasts.
    fn share(&self, plan: &Plan) -> Result<(), NetError> {
        let shown = |place: &Place| format!("the messages at {place}");
        let packets = self.open.iter().filter(|(place, _)| place.kind == Kind::Packet);
        let mut left = Vec::new();
        for (place, doors) in packets {
            // The kernel would hand over what it has joined as one datagram.
            let addresses = if self.sockets.coalesce { Vec::new() } else { plan.heard_at(place) };
            let unicast = Unicast { addresses: &addresses, zero_offset: RELAY_OFFSET };
            for door in doors {
                let Some(Socket::Packet(socket)) = &door.express else { continue };
                filter::set_unicast(socket, self.sockets.port, unicast)
                    .map_err(NetError::on("filter", shown(place)))?;
            }
            left.push((&place.device, addresses));
        }
        // Packet sockets take what they are left before UDP sockets leave it.
        for (place, doors) in self.open.iter().filter(|(place, _)| place.address.is_ipv4()) {
            let left = left.iter().find(|(device, _)| **device == place.device);
            let unicast_left =
                left.map(|(_, addresses)| Unicast { addresses, zero_offset: RELAY_OFFSET });
            let of = u32::from(self.sockets.shards);
            for (index, door) in (0..).zip(doors) {
                let Socket::Udp(socket) = &door.socket else { continue };
                // What is read first has a number that no such datagram has.
                let express = match &door.express {
                    Some(Socket::Udp(express)) => Some((express, of)),
                    _ => None,
                };
                for (socket, index) in [Some((socket, index)), express].into_iter().flatten() {
                    let share = Some(Share { payload_offset: CLIENT_OFFSET, index, of });
                    let broadcasts = Broadcasts { are_left: left.is_some(), unicast_left, share };
                    filter::set_broadcasts(socket, broadcasts)
                        .map_err(NetError::on("filter", shown(place)))?;
                }
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

fn pairs(first: impl Iterator<Item = Socket>, express: impl Iterator<Item = Socket>) -> Vec<Pair> {
    first.zip(express.map(Some)).collect()
}

/// Whether `problem` is that duplicate address detection has not ended (RFC 4862 §5.4): the address
/// is the interface's, or it would not be planned for, and yet cannot be bound to.
fn is_tentative(place: &Place, problem: &NetError) -> bool {
    place.kind == Kind::Udp
        && place.address.is_ipv6()
        && problem.cause().kind() == ErrorKind::AddrNotAvailable
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;
    use netio::{PollFd, RecvBatch};

    use super::*;
    use crate::doors::STANDING_BYTES;
    use crate::service::Service;

    /// What arrives at the first and at the express sockets of a place with two shards.
    fn lanes(address: IpAddr, steering: Steering, sent: &[Vec<u8>]) -> [Vec<Vec<u8>>; 2] {
        let place = Place { kind: Kind::Udp, device: None, address };
        // Another program may take a port that was free.
        let opened = (0..100).find_map(|_| {
            let free = std::net::UdpSocket::bind((address, 0)).unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let keeper = Keeper::new(Sockets {
                port,
                shards: 2,
                steering,
                coalesce: false,
                receive_buffer_bytes: STANDING_BYTES,
            });
            let pairs = keeper.open_one(&place).ok()?;
            Some((port, keeper, pairs))
        });
        let (port, keeper, pairs) = opened.unwrap();
        assert!(keeper.open_one(&place).is_err(), "the port is somebody's");
        let sender = std::net::UdpSocket::bind((address, 0)).unwrap();
        for message in sent {
            sender.send_to(message, (address, port)).unwrap();
        }
        let lane = |of: fn(&Pair) -> &Socket| {
            let udp = |pair| match of(pair) {
                Socket::Udp(socket) => socket,
                Socket::Packet(_) => unreachable!("the place is of UDP"),
            };
            pairs.iter().map(udp).collect::<Vec<_>>()
        };
        let lanes = [lane(|(socket, _)| socket), lane(|(_, express)| express.as_ref().unwrap())];
        let mut seen = [Vec::new(), Vec::new()];
        while seen[0].len() + seen[1].len() < sent.len() {
            let mut fds: Vec<_> = lanes.iter().flatten().map(|&s| PollFd::readable(s)).collect();
            assert!(netio::poll(&mut fds, Some(300_000_000_000)).unwrap() > 0, "some are missing");
            for (sockets, seen) in lanes.iter().zip(&mut seen) {
                for &socket in sockets {
                    let mut batch = RecvBatch::default();
                    batch.receive(socket).unwrap();
                    seen.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
                }
            }
        }
        seen
    }

    fn v4(client: u8, kind: u8) -> Vec<u8> {
        let mut message = vec![0; 236];
        (message[0], message[33]) = (1, client);
        message.extend([99, 130, 83, 99, 53, 1, kind, 61, 1, client, 255]);
        message
    }

    fn v6(client: u8, kind: u8) -> Vec<u8> {
        vec![kind, 0, 0, client, 0, 1, 0, 1, client]
    }

    fn relayed(client: u8, message: &[u8]) -> Vec<u8> {
        let mut relayed = vec![12, 0];
        relayed.extend([0; 31]);
        relayed.push(client);
        relayed.extend([0, 18, 0, 4, 101, 116, 104, 48, 0, 9, 0, message.len() as u8]);
        relayed.extend(message);
        relayed
    }

    #[test]
    fn what_goes_on_with_an_exchange_of_dhcpv4_has_a_socket_of_its_own() {
        let sent: Vec<_> = (0..40).map(|n| v4(n, [1, 3, 7, 8][usize::from(n % 4)])).collect();
        let [first, express] = lanes(Ipv4Addr::LOCALHOST.into(), V4::STEERING, &sent);
        assert_eq!((first.len(), express.len()), (10, 30));
        assert!(first.iter().all(|message| message[242] == 1));
    }

    #[test]
    fn what_goes_on_with_an_exchange_of_dhcpv6_has_a_socket_of_its_own() {
        let kinds = [1, 3, 5, 11];
        let sent: Vec<_> = (0..40)
            .map(|n| {
                let once = relayed(n, &v6(n, kinds[usize::from(n % 4)]));
                if n < 20 { once } else { relayed(n, &once) }
            })
            .collect();
        let [first, express] = lanes(Ipv6Addr::LOCALHOST.into(), V6::STEERING, &sent);
        assert_eq!((first.len(), express.len()), (10, 30));
        let is_solicit = |message: &Vec<u8>| message[message.len() - 9] == 1;
        assert!(first.iter().all(is_solicit));
    }
}
