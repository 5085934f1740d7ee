//! `godwit dccp regression`: the table that DCCP in Linux was measured by in 2007, in real time over network
//! namespaces. `case` is what is measured, `stage` where. The programs are this one's own commands, started
//! as children.

mod case;
pub(crate) mod stage;

use std::time::Duration;

use netio::signal::Signals;
use serde::Serialize;

use crate::options::CarrierName;
use crate::units::{self, parse_seconds};
use crate::{Outcome, ToolError, say};
use case::{Case, DATAGRAM_BYTES};
use stage::{Stage, Trial};

/// Of the documents.
const SCHEMA_VERSION: u32 = 1;
/// What --quick sends for.
const QUICK: Duration = Duration::from_secs(10);
/// The congestion controls.
const CCIDS: [u8; 2] = [3, 2];

/// Measure DCCP over emulated links as Linux's was: direct, routed, with 10 % and 1 % loss
///
/// Sender, links and receiver are in network namespaces that the command makes and removes; it takes root.
/// Datagrams have 1,424 octets, the send queue holds five. Rates are application data that the receiver
/// read, in powers of 1000. Run n has seed n. Without --quick it takes 25 minutes.
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
    /// What packets travel in
    #[arg(long, value_enum, value_name = "CARRIER", default_value = "raw")]
    carrier: CarrierName,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
}

/// A line of the table.
#[derive(Clone, Debug, Serialize)]
struct Row {
    case: &'static str,
    link: &'static str,
    ccid: u8,
    desired_bits_per_s: f64,
    runs_bits_per_s: Vec<f64>,
    mean_bits_per_s: f64,
    /// Of Linux in 2007, with CCID 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    linux_2007_bits_per_s: Option<[f64; 3]>,
    /// Least and most of the mean of CCID 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_bits_per_s: Option<[f64; 2]>,
}

/// Everything, as JSON.
#[derive(Debug, Serialize)]
struct Document<'a> {
    tool: &'static str,
    schema_version: u32,
    carrier: String,
    datagram_bytes: usize,
    seconds: f64,
    rows: &'a [Row],
}

impl Args {
    fn cases(&self) -> Vec<Case> {
        let is_wanted =
            |case: &Case| self.only.is_empty() || self.only.iter().any(|name| name == case.name);
        case::all().into_iter().filter(is_wanted).collect()
    }
}

/// Does what the flags ask for.
///
/// # Errors
///
/// What made it impossible.
pub fn run(args: &Args) -> Result<Outcome, ToolError> {
    let signals = Signals::install()
        .map_err(|error| ToolError::Failed(format!("cannot install signal handlers: {error}")))?;
    let (time, runs) = if args.quick { (QUICK, 1) } else { (args.time, args.runs) };
    let stage = Stage::set()?;
    if !args.json {
        say(&head(args.carrier, time, runs))?;
    }
    let mut rows = Vec::new();
    for case in args.cases() {
        for ccid in CCIDS {
            let mut rates = Vec::new();
            for seed in 1..=u64::from(runs) {
                let seconds = time.as_secs_f64();
                let trial = Trial { ccid, seed, seconds, carrier: args.carrier };
                let Some(rate) = stage.measure(&case, trial, &signals)? else {
                    return Ok(Outcome::Interrupted);
                };
                rates.push(rate);
            }
            let row = Row::new(&case, ccid, args.carrier, rates);
            if !args.json {
                say(&row.text(&case))?;
            }
            rows.push(row);
        }
    }
    if args.json {
        show(args, time, &rows)?;
    } else {
        say(FOOT)?;
    }
    let is_short = !args.quick && rows.iter().any(|row| !row.is_accepted());
    Ok(if is_short { Outcome::FellShort } else { Outcome::Done })
}

fn show(args: &Args, time: Duration, rows: &[Row]) -> Result<(), ToolError> {
    let document = Document {
        tool: "godwit dccp regression",
        schema_version: SCHEMA_VERSION,
        carrier: format!("{:?}", args.carrier).to_lowercase(),
        datagram_bytes: DATAGRAM_BYTES,
        seconds: time.as_secs_f64(),
        rows,
    };
    let json = serde_json::to_string_pretty(&document)
        .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
    say(&format!("{json}\n"))
}

fn head(carrier: CarrierName, time: Duration, runs: u32) -> String {
    let carrier = match carrier {
        CarrierName::Raw => "over IP",
        CarrierName::Udp => "inside of UDP",
    };
    let seconds = time.as_secs_f64();
    let plural = if runs == 1 { "" } else { "s" };
    format!(
        "datagrams of {DATAGRAM_BYTES} octets, tx_qlen 5, {carrier}, {runs} run{plural} of {seconds} s\n\
         {:<22} ccid {:>16} {:>16}  runs\n",
        "", "desired", "measured"
    )
}

/// What the columns are.
const FOOT: &str = "\
desired: what the line takes without losses; with them X = s / (R f(p)), f(p) = sqrt(2p/3) +
12 sqrt(3p/8) p (1 + 32 p^2), of TFRC (RFC 5348 with b = 1), where p is the packet loss. Losses
within a round trip are one loss event, so a right CCID 3 comes out above it; CCID 2 does not follow it.
";

impl Row {
    fn new(case: &Case, ccid: u8, carrier: CarrierName, rates: Vec<f64>) -> Self {
        let is_tfrc = ccid == 3;
        Self {
            case: case.name,
            link: case.link,
            ccid,
            desired_bits_per_s: case.desired(carrier),
            mean_bits_per_s: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            runs_bits_per_s: rates,
            linux_2007_bits_per_s: is_tfrc.then(|| case.linux_mbps.map(|mbps| mbps * 1e6)),
            accepted_bits_per_s: is_tfrc.then(|| [*case.accepted.start(), *case.accepted.end()]),
        }
    }

    fn is_accepted(&self) -> bool {
        self.accepted_bits_per_s
            .is_none_or(|[least, most]| (least..=most).contains(&self.mean_bits_per_s))
    }

    fn text(&self, case: &Case) -> String {
        let list = |rates: &[f64]| {
            let words: Vec<_> = rates.iter().map(|&rate| units::rate(rate)).collect();
            words.join(", ")
        };
        let (desired, mean) =
            (units::rate(self.desired_bits_per_s), units::rate(self.mean_bits_per_s));
        let mut text = format!(
            "{:<22} {:>4} {desired:>16} {mean:>16}  {}",
            case.words,
            self.ccid,
            list(&self.runs_bits_per_s)
        );
        if let Some(linux) = self.linux_2007_bits_per_s {
            text += &format!("; Linux in 2007: {}", list(&linux));
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ccid_3_is_judged() {
        let case = &case::all()[3];
        let accepted =
            |ccid, rate| Row::new(case, ccid, CarrierName::Raw, vec![rate]).is_accepted();
        assert!(accepted(3, 3.2e6) && !accepted(3, 2.8e6) && !accepted(3, 3.8e6));
        assert!(accepted(2, 1.0));
        let text = Row::new(case, 3, CarrierName::Raw, vec![3.1e6, 3.3e6]).text(case);
        assert!(text.contains("3.20 Mbits/sec   3.20 Mbits/sec  3.10 Mbits/sec, 3.30"), "{text}");
        assert!(text.contains("Linux in 2007: 3.28 Mbits/sec, 3.08 Mbits/sec, 3.03"), "{text}");
    }
}
