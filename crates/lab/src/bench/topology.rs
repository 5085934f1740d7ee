//! Topology of a run: processors, namespaces, addresses, databases, and the other machines that
//! take part. The neighbor `stores` has the databases, `machines` the other machines.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use measure::Plan;
use measure::plan::{DatabaseAccess, Topology as TopologyChoice};
use measure::record::NETWORK;
use netio::XdpSender;
use testbed::process::{PinnedSelf, pin_self};
use testbed::topology::{NamespaceSettings, allowed_cpus, free_port};
use testbed::{
    ChildProcess, MeasurementTopology, PrivateDatabase, RegisteredRun, Registry, TopologySide,
};

use super::BenchSettings;
use super::recorder::RunRecorder;
use super::service::Service;
use crate::driver::{self, PairPlace};
use crate::error::{LabError, LabResult};
use crate::family::ProtocolAddressing;
use crate::folder;
use crate::hosts::Machines;
use crate::probe::{ProbeRequest, ServerProbe};
use crate::subject::MeasurementSubject;
use crate::subject_id::PerSubject;
use crate::target;

/// Numbers of the processors for the servers and for the generator, one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Processors {
    pub(crate) server: usize,
    pub(crate) generator: usize,
}

/// Topology in which the servers of a run and their generators meet. Dropping it removes
/// everything that was built.
#[derive(Debug)]
pub(super) struct BenchTopology<'a> {
    pub(super) plan: &'a Plan,
    /// Path of the run's result folder.
    pub(super) folder: PathBuf,
    pub(super) godwit: PathBuf,
    pub(super) processors: Processors,
    /// Guard that keeps the lab's own process off the server's processor.
    _pinned: Option<PinnedSelf>,
    pub(super) family: ProtocolAddressing,
    /// Address of the generator; for DHCP it is that of the relay agent that the generator plays.
    pub(super) relay: SocketAddr,
    /// Address by which DHCP servers choose the subnet of messages from the relay agent (giaddr,
    /// link-address).
    pub(super) link: IpAddr,
    /// Network of all servers that do not need one of their own.
    pub(super) network: MeasurementTopology,
    /// Number of servers that have a network of their own.
    own_networks: usize,
    /// True if messages of clients may leave as frames of the generator's interface (AF_XDP).
    pub(super) sends_frames: bool,
    /// Processes that delay connections between servers and distant databases.
    pub(super) delay_proxies: Vec<ChildProcess>,
    pub(super) databases: Vec<PrivateDatabase>,
    /// Machines that the measurement uses, if any other than this one.
    pub(super) machines: Option<Machines>,
    // The register removes namespaces, so it is dropped last.
    pub(super) run: RegisteredRun,
}

impl<'a> BenchTopology<'a> {
    /// Builds the topology of `settings`, without databases and servers.
    pub(super) fn build(
        settings: &BenchSettings<'a>,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<Self> {
        let BenchSettings { plan, subjects, ref godwit, ref folder, running, .. } = *settings;
        let mut run = Registry::open()?.begin()?;
        run.register_folder(folder)?;
        folder::create(folder)?;
        let warnings = &mut recorder.run.warnings;
        let family = ProtocolAddressing::for_protocol(plan.protocol);
        recorder.progress.step("building the topology");
        let machines = Machines::open(plan, subjects, folder, godwit)?;
        let (processors, pinned) = assign(machines.as_ref(), running.is_none(), warnings)?;
        let (network, relay, link) = if let Some(machines) = &machines {
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
                    "The lab reduced the pool to {} addresses, the most that it can configure.",
                    family.largest_pool
                ));
            }
            let network = choose_topology(plan, subjects, processors, &mut run, warnings)?;
            let relay = relay_in(&network, family)?;
            (network, relay, family.link(relay.ip()))
        };
        Ok(Self {
            plan,
            folder: folder.clone(),
            godwit: godwit.clone(),
            processors,
            _pinned: pinned,
            family,
            relay,
            link,
            sends_frames: can_send_frames(plan, &network, warnings),
            network,
            own_networks: 0,
            delay_proxies: Vec::new(),
            databases: Vec::new(),
            machines,
            run,
        })
    }

    /// Returns the name of the connection between generator and servers.
    pub(super) const fn name(&self) -> &'static str {
        match self.network {
            MeasurementTopology::Loopback => "loopback",
            MeasurementTopology::Namespaces { .. } => "veth",
            MeasurementTopology::Network { .. } => NETWORK,
        }
    }

    /// Returns the network for the server `subject`, which is number `number` of the run: that of
    /// all servers, or one with a server's namespace of its own.
    pub(super) fn network_for(
        &mut self,
        number: usize,
        subject: &MeasurementSubject,
    ) -> LabResult<MeasurementTopology> {
        if !driver::needs_own_link(subject) {
            return Ok(self.network.clone());
        }
        if self.network == MeasurementTopology::Loopback {
            return Err(LabError::Failed(format!(
                "{} cannot be measured on loopback: it receives all messages of an interface and \
                 answers relays at port {} only; run as root, with --topology veth",
                subject.label(),
                self.family.port
            )));
        }
        let address = self.family.server(number);
        let settings = namespace_settings(self.family, vec![address], 1, self.processors);
        let further = self.own_networks;
        self.own_networks += 1;
        Ok(self.network.with_further_server(&mut self.run, further, &settings)?)
    }

    /// Returns the address for server number `number` of the run in `network`.
    pub(super) fn server_address(
        &self,
        number: usize,
        network: &MeasurementTopology,
    ) -> LabResult<SocketAddr> {
        match (network, &self.machines) {
            (_, Some(machines)) => Ok(machines.server_address(number)),
            (MeasurementTopology::Namespaces { .. }, None) => {
                Ok(SocketAddr::new(self.family.server(number), self.family.port))
            }
            (MeasurementTopology::Loopback | MeasurementTopology::Network { .. }, None) => {
                loopback_address(self.family)
            }
        }
    }

    /// Returns the place of the first of the servers `numbers` of the run, which are a pair.
    pub(super) fn pair_place(&self, numbers: [usize; 2]) -> LabResult<PairPlace> {
        let [first, second] = numbers.map(|number| self.server_address(number, &self.network));
        Ok(PairPlace { addresses: [first?, second?], own: 0 })
    }

    /// Opens the socket from which the lab sends its own requests to servers.
    pub(super) fn probe(&self) -> LabResult<ServerProbe> {
        let namespace = self.network.namespace(TopologySide::Client);
        let path = namespace.map(|name| Path::new("/run/netns").join(name));
        let question = if self.family.protocol.is_dhcp() {
            ProbeRequest::Dhcp(self.link)
        } else {
            ProbeRequest::Dns
        };
        ServerProbe::open(self.relay, question, path.as_deref())
    }

    /// Keeps the result folder, and removes everything else that was built for the run, `services`
    /// first.
    pub(super) fn keep(mut self, services: PerSubject<Service>) -> LabResult<()> {
        self.run.unregister_folder(&self.folder);
        drop(services);
        self.databases.clear();
        self.run.end().map_err(|sentences| LabError::Failed(sentences.join("\n")))
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
fn relay_in(topology: &MeasurementTopology, family: ProtocolAddressing) -> LabResult<SocketAddr> {
    match topology {
        MeasurementTopology::Namespaces { .. } => {
            Ok(SocketAddr::new(family.relay, family.relay_port))
        }
        _ if family.relay_port == 0 => Ok(SocketAddr::new(family.loopback, 0)),
        _ => loopback_address(family),
    }
}

fn loopback_address(family: ProtocolAddressing) -> LabResult<SocketAddr> {
    Ok(SocketAddr::new(family.loopback, free_port(family.loopback)?))
}

/// Chooses the processors of server and generator, on the machine of each.
fn assign(
    machines: Option<&Machines>,
    has_server: bool,
    warnings: &mut Vec<String>,
) -> LabResult<(Processors, Option<PinnedSelf>)> {
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
) -> LabResult<(Processors, Option<PinnedSelf>)> {
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
) -> LabResult<MeasurementTopology> {
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
    let second = second_servers(subjects);
    let partners = subjects.iter().filter(|subject| subject.feature.has_partner()).count();
    let further = subjects.len()..subjects.len() + second + partners;
    let positions = shared.map(|(position, _)| position).chain(further);
    let addresses = positions.map(|position| family.server(position)).collect();
    let relays = if second > 0 { 2 } else { 1 };
    let settings = namespace_settings(family, addresses, relays, processors);
    match MeasurementTopology::namespaces(run, &settings) {
        Ok(topology) => Ok(topology),
        // The root user of a container may lack permissions.
        Err(e) if choice == TopologyChoice::Auto => loopback(&e.to_string(), warnings),
        Err(e) => Err(e.into()),
    }
}

/// Returns the number of `subjects` that have a second server on the same database. The numbers of
/// these servers follow those of the subjects, and the numbers of partners come after them.
pub(super) fn second_servers(subjects: &[MeasurementSubject]) -> usize {
    subjects.iter().filter(|subject| subject.sharing == DatabaseAccess::TwoServers).count()
}
