//! What a measurement came to: raw figures of every run and what follows from them.

use measure::statistics::{MeanInterval, RatioInterval, paired_ratio, trimmed_interval};
use serde::{Deserialize, Serialize};

use crate::flush::FlushCost;
use crate::subject::{Backend, Mode, Sharing, Subject, Tables};
use crate::workload::Step;

/// The version of this document.
pub const SCHEMA: &str = "godwit-ubench-1";
/// Operations in flight when a store is asked for group commit.
pub const GROUP: u32 = 64;

/// A whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of Godwit.
    pub godwit: String,
    /// When it began, wall-clock seconds since 1970.
    pub started_s: u64,
    /// How long it took, seconds.
    pub duration_s: f64,
    /// Where.
    pub machine: Machine,
    /// Where the order of operations comes from.
    pub seed: u64,
    /// Runs of every row that count.
    pub runs: u32,
    /// What every flush was made to take longer, milliseconds.
    pub injected_flush_ms: f64,
    /// What was measured.
    pub rows: Vec<Row>,
    /// What group commit is worth, where the rows for it are there.
    pub group_commit: Vec<GroupCommit>,
    /// What the reader has to know.
    pub notes: Vec<String>,
}

/// Where a measurement took place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// As `/proc/cpuinfo` names it.
    pub cpu_model: String,
    /// Processors.
    pub cpus: u32,
    /// Release of the kernel.
    pub kernel: String,
    /// Where files were.
    pub folder: String,
    /// Versions of the databases, `name version`.
    pub databases: Vec<String>,
}

/// One subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    #[serde(flatten)]
    pub subject: Subject,
    /// What the store calls its safety.
    pub setting: String,
    /// Records of every run.
    pub records: u32,
    /// The steps, in their order.
    pub steps: Vec<StepResult>,
    /// The four steps of 2012: all operations over all time, per second.
    pub operations_per_s: f64,
    /// The mean of the four steps' rates, which the program of 2012 printed as average. It
    /// misleads: a step that takes no time decides it.
    pub mean_of_rates: f64,
    /// What a flush cost just before each run; `None` where that cannot be known.
    pub flush: Option<FlushCost>,
    /// What happened in the runs that count, all together.
    pub counts: Counted,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Operations that change something.
    pub changes: u64,
    /// Transactions that changed something; `None` without transactions.
    pub transactions: Option<u64>,
    /// Rows that they wrote; `None` where nobody counts.
    pub rows: Option<u64>,
    /// Flushes of the file or of the database's log; `None` where nobody counts.
    pub flushes: Option<u64>,
}

/// One step of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Which.
    pub step: Step,
    /// Operations of each run.
    pub operations: u64,
    /// Operations that found nothing, of all runs.
    pub misses: u64,
    /// How long the step took in each run, seconds.
    pub seconds: Vec<f64>,
    /// All operations over all time, per second.
    pub per_s: f64,
    /// The mean of the runs' rates with its 95 % interval.
    pub interval: MeanInterval,
    /// From the begin of an operation until it was done, all runs together.
    pub latency: Latency,
}

/// Percentiles, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of the operations took no longer.
    pub p50_us: f64,
    /// Nine in ten.
    pub p90_us: f64,
    /// 99 in 100.
    pub p99_us: f64,
    /// 999 in 1000.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// What group commit is worth for one store, each a ratio of rates inside one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupCommit {
    /// Which store.
    pub backend: Backend,
    /// Which step, or all that change something.
    pub step: Option<Step>,
    /// Sync over async, both with [`GROUP`] operations in flight.
    pub of_async: Option<RatioInterval>,
    /// [`GROUP`] operations in flight over one at a time, both sync.
    pub of_single: Option<RatioInterval>,
    /// The rate over the most that is possible when [`GROUP`] operations at most wait for each
    /// flush: [`GROUP`] operations per flush of the median cost.
    pub of_bound: Option<f64>,
    /// The median cost of a flush, microseconds.
    pub flush_us: f64,
    /// Changes per flush, or per transaction where flushes are not counted.
    pub changes_per_flush: Option<f64>,
}

impl StepResult {
    /// From the raw figures.
    #[must_use]
    pub fn new(
        step: Step,
        operations: u64,
        misses: u64,
        seconds: Vec<f64>,
        latency: Latency,
    ) -> Self {
        let rates: Vec<f64> = seconds.iter().map(|&time| rate(operations as f64, time)).collect();
        let per_s = rate(operations as f64 * seconds.len() as f64, seconds.iter().sum());
        let mut interval = trimmed_interval(&rates, 0).unwrap_or_default();
        // No rate is below 0, however far apart few runs are.
        interval.low = interval.low.max(0.0);
        Self { step, operations, misses, seconds, per_s, interval, latency }
    }

    /// Time of all runs, seconds.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// The mean time of a run, seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        self.total_s() / self.seconds.len().max(1) as f64
    }
}

/// `count` per second; what took no measurable time is given a nanosecond.
fn rate(count: f64, seconds: f64) -> f64 {
    count / seconds.max(1e-9)
}

/// All operations of `steps` over all their time, per second.
#[must_use]
pub fn honest_average(steps: &[&StepResult]) -> f64 {
    let operations: f64 =
        steps.iter().map(|step| step.operations as f64 * step.seconds.len() as f64).sum();
    rate(operations, steps.iter().map(|step| step.total_s()).sum())
}

/// The arithmetic mean of the steps' rates.
#[must_use]
pub fn mean_of_rates(steps: &[&StepResult]) -> f64 {
    steps.iter().map(|step| step.per_s).sum::<f64>() / steps.len().max(1) as f64
}

impl Row {
    /// One of its steps.
    #[must_use]
    pub fn step(&self, step: Step) -> Option<&StepResult> {
        self.steps.iter().find(|result| result.step == step)
    }

    /// Those of `steps` that were done.
    #[must_use]
    pub fn steps_of(&self, steps: &[Step]) -> Vec<&StepResult> {
        steps.iter().filter_map(|&step| self.step(step)).collect()
    }

    /// The rates of each run: of one step, or of all changes together.
    fn run_rates(&self, step: Option<Step>) -> Vec<f64> {
        let steps = match step {
            Some(step) => self.steps_of(&[step]),
            None => self.steps_of(&Step::CHANGES),
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

/// What group commit is worth in `rows`: of Kea's tables, for each store whose rows are there.
#[must_use]
pub fn group_commit(rows: &[Row]) -> Vec<GroupCommit> {
    let find = |backend, mode, concurrency| {
        rows.iter().find(|row| {
            let subject = &row.subject;
            (subject.backend, subject.mode, subject.concurrency) == (backend, mode, concurrency)
                && (subject.tables, subject.sharing) == (Tables::Kea, Sharing::Adaptive)
        })
    };
    let mut found = Vec::new();
    for backend in Backend::ALL {
        if backend == Backend::Memory {
            continue;
        }
        let Some(grouped) = find(backend, Mode::Sync, GROUP) else { continue };
        let (fast, single) = (find(backend, Mode::Async, GROUP), find(backend, Mode::Sync, 1));
        for step in Step::CHANGES.into_iter().map(Some).chain([None]) {
            let ratio = |other: &Row| {
                let pairs: Vec<(f64, f64)> =
                    grouped.run_rates(step).into_iter().zip(other.run_rates(step)).collect();
                paired_ratio(&pairs)
            };
            let flush_us = grouped.flush.map_or(0.0, |cost| cost.median_us);
            let rates = grouped.run_rates(step);
            let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
            let bound = f64::from(GROUP) / flush_us * 1e6;
            let flushes = grouped.counts.flushes.or(grouped.counts.transactions);
            found.push(GroupCommit {
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
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: Step, operations: u64, seconds: &[f64]) -> StepResult {
        StepResult::new(step, operations, 0, seconds.to_vec(), Latency::default())
    }

    fn row(backend: Backend, mode: Mode, concurrency: u32, steps: Vec<StepResult>) -> Row {
        Row {
            subject: Subject { concurrency, ..Subject::kea(backend, mode) },
            setting: String::new(),
            records: 100,
            steps,
            operations_per_s: 0.0,
            mean_of_rates: 0.0,
            flush: Some(FlushCost::of(&[1_000.0, 3_000.0, 2_000.0])),
            counts: Counted { changes: 600, flushes: Some(20), ..Counted::default() },
        }
    }

    #[test]
    fn a_rate_is_all_operations_over_all_time() {
        // 100 in 1 s and 100 in 3 s: 50 per second, though the rates are 100 and 33.3.
        let twice = step(Step::Create, 100, &[1.0, 3.0]);
        assert_eq!((twice.per_s, twice.total_s(), twice.mean_s()), (50.0, 4.0, 2.0));
        assert!((twice.interval.mean - 66.666_666_666_666_67).abs() < 1e-9);
        // Student's t of one degree of freedom is 12.706: (100 - 33.3) / 2 times that.
        assert!((twice.interval.high - twice.interval.mean - 423.540_157).abs() < 1e-4);
        assert_eq!(twice.interval.low, 0.0);
        // One step a thousand times as fast as the other three.
        let steps = [
            step(Step::Create, 100, &[10.0]),
            step(Step::Search, 100, &[0.01]),
            step(Step::Update, 100, &[10.0]),
            step(Step::Delete, 100, &[10.0]),
        ];
        let steps: Vec<&StepResult> = steps.iter().collect();
        assert!((honest_average(&steps) - 400.0 / 30.01).abs() < 1e-9);
        assert_eq!(mean_of_rates(&steps), (10.0 + 10_000.0 + 10.0 + 10.0) / 4.0);
    }

    #[test]
    fn group_commit_is_compared_run_by_run() {
        let changes = |seconds: &[f64]| {
            Step::CHANGES.map(|of| step(of, 100, seconds)).into_iter().collect::<Vec<_>>()
        };
        let rows = [
            row(Backend::Memfile, Mode::Sync, 1, changes(&[8.0, 16.0])),
            row(Backend::Memfile, Mode::Sync, GROUP, changes(&[0.25, 0.5])),
            row(Backend::Memfile, Mode::Async, GROUP, changes(&[0.125, 0.25])),
            row(Backend::Sqlite, Mode::Async, GROUP, changes(&[1.0, 1.0])),
        ];
        let found = group_commit(&rows);
        let steps: Vec<Option<Step>> = found.iter().map(|group| group.step).collect();
        assert_eq!(steps, [Some(Step::Create), Some(Step::Update), Some(Step::Delete), None]);
        for group in &found {
            assert_eq!(group.backend, Backend::Memfile);
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
