//! Tests with the requests of Stork, ISC's program that manages Kea: Godwit answers each request of
//! its agent and server as Kea 3 does. `conformance/commands/stork*.jsonl` contain them, as Stork's
//! source writes them (`backend/daemonctrl/kea`), and as Stork 2.5.1 sent them
//! (`docs/book/stork.md`); addresses are those of the test.

use scenario::ScenarioFamily;
use serde_json::{Value, json};
use testbed::database::DatabaseEngine;

use super::commands::{configuration, conformance, differences, verdict_on, verdicts};
use super::{answer, daemon};
use crate::common::has_debian_13;
use crate::subjects::process::{Daemon, ServerMake};
use crate::twins::tables::TwinDatabaseServers;

/// Commands that Kea has since 3.1, which Stork sends if a server lists them.
const LATER: [&str; 2] = ["lease4-get-by-state", "lease6-get-by-state"];

/// Both servers that are compared.
const MAKES: [ServerMake; 2] = [ServerMake::Godwit, ServerMake::Kea3];

/// Returns the requests of the file `name`.
fn requests(name: &str) -> Vec<Value> {
    let text = conformance(name);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON in each line")).collect()
}

#[test]
fn requests_of_stork_are_answered_as_kea_3_answers_them() {
    if !has_debian_13() {
        return;
    }
    let verdicts = verdicts();
    let mut faults = Vec::new();
    for (family, file) in
        [(ScenarioFamily::V4, "stork4.jsonl"), (ScenarioFamily::V6, "stork6.jsonl")]
    {
        let config = configuration(family);
        let mut both = MAKES.map(|make| daemon(make, family, &config));
        let requests = requests(file);
        assert!(requests.len() > 30, "{}", requests.len());
        for request in requests {
            let [ours, keas] = both.each_mut().map(|daemon| answer_to(daemon, &request));
            let name = request["command"].as_str().unwrap_or_default();
            for difference in differences(&ours, &keas) {
                let is_known = LATER.contains(&name)
                    || verdict_on(&verdicts, family, name, &difference).is_some();
                if !is_known {
                    faults.push(format!("{request}: {difference}: {ours} {keas}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn requests_of_stork_about_reservations_of_databases_are_answered_as_kea_3_answers_them() {
    if !has_debian_13() {
        return;
    }
    let databases = TwinDatabaseServers::default();
    for engine in DatabaseEngine::ALL {
        if let Some(reason) = engine.missing() {
            testkit::skip(reason);
            return;
        }
        for (family, file) in
            [(ScenarioFamily::V4, "stork-hosts4.jsonl"), (ScenarioFamily::V6, "stork-hosts6.jsonl")]
        {
            let config = configuration(family) + r#", "hosts-databases": [ { @database@ } ]"#;
            let mut both = MAKES.map(|make| {
                let tables = databases.make_tables(engine);
                daemon(make, family, &tables.add_to(&config))
            });
            let requests = requests(file);
            assert!(requests.len() > 20, "{}", requests.len());
            for request in requests {
                let [ours, keas] = both.each_mut().map(|daemon| answer_to(daemon, &request));
                assert_eq!(ours, keas, "{engine:?}: {request}");
            }
        }
    }
}

/// Sends `request` to `daemon` and returns the answer. Stork's `config-set` has the configuration
/// that the daemon showed, without its hash.
fn answer_to(daemon: &mut Daemon, request: &Value) -> Value {
    let mut request = request.clone();
    if request["command"] == "config-set" {
        let mut shown = answer(daemon, &json!({ "command": "config-get" }));
        request["arguments"] = shown["arguments"].take();
        request["arguments"].as_object_mut().expect("a configuration").remove("hash");
    }
    answer(daemon, &request)
}
