//! Command mpstat: time use of processors and NUMA nodes, and interrupts.

mod json;
mod reading;
mod report;

use base::ToolResult;
use netio::signal::Signals;

use super::number_list::NumberList;
use super::{ReportTimes, UptimeClock, head_line, parse_decimals, print_version};
use crate::cpustat::{AVERAGE, ProcessorSelection};
use crate::print;
use crate::reading_timer::ReadingTimer;

use self::json::MpstatDocument;
use self::reading::MpstatReading;
use self::report::MpstatReport;

/// Command line of mpstat.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub(crate) struct MpstatArgs {
    #[command(flatten)]
    times: ReportTimes,
    /// Processors: numbers and ranges like 0,2-3,8-, `all` for their sum, ALL for each and their
    /// sum
    #[arg(short = 'P', value_name = "LIST", value_parser = NumberList::parse)]
    processors: Option<NumberList>,
    /// Show the time use of processors; the default
    #[arg(short = 'u')]
    has_processors: bool,
    /// Show the time use of NUMA nodes
    #[arg(short = 'n')]
    has_nodes: bool,
    /// NUMA nodes, as a list like that of -P; implies -n
    #[arg(short = 'N', value_name = "LIST", value_parser = NumberList::parse)]
    nodes: Option<NumberList>,
    /// Interrupts per second: SUM for the sum, CPU for each interrupt, SCPU for each software
    /// interrupt, ALL
    #[arg(short = 'I', value_name = "KEYWORD,..", value_delimiter = ',', value_parser = ["SUM", "CPU", "SCPU", "ALL"])]
    interrupts: Vec<String>,
    /// Show everything: -n -u -I ALL, and -N ALL -P ALL unless they are given
    #[arg(short = 'A')]
    has_all: bool,
    /// Print the output as one JSON document
    #[arg(short = 'o', value_name = "FORMAT", value_parser = ["JSON"])]
    format: Option<String>,
    /// Decimal places: 0, 1 or 2
    #[arg(long = "dec", value_name = "N", default_value = "2", value_parser = parse_decimals)]
    decimals: usize,
    /// Print the version
    #[arg(short = 'V')]
    version: bool,
}

/// Tables of a report of mpstat, with the lines of each.
#[derive(Clone, Debug, Default)]
struct MpstatSelection {
    processors: Option<ProcessorSelection>,
    nodes: Option<ProcessorSelection>,
    interrupt_sums: Option<ProcessorSelection>,
    interrupts: Option<ProcessorSelection>,
    soft_interrupts: Option<ProcessorSelection>,
    /// True if every report repeats the head line with the names of the columns.
    has_head_each_time: bool,
}

impl MpstatArgs {
    /// Runs mpstat: prints its reports.
    pub(super) fn run(&self) -> ToolResult<()> {
        if self.version {
            return print_version("mpstat");
        }
        let signals = Signals::for_command()?;
        let clock = UptimeClock::start();
        let selection = self.selection(&MpstatReading::take(&clock))?;
        if self.times.interval.is_zero() {
            let mut output = MpstatOutput::begin(self, selection.has_head_each_time)?;
            let now = MpstatReading::take(&clock);
            output.show(&selection.report(&now.at_boot(), &now), &now.time)?;
            return output.end();
        }
        let mut timer = ReadingTimer::start(signals, self.times.interval);
        let mut output = MpstatOutput::begin(self, selection.has_head_each_time)?;
        let first = MpstatReading::take(&clock);
        let mut before = first.clone();
        let mut shown = 0;
        while self.times.count.is_none_or(|count| shown < count) && timer.wait()? {
            let now = MpstatReading::take(&clock);
            output.show(&selection.report(&before, &now), &before.time)?;
            before = now;
            shown += 1;
        }
        if shown > 0 {
            output.show_average(selection.report(&first, &before))?;
        }
        output.end()
    }

    /// Returns the tables and lines that the command line selects among those of `reading`.
    fn selection(&self, reading: &MpstatReading) -> ToolResult<MpstatSelection> {
        let is_listed = |keyword: &str| {
            self.has_all || self.interrupts.iter().any(|word| word == keyword || word == "ALL")
        };
        let default = if self.has_all { NumberList::each() } else { NumberList::sum() };
        let processors = self.processors.as_ref().unwrap_or(&default);
        let processors = processors.select(&reading.processors(), "processor")?;
        // Single interrupts have no line of all processors.
        let singles = match self.processors {
            Some(_) => processors.clone(),
            None => ProcessorSelection { is_each: true, ..processors.clone() },
        };
        let nodes = self.nodes.as_ref().unwrap_or(&default);
        let nodes = nodes.select(&reading.node_numbers(), "node")?;
        let has_nodes = self.has_nodes || self.nodes.is_some() || self.has_all;
        // Without another switch for a table, -P selects that of processors.
        let is_default = self.interrupts.is_empty() && (!has_nodes || self.processors.is_some());
        let has_processors = self.has_processors || self.has_all || is_default;
        let mut selection = MpstatSelection {
            processors: has_processors.then(|| processors.clone()),
            nodes: has_nodes.then_some(nodes),
            interrupt_sums: is_listed("SUM").then_some(processors),
            interrupts: is_listed("CPU").then(|| singles.clone()),
            soft_interrupts: is_listed("SCPU").then_some(singles),
            has_head_each_time: false,
        };
        let has_list = self.processors.is_some() || self.nodes.is_some();
        selection.has_head_each_time = has_list || selection.tables() > 1;
        Ok(selection)
    }
}

impl MpstatSelection {
    /// Returns the number of tables in the selection.
    fn tables(&self) -> usize {
        let tables = [
            &self.processors,
            &self.nodes,
            &self.interrupt_sums,
            &self.interrupts,
            &self.soft_interrupts,
        ];
        tables.into_iter().flatten().count()
    }
}

/// Form of mpstat's standard output: text or JSON.
enum MpstatOutput {
    Text { decimals: usize, has_head_each_time: bool, is_first: bool },
    Json(MpstatDocument),
}

impl MpstatOutput {
    /// Prints the part of the output before the reports.
    fn begin(args: &MpstatArgs, has_head_each_time: bool) -> ToolResult<Self> {
        if args.format.is_some() {
            let document = MpstatDocument::default();
            print(&MpstatDocument::begin())?;
            return Ok(Self::Json(document));
        }
        print(&head_line())?;
        Ok(Self::Text { decimals: args.decimals, has_head_each_time, is_first: true })
    }

    /// Prints the report of an interval that began at the time of day `began`.
    fn show(&mut self, report: &MpstatReport, began: &str) -> ToolResult<()> {
        match self {
            Self::Text { decimals, has_head_each_time, is_first } => {
                let head = (*has_head_each_time || *is_first).then_some(began);
                *is_first = false;
                print(&report.text(head, *decimals))
            }
            Self::Json(document) => print(&document.add(report)),
        }
    }

    /// Prints the report of averages, which the JSON document does not have.
    fn show_average(&mut self, mut report: MpstatReport) -> ToolResult<()> {
        AVERAGE.clone_into(&mut report.time);
        match self {
            Self::Text { .. } => self.show(&report, AVERAGE),
            Self::Json(_) => Ok(()),
        }
    }

    fn end(self) -> ToolResult<()> {
        match self {
            Self::Text { .. } => Ok(()),
            Self::Json(_) => print(&MpstatDocument::end()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parser of the switches alone.
    #[derive(Debug, clap::Parser)]
    struct MpstatLine {
        #[command(flatten)]
        args: MpstatArgs,
    }

    fn selection(line: &str) -> MpstatSelection {
        let words = line.split_whitespace();
        let args = <MpstatLine as clap::Parser>::try_parse_from(words).unwrap().args;
        args.selection(&reading::tests::reading()).unwrap()
    }

    #[test]
    fn switches_select_tables_and_lines() {
        for (line, tables, has_head) in [
            ("mpstat", 1, false),
            ("mpstat -u 1 5", 1, false),
            ("mpstat -P ALL 1", 1, true),
            ("mpstat -I SUM", 1, false),
            ("mpstat -u -I SUM,SCPU", 3, true),
            ("mpstat -n", 1, false),
            ("mpstat -N 0", 1, true),
            ("mpstat -n -P 0", 2, true),
            ("mpstat -n -P 0 -I SUM", 2, true),
            ("mpstat -A", 5, true),
            ("mpstat -I ALL", 3, true),
        ] {
            let selection = selection(line);
            assert_eq!(selection.tables(), tables, "{line}");
            assert_eq!(selection.has_head_each_time, has_head, "{line}");
        }
        assert!(selection("mpstat -A").nodes.unwrap().is_each);
        assert_eq!(selection("mpstat -A -P 1").interrupts.unwrap().cpus, [1]);
        assert!(selection("mpstat -I CPU").interrupts.unwrap().is_each);
        assert!(!selection("mpstat -P all -I CPU").interrupts.unwrap().contains(0));
    }

    #[test]
    fn wrong_switches_are_refused() {
        for line in [
            "mpstat -P x",
            "mpstat 1 0",
            "mpstat -1",
            "mpstat -I NONE",
            "mpstat -o XML",
            "mpstat --dec=3",
        ] {
            let words = line.split_whitespace();
            assert!(<MpstatLine as clap::Parser>::try_parse_from(words).is_err(), "{line}");
        }
    }
}
