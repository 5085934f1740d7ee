//! Kea's hook library run_script: a script is called for each event of a lease, with Kea's hook
//! points and variables.
//!
//! The listener collects the events of an exchange and makes the calls of Kea for it. Scripts run
//! in a process that the server has started before it confined itself; it exists only if the
//! configuration at the start of the server mentions the library.

mod environment;
mod exchange;
mod v4;
mod v6;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dhcp_config::GlobalSettings;
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_lease::{Family, RecordedIngress};
use netio::interface;

use super::exchange_collector::ExchangeCollector;
use super::script_pool::{PoolCall, ScriptPool};
use super::scripts::script_path;
use super::{EventListener, FeedFacts};
use crate::loggers::DAEMON;
use crate::service::{DaemonFamily, SubnetSummary};
use environment::ScriptCall;

/// Maximum number of events that wait for scripts; the oldest ones are dropped beyond that.
const WAITING_MAX: usize = 32_768;
/// Time after which a script is killed. Kea lets it run.
const RUN_LIMIT: Duration = Duration::from_secs(60);

/// Family with calls of scripts.
pub(crate) trait ScriptFamily: Family {
    /// Returns the calls that Kea makes for the events of one exchange, or for a single event
    /// without an exchange, in their order.
    fn calls(events: &[LeaseEvent<Self>], context: &CallContext) -> Vec<ScriptCall>;
}

/// Facts about the server that calls of scripts contain.
#[derive(Debug, Default)]
pub(crate) struct CallContext {
    server_port: u16,
    /// True if the server deletes leases when it reclaims them (`hold-reclaimed-time` 0).
    removes_reclaimed: bool,
    subnets: Arc<SubnetList>,
    /// Interfaces by index, as far as they were needed.
    interfaces: Mutex<BTreeMap<u32, ScriptInterface>>,
}

/// Interface as calls of scripts name it.
#[derive(Clone, Debug, Default)]
struct ScriptInterface {
    name: String,
    mac: Option<[u8; 6]>,
}

/// Subnets of the configuration in force, sorted by `id`.
#[derive(Debug, Default)]
pub(crate) struct SubnetList(Mutex<Arc<[SubnetSummary]>>);

impl SubnetList {
    /// Replaces the subnets by those of a new configuration.
    pub(crate) fn set(&self, outlines: &Arc<[SubnetSummary]>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(outlines);
    }

    fn get(&self) -> Arc<[SubnetSummary]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallContext {
    /// Returns the facts of a server at `server_port` with the configuration `config`.
    pub(crate) fn new(server_port: u16, config: &GlobalSettings, subnets: Arc<SubnetList>) -> Self {
        let removes_reclaimed = config.expired_leases.hold_reclaimed_s == 0;
        Self { server_port, removes_reclaimed, subnets, interfaces: Mutex::default() }
    }

    /// Returns prefix and length of the subnet `id`.
    fn subnet(&self, id: u32) -> Option<(IpAddr, u8)> {
        let subnets = self.subnets.get();
        let at = subnets.binary_search_by_key(&id, |subnet| subnet.facts.id).ok()?;
        let facts = &subnets.get(at)?.facts;
        Some((facts.prefix, facts.length))
    }

    /// Returns name and hardware address of the interface `index`.
    fn interface(&self, index: u32) -> ScriptInterface {
        let mut known = self.interfaces.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(&index) {
            let present = interface::list().unwrap_or_default();
            let named = present.into_iter().map(|one| {
                let interface::Interface { index, name, mac, .. } = one;
                (index, ScriptInterface { name, mac })
            });
            *known = named.collect();
        }
        known.get(&index).cloned().unwrap_or_default()
    }

    fn interface_name(&self, index: u32) -> String {
        self.interface(index).name
    }

    /// Returns the hardware address of the interface at which a message was received.
    fn mac(&self, ingress: &RecordedIngress) -> Option<[u8; 6]> {
        self.interface(ingress.interface).mac
    }
}

/// Returns the listener that `config` asks for.
pub(crate) fn listener<P: DaemonFamily>(
    config: &GlobalSettings,
    scripts: Option<&Arc<ScriptPool>>,
    context: CallContext,
) -> Option<Box<dyn EventListener<P>>> {
    let script = script_path(&config.run_script.as_ref()?.name);
    let Some(pool) = scripts.map(Arc::clone) else {
        tracing::error!(
            target: DAEMON, id = "RUN_SCRIPT_LOAD_ERROR", "no process can run {}", script.display()
        );
        return None;
    };
    let (exchanges, is_ending) = (ExchangeCollector::default(), Arc::default());
    Some(Box::new(RunScriptListener { script, pool, context, exchanges, is_ending }))
}

/// Listener that calls a script for each event of a lease.
struct RunScriptListener<P: DaemonFamily> {
    script: PathBuf,
    pool: Arc<ScriptPool>,
    context: CallContext,
    exchanges: ExchangeCollector<P>,
    is_ending: Arc<AtomicBool>,
}

impl<P: DaemonFamily> EventListener<P> for RunScriptListener<P> {
    fn name(&self) -> &'static str {
        "run_script"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(WAITING_MAX)
    }

    fn wants_answers(&self) -> bool {
        true
    }

    fn settings(&self) -> String {
        format!("{} {}", self.script.display(), self.context.removes_reclaimed)
    }

    fn begin(&mut self, facts: &FeedFacts) {
        self.is_ending = Arc::clone(&facts.is_ending);
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        for event in events {
            self.exchanges.follow(event);
            if let Some(complete) = self.exchanges.collect(event) {
                for ScriptCall { point, environment } in P::calls(&complete, &self.context) {
                    let call = PoolCall {
                        script: self.script.clone(),
                        argument: point.into(),
                        variables: environment.octets,
                        limit: RUN_LIMIT,
                    };
                    self.pool.call(&call, &self.is_ending);
                }
            }
        }
    }
}
