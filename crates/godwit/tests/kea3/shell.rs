//! Comparison of `kea-shell`: the link to Godwit and Kea 3's program send the same request and
//! print the same.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use scenario::ScenarioFamily;
use serde_json::json;
use testbed::Debian13;

use super::daemon;
use crate::common::{TempFolder, free_port, has_debian_13};
use crate::subjects::process::{CREDENTIALS, SOCKETS_MARK, ServerMake};

/// Runs `command` with `input` as its standard input.
fn fed(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program is there");
    // A program may end before it reads.
    child.stdin.take().expect("it was asked for").write_all(input.as_bytes()).ok();
    child.wait_with_output().expect("the program ends")
}

/// Returns the exit code and the standard output.
fn outcome(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the link to Godwit.
fn ours(folder: &Path, words: &[&str], input: &str) -> (Option<i32>, String) {
    let link = folder.join("kea-shell");
    if !link.exists() {
        symlink(env!("CARGO_BIN_EXE_godwit"), &link).expect("the test's folder can be written");
    }
    outcome(&fed(Command::new(link).args(words), input))
}

/// Runs Kea's program, which sees `folder` as the folder of leases.
fn keas(folder: &Path, words: &[&str], input: &str) -> (Option<i32>, String) {
    let debian = Debian13::find().expect("it was looked for");
    outcome(&fed(debian.command(folder, "kea-shell").to_command().args(words), input))
}

#[test]
fn kea_shell_prints_what_keas_own_prints() {
    if !has_debian_13() {
        return;
    }
    let folder = TempFolder::new("shell");
    let [port, closed] = [free_port(), free_port()];
    let authentication = json!({
        "type": "basic", "realm": "x", "directory": SOCKETS_MARK,
        "clients": [{ "password-file": CREDENTIALS }],
    });
    let sockets = json!([{ "socket-type": "http", "socket-address": "127.0.0.1",
                           "socket-port": port, "authentication": authentication }]);
    let config = format!("\"control-sockets\": {sockets}");
    let _server = daemon(ServerMake::Godwit, ScenarioFamily::V4, &config);
    let [port, closed] = [port, closed].map(|port| port.to_string());
    let port_args = ["--port", &port];
    let user = ["--auth-user", "user", "--auth-password", "password"];
    let all = [&port_args[..], &user].concat();
    let with = |further: &[&'static str]| -> Vec<String> {
        all.iter().chain(further).map(|word| (*word).to_owned()).collect()
    };
    let cases = [
        (with(&[]), ""),
        (with(&["--service", "dhcp4", "version-get"]), ""),
        (with(&["--service", "dhcp4", "dhcp-disable"]), "\"max-period\": 60\n"),
        (with(&["--serv", "dhcp4", "--host=127.0.0.1", "dhcp-enable"]), "\n"),
        (with(&["--service", "dhcp4", "no-such-command"]), ""),
        (with(&["version-get"]), "\"a\": "),
        (vec!["--port".to_owned(), port.clone(), "version-get".to_owned()], ""),
        (vec!["-v".to_owned()], ""),
        (vec!["--cert".to_owned(), "x".to_owned(), "version-get".to_owned()], ""),
    ];
    for (words, input) in &cases {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [own, kea] = [ours, keas].map(|run| run(folder.path(), &words, input));
        assert_eq!(own, kea, "{words:?} {input:?}");
    }
    // Each language words the cause differently.
    let words = ["--port", &closed, "version-get"];
    for (code, text) in [ours, keas].map(|run| run(folder.path(), &words, "")) {
        assert!(code == Some(1) && text.starts_with("Failed to run: "), "{code:?} {text}");
    }
}
