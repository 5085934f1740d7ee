//! Runs: measurements of every server several times from the beginning, and the treatment of the
//! best run, the worst run and unfinished runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Plan, SearchPlan, plan_section};

plan_section! {
    /// Settings for several whole measurements (runs) of every server.
    ///
    /// A run of a server is the search for its highest rate from the beginning. All servers do
    /// their first run in parallel, trial by trial in turn, then all their second; so runs with the
    /// same number make a pair. Before each run the lab starts servers anew, without leases.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct RunsPlan in "runs." {
        /// Number of whole measurements (runs) of every server; 0 when the plan measures in rounds
        /// instead ([`super::BlocksPlan::rounds`]).
        count: u32 = 0, "0", Whole(0, 100),
            "Whole measurements of every server, each from the beginning and without leases; \
             replaces blocks.rounds.";
        /// Rule that selects the best and worst runs to drop before the mean is computed.
        drop: DroppedRuns = DroppedRuns::default(), "\"best-and-worst\"",
            Choice(&["none", "best-and-worst"]),
            "Runs that are dropped before the mean over runs.";
        /// Treatment of a run whose highest rate could not be confirmed as the highest.
        unconfirmed: UnconfirmedRunRule = UnconfirmedRunRule::default(), "\"lower-bound\"",
            Choice(&["lower-bound", "void"]),
            "Value of a run whose highest rate could not be confirmed as the highest; lower-bound \
             is the rate that it confirmed, 0 without one.";
    }
}

/// Rule that selects runs to drop before the mean over runs is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DroppedRuns {
    /// No run is dropped from the mean.
    None,
    /// The best run and the worst run are dropped from the mean.
    #[default]
    BestAndWorst,
}

impl DroppedRuns {
    /// Returns the number of runs that are dropped as best, which is also that of runs dropped as
    /// worst.
    pub const fn at_each_end(self) -> usize {
        match self {
            Self::None => 0,
            Self::BestAndWorst => 1,
        }
    }
}

/// Treatment of a run that confirmed some rate but did not fail above it, or that confirmed none
/// because the server missed every confirming trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnconfirmedRunRule {
    /// Lower bound: the run counts with the rate that was confirmed in it; with 0 when none was
    /// confirmed.
    #[default]
    LowerBound,
    /// Void: the run is counted as void and is in no figure.
    Void,
}

impl Plan {
    /// Returns the number of searches for every server's highest rate.
    pub const fn rounds(&self) -> u32 {
        if self.has_runs() { self.runs.count } else { self.blocks.rounds }
    }

    /// Returns true if every round is a whole measurement of its own, from the beginning.
    pub const fn has_runs(&self) -> bool {
        self.runs.count > 0
    }

    /// Returns the settings of the search of number `round`, made from the settings for its server.
    ///
    /// Every run has its own first rate, up to one factor of growth above the first: from an equal
    /// first rate all runs would try the same few rates, and their spread would be too small. The
    /// shares of the factor are spread evenly over the runs, in an order drawn from the seed.
    pub fn round_search(&self, round: u32, search: &SearchPlan) -> SearchPlan {
        let mut search = *search;
        if self.has_runs() {
            let mut shares: Vec<u32> = (0..self.runs.count).collect();
            base::Random::from_seed(self.seed ^ START_STREAM).shuffle(&mut shares);
            let share = shares.get(round as usize).copied().unwrap_or(0);
            let share = (f64::from(share) + 0.5) / f64::from(self.runs.count);
            search.start_per_s =
                (search.start_per_s * search.growth.powf(share)).min(search.max_per_s);
        }
        search
    }
}

/// Constant that keeps first rates independent of the seeds of trials, which count up from the
/// plan's seed.
const START_STREAM: u64 = 0x7374_6172_745f_6f66;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_rates_of_runs_cover_one_factor_of_growth() {
        let mut plan = Plan::default();
        assert_eq!((plan.rounds(), plan.round_search(1, &plan.search)), (4, plan.search));
        plan.runs.count = 9;
        assert_eq!(plan.rounds(), 9);
        let starts = |plan: &Plan| -> Vec<f64> {
            (0..9).map(|run| plan.round_search(run, &plan.search).start_per_s).collect()
        };
        let drawn = starts(&plan);
        let mut sorted = drawn.clone();
        sorted.sort_by(f64::total_cmp);
        assert_ne!(drawn, sorted, "not in order");
        for pair in sorted.windows(2) {
            assert!((pair[1] / pair[0] / 2.0_f64.powf(1.0 / 9.0) - 1.0).abs() < 1e-9);
        }
        assert!(sorted[0] > 1_000.0 && sorted[8] < 2_000.0);
        assert_eq!(drawn, starts(&plan));
        plan.seed = 2;
        assert_ne!(drawn, starts(&plan));
        plan.search.max_per_s = 1_000.0;
        assert_eq!(starts(&plan), [1_000.0; 9]);
    }
}
