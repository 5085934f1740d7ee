//! Result of a benchmark of stores: raw figures of every run, and figures derived from them.

use measure::statistics::{MeanInterval, RatioInterval, paired_ratio, trimmed_interval};
use serde::{Deserialize, Serialize};

use crate::flush::FlushDurationSummary;
use crate::subject::{BenchmarkSubject, ChangeSafety, SubjectBackend, Tables, TransactionSharing};
use crate::workload::WorkloadStep;

/// Version of the JSON document of a [`UbenchReport`].
pub const SCHEMA: &str = "godwit-ubench-1";
/// Number of operations in flight in the measurements of group commit.
pub const GROUP: u32 = 64;

/// Report of a whole measurement of lease stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UbenchReport {
    /// Version of the JSON document, [`SCHEMA`].
    pub schema: String,
    /// Version of Godwit that made the measurement.
    pub godwit: String,
    /// Time at which the measurement began, in seconds since 1970.
    pub started_s: u64,
    /// Duration of the measurement in seconds.
    pub duration_s: f64,
    /// Machine that the measurement ran on.
    pub machine: UbenchMachine,
    /// Seed from which the order of operations follows.
    pub seed: u64,
    /// Number of runs of every measured store that count, without the warm-up.
    pub runs: u32,
    /// Delay that the measurement added to every flush, in milliseconds.
    pub injected_flush_ms: f64,
    /// Results of the measured stores, one for each benchmark subject (store with its settings).
    pub rows: Vec<SubjectResult>,
    /// Gain by group commit for each store and step, if the necessary subjects were measured.
    pub group_commit: Vec<GroupCommit>,
    /// Notes about the measurement for its reader.
    pub notes: Vec<String>,
}

/// Machine that a measurement ran on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UbenchMachine {
    /// Name of the machine's processor in `/proc/cpuinfo`.
    pub cpu_model: String,
    /// Number of the machine's processors.
    pub cpus: u32,
    /// Release of the machine's kernel.
    pub kernel: String,
    /// Folder of the measured stores' files.
    pub folder: String,
    /// Versions of the measured databases, each as `name version`.
    pub databases: Vec<String>,
}

/// Results of one benchmark subject: a lease store with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubjectResult {
    /// Benchmark subject (store with its settings) that the results belong to.
    #[serde(flatten)]
    pub subject: BenchmarkSubject,
    /// Store's own name for the safety setting, such as `synchronous=FULL`.
    pub setting: String,
    /// Number of lease records in every run.
    pub records: u32,
    /// Results of the subject's steps (create, search, update, delete), in the order in which they
    /// ran.
    pub steps: Vec<StepResult>,
    /// Operations of the four steps of 2012 (create, search, update, delete) divided by their time,
    /// per second.
    pub operations_per_s: f64,
    /// Mean of the rates of the four steps of 2012, per second, which `dhcp-ubench` of 2012 printed
    /// as average. This mean misleads: a step that takes no time decides it.
    pub mean_of_rates: f64,
    /// Durations of a flush just before each run; `None` where they cannot be measured.
    pub flush: Option<FlushDurationSummary>,
    /// Counts of changes, transactions, rows and flushes in all runs that count.
    pub counts: StoreWriteCounts,
}

/// Counts of a store's changes, transactions, rows and flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreWriteCounts {
    /// Number of operations that change a lease.
    pub changes: u64,
    /// Number of transactions that changed something; `None` for a store without transactions.
    pub transactions: Option<u64>,
    /// Number of rows that the transactions wrote; `None` if they were not counted.
    pub rows: Option<u64>,
    /// Number of flushes of the store's file or of the database's log; `None` if they were not
    /// counted.
    pub flushes: Option<u64>,
}

/// Result of one step (create, search, update or delete) of a benchmark subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Step that the result belongs to.
    pub step: WorkloadStep,
    /// Number of operations of the step in each run.
    pub operations: u64,
    /// Number of operations of the step that found no lease, in all runs.
    pub misses: u64,
    /// Duration of the step in each run, in seconds.
    pub seconds: Vec<f64>,
    /// Operations of the step in all runs divided by their time, per second.
    pub per_s: f64,
    /// Mean of the step's rates in the runs, per second, with its 95 % interval.
    pub interval: MeanInterval,
    /// Latency of the step's operations from begin to end, all runs together.
    pub latency: OperationLatency,
}

/// Percentiles of the latency of operations, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationLatency {
    /// Latency that half of the operations do not exceed, in microseconds.
    pub p50_us: f64,
    /// Latency that 90 % of the operations do not exceed, in microseconds.
    pub p90_us: f64,
    /// Latency that 99 % of the operations do not exceed, in microseconds.
    pub p99_us: f64,
    /// Latency that 99.9 % of the operations do not exceed, in microseconds.
    pub p999_us: f64,
    /// Longest latency of an operation, in microseconds.
    pub max_us: f64,
}

/// Gain by group commit for one store and step, with each ratio between rates of the same run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupCommit {
    /// Kind of the store that the ratios belong to.
    pub backend: SubjectBackend,
    /// Step that the ratios belong to; `None` for all steps that change leases.
    pub step: Option<WorkloadStep>,
    /// Ratio of the rate with safety `sync` to the rate with safety `async`, both with [`GROUP`]
    /// operations in flight.
    pub of_async: Option<RatioInterval>,
    /// Ratio of the rate with [`GROUP`] operations in flight to the rate with one at a time, both
    /// with safety `sync`.
    pub of_single: Option<RatioInterval>,
    /// Ratio of the rate to the highest possible one if [`GROUP`] operations share each flush, and
    /// each flush takes its median duration.
    pub of_bound: Option<f64>,
    /// Median duration of a flush, in microseconds.
    pub flush_us: f64,
    /// Number of changes of leases per flush, or per transaction if flushes are not counted.
    pub changes_per_flush: Option<f64>,
}

impl StepResult {
    /// Computes the result of a step from its raw figures.
    pub fn new(
        step: WorkloadStep,
        operations: u64,
        misses: u64,
        seconds: Vec<f64>,
        latency: OperationLatency,
    ) -> Self {
        let rates: Vec<f64> = seconds.iter().map(|&time| rate(operations as f64, time)).collect();
        let per_s = rate(operations as f64 * seconds.len() as f64, seconds.iter().sum());
        let mut interval = trimmed_interval(&rates, 0).unwrap_or_default();
        // A rate is never below 0, even if few runs differ widely.
        interval.low = interval.low.max(0.0);
        Self { step, operations, misses, seconds, per_s, interval, latency }
    }

    /// Returns the time of the step in all runs, in seconds.
    pub fn total_s(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// Returns the mean time of the step in a run, in seconds.
    pub fn mean_s(&self) -> f64 {
        self.total_s() / self.seconds.len().max(1) as f64
    }
}

/// Returns `count` divided by `seconds`, per second; times below a nanosecond count as a
/// nanosecond.
fn rate(count: f64, seconds: f64) -> f64 {
    count / seconds.max(1e-9)
}

/// Returns the honest average of `steps`: their operations divided by their time, per second.
pub fn honest_average(steps: &[&StepResult]) -> f64 {
    let operations: f64 =
        steps.iter().map(|step| step.operations as f64 * step.seconds.len() as f64).sum();
    rate(operations, steps.iter().map(|step| step.total_s()).sum())
}

/// Returns the arithmetic mean of the rates of `steps`, per second.
pub fn mean_of_rates(steps: &[&StepResult]) -> f64 {
    steps.iter().map(|step| step.per_s).sum::<f64>() / steps.len().max(1) as f64
}

impl SubjectResult {
    /// Returns the result of `step`; `None` if the benchmark did not run it on this subject.
    pub fn step(&self, step: WorkloadStep) -> Option<&StepResult> {
        self.steps.iter().find(|result| result.step == step)
    }

    /// Returns the results of those of `steps` that the benchmark ran on this subject.
    pub fn steps_of(&self, steps: &[WorkloadStep]) -> Vec<&StepResult> {
        steps.iter().filter_map(|&step| self.step(step)).collect()
    }

    /// Returns the rate in each run, per second: of `step`, or of all changes together for `None`.
    fn run_rates(&self, step: Option<WorkloadStep>) -> Vec<f64> {
        let steps = match step {
            Some(step) => self.steps_of(&[step]),
            None => self.steps_of(&WorkloadStep::CHANGES),
        };
        let runs = steps.iter().map(|step| step.seconds.len()).min().unwrap_or(0);
        (0..runs)
            .map(|run| {
                let operations: u64 = steps.iter().map(|step| step.operations).sum();
                rate(operations as f64, steps.iter().map(|step| step.seconds[run]).sum())
            })
            .collect()
    }
}

/// Returns the gain by group commit for each store with Kea's tables for which `rows` has the
/// necessary results.
pub fn group_commit(rows: &[SubjectResult]) -> Vec<GroupCommit> {
    let find = |backend, mode, concurrency| {
        rows.iter().find(|row| {
            let subject = &row.subject;
            (subject.backend, subject.mode, subject.concurrency) == (backend, mode, concurrency)
                && (subject.tables, subject.sharing) == (Tables::Kea, TransactionSharing::Adaptive)
        })
    };
    let mut groups = Vec::new();
    for backend in SubjectBackend::ALL {
        if backend == SubjectBackend::Memory {
            continue;
        }
        let Some(grouped) = find(backend, ChangeSafety::Sync, GROUP) else { continue };
        let (fast, single) =
            (find(backend, ChangeSafety::Async, GROUP), find(backend, ChangeSafety::Sync, 1));
        for step in WorkloadStep::CHANGES.into_iter().map(Some).chain([None]) {
            let ratio = |other: &SubjectResult| {
                let pairs: Vec<(f64, f64)> =
                    grouped.run_rates(step).into_iter().zip(other.run_rates(step)).collect();
                paired_ratio(&pairs)
            };
            let flush_us = grouped.flush.map_or(0.0, |cost| cost.median_us);
            let rates = grouped.run_rates(step);
            let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
            let bound = f64::from(GROUP) / flush_us * 1e6;
            let flushes = grouped.counts.flushes.or(grouped.counts.transactions);
            groups.push(GroupCommit {
                backend,
                step,
                of_async: fast.and_then(ratio),
                of_single: single.and_then(ratio),
                of_bound: (flush_us > 0.0).then(|| mean / bound),
                flush_us,
                changes_per_flush: flushes
                    .filter(|&flushes| flushes > 0)
                    .map(|flushes| grouped.counts.changes as f64 / flushes as f64),
            });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: WorkloadStep, operations: u64, seconds: &[f64]) -> StepResult {
        StepResult::new(step, operations, 0, seconds.to_vec(), OperationLatency::default())
    }

    fn row(
        backend: SubjectBackend,
        mode: ChangeSafety,
        concurrency: u32,
        steps: Vec<StepResult>,
    ) -> SubjectResult {
        SubjectResult {
            subject: BenchmarkSubject { concurrency, ..BenchmarkSubject::kea(backend, mode) },
            setting: String::new(),
            records: 100,
            steps,
            operations_per_s: 0.0,
            mean_of_rates: 0.0,
            flush: Some(FlushDurationSummary::from_durations(&[1_000.0, 3_000.0, 2_000.0])),
            counts: StoreWriteCounts {
                changes: 600,
                flushes: Some(20),
                ..StoreWriteCounts::default()
            },
        }
    }

    #[test]
    fn a_rate_is_all_operations_over_all_time() {
        // 100 in 1 s and 100 in 3 s: 50 per second, although the rates are 100 and 33.3.
        let twice = step(WorkloadStep::Create, 100, &[1.0, 3.0]);
        assert_eq!((twice.per_s, twice.total_s(), twice.mean_s()), (50.0, 4.0, 2.0));
        assert!((twice.interval.mean - 66.666_666_666_666_67).abs() < 1e-9);
        // Student's t of one degree of freedom is 12.706: (100 - 33.3) / 2 times that.
        assert!((twice.interval.high - twice.interval.mean - 423.540_157).abs() < 1e-4);
        assert_eq!(twice.interval.low, 0.0);
        // One step is a thousand times as fast as the other three.
        let steps = [
            step(WorkloadStep::Create, 100, &[10.0]),
            step(WorkloadStep::Search, 100, &[0.01]),
            step(WorkloadStep::Update, 100, &[10.0]),
            step(WorkloadStep::Delete, 100, &[10.0]),
        ];
        let steps: Vec<&StepResult> = steps.iter().collect();
        assert!((honest_average(&steps) - 400.0 / 30.01).abs() < 1e-9);
        assert_eq!(mean_of_rates(&steps), (10.0 + 10_000.0 + 10.0 + 10.0) / 4.0);
    }

    #[test]
    fn group_commit_is_compared_run_by_run() {
        let changes = |seconds: &[f64]| {
            WorkloadStep::CHANGES.map(|of| step(of, 100, seconds)).into_iter().collect::<Vec<_>>()
        };
        let rows = [
            row(SubjectBackend::Memfile, ChangeSafety::Sync, 1, changes(&[8.0, 16.0])),
            row(SubjectBackend::Memfile, ChangeSafety::Sync, GROUP, changes(&[0.25, 0.5])),
            row(SubjectBackend::Memfile, ChangeSafety::Async, GROUP, changes(&[0.125, 0.25])),
            row(SubjectBackend::Sqlite, ChangeSafety::Async, GROUP, changes(&[1.0, 1.0])),
        ];
        let groups = group_commit(&rows);
        let steps: Vec<Option<WorkloadStep>> = groups.iter().map(|group| group.step).collect();
        assert_eq!(
            steps,
            [
                Some(WorkloadStep::Create),
                Some(WorkloadStep::Update),
                Some(WorkloadStep::Delete),
                None
            ]
        );
        for group in &groups {
            assert_eq!(group.backend, SubjectBackend::Memfile);
            let near = |interval: Option<RatioInterval>, expected: f64| {
                let interval = interval.unwrap();
                assert!((interval.ratio - expected).abs() < 1e-9, "{interval:?}");
                assert!((interval.high - expected).abs() < 1e-9, "{interval:?}");
                assert_eq!(interval.pairs, 2);
            };
            near(group.of_async, 0.5);
            near(group.of_single, 32.0);
            assert_eq!((group.flush_us, group.changes_per_flush), (2_000.0, Some(30.0)));
            // 64 for each flush of 2 ms are 32,000 a second; the mean of the rates is 300.
            assert!((group.of_bound.unwrap() - 300.0 / 32_000.0).abs() < 1e-12);
        }
    }
}
