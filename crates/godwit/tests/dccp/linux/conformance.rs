//! The conformance suite on an implementation that is not ours: Linux 6.1, with the reason of each
//! case that it does not pass (`conformance/dccp-linux-6.1.toml`).

use std::collections::BTreeSet;

use serde::Deserialize;

use super::machine::{GUEST, Machine};
use super::process::ours;
use crate::crash::from_environment;
use crate::dccp::document;

/// Cases in the test command, and how long they wait for what may not come, in seconds.
const SAMPLE: &str = "--only HDR --wait 15";
/// The same of the whole suite.
const WHOLE: &str = "--wait 5";
/// The kernel gives a connection up after this many repetitions of its Request, the last 6 s after
/// the one before.
const REQUEST_RETRIES: usize = 2;

/// Cases that Linux does not pass.
#[derive(Deserialize)]
struct Verdicts {
    case: Vec<Listed>,
}

/// Cases with one reason.
#[derive(Deserialize)]
struct Listed {
    names: Vec<String>,
    why: String,
}

fn listed() -> BTreeSet<String> {
    let text = include_str!("../../../../../conformance/dccp-linux-6.1.toml");
    let verdicts: Verdicts = toml::from_str(text).expect("the file is whole");
    let mut listed = BTreeSet::new();
    for case in verdicts.case {
        assert!(case.why.contains('§'), "{:?} name no section", case.names);
        listed.extend(case.names);
    }
    listed
}

/// Runs the suite and compares.
pub(super) fn the_verdict_of_each_case_is_known(machine: &mut Machine) -> String {
    let listed = listed();
    machine.run(&format!("sysctl -w net.dccp.default.request_retries={REQUEST_RETRIES}"));
    let command = "/godwit dccp conformance --listen --carrier kernel -4";
    machine.begin("listen", command, "istening");
    let is_whole = from_environment("GODWIT_DCCP_LINUX_ROUNDS", 0) > 0;
    let file = machine.folder.path().join("verdicts.json");
    let words = format!(
        "dccp conformance --target {} --carrier raw --json {} {}",
        GUEST[0],
        file.display(),
        if is_whole { WHOLE } else { SAMPLE }
    );
    let output = ours(machine, &words).output().expect("the binary runs");
    // 3: some case failed, which is what the file lists.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let report = document(&std::fs::read(file).expect("it was written"));
    machine.run("kill $(pidof godwit)");
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
    let unknown: Vec<_> =
        listed.iter().filter(|name| !cases.iter().any(|case| case["case"] == **name)).collect();
    assert!(!is_whole || unknown.is_empty(), "no such cases: {unknown:?}");
    format!("{passed} passed, {failed} failed of {}", cases.len())
}
