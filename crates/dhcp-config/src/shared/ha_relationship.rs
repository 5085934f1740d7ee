//! Reader of one relationship of high availability: an element of `high-availability`.

use core::net::IpAddr;

use super::ha_own::OwnSettings;
use super::ha_peer::{ReadPeer, TlsPaths, check_roles};
use super::high_availability::{
    HA_BACKUPS_MAX, HaLimits, HaMode, HaPause, HaRelationship, HaRole, Unsupported,
};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;

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

/// Reads the relationship `item`, the element `number` of the list. Returns `None` if it is wrong.
pub(super) fn read(
    number: usize,
    item: &JsonValue,
    unsupported: &mut Unsupported,
    findings: &mut ParseContext,
) -> Option<HaRelationship> {
    let mut fields = MapReader::from_value(item, "a relationship", findings)?;
    let settings = OwnSettings::read(fields.context(findings), findings);
    settings.check_keys(&mut fields, item.at, findings);
    let modes = HaMode::ALL.map(|mode| (mode.name(), mode));
    let mode = fields.word("mode", &modes, false, findings);
    let names = settings.server_names(&mut fields, item.at, findings);
    let limits = limits(&mut fields, mode, findings);
    let limits = HaLimits { take_over_ms: settings.take_over_ms, ..limits };
    let mut flag =
        |key, default| fields.boolean(key, findings).map_or(default, |setting| setting.value);
    let sends_lease_updates = flag("send-lease-updates", true);
    let synchronizes_leases = flag("sync-leases", true);
    let restricts_commands = flag("restrict-commands", true);
    let requires_certificates = flag("require-client-certs", true);
    let waits_for_backups = flag("wait-backup-ack", false);
    let files = TlsPaths::read(&mut fields, findings);
    let threads = HttpThreads::read(&mut fields, findings);
    let pauses = state_machine(&mut fields, findings);
    let items = fields.list("peers", findings).iter();
    let mut peers: Vec<ReadPeer> =
        items.filter_map(|peer| ReadPeer::read(peer, &files, findings)).collect();
    fields.finish(findings);
    let (mode, names) = (mode?, names?);
    check_roles(item.at, mode, &peers, findings);
    findings.check_hub(number, (item.at, mode), &peers);
    let mut own = names.take_own(&mut peers, findings)?;
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
    if threads.has_listener {
        findings.check_listener(&own);
    } else {
        check_control_socket(&own, findings);
    }
    if let Some(tls) = &mut own.peer.tls {
        tls.is_client_certificate_required = requires_certificates;
    }
    Some(HaRelationship {
        number,
        mode,
        own: own.peer,
        peers: peers.into_iter().map(|one| one.peer).collect(),
        limits,
        sends_lease_updates,
        synchronizes_leases,
        has_listener: threads.has_listener,
        restricts_commands,
        waits_for_backups,
        client_connections: threads.client_connections,
        pauses,
        heals_clock_skew: settings.heals_clock_skew,
    })
}

/// Warns if no HTTP control socket has the address of `own`, the server itself, whose relationship
/// has no socket of its own.
fn check_control_socket(own: &ReadPeer, findings: &mut ParseContext) {
    let (address, port) = (own.peer.address, own.peer.port);
    let accepts = |(other, other_port): &(IpAddr, u16)| {
        let is_any = other.is_unspecified() && (other.is_ipv6() || address.is_ipv4());
        *other_port == port && (*other == address || is_any)
    };
    if !findings.control_addresses.iter().any(accepts) {
        let url = &own.peer.url;
        let message = format!(
            "without a listener of the library, the partner's commands have to come by `{url}`, \
             but no HTTP control socket has this address"
        );
        let help = "add it to `control-sockets`, or run a control agent there";
        findings.warn_help(own.at, message, help);
    }
}

fn limits(
    fields: &mut MapReader<'_>,
    mode: Option<HaMode>,
    findings: &mut ParseContext,
) -> HaLimits {
    // Kea has the same defaults. In the other modes no update may wait.
    let delayed_updates = if mode == Some(HaMode::LoadBalancing) { 100 } else { 0 };
    let mut number =
        |key, default| fields.u32(key, findings).map_or(default, |setting| setting.value);
    HaLimits {
        heartbeat_ms: number("heartbeat-delay", 10_000),
        response_ms: number("max-response-delay", 60_000),
        ack_ms: number("max-ack-delay", 10_000),
        unacked_clients: number("max-unacked-clients", 10),
        rejected_updates: number("max-rejected-lease-updates", 10),
        delayed_updates: number("delayed-updates-limit", delayed_updates),
        sync_ms: number("sync-timeout", 60_000),
        page_leases: number("sync-page-limit", 10_000).max(1),
        take_over_ms: None,
    }
}

/// Threads for the commands of other servers and to them.
struct HttpThreads {
    /// True if the relationship has a socket of its own for the partner.
    has_listener: bool,
    /// Number of connections for updates; 0 for the default.
    client_connections: u32,
}

impl HttpThreads {
    /// Reads `multi-threading`. As in Kea, a relationship without threads of its own has no socket
    /// of its own either.
    fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self {
        let mut threads = Self { has_listener: true, client_connections: 0 };
        let Some(entry) = fields.take("multi-threading") else { return threads };
        let Some(mut fields) = MapReader::from_value(&entry.value, "`multi-threading`", findings)
        else {
            return threads;
        };
        for key in ["enable-multi-threading", "http-dedicated-listener"] {
            let setting = fields.boolean(key, findings);
            threads.has_listener &= setting.is_none_or(|setting| setting.value);
        }
        fields.u32("http-listener-threads", findings);
        let connections = fields.u32("http-client-threads", findings);
        threads.client_connections = connections.map_or(0, |setting| setting.value);
        fields.context(findings);
        fields.finish(findings);
        threads
    }
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
