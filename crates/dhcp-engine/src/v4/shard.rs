//! One shard of the server without its sockets: messages in, replies out, held messages and
//! waiting replies in between. The daemon and the simulator drive the same code.
//!
//! Budget of the steady path: no allocation, no lock that all shards share, no clock; a message
//! costs one parse, two entries of the in-flight set, one or two fetches, one commit and the
//! reply's octets.

use std::sync::Arc;

use base::Now;
use base::time::NS_PER_MS;
use dhcp_lease::v4::{Facts, LeaseStore, Swept, V4};
use dhcp_wire::v4::{Message, MessageType};

use super::counters::{ShardCounters, reply_index};
use super::held::{Held, HeldMessages, WaitsFor};
use super::outbox::{Envelope, Outbox, REPLY_LEN_MAX};
use super::transaction::client_id;
use super::{Destination, DropReason, Ingress, Outcome, Reply, Snapshot, Transaction, drive};
use crate::in_flight::{ClientKeys, Entry, InFlight};

/// Replies that may wait for their row at one time. At 100,000 replies/s these are 80 ms, twenty
/// flushes of a slow disk.
pub const OUTBOX_CAPACITY: u32 = 8192;
/// Messages that may be held at one time.
pub const HELD_CAPACITY: u32 = 512;
/// A reply that has waited this long for its row is of no use to its client.
pub const GATE_DEADLINE_NS: u64 = 4_000 * NS_PER_MS;
/// A held message that has waited this long has been sent again by its client.
pub const HELD_DEADLINE_NS: u64 = 2_000 * NS_PER_MS;

/// Where replies go: the socket's transmit batch, or a test's list.
pub trait Transmit {
    /// Takes one reply; false when it could not be taken.
    fn transmit(
        &mut self,
        destination: core::net::SocketAddrV4,
        ingress: Ingress,
        octets: &[u8],
    ) -> bool;
}

/// A shard: its handle on the leases, its transactions, its counters.
#[derive(Debug)]
pub struct Shard<S> {
    store: S,
    /// Taken out while a message is served under it, so that no count that shards share changes
    /// with every message.
    snapshot: Option<Arc<Snapshot>>,
    in_flight: Arc<InFlight>,
    counters: Arc<ShardCounters>,
    outbox: Outbox,
    held: HeldMessages,
    facts: Facts,
    scratch: Box<[u8; REPLY_LEN_MAX]>,
}

impl<S: LeaseStore<V4>> Shard<S> {
    /// A shard that serves `snapshot` from `store`; `in_flight` is shared by all shards.
    pub fn new(store: S, snapshot: Arc<Snapshot>, in_flight: Arc<InFlight>) -> Self {
        Self {
            store,
            snapshot: Some(snapshot),
            in_flight,
            counters: Arc::default(),
            outbox: Outbox::new(OUTBOX_CAPACITY),
            held: HeldMessages::new(HELD_CAPACITY),
            facts: Facts::default(),
            scratch: Box::new([0; REPLY_LEN_MAX]),
        }
    }

    /// The counters, for whoever reports them.
    #[must_use]
    pub fn counters(&self) -> Arc<ShardCounters> {
        Arc::clone(&self.counters)
    }

    /// The lease store.
    pub const fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Serves a new configuration from the next message on.
    pub fn reload(&mut self, snapshot: Arc<Snapshot>) {
        self.snapshot = Some(snapshot);
    }

    /// Counts replies that were transmitted but that the kernel did not take in the end.
    pub fn count_given_up(&self, count: usize) {
        for _ in 0..count {
            self.counters.dropped(DropReason::SendFailed);
        }
    }

    /// True when no reply waits and no message is held.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.outbox.is_empty() && self.held.is_empty()
    }

    /// Takes one datagram. The reply, if any, is transmitted now or when its row is safe.
    pub fn handle(
        &mut self,
        now: Now,
        octets: &[u8],
        ingress: Ingress,
        transmit: &mut impl Transmit,
    ) {
        let message = match Message::parse(octets) {
            Ok(message) => message,
            Err(reason) => return self.counters.malformed(reason),
        };
        let kind = message.message_type();
        self.counters.received(kind);
        if kind == Some(MessageType::Discover) && self.outbox.is_crowded() {
            // Whoever has an offer already goes first.
            return self.counters.dropped(DropReason::OutboxFull);
        }
        let client_id = match client_id(&message) {
            Ok(client_id) => client_id,
            Err(reason) => return self.counters.dropped(reason),
        };
        let keys = self.in_flight.keys(message.chaddr(), client_id);
        match self.in_flight.enter(keys) {
            Entry::Entered => self.run(now, message, ingress, keys, transmit),
            Entry::Duplicate => self.counters.dropped(DropReason::DuplicateInFlight),
            Entry::Hold => {
                let waits_for = WaitsFor::Client;
                if !self.held.push(Held { keys, ingress, waits_for, since_ns: now.mono_ns }, octets)
                {
                    self.counters.dropped(DropReason::HeldFull);
                }
            }
        }
    }

    /// Ends a batch: hands over the rows, sends what has settled, and tries held messages again.
    pub fn end_batch(&mut self, now: Now, transmit: &mut impl Transmit) {
        self.store.submit(now);
        self.release(transmit);
        if !self.held.is_empty() {
            self.retry_held(now, transmit);
            self.store.submit(now);
            self.release(transmit);
        }
    }

    /// Expiry, deadlines and lost stores, at most `budget` slots of work.
    pub fn housekeeping(&mut self, now: Now, budget: u32) -> Swept {
        let is_lost = self.store.has_failed();
        let oldest_ns =
            if is_lost { u64::MAX } else { now.mono_ns.saturating_sub(GATE_DEADLINE_NS) };
        let reason = if is_lost { DropReason::StoreFailed } else { DropReason::GateDeadline };
        let (in_flight, counters) = (&self.in_flight, &self.counters);
        self.outbox.abandon(oldest_ns, |reply| {
            in_flight.leave(reply.keys);
            counters.dropped(reason);
        });
        let oldest_held_ns =
            if is_lost { u64::MAX } else { now.mono_ns.saturating_sub(HELD_DEADLINE_NS) };
        self.held.abandon(oldest_held_ns, |held| {
            if matches!(held.waits_for, WaitsFor::Epoch(_)) {
                in_flight.leave(held.keys);
            }
            counters.dropped(reason);
        });
        self.store.sweep(now, budget)
    }

    fn run(
        &mut self,
        now: Now,
        message: Message<'_>,
        ingress: Ingress,
        keys: ClientKeys,
        transmit: &mut impl Transmit,
    ) {
        let snapshot = self.snapshot.take().expect("it is put back after every message");
        self.run_under(&snapshot, now, message, ingress, keys, transmit);
        self.snapshot = Some(snapshot);
    }

    fn run_under(
        &mut self,
        snapshot: &Snapshot,
        now: Now,
        message: Message<'_>,
        ingress: Ingress,
        keys: ClientKeys,
        transmit: &mut impl Transmit,
    ) {
        let octets = message.octets();
        let mut transaction = match Transaction::begin(snapshot, message, ingress) {
            Ok(transaction) => transaction,
            Err(reason) => return self.finish_dropped(keys, reason),
        };
        match drive(&mut transaction, now, &mut self.store, &mut self.facts) {
            Outcome::Reply(reply) => {
                self.reply(now, &reply, &transaction, ingress, keys, transmit);
            }
            Outcome::Silence => {
                self.counters.silent();
                self.in_flight.leave(keys);
            }
            Outcome::Drop(reason) => self.finish_dropped(keys, reason),
            Outcome::Wait(epoch) => {
                let waits_for = WaitsFor::Epoch(epoch);
                let held = Held { keys, ingress, waits_for, since_ns: now.mono_ns };
                if !self.held.push(held, octets) {
                    self.finish_dropped(keys, DropReason::HeldFull);
                }
            }
        }
    }

    fn finish_dropped(&self, keys: ClientKeys, reason: DropReason) {
        self.counters.dropped(reason);
        self.in_flight.leave(keys);
    }

    fn reply(
        &mut self,
        now: Now,
        reply: &Reply,
        transaction: &Transaction<'_>,
        ingress: Ingress,
        keys: ClientKeys,
        transmit: &mut impl Transmit,
    ) {
        let Ok(len) = reply.emit(transaction, &mut self.scratch[..]) else {
            return self.finish_dropped(keys, DropReason::ReplyTooLarge);
        };
        let octets = &self.scratch[..len];
        let destination = Destination::of(transaction.message(), reply.terms.kind).address();
        let kind = reply_index(reply.terms.kind);
        if reply.gate_epoch > self.store.settled_epoch() {
            let envelope = Envelope { destination, ingress, keys, kind };
            if !self.outbox.push(reply.gate_epoch, now.mono_ns, envelope, octets) {
                self.finish_dropped(keys, DropReason::OutboxFull);
            }
            return;
        }
        if transmit.transmit(destination, ingress, octets) {
            self.counters.sent(kind);
            self.in_flight.leave(keys);
        } else {
            self.finish_dropped(keys, DropReason::SendFailed);
        }
    }

    fn release(&mut self, transmit: &mut impl Transmit) {
        let settled = self.store.settled_epoch();
        let (in_flight, counters) = (&self.in_flight, &self.counters);
        self.outbox.release(settled, |reply| {
            if transmit.transmit(reply.destination, reply.ingress, reply.octets()) {
                counters.sent(reply.kind);
            } else {
                counters.dropped(DropReason::SendFailed);
            }
            in_flight.leave(reply.keys);
        });
    }

    fn retry_held(&mut self, now: Now, transmit: &mut impl Transmit) {
        let settled = self.store.settled_epoch();
        for _ in 0..self.held.len() {
            let Some((held, index)) = self.held.take_first() else { break };
            let may_run = match held.waits_for {
                WaitsFor::Epoch(epoch) => epoch <= settled,
                WaitsFor::Client => self.in_flight.enter(held.keys) == Entry::Entered,
            };
            if !may_run {
                self.held.put_back(held, index);
                continue;
            }
            let octets = self.held.take_octets(index);
            // It was parsed when it came in, so it parses again.
            if let Ok(message) = Message::parse(&octets) {
                self.run(now, message, held.ingress, held.keys, transmit);
            }
            self.held.give_octets_back(index, octets);
        }
    }
}
