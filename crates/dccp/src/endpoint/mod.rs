//! DCCP endpoint with many connections: selection of the connection for each packet (RFC 4340 §8.5
//! steps 2 and 3), listeners, limits, and Resets for packets that belong to no connection (§8.3.1).
//!
//! The owner passes datagrams to [`Endpoint::handle_datagram`], and then calls
//! [`Endpoint::poll_transmit`] and [`Endpoint::poll_event`] until they return `None`.

mod cookie;
mod key;
mod keyed;
mod occupancy;
mod timeouts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::connection::{
    Connection, ConnectionConfig, ConnectionEvent, ConnectionState, Ecn, Transmit,
    reply_without_connection,
};
use crate::header::{
    DccpHeader, DccpPacket, DccpPacketDefect, PacketType, Reset, ResetCode, ServiceCode,
};
use crate::option::{DccpOption, DccpOptionIterator};
use crate::sequence::SequenceNumber;

pub use key::{Carrier, ConnectionKey};
pub use keyed::SipHashKey;
pub use occupancy::{EndpointAnswerCounts, Occupancy};

use cookie::{Cookie, UsedCookies};
use timeouts::{ConnectionDueTime, Timeouts};

/// Largest number of Resets, and of stateless Responses (with an Init Cookie), that wait to be sent
/// at an endpoint.
const REPLIES_MAX: usize = 64;
/// Largest number of Init Cookies that an endpoint remembers as spent. If this many are spent while
/// a cookie is on its way to its client and back, that cookie is refused. Each takes some 30 bytes.
const SPENT_COOKIES_MAX: usize = 65_536;
/// Nanoseconds per second.
const SECOND_NS: u64 = 1_000_000_000;

/// Limits of an endpoint's connections and Resets.
#[derive(Clone, Copy, Debug)]
pub struct EndpointLimits {
    /// Largest number of connections at once, in any state. When there are more, the endpoint drops
    /// the connection that has been in TIMEWAIT for longest for a new one.
    pub connections: usize,
    /// Largest number of half-open connections: their client has not answered the Response yet.
    /// When there are more, the endpoint answers further Requests with Init Cookies and keeps
    /// neither state nor data of them (RFC 4340 §8.1.4).
    pub half_open: usize,
    /// Largest number of Resets per second that answer packets without a connection
    /// (RFC 4340 §8.3.1).
    pub resets_per_s: u32,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self { connections: 65_536, half_open: 1_024, resets_per_s: 1_024 }
    }
}

/// Port that accepts connections: their settings and services.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Settings of the connections that the listener accepts; each gets the service code that its
    /// client requested.
    pub config: ConnectionConfig,
    /// Service codes that the listener accepts (RFC 4340 §8.1.2); it refuses Requests for others.
    pub service_codes: Vec<ServiceCode>,
    /// True if the listener answers every Request with an Init Cookie and keeps no state of it
    /// (RFC 4340 §8.1.4).
    pub uses_init_cookies: bool,
}

/// Connection of an endpoint, with its entries in the lists of [`Endpoint`].
#[derive(Debug)]
struct ConnectionSlot {
    connection: Connection,
    /// Time at which the connection's next timer expires, and its entry in [`Endpoint::timeouts`].
    due: ConnectionDueTime,
    /// True if the connection's key is in the queue [`Endpoint::ready`]; the next field is true if
    /// it is in [`Endpoint::noisy`].
    is_ready: bool,
    is_noisy: bool,
}

/// All connections at a set of local addresses, with the ports that accept further connections.
///
/// The endpoint reads no clock and sends nothing itself. Its methods are of the four kinds of a
/// [`Connection`]'s:
///
/// - **Input**: [`Endpoint::handle_datagram`] for each datagram that arrived,
///   [`Endpoint::handle_timeout`] when the time of [`Endpoint::poll_timeout`] has come.
/// - **Application calls**: [`Endpoint::listen`], [`Endpoint::stop_listening`],
///   [`Endpoint::connect`], [`Endpoint::with`] for the calls of one connection,
///   [`Endpoint::recycle`], [`Endpoint::forget`].
/// - **Output**, fetched until it is `None`: [`Endpoint::poll_transmit`] and
///   [`Endpoint::poll_event`], each with the connection that it concerns.
/// - **Queries**: [`Endpoint::connection`], [`Endpoint::states`], [`Endpoint::occupancy`] and the
///   others.
///
/// After inputs and application calls the owner fetches all packets and all events, again as long
/// as either brought something, and then waits for a datagram or for the next timeout. Only
/// connections that something happened to are visited, so a turn costs as much as its packets,
/// whatever the number of connections. Times are nanoseconds of one monotonic clock.
#[derive(Debug)]
pub struct Endpoint {
    /// Secret key of the hashes that make first sequence numbers and seal Init Cookies.
    secret: SipHashKey,
    /// Limits of the endpoint's connections and Resets.
    limits: EndpointLimits,
    /// Listeners of the endpoint, by DCCP port.
    listeners: BTreeMap<u16, Listener>,
    /// All connections of the endpoint, those in TIMEWAIT included.
    slots: BTreeMap<ConnectionKey, ConnectionSlot>,
    /// Next timeouts of all connections, the earliest first.
    timeouts: Timeouts,
    /// Connections that may have packets to send, in the order of their changes.
    ready: VecDeque<ConnectionKey>,
    /// Connections that may have events to report, in the order of their changes.
    noisy: VecDeque<ConnectionKey>,
    /// Connections whose timers have expired; the list's memory is reused.
    due: Vec<ConnectionKey>,
    /// Half-open connections: their client has not answered the Response yet.
    half_open: BTreeSet<ConnectionKey>,
    /// Connections in TIMEWAIT, ordered by the time at which that state ends.
    time_wait: BTreeSet<(u64, ConnectionKey)>,
    /// Resets that wait to be sent, for packets that belong to no connection.
    replies: VecDeque<(ConnectionKey, DccpHeader)>,
    /// Responses with an Init Cookie that wait to be sent; the endpoint keeps no connection for
    /// them.
    stateless: VecDeque<(ConnectionKey, Vec<u8>)>,
    /// Init Cookies from which a connection was made, so that each makes only one.
    spent_cookies: UsedCookies,
    /// Second of the clock in which `resets_count` Resets were sent, for the limit of Resets per
    /// second.
    resets_second: u64,
    /// Count of Resets sent in the second `resets_second`.
    resets_count: u32,
    /// Counts of packets that belonged to no connection, by the endpoint's answer.
    answers: EndpointAnswerCounts,
    /// Counts of malformed packets, by reason in the order of [`DccpPacketDefect::ALL`].
    malformed: [u64; DccpPacketDefect::ALL.len()],
}

impl Endpoint {
    /// Returns an endpoint without connections and listeners. `secret` must be drawn anew for each
    /// process.
    pub fn new(secret: SipHashKey, limits: EndpointLimits) -> Self {
        Self {
            secret,
            limits,
            listeners: BTreeMap::new(),
            slots: BTreeMap::new(),
            timeouts: Timeouts::default(),
            ready: VecDeque::new(),
            noisy: VecDeque::new(),
            due: Vec::new(),
            half_open: BTreeSet::new(),
            time_wait: BTreeSet::new(),
            replies: VecDeque::new(),
            stateless: VecDeque::new(),
            spent_cookies: UsedCookies::default(),
            resets_second: 0,
            resets_count: 0,
            answers: EndpointAnswerCounts::default(),
            malformed: [0; DccpPacketDefect::ALL.len()],
        }
    }

    /// Accepts connections at the DCCP port `port` from now on.
    pub fn listen(&mut self, port: u16, listener: Listener) {
        self.listeners.insert(port, listener);
    }

    /// Stops accepting connections at the DCCP port `port`; existing connections stay.
    pub fn stop_listening(&mut self, port: u16) {
        self.listeners.remove(&port);
    }

    /// Begins a connection as a client, with `data` on its Request. Returns false when there is one
    /// between these ports, or the limit is reached.
    pub fn connect(
        &mut self,
        now_ns: u64,
        key: ConnectionKey,
        config: ConnectionConfig,
        data: &[u8],
    ) -> bool {
        if self.slots.contains_key(&key) || !self.make_room() {
            return false;
        }
        let iss = self.first_number(now_ns, &key);
        let connection = Connection::connect(now_ns, key.path(), config, iss, data);
        self.insert(key, connection);
        true
    }

    /// Returns the count of the endpoint's connections in any state.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the counts of packets that belonged to no connection, by the endpoint's answer.
    pub const fn answers(&self) -> &EndpointAnswerCounts {
        &self.answers
    }

    /// Returns counts of what the endpoint holds now: connections, Resets, cookies, queued items;
    /// visits every connection.
    pub fn occupancy(&self) -> Occupancy {
        let queued = || self.slots.values().map(|slot| slot.connection.queued_count());
        Occupancy {
            connections: self.slots.len(),
            half_open: self.half_open.len(),
            time_wait: self.time_wait.len(),
            replies: self.replies.len() + self.stateless.len(),
            spent_cookies: self.spent_cookies.len(),
            queued: queued().sum(),
            queued_at_one: queued().max().unwrap_or(0),
        }
    }

    /// Returns the counts of malformed packets at the endpoint, by reason in the order of
    /// [`DccpPacketDefect::ALL`].
    pub const fn malformed_counts(&self) -> &[u64; DccpPacketDefect::ALL.len()] {
        &self.malformed
    }

    /// Returns true if the endpoint has a connection or a listener for a packet with this key.
    pub fn concerns(&self, key: &ConnectionKey) -> bool {
        self.listeners.contains_key(&key.local_port) || self.slots.contains_key(key)
    }

    /// Returns the keys and states of all connections.
    pub fn states(&self) -> impl Iterator<Item = (ConnectionKey, ConnectionState)> {
        self.slots.iter().map(|(key, slot)| (*key, slot.connection.state()))
    }

    /// Returns the connection with this key, read-only.
    #[must_use]
    pub fn connection(&self, key: &ConnectionKey) -> Option<&Connection> {
        self.slots.get(key).map(|slot| &slot.connection)
    }

    /// Calls `act` with the connection of this key, for instance to send or close; returns its
    /// result.
    pub fn with<T>(
        &mut self,
        key: &ConnectionKey,
        act: impl FnOnce(&mut Connection) -> T,
    ) -> Option<T> {
        let result = self.slots.get_mut(key).map(|slot| act(&mut slot.connection));
        self.touch(key);
        result
    }

    /// Returns the memory of a received datagram to its connection ([`Connection::recycle`]).
    pub fn recycle(&mut self, key: &ConnectionKey, datagram: Vec<u8>) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.connection.recycle(datagram);
        }
    }

    /// Removes the connection of this key without a packet to the other end. Stale entries with its
    /// key have no effect.
    pub fn forget(&mut self, key: &ConnectionKey) {
        if let Some(slot) = self.slots.remove(key) {
            if let Some(at_ns) = slot.due.at_ns() {
                self.time_wait.remove(&(at_ns, *key));
            }
            self.half_open.remove(key);
            self.timeouts.settle(&mut self.slots);
        }
    }

    /// Makes room for one more connection when the endpoint is full, by removing the oldest in
    /// TIMEWAIT. Returns false when there is none.
    fn make_room(&mut self) -> bool {
        if self.slots.len() >= self.limits.connections {
            // A connection with events is not removed.
            let is_noisy =
                |key: &ConnectionKey| self.slots.get(key).is_some_and(|slot| slot.is_noisy);
            let oldest = self.time_wait.iter().find(|(_, key)| !is_noisy(key));
            let Some(&(_, key)) = oldest else { return false };
            self.forget(&key);
        }
        true
    }

    /// Processes a datagram that begins with the DCCP header. `addresses` has the addresses and the
    /// carrier; the ports are read from the header.
    pub fn handle_datagram(
        &mut self,
        now_ns: u64,
        addresses: ConnectionKey,
        ecn: Ecn,
        octets: &[u8],
    ) {
        let integrity = addresses.path().integrity.reversed();
        let packet = match DccpPacket::parse(octets, integrity) {
            Ok(packet) => packet,
            Err(reason) => {
                self.malformed[reason.index()] += 1;
                return;
            }
        };
        let key = ConnectionKey {
            local_port: packet.header.destination_port,
            remote_port: packet.header.source_port,
            ..addresses
        };
        if !self.slots.contains_key(&key)
            && let Err(code) = self.step_3_listen(now_ns, key, &packet)
        {
            self.refuse(now_ns, key, &packet, code);
            return;
        }
        self.with(&key, |connection| connection.handle_packet(now_ns, ecn, &packet));
    }

    /// Makes a connection from a Request or from a packet with an Init Cookie of this end
    /// (RFC 4340 §8.5 step 3). Returns `Err` with the reason if there is none; `Ok` without a
    /// connection when the answer is a cookie.
    fn step_3_listen(
        &mut self,
        now_ns: u64,
        key: ConnectionKey,
        packet: &DccpPacket<'_>,
    ) -> Result<(), ResetCode> {
        let is_request = packet.header.packet_type == PacketType::Request;
        let Some(listener) = self.listeners.get(&key.local_port) else {
            let refused = ResetCode::ConnectionRefused;
            return Err(if is_request { refused } else { ResetCode::NoConnection });
        };
        if !is_request {
            return self.restore(now_ns, key, packet);
        }
        let code = packet.header.service_code.unwrap_or(ServiceCode::INVALID);
        if code == ServiceCode::INVALID || !listener.service_codes.contains(&code) {
            return Err(ResetCode::BadServiceCode);
        }
        let config = ConnectionConfig { service_code: code, ..listener.config.clone() };
        let uses_cookies = listener.uses_init_cookies;
        if !self.make_room() {
            return Err(ResetCode::TooBusy);
        }
        let is_crowded = self.half_open.len() >= self.limits.half_open;
        let iss = self.first_number(now_ns, &key);
        let isr = SequenceNumber::new(packet.header.sequence);
        let mut connection = Connection::accept(key.path(), config, iss, packet);
        if uses_cookies || is_crowded {
            let cookie = Cookie { isr, iss, options: packet.options.to_vec() };
            let seed = cookie_key(&key, code);
            if let Some(octets) = cookie::seal(&self.secret, &seed, seconds(now_ns), &cookie) {
                connection.offer_init_cookie(octets);
                connection.handle_packet(now_ns, Ecn::NotCapable, packet);
                self.answer_and_forget(now_ns, key, connection);
                return Ok(());
            }
        }
        if is_crowded {
            return Err(ResetCode::TooBusy);
        }
        self.answers.accepted += 1;
        self.insert(key, connection);
        Ok(())
    }

    /// Restores a connection from the Init Cookie that a packet returns (RFC 4340 §8.1.4): the
    /// endpoint processes the Request again without sending its Response again. A cookie makes one
    /// connection only.
    fn restore(
        &mut self,
        now_ns: u64,
        key: ConnectionKey,
        packet: &DccpPacket<'_>,
    ) -> Result<(), ResetCode> {
        let Some(listener) = self.listeners.get(&key.local_port) else {
            return Err(ResetCode::NoConnection);
        };
        // A listener without `uses_init_cookies` sends cookies, too, while too many connections are
        // half-open.
        let mut options = DccpOptionIterator::new(packet.options);
        let cookie_option = options.find_map(|raw| match raw.option {
            DccpOption::InitCookie(octets) => Some(octets),
            _ => None,
        });
        let octets = cookie_option.ok_or(ResetCode::NoConnection)?;
        let opened = listener.service_codes.iter().find_map(|&code| {
            let seed = cookie_key(&key, code);
            cookie::open(&self.secret, &seed, seconds(now_ns), octets).map(|opened| (code, opened))
        });
        let (code, (cookie, mark)) = opened.ok_or(ResetCode::BadInitCookie)?;
        let config = ConnectionConfig { service_code: code, ..listener.config.clone() };
        if !self.make_room() {
            return Err(ResetCode::TooBusy);
        }
        if !self.spent_cookies.spend(seconds(now_ns), mark, SPENT_COOKIES_MAX) {
            return Err(ResetCode::NoConnection);
        }
        let header = DccpHeader {
            source_port: key.remote_port,
            destination_port: key.local_port,
            service_code: Some(code),
            ..DccpHeader::new(PacketType::Request, cookie.isr.value())
        };
        let request = DccpPacket { header, options: &cookie.options, data: &[] };
        let mut connection = Connection::accept(key.path(), config, cookie.iss, &request);
        connection.handle_packet(now_ns, Ecn::NotCapable, &request);
        let mut unsent = [0; PACKET_BYTES_MAX];
        while connection.poll_transmit(now_ns, &mut unsent).is_some() {}
        self.answers.restored += 1;
        self.insert(key, connection);
        Ok(())
    }

    /// Queues the Response of a connection whose only state is its Init Cookie, and drops the
    /// connection.
    fn answer_and_forget(&mut self, now_ns: u64, key: ConnectionKey, mut connection: Connection) {
        let mut buffer = [0; PACKET_BYTES_MAX];
        if let Some(transmit) = connection.poll_transmit(now_ns, &mut buffer)
            && self.stateless.len() < REPLIES_MAX
        {
            self.answers.cookies += 1;
            self.stateless.push_back((key, buffer[..transmit.len].to_vec()));
        }
    }

    /// Answers a packet that belongs to no connection with a Reset, within the limit per second.
    fn refuse(
        &mut self,
        now_ns: u64,
        key: ConnectionKey,
        packet: &DccpPacket<'_>,
        code: ResetCode,
    ) {
        let second = now_ns / SECOND_NS;
        if second != self.resets_second {
            (self.resets_second, self.resets_count) = (second, 0);
        }
        if self.resets_count >= self.limits.resets_per_s || self.replies.len() >= REPLIES_MAX {
            self.answers.ignored += 1;
            return;
        }
        if let Some(header) = reply_without_connection(packet, Reset::plain(code)) {
            self.resets_count += 1;
            self.answers.refused += 1;
            self.replies.push_back((key, header));
        }
    }

    /// Returns a first sequence number that an attacker cannot predict, and that increases with
    /// time (RFC 4340 §7.2).
    fn first_number(&self, now_ns: u64, key: &ConnectionKey) -> SequenceNumber {
        // One step in four microseconds, as TCP does (RFC 6528).
        SequenceNumber::new(self.secret.hash(&key.octets()).wrapping_add(now_ns / 4_000))
    }

    fn insert(&mut self, key: ConnectionKey, connection: Connection) {
        let due = ConnectionDueTime::default();
        self.slots
            .insert(key, ConnectionSlot { connection, due, is_ready: false, is_noisy: false });
        self.touch(&key);
    }

    /// Updates the timer of a connection after a change, and queues it for its packets and events.
    fn touch(&mut self, key: &ConnectionKey) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        let timeout_ns = slot.connection.poll_timeout();
        if slot.due.is_not(timeout_ns) {
            if let Some(old_ns) = slot.due.at_ns() {
                self.time_wait.remove(&(old_ns, *key));
            }
            self.timeouts.set(&mut slot.due, *key, timeout_ns);
        }
        if slot.connection.state() == ConnectionState::TimeWait
            && let Some(end_ns) = timeout_ns
        {
            self.time_wait.insert((end_ns, *key));
        }
        if slot.connection.state() == ConnectionState::Respond {
            self.half_open.insert(*key);
        } else {
            self.half_open.remove(key);
        }
        if !slot.is_ready {
            slot.is_ready = true;
            self.ready.push_back(*key);
        }
        if !slot.is_noisy {
            slot.is_noisy = true;
            self.noisy.push_back(*key);
        }
        self.timeouts.settle(&mut self.slots);
    }

    /// Writes the next packet of any connection to `buffer`. Returns the key of its connection.
    pub fn poll_transmit(
        &mut self,
        now_ns: u64,
        buffer: &mut [u8],
    ) -> Option<(ConnectionKey, Transmit)> {
        if let Some((key, header)) = self.replies.pop_front() {
            let len = header.write(&[], &[], key.path().integrity, buffer)?;
            return Some((key, Transmit { len, is_ecn_capable: false }));
        }
        if let Some((key, octets)) = self.stateless.pop_front() {
            buffer[..octets.len()].copy_from_slice(&octets);
            return Some((key, Transmit { len: octets.len(), is_ecn_capable: false }));
        }
        while let Some(&key) = self.ready.front() {
            let transmit = self.with(&key, |connection| connection.poll_transmit(now_ns, buffer));
            if let Some(Some(transmit)) = transmit {
                return Some((key, transmit));
            }
            self.ready.pop_front();
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.is_ready = false;
            }
        }
        None
    }

    /// Removes and returns the next event of any connection, with its key. Removes a closed
    /// connection after its last event.
    pub fn poll_event(&mut self) -> Option<(ConnectionKey, ConnectionEvent)> {
        while let Some(&key) = self.noisy.front() {
            if let Some(slot) = self.slots.get_mut(&key) {
                if let Some(event) = slot.connection.poll_event() {
                    return Some((key, event));
                }
                slot.is_noisy = false;
                if slot.connection.state() == ConnectionState::Closed && !slot.is_ready {
                    self.forget(&key);
                }
            }
            self.noisy.pop_front();
        }
        None
    }

    /// Returns the time at which [`Endpoint::handle_timeout`] is due next, in nanoseconds.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.timeouts.first_ns()
    }

    /// Handles the timers of all connections that have expired at `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        let mut due = core::mem::take(&mut self.due);
        self.timeouts.take_due(now_ns, &mut self.slots, &mut due);
        for key in due.drain(..) {
            self.with(&key, |connection| connection.handle_timeout(now_ns));
        }
        self.due = due;
    }
}

/// Longest packet of a connection that keeps no state, in bytes.
const PACKET_BYTES_MAX: usize = 1_500;

/// Returns the bytes of connection and service that an Init Cookie's seal covers besides its
/// content.
fn cookie_key(key: &ConnectionKey, code: ServiceCode) -> Vec<u8> {
    let mut octets = key.octets();
    octets.extend(code.value().to_be_bytes());
    octets
}

const fn seconds(now_ns: u64) -> u32 {
    (now_ns / SECOND_NS) as u32
}
