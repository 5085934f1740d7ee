//! Tests of the search of `godwit dccp perf` for the highest constant rate, over loopback.

use serde_json::Value;

use crate::dccp::{DccpListenerProcess, document, number, text};

/// Returns exit code and document of a search against a server that does not end with the first
/// connection.
fn searched(words: &[&str]) -> (Option<i32>, Value) {
    let mut server = DccpListenerProcess::start(&["perf", "-s"], true);
    let common = ["perf", "-c", "127.0.0.1", "--search", "--json", "-t", "0.1"];
    let output = server.meet(&[&common[..], words].concat());
    server.child.kill().expect("it was started here");
    server.child.wait().expect("it was started here");
    (output.status.code(), document(&output.stdout))
}

#[test]
fn a_search_doubles_until_too_much_is_missing() {
    // One datagram may wait: a send queue that paces no more than the loop around it.
    let (code, found) = searched(&["--set", "tx_qlen=1", "-l", "1000", "-b", "100k"]);
    assert_eq!(number(&found, "/schema_version"), 1.0);
    assert_eq!((&found["mode"], number(&found, "/dwell_s")), (&"search".into(), 0.1));
    let steps = found["steps"].as_array().expect("steps");
    let rates: Vec<_> = steps.iter().map(|step| number(step, "/bits_per_s")).collect();
    assert!(rates[0] == 100_000.0 || steps[0]["outcome"] != "met", "{found:#}");
    for pair in steps.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|step| number(step, "/bits_per_s"));
        if pair[0]["outcome"] == "met" && pair[1]["purpose"] == "search" {
            assert!(after > before, "{found:#}");
        }
        if pair[0]["outcome"] == "missed" {
            assert!(after < before, "{found:#}");
        }
    }
    for step in steps {
        let [due, lost, never] =
            ["due", "lost", "never_sent"].map(|name| number(step, &format!("/{name}")));
        let missing = number(step, "/missing_percent");
        assert!((missing - (lost + never) * 100.0 / due.max(1.0)).abs() < 1e-6, "{step:#}");
        if step["outcome"] == "met" {
            assert!(missing <= 1.0, "{step:#}");
        }
    }
    match code {
        Some(0) => {
            let rate = number(&found, "/found_bits_per_s");
            // The search may have tried, and missed, higher rates after it.
            let is_confirmed = steps.iter().any(|step| {
                (&step["purpose"], &step["outcome"]) == (&"confirm".into(), &"met".into())
                    && (number(step, "/bits_per_s") - rate).abs() < 1.0
            });
            assert!(is_confirmed, "{found:#}");
            assert!(number(&found, "/missed_bits_per_s") > rate);
        }
        // A busy machine may miss every rate.
        Some(3) => assert!(found["found_bits_per_s"].is_null(), "{found:#}"),
        code => panic!("{code:?}"),
    }
}

#[test]
fn a_search_says_each_step() {
    let mut server = DccpListenerProcess::start(&["perf", "-s"], true);
    // All datagrams may be lost: no step misses, and the rate doubles up to the end.
    let words =
        ["perf", "-c", "127.0.0.1", "--search", "-t", "0.02", "-b", "500g", "--loss", "99.99"];
    let output = server.meet(&words);
    server.child.kill().expect("it was started here");
    server.child.wait().expect("it was started here");
    let output_text = text(&output.stdout);
    assert!(
        output_text.contains("[  1]   500 Gbits/sec")
            || output_text.contains("[  1]    500 Gbits/sec"),
        "{output_text}"
    );
    assert!(output_text.contains("due and never sent"), "{output_text}");
    assert!(
        output_text.lines().last().is_some_and(|line| line.starts_with("Found ")),
        "{output_text}"
    );
}
