//! Verdicts for people and for programs.

use dccp_link::ServiceCode;
use serde::Serialize;

use super::Listed;
use super::verdict::{Outcome, Verdict};
use super::wire::Target;

/// Schema version of the documents.
const SCHEMA_VERSION: u32 = 1;

/// Most packets of a failed case that are printed.
const SHOWN_MAX: usize = 30;

#[derive(Debug, Serialize)]
struct Document<'a> {
    tool: &'static str,
    schema_version: u32,
    target: String,
    carrier: String,
    port: u16,
    service_code: String,
    passed: usize,
    failed: usize,
    not_applicable: usize,
    cases: &'a [Outcome],
}

/// Lists the cases with their requirements, one on a line.
pub(super) fn list(cases: impl Iterator<Item = Listed>) -> String {
    let mut text = String::new();
    for Listed { name, section, requirement, inside } in cases {
        let scope =
            inside.map_or_else(|| "outside".to_owned(), |why| format!("inside only: {why}"));
        text += &format!("{name:<8} {section}: {requirement} [{scope}]\n");
    }
    text
}

/// Prints one verdict; for a failure, with all details to investigate it.
pub(super) fn line(outcome: &Outcome) -> String {
    let Outcome { case, section, requirement, .. } = outcome;
    match &outcome.verdict {
        Verdict::Pass => format!("pass {case:<8} {section}: {requirement}\n"),
        Verdict::NotApplicable { why } => format!("n/a  {case:<8} {section}: {why}\n"),
        Verdict::Fail { expected, came } => {
            let mut text = format!("FAIL {case:<8} {section}: {requirement}\n");
            text += &format!("       expected: {expected}\n       came: {came}\n");
            let hidden = outcome.packets.len().saturating_sub(SHOWN_MAX);
            if hidden > 0 {
                text += &format!("       {hidden} packets before these (--json FILE has all)\n");
            }
            for line in &outcome.packets[hidden..] {
                let arrow = if line.from_target { '<' } else { '>' };
                text += &format!("       {arrow} {}\n", line.packet);
            }
            text
        }
    }
}

fn counts(outcomes: &[Outcome]) -> [usize; 3] {
    let count = |is_it: fn(&Verdict) -> bool| outcomes.iter().filter(|o| is_it(&o.verdict)).count();
    [
        count(|verdict| matches!(verdict, Verdict::Pass)),
        count(|verdict| matches!(verdict, Verdict::Fail { .. })),
        count(|verdict| matches!(verdict, Verdict::NotApplicable { .. })),
    ]
}

/// Prints the count of each verdict.
pub(super) fn summary(outcomes: &[Outcome]) -> String {
    let [passed, failed, not_applicable] = counts(outcomes);
    format!("{passed} passed, {failed} failed, {not_applicable} not applicable\n")
}

/// Returns all verdicts as JSON.
pub(super) fn document(target: &Target, service_code: ServiceCode, outcomes: &[Outcome]) -> String {
    let [passed, failed, not_applicable] = counts(outcomes);
    let document = Document {
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
