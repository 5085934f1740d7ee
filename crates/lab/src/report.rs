//! From the raw records of a result folder to its summary and report, once more or for the first
//! time; and the summary as a few lines for the terminal.

mod runs;

use std::fmt::Write as _;
use std::path::Path;

use measure::plan::Protocol;
use measure::record::{FlushCost, Run, Trial};
use measure::report::format;
use measure::summary::{self, RestartResult, ServerResult, Summary};

use crate::bench::grouped;
use crate::error::LabError;
use crate::folder;

/// Judges the records in `folder` again and writes summary and report anew.
///
/// # Errors
/// The folder is no result folder, or its files cannot be read or written.
pub fn again(folder: &Path) -> Result<Summary, LabError> {
    let run: Run = folder::read_json(&folder.join(folder::RUN))?;
    digest_into(folder, &run, &trials(folder)?)
}

/// The records of the trials in `folder`.
pub(crate) fn trials(folder: &Path) -> Result<Vec<Trial>, LabError> {
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
    Ok(trials)
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
    let width = width(&summary.results);
    let _ = writeln!(
        text,
        "{:<width$} {:>12} {:>20} {:>14} {:>10}",
        "SERVER",
        format!("{}/S", summary.plan.protocol.yields().to_uppercase()),
        if summary.plan.has_runs() { "95 % INTERVAL" } else { "ROUNDS" },
        "PER CPU-S",
        "MEMORY"
    );
    for result in &summary.results {
        let _ = writeln!(text, "{}", line(result, width));
    }
    if let Some(limit) = &summary.limit {
        let sign = if limit.is_at_least { "≥ " } else { "" };
        let rate = format!("{sign}{}", grouped(limit.leases_per_s));
        let _ = writeln!(text, "{:<width$} {rate:>12}   what kernel and generator can do", "limit");
    }
    text.push('\n');
    text.push_str(&runs::lines(summary));
    text.push_str(&latencies(&summary.results));
    for ratio in &summary.ratios {
        let _ = writeln!(text, "{}", ratio_line(ratio, summary.plan.protocol));
    }
    if let Some(noise) = &summary.noise {
        let _ = writeln!(
            text,
            "noise floor: the same server twice differs by {:.0} % typically, {:.0} % at most",
            noise.typical_percent, noise.largest_percent
        );
    }
    text.push_str(&restarts(&summary.restarts));
    text.push_str(&flushes(&summary.flushes));
    for warning in &summary.warnings {
        let _ = writeln!(text, "note: {warning}");
    }
    text
}

/// Latency from when an exchange was due to its ACK, at half the highest rate and at it; nothing
/// when no server has any.
fn latencies(results: &[ServerResult]) -> String {
    let (mut text, width) = (String::new(), width(results));
    for result in results {
        for (place, at) in
            [("at half load", result.latency_half), ("at the top", result.latency_max)]
        {
            let Some(at) = at else { continue };
            let ms = |us: Option<f64>| {
                us.map_or_else(|| "-".to_owned(), |us| format!("{:.2}", us / 1e3))
            };
            let _ = writeln!(
                text,
                "{:<width$} {:<12} {:>12} {:>10} {:>10} {:>10}",
                name(result),
                place,
                format!("{}/s", grouped(at.offered_per_s)),
                ms(at.latency.p50_us),
                ms(at.latency.p99_us),
                ms(at.latency.p999_us)
            );
        }
    }
    if text.is_empty() {
        return text;
    }
    let head = format!(
        "{:<width$} {:<12} {:>12} {:>10} {:>10} {:>10}\n",
        "LATENCY FROM DUE TIME, ms", "", "OFFERED", "P50", "P99", "P99.9"
    );
    head + &text + "\n"
}

/// What clients saw of restarts, a line for each.
fn restarts(restarts: &[RestartResult]) -> String {
    let mut text = String::new();
    for of in restarts {
        let first =
            of.first_lease_s.map_or_else(|| "never".to_owned(), |s| format!("after {s:.1} s"));
        let _ = writeln!(
            text,
            "{} {} at {}/s: away {:.1} s, first lease {first}, {} of {} exchanges late or lost \
             ({:.1} s of load, {} apart from it), {} refused, {} wrong, {} answered again",
            of.server,
            of.how.name(),
            grouped(of.offered_per_s),
            of.away_s(),
            of.missed,
            of.due,
            of.missed_s(),
            of.missed_apart,
            of.refused,
            of.wrong,
            of.answered_again
        );
    }
    text
}

/// What flushing cost, a line for each disk.
fn flushes(flushes: &[FlushCost]) -> String {
    let mut disks: Vec<&str> = flushes.iter().map(|flush| flush.disk.as_str()).collect();
    disks.sort_unstable();
    disks.dedup();
    let mut text = String::new();
    for disk in disks {
        let mut medians: Vec<f64> =
            flushes.iter().filter(|f| f.disk == disk).map(|f| f.median_us / 1e3).collect();
        medians.sort_by(f64::total_cmp);
        let _ = writeln!(
            text,
            "flush of a small append, disk of the {disk}: {:.3} ms (median of {}; {:.3} to {:.3})",
            medians[medians.len() / 2],
            medians.len(),
            medians[0],
            medians[medians.len() - 1]
        );
    }
    text
}

/// Of the column with the names.
fn width(results: &[ServerResult]) -> usize {
    results.iter().map(|result| name(result).chars().count()).fold(34, usize::max)
}

fn name(result: &ServerResult) -> String {
    if result.variant.is_empty() {
        result.server.clone()
    } else {
        format!("{} ({})", result.server, result.variant)
    }
}

fn line(result: &ServerResult, width: usize) -> String {
    let name = name(result);
    let rate = match result.leases_per_s {
        Some(rate) if result.is_at_least => format!("≥ {}", grouped(rate)),
        Some(rate) => grouped(rate),
        None if result.loses_at_every_rate.is_some() => "never".to_owned(),
        None => "none".to_owned(),
    };
    let rounds = match (result.leases_per_s_low, result.leases_per_s_high, result.mean) {
        (_, _, Some(mean)) if mean.has_interval() => {
            format!("{} to {}", grouped(mean.low), grouped(mean.high))
        }
        (_, _, Some(_)) => "too few runs".to_owned(),
        (Some(low), Some(high), None) => format!("{} to {}", grouped(low), grouped(high)),
        _ if result.rounds.len() == 1 => "(1 round)".to_owned(),
        _ => String::new(),
    };
    let per_cpu = result.leases_per_cpu_s.map(grouped).unwrap_or_default();
    let memory = match result.rss_bytes {
        0 => String::new(),
        octets => format!("{} MiB", octets >> 20),
    };
    format!("{name:<width$} {rate:>12} {rounds:>20} {per_cpu:>14} {memory:>10}")
}

fn ratio_line(ratio: &summary::Ratio, protocol: Protocol) -> String {
    let interval = |of: &Option<measure::statistics::RatioInterval>| match of {
        Some(r) => {
            let figure = format::ratio_within(r.ratio, r.ends());
            match r.ends() {
                Some(ends) => format!("{figure} ({})", format::ratio_ends(r.ratio, ends)),
                None => format!("{figure} (one round: no interval)"),
            }
        }
        None => "unknown".to_owned(),
    };
    if ratio.leases_per_s.is_none() {
        return format!("{} / {}: no round has a figure of both", ratio.server, ratio.to);
    }
    if let Some(bottleneck) = ratio.bottleneck {
        let words = bottleneck.words();
        return format!("{} / {}: not measured: {words}", ratio.server, ratio.to);
    }
    let sign = match (ratio.is_at_least, ratio.is_at_most) {
        (true, false) => "at least ",
        (false, true) => "at most ",
        _ => "",
    };
    format!(
        "{} / {}: {sign}{} in {}/s, {} per CPU-second",
        ratio.server,
        ratio.to,
        interval(&ratio.leases_per_s),
        protocol.yields(),
        interval(&ratio.leases_per_cpu_s)
    )
}

#[cfg(test)]
mod tests {
    use measure::record::LatencySummary;
    use measure::summary::LatencyAt;

    use super::*;

    #[test]
    fn the_terminal_shows_percentiles_where_there_are_any() {
        let latency = LatencySummary {
            p50_us: Some(410.0),
            p99_us: Some(3_040.0),
            p999_us: Some(50_900.0),
            ..LatencySummary::default()
        };
        let mut result = ServerResult { server: "godwit".to_owned(), ..ServerResult::default() };
        assert_eq!(latencies(std::slice::from_ref(&result)), "");
        result.latency_half = Some(LatencyAt { offered_per_s: 17_000.0, latency, loss: 0.0 });
        let text = latencies(&[result]);
        let words: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(words, ["godwit", "at", "half", "load", "17,000/s", "0.41", "3.04", "50.90"]);
    }
}
