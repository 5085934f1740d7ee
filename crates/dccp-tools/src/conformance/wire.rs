//! Sockets of the conformance suite: they send and receive bytes from the DCCP header on,
//! unchanged. [`super::peer`] interprets them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dccp::header::checksum::PROTOCOL;
use dccp::header::{DccpPacket, Integrity};
use dccp_link::ScopedAddress;
use netio::{
    Clock, NetError, PollFd, RawOptions, RawSocket, RecvBatch, SendBatch, UdpOptions, UdpSocket,
    poll, route,
};

use super::answer::{TargetPacket, describe};
use super::verdict::{CaseStopReason, Judged, PacketLogLine};
use crate::options::CarrierName;

/// Largest size of a packet of either side, in bytes.
const PACKET_BYTES_MAX: usize = 9_000;
/// Longest IPv4 header, in bytes.
const IP_HEADER_MAX: usize = 60;
/// Largest number of datagrams that one system call receives.
const SLOTS: usize = 64;
/// First DCCP port of clients (RFC 6335 §6).
const PORT_FIRST: u16 = 49_152;
/// Number of choices for the first DCCP port of a run, so that some thousands of ports remain after
/// it.
const PORT_CHOICES: u64 = 12_000;
/// Number of DCCP ports reserved for a run: more than a run of all cases uses.
const PORTS_PER_RUN: u64 = 1_000;
/// Size of a raw socket's buffers in bytes, for packets that a target sends while the suite is
/// busy.
const BUFFER_BYTES: usize = 1 << 20;

/// Target of the conformance suite: a DCCP implementation under test, with its addresses and its
/// carrier (UDP or IP).
#[derive(Clone, Copy, Debug)]
pub struct ConformanceTarget {
    /// IP address of the target.
    pub address: IpAddr,
    /// Index of the network interface to the target, if its address is link-local; 0 otherwise.
    pub scope: u32,
    /// DCCP port at which the target listens.
    pub port: u16,
    /// UDP port of the target; without meaning over IP.
    pub udp_port: u16,
    /// Carrier of the packets between suite and target.
    pub carrier: CarrierName,
}

impl ConformanceTarget {
    /// Returns the address of the target with its network interface.
    pub const fn scoped(&self) -> ScopedAddress {
        ScopedAddress { address: self.address, scope: self.scope }
    }
}

enum UdpOrRawSocket {
    Udp(UdpSocket),
    Raw(RawSocket),
}

/// Socket of the suite to the target. Over UDP there may be several, each with its own UDP port.
struct TargetSocket {
    socket: UdpOrRawSocket,
    receive: RecvBatch,
    send: SendBatch,
    udp_port: u16,
}

impl TargetSocket {
    fn open(target: &ConformanceTarget, local: IpAddr) -> Result<Self, NetError> {
        let (socket, udp_port) = match target.carrier {
            CarrierName::Udp => {
                let any = match local {
                    IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
                    IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
                };
                let bind = SocketAddr::new(any, 0);
                let socket = UdpSocket::open(&UdpOptions::at(bind))?;
                let failed = NetError::on("get the address of", "a UDP socket");
                let port = socket.local_address().map_err(failed)?.port();
                (UdpOrRawSocket::Udp(socket), port)
            }
            // Bound to its own address, it does not receive packets for a target on the same host.
            CarrierName::Raw => {
                let options = RawOptions {
                    bind: local,
                    protocol: PROTOCOL,
                    receive_buffer_bytes: BUFFER_BYTES,
                    send_buffer_bytes: BUFFER_BYTES,
                };
                (UdpOrRawSocket::Raw(RawSocket::open_in_scope(&options, target.scope)?), 0)
            }
        };
        let receive = RecvBatch::new(SLOTS, PACKET_BYTES_MAX + IP_HEADER_MAX);
        let send = SendBatch::new(1, PACKET_BYTES_MAX, false);
        Ok(Self { socket, receive, send, udp_port })
    }

    fn send(&mut self, octets: &[u8], destination: SocketAddr) {
        let slot = self.send.slot().expect("the batch is flushed after each datagram");
        slot[..octets.len()].copy_from_slice(octets);
        self.send.commit(octets.len(), destination, None);
        match &self.socket {
            UdpOrRawSocket::Udp(socket) => self.send.flush(socket),
            UdpOrRawSocket::Raw(socket) => self.send.flush(socket),
        };
        // A packet that the kernel refuses is lost, as on the network; its answer will be missing.
        self.send.discard();
    }

    fn fd(&self) -> PollFd<'_> {
        match &self.socket {
            UdpOrRawSocket::Udp(socket) => PollFd::readable(socket),
            UdpOrRawSocket::Raw(socket) => PollFd::readable(socket),
        }
    }
}

/// Sockets of the suite to the target, and the packets that they received.
pub(super) struct TargetTransport {
    pub(super) target: ConformanceTarget,
    pub(super) local: IpAddr,
    sockets: Vec<TargetSocket>,
    inbox: VecDeque<TargetPacket>,
    /// Packets that the running case has sent and received, for the report.
    log: Vec<PacketLogLine>,
    /// Range of DCCP ports that connections of the suite have or had.
    ports: Range<u16>,
}

impl TargetTransport {
    pub(super) fn open(target: ConformanceTarget) -> Result<Self, NetError> {
        let local = route::to(target.scoped().with_port(9))?.local;
        let sockets = vec![TargetSocket::open(&target, local)?];
        let first = first_port();
        let (inbox, log) = (VecDeque::new(), Vec::new());
        Ok(Self { target, local, sockets, inbox, log, ports: first..first })
    }

    /// Opens a socket with another local UDP port. Returns the socket's index.
    pub(super) fn open_another_socket(&mut self) -> Result<usize, NetError> {
        self.sockets.push(TargetSocket::open(&self.target, self.local)?);
        Ok(self.sockets.len() - 1)
    }

    /// Returns the local UDP port of the socket `socket_index`; 0 over IP.
    pub(super) fn udp_port(&self, socket_index: usize) -> u16 {
        self.sockets[socket_index].udp_port
    }

    /// Returns the protection of packets to the target, which decides how checksums are computed.
    pub(super) const fn integrity(&self) -> Integrity {
        match self.target.carrier {
            CarrierName::Udp => Integrity::Carrier,
            CarrierName::Raw => {
                Integrity::Addresses { source: self.local, destination: self.target.address }
            }
        }
    }

    pub(super) fn send(&mut self, socket_index: usize, octets: &[u8]) {
        self.log.push(PacketLogLine::sent(describe(octets)));
        let port = match self.target.carrier {
            CarrierName::Udp => self.target.udp_port,
            CarrierName::Raw => 0,
        };
        self.sockets[socket_index].send(octets, self.target.scoped().with_port(port));
    }

    /// Returns the next packet of the target to the DCCP port `port` through the socket; `None`
    /// when none arrives until `deadline`.
    pub(super) fn receive(
        &mut self,
        socket_index: usize,
        port: u16,
        deadline: Instant,
    ) -> Judged<Option<TargetPacket>> {
        loop {
            let is_ours = |answer: &TargetPacket| {
                answer.socket_index == socket_index && answer.header.destination_port == port
            };
            if let Some(at) = self.inbox.iter().position(is_ours) {
                let answer = self.inbox.remove(at).expect("its position was just found");
                self.log.push(PacketLogLine::received(answer.to_string()));
                return Ok(Some(answer));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.fill(left)? {
                return Ok(None);
            }
        }
    }

    /// Receives packets of the target that arrive within `timeout`. Returns false when none
    /// arrives.
    fn fill(&mut self, timeout: Duration) -> Judged<bool> {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let mut fds: Vec<_> = self.sockets.iter().map(TargetSocket::fd).collect();
        let ready =
            poll(&mut fds, Some(timeout_ns)).map_err(NetError::on("wait for", "sockets"))?;
        drop(fds);
        if ready == 0 {
            return Ok(false);
        }
        let integrity = self.integrity().reversed();
        let is_raw_v4 = self.target.carrier == CarrierName::Raw && self.local.is_ipv4();
        for (number, target_socket) in self.sockets.iter_mut().enumerate() {
            // Errors that are reported here concern earlier packets.
            let _ = match &target_socket.socket {
                UdpOrRawSocket::Udp(socket) => target_socket.receive.receive(socket),
                UdpOrRawSocket::Raw(socket) => target_socket.receive.receive(socket),
            };
            for datagram in target_socket.receive.iter() {
                if datagram.source.ip() != self.target.address {
                    continue;
                }
                let (ecn, octets) =
                    if is_raw_v4 { split_ip(datagram.octets) } else { (None, datagram.octets) };
                if !has_port_of(&self.ports, octets) {
                    continue;
                }
                match DccpPacket::parse(octets, integrity) {
                    Ok(packet) => {
                        self.inbox.push_back(TargetPacket::new(number, octets, ecn, &packet))
                    }
                    Err(reason) => {
                        let came = format!("{} ({reason})", describe(octets));
                        return Err(CaseStopReason::failed(
                            "well-formed packets from the target",
                            came,
                        ));
                    }
                }
            }
        }
        Ok(true)
    }

    /// Returns the packets that the running case has sent and received so far, and forgets them.
    pub(super) fn take_log(&mut self) -> Vec<PacketLogLine> {
        self.inbox.clear();
        core::mem::take(&mut self.log)
    }

    /// Returns a DCCP port that no connection of the suite has used.
    pub(super) const fn take_port(&mut self) -> u16 {
        let port = self.ports.end;
        self.ports.end += 1;
        port
    }
}

/// Returns the first DCCP port of a run. The port differs between runs, because a target may still
/// have state of an earlier run, of this process or of another one.
fn first_port() -> u16 {
    static START: OnceLock<u64> = OnceLock::new();
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let start = START.get_or_init(|| Clock::mono_ns() / 1_000_000);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    PORT_FIRST + (start.wrapping_add(run * PORTS_PER_RUN) % PORT_CHOICES) as u16
}

/// Returns true if a packet is for a DCCP port of the suite. Over IP on one host every socket gets
/// all packets.
fn has_port_of(ports: &Range<u16>, octets: &[u8]) -> bool {
    octets.get(2..4).is_some_and(|port| ports.contains(&u16::from_be_bytes([port[0], port[1]])))
}

/// Returns the ECN bits of an IPv4 header, and the bytes of the packet after the header.
fn split_ip(packet: &[u8]) -> (Option<u8>, &[u8]) {
    let Some(&[first, service, ..]) = packet.first_chunk::<2>() else { return (None, &[]) };
    let header_len = usize::from(first & 0xf) * 4;
    (Some(service & 3), packet.get(header_len..).unwrap_or(&[]))
}
