//! Comparison of Godwit and Kea 3 as seen by programs that manage Kea: version, state, and answers
//! to commands.

mod clients;
mod commands;
mod ddns_tuning;
mod exporter;
mod lease_lines;
mod lease_query;
mod shell;
mod start;
mod stork;
mod tools;
mod version;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::Value;

use crate::common::PATIENCE;
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Starts `make` with the members `config` and a control socket, unless these contain one.
fn daemon(make: ServerMake, family: ScenarioFamily, config: &str) -> Daemon {
    // Kea's DHCPv6 server makes no identifier if loopback is the only interface.
    let identifier = r#""server-id": { "type": "EN", "enterprise-id": 1, "identifier": "0102" }, "#;
    let identifier = if family == ScenarioFamily::V6 { identifier } else { "" };
    let config = &format!("{identifier}{config}");
    let has_commands = !config.contains("\"control-sockets\"");
    let setup = Setup { family, config, has_commands, persists: true, link: None };
    Daemon::start(make, setup, 0, PATIENCE).unwrap_or_else(|why| panic!("{make:?}: {why}"))
}

/// Sends `command` to `daemon` and returns the answer.
fn answer(daemon: &mut Daemon, command: &Value) -> Value {
    let text = daemon.command(&command.to_string()).expect("the daemon takes commands");
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{command}: {why}: {text}"))
}

/// Sends `command` to the unix socket `path` and returns the answer.
fn answer_of(path: &Path, command: &Value) -> Value {
    let mut stream = UnixStream::connect(path).expect("the server takes commands");
    stream.write_all(command.to_string().as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    serde_json::from_str(&answer).expect("an answer is JSON")
}
