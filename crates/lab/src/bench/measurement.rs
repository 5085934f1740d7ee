//! Measurement of one trial: from the start of its generators to its record on the disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use measure::plan::ServerFeature;
use measure::record::{
    LoadRecord, Polls, Purpose, SampleDigest, TRIAL_SCHEMA, TrialRecord, VoidReason,
};
use netio::Clock;
use testbed::{ChildProcess, Sampler, SamplerTarget, TopologySide};

use super::machines::TrialGenerator;
use super::poll::Poller;
use super::restart::DatabaseRestart;
use super::service::{MeasuredServer, Service, describe_exit};
use super::topology::BenchTopology;
use super::{ProcessBench, avalanche, generator, perfdhcp, profile};
use crate::driver;
use crate::error::{LabError, LabResult};
use crate::folder;
use crate::profiler::{PerfRecording, UnreadSamples};
use crate::samples::from_readings;
use crate::trial::TrialRequest;

/// Time that a generator may take beyond its trial and the deadline before the lab kills it.
const GENERATOR_GRACE: Duration = Duration::from_secs(60);

/// Events recorded while the generator of a trial ran.
#[derive(Debug, Default)]
struct TrialEvents {
    restart: Option<DatabaseRestart>,
    samples: Option<UnreadSamples>,
}

impl ProcessBench<'_> {
    /// Runs the trial of `request`, from starting the generator to the trial's record on the disk;
    /// `before` is that record with the data known in advance.
    pub(super) fn measure(
        &mut self,
        request: &TrialRequest,
        before: TrialRecord,
    ) -> LabResult<TrialRecord> {
        let plan = self.topology.plan;
        let service = &self.services[request.subject];
        let name = format!("{:03}-{}", request.number, service.server.subject.file_name());
        let folder = self.topology.folder.join(folder::TRIALS).join(name);
        folder::create(&folder)?;
        let recording = match request.purpose {
            Purpose::Profile => self.profiler.attach(service, plan, &folder, &mut self.recorder),
            _ => None,
        };
        let seed = plan.trial_seed(request.number);
        let parts = self.topology.trial_generators(service, request, seed, &folder)?;
        let queues = service.server.set_queues(plan, &mut self.recorder)?;
        let sampler = self.topology.sampler(service, self.recorder.origin);
        let poller = (service.server.subject.feature == ServerFeature::PolledSubnets)
            .then(|| Poller::start(&service.server.network, service.server.address));
        let (start_s, start_ns) = (self.recorder.elapsed_s(), Clock::mono_ns());
        let mut processes = self.topology.start_generators(&parts)?;
        if !self.topology.has_remote_generators() {
            let (pid, relay) = (processes[0].pid(), self.topology.relay);
            sampler.watch(service.server.target(TopologySide::Client, pid, relay));
        }
        let (ended, events) = self.wait_for_generators(request, &mut processes, recording)?;
        let (topology, recorder) = (&mut self.topology, &mut self.recorder);
        let service = &mut self.services[request.subject];
        let end_s = recorder.elapsed_s();
        let queues = service.server.queues_since(queues)?;
        let polls = poller.map(Poller::finish).transpose()?;
        let samples = from_readings(&sampler.finish(), service.server.pid().is_some());
        if self.stop.load(Ordering::Acquire) {
            return Err(LabError::Interrupted);
        }
        let (server, origin) = (&mut service.server, recorder.origin);
        let samples = topology.with_remote_samples(samples, server, &parts, origin, start_s..end_s);
        topology.collect(&parts, &folder)?;
        let profile = events.samples.and_then(|raw| self.profiler.or_warn(raw.read(), recorder));
        let load = read_record(service, request, &processes, ended, &folder)?;
        service.record_load(request, &parts, polls);
        let (server_cpus, generator_cpus) =
            topology.numbered_cpus(service.server.started.is_some());
        let digest = SampleDigest::from_samples(&samples, &server_cpus, &generator_cpus);
        let failed = || vec![VoidReason::GeneratorFailed];
        let void = load.as_ref().map_or_else(failed, |of| plan.void.void_reasons(of, &digest));
        let trial = TrialRecord {
            start_s,
            end_s,
            timeline_s: topology.timeline_start_s(load.as_ref(), start_s, start_ns),
            commands: commands(service, &parts),
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
            files: files_in(&folder, &topology.folder),
            ..with_request(service, request, seed, before)
        };
        folder::write_json(&folder.join(folder::TRIAL), &trial)?;
        Ok(trial)
    }

    /// Waits until the generators have ended. If the trial's purpose requires it, ends and starts
    /// the server's database meanwhile, or lets `recording` take samples.
    fn wait_for_generators(
        &mut self,
        request: &TrialRequest,
        processes: &mut [ChildProcess],
        recording: Option<PerfRecording>,
    ) -> LabResult<(Option<ExitStatus>, TrialEvents)> {
        let plan = self.topology.plan;
        let began = Instant::now() + self.topology.lead();
        let share = if request.purpose == Purpose::Avalanche { avalanche::PATIENCE } else { 1.0 };
        let lasts_s = request.dwell_s * share + plan.search.deadline_s;
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
            wait(began + Duration::from_secs_f64(plan.restart.at_s))?;
            let store = self.services[request.subject].server.subject.store;
            events.restart = self.topology.restart_database(store, request.purpose)?;
        }
        if let Some(mut recording) = recording {
            wait(began + profile::LEAD)?;
            let begun = recording.begin();
            if self.profiler.or_warn(begun, &mut self.recorder).is_some() {
                let seconds = Duration::from_secs_f64(plan.profile.seconds);
                wait(Instant::now() + seconds)?;
                events.samples = self.profiler.or_warn(recording.end(), &mut self.recorder);
            }
        }
        Ok((wait(until)?, events))
    }
}

impl BenchTopology<'_> {
    /// Starts a sampler of the machine and, if the lab runs the server of `service` here, of the
    /// server's process. Times count from `origin`.
    fn sampler(&self, service: &Service, origin: Instant) -> Sampler {
        let server = &service.server;
        let target = server.pid().map(|pid| SamplerTarget {
            helpers: self.helpers(service),
            ..server.target(TopologySide::Server, pid, server.address)
        });
        let server_cpu = server.pid().map(|_| self.processors.server);
        let generator_cpu = (!self.has_remote_generators()).then_some(self.processors.generator);
        Sampler::start(
            origin,
            Duration::from_millis(u64::from(self.plan.sampling_interval_ms)),
            server_cpu.into_iter().chain(generator_cpu).collect(),
            target.into_iter().collect(),
        )
    }

    /// Returns the identifiers of the processes that work for `service` in addition to its first
    /// server: those of its database, of the second server on that database, and of the partner.
    fn helpers(&self, service: &Service) -> Vec<u32> {
        let database = self.database(driver::engine(service.server.subject.store));
        let further = service.further_servers().filter_map(MeasuredServer::pid);
        database.and_then(|database| database.pid()).into_iter().chain(further).collect()
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
}

impl Service {
    /// Records the load of the trial of `request`: its clients, the lists of their leases, and the
    /// statistics requests.
    fn record_load(
        &mut self,
        request: &TrialRequest,
        parts: &[TrialGenerator],
        polls: Option<Polls>,
    ) {
        polls.into_iter().for_each(|polls| self.polls.add(polls));
        self.next_client = self.server.terms.next_clients(self.next_client, request).1;
        let lists = parts.iter().filter_map(|part| part.list.clone());
        self.lists.extend(lists.filter(|path| path.exists()));
    }
}

/// Returns the trial record `before` with the data of `request`.
fn with_request(
    service: &Service,
    request: &TrialRequest,
    seed: u64,
    before: TrialRecord,
) -> TrialRecord {
    TrialRecord {
        schema: TRIAL_SCHEMA.to_owned(),
        number: request.number,
        server: service.server.subject.server.clone(),
        variant: service.server.subject.variant.clone(),
        purpose: request.purpose,
        round: request.round,
        rate_per_s: request.rate_per_s,
        seed,
        ..before
    }
}

fn commands(service: &Service, parts: &[TrialGenerator]) -> BTreeMap<String, String> {
    let servers = [
        ("server", Some(&service.server)),
        ("second server", service.second.as_ref()),
        ("partner", service.partner.as_ref()),
    ];
    let servers = servers.into_iter().filter_map(|(role, server)| {
        Some((role.to_owned(), server?.started.as_ref()?.command.to_string()))
    });
    let generators = parts.iter().zip(1..).map(|(part, number)| {
        let name = if number == 1 { "generator".to_owned() } else { format!("generator {number}") };
        (name, part.command.to_string())
    });
    servers.chain(generators).collect()
}

/// Returns the generator's record of the trial of `request`; `None` when the generator failed in a
/// way that may be temporary.
fn read_record(
    service: &Service,
    request: &TrialRequest,
    processes: &[ChildProcess],
    ended: Option<ExitStatus>,
    folder: &Path,
) -> LabResult<Option<LoadRecord>> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let record = if request.purpose == Purpose::Avalanche {
        avalanche::record(&read(avalanche::REPORT), request)
    } else if service.server.subject.feature == ServerFeature::Perfdhcp {
        perfdhcp::record(&read("generator.out"), request.rate_per_s, request.dwell_s)
    } else {
        serde_json::from_str(&read(generator::RECORD)).ok()
    };
    match ended {
        // The generator refused its arguments or its environment: the next one would do the same.
        Some(status) if record.is_none() && matches!(status.code(), Some(1 | 2)) => {
            let words: Vec<String> =
                processes.iter().map(|process| describe_exit(process, status)).collect();
            Err(LabError::Failed(format!("the generator failed: {}", words.join(" / "))))
        }
        _ => Ok(record),
    }
}

/// Returns the paths of the files of a trial in `folder`, relative to the result folder `results`.
fn files_in(folder: &Path, results: &Path) -> Vec<String> {
    let relative = |path: &Path| Some(path.strip_prefix(results).ok()?.display().to_string());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let written = paths.filter(|path| path.is_file() && !path.ends_with(generator::LIST));
    let record = folder.join(folder::TRIAL);
    let mut files: Vec<String> =
        written.chain([record]).filter_map(|path| relative(&path)).collect();
    files.sort();
    files
}
