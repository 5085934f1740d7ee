//! Time that a run takes with its servers: forecast before the run, shown during it, and kept.
//!
//! The forecast is a rehearsal: the runner itself goes through the whole plan with simulated
//! servers of typical speed. So the time contains every search step, point, profile and start of a
//! server. The time that a trial takes in addition to that of its load was measured.

use std::collections::BTreeMap;

use measure::Plan;
use measure::plan::ServerFeature;
use measure::record::{ExchangeCounts, LoadRecord, Purpose, TrialRecord};

use super::run_stages;
use crate::driver::DnsServer;
use crate::driver::perfdhcp;
use crate::error::LabResult;
use crate::profiler::Perf;
use crate::subject::{MeasurementSubject, SubjectKind};
use crate::subject_id::{PerSubject, SubjectId};
use crate::terms::MeasurementTerms;
use crate::trial::{RunStage, TrialEnd, TrialRequest, TrialRunner, quiet_s};

/// Factor by which a run may exceed its forecast before searches are hurried and rounds left out,
/// so that it ends within a tenth of the announced time.
const SLACK: f64 = 1.07;
/// Factor of the announced time of a run over that of its rehearsal, which had no void trial and no
/// lost second.
const MARGIN: f64 = 1.03;
/// Additional time of a run, as a share, on a machine whose processors other programs use all the
/// time: there many trials are void and are repeated.
const VOID_SHARE: f64 = 0.6;
/// Time that a run takes to set up the networks, and to write the summary and the page, in seconds.
const SET_UP_S: f64 = 0.7;
/// Time that a trial takes in addition to that of its load, in seconds: starting and ending its
/// generator.
const TRIAL_S: f64 = 0.18;
/// Time until a server answers after its start, in seconds, if its configuration is small.
const START_S: f64 = 0.7;
/// Time from the start of a database server until it runs, in seconds.
const DATABASE_S: f64 = 6.0;
/// Time that a server takes to end in order, in seconds.
const END_S: f64 = 0.3;
/// Number of leases looked up per second in a server's store, after it has ended.
const VERIFIED_PER_S: f64 = 220_000.0;
/// Time that perf takes to attach to a server and to look up functions, in seconds.
const PROFILE_S: f64 = 2.0;
/// Time that a database takes to end and to start again, in seconds.
const RESTART_S: f64 = 5.0;
/// Number of confirming trials that miss near the highest rate, for each one that is met.
const MISSED_CONFIRMATIONS: f64 = 1.0;
/// Share of missed confirming trials that lose exchanges, for which the generator waits at the end;
/// the others miss because exchanges are queued too long.
const LOSSY_CONFIRMATIONS: f64 = 0.5;
/// Time that a trial with losses waits beyond the silence that ends it, in seconds.
const QUIET_S: f64 = 0.1;
/// Longest time after the deadline for which a generator waits for late answers, in seconds.
const LATE_S: f64 = 1.0;

/// Forecast of the time that a run takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTime {
    /// Time of the run from the first step to the page, in seconds, as announced to the user.
    pub announced_s: f64,
    /// Number of rounds that fit in the time of the run.
    pub rounds: u32,
    /// Time that all rounds of the plan would take, in seconds.
    pub whole_s: f64,
    /// Limit of the run's time that the user or the plan has set, in seconds; 0 for none.
    limit_s: f64,
    /// Time at which each stage of the run (start, round, load curve, …) ends, in seconds since the
    /// run began.
    ends_s: BTreeMap<RunStage, f64>,
}

impl RunTime {
    /// Forecasts the time of `plan` with the servers `subjects` on a machine without other load.
    pub fn for_idle_machine(plan: &Plan, subjects: &[MeasurementSubject]) -> Self {
        Self::for_loaded_machine(0.0, plan, subjects)
    }

    /// Forecasts the time of `plan` with the servers `subjects` next to other programs that use the
    /// share `others` of the processors. If the plan's budget is too short for all rounds, the
    /// forecast has as many as fit, and one at least.
    pub fn for_loaded_machine(others: f64, plan: &Plan, subjects: &[MeasurementSubject]) -> Self {
        let rounds = plan.rounds();
        let slower = 1.0 + others * VOID_SHARE;
        let forecast = |rounds: u32| Self::forecast(plan, subjects, rounds).scaled(slower);
        let whole = forecast(rounds);
        let (whole_s, limit_s) = (whole.announced_s, plan.time_budget_s);
        let fits = |time: &Self| limit_s <= 0.0 || time.announced_s <= limit_s;
        let mut time = whole;
        while !fits(&time) && time.rounds > 1 {
            time = forecast(time.rounds - 1);
        }
        if !fits(&time) {
            time.announced_s = limit_s;
        }
        Self { whole_s, limit_s, ..time }
    }

    fn forecast(plan: &Plan, subjects: &[MeasurementSubject], rounds: u32) -> Self {
        let mut rehearsal = Rehearsal::new(plan, subjects);
        let time = Self { rounds, limit_s: f64::INFINITY, ..Self::default() };
        // The bench of a rehearsal refuses nothing.
        let _ = run_stages(plan, subjects, &time, &mut rehearsal);
        let trials_s = rehearsal.elapsed_s * MARGIN;
        let end_s = rehearsal.end_s();
        Self {
            announced_s: trials_s + end_s,
            rounds,
            whole_s: trials_s + end_s,
            limit_s: 0.0,
            ends_s: rehearsal.ends_s.into_iter().map(|(stage, s)| (stage, s * MARGIN)).collect(),
        }
    }

    /// Scales the forecast to a machine on which everything takes `factor` times as long.
    fn scaled(self, factor: f64) -> Self {
        let ends_s = self.ends_s.into_iter().map(|(stage, s)| (stage, s * factor));
        Self {
            announced_s: self.announced_s * factor,
            whole_s: self.whole_s * factor,
            ends_s: ends_s.collect(),
            ..self
        }
    }

    /// Returns the time at which the last trial is to end, in seconds since the run began, when its
    /// servers ran after `started_s` and the run will take `end_s` after that trial.
    pub(super) fn trials_until_s(&self, started_s: f64, end_s: f64) -> f64 {
        if self.limit_s > 0.0 {
            // Short budgets are for tests, and have no room for the work after the trials.
            return self.limit_s - end_s.min(self.limit_s * 0.1);
        }
        let forecast_s = self.announced_s - self.at(RunStage::Started);
        started_s + forecast_s * SLACK - end_s
    }

    /// Returns the share of the time of all rounds that the first one may take.
    pub(super) fn first_round_share(&self) -> f64 {
        let (first_s, last_s) = (self.at(RunStage::Round(0)), self.at(self.last_round()));
        let share = if last_s > 0.0 { first_s / last_s * SLACK } else { 0.0 };
        share.clamp(super::FIRST_ROUND_SHARE, 1.0)
    }

    /// Returns the time at which the last round is to end, in seconds since the run began; `None`
    /// if a time limit divides the time.
    pub(super) fn rounds_until_s(&self, started_s: f64) -> Option<f64> {
        let forecast_s = self.at(self.last_round()) - self.at(RunStage::Started);
        (self.limit_s <= 0.0).then_some(started_s + forecast_s * SLACK)
    }

    /// Returns the time until which blocks (trials at a fixed rate) may fill the time of rounds
    /// that began at `began_s`, in seconds since the run began; `None` if a time limit divides the
    /// time.
    pub(super) fn blocks_until_s(&self, began_s: f64) -> Option<f64> {
        let forecast_s = self.at(self.last_round()) - self.at(RunStage::Started);
        (self.limit_s <= 0.0).then_some(began_s + forecast_s)
    }

    /// Returns the stage of the run (part of its forecast time) that is its last round.
    pub(super) const fn last_round(&self) -> RunStage {
        RunStage::Round(self.rounds.saturating_sub(1))
    }

    fn at(&self, stage: RunStage) -> f64 {
        self.ends_s.get(&stage).copied().unwrap_or(0.0)
    }

    /// Returns the forecast seconds of the run that are left at the end of `stage`.
    pub fn remaining_after_s(&self, stage: RunStage) -> f64 {
        self.announced_s - self.ends_s.get(&stage).copied().unwrap_or(self.announced_s)
    }

    /// Returns the sentence about the run's time that the user reads before the run.
    pub fn words(&self, subjects: &[MeasurementSubject]) -> String {
        let labels: Vec<String> = subjects.iter().map(MeasurementSubject::label).collect();
        let most = if self.limit_s > self.announced_s {
            format!(", {} at most", duration(self.limit_s))
        } else {
            String::new()
        };
        let lines = match labels.len() {
            1 => "1 configuration".to_owned(),
            count => format!("{count} configurations"),
        };
        format!("about {}{most}, for {lines}: {}", duration(self.announced_s), labels.join(", "))
    }

    /// Returns a sentence about rounds of `plan` that do not fit in the time budget; `None` when
    /// all fit.
    #[must_use]
    pub fn shortage(&self, plan: &Plan) -> Option<String> {
        let (rounds, all) = (self.rounds, plan.rounds());
        let what = if plan.has_runs() { "runs" } else { "rounds" };
        (rounds < all).then(|| {
            format!(
                "The time budget of {:.0} s has room for {rounds} of {all} {what}; \
                 --time-budget {:.0} has room for all.",
                self.limit_s,
                self.whole_s.ceil()
            )
        })
    }
}

/// Returns the seconds that a run takes after its last trial: to end its servers, to look for the
/// leases of their clients, and to write the page.
pub(super) fn end_s(servers: usize, leases: u64) -> f64 {
    END_S * servers as f64 + leases as f64 / VERIFIED_PER_S + SET_UP_S
}

/// Formats a length of time: `50 s`, `2 min 45 s`, `1 h 20 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..100 => format!("{whole} s"),
        100..6_000 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        100..6_000 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
    }
}

/// Rehearsal of a run for its forecast: simulated servers have typical speed, and trials take no
/// real time.
struct Rehearsal<'a> {
    plan: &'a Plan,
    subjects: PerSubject<&'a MeasurementSubject>,
    elapsed_s: f64,
    can_profile: bool,
    ends_s: BTreeMap<RunStage, f64>,
    /// Number of exchanges completed by each simulated server since its last start.
    completed: PerSubject<u64>,
}

impl<'a> Rehearsal<'a> {
    fn new(plan: &'a Plan, subjects: &'a [MeasurementSubject]) -> Self {
        let start_s: f64 = subjects.iter().map(start_s).sum();
        let mut databases: Vec<_> = subjects.iter().map(|subject| subject.store).collect();
        databases.sort_unstable_by_key(|store| store.name());
        databases.dedup();
        let databases = databases.iter().filter(|&&store| crate::driver::engine(store).is_some());
        Self {
            plan,
            subjects: subjects.iter().collect(),
            elapsed_s: SET_UP_S + start_s + databases.count() as f64 * DATABASE_S,
            can_profile: !plan.profile.fractions.is_empty() && Perf::find().is_ok(),
            ends_s: BTreeMap::new(),
            completed: subjects.iter().map(|_| 0).collect(),
        }
    }

    /// Returns the seconds to end all servers and to look for their leases.
    fn end_s(&self) -> f64 {
        let leases = self.subjects.ids().map(|subject| self.leases(subject));
        end_s(self.subjects.len(), leases.sum())
    }

    /// Returns the number of leases that clients got from the simulated server `subject` since its
    /// last start.
    fn leases(&self, subject: SubjectId) -> u64 {
        let is_dhcp = self.plan.protocol.is_dhcp() && !self.subjects[subject].is_limit();
        if is_dhcp { self.completed[subject] } else { 0 }
    }

    fn server_end_s(&self, subject: SubjectId) -> f64 {
        END_S + self.leases(subject) as f64 / VERIFIED_PER_S
    }

    /// Returns the seconds that a trial takes beyond those of its load; more if exchanges are lost
    /// (`is_lossy`).
    fn overhead_s(&self, request: &TrialRequest, is_lossy: bool) -> f64 {
        let search = &self.plan.search;
        let whole_s = search.deadline_s + search.deadline_s.min(LATE_S);
        let wait_s = match quiet_s(search, request.purpose) {
            Some(quiet_s) => whole_s.min(quiet_s + QUIET_S),
            None if request.purpose == Purpose::Search => search.deadline_s,
            None => whole_s,
        };
        let drain_s = if is_lossy { wait_s } else { 0.0 };
        let more_s = match request.purpose {
            Purpose::Avalanche => request.dwell_s,
            Purpose::Confirm => {
                MISSED_CONFIRMATIONS * (request.dwell_s + LOSSY_CONFIRMATIONS * wait_s + TRIAL_S)
            }
            Purpose::Profile => PROFILE_S,
            Purpose::Exhaustion => start_s(self.subjects[request.subject]) + END_S,
            purpose if purpose.ends_database() => RESTART_S,
            _ => 0.0,
        };
        TRIAL_S + drain_s + more_s
    }
}

impl TrialRunner for Rehearsal<'_> {
    fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }

    fn start_anew(&mut self, subjects: &[SubjectId]) -> LabResult<()> {
        for &subject in subjects {
            self.elapsed_s += self.server_end_s(subject) + start_s(self.subjects[subject]);
            self.completed[subject] = 0;
        }
        Ok(())
    }

    fn can_profile(&self) -> bool {
        self.can_profile
    }

    fn record_stage_end(&mut self, stage: RunStage) {
        self.ends_s.insert(stage, self.elapsed_s);
    }

    fn trial(&mut self, request: &TrialRequest) -> LabResult<TrialEnd> {
        let subject = self.subjects[request.subject];
        let terms = MeasurementTerms::for_subject(subject, self.plan);
        let mut dwell_s = terms.dwell_s(self.plan, request.rate_per_s, request.dwell_s);
        if subject.feature == ServerFeature::Perfdhcp {
            dwell_s = perfdhcp::dwell_s(dwell_s);
        }
        let due = (request.rate_per_s * dwell_s).ceil() as u64;
        let able = (typical_per_s(subject) * dwell_s) as u64;
        // Real servers are abrupt: a rate slightly too high makes a queue that grows.
        let is_lossy = request.rate_per_s > typical_per_s(subject);
        let on_time = if is_lossy { able.min(due * 9 / 10) } else { due };
        let start_s = self.elapsed_s;
        self.elapsed_s += dwell_s + self.overhead_s(request, is_lossy);
        self.completed[request.subject] += on_time;
        let exchanges =
            ExchangeCounts { due, sent: due, on_time, lost: due - on_time, ..Default::default() };
        let load = LoadRecord {
            duration_s: dwell_s,
            completed_per_s: on_time as f64 / dwell_s,
            exchanges,
            ..LoadRecord::default()
        };
        Ok(TrialEnd::Trial(Box::new(TrialRecord {
            number: request.number,
            purpose: request.purpose,
            round: request.round,
            rate_per_s: request.rate_per_s,
            start_s,
            end_s: self.elapsed_s,
            load: Some(load),
            ..TrialRecord::default()
        })))
    }
}

/// Returns the typical highest rate of the server `subject` on a small machine, in exchanges per
/// second. An error of a factor of two changes the time of a search by one trial.
fn typical_per_s(subject: &MeasurementSubject) -> f64 {
    match &subject.kind {
        SubjectKind::Godwit(_) if subject.store.is_database() => 3_000.0,
        SubjectKind::Godwit(_) => 20_000.0,
        SubjectKind::Kea { .. } if subject.store.is_database() => 300.0,
        SubjectKind::Kea { .. } => 3_000.0,
        SubjectKind::IscDhcpd => 1_000.0,
        SubjectKind::Dnsmasq => 300.0,
        SubjectKind::Dns(DnsServer::Bind) => 30_000.0,
        SubjectKind::Dns(_) => 60_000.0,
        SubjectKind::Command(_) | SubjectKind::Running(_) => 10_000.0,
        SubjectKind::Limit => 60_000.0,
    }
}

/// Returns the typical seconds until the server `subject` answers after its start.
fn start_s(subject: &MeasurementSubject) -> f64 {
    let is_kea = matches!(subject.kind, SubjectKind::Kea { .. });
    let large_s = match subject.feature {
        ServerFeature::MillionLeases if is_kea => 12.0,
        ServerFeature::MillionLeases => 1.0,
        ServerFeature::TenMillionLeases => 8.0,
        ServerFeature::ManySubnets
        | ServerFeature::PolledSubnets
        | ServerFeature::SharedNetworks => 1.5,
        feature if feature.has_reservations() => 6.0,
        _ => 0.0,
    };
    match subject.kind {
        SubjectKind::Limit | SubjectKind::Running(_) => 0.1,
        _ => START_S + large_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::{SHIPPED, SUITES, load};
    use crate::runner::{Outcomes, run};
    use crate::subject::subjects;
    use crate::suite::part_plan;

    /// Simulated machine that is faster or slower than the typical one of the forecast.
    struct Other<'a> {
        typical: Rehearsal<'a>,
        /// Ratio of the servers' highest rates on this machine over the typical ones.
        speed: f64,
        /// Time that a trial takes on this machine in addition to the typical time, in seconds.
        more_s: f64,
    }

    impl TrialRunner for Other<'_> {
        fn elapsed_s(&self) -> f64 {
            self.typical.elapsed_s()
        }

        fn start_anew(&mut self, subjects: &[SubjectId]) -> LabResult<()> {
            self.typical.start_anew(subjects)
        }

        fn can_profile(&self) -> bool {
            self.typical.can_profile()
        }

        fn record_stage_end(&mut self, stage: RunStage) {
            self.typical.record_stage_end(stage);
        }

        fn trial(&mut self, request: &TrialRequest) -> LabResult<TrialEnd> {
            self.typical.elapsed_s += self.more_s;
            let faster_request =
                TrialRequest { rate_per_s: request.rate_per_s / self.speed, ..*request };
            Ok(match self.typical.trial(&faster_request)? {
                TrialEnd::Trial(trial) => TrialEnd::Trial(Box::new(TrialRecord {
                    rate_per_s: request.rate_per_s,
                    ..*trial
                })),
                ended @ TrialEnd::ServerEnded(_) => ended,
            })
        }
    }

    /// Runs `plan` on a simulated machine whose servers have `speed` times the typical rates;
    /// returns the outcomes, and the seconds in all.
    fn elsewhere(
        plan: &Plan,
        lines: &[MeasurementSubject],
        speed: f64,
        more_s: f64,
    ) -> (Outcomes, f64) {
        let mut bench = Other { typical: Rehearsal::new(plan, lines), speed, more_s };
        let outcomes =
            run(plan, lines, &RunTime::for_idle_machine(plan, lines), &mut bench).unwrap();
        (outcomes, bench.typical.elapsed_s + bench.typical.end_s())
    }

    /// Asserts that runs of `plan` take the announced time on slower and faster machines, and have
    /// all rounds.
    fn assert_in_time(plan: &Plan, lines: &[MeasurementSubject]) {
        let announced_s = RunTime::for_idle_machine(plan, lines).announced_s;
        for (speed, more_s) in [(1.0, 0.0), (0.7, 0.03), (1.4, 0.03), (1.0, 0.03)] {
            let (outcomes, took_s) = elsewhere(plan, lines, speed, more_s);
            let name = &plan.name;
            let share = took_s / announced_s;
            assert_eq!(outcomes.warnings, Vec::<String>::new(), "{name}, {speed}");
            assert_eq!(outcomes.finished_rounds, plan.rounds(), "{name}, {speed}");
            // In a single round a search that is two steps shorter matters much; it is never late.
            let least = if plan.rounds() > 1 { 0.9 } else { 0.84 };
            assert!((least..1.1).contains(&share), "{name}, {speed}: {took_s} of {announced_s} s");
        }
    }

    #[test]
    fn every_shipped_plan_keeps_to_the_time_that_is_announced_with_all_its_rounds() {
        for (name, text) in SHIPPED {
            let plan = Plan::parse(name, text).unwrap();
            let servers = if plan.servers == ["installed"] { &["bind", "knot"][..] } else { &[] };
            let servers: Vec<String> = servers.iter().map(|&name| name.to_owned()).collect();
            let servers = if servers.is_empty() { &plan.servers } else { &servers };
            assert_in_time(&plan, &subjects(&plan, servers, None).unwrap());
        }
    }

    #[test]
    fn quick_plans_have_whole_rounds_beside_kea_in_three_minutes() {
        for name in ["dhcp4-quick", "dhcp6-quick"] {
            let plan = load(name).unwrap();
            for servers in [&["godwit"][..], &["godwit", "kea"]] {
                let servers: Vec<String> = servers.iter().map(|&name| name.to_owned()).collect();
                let lines = subjects(&plan, &servers, None).unwrap();
                assert_in_time(&plan, &lines);
                let announced_s = RunTime::for_idle_machine(&plan, &lines).announced_s;
                assert!(announced_s < 60.0 * (servers.len() as f64 + 1.0), "{announced_s}");
            }
        }
    }

    #[test]
    fn parts_of_quick_suites_have_time_for_their_rounds() {
        for (name, text) in SUITES {
            for part in &measure::suite::Suite::parse(name, text).unwrap().parts {
                let Ok(plan) = part_plan(part, true) else { panic!("{}", part.plan) };
                if !part.has_quick_run() || plan.time_budget_s > 0.0 {
                    continue;
                }
                let lines = subjects(&plan, &plan.servers, None).unwrap();
                assert_in_time(&plan, &lines);
            }
        }
    }

    #[test]
    fn a_budget_has_as_many_rounds_as_fit_and_says_so_before() {
        let mut plan = load("dhcp4-quick").unwrap();
        let lines = subjects(&plan, &["godwit".to_owned()], None).unwrap();
        let whole = RunTime::for_idle_machine(&plan, &lines);
        assert_eq!((whole.rounds, whole.shortage(&plan)), (3, None));
        plan.time_budget_s = whole.announced_s - 1.0;
        let short = RunTime::for_idle_machine(&plan, &lines);
        assert_eq!(short.rounds, 2);
        assert!(short.announced_s < plan.time_budget_s);
        let shortage = short.shortage(&plan).unwrap();
        assert!(shortage.contains("room for 2 of 3 rounds; --time-budget "), "{shortage}");
        let (outcomes, took_s) = elsewhere(&plan, &lines, 1.0, 0.0);
        assert_eq!((outcomes.finished_rounds, outcomes.warnings), (2, vec![shortage]));
        assert!(took_s <= plan.time_budget_s * 1.1, "{took_s}");
        plan.time_budget_s = 1e4;
        let long = RunTime::for_idle_machine(&plan, &lines);
        assert!(
            long.words(&lines).contains("h 46 min at most, for 3 configurations: "),
            "{long:?}"
        );
        plan.time_budget_s = 5.0;
        assert_eq!(RunTime::for_idle_machine(&plan, &lines).announced_s, 5.0);
        plan.time_budget_s = 0.0;
        let busy = RunTime::for_loaded_machine(0.5, &plan, &lines);
        let share = busy.announced_s / whole.announced_s;
        assert!((share - 1.3).abs() < 1e-9, "{share}");
    }

    #[test]
    fn the_time_left_falls_from_stage_to_stage() {
        let plan = load("dns-ramp").unwrap();
        let lines = subjects(&plan, &["bind".to_owned()], None).unwrap();
        let time = RunTime::for_idle_machine(&plan, &lines);
        let last = RunStage::Round(plan.rounds() - 1);
        let stages =
            [RunStage::Started, RunStage::Round(0), last, RunStage::Ramp, RunStage::Trials];
        let remaining_s: Vec<f64> =
            stages.iter().map(|&stage| time.remaining_after_s(stage)).collect();
        assert!(remaining_s.is_sorted_by(|a, b| a >= b), "{remaining_s:?}");
        assert!(remaining_s[0] < time.announced_s && remaining_s[4] > 0.0, "{remaining_s:?}");
    }

    #[test]
    fn durations_have_units_that_fit() {
        let texts = [0.4, 99.0, 120.0, 165.0, 9_000.0].map(duration);
        assert_eq!(texts, ["0 s", "99 s", "2 min", "2 min 45 s", "2 h 30 min"]);
    }
}
