//! Trend of a plan's servers over stored runs: a page, and lines for the terminal.

use std::fmt::Write as _;
use std::path::Path;

use measure::stored::{StoredRuns, Trend};

use super::list::line;
use crate::columns::WIDTH;
use crate::error::{LabError, LabResult};
use crate::folder;

/// Returns the trend of `plan` among the runs found in `results`, with the figures of `servers`, or
/// of all if the list is empty; of the last `most` runs if it is given.
///
/// # Errors
/// There is no finished run of the plan, or none with such a server.
pub fn trend(
    results: &Path,
    stored: &StoredRuns,
    plan: &str,
    servers: &[String],
    most: Option<usize>,
) -> LabResult<Trend> {
    let mut trend = Trend::from_runs(plan, servers, &stored.runs).ok_or_else(|| {
        let with = match servers {
            [] => String::new(),
            servers => format!(" with {}", servers.join(", ")),
        };
        let results = results.display();
        LabError::Usage(format!(
            "there is no run of {plan}{with} in {results}; `godwit lab list` lists all runs"
        ))
    })?;
    let surplus = most.map_or(0, |most| trend.runs.len().saturating_sub(most));
    trend.runs.drain(..surplus);
    Ok(trend)
}

/// Draws the page of `trend` into the file at `path`.
///
/// # Errors
/// The file cannot be written.
pub fn write_trend(trend: &Trend, path: &Path) -> LabResult<()> {
    folder::write_text(path, &report::render_trend(trend))
}

/// Formats `trend` for the terminal, oldest run first.
pub fn trend_lines(trend: &Trend) -> String {
    let mut text = String::new();
    for run in &trend.runs {
        let commit = match run.commit.as_str() {
            "" => String::new(),
            commit => format!("commit {commit}"),
        };
        // Both fit a line of a terminal, or each gets one.
        let between = match run.id.len() + commit.len() + 2 {
            _ if commit.is_empty() => "",
            ..=WIDTH => ", ",
            _ => ",\n    ",
        };
        let _ = writeln!(text, "{}{between}{commit}", run.id);
        for figure in &run.servers {
            let is_like = trend.is_like_last(run, &figure.server);
            let others = "      (another plan, machine, profile or variant)\n";
            let other = if is_like { "" } else { others };
            let _ = write!(text, "{}\n{other}", line(figure, &run.yields));
        }
    }
    text
}
