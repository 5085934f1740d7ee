//! Tests of the runner with simulated servers of known capacities.

use measure::plan::{LeaseStoreKind, MeasuredProtocol, Restarts};
use measure::record::{ExchangeCounts, LoadRecord, VoidReason};

use super::*;
use crate::subject::SubjectKind;

/// Runs `plan` on the simulated servers of `bench`, in the time that a forecast gives the plan.
fn run(
    plan: &Plan,
    subjects: &[MeasurementSubject],
    bench: &mut SimulatedBench,
) -> LabResult<Outcomes> {
    super::run(plan, subjects, &RunTime::for_idle_machine(plan, subjects), bench)
}

/// Simulation that runs trials in place of real processes, and whose servers complete as many
/// exchanges as their capacity allows.
struct SimulatedBench {
    capacity_per_s: Vec<f64>,
    elapsed_s: f64,
    /// Time that a simulated trial takes in addition to that of its load, in seconds.
    overhead_s: f64,
    /// Numbers of the simulated trials that are void.
    void: Vec<u32>,
    /// Reason why the simulated trials in `void` are void.
    void_reason: VoidReason,
    /// Number of the trial from which the first server no longer runs.
    ends_at: Option<u32>,
    requests: Vec<TrialRequest>,
    /// Numbers of the trials before which servers were started anew, with the positions of these
    /// servers.
    fresh: Vec<(usize, Vec<usize>)>,
    /// Number of the trial that the user interrupts.
    interrupted_at: Option<u32>,
    /// True if perf is installed.
    can_profile: bool,
    /// Stages of the run that have come to their end, such as a round or the load curve.
    reached: Vec<RunStage>,
}

impl TrialRunner for SimulatedBench {
    fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }

    fn start_anew(&mut self, subjects: &[SubjectId]) -> LabResult<()> {
        let positions = subjects.iter().map(|subject| subject.0).collect();
        self.fresh.push((self.requests.len(), positions));
        Ok(())
    }

    fn can_profile(&self) -> bool {
        self.can_profile
    }

    fn record_stage_end(&mut self, stage: RunStage) {
        self.reached.push(stage);
    }

    fn trial(&mut self, request: &TrialRequest) -> LabResult<TrialEnd> {
        if self.interrupted_at == Some(request.number) {
            return Err(LabError::Interrupted);
        }
        self.requests.push(*request);
        if request.subject.0 == 0 && self.ends_at.is_some_and(|at| request.number >= at) {
            return Ok(TrialEnd::ServerEnded("it went".to_owned()));
        }
        let start_s = self.elapsed_s;
        let due = (request.rate_per_s * request.dwell_s) as u64;
        let able = (self.capacity_per_s[request.subject.0] * request.dwell_s) as u64;
        let on_time = due.min(able);
        let lossy = if on_time < due { 2.0 } else { 0.0 };
        self.elapsed_s += request.dwell_s + self.overhead_s + lossy;
        let exchanges =
            ExchangeCounts { due, sent: due, on_time, lost: due - on_time, ..Default::default() };
        let load = LoadRecord {
            duration_s: request.dwell_s,
            completed_per_s: on_time as f64 / request.dwell_s,
            exchanges,
            ..LoadRecord::default()
        };
        let is_void = self.void.contains(&request.number);
        Ok(TrialEnd::Trial(Box::new(TrialRecord {
            number: request.number,
            purpose: request.purpose,
            round: request.round,
            rate_per_s: request.rate_per_s,
            start_s,
            end_s: self.elapsed_s,
            load: Some(load),
            void: if is_void { vec![self.void_reason] } else { Vec::new() },
            ..TrialRecord::default()
        })))
    }
}

fn imagined(capacity_per_s: &[f64]) -> SimulatedBench {
    SimulatedBench {
        capacity_per_s: capacity_per_s.to_vec(),
        elapsed_s: 0.0,
        overhead_s: 0.1,
        void: Vec::new(),
        void_reason: VoidReason::SoftnetDrops,
        ends_at: None,
        requests: Vec::new(),
        fresh: Vec::new(),
        interrupted_at: None,
        can_profile: true,
        reached: Vec::new(),
    }
}

fn subjects(names: &[(&str, &str)]) -> Vec<MeasurementSubject> {
    let make = |&(server, variant): &(&str, &str)| {
        MeasurementSubject::new(server, variant, SubjectKind::Limit)
    };
    names.iter().map(make).collect()
}

fn plan() -> Plan {
    let mut plan = Plan { time_budget_s: 1e6, ..Plan::default() };
    plan.blocks.rounds = 2;
    plan.curve.fractions = vec![0.5, 1.2];
    plan
}

#[test]
fn turns_run_to_and_fro_within_one_search() {
    let mut bench = imagined(&[8_000.0, 8_000.0]);
    run(&plan(), &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    let order: Vec<usize> =
        bench.requests.iter().take(8).map(|request| request.subject.0).collect();
    assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0]);
    let numbers: Vec<u32> = bench.requests.iter().map(|request| request.number).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u32));
}

#[test]
fn profiles_come_last_for_every_server_but_the_limit() {
    let mut subjects = subjects(&[("a", ""), ("b", ""), ("limit", "")]);
    for subject in &mut subjects[..2] {
        subject.kind = SubjectKind::Dns(crate::driver::DnsServer::Echo);
    }
    let mut plan = plan();
    plan.profile.fractions = vec![0.1, 0.5];
    let mut bench = imagined(&[8_000.0, 4_000.0, 9_000.0]);
    let out = run(&plan, &subjects, &mut bench).unwrap();
    let is_profile = |request: &&TrialRequest| request.purpose == Purpose::Profile;
    let profiles: Vec<&TrialRequest> = bench.requests.iter().filter(is_profile).collect();
    let last: Vec<&TrialRequest> = bench.requests.iter().rev().take(4).collect();
    assert_eq!(profiles, last.into_iter().rev().collect::<Vec<_>>());
    for request in profiles {
        let name = &subjects[request.subject.0].server;
        let end = out.searches.iter().rfind(|end| end.server == *name).unwrap();
        let share = request.rate_per_s / end.rate_per_s.unwrap();
        assert!((share - 0.1).abs() < 1e-9 || (share - 0.5).abs() < 1e-9, "{name} {share}");
        assert_eq!(request.dwell_s, plan.profile.seconds + 1.0);
    }
    bench = SimulatedBench { can_profile: false, ..imagined(&[8_000.0, 4_000.0, 9_000.0]) };
    let out = run(&plan, &subjects, &mut bench).unwrap();
    assert!(!bench.requests.iter().any(|request| request.purpose == Purpose::Profile));
    assert_eq!(out.warnings, Vec::<String>::new());
}

#[test]
fn servers_are_loaded_alike_and_with_all_clients_at_once() {
    let mut subjects = subjects(&[("a", ""), ("b", ""), ("limit", "")]);
    for subject in &mut subjects[..2] {
        subject.kind = SubjectKind::Godwit(measure::plan::ServerDurability::None);
    }
    let mut plan = plan();
    (plan.curve.fractions, plan.curve.same_rate, plan.curve.avalanche_s) = (vec![], true, 5.0);
    let mut bench = imagined(&[8_000.0, 1_000.0, 9_000.0]);
    let out = run(&plan, &subjects, &mut bench).unwrap();
    let rate_of = |name: &str| {
        let end = out.searches.iter().rfind(|end| end.server == name);
        end.unwrap().rate_per_s.unwrap()
    };
    let requests_of = |purpose: Purpose| -> Vec<(usize, f64, f64)> {
        let of_it = bench.requests.iter().filter(|request| request.purpose == purpose);
        let mut all: Vec<_> = of_it.map(|r| (r.subject.0, r.rate_per_s, r.dwell_s)).collect();
        all.sort_by_key(|&(subject, ..)| subject);
        all
    };
    let (half, dwell_s) = (rate_of("b") / 2.0, plan.curve.dwell_s);
    assert_eq!(requests_of(Purpose::Curve), [(0, half, dwell_s), (1, half, dwell_s)]);
    assert_eq!(requests_of(Purpose::Avalanche), [(0, rate_of("a"), 5.0), (1, rate_of("b"), 5.0)]);
}

#[test]
fn profiles_keep_their_time_and_are_left_out_when_there_is_none() {
    let mut plan = plan();
    plan.profile.fractions = vec![0.5];
    plan.curve.fractions = vec![0.5; 40];
    plan.time_budget_s = 40.0;
    let mut subjects = subjects(&[("a", "")]);
    subjects[0].kind = SubjectKind::Dns(crate::driver::DnsServer::Echo);
    let mut bench = imagined(&[8_000.0]);
    let out = run(&plan, &subjects, &mut bench).unwrap();
    let count = |bench: &SimulatedBench, purpose| {
        bench.requests.iter().filter(|request| request.purpose == purpose).count()
    };
    assert_eq!(count(&bench, Purpose::Profile), 1);
    assert!(count(&bench, Purpose::Curve) < 40, "points give way: {:?}", out.warnings);
    plan.profile.seconds = 60.0;
    let mut bench = imagined(&[8_000.0]);
    let out = run(&plan, &subjects, &mut bench).unwrap();
    assert_eq!(count(&bench, Purpose::Profile), 0);
    let warnings = out.warnings.iter().filter(|words| words.contains("1 profiles were left out"));
    assert_eq!(warnings.count(), 1, "{:?}", out.warnings);
}

#[test]
fn databases_are_ended_last_under_a_share_of_the_rate_that_was_found() {
    let mut bench = imagined(&[8_000.0, 8_000.0]);
    let mut subjects = subjects(&[("a", ""), ("b", "")]);
    subjects[1].store = LeaseStoreKind::Mysql;
    let mut plan = plan();
    plan.restart.database = Restarts::Both;
    let out = run(&plan, &subjects, &mut bench).unwrap();
    let (before, last) = bench.requests.split_at(bench.requests.len() - 2);
    let purposes: Vec<Purpose> = last.iter().map(|request| request.purpose).collect();
    assert_eq!(purposes, [Purpose::DatabaseStop, Purpose::DatabaseKill]);
    let rate_per_s =
        out.searches.iter().rfind(|end| end.server == "b").unwrap().rate_per_s.unwrap();
    for request in last {
        assert_eq!((request.subject.0, request.dwell_s), (1, plan.restart.dwell_s));
        assert!((request.rate_per_s / rate_per_s - plan.restart.fraction).abs() < 1e-9);
    }
    assert!(!before.iter().any(|request| request.purpose.ends_database()));
}

#[test]
fn pools_run_out_last_of_all_in_trials_that_are_as_long_as_the_time_allows() {
    let mut subjects = subjects(&[("a", ""), ("b", ""), ("limit", "")]);
    subjects[0].kind = SubjectKind::Godwit(measure::plan::ServerDurability::None);
    subjects[1].kind = SubjectKind::Dnsmasq;
    let mut plan = plan();
    (plan.exhaustion.dwell_s, plan.exhaustion.at_s) = (40.0, 20.0);
    for (budget_s, least_s, most_s) in [(1e6, 40.0, 40.0), (40.0, 6.0, 39.0), (9.0, 6.0, 6.0)] {
        plan.time_budget_s = budget_s;
        let mut bench = imagined(&[8_000.0, 8_000.0, 9_000.0]);
        let out = run(&plan, &subjects, &mut bench).unwrap();
        let last = bench.requests.last().unwrap();
        assert_eq!((last.subject.0, last.purpose), (0, Purpose::Exhaustion), "{budget_s}");
        assert!((least_s..=most_s).contains(&last.dwell_s), "{budget_s}: {last:?}");
        let rate_per_s = out.searches.iter().rfind(|end| end.server == "a").unwrap().rate_per_s;
        assert!((last.rate_per_s / rate_per_s.unwrap() - 0.5).abs() < 1e-9);
        let of_it = bench.requests.iter().filter(|r| r.purpose == Purpose::Exhaustion).count();
        let warnings_with =
            |words: &str| out.warnings.iter().filter(|warning| warning.contains(words)).count();
        // A server without a known rate has no such trial.
        let has_rate_of_b =
            out.searches.iter().any(|of| of.server == "b" && of.rate_per_s.is_some());
        let expected = (1, usize::from(has_rate_of_b));
        assert_eq!(
            (of_it, warnings_with("b: no trial with an exhausted pool")),
            expected,
            "{:?}",
            out.warnings
        );
        assert_eq!(
            warnings_with("the pool of a runs out lasted"),
            usize::from(last.dwell_s < 40.0)
        );
    }
}

#[test]
fn capacities_are_found_and_confirmed_in_every_round() {
    let mut bench = imagined(&[30_000.0, 5_000.0]);
    let plan = plan();
    let out = run(&plan, &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    assert_eq!(out.warnings, Vec::<String>::new());
    for (subject, capacity) in [(0, 30_000.0), (1, 5_000.0)] {
        for round in 0..2 {
            let met = bench.requests.iter().zip(&out.trials).find(|(request, trial)| {
                request.subject.0 == subject
                    && request.round == round
                    && request.purpose == Purpose::Confirm
                    && trial.meets(plan.search.loss_percent)
            });
            let rate = met.expect("a confirming trial in every round").0.rate_per_s;
            assert!((0.9..1.03).contains(&(rate / capacity)), "{rate} of {capacity}");
        }
        let curve = bench.requests.iter().filter(|r| r.subject.0 == subject);
        let curve: Vec<_> = curve.filter(|r| r.purpose == Purpose::Curve).collect();
        assert_eq!(curve.len(), 2);
        assert!(curve[0].rate_per_s < capacity && curve[1].rate_per_s > capacity);
    }
    let pairs = bench.requests.iter().filter(|r| r.purpose == Purpose::Pair).count();
    assert_eq!(pairs, 4);
}

#[test]
fn only_the_better_variant_goes_past_the_first_round() {
    let names = [("kea", "single"), ("godwit", ""), ("kea", "multi"), ("limit", "")];
    let mut bench = imagined(&[4_000.0, 9_000.0, 6_000.0, 20_000.0]);
    run(&plan(), &subjects(&names), &mut bench).unwrap();
    let later = |subject: usize| {
        bench.requests.iter().filter(|r| r.subject.0 == subject && r.round == 1).count()
    };
    assert_eq!(later(0), 0);
    assert!(later(1) > 0 && later(2) > 0 && later(3) > 0);

    let mut equal = imagined(&[5_000.0; 4]);
    run(&plan(), &subjects(&names), &mut equal).unwrap();
    let second: Vec<_> = equal.requests.iter().filter(|r| r.round == 1).collect();
    assert!(second.iter().any(|r| r.subject.0 == 0) && second.iter().all(|r| r.subject.0 != 2));
}

#[test]
fn the_budget_holds_and_what_was_left_out_is_said() {
    let plan = Plan { time_budget_s: 60.0, ..plan() };
    for capacity in [100.0, 20_000.0, 900_000.0] {
        let mut bench = imagined(&[capacity, capacity * 1.5]);
        let out = run(&plan, &subjects(&[("a", ""), ("limit", "")]), &mut bench).unwrap();
        assert!(bench.elapsed_s < 66.0, "{capacity}: {} s", bench.elapsed_s);
        assert!(out.trials.iter().any(|t| t.purpose == Purpose::Confirm && t.meets(2.5)));
    }
    let short = Plan { time_budget_s: 12.0, ..plan };
    let mut bench = imagined(&[20_000.0, 30_000.0]);
    let out = run(&short, &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    assert!(out.warnings.iter().any(|w| w.contains("shorter searches")), "{:?}", out.warnings);
    assert!(out.warnings.iter().any(|w| w.contains("1 of 2 rounds")), "{:?}", out.warnings);
    assert!(bench.elapsed_s < 25.0, "{}", bench.elapsed_s);
}

#[test]
fn a_machine_on_which_every_trial_is_void_does_not_run_for_ever() {
    let plan = Plan { time_budget_s: 30.0, ..plan() };
    let mut bench = imagined(&[20_000.0, 30_000.0]);
    bench.void = (0..10_000).collect();
    run(&plan, &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    assert!(bench.elapsed_s < 33.0, "{}", bench.elapsed_s);
}

#[test]
fn void_trials_are_repeated_at_the_same_rate() {
    let mut bench = imagined(&[8_000.0]);
    bench.void = vec![1];
    run(&plan(), &subjects(&[("a", "")]), &mut bench).unwrap();
    assert_eq!(bench.requests[1].rate_per_s, bench.requests[2].rate_per_s);
    assert!(bench.requests[3].rate_per_s > bench.requests[2].rate_per_s);
}

#[test]
fn a_server_that_ends_is_left_out_and_the_others_go_on() {
    let mut bench = imagined(&[8_000.0, 8_000.0]);
    bench.ends_at = Some(3);
    let out = run(&plan(), &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    assert_eq!(out.ended_servers, ["it went"]);
    let requests_after_end =
        bench.requests.iter().filter(|r| r.subject.0 == 0 && r.number >= 3).count();
    assert_eq!(requests_after_end, 1, "it is asked for once and never again");
    assert!(bench.requests.iter().any(|r| r.subject.0 == 1 && r.purpose == Purpose::Curve));
}

/// Makes a plan that measures every server nine times from the beginning.
fn nine_runs() -> Plan {
    let mut plan = plan();
    plan.runs.count = 9;
    plan
}

#[test]
fn every_run_is_a_whole_search_of_every_subject_from_the_beginning() {
    let plan = nine_runs();
    let mut bench = imagined(&[30_000.0, 5_000.0]);
    let out = run(&plan, &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    assert_eq!((out.finished_rounds, out.is_interrupted, out.warnings.len()), (9, false, 0));
    assert_eq!(out.searches.len(), 18);
    let ends = |server: &str| out.searches.iter().filter(|end| end.server == server).count();
    assert_eq!((ends("a"), ends("b")), (9, 9));
    assert!(out.searches.iter().all(|end| end.rate_per_s.is_some()));
    let mut starts = Vec::new();
    for round in 0..9 {
        for subject in [0, 1] {
            let of = bench.requests.iter().filter(|r| r.round == round && r.subject.0 == subject);
            let searched: Vec<f64> =
                of.filter(|r| r.purpose == Purpose::Search).map(|r| r.rate_per_s).collect();
            assert_eq!(searched[0], plan.round_search(round, &plan.search).start_per_s);
            starts.push(searched[0]);
        }
        let first = bench.requests.iter().position(|r| r.round == round).unwrap();
        let fresh = bench.fresh.iter().any(|(at, of)| *at == first && *of == [0, 1]);
        assert_eq!(fresh, round > 0, "before every run but the first, which is fresh anyway");
    }
    starts.dedup();
    assert_eq!(starts.len(), 9);
}

#[test]
fn plans_with_rounds_start_nothing_anew() {
    let mut bench = imagined(&[8_000.0]);
    run(&plan(), &subjects(&[("a", "")]), &mut bench).unwrap();
    assert_eq!(bench.fresh, []);
}

#[test]
fn an_interrupt_keeps_whole_runs_and_nothing_before_the_first() {
    let plan = nine_runs();
    let two = subjects(&[("a", ""), ("b", "")]);
    let mut whole = imagined(&[30_000.0, 5_000.0]);
    run(&plan, &two, &mut whole).unwrap();
    let number = |round: u32| whole.requests.iter().position(|r| r.round == round).unwrap() as u32;

    let mut bench = imagined(&[30_000.0, 5_000.0]);
    bench.interrupted_at = Some(number(4) + 3);
    let out = run(&plan, &two, &mut bench).unwrap();
    assert_eq!((out.finished_rounds, out.is_interrupted, out.searches.len()), (4, true, 8));
    assert_eq!(out.trials.len() as u32, number(4) + 3);

    let mut bench = imagined(&[30_000.0, 5_000.0]);
    bench.interrupted_at = Some(number(1) - 1);
    assert_eq!(run(&plan, &two, &mut bench), Err(LabError::Interrupted));
}

#[test]
fn when_time_is_short_runs_are_left_out_and_none_is_hurried() {
    let mut plan = nine_runs();
    plan.time_budget_s = 200.0;
    let mut bench = imagined(&[30_000.0, 5_000.0]);
    let out = run(&plan, &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    assert!((2..9).contains(&out.finished_rounds), "{}", out.finished_rounds);
    assert_eq!(out.searches.len() as u32, 2 * out.finished_rounds);
    assert!(out.warnings[0].contains("has room for"), "{:?}", out.warnings);
    assert!(!out.warnings.iter().any(|w| w.contains("shorter searches")), "{:?}", out.warnings);
    assert!(bench.elapsed_s < 205.0, "{}", bench.elapsed_s);
}

/// Makes a plan of DNS with a ramp of `steps` steps of 25 Mbit/s, 36,765 queries per second each.
fn ramp(steps: u32) -> Plan {
    let mut plan = Plan { protocol: MeasuredProtocol::Dns, ..plan() };
    plan.curve.fractions = Vec::new();
    plan.ramp.dwell_s = 1.0;
    plan.ramp.last_mbit_s = 25.0 * f64::from(steps);
    plan
}

#[test]
fn a_ramp_has_the_same_steps_for_every_server() {
    let mut bench = imagined(&[100_000.0, 40_000.0]);
    let out = run(&ramp(4), &subjects(&[("a", ""), ("b", "")]), &mut bench).unwrap();
    for subject in [0, 1] {
        let of = bench.requests.iter().filter(|r| r.subject.0 == subject);
        let steps: Vec<u32> = of
            .filter(|r| r.purpose == Purpose::Ramp)
            .map(|r| (r.rate_per_s / 36_764.7).round() as u32)
            .collect();
        assert_eq!(steps, [1, 2, 3, 4], "beyond what the server can do as well");
    }
    assert_eq!(out.warnings, Vec::<String>::new());
}

#[test]
fn a_ramp_ends_where_the_generator_does() {
    let servers = [("a", ""), ("b", "")];
    let mut whole = imagined(&[100_000.0, 90_000.0]);
    run(&ramp(4), &subjects(&servers), &mut whole).unwrap();
    let first_step = whole.requests.iter().position(|r| r.purpose == Purpose::Ramp).unwrap() as u32;
    let mut bench = imagined(&[100_000.0, 90_000.0]);
    // Both servers' second steps and all that follow.
    bench.void = (first_step + 2..first_step + 100).collect();
    bench.void_reason = VoidReason::ScheduleMissed;
    let out = run(&ramp(4), &subjects(&servers), &mut bench).unwrap();
    let steps = bench.requests.iter().filter(|r| r.purpose == Purpose::Ramp).count();
    assert_eq!(steps, 2 + 2 * 3, "the first of each, and the second of each three times");
    let ends = "its ramp ends below 50 Mbit/s";
    assert_eq!(out.warnings.iter().filter(|words| words.contains(ends)).count(), 2);
    // Void trials for the machine's fault do not end the ramp.
    let mut bench = imagined(&[100_000.0, 90_000.0]);
    bench.void = (first_step + 2..first_step + 8).collect();
    let out = run(&ramp(4), &subjects(&servers), &mut bench).unwrap();
    let steps = bench.requests.iter().filter(|r| r.purpose == Purpose::Ramp).count();
    assert_eq!((steps, out.warnings.len()), (2 + 2 * 3 + 4, 0));
}
