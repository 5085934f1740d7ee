//! More than one machine: the machines of a plan's servers and generators, the settings that cannot
//! be measured on several machines, and the copies of the lab there.
//!
//! Every process there is started by SSH and lives as long as the connection: [`run_agent`] keeps
//! a folder for the run, and [`run_program`] runs and samples one program. Both notice the end of
//! the lab, whatever its cause. The result folder has a copy there; in files that are copied,
//! paths are those of the other machine.

mod agent;
mod host;
mod message;
mod remote_program;
mod stream;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use measure::Plan;
use measure::plan::{DatabaseAccess, LeaseStoreKind, Restarts, ServerFeature};

pub use agent::run_agent;
pub(crate) use host::{RemoteHost, RemotePart};
pub use remote_program::{RemoteProgram, run_program};
pub(crate) use stream::{RunOrigin, SampleFileReader, merge_samples};

use crate::driver;
use crate::error::{LabError, LabResult};
use crate::family::ProtocolAddressing;
use crate::subject::MeasurementSubject;

/// First number of a generator's processors in samples if another machine takes part; those of
/// further generators start at its multiples. The number of one machine's processor means nothing
/// on another.
pub(crate) const GENERATOR_CPUS: u32 = 1_000;
/// Largest uncertainty of the offset of another machine's clock at which the report has no remark,
/// in nanoseconds.
const UNCERTAINTY_MAX_NS: u64 = base::offset::UNCERTAINTY_MAX_NS;

/// Machines that take part in a measurement besides this one.
#[derive(Debug)]
pub(crate) struct Machines {
    /// Machine on which the measured servers run.
    pub(crate) server: RemoteHost,
    /// Machines of the generators, each with the address that it sends from; empty if this machine
    /// is the generator.
    pub(crate) generators: Vec<(RemoteHost, SocketAddr)>,
    server_ip: IpAddr,
    first_port: u16,
}

impl Machines {
    /// Connects to the machines of `plan`; `None` when it uses only this one. Files in `folder`,
    /// the result folder, will have copies there, and `godwit` is this binary.
    ///
    /// # Errors
    /// The plan has settings that cannot be measured so; a machine cannot be reached, or lacks the
    /// program.
    pub(crate) fn open(
        plan: &Plan,
        subjects: &[MeasurementSubject],
        folder: &Path,
        godwit: &Path,
    ) -> LabResult<Option<Self>> {
        let hosts = &plan.hosts;
        if !hosts.is_used() {
            return Ok(None);
        }
        let problems = unsupported_settings(plan, subjects);
        let address = |text: &String| {
            let parsed = text.parse::<IpAddr>();
            parsed.map_err(|_| LabError::Usage(format!("hosts: `{text}` is not an address")))
        };
        if !problems.is_empty() {
            return Err(LabError::Usage(format!(
                "{} cannot be measured on several machines:\n  {}",
                plan.name,
                problems.join("\n  ")
            )));
        }
        let reach = |name: &String| RemoteHost::open(name, hosts, folder, godwit);
        let server = reach(&hosts.server)?;
        let port = if plan.protocol.is_dhcp() { hosts.first_port } else { 0 };
        let mut generators = Vec::new();
        for (name, text) in hosts.generators.iter().zip(&hosts.generator_addresses) {
            generators.push((reach(name)?, SocketAddr::new(address(text)?, port)));
        }
        let server_ip = address(&hosts.server_address)?;
        Ok(Some(Self { server, generators, server_ip, first_port: hosts.first_port }))
    }

    /// Returns the address at which the server at `position` receives messages on its machine.
    pub(crate) fn server_address(&self, position: usize) -> SocketAddr {
        let port = usize::from(self.first_port) + 1 + position;
        SocketAddr::new(self.server_ip, u16::try_from(port).unwrap_or(u16::MAX))
    }

    /// Returns the address that this machine sends from: as the generator, if there is no other,
    /// and for the probe that checks whether servers answer.
    pub(crate) fn own_address(&self, family: ProtocolAddressing) -> LabResult<SocketAddr> {
        let route = netio::route::to(self.server_address(0))?;
        let port = if family.relay_port == 0 { 0 } else { self.first_port };
        Ok(SocketAddr::new(route.local, port))
    }

    /// Returns the addresses of the relay agents that the generators on other machines play.
    pub(crate) fn relays(&self) -> Vec<IpAddr> {
        self.generators.iter().map(|(_, address)| address.ip()).collect()
    }

    /// Returns notes on the machines that the reader of the report must know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "The servers ran on {}; the figures of the server's processors, memory, sockets and \
             interfaces come from there. Versions of other projects' servers are those of this \
             machine's packages.",
            self.server.name()
        )];
        if !self.generators.is_empty() {
            let names: Vec<&str> = self.generators.iter().map(|(host, _)| host.name()).collect();
            notes.push(format!(
                "The load came from {}, in equal parts that began at the same time. The report \
                 numbers their processors from {GENERATOR_CPUS} on, {GENERATOR_CPUS} for each \
                 machine.",
                names.join(", ")
            ));
        }
        let generators = self.generators.iter().map(|(host, _)| host);
        let all = std::iter::once(&self.server).chain(generators);
        for host in all.filter(|host| host.clock().uncertainty_ns > UNCERTAINTY_MAX_NS) {
            notes.push(format!(
                "The lab knows the clock of {} to {:.1} ms only: the times of its samples may be \
                 off by that much.",
                host.name(),
                host.clock().uncertainty_ns as f64 / 1e6
            ));
        }
        notes
    }
}

/// Returns the settings of `plan` that the lab supports on its own machine only, a sentence each.
fn unsupported_settings(plan: &Plan, subjects: &[MeasurementSubject]) -> Vec<String> {
    let server = &plan.server;
    let mut problems = Vec::new();
    if server.stores != [LeaseStoreKind::Memfile] {
        problems.push("server.stores: databases are started on the lab's machine only".to_owned());
    }
    if server.sharing != [DatabaseAccess::Open] {
        problems.push("server.sharing: databases are started on the lab's machine only".to_owned());
    }
    if plan.restart.database != Restarts::None {
        problems
            .push("restart.database: databases are started on the lab's machine only".to_owned());
    }
    if plan.exhaustion.is_wanted() {
        problems.push("exhaustion.dwell_s: pools run out on the lab's machine only".to_owned());
    }
    if server.processor_share < 1.0 {
        let share = server.processor_share;
        problems.push(format!(
            "server.processor_share ({share}): control groups exist on the lab's \
                           machine only"
        ));
    }
    let is_here = |of: &ServerFeature| {
        let is_queue = of.receive_buffer_bytes().is_some() || of.qdisc().is_some();
        is_queue || matches!(of, ServerFeature::Perfdhcp | ServerFeature::PolledSubnets)
    };
    for feature in server.features.iter().filter(|of| is_here(of)) {
        problems.push(format!(
            "server.features ({}): available on the lab's machine only",
            feature.name()
        ));
    }
    if plan.curve.avalanche_s > 0.0 {
        problems.push("curve.avalanche_s: only this machine can send an avalanche".to_owned());
    }
    if !plan.profile.fractions.is_empty() {
        problems.push("profile.fractions: perf samples this machine only".to_owned());
    }
    for subject in subjects.iter().filter(|subject| driver::needs_own_link(subject)) {
        problems.push(format!("{}: it needs its own interface and port 67", subject.label()));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_cannot_be_done_elsewhere_is_told_at_once() {
        let mut plan = Plan { name: "x".to_owned(), ..Plan::default() };
        plan.hosts.server = "one".to_owned();
        plan.hosts.server_address = "192.0.2.1".to_owned();
        assert_eq!(unsupported_settings(&plan, &[]), [""; 0]);
        plan.server.stores = vec![LeaseStoreKind::Mysql];
        plan.server.sharing = vec![DatabaseAccess::TwoServers];
        plan.server.processor_share = 0.5;
        plan.server.features = vec![ServerFeature::Plain, ServerFeature::PolledSubnets];
        plan.restart.database = Restarts::Both;
        plan.curve.avalanche_s = 1.0;
        plan.profile.fractions = vec![0.5];
        plan.exhaustion.dwell_s = 20.0;
        assert_eq!(unsupported_settings(&plan, &[]).len(), 8);
        let folder = Path::new("/nowhere");
        let error = Machines::open(&plan, &[], folder, folder).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("profile.fractions"), "{error}");
    }

    #[test]
    fn this_machine_alone_is_no_set_of_machines() {
        let folder = Path::new("/nowhere");
        let machines = Machines::open(&Plan::default(), &[], folder, folder).unwrap();
        assert!(machines.is_none());
    }
}
