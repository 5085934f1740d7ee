//! Check that no job of a test run left anything behind: namespaces, interfaces, files, registered
//! runs, processes.
//!
//! Each job reports its own leftovers. The job's sandbox or marker distinguishes them from those of
//! other jobs and programs.

use super::job::JobResult;
use super::tally::CheckTally;

/// Kinds of leftovers of a job, as the reports of sandboxes name them.
const KINDS: [&str; 5] = ["namespace", "interface", "temporary file", "registered run", "process"];

/// Counts one check for each kind of leftovers: passed if no job left any of it.
pub(crate) fn check(results: &[JobResult]) -> CheckTally {
    let mut tally = CheckTally::default();
    for kind in KINDS {
        let of_kind =
            |result: &&JobResult| result.leftovers.iter().any(|thing| thing.starts_with(kind));
        let names: Vec<&str> =
            results.iter().filter(of_kind).map(|result| result.name.as_str()).collect();
        let what = format!("no job leaves a {kind}: {}", names.join(", "));
        tally.check(names.is_empty(), &what);
    }
    tally
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn result(leftovers: &[&str]) -> JobResult {
        JobResult {
            name: "job".to_owned(),
            suite: "suite".to_owned(),
            duration: Duration::ZERO,
            processor_time: Duration::ZERO,
            tally: CheckTally::one(true),
            skip_reasons: Vec::new(),
            leftovers: leftovers.iter().map(|&thing| thing.to_owned()).collect(),
            failure: Vec::new(),
        }
    }

    #[test]
    fn each_kind_that_is_left_is_one_failure() {
        assert_eq!(check(&[result(&[])]), CheckTally { passed: 5, ..CheckTally::default() });
        let left = [result(&["process 7 x", "process 8 y"]), result(&["interface veth0"])];
        assert_eq!(check(&left), CheckTally { passed: 3, failed: 2, skipped: 0 });
    }
}
