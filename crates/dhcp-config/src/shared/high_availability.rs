//! Reader of the parameters of the hook library `high_availability`, with Kea's defaults and
//! checks.
//!
//! Settings that are valid in Kea and that this version cannot serve make the library a feature
//! that is not supported ([`inactive::HIGH_AVAILABILITY`]): the server then starts only with
//! `--accept-inactive high-availability`. A warning says which setting it is.

use core::net::IpAddr;

use super::control::{SecretSource, TlsFiles};
use super::ha_peer::{ReadPeer, TlsPaths, check_roles};
use super::{godwit, inactive};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::SourcePosition;

/// Servers that know each other's leases: an element of `high-availability`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaRelationship {
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
    /// True if the server accepts only the commands of high availability from its partner
    /// (`restrict-commands`). Default true.
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
    /// answers (`delayed-updates-limit`); 0 if no answer leaves without it. Only in load balancing.
    /// Default 0.
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
/// Maximum of `take-over-delay` in milliseconds: a day.
const MAX_DELAY_MS: i64 = 86_400_000;
/// States of a server in a relationship, by the names that `state-machine` uses.
const STATES: [&str; 12] = [
    "backup",
    "communication-recovery",
    "hot-standby",
    "in-maintenance",
    "load-balancing",
    "partner-down",
    "partner-in-maintenance",
    "passive-backup",
    "ready",
    "syncing",
    "terminated",
    "waiting",
];

/// Settings of a relationship that Kea knows and this version cannot serve.
#[derive(Default)]
struct Unsupported(Vec<(SourcePosition, String)>);

impl Unsupported {
    fn note(&mut self, at: SourcePosition, setting: impl Into<String>) {
        self.0.push((at, setting.into()));
    }

    /// Reports the settings. Returns true if there is one.
    fn report(self, library: SourcePosition, findings: &mut ParseContext) -> bool {
        let is_unsupported = !self.0.is_empty();
        for (at, setting) in self.0 {
            let message = format!("high availability with {setting} is not supported");
            findings.warn_help(at, message, "supported is one relationship, in every mode");
        }
        if is_unsupported {
            findings.inactive(library, &inactive::HIGH_AVAILABILITY);
        }
        is_unsupported
    }
}

/// Reads the parameters `value` of the library, which is named at `library`. Returns `None` if they
/// are wrong or not supported.
pub(crate) fn read(
    library: SourcePosition,
    value: Option<&JsonValue>,
    findings: &mut ParseContext,
) -> Option<HaRelationship> {
    let Some(value) = value else {
        findings.inactive(library, &inactive::HIGH_AVAILABILITY);
        return None;
    };
    let mut fields = MapReader::from_value(value, "the parameters of high_availability", findings)?;
    let items = fields.list("high-availability", findings);
    fields.finish(findings);
    let Some(first) = items.first() else {
        let help = "list one map with `this-server-name`, `mode` and `peers`";
        findings.error_help(value.at, "a list of HA configurations must not be empty", help);
        return None;
    };
    let mut unsupported = Unsupported::default();
    if let Some(second) = items.get(1) {
        unsupported.note(second.at, "several relationships");
    }
    let relationship = relationship(first, &mut unsupported, findings);
    if unsupported.report(library, findings) { None } else { relationship }
}

fn relationship(
    item: &JsonValue,
    unsupported: &mut Unsupported,
    findings: &mut ParseContext,
) -> Option<HaRelationship> {
    let mut fields = MapReader::from_value(item, "a relationship", findings)?;
    let own = OwnSettings::read(fields.context(findings), findings);
    own.check_keys(&mut fields, item.at, findings);
    let modes = HaMode::ALL.map(|mode| (mode.name(), mode));
    let mode = fields.word("mode", &modes, false, findings);
    let name = own.server_name(&mut fields, item.at, findings);
    let limits = limits(&mut fields, findings);
    let mut flag =
        |key, default| fields.boolean(key, findings).map_or(default, |setting| setting.value);
    let sends_lease_updates = flag("send-lease-updates", true);
    let synchronizes_leases = flag("sync-leases", true);
    let restricts_commands = flag("restrict-commands", true);
    let requires_certificates = flag("require-client-certs", true);
    let waits_for_backups = flag("wait-backup-ack", false);
    let files = TlsPaths::read(&mut fields, findings);
    let client_connections = threads(&mut fields, unsupported, findings);
    let pauses = state_machine(&mut fields, findings);
    let items = fields.list("peers", findings).iter();
    let mut peers: Vec<ReadPeer> =
        items.filter_map(|peer| ReadPeer::read(peer, &files, findings)).collect();
    let limits = HaLimits { take_over_ms: own.take_over_ms, ..limits };
    let heals_clock_skew = own.heals_clock_skew;
    fields.finish(findings);
    let (mode, (at, name)) = (mode?, name?);
    check_roles(item.at, mode, &peers, findings);
    let is_own = |one: &ReadPeer| one.peer.name == name || own.is_host(&name, &one.peer.name);
    let Some(own) = peers.iter().position(is_own) else {
        if !peers.is_empty() {
            let message = format!("no peer configuration specified for the '{name}'");
            findings.error_help(at, message, "use the `name` of an element of `peers`");
        }
        return None;
    };
    let is_wanted = [
        ("wait-backup-ack", waits_for_backups, "false", HaMode::PassiveBackup),
        ("delayed-updates-limit", limits.delayed_updates > 0, "0", HaMode::LoadBalancing),
    ];
    for (key, _, off, _) in is_wanted.iter().filter(|(_, is_set, _, of)| *is_set && mode != *of) {
        findings.error(item.at, format!("'{key}' must be set to {off} in this mode"));
    }
    let mut backups = peers.iter().filter(|one| one.peer.role == HaRole::Backup);
    if let Some(backup) = backups.nth(HA_BACKUPS_MAX) {
        unsupported.note(backup.at, format!("more than {HA_BACKUPS_MAX} backup servers"));
    }
    let mut own = peers.remove(own).peer;
    if let Some(tls) = &mut own.tls {
        tls.is_client_certificate_required = requires_certificates;
    }
    Some(HaRelationship {
        mode,
        own,
        peers: peers.into_iter().map(|one| one.peer).collect(),
        limits,
        sends_lease_updates,
        synchronizes_leases,
        restricts_commands,
        waits_for_backups,
        client_connections,
        pauses,
        heals_clock_skew,
    })
}

fn limits(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> HaLimits {
    let mut number =
        |key, default| fields.u32(key, findings).map_or(default, |setting| setting.value);
    HaLimits {
        heartbeat_ms: number("heartbeat-delay", 10_000),
        response_ms: number("max-response-delay", 60_000),
        ack_ms: number("max-ack-delay", 10_000),
        unacked_clients: number("max-unacked-clients", 10),
        rejected_updates: number("max-rejected-lease-updates", 10),
        delayed_updates: number("delayed-updates-limit", 0),
        sync_ms: number("sync-timeout", 60_000),
        page_leases: number("sync-page-limit", 10_000).max(1),
        take_over_ms: None,
    }
}

/// Godwit's own settings of a relationship, in its user context.
struct OwnSettings {
    /// Delay of a take-over, in milliseconds.
    take_over_ms: Option<u32>,
    heals_clock_skew: bool,
    /// True if the name of the host decides which of the peers the server is.
    is_named_by_host: bool,
}

impl OwnSettings {
    fn read(context: Option<&JsonValue>, findings: &mut ParseContext) -> Self {
        let mut own = Self { take_over_ms: None, heals_clock_skew: true, is_named_by_host: false };
        let Some(value) = context.and_then(godwit::inside) else { return own };
        let Some(mut fields) = MapReader::from_value(value, "`user-context.godwit`", findings)
        else {
            return own;
        };
        let delay = fields.integer("take-over-delay", 1..=MAX_DELAY_MS, findings);
        own.take_over_ms = delay.map(|delay| delay.value as u32);
        if let Some(heals) = fields.boolean("heal-clock-skew", findings) {
            own.heals_clock_skew = heals.value;
        }
        if let Some(is_named) = fields.boolean("name-by-host", findings) {
            own.is_named_by_host = is_named.value;
        }
        fields.finish(findings);
        own
    }

    /// Checks that the relationship at `at` has the keys that it needs.
    fn check_keys(
        &self,
        fields: &mut MapReader<'_>,
        at: SourcePosition,
        findings: &mut ParseContext,
    ) {
        for key in ["mode", "this-server-name", "peers"] {
            let is_needed = key != "this-server-name" || !self.is_named_by_host;
            if fields.take(key).is_none() && is_needed {
                findings.error(at, format!("'{key}' parameter missing in HA configuration"));
            }
        }
    }

    /// Returns the name of the server in the relationship at `at`, with the position of the name.
    fn server_name(
        &self,
        fields: &mut MapReader<'_>,
        at: SourcePosition,
        findings: &mut ParseContext,
    ) -> Option<(SourcePosition, String)> {
        let name = fields.text("this-server-name", findings);
        if self.is_named_by_host {
            return Some((at, findings.host_name.clone()));
        }
        name.map(|name| (name.at, name.value.to_owned()))
    }

    /// Returns true if the peer `peer` is the host `host`, with or without its domain.
    fn is_host(&self, host: &str, peer: &str) -> bool {
        let first = host.split('.').next().unwrap_or_default();
        self.is_named_by_host && [host, first].iter().any(|name| name.eq_ignore_ascii_case(peer))
    }
}

/// Reads `multi-threading`, and returns the number of connections for updates.
fn threads(
    fields: &mut MapReader<'_>,
    unsupported: &mut Unsupported,
    findings: &mut ParseContext,
) -> u32 {
    let Some(entry) = fields.take("multi-threading") else { return 0 };
    let Some(mut fields) = MapReader::from_value(&entry.value, "`multi-threading`", findings)
    else {
        return 0;
    };
    for key in ["enable-multi-threading", "http-dedicated-listener"] {
        if let Some(setting) = fields.boolean(key, findings).filter(|setting| !setting.value) {
            unsupported.note(setting.at, format!("`{key}` false"));
        }
    }
    fields.u32("http-listener-threads", findings);
    let connections = fields.u32("http-client-threads", findings);
    fields.context(findings);
    fields.finish(findings);
    connections.map_or(0, |setting| setting.value)
}

/// Reads `state-machine`, and returns the states in which the server pauses.
fn state_machine(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<(String, HaPause)> {
    let Some(entry) = fields.take("state-machine") else { return Vec::new() };
    let Some(mut fields) = MapReader::from_value(&entry.value, "`state-machine`", findings) else {
        return Vec::new();
    };
    let mut pauses = Vec::new();
    let mut names = Vec::new();
    for state in fields.list("states", findings) {
        let Some(mut fields) = MapReader::from_value(state, "a state", findings) else { continue };
        let name = fields.text("state", findings);
        let words =
            [("never", None), ("once", Some(HaPause::Once)), ("always", Some(HaPause::Always))];
        let pause = fields.word("pause", &words, false, findings).flatten();
        fields.context(findings);
        fields.finish(findings);
        let Some(name) = name else { continue };
        if !STATES.contains(&name.value) {
            let message = format!("unknown state {}", name.value);
            findings.error_help(name.at, message, format!("the states are {}", STATES.join(", ")));
        }
        if names.contains(&name.value) {
            let message = format!("duplicated configuration for the '{}' state", name.value);
            findings.error(name.at, message);
        }
        names.push(name.value);
        pauses.extend(pause.map(|pause| (name.value.to_owned(), pause)));
    }
    fields.context(findings);
    fields.finish(findings);
    pauses
}
