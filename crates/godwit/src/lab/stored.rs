//! Commands `godwit lab list`, `godwit lab pin` and `godwit lab trend`: list stored runs, set
//! baselines for later comparisons, and draw the results of a plan over time.

use std::path::PathBuf;
use std::process::ExitCode;

use lab::{LabError, stored};

use super::{page_line, print_line, print_result};

/// List stored runs, newest first.
///
/// Shows start time, plan, commit, servers and their highest rates. A star marks the baseline of a
/// plan.
///
/// Exit codes: 0 listed, also if there are none; 2 no such folder.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// List only runs with each of these words in name, plan, title, commit or servers; also
    /// `pinned`, `running` and `unfinished`
    words: Vec<String>,
    /// Folder of stored runs
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(args: &ListArgs) -> Result<ExitCode, LabError> {
    let runs = stored::list(&args.results, &args.words)?;
    print_result(args.json, &runs, &stored::table(&runs))
}

/// Make a stored run the baseline with which later runs of its plan are compared.
///
/// `godwit lab compare RUN` compares with the baseline.
///
/// Exit codes: 0 done; 1 `baselines.json` in the results folder cannot be written; 2 not a result
/// folder, or no baseline to remove.
#[derive(Debug, clap::Args)]
pub(super) struct PinArgs {
    /// Run to make the baseline: its folder, or a name that `godwit lab list` prints
    #[arg(value_name = "RUN", required_unless_present = "remove")]
    run: Option<PathBuf>,
    /// Make no run the baseline: remove the baseline of this plan
    #[arg(long, value_name = "PLAN", conflicts_with = "run")]
    remove: Option<String>,
    /// Folder of stored runs
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
}

pub(super) fn pin(args: &PinArgs) -> Result<ExitCode, LabError> {
    if let Some(plan) = &args.remove {
        let was = stored::unpin(&args.results, plan)?;
        print_line(&format!("{plan} has no baseline any more; it was {was}"))?;
    } else if let Some(run) = &args.run {
        let run = stored::find(&args.results, run);
        let (plan, before) = stored::pin(&args.results, &run)?;
        let instead = before.map(|run| format!(", instead of {run}")).unwrap_or_default();
        print_line(&format!("baseline of {plan}: {}{instead}", run.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Draw the results of a plan over its stored runs.
///
/// The page has the highest rate with its interval, and leases per processor second, by run and
/// commit.
///
/// Exit codes: 0 drawn; 1 the page cannot be written; 2 no run of that plan, or no such folder.
#[derive(Debug, clap::Args)]
pub(super) struct TrendArgs {
    /// Name of the plan whose runs are drawn
    plan: String,
    /// Draw only these servers [default: all]
    #[arg(long = "server", value_name = "NAME", value_delimiter = ',')]
    servers: Vec<String>,
    /// Draw only the last N runs
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    last: Option<u32>,
    /// Path of the page with the trend [default: trend-PLAN.html in the results folder]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Folder of stored runs
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Print the trend as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn trend(args: &TrendArgs) -> Result<ExitCode, LabError> {
    let runs = stored::list(&args.results, &[])?;
    let most = args.last.map(|last| last as usize);
    let trend = stored::trend(&args.results, &runs, &args.plan, &args.servers, most)?;
    let page = args.html.clone().unwrap_or_else(|| {
        // A plan's name has only letters, digits and dashes, like every name of a folder.
        args.results.join(format!("trend-{}.html", trend.plan))
    });
    stored::write_trend(&trend, &page)?;
    print_result(args.json, &trend, &(stored::trend_lines(&trend) + &page_line("page", &page)))
}
