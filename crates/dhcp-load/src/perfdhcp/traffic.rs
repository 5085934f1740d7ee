//! All requests of a run, from coming due to their place in an account. No sockets and no clock.
//!
//! A request is watched from its due time until its deadline and the grace behind it have passed.
//! The first answer that carries its transaction identifier decides how it ended. A first request
//! is remembered for as long as the second one that it may lead to, which shares its number.
//! Budget: as [`crate::population`]; nothing is allocated after construction, but for diagnostics.

use base::Random;
use base::time::NS_PER_S;
use load::{Class, Outstanding};

use super::account::Account;
use super::dialect::{Dialect, Kind, Who};
use super::persona::Personas;
use super::pool::Pool;
use super::resend::Resends;
use super::rules::Rules;
use super::trace::Trace;
use crate::fault::Fault;
use crate::identities::Identities;
use crate::leases::LeaseLog;
use crate::population::Outgoing;
use crate::protocol::Judgment;

/// Bits of a request's name that tell its kind.
const KIND_BITS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awaited,
    /// An answer came.
    Answered,
    /// Watched long enough.
    GivenUp,
}

/// One request.
#[derive(Clone, Copy, Debug)]
struct Turn<O> {
    who: Who,
    sent_ns: u64,
    state: State,
    is_counted: bool,
    /// How old it says it is when it leaves, seconds.
    age_s: u16,
    taken: Option<O>,
    /// The second request that the first one led to.
    second: Option<u64>,
}

/// All requests.
pub struct Traffic<D: Dialect> {
    dialect: D,
    personas: Personas,
    rules: Rules,
    numbers: Identities,
    random: Random,
    rings: [Outstanding<Turn<D::Offer>>; 4],
    /// The first request whose deadline, and whose grace, may not be over, by kind.
    overdue: [u64; 4],
    watched: [u64; 4],
    unsettled: u64,
    start_ns: u64,
    pool: Pool<D::Lease>,
    resends: Resends,
    /// By [`Kind::index`].
    pub accounts: [Account; 4],
    /// Leases given, and addresses offered.
    pub leases: Vec<LeaseLog<D::Resource>>,
    /// Kept for diagnostics.
    pub trace: Trace,
    /// Datagrams received.
    pub received: u64,
    /// Received, but no message.
    pub malformed: u64,
    /// Malformed for being shorter than any message.
    pub too_short: u64,
    /// Requests that came due and found no room.
    pub local_limit: u64,
    /// First requests sent before the run, and answers to them.
    pub preloaded: [u64; 2],
    /// When the last request was answered on time.
    pub answered_ns: u64,
}

impl<D: Dialect> Traffic<D> {
    /// Nothing sent yet.
    #[must_use]
    pub fn new(dialect: D, personas: Personas, rules: Rules) -> Self {
        let numbers = Identities {
            thread: 0,
            threads: 1,
            client_offset: 0,
            clients: 0,
            xid_base: Identities::xid_base_of(rules.seed),
            xid_bits: D::NUMBER_BITS,
        };
        let who = Who { client: 0, link: 0 };
        let blank = Turn {
            who,
            sent_ns: 0,
            state: State::Awaited,
            is_counted: true,
            age_s: 0,
            taken: None,
            second: None,
        };
        let rooms = [rules.capacity, rules.capacity, rules.lease_capacity, rules.lease_capacity];
        let offers = if rules.compares_offers { rules.leases } else { 0 };
        Self {
            dialect,
            personas,
            numbers,
            random: Random::from_seed(rules.seed).fork(0x7065_7266),
            rings: rooms.map(|room| Outstanding::with_capacity(room, blank)),
            overdue: [0; 4],
            watched: [0; 4],
            unsettled: 0,
            start_ns: 0,
            pool: Pool::new(rules.keeps_leases),
            resends: Resends::new(rules.resend, rules.seed),
            accounts: Default::default(),
            leases: [rules.leases, offers].map(LeaseLog::with_capacity).into(),
            trace: rules.trace.clone(),
            rules,
            received: 0,
            malformed: 0,
            too_short: 0,
            local_limit: 0,
            preloaded: [0; 2],
            answered_ns: 0,
        }
    }

    /// The run begins at `start_ns`; call it before the first request.
    pub fn starts_at(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        for log in &mut self.leases {
            log.starts_at(start_ns);
        }
    }

    /// The messages.
    #[must_use]
    pub const fn dialect(&self) -> &D {
        &self.dialect
    }

    fn xid(&self, kind: Kind, number: u64) -> u32 {
        let is_shared = kind == Kind::Second && !D::IS_SECOND_RENUMBERED;
        let tag = if is_shared { Kind::First } else { kind }.index() as u32;
        self.numbers.xid(number) << KIND_BITS | tag
    }

    /// Whether the oldest request of a kind has been answered, and the second one that it led to
    /// too, which is found by it.
    fn is_oldest_done(&self, kind: Kind) -> bool {
        let ring = &self.rings[kind.index()];
        let is_done = |turn: &Turn<D::Offer>| turn.state != State::Awaited;
        let oldest = ring.get(ring.next_number() - ring.len());
        oldest.is_some_and(|first| {
            let second = first.second.and_then(|number| self.rings[1].get(number));
            is_done(first) && second.is_none_or(is_done)
        })
    }

    /// Enters a request; `None` when there is no room. A full ring gives up its oldest request if
    /// that is done with.
    fn open(&mut self, kind: Kind, due_ns: u64, turn: Turn<D::Offer>) -> Option<u64> {
        let mut number = self.rings[kind.index()].open(due_ns, turn);
        if number.is_none() && self.is_oldest_done(kind) {
            let ring = &mut self.rings[kind.index()];
            ring.close_oldest(u64::MAX);
            number = ring.open(due_ns, turn);
        }
        if turn.is_counted {
            self.accounts[kind.index()].ledger.came_due();
            match number {
                Some(_) => self.unsettled += 1,
                None => {
                    self.accounts[kind.index()].ledger.ended(Class::Lost);
                    self.local_limit += 1;
                }
            }
        }
        number
    }

    fn outgoing(&mut self, kind: Kind, number: u64, message: &[u8]) -> Outgoing {
        let len = message.len();
        self.trace.sends(kind, message);
        self.resends.keep(kind, number, message);
        Outgoing { number: number << KIND_BITS | kind.index() as u64, len, source: 0 }
    }

    /// Whether one more first request would find room.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.rings[0].len() < self.rules.capacity || self.is_oldest_done(Kind::First)
    }

    /// Begins the first request that came due at `due_ns`: writes it into `buffer`. One that is not
    /// counted is sent before the run and leads to nothing.
    pub fn begin(&mut self, due_ns: u64, buffer: &mut [u8], is_counted: bool) -> Option<Outgoing> {
        let next = self.rings[0].next_number();
        let client = self.personas.client(next, &mut self.random);
        let link = self.random.below(self.rules.links.max(1).into()) as u32;
        let turn = Turn {
            who: Who { client, link },
            sent_ns: 0,
            state: State::Awaited,
            is_counted,
            age_s: 0,
            taken: None,
            second: None,
        };
        let number = self.open(Kind::First, due_ns, turn)?;
        self.preloaded[0] += u64::from(!is_counted);
        let age = self.age_s(due_ns);
        let len = self.dialect.first(buffer, self.xid(Kind::First, number), turn.who, age);
        Some(self.outgoing(Kind::First, number, &buffer[..len]))
    }

    /// What a first request at `now_ns` says to be its age, seconds.
    fn age_s(&self, now_ns: u64) -> u16 {
        let Some((from_s, for_s)) = self.rules.ages else { return 0 };
        let since_s = now_ns.saturating_sub(self.start_ns) / NS_PER_S;
        if (from_s..from_s + for_s).contains(&since_s) {
            u16::try_from(since_s - from_s + 1).unwrap_or(u16::MAX)
        } else {
            0
        }
    }

    /// Begins at `now_ns` the renewal or release of some lease that came due at `due_ns`.
    pub fn begin_on_lease(
        &mut self,
        kind: Kind,
        due_ns: u64,
        now_ns: u64,
        buffer: &mut [u8],
    ) -> Option<Outgoing> {
        let Some((who, lease)) = self.pool.take(&mut self.random) else {
            self.accounts[kind.index()].without_lease += 1;
            return None;
        };
        let taken = if kind == Kind::Renewal { D::held(&lease) } else { None };
        let turn = Turn {
            who,
            sent_ns: 0,
            state: State::Awaited,
            is_counted: true,
            age_s: 0,
            taken,
            second: None,
        };
        let number = self.open(kind, due_ns, turn)?;
        let xid = self.xid(kind, number);
        let len = if kind == Kind::Renewal {
            self.dialect.renewal(buffer, xid, who, &lease)
        } else {
            let given = &mut self.leases[0];
            D::resources_of_lease(&lease, who, |owner, resource| {
                given.release(now_ns, owner, resource);
            });
            self.dialect.release(buffer, xid, who, &lease)
        };
        Some(self.outgoing(kind, number, &buffer[..len]))
    }

    /// Notes that the kernel took the message named `name` at `at_ns`. Only the first counts.
    pub fn left(&mut self, name: u64, at_ns: u64) {
        let kind = Kind::ALL[(name & 3) as usize];
        let number = name >> KIND_BITS;
        let Some((due_ns, turn)) = self.rings[kind.index()].find(number) else { return };
        if turn.sent_ns != 0 {
            return;
        }
        turn.sent_ns = at_ns.max(1);
        if turn.is_counted {
            self.accounts[kind.index()].ledger.left(due_ns, at_ns);
            self.resends.left(kind, number, at_ns);
        }
        if kind == Kind::Release && !D::IS_RELEASE_ANSWERED {
            turn.state = State::Answered;
            self.unsettled -= 1;
        }
    }

    /// The request that an answer with `xid` is for. DHCPv4 answers to both requests of an exchange
    /// carry the same one.
    fn find(&self, xid: u32, is_offer: bool) -> Result<(Kind, u64), Kind> {
        let mut kind = Kind::ALL[(xid & 3) as usize];
        let is_shared = !D::IS_SECOND_RENUMBERED && kind == Kind::First;
        if is_shared && !is_offer {
            kind = Kind::Second;
        }
        let by_first = matches!(kind, Kind::First | Kind::Second);
        let ring = if by_first { &self.rings[0] } else { &self.rings[kind.index()] };
        let number = self.numbers.number_of(xid >> KIND_BITS, ring.next_number());
        let Some((number, turn)) = number.and_then(|number| Some((number, ring.get(number)?)))
        else {
            return Err(kind);
        };
        if kind != Kind::Second {
            return Ok((kind, number));
        }
        match turn.second {
            Some(second) if self.rings[1].get(second).is_some() => Ok((kind, second)),
            None if is_shared => Ok((Kind::First, number)),
            _ => Err(kind),
        }
    }

    /// The kind that an answer to no request counts for: what its type says, and for answers that
    /// several kinds get what its identifier says if such requests were sent.
    fn kind_of_stray(&self, named: Kind, is_offer: bool) -> Kind {
        let is_sent = self.rings[named.index()].next_number() > 0;
        match named {
            _ if is_offer => Kind::First,
            Kind::Renewal | Kind::Release if is_sent => named,
            _ => Kind::Second,
        }
    }

    /// Takes in a datagram received at `now_ns`. When it calls for a second request, that is
    /// written into `buffer`.
    pub fn answer(&mut self, now_ns: u64, octets: &[u8], buffer: &mut [u8]) -> Option<Outgoing> {
        self.received += 1;
        let Ok(answer) = D::read(octets) else {
            self.malformed += 1;
            self.too_short += u64::from(octets.len() < D::BYTES_MIN);
            let found = D::xid_of_anything(octets).and_then(|xid| self.find(xid, false).ok());
            if let Some((kind, _)) = found {
                self.accounts[kind.index()].malformed += 1;
            }
            return None;
        };
        let (kind, number) = match self.find(D::xid(&answer), D::is_offer(&answer)) {
            Ok(found) => found,
            Err(kind) => {
                let kind = self.kind_of_stray(kind, D::is_offer(&answer));
                self.accounts[kind.index()].unmatched += 1;
                return None;
            }
        };
        self.trace.receives(kind, octets, || D::server_shown(&answer));
        self.take(now_ns, kind, number, &answer, buffer)
    }

    /// Takes in the answer to request `number`. The first one decides how that ended.
    fn take(
        &mut self,
        now_ns: u64,
        kind: Kind,
        number: u64,
        answer: &D::Answer<'_>,
        buffer: &mut [u8],
    ) -> Option<Outgoing> {
        let account = &mut self.accounts[kind.index()];
        let (due_ns, turn) = self.rings[kind.index()].find(number)?;
        if !turn.is_counted {
            self.preloaded[1] += 1;
            return None;
        }
        match turn.state {
            State::Awaited => {}
            State::Answered => {
                account.duplicates += 1;
                return None;
            }
            State::GivenUp => {
                account.unmatched += 1;
                return None;
            }
        }
        let judgment = match self.dialect.judge(answer, turn.who, kind, turn.taken) {
            Judgment::Offer(_) if kind != Kind::First => Judgment::Faulty(Fault::Kind),
            judgment => judgment,
        };
        turn.state = State::Answered;
        self.unsettled -= 1;
        let is_late = now_ns.saturating_sub(due_ns) > self.rules.deadlines_ns[kind.index()];
        let class = match judgment {
            Judgment::OtherClient => Class::WrongClient,
            Judgment::Faulty(fault) => {
                account.faults[fault.index()] += 1;
                Class::Invalid
            }
            Judgment::Refused(refusal) => {
                account.refusals[refusal.index()] += 1;
                Class::Nak
            }
            Judgment::Offer(_) | Judgment::Granted { .. } if is_late => Class::Late,
            Judgment::Offer(_) | Judgment::Granted { .. } => Class::OnTime,
        };
        account.ledger.ended(class);
        let (who, sent_ns) = (turn.who, turn.sent_ns);
        if class == Class::OnTime {
            account.completed(due_ns, sent_ns, now_ns);
            self.answered_ns = now_ns;
        }
        self.trace.times(kind, sent_ns, Some(now_ns));
        if matches!(judgment, Judgment::Granted { .. } | Judgment::Refused(_)) {
            self.note_lease(now_ns, answer, who, kind, judgment);
        }
        let Judgment::Offer(offer) = judgment else { return None };
        if self.rules.compares_offers {
            let offered = &mut self.leases[1];
            D::resources(answer, who, |owner, resource, lease_time_s| {
                offered.grant(now_ns, owner, resource, lease_time_s);
            });
        }
        let begun = self.accounts[Kind::Second.index()].ledger.due();
        let is_enough = self.rules.second_max.is_some_and(|most| begun >= most);
        if class == Class::Late || self.rules.is_offer_only || is_enough {
            return None;
        }
        self.take_up(now_ns, answer, number, offer, buffer)
    }

    /// Writes the second request of first request `number`, which is due now.
    fn take_up(
        &mut self,
        now_ns: u64,
        answer: &D::Answer<'_>,
        number: u64,
        offer: D::Offer,
        buffer: &mut [u8],
    ) -> Option<Outgoing> {
        let offer = self.dialect.adopt(answer, offer);
        let (_, first) = self.rings[0].find(number)?;
        let (who, sent_ns) = (first.who, first.sent_ns);
        let secs = u16::try_from(now_ns.saturating_sub(sent_ns) / NS_PER_S).unwrap_or(u16::MAX);
        let turn = Turn {
            who,
            sent_ns: 0,
            state: State::Awaited,
            is_counted: true,
            age_s: if D::IS_SECOND_RENUMBERED { 0 } else { secs },
            taken: Some(offer),
            second: None,
        };
        let second = self.open(Kind::Second, now_ns, turn)?;
        if let Some((_, first)) = self.rings[0].find(number) {
            first.second = Some(second);
        }
        let xid = self.xid(Kind::Second, number);
        let len = self.dialect.second(buffer, xid, answer, who, secs, offer);
        Some(self.outgoing(Kind::Second, second, &buffer[..len]))
    }

    fn note_lease(
        &mut self,
        now_ns: u64,
        answer: &D::Answer<'_>,
        who: Who,
        kind: Kind,
        judgment: Judgment<D::Offer>,
    ) {
        if kind == Kind::Release {
            return;
        }
        let (given, trace) = (&mut self.leases[0], &mut self.trace);
        let is_nothing = matches!(judgment, Judgment::Refused(_)) && kind == Kind::First;
        if !is_nothing {
            D::resources(answer, who, |owner, resource, lease_time_s| {
                given.grant(now_ns, owner, resource, lease_time_s);
                trace.lease(kind, D::client_of(owner), D::address_of(resource));
            });
        }
        if self.rules.keeps_leases
            && matches!(judgment, Judgment::Granted { .. })
            && let Some(lease) = self.dialect.lease(answer)
        {
            self.pool.put(who, lease);
        }
    }

    /// Counts what is overdue at `now_ns`, and gives up what has been watched long enough.
    pub fn expire(&mut self, now_ns: u64) {
        for kind in Kind::ALL {
            let index = kind.index();
            let deadline_ns = self.rules.deadlines_ns[index];
            let account = &mut self.accounts[index];
            let ring = &mut self.rings[index];
            while let Some((due_ns, turn)) = ring.find(self.overdue[index])
                && due_ns.saturating_add(deadline_ns) < now_ns
            {
                let is_missed = turn.state == State::Awaited && turn.is_counted;
                account.overdue += u64::from(is_missed);
                self.overdue[index] += 1;
            }
            let watch_ns = deadline_ns.saturating_add(self.rules.grace_ns);
            while let Some((due_ns, turn)) = ring.find(self.watched[index])
                && due_ns.saturating_add(watch_ns) < now_ns
            {
                if turn.state == State::Awaited && turn.is_counted {
                    account.ledger.ended(Class::Lost);
                    self.unsettled -= 1;
                    self.trace.times(kind, turn.sent_ns, None);
                }
                if turn.state == State::Awaited {
                    turn.state = State::GivenUp;
                }
                self.watched[index] += 1;
            }
            // What a full ring gave up early is past both marks.
            let oldest = ring.next_number() - ring.len();
            self.overdue[index] = self.overdue[index].max(oldest);
            self.watched[index] = self.watched[index].max(oldest);
            let second_ns = self.rules.deadlines_ns[1].saturating_add(self.rules.grace_ns);
            let keep_ns = if kind == Kind::First { second_ns } else { 0 };
            let before_ns = now_ns.saturating_sub(watch_ns.saturating_add(keep_ns));
            while ring.oldest_due_ns().is_some_and(|due_ns| due_ns < before_ns) {
                ring.close_oldest(before_ns);
            }
        }
    }

    /// Writes the next request that must be sent again at `now_ns` into `buffer`.
    pub fn resend(&mut self, now_ns: u64, buffer: &mut [u8]) -> Option<Outgoing> {
        while let Some((kind, number)) = self.resends.next_due(now_ns) {
            let Some((_, turn)) = self.rings[kind.index()].find(number) else { continue };
            if turn.state != State::Awaited {
                continue;
            }
            let (sent_ns, age_s) = (turn.sent_ns, u64::from(turn.age_s));
            let Some((len, ages)) = self.resends.again(kind, number, now_ns, sent_ns, buffer)
            else {
                continue;
            };
            if ages {
                let secs = age_s + now_ns.saturating_sub(sent_ns) / NS_PER_S;
                self.dialect.set_age(&mut buffer[..len], u16::try_from(secs).unwrap_or(u16::MAX));
            }
            self.accounts[kind.index()].resent += 1;
            let number = number << KIND_BITS | kind.index() as u64;
            return Some(Outgoing { number, len, source: 0 });
        }
        None
    }

    /// When something must be sent again next.
    #[must_use]
    pub fn next_resend_ns(&self) -> Option<u64> {
        self.resends.next_ns()
    }

    /// True when nothing is awaited.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.unsettled == 0
    }

    /// Ends the run at `now_ns`: what is past its deadline is lost, what is not stays in flight.
    pub fn finish(&mut self, now_ns: u64) {
        self.expire(now_ns);
        for kind in Kind::ALL {
            let index = kind.index();
            let ring = &mut self.rings[index];
            for number in self.watched[index]..self.overdue[index] {
                if let Some((_, turn)) = ring.find(number)
                    && turn.state == State::Awaited
                    && turn.is_counted
                {
                    turn.state = State::GivenUp;
                    self.accounts[index].ledger.ended(Class::Lost);
                    self.unsettled -= 1;
                    self.trace.times(kind, turn.sent_ns, None);
                }
            }
        }
    }
}
