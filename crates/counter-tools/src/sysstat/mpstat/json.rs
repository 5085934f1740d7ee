//! JSON document of `mpstat -o JSON`, with the layout and the keys of sysstat.

use std::fmt::Write as _;

use counters::CpuShares;
use netio::Clock;

use super::super::{date, processor_count};
use super::report::{InterruptRates, InterruptSum, MpstatReport, ProcessorInterrupts};
use crate::cpustat::{CpuRow, kernel_value};

/// JSON document of mpstat that is being printed report by report.
#[derive(Debug, Default)]
pub(super) struct MpstatDocument {
    /// Number of reports that the document has so far.
    reports: usize,
}

impl MpstatDocument {
    /// Returns the text of the JSON document before the reports.
    pub(super) fn begin() -> String {
        let quoted = |text: &str| serde_json::to_string(text).expect("plain text");
        format!(
            "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{\n\
             \t\t\t\"nodename\": {},\n\t\t\t\"sysname\": \"Linux\",\n\t\t\t\"release\": {},\n\
             \t\t\t\"machine\": \"{}\",\n\t\t\t\"number-of-cpus\": {},\n\t\t\t\"date\": \"{}\",\n\
             \t\t\t\"statistics\": [\n",
            quoted(&kernel_value("hostname")),
            quoted(&kernel_value("osrelease")),
            std::env::consts::ARCH,
            processor_count(),
            date(Clock::now().wall_us / 1_000_000),
        )
    }

    /// Returns the JSON text of `report`, with the separator from the previous report.
    pub(super) fn add(&mut self, report: &MpstatReport) -> String {
        let mut text = if self.reports == 0 { String::new() } else { ",\n".to_owned() };
        self.reports += 1;
        let tables = [
            report.processors.as_ref().map(|rows| share_table("cpu-load", "cpu", rows)),
            report.nodes.as_ref().map(|rows| share_table("node-load", "node", rows)),
            report.interrupt_sums.as_ref().map(|sums| sum_table(sums)),
            report.interrupts.as_ref().map(|rates| rate_table("individual-interrupts", rates)),
            report.soft_interrupts.as_ref().map(|rates| rate_table("soft-interrupts", rates)),
        ];
        let tables: Vec<String> = tables.into_iter().flatten().collect();
        let _ = write!(
            text,
            "\t\t\t\t{{\n\t\t\t\t\t\"timestamp\": \"{}\",\n{}\n\t\t\t\t}}",
            report.time,
            tables.join(",\n")
        );
        text
    }

    /// Returns the text of the JSON document after the reports.
    pub(super) fn end() -> String {
        "\n\t\t\t]\n\t\t}\n\t]\n}}\n".to_owned()
    }
}

/// Returns a JSON array under `key` with an element for each of `lines`.
fn table(key: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("\t\t\t\t\t\t{line}")).collect();
    format!("\t\t\t\t\t\"{key}\": [\n{}\n\t\t\t\t\t]", lines.join(",\n"))
}

fn share_table(key: &str, noun: &str, rows: &[CpuRow]) -> String {
    table(key, rows.iter().map(|(label, shares)| share_line(noun, label, shares)))
}

fn share_line(noun: &str, label: &str, shares: &CpuShares) -> String {
    let names = ["usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle"];
    let mut line = format!("{{\"{noun}\": \"{label}\"");
    for (name, share) in std::iter::zip(names, shares.columns()) {
        let _ = write!(line, ", \"{name}\": {share:.2}");
    }
    line + "}"
}

fn sum_table(sums: &[InterruptSum]) -> String {
    let line = |sum: &InterruptSum| {
        format!("{{\"cpu\": \"{}\", \"intr\": {:.2}}}", sum.label, sum.per_second)
    };
    table("sum-interrupts", sums.iter().map(line))
}

fn rate_table(key: &str, rates: &InterruptRates) -> String {
    let line = |own: &ProcessorInterrupts| {
        let interrupts = std::iter::zip(&rates.names, &own.per_second).map(|(name, rate)| {
            format!("\t\t\t\t\t\t\t{{\"name\": \"{name}\", \"value\": {rate:.2}}}")
        });
        let interrupts: Vec<String> = interrupts.collect();
        format!(
            "{{\"cpu\": \"{}\", \"intr\": [\n{}\n\t\t\t\t\t\t] }}",
            own.cpu,
            interrupts.join(",\n")
        )
    };
    table(key, rates.processors.iter().map(line))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn the_document_has_the_keys_of_sysstat() {
        let mut document = MpstatDocument::default();
        let (first, second) = (document.add(&report()), document.add(&report()));
        let text = MpstatDocument::begin() + &first + &second + &MpstatDocument::end();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let host = &value["sysstat"]["hosts"][0];
        assert_eq!((&host["sysname"], host["number-of-cpus"].is_u64()), (&"Linux".into(), true));
        let report = &host["statistics"][1];
        assert_eq!(report["timestamp"], "10:00:02");
        assert_eq!(
            (&report["cpu-load"][1]["cpu"], &report["cpu-load"][1]["usr"]),
            (&"0".into(), &30.0.into())
        );
        assert_eq!(report["node-load"][1]["node"], "0");
        assert_eq!(report["sum-interrupts"][0]["intr"], 250.0);
        assert_eq!(report["individual-interrupts"][0]["intr"][1]["name"], "LOC");
        assert_eq!(report["soft-interrupts"][1]["intr"][0]["value"], 4.5);
        assert!(
            first.starts_with("\t\t\t\t{\n\t\t\t\t\t\"timestamp\": \"10:00:02\",\n"),
            "{first}"
        );
    }
}
