//! Start of the servers of a run, one after the other, each until it answers.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use counters::parse_resident_bytes;
use measure::plan::{DatabaseAccess, ServerFeature};
use measure::record::Start;
use testbed::{ChildProcess, CommandLine, Quota, TopologySide};

use super::recorder::RunRecorder;
use super::service::{MeasuredServer, Service, StartedServer};
use super::settle::ServerWaits;
use super::topology::{BenchTopology, second_servers};
use crate::driver::{self, PairPlace, PreparedServer, ServerDeployment, StoreLocation};
use crate::error::LabResult;
use crate::folder;
use crate::hosts::{Machines, SampleFileReader};
use crate::subject::{KeaVersion, MeasurementSubject, SubjectKind};
use crate::subject_id::PerSubject;
use crate::terms::MeasurementTerms;

/// Starts the servers of `subjects`, those of pairs with their partners, then the second servers of
/// those subjects that have two on the same database.
pub(super) fn start_all(
    subjects: &[MeasurementSubject],
    topology: &mut BenchTopology<'_>,
    stop: &AtomicBool,
    recorder: &mut RunRecorder<'_>,
) -> LabResult<PerSubject<Service>> {
    let mut services = Vec::new();
    let mut partner_numbers = subjects.len() + second_servers(subjects)..;
    for (number, subject) in subjects.iter().enumerate() {
        let has_partner = subject.feature.has_partner();
        let numbers = [number, partner_numbers.start];
        let place = if has_partner { Some(topology.pair_place(numbers)?) } else { None };
        let server = MeasuredServer::start(subject, number, None, place, topology, recorder)?;
        let partner = match (place, has_partner.then(|| partner_numbers.next()).flatten()) {
            (Some(place), Some(number)) => {
                let (subject, place) = (partner_of(subject), PairPlace { own: 1, ..place });
                let place = Some(place);
                Some(MeasuredServer::start(&subject, number, None, place, topology, recorder)?)
            }
            _ => None,
        };
        let service = Service::new(server.answering(topology, stop, recorder)?);
        services.push(Service { partner, ..service });
    }
    let shares =
        |service: &&mut Service| service.server.subject.sharing == DatabaseAccess::TwoServers;
    for (service, number) in services.iter_mut().filter(shares).zip(subjects.len()..) {
        let subject = second_server(&service.server.subject);
        let store = Some(service.server.store.clone());
        let server = MeasuredServer::start(&subject, number, store, None, topology, recorder)?;
        service.second = Some(server.answering(topology, stop, recorder)?);
    }
    Ok(services.into_iter().collect())
}

impl MeasuredServer {
    /// Starts the server of `subject`, number `number` of the run, unless it runs already. The
    /// server has database tables of its own unless `store` is given, and is at the place `pair` of
    /// a pair, if there is one.
    fn start(
        subject: &MeasurementSubject,
        number: usize,
        store: Option<StoreLocation>,
        pair: Option<PairPlace>,
        topology: &mut BenchTopology<'_>,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<Self> {
        let mut server = Self {
            subject: subject.clone(),
            terms: MeasurementTerms::for_subject(subject, topology.plan),
            folder: topology.folder.clone(),
            store: StoreLocation::Memfile,
            address: topology.relay,
            pair,
            network: topology.network.clone(),
            started: None,
            waits: ServerWaits::default(),
            stream: SampleFileReader::default(),
        };
        if let SubjectKind::Running(address) = subject.kind {
            return Ok(Self { address, ..server });
        }
        recorder.progress.step(&format!("starting {}", subject.label()));
        server.folder = topology.folder.join(folder::SERVERS).join(subject.file_name());
        folder::create(&server.folder)?;
        server.store = match store {
            Some(store) => store,
            None => topology.prepare_store(subject, &server.folder, recorder)?,
        };
        server.network = topology.network_for(number, subject)?;
        server.address = match pair.and_then(|place| place.addresses.get(place.own).copied()) {
            Some(address) => address,
            None => topology.server_address(number, &server.network)?,
        };
        let (prepared, command) = server.prepare(topology)?;
        let quota = quota(number, topology, recorder)?;
        let began = Instant::now();
        let is_remote = topology.has_remote_server();
        let start = if is_remote { ChildProcess::start_held } else { ChildProcess::start };
        let process = start(&command, "server", &server.folder)?;
        topology.run.register_group(process.pid())?;
        if let Some(quota) = &quota {
            quota.add_process(process.pid())?;
        }
        if prepared.reads_frames && !topology.sends_frames {
            recorder.warn(note_of_frames(subject));
        }
        recorder.run.warnings.extend(server.terms.note(&subject.server, topology.plan));
        let generation = 1;
        server.started =
            Some(StartedServer { prepared, command, quota, began, process, is_remote, generation });
        Ok(server)
    }

    /// Returns the server when it answers, and records its start if the lab started it here.
    fn answering(
        mut self,
        topology: &mut BenchTopology<'_>,
        stop: &AtomicBool,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<Self> {
        self.wait_until_it_answers(topology, stop, recorder)?;
        if let (Some(started), Some(pid)) = (&self.started, self.pid()) {
            let status = testbed::proc::read(format!("/proc/{pid}/status"));
            recorder.run.starts.push(Start {
                server: self.subject.server.clone(),
                variant: self.subject.variant.clone(),
                took_s: started.began.elapsed().as_secs_f64(),
                rss_bytes: parse_resident_bytes(&status).unwrap_or(0),
            });
        }
        Ok(self)
    }

    /// Writes the server's files; returns the prepared server, and its command as the lab starts
    /// it, namespace and processor included.
    pub(super) fn prepare(
        &self,
        topology: &mut BenchTopology<'_>,
    ) -> LabResult<(PreparedServer, CommandLine)> {
        let prepared = driver::prepare(&self.subject, &self.deployment(topology))?;
        let cpu = Some(topology.processors.server);
        let command = self.network.command(TopologySide::Server, cpu, prepared.command.clone());
        let command = topology.command_at_server_machine(self, command)?;
        Ok((prepared, command))
    }

    /// Returns the folder, addresses, store and settings with which the lab starts the server.
    fn deployment(&self, topology: &BenchTopology<'_>) -> ServerDeployment {
        let machines = topology.machines.as_ref();
        // An error is reported with its reason when the command is made.
        let there = machines.and_then(|of| of.server.interface_of(self.address.ip()).ok());
        let has_two = self.subject.sharing == DatabaseAccess::TwoServers;
        ServerDeployment {
            folder: self.folder.clone(),
            family: topology.family,
            address: self.address,
            relay: topology.relay,
            relays: if has_two { 2 } else { 1 },
            further_relays: machines.map(Machines::relays).unwrap_or_default(),
            interface: there
                .unwrap_or_else(|| self.network.interface(TopologySide::Server))
                .to_owned(),
            // The pool has one more address, for the client that checks whether the server answers.
            pool: topology.family.pool(self.terms.pool_size.saturating_add(1)),
            lease_time_s: topology.plan.server.lease_time_s,
            threads: topology.plan.dns.threads,
            godwit: topology.godwit.clone(),
            store: self.store.clone(),
            feature: self.subject.feature,
            reservations: driver::features::RESERVATIONS,
            pair: self.pair,
        }
    }

    /// Starts the server's process again, after the one before has ended; does nothing for a
    /// server that ran before the lab.
    pub(super) fn start_again(&mut self, topology: &mut BenchTopology<'_>) -> LabResult<()> {
        let Some(started) = &mut self.started else { return Ok(()) };
        started.restart(&self.folder)?;
        Ok(topology.run.register_group(started.process.pid())?)
    }
}

/// Makes the control group (cgroup) that keeps server number `number` of the run to its share of a
/// processor; `None` when that is all of it.
fn quota(
    number: usize,
    topology: &mut BenchTopology<'_>,
    recorder: &mut RunRecorder<'_>,
) -> LabResult<Option<Quota>> {
    let share = topology.plan.server.processor_share;
    if share >= 1.0 {
        return Ok(None);
    }
    if number == 0 {
        recorder.warn(format!(
            "A control group limits every server to {:.0} % of a processor.",
            share * 100.0
        ));
    }
    Ok(Some(Quota::create(&mut topology.run, number, share)?))
}

/// Makes the description of the partner of the server `subject`.
fn partner_of(subject: &MeasurementSubject) -> MeasurementSubject {
    let kind = match subject.feature {
        ServerFeature::HotStandbyKea => {
            SubjectKind::Kea { version: KeaVersion::Debian13, multi_threaded: true }
        }
        _ => subject.kind.clone(),
    };
    let and = if subject.variant.is_empty() { "" } else { ", " };
    MeasurementSubject {
        variant: format!("{}{and}partner", subject.variant),
        kind,
        ..subject.clone()
    }
}

/// Makes the description of the second of two servers on the same database.
fn second_server(subject: &MeasurementSubject) -> MeasurementSubject {
    let and = if subject.variant.is_empty() { "" } else { ", " };
    MeasurementSubject {
        variant: format!("{}{and}second server", subject.variant),
        ..subject.clone()
    }
}

/// Returns the warning that a server reads frames from a raw socket while the generator sends
/// datagrams.
fn note_of_frames(subject: &MeasurementSubject) -> String {
    format!(
        "{} reads raw frames, so the generator sent its messages one by one (segmentation off), \
         and those to the other servers in groups if the kernel can: its side of the link has more \
         work per message, which its ratios contain.",
        subject.label()
    )
}
