//! Command `godwit dccp regression`: the table by which DCCP in Linux was measured in 2007, in real
//! time over network namespaces and on a virtual clock. `case` has the cases of a plan, `bench`
//! runs them. `namespaces` is for real time: it starts this program's own commands as child
//! processes. `virtual_clock` needs no other program. `row` has the results, `page` draws them;
//! `plan` does the same for `godwit lab run`.

mod case;
mod measurement;
pub(crate) mod namespaces;
mod page;
mod plan;
mod row;
mod virtual_clock;

use std::path::PathBuf;
use std::time::Duration;

use base::{ToolError, ToolResult};
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use measure::regression::RegressionClock;
use netio::signal::Signals;

use crate::options::LinkArgs;
use crate::outcome::{DccpCommandOutcome, print_text};
use crate::units::parse_seconds;
use case::{DatagramHeaders, RegressionCase};
use measurement::RegressionCases;
use row::{CommonRunSettings, RegressionDocument, RegressionRow};

pub(crate) use case::over_ip;
pub use measurement::RegressionProgress;
pub use plan::{RegressionTable, run_plan};

/// File name `-`, which stands for the standard output.
const STDOUT: &str = "-";
/// Title of the regression's page.
const TITLE: &str = "DCCP over emulated links";

/// Measure DCCP over emulated links, in the cases by which Linux was measured in 2007.
///
/// Cases: direct, routed, 10 % and 1 % loss. In real time, which needs root, sender, links and
/// receiver run in network namespaces that the command makes and removes; on the virtual clock they
/// are simulated, and a minute takes seconds. Datagrams have 1,424 bytes (1,404 over IPv6), the
/// send queue holds five, packets go over IP. Rates are application data that the receiver read, in
/// powers of 1000. Run n has seed n. In real time and without --quick it takes 25 minutes. Without
/// --ccid, --tx-ccid and --rx-ccid both congestion controls are measured. `godwit lab run
/// dccp-regression` measures the same with both clocks into a result folder, and other links from
/// your own plan.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments; 3 a mean of CCID 3 is outside of the accepted
/// range, which --quick does not judge; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct DccpRegressionArgs {
    /// Run each case once for ten seconds; the result is not judged
    #[arg(long, conflicts_with_all = ["time", "runs"])]
    quick: bool,
    /// Seconds for which each run sends [default: 60]
    #[arg(short = 't', long, value_name = "S", value_parser = parse_seconds)]
    time: Option<Duration>,
    /// Number of runs of each case [default: 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// Measure only this case; may be repeated
    #[arg(long, value_name = "CASE", value_parser = PossibleValuesParser::new(case::shipped_names()))]
    only: Vec<String>,
    /// Clock of the runs
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "real")]
    clock: ClockName,
    /// Write a self-contained page with all runs, the desired rates and Linux's figures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write one JSON document to FILE, or to standard output instead of lines
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    json: Option<PathBuf>,
    // Last, because its heading holds for all flags after it.
    #[command(flatten)]
    connection: LinkArgs,
}

/// Clock that measures the length of a run: real or virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClockName {
    /// Real time, over network namespaces; needs root
    Real,
    /// Simulated time, as fast as the processor allows
    Virtual,
    /// Each run with real time, then with simulated time
    Both,
}

impl ClockName {
    fn clocks(self) -> Vec<RegressionClock> {
        match self {
            Self::Real => vec![RegressionClock::Real],
            Self::Virtual => vec![RegressionClock::Virtual],
            Self::Both => vec![RegressionClock::Virtual, RegressionClock::Real],
        }
    }
}

impl DccpRegressionArgs {
    fn cases(&self) -> Vec<RegressionCase> {
        let is_wanted =
            |case: &RegressionCase| self.only.is_empty() || self.only.contains(&case.name);
        case::shipped().cases.iter().map(RegressionCase::from_plan).filter(is_wanted).collect()
    }

    /// Returns the CCIDs of the congestion controls of the data that the client sends and receives,
    /// for each row of a case.
    fn ccids(&self) -> Vec<(u8, u8)> {
        let LinkArgs { ccid, tx_ccid, rx_ccid, .. } = self.connection;
        let all = || case::shipped().ccids.iter().copied();
        match (ccid, tx_ccid, rx_ccid) {
            (None, None, None) => all().map(|ccid| (ccid, ccid)).collect(),
            (None, None, Some(rx)) => all().map(|tx| (tx, rx)).collect(),
            _ => vec![self.connection.ccids(3)],
        }
    }

    fn regression_cases(&self) -> ToolResult<RegressionCases> {
        let plan = case::shipped();
        let is_tx_qlen_set = self.connection.sets("tx_qlen");
        let wrapping = DatagramHeaders {
            carrier: self.connection.own_carrier(case::carrier_name(plan.carrier))?,
            is_v6: self.connection.v6,
            v4_bytes: plan.datagram_bytes,
        };
        let time_s = self.time.map_or(plan.seconds, |time| time.as_secs_f64());
        let (seconds, runs) = if self.quick {
            (plan.quick_seconds, 1)
        } else {
            (time_s, self.runs.unwrap_or(plan.runs))
        };
        Ok(RegressionCases {
            cases: self.cases(),
            clocks: self.clock.clocks(),
            ccids: self.ccids(),
            common: CommonRunSettings {
                wrapping,
                tx_qlen: if is_tx_qlen_set {
                    self.connection.config()?.send_queue_len
                } else {
                    usize::from(plan.tx_qlen)
                },
                seconds,
                runs,
            },
            connection: self.connection.clone(),
        })
    }

    fn has_lines(&self) -> bool {
        self.json.as_deref().is_none_or(|path| path.as_os_str() != STDOUT)
    }
}

/// Runs `godwit dccp regression`: measures the cases and prints their table.
///
/// # Errors
///
/// Returns the error that made it impossible.
pub fn run(args: &DccpRegressionArgs) -> ToolResult<DccpCommandOutcome> {
    let signals = Signals::for_command()?;
    args.connection.check_handed_on()?;
    let bench = args.regression_cases()?;
    let namespaces = bench.create_namespaces()?;
    if args.has_lines() {
        print_text(&row::head(bench.common))?;
    }
    let measured =
        bench.measure(namespaces.as_ref(), signals.stop(), &mut |progress| match progress {
            RegressionProgress::Row { text, .. } if args.has_lines() => print_text(&text),
            _ => Ok(()),
        })?;
    if measured.is_interrupted {
        return Ok(DccpCommandOutcome::Interrupted);
    }
    show(args, bench.common, &measured.rows)?;
    let is_short = !args.quick && measured.rows.iter().any(|row| !row.is_accepted());
    Ok(if is_short { DccpCommandOutcome::FellShort } else { DccpCommandOutcome::Done })
}

/// Writes the results of the regression to the files that the flags name.
fn show(
    args: &DccpRegressionArgs,
    common: CommonRunSettings,
    rows: &[RegressionRow],
) -> ToolResult<()> {
    let write = |path: &PathBuf, text: String| {
        let done = std::fs::write(path, text);
        done.map_err(|error| ToolError::Failed(format!("cannot write {}: {error}", path.display())))
    };
    let document = RegressionDocument::new("godwit dccp regression", common, rows);
    if let Some(path) = &args.html {
        write(path, page::draw(&document, TITLE, &[], &[]))?;
    }
    if args.has_lines() {
        print_text(row::FOOT)?;
    }
    let Some(path) = &args.json else { return Ok(()) };
    let json = serde_json::to_string_pretty(&document)
        .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
    if args.has_lines() { write(path, json + "\n") } else { print_text(&format!("{json}\n")) }
}
