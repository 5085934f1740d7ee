//! Tests of the report in a browser: its script runs without a complaint, its charts have the marks
//! that the summary requires, and a phone need not scroll sideways.  Skipped where Chromium is not
//! installed, unless `GODWIT_REQUIRE_TOOLS=1`.

use crate::browser;
use std::collections::BTreeMap;
use std::path::Path;

use crate::simulated::{full, quick, small};
use measure::stored::{StoredRun, Trend};
use measure::summary::{CurvePoint, RunSummary};
use report::{render, render_trend};

/// Observations of the probe about the report's page in a browser of `width` pixels.
#[derive(Debug, serde::Deserialize)]
struct ReportObservations {
    scroll_width: u32,
    client_width: u32,
    /// Number of visible marks by chart.
    marks: BTreeMap<String, usize>,
    charts_without_words: usize,
    resources: usize,
    tip: String,
    crosshair: String,
    themes: Vec<String>,
    filtered: usize,
    errors: Vec<String>,
}

/// Script that inspects the page from a frame around it, as a person would see it.
const PROBE: &str = r##"
const see = (page, view) => {
  const marks = {};
  for (const figure of page.querySelectorAll("[data-chart]")) {
    const shown = [...figure.querySelectorAll(".mark")].filter(m => m.getClientRects().length);
    marks[figure.dataset.chart] = shown.length;
  }
  const plots = [...page.querySelectorAll("svg[data-nearest]")];
  const plot = plots.find(s => s.getClientRects().length && s.querySelector(".mark"));
  const mark = plot.querySelector(".mark");
  plot.scrollIntoView();
  const at = new view.DOMPoint(+mark.dataset.cx, +mark.dataset.cy)
    .matrixTransform(plot.getScreenCTM());
  plot.dispatchEvent(new view.PointerEvent("pointermove", { clientX: at.x, clientY: at.y }));
  const tip = page.getElementById("tip");
  const paper = () => view.getComputedStyle(page.body).backgroundColor;
  const themes = [paper()];
  page.getElementById("theme").click(); themes.push(paper());
  page.getElementById("theme").click(); themes.push(paper());
  const choices = [...page.querySelectorAll(".filters button")];
  if (choices.length) choices[1].click();
  const rows = [...page.querySelectorAll("#trials tbody tr")];
  return {
    scroll_width: page.documentElement.scrollWidth,
    client_width: page.documentElement.clientWidth,
    marks, themes,
    charts_without_words: plots.filter(s => !s.getAttribute("aria-label")).length,
    resources: view.performance.getEntriesByType("resource").length,
    tip: tip.hidden ? "" : tip.textContent,
    crosshair: view.getComputedStyle(plot.querySelector(".crosshair")).visibility,
    filtered: rows.filter(row => !row.hidden).length,
    errors: view.found || [],
  };
};
"##;

fn browse(browser: &Path, name: &str, html: &str) -> (BTreeMap<u32, ReportObservations>, String) {
    let (json, console) = browser::browse(browser, name, html, &browser::widths::at_both(PROBE));
    (serde_json::from_str(&json).expect("the shape of Seen"), console)
}

/// Returns the number of marks that each chart of the report must show for `summary`.
fn expected(summary: &RunSummary) -> BTreeMap<String, usize> {
    let within = |curve: &[CurvePoint], highest: Option<f64>, times: f64| {
        let most = highest.map_or(f64::INFINITY, |rate| rate * times);
        curve.iter().filter(|point| point.offered_per_s <= most).count()
    };
    let servers = |times| -> usize {
        summary.results.iter().map(|r| within(&r.curve, r.leases_per_s, times)).sum()
    };
    let limit = summary.limit.as_ref().expect("simulated runs have a limit");
    let all_runs = summary.results.iter().map(|r| &r.runs).chain([&limit.runs]);
    let runs = all_runs.flatten().filter(|run| !run.is_void()).count();
    let stretches = summary.timeline.chunk_by(|a, b| a.trial == b.trial).count();
    let ratios = summary.ratios.iter().flat_map(|r| [r.leases_per_s, r.leases_per_cpu_s]);
    let mut charts: BTreeMap<String, usize> = [
        ("runs", runs),
        ("ratios", ratios.flatten().count()),
        ("load-curve", servers(2.2) + within(&limit.curve, Some(limit.leases_per_s), 2.2)),
        ("latency", 3 * servers(1.35)),
        ("cpu", stretches),
        ("memory", stretches),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into();
    charts.retain(|name, _| name != "runs" || summary.plan.has_runs());
    charts
}

#[test]
fn the_report_works_in_a_browser() {
    let Some(browser) = browser::chromium() else { return };
    for (name, summary) in [("quick", quick()), ("small", small()), ("full", full())] {
        let (seen, console) = browse(&browser, name, &render(&summary));
        assert_eq!(console, "", "{name}: the console should be silent");
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [360, 1280]);
        for (width, seen) in seen {
            let context = format!("{name} at {width}: {seen:?}");
            assert_eq!(seen.marks, expected(&summary), "{context}");
            assert!(seen.scroll_width <= seen.client_width, "scrolls sideways: {context}");
            assert_eq!((seen.resources, seen.charts_without_words), (0, 0), "{context}");
            assert!(seen.errors.is_empty(), "{context}");
            assert!(seen.tip.contains('×') && seen.crosshair == "visible", "no tooltip: {context}");
            assert_ne!(seen.themes[0], seen.themes[1], "{context}");
            assert_eq!(seen.themes[0], seen.themes[2], "{context}");
            let first = &summary.trials[0].server;
            let of_first = summary.trials.iter().filter(|row| row.server == *first).count();
            assert_eq!(seen.filtered, of_first, "{context}");
        }
    }
}

#[test]
fn the_comparison_works_in_a_browser() {
    let Some(browser) = browser::chromium() else { return };
    let (a, mut b) = (full(), full());
    b.environment.kernel = "another".to_owned();
    let comparison = measure::compare::compare(("results/a", &a), ("results/b", &b), true);
    let ratios = comparison
        .servers
        .iter()
        .flat_map(|server| [server.leases_per_s, server.leases_per_cpu_s, server.of_limit]);
    let marks = ratios.flatten().count() + 1;
    assert_eq!(marks, 3 * comparison.servers.len() + 1, "all ratios and the limit's");
    let page = report::render_comparison(&comparison);
    let (seen, console) = browse(&browser, "comparison", &page);
    assert_eq!(console, "", "the console should be silent");
    for (width, seen) in seen {
        let context = format!("at {width}: {seen:?}");
        assert_eq!(seen.marks, BTreeMap::from([("ratios".to_owned(), marks)]), "{context}");
        assert!(seen.scroll_width <= seen.client_width, "scrolls sideways: {context}");
        assert_eq!((seen.resources, seen.charts_without_words), (0, 0), "{context}");
        assert!(seen.errors.is_empty(), "{context}");
        assert!(seen.tip.contains('×') && seen.crosshair == "visible", "no tooltip: {context}");
        assert_ne!(seen.themes[0], seen.themes[1], "{context}");
    }
}

#[test]
fn the_trend_works_in_a_browser() {
    let Some(browser) = browser::chromium() else { return };
    let run = |name: &str, change: fn(&mut StoredRun)| {
        let text = serde_json::to_string(&full()).expect("JSON");
        let head: measure::stored::SummaryHead = serde_json::from_str(&text).expect("a head");
        let mut run = head.into_stored_run(name);
        run.started = format!("{name}-02-03T04:05:06Z");
        run.commit = "0123456789ab".to_owned();
        change(&mut run);
        run
    };
    let runs = [
        run("2024", |run| run.machine = "another".to_owned()),
        run("2025", |run| run.is_baseline = true),
        run("2026", |run| run.servers.truncate(1)),
    ];
    let trend = Trend::from_runs(&runs[0].plan, &[], &runs).expect("three runs");
    let mut marks = BTreeMap::new();
    for figure in runs.iter().flat_map(|run| &run.servers) {
        let drawn = [("rate", figure.leases_per_s), ("per-cpu", figure.leases_per_cpu_s)];
        for (name, _) in drawn.into_iter().filter(|(_, value)| value.is_some()) {
            *marks.entry(format!("trend-{name}-{}", figure.server)).or_insert(0_usize) += 1;
        }
    }
    assert!(marks.len() >= 4 && marks["trend-rate-godwit-none"] == 3, "{marks:?}");
    let page = render_trend(&trend);
    assert!(
        page.contains("1 of 3 runs had another plan, machine, profile or variant")
            && !page.contains("NaN")
    );
    let (seen, console) = browse(&browser, "trend", &page);
    assert_eq!(console, "", "the console should be silent");
    for (width, seen) in seen {
        let context = format!("at {width}: {seen:?}");
        assert_eq!(seen.marks, marks, "{context}");
        assert!(seen.scroll_width <= seen.client_width, "scrolls sideways: {context}");
        assert_eq!((seen.resources, seen.charts_without_words), (0, 0), "{context}");
        assert!(seen.errors.is_empty(), "{context}");
        assert!(seen.tip.contains("2024") && seen.crosshair == "visible", "no tooltip: {context}");
        assert_ne!(seen.themes[0], seen.themes[1], "{context}");
    }
}
