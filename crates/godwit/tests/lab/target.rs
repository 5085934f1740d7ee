//! Tests of `godwit lab` as a user sees it, for servers that run before the lab starts.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{LabTestFolder, output_text, refused};
use crate::common::link::LinkNamespaces;
use crate::common::{ServerProcess, TempFolder, configuration, configuration6, free_port};
use crate::generator::responder::{ClientTreatment, DhcpResponder};

/// Number of addresses in the pools of the servers below.
const POOL: &str = "65534";

/// Measures by `plan` with the arguments `words`, in a lab started by `wrapper`, and returns
/// summary and page.
fn measured(
    test_folder: &LabTestFolder,
    wrapper: Command,
    plan: &str,
    words: &[&str],
) -> (Value, String) {
    // The speed of this machine is not part of these tests.
    test_folder.more(plan, "");
    let all = [&["run", plan, "--pool-size", POOL, "--json"][..], words].concat();
    let output = test_folder.lab_by(wrapper, &all);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    let page =
        std::fs::read_to_string(test_folder.results()[0].join("report.html")).expect("a page");
    (summary, page)
}

/// Checks that the result claims nothing about a server that the lab does not see.
fn is_silent_about_the_server(summary: &Value, page: &str, target: &str) {
    assert_eq!(summary["environment"]["topology"], "network");
    assert_eq!(summary["limit"], Value::Null);
    for list in ["starts", "flushes", "ratios"] {
        assert!(summary[list].as_array().is_none_or(Vec::is_empty), "{list}: {summary}");
    }
    let [result] = &summary["results"].as_array().expect("a list")[..] else {
        panic!("one server: {summary}")
    };
    assert_eq!((&result["server"], &result["variant"]), (&"target".into(), &target.into()));
    assert!(result["leases_per_s"].as_f64() > Some(0.0), "{result}");
    assert!(result["latency_max"]["latency"]["max_us"].as_f64() > Some(0.0), "{result}");
    assert_eq!((&result["leases_per_cpu_s"], &result["rss_bytes"]), (&Value::Null, &0.into()));
    let points = result["curve"].as_array().expect("a list");
    assert!(!points.is_empty());
    assert!(points.iter().all(|point| point["server_cpus_busy"].is_null()), "{points:?}");
    for trial in summary["trials"].as_array().expect("a list") {
        for unseen in ["server_cpu_s", "server_load", "server_socket_drops"] {
            assert!(trial[unseen].is_null(), "{unseen}: {trial}");
        }
    }
    let seen = summary["timeline"].as_array().expect("a list");
    let of_generator = |point: &&Value| point["generator_cpus_busy"].as_f64() > Some(0.0);
    assert!(seen.iter().any(|point| of_generator(&point)), "the generator's processor is seen");
    assert!(seen.iter().all(|point| point["server_cpus_busy"].is_null()));
    assert!(page.contains(&format!("The lab measured the running server at {target}")), "{page}");
    assert!(page.contains("data-chart=\"load-curve\"") && page.contains("data-chart=\"latency\""));
    assert!(page.contains("data-chart=\"cpu\"") && !page.contains("data-chart=\"memory\""));
}

/// Returns the number of exchanges due in all trials, and of leases given to clients.
fn ledger(test_folder: &LabTestFolder) -> (u64, u64) {
    let trials = std::fs::read_dir(test_folder.results()[0].join("trials")).expect("a folder");
    let records = trials.map(|trial| {
        let path = trial.expect("an entry").path().join("trial.json");
        let text = std::fs::read_to_string(path).expect("a record");
        serde_json::from_str::<Value>(&text).expect("JSON")["load"].take()
    });
    records.fold((0, 0), |(due, leases), load| {
        let count = |value: &Value| value.as_u64().expect("a count");
        (due + count(&load["exchanges"]["due"]), leases + count(&load["leases"]))
    })
}

/// Returns the number of addresses in the lease file of a server.
fn addresses(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).expect("the lease file");
    let first = |line: &str| line.split(',').next().map(str::to_owned);
    text.lines().skip(1).filter_map(first).collect::<BTreeSet<String>>().len() as u64
}

#[test]
fn a_server_that_runs_is_measured_and_left_running() {
    let (test_folder, folder) = (LabTestFolder::new("target"), TempFolder::new("lab-target"));
    let config = configuration(folder.path(), "none", 1);
    let mut server = ServerProcess::start(&config, folder.path());
    let target = format!("127.0.0.1:{}", server.port);
    let relay = format!("127.0.0.1:{}", server.relay_port);
    let words = ["--target", &target, "--relay", &relay];
    let (summary, page) = measured(&test_folder, Command::new("env"), "tiny", &words);
    is_silent_about_the_server(&summary, &page, &target);
    assert!(!server.has_ended(), "it is not the lab's to end");
    server.stop();
    let (due, given) = ledger(&test_folder);
    let kept = addresses(&folder.path().join("leases.csv"));
    // One lease may belong to the client that checks whether the server answers. Late replies gave
    // leases, too.
    assert!(given > 0 && (given..=due + 1).contains(&kept), "{given} of {due}, kept {kept}");
    let folder = test_folder.results()[0].clone();
    let again = test_folder.lab(&["report", &folder.to_string_lossy(), "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON only");
    assert_eq!(again, summary, "what is not known stays unknown when it is judged again");
}

/// Checks that the generator notices a running server that gives one address to all clients. The
/// lab has no lease file of a server on another machine.
#[test]
fn one_address_for_every_client_is_seen_of_a_server_that_runs() {
    let test_folder = LabTestFolder::new("target-same");
    test_folder.more("tiny", "");
    let responder = DhcpResponder::start(false, |_| ClientTreatment::SameAddress);
    let target = format!("127.0.0.1:{}", responder.port);
    let relay = format!("127.0.0.1:{}", free_port());
    let words = ["run", "tiny", "--pool-size", POOL, "--json", "--target", &target];
    let output = test_folder.lab(&[&words[..], &["--relay", &relay]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", output_text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    assert!(summary["conflicts"]["target"].as_u64() > Some(0), "{summary}");
    let text = output_text(&output);
    assert!(text.contains("to a client while another one held the address"), "{text}");
}

#[test]
fn a_dhcpv6_server_that_runs_is_measured() {
    let (test_folder, folder) = (LabTestFolder::new("target6"), TempFolder::new("lab-target6"));
    test_folder.plan("tiny6", "protocol = \"dhcp6\"");
    let subnet = "{ \"id\": 1, \"subnet\": \"2001:db8::/32\", \
                  \"relay\": { \"ip-addresses\": [ \"::1\" ] }, \
                  \"pools\": [ { \"pool\": \"2001:db8:1::/112\" } ] }";
    let config = configuration6(folder.path(), "\"lo/::1\"", "", subnet);
    let ports = [free_port(), free_port()];
    let env = || Command::new("env");
    let server = ServerProcess::launch_on(env(), "dhcp6", ports, &config, folder.path());
    let target = format!("[::1]:{}", server.port);
    let relay = format!("[::1]:{}", server.relay_port);
    let words = ["--target", &target, "--relay", &relay];
    let (summary, page) = measured(&test_folder, env(), "tiny6", &words);
    is_silent_about_the_server(&summary, &page, &target);
    server.stop();
}

#[test]
fn a_server_on_another_machine_is_measured_from_the_address_towards_it() {
    let Some(link) = LinkNamespaces::new() else { return };
    link.join("sv0", "cv0", "10.66.0.1/16");
    link.ip_at_client("addr add 10.66.0.2/16 dev cv0");
    let (test_folder, folder) =
        (LabTestFolder::new("target-far"), TempFolder::new("lab-target-far"));
    let config = configuration(folder.path(), "none", 1);
    let text = std::fs::read_to_string(&config).expect("it was written here");
    let text = text.replace("lo/127.0.0.1", "sv0/10.66.0.1").replace("127.0.0.0/8", "10.66.0.0/16");
    let text = text.replace("127.1.0.1 - 127.1.255.254", "10.66.1.0 - 10.66.255.254");
    std::fs::write(&config, text).expect("the test's folder can be written");
    let at_server = link.at_server();
    let server = ServerProcess::start_on_standard_ports(at_server, "dhcp4", &config, folder.path());
    let (summary, page) =
        measured(&test_folder, link.at_client(), "tiny", &["--target", "10.66.0.1"]);
    is_silent_about_the_server(&summary, &page, "10.66.0.1:67");
    let commands = &summary["trials"][0]["commands"];
    let generator = commands["generator"].as_str().expect("its command line");
    assert!(generator.contains("--relay 10.66.0.2:67"), "{generator}");
    assert!(commands["server"].is_null(), "{commands}");
    server.stop();
}

#[test]
fn a_server_that_goes_away_falls_short_and_is_not_started_again() {
    let (test_folder, folder) =
        (LabTestFolder::new("target-gone"), TempFolder::new("lab-target-gone"));
    let config = configuration(folder.path(), "none", 1);
    let server = ServerProcess::start(&config, folder.path());
    let [target, relay] = [server.port, server.relay_port].map(|port| format!("127.0.0.1:{port}"));
    // Trials so long that the next one is still running when the server is killed.
    let path = test_folder.path().join("plans/tiny.toml");
    let plan = std::fs::read_to_string(&path).expect("the plan");
    std::fs::write(&path, plan.replace("dwell_s = 0.2", "dwell_s = 10.0")).expect("the plan");
    let mut lab =
        test_folder.godwit(&["lab", "run", "tiny", "--target", &target, "--relay", &relay]);
    lab.arg("--ignore-load");
    let mut child = lab.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let time = lines.next().expect("a line").expect("text");
    assert!(time.starts_with("about ") && time.contains(" for 1 configuration: target"), "{time}");
    // A trial has ended, and others follow.
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("search"), "{first}");
    server.kill();
    let output_lines: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(3), "{output_lines:?}");
    let sentence = format!("target ({target}) does not answer any more");
    assert!(output_lines.iter().any(|line| line.ends_with(&sentence)), "{output_lines:?}");
    assert!(!output_lines.iter().any(|line| line.contains("starts it again")), "{output_lines:?}");
}

#[test]
fn what_makes_no_sense_with_a_server_that_runs_is_refused_in_one_message() {
    let test_folder = LabTestFolder::new("no-target");
    let with = |plan: &str, more: &[&str], code| {
        refused(&test_folder, &[&["run", plan, "--target", "127.0.0.1:9"][..], more].concat(), code)
    };
    let flags = with("tiny", &["--server", "godwit,kea", "--topology", "veth"], 2);
    assert!(flags.contains("--server names") && flags.contains("--topology is for"), "{flags}");
    test_folder.plan("demanding", "");
    test_folder.more(
        "demanding",
        "[server]\nfeatures = [\"plain\", \"not-persisted\"]\nprocessor_share = 0.5\n",
    );
    let output = test_folder.lab(&["run", "demanding", "--target", "::1"]);
    let all = output_text(&output);
    assert_eq!((output.status.code(), test_folder.results().len()), (Some(2), 0), "{all}");
    for part in ["--target ::1: the plan is for DHCPv4", "(plain, not-persisted)", "share (0.5)"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let full = test_folder.lab(&["run", "dhcp4-full", "--target", "127.0.0.1:9"]);
    assert_eq!(full.status.code(), Some(2));
    assert!(output_text(&full).contains("runs.count (9)"), "{}", output_text(&full));
    let suite = with("speed", &[], 2);
    assert!(suite.contains("--target: speed is a suite"), "{suite}");
    let alone = test_folder.lab(&["run", "tiny", "--relay", "127.0.0.1"]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(output_text(&alone).contains("--target"), "{}", output_text(&alone));
}

#[test]
fn a_server_that_does_not_answer_is_told_with_what_it_needs() {
    let test_folder = LabTestFolder::new("silent");
    let [target, relay] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    let silent = refused(&test_folder, &["run", "tiny", "--target", &target, "--relay", &relay], 1);
    let sentence = format!("no OFFER came from UDP {target} to the relay {relay} within 15 s");
    assert!(silent.contains(&sentence), "{silent}");
}
