//! Thread of a DCCP endpoint: moves packets, and reports events to applications.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dccp::connection::{Connection, ConnectionEvent};
use dccp::endpoint::ConnectionKey;
use dccp::header::{Reset, ResetCode};
use netio::{Clock, thread};

use super::{ConnectionEndReason, ConnectionEntry, EndpointState, FinalReset, SharedEndpoint};

/// Largest number of times that the thread stages and flushes packets between two checks for
/// received packets.
const ROUNDS_MAX: usize = 8;
/// Time in nanoseconds after which the thread tries again when waiting for the sockets fails.
const RETRY_NS: u64 = 10_000_000;

/// Runs the endpoint's thread: moves packets until the endpoint is dropped.
pub(super) fn serve(shared: &SharedEndpoint) {
    // Departures are microseconds apart; a late wake-up delays them.
    let _ = thread::set_timer_slack_ns(1);
    let mut woken = Vec::new();
    loop {
        let mut state = shared.lock();
        let now_ns = Clock::mono_ns();
        let is_over =
            state.leaving_ns.is_some_and(|at_ns| now_ns >= at_ns || state.is_all_closed());
        let turn = if is_over { state.abandon(now_ns) } else { state.turn(now_ns) };
        let deadline_ns = if turn.has_more {
            Some(0)
        } else {
            state.driver.deadline_ns().into_iter().chain(state.leaving_ns).min()
        };
        let wants_room = !state.driver.is_flushed();
        if turn.has_ended {
            let state = &mut *state;
            state.closers.ring(&mut state.woken);
        }
        std::mem::swap(&mut woken, &mut state.woken);
        shared.is_sleeping.store(true, Ordering::Release);
        drop(state);
        if turn.has_ended {
            shared.ended.notify_all();
        }
        for task in woken.drain(..) {
            task.wake();
        }
        if is_over {
            return;
        }
        let timeout_ns = deadline_ns.map(|at_ns| at_ns.saturating_sub(Clock::mono_ns()));
        if shared.sleeper.wait(timeout_ns, wants_room).is_err() {
            // Without descriptors to wait for, timers still run out.
            std::thread::sleep(Duration::from_nanos(RETRY_NS));
        }
        shared.is_sleeping.store(false, Ordering::Release);
    }
}

/// Result of one turn of the loop of the endpoint's thread.
struct ServiceTurnResult {
    has_ended: bool,
    /// True if more packets are ready to be sent, so that the loop's next turn must not wait.
    has_more: bool,
}

impl ConnectionEntry {
    /// Wakes the readers of a connection, because a datagram or the end can be read.
    fn ring_readers(&mut self, woken: &mut Vec<std::task::Waker>) {
        self.signal.readable.notify_all();
        self.readers.ring(woken);
    }

    /// Wakes the writers of a connection, because its send queue may have room.
    fn ring_writers(&mut self, woken: &mut Vec<std::task::Waker>) {
        self.signal.writable.notify_all();
        self.writers.ring(woken);
    }
}

impl EndpointState {
    /// Performs one turn of the loop of the endpoint's thread: receives packets, reports events,
    /// and sends the packets that may leave.
    fn turn(&mut self, now_ns: u64) -> ServiceTurnResult {
        let count = self.driver.connections_count();
        self.driver.receive(now_ns);
        let mut has_ended = false;
        while let Some((key, cause)) = self.driver.poll_unreachable() {
            self.end(&key, ConnectionEndReason::Unreachable(cause.raw_os_error().unwrap_or(0)));
            has_ended = true;
        }
        loop {
            while let Some((key, event)) = self.driver.poll_event() {
                has_ended |= self.handle_event(key, event);
            }
            if !self.driver.deliver(now_ns) {
                break;
            }
        }
        let mut has_more = true;
        for _ in 0..ROUNDS_MAX {
            has_more = self.driver.stage(now_ns) > 0;
            if !self.driver.flush() || !has_more {
                has_more = false;
                break;
            }
        }
        // The last packets sent may have ended a connection.
        while let Some((key, event)) = self.driver.poll_event() {
            has_ended |= self.handle_event(key, event);
        }
        self.wake_waiting_senders();
        has_ended |= self.driver.connections_count() < count;
        ServiceTurnResult { has_ended, has_more }
    }

    /// Reports one event of the connection `key` to its application. Returns true when the
    /// connection has ended.
    fn handle_event(&mut self, key: ConnectionKey, event: ConnectionEvent) -> bool {
        let end = match event {
            ConnectionEvent::Connected => {
                self.connected(key);
                return false;
            }
            ConnectionEvent::Received(datagram) => {
                if let Some(entry) = self.entries.get_mut(&key) {
                    entry.received.push_back(datagram);
                    let received_count = entry.received.len();
                    entry.ring_readers(&mut self.woken);
                    self.driver
                        .with(&key, |connection| connection.set_held_datagrams(received_count));
                }
                return false;
            }
            ConnectionEvent::Reset(reset) if reset.code == ResetCode::Closed => {
                ConnectionEndReason::Closed
            }
            ConnectionEvent::Reset(reset) => ConnectionEndReason::Reset(self.ending(&key, reset)),
            ConnectionEvent::Failed(reset) => ConnectionEndReason::Failed(self.ending(&key, reset)),
            ConnectionEvent::Closed => ConnectionEndReason::Closed,
        };
        self.end(&key, end);
        true
    }

    fn ending(&self, key: &ConnectionKey, reset: Reset) -> FinalReset {
        FinalReset::new(reset, self.driver.connection(key))
    }

    fn end(&mut self, key: &ConnectionKey, end: ConnectionEndReason) {
        let connection = self.driver.connection(key);
        let unread_drops = connection.map_or(0, |core| core.counts().receive_queue_full);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.end = Some(end);
            entry.unread_drops = unread_drops;
            entry.ring_readers(&mut self.woken);
            entry.ring_writers(&mut self.woken);
        }
    }

    fn connected(&mut self, key: ConnectionKey) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.is_open = true;
            entry.ring_readers(&mut self.woken);
            return;
        }
        match self.listeners.get_mut(&key.local_port) {
            Some(queue) if queue.backlog.len() < queue.backlog_max => {
                queue.backlog.push_back(key);
                queue.arrived.notify_one();
                queue.acceptors.ring(&mut self.woken);
                self.entries
                    .insert(key, ConnectionEntry { is_open: true, ..ConnectionEntry::default() });
            }
            _ => {
                self.driver.with(&key, Connection::abort);
            }
        }
    }

    /// Wakes applications that wait for room in a send queue, where there is room now.
    fn wake_waiting_senders(&mut self) {
        for (key, entry) in &mut self.entries {
            if entry.wants_room && self.driver.connection(key).is_none_or(Connection::has_room) {
                entry.wants_room = false;
                entry.ring_writers(&mut self.woken);
            }
        }
    }

    /// Ends the endpoint: resets its connections and wakes all applications that still wait.
    fn abandon(&mut self, now_ns: u64) -> ServiceTurnResult {
        for (key, mut entry) in core::mem::take(&mut self.entries) {
            self.driver.with(&key, Connection::abort);
            entry.ring_readers(&mut self.woken);
            entry.ring_writers(&mut self.woken);
        }
        for mut queue in core::mem::take(&mut self.listeners).into_values() {
            queue.arrived.notify_all();
            queue.acceptors.ring(&mut self.woken);
        }
        self.driver.stage(now_ns);
        self.driver.flush();
        ServiceTurnResult { has_ended: true, has_more: false }
    }
}
