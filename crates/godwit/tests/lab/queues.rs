//! Tests of receive buffers and queueing disciplines: in place during a trial, and recorded
//! correctly.

use std::process::Command;

use serde_json::Value;
use testbed::command::find_program;
use testbed::namespace;

use super::{LabTestFolder, is_root, namespaces_of, output_text, until};

/// Returns the standard output of `words`, which may name a namespace that no longer exists.
fn output(words: &[&str]) -> String {
    let ran = Command::new(words[0]).args(&words[1..]).output().expect("it starts");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

const FEATURES: [&str; 4] = ["plain", "buffer-64-kib", "buffer-1-mib", "qdisc-pfifo-16"];

fn test_folder(name: &str) -> LabTestFolder {
    let test_folder = LabTestFolder::new(name);
    test_folder.plan("queues", "");
    test_folder.more(
        "queues",
        &format!("[clients]\ncount = 1000\n[server]\npool_size = 20000\nfeatures = {FEATURES:?}\n"),
    );
    // What short queues drop is waited for until its deadline.
    test_folder.change("queues", "deadline_s = 60.0", "deadline_s = 10.0");
    let path = test_folder.path().join("plans/queues.toml");
    let text = std::fs::read_to_string(&path).expect("the plan");
    // Long enough for a rare look from outside.
    let text = text.replace("\"loopback\"", "\"veth\"").replace("dwell_s = 0.2", "dwell_s = 1.5");
    std::fs::write(&path, text).expect("the plan");
    test_folder
}

#[test]
fn buffers_and_disciplines_are_in_place_while_a_trial_runs_and_told_as_they_were() {
    if !is_root() {
        return;
    }
    let test_folder = test_folder("queues");
    let memory = || std::fs::read_to_string("/proc/sys/net/core/rmem_default").expect("proc");
    let before = memory();
    let has_kea = find_program("kea-dhcp4").is_some();
    let servers = if has_kea { "godwit,kea" } else { "godwit" };
    let mut command = test_folder.godwit(&["lab", "run", "queues", "--server", servers, "--json"]);
    let file = std::fs::File::create(test_folder.path().join("out.json")).expect("a file");
    let mut lab =
        command.stdout(file).stderr(std::process::Stdio::null()).spawn().expect("it starts");
    let (server, client) =
        (namespace::namespace_name(lab.id(), 's'), namespace::namespace_name(lab.id(), 'c'));
    // Settings of the sockets and the link as seen from outside during the run.
    let mut missing = vec!["rb65536", "rb1048576", "pfifo there", "pfifo here"];
    until("every queue was seen in place", || {
        let sockets = output(&["ss", "-N", &server, "-uanm"]);
        let leaving = [&client, &server].map(|name| {
            output(&["tc", "-n", name, "qdisc", "show", "dev", "gw0"]).contains("pfifo")
        });
        missing.retain(|what| match *what {
            "pfifo there" => !leaving[1],
            "pfifo here" => !leaving[0],
            buffer => !sockets.contains(buffer),
        });
        missing.is_empty() || lab.try_wait().expect("a child").is_some()
    });
    let ended = lab.wait().expect("a child");
    assert_eq!(missing, Vec::<&str>::new());
    assert_eq!(ended.code(), Some(0));
    assert_eq!((memory(), namespaces_of(lab.id())), (before, Vec::<String>::new()));
    let text = std::fs::read_to_string(test_folder.path().join("out.json")).expect("a file");
    let summary: Value = serde_json::from_str(&text).expect("JSON only");
    let trials = summary["trials"].as_array().expect("a list");
    for server in servers.split(',') {
        for feature in FEATURES {
            let durability = if server == "godwit" { "-none" } else { "" };
            let line = format!("{server}-{feature}{durability}");
            let of_it: Vec<_> = trials.iter().filter(|trial| trial["server"] == *line).collect();
            assert!(!of_it.is_empty(), "{line} was measured");
            of_it.iter().for_each(|trial| check(&line, feature, &trial["queues"]));
        }
    }
    let page =
        std::fs::read_to_string(test_folder.results()[0].join("report.html")).expect("a page");
    assert!(page.contains("Where messages waited") && page.contains("pfifo, 16 packets"));
}

/// Checks a trial's record of the queues of a line.
fn check(line: &str, feature: &str, queues: &Value) {
    let buffers = ["receive_buffer_least_bytes", "receive_buffer_most_bytes"];
    let buffers = buffers.map(|key| queues[key].as_u64());
    assert!(queues["sockets"].as_u64() > Some(0), "{line}: {queues}");
    match feature {
        "buffer-64-kib" => assert_eq!(buffers, [Some(64 << 10); 2], "{line}: {queues}"),
        "buffer-1-mib" => assert_eq!(buffers, [Some(1 << 20); 2], "{line}: {queues}"),
        _ => {}
    }
    for side in ["to_server", "from_server"] {
        let qdisc = &queues[side];
        if feature == "qdisc-pfifo-16" {
            assert_eq!((&qdisc["kind"], &qdisc["limit_packets"]), (&"pfifo".into(), &16.into()));
            assert!(qdisc["packets"].as_u64() > Some(0), "{line}: {queues}");
        } else {
            assert_eq!(qdisc["kind"], "noqueue", "{line}: {queues}");
        }
    }
}

#[test]
fn what_this_machine_has_not_is_said_and_left_out() {
    let test_folder = test_folder("without");
    let path = test_folder.path().join("plans/queues.toml");
    let text = std::fs::read_to_string(&path).expect("the plan");
    std::fs::write(&path, text.replace("\"veth\"", "\"loopback\"")).expect("the plan");
    let output = test_folder.lab(&["run", "queues", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    let results = summary["results"].as_array().expect("a list");
    let names: Vec<&str> = results.iter().filter_map(|result| result["server"].as_str()).collect();
    assert_eq!(
        names,
        ["godwit-plain-none", "godwit-buffer-64-kib-none", "godwit-buffer-1-mib-none"]
    );
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("Nothing was measured with qdisc-pfifo-16"), "{warnings}");
}
