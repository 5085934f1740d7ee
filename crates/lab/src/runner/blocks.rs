//! Blocks of a run: trials at a fixed rate, from which figures per processor second are computed.

use measure::record::Purpose;

use super::{PAIR_SHARE, RunExecution};
use crate::error::LabResult;

impl RunExecution<'_> {
    /// Runs a block at a fixed rate, a share of the highest one found, with each subject in turn.
    pub(super) fn pair_blocks(&mut self, round: u32) -> LabResult<()> {
        let dwell_s = self.plan.blocks.dwell_s;
        if dwell_s <= 0.0 {
            return Ok(());
        }
        for subject in self.next_turn() {
            if self.bench.elapsed_s() + dwell_s > self.budget_s() {
                break;
            }
            if let Some(rate) = self.rates[subject] {
                self.trial(subject, Purpose::Pair, round, rate * PAIR_SHARE, dwell_s)?;
            }
        }
        Ok(())
    }

    /// Runs more blocks (trials at a fixed rate) of the last round in the time that the rounds,
    /// which began at `began_s`, left of their forecast: the run takes the announced time, and its
    /// figures are from more blocks.
    pub(super) fn more_blocks(&mut self, began_s: f64) -> LabResult<()> {
        let last = self.time.rounds.saturating_sub(1);
        let Some(until_s) = self.time.blocks_until_s(began_s) else { return Ok(()) };
        let turn_s = self.active.len() as f64 * (self.plan.blocks.dwell_s + self.overhead_s());
        let has_blocks = self.plan.blocks.dwell_s > 0.0 && !self.plan.has_runs();
        let has_rates = self.active.iter().any(|&subject| self.rates[subject].is_some());
        let is_whole = self.out.finished_rounds == self.time.rounds && has_rates;
        // The load curve comes first if the run is late.
        let room_s = |execution: &Self| execution.measuring_s() - execution.curve_s();
        while has_blocks && is_whole && self.bench.elapsed_s() + turn_s < until_s.min(room_s(self))
        {
            self.pair_blocks(last)?;
        }
        Ok(())
    }
}
