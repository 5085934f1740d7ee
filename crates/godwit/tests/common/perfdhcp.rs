//! Reports of perfdhcp, and the leases of its clients in a lease file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the first number after each `label`.
pub(crate) fn figures(report: &str, label: &str) -> Vec<u64> {
    report
        .lines()
        .filter_map(|line| line.trim().strip_prefix(label))
        .filter_map(|rest| rest.trim().split(' ').next()?.parse().ok())
        .collect()
}

/// Flags with which perfdhcp accepts late replies: it ends when all have come, or after a minute
/// without one.
pub(crate) const PATIENT: [&str; 6] = ["-d", "60", "-d", "60", "-W", "60000000"];

/// Maximum of perfdhcp runs, of which one must begin exactly the requested exchanges.
pub(crate) const RUNS_MAX: usize = 50;

/// Run that began exactly the requested exchanges.
pub(crate) struct ExactRun {
    /// Report of perfdhcp.
    pub(crate) report: String,
    /// Exchanges begun in all runs.
    pub(crate) begun: u64,
}

/// Returns true if perfdhcp began at most `count` exchanges. It sends in bursts, and after a delay
/// it may send one more than requested and exit before the last replies.
pub(crate) fn is_exact(report: &str, count: u64) -> bool {
    figures(report, "sent packets:").iter().all(|&sent| sent <= count)
}

/// Calls `run` with 0, 1 ... until it reports exactly `count` exchanges. Other runs prove nothing.
pub(crate) fn exact_run(count: u64, mut run: impl FnMut(usize) -> String) -> ExactRun {
    let mut begun = 0;
    for attempt in 0..RUNS_MAX {
        let report = run(attempt);
        begun += figures(&report, "sent packets:").first().copied().unwrap_or_default();
        if is_exact(&report, count) {
            return ExactRun { report, begun };
        }
        println!("perfdhcp sent more than it was told to: {report}");
    }
    panic!("perfdhcp never sent as many messages as it was told to");
}

/// Maximum number of runs until all clients have their replies.
const WHOLE_RUNS_MAX: usize = 5;

/// Calls `run` as [`exact_run`] does, and again while fewer than `count` replies of a kind come:
/// the server drops a reply that waits longer for its row than its client would wait for it.
pub(crate) fn whole_run(count: u64, mut run: impl FnMut(usize) -> String) -> ExactRun {
    let mut begun = 0;
    for _ in 1..WHOLE_RUNS_MAX {
        let exact = exact_run(count, &mut run);
        begun += exact.begun;
        let received = figures(&exact.report, "received packets:");
        if received.iter().all(|&received| received >= count) {
            return ExactRun { begun, ..exact };
        }
        println!("not all clients were answered: {}", exact.report);
    }
    let last = exact_run(count, run);
    ExactRun { begun: begun + last.begun, ..last }
}

/// Returns the first column of each row: the addresses, and in v6 the prefixes, that are or were
/// leased.
pub(crate) fn keys(leases: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(leases).expect("the lease file is there");
    text.lines().skip(1).filter_map(|row| Some(row.split(',').next()?.to_owned())).collect()
}
