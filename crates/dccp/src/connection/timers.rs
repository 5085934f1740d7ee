//! Timers of a connection: actions that are due although no packet arrives (RFC 4340 §8.1, §8.3,
//! §6.6.3).

use super::control::Control;
use super::{Connection, ConnectionEvent, ConnectionState};
use crate::header::{PacketType, Reset, ResetCode};

/// Nanoseconds per second.
const SECOND_NS: u64 = 1_000_000_000;
/// Time in nanoseconds from a Request to its first repetition (RFC 4340 §8.1.1).
const REQUEST_NS: u64 = SECOND_NS;
/// Time in nanoseconds from the Ack in PARTOPEN to its first repetition (RFC 4340 §8.1.5).
const PART_OPEN_NS: u64 = SECOND_NS / 5;
/// Longest time in nanoseconds between two repetitions of a packet.
const BACKOFF_MAX_NS: u64 = 64 * SECOND_NS;
/// Count of Acks in PARTOPEN without an answer after which the client sends a Sync. A server need
/// not answer an Ack, but must answer a Sync (RFC 4340 §5.7). A Sync that reaches a server of Linux
/// before any Ack ends the connection, so the client sends it late.
const QUIET_REPEATS: u32 = 2;
/// Largest number of repetitions of a Change option; then this end withdraws it.
const CHANGE_REPEATS_MAX: u32 = 8;
/// Time in nanoseconds after which PARTOPEN and RESPOND end: four maximum segment lifetimes
/// (RFC 4340 §8.1.5).
const GIVE_UP_NS: u64 = 480 * SECOND_NS;

/// Times at which the timers of a connection expire, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    /// Time to repeat the packet of the connection's state: Request, Ack in PARTOPEN, Close or
    /// CloseReq.
    pub(super) repeat_ns: Option<u64>,
    pub(super) repeat_wait_ns: u64,
    /// Time to give up the connection's state, or to end TIMEWAIT.
    pub(super) end_ns: Option<u64>,
    /// Time to repeat Change options that have no answer.
    pub(super) features_ns: Option<u64>,
    pub(super) features_wait_ns: u64,
    pub(super) features_repeats: u32,
    /// Time at which congestion control permits [`super::Connection::poll_transmit`] to send data
    /// again.
    pub(super) clearance_ns: Option<u64>,
}

impl Timers {
    fn start(&mut self, now_ns: u64, wait_ns: u64, end_ns: u64) {
        self.repeat_wait_ns = wait_ns;
        self.repeat_ns = Some(now_ns + wait_ns);
        self.end_ns = Some(now_ns + end_ns);
    }

    fn back_off(&mut self, now_ns: u64) {
        self.repeat_wait_ns = (self.repeat_wait_ns * 2).min(BACKOFF_MAX_NS);
        self.repeat_ns = Some(now_ns + self.repeat_wait_ns);
    }

    /// Stops the repetition timer and the end timer of the connection's state.
    pub(super) const fn stop(&mut self) {
        self.repeat_ns = None;
        self.end_ns = None;
    }
}

impl Connection {
    pub(super) fn start_request(&mut self, now_ns: u64) {
        self.controls.push(Control::Request);
        self.timers.start(now_ns, REQUEST_NS, self.config.connect_timeout_ns);
    }

    pub(super) fn start_part_open(&mut self, now_ns: u64) {
        let give_up_ns = self.config.connect_timeout_ns.min(GIVE_UP_NS);
        self.timers.start(now_ns, PART_OPEN_NS, give_up_ns);
    }

    /// Starts the timer that ends the state RESPOND of a server whose client does not answer. The
    /// server repeats nothing by itself (RFC 4340 §8.1.3).
    pub(super) fn start_respond(&mut self, now_ns: u64) {
        self.timers.end_ns = Some(now_ns + GIVE_UP_NS);
    }

    /// Sends Close or CloseReq and starts its timer: the first repetition comes after two round
    /// trips (RFC 4340 §8.3).
    pub(super) fn start_closing(&mut self, now_ns: u64, state: ConnectionState) {
        self.state = state;
        self.queue.clear();
        self.controls.push(Control::Close { packet_type: closing_type(state) });
        self.timers.start(now_ns, 2 * self.rtt_or_default_ns(), self.config.close_timeout_ns);
    }

    pub(super) fn start_time_wait(&mut self, now_ns: u64) {
        self.finish();
        self.state = ConnectionState::TimeWait;
        self.timers.end_ns = Some(now_ns + self.config.time_wait_ns);
    }

    /// Starts to close the connection if the application wants that and the send queue is empty.
    pub(super) fn close_if_drained(&mut self, now_ns: u64) {
        // A server that has not received the Ack accepts no Close.
        let has_sent_ack = self.state == ConnectionState::PartOpen && !self.is_ack_wanted;
        let may_close = has_sent_ack || self.state == ConnectionState::Open;
        if !self.is_close_wanted || !self.queue.is_empty() || !may_close {
            return;
        }
        let is_server = self.role == super::Role::Server;
        let asks_client = is_server && !self.config.server_holds_time_wait;
        self.start_closing(
            now_ns,
            if asks_client { ConnectionState::CloseReq } else { ConnectionState::Closing },
        );
    }

    /// Returns the time at which [`Connection::handle_timeout`] is due next, in nanoseconds.
    pub fn poll_timeout(&self) -> Option<u64> {
        let timers = &self.timers;
        // In other states nothing is acknowledged, so a timer of congestion control would stay due
        // for ever.
        let is_flowing = matches!(self.state, ConnectionState::PartOpen | ConnectionState::Open);
        let halves = is_flowing.then(|| {
            let sender = self.sender.as_ref().and_then(|sender| sender.timeout_ns());
            let receiver = self.receiver.as_ref().and_then(|receiver| receiver.ack_due_ns());
            [sender, receiver]
        });
        [timers.repeat_ns, timers.end_ns, timers.features_ns, timers.clearance_ns]
            .into_iter()
            .chain(halves.into_iter().flatten())
            .flatten()
            .min()
    }

    /// Handles all timers of the connection that have expired at `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|at_ns| at_ns <= now_ns);
        if is_due(self.timers.end_ns) {
            self.end();
            return;
        }
        if is_due(self.timers.repeat_ns) {
            self.repeat(now_ns);
        }
        if is_due(self.timers.features_ns) {
            self.timers.features_wait_ns = (self.timers.features_wait_ns * 2).min(BACKOFF_MAX_NS);
            self.timers.features_ns = Some(now_ns + self.timers.features_wait_ns);
            // In REQUEST and RESPOND the packets of the handshake repeat the Changes.
            if self.state >= ConnectionState::PartOpen {
                self.repeat_changes();
            }
        }
        if is_due(self.timers.clearance_ns) {
            self.timers.clearance_ns = None;
        }
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now_ns);
        }
    }

    /// Repeats Change options without an answer (RFC 4340 §6.6.3). It withdraws Changes after eight
    /// repetitions, because some peers, such as Linux, answer no Change of a server-priority
    /// feature after the handshake.
    fn repeat_changes(&mut self) {
        self.timers.features_repeats += 1;
        if self.timers.features_repeats > CHANGE_REPEATS_MAX && self.state == ConnectionState::Open
        {
            if let Some(feature) = self.features.give_up() {
                let reset = self.features.refuse(ResetCode::MandatoryError, feature);
                return self.fail(reset, true);
            }
            if !self.features.is_waiting() {
                return;
            }
        }
        self.features.repeat();
        self.is_ack_wanted = true;
    }

    fn repeat(&mut self, now_ns: u64) {
        self.timers.back_off(now_ns);
        match self.state {
            ConnectionState::Request => {
                self.features.repeat();
                self.controls.push(Control::Request);
            }
            ConnectionState::PartOpen => {
                self.is_ack_wanted = true;
                self.part_open_repeats += 1;
                let least = if self.is_held_back() { 1 } else { QUIET_REPEATS };
                self.is_sync_wanted = self.part_open_repeats >= least;
            }
            ConnectionState::CloseReq | ConnectionState::Closing => {
                let packet_type = closing_type(self.state);
                self.controls.push(Control::Close { packet_type });
            }
            _ => self.timers.repeat_ns = None,
        }
    }

    /// Ends the connection after its state has lasted too long; TIMEWAIT ends without a packet.
    fn end(&mut self) {
        let reset = Reset::plain(ResetCode::Aborted);
        match self.state {
            ConnectionState::TimeWait | ConnectionState::Closed => self.finish(),
            ConnectionState::Request => {
                self.controls.reset_unanswered(reset);
                self.events.push_back(ConnectionEvent::Failed(reset));
                self.finish();
            }
            _ => self.fail(reset, true),
        }
    }

    /// Starts the timer for Change options that wait for an answer, or stops it when none waits.
    pub(super) fn watch_features(&mut self, now_ns: u64) {
        // In RESPOND each Request of the client makes the Response repeat them.
        if !self.features.is_waiting() || self.state == ConnectionState::Respond {
            self.timers.features_ns = None;
        } else if self.timers.features_ns.is_none() {
            self.timers.features_repeats = 0;
            self.timers.features_wait_ns = (2 * self.rtt_or_default_ns()).max(SECOND_NS / 5);
            self.timers.features_ns = Some(now_ns + self.timers.features_wait_ns);
        }
    }
}

const fn closing_type(state: ConnectionState) -> PacketType {
    match state {
        ConnectionState::CloseReq => PacketType::CloseReq,
        _ => PacketType::Close,
    }
}
