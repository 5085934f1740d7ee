//! Tests of a plan whose servers and generators are on other machines: each in a network namespace
//! with an OpenSSH server, the lab in a third one.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::several_hosts::SshHosts;
use crate::common::link::{inside, ip};
use crate::common::run_bounded;

/// Returns a short plan with these machines.
fn plan(hosts: &SshHosts, name: &str, protocol: &str, parts: &str) -> String {
    let godwit = env!("CARGO_BIN_EXE_godwit");
    let text = format!(
        "name = \"{name}\"\ntitle = \"Elsewhere\"\nprotocol = \"{protocol}\"\nservers = [\"godwit\"]\n\
         time_budget_s = 500.0\n\
         [search]\nloss_percent = 95.0\nstart_per_s = 250.0\nmax_per_s = 1000.0\ngrowth = 2.0\nbisections = 1\ndwell_s = 0.5\n\
         confirm_dwell_s = 0.5\n[blocks]\nrounds = 1\nlimit = true\ndwell_s = 0.5\n\
         [clients]\ncount = 20000\n[server]\npool_size = 60000\ndurability = [\"always\"]\n[void]\nlate_sends_percent = 100.0\n\
         steal_percent = 100.0\nsocket_drops_percent = 100.0\nsoftnet_drops_percent = 100.0\n[hosts]\ngodwit = \"{godwit}\"\nssh = \"ssh -F {}\"\n{parts}",
        hosts.path("client")
    );
    let path = hosts.path(&format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path
}

/// Runs the plan, and returns the result folder and the output.
fn ran(hosts: &SshHosts, plan: &str) -> (PathBuf, String) {
    let mut command = inside(&hosts.namespaces[0]);
    let results = hosts.path("results");
    command.args([env!("CARGO_BIN_EXE_godwit"), "lab", "run", plan, "--results", &results]);
    let output = run_bounded(&mut command);
    let output_text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let output_text = output_text.concat();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output_text}");
    let folder =
        output_text.lines().find_map(|line| line.strip_prefix("report: ")).expect(&output_text);
    (PathBuf::from(folder).parent().unwrap().to_owned(), output_text)
}

fn read(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}")))
        .unwrap()
}

/// Returns the trials of a run, each of which must have been whole.
fn trials(folder: &std::path::Path) -> Vec<Value> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder.join("trials"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("trial.json"))
        .collect();
    paths.sort();
    let trials: Vec<Value> = paths.into_iter().map(read).collect();
    assert!(trials.len() >= 5, "{}", trials.len());
    trials
}

fn numbers(of: &Value) -> Vec<u64> {
    of.as_array().unwrap().iter().filter_map(Value::as_u64).collect()
}

/// Returns the sum of `field` over all samples.
fn summed(trial: &Value, field: &str) -> u64 {
    let samples = trial["samples"].as_array().unwrap();
    samples.iter().filter_map(|sample| sample.pointer(field)?.as_u64()).sum()
}

/// Paths of the message counts of the server's and of the generator's machine.
const INTERFACE_COUNTS: [&str; 2] =
    ["/server_counts/received/packets", "/generator_counts/sent/packets"];

#[test]
fn servers_and_generators_on_other_machines_are_measured_as_here() {
    let Some(hosts) = SshHosts::set() else { return };
    a_machine_that_cannot_be_reached_is_told_by_name(&hosts);
    a_server_and_a_generator_elsewhere(&hosts);
    ip(&format!("-n {} addr add fd77::13/64 dev eth0 nodad", hosts.namespaces[2]));
    the_parts_of_two_generators_are_added_up(&hosts);
}

fn a_server_and_a_generator_elsewhere(hosts: &SshHosts) {
    let parts = "server = \"one\"\nserver_address = \"10.77.0.2\"\ngenerators = [\"two\"]\n\
                 generator_addresses = [\"10.77.0.3\"]\n";
    let (folder, output_text) = ran(hosts, &plan(hosts, "elsewhere", "dhcp4", parts));
    let leases = read(folder.join("leases.json"));
    let (given, found) =
        (leases[0]["given"].as_u64().unwrap(), leases[0]["found"].as_u64().unwrap());
    assert!(given > 0 && given == found, "{leases} {output_text}");
    let mut seen = [0; INTERFACE_COUNTS.len()];
    for trial in trials(&folder) {
        let load = &trial["load"];
        let (due, on_time) = (&load["exchanges"]["due"], &load["exchanges"]["on_time"]);
        // The number of replies that a busy machine sends on time is not part of this test: in a
        // short trial perhaps none, and the next rate is lower. The check above saw that leases
        // were given.
        let duration_s = load["duration_s"].as_f64();
        let duration_s = duration_s.unwrap_or_else(|| panic!("{trial} {output_text}"));
        let expected = trial["rate_per_s"].as_f64().unwrap() * duration_s;
        assert!((due.as_f64().unwrap() - expected).abs() <= 1.0, "{trial}");
        assert!(on_time.as_u64() <= due.as_u64(), "{trial}");
        assert_eq!(numbers(&trial["generator_cpus"]).len(), 1);
        assert!(numbers(&trial["generator_cpus"])[0] >= 1_000, "{trial}");
        // The lab's own machine has no part in the trial, so its processors have none.
        let given = [numbers(&trial["server_cpus"]), numbers(&trial["generator_cpus"])].concat();
        for sample in trial["samples"].as_array().unwrap() {
            for cpu in sample["cpus"].as_array().unwrap() {
                assert!(given.contains(&cpu["cpu"].as_u64().unwrap()), "{trial}");
            }
        }
        for (count, field) in seen.iter_mut().zip(INTERFACE_COUNTS) {
            *count += summed(&trial, field);
        }
        let command = trial["commands"]["server"].as_str().unwrap();
        assert!(command.contains("one") && command.contains("lab hold --side server"), "{command}");
    }
    // Both machines' interfaces counted messages. Their number in the samples of a short trial
    // depends on other load.
    assert!(seen.iter().all(|&packets| packets > 0), "{INTERFACE_COUNTS:?}: {seen:?}");
    let servers = fs::read_dir(folder.join("servers")).unwrap();
    let mut configurations = servers.map(|entry| entry.unwrap().path().join("config.json"));
    let configuration = configurations.find(|path| path.exists()).expect("that of the server");
    let configuration = fs::read_to_string(configuration).unwrap();
    let there =
        configuration.split('"').find(|word| word.contains("godwit-lab-")).expect("its folder");
    let there = there.split("/servers/").next().unwrap();
    assert!(!std::path::Path::new(there).exists(), "{there} is left");
    assert!(output_text.contains("The servers ran on one"), "{output_text}");
}

fn the_parts_of_two_generators_are_added_up(hosts: &SshHosts) {
    let parts = "server = \"one\"\nserver_address = \"fd77::2\"\ngenerators = [\"two\", \"two\"]\n\
                 generator_addresses = [\"fd77::3\", \"fd77::13\"]\n";
    let (folder, output_text) = ran(hosts, &plan(hosts, "divided", "dhcp6", parts));
    let leases = read(folder.join("leases.json"));
    assert_eq!(leases[0]["given"], leases[0]["found"], "{output_text}");
    assert_eq!(leases[0]["shared"], 0, "{leases}");
    for trial in trials(&folder) {
        assert_eq!(numbers(&trial["generator_cpus"]).len(), 2, "{trial}");
        let name = format!("{:03}-", trial["number"].as_u64().unwrap());
        let own = fs::read_dir(folder.join("trials")).unwrap().map(|entry| entry.unwrap().path());
        let own = own
            .into_iter()
            .find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&name));
        let each = [1, 2].map(|number| {
            read(own.as_ref().unwrap().join(format!("generator-{number}/load.json")))
        });
        for field in ["due", "on_time", "lost"] {
            let part = |load: &Value| load["exchanges"][field].as_u64().unwrap();
            // The number of exchanges due in a trial depends on the rate that the machine sustains.
            assert!(field != "due" || each.iter().all(|load| part(load) > 0), "{trial}");
            let whole = part(&trial["load"]);
            assert_eq!(each.iter().map(part).sum::<u64>(), whole, "{field} {trial}");
        }
    }
}

fn a_machine_that_cannot_be_reached_is_told_by_name(hosts: &SshHosts) {
    let parts = "server = \"nowhere.invalid\"\nserver_address = \"10.77.0.9\"\n";
    let path = plan(hosts, "nowhere", "dhcp4", parts);
    let mut command = inside(&hosts.namespaces[0]);
    command.args([env!("CARGO_BIN_EXE_godwit"), "lab", "run", &path]);
    let output = run_bounded(command.args(["--results", &hosts.path("results")]));
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output_text}");
    assert!(output_text.contains("host nowhere.invalid: `ssh -F"), "{output_text}");
    assert!(output_text.contains("ended"), "{output_text}");
    let left = fs::read_dir(hosts.path("results"))
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.path().is_dir()).count());
    assert_eq!(left, 0, "a folder of results is left");
}
