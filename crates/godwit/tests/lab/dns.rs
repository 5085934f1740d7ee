//! Tests of `godwit lab` as a user sees it, for DNS plans.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testbed::command::find_program;
use testbed::topology::allowed_cpus;

use super::{GODWIT, LabTestFolder, is_root, nothing_runs_in, output_text};

/// Table of a plan with which no trial is void, because the load of a test machine does not matter
/// here.
const NEVER_VOID: &str = "[void]\nlate_sends_percent = 100.0\nsocket_drops_percent = 100.0\n\
                          softnet_drops_percent = 100.0\nsteal_percent = 100.0\n";

fn test_folder(name: &str, more: &str) -> LabTestFolder {
    let test_folder = LabTestFolder::new(name);
    test_folder.plan("dns", "protocol = \"dns\"\nservers = [\"echo\"]");
    let path = test_folder.path().join("plans/dns.toml");
    let text = std::fs::read_to_string(&path).expect("the plan");
    // The share of answers from a busy machine does not matter either, nor does their time.
    let text = text.replace("[search]", "[search]\nloss_percent = 100.0\ndeadline_s = 60.0");
    std::fs::write(&path, format!("{text}{more}{NEVER_VOID}")).expect("the plan");
    test_folder
}

fn summary(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON only")
}

#[test]
fn the_echo_is_measured_with_nothing_but_the_binary() {
    let ramp = "[ramp]\nfirst_mbit_s = 0.1\nstep_mbit_s = 0.1\nlast_mbit_s = 0.3\ndwell_s = 0.2\n";
    let test_folder = test_folder("echo", ramp);
    let output = test_folder.lab(&["run", "dns", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let summary = summary(&output);
    let results = summary["results"].as_array().expect("a list");
    assert_eq!((results.len(), &results[0]["server"]), (1, &Value::from("echo")));
    let rate = results[0]["leases_per_s"].as_f64().expect("a rate");
    assert!(rate > 0.0, "{rate}");
    assert!(summary["limit"].is_null() && summary["flushes"].as_array().is_some_and(Vec::is_empty));
    let trials = summary["trials"].as_array().expect("a list");
    let offered = trials.iter().filter_map(|trial| trial["offered_per_s"].as_f64());
    assert!(offered.into_iter().any(|rate| (rate - 400.0).abs() < 1.0), "the plan's highest");
    let mut steps: Vec<f64> = trials
        .iter()
        .filter(|trial| trial["purpose"] == "ramp")
        .map(|trial| trial["offered_per_s"].as_f64().expect("a rate").round())
        .collect();
    // A step that was void is repeated.
    steps.dedup();
    assert_eq!(steps, [147.0, 294.0, 441.0]);
    let page =
        std::fs::read_to_string(test_folder.results()[0].join("report.html")).expect("a page");
    for words in ["data-chart=\"system-load\"", "achieved, answers/s", "www.google.com AAAA"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("leases/s") && !page.contains("lease time"));
    nothing_runs_in(test_folder.path());
}

/// Returns the records of all trials of a result.
fn trials(result: &Path) -> Vec<Value> {
    let entries = std::fs::read_dir(result.join("trials")).expect("the trials").flatten();
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path().join("trial.json")).expect("a record");
        serde_json::from_str(&text).expect("JSON")
    };
    entries.map(read).collect()
}

#[test]
fn the_interface_counts_what_generator_and_server_count() {
    if !is_root() {
        return;
    }
    let ramp = "[ramp]\nfirst_mbit_s = 1.0\nstep_mbit_s = 1.0\nlast_mbit_s = 2.0\ndwell_s = 0.4\n";
    let test_folder = test_folder("counted", ramp);
    let output = test_folder.lab(&["run", "dns", "--json", "--topology", "veth"]);
    // On a busy machine steps may be left out, or no rate may be confirmed.
    assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", output_text(&output));
    let mut trials = trials(&test_folder.results()[0]);
    trials.retain(|trial| trial["load"].is_object());
    assert!(!trials.is_empty(), "{}", output_text(&output));
    for trial in &trials {
        let (messages, counts) = (&trial["load"]["messages"], &trial["digest"]["server_counts"]);
        let drops = ["softnet_drops", "server_socket_drops"].map(|of| &trial["digest"][of]);
        if drops.iter().any(|drops| **drops != 0) {
            continue;
        }
        // Equal to the packet, because nothing else is on the link of this server and its
        // generator.
        assert_eq!(counts["received"]["packets"], messages["sent"], "{trial}");
        assert_eq!(counts["sent"]["packets"], counts["received"]["packets"], "{trial}");
        let frame = counts["received"]["bytes"].as_u64().zip(messages["sent"].as_u64());
        assert!(frame.is_some_and(|(bytes, frames)| bytes == frames * 85), "{trial}");
    }
    let summary = summary(&output);
    let rows = summary["trials"].as_array().expect("a list");
    assert!(rows.iter().any(|row| row["kernel"]["generator"].is_object()), "{rows:?}");
    for row in rows.iter().filter(|row| row["kernel"].is_object()) {
        assert!(row["kernel"]["server"]["sent"]["packets"].as_u64() > Some(0), "{row}");
        let notes = row["notes"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(!notes.contains(&Value::from("counters_differ")), "{row}");
    }
    let page =
        std::fs::read_to_string(test_folder.results()[0].join("report.html")).expect("a page");
    assert!(page.contains("What the kernel counted") && page.contains("id=\"kernel\""));
}

#[test]
fn a_server_that_drops_at_every_rate_is_not_called_slow() {
    let test_folder = test_folder("drops", "");
    let path = test_folder.path().join("plans/dns.toml");
    let text = std::fs::read_to_string(&path).expect("the plan");
    let text = text
        .replace(
            "loss_percent = 100.0\ndeadline_s = 60.0\nstart_per_s = 200.0\nmax_per_s = 400.0",
            // Between what the server drops and what a busy machine makes the other one miss.
            "start_per_s = 200.0\nmax_per_s = 400.0\nloss_percent = 12.5\ndeadline_s = 5.0",
        )
        .replace("dwell_s = 0.2", "dwell_s = 2.0");
    assert!(text.contains("loss_percent = 12.5"), "{text}");
    std::fs::write(&path, text).expect("the plan");
    // The server also pins itself to the generator's processor.
    let cpus = allowed_cpus();
    let lossy = format!(
        "taskset -c {} {GODWIT} dns echo --drop 50% --listen {{address}}:{{port}}",
        cpus[0]
    );
    let output = test_folder.lab(&["run", "dns", "--json", "--server-command", &lossy]);
    let told = output_text(&output);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("command: it never meets the criterion of at most 12.5 %"), "{told}");
    let summary = summary(&output);
    let result = &summary["results"][0];
    assert!(result["leases_per_s"].is_null(), "{result}");
    let least = result["loses_at_every_rate"].as_f64().expect("a share");
    assert!((0.125..0.75).contains(&least), "{least}");
    assert!(summary["limit"]["leases_per_s"].as_f64().is_some(), "the echo is the limit");
    let page =
        std::fs::read_to_string(test_folder.results()[0].join("report.html")).expect("a page");
    assert!(page.contains("never meets the criterion of at most 12.5 %"));
    assert_eq!(page.contains("the lab moved them back"), cpus.len() > 1);
}

#[test]
fn what_is_missing_is_told_with_its_package() {
    let test_folder = test_folder("absent", "");
    for (server, program, package) in [
        ("bind", "named", "bind9"),
        ("knot", "knotd", "knot"),
        ("nsd", "nsd", "nsd"),
        ("dumresp", "dumresp", "pdns-tools"),
    ] {
        // Administrators' programs are found without a path.
        if ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).exists()) {
            continue;
        }
        let output = Command::new(GODWIT)
            .args(["lab", "run", "dns", "--server", server])
            .current_dir(test_folder.path())
            .env("PATH", "/nonexistent")
            .stdin(Stdio::null())
            .output()
            .expect("godwit starts");
        assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
        let words = format!("not found; Debian package {package} contains it");
        assert!(output_text(&output).contains(&words), "{}", output_text(&output));
    }
    let output = test_folder.lab(&["run", "dns", "--server", "kea"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(output_text(&output).contains(
        "kea serves DHCPv4, which this plan does not measure; it can measure: echo, bind, knot"
    ));
    assert_eq!(test_folder.results().len(), 0);
}

#[test]
fn servers_by_others_answer_from_the_zone_without_privilege() {
    let servers = [
        ("bind", "named"),
        ("knot", "knotd"),
        ("unbound", "unbound"),
        ("nsd", "nsd"),
        ("dumresp", "dumresp"),
    ];
    let installed: Vec<&str> = servers
        .into_iter()
        .filter(|(_, program)| find_program(program).is_some())
        .map(|(name, _)| name)
        .collect();
    if installed.len() < servers.len() {
        testkit::skip(format_args!("of {servers:?} only {installed:?} are installed"));
    }
    if installed.is_empty() {
        return;
    }
    let topologies: &[&str] = if is_root() { &["loopback", "veth"] } else { &["loopback"] };
    for topology in topologies {
        let test_folder = test_folder(&format!("others-{topology}"), "");
        let words = ["run", "dns", "--json", "--topology", topology, "--server"];
        let output = test_folder.lab(&[&words[..], &[&installed.join(",")]].concat());
        assert_eq!(output.status.code(), Some(0), "{topology}: {}", output_text(&output));
        let summary = summary(&output);
        for result in summary["results"].as_array().expect("a list") {
            assert!(result["leases_per_s"].as_f64() > Some(0.0), "{result}");
        }
        if is_root() {
            let commands = summary["commands"].to_string();
            let count = commands.matches("setpriv --reuid nobody").count();
            assert_eq!(count, installed.len(), "{commands}");
        }
        nothing_runs_in(test_folder.path());
    }
}
