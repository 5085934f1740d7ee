//! `godwit lab serve`: flags to the crate `lab`, the address to the terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use lab::LabError;
use lab::serve::ServeSettings;

use super::print_line;
use crate::signals;

/// Show stored runs in a browser on this machine.
///
/// They can be listed and filtered, pinned as baselines, compared, drawn over time and opened, and a run
/// that goes on can be followed. It listens on 127.0.0.1 only; whoever has an account on this machine can
/// look, and pin.
///
/// Exit codes: 0 ended by SIGINT or SIGTERM; 1 the port cannot be used; 2 there is no such folder.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The port; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8067)]
    port: u16,
    /// Where stored runs are
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, LabError> {
    let stop = signals::stop_flag().map_err(LabError::Failed)?;
    let settings = ServeSettings { results: args.results.clone(), port: args.port };
    lab::serve::serve(&settings, stop, &mut |address| print_line(&format!("http://{address}/")))?;
    Ok(ExitCode::SUCCESS)
}
