//! Comparison of two results: whether they may be compared, and the differences.
//!
//! The two results were not measured in turn, so every change between them is in their ratio: the
//! machine, its neighbors, the plan, the tool. [`compare`] therefore first looks for reasons
//! against a comparison ([`IncomparabilityReason`]), and computes ratios only if there is none or
//! the caller insists. The lab reads the folders.
//!
//! Ratios are of means of logarithms over runs (or rounds), with the interval of Yuen (1974), which
//! without dropped runs is Welch's: see [`crate::statistics::ratio_of_means`].

mod figures;
mod gate;
mod reasons;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use figures::{Figures, LimitChange, ServerComparison};
pub use gate::{Gate, GateFigure, GateLine, GateVerdict, check_margin};
pub(crate) use reasons::plan_hash;
pub use reasons::{IncomparabilityReason, ReasonKind};

use crate::record::Environment;
use crate::statistics::NoiseFloor;
use crate::summary::RunSummary;

/// Value of the field `schema` in a [`Comparison`].
pub const COMPARE_SCHEMA: &str = "godwit.compare.v1";

/// Comparison of two stored results: figures of each, their ratios, and reasons against comparing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Comparison {
    /// Name of the comparison's JSON schema, [`COMPARE_SCHEMA`].
    pub schema: String,
    /// True if the comparison has no reason against it.
    pub is_comparable: bool,
    /// True if figures are shown in spite of reasons against the comparison.
    pub is_forced: bool,
    /// Reasons why the two results may not be compared; empty when they may.
    pub reasons: Vec<IncomparabilityReason>,
    /// Differences between the two results that are no reason against the comparison.
    pub notes: Vec<String>,
    /// Method by which the ratios and intervals were computed, one sentence.
    pub method: String,
    /// First result, which the ratios divide by.
    pub a: ComparedResult,
    /// Second result, which the ratios divide.
    pub b: ComparedResult,
    /// Servers that are in both results, in the order of the first; empty when nothing may be
    /// shown.
    pub servers: Vec<ServerComparison>,
    /// Change of the limit responder's rate, which is the most that kernel and generator could do
    /// in each result.
    pub limit: Option<LimitChange>,
    /// Verdict of the gate by a margin; `None` when the user gave no margin or nothing may be
    /// shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

/// Description of one of the two results that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComparedResult {
    /// Name that the user gave to this result.
    pub name: String,
    /// Name of the plan that this result was measured by.
    pub plan: String,
    /// Hash of everything in the plan that decides figures, 16 hexadecimal digits: equal in two
    /// results that were measured alike.
    pub plan_hash: String,
    /// Begin of this result's run, in the format of RFC 3339.
    pub started: String,
    /// Length of this result's run, in seconds.
    pub duration_s: f64,
    /// Environment in which this result's run took place.
    pub environment: Environment,
    /// Share of the processors' time that the hypervisor took, over all trials, 0 to 1.
    pub steal_share: f64,
    /// Noise floor of this result: the difference of one server from itself between rounds.
    pub noise: Option<NoiseFloor>,
}

/// Compares the results `a` and `b`, each with the name that the user gave it. With `force`, the
/// comparison has figures in spite of reasons against it.
pub fn compare(a: (&str, &RunSummary), b: (&str, &RunSummary), force: bool) -> Comparison {
    let side = |(name, summary): (&str, &RunSummary)| ComparedResult {
        name: name.to_owned(),
        plan: summary.plan.name.clone(),
        plan_hash: plan_hash(&summary.plan),
        started: summary.started.clone(),
        duration_s: summary.duration_s,
        environment: summary.environment.clone(),
        steal_share: reasons::steal_share(summary),
        noise: summary.noise,
    };
    let (side_a, side_b) = (side(a), side(b));
    let limit = figures::limit(a.1, b.1);
    let (reasons, notes) = reasons::find(a.1, b.1, limit.as_ref());
    let is_comparable = reasons.is_empty();
    let is_shown = is_comparable || force;
    Comparison {
        schema: COMPARE_SCHEMA.to_owned(),
        is_comparable,
        is_forced: !is_comparable && force,
        reasons,
        notes,
        method: figures::method(a.1, b.1),
        a: side_a,
        b: side_b,
        servers: if is_shown { figures::servers(a.1, b.1) } else { Vec::new() },
        limit: if is_shown { limit } else { None },
        gate: None,
    }
}
