//! Tests of the search for the highest rate against simulated servers.

use base::Random;

use super::*;

/// Drives a search; returns its result and every trial with its outcome.
fn drive(
    mut search: Search,
    mut server: impl FnMut(SearchTrial) -> TrialOutcome,
) -> (SearchResult, Vec<(SearchTrial, TrialOutcome)>) {
    let mut trace: Vec<(SearchTrial, TrialOutcome)> = Vec::new();
    loop {
        match search.next_step() {
            SearchStep::Done(result) => {
                assert_eq!(search.result(), Some(result));
                assert_eq!(result.trials as usize, trace.len());
                let confirmed = trace.iter().rev().find(|(probe, outcome)| {
                    probe.purpose == Purpose::Confirm && *outcome == TrialOutcome::Met
                });
                assert_eq!(
                    confirmed.map(|(probe, _)| probe.rate_per_s),
                    result.rate_per_s,
                    "only confirmed rates are reported"
                );
                return (result, trace);
            }
            SearchStep::Probe(probe) => {
                assert!(trace.len() < 200, "no end: {trace:?}");
                assert_eq!(search.result(), None);
                assert!(probe.rate_per_s >= 1.0 && probe.rate_per_s <= search.plan.max_per_s);
                let outcome = server(probe);
                trace.push((probe, outcome));
                search.report(outcome);
            }
        }
    }
}

fn up_to(limit_per_s: f64) -> impl FnMut(SearchTrial) -> TrialOutcome {
    move |probe| {
        if probe.rate_per_s <= limit_per_s { TrialOutcome::Met } else { TrialOutcome::Missed }
    }
}

/// Returns a random capacity of a server between 50 and 900,000 exchanges per second, evenly on a
/// logarithmic scale.
fn any_limit(random: &mut Random) -> f64 {
    50.0 * (18_000.0_f64).powf(random.unit())
}

#[test]
fn finds_a_hard_limit_to_the_width_asked_for() {
    let plan = SearchPlan { growth: 2.0, bisections: 8, ..SearchPlan::default() };
    let mut random = Random::from_seed(1);
    for _ in 0..2_000 {
        let limit = any_limit(&mut random);
        let (result, trace) = drive(Search::new(&plan), up_to(limit));
        let rate = result.rate_per_s.unwrap();
        assert!(rate <= limit && rate * 1.05 >= limit, "{rate} of {limit}");
        assert_eq!((result.stop, result.voids), (SearchStopReason::Server, 0));
        assert!(trace.len() <= 20, "{} trials for {limit}", trace.len());
        assert_eq!(trace.last().unwrap().0.dwell_s, plan.confirm_dwell_s);
    }
}

#[test]
fn a_second_search_near_the_first_is_shorter_and_as_good() {
    let plan = SearchPlan { growth: 3.0, bisections: 6, ..SearchPlan::default() };
    let mut random = Random::from_seed(2);
    let (mut from_start, mut from_near) = (0, 0);
    for _ in 0..500 {
        let limit = any_limit(&mut random);
        let (result, trace) = drive(Search::new(&plan), up_to(limit));
        from_start += trace.len();
        let moved = limit * (0.9 + 0.2 * random.unit());
        let near = Search::near(&plan, result.rate_per_s.unwrap());
        let (result, trace) = drive(near, up_to(moved));
        from_near += trace.len();
        let rate = result.rate_per_s.unwrap();
        assert!(rate <= moved && rate * 1.06 >= moved, "{rate} of {moved}");
    }
    assert!(from_near * 10 < from_start * 7, "{from_near} trials near, {from_start} from start");
}

#[test]
fn a_near_search_follows_a_server_that_changed_a_lot() {
    let plan = SearchPlan { bisections: 10, ..SearchPlan::default() };
    for limit in [100.0, 3_000.0, 40_000.0, 900_000.0] {
        let (result, trace) = drive(Search::near(&plan, 40_000.0), up_to(limit));
        let rate = result.rate_per_s.unwrap();
        assert!(rate <= limit && rate * 1.05 >= limit, "{rate} of {limit}");
        assert!(trace.len() < 30, "{}", trace.len());
    }
}

#[test]
fn false_misses_cost_little() {
    let plan = SearchPlan { growth: 2.0, bisections: 8, ..SearchPlan::default() };
    let mut random = Random::from_seed(3);
    let mut shares = Vec::new();
    for _ in 0..2_000 {
        let limit = any_limit(&mut random);
        let mut noise = random.fork(9);
        let (result, _) = drive(Search::new(&plan), |probe| {
            if probe.rate_per_s > limit || noise.chance(1, 30) {
                TrialOutcome::Missed
            } else {
                TrialOutcome::Met
            }
        });
        let rate = result.rate_per_s.unwrap_or(0.0);
        assert!(rate <= limit);
        shares.push(rate / limit);
    }
    shares.sort_by(f64::total_cmp);
    assert!(shares[shares.len() / 2] > 0.95, "median {}", shares[shares.len() / 2]);
    assert!(shares[shares.len() / 20] > 0.75, "5 % {}", shares[shares.len() / 20]);
    assert!(shares[shares.len() / 100] > 0.0, "1 % {}", shares[shares.len() / 100]);
}

#[test]
fn a_soft_limit_is_found_where_trials_begin_to_fail() {
    // Half of the trials fail at `limit`; a tenth below it 1 in 10 does, a tenth above 9 in 10.
    let plan = SearchPlan { growth: 2.0, bisections: 8, ..SearchPlan::default() };
    let mut random = Random::from_seed(4);
    let mut inside = 0;
    for _ in 0..1_000 {
        let limit = any_limit(&mut random);
        let mut noise = random.fork(9);
        let (result, _) = drive(Search::new(&plan), |probe| {
            let fails = 1.0 / (1.0 + (-(probe.rate_per_s / limit - 1.0) * 22.0).exp());
            if noise.unit() < fails { TrialOutcome::Missed } else { TrialOutcome::Met }
        });
        if (0.7..=1.2).contains(&(result.rate_per_s.unwrap_or(0.0) / limit)) {
            inside += 1;
        }
    }
    assert!(inside > 950, "{inside} of 1000 near the limit");
}

#[test]
fn the_highest_rate_of_the_plan_ends_the_search() {
    let plan = SearchPlan { max_per_s: 5_000.0, ..SearchPlan::default() };
    let (result, trace) = drive(Search::new(&plan), up_to(f64::INFINITY));
    assert_eq!((result.rate_per_s, result.stop), (Some(5_000.0), SearchStopReason::MaxRate));
    assert_eq!(trace.len(), 5, "1000, 2000, 4000, 5000, confirmation");
}

#[test]
fn a_dead_server_has_no_rate() {
    let (result, trace) = drive(Search::new(&SearchPlan::default()), |_| TrialOutcome::Missed);
    assert_eq!((result.rate_per_s, result.stop), (None, SearchStopReason::Unconfirmed));
    assert_eq!(trace.len(), 10, "1000 down to 1.95");
    let (result, _) = drive(Search::new(&SearchPlan::default()), |_| TrialOutcome::Void);
    assert_eq!((result.rate_per_s, result.voids), (None, result.trials));
    assert_eq!(result.stop, SearchStopReason::Void, "nothing is known about this server");
}

#[test]
fn a_generator_that_cannot_go_on_gives_at_least() {
    let plan = SearchPlan { bisections: 8, ..SearchPlan::default() };
    let (result, trace) = drive(Search::new(&plan), |probe| {
        if probe.rate_per_s > 30_000.0 { TrialOutcome::Void } else { TrialOutcome::Met }
    });
    let rate = result.rate_per_s.unwrap();
    assert!(rate <= 30_000.0 && rate * 1.05 >= 30_000.0, "{rate}");
    assert_eq!(result.stop, SearchStopReason::Void);
    let first = trace.iter().filter(|(probe, _)| probe.rate_per_s == 32_000.0).count();
    assert_eq!(first as u32, 1 + plan.void_repeats, "repeated as often as the plan says");
}

#[test]
fn a_lone_void_changes_nothing_but_the_count() {
    let plan = SearchPlan { bisections: 8, ..SearchPlan::default() };
    let (clean, _) = drive(Search::new(&plan), up_to(7_777.0));
    let mut trial = 0;
    let mut server = up_to(7_777.0);
    let (result, _) = drive(Search::new(&plan), |probe| {
        trial += 1;
        if trial % 3 == 0 { TrialOutcome::Void } else { server(probe) }
    });
    assert_eq!(result.rate_per_s, clean.rate_per_s);
    assert_eq!(result.trials, clean.trials + result.voids);
    assert!(result.voids >= 4);
}

#[test]
fn a_failed_confirmation_backs_off_and_gives_up_in_the_end() {
    let plan = SearchPlan { width_percent: 5.0, confirmations: 3, ..SearchPlan::default() };
    // Short trials flatter this server: it holds 10,000 for a while but 9,000 for long.
    let server = |probe: SearchTrial| match probe.purpose {
        Purpose::Confirm => up_to(9_000.0)(probe),
        _ => up_to(10_000.0)(probe),
    };
    let (result, trace) = drive(Search::new(&plan), server);
    let rate = result.rate_per_s.unwrap();
    assert!(rate <= 9_000.0 && rate * 1.07 >= 9_000.0, "{rate}");
    let confirms: Vec<f64> = trace
        .iter()
        .filter(|(probe, _)| probe.purpose == Purpose::Confirm)
        .map(|(probe, _)| probe.rate_per_s)
        .collect();
    let down = confirms.iter().position(|&rate| rate <= 9_000.0).unwrap();
    assert!(confirms[..=down].windows(2).all(|pair| pair[1] < pair[0]), "{confirms:?}");
    assert!(down >= 2 && confirms.len() > down + 1, "{confirms:?}");
    assert!(confirms[down + 1..].iter().all(|&rate| rate > confirms[down]), "{confirms:?}");
    let (result, trace) = drive(Search::new(&plan), |probe| match probe.purpose {
        Purpose::Confirm => TrialOutcome::Missed,
        _ => up_to(10_000.0)(probe),
    });
    assert_eq!((result.rate_per_s, result.stop), (None, SearchStopReason::Unconfirmed));
    assert_eq!(trace.iter().filter(|(p, _)| p.purpose == Purpose::Confirm).count(), 3);
}

#[test]
fn missed_confirmations_do_not_leave_a_figure_far_below_the_server() {
    let plan =
        SearchPlan { width_percent: 4.0, bisections: 8, confirmations: 5, ..SearchPlan::default() };
    let mut random = Random::from_seed(11);
    for _ in 0..500 {
        // Short trials flatter by up to a quarter.
        let limit = any_limit(&mut random);
        let short = limit * (1.0 + 0.25 * random.unit());
        let (result, trace) = drive(Search::new(&plan), |probe| match probe.purpose {
            Purpose::Confirm => up_to(limit)(probe),
            _ => up_to(short)(probe),
        });
        let rate = result.rate_per_s.unwrap();
        assert!(
            rate <= limit && rate * 1.06 >= limit,
            "{rate} of {limit}, {short} in short trials"
        );
        let confirms = trace.iter().filter(|(probe, _)| probe.purpose == Purpose::Confirm).count();
        assert!(confirms <= 8, "{confirms}");
    }
}

#[test]
fn what_is_confirmed_is_kept_when_time_is_short() {
    let plan = SearchPlan { width_percent: 5.0, confirmations: 5, ..SearchPlan::default() };
    let mut search = Search::new(&plan);
    let mut confirmed = None;
    while let SearchStep::Probe(probe) = search.next_step() {
        if probe.purpose == Purpose::Confirm && confirmed.is_some() {
            break;
        }
        let limit = if probe.purpose == Purpose::Confirm { 8_000.0 } else { 10_000.0 };
        let outcome = up_to(limit)(probe);
        if probe.purpose == Purpose::Confirm && outcome == TrialOutcome::Met {
            confirmed = Some(probe.rate_per_s);
        }
        search.report(outcome);
    }
    assert!(search.result().is_none(), "it goes on above what is confirmed");
    search.hurry();
    assert_eq!(search.result().unwrap().rate_per_s, confirmed);
}

#[test]
fn hurry_confirms_what_is_there() {
    let mut search = Search::new(&SearchPlan::default());
    search.report(TrialOutcome::Met);
    search.report(TrialOutcome::Met);
    search.hurry();
    let SearchStep::Probe(probe) = search.next_step() else { panic!("a confirmation") };
    assert_eq!((probe.rate_per_s, probe.purpose), (2_000.0, Purpose::Confirm));
    search.report(TrialOutcome::Met);
    let earlier_result = search.result().unwrap();
    assert_eq!(
        (earlier_result.rate_per_s, earlier_result.stop),
        (Some(2_000.0), SearchStopReason::Hurried)
    );
    let mut nothing = Search::new(&SearchPlan::default());
    nothing.hurry();
    let result = nothing.result().unwrap();
    assert_eq!((result.rate_per_s, result.stop), (None, SearchStopReason::Hurried));
    search.hurry();
    assert_eq!(search.result(), Some(earlier_result), "too late to change anything");
}

#[test]
fn hurry_lets_a_confirmation_go_on_once() {
    let begun = || {
        let mut search = Search::new(&SearchPlan::default());
        loop {
            let SearchStep::Probe(probe) = search.next_step() else { panic!("a trial") };
            if probe.purpose == Purpose::Confirm {
                return (search, probe.rate_per_s);
            }
            search.report(if probe.rate_per_s < 9_000.0 {
                TrialOutcome::Met
            } else {
                TrialOutcome::Missed
            });
        }
    };
    let (mut search, first_per_s) = begun();
    search.hurry();
    search.report(TrialOutcome::Missed);
    let SearchStep::Probe(second) = search.next_step() else { panic!("another confirmation") };
    assert!(second.purpose == Purpose::Confirm && second.rate_per_s < first_per_s);
    search.report(TrialOutcome::Met);
    assert_eq!(search.result().unwrap().rate_per_s, Some(second.rate_per_s));
    let (mut search, _) = begun();
    search.hurry();
    search.hurry();
    let result = search.result().unwrap();
    assert_eq!((result.rate_per_s, result.stop), (None, SearchStopReason::Hurried));
}

#[test]
fn a_server_that_loses_at_every_rate_is_told_from_a_slow_one() {
    let plan = SearchPlan {
        loss_percent: 0.1,
        growth: 3.0,
        start_per_s: 20_000.0,
        ..SearchPlan::default()
    };
    let drive = |completed: &dyn Fn(f64) -> f64| {
        let mut search = Search::new(&plan);
        while let SearchStep::Probe(probe) = search.next_step() {
            let completed_per_s = completed(probe.rate_per_s);
            let is_met = completed_per_s >= probe.rate_per_s * 0.999;
            let outcome = if is_met { TrialOutcome::Met } else { TrialOutcome::Missed };
            search.report_completed(outcome, completed_per_s);
        }
        search.result().unwrap()
    };
    let lossy = drive(&|rate| rate * 0.95);
    assert_eq!((lossy.rate_per_s, lossy.stop), (None, SearchStopReason::EveryRate));
    assert_eq!(lossy.trials, 4, "20,000, and three far below 19,000");
    // A server that answers up to its capacity, whatever is offered.
    for capacity in [15_000.0, 700.0, 3.0] {
        let slow = drive(&|rate| rate.min(capacity));
        assert_eq!(slow.stop, SearchStopReason::Server, "{capacity}");
        assert!(slow.rate_per_s.is_some_and(|rate| rate <= capacity && rate > capacity * 0.8));
    }
    // A server that breaks down under load and needs a far lower rate to recover.
    let fragile = drive(&|rate| if rate > 900.0 { rate * 0.3 } else { rate });
    assert_eq!(fragile.stop, SearchStopReason::Server);
}
