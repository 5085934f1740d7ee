//! Carriers of DCCP packets: a socket for each address family, with its batches.

mod own_ports;
mod socket;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use dccp::connection::Transmit;
use dccp::endpoint::{ConnectionKey, Endpoint};
use netio::path_error::PathError;
use netio::{NetError, PollFd, ReadyList, Waker, poll};

use own_ports::OwnPorts;
use socket::{AddressFamilySocket, CarrierSocket};

pub use netio::ScopedAddress;
pub(crate) use netio::scoped::{is_link_local, socket_address};

/// Default UDP port of DCCP servers (RFC 6773 §3.8).
pub const UDP_PORT: u16 = 6_511;
/// Longest packet in bytes, counted from the DCCP header on; it permits jumbo frames.
pub(crate) const PACKET_BYTES_MAX: usize = 9_000;
/// Largest number of errors reported by the network (ICMP) that one turn of the endpoint's loop
/// handles per socket.
const PATH_ERRORS_MAX: usize = 16;
/// Largest number of packets that are moved into the send batches between two checks for received
/// packets.
const STAGED_MAX: usize = 512;

/// Carrier of an endpoint's packets: UDP or IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierKind {
    /// DCCP inside of UDP (RFC 6773), which needs no privilege.
    Udp {
        /// Local UDP port of the endpoint; 0 lets the kernel choose one.
        port: u16,
    },
    /// DCCP as IP protocol 33, which needs the right to raw sockets (`CAP_NET_RAW`).
    Raw {
        /// True if the endpoint answers packets to DCCP ports without a listener with a Reset. Only
        /// one process of a host may do so, because each process gets all packets; the others'
        /// connections would be reset.
        answers_all_ports: bool,
    },
}

/// Options of the sockets that carry an endpoint's packets.
#[derive(Clone, Debug)]
pub struct CarrierOptions {
    /// Carrier of the endpoint's packets: UDP or IP.
    pub kind: CarrierKind,
    /// Local addresses of the endpoint, at most one per address family; an unspecified one means
    /// all.
    pub addresses: Vec<IpAddr>,
    /// Index of the network interface of link-local addresses ([`ScopedAddress`]); 0 without such
    /// addresses.
    pub scope: u32,
    /// Size of each socket buffer, in bytes of kernel memory.
    pub buffer_bytes: usize,
}

impl CarrierOptions {
    /// Returns options for an endpoint at all local addresses of both families.
    pub fn new(kind: CarrierKind) -> Self {
        let addresses = vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        Self { kind, addresses, scope: 0, buffer_bytes: 4 << 20 }
    }

    /// Returns options for a client that connects to `address`: one socket of the address's family.
    pub fn towards(kind: CarrierKind, address: IpAddr) -> Self {
        let any = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        Self { addresses: vec![any], ..Self::new(kind) }
    }
}

/// Address and ports of the other end of a future connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// IP address of the peer.
    pub address: IpAddr,
    /// DCCP port of the peer.
    pub port: u16,
    /// UDP port of the peer; without meaning for the carrier IP.
    pub udp_port: u16,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.address, self.port)
    }
}

/// Options of one connection of a client: its interface and its UDP port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Index of the network interface of a link-local peer address ([`ScopedAddress`]); without
    /// meaning for other addresses.
    pub scope: u32,
    /// True if the connection gets its own UDP port instead of the endpoint's (RFC 6773 allows
    /// both). Then routers and receiving hosts that spread flows by their ports spread connections.
    /// It takes a descriptor and 300 KiB until TIMEWAIT is over, and small batches cost more
    /// processor time. Without meaning over IP.
    pub has_own_udp_port: bool,
}

/// Counts of packets that an endpoint's sockets lost, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostPackets {
    /// Count of packets that the kernel refused to send; they are lost as on the network.
    pub refused: u64,
    /// Count of received packets that were longer than a receive slot.
    pub truncated: u64,
}

/// Sockets of an endpoint, with the batches of their packets.
pub(crate) struct Carriers {
    sockets: Vec<AddressFamilySocket>,
    dedicated_ports: OwnPorts,
    kind: CarrierKind,
    buffer_bytes: usize,
    scratch: Box<[u8]>,
}

impl Carriers {
    pub(crate) fn open(options: &CarrierOptions) -> Result<Self, NetError> {
        let mut sockets = Vec::with_capacity(2);
        let mut kind = options.kind;
        for &address in &options.addresses {
            let socket =
                match AddressFamilySocket::open(kind, address, options.scope, options.buffer_bytes)
                {
                    Ok(socket) => socket,
                    // A host without IPv6 can still use IPv4.
                    Err(error) if !sockets.is_empty() && is_family_missing(error.cause()) => {
                        continue;
                    }
                    Err(error) => return Err(error),
                };
            if let (CarrierKind::Udp { port }, Some(bound)) = (&mut kind, socket.udp_port()) {
                // The second family takes the port that the kernel chose for the first.
                *port = bound;
            }
            sockets.push(socket);
        }
        assert!(!sockets.is_empty(), "an endpoint has at least one address");
        let scratch = vec![0; PACKET_BYTES_MAX].into_boxed_slice();
        let own = OwnPorts::new()?;
        Ok(Self {
            sockets,
            dedicated_ports: own,
            kind,
            buffer_bytes: options.buffer_bytes,
            scratch,
        })
    }

    /// Opens a UDP socket with its own port for one connection to `address`; [`Carriers::assign`]
    /// sets the connection.
    pub(crate) fn open_own_port(&mut self, address: IpAddr) -> Result<u16, NetError> {
        let socket = self.sockets.iter().find(|socket| socket.is_v4() == address.is_ipv4());
        let socket = socket.expect("its family was asked for before");
        self.dedicated_ports.insert(socket.open_another(self.buffer_bytes)?)
    }

    /// Sets the connection for which [`Carriers::open_own_port`] opened a UDP port.
    pub(crate) fn assign(&mut self, key: ConnectionKey) {
        self.dedicated_ports.assign(key);
    }

    /// Closes the UDP ports of single connections that are gone. Returns false when such a port
    /// still has packets to send.
    pub(crate) fn close_unused(&mut self, is_there: impl Fn(&ConnectionKey) -> bool) -> bool {
        self.dedicated_ports.is_empty() || self.dedicated_ports.sweep(is_there)
    }

    pub(crate) const fn kind(&self) -> CarrierKind {
        self.kind
    }

    pub(crate) fn has_family_of(&self, address: IpAddr) -> bool {
        self.sockets.iter().any(|socket| socket.is_v4() == address.is_ipv4())
    }

    pub(crate) fn has_v6(&self) -> bool {
        self.has_family_of(Ipv6Addr::UNSPECIFIED.into())
    }

    pub(crate) fn unsent(&self) -> LostPackets {
        let mut sum = LostPackets::default();
        for socket in self.sockets.iter().chain(self.dedicated_ports.sockets()) {
            sum.refused += socket.send.counts().refused;
            sum.truncated += socket.receive.truncated();
        }
        sum
    }

    /// Receives the datagrams that wait in the endpoint's sockets. Returns their count.
    pub(crate) fn receive(&mut self) -> usize {
        self.sockets.iter_mut().map(AddressFamilySocket::receive).sum::<usize>()
            + self.dedicated_ports.receive()
    }

    /// Passes the next datagram that [`Carriers::receive`] received to the endpoint's core. Returns
    /// false when there is none.
    pub(crate) fn deliver(&mut self, now_ns: u64, core: &mut Endpoint) -> bool {
        let kind = self.kind;
        let shared = self.sockets.iter_mut().find_map(AddressFamilySocket::next);
        let Some(datagram) = shared.or_else(|| self.dedicated_ports.next()) else { return false };
        if let Some((key, ecn, octets)) = datagram {
            let is_ours = match kind {
                CarrierKind::Raw { answers_all_ports: false } => concerns(core, key, octets),
                _ => true,
            };
            if is_ours {
                core.handle_datagram(now_ns, key, ecn, octets);
            }
        }
        true
    }

    /// Calls `take` with errors that the network reports about sent packets (ICMP), at most
    /// [`PATH_ERRORS_MAX`] per socket.
    pub(crate) fn path_errors(&mut self, mut take: impl FnMut(PathError, &[u8])) {
        for socket in &self.sockets {
            for _ in 0..PATH_ERRORS_MAX {
                let Some(error) = socket.path_error(&mut self.scratch) else { break };
                let quoted_len = error.quoted_len;
                take(error, &self.scratch[..quoted_len]);
            }
        }
        for _ in 0..PATH_ERRORS_MAX {
            let Some(error) = self.dedicated_ports.path_error(&mut self.scratch) else { break };
            let quoted_len = error.quoted_len;
            take(error, &self.scratch[..quoted_len]);
        }
    }

    /// Moves packets that may leave from the endpoint's core into the batches of the sockets.
    /// Returns their count. It is less than the core has when a batch is full: [`Carriers::flush`]
    /// makes room.
    pub(crate) fn stage(&mut self, now_ns: u64, core: &mut Endpoint) -> usize {
        let mut count = 0;
        while count < STAGED_MAX
            && self.sockets.iter().all(AddressFamilySocket::has_room)
            && self.dedicated_ports.has_room()
        {
            let Some((key, transmit)) = core.poll_transmit(now_ns, &mut self.scratch) else {
                break;
            };
            let Transmit { len, is_ecn_capable } = transmit;
            count += 1;
            let packet = &self.scratch[..len];
            if self.dedicated_ports.commit(&key, packet, is_ecn_capable) {
                continue;
            }
            let socket =
                self.sockets.iter_mut().find(|socket| socket.is_v4() == key.remote.is_ipv4());
            if let Some(socket) = socket {
                socket.commit(&key, packet, is_ecn_capable);
            }
        }
        count
    }

    /// Passes the staged packets to the kernel, as far as it accepts them.
    pub(crate) fn flush(&mut self) {
        for socket in &mut self.sockets {
            socket.flush();
        }
        self.dedicated_ports.flush();
    }

    /// Returns the sockets for which the endpoint's thread waits, without their batches.
    pub(crate) fn sleeper(&self, waker: Arc<Waker>) -> SocketWaiter {
        let sockets = self.sockets.iter().map(|socket| Arc::clone(&socket.socket)).collect();
        SocketWaiter { sockets, own: Arc::clone(&self.dedicated_ports.list), waker }
    }

    /// Returns true if the kernel has accepted all staged packets of the endpoint.
    pub(crate) fn is_flushed(&self) -> bool {
        self.sockets.iter().all(|socket| socket.send.is_empty())
            && self.dedicated_ports.is_flushed()
    }
}

/// Sockets of an endpoint for which a thread waits, without their batches.
#[derive(Clone)]
pub(crate) struct SocketWaiter {
    sockets: Vec<Arc<CarrierSocket>>,
    own: Arc<ReadyList>,
    waker: Arc<Waker>,
}

impl SocketWaiter {
    /// Waits until a packet arrives, the waker is called, a socket has room (with `wants_room`), or
    /// `timeout_ns` has passed.
    pub(crate) fn wait(&self, timeout_ns: Option<u64>, wants_room: bool) -> Result<(), NetError> {
        let (first, last) = (&self.sockets[0], &self.sockets[self.sockets.len() - 1]);
        let mut fds = [
            first.poll_fd(wants_room),
            last.poll_fd(wants_room),
            PollFd::readable(&*self.waker),
            PollFd::readable(&*self.own),
        ];
        poll(&mut fds, timeout_ns).map_err(NetError::on("wait for", "sockets"))?;
        if fds[2].is_readable() {
            self.waker.drain();
        }
        Ok(())
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }
}

/// Returns true if a packet over IP is for a connection or a listening port of this endpoint.
fn concerns(core: &Endpoint, addresses: ConnectionKey, octets: &[u8]) -> bool {
    let Some(&[s0, s1, d0, d1]) = octets.first_chunk() else { return false };
    core.concerns(&ConnectionKey {
        local_port: u16::from_be_bytes([d0, d1]),
        remote_port: u16::from_be_bytes([s0, s1]),
        ..addresses
    })
}

fn is_family_missing(error: &io::Error) -> bool {
    // EAFNOSUPPORT and EADDRNOTAVAIL of Linux.
    matches!(error.raw_os_error(), Some(97 | 99))
}

/// Returns the number of bytes before the DCCP header of a packet: IP header, and UDP header if
/// any.
pub(crate) const fn headers_bytes(kind: CarrierKind, address: IpAddr) -> usize {
    let ip_bytes = if address.is_ipv4() { 20 } else { 40 };
    match kind {
        CarrierKind::Udp { .. } => ip_bytes + 8,
        CarrierKind::Raw { .. } => ip_bytes,
    }
}

/// Returns the largest packet in bytes, counted from the DCCP header on, that a path with this MTU
/// permits.
pub(crate) fn packet_bytes_max(kind: CarrierKind, address: IpAddr, mtu_bytes: u32) -> usize {
    let mtu_bytes = mtu_bytes as usize;
    mtu_bytes.saturating_sub(headers_bytes(kind, address)).min(PACKET_BYTES_MAX)
}
