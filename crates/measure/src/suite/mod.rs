//! Suites: several plans run one after the other, and rows that set one figure of theirs against a
//! target.
//!
//! A suite is a TOML file. [`judge`] reads summaries and nothing else; running the plans belongs to
//! the lab, drawing the page to [`crate::report`].

mod judge;

use serde::{Deserialize, Serialize};

pub use judge::judge;

use crate::summary::ServerResult;

/// Value of `schema` in a [`SuiteSummary`].
pub const SUITE_SCHEMA: &str = "godwit.suite.v1";

/// What to run and what to make of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Short name: letters, digits and dashes.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The plans, in the order in which they are run.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
    /// Figures with targets, in the order of the page.
    #[serde(rename = "row", default)]
    pub rows: Vec<RowPlan>,
}

/// One plan of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub plan: String,
    /// Its time budget, seconds; `None` for the plan's own.
    #[serde(default)]
    pub time_budget_s: Option<f64>,
    /// Its time budget in a quick run; 0 leaves the plan out of it.
    #[serde(default)]
    pub quick_time_budget_s: Option<f64>,
    /// Its rounds in a quick run at most; 0 leaves the plan out of it.
    #[serde(default)]
    pub quick_rounds: Option<u32>,
    /// In a quick run its trials are also shortened as it would be alone ([`crate::Plan::quicken`]).
    #[serde(default)]
    pub quick_look: bool,
    /// Its servers in a quick run; empty for the plan's own.
    #[serde(default)]
    pub quick_servers: Vec<String>,
}

impl Part {
    /// True when a quick run has it.
    #[must_use]
    pub fn has_quick_run(&self) -> bool {
        self.quick_time_budget_s != Some(0.0) && self.quick_rounds != Some(0)
    }
}

/// One figure that has a target, or one that has a target and is not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowPlan {
    /// What is looked at, for people.
    pub name: String,
    /// The plan whose summary has it.
    #[serde(default)]
    pub part: String,
    /// Which figure.
    #[serde(default)]
    pub figure: Figure,
    /// The line of the summary.
    #[serde(default)]
    pub of: String,
    /// The line that it is divided by, where the figure is a ratio.
    #[serde(default)]
    pub to: String,
    /// The load, as a multiple of the line's highest rate, of [`Figure::Goodput`].
    #[serde(default)]
    pub fraction: f64,
    /// How many leases are between the two lines, of [`Figure::BytesPerLease`].
    #[serde(default)]
    pub leases: f64,
    /// The least that meets the target.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The most that meets it.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Told without a target.
    #[serde(default)]
    pub is_stated: bool,
    /// Why it is not measured.
    #[serde(default)]
    pub not_measured: Option<String>,
}

/// What can be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Ratio of the highest rates.
    #[default]
    LeasesPerSecond,
    /// Ratio of the leases per processor second.
    LeasesPerCpuSecond,
    /// Ratio of the exchanges per second that the generators' processors were busy.
    ExchangesPerGeneratorCpuSecond,
    /// Highest rate over the limit responder's.
    ShareOfLimit,
    /// Leases per processor second over the limit responder's.
    ShareOfLimitPerCpuSecond,
    /// Ratio of the 99 % latencies, each at about half of the line's own highest rate.
    LatencyAtHalf,
    /// Ratio of the 99 % latencies at the same rate: about half of the highest rate of the line `to`.
    LatencyAtSameRate,
    /// The highest rate that the generator offered on time and the limit responder `of` did not answer
    /// in full, over the highest that it did.
    OfferedOverLimit,
    /// Ratio of the times that two lines took to start. Where the figure must be at least something,
    /// `of` is the slower one.
    StartUp,
    /// Resident memory of the line `of` after its start beyond that of `to`, bytes for each of
    /// `leases`.
    BytesPerLease,
    /// What is completed on time at a multiple of the highest rate, over the highest rate.
    Goodput,
    /// The time until clients that all come at once have a lease, over what the highest rate needs for
    /// as many.
    Avalanche,
}

impl Figure {
    /// The figure for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::LeasesPerSecond => "leases/s",
            Self::LeasesPerCpuSecond => "leases per CPU-second",
            Self::ExchangesPerGeneratorCpuSecond => "exchanges per CPU-second of the generator",
            Self::ShareOfLimit => "leases/s, as share of the limit",
            Self::ShareOfLimitPerCpuSecond => "leases per CPU-second, as share of the limit's",
            Self::LatencyAtHalf => "p99 at half of the maximum",
            Self::LatencyAtSameRate => "p99 at half of the maximum of the second",
            Self::OfferedOverLimit => "exchanges/s offered on time, over those answered in full",
            Self::StartUp => "time to start",
            Self::BytesPerLease => "memory after the start, bytes for each lease",
            Self::Goodput => "completed on time under overload, as share of the maximum",
            Self::Avalanche => "time until all have a lease, over clients / maximum",
        }
    }
}

/// A suite in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SuiteSummary {
    /// [`SUITE_SCHEMA`].
    pub schema: String,
    /// The suite's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// How long it took, seconds.
    pub duration_s: f64,
    /// Shortened for a first look.
    pub is_quick: bool,
    /// Figures against targets.
    pub rows: Vec<RowResult>,
    /// What each plan found.
    pub parts: Vec<PartResult>,
}

/// One figure against its target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// What is looked at.
    pub name: String,
    /// Of which lines of which plan, for people.
    pub of: String,
    /// The target, for people: `≥ 12`.
    pub target: String,
    /// The figure; `None` when it was not measured.
    pub value: Option<f64>,
    /// Its 95 % interval, where it has one.
    pub low: Option<f64>,
    /// As `low`.
    pub high: Option<f64>,
    /// Whether the target is met.
    pub verdict: Verdict,
    /// Why there is no figure, or no verdict.
    pub note: String,
}

impl RowResult {
    /// Both ends of the figure's 95 % interval, where it has one.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// The verdict for people, with what it rests on where that is not an interval.
    #[must_use]
    pub const fn words(&self) -> &'static str {
        match (self.verdict, self.low.is_some() && self.high.is_some()) {
            (Verdict::MetByFigure, true) => "met; the interval reaches beyond the target",
            (Verdict::MetByFigure, false) => "met; no interval",
            (Verdict::MissedByFigure, true) => "missed; the interval reaches beyond the target",
            (Verdict::MissedByFigure, false) => "missed; no interval",
            (Verdict::NotMeasured, _) => "not measured",
            (Verdict::NotJudged, _) => "not judged",
            (Verdict::Met, _) => "met",
            (Verdict::Missed, _) => "missed",
            (Verdict::Stated, _) => "stated",
        }
    }
}

/// Whether a target is met, as far as the data carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There is no figure.
    #[default]
    NotMeasured,
    /// Figure and interval meet it.
    Met,
    /// The figure meets it; there is no interval, or it reaches beyond the target.
    MetByFigure,
    /// The figure misses it; there is no interval, or it reaches beyond the target.
    MissedByFigure,
    /// Figure and interval miss it.
    Missed,
    /// There is a figure, which limit or generator have set and not the servers.
    NotJudged,
    /// There is a figure and no target.
    Stated,
}

/// What one plan of a suite found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// The plan's name.
    pub plan: String,
    /// Its title.
    pub title: String,
    /// Its result folder, relative to the suite's; empty when there is none.
    pub folder: String,
    /// Why there is none.
    pub failed: Option<String>,
    /// What its reader must know, from its own page.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Servers with their rates.
    pub lines: Vec<Line>,
}

/// One line of a plan's summary, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The server's name; `limit` for the limit responder.
    pub server: String,
    /// How it was run.
    pub variant: String,
    /// Its highest rate.
    pub leases_per_s: Option<f64>,
    /// Leases per processor second.
    pub leases_per_cpu_s: Option<f64>,
    /// 99 % latency at about half of its highest rate, microseconds.
    pub p99_half_us: Option<f64>,
}

impl Line {
    pub(crate) fn of(result: &ServerResult) -> Self {
        Self {
            server: result.server.clone(),
            variant: result.variant.clone(),
            leases_per_s: result.leases_per_s,
            leases_per_cpu_s: result.leases_per_cpu_s,
            p99_half_us: result.latency_half.and_then(|at| at.latency.p99_us),
        }
    }
}

impl Suite {
    /// Reads a suite from the text of the file called `file`.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let suite: Self = toml::from_str(text).map_err(|e| format!("{file}: {e}"))?;
        let problems: Vec<String> =
            suite.rows.iter().filter_map(|row| suite.problem(row)).collect();
        if problems.is_empty() {
            return Ok(suite);
        }
        Err(problems
            .iter()
            .map(|problem| format!("{file}: {problem}"))
            .collect::<Vec<_>>()
            .join("\n"))
    }

    /// What does not fit together in a row.
    fn problem(&self, row: &RowPlan) -> Option<String> {
        let wrong = |what: &str| Some(format!("row \"{}\": {what}", row.name));
        let targets = [row.at_least.is_some(), row.at_most.is_some(), row.is_stated];
        if targets.iter().filter(|&&is_there| is_there).count() != 1 {
            return wrong("must have one of at_least, at_most and is_stated");
        }
        if row.not_measured.is_some() {
            return None;
        }
        if !self.parts.iter().any(|part| part.plan == row.part) {
            return wrong(&format!("no part runs the plan \"{}\"", row.part));
        }
        let is_ratio = !matches!(
            row.figure,
            Figure::ShareOfLimit
                | Figure::ShareOfLimitPerCpuSecond
                | Figure::OfferedOverLimit
                | Figure::Goodput
                | Figure::Avalanche
        );
        if row.of.is_empty() || is_ratio == row.to.is_empty() {
            return wrong("a ratio is `of` one line `to` another; other figures have no `to`");
        }
        if (row.figure == Figure::Goodput) != (row.fraction > 0.0) {
            return wrong("`fraction` is the load of the figure goodput");
        }
        if (row.figure == Figure::BytesPerLease) != (row.leases > 0.0) {
            return wrong("`leases` belongs to the figure bytes-per-lease");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = 's'\ntitle = 'S'\n[[part]]\nplan = 'p'\nquick_time_budget_s = 9\n";

    #[test]
    fn a_suite_is_read_with_its_parts_and_rows() {
        let text =
            format!("{HEAD}[[row]]\nname = 'r'\npart = 'p'\nof = 'a'\nto = 'b'\nat_least = 2\n");
        let suite = Suite::parse("s.toml", &text).unwrap();
        assert_eq!((suite.parts.len(), suite.rows[0].at_least), (1, Some(2.0)));
        assert_eq!(suite.rows[0].figure, Figure::LeasesPerSecond);
    }

    #[test]
    fn what_does_not_fit_together_is_told_at_once() {
        let text = format!(
            "{HEAD}[[row]]\nname = 'a'\npart = 'p'\nof = 'a'\nto = 'b'\n\
             [[row]]\nname = 'b'\npart = 'x'\nat_most = 1\n\
             [[row]]\nname = 'c'\npart = 'p'\nof = 'a'\nfigure = 'goodput'\nat_least = 1\n\
             [[row]]\nname = 'd'\nat_least = 1\nnot_measured = 'no time'\n\
             [[row]]\nname = 'e'\npart = 'p'\nof = 'a'\nto = 'b'\nis_stated = true\nleases = 2\n"
        );
        assert_eq!(
            Suite::parse("s.toml", &text).unwrap_err(),
            "s.toml: row \"a\": must have one of at_least, at_most and is_stated\n\
             s.toml: row \"b\": no part runs the plan \"x\"\n\
             s.toml: row \"c\": `fraction` is the load of the figure goodput\n\
             s.toml: row \"e\": `leases` belongs to the figure bytes-per-lease"
        );
        assert!(Suite::parse("s.toml", "nam = 's'").unwrap_err().contains("s.toml"));
    }
}
