//! Judges reservations: look-ups that find nothing, and reservation modes that look up more often
//! than necessary.

use std::collections::BTreeSet;

use crate::shared::IdentifierKind;
use crate::source::SourcePosition;

use super::facts::{ConfigFacts, SubnetConfigFacts};
use super::fault::PerformanceFault;
use super::measured;
use super::{FindingCollector, grouped_count};

/// Configuration keys by which a scope enables its own reservations.
const IN_SUBNET: [&str; 3] =
    ["reservations-out-of-pool", "reservations-in-subnet", "reservation-mode"];
/// Configuration keys by which a scope enables global reservations.
const GLOBAL: [&str; 2] = ["reservations-global", "reservation-mode"];

pub(super) fn judge(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let in_file = facts.subnets.iter().any(|subnet| !subnet.hosts.is_empty());
    let in_file = in_file || !facts.hosts.is_empty();
    // RADIUS answers instead of reservations, by the same identifiers.
    if facts.has_hook("radius") {
        return;
    }
    let in_database = !facts.settings.hosts_databases.is_empty();
    // Commands may add reservations that no file has.
    let is_complete = !in_database && !facts.has_hook("host_cmds");
    if !in_file && !in_database {
        if is_complete {
            report_no_reservations(facts, report);
        }
        return;
    }
    if in_database {
        database_lookups(facts, report);
    } else if is_complete {
        identifiers(facts, report);
        empty_scopes(facts, report);
    }
    in_pools(facts, in_database, report);
}

/// Reports that the configuration has no reservation at all.
fn report_no_reservations(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let looks = |subnet: &&SubnetConfigFacts<'_>| subnet.modes.global || subnet.modes.in_subnet;
    let at = facts.subnets.iter().filter(looks);
    let at: BTreeSet<SourcePosition> = at.map(|subnet| mode_at(facts, subnet)).collect();
    // If no key is set, one position suffices: the default holds for the whole file.
    let is_default = IN_SUBNET.iter().chain(&GLOBAL).all(|key| facts.global.at(key).is_none());
    let at = match at.len() {
        2.. if is_default => vec![facts.global.at],
        _ => at.into_iter().collect(),
    };
    report.add(
        PerformanceFault::UnusedReservations,
        at,
        measured::reservations_in_memory(),
        format!(
            "there are no reservations, but the server looks up each client by {}",
            grouped_count(facts.settings.host_identifiers.len(), "identifier", "identifiers")
        ),
        "set `\"reservations-in-subnet\": false` and `\"reservations-global\": false`",
    );
}

/// Returns the position where the reservation modes of a subnet are set; that of the subnet when
/// they are not set.
fn mode_at(facts: &ConfigFacts<'_>, subnet: &SubnetConfigFacts<'_>) -> SourcePosition {
    let keys: &[&str] = if subnet.modes.in_subnet { &IN_SUBNET } else { &GLOBAL };
    subnet.at_any(facts.global, keys)
}

fn name(kind: IdentifierKind) -> &'static str {
    match kind {
        IdentifierKind::HardwareAddress => "hw-address",
        IdentifierKind::Duid => "duid",
        IdentifierKind::CircuitId => "circuit-id",
        IdentifierKind::ClientId => "client-id",
        IdentifierKind::FlexId => "flex-id",
    }
}

fn quoted(kinds: impl IntoIterator<Item = IdentifierKind>) -> String {
    let names: Vec<String> = kinds.into_iter().map(|kind| format!("`{}`", name(kind))).collect();
    names.join(", ")
}

/// Reports database queries for reservations; the file does not show the identifiers of the rows.
fn database_lookups(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    if facts.settings.host_identifiers.len() < 2 {
        return;
    }
    report.add(
        PerformanceFault::UnusedIdentifier,
        vec![facts.global.at_any(&["host-reservation-identifiers"])],
        measured::reservations_in_database(),
        format!(
            "each client may be looked up in {} by {} identifiers: {}",
            grouped_count(facts.settings.hosts_databases.len(), "database", "databases"),
            facts.settings.host_identifiers.len(),
            quoted(facts.settings.host_identifiers.iter().copied())
        ),
        "list in `host-reservation-identifiers` only the kinds that the reservations in the \
         database use, best a single one",
    );
}

/// Reports kinds of identifiers that the server looks up and no reservation has.
fn identifiers(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let all = facts.hosts.iter().chain(facts.subnets.iter().flat_map(|subnet| &subnet.hosts));
    let used: BTreeSet<IdentifierKind> = all.map(|host| host.kind).collect();
    let unused: Vec<IdentifierKind> = facts
        .settings
        .host_identifiers
        .iter()
        .copied()
        .filter(|kind| !used.contains(kind))
        .collect();
    if unused.is_empty() {
        return;
    }
    let remaining =
        facts.settings.host_identifiers.iter().copied().filter(|kind| used.contains(kind));
    let remaining = quoted(remaining).replace('`', "\"");
    report.add(
        PerformanceFault::UnusedIdentifier,
        vec![facts.global.at_any(&["host-reservation-identifiers"])],
        measured::reservations_in_memory(),
        format!("clients are looked up by {}, which no reservation has", quoted(unused)),
        format!("set `\"host-reservation-identifiers\": [ {remaining} ]`"),
    );
}

/// Reports scopes in which the server looks up reservations although none exist.
fn empty_scopes(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let mut at: Vec<SourcePosition> = Vec::new();
    let mut change = "set `\"reservations-global\": false`";
    if facts.hosts.is_empty() {
        let global = facts.subnets.iter().filter(|subnet| subnet.modes.global);
        at.extend(global.map(|subnet| subnet.at_any(facts.global, &GLOBAL)));
        if facts.global.boolean("early-global-reservations-lookup") == Some(true) {
            at.extend(facts.global.at("early-global-reservations-lookup"));
            change = "set `\"reservations-global\": false` and \
                      `\"early-global-reservations-lookup\": false`";
        }
    }
    report.add(
        PerformanceFault::ReservationMode,
        at,
        measured::reservations_in_memory(),
        "the server looks up clients among global reservations, but there are none",
        change,
    );
    let empty = |subnet: &&SubnetConfigFacts<'_>| subnet.modes.in_subnet && subnet.hosts.is_empty();
    let empty = facts.subnets.iter().filter(empty);
    let at: Vec<SourcePosition> = empty.map(|subnet| subnet.view.at).collect();
    let count = grouped_count(at.len(), "subnet", "subnets");
    report.add(
        PerformanceFault::ReservationMode,
        at,
        measured::reservations_in_memory(),
        format!(
            "the server looks up clients among the reservations of {count}, but there are \
                 none"
        ),
        "set `\"reservations-in-subnet\": false` there",
    );
}

/// Reports subnets that look for a reservation of each address in a pool.
fn in_pools(facts: &ConfigFacts<'_>, in_database: bool, report: &mut FindingCollector) {
    let looks = |subnet: &&SubnetConfigFacts<'_>| {
        let has_hosts = in_database || !subnet.hosts.is_empty();
        subnet.modes.in_subnet && !subnet.modes.out_of_pool && has_hosts && !subnet.pools.is_empty()
    };
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for subnet in facts.subnets.iter().filter(looks) {
        let in_pool = |address: &u128| {
            subnet.pools.iter().any(|pool| (pool.range.0..=pool.range.1).contains(address))
        };
        let any = subnet.hosts.iter().flat_map(|host| &host.addresses).any(in_pool);
        if any { &mut inside } else { &mut outside }.push(mode_at(facts, subnet));
    }
    let cost = || {
        if in_database {
            measured::reservations_in_database()
        } else {
            measured::reservations_in_memory()
        }
    };
    report.add(
        PerformanceFault::ReservationMode,
        outside,
        cost(),
        "the server looks up each address of a pool before it assigns it, but no reservation of \
         this file is in a pool",
        "set `\"reservations-out-of-pool\": true`",
    );
    report.add(
        PerformanceFault::ReservationMode,
        inside,
        cost(),
        "the server looks up each address of a pool before it assigns it, because reservations are \
         in pools",
        "move the reserved addresses out of the pools and set `\"reservations-out-of-pool\": true`",
    );
}
