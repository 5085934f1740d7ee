//! Command `dnsperf`, for links to this program with that name: dnsperf's letters and its output,
//! from runs with Godwit's counts.

use std::env;
use std::fmt::Write as _;
use std::iter;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::time::{NS_PER_S, seconds};
use base::{ToolError, ToolResult};
use load::{ExchangeTimeLimits, LoadRate};
use netio::signal::Signals;
use netio::{ScopedAddress, resolve, scoped, stderr, stdout};

use crate::args::{DnsTransportMode, UNLIMITED_NS, parse_mode, parse_rate, parse_seconds};
use crate::capture::DNS_PORT;
use crate::edns::{EdnsArgs, EdnsOption, parse_option};
use crate::fell_short;
use crate::query_selection::{self, QuerySelectionArgs};
use crate::record::DnsLoadReport;
use crate::run::run;
use crate::settings::{DnsLoadSettings, PORTS_PER_THREAD_MAX, Transport};
use crate::silence;
use crate::tcp::ConnectionCounts;

/// Version of dnsperf whose output this command prints.
const VERSION: &str = "2.10.0";
/// Largest number of lines about lost queries that one call prints, after the first.
const TIMEOUTS_AT_ONCE: usize = 1_000;

/// Switches of dnsperf's command line.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub struct DnsperfArgs {
    /// IP version for the server's name: inet, inet6 or any
    #[arg(short = 'f', value_name = "FAMILY", default_value = "any", value_parser = ["any", "inet", "inet6"])]
    family: String,
    /// Transport of all queries: udp or tcp
    #[arg(short = 'm', value_name = "MODE", default_value = "udp", value_parser = parse_mode)]
    mode: DnsTransportMode,
    /// Server to load: an address or the name of a host
    #[arg(short = 's', value_name = "HOST", default_value = "127.0.0.1")]
    server: String,
    /// Port of the DNS server
    #[arg(short = 'p', value_name = "PORT", default_value_t = DNS_PORT)]
    port: u16,
    /// Local address that queries leave from
    #[arg(short = 'a', value_name = "ADDRESS")]
    local: Option<ScopedAddress>,
    /// File of queries in dnsperf's format [default: standard input]
    #[arg(short = 'd', value_name = "FILE", default_value = "-", hide_default_value = true)]
    queries: PathBuf,
    /// Number of clients, each with its own port or connection
    #[arg(short = 'c', value_name = "N")]
    clients: Option<u32>,
    /// Number of generator threads
    #[arg(short = 'T', value_name = "N", default_value_t = 1)]
    threads: u32,
    /// Largest number of passes through the file of queries [default: 1, with -l any number]
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Largest number of seconds to run
    #[arg(short = 'l', value_name = "S", value_parser = parse_seconds)]
    duration: Option<u64>,
    /// Accepted without effect: the sizes of socket buffers follow from the rate
    #[arg(short = 'b', value_name = "KB")]
    buffer: Option<u32>,
    /// Seconds after which a query counts as lost
    #[arg(short = 't', value_name = "S", default_value = "5", value_parser = parse_seconds)]
    timeout: u64,
    /// Send queries with EDNS
    #[arg(short = 'e')]
    edns: bool,
    /// Add an EDNS option to queries by its number, with its data in hex; implies EDNS
    #[arg(short = 'E', value_name = "CODE:HEX", value_parser = parse_option)]
    edns_options: Vec<EdnsOption>,
    /// Request DNSSEC records (set the bit DO); implies EDNS
    #[arg(short = 'D')]
    dnssec: bool,
    /// Largest number of queries in flight; not with -Q, where queries leave when they are due
    #[arg(short = 'q', value_name = "N", default_value_t = 100)]
    outstanding: u64,
    /// Largest number of queries per second
    #[arg(short = 'Q', value_name = "N", value_parser = parse_rate)]
    rate: Option<LoadRate>,
    /// Print queries per second every N seconds
    #[arg(short = 'S', value_name = "N", value_parser = parse_seconds)]
    interval: Option<u64>,
    /// num-queries-per-conn=N: queries per connection, after which a new connection replaces it;
    /// suppress=timeout: leave out the lines of lost queries
    #[arg(short = 'O', value_name = "NAME=VALUE", value_parser = parse_long)]
    long: Vec<LongOption>,
    /// Read DNS messages from the file, each after its length in two bytes, and send them
    /// unchanged; answers and messages without a header are left out
    #[arg(short = 'B', conflicts_with_all = ["edns", "edns_options", "dnssec"])]
    is_binary: bool,
    /// Accepted without effect (verbose output of dnsperf)
    #[arg(short = 'v')]
    verbose: bool,
    /// Accepted without effect (warnings of dnsperf on standard output)
    #[arg(short = 'W')]
    to_stdout: bool,
}

/// Value of dnsperf's switch `-O`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LongOption {
    QueriesPerConnection(u32),
    /// Kinds of messages not to print.
    Suppress {
        /// True to print no lines about lost queries; the run has no other messages.
        has_timeouts: bool,
    },
}

fn parse_long(text: &str) -> Result<LongOption, String> {
    match text.split_once('=') {
        Some(("num-queries-per-conn", count)) => {
            let count = count.parse().ok().filter(|&count| count > 0);
            let count = count.ok_or("num-queries-per-conn must be a whole number from 1 on")?;
            Ok(LongOption::QueriesPerConnection(count))
        }
        Some(("suppress", kinds)) => {
            let has_timeouts = kinds.split(',').any(|kind| kind == "timeout");
            Ok(LongOption::Suppress { has_timeouts })
        }
        Some(("doh-uri" | "doh-method", _)) => {
            Err("DNS over HTTPS is not supported: use -m tcp or -m udp".into())
        }
        _ => Err("only num-queries-per-conn=N and suppress=... are supported".into()),
    }
}

impl DnsperfArgs {
    /// Runs the load, prints its result as dnsperf does, and returns the exit code.
    pub(crate) fn run(&self) -> ExitCode {
        stderr::exit_code_with_errors(self.try_run())
    }

    fn try_run(&self) -> ToolResult<ExitCode> {
        let settings = self.settings()?;
        ToolError::refuse(&settings.problems()).map_err(named_failure)?;
        let signals = Signals::for_command()?;
        stdout::print(&self.head(&settings))?;
        let (settings, report) = self.run_and_print(settings, signals.stop())?;
        stdout::print(&self.result(&settings, &report))?;
        Ok(match silence::describe(&settings, &report) {
            Some(silence) => fell_short(&silence),
            None => ExitCode::SUCCESS,
        })
    }

    /// Runs the load, and prints a line for each lost query, and the statistics of each interval at
    /// its end, as `-S` requests. Returns the settings, which no other thread uses any more.
    fn run_and_print(
        &self,
        mut settings: DnsLoadSettings,
        stop: &AtomicBool,
    ) -> ToolResult<(DnsLoadSettings, DnsLoadReport)> {
        let (timed_out, ids) = mpsc::channel();
        let is_silent = self.long.contains(&LongOption::Suppress { has_timeouts: true });
        settings.timed_out = (!is_silent).then_some(timed_out);
        let (running, is_over) = mpsc::channel::<()>();
        // Both threads end when this closure has dropped `settings.timed_out` and `running`.
        thread::scope(move |scope| {
            scope.spawn(move || print_timeouts(&ids));
            if let Some((every_ns, answered)) = self.interval_ns().zip(settings.answered.clone()) {
                let every = Duration::from_nanos(every_ns);
                scope.spawn(move || print_intervals(every, &answered, &is_over));
            }
            let report = run(&settings, stop).map_err(named_failure)?;
            settings.timed_out = None;
            drop(running);
            Ok((settings, report))
        })
    }

    fn server(&self) -> ToolResult<SocketAddr> {
        let is_usable = |ip: IpAddr| match &*self.family {
            "inet" => ip.is_ipv4(),
            "inet6" => ip.is_ipv6(),
            _ => self.local.is_none_or(|own| own.address.is_ipv4() == ip.is_ipv4()),
        };
        let scope = self.local.map_or(0, |local| local.scope);
        resolve::endpoint(&self.server, Some(self.port), is_usable)
            .and_then(|server| scoped::with_scope(server, scope))
            .map_err(|why| ToolError::Failed(format!("-s {why}")))
    }

    fn settings(&self) -> ToolResult<DnsLoadSettings> {
        let server = self.server()?;
        let edns = EdnsArgs::for_dnsperf(self.edns, self.dnssec, &self.edns_options);
        let queries = if self.is_binary {
            query_selection::messages_of(&self.queries)?
        } else {
            QuerySelectionArgs::for_file(&self.queries, edns).select(server.port(), || Ok(None))?
        };
        let per_connection = self.long.iter().rev().find_map(|option| match option {
            LongOption::QueriesPerConnection(count) => Some(*count),
            LongOption::Suppress { .. } => None,
        });
        let runs = self.runs.or_else(|| self.duration.is_none().then_some(1));
        let rate = self.rate.or_else(|| LoadRate::per_second(1_000.0));
        let rate = rate.ok_or_else(|| ToolError::usage("-Q: invalid rate"))?;
        let settings = DnsLoadSettings {
            local: self.local.map(|local| local.address),
            transport: match self.mode {
                DnsTransportMode::Udp => Transport::Udp { tc_fallback: false },
                DnsTransportMode::Tcp => Transport::Tcp,
            },
            answer_bytes: queries.answer_bytes.into(),
            window: self.rate.is_none().then_some(self.outstanding),
            count: runs.map(|runs| u64::from(runs) * queries.workload.len() as u64),
            duration_ns: self.duration.filter(|&ns| ns > 0).unwrap_or(UNLIMITED_NS),
            limits: ExchangeTimeLimits { deadline_ns: self.timeout, grace_ns: 0 },
            queries_per_connection: match self.mode {
                DnsTransportMode::Tcp => per_connection,
                // dnsperf ignores it.
                DnsTransportMode::Udp => None,
            },
            answered: self.interval_ns().map(|_| Arc::default()),
            ..DnsLoadSettings::new(server, queries.workload, rate)
        };
        Ok(self.with_ports(settings))
    }

    /// Returns the length of the intervals of dnsperf's `-S`, in nanoseconds; as in dnsperf, 0 is
    /// none.
    fn interval_ns(&self) -> Option<u64> {
        self.interval.filter(|&ns| ns > 0)
    }

    /// Sets the numbers of threads and ports in `settings`: at most one thread for each client and
    /// for each query in flight, and as many ports as the queries need that are watched at a time.
    fn with_ports(&self, mut settings: DnsLoadSettings) -> DnsLoadSettings {
        let clients = self.clients.unwrap_or_else(|| self.default_ports());
        let in_flight = settings.window.unwrap_or(u64::MAX).try_into().unwrap_or(u32::MAX);
        settings.threads = self.threads.min(clients).min(in_flight);
        settings.ports = clients;
        if settings.threads == 0 {
            return settings;
        }
        if settings.window.is_none() {
            let needed = u32::try_from(settings.ports_needed()).unwrap_or(u32::MAX);
            settings.ports = clients.max(needed);
        }
        settings.threads = settings.threads.max(settings.ports.div_ceil(PORTS_PER_THREAD_MAX));
        if self.clients.is_some_and(|clients| settings.ports > clients) {
            stderr::print_line(format_args!(
                "dnsperf: using {} sockets instead of {clients}, because at this rate and timeout \
                 more queries may wait than {clients} sockets have identifiers for",
                settings.ports
            ));
        }
        settings
    }

    /// Returns the number of ports when the command line has no number of clients: dnsperf opens
    /// sockets as it needs them.
    fn default_ports(&self) -> u32 {
        match self.mode {
            DnsTransportMode::Udp => self.threads.max(16),
            DnsTransportMode::Tcp => self.threads,
        }
    }

    fn head(&self, settings: &DnsLoadSettings) -> String {
        let words: Vec<_> =
            env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let stopping = match (self.duration, self.runs) {
            (Some(ns), None) => format!("{:.6} seconds", seconds(ns)),
            (Some(ns), Some(runs)) => {
                format!("{:.6} seconds or {}", seconds(ns), through_file(runs))
            }
            (None, runs) => through_file(runs.unwrap_or(1)),
        };
        format!(
            "DNS Performance Testing Tool\nVersion {VERSION}\n\n[Status] Command line: dnsperf {}\n\
             [Status] Sending queries (to {})\n[Status] Stopping after {stopping}\n",
            words.join(" "),
            settings.server
        )
    }

    fn result(&self, settings: &DnsLoadSettings, report: &DnsLoadReport) -> String {
        let load = &report.load;
        let is_time = settings.count.is_none_or(|count| load.exchanges.due < count);
        let why = match (report.interrupted, is_time) {
            (true, _) => "interruption",
            (_, true) => "time limit",
            _ => "end of file",
        };
        let mut text = String::new();
        let _ = writeln!(text, "[Status] Testing complete ({why})\n\nStatistics:\n");
        let sent = load.exchanges.sent;
        let completed: u64 = report.answers.rcodes.values().sum();
        let of_sent = |count: u64| percent(count, sent);
        let _ = writeln!(text, "  Queries sent:         {sent}");
        let _ = writeln!(text, "  Queries completed:    {completed} ({})", of_sent(completed));
        let lost = sent.saturating_sub(completed);
        let _ = writeln!(text, "  Queries lost:         {lost} ({})\n", of_sent(lost));
        let codes: Vec<String> = report
            .answers
            .rcodes
            .iter()
            .map(|(name, &count)| format!("{name} {count} ({})", percent(count, completed)))
            .collect();
        let _ = writeln!(text, "  Response codes:       {}", codes.join(", "));
        let each = |bytes: u64, count: u64| bytes.checked_div(count).unwrap_or(0);
        let request = settings.workload.mean_bytes();
        let response = each(load.messages.received_bytes, load.messages.received);
        let _ = writeln!(text, "  Average packet size:  request {request}, response {response}");
        let _ = writeln!(text, "  Run time (s):         {:.6}", report.run_time_s);
        let per_s = completed as f64 / report.run_time_s.max(1e-9);
        let _ = writeln!(text, "  Queries per second:   {per_s:.6}\n");
        let latency = &load.latency_sent;
        let [mean, min, max] = [latency.mean_us, latency.min_us, latency.max_us].map(|us| us / 1e6);
        let _ = writeln!(text, "  Average Latency (s):  {mean:.6} (min {min:.6}, max {max:.6})");
        if latency.count > 1 {
            let _ = writeln!(text, "  Latency StdDev (s):   {:.6}", deviation_s(report));
        }
        if let Some(tcp) = &report.connections {
            text.push_str(&connection_lines(tcp));
        }
        text.push('\n');
        text
    }
}

/// Returns the failure of a run, with the switches of dnsperf in its text instead of those of
/// `godwit dns load`.
fn named_failure(error: ToolError) -> ToolError {
    let names = [
        ("--ports", "-c"),
        ("--threads", "-T"),
        ("--duration", "-l"),
        ("--deadline-s", "-t"),
        (", with --drain-s at most 3600", " and at most 3600"),
        (" or --drain-s", ""),
    ];
    let named =
        |text| names.iter().fold(text, |text: String, (ours, theirs)| text.replace(ours, theirs));
    match error {
        ToolError::Usage(text) => ToolError::Usage(named(text)),
        ToolError::Failed(text) => ToolError::Failed(named(text)),
    }
}

/// Returns dnsperf's lines about TCP connections.
fn connection_lines(tcp: &ConnectionCounts) -> String {
    let mut text = String::from("\nConnection Statistics:\n\n");
    let _ = writeln!(text, "  Reconnections:        {}\n", tcp.reopened);
    let latency = &tcp.latency;
    let [mean, min, max] = [latency.mean_ns(), latency.min_ns, latency.max_ns].map(seconds);
    let _ = writeln!(text, "  Average Latency (s):  {mean:.6} (min {min:.6}, max {max:.6})");
    if latency.count > 1 {
        let deviation_s = latency.deviation_ns() / NS_PER_S as f64;
        let _ = writeln!(text, "  Latency StdDev (s):   {deviation_s:.6}");
    }
    text
}

/// Prints dnsperf's line for each identifier of a lost query, until the run sends no more.
fn print_timeouts(ids: &Receiver<u16>) {
    while let Ok(first) = ids.recv() {
        let mut text = String::new();
        for id in iter::once(first).chain(ids.try_iter().take(TIMEOUTS_AT_ONCE)) {
            let _ = writeln!(text, "[Timeout] Query timed out: msg id {id}");
        }
        // When the reader is gone, the end of the run reports that.
        let _ = stdout::print(&text);
    }
}

/// Prints the end of each interval of `-S` in seconds since 1970 and its queries per second, until
/// `is_over` is closed.
fn print_intervals(every: Duration, answered: &AtomicU64, is_over: &Receiver<()>) {
    let (mut before, mut began) = (0, Instant::now());
    let mut next = began + every;
    while is_over.recv_timeout(next.saturating_duration_since(Instant::now()))
        == Err(RecvTimeoutError::Timeout)
    {
        let (now, count) = (Instant::now(), answered.load(Ordering::Relaxed));
        let per_s = (count - before) as f64 / (now - began).as_secs_f64().max(1e-9);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (s, us) = (since_1970.as_secs(), since_1970.subsec_micros());
        // When the reader is gone, the end of the run reports that.
        let _ = stdout::print(&format!("{s}.{us:06}: {per_s:.6}\n"));
        (before, began) = (count, now);
        next = (next + every).max(now);
    }
}

fn through_file(runs: u32) -> String {
    if runs == 1 { "1 run through file".to_owned() } else { format!("{runs} runs through file") }
}

fn percent(count: u64, of: u64) -> String {
    format!("{:.2}%", if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 })
}

/// Returns the standard deviation of the latency from sending, in seconds, as exactly as the
/// buckets of the histogram are; that of a sample, as in dnsperf.
fn deviation_s(report: &DnsLoadReport) -> f64 {
    let latency = &report.latency_sent.0;
    let count = latency.count().max(2) as f64;
    let entries = || latency.entries().map(|(ns, count)| (seconds(ns), count as f64));
    let mean = entries().map(|(s, count)| s * count).sum::<f64>() / count;
    let squares = entries().map(|(s, count)| (s - mean).powi(2) * count);
    (squares.sum::<f64>() / (count - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use base::time::NS_PER_MS;
    use clap::Parser as _;
    use dns_wire::Query;
    use netio::send::SendCounts;

    use super::*;
    use crate::drive::DnsThreadResult;
    use crate::exchanges::Answered;
    use crate::queries::QueryWorkload;

    #[derive(Debug, clap::Parser)]
    #[command(disable_version_flag = true)]
    struct DnsperfCommandLine {
        #[command(flatten)]
        args: DnsperfArgs,
    }

    #[test]
    fn the_run_ends_with_the_last_answer_and_the_deviation_is_that_from_sending() {
        let workload = QueryWorkload::parse("queries", b"a.example A\n", Query::PLAIN).unwrap();
        let server = "192.0.2.1:53".parse().unwrap();
        let rate = LoadRate::per_second(100.0).unwrap();
        let settings = DnsLoadSettings::new(server, workload, rate);
        let settings = DnsLoadSettings { transport: Transport::Tcp, ..settings };
        let mut answered = Answered::default();
        // Each query leaves later than the one before, and is answered 1 or 3 ms after that.
        for (number, delay_ms) in (0..10).zip([1, 3].into_iter().cycle()) {
            let due_ns = number * 10 * NS_PER_MS;
            let sent_ns = due_ns + number * 50 * NS_PER_MS;
            answered.ledger.record_completed(due_ns, sent_ns, sent_ns + delay_ms * NS_PER_MS);
            answered.tally.rcodes[0] += 1;
        }
        // The offer lasts ten seconds.
        answered.answered_ns = 12_500 * NS_PER_MS;
        let connections = ConnectionCounts { reopened: 3, ..ConnectionCounts::default() };
        let result = DnsThreadResult {
            answered,
            sends: SendCounts::default(),
            connections,
            socket_drops: 0,
            too_long: 0,
            cpu_ns: 0,
            segmentation: false,
            stopped_ns: None,
            ran_out_ns: None,
        };
        let report = DnsLoadReport::from_threads(&settings, 0, vec![result], None);
        let deviation_ms = 1_000.0 * deviation_s(&report);
        let expected_ms = (10.0_f64 / 9.0).sqrt();
        assert!((deviation_ms - expected_ms).abs() < 0.01, "{deviation_ms} ms");
        let text = DnsperfCommandLine::try_parse_from(["dnsperf"])
            .unwrap()
            .args
            .result(&settings, &report);
        for line in [
            "  Run time (s):         12.500000\n  Queries per second:   0.800000\n",
            "\nConnection Statistics:\n\n  Reconnections:        3\n\n  Average Latency (s):  \
             0.000000 (min 0.000000, max 0.000000)\n\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn transports_that_are_not_there_are_answered_with_what_to_write() {
        assert_eq!(parse_mode("tcp"), Ok(DnsTransportMode::Tcp));
        for mode in ["dot", "doh"] {
            assert!(parse_mode(mode).is_err_and(|why| why.contains("use -m tcp")), "{mode}");
        }
    }
}
