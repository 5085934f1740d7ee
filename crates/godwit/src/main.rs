//! The command line: flags to calls, nothing else.

mod advise;
mod capacity;
mod cli;
mod db;
mod dhcp;
mod lab;
mod netem;
mod signals;
mod ubench;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
