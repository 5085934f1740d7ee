//! Conformance suite against another implementation: Linux 6.1, with the reason of each case that
//! it does not pass (`conformance/dccp-linux-6.1.toml`).

use std::collections::BTreeSet;
use std::fmt;

use dccp_tools::conformance::catalog;
use serde::Deserialize;

use super::LinuxRunExtent;
use super::machine::{GUEST, VirtualMachine};
use super::process::ours;
use crate::dccp::document;

/// Cases whose names begin with this word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConformanceGroup(&'static str);

impl fmt::Display for ConformanceGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_lowercase())
    }
}

impl ConformanceGroup {
    /// Returns all groups in the order of the suite.
    pub(super) fn all() -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for case in catalog() {
            let group = Self(case.name.split('-').next().unwrap_or_default());
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// Returns the expected duration of the group in seconds, mostly waiting for packets that must
    /// not come.
    pub(super) fn expected_s(self) -> f64 {
        match self.0 {
            "FEAT" | "CON" | "SEQ" => 50.0,
            "OPT" | "CLS" => 20.0,
            "CSUM" | "ACK" | "HDR" => 10.0,
            _ => 3.0,
        }
    }

    fn has(self, case: &str) -> bool {
        case.split('-').next() == Some(self.0)
    }
}

/// Group in the test command.
pub(super) const SAMPLE: ConformanceGroup = ConformanceGroup("HDR");
/// Time to wait for packets that may not come, in seconds: in the test command, on a busy machine,
/// and in a round.
const SAMPLE_WAIT_S: u32 = 15;
const WHOLE_WAIT_S: u32 = 5;
/// Number of repetitions of its Request after which the kernel gives a connection up, the last 6 s
/// after the one before.
const REQUEST_RETRIES: usize = 2;

/// Cases that Linux does not pass.
#[derive(Deserialize)]
struct LinuxFailures {
    case: Vec<FailedCases>,
}

/// Cases with one reason.
#[derive(Deserialize)]
struct FailedCases {
    names: Vec<String>,
    why: String,
}

fn listed() -> BTreeSet<String> {
    let text = include_str!("../../../../../conformance/dccp-linux-6.1.toml");
    let verdicts: LinuxFailures = toml::from_str(text).expect("the file is whole");
    let mut listed = BTreeSet::new();
    for case in verdicts.case {
        assert!(case.why.contains('§'), "{:?} name no section", case.names);
        listed.extend(case.names);
    }
    listed
}

/// Runs the cases of a group and compares the verdicts.
pub(super) fn the_verdict_of_each_case_is_known(
    machine: &mut VirtualMachine,
    group: ConformanceGroup,
    extent: LinuxRunExtent,
) -> String {
    let listed: BTreeSet<String> = listed().into_iter().filter(|name| group.has(name)).collect();
    let retries = machine.run("sysctl -n net.dccp.default.request_retries").trim().to_owned();
    let set = |retries: &str| format!("sysctl -w net.dccp.default.request_retries={retries}");
    machine.run(&set(&REQUEST_RETRIES.to_string()));
    let command = "/godwit dccp conformance --listen --carrier kernel -4";
    machine.begin("listen", command, "istening");
    let file = machine.folder.path().join("verdicts.json");
    let words = format!(
        "dccp conformance --target {} --carrier raw --json {} --only {} --wait {}",
        GUEST[0],
        file.display(),
        group.0,
        if extent.is_whole() { WHOLE_WAIT_S } else { SAMPLE_WAIT_S }
    );
    let output = ours(machine, &words).output().expect("the binary runs");
    // Exit code 3: some case failed, as the file lists.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let report = document(&std::fs::read(file).expect("it was written"));
    machine.run("kill $(pidof godwit)");
    machine.end("listen");
    machine.run(&set(&retries));
    let cases = report["cases"].as_array().expect("a list");
    let mut wrong = Vec::new();
    for case in cases {
        let name = case["case"].as_str().expect("a name");
        let has_failed = case["verdict"] == "fail";
        if has_failed != listed.contains(name) {
            wrong.push(format!("{case:#}"));
        }
    }
    let [passed, failed] = ["passed", "failed"].map(|count| &report[count]);
    assert!(
        wrong.is_empty(),
        "not as conformance/dccp-linux-6.1.toml lists:\n{}",
        wrong.join("\n")
    );
    format!("{passed} passed, {failed} failed of {}", cases.len())
}

#[test]
fn every_listed_case_of_linux_exists() {
    let unknown: Vec<String> =
        listed().into_iter().filter(|name| !catalog().any(|case| case.name == name)).collect();
    assert!(unknown.is_empty(), "no such cases: {unknown:?}");
}
