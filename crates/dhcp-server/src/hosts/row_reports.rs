//! Reports of rows in hosts databases that are ignored, entirely or in part: counted each time that
//! they are read, logged once.

use crate::loggers::DHCPSRV;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of remembered reports about rows. Beyond that rows are only counted, so that a
/// damaged table does not fill the log.
const REPORTS_MAX: usize = 1_000;

/// Counts of reads of rows in hosts databases that are not complete reservations.
#[derive(Debug, Default)]
pub(crate) struct HostRowCounts {
    left_out: AtomicU64,
    in_part: AtomicU64,
}

impl HostRowCounts {
    /// Returns the counts of ignored rows, each with its name.
    pub(crate) fn entries(&self) -> [(&'static str, u64); 2] {
        [
            ("left-out", self.left_out.load(Ordering::Relaxed)),
            ("taken-in-part", self.in_part.load(Ordering::Relaxed)),
        ]
    }
}

/// Reports of ignored rows in the log, each logged once.
#[derive(Debug, Default)]
pub(super) struct RowReports {
    counts: Arc<HostRowCounts>,
    reported: BTreeSet<String>,
}

impl RowReports {
    /// Creates an empty set of reports about ignored rows, which counts in `counts`.
    pub(super) fn new(counts: Arc<HostRowCounts>) -> Self {
        Self { counts, reported: BTreeSet::new() }
    }

    /// Counts a row `row` of a hosts database that is ignored, and logs an error.
    pub(super) fn report_ignored(&mut self, row: &str, why: &str) {
        self.counts.left_out.fetch_add(1, Ordering::Relaxed);
        let text = format!("{row} is ignored: {why}");
        if self.is_new(&text) {
            tracing::error!(target: DHCPSRV, id = "DHCPSRV_HOSTS_DATABASE_ROW_ERROR", "{text}");
        }
    }

    /// Counts a row `row` of a hosts database that is ignored in part, and logs a warning.
    pub(super) fn report_partial(&mut self, row: &str, why: &str) {
        self.counts.in_part.fetch_add(1, Ordering::Relaxed);
        let text = format!("{row}: {why}");
        if self.is_new(&text) {
            tracing::warn!(target: DHCPSRV, id = "DHCPSRV_HOSTS_DATABASE_ROW_CUT", "{text}");
        }
    }

    fn is_new(&mut self, text: &str) -> bool {
        self.reported.len() < REPORTS_MAX && self.reported.insert(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_counts_and_is_reported_once() {
        let counts = Arc::<HostRowCounts>::default();
        let mut reports = RowReports::new(Arc::clone(&counts));
        for _ in 0..3 {
            reports.report_ignored("host 1", "it has no identifier");
            reports.report_partial("host 2", "its name is cut off");
        }
        assert_eq!(counts.entries(), [("left-out", 3), ("taken-in-part", 3)]);
        assert_eq!(reports.reported.len(), 2);
        (0..2_000).for_each(|row| reports.report_ignored(&format!("host {row}"), "it is damaged"));
        assert_eq!(reports.reported.len(), REPORTS_MAX, "memory is bounded");
        assert_eq!(counts.entries()[0], ("left-out", 2_003));
    }
}
