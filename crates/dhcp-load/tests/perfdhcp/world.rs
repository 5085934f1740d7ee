//! Virtual time between the requests and a responder.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use dhcp_load::perfdhcp::account::ExchangeAccount;
use dhcp_load::perfdhcp::dialect::{Dialect, ExchangeKind};
use dhcp_load::perfdhcp::ending::PerfdhcpRunEnd;
use dhcp_load::perfdhcp::part::GeneratorPart;
use dhcp_load::perfdhcp::persona::Personas;
use dhcp_load::perfdhcp::rules::RequestRules;
use dhcp_load::perfdhcp::traffic::RequestTraffic;
use dhcp_load::wire::ReceivedDatagram;
use load::{ExchangeClass, LoadRate, Schedule};

use crate::common::MS;

/// Deadline and grace of both exchanges.
pub(crate) const DEADLINE_NS: u64 = 1_000 * MS;
/// Beginning of a run on the virtual clock.
pub(crate) const START_NS: u64 = 5_000 * MS;

/// Counts of one kind, as the responder expects them and as an account has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExchangeKindCounts {
    pub(crate) sent: u64,
    pub(crate) on_time: u64,
    pub(crate) late: u64,
    pub(crate) lost: u64,
    pub(crate) refused: u64,
    pub(crate) invalid: u64,
    pub(crate) wrong_client: u64,
    pub(crate) duplicates: u64,
    pub(crate) unmatched: u64,
    pub(crate) malformed: u64,
}

impl ExchangeKindCounts {
    pub(crate) fn of(account: &ExchangeAccount) -> Self {
        let count = |class| account.ledger.count(class);
        assert_eq!(
            account.failed() + account.on_time() + account.ledger.in_flight(),
            account.sent()
        );
        assert_eq!(count(ExchangeClass::Nak), account.refusals.iter().sum::<u64>());
        assert_eq!(count(ExchangeClass::Invalid), account.faults.iter().sum::<u64>());
        let answered = account.on_time() + account.ledger.count(ExchangeClass::Late);
        assert_eq!(account.ledger.latency_sent().count(), answered);
        Self {
            sent: account.sent(),
            on_time: account.on_time(),
            late: count(ExchangeClass::Late),
            lost: count(ExchangeClass::Lost),
            refused: count(ExchangeClass::Nak),
            invalid: count(ExchangeClass::Invalid),
            wrong_client: count(ExchangeClass::WrongClient),
            duplicates: account.duplicates,
            unmatched: account.unmatched,
            malformed: account.malformed,
        }
    }
}

/// The responder's own ledger, by [`ExchangeKind::index`].
pub(crate) type Ledger = [ExchangeKindCounts; 4];

/// Returns clients counted from a fixed base.
pub(crate) fn personas(clients: u32) -> Personas {
    Personas {
        base_mac: [0, 0x0c, 0, 0, 0, 0],
        base_duid: vec![0, 1, 0, 1, 0x2a, 0, 0, 0, 0, 0x0c, 0, 0, 0, 0],
        clients,
        part: GeneratorPart::WHOLE,
        list: Vec::new(),
    }
}

pub(crate) fn rules(seed: u64) -> RequestRules {
    RequestRules {
        deadlines_ns: [DEADLINE_NS; 2],
        grace_ns: DEADLINE_NS,
        is_offer_only: false,
        second_max: None,
        ages: None,
        keeps_leases: false,
        resend: None,
        habits: None,
        answers_arp: false,
        capture: None,
        trace: dhcp_load::perfdhcp::trace::Trace::default(),
        links: 1,
        seed,
        part: GeneratorPart::WHOLE,
        capacity: 1_000,
        lease_capacity: 1_000,
        leases: 10_000,
        compares_offers: false,
    }
}

/// Returns the number of requests of a kind that fail the run.
pub(crate) fn failed(counts: &ExchangeKindCounts) -> u64 {
    counts.late + counts.lost + counts.refused + counts.invalid + counts.wrong_client
}

/// Machine that the generator runs on.
#[derive(Clone, Debug)]
pub(crate) struct GeneratorMachine {
    /// Times in which the machine stands still.
    pub(crate) stalls_ns: Vec<Range<u64>>,
    /// Number of datagrams that its socket holds meanwhile.
    pub(crate) socket_datagrams: usize,
}

impl Default for GeneratorMachine {
    fn default() -> Self {
        Self { stalls_ns: Vec::new(), socket_datagrams: usize::MAX }
    }
}

/// Requests of a run and their results.
pub(crate) struct VirtualPerfdhcpRun<D: Dialect> {
    pub(crate) traffic: RequestTraffic<D>,
    /// All messages sent, in order.
    pub(crate) sent: Vec<Vec<u8>>,
    /// Datagrams that found no room in the socket.
    pub(crate) socket_drops: u64,
    pub(crate) end_ns: u64,
}

impl<D: Dialect> VirtualPerfdhcpRun<D> {
    /// Returns the counts of a run without a population.
    pub(crate) fn counts(&self) -> Ledger {
        let [first, second, renewal, release, ..] = self.all_counts();
        [first, second, renewal, release]
    }

    pub(crate) fn all_counts(&self) -> [ExchangeKindCounts; ExchangeKind::COUNT] {
        ExchangeKind::ALL.map(|kind| {
            let account = &self.traffic.accounts[kind.index()];
            if kind.is_answered::<D>() {
                return ExchangeKindCounts::of(account);
            }
            ExchangeKindCounts { sent: account.sent(), ..ExchangeKindCounts::default() }
        })
    }

    /// Returns the end of a command with these results.
    pub(crate) fn ending(&mut self) -> PerfdhcpRunEnd {
        let end_ns = self.end_ns;
        let logs = self.traffic.leases.iter_mut();
        let conflicts =
            logs.map(|log| log.summarize_with(end_ns, 0, |_| String::new()).conflicts).sum();
        PerfdhcpRunEnd::from_accounts(&self.traffic.accounts, conflicts, false)
    }
}

/// Number of exchanges to begin, and their rate.
#[derive(Clone, Copy)]
pub(crate) struct ExchangeLoad {
    count: u64,
    /// Exchanges per second.
    rate: f64,
}

impl ExchangeLoad {
    pub(crate) const fn new(count: u64, rate: f64) -> Self {
        Self { count, rate }
    }
}

/// Plays a run as [`play_on`] does, on a machine that never stands still.
pub(crate) fn play<D: Dialect>(
    dialect: D,
    clients: u32,
    rules: RequestRules,
    load: ExchangeLoad,
    lease_rates: [f64; 2],
    server: impl FnMut(u64, &[u8]) -> Vec<(u64, Vec<u8>)>,
) -> VirtualPerfdhcpRun<D> {
    play_on(&GeneratorMachine::default(), dialect, clients, rules, load, lease_rates, server)
}

/// Begins the exchanges of `load`, and renewals and releases at `lease_rates` per
/// second. `server` turns each request, which reaches it at once, into replies after delays in
/// nanoseconds.
pub(crate) fn play_on<D: Dialect>(
    machine: &GeneratorMachine,
    dialect: D,
    clients: u32,
    rules: RequestRules,
    load: ExchangeLoad,
    lease_rates: [f64; 2],
    mut server: impl FnMut(u64, &[u8]) -> Vec<(u64, Vec<u8>)>,
) -> VirtualPerfdhcpRun<D> {
    let ExchangeLoad { count, rate } = load;
    let resends = rules.resend.is_some();
    let mut traffic = RequestTraffic::new(dialect, personas(clients), rules);
    traffic.starts_at(START_NS);
    let schedule = |rate: f64, duration_ns| {
        LoadRate::per_second(rate).map(|rate| Schedule::even(rate, START_NS, duration_ns, 0, 1))
    };
    let duration_ns = LoadRate::per_second(rate).unwrap().offset_ns(count);
    let mut schedules =
        [rate, lease_rates[0], lease_rates[1]].map(|rate| schedule(rate, duration_ns));
    let mut wire: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>> = BinaryHeap::new();
    let mut buffer = vec![0; traffic.dialect().message_bytes_max()];
    let (mut sequence, mut now_ns, mut sent, mut socket_drops) = (0, START_NS, Vec::new(), 0);
    loop {
        if let Some(stall_ns) = machine.stalls_ns.iter().find(|stall_ns| stall_ns.contains(&now_ns))
        {
            now_ns = stall_ns.end;
            socket_drops += overflow(&mut wire, machine.socket_datagrams, now_ns);
        }
        let mut outgoing = None;
        if let Some(due_ns) = schedules[0].as_mut().and_then(|schedule| schedule.take(now_ns)) {
            outgoing = traffic.begin(due_ns, &mut buffer, true);
        } else if let Some(due_ns) =
            schedules[1].as_mut().and_then(|schedule| schedule.take(now_ns))
        {
            outgoing = traffic.begin_on_lease(ExchangeKind::Renewal, due_ns, now_ns, &mut buffer);
        } else if let Some(due_ns) =
            schedules[2].as_mut().and_then(|schedule| schedule.take(now_ns))
        {
            outgoing = traffic.begin_on_lease(ExchangeKind::Release, due_ns, now_ns, &mut buffer);
        } else if let Some(again) = traffic.resend(now_ns, &mut buffer) {
            outgoing = Some(again);
        } else if wire.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns <= now_ns) {
            let Reverse((_, _, octets)) = wire.pop().unwrap();
            outgoing =
                traffic.process_datagram(now_ns, &ReceivedDatagram::from_udp(&octets), &mut buffer);
        } else {
            traffic.expire(now_ns);
            let next = schedules.iter().flatten().filter_map(Schedule::next_due_ns).min();
            if next.is_none() && traffic.is_settled() && (wire.is_empty() || resends) {
                break;
            }
            let answer = wire.peek().map(|Reverse((at_ns, ..))| *at_ns);
            let again = traffic.next_resend_ns();
            let next = next.into_iter().chain(answer).chain(again).min();
            now_ns = next.unwrap_or(u64::MAX).min(now_ns + 10 * MS);
        }
        if let Some(outgoing) = outgoing {
            traffic.record_sent(outgoing.number, now_ns);
            let request = &buffer[..outgoing.len];
            for (delay_ns, octets) in server(now_ns, request) {
                sequence += 1;
                wire.push(Reverse((now_ns + delay_ns, sequence, octets)));
            }
            sent.push(request.to_vec());
        }
    }
    traffic.finish(now_ns);
    VirtualPerfdhcpRun { traffic, sent, socket_drops, end_ns: now_ns }
}

/// Drops datagrams that have come until `now_ns` and find no room. Returns their number.
fn overflow(wire: &mut BinaryHeap<Reverse<(u64, u64, Vec<u8>)>>, room: usize, now_ns: u64) -> u64 {
    let mut come = Vec::new();
    while wire.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns < now_ns) {
        come.extend(wire.pop());
    }
    let dropped = come.len().saturating_sub(room);
    wire.extend(come.into_iter().take(room));
    dropped as u64
}

/// Lets the population of `rules` join at `rate` per second and live until `until_ns` after the
/// beginning. `server` is as in [`play_on`].
pub(crate) fn live<D: Dialect>(
    dialect: D,
    rules: RequestRules,
    rate: f64,
    until_ns: u64,
    mut server: impl FnMut(u64, &[u8]) -> Vec<(u64, Vec<u8>)>,
) -> VirtualPerfdhcpRun<D> {
    let mut traffic = RequestTraffic::new(dialect, personas(200), rules);
    traffic.starts_at(START_NS);
    let mut joining = Schedule::even(LoadRate::per_second(rate).unwrap(), START_NS, until_ns, 0, 1);
    let end_ns = START_NS + until_ns;
    let mut wire: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>> = BinaryHeap::new();
    let mut buffer = vec![0; traffic.dialect().message_bytes_max()];
    let (mut sequence, mut now_ns, mut sent) = (0, START_NS, Vec::new());
    loop {
        let mut outgoing = None;
        let life_ns = traffic.next_life_ns().filter(|&ns| ns < end_ns);
        let join_ns = joining.next_due_ns();
        let is_life = life_ns.is_some_and(|ns| ns <= now_ns && join_ns.is_none_or(|due| ns < due));
        if is_life {
            outgoing = traffic.begin_lifecycle_exchange(now_ns, &mut buffer);
        } else if let Some(due_ns) = joining.take(now_ns) {
            outgoing = traffic.begin(due_ns, &mut buffer, true);
        } else if wire.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns <= now_ns) {
            let Reverse((_, _, octets)) = wire.pop().unwrap();
            outgoing =
                traffic.process_datagram(now_ns, &ReceivedDatagram::from_udp(&octets), &mut buffer);
        } else {
            traffic.expire(now_ns);
            let answer_ns = wire.peek().map(|Reverse((at_ns, ..))| *at_ns);
            let next_ns = life_ns.into_iter().chain(join_ns).chain(answer_ns).min();
            if next_ns.is_none() && traffic.is_settled() {
                break;
            }
            now_ns = next_ns.unwrap_or(u64::MAX).min(now_ns + 100 * MS);
        }
        if let Some(outgoing) = outgoing {
            traffic.record_sent(outgoing.number, now_ns);
            let request = &buffer[..outgoing.len];
            for (delay_ns, octets) in server(now_ns, request) {
                sequence += 1;
                wire.push(Reverse((now_ns + delay_ns, sequence, octets)));
            }
            sent.push(request.to_vec());
        }
    }
    traffic.finish(now_ns);
    VirtualPerfdhcpRun { traffic, sent, socket_drops: 0, end_ns: now_ns }
}
