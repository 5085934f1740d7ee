//! A server under measurement: its address, its used clients, and its process if the lab started
//! it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use measure::record::Polls;
use testbed::process::describe;
use testbed::{ChildProcess, CommandLine, MeasurementTopology, Quota, SamplerTarget, TopologySide};

use super::settle::ServerWaits;
use crate::driver::{PreparedServer, StoreLocation};
use crate::error::LabError;
use crate::hosts::SampleFileReader;
use crate::leases::LeaseFile;
use crate::subject::MeasurementSubject;
use crate::terms::MeasurementTerms;

/// Longest time that a server may take to end after the polite signal. A server that is killed has
/// not written all its leases, and would be blamed for those that are missing.
const STOP_GRACE: Duration = Duration::from_secs(60);

/// Server that runs.
#[derive(Debug)]
pub(super) struct MeasuredServer {
    pub(super) subject: MeasurementSubject,
    pub(super) terms: MeasurementTerms,
    /// Folder of the server.
    pub(super) folder: PathBuf,
    /// Store of its leases.
    pub(super) store: StoreLocation,
    /// Position of the second server on the same database, which takes half of the load.
    pub(super) partner: Option<usize>,
    pub(super) address: SocketAddr,
    /// Topology in which it and its generator meet.
    pub(super) topology: MeasurementTopology,
    /// Process of the server; `None` for a server that ran before the lab.
    pub(super) started: Option<StartedServer>,
    /// Number of the first client that has not been played yet.
    pub(super) next_client: u32,
    /// Lists of the leases that clients got.
    pub(super) lists: Vec<PathBuf>,
    pub(super) waits: ServerWaits,
    /// Counts of its answers to requests for statistics.
    pub(super) polls: Polls,
    /// Samples of it from another machine.
    pub(super) stream: SampleFileReader,
}

/// Server's process that the lab started, with its command.
#[derive(Debug)]
pub(super) struct StartedServer {
    pub(super) prepared: PreparedServer,
    /// Command as it was started, namespace and processor included.
    pub(super) command: CommandLine,
    /// Control group that keeps the server to its share of a processor.
    pub(super) quota: Option<Quota>,
    /// Start of its first process.
    pub(super) began: Instant,
    pub(super) process: ChildProcess,
    /// True if the process only maintains the server on another machine.
    pub(super) is_remote: bool,
    /// Number of its starts.
    pub(super) generation: u32,
}

impl StartedServer {
    /// Starts the process once more, in `folder` and within its share of a processor. The process
    /// before has ended.
    pub(super) fn restart(&mut self, folder: &Path) -> Result<(), LabError> {
        self.generation += 1;
        let name = format!("server-{}", self.generation);
        let start = if self.is_remote { ChildProcess::start_held } else { ChildProcess::start };
        self.process = start(&self.command, &name, folder)?;
        match &self.quota {
            Some(quota) => Ok(quota.add_process(self.process.pid())?),
            None => Ok(()),
        }
    }
}

impl MeasuredServer {
    /// Returns the exit status, or `None` while it runs; the status of a server that the lab did
    /// not start is unknown.
    pub(super) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.started.as_mut().map_or(Ok(None), |started| started.process.exit_status())
    }

    /// Returns true if its process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.exit_status(), Ok(None))
    }

    /// Ends it in order, if the lab started it.
    pub(super) fn stop(&mut self) {
        if let Some(started) = &mut self.started {
            // A server on another machine has its own grace there, which comes first.
            let grace = STOP_GRACE * if started.is_remote { 2 } else { 1 };
            started.process.stop(grace);
        }
    }

    /// Returns its process, if it is on this machine and the lab knows it.
    pub(super) fn pid(&self) -> Option<u32> {
        let here = self.started.as_ref().filter(|started| !started.is_remote);
        here.map(|started| started.process.pid())
    }

    /// Returns the file in which its leases can be looked up.
    pub(super) fn lease_file(&self) -> Option<&LeaseFile> {
        self.started.as_ref()?.prepared.lease_file.as_ref()
    }

    /// Returns true if datagrams must be sent to it one by one.
    pub(super) fn reads_frames(&self) -> bool {
        self.started.as_ref().is_some_and(|started| started.prepared.reads_frames)
    }

    /// Returns the version that it reports; empty when it reports none.
    pub(super) fn version(&self) -> &str {
        self.started.as_ref().map_or("", |started| &started.prepared.version)
    }

    /// Returns the last lines that it wrote.
    pub(super) fn last_lines(&self, lines: usize) -> String {
        self.started.as_ref().map_or_else(String::new, |of| of.process.last_error_lines(lines))
    }

    /// Describes its end: "exited with code 1: the last lines that it wrote".
    pub(super) fn describe_end(&self, status: ExitStatus) -> String {
        match &self.started {
            Some(started) => describe_exit(&started.process, status),
            None => describe(status),
        }
    }

    /// Returns the target of a sampler on `side`, where `pid` receives datagrams at `address`.
    pub(super) fn target(
        &self,
        side: TopologySide,
        pid: u32,
        address: SocketAddr,
    ) -> SamplerTarget {
        let interface = self.topology.interface(side).to_owned();
        SamplerTarget { pid, address, interface, helpers: Vec::new() }
    }
}

/// Describes the end of a process: "exited with code 1: the last lines that it wrote".
pub(super) fn describe_exit(process: &ChildProcess, status: ExitStatus) -> String {
    let words = process.last_error_lines(3);
    if words.is_empty() { describe(status) } else { format!("{}: {words}", describe(status)) }
}
