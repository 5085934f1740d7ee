//! Report of a benchmark as a table for a terminal.

use std::fmt::Write as _;

use measure::statistics::RatioInterval;
use report::format;

use crate::result::{GroupCommit, StepResult, SubjectResult, UbenchReport};

/// Width in characters of the names, before the column of figures.
const NAME_WIDTH: usize = 18;

/// Returns the report as text for a terminal.
pub fn text(report: &UbenchReport) -> String {
    let mut out = String::new();
    let machine = &report.machine;
    let _ = writeln!(
        out,
        "godwit {} on {}, {} processors, Linux {}; files in {}",
        report.godwit, machine.cpu_model, machine.cpus, machine.kernel, machine.folder
    );
    for database in &machine.databases {
        let _ = writeln!(out, "{database}");
    }
    let _ = writeln!(out, "{} runs, seed {}", report.runs, report.seed);
    for row in &report.rows {
        add_row(&mut out, row);
    }
    if !report.group_commit.is_empty() {
        out.push_str("\nGroup commit: ratios of rates within this run\n");
        for line in &report.group_commit {
            add_group(&mut out, line);
        }
    }
    for note in &report.notes {
        let _ = writeln!(out, "\nNote: {note}.");
    }
    out
}

fn add_row(out: &mut String, row: &SubjectResult) {
    let _ = writeln!(out, "\n{} ({}), {} records", row.subject, row.setting, row.records);
    let _ = writeln!(
        out,
        "  {:NAME_WIDTH$}{:>12} {:>25} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "", "per second", "95 % interval", "p50 µs", "p99 µs", "p99.9 µs", "max µs", "misses"
    );
    for step in &row.steps {
        add_step(out, step);
    }
    let _ =
        writeln!(out, "  {:NAME_WIDTH$}{:>12}", "four steps", format::rate(row.operations_per_s));
    let counts = &row.counts;
    let mut counted = format!("  {} changes", counts.changes);
    let numbers =
        [("transactions", counts.transactions), ("rows", counts.rows), ("flushes", counts.flushes)];
    for (name, count) in numbers {
        if let Some(count) = count {
            let _ = write!(counted, ", {count} {name}");
        }
    }
    if let Some(cost) = &row.flush {
        let _ = write!(counted, "; a flush cost {cost}");
    }
    let _ = writeln!(out, "{counted}");
}

fn add_step(out: &mut String, step: &StepResult) {
    let interval = if step.interval.has_interval() {
        format!("{} to {}", format::rate(step.interval.low), format::rate(step.interval.high))
    } else {
        "one run".to_owned()
    };
    let latency = &step.latency;
    let _ = writeln!(
        out,
        "  {:NAME_WIDTH$}{:>12} {interval:>25} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8}",
        step.step.name(),
        format::rate(step.per_s),
        latency.p50_us,
        latency.p99_us,
        latency.p999_us,
        latency.max_us,
        step.misses
    );
}

fn add_group(out: &mut String, group: &GroupCommit) {
    let name = group.step.map_or("all changes", |step| step.name());
    let mut line = format!("  {:8} {name:12}", group.backend.name());
    let ratio = |interval: RatioInterval| {
        let mut text = format::ratio(interval.ratio);
        if interval.pairs > 1 {
            let _ = write!(
                text,
                " ({} to {})",
                format::ratio(interval.low),
                format::ratio(interval.high)
            );
        }
        text
    };
    if let Some(interval) = group.of_async {
        let _ = write!(line, " {} of the rate without durability;", ratio(interval));
    }
    if let Some(interval) = group.of_single {
        let _ = write!(line, " {} times the rate of one operation at a time;", ratio(interval));
    }
    if let Some(share) = group.of_bound {
        let _ = write!(line, " {} of 64 changes per flush;", format::ratio(share));
    }
    if let Some(changes) = group.changes_per_flush {
        let _ = write!(line, " {} changes per flush;", format::ratio(changes));
    }
    let _ = writeln!(out, "{} a flush costs {:.0} µs", line, group.flush_us);
}
