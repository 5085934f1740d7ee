//! Summary and report of a result folder, made from its raw records, once more or for the first
//! time; and the summary as a few lines for the terminal.

mod runs;

use std::fmt::Write as _;
use std::path::Path;

use measure::plan::{Headline, MeasuredProtocol, ServerDurability};
use measure::record::{FlushCost, RunRecord, TrialRecord};
use measure::summary::{self, RestartResult, RunSummary, ServerResult};
use report::format;
use report::headline::{self, HeadlineText};

use crate::columns::{self, WIDTH};
use crate::error::{LabError, LabResult};
use crate::folder;
use crate::number_text::grouped;

/// Number of columns for a server's name in the terminal.
const NAME: usize = 25;

/// Judges the records in the result folder `folder` again and writes summary and report anew.
///
/// # Errors
/// The folder is no result folder, or its files cannot be read or written.
pub fn rebuild(folder: &Path) -> LabResult<RunSummary> {
    let run: RunRecord = folder::read_json(&folder.join(folder::RUN))?;
    write_report(folder, &run, &trials(folder)?)
}

/// Reads the records of the trials in `folder`.
pub(crate) fn trials(folder: &Path) -> LabResult<Vec<TrialRecord>> {
    let trials_folder = folder.join(folder::TRIALS);
    let entries = std::fs::read_dir(&trials_folder).map_err(|e| {
        LabError::Usage(format!("cannot read the folder {}: {e}", trials_folder.display()))
    })?;
    let mut trials = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path().join(folder::TRIAL);
        // A trial during which the server ended has no record and is in no figure.
        if path.exists() {
            trials.push(folder::read_json::<TrialRecord>(&path)?);
        }
    }
    Ok(trials)
}

/// Judges the records of a run and writes summary and report into `folder`; returns the summary.
pub(crate) fn write_report(
    folder: &Path,
    run: &RunRecord,
    trials: &[TrialRecord],
) -> LabResult<RunSummary> {
    let summary = summary::digest(run, trials);
    folder::write_json(&folder.join(folder::SUMMARY), &summary)?;
    folder::write_text(&folder.join(folder::REPORT), &report::render(&summary))?;
    Ok(summary)
}

/// Formats the summary of a run as a table for the terminal, ratios and warnings below it.
pub fn table(summary: &RunSummary) -> String {
    let mut text = format!("{}\n\n", summary.title);
    text.push_str(&headlines(summary));
    let width = NAME;
    let _ = writeln!(
        text,
        "{:<width$} {:>11} {:>22} {:>9} {:>7}",
        "SERVER",
        format!("{}/S", summary.plan.protocol.result_noun().to_uppercase()),
        if summary.plan.has_runs() { "95 % INTERVAL" } else { "ROUNDS" },
        "PER CPU-S",
        "MiB"
    );
    for result in &summary.results {
        let _ = writeln!(text, "{}", line(result));
    }
    if let Some(limit) = &summary.limit {
        let sign = if limit.is_at_least { "≥ " } else { "" };
        let rate = format!("{sign}{}", grouped(limit.leases_per_s));
        let _ = writeln!(text, "{:<width$} {rate:>11}   limit of kernel and generator", "limit");
    }
    text.push('\n');
    text.push_str(&runs::lines(summary));
    text.push_str(&latencies(&summary.results));
    for ratio in &summary.ratios {
        let line = ratio_line(ratio, summary.plan.protocol);
        let _ = writeln!(text, "{}", columns::lines(&line, WIDTH - 4).join("\n    "));
    }
    if let Some(noise) = &summary.noise {
        let _ = writeln!(
            text,
            "noise floor: two measurements of the same server differ by {:.0} % typically, {:.0} % \
             at most",
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

/// Formats the plan's headline figure of each server, if that is not the highest rate, which the
/// table has first anyway.
fn headlines(summary: &RunSummary) -> String {
    if summary.plan.headline == Headline::HighestRate {
        return String::new();
    }
    let mut text = format!("{}\n", summary.plan.headline.words());
    for result in &summary.results {
        let headline_text = headline::headline_text(summary, result);
        let figure = match &headline_text {
            Some(HeadlineText { figure, unit, condition: of }) => format!("{figure}{unit}  {of}"),
            None => "not measured".to_owned(),
        };
        let cells = format!("  {}", figure.trim_end());
        let _ = writeln!(text, "{}", columns::row(&format!("  {}", name(result)), NAME, &cells));
    }
    text.push('\n');
    text
}

/// Formats the latency from the due time of an exchange to its ACK, at half of each server's
/// highest rate and at that rate; nothing when no server has any.
fn latencies(results: &[ServerResult]) -> String {
    let mut text = String::new();
    for result in results {
        for (position, at) in
            [("at half load", result.latency_half), ("at the top", result.latency_max)]
        {
            let Some(at) = at else { continue };
            let ms = |us: Option<f64>| {
                us.map_or_else(|| "-".to_owned(), |us| format!("{:.2}", us / 1e3))
            };
            let cells = format!(
                " {position:<12} {:>11} {:>8} {:>8} {:>8}",
                format!("{}/s", grouped(at.offered_per_s)),
                ms(at.latency.p50_us),
                ms(at.latency.p99_us),
                ms(at.latency.p999_us)
            );
            let _ = writeln!(text, "{}", columns::row(&name(result), NAME, &cells));
        }
    }
    if text.is_empty() {
        return text;
    }
    let head = format!(
        "{:<NAME$} {:<12} {:>11} {:>8} {:>8} {:>8}\n",
        "LATENCY FROM DUE TIME, ms", "", "OFFERED", "P50", "P99", "P99.9"
    );
    head + &text + "\n"
}

/// Formats the clients' results of trials with restarts of databases, a line for each.
fn restarts(restarts: &[RestartResult]) -> String {
    let mut text = String::new();
    for of in restarts {
        let first =
            of.first_lease_s.map_or_else(|| "never".to_owned(), |s| format!("after {s:.1} s"));
        let line = format!(
            "{} {} at {}/s: database away for {:.1} s, first lease {first}, {} of {} exchanges \
             late or lost ({:.1} s of load, {} of them outside the outage), {} refused, {} wrong, \
             {} answered twice",
            of.server,
            of.how.name(),
            grouped(of.offered_per_s),
            of.outage_s(),
            of.missed,
            of.due,
            of.missed_s(),
            of.missed_apart,
            of.refused,
            of.wrong,
            of.answered_again
        );
        let _ = writeln!(text, "{}", columns::lines(&line, WIDTH - 4).join("\n    "));
    }
    text
}

/// Formats the costs of flushes to the disks, a line for each disk.
fn flushes(flushes: &[FlushCost]) -> String {
    let mut disks: Vec<&str> = flushes.iter().map(|flush| flush.disk.as_str()).collect();
    disks.sort_unstable();
    disks.dedup();
    let mut text = String::new();
    for disk in disks {
        let mut medians: Vec<f64> =
            flushes.iter().filter(|f| f.disk == disk).map(|f| f.median_us / 1e3).collect();
        medians.sort_by(f64::total_cmp);
        let line = format!(
            "flush of a small append, disk of the {disk}: {:.3} ms (median of {}; {:.3} to {:.3})",
            medians[medians.len() / 2],
            medians.len(),
            medians[0],
            medians[medians.len() - 1]
        );
        let _ = writeln!(text, "{}", columns::lines(&line, WIDTH - 4).join("\n    "));
    }
    text
}

/// Returns the name of a line of the result table with the server's variant (way to run it),
/// without a durability that the name contains.
fn name(result: &ServerResult) -> String {
    let (_, durability) = ServerDurability::split_line(&result.server);
    match result.variant.strip_prefix("durability ").unwrap_or(&result.variant) {
        "" => result.server.clone(),
        text if durability != ServerDurability::Always && text == durability.name() => {
            result.server.clone()
        }
        variant => format!("{} ({variant})", result.server),
    }
}

fn line(result: &ServerResult) -> String {
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
        octets => format!("{}", octets >> 20),
    };
    let cells = format!(" {rate:>11} {rounds:>22} {per_cpu:>9} {memory:>7}");
    columns::row(&name(result), NAME, &cells)
}

fn ratio_line(ratio: &summary::Ratio, protocol: MeasuredProtocol) -> String {
    let interval = |of: &Option<measure::statistics::RatioInterval>| match of {
        Some(r) => {
            let figure = format::ratio_within(r.ratio, r.ends());
            match r.ends() {
                Some((low, high)) => {
                    format!("{figure} ({})", format::ratio_ends(r.ratio, low, high))
                }
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
        protocol.result_noun(),
        interval(&ratio.leases_per_cpu_s)
    )
}

#[cfg(test)]
mod tests {
    use measure::Plan;
    use measure::record::{LatencySummary, Start};
    use measure::summary::{
        AvalancheResult, CurvePoint, LatencyAt, LongTrial, LongTrialPoint, RoundResult,
    };

    use super::*;

    /// Makes the summary of a run of `plan` with every measurement that a plan may be for.
    fn everything(plan: Plan) -> RunSummary {
        let latency = LatencySummary { p99_us: Some(3_040.0), ..LatencySummary::default() };
        let result = ServerResult {
            server: "godwit".to_owned(),
            leases_per_s: Some(20_000.0),
            avalanche: Some(AvalancheResult { clients: 99_000, took_s: 5.5 }),
            latency_half: Some(LatencyAt { offered_per_s: 1e4, latency, loss: 0.0 }),
            rounds: vec![RoundResult {
                exchanges_per_generator_cpu_s: Some(77_000.0),
                ..RoundResult::default()
            }],
            curve: vec![CurvePoint {
                offered_per_s: 6e4,
                achieved_per_s: 1.7e4,
                ..CurvePoint::default()
            }],
            ..ServerResult::default()
        };
        let server = result.server.clone();
        RunSummary {
            title: plan.title.clone(),
            plan,
            starts: vec![Start {
                server: server.clone(),
                took_s: 0.29,
                rss_bytes: 350 << 20,
                ..Start::default()
            }],
            restarts: vec![RestartResult {
                server: server.clone(),
                first_lease_s: Some(4.2),
                ..RestartResult::default()
            }],
            long_trials: vec![LongTrial {
                server,
                pool_size: Some(1_000),
                points: vec![LongTrialPoint { completed: 997, ..LongTrialPoint::default() }],
                ..LongTrial::default()
            }],
            results: vec![result],
            ..RunSummary::default()
        }
    }

    #[test]
    fn every_shipped_plan_declares_the_figure_that_its_report_shows_first() {
        for (file, text) in crate::plans::SHIPPED {
            let plan = Plan::parse(file, text).unwrap();
            let (name, words) = (plan.headline.name(), plan.headline.words());
            assert!(text.contains(&format!("\nheadline = \"{name}\"\n")), "{file}");
            let summary = everything(plan);
            let headline_text = headline::headline_text(&summary, &summary.results[0]).expect(file);
            let page = report::render(&summary);
            let (_, first) = page.split_once(" data-figure=\"").expect(file);
            assert!(first.starts_with(&format!("{name}\">")), "{file}: {}", &first[..90]);
            assert!(
                first.contains(&headline_text.figure) || name == "highest-rate",
                "{file}: {headline_text:?}"
            );
            let table = table(&summary);
            let first = table.lines().skip(2).take(2).collect::<Vec<_>>().join(" ");
            let heading = if name == "highest-rate" { "LEASES/S" } else { words };
            let is_dns = summary.plan.protocol == MeasuredProtocol::Dns;
            assert!(first.starts_with(heading) || first.contains("/S "), "{file}: {first}");
            assert!(is_dns || first.contains(heading), "{file}: {first}");
            assert!(first.contains(&headline_text.figure), "{file}: {first}");
        }
    }

    #[test]
    fn lines_have_their_variant_unless_their_name_tells_it() {
        let name_of = |server: &str, variant: &str| {
            let (server, variant) = (server.to_owned(), variant.to_owned());
            name(&ServerResult { server, variant, ..ServerResult::default() })
        };
        assert_eq!(name_of("godwit-none", "durability none"), "godwit-none");
        assert_eq!(name_of("godwit", "durability always"), "godwit (always)");
        assert_eq!(name_of("kea", "multi-threaded"), "kea (multi-threaded)");
        assert_eq!(name_of("kea", ""), "kea");
    }

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
