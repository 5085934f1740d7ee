//! Tests of `godwit lab compare` and `--runs` as a user sees them: exit codes, messages, files.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::lab::nothing_runs_in;
use crate::results::runs::runs_plan;
use crate::results::{GODWIT, TestResultsFolder, outcome};
use serde_json::Value;

#[test]
fn two_results_are_compared_in_the_terminal_and_on_a_page() {
    let test_folder = TestResultsFolder::new("two");
    let (a, b) = (test_folder.result("a", |_| {}), test_folder.result("b", |_| {}));
    let (code, out, err) = outcome(&test_folder.lab(&["compare", &a, &b]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("B over A: 1.0 (0.59 to 1.7)"), "{out}");
    assert!(out.contains("p50/p99/p99.9 at half, ms") && out.contains("Welch"), "{out}");
    assert!(
        out.contains("no difference shown") && out.ends_with("page: b/compare.html\n"),
        "{out}"
    );
    assert!(test_folder.has("b/compare.html") && !test_folder.has("a/compare.html"));
    let (code, out, _) =
        outcome(&test_folder.lab(&["compare", "--json", "--html", "x.html", &a, &b]));
    let json: Value = serde_json::from_str(&out).expect("JSON only");
    assert_eq!((code, &json["schema"]), (Some(0), &"godwit.compare.v1".into()));
    assert_eq!((&json["is_comparable"], &json["reasons"]), (&true.into(), &serde_json::json!([])));
    assert!(json["servers"][0]["leases_per_s"]["ratio"].as_f64().is_some());
    assert!(test_folder.has("x.html"));
}

#[test]
fn what_may_not_be_compared_is_refused_with_all_reasons_unless_forced() {
    let test_folder = TestResultsFolder::new("refused");
    let a = test_folder.result("a", |_| {});
    let b = test_folder.result("b", |summary| {
        summary.environment.kernel = "another".to_owned();
        summary.plan.search.loss_percent = 5.0;
        summary.results[0].segmentation = Some(false);
    });
    let (code, out, err) = outcome(&test_folder.lab(&["compare", &a, &b]));
    assert_eq!(code, Some(3));
    let reasons: Vec<&str> = err.lines().collect();
    assert_eq!(reasons.len(), 3, "{err}");
    assert!(reasons.iter().all(|reason| reason.starts_with("not comparable because ")), "{err}");
    assert!(err.contains("search.loss_percent (2.5 in A, 5.0 in B)"), "{err}");
    assert!(!out.contains("leases/s") && !test_folder.has("b/compare.html"), "no figures: {out}");
    let (code, out, _) = outcome(&test_folder.lab(&["compare", "--json", &a, &b]));
    let json: Value = serde_json::from_str(&out).expect("JSON only");
    assert_eq!((code, json["reasons"].as_array().map(Vec::len)), (Some(3), Some(3)));
    assert_eq!(json["servers"], serde_json::json!([]));
    let (code, out, err) = outcome(&test_folder.lab(&["compare", "--force", &a, &b]));
    assert_eq!((code, err.lines().count()), (Some(0), 3), "{err}");
    assert!(out.contains("SHOWN ALTHOUGH NOT COMPARABLE") && out.contains("leases/s"), "{out}");
    let page = std::fs::read_to_string(test_folder.path().join("b/compare.html")).expect("a page");
    assert!(page.contains("Not comparable because"));
}

#[test]
fn what_is_no_result_folder_is_refused_in_words() {
    let test_folder = TestResultsFolder::new("broken");
    let a = test_folder.result("a", |_| {});
    std::fs::create_dir(test_folder.path().join("empty")).expect("a folder");
    std::fs::create_dir(test_folder.path().join("unfinished")).expect("a folder");
    std::fs::write(test_folder.path().join("unfinished/run.json"), "{}").expect("a file");
    for (folder, words) in [
        ("nowhere", "there is no folder nowhere"),
        ("empty", "empty is not a result folder: it has no summary.json\n"),
        ("unfinished", "`godwit lab report unfinished` makes it from the records"),
        (&test_folder.file("cut", "{ \"schema\": "), "cut/summary.json cannot be read: EOF"),
        (&test_folder.file("braces", "{}"), "its schema is nothing, not godwit.summary.v1"),
        (
            &test_folder.file("other", "{ \"schema\": \"godwit.load.v1\" }"),
            "its schema is godwit.load.v1",
        ),
        (&test_folder.file("list", "[]"), "list/summary.json cannot be read"),
    ] {
        for pair in [[a.as_str(), folder], [folder, a.as_str()]] {
            let (code, out, err) = outcome(&test_folder.lab(&["compare", pair[0], pair[1]]));
            assert_eq!((code, out.as_str()), (Some(2), ""), "{folder}: {err}");
            assert!(err.starts_with("error: ") && err.contains(words), "{folder}: {err}");
        }
    }
    let (code, _, err) = outcome(&test_folder.lab(&["compare", "nowhere", "empty"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("no folder nowhere") && err.contains("empty is not a"), "both: {err}");
    assert_eq!(outcome(&test_folder.lab(&["compare", &a])).0, Some(2));
    let (code, _, err) = outcome(&test_folder.lab(&["compare", "--html", "none/x.html", &a, &a]));
    assert_eq!(code, Some(1), "{err}");
}

#[test]
fn runs_are_done_shown_and_kept_and_can_be_overridden() {
    let test_folder = TestResultsFolder::new("runs");
    let plan = runs_plan(test_folder.path(), 5);
    let (code, out, err) = outcome(&test_folder.lab(&["run", &plan, "--server", "godwit"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("EVERY RUN, leases/s: 5 of 5 done"), "{out}");
    assert_eq!(out.matches("mean of 3").count(), 2, "Godwit and the limit: {out}");
    let folder = result_in(&test_folder);
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(name)).expect("a record");
        serde_json::from_str(&text).expect("JSON")
    };
    let summary = read("summary.json");
    assert_eq!(summary["runs_done"], 5);
    assert_eq!(summary["results"][0]["runs"].as_array().map(Vec::len), Some(5));
    assert_eq!(read("run.json")["searches"].as_array().map(Vec::len), Some(10));
    let leases = read("leases.json");
    assert_eq!(leases.as_array().map(Vec::len), Some(1), "all runs of a server together: {leases}");
    assert_eq!(leases[0]["given"], leases[0]["found"]);
    // Each run began with clients unknown to the server.
    for run in 1..=5 {
        let name = if run == 1 { "server.err".to_owned() } else { format!("server-{run}.err") };
        let servers = std::fs::read_dir(folder.join("servers")).expect("folders").flatten();
        let has = servers.filter(|server| server.path().join(&name).exists()).count();
        assert_eq!(has, 2, "{name}");
    }
    let (code, out, err) =
        outcome(&test_folder.lab(&["run", &plan, "--runs", "2", "--results", "two"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("2 of 2 done"), "{out}");
    let (code, _, err) = outcome(&test_folder.lab(&["run", "dhcp4-smoke", "--runs", "2"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("measures in rounds"), "{err}");
}

fn result_in(test_folder: &TestResultsFolder) -> PathBuf {
    let entries = std::fs::read_dir(test_folder.path().join("results")).expect("results");
    let folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    assert_eq!(folders.len(), 1);
    folders[0].clone()
}

#[test]
fn an_interrupt_after_a_run_keeps_it() {
    use std::io::{BufRead, BufReader};

    let test_folder = TestResultsFolder::new("interrupt");
    let plan = runs_plan(test_folder.path(), 100);
    let mut command = Command::new(GODWIT);
    command
        .args(["lab", "run", &plan, "--time-budget", "3600"])
        .current_dir(test_folder.path())
        .stdin(Stdio::null());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("godwit starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let third = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("round 3 of 100")));
    assert!(third.is_some(), "a third run begins");
    let kill = format!("kill -s INT {}", child.id());
    Command::new("sh").args(["-c", &kill]).status().expect("sh");
    lines.for_each(drop);
    let output = child.wait_with_output().expect("it ends");
    let (code, out, _) = outcome(&output);
    assert_eq!(code, Some(130), "{out}");
    // At least two: more if the interrupt came late.
    let (_, rest) = out.split_once("EVERY RUN, leases/s: ").expect(&out);
    let (done, _) = rest.split_once(" of 100 done").expect(&out);
    assert!((2..100).contains(&done.parse::<u32>().expect("a count")), "{out}");
    assert!(out.contains("note: Interrupted by the user"), "{out}");
    assert!(out.contains(&format!("{done} of 100 runs were done")), "{out}");
    let folder = result_in(&test_folder);
    for name in ["run.json", "summary.json", "report.html"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    let again = test_folder.lab(&["report", &folder.to_string_lossy()]);
    assert_eq!(again.status.code(), Some(0));
    assert!(outcome(&again).1.contains(&format!("{done} of 100 done")));
    nothing_runs_in(test_folder.path());
}
