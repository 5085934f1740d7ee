//! From the raw records of a result folder to its summary and report, once more or for the first
//! time; and the summary as a few lines for the terminal.

use std::fmt::Write as _;
use std::path::Path;

use measure::record::{Run, Trial};
use measure::summary::{self, ServerResult, Summary};

use crate::bench::grouped;
use crate::error::LabError;
use crate::folder;

/// Judges the records in `folder` again and writes summary and report anew.
///
/// # Errors
/// The folder is no result folder, or its files cannot be read or written.
pub fn again(folder: &Path) -> Result<Summary, LabError> {
    let run: Run = folder::read_json(&folder.join(folder::RUN))?;
    let trials_folder = folder.join(folder::TRIALS);
    let entries = std::fs::read_dir(&trials_folder).map_err(|e| {
        LabError::Usage(format!("cannot read the folder {}: {e}", trials_folder.display()))
    })?;
    let mut trials = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path().join(folder::TRIAL);
        // A trial during which the server ended has no record and is in no figure.
        if path.exists() {
            trials.push(folder::read_json::<Trial>(&path)?);
        }
    }
    digest_into(folder, &run, &trials)
}

/// Judges records and writes summary and report into `folder`.
pub(crate) fn digest_into(folder: &Path, run: &Run, trials: &[Trial]) -> Result<Summary, LabError> {
    let summary = summary::digest(run, trials);
    folder::write_json(&folder.join(folder::SUMMARY), &summary)?;
    folder::write_text(&folder.join(folder::REPORT), &measure::report::render(&summary))?;
    Ok(summary)
}

/// The summary as a table for the terminal, ratios and warnings below it.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut text = format!("{}\n\n", summary.title);
    let _ = writeln!(
        text,
        "{:<28} {:>12} {:>20} {:>14} {:>10}",
        "SERVER", "LEASES/S", "ROUNDS", "PER CPU-S", "MEMORY"
    );
    for result in &summary.results {
        let _ = writeln!(text, "{}", line(result));
    }
    if let Some(limit) = &summary.limit {
        let sign = if limit.is_at_least { "≥ " } else { "" };
        let rate = format!("{sign}{}", grouped(limit.leases_per_s));
        let _ = writeln!(text, "{:<28} {rate:>12}   what kernel and generator can do", "limit");
    }
    text.push('\n');
    for ratio in &summary.ratios {
        let _ = writeln!(text, "{}", ratio_line(ratio));
    }
    if let Some(noise) = &summary.noise {
        let _ = writeln!(
            text,
            "noise floor: the same server twice differs by {:.0} % typically, {:.0} % at most",
            noise.typical_percent, noise.largest_percent
        );
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "note: {warning}");
    }
    text
}

fn line(result: &ServerResult) -> String {
    let name = if result.variant.is_empty() {
        result.server.clone()
    } else {
        format!("{} ({})", result.server, result.variant)
    };
    let rate = match result.leases_per_s {
        Some(rate) if result.is_at_least => format!("≥ {}", grouped(rate)),
        Some(rate) => grouped(rate),
        None => "none".to_owned(),
    };
    let rounds = match (result.leases_per_s_low, result.leases_per_s_high) {
        (Some(low), Some(high)) => format!("{} to {}", grouped(low), grouped(high)),
        _ => String::new(),
    };
    let per_cpu = result.leases_per_cpu_s.map(grouped).unwrap_or_default();
    let memory = format!("{} MiB", result.rss_bytes >> 20);
    format!("{name:<28} {rate:>12} {rounds:>20} {per_cpu:>14} {memory:>10}")
}

fn ratio_line(ratio: &summary::Ratio) -> String {
    let interval = |of: &Option<measure::statistics::RatioInterval>| match of {
        Some(r) if r.pairs > 1 => format!("{:.2} ({:.2} to {:.2})", r.ratio, r.low, r.high),
        Some(r) => format!("{:.2} (one round)", r.ratio),
        None => "unknown".to_owned(),
    };
    if ratio.leases_per_s.is_none() {
        return format!("{} / {}: no round has a figure of both", ratio.server, ratio.to);
    }
    let sign = match (ratio.is_at_least, ratio.is_at_most) {
        (true, false) => "at least ",
        (false, true) => "at most ",
        _ => "",
    };
    format!(
        "{} / {}: {sign}{} in leases/s, {} per CPU-second",
        ratio.server,
        ratio.to,
        interval(&ratio.leases_per_s),
        interval(&ratio.leases_per_cpu_s)
    )
}
