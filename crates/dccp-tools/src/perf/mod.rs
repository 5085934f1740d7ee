//! `godwit dccp perf`: throughput between two programs, in the manner of iperf.
//!
//! `message` is what they tell each other, `figures` what is counted, `outgoing` and `flow` one connection,
//! `session` the loop of both sides, `report` what is shown, `udp` the same without DCCP.

mod figures;
mod flow;
mod message;
mod outgoing;
mod report;
mod session;
mod udp;

use std::path::PathBuf;
use std::time::Duration;

use dccp_link::{Config, Driver, Limits, LinkError, Peer};

use crate::options::LinkArgs;
use crate::probe::Recorder;
use crate::units::{parse_rate, parse_sample_interval, parse_seconds};
use crate::{Outcome, ToolError};
use flow::Wish;
use message::Order;
use report::{FlowEnd, Output};
use session::{Failure, Session};

/// Octets of a datagram unless asked otherwise: with all headers a frame of 1,500 over IPv4.
const DATAGRAM_BYTES: usize = 1_424;
/// With a rate asked for, less than this share of it has fallen short.
const SHARE_ENOUGH: f64 = 0.95;
/// Queues of data as fast as it goes; `--set tx_qlen` says otherwise.
const QUEUE_LEN: usize = 64;

/// Measure throughput over DCCP: a server (-s) and a client (-c), as iperf does
///
/// The client sends for some seconds, as fast as congestion control lets it or at a rate (-b); the server
/// counts the datagrams that it reads and tells the client at the end. A rate is application data that
/// the receiver read, over its own time. As in iperf, amounts are in powers of 1024 and rates in powers
/// of 1000.
///
/// Exit codes: 0 done; 1 failed, for instance nobody listens; 2 bad arguments; 3 less than 95 % of the
/// rate asked for, or nothing at all, was received; 130 interrupted (a server too, which ends no other
/// way without --one-off).
#[derive(Clone, Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("side").required(true).args(["server", "client"])))]
pub struct Args {
    /// Be the server
    #[arg(short = 's', long)]
    server: bool,
    /// Be a client of this server
    #[arg(short = 'c', long, value_name = "HOST")]
    client: Option<String>,
    #[command(flatten)]
    link: LinkArgs,
    /// Seconds to send
    #[arg(short = 't', long, value_name = "S", default_value = "10", value_parser = parse_seconds)]
    time: Duration,
    /// Octets of a datagram [default: 1424, or what the path takes]
    #[arg(short = 'l', long, value_name = "OCTETS", value_parser = clap::value_parser!(u16))]
    len: Option<u16>,
    /// Constant bit rate, like 12m; as fast as it goes without
    #[arg(short = 'b', long, value_name = "RATE", value_parser = parse_rate)]
    bandwidth: Option<u64>,
    /// Seconds between lines; 0 for none
    #[arg(short = 'i', long, value_name = "S", default_value = "1", value_parser = parse_interval)]
    interval: Duration,
    /// Connections at once
    #[arg(short = 'P', long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    parallel: u32,
    /// The server sends
    #[arg(short = 'R', long)]
    reverse: bool,
    /// Both send at once
    #[arg(long, conflicts_with = "reverse")]
    bidir: bool,
    /// Use DCCP, which is always so here; for command lines of iperf with DCCP
    #[arg(short = 'd', long = "dccp")]
    _dccp: bool,
    /// Send plain UDP instead, in the same batches, as fast as it goes: what DCCP's figures are a
    /// share of. Both sides need it
    #[arg(short = 'u', long, conflicts_with_all = [
        "bandwidth", "parallel", "reverse", "bidir", "ccid", "tx_ccid", "rx_ccid", "service_code",
        "cscov", "connect_timeout", "parameters", "carrier", "_dccp", "probe",
    ])]
    udp: bool,
    /// End a server when the connections of one client have ended
    #[arg(short = '1', long)]
    one_off: bool,
    /// Write what congestion control knows of the data that this side sends to a file, for
    /// `godwit dccp probe`: the columns of Linux's `dccp_probe`, then ours
    #[arg(long, value_name = "FILE")]
    probe: Option<PathBuf>,
    /// Seconds between two lines of --probe
    #[arg(long, value_name = "S", default_value = "0.01", requires = "probe", value_parser = parse_sample_interval)]
    probe_interval: Duration,
    /// Print one JSON document at the end, of a server one for each time that all connections have ended
    #[arg(long)]
    json: bool,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { parse_seconds(text) }
}

/// Does what the flags ask for.
///
/// # Errors
///
/// What made it impossible.
pub fn run(args: &Args) -> Result<Outcome, ToolError> {
    if args.udp {
        return match &args.client {
            Some(host) => udp::send(args, host),
            None => udp::serve(args),
        };
    }
    let mut config = args.link.config()?;
    if config.send_queue_len == Config::default().send_queue_len && !sets_queue(&args.link) {
        config.send_queue_len = QUEUE_LEN;
    }
    match &args.client {
        Some(host) => run_client(args, host, &config),
        None => run_server(args, &config),
    }
}

fn sets_queue(link: &LinkArgs) -> bool {
    link.parameters.iter().any(|parameter| parameter.starts_with("tx_qlen="))
}

impl Args {
    fn output(&self, role: &'static str) -> Output {
        let carrier = match self.udp {
            true => "none, plain UDP".to_owned(),
            false => format!("{:?}", self.link.carrier).to_lowercase(),
        };
        Output::new(self.json, role, carrier, self.link.service_code.to_string())
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.interval).filter(|interval| !interval.is_zero())
    }

    fn recorder(&self) -> Result<Option<Recorder>, ToolError> {
        let create = |path: &PathBuf| Recorder::create(path, self.probe_interval);
        self.probe.as_ref().map(create).transpose()
    }

    fn wish(&self) -> Wish {
        let order = Order {
            datagram_bytes: self.len.map_or(DATAGRAM_BYTES, usize::from),
            duration_ms: self.time.as_millis() as u64,
            bits_per_s: self.bandwidth,
        };
        Wish {
            forward: (!self.reverse).then_some(order),
            reverse: (self.reverse || self.bidir).then_some(order),
        }
    }
}

fn run_server(args: &Args, config: &Config) -> Result<Outcome, ToolError> {
    let recorder = args.recorder()?;
    let mut driver = Driver::open(&args.link.server_carrier(), Limits::default())?;
    driver.listen(args.link.port, config, vec![config.service_code]);
    let mut session = Session::new(driver, args.output("server"), args.interval(), false)?;
    session.recorder = recorder;
    let door = format!("Server listening on {}", args.link.door());
    session.output.line(&door)?;
    if args.json {
        eprintln!("{door}");
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
            return Ok(Outcome::Interrupted);
        }
        if !ended.is_empty() && session.flows_count() == 0 {
            ended.sort_by_key(|flow| flow.flow);
            session.output.summary(&ended)?;
            ended.clear();
            if is_interrupted {
                return Ok(Outcome::Interrupted);
            }
            if args.one_off {
                return Ok(Outcome::Done);
            }
        }
    }
}

fn run_client(args: &Args, host: &str, config: &Config) -> Result<Outcome, ToolError> {
    let peer = args.link.peer(host)?;
    let recorder = args.recorder()?;
    let mut driver = Driver::open(&args.link.client_carrier(peer), Limits::default())?;
    let keys: Vec<_> = (0..args.parallel)
        .map(|_| driver.connect(peer, config, &[]))
        .collect::<Result<_, LinkError>>()?;
    check_length(args, &driver, &keys)?;
    let mut session = Session::new(driver, args.output("client"), args.interval(), true)?;
    session.recorder = recorder;
    session.output.line(&format!(
        "Connecting to {host} ({}), {}",
        peer.address,
        args.link.door()
    ))?;
    for key in keys {
        session.add(key, Some(args.wish()));
    }
    let mut ended = Vec::new();
    let mut is_interrupted = false;
    while session.flows_count() > 0 {
        session.turn()?;
        ended.extend(session.take_ended());
        if session.is_interrupted() && !is_interrupted {
            is_interrupted = true;
            session.end_now();
            if args.reverse || args.bidir {
                // The server would go on to send.
                session.abort_all();
                ended.extend(session.take_ended());
            }
        }
    }
    if let Some(&failure) = session.failures.first() {
        return Err(explain(failure, peer, args, config));
    }
    ended.sort_by_key(|flow| flow.flow);
    session.output.summary(&ended)?;
    if is_interrupted {
        return Ok(Outcome::Interrupted);
    }
    Ok(judge(args, &ended))
}

/// A length that was asked for must fit the path.
fn check_length(args: &Args, driver: &Driver, keys: &[dccp_link::Key]) -> Result<(), ToolError> {
    let max =
        keys.iter().filter_map(|key| driver.connection(key)).map(|c| c.data_bytes_max()).min();
    match (args.len, max) {
        (Some(len), Some(max)) if usize::from(len) > max => Err(ToolError::Usage(format!(
            "-l {len}: the path takes datagrams of at most {max} octets"
        ))),
        _ => Ok(()),
    }
}

fn explain(failure: Failure, peer: Peer, args: &Args, config: &Config) -> ToolError {
    match failure {
        Failure::Refused(reset) => LinkError::Refused { peer, reset }.into(),
        Failure::Unreachable(code) => {
            let cause = std::io::Error::from_raw_os_error(code);
            LinkError::Unreachable { peer, cause }.into()
        }
        Failure::Silent => {
            let seconds = config.connect_timeout_ns / 1_000_000_000;
            let door = args.link.door();
            let address = peer.address;
            ToolError::Failed(format!(
                "no answer from {address}, {door}, within {seconds} s; is `godwit dccp perf -s` there?"
            ))
        }
    }
}

fn judge(args: &Args, ended: &[FlowEnd]) -> Outcome {
    let directions = || ended.iter().flat_map(|flow| &flow.directions);
    let is_enough = |rate: f64| match args.bandwidth {
        Some(asked) => rate >= asked as f64 * SHARE_ENOUGH,
        None => rate > 0.0,
    };
    let has_all = directions().all(|direction| direction.bits_per_s.is_some_and(is_enough));
    let expected = ended.len() == args.parallel as usize && directions().count() > 0;
    let failed = ended.iter().any(|flow| flow.failure.is_some());
    if has_all && expected && !failed { Outcome::Done } else { Outcome::FellShort }
}
