//! Tests of DCCP commands that measure over networks of their own, and on the virtual clock, which
//! needs none.

use crate::common::TempFolder;
use crate::dccp::{document, file_in, godwit, number, text};

/// Returns true if the command could not make namespaces. With GODWIT_REQUIRE_TOOLS that fails the
/// test.
fn is_without_root(stderr: &[u8]) -> bool {
    let is_refused = text(stderr).contains("need root");
    if is_refused {
        testkit::skip("network namespaces need root");
    }
    is_refused
}

#[test]
fn the_regression_makes_its_own_network() {
    let common = ["regression", "-t", "5", "--runs", "1", "--only", "loss1", "--json"];
    // IP version, carrier, and flags that the command passes on to both ends.
    let flags =
        ["--carrier", "udp", "-6", "--udp-port", "7001", "-p", "7", "--service-code", "SC:REGR"];
    for words in [common.to_vec(), [&common[..], &flags, &["--tx-ccid", "3"]].concat()] {
        let measured = godwit(&words).output().expect("it runs");
        if is_without_root(&measured.stderr) {
            return;
        }
        // Five seconds are mostly the beginning: an accepted or refused mean proves nothing.
        let code = measured.status.code();
        assert!(matches!(code, Some(0 | 3)), "{code:?}: {}", text(&measured.stderr));
        let document = document(&measured.stdout);
        let is_v6 = words.contains(&"-6");
        assert_eq!(document["ip_version"], if is_v6 { 6 } else { 4 });
        assert_eq!(document["datagram_bytes"], if is_v6 { 1_404 } else { 1_424 });
        let rows = document["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), if is_v6 { 1 } else { 2 });
        for (row, ccid) in rows.iter().zip([3, 2]) {
            assert_eq!((&row["case"], &row["ccid"]), (&"loss1".into(), &ccid.into()));
            assert_eq!(row["clock"], "real");
            assert!(number(row, "/mean_bits_per_s") > 0.0);
            // 3.05 Mbit of 2007, which were binary, of 1,424 bytes.
            let desired = 3_199_222.0 * number(&document, "/datagram_bytes") / 1_424.0;
            assert!((number(row, "/desired_bits_per_s") - desired).abs() < 1.0);
            assert_eq!(row["linux_2007_bits_per_s"].is_array(), ccid == 3);
        }
    }
}

#[test]
fn on_the_virtual_clock_a_minute_takes_less() {
    let folder = TempFolder::new("regression");
    let (page, json) = (file_in(&folder, "regression.html"), file_in(&folder, "regression.json"));
    let words = ["regression", "--clock", "virtual", "--only", "loss10", "--runs", "2"];
    let measured =
        godwit(&[&words[..], &["--html", &page, "--json", &json]].concat()).output().expect("runs");
    let output_text = text(&measured.stdout);
    assert_eq!(measured.status.code(), Some(0), "{output_text}{}", text(&measured.stderr));
    assert!(
        output_text.contains("virtual clock") && output_text.contains("Linux in 2007: 172 Kbit/s"),
        "{output_text}"
    );
    let document = document(&std::fs::read(json).expect("it was written"));
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(
            (&row["clock"], &row["link"]),
            (&"virtual".into(), &"delay 75ms loss 10%".into())
        );
        let runs = row["runs_bits_per_s"].as_array().expect("runs");
        assert!(runs.len() == 2 && runs[0] != runs[1], "{row}");
        assert!(number(row, "/standard_deviation_bits_per_s") > 0.0);
    }
    let page = std::fs::read_to_string(page).expect("the page was written");
    // Two drawings of two rows with two runs each, and three of Linux.
    assert_eq!(page.matches("class=\"mark ").count(), 2 * (2 * 2 + 3));
    assert!(page.contains("X = s / (R f(p))") && page.contains("data-chart=\"loss10\""));
}

#[test]
fn flows_share_a_link_with_tcp() {
    let words = ["fairness", "-t", "5", "--link", "delay 5ms rate 10mbit limit 60", "--json"];
    // Every kernel has reno, and cubic is the default.
    for (flags, algorithm) in
        [(&[][..], "cubic"), (&["--tcp", "reno", "--set", "tx_qlen=9"], "reno")]
    {
        let measured = godwit(&[&words[..], flags].concat()).output().expect("it runs");
        if is_without_root(&measured.stderr) {
            return;
        }
        // Five seconds say nothing about the shares.
        let code = measured.status.code();
        assert!(matches!(code, Some(0 | 3)), "{code:?}: {}", text(&measured.stderr));
        let document = document(&measured.stdout);
        assert_eq!(document["ccid"], 3);
        let run = &document["runs"][0];
        assert_eq!(run["tcp_congestion_control"], algorithm);
        let rates = [
            number(run, "/dccp_bits_per_s/0"),
            number(run, "/dccp_bits_per_s/1"),
            number(run, "/tcp_bits_per_s"),
        ];
        assert!(rates.iter().all(|&rate| rate > 0.0), "{run}");
        let index = number(run, "/jain_index");
        assert!(index > 1.0 / 3.01 && index <= 1.0, "{run}");
    }
}

#[test]
fn a_tcp_that_the_kernel_lacks_is_refused_with_what_it_has() {
    let output = godwit(&["fairness", "--tcp", "nonesuch"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let output_text = text(&output.stderr);
    assert!(
        output_text.contains("nonesuch") && output_text.contains("available: "),
        "{output_text}"
    );
    assert!(output_text.contains("reno"), "{output_text}");
}

#[test]
fn what_is_handed_on_is_checked_first() {
    for words in [["regression", "--set", "tx_qlen=x"], ["fairness", "--debug", "ccid"]] {
        let output = godwit(&words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
    }
}
