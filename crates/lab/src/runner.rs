//! Runner of trials: it chooses the server or responder (subject) of the next trial, the trial's
//! rate and length, and the end of the run. The runner knows no process and no clock; a
//! [`TrialRunner`] runs the trials and reports the time.
//!
//! Every round finds each subject's highest rate once, with the searches interleaved trial by trial
//! (A B B A), then loads each subject in turn at a fixed rate near its highest. After the rounds
//! come the points of the load curve, the steps of the ramp and the profiles. Of several variants
//! of a server only the best continues after the first round. When time runs short, searches are
//! hurried, then rounds and points are left out.
//!
//! A plan with runs makes every round a measurement of its own, from the beginning. Rather than
//! hurry one, the runner leaves out later ones: few whole runs are worth more than many broken
//! ones.

mod blocks;
mod exhaustion;
pub mod time;

use measure::Plan;
use measure::plan::mbit_per_s;
use measure::record::{Purpose, SearchEnd, TrialRecord};
use measure::search::{Search, SearchStep, TrialOutcome};

use crate::error::{LabError, LabResult};
use crate::subject::MeasurementSubject;
use crate::subject_id::{PerSubject, SubjectId};
use crate::terms::MeasurementTerms;
use crate::trial::{RunStage, TrialEnd, TrialRequest, TrialRunner};
pub use time::RunTime;

/// Share of a server's highest rate at which its blocks, trials at a fixed rate, run: near the
/// highest, and still likely to be met when the machine drifts.
const PAIR_SHARE: f64 = 0.9;
/// Share of the run's time that the first round may take when more rounds are to follow.
const FIRST_ROUND_SHARE: f64 = 0.6;
/// Share of the slowest server's highest rate at which servers are compared at an equal rate.
const SAME_RATE_SHARE: f64 = 0.5;
/// Largest share of the run's time that is kept for the load curve.
const CURVE_SHARE: f64 = 0.25;
/// Largest share of the run's time that is kept for the load curve in plans with a ramp or with
/// overload, whose purpose is the curve.
const RAMP_SHARE: f64 = 0.7;
/// Share of the time of the first round that must be left for a later round to begin: a later round
/// starts near the rate found before, and hurrying makes up for the missing time.
const LATER_ROUND_SHARE: f64 = 0.35;
/// Factor of the expected time that clients need who come all at once, over the time that as many
/// need at the highest rate.
const AVALANCHE_SHARE: f64 = 2.0;
/// Time that a trial takes in addition to that of its load, in seconds, as long as no finished
/// trial has shown it.
const OVERHEAD_S: f64 = 0.4;
/// Time that a profiled trial lasts beyond its samples, in seconds: the generator reaches its rate
/// before them.
const PROFILE_MARGIN_S: f64 = 1.0;
/// Time that a profiled trial takes in addition to that of its load, in seconds, to attach perf to
/// the server and to look up functions.
const PROFILE_OVERHEAD_S: f64 = 2.0;
/// Largest share of the run's time that is kept for profiles.
const PROFILE_SHARE: f64 = 0.3;

/// Time that a restart trial takes in addition to that of its load, in seconds, to end and to start
/// the database server.
const RESTART_OVERHEAD_S: f64 = 5.0;
/// Largest share of the run's time that is kept for trials with restarts of databases.
const RESTART_SHARE: f64 = 0.6;

/// Outcomes of a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Records of the trials, in the order of the run.
    pub trials: Vec<TrialRecord>,
    /// Ends of all searches that were not cut short, in the order of the run.
    pub searches: Vec<SearchEnd>,
    /// Number of rounds that the run finished.
    pub finished_rounds: u32,
    /// True if the user ended the run after at least one whole round.
    pub is_interrupted: bool,
    /// Warnings for the reader of the report: hurried searches, rounds and points left out.
    pub warnings: Vec<String>,
    /// Descriptions of servers that ended by themselves, one sentence each.
    pub ended_servers: Vec<String>,
}

/// Runs `plan` on `subjects` within `time`. An interrupt after a whole round ends the run with the
/// results so far.
///
/// # Errors
/// Fails with an error of `bench`, which runs the trials; the error ends the run.
pub fn run(
    plan: &Plan,
    subjects: &[MeasurementSubject],
    time: &RunTime,
    bench: &mut dyn TrialRunner,
) -> LabResult<Outcomes> {
    let mut outcomes = run_stages(plan, subjects, time, bench)?;
    outcomes.warnings.splice(0..0, time.shortage(plan));
    Ok(outcomes)
}

fn run_stages(
    plan: &Plan,
    subjects: &[MeasurementSubject],
    time: &RunTime,
    bench: &mut dyn TrialRunner,
) -> LabResult<Outcomes> {
    let started_s = bench.elapsed_s();
    bench.record_stage_end(RunStage::Started);
    let subjects: PerSubject<&MeasurementSubject> = subjects.iter().collect();
    let mut execution = RunExecution {
        plan,
        bench,
        time,
        started_s,
        leases: 0,
        active: subjects.ids().collect(),
        rates: subjects.iter().map(|_| None).collect(),
        subjects,
        out: Outcomes::default(),
        turn: 0,
    };
    match execution.run_all() {
        Err(LabError::Interrupted) if execution.out.finished_rounds > 0 => {
            execution.out.is_interrupted = true
        }
        done => done?,
    }
    Ok(execution.out)
}

struct RunExecution<'a> {
    plan: &'a Plan,
    subjects: PerSubject<&'a MeasurementSubject>,
    bench: &'a mut dyn TrialRunner,
    time: &'a RunTime,
    /// Time at which all servers had started, in seconds since the run began.
    started_s: f64,
    /// Number of leases that clients got from the servers that run.
    leases: u64,
    /// Subjects (servers in their variants, and the limit responder) that are still measured.
    active: Vec<SubjectId>,
    /// Last confirmed rate of each subject (server, variant or limit responder), in exchanges per
    /// second.
    rates: PerSubject<Option<f64>>,
    out: Outcomes,
    /// Number of turns taken so far, each a trial of every subject; turns alternate in direction.
    turn: u32,
}

impl RunExecution<'_> {
    fn run_all(&mut self) -> LabResult<()> {
        self.rounds()?;
        // Rounds that were left out count as finished, too.
        self.bench.record_stage_end(self.time.last_round());
        self.curve()?;
        self.avalanche()?;
        self.bench.record_stage_end(RunStage::Curve);
        self.ramp()?;
        self.bench.record_stage_end(RunStage::Ramp);
        self.profiles()?;
        self.bench.record_stage_end(RunStage::Profiles);
        self.restarts()?;
        self.bench.record_stage_end(RunStage::Restarts);
        self.exhaustions()?;
        self.bench.record_stage_end(RunStage::Trials);
        Ok(())
    }

    /// Returns the time at which the last trial is to end, in seconds since the run began. The more
    /// leases clients got, the longer the run will look for them after it.
    fn budget_s(&self) -> f64 {
        let end_s = time::end_s(self.subjects.len(), self.leases);
        self.time.trials_until_s(self.started_s, end_s)
    }

    /// Returns the number of leases that clients got from the server `subject` in `trial`.
    fn leases_of(&self, trial: &TrialRecord, subject: SubjectId) -> u64 {
        let exchanges = trial.load.as_ref().map(|load| load.exchanges).unwrap_or_default();
        let is_dhcp = self.plan.protocol.is_dhcp() && !self.subjects[subject].is_limit();
        if is_dhcp { exchanges.on_time + exchanges.late } else { 0 }
    }

    fn rounds(&mut self) -> LabResult<()> {
        let began_s = self.bench.elapsed_s();
        let rounds = self.time.rounds;
        let has_ramp = !self.plan.ramp.rates().is_empty();
        let has_overload = self.plan.curve.fractions.iter().any(|&fraction| fraction > 1.0);
        let share = if has_ramp || has_overload { RAMP_SHARE } else { CURVE_SHARE };
        let measuring_s = self.measuring_s();
        let curve_s = self.curve_s().min(measuring_s * share);
        let until_s = self.time.rounds_until_s(began_s).unwrap_or(measuring_s - curve_s);
        let mut needed_s = 0.0_f64;
        for round in 0..rounds {
            let began_s = self.bench.elapsed_s();
            if round > 0 && began_s + needed_s > until_s {
                self.out.warnings.push(if self.plan.has_runs() {
                    "Time ran short: later runs were left out; a longer --time-budget has room for \
                     more."
                        .to_owned()
                } else {
                    format!(
                        "Time ran short: {round} of {rounds} rounds were run; a longer \
                         --time-budget has room for more."
                    )
                });
                break;
            }
            let is_first_of_many = round == 0 && rounds > 1 && !self.plan.has_runs();
            let share = if is_first_of_many { self.time.first_round_share() } else { 1.0 };
            let subjects = self.active.len();
            if round > 0 && self.plan.has_runs() {
                self.bench.start_anew(&self.active)?;
                self.leases = 0;
            }
            self.search_round(round, until_s * share)?;
            if round == 0 {
                self.keep_best_variants();
            }
            self.pair_blocks(round)?;
            self.out.finished_rounds += 1;
            self.bench.record_stage_end(RunStage::Round(round));
            if self.active.is_empty() {
                break;
            }
            let took_s = self.bench.elapsed_s() - began_s;
            needed_s = needed_s.max(took_s * self.share_of_next(subjects));
        }
        self.more_blocks(began_s)
    }

    /// Returns the share of the last round's time that the next round needs, with `subjects` still
    /// measured.
    fn share_of_next(&self, subjects: usize) -> f64 {
        if self.plan.has_runs() {
            self.active.len() as f64 / subjects as f64
        } else {
            LATER_ROUND_SHARE
        }
    }

    /// Searches the highest rate of each subject (server, variant, limit responder) once, a trial
    /// of each in turn, until all searches are done.
    fn search_round(&mut self, round: u32, until_s: f64) -> LabResult<()> {
        let mut searches: PerSubject<Option<Search>> = self.subjects.iter().map(|_| None).collect();
        for &subject in &self.active {
            searches[subject] = Some(match self.rates[subject] {
                Some(rate) if !self.plan.has_runs() => Search::near(&self.plan.search, rate),
                _ => {
                    let terms = MeasurementTerms::for_subject(self.subjects[subject], self.plan);
                    Search::new(&self.plan.round_search(round, &terms.search(&self.plan.search)))
                }
            });
        }
        let mut hurried = 0;
        loop {
            let mut is_any_probed = false;
            for subject in self.next_turn() {
                // Hurried once, a search confirms its rate; hurried again, it ends without.
                let (elapsed_s, limits_s) = (self.bench.elapsed_s(), [until_s, self.budget_s()]);
                if limits_s.get(hurried).is_some_and(|&limit_s| elapsed_s > limit_s) {
                    hurried += 1;
                    self.hurry(&mut searches, round);
                }
                let Some(search) = &mut searches[subject] else { continue };
                let SearchStep::Probe(probe) = search.next_step() else { continue };
                is_any_probed = true;
                let (purpose, dwell_s) = (probe.purpose, probe.dwell_s);
                match self.trial(subject, purpose, round, probe.rate_per_s, dwell_s)? {
                    Some(outcome) => {
                        let trial = self.out.trials.last().expect("the trial was noted");
                        search.report_completed(outcome, trial.achieved_per_s());
                    }
                    None => searches[subject] = None,
                }
            }
            if !is_any_probed {
                break;
            }
        }
        for subject in searches.ids() {
            let search = searches[subject].as_ref();
            let Some(result) = search.and_then(Search::result) else { continue };
            self.rates[subject] = result.rate_per_s.or(self.rates[subject]);
            self.out.searches.push(SearchEnd {
                server: self.subjects[subject].server.clone(),
                variant: self.subjects[subject].variant.clone(),
                round,
                rate_per_s: result.rate_per_s,
                stop: result.stop,
            });
        }
        Ok(())
    }

    fn hurry(&mut self, searches: &mut PerSubject<Option<Search>>, round: u32) {
        let mut names = Vec::new();
        for (subject, search) in searches.ids().zip(searches.iter_mut()) {
            let Some(search) = search.as_mut().filter(|s| s.result().is_none()) else { continue };
            search.hurry();
            names.push(self.subjects[subject].label());
        }
        if !names.is_empty() {
            self.out.warnings.push(format!(
                "Time ran short in round {}: shorter searches for {}.",
                round + 1,
                names.join(", ")
            ));
        }
    }

    /// Keeps, of the variants of each server (ways to run it, such as multi-threaded), only the one
    /// with the highest rate.
    fn keep_best_variants(&mut self) {
        let (subjects, rates) = (&self.subjects, &self.rates);
        let rate = |subject: SubjectId| rates[subject].unwrap_or(0.0);
        let all = self.active.clone();
        self.active.retain(|&subject| {
            let is_better = |&other: &SubjectId| {
                subjects[other].server == subjects[subject].server
                    && (rate(other), subject) > (rate(subject), other)
            };
            !all.iter().filter(|&&other| other != subject).any(is_better)
        });
    }

    fn curve(&mut self) -> LabResult<()> {
        let curve = &self.plan.curve;
        let mut left_out = self.same_rate()?;
        for &fraction in &curve.fractions {
            let point_s = self.point_s(fraction);
            for subject in self.next_turn() {
                let Some(rate) = self.rates[subject] else { continue };
                if self.bench.elapsed_s() + point_s + self.overhead_s() > self.measuring_s() {
                    left_out += 1;
                    continue;
                }
                let rate = (rate * fraction).min(self.plan.search.max_per_s);
                self.trial(subject, Purpose::Curve, 0, rate, curve.dwell_s)?;
            }
        }
        if left_out == 1 {
            let warning = "Time ran short: a point of a load curve was left out.";
            self.out.warnings.push(warning.to_owned());
        } else {
            self.warn_left_out(left_out, "points of load curves");
        }
        Ok(())
    }

    /// Adds the warning that `count` trials, such as steps of ramps, did not fit in the time.
    fn warn_left_out(&mut self, count: u32, trials: &str) {
        if count > 0 {
            self.out.warnings.push(format!("Time ran short: {count} {trials} were left out."));
        }
    }

    /// Runs a trial of each server at half of the highest rate of the slowest server; returns the
    /// number of trials left out.
    fn same_rate(&mut self) -> LabResult<u32> {
        let servers = self.active.iter().filter(|&&subject| !self.subjects[subject].is_limit());
        let slowest = servers.filter_map(|&subject| self.rates[subject]).reduce(f64::min);
        let (Some(slowest), true) = (slowest, self.plan.curve.same_rate) else { return Ok(0) };
        let (rate, dwell_s) = (slowest * SAME_RATE_SHARE, self.plan.curve.dwell_s);
        let mut left_out = 0;
        for subject in self.next_turn() {
            if self.subjects[subject].is_limit() || self.rates[subject].is_none() {
                continue;
            }
            if self.bench.elapsed_s() + dwell_s + self.overhead_s() > self.measuring_s() {
                left_out += 1;
                continue;
            }
            self.trial(subject, Purpose::Curve, 0, rate, dwell_s)?;
        }
        Ok(left_out)
    }

    /// Runs an avalanche, all clients at once, for every server.
    fn avalanche(&mut self) -> LabResult<()> {
        let dwell_s = self.plan.curve.avalanche_s;
        for subject in self.next_turn() {
            let Some(rate) = self.rates[subject] else { continue };
            if dwell_s <= 0.0 || self.subjects[subject].is_limit() {
                continue;
            }
            if self.bench.elapsed_s() + dwell_s * AVALANCHE_SHARE > self.measuring_s() {
                let label = self.subjects[subject].label();
                let left_out = format!(
                    "Time ran short: the trial in which all clients begin at once was left out for \
                     {label}."
                );
                self.out.warnings.push(left_out);
                continue;
            }
            self.trial(subject, Purpose::Avalanche, 0, rate, dwell_s)?;
        }
        Ok(())
    }

    /// Runs trials at the rates of the ramp, equal for every server. A server's ramp ends where the
    /// generator cannot offer more: all further trials would be void as well.
    fn ramp(&mut self) -> LabResult<()> {
        let dwell_s = self.plan.ramp.dwell_s;
        let mut climbing = self.active.clone();
        let mut left_out = 0;
        for rate in self.plan.ramp.rates() {
            for subject in self.next_turn() {
                if !climbing.contains(&subject) {
                    continue;
                }
                let needed_s = dwell_s + self.plan.search.deadline_s + self.overhead_s();
                if self.bench.elapsed_s() + needed_s > self.measuring_s() {
                    left_out += 1;
                } else if !self.step(subject, rate, dwell_s)? {
                    climbing.retain(|&other| other != subject);
                    self.out.warnings.push(format!(
                        "{}: its ramp ends below {:.0} Mbit/s, because the generator could not \
                         offer that.",
                        self.subjects[subject].label(),
                        mbit_per_s(rate)
                    ));
                }
            }
        }
        self.warn_left_out(left_out, "steps of ramps");
        Ok(())
    }

    /// Runs the trial of one step of a ramp for `subject`, repeated while it is void; returns false
    /// when the generator is the cause.
    fn step(&mut self, subject: SubjectId, rate: f64, dwell_s: f64) -> LabResult<bool> {
        let mut is_generators = true;
        for _ in 0..=self.plan.search.void_repeats {
            if self.trial(subject, Purpose::Ramp, 0, rate, dwell_s)? != Some(TrialOutcome::Void) {
                return Ok(true);
            }
            let reasons = self.out.trials.last().into_iter().flat_map(|trial| &trial.void);
            is_generators &= reasons.into_iter().any(|reason| reason.is_generator_limit());
        }
        Ok(!is_generators)
    }

    /// Runs trials in which servers are profiled, at shares of each server's highest rate.
    fn profiles(&mut self) -> LabResult<()> {
        let dwell_s = self.plan.profile.seconds + PROFILE_MARGIN_S;
        let mut left_out = 0;
        for &fraction in &self.plan.profile.fractions {
            for subject in self.next_turn() {
                let (Some(rate), true) = (self.rates[subject], self.bench.can_profile()) else {
                    continue;
                };
                if self.subjects[subject].is_limit() {
                    continue;
                }
                let needed_s = dwell_s + PROFILE_OVERHEAD_S;
                if self.bench.elapsed_s() + needed_s > self.budget_s() {
                    left_out += 1;
                    continue;
                }
                let rate = (rate * fraction).min(self.plan.search.max_per_s);
                self.trial(subject, Purpose::Profile, 0, rate, dwell_s)?;
            }
        }
        self.warn_left_out(left_out, "profiles");
        Ok(())
    }

    /// Runs trials of constant load with the database server ended in their middle, for every DHCP
    /// server that has one.
    fn restarts(&mut self) -> LabResult<()> {
        let restart = self.plan.restart;
        for &purpose in restart.database.purposes() {
            for subject in self.next_turn() {
                if let (Some(rate), true) =
                    (self.rates[subject], self.subjects[subject].store.is_database())
                {
                    self.trial(subject, purpose, 0, rate * restart.fraction, restart.dwell_s)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the least time of a point of the load curve at `fraction` of the highest rate, in
    /// seconds: beyond the highest rate exchanges are lost, and the generator waits for them.
    fn point_s(&self, fraction: f64) -> f64 {
        let drain_s = if fraction > 1.0 { self.plan.search.deadline_s } else { 0.0 };
        self.plan.curve.dwell_s + drain_s
    }

    /// Returns the time until which all trials may run but profiles and those in which pools run
    /// out, in seconds since the run began.
    fn measuring_s(&self) -> f64 {
        let profile = &self.plan.profile;
        let is_profiled =
            |&&subject: &&SubjectId| self.bench.can_profile() && !self.subjects[subject].is_limit();
        let count = self.active.iter().filter(is_profiled).count() * profile.fractions.len();
        let each_s = profile.seconds + PROFILE_MARGIN_S + PROFILE_OVERHEAD_S;
        let profiles_s = (count as f64 * each_s).min(self.budget_s() * PROFILE_SHARE);
        self.budget_s() - profiles_s - self.restarts_s() - self.exhaustion_s()
    }

    /// Estimates the time of the trials with restarts of databases, in seconds.
    fn restarts_s(&self) -> f64 {
        let restart = &self.plan.restart;
        let is_on_database = |&&subject: &&SubjectId| self.subjects[subject].store.is_database();
        let subjects = self.active.iter().filter(is_on_database).count();
        let count = (subjects * restart.database.purposes().len()) as f64;
        let needed_s = count * (restart.dwell_s + self.plan.search.deadline_s + RESTART_OVERHEAD_S);
        needed_s.min(self.budget_s() * RESTART_SHARE)
    }

    /// Estimates the time of the load curve and the ramp, in seconds.
    fn curve_s(&self) -> f64 {
        let curve = &self.plan.curve;
        let steps = self.plan.ramp.rates().len();
        let subjects = self.active.len() as f64;
        let points = curve.fractions.iter().map(|&fraction| self.point_s(fraction) + OVERHEAD_S);
        let same_s = if curve.same_rate { self.point_s(SAME_RATE_SHARE) + OVERHEAD_S } else { 0.0 };
        let points_s = points.sum::<f64>() + same_s + curve.avalanche_s * AVALANCHE_SHARE;
        let steps_s = steps as f64 * (self.plan.ramp.dwell_s + OVERHEAD_S);
        subjects * (points_s + steps_s)
    }

    /// Returns the mean time that trials without losses took in addition to that of their load, in
    /// seconds.
    fn overhead_s(&self) -> f64 {
        let clean = self.out.trials.iter().filter(|trial| trial.shortfall() == 0.0);
        let (mut total_s, mut count) = (0.0, 0_u32);
        for (trial, load) in clean.filter_map(|trial| Some((trial, trial.load.as_ref()?))) {
            total_s += (trial.end_s - trial.start_s - load.duration_s).max(0.0);
            count += 1;
        }
        if count == 0 { OVERHEAD_S } else { total_s / f64::from(count) }
    }

    /// Returns the subjects (servers, variants, limit responder) still measured, in the order of
    /// the next turn.
    fn next_turn(&mut self) -> Vec<SubjectId> {
        let turns = self.plan.blocks.order.turns(self.active.len(), self.turn, self.plan.seed);
        self.turn += 1;
        turns.into_iter().map(|position| self.active[position]).collect()
    }

    /// Runs a trial of `subject` and records it; `None` when the server has ended.
    fn trial(
        &mut self,
        subject: SubjectId,
        purpose: Purpose,
        round: u32,
        rate_per_s: f64,
        dwell_s: f64,
    ) -> LabResult<Option<TrialOutcome>> {
        let number = self.out.trials.len() as u32;
        let rounds = self.time.rounds;
        let request = TrialRequest { number, subject, purpose, round, rounds, rate_per_s, dwell_s };
        if !self.active.contains(&subject) {
            return Ok(None);
        }
        match self.bench.trial(&request)? {
            TrialEnd::Trial(trial) => {
                let outcome = if trial.is_void() {
                    TrialOutcome::Void
                } else if trial.meets(self.plan.search.loss_percent) {
                    TrialOutcome::Met
                } else {
                    TrialOutcome::Missed
                };
                self.leases += self.leases_of(&trial, subject);
                self.out.trials.push(*trial);
                Ok(Some(outcome))
            }
            TrialEnd::ServerEnded(how) => {
                self.active.retain(|&other| other != subject);
                self.out.ended_servers.push(how);
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests;
