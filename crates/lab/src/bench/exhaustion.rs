//! Pools that run out in the middle of a trial: the server begins the trial without leases and with
//! as many addresses as clients take until then.

use measure::record::Exhaustion;

use super::ProcessBench;
use crate::error::LabError;
use crate::trial::TrialRequest;

/// Interval of the generator's counts in trials of [`LONG_S`] and longer, in seconds.
pub(super) const INTERVAL_S: &str = "1";
/// Least length of a trial whose counts the generator records second by second, in seconds.
pub(super) const LONG_S: f64 = 10.0;

impl ProcessBench<'_> {
    /// Starts the server of `request` anew, without leases and with an address pool that runs out
    /// at the plan's time; returns the size of the pool.
    pub(super) fn start_with_short_pool(
        &mut self,
        request: &TrialRequest,
    ) -> Result<Exhaustion, LabError> {
        let (rate_per_s, dwell_s) = (request.rate_per_s, request.dwell_s);
        let pool_size = self.plan.exhaustion.pool_size(rate_per_s, dwell_s);
        for position in self.subject_servers(request.subject.position()) {
            let terms = &mut self.services[position].terms;
            terms.pool_size = terms.pool_size.min(pool_size);
        }
        self.start_all_anew(&[request.subject])?;
        Ok(Exhaustion { pool_size: self.services[request.subject.position()].terms.pool_size })
    }
}
