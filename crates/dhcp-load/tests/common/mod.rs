//! Miniature server, and a virtual world that joins it to a population of exchanges.

pub(crate) mod responder;
pub(crate) mod v6;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::Ipv4Addr;

use dhcp_load::Expect;
use dhcp_load::identities::ExchangeIdentities;
use dhcp_load::leases::{LeaseLog, LeaseSummary};
use dhcp_load::population::{DhcpMessageTally, Population};
use dhcp_load::protocol::DhcpLoadProtocol;
use dhcp_load::v4::answer::kind;
use dhcp_load::v4::protocol::RelayedMessages;
use load::ExchangeTimeLimits;
use load::{ExchangeClass, ExchangeLedger, LoadRate, Schedule, Timeline};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const RELAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Length of the fixed part with the magic cookie.
pub(crate) const FIXED: usize = 240;

/// Request as a server sees it.
pub(crate) struct Dhcp4TestRequest<'a> {
    pub(crate) octets: &'a [u8],
}

impl Dhcp4TestRequest<'_> {
    pub(crate) fn kind(&self) -> u8 {
        self.octets[242]
    }

    pub(crate) fn client(&self) -> u32 {
        u32::from_be_bytes(self.octets[30..34].try_into().unwrap())
    }

    /// Returns a well-formed reply that gives `address`.
    pub(crate) fn answer(&self, kind: u8, address: Ipv4Addr) -> Vec<u8> {
        let mut answer = self.octets[..FIXED].to_vec();
        answer[0] = 2;
        answer[16..20].copy_from_slice(&address.octets());
        answer.extend([53, 1, kind, 54, 4]);
        answer.extend(SERVER.octets());
        answer.extend([51, 4, 0, 0, 14, 16, 61, 7, 1]);
        answer.extend(&self.octets[28..34]);
        answer.push(255);
        answer
    }

    /// Returns the address that a well-behaved server gives to this client.
    pub(crate) fn own_address(&self) -> Ipv4Addr {
        Ipv4Addr::from(0x0a80_0000 + self.client())
    }

    /// Returns an OFFER to a DISCOVER and an ACK to a REQUEST, as a well-behaved server gives them.
    pub(crate) fn good(&self) -> Vec<u8> {
        let kind = if self.kind() == kind::DISCOVER { kind::OFFER } else { kind::ACK };
        self.answer(kind, self.own_address())
    }
}

/// Result of a run on virtual time.
pub(crate) struct VirtualRunOutcome {
    pub(crate) ledger: ExchangeLedger,
    pub(crate) leases: LeaseSummary,
    pub(crate) tally: DhcpMessageTally,
    /// Duration of the run, in nanoseconds.
    pub(crate) took_ns: u64,
    /// Requests that the server got, by message type.
    pub(crate) requests: BTreeMap<u8, u64>,
    /// Counts of the run by second.
    pub(crate) timeline: Timeline,
}

impl VirtualRunOutcome {
    /// Returns counts by class in the order of [`ExchangeClass::ALL`].
    pub(crate) fn classes(&self) -> [u64; 7] {
        assert_eq!(self.ledger.in_flight(), 0, "every exchange has ended");
        ExchangeClass::ALL.map(|class| self.ledger.count(class))
    }

    /// Returns the rejections by second, instead of the offer and of the grant.
    pub(crate) fn rejected(&self) -> Vec<[u64; 2]> {
        self.timeline.points().iter().map(|point| point.rejected).collect()
    }

    /// Returns the losses by second of the due time, without an offer and without the grant.
    pub(crate) fn unanswered(&self) -> Vec<[u64; 2]> {
        self.timeline.points().iter().map(|point| point.unanswered).collect()
    }
}

/// Offers `rate` DHCPv4 exchanges per second as [`play_world`] does.
pub(crate) fn play(
    rate: f64,
    duration_ns: u64,
    server: impl FnMut(&Dhcp4TestRequest<'_>) -> Vec<(u64, Vec<u8>)>,
) -> VirtualRunOutcome {
    play_as(RelayedMessages::new(RELAY, Expect::Dhcp), rate, duration_ns, server)
}

/// Offers DHCPv4 exchanges as [`play`] does, to a server that knows the time.
pub(crate) fn play_at(
    rate: f64,
    duration_ns: u64,
    mut server: impl FnMut(u64, &Dhcp4TestRequest<'_>) -> Vec<(u64, Vec<u8>)>,
) -> VirtualRunOutcome {
    let kind = |octets: &[u8]| Dhcp4TestRequest { octets }.kind();
    let protocol = RelayedMessages::new(RELAY, Expect::Dhcp);
    play_world(protocol, rate, duration_ns, kind, |now_ns, octets| {
        server(now_ns, &Dhcp4TestRequest { octets })
    })
}

/// Offers exchanges of `protocol` as [`play`] does.
pub(crate) fn play_as(
    protocol: RelayedMessages,
    rate: f64,
    duration_ns: u64,
    mut server: impl FnMut(&Dhcp4TestRequest<'_>) -> Vec<(u64, Vec<u8>)>,
) -> VirtualRunOutcome {
    let kind = |octets: &[u8]| Dhcp4TestRequest { octets }.kind();
    play_world(protocol, rate, duration_ns, kind, |_, octets| server(&Dhcp4TestRequest { octets }))
}

/// Offers `rate` exchanges per second for `duration_ns` with a deadline and a grace of 2 s each.
/// `server` turns each request, which reaches it at once, into replies that arrive after a delay in
/// nanoseconds; `kind` reads a request's message type.
pub(crate) fn play_world<P: DhcpLoadProtocol>(
    protocol: P,
    rate: f64,
    duration_ns: u64,
    kind: impl Fn(&[u8]) -> u8,
    mut server: impl FnMut(u64, &[u8]) -> Vec<(u64, Vec<u8>)>,
) -> VirtualRunOutcome {
    let start_ns = 5_000 * MS;
    let rate = LoadRate::per_second(rate).unwrap();
    let limits = ExchangeTimeLimits { deadline_ns: 2_000 * MS, grace_ns: 2_000 * MS };
    let identities = ExchangeIdentities {
        thread: 0,
        threads: 1,
        client_offset: 7,
        clients: 0,
        xid_base: u32::MAX - 3,
        xid_bits: P::XID_BITS,
    };
    let capacity = rate.count_in(limits.watched_ns()) + 1;
    let leases = rate.count_in(duration_ns) * protocol.leases_per_exchange();
    let log = LeaseLog::with_capacity(leases);
    let mut buffer = vec![0; protocol.message_bytes_max()];
    let mut population = Population::new(identities, limits, Expect::Dhcp, protocol, capacity, log);
    population.starts_at(start_ns);
    population.keep_timeline(Timeline::new(start_ns, 1_000 * MS, 5));
    let mut schedule = Schedule::even(rate, start_ns, duration_ns, 0, 1);
    let mut wire: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>> = BinaryHeap::new();
    let (mut sequence, mut requests) = (0, BTreeMap::new());
    let mut now_ns = start_ns;
    loop {
        let mut outgoing = None;
        if let Some(due_ns) = schedule.take(now_ns) {
            outgoing = population.begin(due_ns, &mut buffer);
        } else if wire.peek().is_some_and(|Reverse((at_ns, _, _))| *at_ns <= now_ns) {
            let Reverse((_, _, octets)) = wire.pop().unwrap();
            outgoing = population.process_datagram(now_ns, &octets, &mut buffer);
        } else {
            population.expire(now_ns);
            if schedule.next_due_ns().is_none() && population.is_settled() {
                break;
            }
            let next = wire.peek().map(|Reverse((at_ns, _, _))| *at_ns);
            let next = next.into_iter().chain(schedule.next_due_ns()).min();
            now_ns = next.unwrap_or(u64::MAX).min(now_ns + 10 * MS);
        }
        if let Some(outgoing) = outgoing {
            population.record_sent(outgoing.number, now_ns);
            let request = &buffer[..outgoing.len];
            *requests.entry(kind(request)).or_insert(0) += 1;
            for (delay_ns, octets) in server(now_ns, request) {
                sequence += 1;
                wire.push(Reverse((now_ns + delay_ns, sequence, octets)));
            }
        }
    }
    let took_ns = now_ns - start_ns;
    let mut finished = population.finish();
    let leases = finished.leases.summarize(now_ns);
    let (ledger, tally, timeline) = (finished.ledger, finished.tally, finished.timeline);
    VirtualRunOutcome { ledger, leases, tally, took_ns, requests, timeline }
}
