//! Command `godwit capacity`: the table of operations per second, as text, CSV, JSON and a page
//! with a chart.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use measure::capacity::{
    CapacityAssumptions, CapacityCell, CapacityChart, CapacityLine, HighAvailabilityMode,
    LEASE_TIMES, LEASES, MISPRINT,
};
use netio::stdout;
use report::render_capacity;
use serde_json::{Value, json};

/// Calculate the lease operations per second of a number of clients with a lease time.
///
/// An operation is a written lease: a renewal at T1, or a new client; with --ha also a lease sent
/// to or received from the partner, with --api-calls a command. A renewal takes two packets, a new
/// client four. Without options the command prints the published table of leases by lease time, and
/// names its one misprint.
///
/// Exit codes: 0 done; 1 the output failed; 2 bad arguments; 3 a cell needs more than --measured
/// gives.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CapacityArgs {
    /// Numbers of leases, one row of the table each
    #[arg(long, value_name = "N,N...", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    leases: Vec<u64>,
    /// Lease times, one column of the table each: numbers with s, min, h, d or w
    #[arg(long, value_name = "TIME,TIME...", value_delimiter = ',', value_parser = time)]
    lease_times: Vec<(String, f64)>,
    /// T1, the time of renewal, as a share of the lease time
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    t1_share: f64,
    /// Clients replaced by new ones per day, percent of all
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = number)]
    churn: f64,
    /// Clients that renew more often than at T1 (chatty clients), percent of all
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    chatty: f64,
    /// Factor by which chatty clients renew more often
    #[arg(long, value_name = "TIMES", default_value = "10", value_parser = number)]
    chatty_times: f64,
    /// Control commands per second that read or write a lease, such as lease4-get
    #[arg(long, value_name = "RATE", default_value = "0", value_parser = number)]
    api_calls: f64,
    /// High availability mode; the table is for the busiest server
    #[arg(long, value_enum, default_value_t = HighAvailabilityArg::None)]
    ha: HighAvailabilityArg,
    /// Show the number of clients that wait after an outage of this length
    #[arg(long, value_name = "TIME", value_parser = time)]
    outage: Option<(String, f64)>,
    /// Show each cell as a share of a measured rate: operations per second, or a file of `godwit
    /// perfdhcp --json`
    #[arg(long, value_name = "RATE|FILE")]
    measured: Option<String>,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = CapacityFormat::Text)]
    format: CapacityFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CapacityFormat {
    Text,
    Csv,
    Json,
    Html,
}

flag_values! {
    enum HighAvailabilityArg of HighAvailabilityMode {
        /// One server without a partner
        None,
        /// One server serves all clients and informs its partner
        HotStandby,
        /// Each of two servers serves half of the clients and informs the other
        LoadBalancing,
        /// One server serves all clients and informs one backup
        PassiveBackup,
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number: &f64| number.is_finite() && number >= 0.0);
    number.ok_or_else(|| "must be a number from 0 on".into())
}

fn share(text: &str) -> Result<f64, String> {
    let share = number(text)?;
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err("must be above 0, 1 at most".into()) }
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = number(text)?;
    if percent <= 100.0 { Ok(percent) } else { Err("must be 100 at most".into()) }
}

fn time(text: &str) -> Result<(String, f64), String> {
    let at =
        text.find(|c: char| c.is_ascii_alphabetic()).ok_or("needs a unit: s, min, h, d or w")?;
    let unit_s = match &text[at..] {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 7.0 * 86_400.0,
        other => return Err(format!("unit {other}: must be s, min, h, d or w")),
    };
    let seconds = number(&text[..at])? * unit_s;
    if seconds > 0.0 { Ok((text.into(), seconds)) } else { Err("must be above 0".into()) }
}

/// Table of operations per second that `godwit capacity` prints.
struct CapacityTable {
    leases: Vec<u64>,
    times: Vec<(String, f64)>,
    assumptions: CapacityAssumptions,
    outage: Option<String>,
    measured_per_s: Option<f64>,
}

/// Prints the table of operations per second that `args` describe, and returns the exit code.
pub(crate) fn run(args: &CapacityArgs) -> ExitCode {
    let measured_per_s = match args.measured.as_deref().map(measured_rate).transpose() {
        Ok(measured) => measured,
        Err(problem) => {
            netio::stderr::print_line(format_args!("error: --measured: {problem}"));
            return ExitCode::from(2);
        }
    };
    let table = CapacityTable {
        leases: if args.leases.is_empty() { LEASES.into() } else { args.leases.clone() },
        times: if args.lease_times.is_empty() {
            LEASE_TIMES.map(|(name, seconds)| (name.to_owned(), seconds)).into()
        } else {
            args.lease_times.clone()
        },
        assumptions: CapacityAssumptions {
            t1_share: args.t1_share,
            churn_per_day: args.churn / 100.0,
            outage_s: args.outage.as_ref().map_or(0.0, |(_, seconds)| *seconds),
            chatty_share: args.chatty / 100.0,
            chatty_times: args.chatty_times,
            api_per_s: args.api_calls,
            sharing: args.ha.into(),
        },
        outage: args.outage.as_ref().map(|(name, _)| name.clone()),
        measured_per_s,
    };
    let text = match args.format {
        CapacityFormat::Text => table.text(),
        CapacityFormat::Csv => table.csv(),
        CapacityFormat::Json => table.json().to_string() + "\n",
        CapacityFormat::Html => render_capacity(&table.chart()),
    };
    if let Err(error) = stdout::print(&text) {
        netio::stderr::print_line(format_args!("error: {error}"));
        return ExitCode::FAILURE;
    }
    ExitCode::from(if table.is_too_much() { 3 } else { 0 })
}

/// Returns the rate that `--measured` names, in operations per second: a number, or a file with a
/// result.
fn measured_rate(text: &str) -> Result<f64, String> {
    let rate = match text.parse::<f64>() {
        Ok(rate) => Some(rate),
        Err(_) => {
            let document = fs::read_to_string(text).map_err(|error| {
                format!(
                    "{text} is not a number, and cannot be read as a file: \
                                          {error}"
                )
            })?;
            let json: Value =
                serde_json::from_str(&document).map_err(|error| format!("{text}: {error}"))?;
            if json["generator_limited"] == true {
                return Err(format!("{text}: the generator limited the rate, not the server"));
            }
            json["completed_per_s"].as_f64()
        }
    };
    rate.filter(|&rate| rate.is_finite() && rate > 0.0)
        .ok_or_else(|| format!("{text}: no operations per second above 0"))
}

impl CapacityTable {
    fn rows(&self) -> impl Iterator<Item = (u64, Vec<CapacityCell>)> {
        self.leases.iter().map(|&leases| {
            let cells = self.times.iter().map(|(_, s)| self.assumptions.cell(leases, *s));
            (leases, cells.collect())
        })
    }

    fn cells(&self) -> impl Iterator<Item = (String, CapacityCell)> {
        let names = self.times.iter().map(|(name, _)| name.clone()).cycle();
        names.zip(self.rows().flat_map(|(_, cells)| cells))
    }

    fn is_too_much(&self) -> bool {
        self.measured_per_s
            .is_some_and(|rate| self.cells().any(|(_, cell)| cell.operations_per_s() > rate))
    }

    /// Returns a note on the published misprint if the table shows its cell under the published
    /// assumptions.
    fn note(&self) -> Option<String> {
        let (leases, time, printed) = MISPRINT;
        let is_plain = CapacityAssumptions { outage_s: 0.0, ..self.assumptions }
            == CapacityAssumptions::default();
        let (_, cell) = self.cells().find(|(name, cell)| cell.leases == leases && name == time)?;
        is_plain.then(|| {
            format!(
                "{leases} leases of {time}: the published table prints {printed}, its formula gives \
                 {:.3}, so {}. 2000000 leases of 2w have the same quotient and are printed as 3: a \
                 misprint.",
                cell.renewals_per_s,
                cell.rounded()
            )
        })
    }

    fn grid(&self, text: &mut String, show: impl Fn(&CapacityCell) -> String) {
        let _ = write!(text, "{:>12}", "leases");
        for (name, _) in &self.times {
            let _ = write!(text, "{name:>10}");
        }
        text.push('\n');
        for (leases, cells) in self.rows() {
            let _ = write!(text, "{leases:>12}");
            for cell in &cells {
                let _ = write!(text, "{:>10}", show(cell));
            }
            text.push('\n');
        }
    }

    fn text(&self) -> String {
        let mut text = String::from("Operations per second\n");
        self.grid(&mut text, |cell| dashed(cell.rounded()));
        if let Some(rate) = self.measured_per_s {
            let _ = writeln!(text, "\nPer cent of {rate} operations per second");
            self.grid(&mut text, |cell| format!("{:.1}", 100.0 * cell.operations_per_s() / rate));
        }
        if let Some(outage) = &self.outage {
            let _ = writeln!(text, "\nClients that wait at once after {outage} without a server");
            self.grid(&mut text, |cell| dashed((cell.waiting_after_outage + 0.5) as u64));
        }
        if let (Some(outage), Some(rate)) = (&self.outage, self.measured_per_s) {
            let _ = writeln!(text, "\nSeconds until no client waits after {outage}");
            self.grid(&mut text, |cell| {
                cell.recovery_s(rate).map_or_else(|| "never".into(), |s| format!("{s:.1}"))
            });
        }
        if let Some(note) = self.note() {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    fn csv(&self) -> String {
        let mut text = String::from(
            "leases,lease_time,lease_time_s,operations_per_s,rounded,waiting_after_outage,\
             share_of_measured,recovery_s\n",
        );
        for (name, cell) in self.cells() {
            let share = self.measured_per_s.map(|rate| cell.operations_per_s() / rate);
            let recovery = self.measured_per_s.and_then(|rate| cell.recovery_s(rate));
            let number_text =
                |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
            let _ = writeln!(
                text,
                "{},{name},{},{},{},{},{},{}",
                cell.leases,
                cell.lease_time_s,
                cell.operations_per_s(),
                cell.rounded(),
                cell.waiting_after_outage,
                number_text(share),
                number_text(recovery)
            );
        }
        text
    }

    fn chart(&self) -> CapacityChart {
        let mut leases = self.leases.clone();
        leases.sort_unstable();
        let line = |(name, lease_time_s): &(String, f64)| CapacityLine {
            lease_time: name.clone(),
            cells: leases
                .iter()
                .map(|&count| self.assumptions.cell(count, *lease_time_s))
                .collect(),
        };
        CapacityChart {
            lines: self.times.iter().map(line).collect(),
            measured_per_s: self.measured_per_s,
            habits: self.assumptions,
            notes: self.note().into_iter().collect(),
        }
    }

    fn json(&self) -> Value {
        let cells = self.cells().map(|(name, cell)| {
            json!({
                "leases": cell.leases,
                "lease_time": name,
                "lease_time_s": cell.lease_time_s,
                "renewals_per_s": cell.renewals_per_s,
                "new_clients_per_s": cell.new_clients_per_s,
                "operations_per_s": cell.operations_per_s(),
                "rounded": cell.rounded(),
                "waiting_after_outage": cell.waiting_after_outage,
                "share_of_measured": self.measured_per_s.map(|rate| cell.operations_per_s() / rate),
                "recovery_s": self.measured_per_s.and_then(|rate| cell.recovery_s(rate)),
            })
        });
        json!({
            "schema": "godwit.capacity.v1",
            "habits": self.assumptions,
            "measured_per_s": self.measured_per_s,
            "cells": cells.collect::<Vec<_>>(),
            "notes": self.note().into_iter().collect::<Vec<_>>(),
        })
    }
}

fn dashed(number: u64) -> String {
    if number == 0 { "-".into() } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(measured_per_s: Option<f64>, outage: Option<&str>) -> CapacityTable {
        CapacityTable {
            leases: vec![1_000, 1_000_000],
            times: vec![("30min".into(), 1_800.0), ("1w".into(), 604_800.0)],
            assumptions: CapacityAssumptions { outage_s: 450.0, ..CapacityAssumptions::default() },
            outage: outage.map(Into::into),
            measured_per_s,
        }
    }

    #[test]
    fn the_misprint_is_named_in_every_form_that_has_room_for_it() {
        let text = table(None, None).text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["1000", "1", "-"]);
        assert_eq!(lines[3].split_whitespace().collect::<Vec<_>>(), ["1000000", "1111", "3"]);
        assert!(text.contains("prints 4, its formula gives 3.307, so 3"), "{text}");
        assert_eq!(table(None, None).json()["notes"].as_array().unwrap().len(), 1);
        let other = CapacityAssumptions { t1_share: 0.4, ..CapacityAssumptions::default() };
        assert_eq!(CapacityTable { assumptions: other, ..table(None, None) }.note(), None);
    }

    #[test]
    fn the_page_has_every_cell_and_the_measured_server() {
        let page = render_capacity(&table(Some(900.0), None).chart());
        for words in [">0.01<", "1000000", "1111", "30min", "measured: 900/s", "a misprint"] {
            assert!(page.contains(words), "{words}");
        }
        assert!(!page.contains("http://") && !page.contains("https://"), "nothing is fetched");
    }

    #[test]
    fn a_measured_server_that_is_too_slow_is_told() {
        assert!(!table(Some(1_112.0), None).is_too_much());
        assert!(table(Some(1_110.0), None).is_too_much());
        let text = table(Some(1_110.0), Some("450s")).text();
        assert!(text.contains("100.1") && text.contains("never"), "{text}");
        assert!(text.contains("500000"), "half of the clients wait: {text}");
        let csv = table(Some(2_000.0), None).csv();
        assert_eq!(csv.lines().count(), 5);
        assert!(csv.lines().nth(1).unwrap().starts_with("1000,30min,1800,1.11"), "{csv}");
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("2w").unwrap().1.to_bits(), 1_209_600.0_f64.to_bits());
        assert_eq!(time("1.5h").unwrap().1.to_bits(), 5_400.0_f64.to_bits());
        for wrong in ["5", "0s", "5y", "-1s", "h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
