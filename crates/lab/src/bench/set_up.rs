//! Set-up of a run's folders, networks and processors, and start of its servers.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use counters::parse_resident_bytes;
use measure::Plan;
use measure::plan::{DatabaseAccess, Topology as TopologyChoice};
use measure::record::{Polls, Start};
use netio::XdpSender;
use testbed::process::{PinnedSelf, pin_self};
use testbed::topology::{NamespaceSettings, allowed_cpus, free_port};
use testbed::{ChildProcess, MeasurementTopology, Quota, RegisteredRun, Registry, TopologySide};

use super::profile::Profiler;
use super::service::{MeasuredServer, StartedServer};
use super::settle::ServerWaits;
use super::{ProcessBench, Processors};
use crate::driver::{self, ServerDeployment, StoreLocation};
use crate::error::LabError;
use crate::family::ProtocolAddressing;
use crate::folder;
use crate::hosts::{Machines, SampleFileReader};
use crate::progress::ProgressWriter;
use crate::runner::RunTime;
use crate::subject::{MeasurementSubject, SubjectKind};
use crate::target::{self, RunningTarget};
use crate::terms::MeasurementTerms;

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

impl<'a> ProcessBench<'a> {
    /// Builds the networks and starts every server, one after the other, each until it answers.
    /// Time counts from this call.
    ///
    /// # Errors
    /// A server is missing or does not answer, something cannot be built, or the user interrupts.
    /// Everything built so far is removed.
    pub fn build(
        settings: BenchSettings<'a>,
        progress: &'a mut ProgressWriter,
    ) -> Result<Self, LabError> {
        let BenchSettings { plan, time, subjects, godwit, folder, running, stop } = settings;
        let origin = Instant::now();
        let mut run = Registry::open()?.begin()?;
        run.register_folder(&folder)?;
        folder::create(&folder)?;
        let mut warnings = Vec::new();
        let family = ProtocolAddressing::for_protocol(plan.protocol);
        progress.step("building the topology");
        let machines = Machines::open(plan, subjects, &folder, &godwit)?;
        let (processors, pinned) = assign(machines.as_ref(), running.is_none(), &mut warnings)?;
        let (topology, relay, link) = if let Some(machines) = &machines {
            warnings.extend(machines.notes());
            let relay = machines.own_address(family)?;
            let interface = target::relay_interface(relay)?;
            (MeasurementTopology::Network { interface }, relay, family.link(relay.ip()))
        } else if let Some(running) = running {
            warnings.extend_from_slice(&running.notes);
            (running.topology(), running.relay, running.relay.ip())
        } else {
            if plan.protocol.is_dhcp() && plan.server.pool_size > family.largest_pool {
                warnings.push(format!(
                    "The lab reduced the pool to {} addresses, the most that it \
                                       can configure.",
                    family.largest_pool
                ));
            }
            let topology = choose_topology(plan, subjects, processors, &mut run, &mut warnings)?;
            let relay = relay_in(&topology, family)?;
            (topology, relay, family.link(relay.ip()))
        };
        let sends_frames = can_send_frames(plan, &topology, &mut warnings);
        let mut bench = Self {
            plan,
            time,
            folder,
            godwit,
            processors,
            _pinned: pinned,
            family,
            relay,
            link,
            topology,
            sends_frames,
            services: Vec::new(),
            subjects: subjects.len(),
            delay_proxies: Vec::new(),
            databases: Vec::new(),
            flushes: Vec::new(),
            starts: Vec::new(),
            profiler: Profiler::from_plan(&plan.profile, &mut warnings),
            machines,
            run,
            origin,
            stop,
            progress,
            warnings,
            verified: Vec::new(),
            problems: Vec::new(),
        };
        bench.start_all(subjects)?;
        Ok(bench)
    }

    /// Starts the servers of `subjects`, then the second servers of those subjects that have two on
    /// the same database.
    fn start_all(&mut self, subjects: &[MeasurementSubject]) -> Result<(), LabError> {
        for subject in subjects {
            self.start(subject, None)?;
        }
        for (position, subject) in subjects.iter().enumerate() {
            if subject.sharing == DatabaseAccess::TwoServers {
                let store = self.services[position].store.clone();
                self.services[position].partner = Some(self.services.len());
                self.start(&second_server(subject), Some(store))?;
            }
        }
        Ok(())
    }

    /// Starts one more server for `subject`, with database tables of its own unless `store` is
    /// given.
    fn start(
        &mut self,
        subject: &MeasurementSubject,
        store: Option<StoreLocation>,
    ) -> Result<(), LabError> {
        let position = self.services.len();
        let service = match subject.kind {
            SubjectKind::Running(address) => self.running(subject, address),
            _ => self.service(position, subject, store)?,
        };
        let began = service.started.as_ref().map(|started| started.began).zip(service.pid());
        self.services.push(service);
        self.wait_until_it_answers(position)?;
        let Some((began, pid)) = began else { return Ok(()) };
        let status = testbed::proc::read(format!("/proc/{pid}/status"));
        self.starts.push(Start {
            server: subject.server.clone(),
            variant: subject.variant.clone(),
            took_s: began.elapsed().as_secs_f64(),
            rss_bytes: parse_resident_bytes(&status).unwrap_or(0),
        });
        Ok(())
    }

    /// Makes the measured server for `subject`, which was running at `address` before the lab.
    fn running(&self, subject: &MeasurementSubject, address: SocketAddr) -> MeasuredServer {
        MeasuredServer {
            subject: subject.clone(),
            terms: MeasurementTerms::for_subject(subject, self.plan),
            folder: self.folder.clone(),
            store: StoreLocation::Memfile,
            partner: None,
            address,
            topology: self.topology.clone(),
            started: None,
            next_client: 0,
            lists: Vec::new(),
            waits: ServerWaits::default(),
            polls: Polls::default(),
            stream: SampleFileReader::default(),
        }
    }

    fn service(
        &mut self,
        position: usize,
        subject: &MeasurementSubject,
        store: Option<StoreLocation>,
    ) -> Result<MeasuredServer, LabError> {
        self.progress.step(&format!("starting {}", subject.label()));
        let folder = self.folder.join(folder::SERVERS).join(subject.file_name());
        folder::create(&folder)?;
        let store = match store {
            Some(store) => store,
            None => self.prepare_store(subject, &folder)?,
        };
        let topology = self.topology_for(position, subject)?;
        let address = match (&topology, &self.machines) {
            (_, Some(machines)) => machines.server_address(position),
            (MeasurementTopology::Namespaces { .. }, None) => {
                SocketAddr::new(self.family.server(position), self.family.port)
            }
            (MeasurementTopology::Loopback | MeasurementTopology::Network { .. }, None) => {
                loopback_address(self.family)?
            }
        };
        let terms = MeasurementTerms::for_subject(subject, self.plan);
        let deployment =
            self.deployment(subject, terms.pool_size, address, &topology, store.clone());
        let prepared = driver::prepare(subject, &deployment)?;
        let cpu = Some(self.processors.server);
        let command = topology.command(TopologySide::Server, cpu, prepared.command.clone());
        let command = self.command_at_server_machine(position, &folder, command)?;
        let quota = self.quota(position)?;
        let began = Instant::now();
        let is_far = self.has_remote_server();
        let start = if is_far { ChildProcess::start_held } else { ChildProcess::start };
        let process = start(&command, "server", &folder)?;
        self.run.register_group(process.pid())?;
        if let Some(quota) = &quota {
            quota.add_process(process.pid())?;
        }
        if prepared.reads_frames && !self.sends_frames {
            self.warnings.push(note_of_frames(subject));
        }
        self.warnings.extend(terms.note(&subject.server, self.plan));
        Ok(MeasuredServer {
            subject: subject.clone(),
            terms,
            folder,
            store,
            partner: None,
            address,
            topology,
            started: Some(StartedServer {
                prepared,
                command,
                quota,
                began,
                process,
                is_remote: is_far,
                generation: 1,
            }),
            next_client: 0,
            lists: Vec::new(),
            waits: ServerWaits::default(),
            polls: Polls::default(),
            stream: SampleFileReader::default(),
        })
    }

    /// Makes the control group (cgroup) that keeps the server at `position` to its share of a
    /// processor; `None` when that is all of it.
    fn quota(&mut self, position: usize) -> Result<Option<Quota>, LabError> {
        let share = self.plan.server.processor_share;
        if share >= 1.0 {
            return Ok(None);
        }
        if position == 0 {
            self.warnings.push(format!(
                "A control group limits every server to {:.0} % of a processor.",
                share * 100.0
            ));
        }
        Ok(Some(Quota::create(&mut self.run, position, share)?))
    }

    /// Returns the folder, addresses, store and settings with which the lab starts the measured
    /// server `subject`, whose pool has `pool_size` addresses.
    pub(super) fn deployment(
        &self,
        subject: &MeasurementSubject,
        pool_size: u32,
        address: SocketAddr,
        topology: &MeasurementTopology,
        store: StoreLocation,
    ) -> ServerDeployment {
        let machines = self.machines.as_ref();
        // An error is reported with its reason when the command is made.
        let there = machines.and_then(|of| of.server.interface_of(address.ip()).ok());
        ServerDeployment {
            folder: self.folder.join(folder::SERVERS).join(subject.file_name()),
            family: self.family,
            address,
            relay: self.relay,
            relays: if subject.sharing == DatabaseAccess::TwoServers { 2 } else { 1 },
            further_relays: machines.map(Machines::relays).unwrap_or_default(),
            interface: there.unwrap_or_else(|| topology.interface(TopologySide::Server)).to_owned(),
            // The pool has one more address, for the client that checks whether the server answers.
            pool: self.family.pool(pool_size.saturating_add(1)),
            lease_time_s: self.plan.server.lease_time_s,
            threads: self.plan.dns.threads,
            godwit: self.godwit.clone(),
            store,
            feature: subject.feature,
            reservations: driver::features::RESERVATIONS,
        }
    }

    /// Returns the networks for the server `subject`: those of all servers, or ones with a server's
    /// namespace of its own.
    fn topology_for(
        &mut self,
        position: usize,
        subject: &MeasurementSubject,
    ) -> Result<MeasurementTopology, LabError> {
        if !driver::needs_own_link(subject) {
            return Ok(self.topology.clone());
        }
        if self.topology == MeasurementTopology::Loopback {
            return Err(LabError::Failed(format!(
                "{} cannot be measured on loopback: it receives all messages of an interface and \
                 answers relays at port {} only; run as root, with --topology veth",
                subject.label(),
                self.family.port
            )));
        }
        let number = self.services.iter().filter(|s| driver::needs_own_link(&s.subject)).count();
        let address = self.family.server(position);
        let settings = namespace_settings(self.family, vec![address], 1, self.processors);
        Ok(self.topology.with_further_server(&mut self.run, number, &settings)?)
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

fn namespace_settings(
    family: ProtocolAddressing,
    server_addresses: Vec<IpAddr>,
    relays: u32,
    processors: Processors,
) -> NamespaceSettings {
    NamespaceSettings {
        server_addresses,
        client_addresses: family.relays(family.relay, relays),
        prefix_length: family.subnet.1,
        server_cpu: processors.server,
        client_cpu: processors.generator,
    }
}

/// Returns the generator's address in `topology`, which for DHCP is the relay agent's.
fn relay_in(
    topology: &MeasurementTopology,
    family: ProtocolAddressing,
) -> Result<SocketAddr, LabError> {
    match topology {
        MeasurementTopology::Namespaces { .. } => {
            Ok(SocketAddr::new(family.relay, family.relay_port))
        }
        _ if family.relay_port == 0 => Ok(SocketAddr::new(family.loopback, 0)),
        _ => loopback_address(family),
    }
}

fn loopback_address(family: ProtocolAddressing) -> Result<SocketAddr, LabError> {
    Ok(SocketAddr::new(family.loopback, free_port(family.loopback)?))
}

/// Chooses the processors of server and generator, on the machine of each.
fn assign(
    machines: Option<&Machines>,
    has_server: bool,
    warnings: &mut Vec<String>,
) -> Result<(Processors, Option<PinnedSelf>), LabError> {
    let (own, pinned) = choose_processors(has_server && machines.is_none(), warnings)?;
    let last = machines.and_then(|machines| machines.server.processors().last());
    Ok((Processors { server: last.copied().unwrap_or(own.server), ..own }, pinned))
}

/// Chooses processors of this machine: the first one for the generator, where most interrupts are,
/// and the last one for the server. The lab itself stays off the server's processor while the run
/// lasts: the next plan of a suite chooses anew.
fn choose_processors(
    has_server: bool,
    warnings: &mut Vec<String>,
) -> Result<(Processors, Option<PinnedSelf>), LabError> {
    let cpus = allowed_cpus();
    let mut pinned = None;
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    if cpus.len() > 1 {
        pinned = Some(pin_self(if cpus.len() > 2 || !has_server { cpus[1] } else { first })?);
    } else if has_server {
        warnings.push(
            "Server and generator share the only processor, so neither rates nor processor seconds \
             are the server's alone."
                .to_owned(),
        );
    }
    Ok((Processors { server: last, generator: first }, pinned))
}

/// Returns true if messages of clients leave as frames (AF_XDP); warns if the plan wants frames and
/// they are not possible.
fn can_send_frames(
    plan: &Plan,
    topology: &MeasurementTopology,
    warnings: &mut Vec<String>,
) -> bool {
    if !(plan.clients.frames || plan.dns.frames) {
        return false;
    }
    let missing = match (topology, XdpSender::probe()) {
        (MeasurementTopology::Namespaces { .. }, Ok(())) => return true,
        (MeasurementTopology::Namespaces { .. }, Err(error)) => error.to_string(),
        (MeasurementTopology::Loopback | MeasurementTopology::Network { .. }, _) => {
            "there is no veth pair".to_owned()
        }
    };
    warnings.push(format!(
        "Messages were sent as datagrams, not as frames that bypass the kernel's UDP as the plan requires: {missing}."
    ));
    false
}

fn choose_topology(
    plan: &Plan,
    subjects: &[MeasurementSubject],
    processors: Processors,
    run: &mut RegisteredRun,
    warnings: &mut Vec<String>,
) -> Result<MeasurementTopology, LabError> {
    let (choice, family) = (plan.topology, ProtocolAddressing::for_protocol(plan.protocol));
    let is_root = testbed::registry::user_id() == 0;
    let loopback = |why: &str, warnings: &mut Vec<String>| {
        warnings.push(format!(
            "Measured on loopback ({why}): packets are received on the sender's processor, so the \
             generator bears part of the server's work."
        ));
        Ok(MeasurementTopology::Loopback)
    };
    match choice {
        TopologyChoice::Loopback => return loopback("as the plan says", warnings),
        TopologyChoice::Auto if !is_root => {
            return loopback("network namespaces need root", warnings);
        }
        TopologyChoice::Veth if !is_root => {
            return Err(LabError::Failed(
                "no permission to build network namespaces; run as root, or with \
                 --topology loopback"
                    .to_owned(),
            ));
        }
        TopologyChoice::Auto | TopologyChoice::Veth => {}
    }
    let shared =
        subjects.iter().enumerate().filter(|(_, subject)| !driver::needs_own_link(subject));
    let pairs =
        subjects.iter().filter(|subject| subject.sharing == DatabaseAccess::TwoServers).count();
    let second = subjects.len()..subjects.len() + pairs;
    let positions = shared.map(|(position, _)| position).chain(second);
    let addresses = positions.map(|position| family.server(position)).collect();
    let relays = if pairs > 0 { 2 } else { 1 };
    let settings = namespace_settings(family, addresses, relays, processors);
    match MeasurementTopology::namespaces(run, &settings) {
        Ok(topology) => Ok(topology),
        // The root user of a container may lack permissions.
        Err(e) if choice == TopologyChoice::Auto => loopback(&e.to_string(), warnings),
        Err(e) => Err(e.into()),
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
