//! Tests of query files of every oddity: the test compares the queries that `godwit dns load` makes
//! of them with those of Debian's dnsperf, byte by byte. `dns_queries/differs.toml` states why some
//! are not equal.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::recorder::QueryRecorder;
use crate::common::require;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// Returns the queries that `command` sends. `words` returns its arguments for the server's
/// address.
fn queries_of(
    command: &mut Command,
    words: impl FnOnce(SocketAddr) -> Vec<String>,
) -> Vec<Vec<u8>> {
    let recorder = QueryRecorder::start();
    command.args(words(recorder.address)).stdin(Stdio::null());
    let output = command.output().expect("the program starts");
    let queries = recorder.end();
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {output_text}", output.status);
    queries
}

fn asked_by_dnsperf(file: &Path) -> Vec<Vec<u8>> {
    queries_of(&mut Command::new("dnsperf"), |server| {
        let (ip, port) = (server.ip().to_string(), server.port().to_string());
        let file = file.display().to_string();
        let words = ["-s", &ip, "-p", &port, "-d", &file, "-c", "1", "-q", "1", "-n", "1"];
        words.map(ToOwned::to_owned).to_vec()
    })
}

fn asked_by_godwit(file: &Path) -> Vec<Vec<u8>> {
    queries_of(&mut Command::new(GODWIT), |server| {
        let (server, file) = (server.to_string(), file.display().to_string());
        let words = ["dns", "load", "-s", &server, "-d", &file, "-q", "1", "-n", "1"];
        let more = ["--edns", "0", "--skip-bad-lines", "--linger-s", "0", "--deadline-s", "60"];
        words.into_iter().chain(more).map(ToOwned::to_owned).collect()
    })
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dns_queries")
}

#[test]
fn each_file_is_asked_as_dnsperf_asks_it_or_states_why_not() {
    if !require(&["dnsperf"]) {
        return;
    }
    let differs = fs::read_to_string(folder().join("differs.toml")).expect("it can be read");
    let differs: BTreeMap<String, String> = toml::from_str(&differs).expect("names and reasons");
    let entries = fs::read_dir(folder()).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    assert!(files.len() >= 30, "{} files", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let (theirs, ours) = (asked_by_dnsperf(file), asked_by_godwit(file));
        assert!(!ours.is_empty(), "{name}: nothing was asked");
        if (theirs == ours) == differs.contains_key(&name) {
            let stated = differs.get(&name).map_or("no difference", String::as_str);
            wrong.push(format!(
                "{name}: {stated} is stated; dnsperf {theirs:02x?}, ours {ours:02x?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
