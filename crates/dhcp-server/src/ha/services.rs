//! All relationships of the server: one for a server of a pair, several for a hub, which is in a
//! relationship with each of its branch servers. Each has its own state and threads; commands
//! select one by the name of a server, as in Kea.

use std::sync::Arc;

use dhcp_config::HaRelationship;
use dhcp_engine::{EventGate, PairFilters};
use dhcp_ha::{HaAnswer, HaExecution};
use dhcp_lease::LeaseTable;
use netio::Waker;
use serde_json::Value;

use super::service::HaService;
use super::updates::PartnerListener;
use super::{PairState, PartnerLeaseStore};
use crate::ServerError;
use crate::control::RELATIONSHIP;
use crate::service::{DaemonFamily, SubnetSummary};

/// Command that all relationships execute, one after the other, until one fails.
const START: &str = "ha-maintenance-start";
/// Command that all relationships execute, one after the other, whether one fails or not.
const CANCEL: &str = "ha-maintenance-cancel";
/// Result code of a success.
const SUCCESS: u16 = 0;
/// Result code of an error.
const ERROR: u16 = 1;

/// Command of an administrator whose answer a relationship has later.
#[derive(Debug)]
struct DeferredCommand {
    name: String,
    /// Position of the relationship that executes the command.
    at: usize,
}

/// Relationships of the server, in the order of the configuration; there is at least one.
pub(crate) struct HaServices<P: DaemonFamily> {
    services: Vec<HaService<P>>,
    deferred: Option<DeferredCommand>,
}

impl<P: DaemonFamily> HaServices<P> {
    /// Creates the relationships of a server with the configurations `configs`; no thread runs yet.
    /// Returns `None` without a configuration.
    pub(crate) fn new(
        configs: &[HaRelationship],
        service: &'static str,
        supervisor: &Arc<Waker>,
        subnets: &Arc<[SubnetSummary]>,
    ) -> Option<Self> {
        let count = configs.len();
        let service = |config: &HaRelationship| {
            HaService::new(config.clone(), count, service, Arc::clone(supervisor), subnets)
        };
        let services: Vec<HaService<P>> = configs.iter().map(service).collect();
        (count > 0).then_some(Self { services, deferred: None })
    }

    fn states(&self) -> impl Iterator<Item = &Arc<PairState>> {
        self.services.iter().map(|service| &service.state)
    }

    /// Returns the states of the relationships, in the order of the configuration.
    pub(crate) fn shared_states(&self) -> Vec<Arc<PairState>> {
        self.states().map(Arc::clone).collect()
    }

    /// Returns the filters that the shards read.
    pub(crate) fn filters(&self) -> PairFilters {
        PairFilters::new(self.services.iter().map(HaService::filter))
    }

    /// Returns the listeners that send updates of the leases in `table` to the partners and backup
    /// servers; they refuse replies at `gate`.
    pub(crate) fn listeners(
        &self,
        gate: &Arc<EventGate>,
        table: &Arc<LeaseTable<P>>,
    ) -> Vec<PartnerListener<P>> {
        self.services.iter().flat_map(|service| service.listeners(gate, table)).collect()
    }

    /// Starts the threads that maintain the relationships; `store` returns the store for leases of
    /// the partner in the relationship at a position of the configuration.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses a thread.
    pub(crate) fn start(
        &mut self,
        store: impl Fn(usize) -> PartnerLeaseStore<P>,
    ) -> Result<(), ServerError> {
        let mut services = self.services.iter_mut().enumerate();
        services.try_for_each(|(at, service)| service.start(store(at)))
    }

    /// Makes updates that partners do not take be given up.
    pub(crate) fn end(&self) {
        self.states().for_each(|state| state.end());
    }

    /// Ends the threads.
    pub(crate) fn stop(&mut self) {
        self.services.iter_mut().for_each(HaService::stop);
    }

    /// Makes `subnets` those of the configuration in force.
    pub(crate) fn set_subnets(&self, subnets: &Arc<[SubnetSummary]>) {
        self.states().for_each(|state| state.set_subnets(subnets));
    }

    /// Returns true if the relationships have the configurations `configs`.
    pub(crate) fn have_configs(&self, configs: &[HaRelationship]) -> bool {
        let mut pairs = self.states().zip(configs);
        self.services.len() == configs.len()
            && pairs.all(|(state, config)| state.has_config(config))
    }

    /// Returns true if the server answers clients of some relationship, as far as its scopes allow.
    pub(crate) fn is_service_enabled(&self) -> bool {
        self.states().any(|state| state.is_service_enabled())
    }

    /// Makes the server serve the clients of no relationship for which `is_disabled` returns true.
    /// Returns true if the server served clients of one of these before.
    pub(crate) fn follow_partners(&self, is_disabled: impl Fn(usize) -> bool) -> bool {
        let states = self.states().enumerate();
        let closed = states.map(|(at, state)| state.follow_partner(is_disabled(at)));
        // Each of them, not only those up to the first.
        closed.fold(false, |any, has_closed| any | has_closed)
    }

    /// Returns true if a partner is Kea before 2.5.
    pub(crate) fn is_any_partner_old(&self) -> bool {
        self.states().any(|state| state.is_partner_old())
    }

    /// Returns the relationships as `status-get` shows them.
    pub(crate) fn status(&self) -> Value {
        Value::Array(self.states().map(|state| state.status()).collect())
    }

    /// Executes the command `name` of a partner or of an administrator.
    pub(crate) fn execute(&mut self, name: &str, arguments: &Value) -> Option<HaExecution> {
        let at = if [START, CANCEL].contains(&name) { 0 } else { self.selected(arguments) };
        if let Some(deferred) = self.deferred.as_ref().filter(|_| self.services.len() > 1)
            && [START, CANCEL, "ha-sync"].contains(&name)
        {
            let text = format!("the command {} is under way", deferred.name);
            let refused = HaAnswer { code: ERROR, text, arguments: Value::Null };
            return Some(HaExecution::Answer(refused));
        }
        let state = &self.services.get(at)?.state;
        let execution = state.execute(name, &without_relationship(arguments))?;
        self.go_on(DeferredCommand { name: name.to_owned(), at }, execution)
    }

    /// Returns the answer to the command of an administrator whose execution was deferred; `None`
    /// while it is under way.
    pub(crate) fn take_answer(&mut self) -> Option<HaAnswer> {
        let deferred = self.deferred.take()?;
        let Some(answer) = self.services.get(deferred.at)?.state.take_answer() else {
            self.deferred = Some(deferred);
            return None;
        };
        match self.go_on(deferred, HaExecution::Answer(answer))? {
            HaExecution::Answer(answer) => Some(answer),
            HaExecution::Deferred => None,
        }
    }

    /// Lets the next relationships execute `command`, if all are to, after one has done so with the
    /// result `execution`. Returns the result of the last one.
    fn go_on(
        &mut self,
        mut command: DeferredCommand,
        mut execution: HaExecution,
    ) -> Option<HaExecution> {
        loop {
            let goes_on = match &execution {
                HaExecution::Deferred => {
                    self.deferred = Some(command);
                    return Some(execution);
                }
                HaExecution::Answer(answer) if command.name == START => answer.code == SUCCESS,
                HaExecution::Answer(_) => command.name == CANCEL,
            };
            let Some(next) = self.services.get(command.at + 1).filter(|_| goes_on) else {
                return Some(execution);
            };
            command.at += 1;
            execution = next.state.execute(&command.name, &Value::Null)?;
        }
    }

    /// Returns the position of the relationship to which a command with `arguments` belongs: that
    /// of the server `server-name`, else that of the socket at which the command has arrived, else
    /// the first one.
    fn selected(&self, arguments: &Value) -> usize {
        let name = arguments.get("server-name").and_then(Value::as_str);
        let by_name = name.and_then(|name| self.states().position(|state| state.has_server(name)));
        let of_socket = arguments.get(RELATIONSHIP).and_then(Value::as_u64);
        let of_socket = of_socket.and_then(|number| usize::try_from(number).ok());
        by_name.or(of_socket).filter(|at| *at < self.services.len()).unwrap_or(0)
    }
}

/// Returns `arguments` without the relationship of the socket.
fn without_relationship(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let Some(map) = arguments.as_object_mut()
        && map.remove(RELATIONSHIP).is_some()
        && map.is_empty()
    {
        return Value::Null;
    }
    arguments
}
