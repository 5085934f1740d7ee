//! Source of a generator thread's answers: its UDP sockets (ports), or the ring of an interface
//! into which the kernel puts frames, bypassing its UDP.
//!
//! Budget: with ports a `recvmmsg` for each that has answers, at most 64 of them, or 64 groups of
//! up to 64; with the ring no system call while frames are waiting, and about 30 ns for each of our
//! own.

use std::io;
use std::net::SocketAddr;

use netio::{
    Clock, FrameRingReceiver, FrameRoute, NetError, ReadyList, RecvBatch, RingSize, UdpSocket,
    filter, interface,
};

use crate::datagrams::FrameDatagrams;
use crate::exchanges::Exchanges;

/// Number of answers that one receive call takes at a port.
const RECEIVE_SLOTS: usize = 64;
/// Number of receive calls per turn of the generator's loop and port, limited so that a flood of
/// answers cannot keep the schedule from being served.
const RECEIVES_PER_TURN: usize = 4;
/// Number of frames that a thread reads from a ring between two clock readings.
const FRAMES_AT_ONCE: usize = 64;
/// Number of groups of frames that a thread takes from a ring per turn of the generator's loop,
/// limited so that a flood of answers cannot keep the schedule from being served.
const LOOKS_PER_TURN: usize = 4;
/// Memory of a ring for waiting frames: 16,384 slots of 2,048 bytes. No Ethernet frame is longer;
/// several answers that the kernel has joined may be.
const RING: RingSize = RingSize { bytes: 32 << 20, slot_bytes: 2_048 };
/// Index of a port that does not belong to the thread.
const NO_PORT: u16 = u16::MAX;

/// Source of a generator thread's answers.
pub(crate) enum AnswerSource {
    /// Answers come to the UDP sockets of the ports.
    Ports(RecvBatch),
    /// Answers come to the ring of the interface that the ports are at; the sockets get nothing.
    Ring(RingInput),
}

/// Ring of frames, with the indexes of the thread's ports by their numbers.
pub(crate) struct RingInput {
    ring: FrameRingReceiver,
    /// Index of each port in the thread, by port number.
    port_indexes: Box<[u16]>,
}

impl AnswerSource {
    /// Creates a source of answers from the ports, for answers of up to `answer_bytes` bytes.
    pub(crate) fn at_ports(answer_bytes: usize) -> Self {
        Self::Ports(RecvBatch::new(RECEIVE_SLOTS, answer_bytes))
    }

    /// Creates a source of answers from the ports, opened with `coalesce`, for answers of any
    /// length, also in groups.
    pub(crate) fn at_ports_in_groups() -> Self {
        Self::Ports(RecvBatch::coalescing_into(RECEIVE_SLOTS))
    }

    /// Creates a source of answers from the interface of `route`, at which `ports` have these
    /// `addresses`, for answers of `server`.
    ///
    /// # Errors
    ///
    /// Fails when the interface does not exist, or the kernel refuses a ring
    /// ([`FrameRingReceiver::open`]) or a filter.
    pub(crate) fn at_interface(
        route: &FrameRoute,
        server: SocketAddr,
        ports: &[UdpSocket],
        addresses: &[SocketAddr],
    ) -> Result<Self, NetError> {
        let name = &route.interface;
        let interface = interface::named(name).map_err(NetError::on("find the interface", name))?;
        let ring = FrameRingReceiver::open(&interface, server.port(), RING)?;
        for port in ports {
            filter::take_nothing(port).map_err(NetError::on("filter", "the generator's ports"))?;
        }
        let mut port_indexes = vec![NO_PORT; 1 << 16].into_boxed_slice();
        for (index, address) in (0..).zip(addresses) {
            port_indexes[usize::from(address.port())] = index;
        }
        Ok(Self::Ring(RingInput { ring, port_indexes }))
    }

    /// Registers the ports with `ready` by their indexes, so that it names the ports that have
    /// answers; a ring has the number 0.
    pub(crate) fn watch(&self, ready: &ReadyList, ports: &[UdpSocket]) -> io::Result<()> {
        match self {
            Self::Ports(_) => (0..).zip(ports).try_for_each(|(index, port)| ready.add(port, index)),
            Self::Ring(input) => ready.add(&input.ring, 0),
        }
    }

    /// Processes the answers that have come from `server` to port `index`, or, with a ring, to all
    /// ports.
    pub(crate) fn process_answers(
        &mut self,
        index: usize,
        ports: &[UdpSocket],
        server: SocketAddr,
        exchanges: &mut Exchanges<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Ports(batch) => {
                process_port_answers(batch, index, &ports[index], server, exchanges)
            }
            Self::Ring(input) => {
                input.process_answers(server, exchanges);
                Ok(())
            }
        }
    }

    /// Returns the number of answers that were longer than accepted.
    pub(crate) fn too_long(&self) -> u64 {
        match self {
            Self::Ports(batch) => batch.truncated(),
            Self::Ring(input) => input.ring.truncated(),
        }
    }

    /// Returns the number of answers that the kernel dropped because a receive buffer or the ring
    /// was full.
    pub(crate) fn drops(&self, ports: &[UdpSocket]) -> io::Result<u64> {
        match self {
            Self::Ports(_) => ports.iter().map(|port| port.drops().map(u64::from)).sum(),
            // A port counts the datagrams that its filter drops, and the ring has those.
            Self::Ring(input) => input.ring.take_drops(),
        }
    }
}

fn process_port_answers(
    batch: &mut RecvBatch,
    index: usize,
    port: &UdpSocket,
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
                exchanges.handle_datagram(now_ns, index, datagram.octets);
            } else {
                exchanges.count_foreign();
            }
        }
    }
    Ok(())
}

impl RingInput {
    fn process_answers(&mut self, server: SocketAddr, exchanges: &mut Exchanges<'_>) {
        let Self { ring, port_indexes } = self;
        for _ in 0..LOOKS_PER_TURN {
            let waiting = ring.waiting(FRAMES_AT_ONCE);
            // The clock is read after these frames have come.
            let now_ns = Clock::mono_ns();
            ring.receive(waiting, |frame| {
                let index_of = |port: u16| port_indexes[usize::from(port)];
                let is_to_port = |_, to: SocketAddr| index_of(to.port()) != NO_PORT;
                let Some(datagrams) = FrameDatagrams::from_frame(frame, is_to_port) else { return };
                let index = usize::from(index_of(datagrams.destination.port()));
                for octets in datagrams.payloads() {
                    if datagrams.source == server {
                        exchanges.handle_datagram(now_ns, index, octets);
                    } else {
                        exchanges.count_foreign();
                    }
                }
            });
            if waiting < FRAMES_AT_ONCE {
                break;
            }
        }
    }
}
