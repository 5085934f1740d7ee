//! Tools that show counters of the Linux kernel at intervals: an interface with the processors that
//! serve it (`godwit ifpps`), processors and processes alone (`godwit cpustat`), and processors and
//! processes with the command lines and the output of mpstat and pidstat.
//!
//! The crate owns the two commands: their flags, the times of readings, tables, columns and
//! documents. The meaning of the files of `/proc` belongs to the crate `counters`, opening them to
//! `testbed`, the screen to `netio`. Reference: docs/book/counters.md.

mod clock;
mod cpustat;
mod ifpps;
mod reading_timer;
mod sysstat;

use std::process::ExitCode;

use base::ToolResult;

pub use cpustat::CpustatArgs;
pub use ifpps::IfppsArgs;

impl IfppsArgs {
    /// Runs `godwit ifpps` as its flags describe, and returns its exit code.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        ended(ifpps::run(self))
    }
}

impl CpustatArgs {
    /// Runs `godwit cpustat` as its flags describe, and returns its exit code.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        ended(cpustat::run(self))
    }
}

fn ended(done: ToolResult<()>) -> ExitCode {
    netio::stderr::exit_code(done.map(|()| ExitCode::SUCCESS))
}

/// Writes `text` to the standard output.
fn print(text: &str) -> ToolResult<()> {
    Ok(netio::stdout::print(text)?)
}
