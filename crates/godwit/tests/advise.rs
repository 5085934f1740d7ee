//! `godwit advise` as a program: its output and its exit code.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::TempFolder;
use serde_json::Value;

/// Returns a configuration with planted faults, which `dhcp-config` has for its own tests.
fn planted(name: &str) -> String {
    crate_file("dhcp-config", &format!("advise/{name}"))
}

fn crate_file(of: &str, name: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates lie in a folder");
    let path: PathBuf = crates.join(of).join("tests/data").join(name);
    path.to_str().expect("the path is plain").to_owned()
}

fn advise(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg("advise").args(words).output().expect("the binary starts")
}

/// Runs `godwit` with `words` and returns exit code, standard output and standard error.
fn outcome(words: &[&str]) -> (Option<i32>, String, String) {
    let output = advise(words);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn json(words: &[&str]) -> Value {
    let (_, text, error) = outcome(&[words, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|wrong| panic!("{words:?}: {wrong}: {error}"))
}

fn faults(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().expect("a list");
    findings.iter().map(|finding| finding["fault"].as_str().expect("a word")).collect()
}

/// Returns a result folder in which one server wrote `leases_per_s` leases per second.
fn result(name: &str, protocol: &str, leases_per_s: f64) -> TempFolder {
    let folder = TempFolder::new(name);
    let summary = serde_json::json!({
        "schema": "godwit.summary.v1", "title": "a plan", "started": "2026-03-14T15:09:26Z",
        "plan": { "protocol": protocol },
        "results": [ { "server": "kea", "leases_per_s": leases_per_s } ],
    });
    let path = folder.path().join("summary.json");
    std::fs::write(path, summary.to_string()).expect("the folder is ours");
    folder
}

#[test]
fn the_exit_code_says_whether_something_is_too_dear() {
    let one_thread = planted("one-thread.conf");
    for (share, code) in [("38%", 3), ("0.39", 0), ("0", 3), ("100%", 0)] {
        assert_eq!(outcome(&[&one_thread, "--share", share]).0, Some(code), "{share}");
    }
    // A setting without a measurement does not exceed any share.
    for name in ["high-availability.conf", "no-reservations6.conf"] {
        let (code, text, error) = outcome(&[&planted(name), "--share", "65%"]);
        assert_eq!(code, Some(0), "{name}: {text}{error}");
    }
    assert_eq!(outcome(&[&planted("no-reservations6.conf"), "--share", "0"]).0, Some(0));
    let (code, text, _) = outcome(&[&one_thread]);
    assert_eq!(code, Some(0), "nothing was asked for");
    assert!(text.ends_with("one-thread.conf: 7 findings\n"), "{text}");
}

#[test]
fn text_names_place_reason_cost_source_and_change() {
    let file = planted("one-thread.conf");
    let (_, text, error) = outcome(&[&file, "--share", "10%"]);
    let lines: Vec<&str> = text.lines().collect();
    let first = format!("{file}:5:5: multi-threading-off: one thread serves all clients");
    assert!(lines[0].starts_with(&first), "{text}");
    let cost = "    cost: 38.4 %: 11,686 leases/s on one thread, 18,977 on several, memfile";
    assert_eq!(lines[1], cost);
    assert!(lines[2].starts_with("    source: ISC, Kea 2.0 performance tests"), "{text}");
    assert_eq!(lines[3], "    change: set `\"enable-multi-threading\": true`");
    assert!(text.ends_with("7 findings\n1 above 10.0 %\n"), "{text}");
    assert_eq!(error, "");
    let (_, text, _) = outcome(&[&planted("class-per-client6.conf")]);
    assert!(text.contains(":5:20: enumerated-clients: 7 classes"), "{text}");
    assert!(text.contains("    also at: 6:20, 7:20") && text.contains("interpolated"), "{text}");
    assert!(text.contains("    in godwit: 1.03 times the instructions"), "{text}");
    for clean in ["clean.conf", "clean6.conf"] {
        let file = planted(clean);
        let expected = format!("{file}: no setting that is known to be slow\n0 above 0.0 %\n");
        assert_eq!(outcome(&[&file, "--share", "0"]), (Some(0), expected, String::new()));
    }
}

#[test]
fn json_has_every_finding_with_its_cost() {
    let file = planted("one-thread.conf");
    let document = json(&[&file, "--share", "10%"]);
    assert_eq!(document["schema"], "godwit.advise.v1");
    assert_eq!((&document["file"], &document["protocol"]), (&file.clone().into(), &"dhcp4".into()));
    assert_eq!(document["share_limit"], 0.1);
    assert_eq!(document["notes"], Value::Array(Vec::new()));
    assert_eq!(document["findings"].as_array().expect("a list").len(), 7);
    let first = &document["findings"][0];
    assert_eq!(first["places"], serde_json::json!([{ "file": file, "line": 5, "column": 5 }]));
    assert_eq!(first["fault"], "multi-threading-off");
    assert_eq!(first["cost"]["bound"], "measured");
    assert_eq!(first["cost"]["is_above_limit"], true);
    let share = first["cost"]["share"].as_f64().expect("a number");
    assert!((share - (1.0 - 11_686.0 / 18_977.0)).abs() < 1e-9);
    for key in ["reason", "change"] {
        assert!(first[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    let second = &document["findings"][1];
    assert_eq!(
        (&second["fault"], &second["cost"]["share"]),
        (&"debug-logging".into(), &Value::Null)
    );
    assert_eq!(second["cost"]["is_above_limit"], false);
    assert_eq!(json(&[&planted("clean6.conf")])["protocol"], "dhcp6");
}

#[test]
fn lease_files_tell_which_pools_are_nearly_full() {
    let file = planted("pools.conf");
    let without = json(&[&file]);
    assert!(!faults(&without).contains(&"nearly-full-pool"), "{without}");
    // 19 of 20 addresses are leased; the other one was reclaimed, and 50 of the other pool were
    // released.
    let document = json(&[&file, "--leases", &planted("pools.csv")]);
    assert_eq!(faults(&document)[0], "nearly-full-pool");
    let finding = &document["findings"][0];
    assert_eq!(finding["places"].as_array().map(Vec::len), Some(1));
    assert_eq!(finding["places"][0]["line"], 8);
    assert!(finding["reason"].as_str().expect("text").contains("95.0 %"), "{finding}");
    let (code, _, error) = outcome(&[&planted("clean6.conf"), "--leases", &planted("pools.csv")]);
    assert_eq!(code, Some(2), "the file is of the other family");
    assert!(error.starts_with("error: --leases: "), "{error}");
}

#[test]
fn a_stored_result_tells_whether_lease_times_can_be_carried() {
    let file = planted("many-subnets.conf");
    let slow = result("advise-slow", "dhcp4", 40.0);
    let slow = slow.path().to_str().expect("the path is plain");
    let (code, text, _) = outcome(&[&file, "--measured", slow, "--share", "100%"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("lease-time"), "{text}");
    assert!(text.contains("51 renewals/s are needed, 40 leases/s were measured"), "{text}");
    assert!(
        text.contains(&format!("source: {slow}: a plan, 2026-03-14T15:09:26Z, kea\n")),
        "{text}"
    );
    let fast = result("advise-fast", "dhcp4", 60.0);
    let fast = fast.path().to_str().expect("the path is plain");
    assert_eq!(faults(&json(&[&file, "--measured", fast])), ["many-subnets"]);
    // The clients of a lease file count in place of the pools.
    let leases = planted("pools.csv");
    let with = json(&[&file, "--measured", slow, "--leases", &leases]);
    assert_eq!(faults(&with), ["many-subnets"]);
    let (code, _, error) = outcome(&[&planted("clean6.conf"), "--measured", slow]);
    assert_eq!(code, Some(2));
    assert!(error.contains("is of DHCPv4, but the configuration is of DHCPv6"), "{error}");
    // A result that the lab made.
    let real = Path::new(&crate_file("report", "summary.json")).parent().map(Path::to_owned);
    let real = real.expect("the file lies in a folder");
    let real = real.to_str().expect("the path is plain");
    let found = json(&[&file, "--measured", real, "--server", "godwit-none"]);
    assert_eq!(faults(&found), ["many-subnets"]);
}

#[test]
fn what_cannot_be_judged_ends_with_2() {
    let folder = TempFolder::new("advise-wrong");
    let wrong = folder.path().join("wrong.conf");
    std::fs::write(&wrong, "{ \"Dhcp4\": { \"valid-lifetime\": -1 } }")
        .expect("the folder is ours");
    let wrong = wrong.to_str().expect("the path is plain");
    let (code, text, error) = outcome(&[wrong]);
    assert_eq!((code, text.as_str()), (Some(2), ""));
    assert!(error.starts_with(&format!("{wrong}:1:32: error: `valid-lifetime` is -1")), "{error}");
    let clean = planted("clean.conf");
    for words in [
        &[][..],
        &["/nowhere.conf"],
        &[&clean, "--share", "10"],
        &[&clean, "--share", "200%"],
        &[&clean, "--leases", "/nowhere.csv"],
        &[&clean, "--leases", &clean],
        &[&clean, "--measured", "/nowhere"],
        &[&clean, "--server", "kea"],
        &[&clean, "more"],
    ] {
        let (code, text, error) = outcome(words);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{words:?}");
        assert!(!error.is_empty(), "{words:?}");
    }
}
