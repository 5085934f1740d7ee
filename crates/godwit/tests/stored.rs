//! Tests of stored runs as a user sees them: listed, pinned as baseline, compared with it by a
//! margin that can gate a merge, and drawn over time.

use crate::results::slower::{slow_down, stored};
use crate::results::{TestResultsFolder, outcome};
use serde_json::Value;

fn json(test_folder: &TestResultsFolder, words: &[&str]) -> Value {
    let (_, out, err) = outcome(&test_folder.lab(words));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
}

/// Returns the names of the runs that `godwit lab list` shows.
fn listed(test_folder: &TestResultsFolder, words: &[&str]) -> Vec<String> {
    let found = json(test_folder, &[&["list", "--json"], words].concat());
    assert_eq!(found["schema"], "godwit.stored.v1");
    let runs = found["runs"].as_array().expect("a list");
    runs.iter().map(|run| run["id"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let test_folder = TestResultsFolder::new("list");
    let (code, _, err) = outcome(&test_folder.lab(&["list"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("there is no folder results"), "{err}");
    stored(&test_folder, "2024-older", 1.0, "aaaa");
    stored(&test_folder, "2026-newest", 1.0, "bbbb");
    stored(&test_folder, "2025-suite/2025-part", 1.0, "aaaa");
    std::fs::create_dir_all(test_folder.path().join("results/20230101T000000Z-mine/trials"))
        .expect("a folder");
    std::fs::create_dir_all(test_folder.path().join("results/something-else")).expect("a folder");
    test_folder.file("results/cut", "{");
    let newest_first =
        ["2026-newest", "2025-suite/2025-part", "2024-older", "20230101T000000Z-mine"];
    assert_eq!(listed(&test_folder, &[]), newest_first);
    assert_eq!(listed(&test_folder, &["AAAA", "kea"]), ["2025-suite/2025-part", "2024-older"]);
    assert_eq!(listed(&test_folder, &["unfinished"]), ["20230101T000000Z-mine"]);
    assert_eq!(listed(&test_folder, &["nothing-like-it"]), Vec::<String>::new());
    let (code, out, _) = outcome(&test_folder.lab(&["list"]));
    assert_eq!(code, Some(0));
    assert!(
        out.contains("  2026-newest  2026-01-01 00:00:00Z") && out.contains("commit bbbb"),
        "{out}"
    );
    assert!(out.contains("leases/s") && out.contains("kea ("), "{out}");
    assert!(out.contains("20230101T000000Z-mine  2023-01-01 00:00:00Z, unfinished\n"), "{out}");
    assert!(out.ends_with("EOF while parsing an object at line 1 column 1\n"), "told: {out}");
}

#[test]
fn a_baseline_is_pinned_replaced_and_taken_away() {
    let test_folder = TestResultsFolder::new("pin");
    stored(&test_folder, "2024-a", 1.0, "");
    stored(&test_folder, "2025-b", 1.0, "");
    let plan = json(&test_folder, &["list", "--json"])["runs"][0]["plan"].clone();
    let plan = plan.as_str().expect("a name");
    let (code, _, err) = outcome(&test_folder.lab(&["compare", "2025-b"]));
    assert_eq!(code, Some(2));
    assert!(err.contains(&format!("no run of {plan} is pinned in results")), "{err}");
    let (code, out, _) = outcome(&test_folder.lab(&["pin", "2025-b"]));
    assert_eq!((code, out), (Some(0), format!("baseline of {plan}: results/2025-b\n")));
    let (code, out, _) = outcome(&test_folder.lab(&["pin", "results/2024-a"]));
    assert_eq!(code, Some(0));
    assert!(out.ends_with("results/2024-a, instead of 2025-b\n"), "{out}");
    assert_eq!(listed(&test_folder, &["pinned"]), ["2024-a"]);
    assert!(test_folder.has("results/baselines.json"));
    assert!(outcome(&test_folder.lab(&["list"])).1.contains("\n* 2024-a"));
    let (code, out, err) = outcome(&test_folder.lab(&["compare", "2025-b"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("A: results/2024-a\nB: results/2025-b\n"), "{out}");
    test_folder.result("elsewhere", |_| {});
    for (words, said_words) in [
        (&["pin", "elsewhere"][..], "is not in the results folder"),
        (&["pin", "nowhere"], "there is no folder nowhere"),
        (&["pin", "--remove", "other"], "no run of other is pinned"),
        (&["pin"], "required arguments"),
    ] {
        let (code, _, err) = outcome(&test_folder.lab(words));
        assert_eq!(code, Some(2), "{words:?}");
        assert!(err.contains(said_words), "{words:?}: {err}");
    }
    let (code, out, _) = outcome(&test_folder.lab(&["pin", "--remove", plan]));
    assert_eq!(code, Some(0));
    assert!(out.contains("it was 2024-a"), "{out}");
    assert_eq!(listed(&test_folder, &["pinned"]), Vec::<String>::new());
}

#[test]
fn a_regression_beyond_the_margin_ends_with_3_and_nothing_else_does() {
    let test_folder = TestResultsFolder::new("gate");
    stored(&test_folder, "2024-a", 1.0, "aaaa");
    stored(&test_folder, "2025-same", 1.0, "bbbb");
    stored(&test_folder, "2025-half", 0.5, "bbbb");
    assert_eq!(outcome(&test_folder.lab(&["pin", "2024-a"])).0, Some(0));
    let gate = |run: &str, words: &[&str]| {
        outcome(&test_folder.lab(&[&["compare", run, "--server", "godwit-none"], words].concat()))
    };
    let (code, out, err) = gate("2025-half", &["--margin", "10"]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(
        out.contains(
            "regressed: godwit-none, highest rate as share of the limit responder's: 0.500"
        ),
        "{out}"
    );
    assert!(out.contains("by a margin of 10 %: regressed\n"), "{out}");
    assert!(
        out.contains("note: Godwit is built from commit aaaa in A, from commit bbbb in B"),
        "{out}"
    );
    let page = std::fs::read_to_string(test_folder.path().join("results/2025-half/compare.html"));
    assert!(page.expect("a page").contains("data-gate=\"regressed\""));
    let (code, out, _) = gate("2025-half", &["--margin", "90"]);
    assert_eq!(code, Some(0), "half is less than a loss of 90 %: {out}");
    assert!(out.contains("by a margin of 90 %: held\n"), "{out}");
    // With so few rounds the intervals can neither exclude nor show a loss of one per cent.
    let (code, out, _) = gate("2025-same", &["--margin", "1"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("undecided: godwit") && out.contains("too wide"), "{out}");
    let (code, out, _) = gate("2025-same", &["--margin", "1", "--strict"]);
    assert_eq!(code, Some(3), "{out}");
    let words = ["compare", "--json", "--margin", "10", "2025-half"];
    let gate = json(&test_folder, &words)["gate"].clone();
    assert_eq!((&gate["verdict"], &gate["margin_percent"]), (&"regressed".into(), &10.0.into()));
    assert!(gate["lines"].as_array().is_some_and(|lines| lines.len() >= 4), "all servers: {gate}");
}

#[test]
fn a_gate_takes_only_what_it_can_judge() {
    let test_folder = TestResultsFolder::new("gate-usage");
    stored(&test_folder, "2024-a", 1.0, "");
    test_folder.result("results/2025-other", |summary| {
        summary.environment.kernel = "another".to_owned();
        slow_down(summary, 0.5);
    });
    let pair = ["compare", "2024-a", "2025-other"];
    let (code, out, err) = outcome(&test_folder.lab(&[&pair[..], &["--margin", "10"]].concat()));
    assert_eq!(code, Some(3), "{out}");
    assert!(err.starts_with("not comparable because ") && !out.contains("margin"), "{out}{err}");
    for (words, said_words) in [
        (&["--margin", "100"][..], "not from 0 to below 100"),
        (&["--margin", "-1"], "not from 0 to below 100"),
        (&["--margin", "x"], "not a number"),
        (&["--margin", "5", "--force"], "cannot be used with"),
        (&["--strict"], "--margin"),
    ] {
        let (code, _, err) = outcome(&test_folder.lab(&[&pair[..], words].concat()));
        assert_eq!(code, Some(2), "{words:?}");
        assert!(err.contains(said_words), "{words:?}: {err}");
    }
    let words = ["compare", "2024-a", "2024-a", "--margin", "5", "--server", "none"];
    let (code, _, err) = outcome(&test_folder.lab(&words));
    assert_eq!(code, Some(2));
    assert!(err.contains("none is not in both results, which have godwit"), "{err}");
}

#[test]
fn a_plan_is_drawn_over_its_runs() {
    let test_folder = TestResultsFolder::new("trend");
    stored(&test_folder, "2025-b", 0.9, "bbbbbbbbbbbb");
    stored(&test_folder, "2024-a", 1.0, "aaaaaaaaaaaa");
    test_folder.result("results/2026-c", |summary| {
        summary.started = "2026-01-01T00:00:00Z".to_owned();
        summary.plan.name = "another".to_owned();
    });
    let runs = json(&test_folder, &["list", "--json", "2024-a"])["runs"].clone();
    let plan = runs[0]["plan"].as_str().expect("a name");
    let (code, out, err) = outcome(&test_folder.lab(&["trend", plan]));
    assert_eq!(code, Some(0), "{err}");
    let (a, b) = (out.find("2024-a, commit aaaa"), out.find("2025-b, commit bbbb"));
    assert!(a.is_some() && a < b && !out.contains("2026-c"), "{out}");
    assert!(out.ends_with(&format!("page: results/trend-{plan}.html\n")), "{out}");
    let page = test_folder.path().join(format!("results/trend-{plan}.html"));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("data-run=\"2025-b\"") && page.contains(">aaaaaaa<"), "marks and labels");
    let words =
        ["trend", "--json", "--last", "1", "--server", "godwit-none", "--html", "x.html", plan];
    let trend = json(&test_folder, &words);
    assert_eq!(trend["schema"], "godwit.trend.v1");
    assert_eq!(trend["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(trend["runs"][0]["servers"].as_array().map(Vec::len), Some(1));
    for words in [&["trend", "nothing"][..], &["trend", plan, "--server", "nobody"]] {
        let (code, _, err) = outcome(&test_folder.lab(words));
        assert_eq!(code, Some(2), "{words:?}");
        assert!(err.contains("there is no run of"), "{err}");
    }
}
