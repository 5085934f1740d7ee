//! Report of a benchmark as comma-separated values: a line for each step (such as `create`) of each
//! measured store.

use std::fmt::Write as _;

use crate::result::UbenchReport;

const HEADER: &str = "backend,schema,mode,setting,statements,engine,journal,concurrency,\
    per_transaction,records,step,operations,runs,misses,mean_s,per_s,low_per_s,high_per_s,p50_us,\
    p90_us,p99_us,p999_us,max_us,changes,transactions,flushes,flush_us\n";

/// Returns the report as comma-separated values, without notes and ratios.
pub fn csv(report: &UbenchReport) -> String {
    let mut out = HEADER.to_owned();
    for row in &report.rows {
        let subject = &row.subject;
        let statements = match subject.is_compiled {
            Some(true) => "compiled",
            Some(false) => "plain",
            None => "",
        };
        let optional =
            |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        for step in &row.steps {
            let latency = &step.latency;
            let _ = writeln!(
                out,
                "{},{},{},{},{statements},{},{},{},{},{},{},{},{},{},{:.6},{:.2},{:.2},{:.2},{:.3},\
                 {:.3},{:.3},{:.3},{:.3},{},{},{},{}",
                subject.backend.name(),
                subject.tables.name(),
                subject.mode.name(),
                row.setting,
                subject.engine.as_deref().unwrap_or_default(),
                subject.journal.map_or("", |journal| journal.name()),
                subject.concurrency,
                subject.sharing,
                row.records,
                step.step.name(),
                step.operations,
                step.seconds.len(),
                step.misses,
                step.mean_s(),
                step.per_s,
                step.interval.low,
                step.interval.high,
                latency.p50_us,
                latency.p90_us,
                latency.p99_us,
                latency.p999_us,
                latency.max_us,
                row.counts.changes,
                optional(row.counts.transactions),
                optional(row.counts.flushes),
                row.flush.map_or_else(String::new, |cost| format!("{:.1}", cost.median_us)),
            );
        }
    }
    out
}
