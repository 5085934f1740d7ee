//! Command `godwit advise`: finds the settings that make a configuration slow, as text and JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dhcp_config::advise::{
    Advice, AdviceSubject, ConfigPosition, Cost, LeaseRateShare, LeasedResources, MeasuredRate,
    PerformanceFinding, ServerObservations, ShareMeaning,
};
use dhcp_lease::v6::ResourceKind;
use dhcp_store::LoadReport;
use dhcp_store::memfile::load_file;
use dhcp_store::storage::DiskStorage;
use measure::plan::MeasuredProtocol;
use netio::stdout;
use serde_json::{Value, json};

/// Largest number of positions in the configuration that a finding shows in text; JSON has all.
const POSITIONS_MAX: usize = 6;

/// List the settings of a configuration that slow the server down, most expensive first.
///
/// Reads a configuration of Kea or of this server, DHCPv4 or DHCPv6. Each finding has its position,
/// the reason, the measured cost with its source, and the change that removes it. Findings without
/// a published measurement have no figure.
///
/// Exit codes: 0 done; 1 the output failed; 2 bad arguments or a bad configuration; 3 a finding
/// costs more than --share.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AdviseArgs {
    /// Configuration file to judge
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Lease file in Kea's CSV format (of memfile or `godwit db dump`), to find nearly full pools
    #[arg(long, value_name = "FILE")]
    leases: Option<PathBuf>,
    /// Result folder of `godwit lab run`, whose highest rate is compared with the rate at which all
    /// leases are renewed
    #[arg(long, value_name = "RESULT")]
    measured: Option<PathBuf>,
    /// Server of the result of --measured, if that has several
    #[arg(long, value_name = "NAME", requires = "measured")]
    server: Option<String>,
    /// Exit with 3 if a finding costs more than this share of the leases per second: `10%` or 0.1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    share: Option<f64>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number * unit);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "must be from 0% to 100%, or from 0 to 1".into())
}

/// Prints the findings about the configuration file that `args` names, and returns the exit code.
pub(crate) fn run(args: &AdviseArgs) -> ExitCode {
    let output = match advise(args) {
        Ok(output) => output,
        Err(problem) => {
            netio::stderr::print_line(&problem);
            return ExitCode::from(2);
        }
    };
    let text = if args.json { format!("{:#}\n", output.json()) } else { output.text() };
    if let Err(error) = stdout::print(&text) {
        netio::stderr::print_line(format_args!("error: {error}"));
        return ExitCode::FAILURE;
    }
    ExitCode::from(if output.too_expensive().count() > 0 { 3 } else { 0 })
}

/// Reads all input and judges the configuration. Returns the output, or a message for the user if
/// the input is wrong.
fn advise(args: &AdviseArgs) -> Result<AdviseOutput, String> {
    let name = args.file.display().to_string();
    let text = fs::read_to_string(&args.file)
        .map_err(|error| format!("error: cannot read {name}: {error}"))?;
    let subject =
        AdviceSubject::read(&name, &text, &mut dhcp_server::FileIncludeResolver::default())
            .map_err(|problems| {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            })?;
    let is_v6 = subject.is_v6();
    let leases = args.leases.as_deref().map(|path| leases(path, is_v6)).transpose();
    let carried = args.measured.as_deref();
    let carried = carried.map(|folder| read_measured_rate(folder, args.server.as_deref(), is_v6));
    let observed = ServerObservations {
        leases: leases.map_err(|error| format!("error: --leases: {error}"))?,
        carried: carried.transpose().map_err(|error| format!("error: --measured: {error}"))?,
    };
    Ok(AdviseOutput { file: name, is_v6, advice: subject.advise(&observed), limit: args.share })
}

/// Reads the leases of the lease file at `path`, as far as they fill pools.
fn leases(path: &Path, is_v6: bool) -> Result<LeasedResources, String> {
    let print_errors = |report: &LoadReport| {
        for error in &report.errors {
            netio::stderr::print_line(format_args!("warning: {}: {error}", path.display()));
        }
    };
    if is_v6 {
        let (leases, report) = load_file::<dhcp_lease::v6::V6>(&DiskStorage, path)
            .map_err(|error| error.to_string())?;
        print_errors(&report);
        let leased = leases.iter().filter(|lease| !lease.state.is_past());
        let (addresses, prefixes): (Vec<_>, Vec<_>) =
            leased.map(|lease| lease.address).partition(|each| each.kind == ResourceKind::Address);
        let bits = |each: Vec<dhcp_lease::v6::Resource>| {
            each.into_iter().map(|resource| resource.address.to_bits()).collect()
        };
        return Ok(LeasedResources::new(bits(addresses), bits(prefixes)));
    }
    let (leases, report) =
        load_file::<dhcp_lease::v4::V4>(&DiskStorage, path).map_err(|error| error.to_string())?;
    print_errors(&report);
    let leased = leases.iter().filter(|lease| !lease.state.is_past());
    Ok(LeasedResources::new(
        leased.map(|lease| lease.address.to_bits().into()).collect(),
        Vec::new(),
    ))
}

/// Reads the highest rate of a server from a stored result.
fn read_measured_rate(
    folder: &Path,
    server: Option<&str>,
    is_v6: bool,
) -> Result<MeasuredRate, String> {
    let highest = lab::stored::highest(folder, server).map_err(|error| error.to_string())?;
    if (highest.protocol == MeasuredProtocol::Dhcp6) != is_v6 {
        return Err(format!(
            "result {} is of {}, but the configuration is of {}",
            folder.display(),
            protocol(!is_v6),
            protocol(is_v6)
        ));
    }
    let lab::stored::HighestRate { leases_per_s, is_at_least, source, .. } = highest;
    Ok(MeasuredRate { leases_per_s, is_at_least, source })
}

const fn protocol(is_v6: bool) -> &'static str {
    if is_v6 { "DHCPv6" } else { "DHCPv4" }
}

/// Output of `godwit advise`: the findings about a configuration.
struct AdviseOutput {
    file: String,
    is_v6: bool,
    advice: Advice,
    /// Share of the leases per second above which a finding is too expensive.
    limit: Option<f64>,
}

impl AdviseOutput {
    /// Returns the findings that cost more than the limit, a share of the leases per second. A cost
    /// of "at most" a share does not count.
    fn too_expensive(&self) -> impl Iterator<Item = &PerformanceFinding> {
        self.advice.findings.iter().filter(|finding| self.is_too_expensive(&finding.cost))
    }

    fn is_too_expensive(&self, cost: &Cost) -> bool {
        let certain_share = cost.share.filter(|share| share.bound != ShareMeaning::AtMost);
        certain_share.zip(self.limit).is_some_and(|(share, limit)| share.value > limit)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.advice.findings {
            self.finding(&mut text, finding);
        }
        for note in &self.advice.notes {
            let _ = writeln!(text, "note: {note}\n");
        }
        let _ = match self.advice.findings.len() {
            0 => writeln!(text, "{}: no setting that is known to be slow", self.file),
            1 => writeln!(text, "{}: 1 finding", self.file),
            count => writeln!(text, "{}: {count} findings", self.file),
        };
        if let Some(limit) = self.limit {
            let count = self.too_expensive().count();
            let _ = writeln!(text, "{count} above {:.1} %", limit * 100.0);
        }
        text
    }

    fn finding(&self, text: &mut String, finding: &PerformanceFinding) {
        let PerformanceFinding { fault, places, reason, cost, in_godwit, change } = finding;
        let (first, others) = places.split_first().expect("a finding stands somewhere");
        let ConfigPosition { file, line, column } = first;
        let _ = writeln!(text, "{file}:{line}:{column}: {}: {reason}", fault.name());
        if !others.is_empty() {
            let positions = others.iter().take(POSITIONS_MAX).map(|position| {
                let ConfigPosition { file: other, line, column } = position;
                let is_same = other == file;
                if is_same {
                    format!("{line}:{column}")
                } else {
                    format!("{other}:{line}:{column}")
                }
            });
            let mut positions: Vec<String> = positions.collect();
            if let Some(more) = others.len().checked_sub(POSITIONS_MAX).filter(|&more| more > 0) {
                positions.push(format!("{more} more"));
            }
            let _ = writeln!(text, "    also at: {}", positions.join(", "));
        }
        let share = cost.share.map(|share| format!("{}: ", per_cent(share))).unwrap_or_default();
        let _ = writeln!(text, "    cost: {share}{}", cost.figures);
        if let Some(source) = &cost.source {
            let _ = writeln!(text, "    source: {source}");
        }
        if let Some(counted) = in_godwit {
            let _ = writeln!(text, "    in godwit: {counted} (docs/design/009-feature-costs.md)");
        }
        let _ = writeln!(text, "    change: {change}\n");
    }

    fn json(&self) -> Value {
        let position = |position: &ConfigPosition| {
            let ConfigPosition { file, line, column } = position;
            json!({ "file": file, "line": line, "column": column })
        };
        let finding = |finding: &PerformanceFinding| {
            let Cost { share, figures, source } = &finding.cost;
            json!({
                "fault": finding.fault.name(),
                "places": finding.places.iter().map(position).collect::<Vec<_>>(),
                "reason": finding.reason,
                "cost": {
                    "share": share.map(|share| share.value),
                    "bound": share.map(|share| share.bound.name()),
                    "figures": figures,
                    "source": source,
                    "is_above_limit": self.is_too_expensive(&finding.cost),
                },
                "in_godwit": finding.in_godwit,
                "change": finding.change,
            })
        };
        json!({
            "schema": "godwit.advise.v1",
            "file": self.file,
            "protocol": if self.is_v6 { "dhcp6" } else { "dhcp4" },
            "share_limit": self.limit,
            "findings": self.advice.findings.iter().map(finding).collect::<Vec<_>>(),
            "notes": self.advice.notes,
        })
    }
}

fn per_cent(share: LeaseRateShare) -> String {
    let value = share.value * 100.0;
    match share.bound {
        ShareMeaning::Measured => format!("{value:.1} %"),
        ShareMeaning::Interpolated => format!("{value:.1} % (interpolated)"),
        ShareMeaning::AtLeast => format!("at least {value:.1} %"),
        ShareMeaning::AtMost => format!("at most {value:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_per_cents_or_parts() {
        for (text, expected) in [("10%", 0.1), ("0.1", 0.1), ("100 %", 1.0), ("0", 0.0)] {
            let value = share(text).unwrap();
            assert!((value - expected).abs() < 1e-12, "{text}");
        }
        for wrong in ["10", "101%", "-1%", "", "%", "x", "NaN"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
