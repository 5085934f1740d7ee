//! Configurations of `contrib/examples`: each is valid, and serves clients.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::{ServerProcess, TempFolder, is_root, require, run_bounded};
use crate::dhcpd::link::LinkClients;
use scenario::{Scenario, ScenarioFamily, ScenarioStep, play};
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

/// Clients of the examples.
const CLIENTS: &str = include_str!("clients.toml");

/// Clients of one example.
#[derive(Deserialize)]
struct ExampleClients {
    /// Address of the server, with its prefix length.
    server: String,
    step: Vec<ScenarioStep>,
}

fn clients() -> BTreeMap<String, ExampleClients> {
    toml::from_str(CLIENTS).expect("the file is part of the tests")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/examples")
}

#[test]
fn every_example_is_valid_and_has_clients() {
    let clients = clients();
    let mut names = Vec::new();
    for entry in fs::read_dir(folder()).expect("the folder is part of the repository") {
        let path = entry.expect("the folder can be listed").path();
        if path.extension().is_none_or(|ending| ending != "conf") {
            continue;
        }
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let server = if name.ends_with("dhcp6") { "dhcp6" } else { "dhcp4" };
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        // SQLite's file does not exist here.
        let output = run_bounded(command.args([server, "-t"]).arg(&path));
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {messages}");
        assert!(clients.contains_key(&name), "{name} has no clients in clients.toml");
        names.push(name);
    }
    assert_eq!(names.len(), clients.len(), "{names:?}");
}

/// Database that an example names, and the words that stand for it in the test's file.
struct ExampleDatabase {
    _server: Option<PrivateDatabase>,
    replaced: Vec<(String, String)>,
}

/// Makes the database of the example `name`. Returns `None` if the tools for it are missing.
fn database(name: &str, folder: &Path, link: &LinkNamespaces) -> Option<ExampleDatabase> {
    let godwit = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        let output = run_bounded(command.arg("db").args(words));
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let sqlite = folder.join("leases.sqlite").display().to_string();
    if name.starts_with("sqlite") {
        godwit(&["init", "sqlite", "-n", &sqlite]);
        let replaced = vec![("/var/lib/kea/leases.sqlite".to_owned(), sqlite)];
        return Some(ExampleDatabase { _server: None, replaced });
    }
    let (engine, kind) = match name {
        "mariadb-dhcp4" => (DatabaseEngine::MariaDb, "mysql"),
        "postgresql-dhcp4" => (DatabaseEngine::PostgreSql, "pgsql"),
        _ => return Some(ExampleDatabase { _server: None, replaced: Vec::new() }),
    };
    if let Some(reason) = engine.missing() {
        testkit::skip(reason);
        return None;
    }
    let settings =
        PrivateDatabaseSettings { is_durable: false, on_loopback: true, ..Default::default() };
    let prefix = ["ip", "netns", "exec", link.server()].map(str::to_owned);
    let server = PrivateDatabase::start_with_prefix(engine, settings, &prefix);
    let server = server.expect("the server starts");
    server.create("leases").expect("a database can be made");
    let socket = server.socket().display().to_string();
    let password = folder.join("password");
    fs::write(&password, format!("{PASSWORD}\n")).expect("the test's folder can be written");
    let password = password.display().to_string();
    let mut words = vec!["init", kind, "-n", "leases", "-u", USER, "--password-file", &password];
    let port = server.socket_port().to_string();
    match engine {
        DatabaseEngine::MariaDb => words.extend(["--socket", &socket]),
        DatabaseEngine::PostgreSql => words.extend(["-h", &socket, "-P", &port]),
    }
    godwit(&words);
    let port = server.port().expect("it listens on loopback").to_string();
    let replaced = vec![
        ("\"port\": 3306".to_owned(), format!("\"port\": {port}")),
        ("\"port\": 5432".to_owned(), format!("\"port\": {port}")),
        ("\"user\": \"kea\"".to_owned(), format!("\"user\": \"{USER}\"")),
        ("change-me".to_owned(), PASSWORD.to_owned()),
    ];
    Some(ExampleDatabase { _server: Some(server), replaced })
}

/// Serves the clients of the example `name`.
fn serve(name: &str, clients: ExampleClients) {
    let family = if name.ends_with("dhcp6") { ScenarioFamily::V6 } else { ScenarioFamily::V4 };
    let folder_of_test = TempFolder::new("examples");
    let Some(link) = LinkNamespaces::new() else { return };
    link.ip_at_server("link set lo up");
    let Some(database) = database(name, folder_of_test.path(), &link) else { return };
    let text = fs::read_to_string(folder().join(format!("{name}.conf"))).expect("it was listed");
    let text = text.replace("\"eth0\"", &format!("\"{SERVER_END}\""));
    let replaced = database.replaced.iter();
    let text = replaced.fold(text, |text, (from, to)| text.replace(from, to));
    let config = folder_of_test.path().join("example.conf");
    fs::write(&config, text).expect("the test's folder can be written");
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    link.ip_at_client(&format!("route add default dev {CLIENT_END}"));
    let nodad = if family == ScenarioFamily::V6 { " nodad" } else { "" };
    link.ip_at_server(&format!("addr add {} dev {SERVER_END}{nodad}", clients.server));
    if family == ScenarioFamily::V4 {
        link.ip_at_server(&format!("route add default dev {SERVER_END}"));
    }
    let scenario = Scenario {
        title: name.to_owned(),
        family,
        covers: Vec::new(),
        config: String::new(),
        relay: String::new(),
        kea: None,
        kea3: None,
        steps: clients.step,
    };
    for address in crate::dhcpd::relay_addresses(&scenario) {
        link.ip_at_client(&format!("addr add {address}/32 dev {CLIENT_END}"));
    }
    let command = if family == ScenarioFamily::V6 { "dhcp6" } else { "dhcp4" };
    let at = link.at_server();
    let path = folder_of_test.path();
    let server = ServerProcess::start_on_standard_ports(at, command, &config, path);
    let address = clients.server.split('/').next().expect("a part comes first");
    let mut links = LinkClients::open(&link, family, address.parse().ok());
    let played = play(&scenario, &mut links);
    let log = server.log();
    if let Err(failure) = played {
        panic!("{name}: step {}: {}; log: {log}", failure.step, failure.what);
    }
    server.wait_until_all_is_read();
    server.stop();
    links.collect_late();
    let late = links.replies.iter().filter(|record| record.request.is_empty()).count();
    assert_eq!(late, 0, "{name}: a reply came where none is expected");
}

#[test]
fn every_example_serves_clients() {
    if !require(&["ip"]) || !is_root() {
        return;
    }
    for (name, clients) in clients() {
        serve(&name, clients);
    }
}
