//! Runs of every regression case, by every clock and congestion control.

use std::sync::atomic::{AtomicBool, Ordering};

use base::ToolResult;
use measure::regression::RegressionClock;

use super::case::{DatagramHeaders, RegressionCase};
use super::namespaces::{DccpMeasurementSettings, MeasurementNamespaces};
use super::row::{CommonRunSettings, RegressionRow};
use super::virtual_clock;
use crate::options::LinkArgs;

/// Regression cases to measure, with their settings.
pub(super) struct RegressionCases {
    pub(super) cases: Vec<RegressionCase>,
    pub(super) clocks: Vec<RegressionClock>,
    /// CCIDs of the congestion controls of the data that the client sends and receives, for each
    /// row of a case in the table.
    pub(super) ccids: Vec<(u8, u8)>,
    pub(super) common: CommonRunSettings,
    /// Command-line flags of the connections at both ends.
    pub(super) connection: LinkArgs,
}

/// Report of a regression's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegressionProgress {
    /// Step of the regression that begins now.
    Step(String),
    /// Row of the result table that is complete.
    Row {
        /// Name and mean of the row of the regression's table, for users.
        summary: String,
        /// Text of the row in the regression's table, with a line feed.
        text: String,
    },
    /// Part of the regression that is left out, as a sentence for users.
    Warning(String),
}

/// Measurement of one row of the regression's table.
#[derive(Clone, Copy)]
struct RegressionRowPlan<'c> {
    case: &'c RegressionCase,
    /// CCIDs of the congestion controls of the data that the client sends and receives.
    ccids: (u8, u8),
    clock: RegressionClock,
    /// Network namespaces for the real clock; `None` with the virtual clock.
    namespaces: Option<&'c MeasurementNamespaces>,
}

/// Receiver of a regression's progress reports.
pub(super) type Listener<'l> = dyn FnMut(RegressionProgress) -> ToolResult<()> + 'l;

/// Results of a regression.
pub(super) struct RegressionResults {
    pub(super) rows: Vec<RegressionRow>,
    /// True if a signal ended the regression; then `rows` has only complete rows.
    pub(super) is_interrupted: bool,
}

impl RegressionCases {
    /// Creates the network namespaces, if a case is measured with the real clock.
    pub(super) fn create_namespaces(&self) -> ToolResult<Option<MeasurementNamespaces>> {
        let is_real = self.clocks.contains(&RegressionClock::Real);
        is_real.then(|| MeasurementNamespaces::set(self.common.wrapping.is_v6)).transpose()
    }

    /// Measures all rows of the regression until `stop` is set. An error of `tell` ends it.
    pub(super) fn measure(
        &self,
        namespaces: Option<&MeasurementNamespaces>,
        stop: &AtomicBool,
        tell: &mut Listener<'_>,
    ) -> ToolResult<RegressionResults> {
        let mut rows = Vec::new();
        for case in &self.cases {
            for &ccids in &self.ccids {
                for &clock in &self.clocks {
                    let namespaces = match clock {
                        RegressionClock::Virtual => None,
                        RegressionClock::Real => namespaces,
                    };
                    let plan = RegressionRowPlan { case, ccids, clock, namespaces };
                    let Some(row) = self.row(plan, stop, tell)? else {
                        return Ok(RegressionResults { rows, is_interrupted: true });
                    };
                    tell(RegressionProgress::Row { summary: row.summary(), text: row.text() })?;
                    rows.push(row);
                }
            }
        }
        Ok(RegressionResults { rows, is_interrupted: false })
    }

    /// Measures all runs of a row of the table. Returns `None` when a signal ended them.
    fn row(
        &self,
        plan: RegressionRowPlan<'_>,
        stop: &AtomicBool,
        tell: &mut Listener<'_>,
    ) -> ToolResult<Option<RegressionRow>> {
        let RegressionRowPlan { case, ccids, clock, namespaces } = plan;
        let runs = self.common.runs;
        let mut rates = Vec::new();
        for run in 1..=runs {
            let (words, clock) = (&case.words, clock.words());
            tell(RegressionProgress::Step(format!(
                "{words}, CCID {}, {clock}: run {run} of {runs}",
                ccids.0
            )))?;
            let Some(rate) = self.run(case, namespaces, ccids, u64::from(run), stop)? else {
                return Ok(None);
            };
            rates.push(rate);
        }
        Ok(Some(RegressionRow::new(case, clock, ccids.0, self.common.wrapping, rates)))
    }

    /// Measures one run of a case: in the namespaces, or without them on the virtual clock. Returns
    /// `None` when a signal ended it.
    fn run(
        &self,
        case: &RegressionCase,
        namespaces: Option<&MeasurementNamespaces>,
        ccids: (u8, u8),
        seed: u64,
        stop: &AtomicBool,
    ) -> ToolResult<Option<f64>> {
        let CommonRunSettings { wrapping, tx_qlen, seconds, .. } = self.common;
        let datagram_bytes = wrapping.datagram_bytes();
        if let Some(namespaces) = namespaces {
            let (carrier, connection) = (wrapping.carrier, &self.connection);
            let trial = DccpMeasurementSettings {
                ccids,
                seed,
                seconds,
                carrier,
                datagram_bytes,
                connection,
            };
            return namespaces.measure(case, trial, tx_qlen, stop);
        }
        if stop.load(Ordering::Acquire) {
            return Ok(None);
        }
        let configs = configs(&self.connection, tx_qlen, wrapping, ccids.0, ccids.1)?;
        let hops = case.hops(wrapping);
        virtual_clock::measure(configs, &hops, seed, seconds, datagram_bytes).map(Some)
    }
}

/// Returns the settings of the client's and the server's connection on the virtual clock.
fn configs(
    connection: &LinkArgs,
    tx_qlen: usize,
    wrapping: DatagramHeaders,
    tx_ccid: u8,
    rx_ccid: u8,
) -> ToolResult<[dccp_link::ConnectionConfig; 2]> {
    let mut client = connection.config()?;
    client.send_queue_len = tx_qlen;
    client.packet_bytes_max = wrapping.packet_bytes_max();
    // Options get the bytes that a datagram of this length leaves.
    client.options_bytes += client.data_bytes_max();
    client.options_bytes -= wrapping.datagram_bytes();
    client.is_ecn_capable = false;
    (client.tx_ccids, client.rx_ccids) = (vec![tx_ccid], vec![rx_ccid]);
    let mut server = client.clone();
    (server.tx_ccids, server.rx_ccids) = (vec![rx_ccid], vec![tx_ccid]);
    Ok([client, server])
}
