//! Command `godwit lab compare`: flags to the crate `lab`, the comparison to the terminal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::LabError;
use lab::compare::{CompareSettings, GateSettings, margin_percent, table, verdict};
use lab::stored;
use measure::compare::GateVerdict;

use super::{page_line, print_result};

/// Compare two stored runs, with confidence intervals; refuses when they are not comparable.
///
/// With B alone, A is the pinned baseline of its plan (`godwit lab pin`). With --margin it can gate
/// merges: the highest rate and the leases per processor second of each server, as shares of the
/// limit responder's (a program that sends every message back) if measured, are judged by their 95
/// % intervals. A figure has regressed if its whole interval lies beyond the margin; it is
/// undecided, and no regression, if the interval reaches across it.
///
/// Exit codes: 0 compared, also with --force, and no regression; 1 the page cannot be written; 2
/// not a result folder, or no baseline; 3 not comparable (reasons on standard error), or a
/// regression beyond the margin, or with --strict undecided.
#[derive(Debug, clap::Args)]
#[command(override_usage = "godwit lab compare [OPTIONS] [A] B")]
pub(crate) struct LabCompareArgs {
    /// Runs A (unless it is the baseline) and B: paths of result folders, or names of `godwit lab
    /// list`
    #[arg(required = true, num_args = 1..=2, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Exit with 3 if B is worse than A by more than this percentage
    #[arg(long, value_name = "PERCENT", value_parser = margin_percent, conflicts_with = "force",
        allow_negative_numbers = true)]
    margin: Option<f64>,
    /// Judge only these servers by the margin [default: all that both runs have]
    #[arg(long = "server", value_name = "NAME", value_delimiter = ',', requires = "margin")]
    servers: Vec<String>,
    /// Treat undecided figures as regressions: exit with 3
    #[arg(long, requires = "margin")]
    strict: bool,
    /// Show figures, marked, although the runs are not comparable
    #[arg(long)]
    force: bool,
    /// Path of the page with the comparison [default: compare.html in folder B]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Folder of stored runs and baselines
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

/// Compares the two results that `args` name, prints the comparison and returns the exit code.
pub(crate) fn run(args: &LabCompareArgs) -> Result<ExitCode, LabError> {
    let (a, b) = sides(args)?;
    let gate = args
        .margin
        .map(|margin_percent| GateSettings { margin_percent, servers: args.servers.clone() });
    let settings = CompareSettings { a, b, force: args.force, html: args.html.clone(), gate };
    let compared = lab::compare::run(&settings)?;
    let comparison = &compared.comparison;
    let gate = comparison.gate.as_ref().map(verdict).unwrap_or_default();
    let page = compared.page.as_ref().map(|page| page_line("page", page)).unwrap_or_default();
    print_result(args.json, comparison, &(table(comparison) + &gate + &page))?;
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

/// Returns the result folders of both sides of the comparison, A and B.
fn sides(args: &LabCompareArgs) -> Result<(PathBuf, PathBuf), LabError> {
    let find = |path: &Path| stored::find(&args.results, path);
    match &args.runs[..] {
        [a, b] => Ok((find(a), find(b))),
        runs => {
            let b = find(&runs[0]);
            Ok((stored::find_baseline(&args.results, &b)?, b))
        }
    }
}
