//! Trials with real processes: servers that run in parallel, a load generator per trial, and
//! samples of both.
//!
//! A bench has a topology, the services in it and a recorder. A trial goes from this file to
//! `settle` (servers are ready), to `measurement` (load and samples) and to the record on the disk.

mod affinity;
mod avalanche;
mod generator;
mod lifecycle;
mod machines;
mod measurement;
mod perfdhcp;
mod poll;
mod profile;
mod queues;
mod recorder;
mod restart;
mod service;
mod settle;
mod start;
mod stores;
mod topology;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use measure::Plan;
use measure::plan::ServerFeature;
use measure::record::{Purpose, RunRecord, TrialRecord};

use crate::driver;
use crate::environment;
use crate::error::LabResult;
use crate::leases::LeaseCheckResult;
use crate::number_text::grouped;
use crate::progress::ProgressWriter;
use crate::runner::RunTime;
use crate::subject::MeasurementSubject;
use crate::subject_id::{PerSubject, SubjectId};
use crate::target::RunningTarget;
use crate::trial::{RunStage, TrialEnd, TrialRequest, TrialRunner};
use profile::Profiler;
pub use recorder::BenchRecord;
use recorder::RunRecorder;
use service::{MeasuredServer, Service};
use topology::BenchTopology;

/// Settings from which a run's test environment is built.
#[derive(Debug)]
pub struct BenchSettings<'a> {
    /// Plan of the run whose servers and networks are built.
    pub plan: &'a Plan,
    /// Forecast of the time that the run takes, which the lab announced.
    pub time: &'a RunTime,
    /// Servers to measure, with the limit responder (a program that returns every datagram) if the
    /// plan has it.
    pub subjects: &'a [MeasurementSubject],
    /// Path of this program, `godwit`.
    pub godwit: PathBuf,
    /// Path of the run's result folder, which does not exist yet.
    pub folder: PathBuf,
    /// Server that was running before the lab, if the lab measures that one.
    pub running: Option<&'a RunningTarget>,
    /// Flag that is set when the user wants the run to end.
    pub stop: &'a AtomicBool,
}

/// Test environment of a run, with its running servers. Dropping it ends the servers and removes
/// everything that was built.
#[derive(Debug)]
pub struct ProcessBench<'a> {
    time: &'a RunTime,
    stop: &'a AtomicBool,
    profiler: Profiler,
    // Servers end before the topology removes their namespaces.
    services: PerSubject<Service>,
    topology: BenchTopology<'a>,
    recorder: RunRecorder<'a>,
}

impl<'a> ProcessBench<'a> {
    /// Builds the networks and starts every server, one after the other, each until it answers; the
    /// record `run` gets flushes, starts and warnings. Time counts from this call.
    ///
    /// # Errors
    /// A server is missing or does not answer, something cannot be built, or the user interrupts.
    /// Everything built so far is removed.
    pub fn build(
        settings: &BenchSettings<'a>,
        run: RunRecord,
        progress: &'a mut ProgressWriter,
    ) -> LabResult<Self> {
        let BenchSettings { plan, time, subjects, stop, .. } = *settings;
        let mut recorder = RunRecorder::new(run, progress);
        let mut topology = BenchTopology::build(settings, &mut recorder)?;
        let profiler = Profiler::from_plan(&plan.profile, &mut recorder.run.warnings);
        let services = start::start_all(subjects, &mut topology, stop, &mut recorder)?;
        Ok(Self { time, stop, profiler, services, topology, recorder })
    }

    /// Ends all servers; returns the record of the run without its trials and searches.
    pub fn end_servers(&mut self) -> BenchRecord {
        self.recorder.run.duration_s = self.recorder.elapsed_s();
        for service in self.services.iter_mut() {
            service.end(&mut self.topology, &mut self.recorder);
        }
        let versions = self.servers().filter(|server| !server.version().is_empty());
        let versions =
            versions.map(|server| (server.subject.label(), server.version().to_owned())).collect();
        let waits = self.servers().filter_map(|of| of.waits.words(&of.subject.label()));
        let polls = self
            .services
            .iter()
            .filter_map(|service| poll::words(service.polls, &service.server.subject.label()));
        let notes: Vec<String> = waits.chain(polls).collect();
        let recorder = &mut self.recorder;
        recorder.run.warnings.extend(notes);
        recorder.run.environment = environment::gather(self.topology.name(), versions);
        BenchRecord {
            run: std::mem::take(&mut recorder.run),
            leases: LeaseCheckResult::by_server(std::mem::take(&mut recorder.verified)),
            problems: std::mem::take(&mut recorder.problems),
        }
    }

    /// Returns all servers, the first ones of services first.
    fn servers(&self) -> impl Iterator<Item = &MeasuredServer> {
        let further = self.services.iter().flat_map(Service::further_servers);
        self.services.iter().map(|service| &service.server).chain(further)
    }

    /// Keeps the result folder and removes everything else that was built for the run.
    ///
    /// # Errors
    /// A process, namespace or folder could not be removed.
    pub fn keep(self) -> LabResult<()> {
        let Self { services, topology, .. } = self;
        topology.keep(services)
    }
}

impl TrialRunner for ProcessBench<'_> {
    fn elapsed_s(&self) -> f64 {
        self.recorder.elapsed_s()
    }

    fn start_anew(&mut self, subjects: &[SubjectId]) -> LabResult<()> {
        for &subject in subjects {
            let (topology, recorder) = (&mut self.topology, &mut self.recorder);
            self.services[subject].start_anew(topology, self.stop, recorder)?;
        }
        Ok(())
    }

    fn can_profile(&self) -> bool {
        matches!(self.profiler, Profiler::On(_))
    }

    fn record_stage_end(&mut self, stage: RunStage) {
        self.recorder.progress.set_remaining(self.time.remaining_after_s(stage));
    }

    fn trial(&mut self, request: &TrialRequest) -> LabResult<TrialEnd> {
        let (topology, recorder) = (&mut self.topology, &mut self.recorder);
        let service = &mut self.services[request.subject];
        let (label, rate) = (service.server.subject.label(), grouped(request.rate_per_s));
        let words = format!("{} {label}: {rate}/s", step_words(request));
        recorder.progress.step(&words);
        let exhaustion = match request.purpose {
            Purpose::Exhaustion => {
                Some(service.start_with_short_pool(request, topology, self.stop, recorder)?)
            }
            _ => None,
        };
        let flush_us = topology.flush_us(&service.server, recorder)?;
        let mut wait_s = 0.0;
        for server in service.serving_mut() {
            match server.settle(topology, self.stop, recorder)? {
                Some(waited_s) => wait_s += waited_s,
                None => return Ok(server.report_end(recorder)),
            }
        }
        let server = &service.server;
        let mut dwell_s = server.terms.dwell_s(topology.plan, request.rate_per_s, request.dwell_s);
        if server.subject.feature == ServerFeature::Perfdhcp {
            dwell_s = driver::perfdhcp::dwell_s(dwell_s);
        }
        let before = TrialRecord { wait_s, flush_us, exhaustion, ..TrialRecord::default() };
        let trial = self.measure(&TrialRequest { dwell_s, ..*request }, before)?;
        let mut servers = self.services[request.subject].servers_mut();
        if let Some(server) = servers.find_map(|server| server.has_ended().then_some(server)) {
            return Ok(server.report_end(&mut self.recorder));
        }
        self.recorder.progress.finish_step(&format!("{words}, {}", outcome_words(&trial)));
        Ok(TrialEnd::Trial(Box::new(trial)))
    }
}

/// Describes the outcome of a trial for the terminal.
fn outcome_words(trial: &TrialRecord) -> String {
    if trial.is_void() {
        let reasons: Vec<&str> = trial.void.iter().map(|reason| reason.words()).collect();
        return format!("void: {}", reasons.join(", "));
    }
    let queued = trial.queued_too_long_share();
    let late_or_lost = percent(trial.shortfall() - queued);
    if queued > 0.0 {
        format!("{late_or_lost} % late or lost, {} % queued too long", percent(queued))
    } else {
        format!("{late_or_lost} % late or lost")
    }
}

/// Formats `share` as percent, with the digits that small limits on losses need.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.3}") } else { format!("{percent:.1}") }
}

fn step_words(request: &TrialRequest) -> String {
    let purpose = request.purpose.name();
    match request.purpose {
        Purpose::Curve
        | Purpose::Ramp
        | Purpose::Profile
        | Purpose::Avalanche
        | Purpose::Exhaustion => purpose.to_owned(),
        _ => format!("round {} of {}, {purpose}", request.round + 1, request.rounds),
    }
}
