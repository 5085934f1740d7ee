//! Tests of the manual's page for users of Kea against Kea's own list of keys and the commands of
//! the running servers.

use crate::common;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use crate::common::manual::{FREE, ManualKey, keys, page, quoted, rows, scope_below};
use crate::common::{ServerProcess, TempFolder, configuration6, free_port, require};
use dhcp_config::{IncludeResolver, parse_dhcp4, parse_dhcp6};
use serde_json::{Value, json};

/// Kea's examples that have every key.
const EXAMPLES: &str = "/usr/share/doc/kea/examples";

/// Words that a cell with a comparison to Kea may begin with.
const STATUS: [&str; 3] = ["same", "different", "not yet"];

struct NoFiles;

impl IncludeResolver for NoFiles {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("{path} is not part of the example"))
    }
}

/// Returns the rows of `page` whose comparison does not begin with a word of [`STATUS`].
fn without_status(page: &str, first: &str) -> Vec<String> {
    let has_status = |cell: &str| {
        STATUS.iter().any(|status| {
            let rest = cell.strip_prefix(status);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ';', ' ', ',']))
        })
    };
    let odd =
        rows(page, first).into_iter().filter(|row| !row.last().is_some_and(|c| has_status(c)));
    odd.map(|row| row.join(" | ")).collect()
}

/// Collects every key below `value`, with its scope.
fn collect(value: &Value, scope: &str, keys: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, scope, keys)),
        Value::Object(map) => {
            for (key, inner) in map {
                if !scope.is_empty() {
                    keys.insert((scope.to_owned(), key.clone()));
                }
                if FREE.contains(&key.as_str()) {
                    continue;
                }
                collect(inner, scope_below(key), keys);
            }
        }
        _ => {}
    }
}

/// Returns the keys that occur in Kea's example for `family`, and those that Godwit's defaults add.
fn keys_of_kea(family: u8) -> BTreeSet<(String, String)> {
    let path = format!("{EXAMPLES}/kea{family}/all-keys.json");
    let text = fs::read_to_string(&path).expect("kea-doc is installed");
    let document = match family {
        4 => parse_dhcp4(&path, &text, &mut NoFiles).expect("it is sound").document,
        _ => parse_dhcp6(&path, &text, &mut NoFiles).expect("it is sound").document,
    };
    let mut keys = BTreeSet::new();
    collect(&document.to_json(), "", &mut keys);
    keys
}

#[test]
fn every_key_of_kea_has_a_row() {
    if !require(&["kea-dhcp4", "kea-dhcp6"]) {
        return;
    }
    let page = page("coming-from-kea.md");
    let mut rows_of_manual = BTreeSet::new();
    for ManualKey { family, key, scope, .. } in keys(&page) {
        let is_new = rows_of_manual.insert((family, scope.clone(), key.clone()));
        assert!(is_new, "`{key}` of DHCPv{family} has two rows for {scope}");
    }
    for (family, at_least) in [(4, 240), (6, 240)] {
        let keys = keys_of_kea(family);
        assert!(keys.len() >= at_least, "DHCPv{family}: only {} keys", keys.len());
        let digit = char::from(b'0' + family);
        let has_row = |(scope, key): &&(String, String)| {
            rows_of_manual.contains(&(digit, scope.clone(), key.clone()))
        };
        let untold: Vec<_> = keys.iter().filter(|key| !has_row(key)).collect();
        assert!(untold.is_empty(), "DHCPv{family}, without a row: {untold:?}");
    }
}

#[test]
fn every_row_says_how_it_compares() {
    for (name, first) in [
        ("coming-from-kea.md", "Key"),
        ("coming-from-kea.md", "Library"),
        ("commands.md", "Command"),
    ] {
        let page = page(name);
        assert!(!rows(&page, first).is_empty(), "{name} has no table of `{first}`");
        let odd = without_status(&page, first);
        assert!(odd.is_empty(), "{name}: {odd:#?}");
    }
}

/// Returns a configuration for the server of `family` with every hook library, and its unix socket.
fn with_every_command(family: u8, folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let libraries =
        ["class_cmds", "flex_id", "host_cmds", "lease_cmds", "stat_cmds", "subnet_cmds"];
    let mut libraries =
        libraries.map(|name| json!({ "library": format!("libdhcp_{name}.so") })).to_vec();
    let requester = if family == 4 { "10.0.0.1" } else { "2001:db8::1" };
    libraries.push(json!({ "library": "libdhcp_lease_query.so",
                           "parameters": { "requesters": [requester] } }));
    let peers = [("one", "primary"), ("two", "standby")].map(|(name, role)| {
        json!({ "name": name, "role": role, "url": format!("http://127.0.0.1:{}/", free_port()) })
    });
    let pair = json!({ "this-server-name": "one", "mode": "hot-standby", "peers": peers });
    libraries.push(json!({ "library": "libdhcp_ha.so",
                           "parameters": { "high-availability": [pair] } }));
    let socket = folder.join("socket");
    let sockets = json!([{ "socket-type": "unix", "socket-name": socket }]);
    let keys =
        format!(r#""control-sockets": {sockets}, "hooks-libraries": {},"#, Value::from(libraries));
    let config = if family == 4 {
        let config = common::configuration(folder, "always", 1);
        let text = fs::read_to_string(&config).expect("it was just written");
        let text = text.replacen("\"valid-lifetime\"", &format!("{keys} \"valid-lifetime\""), 1);
        fs::write(&config, text).expect("the test's folder can be written");
        config
    } else {
        configuration6(folder, "\"lo\"", &keys, "")
    };
    (config, socket)
}

/// Returns the answer of the server of `family` to `list-commands`.
fn commands(family: u8) -> Vec<String> {
    let folder = TempFolder::new(&format!("coming-from-kea-{family}"));
    let (config, socket) = with_every_command(family, folder.path());
    let name = format!("dhcp{family}");
    let server = ServerProcess::start_under(Command::new("env"), &name, &config, folder.path());
    let mut stream = UnixStream::connect(socket).expect("the server takes commands");
    stream.write_all(br#"{ "command": "list-commands" }"#).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    drop(server);
    let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
    serde_json::from_value(answer["arguments"].clone()).expect("it is a list of names")
}

#[test]
fn every_command_of_the_servers_has_a_row() {
    assert!(page("coming-from-kea.md").contains("(commands.md)"), "the page leads to the table");
    let page = page("commands.md");
    let mut command_rows: Vec<&str> =
        rows(&page, "Command").iter().flat_map(|row| quoted(row[0])).collect();
    let count = command_rows.len();
    command_rows.sort_unstable();
    command_rows.dedup();
    assert_eq!(command_rows.len(), count, "a command has two rows");
    let mut known = BTreeSet::new();
    for family in [4_u8, 6] {
        let names = commands(family);
        assert!(names.len() >= 75, "DHCPv{family}: only {} commands", names.len());
        // A hook library adds the commands of both families.
        let is_row = |row: &str, name: &str| ["4", "6"].iter().any(|f| row.replace('#', f) == name);
        let has_row = |name: &String| command_rows.iter().any(|row| is_row(row, name));
        let untold: Vec<_> = names.iter().filter(|name| !has_row(name)).collect();
        assert!(untold.is_empty(), "DHCPv{family}, without a row: {untold:?}");
        known.extend(names);
    }
    let is_known = |name: &str| ["4", "6"].iter().any(|f| known.contains(&name.replace('#', f)));
    let done = rows(&page, "Command").into_iter().filter(|row| !row[1].starts_with("not yet"));
    let made_up: Vec<_> = done.flat_map(|row| quoted(row[0])).filter(|n| !is_known(n)).collect();
    assert!(made_up.is_empty(), "no server knows {made_up:?}");
}
