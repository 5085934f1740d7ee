//! Regression plan of `godwit lab run`: its table, its page, and its shortfalls.

use std::sync::atomic::AtomicBool;

use base::{ToolError, ToolResult};
use measure::regression::{RegressionClock, RegressionPlan};
use serde_json::Value;

use super::case::{DatagramHeaders, RegressionCase, carrier_name};
use super::measurement::{Listener, RegressionCases, RegressionProgress};
use super::page;
use super::row::{self, CommonRunSettings, RegressionDocument, RegressionRow};
use crate::options::LinkArgs;

/// Name of the tool in the JSON document.
const TOOL: &str = "godwit lab run";

/// Results of a regression plan.
pub struct RegressionTable {
    common: CommonRunSettings,
    title: String,
    rows: Vec<RegressionRow>,
    is_judged: bool,
    /// True if a signal ended the plan; then the table has only complete rows.
    pub is_interrupted: bool,
    /// Parts of the plan that were left out, in one sentence each.
    pub warnings: Vec<String>,
}

/// Measures the cases of a regression plan and returns their table. `is_quick` means one short run
/// of each case; `runs` replaces the plan's number of runs. Without the right to make network
/// namespaces the real clock is left out; that is a warning if the virtual clock remains.
pub fn run_plan(
    plan: &RegressionPlan,
    is_quick: bool,
    runs: Option<u32>,
    stop: &AtomicBool,
    tell: &mut Listener<'_>,
) -> ToolResult<RegressionTable> {
    let mut clocks = plan.clocks.clone();
    let mut warnings = Vec::new();
    if testbed::registry::user_id() != 0
        && clocks.contains(&RegressionClock::Virtual)
        && clocks.len() > 1
    {
        clocks.retain(|&clock| clock != RegressionClock::Real);
        let warning = "The cases were not measured in real time, because network namespaces need \
                       root."
            .to_owned();
        tell(RegressionProgress::Warning(warning.clone()))?;
        warnings.push(warning);
    }
    let wrapping = DatagramHeaders {
        carrier: carrier_name(plan.carrier),
        is_v6: false,
        v4_bytes: plan.datagram_bytes,
    };
    let bench = RegressionCases {
        cases: plan.cases.iter().map(RegressionCase::from_plan).collect(),
        clocks,
        ccids: plan.ccids.iter().map(|&ccid| (ccid, ccid)).collect(),
        common: CommonRunSettings {
            wrapping,
            tx_qlen: usize::from(plan.tx_qlen),
            seconds: if is_quick { plan.quick_seconds } else { plan.seconds },
            runs: runs.unwrap_or(if is_quick { 1 } else { plan.runs }),
        },
        connection: LinkArgs::default(),
    };
    let namespaces = bench.create_namespaces()?;
    let measured = bench.measure(namespaces.as_ref(), stop, tell)?;
    Ok(RegressionTable {
        common: bench.common,
        title: plan.title.clone(),
        rows: measured.rows,
        is_judged: !is_quick,
        is_interrupted: measured.is_interrupted,
        warnings,
    })
}

impl RegressionTable {
    /// Returns true if the table has no complete row.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table of the regression as text for the terminal.
    pub fn text(&self) -> String {
        let rows: String = self.rows.iter().map(RegressionRow::text).collect();
        format!("{}\n\n{}{rows}{}", self.title, row::head(self.common), row::FOOT)
    }

    /// Returns the table as a JSON value, with the schema version of
    /// `godwit dccp regression --json`.
    ///
    /// # Errors
    ///
    /// Returns an error when a figure cannot be written.
    pub fn document(&self) -> ToolResult<Value> {
        serde_json::to_value(RegressionDocument::new(TOOL, self.common, &self.rows))
            .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))
    }

    /// Returns the table of the regression as a self-contained page, with more facts under its
    /// title and warnings at its end.
    pub fn page(&self, facts: &[String], warnings: &[String]) -> String {
        let document = RegressionDocument::new(TOOL, self.common, &self.rows);
        page::draw(&document, &self.title, facts, warnings)
    }

    /// Returns the clocks with which the rows of the table were measured.
    pub fn clocks(&self) -> Vec<RegressionClock> {
        let all = [RegressionClock::Virtual, RegressionClock::Real].into_iter();
        all.filter(|&clock| self.rows.iter().any(|row| row.clock == clock)).collect()
    }

    /// Returns a sentence for each mean of CCID 3 outside of the accepted range; none for a quick
    /// run.
    #[must_use]
    pub fn shortfalls(&self) -> Vec<String> {
        if !self.is_judged {
            return Vec::new();
        }
        self.rows.iter().filter_map(RegressionRow::shortfall).collect()
    }
}
