//! Settings of trials in whose middle the server's pool runs out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan_section;

plan_section! {
    /// Settings of exhaustion trials, in whose middle the server's address pool is used up; one
    /// trial per server.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ExhaustionPlan in "exhaustion." {
        /// Length of an exhaustion trial, in seconds; 0 leaves these trials out.
        dwell_s: f64 = 0.0, "0.0", Number(0.0, 3_600.0),
            "Length of a separate trial in which the pool runs out, shown second by second; 0 for \
             none (DHCP).";
        /// Constant load of an exhaustion trial, as a fraction of the server's highest rate.
        fraction: f64 = 0.5, "0.5", Number(0.01, 1.0),
            "Constant load of the trial in which the pool runs out, as a fraction of the highest \
             rate found.";
        /// Time at which the server assigns the last address, in seconds from the beginning of the
        /// trial.
        at_s: f64 = 15.0, "15.0", Number(0.1, 3_600.0),
            "Time at which the server assigns the last address of the pool, from the beginning of \
             the trial.";
    }
}

impl ExhaustionPlan {
    /// Returns true if the plan has exhaustion trials, in whose middle the server's address pool is
    /// used up.
    pub fn is_wanted(&self) -> bool {
        self.dwell_s > 0.0
    }

    /// Returns the number of addresses that `rate_per_s` new clients per second have used up at the
    /// plan's time of exhaustion, in a trial that may be shorter than the plan's.
    pub fn pool_size(&self, rate_per_s: f64, dwell_s: f64) -> u32 {
        ((rate_per_s * dwell_s * self.at_s / self.dwell_s).round() as u32).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_trial_has_a_smaller_pool() {
        let plan = ExhaustionPlan { dwell_s: 40.0, at_s: 10.0, ..ExhaustionPlan::default() };
        assert_eq!((plan.pool_size(300.0, 40.0), plan.pool_size(300.0, 20.0)), (3_000, 1_500));
        assert_eq!(plan.pool_size(0.001, 40.0), 1);
        assert!(plan.is_wanted() && !ExhaustionPlan::default().is_wanted());
    }
}
