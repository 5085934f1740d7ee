//! Tests of `godwit lab` as a user sees it, for plans of features and for suites.

use std::path::Path;

use serde_json::Value;

use super::{LabTestFolder, nothing_runs_in, output_text};
use crate::schema;

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON only")
}

#[test]
fn every_feature_is_served_and_set_over_its_baseline() {
    let test_folder = LabTestFolder::new("features");
    test_folder.plan("features", "");
    let features = [
        "plain",
        "empty-classes",
        "simple-classes",
        "ored-addresses",
        "shared-networks",
        "not-persisted",
        "log-debug",
        "four-threads",
        "segmentation",
        "chatty",
        "chatty-cached",
        "pool-50",
        "pool-99",
    ];
    test_folder.more(
        "features",
        &format!("[clients]\ncount = 1000\n[server]\npool_size = 20000\nfeatures = {features:?}\n"),
    );
    let output = test_folder.lab(&["run", "features", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let summary = json(&output);
    let results = summary["results"].as_array().expect("a list");
    let names: Vec<&str> = results.iter().filter_map(|result| result["server"].as_str()).collect();
    let lines: Vec<String> =
        features.iter().map(|feature| format!("godwit-{feature}-none")).collect();
    assert_eq!(names, lines);
    assert!(
        // The number depends on the machine.
        results.iter().all(|result| result["leases_per_s"].as_f64() > Some(0.0)),
        "{results:?}"
    );
    let ratios = summary["ratios"].as_array().expect("a list");
    assert_eq!(ratios.len(), features.len() - 2, "all but the baselines: {ratios:?}");
    let baseline = |ratio: &Value| match ratio["server"].as_str() {
        Some(name) if name.contains("pool") => "godwit-pool-50-none",
        Some("godwit-chatty-cached-none") => "godwit-chatty-none",
        _ => "godwit-plain-none",
    };
    assert!(ratios.iter().all(|ratio| ratio["to"] == baseline(ratio)), "{ratios:?}");
    let starts = summary["starts"].as_array().expect("a list");
    // The limit responder starts too.
    assert_eq!(starts.len(), features.len() + 1);
    assert!(starts.iter().all(|start| start["took_s"].as_f64() > Some(0.0)), "{starts:?}");
    nothing_runs_in(test_folder.path());
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("text")
}

/// Returns the processors of the first trial of a result.
fn processors(folder: &Path) -> [Value; 2] {
    let mut trials: Vec<_> =
        std::fs::read_dir(folder.join("trials")).expect("trials").flatten().collect();
    trials.sort_by_key(std::fs::DirEntry::file_name);
    let text = std::fs::read_to_string(trials[0].path().join("trial.json")).expect("a trial");
    let trial: Value = serde_json::from_str(&text).expect("JSON");
    ["server_cpus", "generator_cpus"].map(|key| trial[key].clone())
}

/// Returns the record of the machine in a run. Its counts of others' connections change by
/// themselves, and the backlog is raised while any run on the machine needs that.
fn machine(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).expect("a record");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    let mut environment = run["environment"].take();
    let settings = environment["settings"].as_object_mut().expect("settings");
    for changing in ["net.netfilter.nf_conntrack_count", "net.core.netdev_max_backlog"] {
        settings.remove(changing);
    }
    // The number of leases depends on how often a trial was repeated.
    settings.retain(|name, _| !name.starts_with("leases verified"));
    environment
}

#[test]
fn a_suite_runs_its_plans_and_sets_their_figures_against_targets() {
    let test_folder = LabTestFolder::new("suite");
    test_folder.more("tiny", "");
    test_folder.plan("second", "");
    test_folder.more("second", "");
    let text = "name = \"all\"\ntitle = \"Everything\"\n[[part]]\nplan = \"tiny\"\n\
                quick_time_budget_s = 900\n[[part]]\nplan = \"second\"\n\
                quick_time_budget_s = 900\n\
                [[row]]\nname = \"share\"\npart = \"tiny\"\nfigure = \"share-of-limit\"\n\
                of = \"godwit\"\nat_least = 0.01\n\
                [[row]]\nname = \"against kea\"\npart = \"tiny\"\nof = \"godwit\"\nto = \"kea\"\n\
                at_least = 12\n[[row]]\nname = \"later\"\nat_most = 1\nnot_measured = \"no time\"\n";
    std::fs::write(test_folder.path().join("plans/all.toml"), text).expect("a file");
    let output = test_folder.lab(&["run", "all", "--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let suite = json(&output);
    let verdicts: Vec<&str> = suite["rows"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| row["verdict"].as_str())
        .collect();
    assert!(verdicts[0].starts_with("met"), "{verdicts:?}");
    schema::check_document("suite", &suite);
    assert_eq!(verdicts[1..], ["not-measured", "not-measured"]);
    let folder = &test_folder.results()[0];
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    let part = suite["parts"][0]["folder"].as_str().expect("a folder");
    assert!(page.contains(&format!("{part}/report.html")) && page.contains("no time"));
    assert!(folder.join(part).join("report.html").exists());
    // No plan changes the machine for the next one.
    let parts = suite["parts"].as_array().expect("a list");
    let chosen = parts.iter().map(|part| processors(&folder.join(text_of(&part["folder"]))));
    let chosen: Vec<_> = chosen.collect();
    assert_eq!(chosen[0], chosen[1], "server's and generator's processors");
    let [first, second] = [0, 1].map(|at| machine(&folder.join(text_of(&parts[at]["folder"]))));
    assert_eq!(first, second, "the machine as the runs found it");
    let refused = test_folder.lab(&["run", "all", "--server", "kea"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        output_text(&refused).contains("--server: all is a suite"),
        "{}",
        output_text(&refused)
    );
}
