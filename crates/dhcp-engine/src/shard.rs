//! One shard of the server without its sockets: messages in, replies out, held messages and
//! waiting replies in between. The daemon and the simulator drive the same code.
//!
//! Budget of the steady path: no allocation, no lock that all shards share, no clock; a message
//! costs one parse, two entries of the in-flight set, one or two fetches, one commit and the
//! reply's octets.

use std::sync::Arc;

use base::prefetch::no_prefetch;
use base::time::NS_PER_MS;
use base::{Now, Prefetch};
use dhcp_lease::{Expected, LeaseStore, Swept};

use crate::contain::contained;
use crate::counters::ShardCounters;
use crate::events::SubnetEvents;
use crate::held::{Held, HeldMessages, WaitsFor};
use crate::hosts::HostCache;
use crate::in_flight::{ClientKeys, Entry, InFlight};
use crate::interfaces::InterfaceNames;
use crate::outbox::{Envelope, Outbox};
use crate::protocol::{Ahead, Asked, Desk, Emitted, Notice, Protocol, Served, Transmit};
use crate::reason::DropReason;

/// Replies that may wait for their row at one time. At 100,000 replies/s these are 80 ms, twenty
/// flushes of a slow disk.
pub const OUTBOX_CAPACITY: u32 = 8192;
/// Messages that may be held at one time.
pub const HELD_CAPACITY: u32 = 4096;
/// A reply that has waited this long for its row is of no use to its client.
pub const GATE_DEADLINE_NS: u64 = 4_000 * NS_PER_MS;
/// A held message that has waited this long has been sent again by its client.
pub const HELD_DEADLINE_NS: u64 = 2_000 * NS_PER_MS;

/// Messages that are read before the first of them is served, so that what they need is on its way
/// from memory: about as many as it can bring at a time.
const AHEAD: usize = 8;

/// A datagram as it comes in: when the kernel took it in (monotonic nanoseconds), its octets, and
/// how it came.
pub type Arrived<'m, I> = (u64, &'m [u8], I);

/// A message that was read and has not entered yet.
struct Read<'m, P: Protocol> {
    octets: &'m [u8],
    message: P::Message<'m>,
    ingress: P::Ingress,
    asked: Asked,
    keys: Result<Option<ClientKeys>, DropReason>,
}

/// A message that has entered, whose transaction runs or waits.
#[derive(Clone, Copy)]
struct Entered {
    keys: Option<ClientKeys>,
    asked: Asked,
    /// When it was held first, or entered, on the monotonic clock.
    since_ns: u64,
}

/// A shard that speaks `P`: its handle on the leases, its transactions, its counters.
#[derive(Debug)]
pub struct Shard<P: Protocol, S> {
    store: S,
    /// Taken out while a message is served under it, so that no count that shards share changes
    /// with every message.
    snapshot: Option<Arc<P::Snapshot>>,
    /// A second handle on the snapshot, since a panic loses the one that is taken out.
    in_force: Arc<P::Snapshot>,
    /// The client whose message is being served.
    served: Option<ClientKeys>,
    /// Number of the last message that was to enter.
    last_number: u64,
    interfaces: Arc<InterfaceNames>,
    in_flight: Arc<InFlight>,
    counters: Arc<ShardCounters<P>>,
    outbox: Outbox<P::Destination, P::Ingress>,
    held: HeldMessages<P::Ingress>,
    work: Box<P::Work>,
    /// [`Protocol::REPLY_LEN_MAX`] octets.
    scratch: Box<[u8]>,
    subnet_events: Arc<SubnetEvents>,
    is_disabled: bool,
    leave_before_ns: u64,
    hosts: HostCache<P>,
    prefetch: Prefetch,
}

impl<P: Protocol, S: LeaseStore<P>> Shard<P, S> {
    /// A shard that serves `snapshot` from `store`; `in_flight` is shared by all shards.
    pub fn new(store: S, snapshot: Arc<P::Snapshot>, in_flight: Arc<InFlight>) -> Self {
        let counters = Arc::<ShardCounters<P>>::default();
        Self {
            store,
            subnet_events: counters.events().begin(P::ids_of_subnets(&snapshot)),
            snapshot: Some(Arc::clone(&snapshot)),
            in_force: snapshot,
            served: None,
            last_number: 0,
            interfaces: Arc::default(),
            in_flight,
            counters,
            outbox: Outbox::new(OUTBOX_CAPACITY),
            held: HeldMessages::new(HELD_CAPACITY),
            work: Box::default(),
            scratch: vec![0; P::REPLY_LEN_MAX].into(),
            is_disabled: false,
            leave_before_ns: 0,
            hosts: HostCache::default(),
            prefetch: no_prefetch,
        }
    }

    /// Brings memory near by `prefetch`. At first it is not.
    pub const fn set_prefetch(&mut self, prefetch: Prefetch) {
        self.prefetch = prefetch;
    }

    /// Looks hosts up there that the configuration does not have. At first nobody is asked.
    pub fn set_hosts(&mut self, hosts: HostCache<P>) {
        self.hosts = hosts;
    }

    /// What is remembered of such hosts.
    #[must_use]
    pub const fn hosts(&self) -> &HostCache<P> {
        &self.hosts
    }

    /// The counters, for whoever reports them.
    #[must_use]
    pub fn counters(&self) -> Arc<ShardCounters<P>> {
        Arc::clone(&self.counters)
    }

    /// The lease store.
    pub const fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Serves a new configuration from the next message on.
    pub fn reload(&mut self, snapshot: Arc<P::Snapshot>) {
        self.subnet_events = self.counters.events().begin(P::ids_of_subnets(&snapshot));
        self.in_force = Arc::clone(&snapshot);
        self.snapshot = Some(snapshot);
        self.hosts.clear();
    }

    /// Drops whatever comes in from now on, unread (Kea's `dhcp-disable`), or serves again.
    pub const fn set_disabled(&mut self, is_disabled: bool) {
        self.is_disabled = is_disabled;
    }

    /// Drops what arrived before `mono_ns`, unread, from now on: when more comes than can be served, a
    /// later message is better served. At first, and with 0, nothing is too old.
    pub const fn leave_before(&mut self, mono_ns: u64) {
        self.leave_before_ns = mono_ns;
    }

    /// Knows the machine's interfaces by these names from the next message on. At first it knows
    /// none, and no subnet is found by its `interface`.
    pub fn set_interfaces(&mut self, interfaces: Arc<InterfaceNames>) {
        self.interfaces = interfaces;
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
        ingress: P::Ingress,
        transmit: &mut impl Transmit<P>,
    ) {
        if let Some(read) = self.read((now.mono_ns, octets, ingress), transmit) {
            self.enter(now, &read, transmit);
        }
    }

    /// The same of many, in their order.
    pub fn handle_all<'m>(
        &mut self,
        now: Now,
        datagrams: impl Iterator<Item = Arrived<'m, P::Ingress>>,
        transmit: &mut impl Transmit<P>,
    ) {
        let mut datagrams = datagrams.fuse();
        while contained(|| self.handle_in_groups(now, &mut datagrams, transmit)).is_none() {
            self.give_up();
        }
    }

    fn handle_in_groups<'m>(
        &mut self,
        now: Now,
        datagrams: &mut impl Iterator<Item = Arrived<'m, P::Ingress>>,
        transmit: &mut impl Transmit<P>,
    ) {
        loop {
            let mut messages: [Option<Read<'m, P>>; AHEAD] = core::array::from_fn(|_| None);
            let mut count = 0;
            for datagram in datagrams.by_ref().take(AHEAD) {
                messages[count] = self.read(datagram, transmit);
                count += 1;
            }
            self.expect(&messages);
            for message in messages.iter().flatten() {
                self.enter(now, message, transmit);
            }
            if count < AHEAD {
                return;
            }
        }
    }

    /// Goes on after a panic: without the message that was being served, and those that were read
    /// with it and had not entered.
    ///
    /// # Panics
    /// When leases were being changed, which nothing may go on with.
    fn give_up(&mut self) {
        assert!(self.store.is_sound(), "a mistake was made while leases were being changed");
        self.snapshot = Some(Arc::clone(&self.in_force));
        self.counters.dropped(DropReason::InternalError);
        leave(&self.in_flight, self.served.take());
        self.held.restore();
    }

    /// Asks memory for what `messages` will need. What is read to find out more has been asked for
    /// then: hosts lead to their records, and those to slots.
    fn expect(&mut self, messages: &[Option<Read<'_, P>>; AHEAD]) {
        let snapshot = self.snapshot.as_deref().expect("it is put back after every message");
        let (store, prefetch) = (&mut self.store, self.prefetch);
        let hosts = P::host_tables(snapshot);
        let mut ahead = [Ahead::default(); AHEAD];
        for (ahead, read) in ahead.iter_mut().zip(messages) {
            if let Some(read) = read {
                *ahead = P::expect(snapshot, &read.message, read.ingress, store, prefetch);
                if let Some(trails) = ahead.trails {
                    trails.expect(hosts, prefetch);
                }
            }
        }
        for trails in ahead.iter().filter_map(|ahead| ahead.trails) {
            trails.expect_records(hosts, prefetch);
        }
        for Ahead { trails, pool } in ahead {
            let Some(pool) = pool else { continue };
            let expected = match trails.and_then(|trails| trails.reserved(hosts)) {
                Some(address) => Expected::Address(address),
                None => Expected::Candidate(P::pool_set(snapshot), pool),
            };
            store.expect(None, expected, prefetch);
        }
    }

    /// Reads a datagram and counts it; `None` when that was all.
    fn read<'m>(
        &self,
        (since_ns, octets, ingress): Arrived<'m, P::Ingress>,
        transmit: &impl Transmit<P>,
    ) -> Option<Read<'m, P>> {
        if self.is_disabled {
            self.drop_unread(DropReason::ServiceDisabled, (octets, ingress), transmit);
            return None;
        }
        if since_ns < self.leave_before_ns {
            self.drop_unread(DropReason::WaitedTooLong, (octets, ingress), transmit);
            return None;
        }
        let message = match P::parse(self.snapshot(), octets) {
            Ok(message) => message,
            Err(reason) => {
                tell(transmit, Notice::Malformed(reason), octets, ingress);
                self.counters.malformed(reason);
                return None;
            }
        };
        tell(transmit, Notice::Received, octets, ingress);
        let asked = Asked { kind: P::received_index(&message), since_ns, number: 0 };
        self.counters.received(asked.kind);
        let keys = P::client(&self.in_flight, &message);
        if let Ok(Some(keys)) = keys {
            self.in_flight.expect(keys, self.prefetch);
        }
        Some(Read { octets, message, ingress, asked, keys })
    }

    fn enter(&mut self, now: Now, read: &Read<'_, P>, transmit: &mut impl Transmit<P>) {
        let &Read { octets, ref message, ingress, asked, keys } = read;
        self.last_number += 1;
        let asked = Asked { number: self.last_number, ..asked };
        if P::begins_exchange(message) && self.outbox.is_crowded() {
            // Whoever has an offer already goes first.
            return self.drop_unread(DropReason::OutboxFull, (octets, ingress), transmit);
        }
        let keys = match keys {
            Ok(keys) => keys,
            Err(reason) => return self.drop_unread(reason, (octets, ingress), transmit),
        };
        match keys.map_or(Entry::Entered, |keys| self.in_flight.enter(keys)) {
            Entry::Entered => {
                let entered = Entered { keys, asked, since_ns: now.mono_ns };
                self.run(now, (octets, message), ingress, entered, transmit);
            }
            Entry::Duplicate => {
                self.drop_unread(DropReason::DuplicateInFlight, (octets, ingress), transmit);
            }
            Entry::Hold => {
                let waits_for = WaitsFor::Client;
                let held = Held { keys, ingress, asked, waits_for, since_ns: now.mono_ns };
                if !self.held.push(held, octets) {
                    self.drop_unread(DropReason::HeldFull, (octets, ingress), transmit);
                }
            }
        }
    }

    /// Drops a message that has not entered.
    fn drop_unread(
        &self,
        reason: DropReason,
        (octets, ingress): (&[u8], P::Ingress),
        transmit: &impl Transmit<P>,
    ) {
        self.counters.dropped(reason);
        tell(transmit, Notice::Dropped(reason), octets, ingress);
    }

    /// Ends a batch: hands over the rows, sends what has settled, and tries held messages again.
    pub fn end_batch(&mut self, now: Now, transmit: &mut impl Transmit<P>) {
        self.store.submit(now);
        self.release(transmit);
        if self.hosts.is_in_use() {
            let snapshot = self.snapshot.as_deref().expect("it is put back after every message");
            self.hosts.take_answers(now, P::classes(snapshot));
        }
        if !self.held.is_empty() {
            if contained(|| self.retry_held(now, transmit)).is_none() {
                self.give_up();
            }
            self.store.submit(now);
            self.release(transmit);
        }
        self.hosts.submit();
    }

    /// Expiry, deadlines and lost stores, at most `budget` slots of work.
    pub fn housekeeping(&mut self, now: Now, budget: u32) -> Swept {
        let is_lost = self.store.has_failed();
        let oldest_ns =
            if is_lost { u64::MAX } else { now.mono_ns.saturating_sub(GATE_DEADLINE_NS) };
        let reason = if is_lost { DropReason::StoreFailed } else { DropReason::GateDeadline };
        let (in_flight, counters) = (&*self.in_flight, &self.counters);
        self.outbox.abandon(oldest_ns, |reply| {
            leave(in_flight, reply.keys);
            counters.dropped(reason);
        });
        let oldest_held_ns =
            if is_lost { u64::MAX } else { now.mono_ns.saturating_sub(HELD_DEADLINE_NS) };
        self.held.abandon(oldest_held_ns, |held| {
            if held.waits_for != WaitsFor::Client {
                leave(in_flight, held.keys);
            }
            counters.dropped(reason);
        });
        self.store.sweep(now, budget)
    }

    fn snapshot(&self) -> &P::Snapshot {
        self.snapshot.as_deref().expect("it is put back after every message")
    }

    fn run(
        &mut self,
        now: Now,
        (octets, message): (&[u8], &P::Message<'_>),
        ingress: P::Ingress,
        entered: Entered,
        transmit: &mut impl Transmit<P>,
    ) {
        let Entered { keys, asked, .. } = entered;
        let snapshot = self.snapshot.take().expect("it is put back after every message");
        // What was refused by then is put right in the table that the transaction reads.
        let settled = self.store.settled_epoch();
        self.store.begin_message(asked.number);
        self.hosts.begin(now);
        let desk = Desk {
            store: &mut self.store,
            work: &mut *self.work,
            buffer: &mut self.scratch[..],
            counters: &self.counters,
            subnet_events: &self.subnet_events,
            interfaces: &self.interfaces,
            hosts: &self.hosts,
        };
        self.served = keys;
        let served = P::serve(now, &snapshot, message, ingress, desk);
        self.snapshot = Some(snapshot);
        match served {
            Served::Reply(reply) => {
                self.reply(now, (reply, settled), ingress, keys, asked, transmit);
            }
            Served::Silence => {
                self.counters.silent();
                leave(&self.in_flight, keys);
                tell(transmit, Notice::Silent, octets, ingress);
            }
            Served::Drop(reason) => {
                self.finish_dropped(keys, reason);
                tell(transmit, Notice::Dropped(reason), octets, ingress);
            }
            Served::Wait(epoch) => {
                self.hold(octets, ingress, (entered, WaitsFor::Epoch(epoch)), transmit);
            }
            Served::AwaitHosts => {
                let waits_for = WaitsFor::Hosts(self.hosts.ask_for_missed());
                self.hold(octets, ingress, (entered, waits_for), transmit);
            }
        }
        self.served = None;
    }

    /// Holds a message that has entered, unless that is of no use.
    fn hold(
        &mut self,
        octets: &[u8],
        ingress: P::Ingress,
        (entered, waits_for): (Entered, WaitsFor),
        transmit: &impl Transmit<P>,
    ) {
        let Entered { keys, asked, since_ns } = entered;
        let held = Held { keys, ingress, asked, waits_for, since_ns };
        let is_in_vain = matches!(waits_for, WaitsFor::Hosts(_)) && self.hosts.is_failing();
        let reason = match is_in_vain {
            // It was asked all the same: the client's next message may be luckier.
            true => DropReason::HostsUnavailable,
            false if self.held.push(held, octets) => return,
            false => DropReason::HeldFull,
        };
        self.finish_dropped(keys, reason);
        tell(transmit, Notice::Dropped(reason), octets, ingress);
    }

    fn finish_dropped(&self, keys: Option<ClientKeys>, reason: DropReason) {
        self.counters.dropped(reason);
        leave(&self.in_flight, keys);
    }

    /// Sends a reply of a transaction that began when the epoch beside it was settled, or holds it
    /// until its own is.
    fn reply(
        &mut self,
        now: Now,
        (reply, settled): (Emitted<P::Destination>, u64),
        ingress: P::Ingress,
        keys: Option<ClientKeys>,
        asked: Asked,
        transmit: &mut impl Transmit<P>,
    ) {
        let Emitted { len, destination, kind, gate_epoch } = reply;
        let octets = &self.scratch[..len];
        let envelope = Envelope { destination, ingress, keys, asked, kind };
        if gate_epoch > self.store.settled_epoch() {
            if !self.outbox.push(gate_epoch, now.mono_ns, envelope, octets) {
                self.finish_dropped(keys, DropReason::OutboxFull);
                tell(transmit, Notice::Dropped(DropReason::OutboxFull), octets, ingress);
            }
            return;
        }
        // A reply that rests on what was settled before is none that was refused since.
        let epoch = if gate_epoch > settled { gate_epoch } else { 0 };
        depart((&self.store, &self.counters), (epoch, &envelope), octets, transmit);
        leave(&self.in_flight, keys);
    }

    fn release(&mut self, transmit: &mut impl Transmit<P>) {
        let settled = self.store.settled_epoch();
        let (in_flight, counters, store) = (&*self.in_flight, &self.counters, &self.store);
        self.outbox.release(settled, |epoch, reply, octets| {
            depart((store, counters), (epoch, &reply), octets, transmit);
            leave(in_flight, reply.keys);
        });
    }

    fn retry_held(&mut self, now: Now, transmit: &mut impl Transmit<P>) {
        let settled = self.store.settled_epoch();
        for _ in 0..self.held.len() {
            let Some((held, index)) = self.held.take_first() else { break };
            let may_run = match held.waits_for {
                WaitsFor::Epoch(epoch) => epoch <= settled,
                WaitsFor::Hosts(batch) => batch <= self.hosts.answered(),
                WaitsFor::Client => {
                    held.keys.is_none_or(|keys| self.in_flight.enter(keys) == Entry::Entered)
                }
            };
            if !may_run {
                self.held.put_back(held, index);
                continue;
            }
            let octets = self.held.take_octets(index);
            self.served = held.keys;
            match P::parse(self.snapshot(), &octets) {
                Ok(message) => {
                    let Held { keys, asked, since_ns, ingress, .. } = held;
                    let entered = Entered { keys, asked, since_ns };
                    self.run(now, (&octets[..], &message), ingress, entered, transmit);
                }
                // It was read when it came in, under a configuration that was more lenient.
                Err(reason) => {
                    self.counters.malformed(reason);
                    leave(&self.in_flight, self.served.take());
                }
            }
            self.held.give_octets_back(index, octets);
        }
    }
}

/// Sends a reply that rests on `epoch`, which is settled, unless what it says was refused.
fn depart<P: Protocol, S: LeaseStore<P>>(
    (store, counters): (&S, &ShardCounters<P>),
    (epoch, reply): (u64, &Envelope<P::Destination, P::Ingress>),
    octets: &[u8],
    transmit: &mut impl Transmit<P>,
) {
    let Envelope { destination, ingress, asked, kind, .. } = *reply;
    let dropped = if epoch > 0 && store.is_refused(epoch, octets) {
        match store.is_refused_for_data(epoch, octets) {
            true => DropReason::LeaseRefused,
            false => DropReason::GivenElsewhere,
        }
    } else if transmit.transmit(destination, ingress, octets) {
        transmit.answered(asked);
        counters.sent(kind);
        return tell(transmit, Notice::Sent { destination, asked }, octets, ingress);
    } else {
        DropReason::SendFailed
    };
    counters.dropped(dropped);
    tell(transmit, Notice::Dropped(dropped), octets, ingress);
}

/// Lets whoever listens hear of one message.
#[inline]
fn tell<P: Protocol>(
    transmit: &impl Transmit<P>,
    notice: Notice<P::Destination>,
    octets: &[u8],
    ingress: P::Ingress,
) {
    if transmit.is_listening() {
        transmit.hear(notice, octets, ingress);
    }
}

fn leave(in_flight: &InFlight, keys: Option<ClientKeys>) {
    if let Some(keys) = keys {
        in_flight.leave(keys);
    }
}
