//! Settings of trials in whose middle the server's pool runs out.

use serde::{Deserialize, Serialize};

/// Settings of exhaustion trials, in whose middle the server's address pool is used up; one trial
/// per server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExhaustionPlan {
    /// Length of an exhaustion trial, in seconds; 0 leaves these trials out.
    pub dwell_s: f64,
    /// Constant load of an exhaustion trial, as a fraction of the server's highest rate.
    pub fraction: f64,
    /// Time at which the server assigns the last address, in seconds from the beginning of the
    /// trial.
    pub at_s: f64,
}

impl Default for ExhaustionPlan {
    fn default() -> Self {
        Self { dwell_s: 0.0, fraction: 0.5, at_s: 15.0 }
    }
}

impl ExhaustionPlan {
    /// Returns true if the plan has exhaustion trials, in whose middle the server's address pool is
    /// used up.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.dwell_s > 0.0
    }

    /// Returns the number of addresses that `rate_per_s` new clients per second have used up at the
    /// plan's time of exhaustion, in a trial that may be shorter than the plan's.
    #[must_use]
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
