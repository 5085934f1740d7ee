//! Causes of a server's highest rate other than the server itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerResult;
use crate::record::{RunRecord, SearchEnd, TrialRecord, VoidReason};
use crate::search::SearchStopReason;

/// Share of the rate of the limit responder (a program that returns every datagram) from which a
/// measured rate is bounded by kernel and generator: the responder does next to nothing for an
/// exchange, so no server comes as near by its own speed.
const LIMIT_SHARE: f64 = 0.9;

base::worded! {
    /// Bottleneck of a search for a server's highest rate that is not the server.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Bottleneck {
        /// Load generator: trials at higher rates were void, as it could not offer more.
        Generator = "the generator was the bottleneck",
        /// Kernel and generator: the limit responder, a program that returns every datagram,
        /// reached hardly more with both.
        Limit = "generator and kernel were the bottleneck",
    }
}

impl Bottleneck {
    /// Returns the bottleneck of a variant of a server, by the ends of its searches: the generator
    /// when most of the searches that found a rate ended because trials above it were void for the
    /// generator's fault.
    pub(super) fn from_searches(
        server: &str,
        variant: &str,
        trials: &[&TrialRecord],
        run: &RunRecord,
    ) -> Option<Self> {
        let is_of = |end: &&SearchEnd| {
            (end.server.as_str(), end.variant.as_str()) == (server, variant)
                && end.rate_per_s.is_some()
        };
        let ends: Vec<&SearchEnd> = run.searches.iter().filter(is_of).collect();
        let stopped = ends.iter().filter(|end| end.stop == SearchStopReason::Void).count();
        let mut voids = trials.iter().flat_map(|trial| &trial.void);
        let is_generator = voids.any(|reason: &VoidReason| reason.is_generator_limit());
        (2 * stopped > ends.len() && is_generator).then_some(Self::Generator)
    }

    /// Returns the bottleneck of the server of `result`, whose share of the rate of the limit
    /// responder (a program that returns every datagram) is known.
    pub(super) fn from_limit_share(result: &ServerResult) -> Option<Self> {
        let is_at_limit = result.share_of_limit.is_some_and(|share| share >= LIMIT_SHARE);
        result.bottleneck.or_else(|| is_at_limit.then_some(Self::Limit))
    }
}
