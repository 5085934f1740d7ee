//! A server under measurement: where it answers, what of it has been used, and the process behind it
//! where the lab started that.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use measure::record::Polls;
use testbed::process::describe;
use testbed::{ChildProcess, CommandLine, Quota, Side, Target, Topology};

use super::settle::Waits;
use crate::driver::{Prepared, StorePlace};
use crate::error::LabError;
use crate::hosts::Stream;
use crate::leases::LeaseFile;
use crate::subject::Subject;
use crate::terms::Terms;

/// How long a server may take to end when asked politely.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// A server that runs.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) subject: Subject,
    pub(super) terms: Terms,
    /// Its own folder.
    pub(super) folder: PathBuf,
    /// Where it keeps its leases.
    pub(super) store: StorePlace,
    /// The second server on the same database, which takes half of the load.
    pub(super) partner: Option<usize>,
    pub(super) address: SocketAddr,
    /// Where it and its generator meet.
    pub(super) topology: Topology,
    /// Its process; `None` for a server that ran before the lab came.
    pub(super) started: Option<Started>,
    /// Number of the first client that has not been played yet.
    pub(super) next_client: u32,
    /// Lists of the leases that clients were given.
    pub(super) lists: Vec<PathBuf>,
    pub(super) waits: Waits,
    /// What it told who asked for its statistics.
    pub(super) polls: Polls,
    /// Samples of it from another machine.
    pub(super) stream: Stream,
}

/// A server's process that the lab started, and how.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) prepared: Prepared,
    /// As it was started, namespace and processor included.
    pub(super) command: CommandLine,
    /// What keeps it to its share of a processor.
    pub(super) quota: Option<Quota>,
    /// When its first process was started.
    pub(super) began: Instant,
    pub(super) process: ChildProcess,
    /// The process only keeps up what runs on another machine.
    pub(super) is_far: bool,
    /// Times that it was started.
    pub(super) generation: u32,
}

impl Started {
    /// Starts the process once more, in `folder` and within its share of a processor. The one before has
    /// ended.
    pub(super) fn again(&mut self, folder: &Path) -> Result<(), LabError> {
        self.generation += 1;
        let name = format!("server-{}", self.generation);
        let start = if self.is_far { ChildProcess::start_held } else { ChildProcess::start };
        self.process = start(&self.command, &name, folder)?;
        match &self.quota {
            Some(quota) => Ok(quota.hold(self.process.pid())?),
            None => Ok(()),
        }
    }
}

impl Service {
    /// How it ended, or `None` while it runs; of a server that the lab did not start that is not known.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.started.as_mut().map_or(Ok(None), |started| started.process.ended())
    }

    /// Whether its process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.ended(), Ok(None))
    }

    /// Ends it in peace, where that is for the lab to do.
    pub(super) fn stop(&mut self) {
        if let Some(started) = &mut self.started {
            // What is on another machine has its own grace there, which comes first.
            let grace = STOP_GRACE * if started.is_far { 2 } else { 1 };
            started.process.stop(grace);
        }
    }

    /// Its process, where that is on this machine and the lab knows it.
    pub(super) fn pid(&self) -> Option<u32> {
        let here = self.started.as_ref().filter(|started| !started.is_far);
        here.map(|started| started.process.pid())
    }

    /// Where its leases can be looked up.
    pub(super) fn lease_file(&self) -> Option<&LeaseFile> {
        self.started.as_ref()?.prepared.lease_file.as_ref()
    }

    /// Whether datagrams must be sent to it one by one.
    pub(super) fn reads_frames(&self) -> bool {
        self.started.as_ref().is_some_and(|started| started.prepared.reads_frames)
    }

    /// What it says of its version; empty when it says nothing.
    pub(super) fn version(&self) -> &str {
        self.started.as_ref().map_or("", |started| &started.prepared.version)
    }

    /// The last lines that it wrote.
    pub(super) fn last_words(&self, lines: usize) -> String {
        self.started.as_ref().map_or_else(String::new, |of| of.process.last_words(lines))
    }

    /// "exited with code 1: the last lines that it wrote".
    pub(super) fn obituary(&self, status: ExitStatus) -> String {
        match &self.started {
            Some(started) => last_words(&started.process, status),
            None => describe(status),
        }
    }

    /// What a sampler watches on `side`, where `pid` takes datagrams at `address`.
    pub(super) fn target(&self, side: Side, pid: u32, address: SocketAddr) -> Target {
        let interface = self.topology.interface(side).to_owned();
        Target { pid, address, interface, helpers: Vec::new() }
    }
}

/// "exited with code 1: the last lines that it wrote".
pub(super) fn last_words(process: &ChildProcess, status: ExitStatus) -> String {
    let words = process.last_words(3);
    if words.is_empty() { describe(status) } else { format!("{}: {words}", describe(status)) }
}
