//! All DHCP exchanges of one generator thread, from their due times to their classes in the ledger.
//! The module uses no sockets and no clock: a test can play any server on virtual time.
//!
//! A population watches an exchange from its due time until the deadline and the grace after it
//! have passed, also when it has ended earlier. So it can distinguish late replies from lost ones,
//! and second replies from replies to unknown exchanges. Budget: about 60 ns per message in
//! addition to reading or patching it; nothing is allocated after construction.

use base::time::NS_PER_S;
use load::{
    AwaitedReply, ExchangeClass, ExchangeLedger, ExchangeTimeLimits, Outstanding, Timeline,
};

use crate::exchange::{Exchange, ReplyEffect};
use crate::fault::{ReplyFault, ServerRefusal};
use crate::identities::ExchangeIdentities;
use crate::leases::{LeaseLog, LeasedResource};
use crate::protocol::{DhcpLoadProtocol, Expect};
use crate::wire::{OutgoingMessage, ReceivedDatagram, Requests};

base::counts! {
    /// Counts of one generator thread's DHCP messages by kind.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct DhcpMessageTally {
        /// Number of datagrams received.
        pub received: u64,
        /// Number of bytes received.
        pub received_bytes: u64,
        /// Number of received datagrams that are no DHCP message.
        pub malformed: u64,
        /// Number of received replies that belong to no exchange that the generator still watches.
        pub unmatched: u64,
        /// Number of offers (DHCPOFFER, ADVERTISE) that clients took up.
        pub offers: u64,
        /// Number of grants (DHCPACK, REPLY) that completed an exchange, on time or late.
        pub grants: u64,
        /// Number of grants of another address or prefix than the server had offered.
        pub moved: u64,
        /// Number of grants that clients renewed at once (`--renew`).
        pub renewed: u64,
        /// Number of replies to exchanges that already had the reply.
        pub repeated: u64,
        /// Number of exchanges lost while they waited for an offer.
        pub lost_before_offer: u64,
        /// Number of exchanges lost while they waited for the grant.
        pub lost_before_grant: u64,
        /// Number of exchanges that the server refused instead of an offer.
        pub refused_offers: u64,
        /// Number of exchanges that the server refused instead of the grant.
        pub refused_grants: u64,
        /// Numbers of refusals by servers, by [`ServerRefusal::index`].
        pub refusals: [u64; ServerRefusal::ALL.len()],
        /// Numbers of invalid replies, by [`ReplyFault::index`].
        pub faults: [u64; ReplyFault::ALL.len()],
    }
}

/// Results of a generator thread's exchanges.
#[derive(Clone, Debug)]
pub struct ThreadExchangeResults<R: LeasedResource> {
    /// Outcomes and latencies of the thread's exchanges.
    pub ledger: ExchangeLedger,
    /// Leases that servers granted to the thread's clients.
    pub leases: LeaseLog<R>,
    /// Counts of the thread's messages by kind.
    pub tally: DhcpMessageTally,
    /// Counts of the thread's exchanges by interval; empty unless the settings ask for intervals.
    pub timeline: Timeline,
}

/// All DHCP exchanges of one generator thread.
pub struct Population<P: DhcpLoadProtocol> {
    identities: ExchangeIdentities,
    limits: ExchangeTimeLimits,
    expect: Expect,
    protocol: P,
    open: Outstanding<Exchange<P::Offer>>,
    unsettled: u64,
    ledger: ExchangeLedger,
    leases: LeaseLog<P::Resource>,
    tally: DhcpMessageTally,
    timeline: Timeline,
    /// True if clients send every message twice (`--chatty`), so that a second reply is no fault.
    chatty: bool,
}

impl<P: DhcpLoadProtocol> Population<P> {
    /// Creates the exchanges of one thread, none of them begun. `capacity` is the number of
    /// exchanges that may be watched at a time; `leases` is the log for granted leases.
    pub fn new(
        identities: ExchangeIdentities,
        limits: ExchangeTimeLimits,
        expect: Expect,
        protocol: P,
        capacity: u64,
        leases: LeaseLog<P::Resource>,
    ) -> Self {
        Self {
            identities,
            limits,
            expect,
            protocol,
            open: Outstanding::with_capacity(capacity, Exchange::new(0)),
            unsettled: 0,
            ledger: ExchangeLedger::default(),
            leases,
            tally: DhcpMessageTally::default(),
            timeline: Timeline::default(),
            chatty: false,
        }
    }

    /// Returns the protocol family with its message templates.
    pub const fn protocol(&self) -> &P {
        &self.protocol
    }

    /// Sets the beginning of the run to `start_ns`, in nanoseconds of the monotonic clock; call it
    /// before the first exchange.
    pub fn starts_at(&mut self, start_ns: u64) {
        self.leases.starts_at(start_ns);
    }

    /// Counts exchanges in `timeline` as well; call it before the first exchange.
    pub fn keep_timeline(&mut self, timeline: Timeline) {
        self.timeline = timeline;
    }

    /// Sets whether clients send every message twice. If so, an exchange with a second reply counts
    /// as one with a single reply; call this before the first exchange.
    pub const fn expect_repeats(&mut self, chatty: bool) {
        self.chatty = chatty;
    }

    /// Begins the exchange that came due at `due_ns`: writes its first request into `buffer` and
    /// returns it. Returns `None` when more exchanges are watched than there is room for; the
    /// exchange is then lost, unsent.
    pub fn begin(&mut self, due_ns: u64, buffer: &mut [u8]) -> Option<OutgoingMessage> {
        self.ledger.record_due();
        self.timeline.record_due(due_ns);
        let client = self.identities.client(self.open.next_number());
        let Some(number) = self.open.open(due_ns, Exchange::new(client)) else {
            self.ledger.record_end(ExchangeClass::Lost);
            self.timeline.record_missed(due_ns);
            self.lost(AwaitedReply::Offer, due_ns);
            return None;
        };
        self.unsettled += 1;
        let len = self.protocol.write_first(buffer, self.identities.xid(number), client);
        Some(OutgoingMessage::datagram(number, len, self.protocol.source_of(client)))
    }

    /// Notes that the kernel took a message of exchange `number` at `at_ns`. Only the first counts.
    pub fn record_sent(&mut self, number: u64, at_ns: u64) {
        if let Some((due_ns, exchange)) = self.open.find(number)
            && exchange.sent_ns == 0
        {
            exchange.sent_ns = at_ns.max(1);
            self.ledger.record_sent(due_ns, at_ns);
        }
    }

    /// Processes a datagram received at `now_ns` and returns the message that answers it, written
    /// into `buffer`, if one must be sent.
    pub fn process_datagram(
        &mut self,
        now_ns: u64,
        octets: &[u8],
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        self.tally.received += 1;
        self.tally.received_bytes += octets.len() as u64;
        let Ok(answer) = P::read(octets) else {
            self.tally.malformed += 1;
            return None;
        };
        let number = self.identities.number_of(P::xid(&answer), self.open.next_number());
        let open_exchange = number.and_then(|number| Some((number, self.open.find(number)?)));
        let Some((number, (due_ns, exchange))) = open_exchange else {
            self.tally.unmatched += 1;
            return None;
        };
        let is_late = now_ns.saturating_sub(due_ns) > self.limits.deadline_ns;
        let (had_ended, awaited) = (exchange.has_ended(), exchange.awaited());
        let protocol = &self.protocol;
        let event = exchange.process_reply(is_late, |client, accepted_offer| {
            protocol.judge(&answer, client, accepted_offer)
        });
        self.unsettled -= u64::from(!had_ended && exchange.has_ended());
        let (client, sent_ns) = (exchange.client(), exchange.sent_ns);
        match event {
            ReplyEffect::TakeUp(offer) => {
                self.tally.offers += 1;
                let secs = (now_ns.saturating_sub(sent_ns) / NS_PER_S) as u16;
                let len = self.protocol.write_second(buffer, &answer, client, secs, offer);
                return Some(self.message_of(client, number, len));
            }
            ReplyEffect::Continue => {
                self.tally.renewed += 1;
                self.note_leases(now_ns, &answer, client);
                let len = self.protocol.write_renewal(buffer, &answer, client);
                return Some(self.message_of(client, number, len));
            }
            ReplyEffect::Granted { class, is_moved } => {
                self.tally.grants += 1;
                self.tally.moved += u64::from(is_moved);
                self.note_completion(class, due_ns, sent_ns, now_ns);
                // The log does not list a lease that its client gives back at once: no client holds
                // it.
                if let Some(len) = self.protocol.write_release(buffer, &answer, client) {
                    return Some(self.message_of(client, number, len));
                }
                self.note_leases(now_ns, &answer, client);
            }
            ReplyEffect::Refused(refusal) => {
                self.tally.refusals[refusal.index()] += 1;
                match awaited {
                    AwaitedReply::Offer => self.tally.refused_offers += 1,
                    AwaitedReply::Grant => self.tally.refused_grants += 1,
                }
                self.timeline.record_rejected(awaited, now_ns);
                self.note_leases(now_ns, &answer, client);
            }
            ReplyEffect::Faulty(fault) => self.tally.faults[fault.index()] += 1,
            ReplyEffect::Repeated => self.tally.repeated += 1,
            ReplyEffect::Unmatched => self.tally.unmatched += 1,
            // A late offer ends its exchange, which took at least as long.
            ReplyEffect::Ended(class @ ExchangeClass::Late) => {
                self.note_completion(class, due_ns, sent_ns, now_ns);
            }
            ReplyEffect::Ended(_) => {}
        }
        None
    }

    /// Counts the completion of an exchange that was due at `due_ns`, whose first message left at
    /// `sent_ns` and whose last reply came at `now_ns`.
    fn note_completion(&mut self, class: ExchangeClass, due_ns: u64, sent_ns: u64, now_ns: u64) {
        if class == ExchangeClass::OnTime {
            self.ledger.record_completed(due_ns, sent_ns, now_ns);
            self.timeline.record_completed(now_ns);
        } else {
            self.ledger.record_completed_late(due_ns, sent_ns, now_ns);
        }
    }

    /// Returns the message of `client` for exchange `number`, whose `len` bytes are in the buffer.
    fn message_of(&self, client: u32, number: u64, len: usize) -> OutgoingMessage {
        OutgoingMessage::datagram(number, len, self.protocol.source_of(client))
    }

    fn note_leases(&mut self, now_ns: u64, answer: &P::Answer<'_>, client: u32) {
        if self.expect == Expect::Dhcp {
            let leases = &mut self.leases;
            self.protocol.leases(answer, client, |owner, resource, lease_time_s| {
                leases.grant(now_ns, owner, resource, lease_time_s);
            });
        }
    }

    /// Ends exchanges whose watched time is over at `now_ns`, and counts them in the ledger.
    pub fn expire(&mut self, now_ns: u64) {
        self.close_before(now_ns.saturating_sub(self.limits.watched_ns()));
    }

    /// Returns true when no exchange of the thread can still get a lease: every one has ended or
    /// expired.
    pub const fn is_settled(&self) -> bool {
        self.unsettled == 0
    }

    fn close_before(&mut self, due_before_ns: u64) {
        while let Some(due_ns) = self.open.oldest_due_ns() {
            let Some((_, exchange)) = self.open.close_oldest(due_before_ns) else { break };
            let class = match exchange.class() {
                ExchangeClass::DuplicateAnswered if self.chatty => ExchangeClass::OnTime,
                class => class,
            };
            self.ledger.record_end(class);
            if !matches!(class, ExchangeClass::OnTime | ExchangeClass::DuplicateAnswered) {
                self.timeline.record_missed(due_ns);
            }
            if !exchange.has_ended() {
                self.unsettled -= 1;
                self.lost(exchange.awaited(), due_ns);
            }
        }
    }

    /// Notes that an exchange due at `due_ns` was lost while it waited for `awaited`.
    fn lost(&mut self, awaited: AwaitedReply, due_ns: u64) {
        match awaited {
            AwaitedReply::Offer => self.tally.lost_before_offer += 1,
            AwaitedReply::Grant => self.tally.lost_before_grant += 1,
        }
        self.timeline.record_unanswered(awaited, due_ns);
    }

    /// Ends watching of all exchanges and returns the thread's results. Exchanges that have not
    /// ended are lost.
    #[must_use]
    pub fn finish(mut self) -> ThreadExchangeResults<P::Resource> {
        self.close_before(u64::MAX);
        let Self { ledger, leases, tally, timeline, .. } = self;
        ThreadExchangeResults { ledger, leases, tally, timeline }
    }
}

impl<P: DhcpLoadProtocol> Requests for Population<P> {
    fn process_datagram(
        &mut self,
        now_ns: u64,
        incoming: &ReceivedDatagram<'_>,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        Self::process_datagram(self, now_ns, incoming.octets, buffer)
    }

    fn record_sent(&mut self, name: u64, at_ns: u64) {
        Self::record_sent(self, name, at_ns);
    }
}
