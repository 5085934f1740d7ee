//! Faults that make a configuration slow, and their costs: the analysis of `godwit advise`.
//!
//! A [`AdviceSubject`] is a configuration, read as the servers read it; [`AdviceSubject::advise`]
//! returns the findings, the most expensive first, each with its positions in the file, the reason,
//! the cost, and the change that removes it. A cost is a published figure or one from a stored
//! measurement of `godwit lab`, with its source; without a figure the finding says so, and is
//! ordered by [`PerformanceFault`] among the others that were not measured. Thresholds that are our
//! judgement are constants, documented with the reason.
//!
//! The published figures are of Kea; `measured` has them. The caller reads lease files and
//! results, and passes their contents as [`ServerObservations`].

mod classes;
mod facts;
mod fault;
mod hooks;
mod hosts;
mod measured;
mod pools;
mod server;

pub use fault::PerformanceFault;
pub use measured::{Cost, LeaseRateShare, ShareMeaning};

use crate::context::ParseContext;
use crate::json::{self, JsonValue};
pub use crate::problem::ConfigPosition;
use crate::shared::root;
use crate::source::{SourcePosition, Sources};
use crate::{ConfigProblem, Dhcp4, Dhcp6, IncludeResolver};
use facts::{ConfigFacts, View};

/// Observations of a server that `advise` uses in addition to its configuration.
#[derive(Clone, Debug, Default)]
pub struct ServerObservations {
    /// Leases in a lease file of the server; `None` when no file was given.
    pub leases: Option<LeasedResources>,
    /// Highest rate of a server that `godwit lab` measured; `None` when no stored result was given.
    pub carried: Option<MeasuredRate>,
}

/// Leased addresses and delegated prefixes of a lease file as numbers: those of DHCPv4 in the low
/// 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeasedResources {
    addresses: Vec<u128>,
    prefixes: Vec<u128>,
}

impl LeasedResources {
    /// Creates the set of leased resources from leased addresses and the first addresses of
    /// delegated prefixes, in any order.
    #[must_use]
    pub fn new(mut addresses: Vec<u128>, mut prefixes: Vec<u128>) -> Self {
        addresses.sort_unstable();
        prefixes.sort_unstable();
        Self { addresses, prefixes }
    }

    fn count(sorted: &[u128], first: u128, last: u128) -> u128 {
        let from = sorted.partition_point(|&address| address < first);
        let to = sorted.partition_point(|&address| address <= last);
        (to - from) as u128
    }

    /// Returns the number of leased addresses in `range`, from its first to its last address.
    fn addresses_in(&self, range: (u128, u128)) -> u128 {
        Self::count(&self.addresses, range.0, range.1)
    }

    /// Returns the number of delegated prefixes that begin in `range`, from its first to its last
    /// address.
    fn prefixes_in(&self, range: (u128, u128)) -> u128 {
        Self::count(&self.prefixes, range.0, range.1)
    }
}

/// Highest rate of a server in a stored measurement of `godwit lab`.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRate {
    /// Highest rate of the server, in DHCP exchanges per second, each of which wrote one lease.
    pub leases_per_s: f64,
    /// True if the server was never seen to fail above the rate, so that the rate is a lower bound.
    pub is_at_least: bool,
    /// Name of the stored measurement, for use in a sentence.
    pub source: String,
}

/// Fault found in a configuration, with its positions, cost and remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformanceFinding {
    /// Kind of the fault found.
    pub fault: PerformanceFault,
    /// Positions of the fault in the file, in order; at least one.
    pub places: Vec<ConfigPosition>,
    /// Reason why the fault makes the server slow, a sentence about this configuration.
    pub reason: String,
    /// Cost of the fault, in Kea unless a stored result names another server.
    pub cost: Cost,
    /// Cost of the fault in Godwit, if it was counted (docs/design/009-feature-costs.md).
    pub in_godwit: Option<&'static str>,
    /// Change of the configuration that removes the fault, as a sentence.
    pub change: String,
}

/// Result of [`AdviceSubject::advise`]: findings and notes about one configuration.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// Faults found in the configuration, the most expensive first.
    pub findings: Vec<PerformanceFinding>,
    /// Notes on judgements that were not possible, and the input that is missing for them.
    pub notes: Vec<String>,
}

/// Configuration of a DHCPv4 or DHCPv6 server to be judged; it is valid.
#[derive(Debug)]
pub struct AdviceSubject {
    root: JsonValue,
    sources: Sources,
    config: AdvisedConfig,
}

#[derive(Debug)]
enum AdvisedConfig {
    V4(Box<Dhcp4>),
    V6(Box<Dhcp6>),
}

impl AdviceSubject {
    /// Reads a configuration of either family; its top key selects the family. `name` names `text`
    /// in positions.
    ///
    /// # Errors
    /// Every problem of the text, as the readers of the servers report them.
    pub fn read(
        name: &str,
        text: &str,
        resolver: &mut dyn IncludeResolver,
    ) -> Result<Self, Vec<ConfigProblem>> {
        let (mut sources, mut problems) = (Sources::default(), ParseContext::default());
        let document = json::parse(name, text, resolver, &mut sources, &mut problems);
        if let Some(root) = document
            && !problems.has_errors()
        {
            let is_v6 = View::from_value(&root).is_some_and(|top| top.entry("Dhcp6").is_some());
            let config = if is_v6 {
                root::read(&root, &mut problems).map(|v6| AdvisedConfig::V6(Box::new(v6)))
            } else {
                root::read(&root, &mut problems).map(|v4| AdvisedConfig::V4(Box::new(v4)))
            };
            if let Some(config) = config
                && !problems.has_errors()
            {
                return Ok(Self { root, sources, config });
            }
        }
        Err(problems.into_problems(&sources))
    }

    /// Returns true if the configuration is for DHCPv6.
    #[must_use]
    pub const fn is_v6(&self) -> bool {
        matches!(self.config, AdvisedConfig::V6(_))
    }

    /// Returns the faults that make the configuration slow, judged together with the observations
    /// `observed`.
    #[must_use]
    pub fn advise(&self, observed: &ServerObservations) -> Advice {
        let global = |key| View::from_value(&self.root).and_then(|top| top.map(key));
        let facts = match &self.config {
            AdvisedConfig::V4(config) => {
                global("Dhcp4").map(|global| ConfigFacts::new(global, &**config))
            }
            AdvisedConfig::V6(config) => {
                global("Dhcp6").map(|global| ConfigFacts::new(global, &**config))
            }
        };
        let facts = facts.expect("a configuration was read from this map");
        let mut report = FindingCollector::default();
        judge(&facts, observed, &mut report);
        report.into_advice(&self.sources)
    }
}

/// Runs every judge on the facts of a configuration.
fn judge(facts: &ConfigFacts<'_>, observed: &ServerObservations, report: &mut FindingCollector) {
    classes::judge(facts, report);
    hosts::judge(facts, report);
    pools::judge(facts, observed, report);
    server::judge(facts, report);
    hooks::judge(facts, report);
}

/// Finding whose positions have not been turned into lines and columns.
struct UnlocatedFinding {
    fault: PerformanceFault,
    at: Vec<SourcePosition>,
    reason: String,
    cost: Cost,
    change: String,
}

/// Findings and notes that the judges have reported so far.
#[derive(Default)]
struct FindingCollector {
    findings: Vec<UnlocatedFinding>,
    notes: Vec<String>,
}

impl FindingCollector {
    /// Adds a finding of `fault`, unless it has no position.
    fn add(
        &mut self,
        fault: PerformanceFault,
        mut at: Vec<SourcePosition>,
        cost: Cost,
        reason: impl Into<String>,
        change: impl Into<String>,
    ) {
        at.sort_unstable();
        at.dedup();
        if !at.is_empty() {
            let (reason, change) = (reason.into(), change.into());
            self.findings.push(UnlocatedFinding { fault, at, reason, cost, change });
        }
    }

    /// Adds a note on a judgement that was not possible.
    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn into_advice(self, sources: &Sources) -> Advice {
        let located = |finding: UnlocatedFinding| PerformanceFinding {
            fault: finding.fault,
            places: finding.at.into_iter().map(|at| sources.locate(at)).collect(),
            reason: finding.reason,
            cost: finding.cost,
            in_godwit: measured::in_godwit(finding.fault),
            change: finding.change,
        };
        let mut findings: Vec<PerformanceFinding> =
            self.findings.into_iter().map(located).collect();
        findings.sort_by(|a, b| {
            let by_cost = b.cost.weight().total_cmp(&a.cost.weight());
            by_cost.then(a.fault.cmp(&b.fault)).then_with(|| a.places.cmp(&b.places))
        });
        Advice { findings, notes: self.notes }
    }
}

/// Formats a count with its noun, singular or plural: `1 class`, `12 classes`.
fn grouped_count(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", measured::grouped(count as f64), if count == 1 { one } else { many })
}
