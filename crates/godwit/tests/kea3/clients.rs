//! Tests with third-party clients of Kea from PyPI: the results of the calls that `clients.py`
//! makes have the same shape from Godwit as from Kea 3. `cargo xtask test setup` installs the
//! clients.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use scenario::ScenarioFamily;
use serde_json::json;

use super::{commands, daemon};
use crate::common::{free_port, has_debian_13, run_bounded};
use crate::subjects::process::{CREDENTIALS, SOCKETS_MARK, ServerMake};

pub(super) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kea3/clients.py");

/// Clients, each with its virtual environment.
const CLIENTS: [(&str, &str); 4] = [
    ("kea-exporter", "first"),
    ("netbox-kea-ng", "first"),
    ("pyisckea", "first"),
    ("pykeadhcp", "second"),
];

/// Calls whose answers have more or fewer keys than those of Kea 3.0: `commands.rs` compares them
/// key by key.
const COMPARED_ELSEWHERE: [&str; 4] =
    ["config_get", "network4_get", "network6_get", "statistic_get_all"];

/// Returns the folder of the clients: the one in the variable, or one in the build folder.
pub(super) fn folder() -> Option<PathBuf> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("kea-clients");
    let folder = std::env::var_os("GODWIT_KEA_CLIENTS").map_or(build, PathBuf::from);
    folder.join("packages").exists().then_some(folder)
}

/// Returns the output of `clients.py` for `client` with a fresh server of `make`.
fn printed(python: &Path, client: &str, make: ServerMake, family: ScenarioFamily) -> Vec<String> {
    let port = free_port();
    let authentication = json!({
        "type": "basic", "realm": "x", "directory": SOCKETS_MARK,
        "clients": [{ "password-file": CREDENTIALS }],
    });
    let sockets = json!([
        { "socket-type": "unix", "socket-name": format!("{SOCKETS_MARK}/control") },
        { "socket-type": "http", "socket-address": "127.0.0.1", "socket-port": port,
          "authentication": authentication },
    ]);
    let config = format!("\"control-sockets\": {sockets}, {}", commands::configuration(family));
    let daemon = daemon(make, family, &config);
    let mut command = Command::new(python);
    command.args(["-B", SCRIPT, client, &format!("http://127.0.0.1:{port}"), "user", "password"]);
    command.arg(daemon.control_path()).arg(if family == ScenarioFamily::V4 { "4" } else { "6" });
    let output = run_bounded(&mut command);
    let text = String::from_utf8(output.stdout).expect("text");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{client} {make:?}: {text}{output_text}");
    text.lines().map(str::to_owned).collect()
}

/// Returns the lines that `client` prints differently for Godwit and for Kea.
fn differing(client: &str, ours: &[String], keas: &[String]) -> Vec<String> {
    if client == "kea-exporter" {
        // Statistics that the exporter does not know, and those that later versions of Kea have, do
        // not count.
        let own: BTreeSet<_> = ours.iter().collect();
        let metrics = keas.iter().filter(|line| line.starts_with("kea_"));
        assert!(metrics.clone().count() > 20, "{keas:?}");
        return metrics.filter(|line| !own.contains(line)).cloned().collect();
    }
    assert!(keas.iter().any(|line| !line.contains("raises")), "{keas:?}");
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let names = |lines: &[String]| lines.iter().map(|line| name(line)).collect::<Vec<_>>();
    assert_eq!(names(ours), names(keas));
    let pairs = ours.iter().zip(keas);
    let differ =
        pairs.filter(|(own, kea)| own != kea && !COMPARED_ELSEWHERE.contains(&name(own).as_str()));
    differ.map(|(own, kea)| format!("{own}\n    Kea: {kea}")).collect()
}

#[test]
fn clients_by_others_get_what_kea_3_gives_them() {
    if !has_debian_13() {
        return;
    }
    let Some(folder) = folder() else {
        testkit::skip_even_if_required(
            "no clients of Kea from PyPI; `cargo xtask test setup` installs them",
        );
        return;
    };
    let mut faults = Vec::new();
    for (client, environment) in CLIENTS {
        let python = folder.join(environment).join("bin/python");
        for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
            let [ours, keas] = [ServerMake::Godwit, ServerMake::Kea3]
                .map(|make| printed(&python, client, make, family));
            let found = differing(client, &ours, &keas);
            faults.extend(found.into_iter().map(|fault| format!("{client} {family:?}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
