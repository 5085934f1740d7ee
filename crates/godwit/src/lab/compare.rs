//! `godwit lab compare`: flags to the crate `lab`, the comparison to the terminal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::LabError;
use lab::compare::{CompareSettings, GateSettings, margin_percent, table, verdict};
use lab::stored;
use measure::compare::GateVerdict;

use super::{print, print_json, print_line};

/// Compare two stored results: is B another than A, by how much, and may one say so at all?
///
/// With B alone, A is the pinned baseline of its plan (`godwit lab pin`). With --margin the comparison
/// can gate a merge: the highest rate and leases per processor second of each server, as shares of the
/// limit responder's where that was measured, are judged by their 95 % intervals. A figure has regressed
/// when its whole interval lies beyond the margin; it is undecided, and no regression, when the interval
/// reaches across it.
///
/// Exit codes: 0 compared, also with --force, and no regression; 1 the page cannot be written; 2 not a
/// result folder, or no baseline; 3 not comparable (the reasons are on the standard error output), or a
/// regression beyond the margin, or with --strict undecided.
#[derive(Debug, clap::Args)]
#[command(override_usage = "godwit lab compare [OPTIONS] [A] B")]
pub(crate) struct Args {
    /// What to compare with (A), unless that is the baseline, and what to compare (B): result folders, by
    /// their paths or as `godwit lab list` names them
    #[arg(required = true, num_args = 1..=2, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Tell a regression: B is worse by more than this
    #[arg(long, value_name = "PERCENT", value_parser = margin_percent, conflicts_with = "force",
        allow_negative_numbers = true)]
    margin: Option<f64>,
    /// Judge these servers only [default: all that are in both]
    #[arg(long = "server", value_name = "NAME", value_delimiter = ',', requires = "margin")]
    servers: Vec<String>,
    /// What cannot be told by the intervals counts as a regression
    #[arg(long, requires = "margin")]
    strict: bool,
    /// Show the figures in spite of reasons against it, marked
    #[arg(long)]
    force: bool,
    /// Where the page goes [default: compare.html in folder B]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Where stored runs and their baselines are
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

/// Compares and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode, LabError> {
    let (a, b) = sides(args)?;
    let gate = args
        .margin
        .map(|margin_percent| GateSettings { margin_percent, servers: args.servers.clone() });
    let settings = CompareSettings { a, b, force: args.force, html: args.html.clone(), gate };
    let compared = lab::compare::run(&settings)?;
    let comparison = &compared.comparison;
    if args.json {
        print_json(comparison)?;
    } else {
        print(&table(comparison))?;
        if let Some(gate) = &comparison.gate {
            print(&verdict(gate))?;
        }
        if let Some(page) = &compared.page {
            print_line(&format!("page: {}", page.display()))?;
        }
    }
    for reason in &comparison.reasons {
        netio::stderr::print_line(format_args!("not comparable because {}", reason.words));
    }
    let is_short = match comparison.gate.as_ref().map(|gate| gate.verdict) {
        Some(GateVerdict::Regressed) => true,
        Some(GateVerdict::Undecided) => args.strict,
        Some(GateVerdict::Held) | None => !comparison.is_comparable && !args.force,
    };
    Ok(if is_short { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// The folders of both sides.
fn sides(args: &Args) -> Result<(PathBuf, PathBuf), LabError> {
    let find = |named: &Path| stored::find(&args.results, named);
    match &args.runs[..] {
        [a, b] => Ok((find(a), find(b))),
        runs => {
            let b = find(&runs[0]);
            Ok((stored::baseline_of(&args.results, &b)?, b))
        }
    }
}
