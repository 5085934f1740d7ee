//! Two results side by side: whether they may be compared, and what differs.
//!
//! Two results were not measured in turn, so whatever changed between them is in their ratio: the
//! machine, its neighbors, the plan, the tool. [`compare`] therefore looks first for reasons why
//! the figures must not be set against each other ([`Reason`]), and takes ratios only where there
//! is none or the caller insists. Reading folders belongs to the lab.
//!
//! Ratios are of means of logarithms over runs (or rounds), with the interval of Yuen (1974), which
//! without dropped runs is Welch's: see [`crate::statistics::ratio_of_means`].

mod figures;
mod gate;
mod reasons;

use serde::{Deserialize, Serialize};

pub use figures::{Figures, LimitChange, ServerComparison};
pub use gate::{Gate, GateFigure, GateLine, GateVerdict, judge};
pub(crate) use reasons::plan_hash;
pub use reasons::{Reason, ReasonKind};

use crate::record::Environment;
use crate::statistics::NoiseFloor;
use crate::summary::Summary;

/// Value of `schema` in a [`Comparison`].
pub const COMPARE_SCHEMA: &str = "godwit.compare.v1";

/// Two results side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// True when there is no reason against it.
    pub is_comparable: bool,
    /// True when figures are shown in spite of reasons.
    pub is_forced: bool,
    /// Why the two may not be compared; empty when they may.
    pub reasons: Vec<Reason>,
    /// What differs and is no reason against it.
    pub notes: Vec<String>,
    /// How ratios and intervals were computed, one sentence.
    pub method: String,
    /// The first result.
    pub a: Side,
    /// The second result.
    pub b: Side,
    /// Servers that are in both, in the order of the first; empty when nothing may be shown.
    pub servers: Vec<ServerComparison>,
    /// What kernel and generator could do at most, then and now.
    pub limit: Option<LimitChange>,
    /// The verdict by a margin; `None` when none was asked for or nothing may be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

/// One of the two results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Side {
    /// How the user named it.
    pub name: String,
    /// The plan's name.
    pub plan: String,
    /// A hash of everything in the plan that decides figures, 16 hexadecimal digits: equal in two
    /// results that were measured alike.
    pub plan_hash: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// How long it took, seconds.
    pub duration_s: f64,
    /// Where it ran.
    pub environment: Environment,
    /// Share of the processors' time that the hypervisor took, over all trials, 0 to 1.
    pub steal_share: f64,
    /// How much the same server differed from itself.
    pub noise: Option<NoiseFloor>,
}

/// Compares `b` with `a`, named as the user named them. With `force`, figures are given in spite of
/// reasons against it.
#[must_use]
pub fn compare(a: (&str, &Summary), b: (&str, &Summary), force: bool) -> Comparison {
    let side = |(name, summary): (&str, &Summary)| Side {
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
        limit: limit.filter(|_| is_shown),
        gate: None,
    }
}
