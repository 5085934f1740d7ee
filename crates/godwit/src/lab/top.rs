//! Command `godwit lab top`: the functions that a running server spends its time in.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use lab::LabError;
use lab::profiler::SamplingSettings;
use lab::profiler::top::{ProfiledServer, TopProfiler};
use measure::plan::{CallGraph, ProfileEvent};
use netio::Screen;

use super::print_line;
use crate::signals;

/// Show live which functions a running server spends its time in.
///
/// perf (Debian's package linux-perf) samples the process and its children for --interval seconds,
/// repeatedly. SELF is the share of samples in a function itself, TOTAL that in it or in functions
/// that it called. The kernel's part needs root, or kernel.perf_event_paranoid at 1 or less.
///
/// Exit codes: 0 ended by --count, SIGINT or SIGTERM; 1 failed at run time: no perf, no permission,
/// the server has ended; 2 bad arguments, or no such server.
#[derive(Debug, clap::Args)]
pub(super) struct LabTopArgs {
    /// Server: a name that the lab uses (bind, kea, echo, godwit, ...) or the name of a program
    #[arg(value_name = "SERVER", required_unless_present = "pid")]
    server: Option<String>,
    /// Process ID of the server, instead of SERVER
    #[arg(long, value_name = "N", conflicts_with = "server")]
    pid: Option<u32>,
    /// End after N intervals of sampling
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Length of an interval of sampling, in seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    interval: f64,
    /// Number of functions to show in each interval
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    rows: usize,
    /// Samples per second of each running thread of the server
    #[arg(long, value_name = "HZ", default_value_t = 499, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    frequency: u32,
    /// Event that triggers a sample; auto: cycles, or cpu-clock without hardware counters
    #[arg(long, value_name = "EVENT", default_value = "auto")]
    event: EventArg,
    /// How the callers of a function are found: by debug information (dwarf) or frame pointers (fp)
    #[arg(long, value_name = "HOW", default_value = "dwarf")]
    call_graph: CallGraphArg,
    /// Print each interval as JSON, one per line
    #[arg(long)]
    json: bool,
}

flag_values! {
    enum EventArg of ProfileEvent {
        /// Cycles, or cpu-clock on a machine without hardware counters
        Auto,
        /// Counter of cycles of the processor
        Cycles,
        /// Timer of the kernel that runs while the thread runs
        CpuClock,
    }
}

flag_values! {
    enum CallGraphArg of CallGraph {
        /// Copy of the stack: works with packages as distributions ship them
        Dwarf,
        /// Frame pointer register, for programs built with it; costs less
        FramePointer,
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds".to_owned())?;
    if (0.1..=3_600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be from 0.1 to 3600 seconds".to_owned())
    }
}

impl LabTopArgs {
    fn sampling(&self) -> SamplingSettings {
        SamplingSettings {
            event: self.event.into(),
            call_graph: self.call_graph.into(),
            frequency_hz: self.frequency,
        }
    }
}

pub(super) fn run(args: &LabTopArgs) -> Result<ExitCode, LabError> {
    let server = match (args.pid, &args.server) {
        (Some(pid), _) => ProfiledServer::from_pid(pid)?,
        (None, name) => ProfiledServer::find_by_name(name.as_deref().unwrap_or_default())?,
    };
    let watch = TopProfiler::new(args.sampling(), args.interval, args.rows)?;
    let stop = signals::stop_flag()?;
    let is_screen = std::io::stdout().is_terminal() && !args.json && args.count != Some(1);
    let mut screen = None;
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        let look = match watch.take_profile(&server, stop) {
            Ok(Some(look)) => look,
            Ok(None) => break,
            // perf may have ended for the same reason.
            Err(_) if stop.load(Ordering::Acquire) => break,
            Err(error) => return Err(error),
        };
        let cannot = |error| LabError::cannot("write to standard output", error);
        if args.json {
            print_line(&serde_json::to_string(&look).expect("plain data"))?;
        } else if is_screen {
            // Enter the screen after the first sample: the user must be able to read an earlier
            // error.
            if screen.is_none() {
                screen = Some(Screen::enter().map_err(cannot)?);
            }
            screen.iter().try_for_each(|screen| screen.show(&look.text())).map_err(cannot)?;
        } else {
            print_line(&look.text())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
