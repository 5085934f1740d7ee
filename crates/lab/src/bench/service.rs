//! Services under measurement: a server, or two on the same database, the clients that they have
//! seen, and their processes if the lab started them.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use measure::record::Polls;
use testbed::process::describe;
use testbed::{ChildProcess, CommandLine, MeasurementTopology, Quota, SamplerTarget, TopologySide};

use super::settle::ServerWaits;
use crate::driver::{PairPlace, PreparedServer, StoreLocation};
use crate::error::LabResult;
use crate::hosts::SampleFileReader;
use crate::leases::LeaseFile;
use crate::subject::MeasurementSubject;
use crate::terms::MeasurementTerms;

/// Longest time that a server may take to end after SIGTERM. A server that is killed has not
/// written all its leases, and would be blamed for those that are missing.
const STOP_GRACE: Duration = Duration::from_secs(60);

/// Service of a subject: its server, and the second server on the same database if it has two.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) server: MeasuredServer,
    /// Second server on the same database, which takes half of the load.
    pub(super) second: Option<MeasuredServer>,
    /// Partner of the server in a pair, to which no client sends requests.
    pub(super) partner: Option<MeasuredServer>,
    /// Number of the generator's first client that has not sent requests to the service yet.
    pub(super) next_client: u32,
    /// Paths of the lists of the leases that clients got from the service.
    pub(super) lists: Vec<PathBuf>,
    /// Counts of the statistics requests to the service, with its answers.
    pub(super) polls: Polls,
}

impl Service {
    /// Makes the service of `server`, which no client has sent requests to.
    pub(super) fn new(server: MeasuredServer) -> Self {
        let polls = Polls::default();
        Self { server, second: None, partner: None, next_client: 0, lists: Vec::new(), polls }
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &MeasuredServer> {
        std::iter::once(&self.server).chain(&self.second).chain(&self.partner)
    }

    pub(super) fn servers_mut(&mut self) -> impl Iterator<Item = &mut MeasuredServer> {
        std::iter::once(&mut self.server).chain(&mut self.second).chain(&mut self.partner)
    }

    /// Returns the servers that answer clients.
    pub(super) fn serving_mut(&mut self) -> impl Iterator<Item = &mut MeasuredServer> {
        std::iter::once(&mut self.server).chain(&mut self.second)
    }

    /// Returns the servers that answer no measured requests or only a part of them: the second one
    /// and the partner.
    pub(super) fn further_servers(&self) -> impl Iterator<Item = &MeasuredServer> {
        self.second.iter().chain(&self.partner)
    }
}

/// Server under measurement that is running.
#[derive(Debug)]
pub(super) struct MeasuredServer {
    pub(super) subject: MeasurementSubject,
    pub(super) terms: MeasurementTerms,
    /// Folder of the server's files.
    pub(super) folder: PathBuf,
    /// Store of the server's leases.
    pub(super) store: StoreLocation,
    pub(super) address: SocketAddr,
    /// Place of the server in a pair.
    pub(super) pair: Option<PairPlace>,
    /// Network in which the server and its generator meet.
    pub(super) network: MeasurementTopology,
    /// Process of the server; `None` for a server that ran before the lab.
    pub(super) started: Option<StartedServer>,
    pub(super) waits: ServerWaits,
    /// Reader of the server's samples from another machine.
    pub(super) stream: SampleFileReader,
}

/// Process of a server that the lab started, with its command.
#[derive(Debug)]
pub(super) struct StartedServer {
    pub(super) prepared: PreparedServer,
    /// Command as the lab started it, namespace and processor included.
    pub(super) command: CommandLine,
    /// Control group (cgroup) that keeps the server to its share of a processor.
    pub(super) quota: Option<Quota>,
    /// Start of the server's first process.
    pub(super) began: Instant,
    pub(super) process: ChildProcess,
    /// True if the process only maintains the connection to a server on another machine.
    pub(super) is_remote: bool,
    /// Number of times that the lab started the server.
    pub(super) generation: u32,
}

impl StartedServer {
    /// Starts the server's process again, in `folder` and within its share of a processor. The
    /// process before must have ended.
    pub(super) fn restart(&mut self, folder: &Path) -> LabResult<()> {
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
    /// Returns the exit status of the server, or `None` while it runs; the status of a server that
    /// the lab did not start is unknown.
    pub(super) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.started.as_mut().map_or(Ok(None), |started| started.process.exit_status())
    }

    /// Returns true if the server's process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.exit_status(), Ok(None))
    }

    /// Ends the server in order, if the lab started it.
    pub(super) fn stop(&mut self) {
        if let Some(started) = &mut self.started {
            // A server on another machine has its own grace there, which comes first.
            let grace = STOP_GRACE * if started.is_remote { 2 } else { 1 };
            started.process.stop(grace);
        }
    }

    /// Returns the process identifier (PID) of the server, if it is on this machine and the lab
    /// knows it.
    pub(super) fn pid(&self) -> Option<u32> {
        let here = self.started.as_ref().filter(|started| !started.is_remote);
        here.map(|started| started.process.pid())
    }

    /// Returns the file in which the server's leases can be looked up.
    pub(super) fn lease_file(&self) -> Option<&LeaseFile> {
        self.started.as_ref()?.prepared.lease_file.as_ref()
    }

    /// Returns true if datagrams must be sent to the server one by one (without UDP segmentation)
    /// because it reads frames from a raw socket.
    pub(super) fn reads_frames(&self) -> bool {
        self.started.as_ref().is_some_and(|started| started.prepared.reads_frames)
    }

    /// Returns the version that the server reports; empty when it reports none.
    pub(super) fn version(&self) -> &str {
        self.started.as_ref().map_or("", |started| &started.prepared.version)
    }

    /// Returns the last `lines` lines that the server's process wrote.
    pub(super) fn last_lines(&self, lines: usize) -> String {
        self.started.as_ref().map_or_else(String::new, |of| of.process.last_error_lines(lines))
    }

    /// Describes the end of the server: "exited with code 1: the last lines that it wrote".
    pub(super) fn describe_end(&self, status: ExitStatus) -> String {
        match &self.started {
            Some(started) => describe_exit(&started.process, status),
            None => describe(status),
        }
    }

    /// Returns the target for a sampler of the process `pid`, which receives datagrams at `address`
    /// in the namespace of `side`.
    pub(super) fn target(
        &self,
        side: TopologySide,
        pid: u32,
        address: SocketAddr,
    ) -> SamplerTarget {
        let interface = self.network.interface(side).to_owned();
        SamplerTarget { pid, address, interface, helpers: Vec::new() }
    }
}

/// Describes the end of `process`: "exited with code 1: the last lines that it wrote".
pub(super) fn describe_exit(process: &ChildProcess, status: ExitStatus) -> String {
    let words = process.last_error_lines(3);
    if words.is_empty() { describe(status) } else { format!("{}: {words}", describe(status)) }
}
