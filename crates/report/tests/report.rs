//! Tests of the report as text: always the same bytes, no external content, no text that breaks out
//! of its element.
//!
//! `GODWIT_BLESS=1` writes the expected files anew, after which a person looks at the difference.

use std::fs;
use std::path::PathBuf;

use crate::simulated::{Lab, MODELS, ServerFault, full, quick, small};
use measure::record::{NETWORK, SampleDigest, VoidReason};
use measure::statistics::RatioInterval;
use measure::stored::{StoredFigure, StoredRun, Trend};
use measure::summary::{Bottleneck, Ratio, RunSummary, TrialRow, digest};
use report::{render, render_trend};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn is_blessing() -> bool {
    std::env::var_os("GODWIT_BLESS").is_some()
}

fn shipped() -> RunSummary {
    let text = fs::read_to_string(data("summary.json")).expect("a shipped summary");
    serde_json::from_str(&text).expect("a summary")
}

#[test]
fn the_shipped_summary_renders_to_the_shipped_page() {
    if is_blessing() {
        let text = serde_json::to_string_pretty(&small()).unwrap();
        fs::write(data("summary.json"), text + "\n").unwrap();
        fs::write(data("report.html"), render(&shipped())).unwrap();
    }
    let page = render(&shipped());
    assert_eq!(page, render(&shipped()));
    let expected = fs::read_to_string(data("report.html")).unwrap();
    let same = page.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let from = (0..=same.saturating_sub(80)).rev().find(|&at| text.is_char_boundary(at));
        text[from.unwrap_or(0)..].chars().take(160).collect::<String>()
    };
    assert!(page == expected, "differs here:\n{}\n{}", around(&page), around(&expected));
}

#[test]
fn nothing_is_fetched() {
    let page = render(&quick());
    for outside in ["http:", "https:", "//cdn", "@import", "url(", "<link", "<img", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'"));
}

#[test]
fn names_and_commands_cannot_become_markup() {
    let mut lab = Lab::new(small().plan);
    lab.measure(&MODELS[1..2]);
    let evil = "</script><script>alert(1)</script><!--\"'>";
    for trial in &mut lab.trials {
        trial.server = evil.to_owned();
        trial.variant = evil.to_owned();
        trial.commands.insert("server".to_owned(), evil.to_owned());
    }
    let mut run = lab.run();
    run.plan.title = evil.to_owned();
    run.warnings.push(evil.to_owned());
    run.environment.kernel = evil.to_owned();
    let page = render(&digest(&run, &lab.trials));
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<!--") && !page.contains("alert(1)<"));
}

#[test]
fn of_a_server_that_is_not_seen_the_page_claims_nothing() {
    let mut lab = Lab::new(small().plan);
    lab.measure(&MODELS[1..2]);
    for trial in &mut lab.trials {
        trial.server_cpus.clear();
        for sample in &mut trial.samples {
            sample.cpus.retain(|cpu| trial.generator_cpus.contains(&cpu.cpu));
            (sample.server_rss_bytes, sample.server_socket_drops) = (0, 0);
        }
        trial.digest = SampleDigest::from_samples(&trial.samples, &[], &trial.generator_cpus);
    }
    let mut run = lab.run();
    run.environment.topology = NETWORK.to_owned();
    let summary = digest(&run, &lab.trials);
    let result = &summary.results[0];
    assert!(result.leases_per_s.is_some() && result.latency_half.is_some());
    assert_eq!((result.leases_per_cpu_s, result.rss_bytes), (None, 0));
    assert!(result.curve.iter().all(|point| point.server_cpus_busy.is_none()));
    let unseen = |row: &TrialRow| (row.server_cpu_s, row.server_load, row.server_socket_drops);
    assert!(summary.trials.iter().all(|row| unseen(row) == (None, None, None)));
    let page = render(&summary);
    assert!(page.contains("The lab measured one running server"));
    assert!(page.contains("data-chart=\"cpu\"") && page.contains("<td class=\"n\">–</td>"));
    for claim in ["data-chart=\"memory\"", "per CPU-second</dt>", "among them"] {
        assert!(!page.contains(claim), "{claim}");
    }
}

#[test]
fn an_empty_run_and_a_lone_server_render_too() {
    let page = render(&RunSummary::default());
    assert!(page.contains("How it was measured") && !page.contains("NaN"));
    let mut lab = Lab::new(small().plan);
    lab.measure(&MODELS[1..2]);
    let page = render(&digest(&lab.run(), &lab.trials));
    assert!(page.contains("data-chart=\"load-curve\"") && !page.contains("data-chart=\"ratios\""));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn the_inlined_data_is_the_summary() {
    let summary = quick();
    let page = render(&summary);
    let (_, rest) = page.split_once("id=\"summary\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    assert!(serde_json::from_str::<RunSummary>(data).unwrap() == summary);
}

#[test]
fn every_run_is_in_the_page_with_what_became_of_it() {
    let summary = full();
    let page = render(&summary);
    assert!(page.contains("data-chart=\"runs\"") && !page.contains("NaN"));
    for result in &summary.results {
        assert_eq!(result.runs.len(), 9, "{}", result.server);
        for run in &result.runs {
            let mark = format!("data-server=\"{}\" data-run=\"{}\"", result.server, run.run + 1);
            // Drawn twice: for a screen and for a phone.
            let expected = if run.is_void() { 0 } else { 2 };
            assert_eq!(page.matches(&mark).count(), expected, "{mark}");
        }
        let dropped = page.matches("class=\"n dropped\"").count();
        assert_eq!(dropped, 2 * (summary.results.len() + 1));
    }
    assert!(page.contains("mean of 6 of 9 runs") && page.contains("mean of 7 of 9 runs"));
    assert!(page.contains("failed: no rate could be confirmed"));
    assert!(page.contains("Tukey and McLaughlin"));
    let without = render(&quick());
    assert!(!without.contains("data-chart=\"runs\"") && !without.contains("Tukey"));
}

/// Returns the headline of the report's page for `summary`.
fn headline(summary: &RunSummary) -> String {
    let page = render(summary);
    let (_, from) = page.split_once("<section class=\"headline\">").expect("the section");
    from.split_once("<div class=\"cards\">").expect("the section").0.to_owned()
}

#[test]
fn a_headline_says_what_the_interval_carries_and_is_no_ratio_without_one() {
    let mut summary = quick();
    let main = |summary: &mut RunSummary, of: RatioInterval| {
        let is_main = |ratio: &&mut Ratio| ratio.server == "godwit-none" && ratio.to == "kea";
        summary.ratios.iter_mut().find(is_main).unwrap().leases_per_s = Some(of);
    };
    let wide = RatioInterval { ratio: 5.32, low: 1.9, high: 14.9, pairs: 2 };
    for (of, words_expected) in [
        (wide, Some("about 5×")),
        (RatioInterval { low: 5.29, high: 5.35, ..wide }, Some("5.32×")),
        (RatioInterval { low: 5.32, high: 5.32, pairs: 1, ..wide }, None),
    ] {
        main(&mut summary, of);
        let headline = headline(&summary);
        let strong = headline.split_once("<strong").map(|(_, rest)| rest);
        assert_eq!(strong.is_some(), words_expected.is_some(), "{headline}");
        assert!(strong.is_none_or(|strong| strong.contains(words_expected.unwrap())), "{headline}");
        assert_eq!(
            headline.contains("one round: no interval"),
            words_expected.is_none(),
            "{headline}"
        );
        let json = serde_json::to_value(of).unwrap();
        assert_eq!(json.get("low").is_some(), words_expected.is_some(), "{json}");
        assert!(serde_json::from_value::<RatioInterval>(json).unwrap() == of);
    }
}

#[test]
fn what_the_limit_or_the_generator_bound_is_not_measured() {
    let plan = quick().plan;
    let mut near = MODELS;
    near[0].capacity_per_s = 1.02 * near[1].capacity_per_s;
    let mut lab = Lab::new(plan.clone());
    lab.measure(&near);
    let at_limit = digest(&lab.run(), &lab.trials);
    assert_eq!(at_limit.results[0].bottleneck, Some(Bottleneck::Limit));
    assert_eq!(at_limit.results[2].bottleneck, None, "Kea is far from it");
    let words = headline(&at_limit);
    let not_measured = "<strong class=\"none\">Not measured</strong>";
    assert!(
        words.contains(not_measured) && words.contains("kernel were the bottleneck"),
        "{words}"
    );

    let mut lab = Lab::new(plan);
    lab.mishaps = (0..3).map(|round| ("godwit-none", round, ServerFault::Blinded)).collect();
    lab.measure(&MODELS[1..]);
    for trial in lab.trials.iter_mut().filter(|trial| trial.is_void()) {
        trial.void = vec![VoidReason::ScheduleMissed];
    }
    let blind = digest(&lab.run(), &lab.trials);
    assert_eq!(blind.results[0].bottleneck, Some(Bottleneck::Generator));
    let words = headline(&blind);
    assert!(
        words.contains(not_measured) && words.contains("the generator was the bottleneck"),
        "{words}"
    );
}

#[test]
fn the_line_of_a_trend_breaks_where_variant_machine_or_profile_change() {
    // The profile is part of the text for the machine here, after a slash.
    let run = |number: usize, machine: &str, variant: &str| StoredRun {
        id: format!("r{number}"),
        plan: "p".to_owned(),
        started: format!("2026-01-0{}T00:00:00Z", number + 1),
        machine: machine.split('/').next().unwrap_or_default().to_owned(),
        profile: machine.split('/').nth(1).unwrap_or_default().to_owned(),
        servers: vec![StoredFigure {
            server: "godwit".to_owned(),
            variant: variant.to_owned(),
            leases_per_s: Some(1_000.0),
            ..StoredFigure::default()
        }],
        ..StoredRun::default()
    };
    let lines = |runs: &[(&str, &str)]| {
        let runs: Vec<StoredRun> = runs
            .iter()
            .enumerate()
            .map(|(n, (machine, variant))| run(n, machine, variant))
            .collect();
        let page = render_trend(&Trend::from_runs("p", &[], &runs).unwrap());
        let hollow = page.matches(" beyond\"").count();
        // Wide and narrow.
        (page.matches("<path class=\"line ").count() / 2, hollow / 2)
    };
    let [none, always] = ["durability none", "durability always"];
    assert_eq!(lines(&[("m", none), ("m", none), ("m", none)]), (1, 0));
    assert_eq!(lines(&[("m", none), ("m", none), ("m", always), ("m", always)]), (2, 2));
    assert_eq!(lines(&[("m", none), ("x", none), ("m", none), ("m", none)]), (1, 1));
    assert_eq!(lines(&[("m", none), ("m", always), ("m", none)]), (0, 1));
    let (dist, release) = (("m/dist", none), ("m/release", none));
    assert_eq!(lines(&[dist, dist, release, release]), (2, 2));
}
