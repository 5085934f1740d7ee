//! Commands that are the same as in Kea by the manual: a scenario or a test sends each of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::manual::{page, quoted, rows};
use crate::subjects;

/// Folders below `crates` of the tests that send commands over a socket or to the control channel's
/// core.
const SENDERS: [&str; 3] = ["dhcp-control/tests", "godwit/tests", "dhcp-server/src/control"];

/// Returns the names of the commands that scenarios send.
fn sent_by_scenarios() -> BTreeSet<String> {
    let scenarios = subjects::all();
    let steps = scenarios.iter().flat_map(|named| &named.scenario.steps);
    let commands = steps.filter_map(|step| {
        let command: Value = serde_json::from_str(step.command.as_deref()?).ok()?;
        Some(command.get("command")?.as_str()?.to_owned())
    });
    commands.collect()
}

/// Returns the names of the commands that tests send: as JSON, `"command": "NAME"`; as the first
/// argument of a function, `("NAME",`; as the first item of a row of their tables, `["NAME",`, with
/// `#` for either family.
fn sent_by_tests() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for folder in SENDERS {
        let mut files = Vec::new();
        collect(&crates.join(folder), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("it was just listed");
            let is_table = file.extension().is_some_and(|ending| ending == "jsonl");
            let starts = if is_table { &["["][..] } else { &["\"command\":", "("] };
            for start in starts {
                names.extend(text.split(start).skip(1).filter_map(first_word));
            }
        }
    }
    names.iter().flat_map(|name| ["4", "6"].map(|digit| name.replace('#', digit))).collect()
}

/// Returns the text in quotes, possibly escaped, at the beginning of `rest`.
fn first_word(rest: &str) -> Option<String> {
    let rest = rest.trim_start().trim_start_matches('\\').strip_prefix('"')?;
    let name = rest.split(['"', '\\']).next()?;
    Some(name.to_owned())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the tests are there") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "jsonl") {
            files.push(path);
        }
    }
}

#[test]
fn every_command_that_is_the_same_is_sent() {
    let sent = &sent_by_scenarios() | &sent_by_tests();
    let page = page("commands.md");
    let mut unsent = BTreeSet::new();
    for row in rows(&page, "Command").iter().filter(|row| row[1].starts_with("same")) {
        for name in quoted(row[0]) {
            let of_families = ["4", "6"].map(|digit| name.replace('#', digit));
            unsent.extend(of_families.into_iter().filter(|name| !sent.contains(name)));
        }
    }
    assert!(unsent.is_empty(), "nothing sends {unsent:#?}");
}
