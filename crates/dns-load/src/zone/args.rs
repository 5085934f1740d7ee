//! Flags of `godwit dns zone`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{ToolError, ToolResult};
use netio::{stderr, stdout};

use super::{Zone, ZoneSize};

/// Flags of `godwit dns zone`.
#[derive(Debug, clap::Args)]
pub struct DnsZoneArgs {
    /// Seed of the zone; `godwit dns load --zone-like` takes the same number
    #[arg(long, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    size: ZoneSize,
    /// Write the zone to FILE (`-`: standard output), as BIND, Knot and NSD read it
    #[arg(long, short = 'o', value_name = "FILE")]
    out: PathBuf,
    /// Write the queries for the zone to FILE, in dnsperf's format
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Write the expected answer of each query to FILE, one per line
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
}

impl DnsZoneArgs {
    /// Writes the files of the zone, prints a summary of them and returns the exit code.
    pub(crate) fn run(&self) -> ExitCode {
        stderr::exit_code_with_errors(self.try_run().map(|()| ExitCode::SUCCESS))
    }

    fn try_run(&self) -> ToolResult<()> {
        let zone = Zone::new(self.size.with_seed(self.seed));
        let summary = format!(
            "{} names, {} records, {} queries\n",
            zone.like.names,
            zone.records(),
            zone.queries.len()
        );
        if self.out.as_os_str() == "-" {
            stdout::print(&zone.master_file())?;
        } else {
            write(&self.out, &zone.master_file())?;
            stdout::print(&summary)?;
        }
        if let Some(path) = &self.queries {
            write(path, &zone.query_file())?;
        }
        if let Some(path) = &self.expected {
            write(path, &zone.expected_file())?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> ToolResult<()> {
    fs::write(path, text).map_err(ToolError::cannot("write", path.display()))
}
