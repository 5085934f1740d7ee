//! High availability in the daemon: the relationship with the partner and the backup servers
//! (`dhcp-ha`) with its connections, threads and clocks. A hub has several.
//!
//! ```text
//! thread `ha`:          heartbeats, synchronization -> relationship -> share of the shards
//! thread `ha-partner`:  lease events -> updates -> partner; replies wait for it
//! threads `ha-backup-N`: the same for each backup server; replies wait only if configured
//! supervisor:           commands of the partner -> relationship
//! ```
//!
//! The threads of a second relationship are `ha-2`, `ha-partner-2` and so on.

mod connections;
mod delayed;
mod driver;
mod returned;
mod sender;
mod service;
mod services;
mod store;
mod subnets;
mod updates;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dhcp_config::{
    ControlSocket, GlobalSettings, HaMode, HaPeer, HaRelationship, HttpPurpose, HttpSocket,
    SecretSource,
};
use dhcp_control::IpVersion;
use dhcp_engine::{PairFilter, PairScopes, PairShare};
use dhcp_ha::{HaAnswer, HaExecution, HaMetrics, PartnerQuery, Relationship, StateChange};
use dhcp_store::regular_file;
use netio::{Clock, Waker};
use serde_json::Value;

use crate::http_client::{ClientTls, CommandRequest};
use crate::service::SubnetSummary;
use sender::UpdateForm;
pub(crate) use service::PARTNER_LISTENER;
pub(crate) use services::HaServices;
pub(crate) use store::PartnerLeaseStore;
use subnets::RelationshipSubnets;

/// Maximum number of bytes of a server's answer to a command. A page of ten thousand leases has
/// about 3 MB.
const ANSWER_MAX: usize = 64 << 20;
/// Logger of Kea's library.
const LOGGER: &str = "ha-hooks";

/// State that the threads of high availability share.
#[derive(Debug)]
pub(crate) struct PairState {
    relationship: Mutex<Relationship>,
    /// Signal of a change of the relationship, and of the end.
    has_changed: Condvar,
    is_ending: AtomicBool,
    /// True while the partner has disabled the service for the clients of the relationship, if the
    /// server has several.
    is_disabled: AtomicBool,
    /// Share of the clients that the shards serve.
    filter: Arc<PairFilter>,
    /// Waker of the supervisor, which makes the state of the service follow.
    supervisor: Arc<Waker>,
    /// Name of the daemon in commands: `dhcp4` or `dhcp6`.
    service: &'static str,
    subnets: Mutex<Arc<RelationshipSubnets>>,
    /// Number of relationships of the server.
    relationships: usize,
}

impl PairState {
    fn relationship(&self) -> MutexGuard<'_, Relationship> {
        self.relationship.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change` with the relationship, and makes everything follow that depends on it.
    fn with<T>(&self, change: impl FnOnce(&mut Relationship) -> T) -> T {
        let mut relationship = self.relationship();
        let result = change(&mut relationship);
        let share = self.share_of(&relationship);
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
    fn execute(&self, name: &str, arguments: &Value) -> Option<HaExecution> {
        self.with(|relationship| relationship.execute(Clock::now(), name, arguments))
    }

    /// Returns the answer to the command of an administrator whose execution was deferred; `None`
    /// while it is under way.
    fn take_answer(&self) -> Option<HaAnswer> {
        self.relationship().take_answer()
    }

    /// Returns the form in which the partner, a server of `version`, takes updates.
    fn update_form(&self, version: IpVersion) -> UpdateForm {
        UpdateForm::of_partner(self.relationship().partner(), version)
    }

    /// Returns true if the partner is Kea before 2.5.
    pub(crate) fn is_partner_old(&self) -> bool {
        self.relationship().partner().is_old
    }

    /// Returns the reason why the last heartbeat has shown no state of the partner, if so.
    fn heartbeat_failure(&self) -> Option<String> {
        let relationship = self.relationship();
        let partner = relationship.partner();
        partner.state.is_none().then(|| partner.failure.clone())
    }

    /// Returns the relationship as `status-get` shows it.
    fn status(&self) -> Value {
        self.relationship().status(Clock::now())
    }

    /// Returns the numbers about the relationship, for monitoring, with the name of this server.
    pub(crate) fn metrics(&self) -> (String, HaMetrics) {
        let relationship = self.relationship();
        (relationship.config().own.name.clone(), relationship.metrics(Clock::now()))
    }

    /// Returns true if the server answers clients, as far as its scopes allow.
    fn is_service_enabled(&self) -> bool {
        self.relationship().is_service_enabled()
    }

    /// Makes `is_disabled` the service for the clients of the relationship, as the partner demands
    /// it. Returns true if the server served some of them before, and no longer does.
    fn follow_partner(&self, is_disabled: bool) -> bool {
        if self.is_disabled.swap(is_disabled, Ordering::AcqRel) == is_disabled {
            return false;
        }
        let was_closed = self.filter.share() == PairShare::Closed;
        self.with(|_| ());
        is_disabled && !was_closed
    }

    /// Returns the share of the clients that a server with this relationship serves.
    fn share_of(&self, relationship: &Relationship) -> PairShare {
        if self.is_disabled.load(Ordering::Acquire) || !relationship.is_service_enabled() {
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

    /// Returns true if the relationship has the configuration `config`.
    fn has_config(&self, config: &HaRelationship) -> bool {
        config == self.relationship().config()
    }

    /// Returns true if a server of the relationship has the name `name`.
    fn has_server(&self, name: &str) -> bool {
        self.relationship().config().servers().any(|server| server.name == name)
    }

    /// Makes `subnets` those of the configuration in force.
    fn set_subnets(&self, subnets: &Arc<[SubnetSummary]>) {
        let number = self.relationship().config().number;
        let subnets = RelationshipSubnets::new(subnets, number, self.relationships);
        *self.subnets.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(subnets);
    }

    fn subnets(&self) -> Arc<RelationshipSubnets> {
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
    fn end(&self) {
        // Under the lock, so that no thread misses the signal.
        let relationship = self.relationship();
        self.is_ending.store(true, Ordering::Release);
        drop(relationship);
        self.has_changed.notify_all();
    }
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

/// Returns the control sockets of the configuration, with those for the partners in relationships
/// that have one of their own.
pub(crate) fn control_sockets(global: &GlobalSettings) -> Vec<ControlSocket> {
    let relationships = &global.high_availability;
    let socket = |relationship: &HaRelationship| {
        let HaPeer { address, port, tls, .. } = &relationship.own;
        let number = relationship.number;
        ControlSocket::Http(HttpSocket {
            address: *address,
            port: *port,
            tls: tls.clone(),
            headers: Vec::new(),
            authentication: None,
            purpose: HttpPurpose::Partner {
                restricts_commands: relationship.restricts_commands,
                relationship: (relationships.len() > 1).then_some(number),
            },
        })
    };
    let listening = relationships.iter().filter(|relationship| relationship.has_listener);
    global.control_sockets.iter().cloned().chain(listening.map(socket)).collect()
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
        answer_max: ANSWER_MAX,
    })
}

fn to_partner_query(query: dhcp_engine::PairQuery) -> PartnerQuery {
    PartnerQuery { client: query.client, elapsed_ms: query.elapsed_ms }
}
