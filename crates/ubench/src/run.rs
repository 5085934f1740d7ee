//! Run of a benchmark of lease stores: one run of each store in turn, then the next run, each in a
//! folder of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::{Histogram, ToolError, ToolResult};
use netio::Clock;

use crate::flush::{self, FlushDurationSummary, StoreWriteCounters};
use crate::machine;
use crate::open::{self, SubjectEnvironment};
use crate::result::{
    OperationLatency, SCHEMA, StepResult, StoreWriteCounts, SubjectResult, UbenchReport,
    group_commit, honest_average, mean_of_rates,
};
use crate::server::{DatabaseServer, UserServer};
use crate::subject::{BenchmarkSubject, ChangeSafety, SubjectBackend, Tables, TransactionSharing};
use crate::tally::StepRunResult;
use crate::workload::{UbenchWorkload, WorkloadStep};

/// Time in seconds that the changes of one run take with a flush for each, from which the default
/// number of records follows. The next constants are bounds of that number: with a flush for each
/// change (least and most), with shared flushes (most); the last is the number without flushes.
const FLUSHED_S: f64 = 0.3;
const FLUSHED_RECORDS: (f64, f64) = (50.0, 500.0);
const GROUPED_RECORDS: f64 = 10_000.0;
const UNFLUSHED_RECORDS: u32 = 10_000;
/// Divisor of the number of records for the warm-up run.
const WARM_UP_PART: u32 = 10;

/// Parameters of a measurement of lease stores.
#[derive(Clone, Debug)]
pub struct UbenchParameters {
    /// Benchmark subjects (stores with their settings) to measure.
    pub subjects: Vec<BenchmarkSubject>,
    /// Number of lease records in each run; `None` for a number that suits each store.
    pub records: Option<u32>,
    /// Steps of each run, in the order in which they run.
    pub steps: Vec<WorkloadStep>,
    /// Number of runs of each measured store (subject) whose results count.
    pub runs: u32,
    /// True if a shorter run that does not count comes first for each subject.
    pub warms_up: bool,
    /// Seed from which the order of operations follows.
    pub seed: u64,
    /// Delay added to every flush of a store, where that is possible.
    pub flush_delay: Duration,
    /// Folder for files, in which the measurement creates a folder of its own.
    pub folder: PathBuf,
    /// Path of the lease file or of SQLite's file, if the user requests a certain one. The file
    /// must not exist.
    pub file: Option<PathBuf>,
    /// Database servers that run already; the measurement starts the others.
    pub servers: Vec<(SubjectBackend, UserServer)>,
    /// True if the result of every operation is kept for [`UbenchEvent::Marks`].
    pub keeps_marks: bool,
}

/// Event during a measurement, reported to the caller.
#[derive(Clone, Copy, Debug)]
pub enum UbenchEvent<'t> {
    /// Run of a benchmark subject that begins, with its number; 0 for the warm-up.
    Run(&'t BenchmarkSubject, u32),
    /// Note about the measurement for the user.
    Note(&'t str),
    /// Result of each operation of a step in the first run: true for a hit.
    Marks(WorkloadStep, &'t [bool]),
}

/// Folder of a measurement, removed when the value is dropped.
#[derive(Debug)]
struct MeasurementFolder(PathBuf);

impl MeasurementFolder {
    fn new(parent: &Path) -> ToolResult<Self> {
        let path = parent.join(format!("godwit-ubench-{}", std::process::id()));
        let failed = |error| ToolError::failed(format!("make {}", path.display()), error);
        std::fs::create_dir_all(parent).map_err(failed)?;
        std::fs::create_dir(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for MeasurementFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Benchmark subject during its measurement, with the results so far.
struct SubjectMeasurement {
    subject: BenchmarkSubject,
    records: u32,
    flushes_us: Vec<f64>,
    counted: StoreWriteCounts,
    steps: Vec<StepRuns>,
}

struct StepRuns {
    step: WorkloadStep,
    operations: u64,
    seconds: Vec<f64>,
    whole: StepRunResult,
}

/// Measures the benchmark subjects of `request`, and reports events to `tell`.
///
/// # Errors
///
/// Returns an error if a subject cannot be measured, or if an operation fails.
pub fn measure(
    request: &UbenchParameters,
    tell: &mut dyn FnMut(UbenchEvent<'_>),
) -> ToolResult<UbenchReport> {
    request.subjects.iter().try_for_each(BenchmarkSubject::check)?;
    if let Some(file) = request.file.as_ref().filter(|file| file.exists()) {
        return Err(ToolError::usage(format!("{} already exists", file.display())));
    }
    let begin = Clock::now();
    let mut notes = Vec::new();
    let scratch = MeasurementFolder::new(&request.folder)?;
    let servers = servers(request, tell, &mut notes)?;
    let mut machine = machine::describe(&request.folder);
    for (backend, server) in &servers {
        machine.databases.push(format!("{} {}", backend.name(), server.version()?));
    }
    let flushes_us = flush::probe(&scratch.0, request.flush_delay)?;
    let mut measured = Vec::new();
    for subject in &request.subjects {
        let is_there = subject.backend.is_embedded()
            || servers.iter().any(|(backend, _)| *backend == subject.backend);
        if is_there {
            measured.push(SubjectMeasurement::new(subject, request, &flushes_us));
        }
    }
    let first_run = u32::from(!request.warms_up);
    for run in first_run..=request.runs {
        for row in &mut measured {
            tell(UbenchEvent::Run(&row.subject, run));
            let server = servers.iter().find(|(backend, _)| *backend == row.subject.backend);
            row.run(run, request, &scratch.0, server.map(|(_, server)| server), tell)?;
        }
    }
    let rows: Vec<SubjectResult> = measured.into_iter().map(SubjectMeasurement::into_row).collect();
    add_notes(request, &rows, &mut notes);
    Ok(UbenchReport {
        schema: SCHEMA.to_owned(),
        godwit: env!("CARGO_PKG_VERSION").to_owned(),
        started_s: begin.wall_s(),
        duration_s: (Clock::mono_ns() - begin.mono_ns) as f64 / 1e9,
        machine,
        seed: request.seed,
        runs: request.runs,
        injected_flush_ms: request.flush_delay.as_secs_f64() * 1e3,
        group_commit: group_commit(&rows),
        rows,
        notes,
    })
}

/// Starts the database servers that the subjects need. Leaves out a server that is not installed,
/// with a note.
fn servers(
    request: &UbenchParameters,
    tell: &mut dyn FnMut(UbenchEvent<'_>),
    notes: &mut Vec<String>,
) -> ToolResult<Vec<(SubjectBackend, DatabaseServer)>> {
    let mut servers = Vec::new();
    for backend in [SubjectBackend::Mysql, SubjectBackend::Pgsql] {
        if !request.subjects.iter().any(|subject| subject.backend == backend) {
            continue;
        }
        let user_server = request.servers.iter().find(|(of, _)| *of == backend);
        if let Some((_, user_server)) = user_server {
            servers.push((backend, DatabaseServer::use_existing(backend, user_server)?));
        } else if let Some(reason) = DatabaseServer::missing(backend) {
            let note = format!("{} was not measured: {reason}", backend.name());
            tell(UbenchEvent::Note(&note));
            notes.push(note);
        } else {
            servers.push((backend, DatabaseServer::start(backend)?));
        }
    }
    Ok(servers)
}

fn add_notes(request: &UbenchParameters, rows: &[SubjectResult], notes: &mut Vec<String>) {
    let has = |test: &dyn Fn(&BenchmarkSubject) -> bool| rows.iter().any(|row| test(&row.subject));
    if !request.flush_delay.is_zero() && has(&|subject| !subject.backend.is_embedded()) {
        notes.push(
            "the flushes of mysql and pgsql cannot be delayed from outside and have their real cost"
                .to_owned(),
        );
    }
    if !request.flush_delay.is_zero() && has(&|subject| subject.backend == SubjectBackend::Sqlite) {
        notes.push(
            "SQLite's flushes are delayed by a pause after each flush of its log, with --schema \
             ubench-2012 after each commit"
                .to_owned(),
        );
    }
    if has(&|subject| {
        subject.backend == SubjectBackend::Sqlite
            && subject.mode == ChangeSafety::Sync
            && subject.tables == Tables::Ubench2012
    }) {
        notes.push(
            "SQLite does not count its flushes: with --schema ubench-2012 transactions are counted \
             instead, each of which synchronous=FULL flushes"
                .to_owned(),
        );
    }
    if has(&|subject| subject.tables == Tables::Kea) {
        notes.push(
            "searches of Kea's tables are answered from the lease table in memory, as in the server"
                .to_owned(),
        );
    }
    if has(&|subject| subject.tables == Tables::Ubench2012) {
        notes.push(
            "the tables of dhcp-ubench of 2012 have only an index of addresses, so other searches \
             scan all rows"
                .to_owned(),
        );
    }
    if request.servers.iter().any(|(_, user_server)| user_server.settings.host != "localhost") {
        notes.push(
            "the cost of a flush was measured on this machine, not on the database server's"
                .to_owned(),
        );
    }
}

impl SubjectMeasurement {
    fn new(subject: &BenchmarkSubject, request: &UbenchParameters, flushes_us: &[f64]) -> Self {
        let suitable = || suitable_records(subject, flushes_us);
        let records = request.records.unwrap_or_else(suitable);
        let steps = request.steps.iter().map(|&step| StepRuns {
            step,
            operations: 0,
            seconds: Vec::new(),
            whole: StepRunResult::new(false),
        });
        Self {
            subject: subject.clone(),
            records,
            flushes_us: Vec::new(),
            counted: StoreWriteCounts::default(),
            steps: steps.collect(),
        }
    }

    fn run(
        &mut self,
        run: u32,
        request: &UbenchParameters,
        folder: &Path,
        server: Option<&DatabaseServer>,
        tell: &mut dyn FnMut(UbenchEvent<'_>),
    ) -> ToolResult<()> {
        let is_warm_up = run == 0;
        let records = if is_warm_up { self.records.div_ceil(WARM_UP_PART) } else { self.records };
        let own = folder.join("run");
        std::fs::create_dir(&own).map_err(|error| ToolError::failed("create a folder", error))?;
        if self.subject.backend != SubjectBackend::Memory {
            let costs = flush::probe(&own, request.flush_delay)?;
            if !is_warm_up {
                self.flushes_us.extend(costs);
            }
        }
        // If changes count when they are flushed, a pause makes flushes cost more.
        let environment = SubjectEnvironment {
            folder: &own,
            file: request.file.as_deref(),
            server,
            delay: request.flush_delay.mul_f64(f64::from(self.flushes_are_slowed())),
            records,
            seed: request.seed,
        };
        let _store_file = request.file.as_deref().map(StoreFile);
        let counts = Arc::<StoreWriteCounters>::default();
        let mut opened = open::open(&self.subject, &environment, &counts)?;
        let flushes_before =
            server.and_then(DatabaseServer::flushes).unwrap_or_else(|| counts.flushes());
        let mut workload = UbenchWorkload::new(records, request.seed.wrapping_add(run.into()));
        for at in 0..self.steps.len() {
            let step = self.steps[at].step;
            let numbers = workload.step(step, self.subject.tables == Tables::Ubench2012);
            let mut tally = StepRunResult::new(request.keeps_marks && run == 1);
            opened.step(step, &numbers, &mut tally)?;
            if !is_warm_up {
                self.record_step(at, numbers.len() as u64, &tally);
            }
            if let Some(marks) = &tally.marks {
                tell(UbenchEvent::Marks(step, marks));
            }
        }
        // Operations did not request the flushes of closing.
        let flushes = counts.flushes() - counts.flushes().min(flushes_before);
        opened.close()?;
        if !is_warm_up {
            self.count(&counts, server, (flushes_before, flushes));
        }
        std::fs::remove_dir_all(&own).map_err(|error| ToolError::failed("tidy up", error))
    }

    fn flushes_are_slowed(&self) -> bool {
        match self.subject.backend {
            SubjectBackend::Memory | SubjectBackend::Mysql | SubjectBackend::Pgsql => false,
            SubjectBackend::Memfile => true,
            SubjectBackend::Sqlite => self.subject.mode == ChangeSafety::Sync,
        }
    }

    fn record_step(&mut self, at: usize, operations: u64, tally: &StepRunResult) {
        let runs = &mut self.steps[at];
        runs.operations = operations;
        runs.seconds.push(tally.time_ns as f64 / 1e9);
        runs.whole.merge(tally);
        if WorkloadStep::CHANGES.contains(&runs.step) {
            self.counted.changes += operations;
        }
    }

    fn count(
        &mut self,
        counts: &StoreWriteCounters,
        server: Option<&DatabaseServer>,
        flushes: (u64, u64),
    ) {
        let (before, of_file) = flushes;
        let add = |sum: &mut Option<u64>, count: u64| *sum = Some(sum.unwrap_or(0) + count);
        let subject = &self.subject;
        if subject.backend.speaks_sql() {
            add(&mut self.counted.transactions, counts.transactions());
            if subject.tables == Tables::Kea {
                add(&mut self.counted.rows, counts.rows());
            }
        }
        let is_log_flushed = subject.tables == Tables::Kea && subject.mode == ChangeSafety::Sync;
        match (subject.backend, server.and_then(DatabaseServer::flushes)) {
            (SubjectBackend::Memfile, _) => {
                add(&mut self.counted.flushes, of_file);
            }
            (SubjectBackend::Sqlite, _) if is_log_flushed => {
                add(&mut self.counted.flushes, of_file);
            }
            (_, Some(after)) => {
                add(&mut self.counted.flushes, after.saturating_sub(before));
            }
            _ => {}
        }
    }

    fn into_row(self) -> SubjectResult {
        let steps: Vec<StepResult> = self
            .steps
            .into_iter()
            .map(|runs| {
                let latency = OperationLatency::from_histogram(&runs.whole.latency_ns);
                let misses = runs.whole.misses;
                StepResult::new(runs.step, runs.operations, misses, runs.seconds, latency)
            })
            .collect();
        let four: Vec<&StepResult> =
            steps.iter().filter(|result| WorkloadStep::FOUR.contains(&result.step)).collect();
        SubjectResult {
            setting: self.subject.setting().to_owned(),
            operations_per_s: honest_average(&four),
            mean_of_rates: mean_of_rates(&four),
            subject: self.subject,
            records: self.records,
            steps,
            flush: (!self.flushes_us.is_empty())
                .then(|| FlushDurationSummary::from_durations(&self.flushes_us)),
            counts: self.counted,
        }
    }
}

impl OperationLatency {
    /// Computes the percentiles in microseconds from a histogram of nanoseconds.
    fn from_histogram(histogram: &Histogram) -> Self {
        let at = |quantile| histogram.quantile(quantile).unwrap_or(0) as f64 / 1e3;
        Self {
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max().unwrap_or(0) as f64 / 1e3,
        }
    }
}

/// Returns the number of records for a run of `subject` that is long enough to be reliable and
/// short enough to wait for.
fn suitable_records(subject: &BenchmarkSubject, flushes_us: &[f64]) -> u32 {
    if subject.backend == SubjectBackend::Memory || subject.mode != ChangeSafety::Sync {
        return UNFLUSHED_RECORDS;
    }
    let shared = match subject.sharing {
        TransactionSharing::Adaptive if subject.tables == Tables::Kea => subject.concurrency,
        TransactionSharing::Adaptive => 1,
        TransactionSharing::Fixed(count) => count,
    };
    let flush_s = FlushDurationSummary::from_durations(flushes_us).median_us / 1e6;
    let (least, most) = FLUSHED_RECORDS;
    // Three of the steps flush.
    let single = (FLUSHED_S / 3.0 / flush_s.max(1e-6)).clamp(least, most);
    (single.round() * f64::from(shared)).min(GROUPED_RECORDS) as u32
}

/// File of a store, removed together with the files that the store made next to it.
struct StoreFile<'f>(&'f Path);

impl Drop for StoreFile<'_> {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal", ".lock", ".1", ".2", ".completed", ".tmp"] {
            let mut name = self.0.as_os_str().to_owned();
            name.push(suffix);
            let _ = std::fs::remove_file(PathBuf::from(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_flush_each_change_get_fewer_records() {
        let single = BenchmarkSubject::kea(SubjectBackend::Memfile, ChangeSafety::Sync);
        let grouped = BenchmarkSubject { concurrency: 64, ..single.clone() };
        let plain = BenchmarkSubject {
            concurrency: 64,
            ..BenchmarkSubject::for_2012(SubjectBackend::Mysql, ChangeSafety::Sync, true)
        };
        for (subject, flush_us, expected) in [
            (&single, 1_000.0, 100),
            (&single, 10_000.0, 50),
            (&single, 10.0, 500),
            (&grouped, 1_000.0, 6_400),
            (&grouped, 100.0, 10_000),
            (&plain, 1_000.0, 100),
            (&BenchmarkSubject::kea(SubjectBackend::Memfile, ChangeSafety::Async), 1_000.0, 10_000),
        ] {
            assert_eq!(suitable_records(subject, &[flush_us]), expected, "{subject} {flush_us}");
        }
    }
}
