//! Command `godwit dccp fairness`: the shares of DCCP flows and one flow of the kernel's TCP on one
//! link.
//!
//! The namespaces and the programs are the regression's ([`crate::regression`]); `tcp` is two
//! threads of this program. Background: R. Jain et al., A Quantitative Measure of Fairness,
//! DEC-TR-301 (1984).

mod tcp;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use base::{ToolError, ToolResult};
use netio::signal::Signals;
use serde::Serialize;

use crate::options::{CarrierName, LinkArgs};
use crate::outcome::{DccpCommandOutcome, print_text};
use crate::perf::DATAGRAM_BYTES;
use crate::regression::namespaces::{DccpMeasurementSettings, MeasurementNamespaces};
use crate::regression::over_ip;
use crate::units::{self, parse_seconds};

/// Schema version of the JSON documents of `dccp fairness`.
const SCHEMA_VERSION: u32 = 1;
/// Least fairness index of Jain that the DCCP flows must reach.
const INDEX_MIN: f64 = 0.9;
/// Part of an equal share below which a flow counts as starving.
const STARVING: f64 = 0.1;

/// Share an emulated link between DCCP flows and one TCP flow, and print each share.
///
/// Sender, link and receiver run in network namespaces that the command makes and removes; it needs
/// root. TCP is the kernel's, with the congestion control of --tcp. DCCP goes over IP, with CCID 3
/// by default. Rates are application data that the receiver read, in powers of 1000.
///
/// Exit codes: 0 done; 1 failed, for instance because the kernel lacks the congestion control; 2
/// bad arguments; 3 in a run Jain's index of the DCCP flows was below 0.9, or a flow had less than
/// a tenth of an equal share; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct FairnessArgs {
    /// Seconds that the flows of each run send
    #[arg(short = 't', long, value_name = "S", default_value = "60", value_parser = parse_seconds)]
    time: Duration,
    /// Number of runs
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Number of DCCP flows
    #[arg(short = 'P', long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    flows: u8,
    /// TCP congestion control: cubic, reno, bbr or another one of the kernel
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    tcp: String,
    /// Link properties in each direction, in the words of `godwit netem`
    #[arg(long, value_name = "WORDS", default_value = "delay 20ms rate 20mbit limit 100")]
    link: String,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
    // Last, because its heading holds for all flags after it.
    #[command(flatten)]
    connection: LinkArgs,
}

/// Rates of the flows in one run, in bits of data per second, and their fairness.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Shares {
    dccp_bits_per_s: Vec<f64>,
    tcp_bits_per_s: f64,
    /// Name of TCP's congestion control, as the kernel reported it after sending.
    tcp_congestion_control: String,
    /// Fairness index of Jain of the DCCP flows, 0 to 1.
    jain_index: f64,
    /// Fairness index of Jain of all flows, 0 to 1.
    jain_index_with_tcp: f64,
    /// Least rate of any flow, as a part of an equal share of the link.
    least_of_equal: f64,
}

/// JSON document with the results of all runs.
#[derive(Debug, Serialize)]
struct FairnessDocument<'a> {
    tool: &'static str,
    schema_version: u32,
    carrier: &'static str,
    ccid: u8,
    link: &'a str,
    seconds: f64,
    runs: &'a [Shares],
}

/// Returns Jain's fairness index: 1 when all rates are equal, 1/n when one of n flows has
/// everything.
fn jain_index(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (rates.len() as f64 * squares) }
}

impl Shares {
    /// Returns the shares of DCCP flows with the rates `dccp_bits_per_s` and of the TCP flow `tcp`
    /// (rate in bits per second, congestion control).
    fn from_rates(dccp_bits_per_s: Vec<f64>, tcp: (f64, String)) -> Self {
        let (tcp_bits_per_s, tcp_congestion_control) = tcp;
        let mut all = dccp_bits_per_s.clone();
        all.push(tcp_bits_per_s);
        let equal = all.iter().sum::<f64>() / all.len() as f64;
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        Self {
            jain_index: jain_index(&dccp_bits_per_s),
            jain_index_with_tcp: jain_index(&all),
            least_of_equal: if equal > 0.0 { least / equal } else { 0.0 },
            dccp_bits_per_s,
            tcp_bits_per_s,
            tcp_congestion_control,
        }
    }

    fn is_fair(&self) -> bool {
        self.jain_index >= INDEX_MIN && self.least_of_equal >= STARVING
    }

    fn text(&self) -> String {
        let dccp: Vec<String> =
            self.dccp_bits_per_s.iter().map(|&rate| units::rate(rate)).collect();
        format!(
            "DCCP {}; TCP ({}) {}; Jain's index {:.3} of DCCP, {:.3} of all; the slowest flow has \
             {:.2} of an equal share\n",
            dccp.join(", "),
            self.tcp_congestion_control,
            units::rate(self.tcp_bits_per_s),
            self.jain_index,
            self.jain_index_with_tcp,
            self.least_of_equal
        )
    }
}

/// Runs `godwit dccp fairness`: measures the shares of the flows and prints them.
///
/// # Errors
///
/// Returns the error that made it impossible.
pub fn run(args: &FairnessArgs) -> ToolResult<DccpCommandOutcome> {
    let signals = Signals::for_command()?;
    args.connection.check_handed_on()?;
    tcp::check(&args.tcp)?;
    let is_v6 = args.connection.v6;
    let namespaces = MeasurementNamespaces::set(is_v6)?;
    let datagram_bytes = over_ip(DATAGRAM_BYTES, is_v6);
    let carrier = args.connection.own_carrier(CarrierName::Raw)?;
    let ccids = args.connection.ccids(3);
    let seconds = args.time.as_secs_f64();
    if !args.json {
        let FairnessArgs { flows, tcp, link, .. } = args;
        let ccid = ccids.0;
        print_text(&format!(
            "{flows} flows of CCID {ccid} and one of TCP ({tcp}), {seconds} s, {link}\n"
        ))?;
    }
    let mut runs = Vec::new();
    for seed in 1..=u64::from(args.runs) {
        let connection = &args.connection;
        let trial =
            DccpMeasurementSettings { ccids, seed, seconds, carrier, datagram_bytes, connection };
        let Some(shares) = share(&namespaces, args, trial, &signals)? else {
            return Ok(DccpCommandOutcome::Interrupted);
        };
        if !args.json {
            print_text(&shares.text())?;
        }
        runs.push(shares);
    }
    if args.json {
        let document = FairnessDocument {
            tool: "godwit dccp fairness",
            schema_version: SCHEMA_VERSION,
            carrier: carrier.name(),
            ccid: ccids.0,
            link: &args.link,
            seconds,
            runs: &runs,
        };
        let json = serde_json::to_string_pretty(&document)
            .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
        print_text(&format!("{json}\n"))?;
    }
    let is_fair = runs.iter().all(Shares::is_fair);
    Ok(if is_fair { DccpCommandOutcome::Done } else { DccpCommandOutcome::FellShort })
}

/// Measures one run of TCP and DCCP flows over one emulated link. Returns `None` when a signal
/// ended the run.
fn share(
    namespaces: &MeasurementNamespaces,
    args: &FairnessArgs,
    trial: DccpMeasurementSettings<'_>,
    signals: &Signals,
) -> ToolResult<Option<Shares>> {
    let _link = namespaces.join_by(&args.link, trial.seed)?;
    let [from, to] = namespaces.ends();
    let (time, address) = (args.time, namespaces.receiver_address());
    thread::scope(|scope| {
        let (tell, is_listening) = mpsc::channel();
        let receiver = scope.spawn(move || tcp::receive(&to, address, &tell, time));
        // An error of the receiver is returned when its thread is joined.
        let sender = scope.spawn(move || match is_listening.recv() {
            Ok(()) => tcp::send(&from, address, &args.tcp, time),
            Err(_) => Ok(String::new()),
        });
        let count = usize::from(args.flows);
        let dccp = namespaces.flows(address, trial, count, "", signals.stop());
        let sent = sender.join().expect("the sender does not panic");
        let received = receiver.join().expect("the receiver does not panic");
        // Without a sender the receiver fails, too.
        let algorithm = sent?;
        let tcp = (received?, algorithm);
        Ok(dccp?.map(|dccp| Shares::from_rates(dccp, tcp)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_jains() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}");
        near(jain_index(&[3.0, 3.0, 3.0]), 1.0);
        near(jain_index(&[5.0, 0.0]), 0.5);
        // (1 + 2 + 3)^2 / (3 (1 + 4 + 9))
        near(jain_index(&[1.0, 2.0, 3.0]), 36.0 / 42.0);
        near(jain_index(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn unequal_flows_and_starving_ones_are_not_fair() {
        let is_fair = |dccp: &[f64], tcp| {
            Shares::from_rates(dccp.to_vec(), (tcp, "cubic".to_owned())).is_fair()
        };
        assert!(is_fair(&[6e6, 7e6], 5e6));
        assert!(!is_fair(&[2e6, 8e6], 5e6));
        assert!(!is_fair(&[9e6, 9e6], 0.5e6));
        assert!(!is_fair(&[0.2e6, 0.2e6], 18e6));
        assert!(!is_fair(&[0.0, 0.0], 0.0));
    }
}
