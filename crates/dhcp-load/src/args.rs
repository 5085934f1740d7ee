//! Command-line arguments that all commands of `godwit load` share, and the code that runs the load
//! and prints its result.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use base::time::NS_PER_S;
use base::{ToolError, ToolResult};
use load::{ExchangeTimeLimits, LoadRate, LoadShapeArg, replay};
use netio::signal::Signals;
use netio::{stderr, stdout};

use crate::drive::LINGER_NS;
use crate::frames::FrameArgs;
use crate::protocol::{DhcpLoadTarget, Expect};
use crate::run::run_report;
use crate::settings::{DhcpLoadSettings, Segmentation};

/// Flags of any run of `godwit load`, for DHCPv4 and DHCPv6.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DhcpRunArgs {
    /// Rate of the load: exchanges per second of all threads together [default for replay: the
    /// recorded times]
    #[arg(long, value_name = "N", value_parser = parse_rate, required_unless_present = "shape")]
    rate: Option<LoadRate>,
    /// Seconds during which exchanges come due [default: 10; for a replay its whole length]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    duration: Option<u64>,
    /// Number of clients, used in turn; 0 makes every exchange a new client
    #[arg(long, value_name = "N", default_value_t = 0)]
    clients: u32,
    /// Number of the first simulated client
    #[arg(long, value_name = "N", default_value_t = 0)]
    client_offset: u32,
    /// Seed of the run's transaction identifiers and of the gaps of a Poisson load
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Spacing of exchanges: even, poisson, burst:N (N at a time), ramp:P%..P% (percentages of
    /// --rate, from beginning to end), steps:P%,P%... (equal parts of the run), replay:FILE (times
    /// of a capture or of a Kea lease file)
    #[arg(long, value_name = "SHAPE", default_value_t, value_parser = LoadShapeArg::parse, alias = "arrivals")]
    shape: LoadShapeArg,
    /// Seconds after its due time by which an exchange must be complete
    #[arg(long, value_name = "S", default_value = "2", value_parser = parse_seconds)]
    deadline_s: u64,
    /// Seconds after its deadline for which an exchange is watched, to distinguish late from lost;
    /// the run ends earlier when no exchange is open
    #[arg(long, value_name = "S", default_value = "2", value_parser = parse_seconds)]
    drain_s: u64,
    /// Give up open exchanges after S seconds without an answer, counted from the last due time
    /// [default: watch every exchange to its end]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    quiet_s: Option<u64>,
    /// Number of generator threads, each with its own socket and relay address
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: u32,
    /// Processors to bind the generator's threads to, in turn
    #[arg(long, value_name = "N,N...", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Send every message twice, like clients that repeat requests too early; the server's second
    /// replies count as repeated
    #[arg(long)]
    chatty: bool,
    /// Send messages of equal size in groups (UDP_SEGMENT); use off for servers that read raw
    /// frames
    #[arg(long, value_enum, default_value_t = Segmentation::Auto)]
    segmentation: Segmentation,
    #[command(flatten)]
    frames: FrameArgs,
    /// Limit the generator to one send and receive cycle every N microseconds: saves processor
    /// time, and latencies are up to N longer
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=10_000))]
    turn_us: u64,
    /// Expect each message back unchanged, from a responder in place of the server, to measure the
    /// highest rate of generator and kernel
    #[arg(long)]
    echo: bool,
    /// Write the record as JSON to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write every granted lease to FILE, one per line, as comma-separated values
    #[arg(long, value_name = "FILE")]
    leases: Option<PathBuf>,
    /// Also record counts of exchanges per interval of S seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    timeline_s: Option<u64>,
    /// Start when this machine's monotonic clock reaches N nanoseconds, to synchronize generators;
    /// exchanges that are due before the generator is ready leave late
    #[arg(long, value_name = "N")]
    begin_at_ns: Option<u64>,
    /// Exit with 3 if more than this percentage of exchanges was not completed on time
    #[arg(long, value_name = "PERCENT")]
    max_loss: Option<f64>,
}

fn parse_rate(text: &str) -> Result<LoadRate, String> {
    let rate = text.parse().ok().and_then(LoadRate::per_second);
    rate.ok_or_else(|| "must be a number of exchanges per second from 0.001 to 10^9".into())
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds")?;
    let ns = seconds * NS_PER_S as f64;
    if (0.0..1e18).contains(&ns) {
        Ok(ns as u64)
    } else {
        Err("must be a number of seconds, 0 or more and below 10^9".into())
    }
}

impl DhcpRunArgs {
    /// Builds the settings of a run against `target` from these arguments; fails with a message
    /// when they cannot work. A replay repeats the messages to `port` for which `is_first` returns
    /// true.
    pub(crate) fn settings<T>(
        &self,
        target: T,
        port: u16,
        is_first: fn(&[u8]) -> bool,
    ) -> Result<DhcpLoadSettings<T>, String> {
        let times = |path: &str| {
            let file = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
            let recording = replay::times(&file, &[port], is_first)?;
            if let Some(notice) = recording.notice(path) {
                stderr::print_line(notice);
            }
            Ok(recording.times_ns)
        };
        let shaped = self.shape.with_rate(self.rate, times);
        let (shape, rate) = shaped.map_err(|problem| format!("--shape {problem}"))?;
        let whole_ns = shape.length_ns().unwrap_or(10 * NS_PER_S);
        Ok(DhcpLoadSettings {
            target,
            rate,
            shape,
            duration_ns: self.duration.unwrap_or(whole_ns),
            limits: ExchangeTimeLimits { deadline_ns: self.deadline_s, grace_ns: self.drain_s },
            quiet_ns: self.quiet_s,
            linger_ns: LINGER_NS,
            clients: self.clients,
            client_offset: self.client_offset,
            seed: self.seed,
            threads: self.threads,
            cpus: self.cpus.clone(),
            chatty: self.chatty,
            segmentation: self.segmentation,
            frames: self.frames.frames(),
            turn_ns: self.turn_us * 1_000,
            expect: if self.echo { Expect::Echo } else { Expect::Dhcp },
            leases: self.leases.clone(),
            timeline_ns: self.timeline_s,
            begin_at_ns: self.begin_at_ns,
        })
    }

    /// Runs the load against `target`, prints its result and returns the exit code; a replay
    /// repeats messages as [`Self::settings`] says.
    pub(crate) fn run<T: DhcpLoadTarget>(
        &self,
        target: T,
        port: u16,
        is_first: fn(&[u8]) -> bool,
    ) -> ExitCode {
        stderr::exit_code_with_errors(self.try_run(target, port, is_first))
    }

    fn try_run<T: DhcpLoadTarget>(
        &self,
        target: T,
        port: u16,
        is_first: fn(&[u8]) -> bool,
    ) -> ToolResult<ExitCode> {
        let settings = self.settings(target, port, is_first).map_err(ToolError::Usage)?;
        let signals = Signals::for_command()?;
        let report = run_report(&settings, signals.stop())?;
        let json = || serde_json::to_string(&report).expect("a report is plain data");
        let text = report.to_string();
        stdout::print_or_write(self.json.as_deref(), json, &text, load::highlight)?;
        let loss_percent = 100.0 * report.load.exchanges.loss();
        Ok(if signals.stopped_by().is_some() {
            ExitCode::from(130)
        } else if report.load.conflicts > 0
            || report.is_unanswered()
            || self.max_loss.is_some_and(|limit| loss_percent > limit)
        {
            ExitCode::from(3)
        } else {
            ExitCode::SUCCESS
        })
    }
}
