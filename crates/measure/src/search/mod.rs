//! Search for the highest rate at which a server still meets the plan's criterion (largest share of
//! missed exchanges): coarse growth, bisection, confirmation. The search requests trials and
//! receives their outcomes; the lab runs the trials.
//!
//! A single miss on a shared machine may be the machine's. So the search tries the lowest missed
//! rate a second time when everything below it was met, and reports no rate that a confirming trial
//! did not meet. After a missed confirmation it tries lower rates in steps that grow; once a
//! confirmation is met, it halves the gap up to the lowest missed rate, so that a missed one or two
//! do not make a figure much lower than the server's rate.
//!
//! A server that loses an equal share at every rate has no highest rate, and is not slow. The
//! search tells it from a slow server by the completed exchanges: a server that completed 19,000 of
//! 20,000 and misses the criterion at 6,000, at 2,000 and at 700 as well, loses for another reason
//! than load. At still lower rates trials have too few exchanges to show the loss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::SearchPlan;
use crate::record::Purpose;

/// Number of times that a search repeats the trial of a rate whose miss stands alone.
const RETESTS: u32 = 3;
/// Number of trials met below a lone miss before the search doubts the miss.
const MET_BEFORE_DOUBT: u32 = 2;
/// Number of rates in a row, each below what the server completed at a higher offer, whose miss
/// shows that the server loses at every rate. One or two misses may be the machine's.
const MISSED_WITHOUT_LOAD: u32 = 3;
/// Largest number of confirming trials between the confirmed rate and the lowest missed rate of a
/// search.
const RAISES: u32 = 3;
/// Least rate that a search tries, in exchanges per second.
const LEAST_PER_S: f64 = 1.0;

/// Outcome of a trial that a search requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The server met the plan's criterion (missed few enough exchanges) in the trial.
    Met,
    /// The server missed more exchanges in the trial than the plan's criterion allows.
    Missed,
    /// The trial was void and is no evidence about the server.
    Void,
}

/// Trial that a search for the highest rate requests from its caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchTrial {
    /// Rate to offer in the trial, in exchanges per second.
    pub rate_per_s: f64,
    /// Length of the requested trial, in seconds.
    pub dwell_s: f64,
    /// Purpose of the requested trial, [`Purpose::Search`] or [`Purpose::Confirm`].
    pub purpose: Purpose,
}

/// Next step of a search for the highest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    /// Request for a trial, whose outcome the caller reports to the search.
    Probe(SearchTrial),
    /// End of the search with its result.
    Done(SearchResult),
}

/// Result of a search for the highest rate of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchResult {
    /// Highest rate that a confirming trial met, in exchanges per second; `None` when there is
    /// none.
    pub rate_per_s: Option<f64>,
    /// Reason why the search did not try higher rates.
    pub stop: SearchStopReason,
    /// Number of trials that the search requested, void ones included.
    pub trials: u32,
    /// Number of trials of the search that were void.
    pub voids: u32,
}

/// Reason for the end of a search for the highest rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchStopReason {
    /// The server missed the plan's criterion (largest share of missed exchanges) at a rate above
    /// the one found.
    Server,
    /// The server met the plan's criterion (largest share of missed exchanges) at the highest rate
    /// that the plan allows (`search.max_per_s`).
    MaxRate,
    /// Trials at higher rates stayed void: the figure is a lower bound. Without a figure, the last
    /// trials were void.
    Void,
    /// The time of the run was up before the search reached the server's limit: the figure is a
    /// lower bound. Without a figure, there was no confirmed rate yet.
    Hurried,
    /// The server met no rate, or missed every confirming trial.
    #[default]
    Unconfirmed,
    /// The server met no rate, and missed rates far below what it had completed when more was
    /// offered: it loses at every rate, for another reason than load.
    EveryRate,
}

/// Rate that the server did not meet in the search.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    rate_per_s: f64,
    is_void: bool,
    /// True if a second trial also missed the rate (a void trial is not tried again).
    is_certain: bool,
    /// Number of trials met below this rate since the search found it.
    met_since: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SearchPhase {
    /// Coarse steps of the rate up or down until the highest met and the lowest missed rate are
    /// known.
    Coarse { rate_per_s: f64 },
    /// Bisection between the highest met and the lowest missed rate, with `left` steps to go.
    Bisect { left: u32 },
    /// Repeated trial of the lowest missed rate, with `left` repeats to go.
    Retest { left: u32 },
    /// Longer trial that confirms `rate_per_s`; `attempt` counts from 0.
    Confirm { rate_per_s: f64, attempt: u32 },
    /// Longer trial between `confirmed_per_s` and the lowest missed rate, with `left` such trials
    /// to go.
    Raise { confirmed_per_s: f64, left: u32 },
    /// End of the search, with the confirmed rate if there is one.
    Done(Option<f64>),
}

/// State of one search for the highest rate of one server.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SearchPlan,
    phase: SearchPhase,
    /// Factor of the rate in the next coarse step.
    factor: f64,
    /// Highest rate met in a search trial, in exchanges per second; 0 when none.
    met_per_s: f64,
    /// Rates that the server did not meet, the lowest last.
    barriers: Vec<Barrier>,
    retests: u32,
    /// Most exchanges per second completed in any trial of the search.
    completed_per_s: f64,
    /// Number of rates missed in a row that were below the rate completed in trials at higher
    /// rates.
    missed_without_load: u32,
    voids_in_a_row: u32,
    trials: u32,
    voids: u32,
    is_hurried: bool,
}

impl Search {
    /// Creates a search by `plan` without knowledge of the server, which begins at the plan's first
    /// rate.
    pub fn new(plan: &SearchPlan) -> Self {
        Self::beginning(plan, plan.start_per_s, plan.growth)
    }

    /// Creates a search by `plan` that begins at `rate_per_s`, the result of an earlier round. Its
    /// steps are small at first, and grow to those of the plan if the server's limit is now far
    /// from `rate_per_s`.
    pub fn near(plan: &SearchPlan, rate_per_s: f64) -> Self {
        let width = 1.0 + plan.width_percent / 100.0;
        Self::beginning(plan, rate_per_s, (width * width).min(plan.growth))
    }

    fn beginning(plan: &SearchPlan, rate_per_s: f64, factor: f64) -> Self {
        let rate_per_s = rate_per_s.clamp(LEAST_PER_S, plan.max_per_s.max(LEAST_PER_S));
        Self {
            plan: *plan,
            phase: SearchPhase::Coarse { rate_per_s },
            factor,
            met_per_s: 0.0,
            barriers: Vec::new(),
            retests: 0,
            completed_per_s: 0.0,
            missed_without_load: 0,
            voids_in_a_row: 0,
            trials: 0,
            voids: 0,
            is_hurried: false,
        }
    }

    /// Returns the next trial of the search, or its result. A second call returns an equal step.
    ///
    /// # Panics
    ///
    /// Never: a bisection has a missed rate above it by construction.
    pub fn next_step(&self) -> SearchStep {
        let (rate_per_s, purpose) = match self.phase {
            SearchPhase::Coarse { rate_per_s } => (rate_per_s, Purpose::Search),
            SearchPhase::Bisect { .. } => {
                ((self.met_per_s * self.barrier()).sqrt(), Purpose::Search)
            }
            SearchPhase::Retest { .. } => (self.barrier(), Purpose::Search),
            SearchPhase::Confirm { rate_per_s, .. } => (rate_per_s, Purpose::Confirm),
            SearchPhase::Raise { confirmed_per_s, .. } => {
                ((confirmed_per_s * self.barrier()).sqrt(), Purpose::Confirm)
            }
            SearchPhase::Done(rate_per_s) => return SearchStep::Done(self.make_result(rate_per_s)),
        };
        let dwell_s = match purpose {
            Purpose::Confirm => self.plan.confirm_dwell_s,
            _ => self.plan.dwell_s,
        };
        SearchStep::Probe(SearchTrial { rate_per_s, dwell_s, purpose })
    }

    /// Takes the outcome of the trial that [`Search::next_step`] requested, when nothing else is
    /// known about the trial.
    ///
    /// # Panics
    ///
    /// When the search is over.
    pub fn report(&mut self, outcome: TrialOutcome) {
        self.report_completed(outcome, 0.0);
    }

    /// Takes the outcome of the trial that [`Search::next_step`] requested, in which
    /// `completed_per_s` exchanges per second were completed on time.
    pub fn report_completed(&mut self, outcome: TrialOutcome, completed_per_s: f64) {
        let SearchStep::Probe(probe) = self.next_step() else { panic!("the search is over") };
        self.trials += 1;
        if outcome == TrialOutcome::Void {
            self.voids += 1;
            self.voids_in_a_row += 1;
            if self.voids_in_a_row <= self.plan.void_repeats {
                return;
            }
        }
        self.voids_in_a_row = 0;
        self.record_load(probe.rate_per_s, outcome, completed_per_s);
        match self.phase {
            SearchPhase::Confirm { rate_per_s, attempt } => {
                self.record_confirmation(rate_per_s, attempt, outcome)
            }
            SearchPhase::Raise { left, .. } if outcome == TrialOutcome::Met => {
                self.raise(probe.rate_per_s, left - 1);
            }
            SearchPhase::Raise { confirmed_per_s, left } => {
                self.add_barrier(probe.rate_per_s, outcome);
                self.raise(confirmed_per_s, left - 1);
            }
            _ if outcome == TrialOutcome::Met => self.record_met(probe.rate_per_s),
            _ => self.record_missed(probe.rate_per_s, outcome == TrialOutcome::Void),
        }
    }

    /// Records whether a miss of `rate_per_s` can be due to load at all: the server may have
    /// completed more in a trial at a higher rate.
    fn record_load(&mut self, rate_per_s: f64, outcome: TrialOutcome, completed_per_s: f64) {
        match outcome {
            TrialOutcome::Met => self.missed_without_load = 0,
            TrialOutcome::Missed if rate_per_s < self.completed_per_s => {
                self.missed_without_load += 1
            }
            TrialOutcome::Missed | TrialOutcome::Void => {}
        }
        if outcome != TrialOutcome::Void {
            self.completed_per_s = self.completed_per_s.max(completed_per_s);
        }
    }

    /// Returns true if the server misses more exchanges than the plan's criterion allows at every
    /// rate.
    fn loses_at_every_rate(&self) -> bool {
        self.met_per_s == 0.0 && self.missed_without_load >= MISSED_WITHOUT_LOAD
    }

    /// Returns the result of the search once it is over; `None` before.
    pub fn result(&self) -> Option<SearchResult> {
        match self.phase {
            SearchPhase::Done(rate_per_s) => Some(self.make_result(rate_per_s)),
            _ => None,
        }
    }

    /// Ends the search before its time: the highest rate met so far goes to confirmation at once,
    /// or the search is over when no rate was met. A search that is confirming continues with the
    /// confirmation after the first call; it is over after a second call, or if it has confirmed a
    /// rate already.
    pub fn hurry(&mut self) {
        let was_hurried = self.is_hurried;
        self.is_hurried |= self.result().is_none();
        match self.phase {
            SearchPhase::Raise { confirmed_per_s, .. } => {
                self.phase = SearchPhase::Done(Some(confirmed_per_s));
            }
            SearchPhase::Confirm { .. } if was_hurried => self.phase = SearchPhase::Done(None),
            SearchPhase::Confirm { .. } | SearchPhase::Done(_) => {}
            _ => self.confirm_or_end(),
        }
    }

    fn make_result(&self, rate_per_s: Option<f64>) -> SearchResult {
        let stop = match (rate_per_s, self.barriers.last()) {
            (None, _) if self.is_hurried => SearchStopReason::Hurried,
            (None, _) if self.loses_at_every_rate() => SearchStopReason::EveryRate,
            (None, Some(barrier)) if barrier.is_void => SearchStopReason::Void,
            (None, _) => SearchStopReason::Unconfirmed,
            (Some(_), Some(barrier)) if barrier.is_void => SearchStopReason::Void,
            (Some(_), Some(_)) => SearchStopReason::Server,
            (Some(rate), None) if rate < self.plan.max_per_s => SearchStopReason::Hurried,
            (Some(_), None) => SearchStopReason::MaxRate,
        };
        SearchResult { rate_per_s, stop, trials: self.trials, voids: self.voids }
    }

    fn barrier(&self) -> f64 {
        self.barriers.last().expect("bisection has a missed rate above it").rate_per_s
    }

    fn record_met(&mut self, rate_per_s: f64) {
        self.met_per_s = self.met_per_s.max(rate_per_s);
        while self.barriers.last().is_some_and(|barrier| barrier.rate_per_s <= self.met_per_s) {
            self.barriers.pop();
        }
        if let Some(barrier) = self.barriers.last_mut() {
            barrier.met_since += 1;
            let left = match self.phase {
                SearchPhase::Bisect { left } => left.saturating_sub(1),
                _ => self.plan.bisections,
            };
            self.narrow(left);
        } else if rate_per_s >= self.plan.max_per_s {
            self.confirm_or_end();
        } else {
            let next = (rate_per_s * self.widen()).min(self.plan.max_per_s);
            self.phase = SearchPhase::Coarse { rate_per_s: next };
        }
    }

    fn record_missed(&mut self, rate_per_s: f64, is_void: bool) {
        let left = match self.phase {
            SearchPhase::Retest { left } => {
                let barrier = self.barriers.last_mut().expect("retested barriers exist");
                barrier.is_certain = true;
                self.narrow(left);
                return;
            }
            SearchPhase::Bisect { left } => left.saturating_sub(1),
            _ => self.plan.bisections,
        };
        self.barriers.push(Barrier { rate_per_s, is_void, is_certain: is_void, met_since: 0 });
        if self.met_per_s > 0.0 {
            self.narrow(left);
            return;
        }
        let next = rate_per_s / self.widen();
        if next < LEAST_PER_S || self.loses_at_every_rate() {
            self.phase = SearchPhase::Done(None);
        } else {
            self.phase = SearchPhase::Coarse { rate_per_s: next };
        }
    }

    /// Returns the factor of this coarse step of the search; the next one is larger, up to the
    /// plan's.
    fn widen(&mut self) -> f64 {
        let factor = self.factor;
        self.factor = (factor * factor).min(self.plan.growth);
        factor
    }

    /// Chooses the next phase of the search: another of `left` bisection steps, a repeat of the
    /// lowest missed rate, or confirmation.
    fn narrow(&mut self, left: u32) {
        let barrier = *self.barriers.last().expect("a barrier bounds the bisection");
        let width = barrier.rate_per_s / self.met_per_s - 1.0;
        if left > 0 && width * 100.0 > self.plan.width_percent {
            self.phase = SearchPhase::Bisect { left };
        } else if !barrier.is_certain
            && barrier.met_since >= MET_BEFORE_DOUBT
            && self.retests < RETESTS
        {
            self.retests += 1;
            self.phase = SearchPhase::Retest { left };
        } else {
            self.confirm_or_end();
        }
    }

    fn confirm_or_end(&mut self) {
        self.phase = if self.met_per_s > 0.0 {
            SearchPhase::Confirm { rate_per_s: self.met_per_s, attempt: 0 }
        } else {
            SearchPhase::Done(None)
        };
    }

    fn record_confirmation(&mut self, rate_per_s: f64, attempt: u32, outcome: TrialOutcome) {
        if outcome == TrialOutcome::Met {
            self.raise(rate_per_s, if attempt > 0 { RAISES } else { 0 });
            return;
        }
        self.add_barrier(rate_per_s, outcome);
        let attempt = attempt + 1;
        let back_off = self.plan.width_percent / 100.0 * f64::from(1 << attempt.min(16)) / 2.0;
        let lower = rate_per_s * (1.0 - back_off.min(0.5));
        self.phase = if attempt >= self.plan.confirmations || lower < LEAST_PER_S {
            SearchPhase::Done(None)
        } else {
            SearchPhase::Confirm { rate_per_s: lower, attempt }
        };
    }

    /// Continues the search above a confirmed rate while the gap up to the lowest missed rate is
    /// wide, with at most `left` confirming trials.
    fn raise(&mut self, confirmed_per_s: f64, left: u32) {
        let room =
            self.barriers.last().map_or(0.0, |barrier| barrier.rate_per_s / confirmed_per_s - 1.0);
        // The gap that one step down leaves is within the width.
        let is_wide = room * 100.0 > self.plan.width_percent * 1.25;
        self.phase = if left > 0 && is_wide && !self.is_hurried {
            SearchPhase::Raise { confirmed_per_s, left }
        } else {
            SearchPhase::Done(Some(confirmed_per_s))
        };
    }

    /// Records a rate that the server did not meet in a confirming trial.
    fn add_barrier(&mut self, rate_per_s: f64, outcome: TrialOutcome) {
        let is_void = outcome == TrialOutcome::Void;
        self.barriers.push(Barrier { rate_per_s, is_void, is_certain: true, met_since: 0 });
    }
}

#[cfg(test)]
mod tests;
