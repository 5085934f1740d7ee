//! What programs that manage Kea see of Godwit, beside Kea 3: its version, its state, and what its
//! commands answer.

mod clients;
mod commands;
mod exporter;
mod lease_lines;
mod shell;
mod start;
mod stork;
mod tools;
mod version;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use scenario::{Family, Subject};
use serde_json::Value;

use crate::common::PATIENCE;
use crate::subjects::process::{Daemon, Make, Setup};

/// Starts `make` with the members `config` and a control socket, unless these name some.
fn daemon(make: Make, family: Family, config: &str) -> Daemon {
    // A DHCPv6 server of Kea has no identifier where loopback is the only interface.
    let identifier = r#""server-id": { "type": "EN", "enterprise-id": 1, "identifier": "0102" }, "#;
    let identifier = if family == Family::V6 { identifier } else { "" };
    let config = &format!("{identifier}{config}");
    let has_commands = !config.contains("\"control-sockets\"");
    let setup = Setup { family, config, has_commands, persists: true, link: None };
    Daemon::start(make, setup, 0, PATIENCE).unwrap_or_else(|why| panic!("{make:?}: {why}"))
}

/// The answer of `daemon` to `command`.
fn answer(daemon: &mut Daemon, command: &Value) -> Value {
    let text = daemon.command(&command.to_string()).expect("the daemon takes commands");
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{command}: {why}: {text}"))
}

/// The answer to `command` at the unix socket `path`.
fn asked(path: &Path, command: &Value) -> Value {
    let mut stream = UnixStream::connect(path).expect("the server takes commands");
    stream.write_all(command.to_string().as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    serde_json::from_str(&answer).expect("an answer is JSON")
}
