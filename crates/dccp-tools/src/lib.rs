//! DCCP as commands: [`perf`] measures throughput like iperf, [`ttcp`] like ttcp, [`pipe`] moves
//! files and pipes, [`probe`] shows the figures of congestion control, [`conformance`] tests an
//! implementation packet by packet, [`regression`] measures throughput over emulated links,
//! [`fairness`] measures DCCP next to TCP.
//!
//! This crate turns flags into values, and values into calls of [`dccp_link`]; the core implements
//! connections. Throughput counts only data that the receiving application has read.

mod blocking;
pub mod conformance;
pub mod debug;
pub mod fairness;
mod kernel;
pub mod options;
mod outcome;
pub mod perf;
pub mod pipe;
pub mod probe;
pub mod regression;
pub mod ttcp;
mod units;

use std::process::ExitCode;

pub use outcome::DccpCommandOutcome;

/// Command of `godwit dccp`, with its flags.
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
    /// Runs the command, prints its error if it fails, and returns its exit code.
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
        netio::stderr::exit_code(done.map(|outcome| ExitCode::from(outcome.code())))
    }
}
