//! Parts of a trial on other machines: the server's process, the generators' processes, and the
//! samples of both.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::time::NS_PER_MS;
use measure::record::{LoadRecord, MachineSample};
use netio::Clock;
use testbed::{ChildProcess, CommandLine, TopologySide};

use super::generator::{From, RECORD};
use super::recorder::RunRecorder;
use super::service::{MeasuredServer, Service};
use super::topology::BenchTopology;
use crate::error::LabResult;
use crate::folder;
use crate::hosts::{GENERATOR_CPUS, RemotePart, RunOrigin, SampleFileReader, merge_samples};
use crate::trial::TrialRequest;

/// Time from the start of generators on other machines until they begin together, in nanoseconds:
/// SSH and the generators' memory allocation take it.
const LEAD_NS: u64 = 1_500 * NS_PER_MS;

/// Generator of a trial, on this machine or on another one.
#[derive(Debug)]
pub(super) struct TrialGenerator {
    pub(super) command: CommandLine,
    /// Folder of the generator's files, in the result folder.
    pub(super) folder: PathBuf,
    /// Path of the list of the leases of the generator's clients, if there will be one.
    pub(super) list: Option<PathBuf>,
}

impl TrialGenerator {
    /// Returns the record that the generator wrote, if it can be read.
    pub(super) fn record(&self) -> Option<LoadRecord> {
        let text = std::fs::read_to_string(self.folder.join(RECORD)).ok()?;
        serde_json::from_str(&text).ok()
    }
}

impl BenchTopology<'_> {
    /// Returns true if the measured servers are on another machine.
    pub(super) fn has_remote_server(&self) -> bool {
        self.machines.is_some()
    }

    /// Returns true if the load generators are on other machines.
    pub(super) fn has_remote_generators(&self) -> bool {
        self.machines.as_ref().is_some_and(|machines| !machines.generators.is_empty())
    }

    /// Returns the command that starts `server` by `command`, over SSH if the server is on another
    /// machine; the server's files are then copied there.
    pub(super) fn command_at_server_machine(
        &mut self,
        server: &MeasuredServer,
        command: CommandLine,
    ) -> LabResult<CommandLine> {
        let interval_ms = self.plan.sampling_interval_ms;
        let cpu = self.processors.server;
        let Some(machines) = &mut self.machines else { return Ok(command) };
        machines.server.copy_to_remote(&server.folder)?;
        let address = server.address;
        let part = RemotePart { side: TopologySide::Server, address, cpu, interval_ms };
        machines.server.command(part, &server.folder, command)
    }

    /// Ends `server` in order (SIGTERM) and copies its files to this machine.
    pub(super) fn stop_server(
        &mut self,
        server: &mut MeasuredServer,
        recorder: &mut RunRecorder<'_>,
    ) {
        server.stop();
        let Some(machines) = &mut self.machines else { return };
        if let Err(e) = machines.server.copy_from_remote(&server.folder) {
            recorder.problems.push(e.to_string());
        }
    }

    /// Returns the generators that load `service` in the trial of `request`: one on this machine,
    /// or one on each generator machine, with an equal part of the load each.
    pub(super) fn trial_generators(
        &self,
        service: &Service,
        request: &TrialRequest,
        seed: u64,
        folder: &Path,
    ) -> LabResult<Vec<TrialGenerator>> {
        let machines = match &self.machines {
            Some(machines) if self.has_remote_generators() => machines,
            _ => {
                let from = From { relay: self.relay, skipped: 0, begin_at_ns: None };
                let (command, list) = self.generator(service, request, seed, folder, from);
                return Ok(vec![TrialGenerator { command, folder: folder.to_owned(), list }]);
            }
        };
        let count = machines.generators.len();
        let part = TrialRequest { rate_per_s: request.rate_per_s / count as f64, ..*request };
        let clients = (part.rate_per_s * part.dwell_s).ceil() as u32 + 1;
        let begin_ns = Clock::mono_ns() + LEAD_NS;
        let mut parts = Vec::new();
        for ((host, address), index) in machines.generators.iter().zip(0_u32..) {
            let own = folder.join(format!("generator-{}", index + 1));
            folder::create(&own)?;
            let begin_at_ns = Some(host.clock().there(begin_ns));
            let from = From { relay: *address, skipped: index * clients, begin_at_ns };
            let (command, list) =
                self.generator(service, &part, seed + u64::from(index), &own, from);
            let cpu = host.processors()[0];
            let interval_ms = self.plan.sampling_interval_ms;
            let side = TopologySide::Client;
            let at = RemotePart { side, address: *address, cpu, interval_ms };
            let command = host.command(at, &own, command)?;
            parts.push(TrialGenerator { command, folder: own, list });
        }
        Ok(parts)
    }

    /// Starts the generators of a trial and returns their processes.
    pub(super) fn start_generators(
        &self,
        parts: &[TrialGenerator],
    ) -> LabResult<Vec<ChildProcess>> {
        let start = if self.has_remote_generators() {
            ChildProcess::start_held
        } else {
            ChildProcess::start
        };
        let mut processes = Vec::new();
        for part in parts {
            processes.push(start(&part.command, "generator", &part.folder)?);
        }
        Ok(processes)
    }

    /// Returns the time by which a trial takes longer when its generators are on other machines, so
    /// that they begin together.
    pub(super) fn lead(&self) -> Duration {
        Duration::from_nanos(if self.has_remote_generators() { LEAD_NS } else { 0 })
    }

    /// Copies the files of the generators `parts` to this machine, and merges their records in
    /// `folder`.
    pub(super) fn collect(&mut self, parts: &[TrialGenerator], folder: &Path) -> LabResult<()> {
        let Some(machines) = &mut self.machines else { return Ok(()) };
        if machines.generators.is_empty() {
            return Ok(());
        }
        for ((host, _), part) in machines.generators.iter_mut().zip(parts) {
            host.copy_from_remote(&part.folder)?;
        }
        let records: Option<Vec<LoadRecord>> = parts.iter().map(TrialGenerator::record).collect();
        match records.and_then(LoadRecord::merged) {
            Some(whole) => folder::write_json(&folder.join(RECORD), &whole),
            None => Ok(()),
        }
    }

    /// Merges `own`, the samples of this machine in a trial of `server`, with the samples of the
    /// other machines in that trial. Times count from `origin`.
    pub(super) fn with_remote_samples(
        &self,
        own: Vec<MachineSample>,
        server: &mut MeasuredServer,
        parts: &[TrialGenerator],
        origin: Instant,
        times_s: Range<f64>,
    ) -> Vec<MachineSample> {
        let Some(machines) = &self.machines else { return own };
        let origin = RunOrigin::from_instant(origin);
        let mut far = Vec::new();
        for ((host, _), (part, number)) in machines.generators.iter().zip(parts.iter().zip(1..)) {
            let path = part.folder.join("generator.out");
            // The whole file counts: it was written for this trial.
            let mut samples = SampleFileReader::default().samples(
                &path,
                origin,
                host.clock(),
                times_s.start,
                0.0,
            );
            renumber(&mut samples, number * GENERATOR_CPUS);
            far.push(samples);
        }
        // If other machines send, this machine has no part.
        if machines.generators.is_empty() {
            let mut own = own;
            renumber(&mut own, GENERATOR_CPUS);
            far.push(own);
        }
        let started = server.started.as_ref().expect("the server was started there");
        let path = server.folder.join(format!("{}.out", started.process.name()));
        let clock = machines.server.clock();
        merge_samples(server.stream.samples(&path, origin, clock, times_s.start, times_s.end), &far)
    }

    /// Returns the numbers that samples use for the processors of the servers and of the
    /// generators.
    pub(super) fn numbered_cpus(&self, has_server: bool) -> (Vec<u32>, Vec<u32>) {
        let server = if has_server { vec![self.processors.server as u32] } else { Vec::new() };
        let generators = match &self.machines {
            None => vec![self.processors.generator as u32],
            Some(machines) if machines.generators.is_empty() => {
                vec![self.processors.generator as u32 + GENERATOR_CPUS]
            }
            Some(machines) => {
                let all = machines.generators.iter().zip(1..);
                all.map(|((host, _), number)| host.processors()[0] as u32 + number * GENERATOR_CPUS)
                    .collect()
            }
        };
        (server, generators)
    }
}

/// Renumbers the processors of another machine's samples from `first` on, so that each processor of
/// the measurement has a number of its own.
fn renumber(samples: &mut [MachineSample], first: u32) {
    for of in samples.iter_mut().flat_map(|sample| &mut sample.cpus) {
        of.cpu += first;
    }
}
