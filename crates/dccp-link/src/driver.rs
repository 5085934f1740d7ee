//! DCCP endpoint without a thread, for a loop of the caller: wait, receive, stage packets in the
//! sockets' batches, flush.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::sync::Arc;

use dccp::connection::{Connection, ConnectionConfig, ConnectionEvent, ConnectionState, Role};
use dccp::endpoint::{
    Carrier, ConnectionKey, Endpoint, EndpointAnswerCounts, EndpointLimits, Listener, Occupancy,
    SipHashKey,
};
use dccp::header::ServiceCode;
use netio::{Clock, NetError, Waker, route};

use crate::DccpError;
use crate::carrier::{
    CarrierKind, CarrierOptions, Carriers, ConnectOptions, Peer, SocketWaiter, headers_bytes,
    is_link_local, packet_bytes_max, socket_address,
};

/// First ephemeral DCCP port of clients (RFC 6335 §6).
const EPHEMERAL_FIRST: u16 = 49_152;
/// Number of ephemeral ports that a client tries before [`Driver::connect`] fails.
const EPHEMERAL_TRIES: usize = 64;
/// Bytes reserved for options in a data packet over UDP. With 1,424 bytes of data and the header of
/// a DataAck they fill a frame of 1,500 bytes.
const UDP_OPTIONS_BYTES: usize = 24;
/// MTU in bytes that a listener's connections assume until their route has been looked up.
const MTU_BYTES: u32 = 1_500;

/// UDP port in look-ups of routes, which do not depend on the port.
const ANY_PORT: u16 = 9;
/// Largest number of failed connections that wait for [`Driver::poll_unreachable`].
const UNREACHABLE_MAX: usize = 1_024;
/// Error number `EMSGSIZE` of Linux: a packet is longer than the path permits.
const EMSGSIZE: i32 = 90;
/// Error number `ECONNREFUSED` of Linux: no program accepts the packet.
const ECONNREFUSED: i32 = 111;

/// DCCP endpoint with its sockets, moved by a loop of the caller instead of a thread. A turn of
/// its owner's loop calls [`Driver::wait`], [`Driver::receive`], [`Driver::poll_event`] until it
/// returns `None`, then [`Driver::deliver`] and `poll_event` until there is no datagram, then
/// [`Driver::stage`] as often as the applications have something to add, then [`Driver::flush`].
pub struct Driver {
    core: Endpoint,
    carriers: Carriers,
    sleeper: SocketWaiter,
    random: SipHashKey,
    drawn: u64,
    /// Count of connections at the time when unused UDP ports were last closed.
    counted: usize,
    unreachable: VecDeque<(ConnectionKey, io::Error)>,
}

impl Driver {
    /// Opens the sockets of an endpoint.
    ///
    /// # Errors
    ///
    /// Returns the error of the kernel, for instance for a taken port or a missing right.
    pub fn open(options: &CarrierOptions, limits: EndpointLimits) -> Result<Self, DccpError> {
        let carriers = Carriers::open(options)?;
        let waker = Waker::new().map_err(NetError::on("create", "an event descriptor"))?;
        let sleeper = carriers.sleeper(Arc::new(waker));
        let core = Endpoint::new(secret()?, limits);
        Ok(Self {
            core,
            carriers,
            sleeper,
            random: secret()?,
            drawn: 0,
            counted: 0,
            unreachable: VecDeque::new(),
        })
    }

    /// Returns the endpoint's local UDP port; `None` for another carrier.
    pub const fn udp_port(&self) -> Option<u16> {
        match self.carriers.kind() {
            CarrierKind::Udp { port } => Some(port),
            CarrierKind::Raw { .. } => None,
        }
    }

    /// Listens at the DCCP port `port` for these services.
    pub fn listen(
        &mut self,
        port: u16,
        config: &ConnectionConfig,
        service_codes: Vec<ServiceCode>,
    ) {
        self.start_listening(port, config, service_codes, false);
    }

    /// Listens at a DCCP port like [`Driver::listen`], but keeps no state of a client until its
    /// Init Cookie comes back (RFC 4340 §8.1.4); data on a Request is lost. Other listeners do so
    /// only while [`EndpointLimits::half_open`] clients have not answered, so that no flood of
    /// Requests fills the memory there either.
    pub fn listen_with_init_cookies(
        &mut self,
        port: u16,
        config: &ConnectionConfig,
        service_codes: Vec<ServiceCode>,
    ) {
        self.start_listening(port, config, service_codes, true);
    }

    fn start_listening(
        &mut self,
        port: u16,
        config: &ConnectionConfig,
        service_codes: Vec<ServiceCode>,
        uses_init_cookies: bool,
    ) {
        let any = if self.carriers.has_v6() { [0; 16].into() } else { [0; 4].into() };
        let config = self.adapted(config, any, MTU_BYTES);
        self.core.listen(port, Listener { config, service_codes, uses_init_cookies });
    }

    /// Stops listening at the DCCP port `port`; existing connections stay.
    pub fn stop_listening(&mut self, port: u16) {
        self.core.stop_listening(port);
    }

    /// Begins a connection to the server `peer` with `data` on its Request;
    /// [`ConnectionEvent::Connected`] reports that it is open.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no route or no room for the connection.
    pub fn connect(
        &mut self,
        peer: Peer,
        config: &ConnectionConfig,
        data: &[u8],
    ) -> Result<ConnectionKey, DccpError> {
        self.connect_with(peer, ConnectOptions::default(), config, data)
    }

    /// Begins a connection to the server `peer` with options: through a certain interface, or from
    /// a UDP port of its own.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Driver::connect`], and an error when a link-local address comes
    /// without its interface, or no port can be opened.
    pub fn connect_with(
        &mut self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
        data: &[u8],
    ) -> Result<ConnectionKey, DccpError> {
        if !self.carriers.has_family_of(peer.address) {
            return Err(DccpError::NoFamily(peer));
        }
        let scope = if is_link_local(peer.address) { options.scope } else { 0 };
        if is_link_local(peer.address) && scope == 0 {
            return Err(DccpError::NoScope(peer));
        }
        let route = route::to(socket_address(peer.address, ANY_PORT, scope))?;
        let carrier = match self.carriers.kind() {
            CarrierKind::Udp { port } => {
                let is_own = options.has_own_udp_port;
                let local_port =
                    if is_own { self.carriers.open_own_port(peer.address)? } else { port };
                Carrier::Udp { local_port, remote_port: peer.udp_port }
            }
            CarrierKind::Raw { .. } => Carrier::Ip,
        };
        let config = self.adapted(config, peer.address, route.mtu_bytes);
        let now_ns = Clock::mono_ns();
        for _ in 0..EPHEMERAL_TRIES {
            let local_port = self.ephemeral_port(now_ns);
            let (local, remote) = (route.local, peer.address);
            let key =
                ConnectionKey { local, remote, carrier, local_port, remote_port: peer.port, scope };
            if self.core.connect(now_ns, key, config.clone(), data) {
                self.carriers.assign(key);
                return Ok(key);
            }
        }
        self.close_unused_ports();
        Err(DccpError::TooMany)
    }

    /// Closes the UDP ports of single connections that are gone.
    fn close_unused_ports(&mut self) {
        let core = &self.core;
        let is_done = self.carriers.close_unused(|key| core.connection(key).is_some());
        // Ports that still have packets for the kernel are checked again.
        self.counted = if is_done { core.connections_count() } else { usize::MAX };
    }

    /// Returns the settings of a connection, adapted to its carrier and to the MTU of its path.
    fn adapted(
        &self,
        config: &ConnectionConfig,
        remote: IpAddr,
        mtu_bytes: u32,
    ) -> ConnectionConfig {
        let kind = self.carriers.kind();
        let mut config = config.clone();
        config.packet_bytes_max = packet_bytes_max(kind, remote, mtu_bytes);
        if let CarrierKind::Udp { .. } = kind {
            config.options_bytes = UDP_OPTIONS_BYTES;
            // UDP's checksum covers the whole packet (RFC 6773 §3.1).
            config.send_coverage = 0;
        }
        config
    }

    fn ephemeral_port(&mut self, now_ns: u64) -> u16 {
        self.drawn += 1;
        let seed = [now_ns.to_be_bytes(), self.drawn.to_be_bytes()].concat();
        EPHEMERAL_FIRST + (self.random.hash(&seed) % u64::from(u16::MAX - EPHEMERAL_FIRST)) as u16
    }

    /// Returns the waker of the endpoint, whose [`Waker::wake`] ends [`Driver::wait`].
    pub fn waker(&self) -> &Waker {
        self.sleeper.waker()
    }

    /// Waits until a packet arrives or a timer of a connection expires, at most until `until_ns` of
    /// the monotonic clock.
    ///
    /// # Errors
    ///
    /// Returns the error of `ppoll(2)`.
    pub fn wait(&self, until_ns: Option<u64>) -> Result<(), DccpError> {
        let deadline_ns = self.deadline_ns().into_iter().chain(until_ns).min();
        let timeout_ns = deadline_ns.map(|at_ns| at_ns.saturating_sub(Clock::mono_ns()));
        Ok(self.sleeper.wait(timeout_ns, !self.is_flushed())?)
    }

    /// Returns the time at which the next timer of a connection expires, in nanoseconds of the
    /// monotonic clock.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.core.poll_timeout()
    }

    pub(crate) fn sleeper(&self) -> SocketWaiter {
        self.sleeper.clone()
    }

    pub(crate) fn is_flushed(&self) -> bool {
        self.carriers.is_flushed()
    }

    /// Receives datagrams from the sockets, for [`Driver::deliver`], and handles timers that have
    /// expired. Returns the count of datagrams.
    pub fn receive(&mut self, now_ns: u64) -> usize {
        let count = self.carriers.receive();
        self.take_path_errors();
        if self.core.poll_timeout().is_some_and(|at_ns| at_ns <= now_ns) {
            self.core.handle_timeout(now_ns);
        }
        count
    }

    /// Passes the next received datagram to its connection. Returns false when there is none. The
    /// caller calls [`Driver::poll_event`] after each datagram; otherwise the connection finds its
    /// receive queue full and drops datagrams.
    pub fn deliver(&mut self, now_ns: u64) -> bool {
        self.carriers.deliver(now_ns, &mut self.core)
    }

    /// Handles errors that the network reports about sent packets: packets that were too long
    /// (RFC 4340 §14.1), and packets that no host accepts, which end a connection without an
    /// answer.
    fn take_path_errors(&mut self) {
        let (core, unreachable) = (&mut self.core, &mut self.unreachable);
        let kind = self.carriers.kind();
        self.carriers.path_errors(|error, quoted| {
            let remote = error.destination.ip();
            let is_too_long = error.cause.raw_os_error() == Some(EMSGSIZE);
            let bytes = packet_bytes_max(kind, remote, error.mtu_bytes);
            if is_too_long && quoted.is_empty() {
                // The local kernel knows the path and has not sent anything.
                let keys: Vec<_> = core.states().map(|(key, _)| key).collect();
                for key in keys.iter().filter(|key| key.remote == remote) {
                    core.with(key, |connection| connection.set_packet_bytes_max(bytes));
                }
                return;
            }
            let Some(&[l0, l1, r0, r1]) = quoted.first_chunk() else { return };
            let local_port = u16::from_be_bytes([l0, l1]);
            let remote_port = u16::from_be_bytes([r0, r1]);
            let connection = core.states().find(|(key, _)| {
                key.remote == remote
                    && key.local_port == local_port
                    && key.remote_port == remote_port
            });
            let Some((key, state)) = connection else { return };
            if is_too_long {
                core.with(&key, |connection| connection.handle_too_big(quoted, bytes));
            } else if state == ConnectionState::Request {
                // One report may stand for several packets: the kernel sends equal ones together
                // and quotes the first. No Request was accepted, so no peer needs a Reset.
                let code = error.cause.raw_os_error().unwrap_or(0);
                let is_of_one_port =
                    matches!(kind, CarrierKind::Raw { .. }) && code == ECONNREFUSED;
                let is_concerned = |other: &ConnectionKey| {
                    other.remote == remote && (!is_of_one_port || other.remote_port == remote_port)
                };
                let requests =
                    core.states().filter(|(_, state)| *state == ConnectionState::Request);
                let refused: Vec<_> = requests.map(|(key, _)| key).filter(is_concerned).collect();
                for key in refused {
                    if unreachable.len() < UNREACHABLE_MAX {
                        core.forget(&key);
                        unreachable.push_back((key, io::Error::from_raw_os_error(code)));
                    }
                }
            }
        });
    }

    /// Returns the next connection that could not be made because the network reported its peer as
    /// unreachable, with that error.
    pub fn poll_unreachable(&mut self) -> Option<(ConnectionKey, io::Error)> {
        self.unreachable.pop_front()
    }

    /// Removes and returns the next event of any connection, with its key.
    pub fn poll_event(&mut self) -> Option<(ConnectionKey, ConnectionEvent)> {
        let Some((key, event)) = self.core.poll_event() else {
            if self.core.connections_count() != self.counted {
                self.close_unused_ports();
            }
            return None;
        };
        if event == ConnectionEvent::Connected {
            self.look_up_path(&key);
        }
        Some((key, event))
    }

    /// Looks up the route of a server's connection when its client is connected, and sets the
    /// packet size that it permits.
    fn look_up_path(&mut self, key: &ConnectionKey) {
        let is_server = self.core.connection(key).is_some_and(|c| c.role() == Role::Server);
        if !is_server {
            return;
        }
        if let Ok(route) = route::to(socket_address(key.remote, ANY_PORT, key.scope)) {
            let bytes = packet_bytes_max(self.carriers.kind(), key.remote, route.mtu_bytes);
            self.core.with(key, |connection| connection.set_packet_bytes_max(bytes));
        }
    }

    /// Moves packets that may leave from the connections into the batches of the sockets. Returns
    /// their count: 0 when there are none, or [`Driver::flush`] must come first.
    pub fn stage(&mut self, now_ns: u64) -> usize {
        self.carriers.stage(now_ns, &mut self.core)
    }

    /// Passes the staged packets to the kernel. Returns false when the kernel did not accept all of
    /// them; [`Driver::wait`] then waits for room.
    pub fn flush(&mut self) -> bool {
        self.carriers.flush();
        self.carriers.is_flushed()
    }

    /// Returns the connection with this key, read-only.
    #[must_use]
    pub fn connection(&self, key: &ConnectionKey) -> Option<&Connection> {
        self.core.connection(key)
    }

    /// Calls `act` with the connection of this key, for instance to send or close; returns its
    /// result.
    pub fn with<T>(
        &mut self,
        key: &ConnectionKey,
        act: impl FnOnce(&mut Connection) -> T,
    ) -> Option<T> {
        self.core.with(key, act)
    }

    /// Takes back the memory of a datagram from [`ConnectionEvent::Received`]. Later datagrams
    /// reuse it, without an allocation.
    pub fn recycle(&mut self, key: &ConnectionKey, datagram: Vec<u8>) {
        self.core.recycle(key, datagram);
    }

    /// Returns the keys and states of all connections.
    pub fn states(&self) -> impl Iterator<Item = (ConnectionKey, ConnectionState)> {
        self.core.states()
    }

    /// Returns the count of the endpoint's connections in any state.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.core.connections_count()
    }

    /// Returns counts of what the endpoint's core holds now: connections, Resets, cookies, queued
    /// items.
    pub fn occupancy(&self) -> Occupancy {
        self.core.occupancy()
    }

    /// Returns the counts of packets that belonged to no connection, by the endpoint's answer.
    pub const fn answers(&self) -> &EndpointAnswerCounts {
        self.core.answers()
    }

    /// Returns the count of packets that the kernel refused to send; they are lost as on the
    /// network.
    pub fn refused_packets(&self) -> u64 {
        self.carriers.unsent().refused
    }

    /// Returns the number of bytes before the DCCP header in a packet to the other end of `key`.
    pub const fn headers_bytes(&self, key: &ConnectionKey) -> usize {
        headers_bytes(self.carriers.kind(), key.remote)
    }
}

/// Returns a secret key of random words from the kernel.
fn secret() -> Result<SipHashKey, NetError> {
    let mut octets = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut octets))
        .map_err(NetError::on("read", "/dev/urandom"))?;
    let (words, _) = octets.as_chunks::<8>();
    Ok(SipHashKey::new([u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1])]))
}
