//! Reasons why two results may not be compared. The limits are constants, so that a user cannot
//! choose them after having seen the figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LimitChange;
use crate::plan::Plan;
use crate::statistics::LEAST_TO_DROP;
use crate::summary::{RunSummary, ServerResult};

/// Largest noise floor of a server within one result, in percent; a result above it is too noisy.
const NOISE_LIMIT_PERCENT: f64 = 20.0;
/// Largest share of the processors' time that the hypervisor may take in a comparable result, in
/// percent.
const STEAL_LIMIT_PERCENT: f64 = 10.0;
/// Largest difference between two comparable results in the share of processor time that the
/// hypervisor took, in percentage points.
const STEAL_DIFFERENCE_PERCENT: f64 = 5.0;
/// Factor by which the rates of the limit responder (a program that returns every datagram) in two
/// comparable results may differ when the interval of their ratio leaves out 1.
const LIMIT_SHIFT: f64 = 1.15;
/// Share by which the memory of two comparable machines may differ, because each kernel reserves
/// some of it.
const MEMORY_TOLERANCE: f64 = 0.02;
/// Keys of a plan that do not decide a server's figures: words, other servers of the plan, the
/// seed, the time budget, and `topology`, whose result in the environment is compared instead.
const FREE_KEYS: [&str; 6] = ["title", "headline", "servers", "seed", "time_budget_s", "topology"];
/// Prefix of the plan's table `profile`, whose keys do not decide figures: profiles are taken in
/// trials of their own.
const FREE_TABLE: &str = "profile.";

base::recorded! {
    /// Kind of a reason why two results may not be compared.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum ReasonKind {
        /// Plans of the two results that differ in settings that decide figures.
        Plan = "plan",
        /// Messages that reached a server in groups (UDP segmentation) in one result and one by one
        /// in the other, or in an unknown way.
        Segmentation = "segmentation",
        /// Machines of the two results that differ in processors, kernel, memory, hypervisor,
        /// topology or kernel settings.
        Machine = "machine",
        /// Versions of the lab and its generator that differ between the two results.
        Tool = "tool",
        /// Way of a server to make leases durable that differs between the two results.
        Durability = "durability",
        /// Server whose figures differed too much between the rounds of one result.
        Noise = "noise",
        /// Hypervisor that took too much processor time, or unequal shares of it in the two
        /// results.
        Steal = "steal",
        /// Rate of the limit responder (the most that kernel and generator can do) that differs too
        /// much between the two results.
        Limit = "limit",
        /// Data that the comparison needs and a result does not have.
        MissingData = "missing-data",
    }
}

/// Reason why two results may not be compared, with its explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncomparabilityReason {
    /// Kind of this reason against the comparison.
    pub kind: ReasonKind,
    /// Sentence that names both sides and completes "not comparable because".
    pub words: String,
}

#[derive(Default)]
struct ComparabilityFindings {
    reasons: Vec<IncomparabilityReason>,
    notes: Vec<String>,
}

impl ComparabilityFindings {
    fn add_reason(&mut self, kind: ReasonKind, words: String) {
        self.reasons.push(IncomparabilityReason { kind, words });
    }

    /// Adds a reason when the two values differ; an empty value means unknown.
    fn add_difference(&mut self, kind: ReasonKind, what: &str, a: &str, b: &str) {
        if a.is_empty() || b.is_empty() {
            if a != b {
                let side = if a.is_empty() { "A" } else { "B" };
                self.add_reason(ReasonKind::MissingData, format!("{what} of {side} is not known"));
            }
        } else if a != b {
            self.add_reason(kind, format!("{what} differs: {a} in A, {b} in B"));
        }
    }
}

/// Returns all reasons against comparing results `a` and `b`, then all other differences between
/// them.
pub(super) fn find(
    a: &RunSummary,
    b: &RunSummary,
    limit: Option<&LimitChange>,
) -> (Vec<IncomparabilityReason>, Vec<String>) {
    let mut findings = ComparabilityFindings::default();
    plans(&mut findings, &a.plan, &b.plan);
    servers(&mut findings, a, b);
    machine(&mut findings, a, b);
    noise(&mut findings, a, b);
    limit_shift(&mut findings, a, b, limit);
    for (side, summary) in [("A", a), ("B", b)] {
        let (done, planned) = (summary.runs_done, summary.plan.runs.count);
        if done < planned {
            findings.notes.push(format!("{side} has {done} of {planned} runs"));
        }
    }
    findings.reasons.sort_by_key(|reason| reason.kind);
    (findings.reasons, findings.notes)
}

/// Returns every setting of a plan: the path of its key, and its value as JSON.
fn leaves(plan: &Plan) -> BTreeMap<String, String> {
    fn walk(prefix: &str, value: &Value, into: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(table) => {
                for (name, value) in table {
                    let dot = if prefix.is_empty() { "" } else { "." };
                    walk(&format!("{prefix}{dot}{name}"), value, into);
                }
            }
            other => {
                into.insert(prefix.to_owned(), other.to_string());
            }
        }
    }
    let mut into = BTreeMap::new();
    walk("", &serde_json::to_value(plan).expect("a plan is JSON"), &mut into);
    into
}

fn is_free(key: &str) -> bool {
    FREE_KEYS.contains(&key) || key.starts_with(FREE_TABLE)
}

/// Returns a hash of everything in `plan` that decides figures (FNV-1a, 64 bits).
pub(crate) fn plan_hash(plan: &Plan) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (key, value) in leaves(plan).iter().filter(|(key, _)| !is_free(key)) {
        for octet in format!("{key}={value}\n").bytes() {
            hash = (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

fn plans(findings: &mut ComparabilityFindings, a: &Plan, b: &Plan) {
    let (of_a, of_b) = (leaves(a), leaves(b));
    let mut decisive = Vec::new();
    for (key, a) in &of_a {
        let b = &of_b[key];
        if a == b || key == "topology" {
        } else if is_free(key) {
            findings.notes.push(format!("plan: {key} is {a} in A, {b} in B"));
        } else {
            decisive.push(format!("{key} ({a} in A, {b} in B)"));
        }
    }
    if !decisive.is_empty() {
        let words = format!(
            "the plans differ ({} and {}): {}",
            plan_hash(a),
            plan_hash(b),
            decisive.join(", ")
        );
        findings.add_reason(ReasonKind::Plan, words);
    }
}

fn servers(findings: &mut ComparabilityFindings, a: &RunSummary, b: &RunSummary) {
    let mut both = 0;
    for of_a in &a.results {
        match b.results.iter().find(|of_b| of_b.server == of_a.server) {
            Some(of_b) => {
                both += 1;
                server(findings, of_a, of_b);
            }
            None => findings.notes.push(format!("{} is in A only", of_a.server)),
        }
    }
    for of_b in &b.results {
        if !a.results.iter().any(|of_a| of_a.server == of_b.server) {
            findings.notes.push(format!("{} is in B only", of_b.server));
        }
    }
    if both == 0 {
        findings.add_reason(ReasonKind::MissingData, "no server is in both results".to_owned());
    }
    let (of_a, of_b) = (&a.environment.commit, &b.environment.commit);
    if of_a != of_b {
        let (a, b) = (commit(of_a), commit(of_b));
        findings.notes.push(format!("Godwit is built from {a} in A, from {b} in B"));
    }
    let (of_a, of_b) = (&a.environment.profile, &b.environment.profile);
    if of_a != of_b {
        let (a, b) = (profile(of_a), profile(of_b));
        findings.notes.push(format!("Godwit is built with {a} in A, with {b} in B"));
    }
    for (name, version) in &a.environment.servers {
        if let Some(other) = b.environment.servers.get(name).filter(|other| *other != version) {
            findings.notes.push(format!("{name} is {version} in A, {other} in B"));
        }
    }
}

fn server(findings: &mut ComparabilityFindings, a: &ServerResult, b: &ServerResult) {
    let name = &a.server;
    for (side, result) in [("A", a), ("B", b)] {
        let counted = result.runs.iter().filter(|run| !run.is_void()).count();
        if result.leases_per_s.is_none() {
            let words = format!("{name} has no confirmed rate in {side}");
            findings.add_reason(ReasonKind::MissingData, words);
        } else if !result.runs.is_empty() && counted < LEAST_TO_DROP {
            let words =
                format!("{name} has {counted} runs that count in {side}, too few for an interval");
            findings.add_reason(ReasonKind::MissingData, words);
        }
    }
    if a.variant != b.variant {
        let words = format!(
            "{name} is {} in A, {} in B",
            variant_name(&a.variant),
            variant_name(&b.variant)
        );
        if a.variant.starts_with("durability") || b.variant.starts_with("durability") {
            findings.add_reason(ReasonKind::Durability, words);
        } else {
            findings.notes.push(format!("the variant with the higher rate differs: {words}"));
        }
    }
    let how = |used: bool| if used { "in groups (segmentation)" } else { "one by one" };
    match (a.segmentation, b.segmentation) {
        (Some(a), Some(b)) if a == b => {}
        (Some(a), Some(b)) => {
            let words = format!("messages to {name} left {} in A, {} in B", how(a), how(b));
            findings.add_reason(ReasonKind::Segmentation, words);
        }
        (of_a, _) => {
            let side = if of_a.is_none() { "A" } else { "B" };
            let words = format!(
                "it is not known whether messages to {name} left in groups in {side}; \
                 `godwit lab report` on its folder may find out"
            );
            findings.add_reason(ReasonKind::Segmentation, words);
        }
    }
}

fn commit(name: &str) -> String {
    if name.is_empty() { "an unknown commit".to_owned() } else { format!("commit {name}") }
}

fn profile(name: &str) -> String {
    if name.is_empty() { "an unknown profile".to_owned() } else { format!("profile {name}") }
}

fn variant_name(variant: &str) -> &str {
    if variant.is_empty() { "plain" } else { variant }
}

fn machine(findings: &mut ComparabilityFindings, a: &RunSummary, b: &RunSummary) {
    let (of_a, of_b) = (&a.environment, &b.environment);
    let count = |cpus: u32| if cpus == 0 { String::new() } else { cpus.to_string() };
    for (what, a, b) in [
        ("the processor", &of_a.cpu_model, &of_b.cpu_model),
        ("the number of processors", &count(of_a.cpus), &count(of_b.cpus)),
        ("the kernel", &of_a.kernel, &of_b.kernel),
        ("the topology", &of_a.topology, &of_b.topology),
    ] {
        findings.add_difference(ReasonKind::Machine, what, a, b);
    }
    let hypervisor = |name: &str| if name.is_empty() { "none".to_owned() } else { name.to_owned() };
    let (a_kind, b_kind) = (hypervisor(&of_a.virtualization), hypervisor(&of_b.virtualization));
    findings.add_difference(ReasonKind::Machine, "the hypervisor", &a_kind, &b_kind);
    let (least, most) =
        (of_a.memory_bytes.min(of_b.memory_bytes), of_a.memory_bytes.max(of_b.memory_bytes));
    if least == 0 && most > 0 {
        let side = if of_a.memory_bytes == 0 { "A" } else { "B" };
        findings.add_reason(ReasonKind::MissingData, format!("the memory of {side} is not known"));
    } else if (most - least) as f64 > most as f64 * MEMORY_TOLERANCE {
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let (a, b) = (mib(of_a.memory_bytes), mib(of_b.memory_bytes));
        findings.add_difference(ReasonKind::Machine, "the memory", &a, &b);
    }
    // Other settings describe the state of the machine, not the measurement.
    let is_kernels = |name: &str| name.starts_with("net.") || name == "scaling_governor";
    for (name, a) in of_a.settings.iter().filter(|(name, _)| is_kernels(name)) {
        if let Some(b) = of_b.settings.get(name) {
            findings.add_difference(ReasonKind::Machine, name, a, b);
        }
    }
    findings.add_difference(
        ReasonKind::Tool,
        "the version of godwit lab",
        &of_a.godwit,
        &of_b.godwit,
    );
}

/// Returns the share of the processors' time that the hypervisor took ("stolen"), over all trials
/// weighted by length.
pub(super) fn steal_share(summary: &RunSummary) -> f64 {
    let time = || summary.trials.iter().map(|row| (row.end_s - row.start_s).max(0.0));
    let total: f64 = time().sum();
    let stolen: f64 = summary.trials.iter().zip(time()).map(|(row, s)| row.steal_share * s).sum();
    if total > 0.0 { stolen / total } else { 0.0 }
}

fn noise(findings: &mut ComparabilityFindings, a: &RunSummary, b: &RunSummary) {
    for (side, summary) in [("A", a), ("B", b)] {
        match summary.noise {
            Some(noise) if noise.typical_percent > NOISE_LIMIT_PERCENT => {
                let words = format!(
                    "the same server differed from itself by {:.0} % in {side} (at most \
                     {NOISE_LIMIT_PERCENT} %)",
                    noise.typical_percent
                );
                findings.add_reason(ReasonKind::Noise, words);
            }
            Some(_) => {}
            None => {
                let words =
                    format!("the noise floor of {side} is not known: fewer than two rounds");
                findings.add_reason(ReasonKind::MissingData, words);
            }
        }
        let percent = steal_share(summary) * 100.0;
        if percent > STEAL_LIMIT_PERCENT {
            let words = format!(
                "the hypervisor took {percent:.0} % of the time in {side} (at most \
                 {STEAL_LIMIT_PERCENT} %)"
            );
            findings.add_reason(ReasonKind::Steal, words);
        }
    }
    let (of_a, of_b) = (steal_share(a) * 100.0, steal_share(b) * 100.0);
    if (of_a - of_b).abs() > STEAL_DIFFERENCE_PERCENT {
        let words = format!("the hypervisor took {of_a:.0} % of the time in A, {of_b:.0} % in B");
        findings.add_reason(ReasonKind::Steal, words);
    }
}

fn limit_shift(
    findings: &mut ComparabilityFindings,
    a: &RunSummary,
    b: &RunSummary,
    limit: Option<&LimitChange>,
) {
    if let Some(change) = limit {
        // Without rounds of both results there is no interval, and the shift alone decides.
        let factor = change.ratio.map_or(change.b_per_s / change.a_per_s, |ratio| ratio.ratio);
        let holds_one =
            change.ratio.is_some_and(|of| of.pairs > 1 && (of.low..=of.high).contains(&1.0));
        if factor.max(1.0 / factor) > LIMIT_SHIFT && !holds_one {
            let words = format!(
                "kernel and generator themselves changed: the limit responder has {factor:.2} \
                 times the rate in B that it had in A"
            );
            findings.add_reason(ReasonKind::Limit, words);
        }
        return;
    }
    for (side, summary) in [("A", a), ("B", b)] {
        if summary.plan.blocks.limit && summary.limit.is_none() {
            let words = format!("the limit responder has no rate in {side}");
            findings.add_reason(ReasonKind::MissingData, words);
        }
    }
}
