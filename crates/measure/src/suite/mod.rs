//! Suites: several plans run one after the other, and rows that compare a figure of a plan with a
//! target.
//!
//! A suite is a TOML file. `judge` reads summaries and nothing else; the lab runs the plans, and
//! the crate `report` draws the page.

mod judge;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use judge::judge;

use crate::summary::ServerResult;

/// Value of the field `schema` in a [`SuiteSummary`].
pub const SUITE_SCHEMA: &str = "godwit.suite.v1";

/// Suite that has been read: plans to run, and rows of a table that judge their figures by targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Short name of the suite: letters, digits and dashes.
    pub name: String,
    /// Title of the suite in one line, for people.
    pub title: String,
    /// Plans of the suite, in the order in which they are run.
    #[serde(rename = "part")]
    pub parts: Vec<SuitePart>,
    /// Rows of the suite's table, figures with their targets, in the order of the page.
    #[serde(rename = "row", default)]
    pub rows: Vec<RowPlan>,
}

/// Plan that is part of a suite, with the suite's changes to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuitePart {
    /// Name of the plan in the suite.
    pub plan: String,
    /// Time budget of the plan in the suite, in seconds; `None` for the plan's own.
    pub time_budget_s: Option<f64>,
    /// Time budget of the plan in a quick run (`--quick`) of the suite, in seconds; 0 leaves the
    /// plan out of it.
    pub quick_time_budget_s: Option<f64>,
    /// Most rounds of the plan in a quick run (`--quick`) of the suite; 0 leaves the plan out of
    /// it.
    pub quick_rounds: Option<u32>,
    /// True if a quick run (`--quick`) of the suite also shortens the plan's trials as for the plan
    /// alone ([`crate::Plan::quicken`]).
    #[serde(default)]
    pub quick_look: bool,
    /// Servers of the plan in a quick run (`--quick`) of the suite; empty for the plan's own.
    #[serde(default)]
    pub quick_servers: Vec<String>,
}

impl SuitePart {
    /// Returns true if a quick run (`--quick`) of the suite includes the plan.
    pub fn has_quick_run(&self) -> bool {
        self.quick_time_budget_s != Some(0.0) && self.quick_rounds != Some(0)
    }
}

/// Row of a suite's table: a figure with its target, or a target whose figure is not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowPlan {
    /// Name of the row of the suite's table, for people.
    pub name: String,
    /// Name of the plan whose summary has the row's figure.
    #[serde(default)]
    pub part: String,
    /// Kind of the figure that the row judges.
    #[serde(default)]
    pub figure: FigureKind,
    /// Name of the line (a server as configured) of the plan's result whose figure the row of the
    /// suite's table judges.
    #[serde(default)]
    pub of: String,
    /// Name of the line of the plan's result that the row's figure is divided by, if it is a ratio.
    #[serde(default)]
    pub to: String,
    /// Offered load for [`FigureKind::Goodput`], as a multiple of the line's highest rate.
    #[serde(default)]
    pub fraction: f64,
    /// Difference of leases between the lines `of` and `to`, for [`FigureKind::BytesPerLease`].
    #[serde(default)]
    pub leases: f64,
    /// Least value of the row's figure that meets the target.
    pub at_least: Option<f64>,
    /// Largest value of the row's figure that meets the target.
    pub at_most: Option<f64>,
    /// True if the row of the suite's table states its figure without a target.
    #[serde(default)]
    pub is_stated: bool,
    /// Reason why the lab does not measure the row's figure.
    pub not_measured: Option<String>,
}

base::worded! {
    /// Kind of a figure that a row of a suite can judge.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum FigureKind {
        /// Ratio of the highest rates of two lines (servers as configured) of a plan's result.
        #[default]
        LeasesPerSecond = "leases/s",
        /// Ratio of the leases per processor second of two lines (servers as configured) of a
        /// plan's result.
        LeasesPerCpuSecond = "leases per CPU-second",
        /// Ratio of two lines' exchanges per busy second of the generators' processors.
        ExchangesPerGeneratorCpuSecond = "exchanges per CPU-second of the generator",
        /// Highest rate of a line (a server as configured) over the rate of the limit responder, a
        /// program that returns every datagram.
        ShareOfLimit = "leases/s, as share of the limit responder's",
        /// Leases per processor second of a line (a server as configured) over those of the limit
        /// responder, a program that returns every datagram.
        ShareOfLimitPerCpuSecond = "leases per CPU-second, as share of the limit responder's",
        /// Ratio of the latencies that 99 % of the exchanges of two lines do not exceed, each at
        /// about half of the line's own highest rate.
        LatencyAtHalf = "p99 latency at half of the highest rate",
        /// Ratio of the latencies that 99 % of the exchanges of two lines do not exceed, at an
        /// equal rate: about half of the highest rate of the line `to`.
        LatencyAtSameRate = "p99 latency at half of the second server's highest rate",
        /// Highest rate that the generator offered on time and that the limit responder `of` (a
        /// program that returns every datagram) did not answer in full, over the highest rate that
        /// it did answer.
        OfferedOverLimit =
            "exchanges/s offered on time, over those that the limit responder answered in full",
        /// Ratio of the times that the servers of two lines took to start. If the row has a least
        /// value, `of` is the slower line.
        StartUp = "time to start",
        /// Resident memory of the server of line `of` after its start beyond that of `to`, in bytes
        /// for each of `leases`.
        BytesPerLease = "memory after the start, bytes for each lease",
        /// Exchanges that the server of a line completed on time at a multiple of its highest rate,
        /// over the highest rate.
        Goodput = "completed on time under overload, as share of the highest rate",
        /// Time until the clients of a line's server, which all come at once, have a lease, over
        /// the time that the highest rate needs for as many.
        Avalanche = "time until all clients have a lease, over clients / highest rate",
    }
}

/// Summary of a suite that was run: figures against targets, and results of each plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteSummary {
    /// Name of the suite summary's JSON schema, [`SUITE_SCHEMA`].
    pub schema: String,
    /// Name of the suite that was run.
    pub name: String,
    /// Title of the suite that was run.
    pub title: String,
    /// Begin of the suite, in the format of RFC 3339.
    pub started: String,
    /// Length of the suite's run, in seconds.
    pub duration_s: f64,
    /// True if the suite's run was shortened for a first look (`--quick`).
    pub is_quick: bool,
    /// Rows of the suite's table: figures against their targets.
    pub rows: Vec<RowResult>,
    /// Results of each plan of the suite.
    pub parts: Vec<PartResult>,
}

/// Result of one row of the suite's table: a figure against its target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowResult {
    /// Name of the row of the suite's table, as in [`RowPlan::name`].
    pub name: String,
    /// Plan and lines of its result that the row's figure comes from, for people.
    pub of: String,
    /// Target of the row's figure for people, such as `≥ 12`.
    pub target: String,
    /// Value of the row's figure; `None` when it was not measured.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval of the row's figure, if it has one.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of the row's figure, if it has one.
    pub high: Option<f64>,
    /// Verdict whether the row's figure meets its target.
    pub verdict: TargetVerdict,
    /// Reason why the row has no figure, or no verdict.
    pub note: String,
}

impl RowResult {
    /// Returns both ends of the 95 % interval of the row's figure, if it has one.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// Returns the verdict on the row's target for people, with its basis if that is not an
    /// interval.
    pub const fn words(&self) -> &'static str {
        match (self.verdict, self.low.is_some() && self.high.is_some()) {
            (TargetVerdict::MetByFigure, true) => "met; the interval reaches beyond the target",
            (TargetVerdict::MetByFigure, false) => "met; no interval",
            (TargetVerdict::MissedByFigure, true) => {
                "missed; the interval reaches beyond the target"
            }
            (TargetVerdict::MissedByFigure, false) => "missed; no interval",
            (TargetVerdict::NotMeasured, _) => "not measured",
            (TargetVerdict::NotJudged, _) => "not judged",
            (TargetVerdict::Met, _) => "met",
            (TargetVerdict::Missed, _) => "missed",
            (TargetVerdict::Stated, _) => "stated",
        }
    }
}

/// Verdict on the target of a row's figure, as far as the data supports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetVerdict {
    /// The row's figure was not measured.
    #[default]
    NotMeasured,
    /// The row's figure and its whole interval meet the target.
    Met,
    /// The row's figure meets the target; there is no interval, or it reaches beyond the target.
    MetByFigure,
    /// The row's figure misses the target; there is no interval, or it reaches beyond the target.
    MissedByFigure,
    /// The row's figure and its whole interval miss the target.
    Missed,
    /// The kernel and generator, not the servers, determined the row's figure.
    NotJudged,
    /// The row of the suite's table states its figure without a target.
    Stated,
}

/// Results of one plan of a suite that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartResult {
    /// Name of the plan in the suite.
    pub plan: String,
    /// Title of the plan in the suite.
    pub title: String,
    /// Result folder of the plan, relative to the suite's; empty when there is none.
    pub folder: String,
    /// Reason why there is no result folder of the plan.
    pub failed: Option<String>,
    /// Warnings that the page of the plan has for the reader.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Lines of the plan's result, one per server as configured, with their rates.
    pub lines: Vec<SummaryLine>,
}

/// Line of a plan's result in short: a server as configured, with its main figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryLine {
    /// Name of the line's server; `limit` for the limit responder, a program that returns every
    /// datagram.
    pub server: String,
    /// Variant of the server that the figures belong to: the way in which it was run, such as
    /// `multi-threaded`.
    pub variant: String,
    /// Highest rate of the server, in leases per second.
    pub leases_per_s: Option<f64>,
    /// Leases per processor second of the server.
    pub leases_per_cpu_s: Option<f64>,
    /// Latency that 99 % of the exchanges do not exceed at about half of the server's highest rate,
    /// in microseconds.
    pub p99_half_us: Option<f64>,
}

impl SummaryLine {
    pub(crate) fn from_result(result: &ServerResult) -> Self {
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
    /// Reads and checks a suite from the text of the file called `file`.
    ///
    /// # Errors
    /// The mistakes of the text, with their positions.
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

    /// Returns the conflict between the keys of `row` of the suite, if there is any.
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
            FigureKind::ShareOfLimit
                | FigureKind::ShareOfLimitPerCpuSecond
                | FigureKind::OfferedOverLimit
                | FigureKind::Goodput
                | FigureKind::Avalanche
        );
        if row.of.is_empty() || is_ratio == row.to.is_empty() {
            return wrong("a ratio is `of` one line `to` another; other figures have no `to`");
        }
        if (row.figure == FigureKind::Goodput) != (row.fraction > 0.0) {
            return wrong("`fraction` belongs to the figure goodput");
        }
        if (row.figure == FigureKind::BytesPerLease) != (row.leases > 0.0) {
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
        assert_eq!(suite.rows[0].figure, FigureKind::LeasesPerSecond);
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
             s.toml: row \"c\": `fraction` belongs to the figure goodput\n\
             s.toml: row \"e\": `leases` belongs to the figure bytes-per-lease"
        );
        assert!(Suite::parse("s.toml", "nam = 's'").unwrap_err().contains("s.toml"));
    }
}
