//! Search for stored runs, and their list for the terminal.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use measure::record::{Environment, RUN_SCHEMA};
use measure::stored::{
    RunKind, STORED_SCHEMA, StoredFigure, StoredRun, StoredRuns, StoredState, SummaryHead,
};
use measure::suite::SuiteSummary;
use measure::summary::SUMMARY_SCHEMA;
use serde::Deserialize;

use super::baselines::Baselines;
use crate::columns::{self, WIDTH};
use crate::error::{LabError, LabResult};
use crate::folder;
use crate::journal;
use crate::number_text::grouped;
use crate::suite::SUITE;

/// Number of columns of a server's name with its indentation in the list of runs.
const NAME: usize = 34;

/// Parts of a stored regression of DCCP that the list of runs needs.
#[derive(Deserialize)]
struct RegressionHead {
    schema: String,
    plan: RegressionPlanHead,
    started: String,
    duration_s: f64,
    environment: Environment,
}

#[derive(Deserialize)]
struct RegressionPlanHead {
    name: String,
    title: String,
}

/// Returns all runs below `results` that match every one of `words`, newest first. A folder that
/// cannot be read is reported in the list and does not end it.
///
/// # Errors
/// There is no such folder, or the file of baselines cannot be read.
pub fn list(results: &Path, words: &[String]) -> LabResult<StoredRuns> {
    if !results.is_dir() {
        return Err(LabError::Usage(format!("there is no folder {}", results.display())));
    }
    let baselines = Baselines::read(results)?;
    let mut runs = StoredRuns { schema: STORED_SCHEMA.to_owned(), ..StoredRuns::default() };
    for name in folders(results) {
        let path = results.join(&name);
        collect(&path, &name, &mut runs);
        if path.join(SUITE).is_file() || !path.join(folder::TRIALS).is_dir() {
            for part in folders(&path) {
                collect(&path.join(&part), &format!("{name}/{part}"), &mut runs);
            }
        }
    }
    for run in &mut runs.runs {
        run.is_baseline = baselines.baselines.get(&run.plan) == Some(&run.id);
    }
    runs.runs.retain(|run| run.matches(words));
    runs.runs.sort_by(|a, b| (&b.started, &b.id).cmp(&(&a.started, &a.id)));
    Ok(runs)
}

/// Returns the names of the folders in the folder `path`.
fn folders(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Adds the run in the folder `path` to `runs`, if there is one.
fn collect(path: &Path, id: &str, runs: &mut StoredRuns) {
    match read(path, id) {
        Ok(run) => runs.runs.extend(run),
        Err(error) => runs.unreadable.push(error.to_string()),
    }
}

fn read(path: &Path, id: &str) -> LabResult<Option<StoredRun>> {
    let summary = path.join(folder::SUMMARY);
    if summary.is_file() {
        let head: SummaryHead = folder::read_json(&summary)?;
        if head.schema == SUMMARY_SCHEMA {
            return Ok(Some(head.into_stored_run(id)));
        }
        let (file, schema) = (summary.display(), head.schema);
        let message = format!("{file} cannot be read: its schema is {schema}");
        return Err(LabError::Usage(message));
    }
    let suite = path.join(SUITE);
    if suite.is_file() {
        let SuiteSummary { name, title, started, duration_s, .. } = folder::read_json(&suite)?;
        let kind = RunKind::Suite;
        let line = StoredRun { kind, plan: name, title, started, duration_s, ..unfinished(id) };
        return Ok(Some(StoredRun { state: StoredState::Done, ..line }));
    }
    let run = path.join(folder::RUN);
    if run.is_file() {
        let head: RegressionHead = folder::read_json(&run)?;
        if head.schema == RUN_SCHEMA {
            return Ok(Some(without_report(path, id)));
        }
        return Ok(Some(StoredRun {
            kind: RunKind::Regression,
            state: StoredState::Done,
            plan: head.plan.name,
            title: head.plan.title,
            started: head.started,
            duration_s: head.duration_s,
            commit: head.environment.commit,
            profile: head.environment.profile,
            godwit: head.environment.godwit,
            ..unfinished(id)
        }));
    }
    let is_run = path.join(folder::TRIALS).is_dir() || journal::read(path).is_some();
    Ok(is_run.then(|| without_report(path, id)))
}

/// Makes the line of the list for a run that is in progress or was killed, from its progress file.
fn without_report(path: &Path, id: &str) -> StoredRun {
    let line = unfinished(id);
    let Some(progress) = journal::read(path) else { return line };
    let is_running = progress.is_running;
    StoredRun {
        state: if is_running { StoredState::Running } else { StoredState::Unfinished },
        plan: progress.run.plan.name,
        title: progress.run.plan.title,
        started: progress.run.started,
        commit: progress.run.environment.commit,
        profile: progress.run.environment.profile,
        godwit: progress.run.environment.godwit,
        ..line
    }
}

/// Makes the line of the list for a run from the name of its folder alone.
fn unfinished(id: &str) -> StoredRun {
    let name = id.rsplit('/').next().unwrap_or(id);
    let (time, plan) = name.split_once('-').unwrap_or(("", name));
    StoredRun {
        id: id.to_owned(),
        state: StoredState::Unfinished,
        plan: plan.to_owned(),
        started: folder::expanded(time).unwrap_or_default(),
        ..StoredRun::default()
    }
}

/// Formats the list of stored runs for the terminal.
pub fn table(stored: &StoredRuns) -> String {
    let mut text = String::new();
    for run in &stored.runs {
        let mut facts = vec![run.started.replace('T', " ")];
        facts.push(match run.state {
            StoredState::Done => report::format::seconds(run.duration_s),
            StoredState::Running => "running".to_owned(),
            StoredState::Unfinished => "unfinished".to_owned(),
        });
        if !run.commit.is_empty() {
            facts.push(format!("commit {}", run.commit));
        }
        if run.is_baseline {
            facts.push("pinned".to_owned());
        }
        let mark = if run.is_baseline { '*' } else { ' ' };
        let facts = facts.join(", ");
        // Both fit a line of a terminal, or each gets one.
        let between = if run.id.len() + facts.len() + 4 <= WIDTH { "  " } else { "\n    " };
        let _ = writeln!(text, "{mark} {}{between}{facts}", run.id);
        for figure in &run.servers {
            let _ = writeln!(text, "{}", line(figure, &run.yields));
        }
    }
    if stored.runs.is_empty() {
        text.push_str("no run\n");
    }
    for sentence in &stored.unreadable {
        let _ = writeln!(text, "note: {sentence}");
    }
    text
}

/// Formats the figures of one server of a run for the terminal.
pub(super) fn line(figure: &StoredFigure, yields: &str) -> String {
    let name = match figure.variant.as_str() {
        "" => figure.server.clone(),
        variant => format!("{} ({variant})", figure.server),
    };
    let sign = if figure.is_at_least { "≥ " } else { "" };
    let rate = figure
        .leases_per_s
        .map_or_else(|| "none".to_owned(), |r| format!("{sign}{} {yields}/s", grouped(r)));
    let range = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{} to {}", grouped(low), grouped(high)),
        _ if figure.leases_per_s.is_some() => "(1 round)".to_owned(),
        _ => String::new(),
    };
    columns::row(&format!("    {name}"), NAME, &format!(" {rate:>20}  {range}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_folder_tells_time_and_plan() {
        let run = unfinished("20261123T120000Z-all/20261123T120102Z-dhcp4-quick");
        assert_eq!(
            (run.plan.as_str(), run.started.as_str()),
            ("dhcp4-quick", "2026-11-23T12:01:02Z")
        );
        let run = unfinished("mine");
        assert_eq!((run.plan.as_str(), run.started.as_str()), ("mine", ""));
    }
}
