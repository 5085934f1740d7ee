//! Search for the highest rate of queries that a server answers in time, by runs at rates that are
//! doubled and then halved between: the action of `godwit dns load` without a rate.

use std::sync::atomic::{AtomicBool, Ordering};

use base::{ToolError, ToolResult};
use load::LoadRate;

use crate::record::DnsLoadReport;
use crate::run::run;
use crate::settings::DnsLoadSettings;

/// Rate of a search's first run, in queries per second.
const FIRST_PER_S: f64 = 1_000.0;
/// Lowest rate of a search's runs, in queries per second.
const LEAST_PER_S: f64 = 10.0;
/// Largest share of queries that a server may answer too late or not at all at a rate that counts
/// as sustained (2.5 %).
const SHORTFALL_MAX: f64 = 0.025;
/// Ratio of the lowest failed rate to the highest sustained rate at which the search ends.
const NEAR: f64 = 1.05;

/// Settings and report of one run of a search.
pub(crate) struct DnsSearchTrial {
    pub(crate) settings: DnsLoadSettings,
    pub(crate) report: DnsLoadReport,
}

impl DnsSearchTrial {
    /// Returns true if the server answered enough queries of the run in time.
    pub(crate) fn holds(&self) -> bool {
        self.report.load.exchanges.shortfall() <= SHORTFALL_MAX
    }

    /// Returns a line about the run for people.
    pub(crate) fn line(&self) -> String {
        let load = &self.report.load;
        let answered = 100.0 * (1.0 - load.exchanges.shortfall());
        let verdict = match (self.holds(), load.generator_limited) {
            (_, true) => "void: the generator was too slow",
            (true, false) => "held",
            (false, false) => "too much",
        };
        format!("{:>9.0} queries/s, {answered:5.1} % in time, {verdict}", load.offered_per_s)
    }
}

/// Outcome of a search for the highest rate.
pub(crate) struct SearchOutcome {
    /// Run at the highest sustained rate, or the last run if the server sustained no rate.
    pub(crate) trial: DnsSearchTrial,
    /// True if the generator or its ports prevented a run at a higher rate.
    pub(crate) is_limited_here: bool,
}

/// Searches for the highest rate with runs like `settings`; calls `tell` with each run, and returns
/// the outcome.
///
/// # Errors
///
/// Fails as [`run`] does.
pub(crate) fn search(
    settings: &DnsLoadSettings,
    stop: &AtomicBool,
    mut tell: impl FnMut(&DnsSearchTrial),
) -> ToolResult<SearchOutcome> {
    let (mut best, mut worst): (Option<DnsSearchTrial>, Option<DnsSearchTrial>) = (None, None);
    let mut per_s = FIRST_PER_S;
    while let Some(rate) = LoadRate::per_second(per_s.round()) {
        let settings = DnsLoadSettings { rate, ..settings.clone() };
        if best.is_some() && !settings.problems().is_empty() {
            break;
        }
        let report = run(&settings, stop)?;
        let trial = DnsSearchTrial { settings, report };
        tell(&trial);
        let is_void = trial.report.load.generator_limited;
        if trial.holds() && !is_void {
            best = Some(trial);
        } else {
            worst = Some(trial);
        }
        let offered = |trial: &Option<DnsSearchTrial>| {
            trial.as_ref().map(|trial| trial.settings.rate.as_per_second())
        };
        per_s = match (offered(&best), offered(&worst)) {
            (Some(sustained), None) => 2.0 * sustained,
            (Some(sustained), Some(failed)) if failed / sustained > NEAR => {
                (sustained * failed).sqrt()
            }
            (None, Some(failed)) if failed > LEAST_PER_S => (failed / 4.0).max(LEAST_PER_S),
            _ => break,
        };
        if stop.load(Ordering::Acquire) {
            break;
        }
    }
    let limited = worst.as_ref().is_none_or(|trial| trial.report.load.generator_limited);
    match best.or(worst) {
        Some(trial) => Ok(SearchOutcome { trial, is_limited_here: limited }),
        None => Err(ToolError::usage("no rate could be tried")),
    }
}
