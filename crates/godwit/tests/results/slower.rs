//! Stored runs in which Godwit reaches a share of its usual rate.

use measure::summary::RunSummary;

use crate::results::TestResultsFolder;

/// Stores a result with its report below `results`, begun in the year at the beginning of its name
/// and built from `commit`. The limit responder has the same rate in all rounds.
pub(crate) fn stored(test_folder: &TestResultsFolder, name: &str, share: f64, commit: &str) {
    let mut whole = RunSummary::default();
    test_folder.result(&format!("results/{name}"), |summary| {
        let last = name.rsplit('/').next().unwrap_or(name);
        commit.clone_into(&mut summary.environment.commit);
        summary.started = format!("{}-01-01T00:00:00Z", &last[..4]);
        slow_down(summary, share);
        whole = summary.clone();
    });
    let page = report::render(&whole);
    std::fs::write(test_folder.path().join(format!("results/{name}/report.html")), page)
        .expect("a page");
}

/// Lowers Godwit's rates to that share.
pub(crate) fn slow_down(summary: &mut RunSummary, share: f64) {
    let godwit = &mut summary.results[0];
    for round in &mut godwit.rounds {
        round.leases_per_s *= share;
        round.leases_per_cpu_s = round.leases_per_cpu_s.map(|rate| rate * share);
    }
    godwit.leases_per_s = godwit.leases_per_s.map(|rate| rate * share);
    if let Some(limit) = &mut summary.limit {
        let first = limit.rounds[0];
        limit.rounds.iter_mut().for_each(|round| round.leases_per_s = first.leases_per_s);
    }
}
