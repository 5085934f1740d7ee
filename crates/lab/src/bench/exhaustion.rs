//! Pools that run out in the middle of a trial: the server begins it without leases and with as many
//! addresses as clients take until then.

use measure::record::Exhaustion;

use super::ProcessBench;
use crate::error::LabError;
use crate::runner::Request;

/// Intervals by which the generator counts in long trials, seconds.
pub(super) const INTERVAL_S: &str = "1";
/// Trials are told second by second when they last so long, seconds.
pub(super) const LONG_S: f64 = 10.0;

impl ProcessBench<'_> {
    /// Starts the server that `request` is for anew, without leases and with a pool that runs out when
    /// the plan wants it.
    pub(super) fn give_short_pool(&mut self, request: &Request) -> Result<Exhaustion, LabError> {
        let (rate_per_s, dwell_s) = (request.rate_per_s, request.dwell_s);
        let wanted = self.plan.exhaustion.pool_size(rate_per_s, dwell_s);
        for position in self.halves(request.subject) {
            let terms = &mut self.services[position].terms;
            terms.pool_size = terms.pool_size.min(wanted);
        }
        self.start_all_anew(&[request.subject])?;
        Ok(Exhaustion { pool_size: self.services[request.subject].terms.pool_size })
    }
}
