//! Where a thread's answers come from: its ports, or the ring of an interface that the kernel puts
//! frames into, past its UDP.
//!
//! Budget: by ports a `recvmmsg` for each that has answers, 64 at most, or 64 groups of up to 64; by the ring no system call while
//! frames are there, and about 30 ns for each of our own.

use std::io;
use std::net::SocketAddr;

use netio::{
    Clock, FrameRingReceiver, FrameRoute, NetError, ReadyList, RecvBatch, RingSize, UdpSocket,
    filter, interface,
};

use crate::datagrams::Datagrams;
use crate::exchanges::Exchanges;

/// Room for answers of one receive call at a port.
const RECEIVE_SLOTS: usize = 64;
/// Receive calls per turn and port, so that a flood of answers cannot keep the schedule from being
/// served.
const RECEIVES_PER_TURN: usize = 4;
/// Frames between two looks at the clock.
const FRAMES_AT_ONCE: usize = 64;
/// The same for a ring.
const LOOKS_PER_TURN: usize = 4;
/// Memory for frames that wait: 16,384 of them. No Ethernet frame is longer; a train of answers may be.
const RING: RingSize = RingSize { bytes: 32 << 20, slot_bytes: 2_048 };
/// What a port that nobody has leads to.
const NO_PORT: u16 = u16::MAX;

/// What takes answers in.
pub(crate) enum Input {
    /// The ports themselves.
    Ports(RecvBatch),
    /// The ring of the interface that they are at; the ports get nothing.
    Ring(RingInput),
}

/// A ring, and the ports by their numbers.
pub(crate) struct RingInput {
    ring: FrameRingReceiver,
    /// The place of each port in the lane.
    places: Box<[u16]>,
}

impl Input {
    /// By the ports, for answers of up to `answer_bytes`.
    pub(crate) fn at_ports(answer_bytes: usize) -> Self {
        Self::Ports(RecvBatch::new(RECEIVE_SLOTS, answer_bytes))
    }

    /// By the ports, opened with `coalesce`, for answers of any length, also in groups.
    pub(crate) fn at_ports_in_groups() -> Self {
        Self::Ports(RecvBatch::coalescing_into(RECEIVE_SLOTS))
    }

    /// By the interface of `route`, at which `ports` have these `addresses`, for answers of `server`.
    ///
    /// # Errors
    ///
    /// When there is no such interface, or the kernel refuses a ring ([`FrameRingReceiver::open`]) or a
    /// filter.
    pub(crate) fn at_interface(
        route: &FrameRoute,
        server: SocketAddr,
        ports: &[UdpSocket],
        addresses: &[SocketAddr],
    ) -> Result<Self, NetError> {
        let name = &route.interface;
        let found = interface::named(name).map_err(NetError::on("find the interface", name))?;
        let ring = FrameRingReceiver::open(&found, server.port(), RING)?;
        for port in ports {
            filter::take_nothing(port).map_err(NetError::on("filter", "the generator's ports"))?;
        }
        let mut places = vec![NO_PORT; 1 << 16].into_boxed_slice();
        for (place, address) in (0..).zip(addresses) {
            places[usize::from(address.port())] = place;
        }
        Ok(Self::Ring(RingInput { ring, places }))
    }

    /// Has `ready` name the ports that have answers; 0 where a ring has them.
    pub(crate) fn watch(&self, ready: &ReadyList, ports: &[UdpSocket]) -> io::Result<()> {
        match self {
            Self::Ports(_) => (0..).zip(ports).try_for_each(|(place, port)| ready.add(port, place)),
            Self::Ring(input) => ready.add(&input.ring, 0),
        }
    }

    /// Takes in what has come from `server` to port `place`, or to all by a ring.
    pub(crate) fn take(
        &mut self,
        (place, ports): (usize, &[UdpSocket]),
        server: SocketAddr,
        exchanges: &mut Exchanges<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Ports(batch) => take_by_port(batch, (place, &ports[place]), server, exchanges),
            Self::Ring(input) => {
                input.take(server, exchanges);
                Ok(())
            }
        }
    }

    /// Answers longer than is taken.
    pub(crate) fn too_long(&self) -> u64 {
        match self {
            Self::Ports(batch) => batch.truncated(),
            Self::Ring(input) => input.ring.truncated(),
        }
    }

    /// Answers that the kernel dropped for want of room.
    pub(crate) fn drops(&self, ports: &[UdpSocket]) -> io::Result<u64> {
        match self {
            Self::Ports(_) => ports.iter().map(|port| port.drops().map(u64::from)).sum(),
            // A port counts what its filter drops, which the ring has.
            Self::Ring(input) => input.ring.take_drops(),
        }
    }
}

fn take_by_port(
    batch: &mut RecvBatch,
    (place, port): (usize, &UdpSocket),
    server: SocketAddr,
    exchanges: &mut Exchanges<'_>,
) -> io::Result<()> {
    for _ in 0..RECEIVES_PER_TURN {
        if batch.receive(port)? == 0 {
            break;
        }
        let now_ns = Clock::mono_ns();
        for datagram in batch.iter() {
            if datagram.source == server {
                exchanges.answer(now_ns, place, datagram.octets);
            } else {
                exchanges.foreign();
            }
        }
    }
    Ok(())
}

impl RingInput {
    fn take(&mut self, server: SocketAddr, exchanges: &mut Exchanges<'_>) {
        let Self { ring, places } = self;
        for _ in 0..LOOKS_PER_TURN {
            let waiting = ring.waiting(FRAMES_AT_ONCE);
            // Not before any of them has come.
            let now_ns = Clock::mono_ns();
            ring.receive(waiting, |frame| {
                let place_of = |port: u16| places[usize::from(port)];
                let is_wanted = |_, to: SocketAddr| place_of(to.port()) != NO_PORT;
                let Some(datagrams) = Datagrams::of(frame, is_wanted) else { return };
                let place = usize::from(place_of(datagrams.destination.port()));
                for octets in datagrams.payloads() {
                    if datagrams.source == server {
                        exchanges.answer(now_ns, place, octets);
                    } else {
                        exchanges.foreign();
                    }
                }
            });
            if waiting < FRAMES_AT_ONCE {
                break;
            }
        }
    }
}
