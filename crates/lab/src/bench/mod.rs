//! Trials with real processes: servers that run in parallel, a load generator per trial, and
//! samples of both.

mod affinity;
mod avalanche;
mod exhaustion;
mod generator;
mod lifecycle;
mod machines;
mod offered_load;
mod perfdhcp;
mod poll;
mod profile;
mod queues;
mod restart;
mod service;
mod set_up;
mod settle;
mod stores;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::Plan;
use measure::plan::ServerFeature;
use measure::record::{
    FlushCost, LoadRecord, NETWORK, Purpose, SampleDigest, Start, TRIAL_SCHEMA, TrialRecord,
    VoidReason,
};
use netio::Clock;
use testbed::process::PinnedSelf;
use testbed::{
    ChildProcess, MeasurementTopology, PrivateDatabase, RegisteredRun, Sampler, SamplerTarget,
    TopologySide,
};

pub use set_up::BenchSettings;

use crate::driver;
use crate::error::LabError;
use crate::family::ProtocolAddressing;
use crate::folder;
use crate::hosts::Machines;
use crate::leases::LeaseCheckResult;
use crate::number_text::grouped;
use crate::profiler::{PerfRecording, UnreadSamples};
use crate::progress::ProgressWriter;
use crate::runner::RunTime;
use crate::samples::from_readings;
use crate::subject_id::SubjectId;
use crate::trial::{RunStage, TrialEnd, TrialRequest, TrialRunner};
use machines::TrialGenerator;
use poll::Poller;
use profile::Profiler;
use restart::DatabaseRestart;
use service::{MeasuredServer, describe_exit};

/// Time that a generator may take beyond its trial and the deadline before the lab kills it.
const GENERATOR_GRACE: Duration = Duration::from_secs(60);

/// Numbers of the processors for the servers and for the generator, one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Processors {
    pub(crate) server: usize,
    pub(crate) generator: usize,
}

/// Events recorded while the generator of a trial ran.
#[derive(Debug, Default)]
struct TrialEvents {
    restart: Option<DatabaseRestart>,
    samples: Option<UnreadSamples>,
}

/// Test environment of a run, with its running servers. Dropping it ends the servers and removes
/// everything that was built.
#[derive(Debug)]
pub struct ProcessBench<'a> {
    plan: &'a Plan,
    /// Forecast of the time that the run takes, which the lab announced.
    time: &'a RunTime,
    /// Path of the run's result folder.
    folder: PathBuf,
    godwit: PathBuf,
    processors: Processors,
    /// Guard that keeps the lab's own process off the server's processor.
    _pinned: Option<PinnedSelf>,
    family: ProtocolAddressing,
    /// Address of the generator; for DHCP it is that of the relay agent that the generator plays.
    relay: SocketAddr,
    /// Address by which DHCP servers choose the subnet of messages from the relay agent (giaddr,
    /// link-address).
    link: IpAddr,
    topology: MeasurementTopology,
    /// True if messages of clients may leave as frames of the generator's interface (AF_XDP).
    sends_frames: bool,
    // Servers end before the register removes their namespaces.
    services: Vec<MeasuredServer>,
    /// Number of servers under measurement at the beginning of the list of services; those after
    /// them are second servers on the same databases.
    subjects: usize,
    /// Processes that delay connections between servers and distant databases.
    delay_proxies: Vec<ChildProcess>,
    databases: Vec<PrivateDatabase>,
    flushes: Vec<FlushCost>,
    starts: Vec<Start>,
    profiler: Profiler,
    /// Machines that the measurement uses, if any other than this one.
    machines: Option<Machines>,
    run: RegisteredRun,
    origin: Instant,
    stop: &'a AtomicBool,
    progress: &'a mut ProgressWriter,
    warnings: Vec<String>,
    /// Results of the checks that servers which were ended had stored all leases of their clients.
    verified: Vec<LeaseCheckResult>,
    /// Problems that prevented a check of leases, one sentence each.
    problems: Vec<String>,
}

impl TrialRunner for ProcessBench<'_> {
    fn elapsed_s(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    fn start_anew(&mut self, subjects: &[SubjectId]) -> Result<(), LabError> {
        self.start_all_anew(subjects)
    }

    fn can_profile(&self) -> bool {
        matches!(self.profiler, Profiler::On(_))
    }

    fn record_stage_end(&mut self, stage: RunStage) {
        self.progress.set_remaining(self.time.remaining_after_s(stage));
    }

    fn trial(&mut self, request: &TrialRequest) -> Result<TrialEnd, LabError> {
        let label = self.services[request.subject.position()].subject.label();
        let words = format!("{} {label}: {}/s", step_words(request), grouped(request.rate_per_s));
        self.progress.step(&words);
        let exhaustion = match request.purpose {
            Purpose::Exhaustion => Some(self.start_with_short_pool(request)?),
            _ => None,
        };
        let flush_us = self.flush_us(request.subject.position())?;
        let mut wait_s = 0.0;
        for position in self.subject_servers(request.subject.position()) {
            match self.settle(position)? {
                Some(waited_s) => wait_s += waited_s,
                None => return Ok(self.report_ended_server(position)),
            }
        }
        let service = &self.services[request.subject.position()];
        let mut dwell_s = service.terms.dwell_s(self.plan, request.rate_per_s, request.dwell_s);
        if service.subject.feature == ServerFeature::Perfdhcp {
            dwell_s = driver::perfdhcp::dwell_s(dwell_s);
        }
        let before = TrialRecord { wait_s, flush_us, exhaustion, ..TrialRecord::default() };
        let trial = self.measure(&TrialRequest { dwell_s, ..*request }, before)?;
        for position in self.subject_servers(request.subject.position()) {
            if self.services[position].has_ended() {
                return Ok(self.report_ended_server(position));
            }
        }
        let outcome = if trial.is_void() {
            let reasons: Vec<&str> = trial.void.iter().map(|reason| reason.words()).collect();
            format!("void: {}", reasons.join(", "))
        } else {
            let behind = trial.queued_too_long_share();
            let behind = if behind > 0.0 {
                format!(", {} % queued too long", percent(behind))
            } else {
                String::new()
            };
            format!(
                "{} % late or lost{behind}",
                percent(trial.shortfall() - trial.queued_too_long_share())
            )
        };
        self.progress.finish_step(&format!("{words}, {outcome}"));
        Ok(TrialEnd::Trial(Box::new(trial)))
    }
}

impl ProcessBench<'_> {
    /// Runs the trial of `request`, from starting the generator to the trial's record on the disk;
    /// `before` is that record with the data known in advance.
    fn measure(
        &mut self,
        request: &TrialRequest,
        before: TrialRecord,
    ) -> Result<TrialRecord, LabError> {
        let file_name = self.services[request.subject.position()].subject.file_name();
        let name = format!("{:03}-{file_name}", request.number);
        let folder = self.folder.join(folder::TRIALS).join(name);
        folder::create(&folder)?;
        let recording = self.attach(request, &folder);
        let seed = self.plan.trial_seed(request.number);
        let parts = self.trial_generators(request, seed, &folder)?;
        let queues = self.set_queues(request.subject.position())?;
        let service = &self.services[request.subject.position()];
        let (sampler, server_pid) = (self.sampler(service), service.pid());
        let poller = (service.subject.feature == ServerFeature::PolledSubnets)
            .then(|| Poller::start(&service.topology, service.address));
        let (start_s, start_ns) = (self.elapsed_s(), Clock::mono_ns());
        let mut processes = self.start_generators(&parts)?;
        if !self.has_remote_generators() {
            sampler.watch(service.target(TopologySide::Client, processes[0].pid(), self.relay));
        }
        let (ended, events) = self.wait_for_generators(request, &mut processes, recording)?;
        let end_s = self.elapsed_s();
        let queues = self.queues_since(request.subject.position(), queues)?;
        let polls = poller.map(Poller::finish).transpose()?;
        let samples = from_readings(&sampler.finish(), server_pid.is_some());
        if self.stop.load(Ordering::Acquire) {
            return Err(LabError::Interrupted);
        }
        let samples =
            self.with_remote_samples(samples, request.subject.position(), &parts, start_s, end_s);
        self.collect(&parts, &folder)?;
        let profile = self.read(events.samples);
        let load = self.read_record(request, &processes, ended, &folder)?;
        let service = &mut self.services[request.subject.position()];
        polls.iter().for_each(|polls| service.polls.add(*polls));
        service.next_client = service.terms.next_clients(service.next_client, request).1;
        let lists = parts.iter().filter_map(|part| part.list.clone());
        service.lists.extend(lists.filter(|path| path.exists()));
        let has_server = service.started.is_some();
        let (server_cpus, generator_cpus) = self.numbered_cpus(has_server);
        let digest = SampleDigest::from_samples(&samples, &server_cpus, &generator_cpus);
        let void = match &load {
            Some(load) => self.plan.void.void_reasons(load, &digest),
            None => vec![VoidReason::GeneratorFailed],
        };
        let trial = TrialRecord {
            start_s,
            end_s,
            timeline_s: self.timeline_start_s(load.as_ref(), start_s, start_ns),
            commands: self.commands(request.subject.position(), &parts),
            server_cpus,
            generator_cpus,
            restart: events.restart.zip(load.as_ref()).map(|(of, load)| of.since_due(load)),
            profile,
            polls,
            queues,
            load,
            digest,
            samples,
            void,
            files: self.files_in(&folder),
            ..self.with_request(request, seed, before)
        };
        folder::write_json(&folder.join(folder::TRIAL), &trial)?;
        Ok(trial)
    }

    /// Returns the time at which the timeline of `load` begins, in seconds since the run began, for
    /// a trial that began at `start_s`, which is `start_ns` by the machine's clock.
    fn timeline_start_s(
        &self,
        load: Option<&LoadRecord>,
        start_s: f64,
        start_ns: u64,
    ) -> Option<f64> {
        if self.has_remote_generators() {
            // Other machines have other clocks.
            return None;
        }
        let timeline = load?.timeline.as_ref()?;
        Some(start_s + (timeline.start_ns as f64 - start_ns as f64) / 1e9)
    }

    /// Starts a sampler of the machine and, if the lab runs the server of `service`, of the
    /// server's process.
    fn sampler(&self, service: &MeasuredServer) -> Sampler {
        let server = service.pid().map(|pid| SamplerTarget {
            helpers: self.helpers(service),
            ..service.target(TopologySide::Server, pid, service.address)
        });
        let server_cpu = service.pid().map(|_| self.processors.server);
        let generator_cpu = (!self.has_remote_generators()).then_some(self.processors.generator);
        Sampler::start(
            self.origin,
            Duration::from_millis(u64::from(self.plan.sampling_interval_ms)),
            server_cpu.into_iter().chain(generator_cpu).collect(),
            server.into_iter().collect(),
        )
    }

    /// Returns the identifiers of the processes that work for the server of `service` in addition
    /// to its own: those of its database, and of the second server on that database.
    fn helpers(&self, service: &MeasuredServer) -> Vec<u32> {
        let engine = driver::engine(service.subject.store);
        let database = engine.and_then(|engine| {
            let mut of_run = self.databases.iter();
            of_run.find(|database| database.engine() == engine)?.pid()
        });
        let partner = service.partner.and_then(|position| self.services[position].pid());
        database.into_iter().chain(partner).collect()
    }

    /// Returns the trial record `before` with the data of `request`.
    fn with_request(&self, request: &TrialRequest, seed: u64, before: TrialRecord) -> TrialRecord {
        let subject = &self.services[request.subject.position()].subject;
        TrialRecord {
            schema: TRIAL_SCHEMA.to_owned(),
            number: request.number,
            server: subject.server.clone(),
            variant: subject.variant.clone(),
            purpose: request.purpose,
            round: request.round,
            rate_per_s: request.rate_per_s,
            seed,
            ..before
        }
    }

    fn commands(&self, position: usize, parts: &[TrialGenerator]) -> BTreeMap<String, String> {
        let halves = self.subject_servers(position).into_iter().zip(["server", "second server"]);
        let servers = halves.filter_map(|(at, role)| {
            let started = self.services[at].started.as_ref()?;
            Some((role.to_owned(), started.command.to_string()))
        });
        let generators = parts.iter().zip(1..).map(|(part, number)| {
            let name =
                if number == 1 { "generator".to_owned() } else { format!("generator {number}") };
            (name, part.command.to_string())
        });
        servers.chain(generators).collect()
    }

    /// Waits until the generators have ended. If the trial's purpose requires it, ends and starts
    /// the server's database meanwhile, or lets `recording` take samples.
    fn wait_for_generators(
        &mut self,
        request: &TrialRequest,
        processes: &mut [ChildProcess],
        recording: Option<PerfRecording>,
    ) -> Result<(Option<ExitStatus>, TrialEvents), LabError> {
        let began = Instant::now() + self.lead();
        let share = if request.purpose == Purpose::Avalanche { avalanche::PATIENCE } else { 1.0 };
        let lasts_s = request.dwell_s * share + self.plan.search.deadline_s;
        let patience = Duration::from_secs_f64(lasts_s);
        let until = began + patience + GENERATOR_GRACE;
        let stop = self.stop;
        let mut wait = |until: Instant| {
            let mut worst: Option<ExitStatus> = None;
            for process in processes.iter_mut() {
                let ended = process
                    .wait(|| stop.load(Ordering::Acquire) || Instant::now() >= until)
                    .map_err(|e| LabError::cannot("wait for the generator", e))?;
                let Some(status) = ended else { return Ok(None) };
                worst = worst.filter(|worst| !worst.success()).or(Some(status));
            }
            Ok::<_, LabError>(worst)
        };
        let mut events = TrialEvents::default();
        if request.purpose.ends_database() {
            wait(began + Duration::from_secs_f64(self.plan.restart.at_s))?;
            events.restart = self.restart_database(request)?;
        }
        if let Some(mut recording) = recording {
            wait(began + profile::LEAD)?;
            let begun = recording.begin();
            if self.or_warn(begun).is_some() {
                let seconds = Duration::from_secs_f64(self.plan.profile.seconds);
                wait(Instant::now() + seconds)?;
                events.samples = self.or_warn(recording.end());
            }
        }
        Ok((wait(until)?, events))
    }

    /// Returns the positions of the processes of the measured server at `position`: one server, or
    /// two on the same database.
    fn subject_servers(&self, position: usize) -> Vec<usize> {
        [position].into_iter().chain(self.services[position].partner).collect()
    }

    /// Returns the generator's record of the trial of `request`; `None` when the generator failed
    /// in a way that may be temporary.
    fn read_record(
        &self,
        request: &TrialRequest,
        processes: &[ChildProcess],
        ended: Option<ExitStatus>,
        folder: &Path,
    ) -> Result<Option<LoadRecord>, LabError> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let load =
            offered_load::OfferedLoad { rate_per_s: request.rate_per_s, dwell_s: request.dwell_s };
        let record = if request.purpose == Purpose::Avalanche {
            avalanche::record(&read(avalanche::REPORT), load)
        } else if self.services[request.subject.position()].subject.feature
            == ServerFeature::Perfdhcp
        {
            perfdhcp::record(&read("generator.out"), load.rate_per_s, load.dwell_s)
        } else {
            serde_json::from_str(&read(generator::RECORD)).ok()
        };
        if record.is_some() {
            return Ok(record);
        }
        match ended {
            // The generator refused its arguments or its environment: the next one would do the
            // same.
            Some(status) if status.code().is_some_and(|code| code == 1 || code == 2) => {
                let words: Vec<String> =
                    processes.iter().map(|process| describe_exit(process, status)).collect();
                Err(LabError::Failed(format!("the generator failed: {}", words.join(" / "))))
            }
            _ => Ok(None),
        }
    }

    /// Reports the end of a server that ended by itself or does not answer any more.
    fn report_ended_server(&mut self, subject: usize) -> TrialEnd {
        let service = &mut self.services[subject];
        let label = service.subject.label();
        let how = match service.exit_status().ok().flatten() {
            Some(status) => format!("{label} ended unexpectedly: {}", service.describe_end(status)),
            None if service.started.is_none() => format!("{label} does not answer any more"),
            None => format!("{label} does not answer any more, not even when started again"),
        };
        self.progress.print(&format!("warning: {how}"));
        TrialEnd::ServerEnded(how)
    }

    /// Returns the paths of the files in `folder`, relative to the result folder.
    fn files_in(&self, folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<String> = entries
            .map(|entry| entry.path())
            .filter(|path| path.is_file() && !path.ends_with(generator::LIST))
            .filter_map(|path| {
                Some(path.strip_prefix(&self.folder).ok()?.to_string_lossy().into_owned())
            })
            .collect();
        files.push(format!(
            "{}/{}",
            folder.strip_prefix(&self.folder).unwrap_or(folder).display(),
            folder::TRIAL
        ));
        files.sort();
        files
    }

    /// Returns the warnings about the set-up of the run's servers and networks, and about waiting
    /// for servers.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let waits = self.services.iter().filter_map(|s| s.waits.words(&s.subject.label()));
        let polls = self.services.iter().filter_map(|s| poll::words(s.polls, &s.subject.label()));
        self.warnings.iter().cloned().chain(waits).chain(polls).collect()
    }

    /// Returns the time and the memory of each server's first start.
    #[must_use]
    pub fn starts(&self) -> Vec<Start> {
        self.starts.clone()
    }

    /// Returns the versions that the servers reported, by label.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<String, String> {
        let running = self.services.iter().filter(|service| !service.version().is_empty());
        running.map(|service| (service.subject.label(), service.version().to_owned())).collect()
    }

    /// Returns the name of the connection between generator and servers: `veth`, `loopback` or
    /// `network`.
    #[must_use]
    pub fn topology_name(&self) -> &'static str {
        match self.topology {
            MeasurementTopology::Loopback => "loopback",
            MeasurementTopology::Namespaces { .. } => "veth",
            MeasurementTopology::Network { .. } => NETWORK,
        }
    }

    /// Keeps the result folder and removes everything else that was built for the run.
    ///
    /// # Errors A process, namespace or folder could not be removed.
    pub fn keep(mut self) -> Result<(), LabError> {
        self.run.unregister_folder(&self.folder);
        self.services.clear();
        self.databases.clear();
        self.run.end().map_err(|sentences| LabError::Failed(sentences.join("\n")))
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
