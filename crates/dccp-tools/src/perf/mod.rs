//! Command `godwit dccp perf`: throughput between two programs, in the manner of iperf.
//!
//! `message` has the messages between them, `figures` the counted figures, `outgoing` and `flow`
//! one connection, `session` the loop of both sides, `client` one side, `search` many of its runs,
//! `kernel` both sides over the kernel's DCCP, `report` the output, `udp` the same without DCCP.

mod client;
mod conduit;
mod figures;
mod flow;
mod kernel;
mod message;
mod outgoing;
mod report;
mod search;
mod session;
mod udp;

use std::path::PathBuf;
use std::time::Duration;

use base::{ToolError, ToolResult};
use dccp_link::{CarrierOptions, ConnectionConfig, Driver, EndpointLimits, ScopedAddress};

use crate::debug::Observer;
use crate::options::{CarrierArg, LinkArgs};
use crate::outcome::{DccpCommandOutcome, print_text};
use crate::probe::ProbeRecorder;
use crate::units::{
    UnitFormat, parse_amount, parse_length, parse_rate, parse_sample_interval, parse_seconds,
};
use flow::FlowRequest;
use message::TransferParameters;
use report::{FlowEnd, PerfOutput};
use session::PerfSession;

/// Default length of a datagram in bytes: with all headers it fills a frame of 1,500 bytes over
/// IPv4.
pub(crate) const DATAGRAM_BYTES: usize = 1_424;
/// Least share of the rate requested with `-b` that counts as reached.
const SHARE_ENOUGH: f64 = 0.95;
/// Duration limit in milliseconds of a measurement that ends after a number of bytes.
const UNLIMITED_MS: u64 = 1_000_000_000;
/// Default length of the send queue in datagrams; `--set tx_qlen` changes it.
const QUEUE_LEN: usize = 64;

/// Measure throughput over DCCP with a server (-s) and a client (-c), like iperf.
///
/// The client sends for some seconds, as fast as congestion control allows or at a rate (-b). The
/// server counts the datagrams that it reads and reports them to the client at the end. A rate is
/// application data that the receiver read, divided by the receiver's time. As in iperf, amounts
/// are in powers of 1024 and rates in powers of 1000.
///
/// Exit codes: 0 done; 1 failed, for instance because nothing listens; 2 bad arguments; 3 less than
/// 95 % of the requested rate, or nothing at all, was received (with --plain: sent), or a search
/// found no rate; 130 interrupted (also the usual end of a server without --one-off).
#[derive(Clone, Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("side").required(true).args(["server", "client", "version"])))]
pub struct DccpPerfArgs {
    /// Run as the server
    #[arg(short = 's', long)]
    server: bool,
    /// Run as a client of the server HOST
    #[arg(short = 'c', long, value_name = "HOST")]
    client: Option<String>,
    /// Seconds for which the sender sends
    #[arg(short = 't', long, value_name = "S", default_value = "10", value_parser = parse_seconds)]
    time: Duration,
    /// Send this many bytes of data, like 10M, instead of for -t seconds
    #[arg(short = 'n', long = "num", value_name = "BYTES", value_parser = parse_amount, conflicts_with_all = ["search", "udp"])]
    octets: Option<u64>,
    /// Length of a datagram in bytes, also like 1K [default: 1424, or what the path allows]
    #[arg(short = 'l', long, alias = "length", value_name = "BYTES", value_parser = parse_length)]
    len: Option<u16>,
    /// Local address to send from (client), or at which to accept connections (server)
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<ScopedAddress>,
    /// Unit of amounts and rates: b, k, m or g for bits, B, K, M or G for bytes, a to choose
    /// automatically
    #[arg(short = 'f', long, value_name = "LETTER", default_value = "a")]
    format: UnitFormat,
    /// Constant bit rate, like 12m [default: as fast as possible]
    #[arg(short = 'b', long, alias = "bitrate", value_name = "RATE", value_parser = parse_rate)]
    bandwidth: Option<u64>,
    /// Seconds between report lines; 0 for none
    #[arg(short = 'i', long, value_name = "S", default_value = "1", value_parser = parse_interval)]
    interval: Duration,
    /// Number of parallel connections
    #[arg(short = 'P', long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    parallel: u32,
    /// Let the server send and the client receive
    #[arg(short = 'R', long)]
    reverse: bool,
    /// Send in both directions at once
    #[arg(long, conflicts_with = "reverse")]
    bidir: bool,
    /// Accepted for iperf command lines, where it selects DCCP; no effect
    #[arg(short = 'd', long = "dccp")]
    _dccp: bool,
    /// Use plain UDP instead of DCCP, in the same batches, to compare. Both sides need it
    #[arg(short = 'u', long, conflicts_with_all = [
        "ccid", "tx_ccid", "rx_ccid", "service_code",
        "cscov", "connect_timeout", "parameters", "carrier", "_dccp", "probe", "debug",
    ])]
    udp: bool,
    /// Search for the highest constant rate: double -b (default 1m) until more than --loss is
    /// missing, then bisect; each step takes -t. The server must not use --one-off
    #[arg(long, requires = "client", conflicts_with_all = ["server", "udp", "plain", "probe"])]
    search: bool,
    /// With --search: highest percentage of a step's datagrams that may be lost, or due and never
    /// sent
    #[arg(long, value_name = "PERCENT", default_value = "1", requires = "search", value_parser = parse_percent)]
    loss: f64,
    /// Exchange no control messages, so that the other end may be another program: a client sends
    /// and closes, a server counts the datagrams of any sender and answers none
    #[arg(long, conflicts_with_all = ["udp", "reverse", "bidir"])]
    plain: bool,
    /// End the server as soon as all its connections have ended
    #[arg(short = '1', long)]
    one_off: bool,
    /// Write samples of congestion control for the data that this side sends to FILE, for `godwit
    /// dccp probe`: the columns of Linux's `dccp_probe`, then additional ones
    #[arg(long, value_name = "FILE")]
    probe: Option<PathBuf>,
    /// Seconds between two samples of --probe
    #[arg(long, value_name = "S", default_value = "0.01", requires = "probe", value_parser = parse_sample_interval)]
    probe_interval: Duration,
    /// Print one JSON document at the end (a server: whenever all connections have ended)
    #[arg(long, visible_short_alias = 'J')]
    json: bool,
    /// Print the version
    #[arg(short = 'v', long, exclusive = true)]
    version: bool,
    /// Accepted for iperf command lines (-V); no effect
    #[arg(short = 'V', long = "verbose", hide = true)]
    _verbose: bool,
    /// Accepted for iperf command lines (-e); no effect
    #[arg(short = 'e', long = "enhanced", alias = "enhancedreports", hide = true)]
    _enhanced: bool,
    /// Accepted for iperf command lines; both sides are always shown
    #[arg(long = "get-server-output", hide = true)]
    _both_sides: bool,
    /// Accepted for iperf command lines; each line is written at once
    #[arg(long = "forceflush", hide = true)]
    _flushes: bool,
    // Last, because its heading holds for all flags after it.
    #[command(flatten)]
    link: LinkArgs,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { parse_seconds(text) }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..100.0).contains(share));
    share.ok_or_else(|| format!("invalid percentage {text}: must be at least 0 and below 100"))
}

/// Runs `godwit dccp perf` as the side that the flags name.
///
/// # Errors
///
/// Returns the error that made it impossible.
pub fn run(args: &DccpPerfArgs) -> ToolResult<DccpCommandOutcome> {
    if args.version {
        let version = env!("CARGO_PKG_VERSION");
        print_text(&format!("godwit perf {version}; takes command lines of iperf 2 and 3\n"))?;
        return Ok(DccpCommandOutcome::Done);
    }
    if args.udp {
        args.check_udp()?;
        return match &args.client {
            Some(host) => udp::send(args, host),
            None => udp::serve(args),
        };
    }
    let mut config = args.link.config()?;
    if args.link.carrier() == CarrierArg::Kernel {
        if args.bind.is_some() {
            let problem = "-B: not with --carrier kernel, because the kernel chooses the local \
                           address of its DCCP sockets";
            return Err(ToolError::Usage(problem.to_owned()));
        }
        return kernel::run(args, &config);
    }
    if !args.link.sets("tx_qlen") {
        config.send_queue_len = QUEUE_LEN;
    }
    match &args.client {
        Some(host) if args.search => search::run(args, host, &config),
        Some(host) => client::run(args, host, &config),
        None => run_server(args, &config),
    }
}

impl DccpPerfArgs {
    /// Checks the flags with plain UDP, and names alternatives to those that it does not support.
    fn check_udp(&self) -> ToolResult<()> {
        let instead = if self.bandwidth.is_some() {
            "-u with -b: plain UDP is always sent as fast as possible; leave -u out to send DCCP \
             at this rate, or leave -b out"
        } else if self.reverse || self.bidir {
            "-u with -R or --bidir: plain UDP is sent in one direction only; leave -u out, or run \
             the command twice with the sides exchanged"
        } else if self.parallel > 1 {
            "-u with -P: plain UDP has one flow; leave -P out, or start the command several times \
             with different ports (--udp-port)"
        } else {
            return Ok(());
        };
        Err(ToolError::Usage(instead.to_owned()))
    }

    fn output(&self, role: &'static str) -> PerfOutput {
        let carrier = if self.udp {
            "none, plain UDP".to_owned()
        } else {
            self.link.carrier().name().to_owned()
        };
        let service_code = self.link.service_code.to_string();
        let mut output = PerfOutput::new(self.json, role, carrier, service_code);
        output.format = self.format;
        output
    }

    /// Returns the carrier options with the local address of -B.
    fn bound(&self, options: CarrierOptions) -> CarrierOptions {
        match self.bind {
            Some(ScopedAddress { address, scope }) => {
                CarrierOptions { addresses: vec![address], scope, ..options }
            }
            None => options,
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.interval).filter(|interval| !interval.is_zero())
    }

    fn recorder(&self) -> ToolResult<Option<ProbeRecorder>> {
        let create = |path: &PathBuf| ProbeRecorder::create(path, self.probe_interval);
        self.probe.as_ref().map(create).transpose()
    }

    /// Returns the transfer parameters that the flags give a sender.
    fn transfer_parameters(&self) -> TransferParameters {
        TransferParameters {
            datagram_bytes: self.len.map_or(DATAGRAM_BYTES, usize::from),
            // A number of bytes has no time limit of its own.
            duration_ms: match self.octets {
                Some(_) => UNLIMITED_MS,
                None => self.time.as_millis() as u64,
            },
            octets: self.octets,
            bits_per_s: self.bandwidth,
            settling_ms: 0,
        }
    }

    fn flow_request(&self) -> FlowRequest {
        self.flow_request_with(self.transfer_parameters())
    }

    /// Returns the request that the flags describe: which ends send with these parameters.
    fn flow_request_with(&self, order: TransferParameters) -> FlowRequest {
        FlowRequest {
            forward: (!self.reverse).then_some(order),
            reverse: (self.reverse || self.bidir).then_some(order),
        }
    }

    /// Returns the length of a datagram in bits.
    fn datagram_bits(&self) -> f64 {
        self.transfer_parameters().datagram_bytes.max(1) as f64 * 8.0
    }
}

fn run_server(args: &DccpPerfArgs, config: &ConnectionConfig) -> ToolResult<DccpCommandOutcome> {
    let recorder = args.recorder()?;
    let mut driver =
        Driver::open(&args.bound(args.link.server_carrier()?), EndpointLimits::default())?;
    driver.listen(args.link.port, config, vec![config.service_code]);
    let mut session = PerfSession::new(driver, args.output("server"), args.interval(), false)?;
    session.recorder = recorder;
    session.is_plain = args.plain;
    session.observer = Observer::new(&args.link.debug);
    let describe_ports = format!("Server listening on {}", args.link.describe_ports());
    session.output.line(&describe_ports)?;
    if args.json {
        netio::stderr::print_line(&describe_ports);
    }
    let mut ended: Vec<FlowEnd> = Vec::new();
    loop {
        session.turn()?;
        let is_interrupted = session.is_interrupted();
        if is_interrupted {
            session.abort_all();
        }
        ended.extend(session.take_ended());
        if is_interrupted && ended.is_empty() {
            return Ok(DccpCommandOutcome::Interrupted);
        }
        if !ended.is_empty() && session.flows_count() == 0 {
            ended.sort_by_key(|flow| flow.flow);
            session.output.summary(&ended)?;
            ended.clear();
            if is_interrupted {
                return Ok(DccpCommandOutcome::Interrupted);
            }
            if args.one_off {
                return Ok(DccpCommandOutcome::Done);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn long_names_of_iperf_and_its_version_are_read() {
        let parsed = |line: &str| {
            let command = DccpPerfArgs::augment_args(clap::Command::new("perf"));
            let matches = command.try_get_matches_from(line.split(' ')).expect(line);
            DccpPerfArgs::from_arg_matches(&matches).expect(line)
        };
        for line in ["perf -v", "perf --version"] {
            assert!(parsed(line).version, "{line}");
        }
        let args = parsed("perf -c host --length 1K --enhancedreports --verbose");
        assert_eq!((args.len, args.version), (Some(1_024), false));
    }
}
