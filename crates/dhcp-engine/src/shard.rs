//! Shard of the server without its sockets: messages come in, replies go out; held messages and
//! waiting replies are between them. The server and the simulator drive the same code.
//!
//! A message costs one parse, two entries of the in-flight set, one or two fetches, one commit and
//! the reply's bytes: no allocation, no lock that all shards share, no clock.

use std::sync::Arc;

use base::prefetch::no_prefetch;
use base::time::NS_PER_MS;
use base::{Now, Prefetch};
use dhcp_lease::{Answer, ExchangeDetail, ExchangeOwner, ExpectedSlot, LeaseStore, SweepCounts};

use crate::contain::run_contained;
use crate::counters::ShardCounters;
use crate::event_gate::EventGate;
use crate::events::SubnetEvents;
use crate::exchange_record;
pub use crate::held_messages::HELD_CAPACITY;
use crate::held_messages::{HeldMessage, HeldMessages, WaitsFor};
use crate::hosts::HostCache;
use crate::in_flight::{ClientKeys, InFlight, InFlightAdmission};
use crate::interfaces::InterfaceNames;
use crate::outbox::{Envelope, Outbox};
use crate::pair_filter::PairShare;
use crate::pair_filters::PairFilters;
use crate::protocol::{
    LookupGuess, MeasuredRequest, Notice, Protocol, ReplySink, ServeContext, WrittenReply,
};
use crate::reason::DropReason;
use crate::settled_gate::SettledGate;
use crate::snapshot::Snapshot;
use crate::transaction::NoReply;

/// Largest number of replies that may wait in a shard's outbox for their lease rows to be durable.
/// At 100,000 replies/s these are 80 ms, twenty flushes of a slow disk.
pub const OUTBOX_CAPACITY: u32 = 8192;
/// Time after which a reply that waits for its lease row to be durable is of no use to its client,
/// in nanoseconds: the shard drops it.
pub const GATE_DEADLINE_NS: u64 = 4_000 * NS_PER_MS;
/// Time after which a shard drops a held message, in nanoseconds: its client has sent the message
/// again by then.
pub const HELD_DEADLINE_NS: u64 = 2_000 * NS_PER_MS;

/// Number of messages that a shard reads before it serves the first of them, so that the memory
/// that they need is being fetched: about as many fetches as memory can do at a time.
const GROUP_SIZE: usize = 8;
/// Number of events that may wait for listeners that hold replies, in addition to those that the
/// feed has already.
const WAITING_EVENTS_MAX: usize = 65_536;

/// Datagram that the kernel received, with its time and its ingress.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedDatagram<'m, I> {
    /// Monotonic time at which the kernel received the datagram, in nanoseconds.
    pub since_ns: u64,
    /// Content of the datagram in bytes: the UDP payload.
    pub octets: &'m [u8],
    /// Address and interface at which the datagram was received.
    pub ingress: I,
}

/// Message that the shard has parsed and that has not entered [`InFlight`] yet.
struct Read<'m, P: Protocol> {
    octets: &'m [u8],
    message: P::Message<'m>,
    ingress: P::Ingress,
    request: MeasuredRequest,
    keys: Result<Option<ClientKeys>, DropReason>,
}

/// Message that has entered [`InFlight`], whose transaction runs or waits.
#[derive(Clone, Copy)]
struct EnteredMessage<I> {
    keys: Option<ClientKeys>,
    ingress: I,
    request: MeasuredRequest,
    /// Monotonic time at which the message was held first, or entered, in nanoseconds.
    since_ns: u64,
}

/// Shard of the server that speaks protocol `P`: its handle on the lease store, its transactions,
/// its counters.
#[derive(Debug)]
pub struct Shard<P: Protocol, S> {
    store: S,
    /// Configuration snapshot that messages are served with. It is taken out while one is served,
    /// so that no reference count that shards share changes with every message.
    snapshot: Option<Arc<Snapshot<P>>>,
    /// Second handle on the configuration snapshot: while a message is served, [`Self::snapshot`]
    /// is taken out, and a panic would lose it.
    in_force: Arc<Snapshot<P>>,
    /// Keys of the client whose message is being served.
    served: Option<ClientKeys>,
    /// Number of the last request that was to enter the set of clients in flight, counted from 1.
    last_number: u64,
    interfaces: Arc<InterfaceNames>,
    in_flight: Arc<InFlight>,
    counters: Arc<ShardCounters<P>>,
    outbox: Outbox<P::Destination, P::Ingress>,
    held_messages: HeldMessages<P::Ingress>,
    work: Box<P::Work>,
    /// Buffer of [`Protocol::REPLY_LEN_MAX`] bytes into which transactions write replies.
    scratch: Box<[u8]>,
    subnet_events: Arc<SubnetEvents>,
    is_disabled: bool,
    /// True while no further change of a lease may wait for the listeners.
    has_full_listeners: bool,
    drop_before_ns: u64,
    hosts: HostCache<P>,
    prefetch: Prefetch,
    /// Gate that replies wait for, in addition to their rows.
    event_gate: Arc<EventGate>,
    /// Filters of the messages for which partners are responsible.
    pairs: PairFilters,
}

impl<P: Protocol, S: LeaseStore<P>> Shard<P, S> {
    /// Returns a shard that serves the configuration `snapshot` from the lease store `store`; all
    /// shards share `in_flight`.
    pub fn new(store: S, snapshot: Arc<Snapshot<P>>, in_flight: Arc<InFlight>) -> Self {
        let counters = Arc::<ShardCounters<P>>::default();
        Self {
            store,
            subnet_events: counters
                .events()
                .set_subnets(snapshot.subnets().iter().map(|subnet| subnet.id)),
            snapshot: Some(Arc::clone(&snapshot)),
            in_force: snapshot,
            served: None,
            last_number: 0,
            interfaces: Arc::default(),
            in_flight,
            counters,
            outbox: Outbox::new(OUTBOX_CAPACITY),
            held_messages: HeldMessages::new(HELD_CAPACITY),
            work: Box::default(),
            scratch: vec![0; P::REPLY_LEN_MAX].into(),
            is_disabled: false,
            has_full_listeners: false,
            drop_before_ns: 0,
            hosts: HostCache::default(),
            prefetch: no_prefetch,
            event_gate: Arc::default(),
            pairs: PairFilters::default(),
        }
    }

    /// Makes replies wait for `gate` in addition to their rows. The default is a gate that is open.
    pub fn set_event_gate(&mut self, gate: Arc<EventGate>) {
        self.event_gate = gate;
    }

    /// Makes the shard serve the clients that `filters` leave to it. The default is all clients.
    pub fn set_pair_filters(&mut self, filters: PairFilters) {
        self.pairs = filters;
    }

    /// Returns the highest epoch whose replies may leave.
    fn passed_epoch(&self) -> u64 {
        self.store.settled_epoch().min(self.event_gate.passed())
    }

    /// Sets the function by which the shard prefetches memory. The default does nothing.
    pub const fn set_prefetch(&mut self, prefetch: Prefetch) {
        self.prefetch = prefetch;
    }

    /// Sets the shard's cache for hosts that are not in the configuration. The default is an empty
    /// cache without a source.
    pub fn set_hosts(&mut self, hosts: HostCache<P>) {
        self.hosts = hosts;
    }

    /// Returns the shard's cache for hosts that are not in the configuration.
    #[must_use]
    pub const fn hosts(&self) -> &HostCache<P> {
        &self.hosts
    }

    /// Returns the counters of the shard, for reports.
    #[must_use]
    pub fn counters(&self) -> Arc<ShardCounters<P>> {
        Arc::clone(&self.counters)
    }

    /// Returns the shard's handle on the lease store.
    pub const fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Serves the configuration `snapshot` from the next message on.
    pub fn reload(&mut self, snapshot: Arc<Snapshot<P>>) {
        self.subnet_events =
            self.counters.events().set_subnets(snapshot.subnets().iter().map(|subnet| subnet.id));
        self.in_force = Arc::clone(&snapshot);
        self.snapshot = Some(snapshot);
        self.hosts.clear();
    }

    /// Drops all messages from now on, unread (Kea's `dhcp-disable`), or serves again when
    /// `is_disabled` is false.
    pub const fn set_disabled(&mut self, is_disabled: bool) {
        self.is_disabled = is_disabled;
    }

    /// Records that `count` events of leases wait for their listeners. If listeners hold replies
    /// and these are too many, the shard drops messages that may change leases: their replies would
    /// wait in vain, and the events would fill the memory.
    pub fn set_waiting_events(&mut self, count: usize) {
        let holds_replies = self.event_gate.passed() != u64::MAX;
        self.has_full_listeners = holds_replies && count > WAITING_EVENTS_MAX;
    }

    /// Drops, from now on, unread messages that arrived before `mono_ns`: when requests arrive
    /// faster than the server replies, a later message is the better one to serve. The default is
    /// 0, with which no message is too old.
    pub const fn set_drop_before(&mut self, mono_ns: u64) {
        self.drop_before_ns = mono_ns;
    }

    /// Sets the names of the machine's interfaces from the next message on. The default is no
    /// interfaces, with which no subnet is found by its `interface`.
    pub fn set_interfaces(&mut self, interfaces: Arc<InterfaceNames>) {
        self.interfaces = interfaces;
    }

    /// Counts `count` replies that were transmitted but that the kernel did not accept in the end.
    pub fn count_unsent(&self, count: usize) {
        for _ in 0..count {
            self.counters.count_dropped(DropReason::SendFailed);
        }
    }

    /// Returns true if no reply waits in the outbox and no message is held.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.outbox.is_empty() && self.held_messages.is_empty()
    }

    /// Returns true if a message is held, whose transaction goes on later.
    #[must_use]
    pub fn has_held_messages(&self) -> bool {
        !self.held_messages.is_empty()
    }

    /// Processes one received datagram. The reply, if any, is transmitted now or when its lease row
    /// is durable.
    pub fn handle(
        &mut self,
        now: Now,
        octets: &[u8],
        ingress: P::Ingress,
        transmit: &mut impl ReplySink<P>,
    ) {
        let datagram = ArrivedDatagram { since_ns: now.mono_ns, octets, ingress };
        if let Some(read) = self.read(datagram, transmit) {
            self.enter(now, &read, transmit);
        }
    }

    /// Processes many datagrams in their order, as [`Self::handle`] does each.
    pub fn handle_all<'m>(
        &mut self,
        now: Now,
        datagrams: impl Iterator<Item = ArrivedDatagram<'m, P::Ingress>>,
        transmit: &mut impl ReplySink<P>,
    ) {
        let mut datagrams = datagrams.fuse();
        while run_contained(|| self.handle_in_groups(now, &mut datagrams, transmit)).is_none() {
            self.recover_from_panic();
        }
    }

    fn handle_in_groups<'m>(
        &mut self,
        now: Now,
        datagrams: &mut impl Iterator<Item = ArrivedDatagram<'m, P::Ingress>>,
        transmit: &mut impl ReplySink<P>,
    ) {
        loop {
            let mut messages: [Option<Read<'m, P>>; GROUP_SIZE] = core::array::from_fn(|_| None);
            let mut count = 0;
            for datagram in datagrams.by_ref().take(GROUP_SIZE) {
                messages[count] = self.read(datagram, transmit);
                count += 1;
            }
            self.prefetch_messages(&messages);
            for message in messages.iter().flatten() {
                self.enter(now, message, transmit);
            }
            if count < GROUP_SIZE {
                return;
            }
        }
    }

    /// Continues after a panic without the message that was being served, and without those of its
    /// group that had not entered the set of clients in flight.
    ///
    /// # Panics
    /// When the panic interrupted a change of leases, after which nothing may continue.
    fn recover_from_panic(&mut self) {
        assert!(
            self.store.is_sound(),
            "an internal error occurred while leases were being \
                                        changed"
        );
        self.snapshot = Some(Arc::clone(&self.in_force));
        self.counters.count_dropped(DropReason::InternalError);
        leave(&self.in_flight, self.served.take());
        self.held_messages.restore();
    }

    /// Prefetches the memory that the transactions of `messages` will need, in steps. Memory that a
    /// step reads was prefetched by the step before: hosts lead to their records, and records to
    /// slots.
    fn prefetch_messages(&mut self, messages: &[Option<Read<'_, P>>; GROUP_SIZE]) {
        let snapshot = self.snapshot.as_deref().expect("it is put back after every message");
        let (store, prefetch) = (&mut self.store, self.prefetch);
        let hosts = &snapshot.hosts;
        let mut guesses = [LookupGuess::default(); GROUP_SIZE];
        for (guess, read) in guesses.iter_mut().zip(messages) {
            if let Some(read) = read {
                *guess = P::prefetch(snapshot, &read.message, read.ingress, store, prefetch);
                if let Some(host_hashes) = guess.host_hashes {
                    host_hashes.prefetch(hosts, prefetch);
                }
            }
        }
        for host_hashes in guesses.iter().filter_map(|guess| guess.host_hashes) {
            host_hashes.prefetch_records(hosts, prefetch);
        }
        for LookupGuess { host_hashes, pool } in guesses {
            let Some(pool) = pool else { continue };
            let expected = match host_hashes.and_then(|host_hashes| host_hashes.reserved(hosts)) {
                Some(address) => ExpectedSlot::Address(address),
                None => ExpectedSlot::Candidate(snapshot.pools(), pool),
            };
            store.prefetch_message(None, expected, prefetch);
        }
    }

    /// Reads a datagram, counts it and returns the message; returns `None` when the message needs
    /// no further work.
    fn read<'m>(
        &self,
        datagram: ArrivedDatagram<'m, P::Ingress>,
        transmit: &impl ReplySink<P>,
    ) -> Option<Read<'m, P>> {
        let ArrivedDatagram { since_ns, octets, ingress } = datagram;
        let share = self.pairs.share();
        if self.is_disabled || share == PairShare::Closed {
            self.drop_unread(DropReason::ServiceDisabled, octets, ingress, transmit);
            return None;
        }
        if since_ns < self.drop_before_ns {
            self.drop_unread(DropReason::WaitedTooLong, octets, ingress, transmit);
            return None;
        }
        let message = match P::parse(self.snapshot(), octets) {
            Ok(message) => message,
            Err(reason) => {
                report(transmit, Notice::Malformed(reason), octets, ingress);
                self.counters.count_malformed(reason);
                return None;
            }
        };
        report(transmit, Notice::Received, octets, ingress);
        let kind = P::received_index(self.snapshot(), &message);
        let request = MeasuredRequest { kind, since_ns, number: 0 };
        self.counters.count_received(request.kind);
        if let PairShare::Part(scopes) = share
            && let Some(client) = P::pair_client(&message)
            && !scopes.serves(&client)
        {
            self.pairs.record(&client, scopes);
            self.drop_unread(DropReason::PartnersClient, octets, ingress, transmit);
            return None;
        }
        let keys = P::client(&self.in_flight, &message);
        if let Ok(Some(keys)) = keys {
            self.in_flight.prefetch(keys, self.prefetch);
        }
        Some(Read { octets, message, ingress, request, keys })
    }

    fn enter(&mut self, now: Now, read: &Read<'_, P>, transmit: &mut impl ReplySink<P>) {
        let &Read { octets, ref message, ingress, request, keys } = read;
        self.last_number += 1;
        let request = MeasuredRequest { number: self.last_number, ..request };
        if P::begins_exchange(message) && self.outbox.is_crowded() {
            // Clients that already have an offer go first.
            return self.drop_unread(DropReason::OutboxFull, octets, ingress, transmit);
        }
        let keys = match keys {
            Ok(keys) => keys,
            Err(reason) => return self.drop_unread(reason, octets, ingress, transmit),
        };
        if self.has_full_listeners && keys.is_some() {
            return self.drop_unread(DropReason::ListenersBehind, octets, ingress, transmit);
        }
        match keys.map_or(InFlightAdmission::Entered, |keys| self.in_flight.enter(keys)) {
            InFlightAdmission::Entered => {
                let entered = EnteredMessage { keys, ingress, request, since_ns: now.mono_ns };
                self.run(now, octets, message, entered, transmit);
            }
            InFlightAdmission::Duplicate => {
                self.drop_unread(DropReason::DuplicateInFlight, octets, ingress, transmit);
            }
            InFlightAdmission::Hold => {
                let waits_for = WaitsFor::Client;
                let held_message =
                    HeldMessage { keys, ingress, request, waits_for, since_ns: now.mono_ns };
                if !self.held_messages.push(held_message, octets) {
                    self.drop_unread(DropReason::HeldFull, octets, ingress, transmit);
                }
            }
        }
    }

    /// Drops a message that has not entered the set of clients in flight, and counts the reason.
    fn drop_unread(
        &self,
        reason: DropReason,
        octets: &[u8],
        ingress: P::Ingress,
        transmit: &impl ReplySink<P>,
    ) {
        self.counters.count_dropped(reason);
        report(transmit, Notice::Dropped(reason), octets, ingress);
    }

    /// Ends a batch of received messages: submits the lease rows, sends the replies whose rows are
    /// durable, and tries held messages again.
    pub fn end_batch(&mut self, now: Now, transmit: &mut impl ReplySink<P>) {
        self.store.submit(now);
        self.release(transmit);
        if self.hosts.is_in_use() {
            let snapshot = self.snapshot.as_deref().expect("it is put back after every message");
            self.hosts.take_answers(now, &snapshot.classes);
        }
        if !self.held_messages.is_empty() {
            if run_contained(|| self.retry_held(now, transmit)).is_none() {
                self.recover_from_panic();
            }
            self.store.submit(now);
            self.release(transmit);
        }
        self.hosts.submit();
    }

    /// Handles expiry of leases, deadlines of replies and messages, and failed stores, at most
    /// `budget` slots of work.
    pub fn housekeeping(&mut self, now: Now, budget: u32) -> SweepCounts {
        let has_failed = self.store.has_failed();
        let oldest_ns =
            if has_failed { u64::MAX } else { now.mono_ns.saturating_sub(GATE_DEADLINE_NS) };
        let reason = if has_failed { DropReason::StoreFailed } else { DropReason::GateDeadline };
        let (in_flight, counters) = (&*self.in_flight, &self.counters);
        self.outbox.abandon(oldest_ns, |reply| {
            leave(in_flight, reply.keys);
            counters.count_dropped(reason);
        });
        let oldest_held_ns =
            if has_failed { u64::MAX } else { now.mono_ns.saturating_sub(HELD_DEADLINE_NS) };
        self.held_messages.abandon(oldest_held_ns, |held_message| {
            if held_message.waits_for != WaitsFor::Client {
                leave(in_flight, held_message.keys);
            }
            counters.count_dropped(reason);
        });
        self.store.sweep(now, budget)
    }

    fn snapshot(&self) -> &Snapshot<P> {
        self.snapshot.as_deref().expect("it is put back after every message")
    }

    fn run(
        &mut self,
        now: Now,
        octets: &[u8],
        message: &P::Message<'_>,
        entered: EnteredMessage<P::Ingress>,
        transmit: &mut impl ReplySink<P>,
    ) {
        let EnteredMessage { keys, ingress, request, .. } = entered;
        let snapshot = self.snapshot.take().expect("it is put back after every message");
        // The table that the transaction reads reflects the refusals up to this epoch.
        let settled = self.store.settled_epoch();
        self.store.begin_message(request.number);
        let is_recording = self.store.exchange_detail() != ExchangeDetail::None;
        let exchange = is_recording.then(ExchangeOwner::default);
        if let Some(exchange) = &exchange {
            self.store.set_exchange(Some(exchange.cell()));
        }
        self.hosts.begin(now);
        let context = ServeContext {
            store: &mut self.store,
            work: &mut *self.work,
            buffer: &mut self.scratch[..],
            counters: &self.counters,
            subnet_events: &self.subnet_events,
            interfaces: &self.interfaces,
            hosts: &self.hosts,
            pairs: &self.pairs,
        };
        self.served = keys;
        let served = P::serve(now, &snapshot, message, ingress, context);
        self.snapshot = Some(snapshot);
        if let Some(exchange) = exchange {
            self.store.set_exchange(None);
            if !exchange.is_used() && self.store.is_recording_answers() {
                self.record_answer(now, &exchange, message, &served);
            }
            let reply_len = served.as_ref().map_or(0, |reply| reply.len);
            let reply = &self.scratch[..reply_len];
            exchange_record::complete::<P>(exchange, &self.store, now, octets, reply, ingress);
        }
        match served {
            Ok(reply) => {
                self.reply(now, reply, settled, entered, transmit);
            }
            Err(NoReply::Silence) => {
                self.counters.count_silent();
                leave(&self.in_flight, keys);
                report(transmit, Notice::Silent, octets, ingress);
            }
            Err(NoReply::Drop(reason)) => {
                self.finish_dropped(keys, reason);
                report(transmit, Notice::Dropped(reason), octets, ingress);
            }
            Err(NoReply::Wait(epoch)) => {
                self.hold(octets, entered, WaitsFor::Epoch(epoch), transmit);
            }
            Err(NoReply::AwaitHosts) => {
                let waits_for = WaitsFor::Hosts(self.hosts.request_missed());
                self.hold(octets, entered, waits_for, transmit);
            }
        }
        self.served = None;
    }

    /// Records that the server has processed `message` without a change of a lease, if that is of
    /// interest. No other event of the exchange says more.
    fn record_answer(
        &mut self,
        now: Now,
        exchange: &ExchangeOwner,
        message: &P::Message<'_>,
        served: &Result<WrittenReply<P::Destination>, NoReply>,
    ) {
        let gate_epoch = served.as_ref().map_or(0, |reply| reply.gate_epoch);
        if let Some(address) = P::answer_without_lease(message, served.as_ref().map_err(|&e| e)) {
            let row_epoch = gate_epoch.max(self.store.settled_epoch());
            self.store.set_exchange(Some(exchange.cell()));
            self.store.record_answer(now, &Answer { address, lease: None, row_epoch });
            self.store.set_exchange(None);
        }
    }

    /// Holds a message whose client is in flight, unless the message waits for hosts and the last
    /// look-up failed.
    fn hold(
        &mut self,
        octets: &[u8],
        entered: EnteredMessage<P::Ingress>,
        waits_for: WaitsFor,
        transmit: &impl ReplySink<P>,
    ) {
        let EnteredMessage { keys, ingress, request, since_ns } = entered;
        let held_message = HeldMessage { keys, ingress, request, waits_for, since_ns };
        let is_in_vain = matches!(waits_for, WaitsFor::Hosts(_)) && self.hosts.is_failing();
        let reason = if is_in_vain {
            // The shard requested the hosts nevertheless: the client's next message may find them.
            DropReason::HostsUnavailable
        } else if self.held_messages.push(held_message, octets) {
            return;
        } else {
            DropReason::HeldFull
        };
        self.finish_dropped(keys, reason);
        report(transmit, Notice::Dropped(reason), octets, ingress);
    }

    fn finish_dropped(&self, keys: Option<ClientKeys>, reason: DropReason) {
        self.counters.count_dropped(reason);
        leave(&self.in_flight, keys);
    }

    /// Sends the reply of a transaction, or holds it until the lease rows that it waits for are
    /// durable. `settled` is the row epoch that had settled when the transaction began.
    fn reply(
        &mut self,
        now: Now,
        reply: WrittenReply<P::Destination>,
        settled: u64,
        entered: EnteredMessage<P::Ingress>,
        transmit: &mut impl ReplySink<P>,
    ) {
        let EnteredMessage { keys, ingress, request, .. } = entered;
        let WrittenReply { len, destination, kind, gate_epoch } = reply;
        let octets = &self.scratch[..len];
        let envelope = Envelope { destination, ingress, keys, request, kind };
        if gate_epoch > self.passed_epoch() {
            if !self.outbox.push(gate_epoch, now.mono_ns, envelope, octets) {
                self.finish_dropped(keys, DropReason::OutboxFull);
                report(transmit, Notice::Dropped(DropReason::OutboxFull), octets, ingress);
            }
            return;
        }
        // Refusals since then do not concern a reply that depends only on earlier epochs.
        let epoch = if gate_epoch > settled { gate_epoch } else { 0 };
        let gate = SettledGate { store: &self.store, gate: &self.event_gate, epoch };
        gate.transmit(&self.counters, &envelope, octets, transmit);
        leave(&self.in_flight, keys);
    }

    fn release(&mut self, transmit: &mut impl ReplySink<P>) {
        let settled = self.passed_epoch();
        let (in_flight, counters, store) = (&*self.in_flight, &self.counters, &self.store);
        let gate = &*self.event_gate;
        self.outbox.release(settled, |epoch, reply, octets| {
            SettledGate { store, gate, epoch }.transmit(counters, &reply, octets, transmit);
            leave(in_flight, reply.keys);
        });
    }

    fn retry_held(&mut self, now: Now, transmit: &mut impl ReplySink<P>) {
        let settled = self.store.settled_epoch();
        for _ in 0..self.held_messages.len() {
            let Some((held_message, index)) = self.held_messages.take_first() else { break };
            let may_run = match held_message.waits_for {
                WaitsFor::Epoch(epoch) => epoch <= settled,
                WaitsFor::Hosts(batch) => batch <= self.hosts.answered_batch(),
                WaitsFor::Client => held_message
                    .keys
                    .is_none_or(|keys| self.in_flight.enter(keys) == InFlightAdmission::Entered),
            };
            if !may_run {
                self.held_messages.put_back(held_message, index);
                continue;
            }
            let octets = self.held_messages.take_octets(index);
            self.served = held_message.keys;
            match P::parse(self.snapshot(), &octets) {
                Ok(message) => {
                    let HeldMessage { keys, request, since_ns, ingress, .. } = held_message;
                    let entered = EnteredMessage { keys, ingress, request, since_ns };
                    self.run(now, &octets[..], &message, entered, transmit);
                }
                // The message was read when it came in, under a configuration that was more
                // lenient.
                Err(reason) => {
                    self.counters.count_malformed(reason);
                    leave(&self.in_flight, self.served.take());
                }
            }
            self.held_messages.give_octets_back(index, octets);
        }
    }
}

/// Reports the outcome of one message to `transmit`, if it is listening.
#[inline]
pub(crate) fn report<P: Protocol>(
    transmit: &impl ReplySink<P>,
    notice: Notice<P::Destination>,
    octets: &[u8],
    ingress: P::Ingress,
) {
    if transmit.is_listening() {
        transmit.on_notice(notice, octets, ingress);
    }
}

fn leave(in_flight: &InFlight, keys: Option<ClientKeys>) {
    if let Some(keys) = keys {
        in_flight.leave(keys);
    }
}
