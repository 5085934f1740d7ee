//! Commands `godwit lab attend` and `godwit lab hold`: the lab's part on another machine.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use lab::LabError;
use lab::hosts::{RemoteProgram, run_agent, run_program};
use testbed::TopologySide;

/// (internal) Run and sample a program for a lab on another machine; ends with standard input.
///
/// A lab whose plan has `[hosts]` starts this over SSH. Samples go to standard output, one per
/// line.
///
/// Exit codes: that of the program, or 128 plus the signal that ended it; 1 it cannot be started; 2
/// bad arguments.
#[derive(Debug, clap::Args)]
pub(super) struct HoldArgs {
    /// Role of the program in the measurement
    #[arg(long, value_enum)]
    side: ProgramRole,
    /// Address at which the program receives datagrams
    #[arg(long, value_name = "ADDRESS:PORT")]
    address: SocketAddr,
    /// Name of the interface that has the program's address
    #[arg(long, value_name = "NAME")]
    interface: String,
    /// Processor to run the program on
    #[arg(long, value_name = "N")]
    processor: usize,
    /// Milliseconds between two samples of the program
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    interval_ms: u64,
    /// Folder in which the program runs
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Program to run, with its arguments
    #[arg(required = true, last = true)]
    words: Vec<String>,
}

/// Role of a program on another machine: server or generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgramRole {
    /// Server under test
    Server,
    /// Load generator
    Generator,
}

/// Keeps a folder for a lab on another machine and carries out the lab's commands.
pub(super) fn run_attend() -> Result<ExitCode, LabError> {
    run_agent(io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run_hold(args: &HoldArgs) -> Result<ExitCode, LabError> {
    let remote_program = RemoteProgram {
        side: if args.side == ProgramRole::Server {
            TopologySide::Server
        } else {
            TopologySide::Client
        },
        address: args.address,
        interface: args.interface.clone(),
        cpus: vec![args.processor],
        interval: Duration::from_millis(args.interval_ms),
        folder: args.folder.clone(),
        words: args.words.clone(),
    };
    run_program(&remote_program, io::stdin(), io::stdout().lock()).map(ExitCode::from)
}
