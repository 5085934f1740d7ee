//! Processing of servers' replies in a perfdhcp run: the request that each reply is for, its
//! meaning for that request, and its consequences.

use base::time::NS_PER_S;
use load::ExchangeClass;

use super::{KIND_BITS, ReplyState, RequestState, RequestTraffic};
use crate::fault::ReplyFault;
use crate::perfdhcp::capture::exchange_of;
use crate::perfdhcp::dialect::{Dialect, ExchangeKind, MessageSender};
use crate::perfdhcp::lifecycle::LifecycleExchangeEnd;
use crate::protocol::Judgment;
use crate::wire::{OutgoingMessage, ReceivedDatagram};

/// Offer in the reply to a first request, with the class of the reply.
struct JudgedOffer<O> {
    /// Class of the reply, with which the first request ends.
    class: ExchangeClass,
    offer: O,
}

impl<D: Dialect> RequestTraffic<D> {
    /// Returns kind and number of the request that a reply with transaction identifier `xid` is
    /// for; fails with the kind that `xid` names when the run has no such request. DHCPv4 replies
    /// to both requests of an exchange carry the same identifier.
    fn find(&self, xid: u32, is_offer: bool) -> Result<(ExchangeKind, u64), ExchangeKind> {
        let mut kind = ExchangeKind::ALL[(xid & ((1 << KIND_BITS) - 1)) as usize];
        let is_shared = !D::IS_SECOND_RENUMBERED && kind == ExchangeKind::First;
        if is_shared && !is_offer {
            kind = ExchangeKind::Second;
        }
        let by_first = matches!(kind, ExchangeKind::First | ExchangeKind::Second);
        let ring = if by_first { &self.rings[0] } else { &self.rings[kind.index()] };
        let number = self.numbers.number_of(xid >> KIND_BITS, ring.next_number());
        let Some((number, turn)) = number.and_then(|number| Some((number, ring.get(number)?)))
        else {
            return Err(kind);
        };
        if kind != ExchangeKind::Second {
            return Ok((kind, number));
        }
        match turn.second {
            Some(second) if self.rings[1].get(second).is_some() => Ok((kind, second)),
            None if is_shared => Ok((ExchangeKind::First, number)),
            _ => Err(kind),
        }
    }

    /// Returns the kind of exchange that counts a reply to no request: the kind of the reply's
    /// type. For message types that answer several kinds of requests, it is the kind in the
    /// transaction identifier if such requests were sent.
    fn kind_of_stray(&self, message_kind: ExchangeKind, is_offer: bool) -> ExchangeKind {
        let is_sent = self.rings[message_kind.index()].next_number() > 0;
        match message_kind {
            _ if is_offer => ExchangeKind::First,
            ExchangeKind::Renewal | ExchangeKind::Release if is_sent => message_kind,
            _ => ExchangeKind::Second,
        }
    }

    /// Adds a message received at `now_ns` for the request `exchange` to the capture file.
    fn capture_received(
        &mut self,
        now_ns: u64,
        exchange: Option<(ExchangeKind, u64)>,
        incoming: &ReceivedDatagram<'_>,
    ) {
        let Some(capture) = &mut self.capture else { return };
        let exchange = exchange.map(|(kind, number)| {
            let first = self.rings[kind.index()].get(number).and_then(|turn| turn.first);
            exchange_of(kind, first.unwrap_or(number))
        });
        capture.record_received(now_ns, exchange, incoming.octets, incoming.endpoints);
    }

    /// Counts a received datagram that is no DHCP message.
    fn take_malformed(&mut self, now_ns: u64, incoming: &ReceivedDatagram<'_>) {
        self.note_frame(incoming);
        self.received += 1;
        self.malformed += 1;
        if incoming.is_damaged {
            return;
        }
        let octets = incoming.octets;
        self.too_short += u64::from(octets.len() < D::BYTES_MIN);
        let request = D::unchecked_xid(octets)
            .and_then(|xid| self.find(xid, false).ok())
            .filter(|&(kind, number)| self.is_delivered(incoming, kind, number));
        self.capture_received(now_ns, request, incoming);
        if let Some((kind, _)) = request {
            self.accounts[kind.index()].malformed += 1;
        }
    }

    /// Processes a datagram received at `now_ns`, and returns the second request that it leads to,
    /// if any, written into `buffer`.
    pub fn process_datagram(
        &mut self,
        now_ns: u64,
        incoming: &ReceivedDatagram<'_>,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        if self.is_for_others(incoming) {
            self.link.overheard += 1;
            return None;
        }
        let answer = match D::read(incoming.octets) {
            Ok(answer) if !incoming.is_damaged => answer,
            _ => {
                self.take_malformed(now_ns, incoming);
                return None;
            }
        };
        let request = self.find(D::xid(&answer), D::is_offer(&answer));
        if request.is_err() && self.is_overheard(incoming, &answer) {
            self.link.overheard += 1;
            return None;
        }
        self.note_frame(incoming);
        self.received += 1;
        if let Some(endpoints) = &incoming.endpoints {
            self.dialect.learn_server(&answer, endpoints);
        }
        let request = request.and_then(|(kind, number)| {
            let is_delivered = self.is_delivered(incoming, kind, number);
            if is_delivered { Ok((kind, number)) } else { Err(kind) }
        });
        self.capture_received(now_ns, request.ok(), incoming);
        let (kind, number) = match request {
            Ok(request) => request,
            Err(kind) => {
                let kind = self.kind_of_stray(kind, D::is_offer(&answer));
                self.accounts[kind.index()].unmatched += 1;
                return None;
            }
        };
        self.trace.record_received(kind, incoming.octets, || D::server_text(&answer));
        self.take(now_ns, kind, number, &answer, buffer)
    }

    /// Processes the reply `answer` to request `number` of `kind`, and returns the second request
    /// that it leads to, if any. The first reply decides how the request ended.
    fn take(
        &mut self,
        now_ns: u64,
        kind: ExchangeKind,
        number: u64,
        answer: &D::Answer<'_>,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        let account = &mut self.accounts[kind.index()];
        let (due_ns, turn) = self.rings[kind.index()].find(number)?;
        if !turn.is_counted {
            self.preloaded[1] += 1;
            return None;
        }
        match turn.state {
            ReplyState::Awaited => {}
            ReplyState::Answered => {
                account.duplicates += 1;
                return None;
            }
            ReplyState::GivenUp => {
                account.unmatched += 1;
                return None;
            }
        }
        let judgment = match self.dialect.judge(answer, turn.who, kind, turn.accepted_offer) {
            Judgment::Offer(_) if kind != ExchangeKind::First => Judgment::Faulty(ReplyFault::Kind),
            judgment => judgment,
        };
        turn.state = ReplyState::Answered;
        self.unsettled -= 1;
        let is_late = now_ns.saturating_sub(due_ns) > self.rules.deadline_ns(kind);
        let class = account.judged(judgment, is_late);
        let (who, sent_ns, began_ns) = (turn.who, turn.sent_ns, turn.began_ns);
        if matches!(class, ExchangeClass::OnTime | ExchangeClass::Late) {
            account.record_completed(class, [due_ns, sent_ns, now_ns]);
        }
        if class == ExchangeClass::OnTime {
            self.answered_ns = now_ns;
            let last =
                if self.rules.is_offer_only { ExchangeKind::First } else { ExchangeKind::Second };
            if kind == last {
                self.throughput.record_completed(began_ns.unwrap_or(sent_ns), now_ns);
            }
        }
        self.trace.times(kind, sent_ns, Some(now_ns));
        if class != ExchangeClass::OnTime {
            self.mark_failed(kind, number);
        }
        if matches!(judgment, Judgment::Granted { .. } | Judgment::Refused(_)) {
            self.note_lease(now_ns, answer, who, kind, judgment);
        }
        let outgoing = match judgment {
            Judgment::Offer(offer) => {
                self.take_offer(now_ns, answer, number, JudgedOffer { class, offer }, buffer)
            }
            _ => None,
        };
        // An exchange that goes on is not over for its client.
        if kind != ExchangeKind::First || outgoing.is_none() {
            let end = self.end_of(answer, judgment);
            self.record_exchange_end(now_ns, kind, who, end);
        }
        outgoing
    }

    /// Returns the end of an exchange for its client, from the server's reply and its meaning.
    fn end_of(
        &self,
        answer: &D::Answer<'_>,
        judgment: Judgment<D::Offer>,
    ) -> LifecycleExchangeEnd<D::Lease> {
        match judgment {
            Judgment::Granted { .. } => match (self.dialect.lease(answer), D::terms(answer)) {
                (Some(lease), Some(terms)) => LifecycleExchangeEnd::Granted(lease, terms),
                _ => LifecycleExchangeEnd::Agreed,
            },
            Judgment::Refused(_) => LifecycleExchangeEnd::Refused,
            _ => LifecycleExchangeEnd::Failed,
        }
    }

    /// Marks the messages of request `number`, which failed, to be kept for the capture file.
    pub(super) fn mark_failed(&mut self, kind: ExchangeKind, number: u64) {
        let Some(capture) = &mut self.capture else { return };
        let first = self.rings[kind.index()].get(number).and_then(|turn| turn.first);
        capture.mark_failed(exchange_of(kind, first.unwrap_or(number)));
    }

    /// Takes up the offer that `answer` makes to first request `number`, unless it came too late or
    /// the run has no further second requests.
    fn take_offer(
        &mut self,
        now_ns: u64,
        answer: &D::Answer<'_>,
        number: u64,
        judged: JudgedOffer<D::Offer>,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        if self.rules.compares_offers {
            let who = self.rings[0].get(number)?.who;
            let offered = &mut self.leases[1];
            D::resources(answer, who, |owner, resource, lease_time_s| {
                offered.grant(now_ns, owner, resource, lease_time_s);
            });
        }
        let begun = self.accounts[ExchangeKind::Second.index()].ledger.due();
        let is_enough = self.rules.second_max.is_some_and(|most| begun >= most);
        if judged.class == ExchangeClass::Late || self.rules.is_offer_only || is_enough {
            return None;
        }
        self.take_up(now_ns, answer, number, judged.offer, buffer)
    }

    /// Writes the second request that follows first request `number`, due now, into `buffer` and
    /// returns it.
    fn take_up(
        &mut self,
        now_ns: u64,
        answer: &D::Answer<'_>,
        number: u64,
        offer: D::Offer,
        buffer: &mut [u8],
    ) -> Option<OutgoingMessage> {
        let offer = self.dialect.adopt(answer, offer);
        let (_, first) = self.rings[0].find(number)?;
        let (who, sent_ns) = (first.who, first.sent_ns);
        let secs = u16::try_from(now_ns.saturating_sub(sent_ns) / NS_PER_S).unwrap_or(u16::MAX);
        let turn = RequestState {
            age_s: if D::IS_SECOND_RENUMBERED { 0 } else { secs },
            accepted_offer: Some(offer),
            first: Some(number),
            began_ns: Some(sent_ns),
            ..RequestState::new(who)
        };
        let second = self.open(ExchangeKind::Second, now_ns, turn)?;
        if let Some((_, first)) = self.rings[0].find(number) {
            first.second = Some(second);
        }
        let xid = self.xid(ExchangeKind::Second, number);
        let len = self.dialect.write_second(buffer, xid, answer, who, secs, offer);
        let endpoints = self.dialect.endpoints(ExchangeKind::Second, who, None);
        Some(self.outgoing(ExchangeKind::Second, second, &buffer[..len], endpoints))
    }

    fn note_lease(
        &mut self,
        now_ns: u64,
        answer: &D::Answer<'_>,
        who: MessageSender,
        kind: ExchangeKind,
        judgment: Judgment<D::Offer>,
    ) {
        if !kind.gives() {
            return;
        }
        let (log, trace) = (&mut self.leases[0], &mut self.trace);
        let is_nothing = matches!(judgment, Judgment::Refused(_)) && kind == ExchangeKind::First;
        if !is_nothing {
            D::resources(answer, who, |owner, resource, lease_time_s| {
                log.grant(now_ns, owner, resource, lease_time_s);
                let (address, len) = D::address_of(resource);
                trace.lease(kind, D::client_of(owner), address, len);
            });
        }
        if self.rules.keeps_leases
            && matches!(judgment, Judgment::Granted { .. })
            && let Some(lease) = self.dialect.lease(answer)
        {
            self.pool.put(who, lease);
        }
    }
}
