//! Tests of identical commands to Godwit and to Kea 3: every one that both list, with arguments of
//! each type, and those of `conformance/commands`. Result codes and the keys of `arguments` agree,
//! or a verdict in `conformance/commands/verdicts.toml` says why not.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use scenario::{DeviationReason, ScenarioFamily, is_like};
use serde_json::{Value, json};

use super::{answer, daemon};
use crate::common::has_debian_13;
use crate::common::manual::running_text;
use crate::subjects::process::{Daemon, ServerMake};

/// Hook libraries that add commands.
const LIBRARIES: [&str; 5] = ["class_cmds", "host_cmds", "lease_cmds", "stat_cmds", "subnet_cmds"];

/// Command of Kea that Godwit lacks, because it has no DHCPv4 over DHCPv6.
const NOT_HERE: &str = "subnet4o6-select-test";

/// Difference, or command that is not sent, with its verdict.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandVerdict {
    command: String,
    /// Reason not to send the command.
    skipped: Option<Skipped>,
    #[serde(default)]
    differences: Vec<String>,
    verdict: DeviationReason,
    /// Words of the manual that inform users, unless later versions of Kea do the same.
    manual: Option<String>,
    note: String,
}

impl CommandVerdict {
    /// Returns true if users can read about the difference: in `manual`, or, if Kea has changed
    /// since, in the note, which names the version.
    fn is_told(&self, manual: &str) -> bool {
        match (self.verdict, &self.manual) {
            (DeviationReason::Newer, None) => self.note.contains("Kea 3."),
            (DeviationReason::Bug | DeviationReason::Ours, Some(words)) => {
                manual.contains(words.as_str())
            }
            _ => false,
        }
    }

    /// Returns true if the entry is about the command `name`, of either family.
    pub(super) fn is_of(&self, name: &str) -> bool {
        ["4", "6"].iter().any(|number| self.command.replace('#', number) == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
enum Skipped {
    #[serde(rename = "without arguments")]
    WithoutArguments,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandVerdicts {
    verdict: Vec<CommandVerdict>,
}

pub(super) fn conformance(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/commands");
    fs::read_to_string(folder.join(name)).expect("it is part of the repository")
}

/// Returns the members of a configuration with a subnet, a shared network with another subnet, a
/// reservation and a class.
pub(super) fn configuration(family: ScenarioFamily) -> String {
    let libraries = LIBRARIES.map(|name| json!({ "library": format!("libdhcp_{name}.so") }));
    let (own, other, host, further) = match family {
        ScenarioFamily::V4 => (
            json!({ "subnet": "10.0.0.0/24", "pools": [{ "pool": "10.0.0.10 - 10.0.0.20" }] }),
            "10.0.1.0/24",
            json!({ "hw-address": "01:02:03:04:05:06", "ip-address": "10.0.0.5" }),
            json!({}),
        ),
        ScenarioFamily::V6 => (
            json!({ "subnet": "2001:db8:1::/64",
                    "pools": [{ "pool": "2001:db8:1::10 - 2001:db8:1::20" }] }),
            "2001:db8:2::/64",
            json!({ "duid": "01:02:03:04:05", "ip-addresses": ["2001:db8:1::5"] }),
            json!({ "prefix": "2001:db8:f::", "prefix-len": 48, "delegated-len": 56 }),
        ),
    };
    let (mut own, mut host) = (own, host);
    host["hostname"] = json!("h");
    own["id"] = json!(1);
    own["reservations"] = json!([host]);
    if family == ScenarioFamily::V6 {
        own["pd-pools"] = json!([further]);
    }
    let key = if family == ScenarioFamily::V4 { "subnet4" } else { "subnet6" };
    let network = json!({ "name": "n", key: [{ "id": 2, "subnet": other }] });
    let class = json!({ "name": "a", "test": "member('KNOWN')" });
    format!(
        "\"multi-threading\": {{ \"enable-multi-threading\": false }}, \
         \"hooks-libraries\": {}, \"client-classes\": {}, \"{key}\": {}, \"shared-networks\": {}",
        json!(libraries),
        json!([class]),
        json!([own]),
        json!([network])
    )
}

/// Collects the keys of `value`; keys of inner maps and lists follow a dot.
fn keys(value: &Value, above: &str, keys_found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                keys_found.insert(format!("{above}{key}"));
                keys(inner, &format!("{above}{key}."), keys_found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, above, keys_found)),
        _ => {}
    }
}

/// Returns the differences between the two answers.
pub(super) fn differences(ours: &Value, keas: &Value) -> Vec<String> {
    let mut keys_found = Vec::new();
    if ours["result"] != keas["result"] {
        keys_found.push(format!("result {} {}", ours["result"], keas["result"]));
    }
    let [mut own, mut theirs] = [BTreeSet::new(), BTreeSet::new()];
    keys(&ours["arguments"], "", &mut own);
    keys(&keas["arguments"], "", &mut theirs);
    keys_found.extend(own.difference(&theirs).map(|key| format!("has {key}")));
    keys_found.extend(theirs.difference(&own).map(|key| format!("lacks {key}")));
    keys_found
}

/// Returns the commands to send: those that both servers list, with arguments of each type, and
/// those of the file.
fn commands(
    family: ScenarioFamily,
    both: &mut [Daemon; 2],
    verdicts: &[CommandVerdict],
) -> Vec<Value> {
    let listed = both.each_mut().map(|daemon| {
        let names = answer(daemon, &json!({ "command": "list-commands" }));
        let names = names["arguments"].as_array().expect("a list").clone();
        names.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
    });
    let [ours, keas]: [BTreeSet<String>; 2] = listed;
    let file = match family {
        ScenarioFamily::V4 => "dhcp4.jsonl",
        ScenarioFamily::V6 => "dhcp6.jsonl",
    };
    let lacks = |name: &&String| **name != NOT_HERE;
    assert_eq!(keas.difference(&ours).filter(lacks).collect::<Vec<_>>(), [""; 0]);
    let is_skipped =
        |name: &str| verdicts.iter().any(|entry| entry.skipped.is_some() && entry.is_of(name));
    let mut sent = Vec::new();
    let is_sent = |name: &&String| *name != "shutdown";
    for name in ours.intersection(&keas).filter(is_sent) {
        if !is_skipped(name) {
            sent.push(json!({ "command": name }));
        }
        for arguments in [json!({}), json!([]), json!(7), json!({ "x": 1 })] {
            sent.push(json!({ "command": name, "arguments": arguments }));
        }
    }
    let lines = conformance(file);
    sent.extend(lines.lines().map(|line| serde_json::from_str(line).expect("JSON in each line")));
    // Removed statistics come back at another time in Kea.
    sent.sort_by_key(|command| command["command"] == "statistic-remove-all");
    sent.push(json!({ "command": "shutdown", "arguments": { "exit-value": "x" } }));
    sent.push(json!({ "command": "shutdown" }));
    sent
}

/// Returns the number of the verdict on `difference` in the answers to the command `name`.
pub(super) fn verdict_on(
    verdicts: &[CommandVerdict],
    family: ScenarioFamily,
    name: &str,
    difference: &str,
) -> Option<usize> {
    let number = if family == ScenarioFamily::V4 { "4" } else { "6" };
    let is_about = |entry: &CommandVerdict| {
        let mut patterns = entry.differences.iter().map(|pattern| pattern.replace('#', number));
        entry.is_of(name) && patterns.any(|pattern| is_like(difference, &pattern))
    };
    verdicts.iter().position(is_about)
}

/// Returns the verdicts of the repository.
pub(super) fn verdicts() -> Vec<CommandVerdict> {
    let CommandVerdicts { verdict } =
        toml::from_str(&conformance("verdicts.toml")).unwrap_or_else(|error| panic!("{error}"));
    verdict
}

#[test]
fn commands_are_answered_as_kea_3_answers_them() {
    if !has_debian_13() {
        return;
    }
    let verdicts = verdicts();
    assert!(verdicts.iter().all(|entry| !entry.note.is_empty()));
    let manual = running_text("commands.md");
    let untold: Vec<_> = verdicts.iter().filter(|entry| !entry.is_told(&manual)).collect();
    assert!(untold.is_empty(), "verdicts that the manual does not have: {untold:?}");
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        let config = configuration(family);
        let mut both =
            [ServerMake::Godwit, ServerMake::Kea3].map(|make| daemon(make, family, &config));
        let sent = commands(family, &mut both, &verdicts);
        assert!(sent.len() > 300, "{}", sent.len());
        for command in sent {
            let [ours, keas] = both.each_mut().map(|daemon| answer(daemon, &command));
            for difference in differences(&ours, &keas) {
                let name = command["command"].as_str().unwrap_or_default();
                match verdict_on(&verdicts, family, name, &difference) {
                    Some(at) => drop(used.insert(at)),
                    None => faults.push(format!("{command}: {difference}: {ours} {keas}")),
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    let is_unused =
        |(at, entry): &(usize, &CommandVerdict)| entry.skipped.is_none() && !used.contains(at);
    let unused: Vec<_> = verdicts.iter().enumerate().filter(is_unused).collect();
    assert!(unused.is_empty(), "verdicts without a difference: {unused:?}");
}
