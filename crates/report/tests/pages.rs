//! Tests of every page of a folder in headless Chromium, at the widths of a phone and of a desktop
//! screen: nothing is cut off or covers something else, no mark is outside its chart, no chart is
//! empty, no figure is no number.
//!
//! `cargo xtask pages FOLDER` names the folder, a lab's results for example; otherwise the test
//! uses the pages of simulated results. Skipped where Chromium is not installed, unless
//! `GODWIT_REQUIRE_TOOLS=1`.

use crate::browser;
use crate::simulated;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use measure::stored::{StoredFigure, StoredRun, StoredRuns};
use measure::suite::{RowResult, SuiteSummary, TargetVerdict};
use report::served_pages::ListPage;
use report::{render, render_list, render_suite};

/// Name of the environment variable for the folder.
const FOLDER: &str = "GODWIT_PAGES";

/// Observations of the probe about a page at one width.
#[derive(Debug, serde::Deserialize)]
struct PageObservations {
    charts: Vec<ChartObservations>,
    /// Faults of the page as a whole.
    faults: Vec<String>,
}

#[derive(Debug, serde::Deserialize)]
struct ChartObservations {
    name: String,
    marks: usize,
    rows: usize,
    faults: Vec<String>,
}

const PROBE: &str = r##"
const inside = (inner, outer, by) => inner.left >= outer.left - by && inner.right <= outer.right + by
  && inner.top >= outer.top - by && inner.bottom <= outer.bottom + by;
const overlap = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
const shown = element => element.getClientRects().length
  && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
const look_at = figure => {
  const faults = [];
  const drawings = [...figure.querySelectorAll("svg")].filter(shown);
  for (const svg of drawings) {
    const frame = svg.getBoundingClientRect();
    const name = svg.getAttribute("aria-label") || "";
    if (!name && svg.getAttribute("aria-hidden") !== "true") faults.push("a drawing has no words");
    const words = [...svg.querySelectorAll("text")].filter(text => text.textContent && shown(text))
      .map(text => [text.textContent, text.getBoundingClientRect()]);
    words.forEach(([text, box], index) => {
      if (!inside(box, frame, 1)) faults.push(`"${text}" of ${name} is cut off`);
      for (const [other, its] of words.slice(index + 1))
        if (overlap(box, its) > 1.5) faults.push(`"${text}" lies on "${other}" in ${name}`);
    });
    // A level line has no height of its own.
    const marks = [...svg.querySelectorAll(".mark:not(.line), .whisker")]
      .map(mark => mark.getBoundingClientRect())
      .map(({ left, right, top, bottom }) => ({ left, right, top: top - 2, bottom: bottom + 2 }));
    for (const row of svg.querySelectorAll(".row-name, .row-figure")) {
      const box = row.getBoundingClientRect();
      if (shown(row) && marks.some(mark => overlap(box, mark) > 1.5))
        faults.push(`"${row.textContent}" lies on a mark in ${name}`);
    }
    const strays = [...svg.querySelectorAll(".mark")]
      .filter(mark => !inside(mark.getBoundingClientRect(), frame, 1)).length;
    if (strays) faults.push(`${strays} marks outside of ${name}`);
  }
  const odd = figure.textContent.match(/\bNaN\b|\binf\b|\bInfinity\b|\bundefined\b/);
  if (odd) faults.push(`it says ${odd[0]}`);
  const marks = drawings.flatMap(svg => [...svg.querySelectorAll(".mark, .bar rect, .frame, rect, path")]
    .filter(mark => mark.getClientRects().length)).length;
  const rows = figure.querySelectorAll("tbody tr").length;
  const excused = figure.querySelector(".attention, .none, p.dim");
  if (!marks && !rows && !excused) faults.push("there is nothing in it");
  return { name: figure.dataset.chart, marks, rows, faults: [...new Set(faults)] };
};
const see = (page, view) => {
  const root = page.documentElement;
  const faults = (view.found || []).map(error => `script: ${error}`);
  if (root.scrollWidth > root.clientWidth) faults.push("it scrolls sideways");
  if (view.performance.getEntriesByType("resource").length) faults.push("it loads something");
  return { charts: [...page.querySelectorAll("[data-chart]")].map(look_at), faults };
};
"##;

/// Returns the faults of the page `html` at both widths, and the number of its charts.
fn faults(browser: &Path, name: &str, html: &str) -> (Vec<String>, usize) {
    let (json, console) =
        browser::browse(browser, &format!("page-{name}"), html, &browser::widths::at_both(PROBE));
    let seen: BTreeMap<u32, PageObservations> =
        serde_json::from_str(&json).expect("the shape of Seen");
    let mut faults = Vec::new();
    if !console.is_empty() {
        faults.push(format!("console: {console}"));
    }
    let mut charts = 0;
    for (width, page) in seen {
        charts = page.charts.len();
        faults.extend(page.faults.iter().map(|fault| format!("at {width}: {fault}")));
        for chart in &page.charts {
            let of =
                format!("at {width}: {} ({} marks, {} rows)", chart.name, chart.marks, chart.rows);
            faults.extend(chart.faults.iter().map(|fault| format!("{of}: {fault}")));
        }
    }
    (faults, charts)
}

/// Collects the paths of the pages below `folder` in `into`, in order.
fn pages(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            pages(&path, into);
        } else if path.extension().is_some_and(|name| name == "html") {
            into.push(path);
        }
    }
}

#[test]
fn charts_of_every_page_are_whole() {
    let Some(browser) = browser::chromium() else { return };
    let mut all: Vec<(String, String)> = Vec::new();
    if let Some(folder) = std::env::var_os(FOLDER) {
        let mut paths = Vec::new();
        pages(Path::new(&folder), &mut paths);
        assert!(!paths.is_empty(), "no page is in {}", Path::new(&folder).display());
        for path in paths {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let name = path.strip_prefix(&folder).expect("below it").display().to_string();
            all.push((name, text));
        }
    } else {
        for (name, summary) in [
            ("quick", simulated::quick()),
            ("small", simulated::small()),
            ("full", simulated::full()),
            ("crowded", simulated::crowded()),
        ] {
            all.push((name.to_owned(), render(&summary)));
        }
    }
    let mut broken = 0;
    for (index, (name, text)) in all.iter().enumerate() {
        let (faults, charts) = faults(&browser, &index.to_string(), text);
        println!("page: {name}: {charts} charts, {} faults", faults.len());
        faults.iter().for_each(|fault| println!("page:     {fault}"));
        broken += usize::from(!faults.is_empty() || charts == 0);
    }
    assert_eq!(broken, 0, "of {} pages", all.len());
}

#[test]
fn what_is_wrong_with_a_page_is_found() {
    let Some(browser) = browser::chromium() else { return };
    let page = |chart: &str| {
        format!(
            "<!doctype html><html><head><meta charset=\"utf-8\"></head><body>\
             <figure data-chart=\"it\">{chart}</figure></body></html>"
        )
    };
    let drawing = |inner: &str| {
        page(&format!(
            "<svg viewBox=\"0 0 200 100\" width=\"200\" height=\"100\" aria-label=\"rates\">\
             {inner}<path class=\"mark\" d=\"M10 10h5v5h-5Z\"></path></svg>"
        ))
    };
    let text = |x: u32, words: &str| format!("<text x=\"{x}\" y=\"50\">{words}</text>");
    let sound = drawing(&(text(10, "one") + &text(100, "two")));
    assert_eq!(faults(&browser, "sound", &sound), (Vec::new(), 1));
    for (name, html, fault) in [
        ("lies", drawing(&(text(10, "some words") + &text(12, "others"))), "lies on"),
        (
            "row",
            drawing(
                "<text class=\"row-name\" x=\"10\" y=\"50\">a long name</text>\
                 <line class=\"whisker\" x1=\"50\" y1=\"47\" x2=\"90\" y2=\"47\" stroke=\"black\"></line>",
            ),
            "lies on a mark",
        ),
        ("cut", drawing(&text(190, "a long name")), "is cut off"),
        ("stray", drawing("<path class=\"mark\" d=\"M300 10h5v5h-5Z\"></path>"), "marks outside"),
        (
            "mute",
            page("<svg width=\"9\" height=\"9\"><path d=\"M0 0h9\"></path></svg>"),
            "no words",
        ),
        ("odd", drawing("<text x=\"10\" y=\"50\">NaN /s</text>"), "it says NaN"),
        ("empty", page("<p>Rates</p>"), "nothing in it"),
        ("wide", drawing("") + "<div style=\"width:2000px;height:1px\"></div>", "sideways"),
        ("script", drawing("") + "<script>nonesuch()</script>", "nonesuch"),
    ] {
        let (faults_found, _) = faults(&browser, name, &html);
        assert!(
            faults_found.iter().any(|found_fault| found_fault.contains(fault)),
            "{name}: {faults_found:?}"
        );
    }
}

/// Script that finds cells of a table beyond the edge of the page, and links in the browser's own
/// color.
const TABLES: &str = r##"
const see = (page, view) => {
  const width = page.documentElement.clientWidth;
  const faults = [];
  const cells = [...page.querySelectorAll("tbody td")].filter(cell => cell.textContent.trim());
  for (const cell of cells) {
    const box = cell.getBoundingClientRect();
    if (!box.width || box.right > width + 1) faults.push(cell.textContent.trim());
  }
  for (const link of page.querySelectorAll("a"))
    if (view.getComputedStyle(link).color === "rgb(0, 0, 238)") faults.push(`blue: ${link.href}`);
  if (!cells.length) faults.push("no cell");
  return faults;
};
"##;

#[test]
fn figures_of_lists_and_suites_are_within_the_page_on_a_phone_too() {
    let Some(browser) = browser::chromium() else { return };
    let figure = |server: &str| StoredFigure {
        server: server.to_owned(),
        leases_per_s: Some(1_234_567.0),
        low: Some(1_111_111.0),
        high: Some(1_333_333.0),
        ..StoredFigure::default()
    };
    let run = StoredRun {
        id: "20261127T120000Z-all/20261127T120102Z-dhcp4-database-distance".to_owned(),
        plan: "dhcp4-database-distance".to_owned(),
        title: "DHCPv4: highest rate of leases by the way to the database".to_owned(),
        started: "2026-11-27T12:01:02Z".to_owned(),
        commit: "0123456789ab+changes".to_owned(),
        servers: vec![figure("godwit-reservations-early-global-none"), figure("kea")],
        ..StoredRun::default()
    };
    let runs = StoredRuns { runs: vec![run], ..StoredRuns::default() };
    let list = ListPage { results: "results", query: "", token: "t", runs: &runs };
    let row = RowResult {
        name: "DHCPv6, p99 at half of the maximum against Kea's at half of its own".to_owned(),
        of: "godwit-none over kea: p99 at half of the maximum".to_owned(),
        target: "≤ 0.333".to_owned(),
        value: Some(0.25),
        low: Some(0.2),
        high: Some(0.3),
        verdict: TargetVerdict::Met,
        ..RowResult::default()
    };
    let suite = SuiteSummary { rows: vec![row], ..SuiteSummary::default() };
    for (name, html) in [("list", render_list(&list)), ("suite", render_suite(&suite))] {
        let probe = browser::widths::at_both(TABLES);
        let (json, _) = browser::browse(&browser, &format!("edges-{name}"), &html, &probe);
        let faults: BTreeMap<u32, Vec<String>> = serde_json::from_str(&json).expect("lists");
        assert!(faults.values().all(Vec::is_empty), "{name}: {faults:?}");
    }
}
