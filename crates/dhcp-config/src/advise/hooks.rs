//! Judges hook libraries that work for each message, and high availability.

use crate::shared::IdentifierKind;
use crate::source::SourcePosition;

use super::facts::{ConfigFacts, View};
use super::fault::PerformanceFault;
use super::measured::{self, Cost};
use super::server::is_remote;
use super::{FindingCollector, grouped_count};

/// Hook libraries that do work for each message or lease, each with a description of that work.
const ON_THE_PATH: [(&str, &str); 9] = [
    ("ddns_tuning", "computes a host name by an expression"),
    ("flex_option", "computes options by expressions"),
    ("forensic_log", "writes a record, which may be a row of a database"),
    ("legal_log", "writes a record, which may be a row of a database"),
    ("limits", "counts leases or messages against limits before anything else is done"),
    ("ping_check", "holds each offer back until a ping of its address has timed out"),
    ("radius", "queries a RADIUS server and waits"),
    ("run_script", "starts a process"),
    ("user_chk", "looks the client up in a file of users"),
];

/// High availability heartbeat interval (`heartbeat-delay`), in milliseconds, below which a shorter
/// one gains next to nothing: half of 10 s, the default of `heartbeat-delay`.
const SHORT_HEARTBEAT_MS: i64 = 5_000;
/// Maximum reasonable `parked-packet-limit`, the number of replies that wait for the high
/// availability partner: 16 times the default of 256. Beyond, clients have given up waiting before
/// their turn comes.
const MOST_PARKED: i64 = 4_096;

pub(super) fn judge(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    on_the_path(facts, report);
    for (name, at, parameters) in facts.hooks() {
        if !matches!(name, "ha" | "high_availability") {
            continue;
        }
        parked(facts, report);
        for relation in parameters.map(|p| p.maps("high-availability")).unwrap_or_default() {
            relationship(facts, relation, at, report);
        }
    }
}

fn on_the_path(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    for (name, at, parameters) in facts.hooks() {
        let work = ON_THE_PATH.iter().find(|library| library.0 == name).map(|library| library.1);
        let is_idle_flex_id = name == "flex_id"
            && !facts.settings.flex_id.replaces_client_id
            && !facts.settings.host_identifiers.contains(&IdentifierKind::FlexId);
        let monitors = parameters.and_then(|p| p.boolean("enable-monitoring")) == Some(true);
        let what = match name {
            "flex_id" if is_idle_flex_id => {
                "computes flexible identifiers that no look-up of reservations uses"
            }
            "perfmon" if monitors => "records the processing times of each message",
            _ => match work {
                Some(what) => what,
                None => continue,
            },
        };
        report.add(
            PerformanceFault::PacketHook,
            vec![at],
            measured::advised(),
            format!("`{name}` {what}, for each message or each lease"),
            "remove the library if it is not needed; if it can be limited to subnets, name only \
             those that need it",
        );
    }
}

fn parked(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let Some(limit) = facts.global.integer("parked-packet-limit") else { return };
    if limit != 0 && limit <= MOST_PARKED {
        return;
    }
    let reason = match limit {
        0 => "any number of answers may wait for the high-availability partner".to_owned(),
        _ => format!("{limit} answers may wait for the high-availability partner"),
    };
    report.add(
        PerformanceFault::ParkedPacketLimit,
        facts.global.at("parked-packet-limit").into_iter().collect(),
        measured::advised(),
        reason + ": under overload all answers leave too late",
        "remove `parked-packet-limit`: 256 is the default",
    );
}

fn relationship(
    facts: &ConfigFacts<'_>,
    relation: View<'_>,
    library: SourcePosition,
    report: &mut FindingCollector,
) {
    let at = |key: &str| relation.at(key).into_iter().collect::<Vec<SourcePosition>>();
    let mode = relation.text("mode").unwrap_or_default();
    threads(facts, relation, report);
    if mode == "load-balancing" {
        report.add(
            PerformanceFault::HaLoadBalancing,
            at("mode"),
            measured::advised(),
            "in mode `load-balancing` each server selects its half of the clients by a client \
             class, and classes divide the pools: the search for a free address takes longer",
            "use `\"mode\": \"hot-standby\"` when one server can carry the load",
        );
    }
    if relation.number("heartbeat-delay").is_some_and(|ms| ms < SHORT_HEARTBEAT_MS as f64) {
        report.add(
            PerformanceFault::HaHeartbeat,
            at("heartbeat-delay"),
            measured::advised(),
            "heartbeats are sent and answered more often than every five seconds",
            "remove `heartbeat-delay`: 10000 ms is the default",
        );
    }
    let backups = relation.maps("peers").into_iter();
    let backups: Vec<View<'_>> = backups.filter(|p| p.text("role") == Some("backup")).collect();
    // The mode passive-backup serves nothing else than one backup.
    let spare = usize::from(mode == "passive-backup");
    if backups.len() > spare {
        report.add(
            PerformanceFault::HaBackups,
            backups[spare..].iter().map(|peer| peer.at_any(&["role"])).collect(),
            measured::advised(),
            format!(
                "each lease is sent to {} too",
                grouped_count(backups.len(), "backup server", "backup servers")
            ),
            "keep as few backup servers as possible",
        );
    }
    if relation.boolean("wait-backup-ack") == Some(true) {
        report.add(
            PerformanceFault::HaBackupWait,
            at("wait-backup-ack"),
            Cost::unmeasured(),
            "each answer waits until the backup servers have the lease",
            "set `\"wait-backup-ack\": false`",
        );
    }
    let sends = |key: &str| relation.boolean(key) != Some(false);
    if facts.settings.lease_database.sql.as_ref().is_some_and(is_remote)
        && (sends("send-lease-updates") || sends("sync-leases"))
    {
        let keys = ["send-lease-updates", "sync-leases"];
        let position = keys.iter().find_map(|key| relation.at(key)).unwrap_or(library);
        report.add(
            PerformanceFault::HaSharedDatabase,
            vec![position],
            measured::advised(),
            "leases are in a database that both servers can reach, and the server still sends them \
             to the partner",
            "if the partner uses the same database, set `\"send-lease-updates\": false` and \
             `\"sync-leases\": false`",
        );
    }
}

fn threads(facts: &ConfigFacts<'_>, relation: View<'_>, report: &mut FindingCollector) {
    if !facts.has_threads() {
        return;
    }
    let Some(threads) = relation.map("multi-threading") else { return };
    let keys = ["enable-multi-threading", "http-dedicated-listener"];
    let off = keys.iter().filter(|key| threads.boolean(key) == Some(false));
    report.add(
        PerformanceFault::HaSingleThreaded,
        off.filter_map(|key| threads.at(key)).collect(),
        measured::partner_on_one_thread(),
        "the server sends and receives the partner's updates one after the other, not in its \
         threads",
        "set `\"enable-multi-threading\": true` and `\"http-dedicated-listener\": true` in the \
         `multi-threading` of the relationship",
    );
}
