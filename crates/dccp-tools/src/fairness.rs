//! `godwit dccp fairness`: flows of DCCP and one of the kernel's TCP on one link, and who gets how much.
//!
//! The stage and the programs are the regression's ([`crate::regression`]); TCP is two threads of this
//! program. To have read: R. Jain et al., A Quantitative Measure of Fairness, DEC-TR-301 (1984).

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use netio::signal::Signals;
use serde::Serialize;

use crate::options::CarrierName;
use crate::regression::stage::{RECEIVER, Stage, Trial};
use crate::units::{self, parse_seconds};
use crate::{Outcome, ToolError, say};

/// Of the documents.
const SCHEMA_VERSION: u32 = 1;
/// Where TCP listens.
const TCP_PORT: u16 = 5001;
/// Octets that TCP is given and read at a time.
const CHUNK_BYTES: usize = 1 << 16;
/// How long the TCP receiver waits for its sender, and for what it still sends.
const PATIENCE: Duration = Duration::from_secs(10);
/// Jain's index of DCCP's flows that is asked for.
const INDEX_MIN: f64 = 0.9;
/// Of an equal share of what all got: whoever has less starves.
const STARVING: f64 = 0.1;

/// Share an emulated link between flows of DCCP and one of TCP
///
/// Sender, link and receiver are in network namespaces that the command makes and removes; it takes root.
/// TCP is the kernel's, with the congestion control that is set there. Rates are application data that the
/// receiver read, in powers of 1000.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments; 3 in a run Jain's index of the flows of DCCP was below 0.9,
/// or a flow had less than a tenth of an equal share; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Seconds of a run
    #[arg(short = 't', long, value_name = "S", default_value = "60", value_parser = parse_seconds)]
    time: Duration,
    /// Runs
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Flows of DCCP
    #[arg(short = 'P', long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    flows: u8,
    /// Congestion control of DCCP
    #[arg(long, value_name = "2|3", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
    ccid: u8,
    /// What the link does each way, in the words of `godwit netem`
    #[arg(long, value_name = "WORDS", default_value = "delay 20ms rate 20mbit limit 100")]
    link: String,
    /// What packets of DCCP travel in
    #[arg(long, value_enum, value_name = "CARRIER", default_value = "raw")]
    carrier: CarrierName,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
}

/// What the flows of one run got, in bits of data in a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Shares {
    dccp_bits_per_s: Vec<f64>,
    tcp_bits_per_s: f64,
    /// Of DCCP's flows.
    jain_index: f64,
    /// Of all.
    jain_index_with_tcp: f64,
    /// The least of all over an equal share.
    least_of_equal: f64,
}

/// Everything, as JSON.
#[derive(Debug, Serialize)]
struct Document<'a> {
    tool: &'static str,
    schema_version: u32,
    carrier: String,
    ccid: u8,
    link: &'a str,
    seconds: f64,
    tcp_congestion_control: &'a str,
    runs: &'a [Shares],
}

/// Jain's index: 1 when all are equal, 1/n when one has everything.
fn jain_index(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (rates.len() as f64 * squares) }
}

impl Shares {
    fn of(dccp_bits_per_s: Vec<f64>, tcp_bits_per_s: f64) -> Self {
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
        }
    }

    fn is_fair(&self) -> bool {
        self.jain_index >= INDEX_MIN && self.least_of_equal >= STARVING
    }

    fn text(&self) -> String {
        let dccp: Vec<String> =
            self.dccp_bits_per_s.iter().map(|&rate| units::rate(rate)).collect();
        format!(
            "DCCP {}; TCP {}; Jain's index {:.3} of DCCP, {:.3} of all; the least has {:.2} of an equal \
             share\n",
            dccp.join(", "),
            units::rate(self.tcp_bits_per_s),
            self.jain_index,
            self.jain_index_with_tcp,
            self.least_of_equal
        )
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
    let stage = Stage::set()?;
    let tcp = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let tcp = tcp.unwrap_or_default();
    let tcp = tcp.trim();
    let seconds = args.time.as_secs_f64();
    if !args.json {
        let Args { flows, ccid, link, .. } = args;
        say(&format!(
            "{flows} flows of CCID {ccid} and one of TCP ({tcp}), {seconds} s, {link}\n"
        ))?;
    }
    let mut runs = Vec::new();
    for seed in 1..=u64::from(args.runs) {
        let trial = Trial { ccid: args.ccid, seed, seconds, carrier: args.carrier };
        let Some(shares) = share(&stage, args, trial, &signals)? else {
            return Ok(Outcome::Interrupted);
        };
        if !args.json {
            say(&shares.text())?;
        }
        runs.push(shares);
    }
    if args.json {
        let document = Document {
            tool: "godwit dccp fairness",
            schema_version: SCHEMA_VERSION,
            carrier: format!("{:?}", args.carrier).to_lowercase(),
            ccid: args.ccid,
            link: &args.link,
            seconds,
            tcp_congestion_control: tcp,
            runs: &runs,
        };
        let json = serde_json::to_string_pretty(&document)
            .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
        say(&format!("{json}\n"))?;
    }
    let is_fair = runs.iter().all(Shares::is_fair);
    Ok(if is_fair { Outcome::Done } else { Outcome::FellShort })
}

/// One run; `None` when a signal ended it.
fn share(
    stage: &Stage,
    args: &Args,
    trial: Trial,
    signals: &Signals,
) -> Result<Option<Shares>, ToolError> {
    let _link = stage.join_by(&args.link, trial.seed)?;
    let [from, to] = stage.ends();
    let time = args.time;
    thread::scope(|scope| {
        let (tell, is_listening) = mpsc::channel();
        let receiver = scope.spawn(move || receive(&to, &tell, time));
        // An error of the receiver's is told when it is joined.
        let sender = scope.spawn(move || match is_listening.recv() {
            Ok(()) => send(&from, time),
            Err(_) => Ok(()),
        });
        let flows = (trial, usize::from(args.flows));
        let dccp = stage.flows(RECEIVER, flows, "", signals);
        let sent = sender.join().expect("the sender does not panic");
        let tcp = receiver.join().expect("the receiver does not panic");
        // Without a sender the receiver fails, too.
        sent?;
        let tcp = tcp?;
        Ok(dccp?.map(|dccp| Shares::of(dccp, tcp)))
    })
}

/// Reads what one connection sends for `time`; bits in a second, from the first octet on.
fn receive(namespace: &Path, tell: &mpsc::Sender<()>, time: Duration) -> Result<f64, ToolError> {
    netio::namespace::enter(namespace).map_err(|error| ToolError::Failed(error.to_string()))?;
    let cannot = |error| ToolError::Failed(format!("cannot receive TCP: {error}"));
    let listener = TcpListener::bind((RECEIVER, TCP_PORT)).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    tell.send(()).ok();
    let until = Instant::now() + PATIENCE;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                thread::park_timeout(Duration::from_millis(1));
            }
            Err(error) => return Err(cannot(error)),
        }
    };
    stream.set_nonblocking(false).map_err(cannot)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    let (mut begun, mut bytes) = (None, 0);
    loop {
        let read = stream.read(&mut buffer).map_err(cannot)?;
        let since = *begun.get_or_insert_with(Instant::now);
        // What comes later was queued: it is not of the time.
        if read == 0 || since.elapsed() >= time {
            let seconds = since.elapsed().min(time).as_secs_f64();
            return Ok(if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 });
        }
        bytes += read as u64;
    }
}

/// Sends for `time` as fast as TCP takes it.
fn send(namespace: &Path, time: Duration) -> Result<(), ToolError> {
    netio::namespace::enter(namespace).map_err(|error| ToolError::Failed(error.to_string()))?;
    let cannot = |error| ToolError::Failed(format!("cannot send TCP: {error}"));
    let mut stream = TcpStream::connect((RECEIVER, TCP_PORT)).map_err(cannot)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(cannot)?;
    let chunk = vec![0x5a; CHUNK_BYTES];
    let until = Instant::now() + time;
    while Instant::now() < until {
        match stream.write(&chunk) {
            Ok(_) => {}
            // The receiver has read for as long as it was to.
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
            {
                return Ok(());
            }
            Err(error) => return Err(cannot(error)),
        }
    }
    stream.shutdown(Shutdown::Write).ok();
    Ok(())
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
        assert!(Shares::of(vec![6e6, 7e6], 5e6).is_fair());
        assert!(!Shares::of(vec![2e6, 8e6], 5e6).is_fair());
        assert!(!Shares::of(vec![9e6, 9e6], 0.5e6).is_fair());
        assert!(!Shares::of(vec![0.2e6, 0.2e6], 18e6).is_fair());
        assert!(!Shares::of(vec![0.0, 0.0], 0.0).is_fair());
    }
}
