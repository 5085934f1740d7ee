//! `godwit lab compare`: flags to the crate `lab`, the comparison to the terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use lab::LabError;
use lab::compare::{CompareSettings, table};

use super::{print, print_json, print_line};

/// Compare two stored results: is B another than A, by how much, and may one say so at all?
///
/// Exit codes: 0 compared, also with --force; 1 the page cannot be written; 2 not a result folder;
/// 3 not comparable, the reasons are on the standard error output.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The result folder to compare with
    a: PathBuf,
    /// The result folder to compare
    b: PathBuf,
    /// Show the figures in spite of reasons against it, marked
    #[arg(long)]
    force: bool,
    /// Where the page goes [default: compare.html in folder B]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

/// Compares and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode, LabError> {
    let compared = lab::compare::run(&CompareSettings {
        a: args.a.clone(),
        b: args.b.clone(),
        force: args.force,
        html: args.html.clone(),
    })?;
    let comparison = &compared.comparison;
    if args.json {
        print_json(comparison)?;
    } else {
        print(&table(comparison))?;
        if let Some(page) = &compared.page {
            print_line(&format!("page: {}", page.display()))?;
        }
    }
    for reason in &comparison.reasons {
        eprintln!("not comparable because {}", reason.words);
    }
    Ok(if comparison.is_comparable || args.force { ExitCode::SUCCESS } else { ExitCode::from(3) })
}
