//! Runs of every case, by every clock and congestion control.

use std::sync::atomic::{AtomicBool, Ordering};

use measure::regression::Clock;

use super::case::{Case, Wrapping};
use super::row::{Common, Row};
use super::stage::{Stage, Trial};
use super::virtual_clock;
use crate::ToolError;
use crate::options::LinkArgs;

/// All that is to be measured.
pub(super) struct Bench {
    pub(super) cases: Vec<Case>,
    pub(super) clocks: Vec<Clock>,
    /// Congestion control of what the client sends and receives, in each row of a case.
    pub(super) ccids: Vec<(u8, u8)>,
    pub(super) common: Common,
    /// Flags that both ends have.
    pub(super) connection: LinkArgs,
}

/// What is told while it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// What is being done now.
    Step(String),
    /// A row of the table is there.
    Row {
        /// What it is and what its mean is.
        summary: String,
        /// The row of the table, with the end of the line.
        text: String,
    },
    /// Something is left out.
    Warning(String),
}

/// Who is told.
pub(super) type Listener<'l> = dyn FnMut(Told) -> Result<(), ToolError> + 'l;

/// What was measured.
pub(super) struct Measured {
    pub(super) rows: Vec<Row>,
    /// A signal ended it; the rows are those that were whole.
    pub(super) is_interrupted: bool,
}

impl Bench {
    /// The namespaces, where they are needed.
    pub(super) fn stage(&self) -> Result<Option<Stage>, ToolError> {
        let is_real = self.clocks.contains(&Clock::Real);
        is_real.then(|| Stage::set(self.common.wrapping.is_v6)).transpose()
    }

    /// Measures everything until `stop` is set. What `tell` fails with ends it.
    pub(super) fn measure(
        &self,
        stage: Option<&Stage>,
        stop: &AtomicBool,
        tell: &mut Listener<'_>,
    ) -> Result<Measured, ToolError> {
        let mut rows = Vec::new();
        for case in &self.cases {
            for &ccids in &self.ccids {
                for &clock in &self.clocks {
                    let place = (clock == Clock::Real).then_some(stage).flatten();
                    let Some(row) = self.row(case, (clock, place), ccids, stop, tell)? else {
                        return Ok(Measured { rows, is_interrupted: true });
                    };
                    tell(Told::Row { summary: row.summary(), text: row.text() })?;
                    rows.push(row);
                }
            }
        }
        Ok(Measured { rows, is_interrupted: false })
    }

    /// All runs of a row; `None` when a signal ended them.
    fn row(
        &self,
        case: &Case,
        (clock, stage): (Clock, Option<&Stage>),
        ccids: (u8, u8),
        stop: &AtomicBool,
        tell: &mut Listener<'_>,
    ) -> Result<Option<Row>, ToolError> {
        let runs = self.common.runs;
        let mut rates = Vec::new();
        for run in 1..=runs {
            let (words, clock) = (&case.words, clock.words());
            tell(Told::Step(format!("{words}, CCID {}, {clock}: run {run} of {runs}", ccids.0)))?;
            let Some(rate) = self.run(case, stage, ccids, u64::from(run), stop)? else {
                return Ok(None);
            };
            rates.push(rate);
        }
        Ok(Some(Row::new(case, clock, ccids.0, self.common.wrapping, rates)))
    }

    /// One run, on the stage or without one on the virtual clock; `None` when a signal ended it.
    fn run(
        &self,
        case: &Case,
        stage: Option<&Stage>,
        ccids: (u8, u8),
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<f64>, ToolError> {
        let Common { wrapping, tx_qlen, seconds, .. } = self.common;
        let datagram_bytes = wrapping.datagram_bytes();
        if let Some(stage) = stage {
            let (carrier, connection) = (wrapping.carrier, &self.connection);
            let trial = Trial { ccids, seed, seconds, carrier, datagram_bytes, connection };
            return stage.measure(case, trial, tx_qlen, stop);
        }
        if stop.load(Ordering::Acquire) {
            return Ok(None);
        }
        let configs = configs(&self.connection, tx_qlen, wrapping, ccids)?;
        let hops = case.hops(wrapping);
        virtual_clock::measure(configs, &hops, (seed, seconds), datagram_bytes).map(Some)
    }
}

/// What connections on the virtual clock are like, the client's and the server's.
fn configs(
    connection: &LinkArgs,
    tx_qlen: usize,
    wrapping: Wrapping,
    (tx, rx): (u8, u8),
) -> Result<[dccp_link::Config; 2], ToolError> {
    let mut client = connection.config()?;
    client.send_queue_len = tx_qlen;
    client.packet_bytes_max = wrapping.packet_bytes_max();
    // Options have what a datagram of this length leaves.
    client.options_bytes += client.data_bytes_max();
    client.options_bytes -= wrapping.datagram_bytes();
    client.is_ecn_capable = false;
    (client.tx_ccids, client.rx_ccids) = (vec![tx], vec![rx]);
    let mut server = client.clone();
    (server.tx_ccids, server.rx_ccids) = (vec![rx], vec![tx]);
    Ok([client, server])
}
