//! `godwit dccp regression`: the table that DCCP in Linux was measured by in 2007, in real time over network
//! namespaces and on a virtual clock. `case` is what is measured, `stage` where in real time: there the
//! programs are this one's own commands, started as children. `virtual_clock` needs nothing but itself. `row`
//! is what came of it, `page` draws that.

mod case;
mod page;
mod row;
pub(crate) mod stage;
mod virtual_clock;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::ValueEnum;
use netio::signal::Signals;

use crate::options::{CarrierName, LinkArgs};
use crate::units::parse_seconds;
use crate::{Outcome, ToolError, say};
use case::{Case, Wrapping};
use row::{Clock, Document, Row};
use stage::{Stage, Trial};

/// What --quick sends for.
const QUICK: Duration = Duration::from_secs(10);
/// The congestion controls.
const CCIDS: [u8; 2] = [3, 2];
/// What stands for the standard output.
const STDOUT: &str = "-";

/// Measure DCCP over emulated links as Linux's was: direct, routed, with 10 % and 1 % loss
///
/// In real time, which takes root, sender, links and receiver are in network namespaces that the command makes
/// and removes; on the virtual clock they are values, and a minute takes seconds. Datagrams have 1,424 octets
/// (1,404 over IPv6), the send queue holds five, packets go over IP. Rates are application data that the receiver
/// read, in powers of 1000. Run n has seed n. In real time and without --quick it takes 25 minutes. Without
/// --ccid, --tx-ccid and --rx-ccid both congestion controls are measured.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments; 3 a mean of CCID 3 is outside of what is accepted, which
/// --quick does not judge; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Ten seconds and one run of each: a look, no measurement
    #[arg(long, conflicts_with_all = ["time", "runs"])]
    quick: bool,
    /// Seconds of a run
    #[arg(short = 't', long, value_name = "S", default_value = "60", value_parser = parse_seconds)]
    time: Duration,
    /// Runs of each
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Only this case; may be repeated
    #[arg(long, value_name = "CASE", value_parser = ["direct", "routed", "loss10", "loss1"])]
    only: Vec<String>,
    /// By which clock
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "real")]
    clock: ClockName,
    #[command(flatten)]
    connection: LinkArgs,
    /// Write a page that needs nothing but itself: all runs against what was desired, and what Linux reached
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write one JSON document, to a file or, without one, to the standard output instead of lines
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    json: Option<PathBuf>,
}

/// By which clock runs last as long as they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClockName {
    /// The real one, over network namespaces; needs root
    Real,
    /// One that is as fast as the processor
    Virtual,
    /// Both, one after the other
    Both,
}

impl ClockName {
    const fn clocks(self) -> &'static [Clock] {
        match self {
            Self::Real => &[Clock::Real],
            Self::Virtual => &[Clock::Virtual],
            Self::Both => &[Clock::Virtual, Clock::Real],
        }
    }
}

impl Args {
    fn cases(&self) -> Vec<Case> {
        let is_wanted =
            |case: &Case| self.only.is_empty() || self.only.iter().any(|name| name == case.name);
        case::all().into_iter().filter(is_wanted).collect()
    }

    /// Congestion control of what the client sends and receives, in each row of a case.
    fn ccids(&self) -> Vec<(u8, u8)> {
        let LinkArgs { ccid, tx_ccid, rx_ccid, .. } = self.connection;
        match (ccid, tx_ccid, rx_ccid) {
            (None, None, None) => CCIDS.map(|ccid| (ccid, ccid)).to_vec(),
            (None, None, Some(rx)) => CCIDS.map(|tx| (tx, rx)).to_vec(),
            _ => vec![self.connection.ccids(CCIDS[0])],
        }
    }

    fn wrapping(&self) -> Wrapping {
        let carrier = self.connection.carrier.unwrap_or(CarrierName::Raw);
        Wrapping { carrier, is_v6: self.connection.v6 }
    }

    /// Seconds of a run, and how many there are.
    const fn extent(&self) -> (Duration, u32) {
        if self.quick { (QUICK, 1) } else { (self.time, self.runs) }
    }

    fn has_lines(&self) -> bool {
        self.json.as_deref().is_none_or(|path| path.as_os_str() != STDOUT)
    }
}

/// What is measured in: namespaces are made when they are needed.
struct Bench<'a> {
    args: &'a Args,
    stage: Option<Stage>,
    signals: Signals,
}

impl Bench<'_> {
    /// One run; `None` when a signal ended it.
    fn run(
        &self,
        case: &Case,
        clock: Clock,
        ccids: (u8, u8),
        seed: u64,
    ) -> Result<Option<f64>, ToolError> {
        let (wrapping, connection) = (self.args.wrapping(), &self.args.connection);
        let seconds = self.args.extent().0.as_secs_f64();
        match (&self.stage, clock) {
            (Some(stage), Clock::Real) => {
                let trial = Trial { ccids, seed, seconds, carrier: wrapping.carrier, connection };
                stage.measure(case, trial, &self.signals)
            }
            _ if self.signals.stop().load(Ordering::Acquire) => Ok(None),
            _ => {
                let configs = configs(connection, wrapping, ccids)?;
                let (hops, bytes) = (case.hops(wrapping), wrapping.datagram_bytes());
                virtual_clock::measure(configs, &hops, (seed, seconds), bytes).map(Some)
            }
        }
    }

    /// All runs of a row; `None` when a signal ended them.
    fn row(&self, case: &Case, clock: Clock, ccids: (u8, u8)) -> Result<Option<Row>, ToolError> {
        let mut rates = Vec::new();
        for seed in 1..=u64::from(self.args.extent().1) {
            let Some(rate) = self.run(case, clock, ccids, seed)? else { return Ok(None) };
            rates.push(rate);
        }
        Ok(Some(Row::new(case, clock, ccids.0, self.args.wrapping(), rates)))
    }
}

/// What connections on the virtual clock are like, the client's and the server's.
fn configs(
    connection: &LinkArgs,
    wrapping: Wrapping,
    (tx, rx): (u8, u8),
) -> Result<[dccp_link::Config; 2], ToolError> {
    let mut client = connection.config()?;
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

/// Does what the flags ask for.
///
/// # Errors
///
/// What made it impossible.
pub fn run(args: &Args) -> Result<Outcome, ToolError> {
    let signals = Signals::install()
        .map_err(|error| ToolError::Failed(format!("cannot install signal handlers: {error}")))?;
    args.connection.check_handed_on()?;
    let clocks = args.clock.clocks();
    let stage = match clocks.contains(&Clock::Real) {
        true => Some(Stage::set(args.connection.v6)?),
        false => None,
    };
    let bench = Bench { args, stage, signals };
    let (time, runs) = args.extent();
    if args.has_lines() {
        say(&row::head(args.wrapping(), time, runs))?;
    }
    let mut rows = Vec::new();
    for case in args.cases() {
        for ccids in args.ccids() {
            for &clock in clocks {
                let Some(row) = bench.row(&case, clock, ccids)? else {
                    return Ok(Outcome::Interrupted);
                };
                if args.has_lines() {
                    say(&row.text())?;
                }
                rows.push(row);
            }
        }
    }
    show(args, &rows)?;
    let is_short = !args.quick && rows.iter().any(|row| !row.is_accepted());
    Ok(if is_short { Outcome::FellShort } else { Outcome::Done })
}

/// Writes what came of it where it is wanted.
fn show(args: &Args, rows: &[Row]) -> Result<(), ToolError> {
    let write = |path: &PathBuf, text: String| {
        let done = std::fs::write(path, text);
        done.map_err(|error| ToolError::Failed(format!("cannot write {}: {error}", path.display())))
    };
    let (time, runs) = args.extent();
    let document = Document::new(args.wrapping(), time, runs, rows);
    if let Some(path) = &args.html {
        write(path, page::draw(&document))?;
    }
    if args.has_lines() {
        say(row::FOOT)?;
    }
    let Some(path) = &args.json else { return Ok(()) };
    let json = serde_json::to_string_pretty(&document)
        .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
    if args.has_lines() { write(path, json + "\n") } else { say(&format!("{json}\n")) }
}
