//! Exhaustion trials, in which address pools run out: constant load, for every server whose pool
//! the lab sets.

use measure::record::Purpose;

use super::RunExecution;
use crate::error::LabResult;

/// Time that an exhaustion trial takes in addition to that of its load, in seconds, to start the
/// server anew.
const EXHAUSTION_OVERHEAD_S: f64 = 2.0;
/// Least length of a trial with a pool that runs out, however short the time is, in seconds.
const EXHAUSTION_LEAST_S: f64 = 6.0;
/// Largest share of the run's time that is kept for trials with pools that run out.
const EXHAUSTION_SHARE: f64 = 0.7;

impl RunExecution<'_> {
    /// Runs trials of constant load with a pool that runs out in their middle, last of all, as
    /// servers are left with that pool. Such trials are the purpose of their plan: they are
    /// shortened rather than left out.
    pub(super) fn exhaustions(&mut self) -> LabResult<()> {
        let exhaustion = self.plan.exhaustion;
        if !exhaustion.is_wanted() {
            return Ok(());
        }
        let mut turns = Vec::new();
        for subject in self.next_turn() {
            let of = &self.subjects[subject];
            match self.rates[subject] {
                Some(rate) if of.has_lab_pool() => {
                    turns.push((subject, rate * exhaustion.fraction))
                }
                Some(_) if !of.is_limit() => {
                    let label = of.label();
                    let note =
                        "no trial with an exhausted pool: the lab does not control its pool.";
                    self.out.warnings.push(format!("{label}: {note}"));
                }
                _ => {}
            }
        }
        for (done, &(subject, rate)) in turns.iter().enumerate() {
            let left = (turns.len() - done) as f64;
            let each_s = (self.budget_s() - self.bench.elapsed_s()) / left;
            let most_s = (each_s - self.exhaustion_overhead_s()).floor();
            let dwell_s = exhaustion.dwell_s.min(most_s.max(EXHAUSTION_LEAST_S));
            if dwell_s < exhaustion.dwell_s {
                let label = self.subjects[subject].label();
                self.out.warnings.push(format!(
                    "Time ran short: the trial in which the pool of {label} runs out lasted \
                     {dwell_s:.0} s."
                ));
            }
            self.trial(subject, Purpose::Exhaustion, 0, rate, dwell_s)?;
        }
        Ok(())
    }

    /// Returns the time that an exhaustion trial takes in addition to that of its load, in seconds:
    /// the server answers no more at its end, so the generator waits.
    fn exhaustion_overhead_s(&self) -> f64 {
        self.plan.search.deadline_s + EXHAUSTION_OVERHEAD_S
    }

    /// Estimates the time of the trials with pools that run out, limited to the share of the run's
    /// time that is kept for them, in seconds.
    pub(super) fn exhaustion_s(&self) -> f64 {
        let exhaustion = self.plan.exhaustion;
        let each_s = exhaustion.dwell_s + self.exhaustion_overhead_s();
        let subjects = self.active.iter().filter(|&&at| self.subjects[at].has_lab_pool());
        let mut servers: Vec<&str> =
            subjects.map(|&at| self.subjects[at].server.as_str()).collect();
        // Only one of the variants of each continues after the first round.
        servers.dedup();
        let needed_s = if exhaustion.is_wanted() { servers.len() as f64 * each_s } else { 0.0 };
        needed_s.min(self.budget_s() * EXHAUSTION_SHARE)
    }
}
