//! Implementation of `godwit lab compare`: two stored result folders next to each other.
//! `measure::compare` decides whether they may be compared and computes their ratio; this module
//! reads the folders and formats for the terminal.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use measure::compare::{Comparison, Figures, Gate, ServerComparison, check_margin, compare};
use measure::statistics::RatioInterval;
use measure::summary::{LatencyAt, RunSummary, SUMMARY_SCHEMA};
use report::format;

use crate::columns::{self, WIDTH};
use crate::error::{LabError, LabResult};
use crate::folder;
use crate::number_text::grouped;

/// Name of the page with a comparison, in the second folder unless the user names another file.
pub const PAGE: &str = "compare.html";

/// Number of columns of the names of figures, and of each side's figures, in the terminal.
const NAME: usize = 28;
const CELL: usize = 24;

/// Settings of `godwit lab compare` that the user requested.
#[derive(Clone, Debug)]
pub struct CompareSettings {
    /// Path of the first result folder, the reference.
    pub a: PathBuf,
    /// Path of the second result folder, which is compared with the first.
    pub b: PathBuf,
    /// True if figures are shown in spite of reasons against the comparison.
    pub force: bool,
    /// Path of the page with the comparison; `None` for [`PAGE`] in the second folder.
    pub html: Option<PathBuf>,
    /// Settings of a verdict by a margin, if the user requested one.
    pub gate: Option<GateSettings>,
}

/// Settings of the verdict whether the second result is worse by more than a margin.
#[derive(Clone, Debug)]
pub struct GateSettings {
    /// Loss that the gate accepts, in percent, 0 to below 100.
    pub margin_percent: f64,
    /// Names of the servers that are judged; empty for all that are in both results.
    pub servers: Vec<String>,
}

/// Comparison of two result folders that was made.
#[derive(Clone, Debug)]
pub struct FinishedComparison {
    /// Result of the comparison of both folders.
    pub comparison: Comparison,
    /// Path of the page with the comparison; `None` when there are no figures to show.
    pub page: Option<PathBuf>,
}

/// Reads a margin in percent from the user's text.
///
/// # Errors
/// The text is no margin, in words.
pub fn margin_percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.trim().parse().map_err(|_| "not a number".to_owned())?;
    let is_sound = (0.0..100.0).contains(&percent);
    if is_sound { Ok(percent) } else { Err("not from 0 to below 100".to_owned()) }
}

/// Compares the two result folders of `settings` and writes the page, unless they may not be
/// compared.
///
/// # Errors
/// A folder is no result folder or its content cannot be read, a server to be judged is not in
/// both, or the page cannot be written.
pub fn run(settings: &CompareSettings) -> LabResult<FinishedComparison> {
    let name = |path: &Path| path.to_string_lossy().trim_end_matches('/').to_owned();
    let comparison = compare_folders(settings, &name(&settings.a), &name(&settings.b))?;
    let mut page = None;
    if comparison.is_comparable || comparison.is_forced {
        let path = settings.html.clone().unwrap_or_else(|| settings.b.join(PAGE));
        folder::write_text(&path, &report::render_comparison(&comparison))?;
        page = Some(path);
    }
    Ok(FinishedComparison { comparison, page })
}

/// Returns the comparison of two result folders, with the names `name_a` and `name_b`; writes no
/// page.
pub(crate) fn compare_folders(
    settings: &CompareSettings,
    name_a: &str,
    name_b: &str,
) -> LabResult<Comparison> {
    // Both are read first, so that the error can report both.
    let (a, b) = match (read(&settings.a), read(&settings.b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(a), Err(b)) => return Err(LabError::Usage(format!("{a}\nerror: {b}"))),
        (Err(e), Ok(_)) | (Ok(_), Err(e)) => return Err(e),
    };
    let mut comparison = compare((name_a, &a), (name_b, &b), settings.force);
    if comparison.is_comparable
        && let Some(gate) = settings.gate.as_ref()
    {
        let judged = check_margin(&comparison, gate.margin_percent, &gate.servers);
        comparison.gate = Some(judged.map_err(LabError::Usage)?);
    }
    Ok(comparison)
}

/// Reads the summary of a result folder. Every field of a summary may be left out in JSON, so the
/// schema is checked: an empty file of braces is no result.
pub(crate) fn read(path: &Path) -> LabResult<RunSummary> {
    if !path.is_dir() {
        return Err(LabError::Usage(format!("there is no folder {}", path.display())));
    }
    let file = path.join(folder::SUMMARY);
    if !file.is_file() {
        let run = if path.join(folder::RUN).is_file() {
            format!("; `godwit lab report {}` makes it from the records", path.display())
        } else {
            String::new()
        };
        return Err(LabError::Usage(format!(
            "{} is not a result folder: it has no {}{run}",
            path.display(),
            folder::SUMMARY
        )));
    }
    let summary: RunSummary = folder::read_json(&file)?;
    if summary.schema != SUMMARY_SCHEMA {
        let schema = if summary.schema.is_empty() { "nothing" } else { &summary.schema };
        return Err(LabError::Usage(format!(
            "{} cannot be read: its schema is {schema}, not {SUMMARY_SCHEMA}",
            file.display()
        )));
    }
    Ok(summary)
}

/// Formats the comparison for the terminal.
pub fn table(comparison: &Comparison) -> String {
    let mut text = format!("A: {}\nB: {}\n\n", comparison.a.name, comparison.b.name);
    if comparison.is_forced {
        text.push_str("SHOWN ALTHOUGH NOT COMPARABLE, because of --force:\n\n");
    }
    for server in &comparison.servers {
        text.push_str(&server_text(server));
        text.push('\n');
    }
    if let Some(limit) = &comparison.limit {
        let _ = writeln!(
            text,
            "limit responder: {} in A, {} in B{}",
            grouped(limit.a_per_s),
            grouped(limit.b_per_s),
            limit.ratio.map(|ratio| format!(", {}", times(&ratio))).unwrap_or_default()
        );
    }
    if !comparison.servers.is_empty() {
        let method = columns::lines(&comparison.method, WIDTH).join("\n");
        let _ = writeln!(text, "{method}");
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// Formats the verdict of the gate for the terminal.
#[must_use]
pub fn verdict(gate: &Gate) -> String {
    let mut text = String::new();
    for line in &gate.lines {
        let (server, figure) = (&line.server, line.figure.words());
        let _ = writeln!(text, "{}: {server}, {figure}: {}", line.verdict.words(), line.words);
    }
    let _ = writeln!(text, "by a margin of {} %: {}", gate.margin_percent, gate.verdict.words());
    text
}

fn server_text(server: &ServerComparison) -> String {
    let ServerComparison { a, b, .. } = server;
    let head = columns::row(&server.server, NAME, &format!(" {:>24} {:>24}", "A", "B"));
    let mut text = format!("{head}\n");
    let mut line = |name: &str, a: String, b: String, ratio: String| {
        if !(a.is_empty() && b.is_empty() && ratio.is_empty()) {
            let name = format!("  {name}");
            let long = [&a, &b].iter().any(|cell| cell.chars().count() > CELL);
            let _ = if long {
                writeln!(text, "{name}\n    A: {a}\n    B: {b}")
            } else {
                let cells = format!(" {a:>CELL$} {b:>CELL$}");
                writeln!(text, "{}", columns::row(&name, NAME, &cells))
            };
        }
        if !ratio.is_empty() {
            let _ = writeln!(text, "    B over A: {ratio}");
        }
    };
    let ratio = |of: &Option<RatioInterval>| of.as_ref().map(times).unwrap_or_default();
    line("variant", a.variant.clone(), b.variant.clone(), String::new());
    let bound = match (b.is_at_least, a.is_at_least) {
        (true, false) => "at least ",
        (false, true) => "at most ",
        _ => "",
    };
    let rates = ratio(&server.leases_per_s);
    line(
        "leases/s",
        rate(a),
        rate(b),
        if rates.is_empty() { rates } else { bound.to_owned() + &rates },
    );
    let name = if a.is_interval && b.is_interval { "95 % interval" } else { "rounds" };
    line(name, range(a), range(b), String::new());
    line(
        "as share of the limit responder's",
        String::new(),
        String::new(),
        ratio(&server.of_limit),
    );
    let optional = |rate: Option<f64>| rate.map(grouped).unwrap_or_default();
    line(
        "per CPU-second",
        optional(a.leases_per_cpu_s),
        optional(b.leases_per_cpu_s),
        ratio(&server.leases_per_cpu_s),
    );
    let of_limit = ratio(&server.cpu_of_limit);
    line("  as share of the limit responder's", String::new(), String::new(), of_limit);
    line(
        "p50/p99/p99.9 at half, ms",
        latency(a.latency_half),
        latency(b.latency_half),
        String::new(),
    );
    line("p50/p99/p99.9 at top, ms", latency(a.latency_max), latency(b.latency_max), String::new());
    let share = |at: Option<LatencyAt>| {
        at.map(|at| format!("{:.2} %", at.loss * 100.0)).unwrap_or_default()
    };
    line("missed at half", share(a.latency_half), share(b.latency_half), String::new());
    line("missed at top", share(a.latency_max), share(b.latency_max), String::new());
    let voids = |of: &Figures| format!("{} of {}", of.voids, of.trials);
    line("void trials", voids(a), voids(b), String::new());
    text
}

fn rate(figures: &Figures) -> String {
    let sign = if figures.is_at_least { "≥ " } else { "" };
    figures.leases_per_s.map_or_else(|| "none".to_owned(), |r| format!("{sign}{}", grouped(r)))
}

fn range(figures: &Figures) -> String {
    match (figures.low, figures.high) {
        (Some(low), Some(high)) => format!("{} to {}", grouped(low), grouped(high)),
        _ => String::new(),
    }
}

fn latency(at: Option<LatencyAt>) -> String {
    let ms = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| format!("{:.2}", us / 1e3));
    at.map(|at| {
        let of = at.latency;
        format!("{}/{}/{}", ms(of.p50_us), ms(of.p99_us), ms(of.p999_us))
    })
    .unwrap_or_default()
}

fn times(of: &RatioInterval) -> String {
    let figure = format::ratio_within(of.ratio, of.ends());
    let Some((low, high)) = of.ends() else { return format!("{figure} (no interval)") };
    let verdict = if (of.low..=of.high).contains(&1.0) { ", no difference shown" } else { "" };
    format!("{figure} ({}){verdict}", format::ratio_ends(of.ratio, low, high))
}
