//! Version that programs see, and state of the server.

use std::collections::BTreeSet;
use std::process::Command;

use scenario::ScenarioFamily;
use serde_json::{Value, json};
use testbed::Debian13;

use super::{answer, daemon};
use crate::common::{TempFolder, has_debian_13};
use crate::subjects::process::ServerMake;

/// Keys of `status-get` that Kea 3.0 does not have, each with the reason why Godwit has it.
const FURTHER_KEYS: [(&str, &str); 2] =
    [("csv-lease-file", "later versions of Kea have it"), ("lease-file-size", "Godwit's own")];

/// Returns the output of the server of `family` of `make` with `flag`.
fn printed(make: ServerMake, family: ScenarioFamily, flag: &str) -> String {
    let number = if family == ScenarioFamily::V4 { 4 } else { 6 };
    let folder = TempFolder::new("version");
    let mut command = match make {
        ServerMake::Godwit => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
            command.arg(format!("dhcp{number}"));
            command
        }
        _ => {
            let debian = Debian13::find().expect("it was looked for");
            debian.command(folder.path(), &format!("kea-dhcp{number}")).to_command()
        }
    };
    let output = command.arg(flag).output().expect("the server can be started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the numbers of a version, such as `3.0.3`, at the beginning of a text.
fn numbers(text: &str) -> Vec<u32> {
    let version = text.split([' ', '\n']).next().unwrap_or_default();
    version.split('.').map(|number| number.parse().expect("numbers alone")).collect()
}

#[test]
fn the_version_is_a_level_of_the_kea_that_runs_beside_it() {
    if !has_debian_13() {
        return;
    }
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        let [short, long] = ["-v", "-V"].map(|flag| printed(ServerMake::Godwit, family, flag));
        let kea = printed(ServerMake::Kea3, family, "-v");
        let (ours, theirs) = (numbers(&short), numbers(&kea));
        // A later repair release of Kea has the same level.
        assert!(ours[..2] == theirs[..2] && ours <= theirs, "{short} {kea}");
        let kea_long = printed(ServerMake::Kea3, family, "-V");
        for (text, version) in [(&long, &short), (&kea_long, &kea)] {
            assert!(text.starts_with(&format!("{} (", version.trim_end())), "{text}");
        }
        let lease_backend = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("- Memfile backend "));
            line.map(str::to_owned)
        };
        assert_eq!(lease_backend(&long), lease_backend(&kea_long));
        assert!(long.contains(&format!("(godwit {}", env!("CARGO_PKG_VERSION"))), "{long}");
        let shown = answer(
            &mut daemon(ServerMake::Godwit, family, ""),
            &json!({ "command": "version-get" }),
        );
        let expected = json!({
            "result": 0, "text": short.trim_end(), "arguments": { "extended": long.trim_end() },
        });
        assert_eq!(shown, expected);
    }
}

/// Returns the backends in an extended version, each as its heading and its name. Those of
/// databases have the version of their tables and the one of a library.
fn backends(extended: &str) -> BTreeSet<(String, String)> {
    let (mut heading, mut found) = (String::new(), BTreeSet::new());
    for line in extended.lines() {
        let Some(backend) = line.strip_prefix("- ") else {
            line.clone_into(&mut heading);
            continue;
        };
        let Some((name, versions)) = backend.split_once(" backend ") else { continue };
        if name != "Memfile" {
            let (tables, library) = versions.split_once(", library ").expect("two versions");
            assert!(numbers(tables).len() == 2 && !library.is_empty(), "{line}");
        }
        found.insert((heading.clone(), name.to_owned()));
    }
    found
}

#[test]
fn backends_are_named_as_kea_3_names_those_of_its_libraries() {
    if !has_debian_13() {
        return;
    }
    let libraries =
        ["mysql", "pgsql"].map(|name| json!({ "library": format!("libdhcp_{name}.so") }));
    let config = format!("\"hooks-libraries\": {}, ", json!(libraries));
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        let [mut ours, mut keas] = [ServerMake::Godwit, ServerMake::Kea3].map(|make| {
            let answer =
                answer(&mut daemon(make, family, &config), &json!({ "command": "version-get" }));
            backends(answer["arguments"]["extended"].as_str().expect("a text"))
        });
        // Kea has no SQLite, and Godwit no legal log.
        ours.retain(|(_, name)| name != "SQLite");
        keas.retain(|(heading, _)| heading != "forensic backends:");
        assert!(keas.contains(&("host backends:".to_owned(), "MySQL".to_owned())), "{keas:?}");
        assert_eq!(ours, keas);
    }
}

/// Collects the keys of `value` with the names of their types; keys of inner maps follow a dot.
fn keys(value: &Value, above: &str, keys_found: &mut BTreeSet<(String, &'static str)>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let kind = match inner {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "real",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "list",
            Value::Object(_) => "map",
        };
        keys_found.insert((format!("{above}{key}"), kind));
        keys(inner, &format!("{above}{key}."), keys_found);
    }
}

#[test]
fn the_state_has_every_key_of_kea_3_and_no_other() {
    if !has_debian_13() {
        return;
    }
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        for threads in ["false", "true, \"thread-pool-size\": 3, \"packet-queue-size\": 17"] {
            let config =
                format!("\"multi-threading\": {{ \"enable-multi-threading\": {threads} }}, ");
            let state = |make| {
                let mut daemon = daemon(make, family, &config);
                let disable = answer(&mut daemon, &json!({ "command": "dhcp-disable" }));
                assert_eq!(disable["result"], 0, "{disable}");
                answer(&mut daemon, &json!({ "command": "status-get" }))
            };
            let (ours, kea) = (state(ServerMake::Godwit), state(ServerMake::Kea3));
            let [mut own, mut theirs] = [BTreeSet::new(), BTreeSet::new()];
            keys(&ours, "", &mut own);
            keys(&kea, "", &mut theirs);
            let further = |key: &str| {
                let key = key.strip_prefix("arguments.").unwrap_or_default();
                FURTHER_KEYS.iter().any(|(name, _)| *name == key)
            };
            theirs.retain(|(key, _)| !further(key));
            own.retain(|(key, _)| !further(key));
            assert_eq!(own, theirs, "{config}");
            // These keys do not differ by nature, so they are equal.
            for key in [
                "dhcp-state",
                "extended-info-tables",
                "multi-threading-enabled",
                "packet-queue-size",
                "packet-queue-statistics",
                "sockets",
                "thread-pool-size",
            ] {
                assert_eq!(ours["arguments"][key], kea["arguments"][key], "{key}: {config}");
            }
            let file = ours["arguments"]["csv-lease-file"].as_str().unwrap_or_default();
            assert!(file.ends_with("/leases.csv"), "{file}");
        }
    }
}
