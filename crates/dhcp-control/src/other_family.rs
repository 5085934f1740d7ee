//! Control commands of the other address family. As in Kea, the hook libraries `lease_cmds`,
//! `stat_cmds` and `subnet_cmds` have the commands of both families in each server. The commands
//! read their arguments as in a server of that family that has no subnets and no leases and accepts
//! none.

use core::marker::PhantomData;
use core::net::IpAddr;

use base::Now;
use dhcp_config::{ExtendedInfoChecks, Hook};
use dhcp_lease::{ClientKey, Lease, PutMode};
use serde_json::{Value, json};

use crate::backend::{
    ApplyFailure, CleanupStartResult, CommandBackend, LeaseAdministration, PutFailure, Selected,
    Selector, ServerVersion, Status, WrittenFile,
};
use crate::family::CommandFamily;
use crate::interfaces::InterfaceFacts;
use crate::service::ServiceState;
use crate::statistics::ServerCounts;
use crate::subnet_facts::SubnetFacts;

/// Hook libraries that have the commands of both families in each server.
pub(crate) const HOOKS: [Hook; 3] = [Hook::LeaseCommands, Hook::StatCommands, Hook::SubnetCommands];

/// Command backend of the family `F` without subnets and leases, which accepts no changes.
#[derive(Debug)]
pub(crate) struct EmptyServer<F> {
    now: Now,
    configuration: Value,
    service: ServiceState,
    family: PhantomData<F>,
}

impl<F: CommandFamily> EmptyServer<F> {
    pub(crate) fn new(now: Now) -> Self {
        let root = json!({ F::VERSION.subnets(): [], "shared-networks": [] });
        let configuration = json!({ F::VERSION.root(): root });
        Self { now, configuration, service: ServiceState::default(), family: PhantomData }
    }

    fn refusal() -> String {
        format!("this server does not serve {}", F::VERSION.name())
    }
}

impl<F: CommandFamily> CommandBackend for EmptyServer<F> {
    type Family = F;

    fn now(&self) -> Now {
        self.now
    }

    fn hooks(&self) -> &[Hook] {
        &HOOKS
    }

    fn extended_info_checks(&self) -> ExtendedInfoChecks {
        ExtendedInfoChecks::default()
    }

    fn version(&self) -> ServerVersion {
        ServerVersion { short: String::new(), extended: String::new(), build: String::new() }
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn check(&self, _document: &Value) -> Result<(), ApplyFailure> {
        Ok(())
    }

    fn apply(&mut self, _document: Value) -> Result<(), ApplyFailure> {
        Err(ApplyFailure::Refused(Self::refusal()))
    }

    fn reload(&mut self) -> Result<(), ApplyFailure> {
        Err(ApplyFailure::Refused(Self::refusal()))
    }

    fn write(&mut self, _file: Option<&str>) -> Result<WrittenFile, String> {
        Err(Self::refusal())
    }

    fn subnet(&self, _id: u32) -> Option<SubnetFacts> {
        None
    }

    fn subnet_of(&self, _address: IpAddr) -> Option<SubnetFacts> {
        None
    }

    fn subnet_ids(&self) -> Vec<u32> {
        Vec::new()
    }

    fn select_subnet(&self, _selector: &Selector) -> Option<Selected> {
        None
    }

    fn leases(&mut self) -> &mut dyn LeaseAdministration<F> {
        self
    }

    fn reclaim(&mut self, _and_removes: bool) {}

    fn start_cleanup(&mut self) -> CleanupStartResult {
        CleanupStartResult::NoLeaseFile
    }

    fn service(&mut self) -> &mut ServiceState {
        &mut self.service
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn interfaces(&self) -> Vec<InterfaceFacts> {
        Vec::new()
    }

    fn detect_interfaces(&mut self) -> Result<(), String> {
        Err(Self::refusal())
    }

    fn add_interfaces(&mut self, _names: &[String]) -> Result<(), String> {
        Err(Self::refusal())
    }

    fn shut_down(&mut self, _exit_value: i32) {}

    fn counts(&self) -> ServerCounts {
        ServerCounts::default()
    }
}

impl<F: CommandFamily> LeaseAdministration<F> for EmptyServer<F> {
    fn find(&self, _ip: F::Ip, _kind: F::Kind) -> Option<Lease<F>> {
        None
    }

    fn page(&self, _after: Option<F::Ip>, _limit: usize) -> Vec<Lease<F>> {
        Vec::new()
    }

    fn client_leases(&self, _key: ClientKey<'_>) -> Vec<Lease<F>> {
        Vec::new()
    }

    fn for_each(&self, _visit: &mut dyn FnMut(&Lease<F>)) {}

    fn put(&mut self, _lease: Lease<F>, _mode: PutMode) -> Result<(), PutFailure> {
        Err(PutFailure::Failed(Self::refusal()))
    }

    fn remove(&mut self, _address: F::Address) -> Result<bool, String> {
        Ok(false)
    }

    fn write(&mut self, _file: &str) -> Result<String, String> {
        Err(Self::refusal())
    }
}
