//! Tests of DCCP regressions from plans.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use testbed::registry;

use crate::lab::{GODWIT, LabTestFolder, is_root, output_text, refused, refused_plan};

/// Writes a plan with one lossy link, so short that it ends at once by the virtual clock.
fn small(test_folder: &LabTestFolder, name: &str, more: &str, case: &str) {
    let text = format!(
        "name = \"{name}\"\ntitle = \"A small link\"\nprotocol = \"dccp\"\nseconds = 2\nruns = 2\n\
         quick_seconds = 1\n{more}\n[[case]]\nname = \"lossy\"\ntitle = \"2 % loss\"\n\
         delay = \"5ms\"\nloss_percent = 2\n{case}\n"
    );
    std::fs::write(test_folder.path().join(format!("plans/{name}.toml")), text).expect("a file");
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn json(octets: &[u8]) -> serde_json::Value {
    serde_json::from_slice(octets).unwrap_or_else(|error| panic!("{error}: {}", text(octets)))
}

/// Returns `run.json` and the page of the only result folder, which must be that of the plan
/// `name`.
fn stored_result(test_folder: &LabTestFolder, name: &str) -> (serde_json::Value, String) {
    let results = test_folder.results();
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0].to_string_lossy().ends_with(&format!("Z-{name}")), "{results:?}");
    let read = |file: &str| std::fs::read(results[0].join(file)).expect("it was written");
    (json(&read("run.json")), text(&read("report.html")))
}

#[test]
fn a_small_plan_gives_a_table_a_record_and_a_page() {
    let test_folder = LabTestFolder::new("regression");
    small(&test_folder, "mine", "clocks = [\"virtual\"]", "accepted_mbps = [0.5, 20]");
    let output = test_folder.lab(&["run", "mine", "--quick"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", output_text(&output));
    assert!(printed.starts_with("A small link\n\ndatagrams of 1424 bytes, tx_qlen 5"), "{printed}");
    assert!(
        printed.contains("over IPv4, 1 run of 1 s") && printed.contains("2 % loss"),
        "{printed}"
    );
    let report = printed.lines().last().and_then(|line| line.strip_prefix("report: "));
    assert!(report.is_some_and(|path| Path::new(path).ends_with("report.html")), "{printed}");
    let (run, page) = stored_result(&test_folder, "mine");
    assert_eq!(
        (&run["schema"], &run["is_quick"]),
        (&"godwit.dccp-regression.v1".into(), &true.into())
    );
    assert_eq!(run["plan"]["case"][0]["delay"], "5ms");
    assert_eq!(run["environment"]["topology"], "virtual clock");
    let rows = run["table"]["rows"].as_array().expect("rows");
    let ccids: Vec<_> = rows.iter().map(|row| &row["ccid"]).collect();
    assert_eq!(ccids, [3, 2]);
    for row in rows {
        assert_eq!((&row["clock"], &row["link"]), (&"virtual".into(), &"delay 5ms loss 2%".into()));
        assert!(row["mean_bits_per_s"].as_f64().is_some_and(|mean| mean > 1e5), "{row}");
        assert_eq!(row["linux_2007_bits_per_s"].as_array(), None, "nobody measured that in 2007");
    }
    assert!(page.contains("data-chart=\"lossy\"") && page.contains("A small link"), "{page}");
    assert!(page.contains("a quick look, which is not judged"));
}

#[test]
fn a_mean_outside_of_what_is_accepted_falls_short() {
    let test_folder = LabTestFolder::new("regression-short");
    small(
        &test_folder,
        "high",
        "clocks = [\"virtual\"]\nccids = [3]",
        "accepted_mbps = [900, 1000]",
    );
    let words = ["run", "high", "--json", "--runs", "3", "--results", "results"];
    let output = test_folder.lab(&words);
    assert_eq!(output.status.code(), Some(3), "{}", output_text(&output));
    let message = output_text(&output);
    assert!(
        message.contains("fell short: 2 % loss, CCID 3, virtual clock: the mean of"),
        "{message}"
    );
    let run = json(&output.stdout);
    assert_eq!(run, stored_result(&test_folder, "high").0);
    assert_eq!(run["shortfalls"].as_array().map(Vec::len), Some(1));
    assert_eq!(run["table"]["rows"][0]["runs_bits_per_s"].as_array().map(Vec::len), Some(3));
    // A quick run has no verdict.
    let quick = test_folder.lab(&["run", "plans/high.toml", "--quick"]);
    assert_eq!(quick.status.code(), Some(0), "{}", output_text(&quick));
}

#[test]
fn what_makes_no_sense_of_it_is_refused() {
    let test_folder = LabTestFolder::new("regression-bad");
    small(&test_folder, "mine", "clocks = [\"virtual\"]", "");
    for (flag, value, why) in [
        ("--server", "kea", "has no servers"),
        ("--server-command", "x", "has no servers"),
        ("--topology", "veth", "makes its own network"),
        ("--time-budget", "9", "as long as"),
    ] {
        let message = refused(&test_folder, &["run", "mine", flag, value], 2);
        assert!(message.contains(&format!("{flag}: mine is a regression of DCCP")), "{message}");
        assert!(message.contains(why), "{message}");
    }
    small(&test_folder, "wrong", "seconds_ = 3\ntx_qlen = 0", "rate = \"fast\"");
    let message = refused_plan(&test_folder, "wrong");
    for position in ["plans/wrong.toml:7:1:", "plans/wrong.toml:8:11:", "plans/wrong.toml:14:8:"] {
        assert!(message.contains(position), "{position} {message}");
    }
    assert!(message.contains("did you mean `seconds`?"), "{message}");
    let plans = test_folder.lab(&["plans"]);
    let listed = text(&plans.stdout);
    assert!(listed.contains("dccp-regression") && listed.contains("A small link"), "{listed}");
    assert!(listed.contains("(does not load) plans/wrong.toml:7:1"), "{listed}");
}

/// Runs the lab as a user without rights.
fn lab_as_nobody(test_folder: &LabTestFolder, words: &[&str]) -> Output {
    let mut command = Command::new(GODWIT);
    let program = test_folder.path().join("godwit");
    if registry::user_id() == 0 {
        // The user `nobody` may not read the build folder.
        std::fs::copy(GODWIT, &program).expect("room for a copy");
        let opened = Command::new("chmod").args(["-R", "a+rwX"]).arg(test_folder.path()).status();
        assert!(opened.is_ok_and(|status| status.success()));
        command = Command::new(&program);
        command.uid(65_534).gid(65_534);
    }
    command.arg("lab").args(words).current_dir(test_folder.path()).output().expect("it starts")
}

#[test]
fn without_root_the_real_clock_is_left_out_and_that_is_said() {
    let test_folder = LabTestFolder::new("regression-nobody");
    small(&test_folder, "both", "ccids = [2]", "");
    let output = lab_as_nobody(&test_folder, &["run", "both", "--quick"]);
    let message = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{message}");
    let warning = "The cases were not measured in real time, because network namespaces need \
                       root.";
    assert!(message.contains(&format!("warning: {warning}")), "{message}");
    let (run, page) = stored_result(&test_folder, "both");
    assert_eq!(run["warnings"][0], warning);
    assert_eq!(run["table"]["rows"].as_array().map(Vec::len), Some(1));
    assert!(page.contains(warning));
    small(&test_folder, "real", "clocks = [\"real\"]", "");
    let output = lab_as_nobody(&test_folder, &["run", "real", "--quick"]);
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("network namespaces need root"),
        "{}",
        output_text(&output)
    );
    assert_eq!(test_folder.results().len(), 1);
}

#[test]
fn with_both_clocks_both_are_in_the_report() {
    if !is_root() {
        return;
    }
    let test_folder = LabTestFolder::new("regression-both");
    small(&test_folder, "both", "ccids = [3]", "");
    // Real time, in which a busy machine must get some of the data through.
    test_folder.change("both", "quick_seconds = 1\n", "quick_seconds = 10\n");
    let output = test_folder.lab(&["run", "both", "--quick"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let (run, page) = stored_result(&test_folder, "both");
    let rows = run["table"]["rows"].as_array().expect("rows");
    let clocks: Vec<_> = rows.iter().map(|row| &row["clock"]).collect();
    assert_eq!(clocks, ["virtual", "real"]);
    assert_eq!(run["environment"]["topology"], "network namespaces and a virtual clock");
    assert!(rows.iter().all(|row| row["mean_bits_per_s"].as_f64().is_some_and(|mean| mean > 0.0)));
    assert!(page.contains("CCID 3, virtual clock") && page.contains("CCID 3, real time"), "{page}");
}
