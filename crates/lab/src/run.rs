//! Implementation of `godwit lab run` from plan to report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Plan;
use measure::plan::MeasuredProtocol;
use measure::record::{RUN_SCHEMA, RunRecord};
use measure::summary::RunSummary;

use crate::available;
use crate::bench::{BenchRecord, BenchSettings, ProcessBench};
use crate::driver;
use crate::environment;
use crate::error::{LabError, LabResult};
use crate::folder::{self, Calendar};
use crate::leases::LeaseCheckResult;
use crate::other_load::{self, OtherLoadResult};
use crate::progress::ProgressWriter;
use crate::report;
use crate::runner::{self, Outcomes, RunTime};
use crate::subject::{MeasurementSubject, SubjectKind};
use crate::target::RunningTarget;

/// Settings of `godwit lab run` that the user requested.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Plan of the run with the changes of the command line.
    pub plan: Plan,
    /// Command of a server that the user gave, with placeholders.
    pub server_command: Option<String>,
    /// Server that is already running and is measured instead of the plan's servers.
    pub target: Option<RunningTarget>,
    /// Path of the folder that contains result folders.
    pub results: PathBuf,
    /// Path of this program, which is also generator, limit responder and server.
    pub godwit: PathBuf,
    /// Command line of the lab, for the run's record.
    pub command_line: String,
    /// True if the lab skips the check whether other programs are busy before the run.
    pub ignores_load: bool,
}

/// Result of a run that is over.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// Path of the run's result folder.
    pub folder: PathBuf,
    /// Summary of the run in figures.
    pub summary: RunSummary,
    /// Results of the checks of the clients' leases in the servers' files.
    pub leases: Vec<LeaseCheckResult>,
    /// Reasons why the measured servers fell short, one sentence each; empty when none did.
    pub shortfalls: Vec<String>,
    /// True if the user ended the run after at least one whole round; everything done so far is in
    /// the result folder.
    pub is_interrupted: bool,
}

/// Runs the plan of `settings`. `stop` ends it early: after a whole round with the results so far,
/// before it without results.
///
/// # Errors
/// The run cannot be done; no processes, namespaces or files are left behind.
pub fn run(
    settings: &RunSettings,
    stop: &AtomicBool,
    progress: &mut ProgressWriter,
) -> LabResult<FinishedRun> {
    let plan = &settings.plan;
    let (subjects, mut first_warnings) = available::subjects(settings)?;
    let others =
        if settings.ignores_load { OtherLoadResult::default() } else { other_load::watch(stop) };
    let time = RunTime::for_loaded_machine(others.share, plan, &subjects);
    progress.print(&time.words(&subjects));
    if let Some(shortage) = time.shortage(plan) {
        progress.print(&format!("warning: {shortage}"));
    }
    progress.start_clock(time.announced_s);
    if let Some(warning) = others.warning {
        progress.print(&format!("warning: {warning}"));
        first_warnings.insert(0, warning);
    }
    let began = Calendar::now();
    let folder = folder::choose(&settings.results, began, &plan.name)?;
    let mut record = initial_record(settings, began);
    progress.start_journal(&folder, &record);
    record.warnings = first_warnings;
    let finished = measure_subjects(settings, &subjects, &time, folder, record, stop, progress);
    progress.end_journal();
    finished
}

/// Returns the record of a run with the data that is known before its first trial.
fn initial_record(settings: &RunSettings, began: Calendar) -> RunRecord {
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        plan: settings.plan.clone(),
        started: began.rfc3339(),
        environment: environment::gather("", BTreeMap::new()),
        commands: vec![settings.command_line.clone()],
        ..RunRecord::default()
    }
}

/// Measures `subjects` within `time` and writes the results into `folder`; returns the finished
/// run. `record` has the data that is known before the first trial.
fn measure_subjects(
    settings: &RunSettings,
    subjects: &[MeasurementSubject],
    time: &RunTime,
    folder: PathBuf,
    record: RunRecord,
    stop: &AtomicBool,
    progress: &mut ProgressWriter,
) -> LabResult<FinishedRun> {
    let plan = &settings.plan;
    let settings = BenchSettings {
        plan,
        time,
        subjects,
        godwit: settings.godwit.clone(),
        folder: folder.clone(),
        running: settings.target.as_ref(),
        stop,
    };
    let mut bench = ProcessBench::build(&settings, record, progress)?;
    let mut outcomes = runner::run(plan, subjects, time, &mut bench)?;
    let BenchRecord { run: mut record, leases, problems } = bench.end_servers();
    if stop.load(Ordering::Acquire) && outcomes.finished_rounds == 0 {
        return Err(LabError::Interrupted);
    }
    for verified in &leases {
        record.environment.settings.insert(
            format!("leases verified, {}", verified.server),
            format!("{} of {}", verified.found, verified.given),
        );
    }
    if outcomes.is_interrupted {
        record.warnings.push(
            "Interrupted by the user: this result has the measurements done until then.".to_owned(),
        );
    }
    let ended = outcomes.ended_servers.iter();
    record.warnings.extend(outcomes.warnings.iter().chain(ended).chain(&problems).cloned());
    record.searches = std::mem::take(&mut outcomes.searches);
    record.is_interrupted = outcomes.is_interrupted;
    record.files = files(subjects, plan.protocol);
    folder::write_json(&folder.join(folder::RUN), &record)?;
    folder::write_json(&folder.join(folder::LEASES), &leases)?;
    let summary = report::write_report(&folder, &record, &outcomes.trials)?;
    let shortfalls = shortfalls(&summary, &outcomes, &leases);
    bench.keep()?;
    Ok(FinishedRun { folder, summary, leases, shortfalls, is_interrupted: outcomes.is_interrupted })
}

/// Returns the raw files of a run that belong to no trial.
fn files(subjects: &[MeasurementSubject], protocol: MeasuredProtocol) -> Vec<String> {
    let mut files = vec![folder::RUN.to_owned(), folder::LEASES.to_owned()];
    for subject in
        subjects.iter().filter(|subject| !matches!(subject.kind, SubjectKind::Running(_)))
    {
        let configuration = driver::configuration_name(subject, protocol);
        for name in configuration.into_iter().chain(["server.out", "server.err"]) {
            files.push(format!("{}/{}/{name}", folder::SERVERS, subject.file_name()));
        }
    }
    files
}

fn shortfalls(
    summary: &RunSummary,
    outcomes: &Outcomes,
    leases: &[LeaseCheckResult],
) -> Vec<String> {
    let mut shortfalls = outcomes.ended_servers.clone();
    for result in summary.results.iter().filter(|result| result.leases_per_s.is_none()) {
        shortfalls.push(match result.loses_at_every_rate {
            Some(least) => format!(
                "{}: it never meets the criterion of at most {} % missed exchanges, as it misses \
                 {:.1} % or more at every rate.",
                result.server,
                summary.plan.search.loss_percent,
                least * 100.0
            ),
            None => format!("{}: no rate could be confirmed.", result.server),
        });
    }
    for (server, conflicts) in &summary.conflicts {
        shortfalls.push(format!(
            "{server}: {conflicts} leases were granted to a client while another one held the \
             address."
        ));
    }
    for verified in leases.iter().filter(|verified| verified.found < verified.given) {
        shortfalls.push(format!(
            "{}: {} of {} leases that clients received are not in its store, e.g. {}",
            verified.server,
            verified.given - verified.found,
            verified.given,
            verified.missing.join(" ")
        ));
    }
    for verified in leases.iter().filter(|verified| verified.shared > 0) {
        shortfalls.push(format!(
            "{}: {} addresses were given to several clients each, e.g. {}",
            verified.server,
            verified.shared,
            verified.sharing.join(" ")
        ));
    }
    shortfalls
}
