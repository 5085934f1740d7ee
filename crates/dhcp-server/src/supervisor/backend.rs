//! Implementation of [`dhcp_control`]'s command backend by the daemon.

use std::net::IpAddr;

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::{ExtendedInfoChecks, Hook};
use dhcp_control::statistics::ServerCounts;
use dhcp_control::{
    ApplyFailure, CleanupStartResult, CommandBackend, HostChange, HostDatabases, InterfaceFacts,
    NameUpdates, Selected, Selector, ServerVersion, ServiceState, Status, SubnetFacts, WrittenFile,
};
use dhcp_ha::HaExecution;
use netio::Clock;
use serde_json::Value;

use super::checks::check_document;
use super::statistics::StatisticsTask;
use super::{Supervisor, moved_subnets, wake};
use crate::ha::HaServices;
use crate::leases::LeaseBackend;
use crate::service::{DaemonFamily, SubnetSummary};
use crate::version;

/// Number that Kea has for the Ethernet hardware type.
const ETHERNET: u16 = 1;
/// Number that the kernel has for the hardware type of the loopback interface.
const LOOPBACK: u16 = 772;

impl<P: DaemonFamily> CommandBackend for Supervisor<P> {
    type Family = P;

    fn now(&self) -> Now {
        Clock::now()
    }

    fn hooks(&self) -> &[Hook] {
        &self.parts.in_force.config.global.hooks
    }

    fn extended_info_checks(&self) -> ExtendedInfoChecks {
        self.parts.in_force.config.global.extended_info_checks
    }

    fn version(&self) -> ServerVersion {
        ServerVersion {
            short: version::KEA_LEVEL.to_owned(),
            extended: version::extended_version(P::VERSION),
            build: version::build_report(),
        }
    }

    fn configuration(&self) -> &Value {
        &self.parts.in_force.document
    }

    fn check(&self, document: &Value) -> Result<(), ApplyFailure> {
        check_document::<P>(document, &self.settings)
    }

    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure> {
        // As in Kea, a command that changes a part of the configuration is no reload.
        let since = self.parts.in_force.since;
        let moved = moved_subnets::without_default(&document, &self.parts.in_force.document);
        self.use_document(&document)?;
        self.parts.in_force.since = since;
        moved_subnets::remove_default(&mut self.parts.in_force.document, &moved);
        Ok(())
    }

    fn replace(&mut self, document: Value) -> Result<(), ApplyFailure> {
        self.use_document(&document)?;
        self.send_to_statistics(StatisticsTask::Restart);
        Ok(())
    }

    fn change_host(
        &mut self,
        subnet_id: u32,
        change: HostChange<Value>,
    ) -> Result<(), ApplyFailure> {
        self.change_one_host(subnet_id, change)
    }

    fn execute_ha(&mut self, name: &str, arguments: &Value) -> Option<HaExecution> {
        self.parts.ha.as_mut()?.execute(name, arguments)
    }

    fn is_partner_old(&self) -> bool {
        self.parts.ha.as_ref().is_some_and(HaServices::is_any_partner_old)
    }

    fn ha_status(&self) -> Option<Value> {
        self.parts.ha.as_ref().map(HaServices::status)
    }

    fn host_databases(&mut self) -> Option<&mut dyn HostDatabases> {
        self.parts.hosts.is_some().then_some(self as &mut dyn HostDatabases)
    }

    fn reload(&mut self) -> Result<(), ApplyFailure> {
        self.read_again()
    }

    fn write(&mut self, file: Option<&str>) -> Result<WrittenFile, String> {
        self.write_configuration(file)
    }

    fn subnet(&self, id: u32) -> Option<SubnetFacts> {
        self.outline(id).map(|outline| outline.facts.clone())
    }

    fn subnet_of(&self, address: IpAddr) -> Option<SubnetFacts> {
        let holds = |outline: &&SubnetSummary| outline.facts.contains(address);
        self.parts.in_force.outlines.iter().find(holds).map(|outline| outline.facts.clone())
    }

    fn subnet_ids(&self) -> Vec<u32> {
        self.parts.in_force.outlines.iter().map(|outline| outline.facts.id).collect()
    }

    fn select_subnet(&self, selector: &Selector) -> Option<Selected> {
        let id = P::select(&self.parts.in_force.snapshot, selector)?;
        let outline = self.outline(id)?;
        Some(Selected { network: outline.network.clone(), subnet: outline.facts.text(), id })
    }

    fn leases(&mut self) -> &mut dyn dhcp_control::LeaseAdministration<P> {
        &mut self.administration
    }

    fn name_updates(&self) -> Option<&dyn NameUpdates<P>> {
        let service = &*self.parts.events.parts().name_changes;
        service.is_sending().then_some(service as _)
    }

    fn reclaim(&mut self, and_removes: bool) {
        self.administration.reclaim(and_removes);
    }

    fn start_cleanup(&mut self) -> CleanupStartResult {
        match &self.parts.leases {
            LeaseBackend::Memory(_) | LeaseBackend::Database(_) => CleanupStartResult::NoLeaseFile,
            LeaseBackend::File(_, thread) => {
                thread.request_cleanup();
                CleanupStartResult::Started
            }
        }
    }

    fn service(&mut self) -> &mut ServiceState {
        &mut self.service
    }

    fn status(&self) -> Status {
        let now = Clock::now();
        let since = |then: Now| now.mono_ns.saturating_sub(then.mono_ns) / NS_PER_S;
        Status {
            pid: std::process::id(),
            uptime_s: since(self.started),
            since_reload_s: since(self.parts.in_force.since),
            threads: self.counters.shards.len() as u32,
            queue_size: QUEUE_SIZE,
            queue_means: [0.0; 3],
            socket_errors: self.parts.listener_manager.problems().to_vec(),
            retries_sockets: self.parts.listener_manager.is_retrying(),
            has_extended_info_tables: self
                .parts
                .in_force
                .config
                .global
                .lease_query
                .as_ref()
                .is_some_and(|settings| settings.has_extended_info_tables),
            lease_file: self.lease_file(),
            lease_file_bytes: self.counters.lease_file_bytes(),
        }
    }

    fn interfaces(&self) -> Vec<InterfaceFacts> {
        let interface_facts = |interface: &netio::interface::Interface| InterfaceFacts {
            name: interface.name.clone(),
            index: interface.index,
            hardware: interface.mac.map(|mac| mac.to_vec()).unwrap_or_default(),
            hardware_type: if interface.is_loopback { LOOPBACK } else { ETHERNET },
            is_loopback: interface.is_loopback,
            is_up: interface.is_up,
            is_running: interface.is_up,
            has_multicast: interface.is_multicast,
            has_broadcast: !interface.is_loopback,
            is_used: self.parts.listener_manager.serves(interface.index),
            addresses: interface.addresses.clone(),
        };
        self.parts.listener_manager.machine().iter().map(interface_facts).collect()
    }

    fn detect_interfaces(&mut self) -> Result<(), String> {
        let wakers = &self.parts.wakers;
        self.parts
            .listener_manager
            .detect(Clock::mono_ns(), &|| wake(wakers))
            .map_err(|error| error.to_string())
    }

    fn add_interfaces(&mut self, names: &[String]) -> Result<(), String> {
        let mut document = self.parts.in_force.document.clone();
        let listed = &mut document[P::VERSION.root()]["interfaces-config"]["interfaces"];
        let Some(listed) = listed.as_array_mut() else {
            return Err("`interfaces` is not a list".to_owned());
        };
        listed.extend(names.iter().map(|name| Value::from(name.as_str())));
        self.apply(document).map_err(|failure| match failure {
            ApplyFailure::Invalid(problems) => {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            }
            ApplyFailure::Refused(text) | ApplyFailure::Partial(text) => text,
        })
    }

    fn shut_down(&mut self, exit_value: i32) {
        self.exit = Some(exit_value);
    }

    fn counts(&self) -> ServerCounts {
        self.counters.counts()
    }
}

/// Number of messages that a shard receives at once, which `status-get` shows as the queue size:
/// this server has no packet queue other than the kernel's.
const QUEUE_SIZE: u32 = 64;

impl<P: DaemonFamily> Supervisor<P> {
    /// Returns the path of the lease file, if the server keeps leases in one.
    fn lease_file(&self) -> Option<String> {
        if !matches!(self.parts.leases, LeaseBackend::File(..)) {
            return None;
        }
        let path = self.administration.in_use.lease_file()?;
        Some(path.display().to_string())
    }

    fn outline(&self, id: u32) -> Option<&SubnetSummary> {
        let outlines = &self.parts.in_force.outlines;
        let at = outlines.binary_search_by_key(&id, |outline| outline.facts.id).ok()?;
        Some(&outlines[at])
    }
}
