//! Command `godwit convert`: a configuration of ISC dhcpd in Kea's dialect.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{V4, V6};
use dhcp_config::{ConfigParseOptions, ConfigProblem, NoIncludes, ReadConfig, Severity};
use dhcp_server::FileIncludeResolver;
use dhcpd_convert::{ConversionOptions, ConvertedConfig, NamedFinding};
use netio::stdout;

/// Convert a configuration of ISC dhcpd (dhcpd.conf) to Kea's dialect.
///
/// The result is printed, or written to a file, and is valid for `godwit dhcp4` or `godwit dhcp6`.
/// Each statement that it does not carry is named with file, line and column, the statement's
/// effect in dhcpd, and advice.
///
/// Exit codes: 0 everything is carried; 3 written, and some statements are not carried; 1 the
/// result cannot be written; 2 bad arguments, or a file with errors.
#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// File that dhcpd reads
    file: PathBuf,
    /// File to write the result to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Convert for DHCPv4 [default: by the subnets of the file]
    #[arg(short = '4', long = "dhcp4", conflicts_with = "dhcp6")]
    dhcp4: bool,
    /// Convert for DHCPv6 [default: by the subnets of the file]
    #[arg(short = '6', long = "dhcp6")]
    dhcp6: bool,
    /// Interface that the server listens at; for DHCPv6 with the subnet of its link [default: all]
    #[arg(long = "interface", value_name = "NAME[=SUBNET]")]
    interfaces: Vec<String>,
}

/// Converts the file that `args` name, and returns the exit code.
pub(crate) fn run(args: &ConvertArgs) -> ExitCode {
    let converted = match convert(args) {
        Ok(converted) => converted,
        Err(problems) => {
            netio::stderr::print_line(problems);
            return ExitCode::from(2);
        }
    };
    for note in &converted.notes {
        let file = file_name(&converted.files, note.at.file);
        netio::stderr::print_line(NamedFinding { file, finding: note });
    }
    let problems = problems_of(&converted);
    for problem in problems.iter().filter(|problem| problem.severity == Severity::Error) {
        netio::stderr::print_line(format_args!("the result has to be changed by hand: {problem}"));
    }
    if let Err(error) = write(args.output.as_deref(), &converted.text) {
        netio::stderr::print_line(format_args!("error: {error}"));
        return ExitCode::FAILURE;
    }
    let is_valid = problems.iter().all(|problem| problem.severity != Severity::Error);
    ExitCode::from(if converted.notes.is_empty() && is_valid { 0 } else { 3 })
}

fn file_name(files: &[String], index: u16) -> &str {
    files.get(usize::from(index)).map_or("", String::as_str)
}

/// Reads and converts the file. Returns messages for the user if that is not possible.
fn convert(args: &ConvertArgs) -> Result<ConvertedConfig, String> {
    let name = args.file.display().to_string();
    let octets =
        fs::read(&args.file).map_err(|error| format!("error: cannot read {name}: {error}"))?;
    // dhcpd takes bytes of any encoding in strings and comments.
    let text = String::from_utf8_lossy(&octets);
    let is_v6 = (args.dhcp4 || args.dhcp6).then_some(args.dhcp6);
    let options = ConversionOptions { is_v6, interfaces: args.interfaces.clone() };
    let mut resolver = FileIncludeResolver::default();
    dhcpd_convert::convert(&name, &text, &options, &mut resolver).map_err(|refused| {
        let lines = refused.errors.iter().map(|error| {
            let file = file_name(&refused.files, error.at.file);
            NamedFinding { file, finding: error }.to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// Returns the problems that the server would report of the result.
fn problems_of(converted: &ConvertedConfig) -> Vec<ConfigProblem> {
    let options = ConfigParseOptions::default();
    let (name, text) = ("the result", converted.text.as_str());
    let checked = if converted.is_v6 {
        V6::read_config(&options, name, text, &mut NoIncludes).map(|checked| checked.warnings)
    } else {
        V4::read_config(&options, name, text, &mut NoIncludes).map(|checked| checked.warnings)
    };
    checked.unwrap_or_else(|problems| problems)
}

fn write(path: Option<&Path>, text: &str) -> Result<(), String> {
    match path {
        Some(path) => fs::write(path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display())),
        None => stdout::print(text).map_err(|error| error.to_string()),
    }
}
