//! Tests of the digest (summary of a run's records) of simulated runs, whose truth is known.

use crate::simulated::{Lab, MODELS};
use base::Random;
use measure::plan::Plan;
use measure::record::{Purpose, TrialRecord, VoidReason};
use measure::summary::{RunSummary, digest};

fn plan() -> Plan {
    let mut plan = Plan::parse("dhcp4-quick.toml", include_str!("../../../plans/dhcp4-quick.toml"))
        .expect("the shipped plan is good");
    plan.servers = vec!["godwit".to_owned(), "kea".to_owned()];
    plan
}

fn measured(void_one_in: u64) -> (Lab, RunSummary) {
    let mut lab = Lab::new(plan());
    lab.void_one_in = void_one_in;
    lab.measure(&MODELS);
    let summary = digest(&lab.run(), &lab.trials);
    (lab, summary)
}

fn within(got: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&got), "{got} is not from {low} to {high}");
}

#[test]
fn servers_come_in_the_order_of_the_plan_with_their_best_variant() {
    let (_, summary) = measured(0);
    let servers: Vec<&str> = summary.results.iter().map(|r| r.server.as_str()).collect();
    assert_eq!(servers, ["godwit-none", "godwit", "kea"]);
    let kea = &summary.results[2];
    assert_eq!(kea.variant, "multi-threaded");
    assert_eq!(kea.variants.len(), 2);
    within(kea.leases_per_s.unwrap(), 12_500.0, 15_200.0);
    let single = kea.variants.iter().find(|v| v.variant == "single-threaded").unwrap();
    within(single.leases_per_s.unwrap(), 8_500.0, 10_500.0);
    assert!(!kea.is_at_least);
    assert_eq!(kea.rounds.len(), 3);
    assert_eq!(kea.voids, 0);
}

#[test]
fn figures_are_the_models() {
    let (_, summary) = measured(0);
    let godwit = &summary.results[0];
    within(godwit.leases_per_s.unwrap(), 160_000.0, 192_000.0);
    within(godwit.leases_per_cpu_s.unwrap(), 0.99 / 5.2e-6, 1.01 / 5.2e-6);
    within(godwit.share_of_limit.unwrap(), 0.68, 0.85);
    let limit = summary.limit.as_ref().unwrap();
    assert_eq!(limit.answers_per_s, 2.0 * limit.leases_per_s);
    within(limit.leases_per_s, 208_000.0, 250_000.0);
    let half = godwit.latency_half.unwrap();
    within(half.offered_per_s / godwit.leases_per_s.unwrap(), 0.4, 0.6);
    assert!(half.latency.p99_us.unwrap() < godwit.latency_max.unwrap().latency.p99_us.unwrap());
    let last = godwit.curve.last().unwrap();
    assert!(last.loss > 0.05 && last.achieved_per_s < last.offered_per_s * 0.95, "{last:?}");
    assert!(godwit.curve.is_sorted_by(|a, b| a.offered_per_s < b.offered_per_s));
    assert!(godwit.rss_bytes > 46 << 20);
}

#[test]
fn ratios_hold_the_truth_in_their_intervals() {
    let (_, summary) = measured(0);
    let ratio = summary.ratios.iter().find(|r| r.server == "godwit-none" && r.to == "kea").unwrap();
    let rates = ratio.leases_per_s.unwrap();
    assert_eq!(rates.pairs, 3);
    assert!(rates.low < 182.0 / 14.2 && 182.0 / 14.2 < rates.high, "{rates:?}");
    let cpu = ratio.leases_per_cpu_s.unwrap();
    within(cpu.ratio, 0.99 * 132.0 / 5.2, 1.01 * 132.0 / 5.2);
    assert_eq!(summary.ratios.len(), 3);
    assert!(summary.noise.unwrap().typical_percent < 15.0);
}

#[test]
fn the_order_of_records_does_not_matter() {
    let (lab, summary) = measured(9);
    let mut random = Random::from_seed(5);
    for _ in 0..5 {
        let mut shuffled = lab.trials.clone();
        random.shuffle(&mut shuffled);
        assert!(digest(&lab.run(), &shuffled) == summary);
    }
}

#[test]
fn void_trials_are_counted_and_enter_no_figure() {
    let (lab, _) = measured(9);
    let mut spoiled = lab.trials.clone();
    let mut voids = 0;
    for trial in spoiled.iter_mut().filter(|trial| trial.is_void()) {
        let load = trial.load.as_mut().unwrap();
        (load.completed_per_s, load.exchanges.on_time, trial.digest.server_cpu_s) =
            (1e9, load.exchanges.due, 1e-9);
        voids += 1;
    }
    assert!(voids > 5);
    let (before, after) = (digest(&lab.run(), &lab.trials), digest(&lab.run(), &spoiled));
    assert_eq!(before.results, after.results);
    assert_eq!(before.ratios, after.ratios);
    assert_eq!(before.limit, after.limit);
    let counted: u32 = after.results.iter().map(|r| r.voids).sum();
    assert_eq!(counted + after.limit.unwrap().voids, voids);
    assert!(after.warnings.iter().any(|warning| warning.contains("void")));
    for result in &after.results {
        let by_reason = result.void_reasons.get(&VoidReason::SoftnetDrops).copied();
        assert_eq!(by_reason.unwrap_or(0), result.voids);
    }
}

#[test]
fn a_rate_that_no_confirmation_met_is_not_reported() {
    let (lab, _) = measured(0);
    let without = |trial: &&TrialRecord| trial.server != "kea" || trial.purpose != Purpose::Confirm;
    let trials: Vec<TrialRecord> = lab.trials.iter().filter(without).cloned().collect();
    let summary = digest(&lab.run(), &trials);
    let kea = &summary.results[2];
    assert_eq!((kea.leases_per_s, kea.latency_max, kea.is_at_least), (None, None, false));
    let ratio = summary.ratios.iter().find(|r| r.to == "kea").unwrap();
    assert_eq!(ratio.leases_per_s, None);
    assert!(summary.warnings.iter().any(|w| w == "kea: no rate could be confirmed."));
}

#[test]
fn a_server_never_seen_to_fail_is_at_least() {
    let mut plan = plan();
    plan.search.max_per_s = 20_000.0;
    plan.search.start_per_s = 5_000.0;
    plan.curve.fractions = vec![0.5];
    let mut lab = Lab::new(plan);
    lab.measure(&MODELS[1..2]);
    let summary = digest(&lab.run(), &lab.trials);
    assert!(summary.results[0].is_at_least);
    assert_eq!(summary.limit, None);
    assert!(summary.warnings[0].contains("lower bound"), "{:?}", summary.warnings);
}

#[test]
fn nothing_gives_an_empty_summary() {
    let summary = digest(&Lab::new(plan()).run(), &[]);
    assert_eq!((summary.results.len(), summary.ratios.len(), summary.noise), (0, 0, None));
}

#[test]
fn the_summary_survives_its_own_json_and_starts_as_documented() {
    let (_, summary) = measured(9);
    let text = serde_json::to_string(&summary).unwrap();
    assert!(serde_json::from_str::<RunSummary>(&text).unwrap() == summary);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "godwit.summary.v1");
    assert_eq!(value["results"][0]["server"], "godwit-none");
    assert!(value["results"][0]["leases_per_s"].as_f64().unwrap() > 1e5);
    assert!(value["results"][0]["leases_per_cpu_s"].as_f64().unwrap() > 1e5);
}

#[test]
fn one_lucky_round_does_not_beat_the_variant_that_was_measured_further() {
    let (lab, before) = measured(0);
    let mut lucky = lab.trials.clone();
    let mut changed = 0;
    for trial in lucky.iter_mut().filter(|trial| trial.variant == "single-threaded") {
        if let Some(load) = &mut trial.load {
            load.completed_per_s *= 3.0;
            trial.rate_per_s *= 3.0;
            changed += 1;
        }
    }
    assert!(changed > 0);
    let after = digest(&lab.run(), &lucky);
    assert_eq!(after.results[2].variant, "multi-threaded");
    assert_eq!(after.ratios, before.ratios);
}

#[test]
fn an_address_that_two_clients_were_given_is_told_of_whatever_the_server_is() {
    let (mut lab, before) = measured(0);
    assert!(before.conflicts.is_empty());
    let of_kea = lab.trials.iter_mut().filter(|trial| trial.server == "kea");
    for trial in of_kea.take(3) {
        trial.load.as_mut().unwrap().conflicts = 7;
    }
    let after = digest(&lab.run(), &lab.trials);
    assert_eq!(after.conflicts.iter().next(), Some((&"kea".to_owned(), &21)));
    let warning_start =
        "kea: 21 leases were granted to a client while another one held the address";
    assert!(
        after.warnings.iter().any(|warning| warning.starts_with(warning_start)),
        "{:?}",
        after.warnings
    );
}

#[test]
fn an_avalanche_in_which_a_client_got_no_lease_is_none() {
    let (lab, _) = measured(0);
    let mut trials = lab.trials.clone();
    let all = &mut trials.iter_mut().find(|trial| trial.server == "godwit-none").unwrap();
    all.purpose = Purpose::Avalanche;
    (all.void, all.number) = (Vec::new(), 9_999);
    let load = all.load.as_mut().unwrap();
    (load.exchanges.on_time, load.exchanges.behind) = (load.exchanges.due, 0);
    let (due, number) = (load.exchanges.due, all.number);
    let of = |trials: &[TrialRecord]| {
        digest(&lab.run(), trials).results[0].avalanche.map(|of| of.clients)
    };
    assert_eq!(of(&trials), Some(due));
    let one = trials.iter_mut().find(|trial| trial.number == number).unwrap();
    one.load.as_mut().unwrap().exchanges.on_time -= 1;
    assert_eq!(of(&trials), None);
}
