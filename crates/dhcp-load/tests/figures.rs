//! Tests of figures against responders whose true values are known, on virtual time: a server that
//! replies to every tenth message late (`delay10`), one first-in-first-out server of a known
//! capacity with a long queue (`cap`), with whole exchanges, with the requests of `godwit perfdhcp`
//! and with the search.

use measure::plan::{Plan, SearchPlan};
use measure::record::LoadRecord;
use measure::search::{Search, SearchStep, TrialOutcome};

use crate::common::{self, Dhcp4TestRequest, MS};
use crate::perfdhcp::v4::dialect;
use crate::perfdhcp::world;
use dhcp_load::v4::answer::kind;
use load::{ExchangeClass, Health, Timeline};

/// Returns the delay of each message at a server of `per_s` messages per second with room for all.
fn fifo(per_s: u64) -> impl FnMut(u64) -> u64 {
    let mut free_ns = 0;
    move |now_ns: u64| {
        free_ns = now_ns.max(free_ns) + 1_000 * MS / per_s;
        free_ns - now_ns
    }
}

/// Returns the record of whole exchanges at `rate` per second for `dwell_s` with a server of
/// `per_s` messages per second, and the number of exchanges that it completed in that time.
fn overloaded(rate: f64, dwell_s: f64, per_s: u64) -> (LoadRecord, u64) {
    let dwell_ns = (dwell_s * 1e9) as u64;
    let (mut delay, mut start_ns, mut completed) = (fifo(per_s), None, 0);
    let outcome = common::play_at(rate, dwell_ns, |now_ns, request| {
        let delay_ns = delay(now_ns);
        let end_ns = *start_ns.get_or_insert(now_ns) + dwell_ns;
        let is_last = request.kind() == kind::REQUEST;
        completed += u64::from(is_last && now_ns + delay_ns <= end_ns);
        vec![(delay_ns, request.good())]
    });
    let health = Health::default();
    let record = LoadRecord::from_ledger(&outcome.ledger, &Timeline::default(), health, dwell_ns);
    (record, completed)
}

#[test]
fn late_answers_of_exchanges_are_in_the_latencies() {
    let mut count = 0;
    let outcome = common::play(100.0, 2_000 * MS, |request| {
        count += 1;
        let is_late = count % 10 == 0;
        vec![(if is_late { 2_500 * MS } else { MS }, request.good())]
    });
    let late = outcome.ledger.count(ExchangeClass::Late);
    assert!(late > 20, "{late}");
    let latency = outcome.ledger.latency_due();
    assert_eq!(latency.count(), outcome.ledger.count(ExchangeClass::OnTime) + late);
    assert!(latency.quantile(0.99).unwrap() >= 2_500 * MS, "{:?}", latency.quantile(0.99));
    let all = common::play(100.0, 1_000 * MS, |request| vec![(2_500 * MS, request.good())]);
    assert!(all.ledger.latency_sent().quantile(0.5).unwrap() >= 2_490 * MS);
    assert_eq!(all.ledger.latency_due().count(), 100);
}

#[test]
fn late_answers_to_requests_of_perfdhcp_are_in_the_latencies() {
    for every in [1, 10] {
        let mut count = 0;
        let rules = world::rules(3);
        let deadline_ns = rules.deadlines_ns[0];
        let load = world::ExchangeLoad::new(200, 100.0);
        let played = world::play(dialect(200), 200, rules, load, [0.0; 2], |_, octets| {
            let request = Dhcp4TestRequest { octets };
            count += u32::from(request.kind() == kind::DISCOVER);
            let is_late = request.kind() == kind::DISCOVER && count % every == 0;
            vec![(if is_late { deadline_ns + 500 * MS } else { MS }, request.good())]
        });
        let first = &played.traffic.accounts[0];
        let late = first.ledger.count(ExchangeClass::Late);
        let latency = first.ledger.latency_due();
        assert_eq!((latency.count(), late > 2), (200, true), "one in {every}: {late}");
        assert!(latency.quantile(0.99).unwrap() > deadline_ns, "one in {every}: {late} late");
        assert_eq!(latency.quantile(0.5).unwrap() > deadline_ns, every == 1);
    }
}

#[test]
fn a_queue_that_grows_is_no_throughput_of_perfdhcp() {
    // 1,200 exchanges at 600/s: the server completes 400/s, the last one after three seconds.
    let mut delay = fifo(800);
    let load = world::ExchangeLoad::new(1_200, 600.0);
    let rules = dhcp_load::perfdhcp::rules::RequestRules { capacity: 4_000, ..world::rules(1) };
    let played = world::play(dialect(1_200), 1_200, rules, load, [0.0; 2], |now_ns, octets| {
        vec![(delay(now_ns), Dhcp4TestRequest { octets }.good())]
    });
    let load::CountedExchanges { completed: counted, overtime_ns } =
        played.traffic.throughput.counted();
    let per_s = counted as f64 / (2.0 + overtime_ns as f64 / 1e9);
    assert!((396.0..=404.0).contains(&per_s), "{per_s}: {counted} in {overtime_ns} ns more");
}

#[test]
fn a_queue_that_grows_is_no_throughput_of_exchanges() {
    for (rate, dwell_s) in [(1_500.0, 1.0), (1_100.0, 1.0), (3_000.0, 1.0), (1_300.0, 3.0)] {
        let (record, completed) = overloaded(rate, dwell_s, 2_000);
        let share = record.completed_per_s * dwell_s / completed as f64;
        let description = format!("{rate}/s for {dwell_s} s: {share} of {completed} {record:?}");
        assert!((0.99..=1.02).contains(&share), "{description}");
        assert!(record.completed_per_s <= 1_010.0, "{description}");
    }
}

fn highest_rate(search: &SearchPlan, per_s: u64) -> (f64, u32) {
    let mut run = Search::new(search);
    let (mut best, mut trials) = (0.0_f64, 0);
    while let SearchStep::Probe(probe) = run.next_step() {
        let (record, _) = overloaded(probe.rate_per_s, probe.dwell_s, per_s);
        let is_met = record.exchanges.shortfall() * 100.0 <= search.loss_percent;
        let outcome = if is_met { TrialOutcome::Met } else { TrialOutcome::Missed };
        trials += 1;
        if is_met && probe.purpose == measure::record::Purpose::Confirm {
            best = record.completed_per_s;
        }
        run.report_completed(outcome, record.completed_per_s);
    }
    assert!(run.result().unwrap().rate_per_s.is_some());
    (best, trials)
}

#[test]
fn the_search_finds_a_capacity_within_two_percent_despite_a_long_queue_and_with_quick() {
    for name in ["dhcp4-quick", "speed-base4"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        let mut plan = Plan::parse(name, &text).unwrap();
        for is_quick in [false, true] {
            if is_quick {
                plan.quicken();
            }
            for per_s in [1_680, 2_000, 2_220] {
                let search = SearchPlan { start_per_s: 500.0, ..plan.search };
                let (rate, trials) = highest_rate(&search, per_s);
                let share = rate / (per_s as f64 / 2.0);
                let description =
                    format!("{name}, quick {is_quick}, {per_s}: {share} in {trials} trials");
                assert!((0.98..=1.02).contains(&share), "{description}");
            }
        }
    }
}
