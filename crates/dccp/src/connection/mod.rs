//! State machine of one connection (RFC 4340 §8): datagrams go in, packets and events come out,
//! timers are points in time.
//!
//! The owner calls [`Connection::handle_datagram`] with each datagram,
//! [`Connection::handle_timeout`] at the time of [`Connection::poll_timeout`], and after either
//! [`Connection::poll_transmit`] and [`Connection::poll_event`] until they return `None`. Module
//! `receive` processes a packet in the steps of RFC 4340 §8.5, `options` is step 8, `transmit`
//! writes packets.

mod config;
mod control;
mod event;
mod negotiation;
mod options;
mod queue;
mod receive;
mod reverse;
mod state;
mod timers;
mod transmit;

use std::collections::VecDeque;

use crate::ack_vector::AckVector;
use crate::ack_vector::dropped::UnacknowledgedDrops;
use crate::ccid::{RTT_DEFAULT_NS, ReceiverHalf, SenderFigures, SenderHalf};
use crate::feature::Negotiator;
use crate::header::{DccpPacket, DccpPacketDefect, Integrity, Reset, ResetCode};
use crate::sequence::{SequenceNumber, Windows};

pub use config::{ConnectionConfig, QueuePolicy};
pub use control::reply_without_connection;
pub use event::{ConnectionEvent, SendError};
pub use state::{ConnectionState, Ecn, Role};
pub use transmit::Transmit;

use control::Controls;
use queue::SendQueue;
use reverse::ReverseHoles;
use timers::Timers;

/// Ports of both ends of a connection, and the addresses for its checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionPath {
    /// DCCP port of this end.
    pub local_port: u16,
    /// DCCP port of the other end.
    pub remote_port: u16,
    /// Carrier of the packets that this end sends; it decides how the DCCP checksum is computed.
    pub integrity: Integrity,
}

/// Received Timestamp option that waits for its echo (RFC 4340 §13.3).
#[derive(Clone, Copy, Debug)]
struct Stamp {
    value: u32,
    arrived_ns: u64,
}

/// Counts of packets that a connection dropped before they changed its state, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionDropCounts {
    /// Counts of malformed packets, by reason in the order of [`DccpPacketDefect::ALL`].
    pub malformed: [u64; DccpPacketDefect::ALL.len()],
    /// Count of packets with numbers outside of the windows of valid numbers (RFC 4340 §7.5).
    pub sequence_invalid: u64,
    /// Count of packets of a type that the connection's state does not accept (RFC 4340 §8.5 step
    /// 7).
    pub unexpected: u64,
    /// Count of datagrams that did not fit into the application's receive queue.
    pub receive_queue_full: u64,
}

/// One end of a DCCP connection (RFC 4340 §8).
///
/// The connection reads no clock and sends nothing itself. Its methods are of four kinds:
///
/// - **Input** changes the state: [`Connection::handle_datagram`] or [`Connection::handle_packet`]
///   for a packet that arrived, [`Connection::handle_too_big`] for a report of the network,
///   [`Connection::handle_timeout`] when the time of [`Connection::poll_timeout`] has come.
/// - **Application calls** change it, too: [`Connection::send`], [`Connection::close`],
///   [`Connection::abort`], [`Connection::stop_receiving`], [`Connection::set_held_datagrams`],
///   [`Connection::recycle`], [`Connection::set_packet_bytes_max`].
/// - **Output** is fetched until it is `None`: [`Connection::poll_transmit`] writes the next packet
///   that may leave, [`Connection::poll_event`] returns what the application must know.
/// - **Queries** change nothing: [`Connection::state`], [`Connection::features`],
///   [`Connection::rtt_ns`] and the others.
///
/// After each input and each application call the owner fetches all packets, then all events, and
/// then asks [`Connection::poll_timeout`] for the next time. A packet may bring an event and an
/// event's answer a packet, so the owner repeats until both are empty. Times are nanoseconds of one
/// monotonic clock. Events must be fetched, or datagrams that arrive find the receive queue full
/// and are dropped with the drop code "Receive Buffer" (RFC 4340 §11.7).
#[derive(Debug)]
pub struct Connection {
    /// Role of this end of the connection: client or server.
    role: Role,
    /// State of the connection (RFC 4340 §8.4).
    state: ConnectionState,
    /// Settings of the connection: limits of its queues, preferences of its features, timeouts.
    config: ConnectionConfig,
    /// Ports of both ends, and the way in which checksums are computed.
    path: ConnectionPath,
    /// Sequence number of the first packet that this end sent (ISS).
    iss: SequenceNumber,
    /// Greatest sequence number that this end has sent (GSS).
    gss: SequenceNumber,
    /// Greatest sequence number that this end has received (GSR).
    gsr: SequenceNumber,
    /// Greatest acknowledgement number that this end has received (GAR).
    gar: SequenceNumber,
    /// Sequence number of the packet that moved the connection to OPEN (OSR).
    osr: Option<SequenceNumber>,
    /// State in which the connection ended; `None` before that.
    ended_in: Option<ConnectionState>,
    /// Greatest sequence number of a Request (at a server), or number of the Response (at a
    /// client). The half-connections count from the number after it at a server, and from it at a
    /// client.
    handshake_number: SequenceNumber,
    /// Ranges of valid sequence and acknowledgement numbers of received packets (RFC 4340 §7.5.1).
    windows: Windows,
    /// Features of both ends and the state of their negotiation (RFC 4340 §6).
    features: Negotiator,
    /// Arrivals of packets, for Ack Vector options (RFC 4340 §11.4); `None` before this end sends
    /// such options.
    ack_vector: Option<AckVector>,
    /// Packets whose data this end dropped; Data Dropped options report each drop until the other
    /// end has acknowledged a report (RFC 4340 §11.7).
    drops: UnacknowledgedDrops,
    /// Congestion control of the data that this end sends; `None` before negotiation has chosen it.
    sender: Option<Box<dyn SenderHalf>>,
    /// Congestion control of the data that this end receives; `None` before negotiation has chosen
    /// it.
    receiver: Option<Box<dyn ReceiverHalf>>,
    /// Gaps in the sequence numbers of the other end, from which the sender learns that
    /// acknowledgements were lost.
    reverse: ReverseHoles,
    /// Packets of the protocol itself (without application data) that wait to be sent: Request,
    /// Response, Sync, Close, Reset.
    controls: Controls,
    /// Times at which the connection acts although no packet arrives.
    timers: Timers,
    /// Datagrams from [`Connection::send`] that have not left yet.
    queue: SendQueue,
    /// Events that [`Connection::poll_event`] has not returned yet.
    events: VecDeque<ConnectionEvent>,
    /// Memory of datagrams that the application has returned, reused for later datagrams.
    spare: Vec<Vec<u8>>,
    /// Count of received datagrams among `events`.
    waiting_datagrams: usize,
    /// Count of received datagrams that the application holds, set by
    /// [`Connection::set_held_datagrams`].
    held_datagrams: usize,
    /// True if this end must send an acknowledgement although it has no data to send.
    is_ack_wanted: bool,
    /// True if a client in PARTOPEN must send a Sync to make its server answer.
    is_sync_wanted: bool,
    /// Count of the Acks that a client in PARTOPEN has repeated so far.
    part_open_repeats: u32,
    /// True if the other end reports received packets with Ack Vector options.
    has_ack_vectors: bool,
    /// True if the application has closed the connection and its queued datagrams must leave before
    /// the Close.
    is_close_wanted: bool,
    /// True until the application stops receiving datagrams.
    is_receiving: bool,
    /// True if the application of the other end receives no more datagrams.
    has_remote_stopped_receiving: bool,
    /// True once the data of a Request or Response was delivered, which happens only once.
    has_request_data: bool,
    /// Data of a received Request, which the server delivers when its client has answered the
    /// Response.
    early_data: Option<Vec<u8>>,
    /// Data that this client's Request carries, and each repetition of the Request too.
    request_data: Vec<u8>,
    /// Timestamp option of the other end that this end still has to echo (RFC 4340 §13.3).
    stamp: Option<Stamp>,
    /// Value of the last Timestamp option that this end sent, and its time in nanoseconds; `None`
    /// once it was echoed.
    stamp_sent: Option<(u32, u64)>,
    /// Init Cookies from the server's Response; a client repeats them on every packet until OPEN
    /// (RFC 4340 §8.1.4).
    init_cookies: Vec<Vec<u8>>,
    /// Count of packets without data sent since the last one with data, for NDP Count options
    /// (RFC 4340 §7.7).
    non_data_run: u64,
    /// Round-trip time that the connection has measured with Timestamp options, in nanoseconds;
    /// congestion control later has its own.
    rtt_ns: Option<u64>,
    /// Time of the last received packet with valid numbers, in nanoseconds.
    last_valid_ns: Option<u64>,
    /// Time of the last Sync that answered a packet with invalid numbers, in nanoseconds; it limits
    /// their rate (RFC 4340 §7.5.4).
    last_sync_ns: Option<u64>,
    /// Time of the last change of a congestion control, in nanoseconds.
    ccids_changed_ns: Option<u64>,
    /// Counts of packets that this end dropped before they changed the connection's state.
    counts: ConnectionDropCounts,
}

impl Connection {
    /// Returns a client connection whose Request has the number `iss` and carries `data`
    /// (RFC 4340 §8.1.1). Most Requests have no data.
    #[must_use]
    pub fn connect(
        now_ns: u64,
        path: ConnectionPath,
        config: ConnectionConfig,
        iss: SequenceNumber,
        data: &[u8],
    ) -> Self {
        let mut connection = Self::new(Role::Client, path, config, iss, iss);
        connection.state = ConnectionState::Request;
        connection.request_data = data.to_vec();
        connection.request_features();
        connection.start_request(now_ns);
        connection
    }

    /// Returns a server's connection for the Request `request` that a listener accepted
    /// (RFC 4340 §8.5 step 3). The caller then passes the Request to [`Connection::handle_packet`]
    /// like any packet.
    #[must_use]
    pub fn accept(
        path: ConnectionPath,
        config: ConnectionConfig,
        iss: SequenceNumber,
        request: &DccpPacket<'_>,
    ) -> Self {
        let isr = SequenceNumber::new(request.header.sequence);
        let mut connection = Self::new(Role::Server, path, config, iss, isr);
        connection.state = ConnectionState::Respond;
        connection.request_features();
        connection
    }

    fn new(
        role: Role,
        path: ConnectionPath,
        config: ConnectionConfig,
        iss: SequenceNumber,
        isr: SequenceNumber,
    ) -> Self {
        let initial_window = 100;
        let queue = SendQueue::new(config.send_queue_len, config.queue_policy);
        Self {
            role,
            state: ConnectionState::Closed,
            path,
            iss,
            // The first packet takes `iss`.
            gss: iss.minus(1),
            gsr: isr,
            gar: iss,
            osr: None,
            ended_in: None,
            handshake_number: isr,
            windows: Windows::new(iss, isr, initial_window),
            features: Negotiator::new(role == Role::Server, iss, isr),
            ack_vector: None,
            drops: UnacknowledgedDrops::default(),
            sender: None,
            receiver: None,
            reverse: ReverseHoles::default(),
            controls: Controls::default(),
            timers: Timers::default(),
            queue,
            events: VecDeque::new(),
            spare: Vec::new(),
            waiting_datagrams: 0,
            held_datagrams: 0,
            is_ack_wanted: false,
            is_sync_wanted: false,
            part_open_repeats: 0,
            has_ack_vectors: false,
            is_close_wanted: false,
            is_receiving: true,
            has_remote_stopped_receiving: false,
            has_request_data: false,
            early_data: None,
            request_data: Vec::new(),
            stamp: None,
            stamp_sent: None,
            init_cookies: Vec::new(),
            non_data_run: 0,
            rtt_ns: None,
            last_valid_ns: None,
            last_sync_ns: None,
            ccids_changed_ns: None,
            counts: ConnectionDropCounts::default(),
            config,
        }
    }

    /// Adds an Init Cookie of at most 253 bytes to the Response (RFC 4340 §8.1.4).
    pub fn offer_init_cookie(&mut self, cookie: Vec<u8>) {
        self.init_cookies.push(cookie);
    }

    /// Returns the state of the connection.
    pub const fn state(&self) -> ConnectionState {
        self.state
    }

    /// Returns the state in which the connection ended; `None` while it lasts.
    pub const fn ended_in(&self) -> Option<ConnectionState> {
        self.ended_in
    }

    /// Returns the role of this end: client or server.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Returns the connection's features, with the values that both ends have agreed on.
    pub const fn features(&self) -> &Negotiator {
        &self.features
    }

    /// Returns the counts of packets that the connection dropped, by reason.
    pub const fn counts(&self) -> &ConnectionDropCounts {
        &self.counts
    }

    /// Returns the figures of the congestion control for the data that this end sends; `None`
    /// before it is chosen.
    pub fn sender_figures(&self) -> Option<SenderFigures> {
        self.sender.as_ref().map(|sender| sender.figures())
    }

    /// Returns the greatest sequence numbers that this end has sent and received (GSS, GSR).
    pub const fn greatest_numbers(&self) -> (SequenceNumber, SequenceNumber) {
        (self.gss, self.gsr)
    }

    /// Returns the round-trip time of the connection in nanoseconds; `None` before the first
    /// measurement.
    pub fn rtt_ns(&self) -> Option<u64> {
        self.sender.as_ref().and_then(|sender| sender.rtt_ns()).or(self.rtt_ns)
    }

    fn rtt_or_default_ns(&self) -> u64 {
        self.rtt_ns().unwrap_or(RTT_DEFAULT_NS)
    }

    /// Returns the largest datagram in bytes that the application may send now (maximum packet
    /// size, RFC 4340 §14).
    pub const fn data_bytes_max(&self) -> usize {
        self.config.data_bytes_max()
    }

    /// Sets the largest packet on the path in bytes, counted from the DCCP header on, for instance
    /// from a route. Only the owner of the path may call this; messages from the network go to
    /// [`Connection::handle_too_big`].
    pub const fn set_packet_bytes_max(&mut self, packet_bytes_max: usize) {
        self.config.packet_bytes_max = packet_bytes_max;
    }

    /// Returns the count of datagrams in the send queue.
    pub fn send_queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the count of all items that wait in the connection: datagrams to send, events,
    /// packets of the protocol, Init Cookies.
    pub fn queued_count(&self) -> usize {
        let early = usize::from(self.early_data.is_some());
        self.queue.len() + self.events.len() + self.controls.len() + self.init_cookies.len() + early
    }

    /// Returns true if the send queue accepts a datagram without dropping another.
    pub fn has_room(&self) -> bool {
        self.queue.len() < self.config.send_queue_len
    }

    /// Sets the count of datagrams that the application holds and has not read: each takes a place
    /// in the receive queue ([`ConnectionConfig::receive_queue_len`]).
    pub const fn set_held_datagrams(&mut self, count: usize) {
        self.held_datagrams = count;
    }

    /// Takes back the memory of a datagram from [`ConnectionEvent::Received`]. Later datagrams
    /// reuse it, without an allocation. The connection keeps at most as many as the receive queue
    /// may hold.
    pub fn recycle(&mut self, datagram: Vec<u8>) {
        let is_wanted = self.is_receiving
            && !matches!(self.state, ConnectionState::Closed | ConnectionState::TimeWait);
        if is_wanted && self.spare.len() < self.config.receive_queue_len {
            self.spare.push(datagram);
        }
    }

    /// Handles an ICMP message that a packet of this end was too big for the path. `quoted` is the
    /// part of the packet that the message repeats, from the DCCP header on; `packet_bytes_max` is
    /// the size that fits, counted likewise. The message is believed only if the quoted number was
    /// sent lately (RFC 4340 §14.1); it never widens the path. Returns true if the message was
    /// believed.
    pub fn handle_too_big(&mut self, quoted: &[u8], packet_bytes_max: usize) -> bool {
        let Some(head) = quoted.first_chunk::<16>() else { return false };
        let is_extended = head[8] & 1 == 1;
        let short = u64::from(u32::from_be_bytes([0, head[9], head[10], head[11]]));
        let sequence = if is_extended {
            let mut octets = [0; 8];
            octets[2..].copy_from_slice(&head[10..]);
            SequenceNumber::new(u64::from_be_bytes(octets))
        } else {
            SequenceNumber::extend(short, self.gss)
        };
        let is_ours = u16::from_be_bytes([head[0], head[1]]) == self.path.local_port
            && u16::from_be_bytes([head[2], head[3]]) == self.path.remote_port;
        let is_recent = self.windows.acknowledgement(self.gss).contains(sequence);
        let is_believed = is_ours
            && is_recent
            && packet_bytes_max < self.config.packet_bytes_max
            && packet_bytes_max >= PACKET_BYTES_MIN;
        if is_believed {
            self.config.packet_bytes_max = packet_bytes_max;
        }
        is_believed
    }

    /// Accepts a datagram to send; `priority` counts only with [`QueuePolicy::Priority`].
    ///
    /// # Errors
    ///
    /// Returns [`SendError`] when the datagram was not accepted.
    pub fn send(&mut self, data: &[u8], priority: u32) -> Result<(), SendError> {
        let is_closing = self.is_close_wanted
            || self.has_remote_stopped_receiving
            || self.state > ConnectionState::Open;
        if is_closing || self.state == ConnectionState::Closed {
            return Err(SendError::Closed);
        }
        if data.len() > self.data_bytes_max() {
            return Err(SendError::TooLong);
        }
        if self.queue.push(data, priority) { Ok(()) } else { Err(SendError::QueueFull) }
    }

    /// Removes and returns the oldest event of the connection.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        let event = self.events.pop_front();
        if matches!(event, Some(ConnectionEvent::Received(_))) {
            self.waiting_datagrams -= 1;
        }
        event
    }

    /// Stops receiving for the application: the connection drops later datagrams and reports that
    /// to the other end (RFC 4340 §11.7, drop code 1).
    pub const fn stop_receiving(&mut self) {
        self.is_receiving = false;
    }

    /// Closes the connection after the queued datagrams were sent (RFC 4340 §8.3).
    /// [`Connection::abort`] closes without waiting for them.
    pub fn close(&mut self, now_ns: u64) {
        match self.state {
            ConnectionState::Closed
            | ConnectionState::CloseReq
            | ConnectionState::Closing
            | ConnectionState::TimeWait => (),
            ConnectionState::Request => self.state = ConnectionState::Closed,
            ConnectionState::Respond => self.fail(Reset::plain(ResetCode::Aborted), false),
            ConnectionState::PartOpen | ConnectionState::Open => {
                self.is_close_wanted = true;
                self.close_if_drained(now_ns);
            }
        }
    }

    /// Ends the connection at once with a Reset "Aborted" (RFC 4340 §5.6).
    pub fn abort(&mut self) {
        if matches!(self.state, ConnectionState::Closed | ConnectionState::TimeWait) {
            return;
        }
        let reset = Reset::plain(ResetCode::Aborted);
        if self.state == ConnectionState::Request {
            self.controls.reset_unanswered(reset);
        } else {
            self.controls.reset(reset, None);
        }
        self.finish();
    }

    /// Ends the connection at this end with a Reset that gives the other end the reason.
    fn fail(&mut self, reset: Reset, is_reported: bool) {
        self.controls.reset(reset, None);
        if is_reported {
            self.events.push_back(ConnectionEvent::Failed(reset));
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.ended_in.get_or_insert(self.state);
        self.state = ConnectionState::Closed;
        self.queue.clear();
        self.early_data = None;
        self.spare = Vec::new();
        self.timers = Timers::default();
    }
}

/// Smallest packet that fits on any path, in bytes: an IPv4 datagram of 68 bytes without its IP
/// header.
const PACKET_BYTES_MIN: usize = 48;
