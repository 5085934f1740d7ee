//! Tests of pools that are exhausted in the middle of a trial, in the result's records.

use serde_json::Value;

use super::{LabTestFolder, output_text};

/// Maximum of runs until the machine lets the generator send everything that is due: a trial
/// without that is void and proves nothing about the pool.
const TRIES_MAX: u32 = 10;

/// Returns the trial in the summary of a run of `protocol`, and the generator's record of it.
fn exhausted(protocol: &str) -> (Value, Value) {
    for _ in 0..TRIES_MAX {
        if let Some(found) = run_once(protocol) {
            return found;
        }
    }
    panic!("each of {TRIES_MAX} trials is void");
}

/// Returns both records of one run; `None` if its trial is void.
fn run_once(protocol: &str) -> Option<(Value, Value)> {
    let test_folder = LabTestFolder::new(&format!("exhausted-{protocol}"));
    test_folder.plan(protocol, &format!("protocol = \"{protocol}\""));
    test_folder.more(
        protocol,
        "[clients]\ncount = 1000\n[server]\npool_size = 20000\ndurability = [\"always\"]\n\
         [exhaustion]\ndwell_s = 4\nat_s = 2\n",
    );
    // Clients that find nothing are waited for until their deadline.
    test_folder.change(protocol, "deadline_s = 60.0", "deadline_s = 10.0");
    let output = test_folder.lab(&["run", protocol, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    let Some(trial) = summary["long_trials"].get(0) else {
        let trials = summary["trials"].as_array().expect("a list");
        let of_pool: Vec<_> = trials.iter().filter(|row| row["purpose"] == "exhaustion").collect();
        let is_void = |row: &&Value| row["void"].as_array().is_some_and(|void| !void.is_empty());
        assert!(!of_pool.is_empty() && of_pool.iter().all(is_void), "{of_pool:?}");
        return None;
    };
    let folder = &test_folder.results()[0];
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.contains("data-chart=\"seconds\""), "it is drawn");
    let name = format!("trials/{:03}-godwit-durability-always/load.json", number(&trial["trial"]));
    let load = std::fs::read_to_string(folder.join(name)).expect("the generator's record");
    Some((trial.clone(), serde_json::from_str(&load).expect("JSON")))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a whole number"))
}

fn points(trial: &Value) -> &Vec<Value> {
    trial["points"].as_array().expect("a list")
}

/// Returns the first second in which `key` counts something, and its sums by exchange.
fn counted(trial: &Value, key: &str) -> (Option<usize>, [u64; 2]) {
    let counts = |point: &Value| [0, 1].map(|which| number(&point[key][which]));
    let first = points(trial).iter().position(|point| counts(point) != [0, 0]);
    let all = points(trial).iter().map(counts);
    (first, all.fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]))
}

/// Returns the second of the first client that finds no free address.
fn runs_out(trial: &Value) -> usize {
    let rate = trial["offered_per_s"].as_f64().expect("a rate");
    (number(&trial["pool_size"]) as f64 / rate) as usize
}

#[test]
fn solicits_are_rejected_from_the_second_in_which_the_pool_runs_out() {
    let (trial, load) = exhausted("dhcp6");
    let sum = |key: &str| points(&trial).iter().map(|point| number(&point[key])).sum::<u64>();
    let (pool, due) = (number(&trial["pool_size"]), sum("due"));
    let (first, rejected) = counted(&trial, "rejected");
    assert!(first >= Some(runs_out(&trial)), "{trial}");
    assert!(due.abs_diff(2 * pool) <= 2, "half of the clients find nothing: {trial}");
    let exchanges = &load["exchanges"];
    assert_eq!(rejected.iter().sum::<u64>(), number(&exchanges["nak"]), "{exchanges}");
    assert_eq!(rejected[0], number(&load["stages"]["refused_advertises"]));
    assert!(number(&exchanges["nak"]) > 0 && sum("completed") <= pool, "{exchanges}");
    let seen = points(&trial).iter().filter(|point| point["server_cpus_busy"].is_f64()).count();
    assert!(seen >= 2, "its processors were seen second by second: {trial}");
    assert!(points(&trial).iter().any(|point| point["server_rss_bytes"].as_u64() > Some(1 << 20)));
}

#[test]
fn discovers_stay_unanswered_from_the_second_in_which_the_pool_runs_out() {
    let (trial, load) = exhausted("dhcp4");
    let (first, unanswered) = counted(&trial, "unanswered");
    assert!(first >= Some(runs_out(&trial)), "{trial}");
    let exchanges = &load["exchanges"];
    assert_eq!(unanswered.iter().sum::<u64>(), number(&exchanges["lost"]), "{exchanges}");
    assert_eq!(unanswered[0], number(&load["stages"]["lost_before_offer"]));
    assert!(unanswered[0] > 0, "{exchanges}");
    let pool = number(&trial["pool_size"]);
    assert!(number(&exchanges["on_time"]) <= pool, "{exchanges}");
}
