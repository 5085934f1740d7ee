//! Figures of mpstat between two readings, and their tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use counters::{CountRow, CountTable};

use super::super::per_second;
use super::MpstatSelection;
use super::reading::MpstatReading;
use crate::cpustat::{ALL, CpuRow, ProcessorSelection, cpu_line, share_head};

/// Figures of an interval in one report of mpstat.
#[derive(Clone, Debug)]
pub(super) struct MpstatReport {
    /// Local time of day at the end of the interval.
    pub(super) time: String,
    pub(super) processors: Option<Vec<CpuRow>>,
    pub(super) nodes: Option<Vec<CpuRow>>,
    pub(super) interrupt_sums: Option<Vec<InterruptSum>>,
    pub(super) interrupts: Option<InterruptRates>,
    pub(super) soft_interrupts: Option<InterruptRates>,
}

/// Interrupts per second of all kinds together, of one processor or of all.
#[derive(Clone, Debug)]
pub(super) struct InterruptSum {
    /// Number of the processor, or `all`.
    pub(super) label: String,
    pub(super) per_second: f64,
}

/// Interrupts per second of each kind on the chosen processors.
#[derive(Clone, Debug)]
pub(super) struct InterruptRates {
    pub(super) names: Vec<String>,
    pub(super) processors: Vec<ProcessorInterrupts>,
}

/// Interrupts per second of each kind on one processor.
#[derive(Clone, Debug)]
pub(super) struct ProcessorInterrupts {
    pub(super) cpu: u32,
    /// Interrupts per second, one for each kind of interrupt in the table.
    pub(super) per_second: Vec<f64>,
}

impl MpstatSelection {
    /// Returns the selected figures between two readings.
    pub(super) fn report(&self, before: &MpstatReading, now: &MpstatReading) -> MpstatReport {
        let elapsed_s = now.seconds - before.seconds;
        let rates = |selection: &ProcessorSelection, before: &_, now: &_| {
            interrupt_rates(selection, before, now, elapsed_s)
        };
        MpstatReport {
            time: now.time.clone(),
            processors: self.processors.as_ref().map(|chosen| chosen.rows(&before.cpus, &now.cpus)),
            nodes: self.nodes.as_ref().map(|chosen| chosen.rows(&before.nodes, &now.nodes)),
            interrupt_sums: self.interrupt_sums.as_ref().map(|chosen| {
                let count = per_second(before.interrupt_count, now.interrupt_count, elapsed_s);
                let sum = InterruptSum { label: ALL.to_owned(), per_second: count };
                let singles = rates(chosen, &before.interrupts, &now.interrupts).processors;
                let singles = singles.into_iter().map(|own| InterruptSum {
                    label: own.cpu.to_string(),
                    per_second: own.per_second.iter().sum(),
                });
                chosen.has_sum.then_some(sum).into_iter().chain(singles).collect()
            }),
            interrupts: self
                .interrupts
                .as_ref()
                .map(|chosen| rates(chosen, &before.interrupts, &now.interrupts)),
            soft_interrupts: self
                .soft_interrupts
                .as_ref()
                .map(|chosen| rates(chosen, &before.soft_interrupts, &now.soft_interrupts)),
        }
    }
}

/// Returns the interrupts per second of each kind on the chosen processors. A kind that is new in
/// `now` counts from 0.
fn interrupt_rates(
    chosen: &ProcessorSelection,
    before: &CountTable,
    now: &CountTable,
    elapsed_s: f64,
) -> InterruptRates {
    let rows_before: BTreeMap<&str, &CountRow> =
        before.rows.iter().map(|row| (row.name.as_str(), row)).collect();
    let count = |row: &CountRow, column: Option<usize>| {
        column.and_then(|column| row.counts.get(column)).copied().unwrap_or(0)
    };
    let columns = now.cpus.iter().enumerate().filter(|(_, cpu)| chosen.contains(**cpu));
    let processors = columns.map(|(column, &cpu)| {
        let column_before = before.cpus.iter().position(|each| *each == cpu);
        let rate = |row: &CountRow| {
            let row_before = rows_before.get(row.name.as_str());
            let count_before = row_before.map_or(0, |row| count(row, column_before));
            per_second(count_before, count(row, Some(column)), elapsed_s)
        };
        ProcessorInterrupts { cpu, per_second: now.rows.iter().map(rate).collect() }
    });
    InterruptRates {
        processors: processors.collect(),
        names: now.rows.iter().map(|row| row.name.clone()).collect(),
    }
}

impl MpstatReport {
    /// Returns the tables of the report as text, with head lines if `began`, the time of day at the
    /// beginning, is given.
    pub(super) fn text(&self, began: Option<&str>, decimals: usize) -> String {
        let Self { time, .. } = self;
        let mut text = String::new();
        let shares = |rows: &[CpuRow]| -> String {
            rows.iter().map(|(label, shares)| cpu_line(time, label, shares, decimals)).collect()
        };
        for (rows, noun) in [(&self.processors, "CPU"), (&self.nodes, "NODE")] {
            if let Some(rows) = rows {
                add_table(&mut text, began.map(|began| share_head(began, noun)), &shares(rows));
            }
        }
        if let Some(sums) = &self.interrupt_sums {
            let line = |sum: &InterruptSum| {
                let InterruptSum { label, per_second } = sum;
                format!("{time:<11}{label:>5} {per_second:>9.decimals$}\n")
            };
            let head = began.map(|began| format!("{began:<11}  CPU    intr/s\n"));
            add_table(&mut text, head, &sums.iter().map(line).collect::<String>());
        }
        for rates in [&self.interrupts, &self.soft_interrupts].into_iter().flatten() {
            let head = began.map(|began| rates.head(began));
            add_table(&mut text, head, &rates.lines(time, decimals));
        }
        text
    }
}

fn add_table(text: &mut String, head: Option<String>, lines: &str) {
    if let Some(head) = head {
        text.push('\n');
        text.push_str(&head);
    }
    text.push_str(lines);
}

impl InterruptRates {
    fn head(&self, began: &str) -> String {
        let mut line = format!("{began:<11}  CPU");
        for name in &self.names {
            let _ = write!(line, " {name:>8}/s");
        }
        line + "\n"
    }

    fn lines(&self, time: &str, decimals: usize) -> String {
        let mut text = String::new();
        for ProcessorInterrupts { cpu, per_second } in &self.processors {
            let _ = write!(text, "{time:<11}{cpu:>5}");
            for (name, rate) in std::iter::zip(&self.names, per_second) {
                let width = name.len().max(8) + 2;
                let _ = write!(text, " {rate:>width$.decimals$}");
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::reading::tests::reading;
    use super::*;

    /// Returns a report of all time since boot.
    pub(in super::super) fn report() -> MpstatReport {
        let each = Some(ProcessorSelection {
            has_sum: true,
            is_each: true,
            ..ProcessorSelection::default()
        });
        let selection = MpstatSelection {
            processors: each.clone(),
            nodes: each.clone(),
            interrupt_sums: each.clone(),
            interrupts: each.clone(),
            soft_interrupts: each,
            has_head_each_time: true,
        };
        selection.report(&reading().at_boot(), &reading())
    }

    #[test]
    fn tables_are_those_of_mpstat() {
        let lines: Vec<String> =
            report().text(Some("10:00:00"), 2).lines().map(str::to_owned).collect();
        let seen: Vec<&str> = lines.iter().map(|line| &line[..line.len().min(33)]).collect();
        assert_eq!(
            seen,
            [
                "",
                "10:00:00     CPU    %usr   %nice ",
                "10:00:02     all   20.00    0.00 ",
                "10:00:02       0   30.00    0.00 ",
                "10:00:02       1   10.00    0.00 ",
                "",
                "10:00:00    NODE    %usr   %nice ",
                "10:00:02     all   20.00    0.00 ",
                "10:00:02       0   20.00    0.00 ",
                "",
                "10:00:00     CPU    intr/s",
                "10:00:02     all    250.00",
                "10:00:02       0    150.00",
                "10:00:02       1     25.00",
                "",
                "10:00:00     CPU       24/s      ",
                "10:00:02       0      50.00     1",
                "10:00:02       1       0.00      ",
                "",
                "10:00:00     CPU   NET_RX/s",
                "10:00:02       0       3.50",
                "10:00:02       1       4.50",
            ]
        );
        assert_eq!(lines[16], "10:00:02       0      50.00     100.00       0.00");
        assert_eq!(report().text(None, 0).lines().count(), 3 + 2 + 3 + 2 + 2);
    }
}
