//! All requests of a perfdhcp run, from their due times to the counts of an account. The module
//! uses no sockets and no clock.
//!
//! A request is watched from its due time until its deadline and the grace after it have passed.
//! The first reply that carries its transaction identifier decides how it ended. A first request is
//! kept for as long as the second one that it may lead to, which shares its number. The cost per
//! message is that of [`crate::population`]; nothing is allocated after construction, except for
//! diagnostics.

mod answer;
mod link;
mod watch;

pub use link::LinkCounts;

use std::net::Ipv4Addr;

use base::Random;
use base::time::NS_PER_S;
use load::{ExchangeClass, Outstanding, Throughput};
use packet_wire::frame::Endpoints;

use super::account::ExchangeAccount;
use super::capture::{CapturedMessage, MessageCapture, exchange_of};
use super::dialect::{Dialect, ExchangeKind, MessageSender};
use super::holders::Holders;
use super::lifecycle::{LifecycleExchangeEnd, LifecycleMessage, LifecyclePopulation};
use super::persona::Personas;
use super::pool::RenewableLeases;
use super::resend::Resends;
use super::rules::RequestRules;
use super::trace::Trace;
use crate::identities::ExchangeIdentities;
use crate::leases::LeaseLog;
use crate::wire::{OutgoingMessage, ReceivedDatagram, Requests};

/// Number of bits of a message's number that hold the kind of its request.
const KIND_BITS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyState {
    Awaited,
    /// A reply to the request came.
    Answered,
    /// The time for which the request is watched has passed without a reply.
    GivenUp,
}

/// State of one request whose reply the generator awaits.
#[derive(Clone, Copy, Debug)]
struct RequestState<O> {
    who: MessageSender,
    sent_ns: u64,
    /// Time at which the first request left that led to this second request, in nanoseconds.
    began_ns: Option<u64>,
    state: ReplyState,
    is_counted: bool,
    /// Elapsed time that the request states when it leaves, in seconds.
    age_s: u16,
    accepted_offer: Option<O>,
    /// Number of the first request that led to this second request.
    first: Option<u64>,
    /// Number of the second request that this first request led to.
    second: Option<u64>,
}

impl<O> RequestState<O> {
    const fn new(who: MessageSender) -> Self {
        Self {
            who,
            sent_ns: 0,
            began_ns: None,
            state: ReplyState::Awaited,
            is_counted: true,
            age_s: 0,
            accepted_offer: None,
            first: None,
            second: None,
        }
    }
}

/// Exchange to begin that is about a client's lease, such as a renewal.
struct LeaseExchange<L> {
    kind: ExchangeKind,
    who: MessageSender,
    lease: L,
}

/// All requests of a perfdhcp run, with the counts of their ends.
pub struct RequestTraffic<D: Dialect> {
    dialect: D,
    personas: Personas,
    rules: RequestRules,
    numbers: ExchangeIdentities,
    random: Random,
    rings: [Outstanding<RequestState<D::Offer>>; ExchangeKind::COUNT],
    /// Number of the oldest request whose deadline may not have passed yet, by kind of exchange.
    /// `watched` has the oldest one that the generator still watches.
    overdue: [u64; ExchangeKind::COUNT],
    watched: [u64; ExchangeKind::COUNT],
    unsettled: u64,
    start_ns: u64,
    pool: RenewableLeases<D::Lease>,
    lifecycle: Option<LifecyclePopulation<D::Lease>>,
    resends: Resends,
    capture: Option<MessageCapture>,
    holders: Option<Holders>,
    /// Accounts of each kind of exchange, by [`ExchangeKind::index`].
    pub accounts: [ExchangeAccount; ExchangeKind::COUNT],
    /// Logs of the leases granted, and of the addresses offered.
    pub leases: Vec<LeaseLog<D::Resource>>,
    /// Data that the run keeps for diagnostics (`-x`).
    pub trace: Trace,
    /// Number of datagrams received.
    pub received: u64,
    /// Number of received datagrams that are no DHCP messages.
    pub malformed: u64,
    /// Number of received datagrams that are shorter than any DHCP message, which `malformed`
    /// includes.
    pub too_short: u64,
    /// Number of requests that came due while the generator already awaited as many replies as it
    /// can.
    pub local_limit: u64,
    /// Counts of messages that came over the generator's link (`--direct`).
    pub link: LinkCounts,
    /// Numbers of first requests sent before the run, and of replies to them.
    pub preloaded: [u64; 2],
    /// Time of the last reply that was on time, in nanoseconds of the monotonic clock.
    pub answered_ns: u64,
    /// Counts of whole exchanges on time, with their times of completion after the last request
    /// left.
    pub throughput: Throughput,
}

impl<D: Dialect> RequestTraffic<D> {
    /// Creates the requests of a run that has sent nothing yet.
    pub fn new(dialect: D, personas: Personas, rules: RequestRules) -> Self {
        let numbers = ExchangeIdentities {
            thread: rules.part.index.into(),
            threads: rules.part.of.into(),
            client_offset: 0,
            clients: 0,
            xid_base: ExchangeIdentities::xid_base_of(rules.seed),
            xid_bits: D::NUMBER_BITS,
        };
        let blank = RequestState::new(MessageSender { client: 0, link: 0 });
        let rings = ExchangeKind::ALL.map(|kind| {
            let room = match kind {
                ExchangeKind::First | ExchangeKind::Second => rules.capacity,
                ExchangeKind::Renewal | ExchangeKind::Release => rules.lease_capacity,
                _ if rules.habits.is_some() => rules.lease_capacity,
                _ => 1,
            };
            Outstanding::with_capacity(room, blank)
        });
        let offers = if rules.compares_offers { rules.leases } else { 0 };
        let own_seed = rules.part.seed(rules.seed);
        Self {
            holders: rules.answers_arp.then(|| Holders::new(personas.own_count())),
            dialect,
            personas,
            numbers,
            random: Random::from_seed(own_seed).fork(0x7065_7266),
            rings,
            overdue: [0; ExchangeKind::COUNT],
            watched: [0; ExchangeKind::COUNT],
            unsettled: 0,
            start_ns: 0,
            pool: RenewableLeases::new(rules.keeps_leases),
            lifecycle: rules.habits.map(|habits| LifecyclePopulation::new(habits, own_seed)),
            resends: Resends::new(rules.resend, own_seed),
            capture: rules.capture.map(MessageCapture::new),
            accounts: Default::default(),
            leases: [rules.leases, offers].map(LeaseLog::with_capacity).into(),
            trace: rules.trace.clone(),
            rules,
            received: 0,
            malformed: 0,
            too_short: 0,
            local_limit: 0,
            link: LinkCounts::default(),
            preloaded: [0; 2],
            answered_ns: 0,
            throughput: Throughput::default(),
        }
    }

    /// Sets the beginning of the run to `start_ns`, in nanoseconds of the monotonic clock; call it
    /// before the first request.
    pub fn starts_at(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        for log in &mut self.leases {
            log.starts_at(start_ns);
        }
    }

    /// Returns the protocol family with the message templates of the run.
    pub const fn dialect(&self) -> &D {
        &self.dialect
    }

    fn xid(&self, kind: ExchangeKind, number: u64) -> u32 {
        let is_shared = kind == ExchangeKind::Second && !D::IS_SECOND_RENUMBERED;
        let tag = if is_shared { ExchangeKind::First } else { kind }.index() as u32;
        self.numbers.xid(number) << KIND_BITS | tag
    }

    /// Returns true if the oldest watched request of `kind` has its reply, and so has the second
    /// request that the oldest one led to, which is found through the first.
    fn is_oldest_done(&self, kind: ExchangeKind) -> bool {
        let ring = &self.rings[kind.index()];
        let is_done = |turn: &RequestState<D::Offer>| turn.state != ReplyState::Awaited;
        let oldest = ring.get(ring.next_number() - ring.len());
        oldest.is_some_and(|first| {
            let second = first.second.and_then(|number| self.rings[1].get(number));
            is_done(first) && second.is_none_or(is_done)
        })
    }

    /// Opens a request of `kind` due at `due_ns` and returns its number; `None` when there is no
    /// room. When the ring of watched requests is full, it gives up the oldest request if that has
    /// its reply.
    fn open(
        &mut self,
        kind: ExchangeKind,
        due_ns: u64,
        turn: RequestState<D::Offer>,
    ) -> Option<u64> {
        let mut number = self.rings[kind.index()].open(due_ns, turn);
        if number.is_none() && self.is_oldest_done(kind) {
            let ring = &mut self.rings[kind.index()];
            ring.close_oldest(u64::MAX);
            number = ring.open(due_ns, turn);
        }
        if turn.is_counted {
            self.accounts[kind.index()].ledger.record_due();
            match number {
                Some(_) => self.unsettled += 1,
                None => {
                    self.accounts[kind.index()].ledger.record_end(ExchangeClass::Lost);
                    self.local_limit += 1;
                }
            }
        }
        number
    }

    /// Counts a request of `kind` that came due and that the generator does not send.
    pub fn skip(&mut self, kind: ExchangeKind) {
        let ledger = &mut self.accounts[kind.index()].ledger;
        ledger.record_due();
        ledger.record_end(ExchangeClass::Lost);
    }

    fn outgoing(
        &mut self,
        kind: ExchangeKind,
        number: u64,
        message: &[u8],
        endpoints: Option<Endpoints>,
    ) -> OutgoingMessage {
        self.trace.record_sent(kind, message);
        self.resends.keep(kind, number, message);
        self.outgoing_message(kind, number, message, endpoints)
    }

    /// Returns the message of request `number`, ready to be sent, and notes it for the capture
    /// file.
    fn outgoing_message(
        &mut self,
        kind: ExchangeKind,
        number: u64,
        message: &[u8],
        endpoints: Option<Endpoints>,
    ) -> OutgoingMessage {
        let name = number << KIND_BITS | kind.index() as u64;
        if let Some(capture) = &mut self.capture {
            let first = self.rings[kind.index()].get(number).and_then(|turn| turn.first);
            let exchange = exchange_of(kind, first.unwrap_or(number));
            capture.record_queued(name, exchange, message, endpoints);
        }
        OutgoingMessage { number: name, len: message.len(), source: 0, endpoints }
    }

    /// Returns true if the run can watch one more first request.
    pub fn has_room(&self) -> bool {
        self.rings[0].len() < self.rules.capacity || self.is_oldest_done(ExchangeKind::First)
    }

    /// Begins the first request that came due at `due_ns`: writes it into `buffer` and returns it.
    /// A request that is not counted is sent before the run and leads to no second one.
    pub fn begin(
        &mut self,
        due_ns: u64,
        buffer: &mut [u8],
        is_counted: bool,
    ) -> Option<OutgoingMessage> {
        let client = match &mut self.lifecycle {
            Some(population) => self.rules.part.number(population.join()?),
            None => self.personas.client(self.rings[0].next_number(), &mut self.random),
        };
        self.begin_as(client, due_ns, buffer, is_counted)
    }

    fn begin_as(
        &mut self,
        client: u32,
        due_ns: u64,
        buffer: &mut [u8],
        is_counted: bool,
    ) -> Option<OutgoingMessage> {
        let link = self.random.below(self.rules.links.max(1).into()) as u32;
        let turn = RequestState { is_counted, ..RequestState::new(MessageSender { client, link }) };
        let Some(number) = self.open(ExchangeKind::First, due_ns, turn) else {
            self.record_exchange_end(
                due_ns,
                ExchangeKind::First,
                turn.who,
                LifecycleExchangeEnd::Failed,
            );
            return None;
        };
        self.preloaded[0] += u64::from(!is_counted);
        let age = self.age_s(due_ns);
        let len =
            self.dialect.write_first(buffer, self.xid(ExchangeKind::First, number), turn.who, age);
        let endpoints = self.dialect.endpoints(ExchangeKind::First, turn.who, None);
        Some(self.outgoing(ExchangeKind::First, number, &buffer[..len], endpoints))
    }

    /// Returns the elapsed time that a first request at `now_ns` states, in seconds.
    fn age_s(&self, now_ns: u64) -> u16 {
        let Some((from_s, for_s)) = self.rules.ages else { return 0 };
        let since_s = now_ns.saturating_sub(self.start_ns) / NS_PER_S;
        if (from_s..from_s + for_s).contains(&since_s) {
            u16::try_from(since_s - from_s + 1).unwrap_or(u16::MAX)
        } else {
            0
        }
    }

    /// Begins at `now_ns` the renewal or release of a random lease that came due at `due_ns`:
    /// writes it into `buffer` and returns it.
    pub fn begin_on_lease(
        &mut self,
        kind: ExchangeKind,
        due_ns: u64,
        now_ns: u64,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        let Some((who, lease)) = self.pool.take(&mut self.random) else {
            self.accounts[kind.index()].without_lease += 1;
            return None;
        };
        self.begin_lease_exchange(LeaseExchange { kind, who, lease }, due_ns, now_ns, buffer)
    }

    /// Begins at `now_ns` an exchange that is about a client's lease: writes its request into
    /// `buffer` and returns it.
    fn begin_lease_exchange(
        &mut self,
        about: LeaseExchange<D::Lease>,
        due_ns: u64,
        now_ns: u64,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        let LeaseExchange { kind, who, lease } = about;
        let turn = RequestState {
            accepted_offer: D::expected_reply(kind, &lease),
            ..RequestState::new(who)
        };
        let Some(number) = self.open(kind, due_ns, turn) else {
            self.record_exchange_end(now_ns, kind, who, LifecycleExchangeEnd::Failed);
            return None;
        };
        if matches!(kind, ExchangeKind::Release | ExchangeKind::Decline) {
            let log = &mut self.leases[0];
            D::resources_of_lease(&lease, who, |owner, resource| {
                log.release(now_ns, owner, resource);
            });
        }
        let len =
            self.dialect.write_lease_message(buffer, kind, self.xid(kind, number), who, &lease);
        let endpoints = self.dialect.endpoints(kind, who, Some(&lease));
        Some(self.outgoing(kind, number, &buffer[..len], endpoints))
    }

    /// Returns the time at which the next client of a lifecycle population acts by itself, in
    /// nanoseconds; `None` without any.
    pub fn next_life_ns(&self) -> Option<u64> {
        self.lifecycle.as_ref().and_then(LifecyclePopulation::next_ns)
    }

    /// Begins at `now_ns` the next exchange that a client of a lifecycle population starts by
    /// itself.
    pub fn begin_lifecycle_exchange(
        &mut self,
        now_ns: u64,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        let (due_ns, act) = self.lifecycle.as_mut()?.take(now_ns)?;
        match act {
            LifecycleMessage::Begin(position) => {
                self.begin_as(self.rules.part.number(position), due_ns, buffer, true)
            }
            LifecycleMessage::About(kind, MessageSender { client: position, link }, lease) => {
                let who = MessageSender { client: self.rules.part.number(position), link };
                let about = LeaseExchange { kind, who, lease };
                self.begin_lease_exchange(about, due_ns, now_ns, buffer)
            }
        }
    }

    /// Reports the end of an exchange of client `who` to the lifecycle population, which counts its
    /// own clients only.
    fn record_exchange_end(
        &mut self,
        now_ns: u64,
        kind: ExchangeKind,
        who: MessageSender,
        end: LifecycleExchangeEnd<D::Lease>,
    ) {
        self.note_holder(now_ns, kind, who, &end);
        if let Some(population) = &mut self.lifecycle {
            let client = self.rules.part.position(who.client);
            population.record_exchange_end(now_ns, kind, MessageSender { client, ..who }, end);
        }
    }

    /// Notes that the kernel took the message with number `name` at `at_ns`. Only the first counts.
    pub fn record_sent(&mut self, name: u64, at_ns: u64) {
        let kind = ExchangeKind::ALL[(name & ((1 << KIND_BITS) - 1)) as usize];
        let number = name >> KIND_BITS;
        if let Some(capture) = &mut self.capture {
            capture.record_sent(name, at_ns);
        }
        let Some((due_ns, turn)) = self.rings[kind.index()].find(number) else { return };
        if turn.sent_ns != 0 {
            return;
        }
        turn.sent_ns = at_ns.max(1);
        let who = turn.who;
        let is_over = !kind.is_answered::<D>();
        if is_over {
            turn.state = ReplyState::Answered;
            self.unsettled -= 1;
        }
        if turn.is_counted {
            self.accounts[kind.index()].ledger.record_sent(due_ns, at_ns);
            if kind == ExchangeKind::First {
                self.throughput.record_sent(at_ns);
            }
            self.resends.record_sent(kind, number, at_ns);
        }
        if is_over {
            self.record_exchange_end(at_ns, kind, who, LifecycleExchangeEnd::Agreed);
        }
    }

    /// Returns the messages kept for the capture file, in order, and the number of messages that
    /// did not fit.
    pub fn take_capture(&mut self) -> (Vec<CapturedMessage>, u64) {
        self.capture.take().map(MessageCapture::into_messages).unwrap_or_default()
    }

    /// Returns true when the generator awaits no reply to any request of the run.
    pub const fn is_settled(&self) -> bool {
        self.unsettled == 0
    }
}

impl<D: Dialect> Requests for RequestTraffic<D> {
    fn process_datagram(
        &mut self,
        now_ns: u64,
        incoming: &ReceivedDatagram<'_>,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        Self::process_datagram(self, now_ns, incoming, buffer)
    }

    fn record_sent(&mut self, name: u64, at_ns: u64) {
        Self::record_sent(self, name, at_ns);
    }

    fn holder(&mut self, now_ns: u64, address: Ipv4Addr) -> Option<[u8; 6]> {
        Self::holder(self, now_ns, address)
    }

    fn announcement(&mut self) -> Option<([u8; 6], Ipv4Addr)> {
        Self::announcement(self)
    }
}
