//! Flags of `godwit dns load`.

use std::env;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use base::time::NS_PER_S;
use base::{ToolError, ToolResult};
use load::{ExchangeTimeLimits, LoadRate, LoadShape, LoadShapeArg, replay};
use netio::signal::Signals;
use netio::{FrameRoute, ScopedAddress, interface, neighbor, resolve, scoped, stderr, stdout};

use crate::capture::{self, DNS_PORT};
use crate::cookie;
use crate::edns::EdnsOption;
use crate::fell_short;
use crate::metrics;
use crate::query_selection::{QuerySelectionArgs, SelectedQueries};
use crate::record::DnsLoadReport;
use crate::run::run;
use crate::search::{DnsSearchTrial, SearchOutcome, search};
use crate::settings::{DnsLoadSettings, Transport};
use crate::silence;

/// Flags of `godwit dns load`.
#[derive(Debug, clap::Args)]
pub struct DnsLoadArgs {
    /// Server to load: an address or the name of a host, with a port or without
    #[arg(long, short = 's', value_name = "HOST[:PORT]")]
    server: String,
    /// Port of the DNS server, where --server has none
    #[arg(long, short = 'p', value_name = "PORT", default_value_t = DNS_PORT)]
    port: u16,
    /// Rate of the load: queries per second of all threads together [default: search for the
    /// highest rate; a replay keeps its times]
    #[arg(long, short = 'Q', value_name = "N", value_parser = parse_rate)]
    rate: Option<LoadRate>,
    /// Instead of a rate: number of queries in flight; each answer triggers the next query, as in
    /// dnsperf (closed loop: a slow server gets fewer queries)
    #[arg(long, short = 'q', value_name = "N", conflicts_with_all = ["rate", "shape", "replay_times"])]
    outstanding: Option<u64>,
    /// Seconds during which queries come due [default: 10; with -n until done; a replay: all of it;
    /// each run of a search: 2]
    #[arg(long, short = 'l', value_name = "S", value_parser = parse_seconds)]
    duration: Option<u64>,
    /// End the run after this many passes through the queries; needs -Q, -q or a replay
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    #[command(flatten)]
    asking: QuerySelectionArgs,
    /// Send over TCP only: --ports is the number of connections, each with many queries in flight
    #[arg(long, conflicts_with_all = ["segmentation", "mode"])]
    tcp: bool,
    /// Transport of queries: udp, or tcp as with --tcp
    #[arg(long, short = 'm', value_name = "MODE", value_parser = parse_mode)]
    mode: Option<DnsTransportMode>,
    /// Repeat a query over TCP if its answer has TC set; latency counts from the first due time
    #[arg(long, conflicts_with = "tcp")]
    tc_fallback: bool,
    /// Number of source ports, or connections, of all threads together; each sends 16 queries in
    /// succession, then the next one follows
    #[arg(long, short = 'c', value_name = "N", default_value_t = 16)]
    ports: u32,
    /// Queries per connection, after which a new connection replaces it, as dnsperf's `-O
    /// num-queries-per-conn=N`; the old one closes when its answers have arrived or are given up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    queries_per_connection: Option<u32>,
    /// Local address that queries leave from
    #[arg(long, short = 'a', value_name = "ADDRESS")]
    local: Option<ScopedAddress>,
    /// Seed of the queries' identifiers and of the gaps of --shape poisson
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Spacing of queries: even, poisson, burst:N (N at a time), ramp:P%..P% (percentages of the
    /// rate, from beginning to end), steps:P%,P%... (equal parts of the run), replay:FILE (times of
    /// a capture); needs -Q, except even and replay
    #[arg(long, value_name = "SHAPE", default_value_t, value_parser = LoadShapeArg::parse, alias = "arrivals")]
    shape: LoadShapeArg,
    /// Seconds after its due time by which a query must be answered
    #[arg(long, short = 't', value_name = "S", default_value = "1", value_parser = parse_seconds)]
    deadline_s: u64,
    /// Seconds after its deadline for which a query is watched, to distinguish late from lost; the
    /// run ends earlier when no query is open
    #[arg(long, value_name = "S", default_value = "1", value_parser = parse_seconds)]
    drain_s: u64,
    /// After the last query, keep listening for duplicate answers until S seconds pass without
    /// traffic
    #[arg(long, value_name = "S", default_value = "0.05", value_parser = parse_seconds)]
    linger_s: u64,
    /// Number of generator threads, each with its own source ports
    #[arg(long, short = 'T', value_name = "N", default_value_t = 1)]
    threads: u32,
    /// Processors to bind the generator's threads to, in turn
    #[arg(long, value_name = "N,N...", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Send queries of equal size from one port in groups (UDP_SEGMENT)
    #[arg(long)]
    segmentation: bool,
    /// Read answers from a packet ring of this interface and send queries as its frames by AF_XDP,
    /// which saves the processor time of the kernel's UDP (needs CAP_NET_RAW); with --segmentation
    /// queries leave by UDP sockets
    #[arg(long, value_name = "NAME", conflicts_with = "tcp")]
    interface: Option<String>,
    /// With --interface: hardware address of the server, or of the router to it [default: from the
    /// kernel's ARP table]
    #[arg(long, value_name = "MAC", value_parser = neighbor::parse_mac, requires = "interface")]
    server_mac: Option<[u8; 6]>,
    /// Also record counts of queries and answers per interval of S seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    timeline_s: Option<u64>,
    /// Start when this machine's monotonic clock reaches N nanoseconds, to synchronize several
    /// generators; a generator that is not ready by then sends its first queries late
    #[arg(long, value_name = "N")]
    begin_at_ns: Option<u64>,
    /// Exit with status 3 if more than this percentage of queries was not answered in time
    #[arg(long, value_name = "PERCENT")]
    max_loss: Option<f64>,
    /// Write the record as JSON to FILE (`-`: standard output, instead of the summary)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the results of the run to FILE in DNS-OARC's schema "DNS metrics", one object per
    /// line; with --timeline-s also per interval
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
}

/// Transport of queries that `-m` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DnsTransportMode {
    /// Transport by UDP datagrams.
    Udp,
    /// Transport by TCP connections.
    Tcp,
}

/// Parses the value of `-m`; for dnsperf's transports that are not supported, the error names the
/// ones to use instead.
pub(crate) fn parse_mode(text: &str) -> Result<DnsTransportMode, String> {
    match text {
        "udp" => Ok(DnsTransportMode::Udp),
        "tcp" => Ok(DnsTransportMode::Tcp),
        "dot" | "tls" => Err("DNS over TLS is not supported: use -m tcp or -m udp".into()),
        "doh" => Err("DNS over HTTPS is not supported: use -m tcp or -m udp".into()),
        _ => Err("must be udp or tcp".into()),
    }
}

/// Rate of a run for which the flags give none, in queries per second: of a run that limits the
/// queries in flight, or of the first run of a search.
const ANY_PER_S: f64 = 1_000.0;
/// Length of each run of a search, in nanoseconds.
const TRIAL_NS: u64 = 2 * NS_PER_S;
/// Largest length of a run that ends after a number of queries, in nanoseconds.
pub(crate) const UNLIMITED_NS: u64 = 1_000_000 * NS_PER_S;

pub(crate) fn parse_rate(text: &str) -> Result<LoadRate, String> {
    let rate = text.parse().ok().and_then(LoadRate::per_second);
    rate.ok_or_else(|| "must be a number of queries per second from 0.001 to 10^9".into())
}

pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..1e9).contains(seconds));
    let ns = seconds.map(|seconds: f64| (seconds * NS_PER_S as f64) as u64);
    ns.ok_or_else(|| "must be a number of seconds".into())
}

impl DnsLoadArgs {
    /// Returns load shape and rate of a run against a server at `port`, from the flags and the
    /// times in `queries`.
    fn shape(&self, queries: &mut SelectedQueries, port: u16) -> ToolResult<(LoadShape, LoadRate)> {
        if let Some((file, times_ns)) = queries.times.take() {
            let replay = LoadShapeArg::Replay(file).with_rate(self.rate, |_| Ok(sorted(times_ns)));
            return replay
                .map_err(|problem| ToolError::Usage(format!("--replay-times: {problem}")));
        }
        let any = LoadRate::per_second(ANY_PER_S);
        let needs_any = self.rate.is_none() && !self.shape.is_replay();
        let times = |path: &str| {
            let file = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
            let recording = replay::times(&file, &[DNS_PORT, port], capture::is_query)?;
            if let Some(notice) = recording.notice(path) {
                stderr::print_line(notice);
            }
            Ok(recording.times_ns)
        };
        let shaped = self.shape.with_rate(if needs_any { any } else { self.rate }, times);
        shaped.map_err(|problem| ToolError::Usage(format!("--shape {problem}")))
    }

    fn server(&self) -> ToolResult<SocketAddr> {
        let is_usable =
            |ip: IpAddr| self.local.is_none_or(|own| own.address.is_ipv4() == ip.is_ipv4());
        let endpoint = resolve::endpoint(&self.server, Some(self.port), is_usable);
        let of_interface = || {
            let name = self.interface.as_deref()?;
            interface::named(name).ok().map(|interface| interface.index)
        };
        let of_local = self.local.map(|local| local.scope).filter(|&scope| scope > 0);
        let scope = of_local.or_else(of_interface).unwrap_or(0);
        endpoint
            .and_then(|server| scoped::with_scope(server, scope))
            .map_err(|why| ToolError::Usage(format!("--server {why}")))
    }

    /// Returns the source address of queries (`--local`) without its interface, which is that of
    /// the server's address; `None` without the flag.
    fn own_ip(&self) -> Option<IpAddr> {
        self.local.map(|local| local.address)
    }

    /// Returns true if the flags make the command search for the highest rate.
    fn is_search(&self) -> bool {
        let is_replay = self.shape.is_replay() || self.asking.has_times();
        self.rate.is_none() && self.outstanding.is_none() && !is_replay
    }

    /// Refuses flags that a search for the highest rate has no use for.
    fn check_rate(&self) -> ToolResult<()> {
        if !self.is_search() {
            return Ok(());
        }
        if self.shape != LoadShapeArg::Shape(LoadShape::Even) {
            return Err(ToolError::usage("--shape needs the rate -Q"));
        }
        if self.runs.is_some() {
            return Err(ToolError::usage("-n needs the rate -Q, or -q"));
        }
        Ok(())
    }

    fn settings(&self) -> ToolResult<DnsLoadSettings> {
        let server = self.server()?;
        self.check_rate()?;
        let mut queries = self.asking.select(server.port(), || self.cookie(server))?;
        let (shape, rate) = self.shape(&mut queries, server.port())?;
        let count = self.runs.map(|runs| u64::from(runs) * queries.workload.len() as u64);
        let whole_ns = match (shape.length_ns(), count) {
            (Some(length_ns), _) => length_ns,
            (None, Some(_)) => UNLIMITED_NS,
            (None, None) if self.is_search() => TRIAL_NS,
            (None, None) => 10 * NS_PER_S,
        };
        Ok(DnsLoadSettings {
            local: self.own_ip(),
            zone_like: queries.zone_like,
            transport: if self.tcp || self.mode == Some(DnsTransportMode::Tcp) {
                Transport::Tcp
            } else {
                Transport::Udp { tc_fallback: self.tc_fallback }
            },
            answer_bytes: queries.answer_bytes.into(),
            shape,
            window: self.outstanding,
            count,
            duration_ns: self.duration.unwrap_or(whole_ns),
            limits: ExchangeTimeLimits { deadline_ns: self.deadline_s, grace_ns: self.drain_s },
            linger_ns: self.linger_s,
            seed: self.seed,
            threads: self.threads,
            ports: self.ports,
            queries_per_connection: self.queries_per_connection,
            cpus: self.cpus.clone(),
            segmentation: self.segmentation,
            frames: self.frames(server)?,
            timeline_ns: self.timeline_s,
            begin_at_ns: self.begin_at_ns,
            ..DnsLoadSettings::new(server, queries.workload, rate)
        })
    }

    /// Returns the cookie for the queries (RFC 7873), if the flags ask for one; requests the
    /// server's part from `server`.
    fn cookie(&self, server: SocketAddr) -> ToolResult<Option<EdnsOption>> {
        if !self.asking.has_cookie() {
            return Ok(None);
        }
        let learnt = cookie::learn(server, self.own_ip(), self.seed)
            .map_err(ToolError::cannot("get a server cookie from", server))?;
        if !learnt.is_whole {
            stderr::print_line(format_args!(
                "dns load: {server} sent no server cookie; queries carry the client cookie only"
            ));
        }
        Ok(Some(learnt.option))
    }

    /// Returns the route of frames to `server`, if queries leave as frames of an interface
    /// (AF_XDP).
    fn frames(&self, server: SocketAddr) -> ToolResult<Option<FrameRoute>> {
        let Some(interface) = &self.interface else { return Ok(None) };
        let route = FrameRoute::to(server, interface, self.server_mac, self.own_ip())?;
        route.map(Some).ok_or_else(|| ToolError::Usage(neighbor::unknown(server.ip())))
    }

    /// Runs the load, prints its result and returns the exit code.
    pub(crate) fn run(&self) -> ExitCode {
        stderr::exit_code_with_errors(self.try_run())
    }

    fn try_run(&self) -> ToolResult<ExitCode> {
        let settings = self.settings()?;
        let signals = Signals::for_command()?;
        if self.is_search() {
            return self.search(&settings, signals);
        }
        let report = run(&settings, signals.stop())?;
        self.print(&report)?;
        let loss_percent = 100.0 * report.load.exchanges.loss();
        Ok(if signals.stopped_by().is_some() {
            ExitCode::from(130)
        } else if let Some(silence) = silence::describe(&settings, &report) {
            fell_short(&silence)
        } else if self.max_loss.is_some_and(|limit| loss_percent > limit) {
            ExitCode::from(3)
        } else {
            ExitCode::SUCCESS
        })
    }

    fn search(&self, settings: &DnsLoadSettings, signals: Signals) -> ToolResult<ExitCode> {
        stderr::print_line(format_args!(
            "no rate given (-Q): searching for the highest rate that {} answers",
            settings.server
        ));
        let tell = |trial: &DnsSearchTrial| stderr::print_line(trial.line());
        let SearchOutcome { trial, is_limited_here } = search(settings, signals.stop(), tell)?;
        self.print(&trial.report)?;
        if signals.stopped_by().is_some() {
            return Ok(ExitCode::from(130));
        }
        if let Some(silence) = silence::describe(&trial.settings, &trial.report) {
            return Ok(fell_short(&silence));
        }
        if !trial.holds() {
            return Ok(fell_short(
                "found no rate at which the server answers 97.5 % of the queries in time",
            ));
        }
        let rate = trial.settings.rate.as_per_second();
        let limit =
            if is_limited_here { ", the limit of this generator, not of the server" } else { "" };
        stderr::print_line(format_args!("highest rate: {rate:.0} queries/s{limit}"));
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, report: &DnsLoadReport) -> ToolResult<()> {
        if let Some(path) = &self.metrics {
            let words: Vec<_> =
                env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            fs::write(path, metrics::lines(report, &words))
                .map_err(ToolError::cannot("write", path.display()))?;
        }
        let json = || serde_json::to_string(report).expect("a report is plain data");
        stdout::print_or_write(self.json.as_deref(), json, &report.to_string(), load::highlight)
    }
}

/// Sorts times of captured queries in ascending order: a capture of several interfaces may have
/// them in another order.
fn sorted(mut times_ns: Vec<u64>) -> Vec<u64> {
    times_ns.sort_unstable();
    times_ns
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use testkit::TempFolder;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct DnsLoadCommandLine {
        #[command(flatten)]
        args: DnsLoadArgs,
    }

    /// Returns the settings of `dns load` with these words, or the message and the exit code.
    fn settings(words: &[&str]) -> ToolResult<DnsLoadSettings> {
        let words = ["load", "-s", "127.0.0.1:9053"].iter().chain(words);
        DnsLoadCommandLine::try_parse_from(words).unwrap().args.settings()
    }

    #[test]
    fn a_search_has_an_even_shape_and_no_number_of_queries() {
        assert_eq!(settings(&[]).unwrap().duration_ns, TRIAL_NS);
        for (words, why) in [
            (&["--shape", "poisson"][..], "--shape needs the rate -Q"),
            (&["--shape", "ramp:0%..100%", "-l", "1"], "--shape needs the rate -Q"),
            (&["-n", "5"], "-n needs the rate -Q, or -q"),
        ] {
            assert_eq!(settings(words).unwrap_err(), ToolError::usage(why), "{words:?}");
        }
        for words in [&["--shape", "poisson", "-Q", "5"][..], &["-n", "5", "-Q", "5"]] {
            assert_eq!(settings(words).unwrap().rate, LoadRate::per_second(5.0).unwrap());
        }
        assert_eq!(settings(&["-n", "5", "-q", "3"]).unwrap().count, Some(5));
    }

    #[test]
    fn a_capture_is_asked_unchanged_at_both_ports_and_replayed_from_both() {
        let folder = TempFolder::new("dns-load-args");
        let file = folder.path().join("queries.pcap");
        let query = capture::tests::query(b"");
        let packets =
            [(1, false, 9_053, &query[..]), (2, false, 53, &query), (3, false, 54, &query)];
        fs::write(&file, capture::tests::capture(&packets)).unwrap();
        let path = file.to_str().unwrap();
        let replayed = settings(&["--shape", &format!("replay:{path}")]).unwrap();
        assert_eq!(replayed.shape, LoadShape::replay(&[1, 2]).unwrap());
        assert_eq!(settings(&["-d", path]).unwrap().workload.len(), 2);
        // The source address is not this machine's: a request for a cookie fails otherwise.
        for flag in
            ["--edns=0", "--edns=512", "--dnssec", "--padding=9", "--no-recursion", "--cookie"]
        {
            let name = flag.split('=').next().unwrap();
            let why = format!("{name}: queries of a capture are sent unchanged");
            let refused = settings(&["-a", "192.0.2.1", "-d", path, flag]).unwrap_err();
            assert_eq!(refused, ToolError::Usage(why));
        }
    }
}
