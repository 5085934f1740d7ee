//! Command `godwit cpustat`: the time use of processors, and the part of it that processes use.

mod process;
mod table;

use std::time::Duration;

use base::{ToolError, ToolResult};
use counters::{CpuShares, CpuTimes, parse_stat};
use netio::Clock;
use netio::signal::Signals;
use serde::Serialize;
use testbed::proc;

use self::process::{ProcessLoad, WatchedProcess};
pub(crate) use self::table::{ALL, AVERAGE, cpu_line, share_head};
use self::table::{process_head, process_line};
use crate::clock;
use crate::print;
use crate::reading_timer::ReadingTimer;
use crate::sysstat::SysstatCommand;

/// Name and version of the JSON documents of `godwit cpustat`.
const SCHEMA: &str = "godwit.cpustat.v1";

/// Show processor and process times, like mpstat and pidstat.
///
/// Columns are those of mpstat and, with -p, of pidstat (sysstat). Without INTERVAL it prints the
/// times since boot, or since the start of a process. With INTERVAL it prints a line per interval
/// until SIGINT, SIGTERM or COUNT, and averages at the end. Through a link named mpstat or pidstat,
/// this program takes the command line of that tool and prints its output.
///
/// Exit codes: 0 done, or ended by SIGINT or SIGTERM; 1 failed at run time; 2 bad arguments, or a
/// missing processor or process.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct CpustatArgs {
    #[command(subcommand)]
    tool: Option<SysstatCommand>,
    /// Seconds between two readings
    #[arg(value_name = "INTERVAL", value_parser = seconds)]
    interval: Option<Duration>,
    /// Number of intervals to show
    #[arg(value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Processors: numbers and ranges like 0,2-3, `all` for their sum, ALL for each and their sum
    /// [default: all]
    #[arg(short = 'P', long, value_name = "LIST", value_parser = selection)]
    processors: Option<ProcessorSelection>,
    /// Show these processes, by PID; processors then only with -P
    #[arg(short = 'p', long, value_name = "PID,..", value_delimiter = ',')]
    processes: Vec<u32>,
    /// Print one JSON document per interval and one for the averages, one per line
    #[arg(long)]
    json: bool,
}

/// Processors whose lines are shown: their sum, each, or some by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessorSelection {
    /// True to show a line with the sum of all processors.
    pub(crate) has_sum: bool,
    /// True to show a line for each processor.
    pub(crate) is_each: bool,
    /// Numbers of the processors to show a line for, unless [`Self::is_each`].
    pub(crate) cpus: Vec<u32>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|number| (0.01..=1e6).contains(number));
    number
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "must be a number of seconds, at least 0.01".to_owned())
}

fn selection(text: &str) -> Result<ProcessorSelection, String> {
    let mut selection = ProcessorSelection::default();
    for word in text.split(',') {
        let number = |digits: &str| {
            digits.parse::<u32>().map_err(|_| {
                format!(
                    "invalid processor `{word}`: must be numbers and ranges like 0,2-3, all, \
                         or ALL"
                )
            })
        };
        match word {
            "ALL" => (selection.has_sum, selection.is_each) = (true, true),
            ALL => selection.has_sum = true,
            _ => {
                let (first, last) = word.split_once('-').unwrap_or((word, word));
                let (first, last) = (number(first)?, number(last)?);
                if first > last || last - first >= 65_536 {
                    return Err(format!("invalid range `{word}`"));
                }
                selection.cpus.extend(first..=last);
            }
        }
    }
    selection.cpus.sort_unstable();
    selection.cpus.dedup();
    Ok(selection)
}

/// Line of a processor: its label (number or `all`) and its shares of time.
pub(crate) type CpuRow = (String, CpuShares);

impl ProcessorSelection {
    /// Returns the lines of the selected processors for the time between two readings. A processor
    /// that is not in use has no line.
    pub(crate) fn rows(&self, before: &[CpuTimes], now: &[CpuTimes]) -> Vec<CpuRow> {
        let steps: Vec<CpuTimes> = now
            .iter()
            .map(|now| {
                let was = before.iter().find(|was| was.cpu == now.cpu);
                // A processor that came into use meanwhile counts from then on.
                was.map_or_else(|| none(*now), |was| now.since(was))
            })
            .collect();
        let mut rows = Vec::new();
        if self.has_sum {
            let sum = steps.iter().fold(CpuTimes::default(), |sum, step| sum.plus(step));
            rows.push((ALL.to_owned(), CpuShares::of(&sum)));
        }
        let own = steps.iter().filter(|step| self.contains(step.cpu));
        rows.extend(own.map(|step| (step.cpu.to_string(), CpuShares::of(step))));
        rows
    }

    /// Returns true if the selection has a line for processor `cpu` itself.
    pub(crate) fn contains(&self, cpu: u32) -> bool {
        self.is_each || self.cpus.contains(&cpu)
    }
}

#[derive(Debug, Serialize)]
struct CpustatDocument {
    schema: &'static str,
    /// Kind of the JSON document: `interval`, `average`, or `boot` for the time since boot or since
    /// a process's start.
    kind: &'static str,
    /// Time at the end of the interval, in milliseconds since 1970.
    unixtime_ms: u64,
    cpus: Vec<CpuDocument>,
    processes: Vec<ProcessLoad>,
}

#[derive(Debug, Serialize)]
struct CpuDocument {
    /// Number of the processor, or `all`.
    cpu: String,
    #[serde(flatten)]
    load: CpuShares,
}

/// Prints the processors and processes that the flags select, until the last interval.
pub(crate) fn run(args: &CpustatArgs) -> ToolResult<()> {
    if let Some(tool) = &args.tool {
        return tool.run();
    }
    let signals = Signals::for_command()?;
    let selection = chosen(args)?;
    let mut watched =
        args.processes.iter().map(|&pid| watch(pid)).collect::<Result<Vec<_>, _>>()?;
    if !args.json {
        let (_, date) = clock::local(Clock::now().wall_us / 1_000_000);
        print(&title(&date, processors().len()))?;
    }
    let Some(interval) = args.interval else {
        let rows = selection.rows(&boot(), &processors());
        let loads: Vec<_> = watched.iter().map(WatchedProcess::since_start).collect();
        return show(args, &CpustatLines { kind: "boot", is_first: true, rows, loads });
    };
    let mut timer = ReadingTimer::start(signals, interval);
    let first = processors();
    let mut before = first.clone();
    let mut interval_count = 0;
    while args.count.is_none_or(|count| interval_count < count) && timer.wait()? {
        let now = processors();
        let rows = selection.rows(&before, &now);
        let loads: Vec<_> = watched.iter_mut().filter_map(WatchedProcess::next).collect();
        if rows.is_empty() && loads.is_empty() {
            netio::stderr::print_line("all processes have ended");
            break;
        }
        show(args, &CpustatLines { kind: "interval", is_first: interval_count == 0, rows, loads })?;
        before = now;
        interval_count += 1;
    }
    if interval_count == 0 {
        return Ok(());
    }
    let rows = selection.rows(&first, &before);
    let loads = watched.iter().filter_map(WatchedProcess::average).collect();
    show(args, &CpustatLines { kind: "average", is_first: false, rows, loads })
}

/// Returns the processors to show. Processors that the flags name must exist, else an error lists
/// the problem.
fn chosen(args: &CpustatArgs) -> ToolResult<ProcessorSelection> {
    let default =
        ProcessorSelection { has_sum: args.processes.is_empty(), ..ProcessorSelection::default() };
    let selection = args.processors.clone().unwrap_or(default);
    let known: Vec<u32> = processors().iter().map(|times| times.cpu).collect();
    if let Some(missing) = selection.cpus.iter().find(|cpu| !known.contains(cpu)) {
        let known: Vec<String> = known.iter().map(u32::to_string).collect();
        let known = known.join(", ");
        return Err(ToolError::Usage(format!(
            "processor {missing} is not in use; the processors in use are {known}"
        )));
    }
    Ok(selection)
}

fn watch(pid: u32) -> ToolResult<WatchedProcess> {
    WatchedProcess::begin(pid).ok_or_else(|| ToolError::Usage(format!("there is no process {pid}")))
}

fn processors() -> Vec<CpuTimes> {
    parse_stat(&proc::read("/proc/stat")).cpus
}

/// Returns the time use of each present processor as it was at boot: zero.
fn boot() -> Vec<CpuTimes> {
    processors().into_iter().map(none).collect()
}

/// Returns the time use of the processor of `times` with all times 0.
pub(crate) fn none(times: CpuTimes) -> CpuTimes {
    CpuTimes { cpu: times.cpu, ..CpuTimes::default() }
}

/// Returns the first line of the output as sysstat prints it: the kernel, the machine, the date and
/// the number of processors.
pub(crate) fn title(date: &str, processor_count: usize) -> String {
    format!(
        "Linux {} ({}) \t{date} \t_{}_\t({processor_count} CPU)\n",
        kernel_value("osrelease"),
        kernel_value("hostname"),
        std::env::consts::ARCH,
    )
}

/// Returns the text of the kernel's setting `/proc/sys/kernel/NAME`.
pub(crate) fn kernel_value(name: &str) -> String {
    proc::read(format!("/proc/sys/kernel/{name}")).trim().to_owned()
}

/// Lines of processors and processes that are printed for one interval.
struct CpustatLines {
    kind: &'static str,
    is_first: bool,
    rows: Vec<CpuRow>,
    loads: Vec<ProcessLoad>,
}

fn show(args: &CpustatArgs, lines: &CpustatLines) -> ToolResult<()> {
    let wall_us = Clock::now().wall_us;
    if args.json {
        let cpu = |(label, shares): &CpuRow| CpuDocument { cpu: label.clone(), load: *shares };
        let document = CpustatDocument {
            schema: SCHEMA,
            kind: lines.kind,
            unixtime_ms: wall_us / 1_000,
            cpus: lines.rows.iter().map(cpu).collect(),
            processes: lines.loads.clone(),
        };
        return print(&(serde_json::to_string(&document).expect("plain data") + "\n"));
    }
    let (time, _) = clock::local(wall_us / 1_000_000);
    print(&text(if lines.kind == "average" { AVERAGE } else { &time }, lines))
}

fn text(time: &str, lines: &CpustatLines) -> String {
    let mut text = String::new();
    // As in mpstat, a single line has one head, several lines have one each time.
    let has_head = lines.is_first || lines.rows.len() + lines.loads.len() > 1;
    if !lines.rows.is_empty() {
        if has_head {
            text.push('\n');
            text.push_str(&share_head(time, "CPU"));
        }
        text.extend(lines.rows.iter().map(|(label, shares)| cpu_line(time, label, shares, 2)));
    }
    if !lines.loads.is_empty() {
        if has_head {
            text.push('\n');
            text.push_str(&process_head(time));
        }
        text.extend(lines.loads.iter().map(|load| process_line(time, load)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cpu: u32, user: u64, idle: u64) -> CpuTimes {
        CpuTimes { cpu, user, idle, ..CpuTimes::default() }
    }

    #[test]
    fn lists_of_processors_are_read() {
        let chosen = |text: &str| selection(text).unwrap();
        assert_eq!(chosen("3,0-1,1").cpus, [0, 1, 3]);
        assert!(chosen("ALL").is_each && chosen("ALL").has_sum);
        assert_eq!(
            chosen("all"),
            ProcessorSelection { has_sum: true, ..ProcessorSelection::default() }
        );
        assert!(chosen("all,2").has_sum && chosen("all,2").cpus == [2]);
        for wrong in ["", "x", "1-", "3-1", "-1", "0-4294967295", "1,,2"] {
            assert!(selection(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_sum_is_of_processors_that_were_there_at_both_looks() {
        let before = [times(0, 100, 100), times(1, 0, 0)];
        let now = [times(0, 150, 150), times(2, 9_000, 1)];
        let all = selection("ALL").unwrap();
        let rows = all.rows(&before, &now);
        let seen: Vec<_> = rows.iter().map(|(label, s)| (label.as_str(), s.usr, s.idle)).collect();
        assert_eq!(seen, [("all", 50.0, 50.0), ("0", 50.0, 50.0), ("2", 0.0, 100.0)]);
        assert_eq!(selection("1").unwrap().rows(&before, &now), [], "it is not in use any more");
    }

    #[test]
    fn one_line_has_one_head_and_several_have_one_each_time() {
        let row = |label: &str| (label.to_owned(), CpuShares::default());
        let document =
            |is_first, rows| CpustatLines { kind: "interval", is_first, rows, loads: vec![] };
        let lines = |is_first, rows| text("10:00:00", &document(is_first, rows)).lines().count();
        assert_eq!((lines(true, vec![row("all")]), lines(false, vec![row("all")])), (3, 1));
        assert_eq!(lines(false, vec![row("all"), row("0")]), 4);
    }
}
