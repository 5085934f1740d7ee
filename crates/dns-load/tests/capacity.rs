//! Tests of the search for the highest rate against the faults of the echo, on virtual time:
//! schedule, ledger and search are those of real sockets, with nothing between them.

use std::collections::VecDeque;

use base::Random;
use base::time::NS_PER_MS;
use dns_load::echo::{Capacity, CapacityBucket, QueryShare};
use dns_load::{Exchanges, QueryIdentities, QueryWorkload};
use dns_wire::Query;
use load::{ExchangeClass, ExchangeTimeLimits, LoadRate, Schedule, ThreadShare};
use measure::plan::SearchPlan;
use measure::search::{Search, SearchResult, SearchStep, SearchStopReason, TrialOutcome};

const LIMITS: ExchangeTimeLimits = ExchangeTimeLimits { deadline_ns: 500 * NS_PER_MS, grace_ns: 0 };
const PORTS: u64 = 16;

/// Echo on virtual time, with its faults.
struct SimulatedEcho {
    capacity: Option<Capacity>,
    drop: QueryShare,
    random: Random,
}

/// Runs one trial. Returns the share of queries that were not carried (answered on time and not
/// queued too long), and the number of carried queries per second.
fn trial(server: &mut SimulatedEcho, rate_per_s: f64, dwell_s: f64) -> (f64, f64) {
    let query = Query::PLAIN;
    let workload = QueryWorkload::parse("queries", b"www.google.com AAAA\n", query).unwrap();
    let identities = QueryIdentities { ports: PORTS, id_base: 0 };
    let rate = LoadRate::per_second(rate_per_s).unwrap();
    let room = rate.count_in(LIMITS.watched_ns()) + 1_024;
    let share = ThreadShare { thread: 0, threads: 1 };
    let mut exchanges = Exchanges::new(identities, LIMITS, &workload, share, room);
    let mut schedule = Schedule::even(rate, NS_PER_MS, (dwell_s * 1e9) as u64, 0, 1);
    // Every trial begins when the server has worked off the trial before.
    let mut bucket = server.capacity.map(CapacityBucket::new);
    let mut in_flight: VecDeque<(u64, usize, Vec<u8>)> = VecDeque::new();
    let mut buffer = [0; 512];
    while let Some(due_ns) = schedule.next_due_ns() {
        while let Some((at_ns, port, octets)) =
            in_flight.pop_front_if(|(at_ns, ..)| *at_ns <= due_ns)
        {
            exchanges.handle_datagram(at_ns, port, &octets);
        }
        exchanges.expire(due_ns);
        let port = exchanges.next_port();
        let Some(sent) = schedule.take(due_ns).and_then(|at| exchanges.begin(at, &mut buffer))
        else {
            continue;
        };
        exchanges.record_departure(sent.number, due_ns);
        if server.drop.hits(&mut server.random) {
            continue;
        }
        let leaves_ns = match &mut bucket {
            None => Some(due_ns),
            Some(bucket) => bucket.admit(due_ns),
        };
        if let Some(at_ns) = leaves_ns {
            buffer[2] |= 0x80;
            in_flight.push_back((at_ns, port, buffer[..sent.len].to_vec()));
        }
    }
    for (at_ns, port, octets) in in_flight {
        exchanges.expire(at_ns);
        exchanges.handle_datagram(at_ns, port, &octets);
    }
    let ledger = exchanges.finish().ledger;
    let carried = ledger.count(ExchangeClass::OnTime) - ledger.queued_too_long();
    let loss = 1.0 - carried as f64 / ledger.due() as f64;
    (loss, carried as f64 / dwell_s)
}

fn find(plan: &SearchPlan, server: &mut SimulatedEcho) -> SearchResult {
    let mut search = Search::new(plan);
    while let SearchStep::Probe(probe) = search.next_step() {
        let (loss, completed_per_s) = trial(server, probe.rate_per_s, probe.dwell_s);
        let is_met = loss * 100.0 <= plan.loss_percent;
        let outcome = if is_met { TrialOutcome::Met } else { TrialOutcome::Missed };
        search.report_completed(outcome, completed_per_s);
    }
    search.result().unwrap()
}

/// Returns the rules of the shipped plan for highest rates, with the width that its figures need
/// here.
fn plan() -> SearchPlan {
    let text = include_str!("../../../plans/dns-max.toml");
    let plan = measure::Plan::parse("dns-max.toml", text).unwrap();
    SearchPlan { start_per_s: 2_000.0, width_percent: 1.0, bisections: 8, ..plan.search }
}

#[test]
fn the_capacity_of_a_token_bucket_is_found_within_two_percent_ten_times_of_ten() {
    let mut random = Random::from_seed(5);
    for run in 0..10 {
        let capacity =
            Capacity { per_s: 2_000.0 * 20.0_f64.powf(random.unit()), queue: 1 << random.below(7) };
        let mut server = SimulatedEcho {
            capacity: Some(capacity),
            drop: QueryShare::NONE,
            random: random.fork(run),
        };
        let result = find(&plan(), &mut server);
        let share = result.rate_per_s.unwrap() / capacity.per_s;
        assert_eq!(result.stop, SearchStopReason::Server);
        assert!((0.98..=1.02).contains(&share), "run {run}: {share} of {capacity:?}");
    }
}

#[test]
fn a_server_that_drops_five_percent_at_every_rate_never_meets_a_thousandth() {
    for seed in 0..10 {
        let drop = "5%".parse().unwrap();
        let mut server = SimulatedEcho { capacity: None, drop, random: Random::from_seed(seed) };
        let result = find(&plan(), &mut server);
        assert_eq!(
            (result.rate_per_s, result.stop),
            (None, SearchStopReason::EveryRate),
            "seed {seed}"
        );
        // The result is equal for a server that has a limit as well.
        server.capacity = Some(Capacity { per_s: 900.0, queue: 64 });
        let result = find(&plan(), &mut server);
        assert_eq!(
            (result.rate_per_s, result.stop),
            (None, SearchStopReason::EveryRate),
            "seed {seed}"
        );
    }
}

#[test]
fn a_slow_server_is_slow_and_not_one_that_loses_at_every_rate() {
    for per_s in [40.0, 300.0] {
        let capacity = Some(Capacity { per_s, queue: 4 });
        let mut server =
            SimulatedEcho { capacity, drop: QueryShare::NONE, random: Random::from_seed(1) };
        let result = find(&plan(), &mut server);
        assert_eq!(result.stop, SearchStopReason::Server);
        let share = result.rate_per_s.unwrap() / per_s;
        assert!((0.85..=1.02).contains(&share), "{share} of {per_s}");
    }
}
