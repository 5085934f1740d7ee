//! Implementation of `godwit lab run` from plan to report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Plan;
use measure::plan::{MeasuredProtocol, Topology};
use measure::record::{RUN_SCHEMA, RunRecord};
use measure::summary::RunSummary;
use testbed::registry::user_id;
use testbed::{DatabaseEngine, qdisc};

use crate::bench::{BenchSettings, ProcessBench};
use crate::driver;
use crate::environment;
use crate::error::LabError;
use crate::family::ProtocolAddressing;
use crate::folder::{self, Calendar};
use crate::leases::LeaseCheckResult;
use crate::other_load::{self, OtherLoadResult};
use crate::progress::ProgressWriter;
use crate::report;
use crate::runner::{self, Outcomes, RunTime};
use crate::subject::{self, MeasurementSubject, SubjectKind};
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
) -> Result<FinishedRun, LabError> {
    let plan = &settings.plan;
    let (subjects, mut first_warnings) = subjects(settings)?;
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
    progress.start_journal(&folder, &initial_record(settings, began));
    let what = PreparedRun { subjects, time, first_warnings };
    let finished = measure_subjects(settings, stop, progress, began, folder, what);
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

/// Run that is ready to be measured: its servers in their variants (ways to run them), their time,
/// and the warnings so far.
struct PreparedRun {
    subjects: Vec<MeasurementSubject>,
    time: RunTime,
    first_warnings: Vec<String>,
}

/// Measures the servers of a prepared run in their variants and writes the results into `folder`;
/// returns the finished run.
fn measure_subjects(
    settings: &RunSettings,
    stop: &AtomicBool,
    progress: &mut ProgressWriter,
    began: Calendar,
    folder: PathBuf,
    PreparedRun { subjects, time, first_warnings }: PreparedRun,
) -> Result<FinishedRun, LabError> {
    let plan = &settings.plan;
    let mut bench = ProcessBench::build(
        BenchSettings {
            plan,
            time: &time,
            subjects: &subjects,
            godwit: settings.godwit.clone(),
            folder: folder.clone(),
            running: settings.target.as_ref(),
            stop,
        },
        progress,
    )?;
    let outcomes = runner::run(plan, &subjects, &time, &mut bench)?;
    let duration_s = crate::trial::TrialRunner::elapsed_s(&bench);
    let (leases, problems) = bench.end_servers();
    let (flushes, starts) = (bench.flushes(), bench.starts());
    if stop.load(Ordering::Acquire) && outcomes.finished_rounds == 0 {
        return Err(LabError::Interrupted);
    }
    let mut environment = environment::gather(bench.topology_name(), bench.versions());
    for verified in &leases {
        environment.settings.insert(
            format!("leases verified, {}", verified.server),
            format!("{} of {}", verified.found, verified.given),
        );
    }
    let mut warnings = first_warnings;
    warnings.extend(bench.warnings());
    if outcomes.is_interrupted {
        warnings.push(
            "Interrupted by the user: this result has the measurements done until \
                       then."
                .to_owned(),
        );
    }
    warnings
        .extend(outcomes.warnings.iter().chain(&outcomes.ended_servers).chain(&problems).cloned());
    let record = RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        plan: plan.clone(),
        started: began.rfc3339(),
        duration_s,
        environment,
        searches: outcomes.searches.clone(),
        flushes,
        starts,
        is_interrupted: outcomes.is_interrupted,
        commands: vec![settings.command_line.clone()],
        warnings,
        files: files(&subjects, plan.protocol),
    };
    folder::write_json(&folder.join(folder::RUN), &record)?;
    folder::write_json(&folder.join(folder::LEASES), &leases)?;
    let summary = report::write_report(&folder, &record, &outcomes.trials)?;
    let shortfalls = shortfalls(&summary, &outcomes, &leases);
    bench.keep()?;
    Ok(FinishedRun { folder, summary, leases, shortfalls, is_interrupted: outcomes.is_interrupted })
}

/// Returns the servers and responders that are measured (subjects), all of them installed, and a
/// sentence for each database that is not.
fn subjects(settings: &RunSettings) -> Result<(Vec<MeasurementSubject>, Vec<String>), LabError> {
    let plan = &settings.plan;
    let all = match &settings.target {
        Some(running) => vec![MeasurementSubject::running(running.server)],
        None => subject::subjects(plan, &plan.servers, settings.server_command.as_deref())?,
    };
    let (all, mut left_out) = with_stores(all)?;
    let (subjects, without) = with_qdiscs(plan, all)?;
    left_out.extend(without);
    for subject in &subjects {
        driver::require(subject, ProtocolAddressing::for_protocol(plan.protocol))?;
    }
    Ok((subjects, left_out))
}

/// Returns those of `subjects`, the measured servers, whose databases are installed, and a sentence
/// for each database that is not.
fn with_stores(
    subjects: Vec<MeasurementSubject>,
) -> Result<(Vec<MeasurementSubject>, Vec<String>), LabError> {
    let missing = |subject: &MeasurementSubject| {
        driver::engine(subject.store).and_then(DatabaseEngine::missing)
    };
    let mut sentences: Vec<String> = subjects
        .iter()
        .filter_map(|subject| Some((subject.store.name(), missing(subject)?)))
        .map(|(store, why)| format!("Nothing was measured on {store}: {why}."))
        .collect();
    sentences.sort_unstable();
    sentences.dedup();
    let there: Vec<MeasurementSubject> =
        subjects.into_iter().filter(|subject| missing(subject).is_none()).collect();
    if !sentences.is_empty() && there.iter().all(MeasurementSubject::is_limit) {
        return Err(LabError::Failed(sentences.join("\n")));
    }
    Ok((there, sentences))
}

/// Returns those of `subjects`, the measured servers, whose queueing disciplines this machine has,
/// and a sentence for each discipline that it lacks.
fn with_qdiscs(
    plan: &Plan,
    mut subjects: Vec<MeasurementSubject>,
) -> Result<(Vec<MeasurementSubject>, Vec<String>), LabError> {
    let mut sentences = Vec::new();
    let has_link = plan.topology != Topology::Loopback && user_id() == 0;
    let disciplines = plan.server.features.iter().filter_map(|of| Some((of, of.qdisc()?)));
    for (feature, words) in disciplines {
        let why = if has_link {
            qdisc::missing_reason(words)?
        } else {
            Some("the link is loopback; run as root to use a veth pair".to_owned())
        };
        if let Some(why) = why {
            sentences.push(format!("Nothing was measured with {}: {why}.", feature.name()));
            subjects.retain(|subject| subject.feature != *feature);
        }
    }
    Ok((subjects, sentences))
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
