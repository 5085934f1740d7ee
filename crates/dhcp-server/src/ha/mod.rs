//! High availability in the daemon: the relationship with the partner and the backup servers
//! (`dhcp-ha`) with its connections, threads and clocks.
//!
//! ```text
//! thread `ha`:          heartbeats, synchronization -> relationship -> share of the shards
//! thread `ha-partner`:  lease events -> updates -> partner; replies wait for it
//! threads `ha-backup-N`: the same for each backup server; replies wait only if configured
//! supervisor:           commands of the partner -> relationship
//! ```

mod connections;
mod delayed;
mod driver;
mod returned;
mod sender;
mod store;
mod updates;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use dhcp_config::{
    ControlSocket, GlobalSettings, HA_BACKUPS_MAX, HaMode, HaPeer, HaRelationship, HttpPurpose,
    HttpSocket, SecretSource,
};
use dhcp_engine::{EventGate, PairFilter, PairScopes, PairShare};
use dhcp_ha::{HaAnswer, HaExecution, HaMetrics, PartnerQuery, Relationship, StateChange};
use dhcp_store::regular_file;
use netio::{Clock, Waker};
use serde_json::Value;

use crate::ServerError;
use crate::http_client::{ClientTls, CommandRequest};
use crate::service::{DaemonFamily, SubnetSummary};
use delayed::DelayedUpdates;
pub(crate) use store::PartnerLeaseStore;
use updates::{PartnerListener, UpdateTarget};

/// Logger of Kea's library.
const LOGGER: &str = "ha-hooks";
/// Names of the listeners that send updates to backup servers, in the order of the configuration.
const BACKUP_NAMES: [&str; HA_BACKUPS_MAX] = [
    "ha-backup-1",
    "ha-backup-2",
    "ha-backup-3",
    "ha-backup-4",
    "ha-backup-5",
    "ha-backup-6",
    "ha-backup-7",
    "ha-backup-8",
];

/// State that the threads of high availability share.
#[derive(Debug)]
pub(crate) struct PairState {
    relationship: Mutex<Relationship>,
    /// Signal of a change of the relationship, and of the end.
    has_changed: Condvar,
    is_ending: AtomicBool,
    /// Share of the clients that the shards serve.
    filter: Arc<PairFilter>,
    /// Waker of the supervisor, which makes the state of the service follow.
    supervisor: Arc<Waker>,
    /// Name of the daemon in commands: `dhcp4` or `dhcp6`.
    service: &'static str,
    subnets: Mutex<Arc<[SubnetSummary]>>,
    /// Updates that wait while the partner does not answer. Locked after the relationship.
    delayed: Mutex<DelayedUpdates>,
}

impl PairState {
    fn relationship(&self) -> MutexGuard<'_, Relationship> {
        self.relationship.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn delayed(&self) -> MutexGuard<'_, DelayedUpdates> {
        self.delayed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change` with the relationship, and makes everything follow that depends on it.
    fn with<T>(&self, change: impl FnOnce(&mut Relationship) -> T) -> T {
        let mut relationship = self.relationship();
        let result = change(&mut relationship);
        let share = share_of(&relationship);
        let changes = relationship.take_changes();
        let has_answer = relationship.has_answer();
        let has_other_share = self.filter.share() != share;
        self.filter.set_share(share);
        let config = relationship.config();
        let (name, has_partner) = (config.own.name.clone(), config.partner().is_some());
        drop(relationship);
        changes.iter().for_each(|change| log_change(&name, change, has_partner));
        self.has_changed.notify_all();
        if has_other_share || has_answer || !changes.is_empty() {
            self.supervisor.wake();
        }
        result
    }

    /// Executes the command `name` of the partner or of an administrator.
    pub(crate) fn execute(&self, name: &str, arguments: &Value) -> Option<HaExecution> {
        self.with(|relationship| relationship.execute(Clock::now(), name, arguments))
    }

    /// Returns the answer to the command of an administrator whose execution was deferred; `None`
    /// while it is under way.
    pub(crate) fn take_answer(&self) -> Option<HaAnswer> {
        self.relationship().take_answer()
    }

    /// Returns true if the partner is Kea before 2.5.
    pub(crate) fn is_partner_old(&self) -> bool {
        self.relationship().partner().is_old
    }

    /// Returns the relationship as `status-get` shows it.
    pub(crate) fn status(&self) -> Value {
        self.relationship().status(Clock::now())
    }

    /// Returns the numbers about the relationship, for monitoring.
    pub(crate) fn metrics(&self) -> HaMetrics {
        self.relationship().metrics(Clock::now())
    }

    /// Returns true if the server answers clients, as far as its scopes allow.
    pub(crate) fn is_service_enabled(&self) -> bool {
        self.relationship().is_service_enabled()
    }

    /// Returns true if the relationship has the configuration `config`.
    pub(crate) fn has_config(&self, config: Option<&HaRelationship>) -> bool {
        config == Some(self.relationship().config())
    }

    /// Makes `subnets` those of the configuration in force.
    pub(crate) fn set_subnets(&self, subnets: &Arc<[SubnetSummary]>) {
        *self.subnets.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(subnets);
    }

    fn subnets(&self) -> Arc<[SubnetSummary]> {
        Arc::clone(&self.subnets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for a change of the relationship, at most for `limit`.
    fn wait(&self, limit: Duration) {
        let relationship = self.relationship();
        if !self.is_ending() {
            let waited = self.has_changed.wait_timeout(relationship, limit);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Makes the threads end: updates that the partner does not take are given up.
    pub(crate) fn end(&self) {
        // Under the lock, so that no thread misses the signal.
        let relationship = self.relationship();
        self.is_ending.store(true, Ordering::Release);
        drop(relationship);
        self.has_changed.notify_all();
    }
}

/// Returns the share of the clients that a server with this relationship serves.
fn share_of(relationship: &Relationship) -> PairShare {
    if !relationship.is_service_enabled() {
        return PairShare::Closed;
    }
    let is_balanced = relationship.config().mode == HaMode::LoadBalancing;
    let is_served = relationship.served_scopes();
    if !is_balanced && is_served[0] {
        return PairShare::All;
    }
    let is_observed = relationship.is_interrupted(Clock::now());
    PairShare::Part(PairScopes { is_balanced, is_served, is_observed })
}

fn log_change(name: &str, change: &StateChange, has_partner: bool) {
    let StateChange { from, to, partner, reason, end } = change;
    let partner = partner.map_or("unavailable", |state| state.name()).to_uppercase();
    let (from, to) = (from.name().to_uppercase(), to.name().to_uppercase());
    let (id, partner) = if has_partner {
        ("HA_STATE_TRANSITION", format!(", partner state is {partner}"))
    } else {
        ("HA_STATE_TRANSITION_PASSIVE_BACKUP", String::new())
    };
    tracing::info!(
        target: LOGGER,
        id,
        "server {name}: state transition from {from} to {to}{partner}: {reason}; the state ends \
         with {end}"
    );
}

/// Relationship with the partner, and the thread that maintains it.
pub(crate) struct HaService {
    pub(crate) state: Arc<PairState>,
    thread: Option<JoinHandle<()>>,
}

impl HaService {
    /// Creates the relationship of a server with the configuration `config`; no thread runs yet.
    pub(crate) fn new(
        config: HaRelationship,
        service: &'static str,
        supervisor: Arc<Waker>,
        subnets: &Arc<[SubnetSummary]>,
    ) -> Self {
        let filter = Arc::<PairFilter>::default();
        filter.set_share(PairShare::Closed);
        let state = PairState {
            relationship: Mutex::new(Relationship::new(config, Clock::now())),
            has_changed: Condvar::new(),
            is_ending: AtomicBool::new(false),
            filter,
            supervisor,
            service,
            subnets: Mutex::new(Arc::clone(subnets)),
            delayed: Mutex::default(),
        };
        Self { state: Arc::new(state), thread: None }
    }

    /// Returns the filter that the shards read.
    pub(crate) fn filter(&self) -> Arc<PairFilter> {
        Arc::clone(&self.state.filter)
    }

    /// Returns the listeners that send updates to the partner and to each backup server, if the
    /// configuration has updates; they refuse replies at `gate`.
    pub(crate) fn listeners(&self, gate: &Arc<EventGate>) -> Vec<PartnerListener> {
        let relationship = self.state.relationship();
        let config = relationship.config();
        if !config.sends_lease_updates {
            return Vec::new();
        }
        let partner = config.partner().map(UpdateTarget::partner);
        let backups = BACKUP_NAMES.iter().zip(config.backups());
        let backups =
            backups.map(|(name, peer)| UpdateTarget::backup(name, peer, config.waits_for_backups));
        let listener = |target: UpdateTarget| {
            PartnerListener::new(Arc::clone(&self.state), Arc::clone(gate), target, config)
        };
        partner.into_iter().chain(backups).map(listener).collect()
    }

    /// Starts the thread that maintains the relationship.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses the thread.
    pub(crate) fn start<P: DaemonFamily>(
        &mut self,
        store: PartnerLeaseStore<P>,
    ) -> Result<(), ServerError> {
        let state = Arc::clone(&self.state);
        let thread = Builder::new()
            .name("ha".to_owned())
            .spawn(move || driver::maintain(&state, store))
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Ends the thread.
    pub(crate) fn stop(&mut self) {
        self.state.end();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a thread that panics ends the process");
        }
    }
}

/// Returns the control sockets of the configuration, with the one for the partner, if the
/// relationship has one of its own.
pub(crate) fn control_sockets(global: &GlobalSettings) -> Vec<ControlSocket> {
    let mut sockets = global.control_sockets.clone();
    let relationship = global.high_availability.as_ref();
    if let Some(relationship) = relationship.filter(|relationship| relationship.has_listener) {
        let HaPeer { address, port, tls, .. } = &relationship.own;
        sockets.push(ControlSocket::Http(HttpSocket {
            address: *address,
            port: *port,
            tls: tls.clone(),
            headers: Vec::new(),
            authentication: None,
            purpose: HttpPurpose::Partner { restricts_commands: relationship.restricts_commands },
        }));
    }
    sockets
}

/// Returns the files of the relationship with secrets and certificates.
pub(crate) fn files(relationship: &HaRelationship) -> Vec<PathBuf> {
    let of_server = |server: &HaPeer| {
        let tls = server.tls.as_ref();
        let tls = tls.map(|tls| [&tls.trust_anchor, &tls.certificate, &tls.key].map(PathBuf::from));
        let secrets = server.credentials.iter().flat_map(|(user, password)| [user, password]);
        let file = |secret: &SecretSource| match secret {
            SecretSource::Text(_) => None,
            SecretSource::File(file) => Some(PathBuf::from(file)),
        };
        let secrets: Vec<PathBuf> = secrets.filter_map(file).collect();
        tls.into_iter().flatten().chain(secrets)
    };
    relationship.servers().flat_map(of_server).collect()
}

fn secret(source: &SecretSource) -> Result<String, String> {
    match source {
        SecretSource::Text(text) => Ok(text.clone()),
        SecretSource::File(file) => regular_file::read_text(file.as_ref())
            .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
            .map_err(|cause| format!("cannot read {file}: {cause}")),
    }
}

/// Returns the request that sends a command to `peer`, without the command.
///
/// # Errors
///
/// The reason why the file with the user or password cannot be read.
fn request_to(peer: &HaPeer) -> Result<CommandRequest, String> {
    let credentials = match &peer.credentials {
        Some((user, password)) => Some((secret(user)?, secret(password)?)),
        None => None,
    };
    Ok(CommandRequest {
        host: peer.address.to_string(),
        port: peer.port,
        path: "/".to_owned(),
        user_agent: concat!("godwit/", env!("CARGO_PKG_VERSION")).to_owned(),
        credentials,
        tls: peer.tls.as_ref().map(|files| ClientTls {
            authorities: PathBuf::from(&files.trust_anchor),
            identity: Some((PathBuf::from(&files.certificate), PathBuf::from(&files.key))),
            // As in Kea: the authority alone decides.
            checks_name: false,
        }),
        body: String::new(),
        timeout: Duration::from_secs(10),
    })
}

fn to_partner_query(query: dhcp_engine::PairQuery) -> PartnerQuery {
    PartnerQuery { client: query.client, elapsed_ms: query.elapsed_ms }
}
