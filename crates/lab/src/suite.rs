//! Implementation of `godwit lab run` for a suite: its plans one after the other, each with a
//! result folder of its own inside that of the suite, and a front page with their figures.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use measure::Plan;
use measure::plan::Topology;
use measure::suite::{Suite, SuitePart, SuiteSummary, judge};
use measure::summary::RunSummary;
use report::format;

use crate::columns::{self, WIDTH};
use crate::error::{LabError, LabResult};
use crate::folder::{self, Calendar};
use crate::plans;
use crate::progress::ProgressWriter;
use crate::run::{RunSettings, run};
use crate::runner::RunTime;
use crate::runner::time::duration;
use crate::subject::subjects;

/// Name of the file with the suite's summary in the suite's result folder.
pub(crate) const SUITE: &str = "suite.json";

/// Settings of the run of a suite that the user requested.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// Suite that is run.
    pub suite: Suite,
    /// True if the suite is shortened (`--quick`), as its entry for each plan says.
    pub is_quick: bool,
    /// Connection between generator and server, if other than in the plans.
    pub topology: Option<Topology>,
    /// Path of the folder that contains result folders.
    pub results: PathBuf,
    /// Path of this program, which is also generator, limit responder and server.
    pub godwit: PathBuf,
    /// Command line of the lab, for the suite's records.
    pub command_line: String,
    /// True if the lab skips the check whether other programs are busy before each plan.
    pub ignores_load: bool,
}

/// Result of a suite that is over.
#[derive(Clone, Debug)]
pub struct FinishedSuite {
    /// Path of the suite's result folder.
    pub folder: PathBuf,
    /// Summary of the suite in figures.
    pub summary: SuiteSummary,
    /// Reasons why measured servers fell short, one sentence each with the plan's name.
    pub shortfalls: Vec<String>,
    /// True if the user ended the suite; everything done so far is in the result folder.
    pub is_interrupted: bool,
}

/// Runs every plan of the suite in `settings`. A plan that fails is reported on the page; `stop`
/// ends the suite with the results so far.
///
/// # Errors
/// No plan could be run, or the front page cannot be written.
pub fn run_suite(
    settings: &SuiteSettings,
    stop: &AtomicBool,
    progress: &mut ProgressWriter,
) -> LabResult<FinishedSuite> {
    let suite = &settings.suite;
    let (began, origin) = (Calendar::now(), Instant::now());
    let folder = folder::choose(&settings.results, began, &suite.name)?;
    let (mut parts, mut shortfalls) = (Vec::new(), Vec::new());
    let mut left_s = forecast_s(suite, settings.is_quick);
    let count = suite.parts.len();
    progress.print(&format!("about {} for {count} plans", duration(left_s)));
    for (part, number) in suite.parts.iter().zip(1..) {
        if stop.load(Ordering::Acquire) {
            parts.push(Err("the run was interrupted before this plan".to_owned()));
            continue;
        }
        if settings.is_quick && !part.has_quick_run() {
            parts.push(Err("a quick run leaves this out".to_owned()));
            continue;
        }
        let after = duration(left_s);
        progress.print(&format!("plan {} ({number} of {count}), {after} left", part.plan));
        left_s -= part_s(part, settings.is_quick);
        parts.push(match run_part(settings, part, &folder, stop, progress) {
            Ok((name, summary, fell_short)) => {
                let sentences = fell_short.iter().map(|why| format!("{}: {why}", part.plan));
                shortfalls.extend(sentences);
                Ok((name, summary))
            }
            Err(LabError::Interrupted) => Err("the run was interrupted during this \
                                               plan"
                .to_owned()),
            Err(error) => {
                progress.print(&format!("warning: {}: {error}", part.plan));
                Err(error.to_string())
            }
        });
    }
    if parts.iter().all(Result::is_err) {
        // Plans that could not be run have left nothing in it.
        let _ = fs::remove_dir(&folder);
        if stop.load(Ordering::Acquire) {
            return Err(LabError::Interrupted);
        }
    }
    if let Some(Err(why)) = parts.first()
        && parts.iter().all(Result::is_err)
    {
        return Err(LabError::Failed(why.clone()));
    }
    let summary = SuiteSummary {
        started: began.rfc3339(),
        duration_s: origin.elapsed().as_secs_f64(),
        is_quick: settings.is_quick,
        ..judge(suite, &parts)
    };
    folder::write_json(&folder.join(SUITE), &summary)?;
    let page = report::render_suite(&summary);
    folder::write_text(&folder.join(folder::REPORT), &page)?;
    let is_interrupted = stop.load(Ordering::Acquire);
    Ok(FinishedSuite { folder, summary, shortfalls, is_interrupted })
}

/// Returns the plan of `part` as a suite runs it, shortened if the run of the suite is quick.
///
/// # Errors
/// There is no such plan, or it has problems.
pub(crate) fn part_plan(part: &SuitePart, is_quick: bool) -> LabResult<Plan> {
    let mut plan = plans::load(&part.plan)?;
    plan.time_budget_s = part.time_budget_s.unwrap_or(plan.time_budget_s);
    if !is_quick {
        return Ok(plan);
    }
    if part.quick_look {
        plan.quicken();
    }
    plan.time_budget_s = part.quick_time_budget_s.unwrap_or(plan.time_budget_s);
    let rounds = part.quick_rounds.unwrap_or(plan.blocks.rounds);
    plan.blocks.rounds = plan.blocks.rounds.min(rounds);
    if !part.quick_servers.is_empty() {
        plan.servers.clone_from(&part.quick_servers);
    }
    Ok(plan)
}

/// Returns the seconds that `suite` takes with all servers that its plans name; a plan with
/// problems counts as 0 s.
pub fn forecast_s(suite: &Suite, is_quick: bool) -> f64 {
    suite.parts.iter().map(|part| part_s(part, is_quick)).sum()
}

fn part_s(part: &SuitePart, is_quick: bool) -> f64 {
    if is_quick && !part.has_quick_run() {
        return 0.0;
    }
    let Ok(plan) = part_plan(part, is_quick) else { return 0.0 };
    let subjects = subjects(&plan, &plan.servers, None).unwrap_or_default();
    RunTime::for_idle_machine(&plan, &subjects).announced_s
}

/// Runs one plan of a suite; returns the name of its folder, its summary, and the reasons why a
/// server fell short.
fn run_part(
    settings: &SuiteSettings,
    part: &SuitePart,
    folder: &Path,
    stop: &AtomicBool,
    progress: &mut ProgressWriter,
) -> LabResult<(String, RunSummary, Vec<String>)> {
    let mut plan = part_plan(part, settings.is_quick)?;
    plan.topology = settings.topology.unwrap_or(plan.topology);
    let settings = RunSettings {
        plan,
        server_command: None,
        target: None,
        results: folder.to_owned(),
        godwit: settings.godwit.clone(),
        command_line: settings.command_line.clone(),
        ignores_load: settings.ignores_load,
    };
    let finished = run(&settings, stop, progress)?;
    let name = finished.folder.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok((name.unwrap_or_default(), finished.summary, finished.shortfalls))
}

/// Formats the rows of a suite's summary (figures against targets) as a table for the terminal.
pub fn table(summary: &SuiteSummary) -> String {
    let mut text = format!("{}\n\n", summary.title);
    let _ = writeln!(text, "{:>10} {:>8} {:>18}  VERDICT", "TARGET", "FIGURE", "95 % INTERVAL");
    for row in &summary.rows {
        let value_and_ends = row.value.zip(row.ends());
        let interval = value_and_ends
            .map(|(value, (low, high))| format::ratio_ends(value, low, high))
            .unwrap_or_default();
        let figure = row.value.map(|value| format::ratio_within(value, row.ends()));
        let figure = figure.unwrap_or_default();
        let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
        let verdict = format!("{}{note}", row.words());
        let cells = format!("{:>10} {figure:>8} {interval:>18}  ", row.target);
        let _ = writeln!(text, "{}", columns::lines(&row.name, WIDTH).join("\n"));
        let _ = writeln!(text, "{}", columns::wrapped(&cells, &verdict));
    }
    for part in &summary.parts {
        for warning in &part.warnings {
            let _ = writeln!(text, "warning: {}: {warning}", part.plan);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use measure::suite::{PartResult, RowResult, TargetVerdict};

    use super::*;

    #[test]
    fn shipped_suites_run_shipped_plans() {
        for (name, text) in plans::SUITES {
            let suite = Suite::parse(name, text).unwrap();
            assert_eq!(suite.name, name);
            for part in &suite.parts {
                let plan = plans::load(&part.plan).unwrap();
                assert_eq!(plan.name, part.plan);
            }
        }
    }

    #[test]
    fn the_terminal_shows_a_line_for_each_row() {
        let row = RowResult {
            name: "classes".into(),
            target: "≥ 0.97".into(),
            value: Some(0.981),
            low: Some(0.97),
            high: Some(0.99),
            verdict: TargetVerdict::Met,
            ..RowResult::default()
        };
        let unknown = RowResult { name: "later".into(), note: "no time".into(), ..row.clone() };
        let unknown =
            RowResult { value: None, low: None, verdict: TargetVerdict::NotMeasured, ..unknown };
        let part = PartResult {
            plan: "tiny".into(),
            warnings: vec!["One processor only.".into()],
            ..PartResult::default()
        };
        let summary =
            SuiteSummary { rows: vec![row, unknown], parts: vec![part], ..SuiteSummary::default() };
        let text = table(&summary);
        assert!(text.ends_with("warning: tiny: One processor only.\n"), "{text}");
        let lines: Vec<Vec<&str>> =
            text.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["classes"]);
        assert_eq!(lines[1], ["≥", "0.97", "0.98", "0.97", "to", "0.99", "met"]);
        assert_eq!(lines[2], ["later"]);
        assert_eq!(lines[3], ["≥", "0.97", "not", "measured:", "no", "time"]);
    }
}
