//! DCCP as commands: [`perf`] measures throughput like iperf, [`ttcp`] like ttcp, [`pipe`] moves
//! files and pipes, [`probe`] shows the figures of congestion control, [`conformance`] tests an
//! implementation packet by packet, [`regression`] measures it over emulated links, [`fairness`]
//! next to TCP.
//!
//! This crate turns flags into values, and values into calls of [`dccp_link`]; the core implements
//! connections. Throughput counts only data that the receiving application has read.

mod blocking;
pub mod conformance;
pub mod debug;
pub mod fairness;
mod kernel;
pub mod options;
pub mod perf;
pub mod pipe;
pub mod probe;
pub mod regression;
pub mod ttcp;
mod units;

use std::process::ExitCode;

/// `godwit dccp ...`
#[derive(Debug, clap::Subcommand)]
#[expect(
    missing_docs,
    reason = "what a command does stands at its flags, where its help comes from"
)]
pub enum DccpCommand {
    Perf(Box<perf::DccpPerfArgs>),
    Send(Box<pipe::SendArgs>),
    Recv(Box<pipe::RecvArgs>),
    Ttcp(Box<ttcp::TtcpArgs>),
    Probe(Box<probe::DccpProbeArgs>),
    Conformance(Box<conformance::DccpConformanceArgs>),
    Regression(Box<regression::DccpRegressionArgs>),
    Fairness(Box<fairness::FairnessArgs>),
}

impl DccpCommand {
    /// Runs the command.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        let done = match self {
            Self::Perf(args) => perf::run(args),
            Self::Send(args) => pipe::send(args),
            Self::Recv(args) => pipe::recv(args),
            Self::Ttcp(args) => ttcp::run(args),
            Self::Probe(args) => probe::run(args),
            Self::Conformance(args) => conformance::run(args),
            Self::Regression(args) => regression::run(args),
            Self::Fairness(args) => fairness::run(args),
        };
        match done {
            Ok(outcome) => ExitCode::from(outcome.code()),
            Err(error) => {
                netio::stderr::print_line(format_args!("error: {error}"));
                ExitCode::from(error.code())
            }
        }
    }
}

/// Result of a command that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DccpCommandOutcome {
    /// Command that did all its work.
    Done,
    /// Command that ran and achieved less than requested.
    FellShort,
    /// Command that a signal ended.
    Interrupted,
}

impl DccpCommandOutcome {
    fn code(self) -> u8 {
        match self {
            // A reader that has closed the output has all that it wanted.
            Self::Interrupted if netio::stdout::is_closed() => 0,
            Self::Done => 0,
            Self::FellShort => 3,
            Self::Interrupted => 130,
        }
    }
}

/// Reason why a command could not do its work.
#[derive(Debug)]
pub enum ToolError {
    /// Flags that make no sense, with the reason.
    Usage(String),
    /// Error while the command ran, with the reason.
    Failed(String),
}

impl ToolError {
    const fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<dccp_link::DccpError> for ToolError {
    fn from(error: dccp_link::DccpError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Prints to the standard output.
pub(crate) fn print_text(text: &str) -> Result<(), ToolError> {
    netio::stdout::print(text).map_err(|error| ToolError::Failed(format!("cannot print: {error}")))
}
