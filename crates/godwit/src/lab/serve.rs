//! Command `godwit lab serve`: flags to the crate `lab`, the address to the terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use lab::LabError;
use lab::serve::ServeSettings;

use super::print_line;
use crate::signals;

/// Show stored runs in a browser on this machine.
///
/// List, filter, pin, compare and open runs, draw them over time, and follow a running one. Listens
/// on 127.0.0.1 only; every account of this machine can look, and pin.
///
/// Exit codes: 0 ended by SIGINT or SIGTERM; 1 the port cannot be used; 2 no such folder.
#[derive(Debug, clap::Args)]
pub(super) struct LabServeArgs {
    /// TCP port on 127.0.0.1; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 8067)]
    port: u16,
    /// Folder of stored runs
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
}

pub(super) fn run(args: &LabServeArgs) -> Result<ExitCode, LabError> {
    let stop = signals::stop_flag()?;
    let settings = ServeSettings { results: args.results.clone(), port: args.port };
    lab::serve::serve(&settings, stop, &mut |address| print_line(&format!("http://{address}/")))?;
    Ok(ExitCode::SUCCESS)
}
