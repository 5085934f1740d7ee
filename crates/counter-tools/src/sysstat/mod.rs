//! Command lines and output of mpstat and pidstat (sysstat), for links to Godwit's binary with
//! these names.

mod mpstat;
mod number_list;
mod pidstat;

use std::time::{Duration, Instant};

use base::ToolResult;
use counters::{TICKS_PER_S, parse_stat, parse_uptime_ticks};
use netio::Clock;
use testbed::proc;

use crate::clock;
use crate::cpustat::title;
use crate::print;

/// Version of sysstat whose output mpstat and pidstat imitate.
const VERSION: &str = "12.6.1";

/// Tools of sysstat that Godwit replaces.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SysstatCommand {
    /// Show processor times and interrupts, with mpstat's command line and output.
    ///
    /// Without INTERVAL it prints the figures since boot. With INTERVAL it prints a report per
    /// interval until SIGINT, SIGTERM or COUNT, and averages at the end.
    ///
    /// Exit codes: 0 done, or ended by SIGINT or SIGTERM; 1 failed at run time; 2 bad arguments, or
    /// a missing processor or node.
    #[command(hide = true)]
    Mpstat(mpstat::MpstatArgs),
    /// Show what processes use, with pidstat's command line and output.
    ///
    /// Without INTERVAL it prints the figures since boot. With INTERVAL it prints a report per
    /// interval until SIGINT, SIGTERM or COUNT, and averages at the end.
    ///
    /// Exit codes: 0 done, or ended by SIGINT or SIGTERM; 1 failed at run time; 2 bad arguments, or
    /// none of the processes exists.
    #[command(hide = true)]
    Pidstat(pidstat::PidstatArgs),
}

impl SysstatCommand {
    /// Runs the sysstat tool.
    pub(crate) fn run(&self) -> ToolResult<()> {
        match self {
            Self::Mpstat(args) => args.run(),
            Self::Pidstat(args) => args.run(),
        }
    }
}

/// Number of the reports, and time between two reports.
#[derive(Debug, clap::Args)]
struct ReportTimes {
    /// Seconds between two reports, also a fraction; 0 for the figures since boot
    #[arg(value_name = "INTERVAL", value_parser = parse_interval, default_value = "0", hide_default_value = true)]
    interval: Duration,
    /// Number of reports to print
    #[arg(value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| *number == 0.0 || (0.01..=1e6).contains(number));
    number
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "must be a number of seconds, at least 0.01, or 0 for since boot".to_owned())
}

fn parse_decimals(text: &str) -> Result<usize, String> {
    match text {
        "0" => Ok(0),
        "1" => Ok(1),
        "2" => Ok(2),
        _ => Err("must be 0, 1 or 2".to_owned()),
    }
}

fn print_version(tool: &str) -> ToolResult<()> {
    let version = env!("CARGO_PKG_VERSION");
    print(&format!("godwit {tool} {version}; takes command lines of sysstat version {VERSION}\n"))
}

/// Returns the date at `wall_s` seconds since 1970 as in the C locale, or in ISO 8601 if the
/// environment requests it.
fn date(wall_s: u64) -> String {
    let (_, date) = clock::local(wall_s);
    let is_iso = std::env::var_os("S_TIME_FORMAT").is_some_and(|value| value == "ISO");
    if is_iso { date } else { month_first(&date) }
}

/// Converts an ISO 8601 date to the form of the C locale: `2026-11-28` to `11/28/26`.
fn month_first(iso: &str) -> String {
    let mut parts = iso.rsplitn(3, '-');
    let mut part = || parts.next().unwrap_or_default();
    let (day, month, year) = (part(), part(), part());
    format!("{month}/{day}/{}", year.get(year.len().saturating_sub(2)..).unwrap_or_default())
}

/// Returns the first line of the text output of mpstat and pidstat.
fn head_line() -> String {
    title(&date(Clock::now().wall_us / 1_000_000), processor_count())
}

fn processor_count() -> usize {
    parse_stat(&proc::read("/proc/stat")).cpus.len()
}

/// Clock of the seconds since boot, which does not go back.
#[derive(Clone, Copy, Debug)]
struct UptimeClock {
    began: Instant,
    /// Uptime of the machine at `began`, in seconds.
    uptime_s: f64,
}

impl UptimeClock {
    fn start() -> Self {
        let ticks = parse_uptime_ticks(&proc::read("/proc/uptime")).unwrap_or(0);
        Self { began: Instant::now(), uptime_s: ticks as f64 / TICKS_PER_S as f64 }
    }

    fn seconds(&self) -> f64 {
        self.uptime_s + self.began.elapsed().as_secs_f64()
    }
}

/// Returns the increase of a counter from `before` to `now`, per second; 0 if the counter went
/// back.
fn per_second(before: u64, now: u64, elapsed_s: f64) -> f64 {
    now.saturating_sub(before) as f64 / elapsed_s.max(1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_c_locale() {
        assert_eq!(month_first("2026-11-28"), "11/28/26");
        assert_eq!(month_first(""), "//");
    }

    #[test]
    fn intervals_are_seconds_and_zero_is_since_boot() {
        assert_eq!(parse_interval("0"), Ok(Duration::ZERO));
        assert_eq!(parse_interval("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "x", "-1", "0.001", "NaN", "1e9"] {
            assert!(parse_interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_of_what_grew() {
        assert_eq!((per_second(10, 30, 2.0), per_second(30, 10, 2.0)), (10.0, 0.0));
    }
}
