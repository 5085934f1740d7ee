//! Reader of the parameters of the hook library `high_availability`, with Kea's defaults and
//! checks.
//!
//! Settings that are valid in Kea and that this version cannot serve make the library a feature
//! that is not supported ([`inactive::HIGH_AVAILABILITY`]): the server then starts only with
//! `--accept-inactive high-availability`. A warning says which setting it is.

use core::net::IpAddr;

use super::control::{SecretSource, TlsFiles};
use super::{ha_relationship, inactive};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::SourcePosition;

/// Servers that know each other's leases: an element of `high-availability`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaRelationship {
    /// Position of the relationship in `high-availability`.
    pub number: usize,
    /// Mode of the relationship (`mode`).
    pub mode: HaMode,
    /// Server itself: the element of `peers` that `this-server-name` names.
    pub own: HaPeer,
    /// Other servers (`peers`).
    pub peers: Vec<HaPeer>,
    /// Limits and periods of the relationship.
    pub limits: HaLimits,
    /// True if the server sends updates of leases (`send-lease-updates`). Default true.
    pub sends_lease_updates: bool,
    /// True if the server copies the partner's leases when it starts (`sync-leases`). Default true.
    pub synchronizes_leases: bool,
    /// True if the server has a socket of its own for its partner, at its own `url`
    /// (`http-dedicated-listener`); false if the commands of the partner arrive at an HTTP control
    /// socket of the server, or from a control agent. Default true.
    pub has_listener: bool,
    /// True if the server accepts only the commands of high availability at the socket for its
    /// partner (`restrict-commands`). Default true.
    pub restricts_commands: bool,
    /// True if replies wait until the backup servers have the lease (`wait-backup-ack`); only in
    /// the mode passive-backup. Default false.
    pub waits_for_backups: bool,
    /// Number of connections over which the server sends updates (`http-client-threads`); 0 for the
    /// default.
    pub client_connections: u32,
    /// States, by name, in which the server pauses until an administrator lets it continue
    /// (`state-machine`).
    pub pauses: Vec<(String, HaPause)>,
    /// True if the server leaves the state `terminated` by itself once the clocks of the servers
    /// agree again (`heal-clock-skew`, a setting of Godwit). Default true.
    pub heals_clock_skew: bool,
}

/// Pause of the state machine in a state (`pause`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaPause {
    /// Pause the first time that the server enters the state.
    Once,
    /// Pause each time that the server enters the state.
    Always,
}

base::named! {
    /// Mode of a relationship.
    pub enum HaMode {
        /// The primary server serves clients; the standby takes over when it fails.
        HotStandby = "hot-standby",
        /// Both servers serve clients, each its half.
        LoadBalancing = "load-balancing",
        /// The primary server serves clients; backup servers only receive its leases.
        PassiveBackup = "passive-backup",
    }
}

base::named! {
    /// Role of a server in a relationship.
    pub enum HaRole {
        /// Server that serves clients in every mode.
        Primary = "primary",
        /// Server that serves the other half of the clients in load balancing.
        Secondary = "secondary",
        /// Server that takes over when the primary server fails.
        Standby = "standby",
        /// Server that only receives updates of leases.
        Backup = "backup",
    }
}

/// Server of a relationship: an element of `peers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaPeer {
    /// Name of the server (`name`).
    pub name: String,
    /// Role of the server (`role`).
    pub role: HaRole,
    /// URL of the server as configured, for messages (`url`).
    pub url: String,
    /// Address at which the server accepts commands of its partner.
    pub address: IpAddr,
    /// TCP port at which the server accepts commands of its partner.
    pub port: u16,
    /// True if the server serves the clients of a partner that has failed (`auto-failover`).
    /// Default true.
    pub has_automatic_failover: bool,
    /// User and password for HTTP Basic authentication at the server (`basic-auth-user`,
    /// `basic-auth-password`).
    pub credentials: Option<(SecretSource, SecretSource)>,
    /// Files for TLS with the server (`trust-anchor`, `cert-file`, `key-file`): in the entry of
    /// the server itself those of its socket, else those by which it is a client. `None` for plain
    /// HTTP.
    pub tls: Option<TlsFiles>,
}

/// Limits and periods of a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaLimits {
    /// Time between two heartbeats in milliseconds (`heartbeat-delay`). Default 10000 ms.
    pub heartbeat_ms: u32,
    /// Time without a successful heartbeat after which the communication counts as interrupted, in
    /// milliseconds (`max-response-delay`). Default 60000 ms.
    pub response_ms: u32,
    /// Time for which a client may try before it counts as one that the partner does not answer,
    /// in milliseconds (`max-ack-delay`). Default 10000 ms.
    pub ack_ms: u32,
    /// Number of clients that the partner may leave without an answer (`max-unacked-clients`).
    /// Default 10.
    pub unacked_clients: u32,
    /// Number of clients whose updates the partner may refuse (`max-rejected-lease-updates`).
    /// Default 10.
    pub rejected_updates: u32,
    /// Number of updates that may wait for a partner that does not answer, while clients have their
    /// answers (`delayed-updates-limit`); 0 if no answer leaves without it. Default 100 in load
    /// balancing, otherwise 0, the only value.
    pub delayed_updates: u32,
    /// Time limit of a page of leases in milliseconds (`sync-timeout`). Default 60000 ms.
    pub sync_ms: u32,
    /// Number of leases per page (`sync-page-limit`). Default 10000.
    pub page_leases: u32,
    /// Time without a successful heartbeat after which the server serves the partner's clients even
    /// if the partner leaves none without an answer, in milliseconds (`take-over-delay`, a setting
    /// of Godwit). Default `None`: the clients decide.
    pub take_over_ms: Option<u32>,
}

impl HaRelationship {
    /// Returns true if the server itself is the primary one.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.own.role == HaRole::Primary
    }

    /// Returns the partner of the server: the other one of the two that serve clients. `None` for
    /// a backup server, and if the others are backup servers.
    #[must_use]
    pub fn partner(&self) -> Option<&HaPeer> {
        let is_partner = |peer: &&HaPeer| peer.role != HaRole::Backup;
        self.peers.iter().find(is_partner).filter(|_| self.own.role != HaRole::Backup)
    }

    /// Returns the backup servers to which the server sends updates. A backup server sends none.
    pub fn backups(&self) -> impl Iterator<Item = &HaPeer> {
        let is_backup = |peer: &&HaPeer| peer.role == HaRole::Backup;
        self.peers.iter().filter(is_backup).filter(|_| self.own.role != HaRole::Backup)
    }

    /// Returns the servers of the relationship, the server itself first.
    pub fn servers(&self) -> impl Iterator<Item = &HaPeer> {
        core::iter::once(&self.own).chain(&self.peers)
    }

    /// Returns the first server with the role `role`.
    #[must_use]
    pub fn server(&self, role: HaRole) -> Option<&HaPeer> {
        self.servers().find(|server| server.role == role)
    }
}

/// Maximum number of backup servers to which a server sends updates: each costs a thread.
pub const HA_BACKUPS_MAX: usize = 8;

/// Maximum number of relationships of a server: each costs two threads.
pub const HA_RELATIONSHIPS_MAX: usize = 64;

/// Settings of a relationship that Kea knows and this version cannot serve.
#[derive(Default)]
pub(super) struct Unsupported(Vec<(SourcePosition, String)>);

impl Unsupported {
    pub(super) fn note(&mut self, at: SourcePosition, setting: impl Into<String>) {
        self.0.push((at, setting.into()));
    }

    /// Reports the settings. Returns true if there is one.
    fn report(self, library: SourcePosition, findings: &mut ParseContext) -> bool {
        let is_unsupported = !self.0.is_empty();
        for (at, setting) in self.0 {
            let message = format!("high availability with {setting} is not supported");
            findings.warn(at, message);
        }
        if is_unsupported {
            findings.inactive(library, &inactive::HIGH_AVAILABILITY);
        }
        is_unsupported
    }
}

/// Reads the parameters `value` of the library, which is named at `library`. Returns no
/// relationship if they are wrong or not supported.
pub(crate) fn read(
    library: SourcePosition,
    value: Option<&JsonValue>,
    findings: &mut ParseContext,
) -> Vec<HaRelationship> {
    let Some(value) = value else {
        findings.inactive(library, &inactive::HIGH_AVAILABILITY);
        return Vec::new();
    };
    let what = "the parameters of high_availability";
    let Some(mut fields) = MapReader::from_value(value, what, findings) else { return Vec::new() };
    let items = fields.list("high-availability", findings);
    fields.finish(findings);
    if items.is_empty() {
        let help = "list one map with `this-server-name`, `mode` and `peers`";
        findings.error_help(value.at, "a list of HA configurations must not be empty", help);
    }
    let mut unsupported = Unsupported::default();
    if let Some(item) = items.get(HA_RELATIONSHIPS_MAX) {
        unsupported.note(item.at, format!("more than {HA_RELATIONSHIPS_MAX} relationships"));
    }
    findings.relationships.count = items.len();
    let read = |(number, item)| ha_relationship::read(number, item, &mut unsupported, findings);
    let relationships: Vec<_> = items.iter().enumerate().filter_map(read).collect();
    check_names(value.at, &relationships, findings);
    if unsupported.report(library, findings) { Vec::new() } else { relationships }
}

/// Checks that the server is in some relationship of `relationships` under each of its names of the
/// command line.
fn check_names(at: SourcePosition, relationships: &[HaRelationship], findings: &mut ParseContext) {
    if relationships.is_empty() {
        return;
    }
    let is_unknown = |name: &&String| relationships.iter().all(|one| one.own.name != **name);
    let unknown: Vec<String> = findings.server_names.iter().filter(is_unknown).cloned().collect();
    for name in unknown {
        let message = format!("no relationship has the server '{name}' of --ha-server-name");
        findings.error_help(at, message, "name each server once, and none that does not exist");
    }
}
