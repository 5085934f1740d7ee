//! Recorder of a run: everything that the bench reports, on the terminal while it measures and in
//! the record of the run.

use std::time::Instant;

use measure::record::RunRecord;

use crate::leases::LeaseCheckResult;
use crate::progress::ProgressWriter;

/// Recorder of a run, which the topology and the services write to.
#[derive(Debug)]
pub(super) struct RunRecorder<'a> {
    /// Beginning of the run, from which all its times count.
    pub(super) origin: Instant,
    pub(super) progress: &'a mut ProgressWriter,
    /// Record of the run, to which flushes, starts and warnings are added.
    pub(super) run: RunRecord,
    /// Results of the checks that servers which were ended had stored all leases of their clients.
    pub(super) verified: Vec<LeaseCheckResult>,
    /// Problems that prevented a check of leases, one sentence each.
    pub(super) problems: Vec<String>,
}

impl<'a> RunRecorder<'a> {
    /// Makes the recorder of `run`, which begins now.
    pub(super) fn new(run: RunRecord, progress: &'a mut ProgressWriter) -> Self {
        let origin = Instant::now();
        Self { origin, progress, run, verified: Vec::new(), problems: Vec::new() }
    }

    /// Returns the seconds since the run began.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// Records a warning for the report.
    pub(super) fn warn(&mut self, warning: String) {
        self.run.warnings.push(warning);
    }

    /// Records a warning that may come again before each trial, once.
    pub(super) fn warn_once(&mut self, warning: String) {
        if !self.run.warnings.contains(&warning) {
            self.warn(warning);
        }
    }
}

/// Record of a run whose servers have ended, without its trials and searches.
#[derive(Debug)]
pub struct BenchRecord {
    /// Record of the run, with the warnings about the set-up of servers and networks.
    pub run: RunRecord,
    /// Check of each server's leases, with all its runs together.
    pub leases: Vec<LeaseCheckResult>,
    /// Problems that prevented a check of leases, one sentence each.
    pub problems: Vec<String>,
}
