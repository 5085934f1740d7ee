//! Command pidstat: processor time, memory, input and output, and context switches of processes.

mod pattern;
mod table;
mod task;

use std::collections::BTreeMap;

use base::{ToolError, ToolResult};
use counters::{parse_memory, parse_page_kb};
use netio::signal::Signals;
use testbed::proc;

use super::{ReportTimes, UptimeClock, head_line, parse_decimals, print_version, processor_count};
use crate::cpustat::AVERAGE;
use crate::print;
use crate::reading_timer::ReadingTimer;

use self::pattern::CommandPattern;
use self::table::{TaskActivity, TaskTable};
use self::task::{TaskReadings, TaskSelection};

/// Command line of pidstat.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, disable_help_flag = true)]
pub(crate) struct PidstatArgs {
    #[command(flatten)]
    times: ReportTimes,
    /// Processes by number, SELF for this one, ALL for all, also idle ones [default: those that did
    /// something in the interval]
    #[arg(short = 'p', value_name = "PID,..", value_delimiter = ',', value_parser = parse_process)]
    processes: Vec<ProcessWord>,
    /// Processes whose name matches the extended regular expression, like `named|kea`
    #[arg(short = 'C', value_name = "NAME", value_parser = CommandPattern::new)]
    pattern: Option<CommandPattern>,
    /// Show processor time; the default
    #[arg(short = 'u')]
    has_processor: bool,
    /// Show page faults and memory
    #[arg(short = 'r')]
    has_memory: bool,
    /// Show input and output of devices; -1.00 where the file /proc/PID/io may not be read
    #[arg(short = 'd')]
    has_io: bool,
    /// Show context switches
    #[arg(short = 'w')]
    has_switches: bool,
    /// Also show each thread of the processes
    #[arg(short = 't')]
    has_threads: bool,
    /// Show whole command lines instead of the names of programs
    #[arg(short = 'l')]
    has_command_lines: bool,
    /// Print one table with all columns, without averages
    #[arg(short = 'h')]
    is_horizontal: bool,
    /// Print times in seconds since 1970
    #[arg(short = 'H')]
    has_epoch_times: bool,
    /// Show %CPU as a share of all processors
    #[arg(short = 'I')]
    is_share_of_all: bool,
    /// Decimal places: 0, 1 or 2
    #[arg(long = "dec", value_name = "N", default_value = "2", value_parser = parse_decimals)]
    decimals: usize,
    /// Print the version
    #[arg(short = 'V')]
    version: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Process that a word of `-p` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessWord {
    All,
    /// Process of pidstat itself (`SELF`).
    Own,
    Number(u32),
}

fn parse_process(text: &str) -> Result<ProcessWord, String> {
    match text {
        "ALL" => Ok(ProcessWord::All),
        "SELF" => Ok(ProcessWord::Own),
        _ => text
            .parse()
            .map(ProcessWord::Number)
            .map_err(|_| format!("`{text}` is not a process: must be a process ID, SELF or ALL")),
    }
}

impl PidstatArgs {
    /// Runs pidstat: prints its reports.
    pub(super) fn run(&self) -> ToolResult<()> {
        if self.version {
            return print_version("pidstat");
        }
        let signals = Signals::for_command()?;
        let selection = self.selection();
        let clock = UptimeClock::start();
        let first = selection.take(&clock);
        // With a pattern, a process may get its name later.
        let has_end = !selection.pids.is_empty() && self.pattern.is_none();
        if has_end && first.tasks.is_empty() {
            return Err(ToolError::Usage(format!("there is no process {}", selection.pids[0])));
        }
        let mut table = self.table(&selection);
        if self.times.interval.is_zero() {
            print(&head_line())?;
            return print(&table.text(&first.at_boot(), &first));
        }
        let mut timer = ReadingTimer::start(signals, self.times.interval);
        print(&head_line())?;
        let mut before = first.clone();
        let mut memory = MemorySums::default();
        let (mut shown, mut is_interrupted) = (0, false);
        while self.times.count.is_none_or(|count| shown < count) {
            if !timer.wait()? {
                is_interrupted = true;
                break;
            }
            let now = selection.take(&clock);
            if has_end && now.tasks.is_empty() {
                netio::stderr::print_line("all processes have ended");
                return Ok(());
            }
            print(&table.text(&before, &now))?;
            memory.add(&now);
            before = now;
            shown += 1;
        }
        if shown == 0 || self.is_horizontal {
            return Ok(());
        }
        if is_interrupted {
            // The terminal shows `^C` in the line.
            print("\n")?;
        }
        AVERAGE.clone_into(&mut before.time);
        memory.set_means(&mut before);
        print(&table.average_text(&first, &before))
    }

    fn selection(&self) -> TaskSelection {
        let is_all = self.processes.contains(&ProcessWord::All);
        let number = |word: &ProcessWord| match word {
            ProcessWord::All => None,
            ProcessWord::Own => Some(std::process::id()),
            ProcessWord::Number(pid) => Some(*pid),
        };
        let mut pids: Vec<u32> = self.processes.iter().filter_map(number).collect();
        pids.sort_unstable();
        pids.dedup();
        TaskSelection {
            pids: if is_all { Vec::new() } else { pids },
            pattern: self.pattern.clone(),
            has_threads: self.has_threads,
            has_command_lines: self.has_command_lines,
            has_epoch_times: self.has_epoch_times,
        }
    }

    fn table(&self, selection: &TaskSelection) -> TaskTable {
        let mut activities = Vec::new();
        for (is_chosen, activity) in [
            (self.has_processor, TaskActivity::Processor),
            (self.has_memory, TaskActivity::Memory),
            (self.has_io, TaskActivity::Io),
            (self.has_switches, TaskActivity::Switches),
        ] {
            activities.extend(is_chosen.then_some(activity));
        }
        if activities.is_empty() {
            activities.push(TaskActivity::Processor);
        }
        let is_single = selection.pids.len() == 1
            && !self.has_threads
            && (activities.len() == 1 || self.is_horizontal);
        TaskTable {
            activities,
            has_threads: self.has_threads,
            is_horizontal: self.is_horizontal,
            has_idle: !self.processes.is_empty(),
            has_head_each_time: !is_single,
            is_first: true,
            decimals: self.decimals,
            processors: if self.is_share_of_all { processor_count() } else { 1 },
            memory_kb: parse_memory(&proc::read("/proc/meminfo")).total_kb,
            page_kb: parse_page_kb(&proc::read("/proc/self/smaps")).unwrap_or(4),
        }
    }
}

/// Sums of the memory of each task over all readings, for the averages.
#[derive(Debug, Default)]
struct MemorySums(BTreeMap<task::TaskKey, MemorySum>);

/// Sum of the memory of a task over all readings.
#[derive(Clone, Copy, Debug, Default)]
struct MemorySum {
    readings: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl MemorySums {
    fn add(&mut self, readings: &TaskReadings) {
        for (key, task) in &readings.tasks {
            let sum = self.0.entry(*key).or_default();
            sum.readings += 1;
            sum.virtual_bytes += task.stat.virtual_bytes;
            sum.resident_pages += task.stat.resident_pages;
        }
    }

    /// Replaces the memory of each task in the last reading by its mean over all readings.
    fn set_means(&self, last: &mut TaskReadings) {
        for (key, task) in &mut last.tasks {
            let sum = self.0.get(key).copied().unwrap_or_default();
            task.stat.virtual_bytes = sum.virtual_bytes / sum.readings.max(1);
            task.stat.resident_pages = sum.resident_pages / sum.readings.max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parser of the switches alone.
    #[derive(Debug, clap::Parser)]
    #[command(disable_help_flag = true)]
    struct PidstatLine {
        #[command(flatten)]
        args: PidstatArgs,
    }

    fn args(line: &str) -> Result<PidstatArgs, clap::Error> {
        <PidstatLine as clap::Parser>::try_parse_from(line.split_whitespace()).map(|line| line.args)
    }

    #[test]
    fn switches_select_processes_and_columns() {
        for (line, pids, tables, has_head) in [
            ("pidstat", vec![], 1, true),
            ("pidstat -p 7 1 3", vec![7], 1, false),
            ("pidstat -p 7,3,7 -u", vec![3, 7], 1, true),
            ("pidstat -p ALL -l", vec![], 1, true),
            ("pidstat -p SELF -ur", vec![std::process::id()], 2, true),
            ("pidstat -hurdw -p 7 1", vec![7], 4, false),
            ("pidstat -t -p 7 -C a|b", vec![7], 1, true),
        ] {
            let args = args(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            let selection = args.selection();
            let table = args.table(&selection);
            assert_eq!(selection.pids, pids, "{line}");
            assert_eq!(
                (table.activities.len(), table.has_head_each_time),
                (tables, has_head),
                "{line}"
            );
        }
        assert!(!args("pidstat 1").unwrap().table(&TaskSelection::default()).has_idle);
        for wrong in
            ["pidstat -p x", "pidstat -p -1", "pidstat 1 0", "pidstat -C (", "pidstat --dec=9"]
        {
            assert!(args(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_of_an_average_is_the_mean() {
        let uptime = UptimeClock::start();
        let selection = args("pidstat -p SELF").unwrap().selection();
        let mut readings = selection.take(&uptime);
        let mut sums = MemorySums::default();
        for pages in [100, 300] {
            for task in readings.tasks.values_mut() {
                task.stat.resident_pages = pages;
            }
            sums.add(&readings);
        }
        sums.set_means(&mut readings);
        assert!(readings.tasks.values().all(|task| task.stat.resident_pages == 200));
    }
}
