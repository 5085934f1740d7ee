//! Verdicts of the conformance suite, as text for users and as JSON for programs.

use dccp_link::ServiceCode;
use serde::Serialize;

use super::ConformanceCaseEntry;
use super::verdict::{ConformanceCaseResult, ConformanceVerdict};
use super::wire::ConformanceTarget;

/// Schema version of the JSON documents of `dccp conformance`.
const SCHEMA_VERSION: u32 = 1;

/// Largest number of packets of a failed case that are printed.
const PACKETS_MAX: usize = 30;

#[derive(Debug, Serialize)]
struct ConformanceDocument<'a> {
    tool: &'static str,
    schema_version: u32,
    target: String,
    carrier: String,
    port: u16,
    service_code: String,
    passed: usize,
    failed: usize,
    not_applicable: usize,
    cases: &'a [ConformanceCaseResult],
}

/// Returns a list of the cases with their requirements, one case per line.
pub(super) fn list(cases: impl Iterator<Item = ConformanceCaseEntry>) -> String {
    let mut text = String::new();
    for ConformanceCaseEntry { name, section, requirement, untestable_reason: inside } in cases {
        let scope = inside.map_or_else(
            || "outside".to_owned(),
            |why| format!("not testable from outside: {why}"),
        );
        text += &format!("{name:<8} {section}: {requirement} [{scope}]\n");
    }
    text
}

/// Returns the verdict on one case as text; for a failure, with the packets of the case.
pub(super) fn line(outcome: &ConformanceCaseResult) -> String {
    let ConformanceCaseResult { case, section, requirement, .. } = outcome;
    match &outcome.verdict {
        ConformanceVerdict::Pass => format!("pass {case:<8} {section}: {requirement}\n"),
        ConformanceVerdict::NotApplicable { why } => format!("n/a  {case:<8} {section}: {why}\n"),
        ConformanceVerdict::Fail { expected, came } => {
            let mut text = format!("FAIL {case:<8} {section}: {requirement}\n");
            text += &format!("       expected: {expected}\n       received: {came}\n");
            let hidden = outcome.packets.len().saturating_sub(PACKETS_MAX);
            if hidden > 0 {
                text += &format!(
                    "       {hidden} earlier packets are not shown (--json FILE has all)\n"
                );
            }
            for line in &outcome.packets[hidden..] {
                let arrow = if line.from_target { '<' } else { '>' };
                text += &format!("       {arrow} {}\n", line.packet);
            }
            text
        }
    }
}

fn counts(outcomes: &[ConformanceCaseResult]) -> [usize; 3] {
    let count = |is_it: fn(&ConformanceVerdict) -> bool| {
        outcomes.iter().filter(|o| is_it(&o.verdict)).count()
    };
    [
        count(|verdict| matches!(verdict, ConformanceVerdict::Pass)),
        count(|verdict| matches!(verdict, ConformanceVerdict::Fail { .. })),
        count(|verdict| matches!(verdict, ConformanceVerdict::NotApplicable { .. })),
    ]
}

/// Returns a line with the count of each verdict.
pub(super) fn summary(outcomes: &[ConformanceCaseResult]) -> String {
    let [passed, failed, not_applicable] = counts(outcomes);
    format!("{passed} passed, {failed} failed, {not_applicable} not applicable\n")
}

/// Returns all verdicts as a JSON document.
pub(super) fn document(
    target: &ConformanceTarget,
    service_code: ServiceCode,
    outcomes: &[ConformanceCaseResult],
) -> String {
    let [passed, failed, not_applicable] = counts(outcomes);
    let document = ConformanceDocument {
        tool: "godwit dccp conformance",
        schema_version: SCHEMA_VERSION,
        target: target.scoped().to_string(),
        carrier: target.carrier.name().to_owned(),
        port: target.port,
        service_code: service_code.to_string(),
        passed,
        failed,
        not_applicable,
        cases: outcomes,
    };
    serde_json::to_string_pretty(&document).expect("strings and numbers are JSON") + "\n"
}
