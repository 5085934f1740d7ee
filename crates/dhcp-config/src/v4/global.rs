//! The top of the file and the global scope.

use super::scope::Scope;
use super::subnets::Subnets;
use super::types::{Compatibility, Dhcp4, LeaseChecks};
use super::{database, godwit, interfaces, loggers, other_keys};
use crate::fields::{Fields, U32};
use crate::json::{Kind, Value};
use crate::source::Findings;

/// How long Kea sets a declined address aside unless told otherwise.
const DEFAULT_PROBATION_S: u32 = 86_400;

/// Reads a whole document; `None` when it has no usable `Dhcp4`.
pub(crate) fn read_root(root: &Value, findings: &mut Findings) -> Option<Dhcp4> {
    let mut fields = Fields::of(root, "the document", findings)?;
    let dhcp4 = fields.take("Dhcp4");
    for entry in fields.rest() {
        match entry.key.as_str() {
            "Logging" => findings.error_help(
                entry.at,
                "`Logging` no longer stands at the top of the file",
                "put `loggers` into `Dhcp4`",
            ),
            key @ ("Dhcp6" | "DhcpDdns" | "Control-agent" | "Netconf") => findings.error_help(
                entry.at,
                format!("`{key}` is the configuration of another server"),
                "keep each server's configuration in a file of its own",
            ),
            _ => fields.unknown(entry, core::iter::empty(), None, findings),
        }
    }
    let Some(dhcp4) = dhcp4 else {
        findings.error_help(root.at, "there is no `Dhcp4` here", "write `{ \"Dhcp4\": { ... } }`");
        return None;
    };
    let fields = Fields::of(&dhcp4.value, "`Dhcp4`", findings)?;
    Some(read_global(fields, findings))
}

fn read_global(mut fields: Fields<'_>, findings: &mut Findings) -> Dhcp4 {
    let scope = Scope::read(&mut fields, findings);
    scope.lifetime(&scope.own_lifetime(), findings);
    let godwit = godwit::read(fields.context(findings), findings);
    let interfaces = fields.take("interfaces-config");
    let interfaces = interfaces.map(|entry| interfaces::read(entry, findings));
    let database = fields.take("lease-database");
    let database = database.map(|entry| database::lease_database(&entry.value, findings));
    let expired = fields.take("expired-leases-processing");
    let expired = expired.map(|entry| database::expired_leases(&entry.value, findings));
    let probation = fields.u32("decline-probation-period", findings);
    let echo_client_id = fields.boolean("echo-client-id", findings);
    let loggers = fields.list("loggers", findings).iter();
    let loggers = loggers.filter_map(|item| loggers::logger(item, findings)).collect();
    let lease_checks = sanity_checks(&mut fields, findings);
    let compatibility = compatibility(&mut fields, findings);
    control_sockets(&mut fields, findings);
    multi_threading(&mut fields, findings);
    dhcp_ddns(&mut fields, findings);
    let networks = fields.list("shared-networks", findings);
    let subnets = fields.list("subnet4", findings);
    other_keys::finish(fields, other_keys::GLOBAL, findings);

    // Kea reads shared networks first, which decides the automatic numbers of subnets.
    let mut reader = Subnets::new(findings);
    networks.iter().for_each(|item| reader.read_network(item, &scope));
    subnets.iter().for_each(|item| reader.read_global(item, &scope));
    let (subnets, networks) = reader.finish();
    Dhcp4 {
        subnets,
        networks,
        interfaces: interfaces.unwrap_or_default(),
        lease_database: database.unwrap_or_default(),
        godwit,
        authoritative: scope.authoritative.is_some_and(|placed| placed.value),
        options: scope.options,
        echo_client_id: echo_client_id.is_none_or(|echo| echo.value),
        decline_probation_period_s: probation.map_or(DEFAULT_PROBATION_S, |period| period.value),
        expired_leases: expired.unwrap_or_default(),
        lease_checks,
        compatibility,
        loggers,
    }
}

fn sanity_checks(fields: &mut Fields<'_>, findings: &mut Findings) -> LeaseChecks {
    let checks = [
        ("none", LeaseChecks::None),
        ("warn", LeaseChecks::Warn),
        ("fix", LeaseChecks::Fix),
        ("fix-del", LeaseChecks::FixDel),
        ("del", LeaseChecks::Del),
    ];
    let Some(entry) = fields.take("sanity-checks") else { return LeaseChecks::default() };
    let Some(mut fields) = Fields::of(&entry.value, "`sanity-checks`", findings) else {
        return LeaseChecks::default();
    };
    let lease_checks = fields.word("lease-checks", &checks, false, findings);
    // Extended information is not stored, so there is nothing to check.
    let levels = [("none", ()), ("fix", ()), ("strict", ()), ("pedantic", ())];
    fields.word("extended-info-checks", &levels, false, findings);
    fields.finish(findings);
    lease_checks.unwrap_or_default()
}

fn compatibility(fields: &mut Fields<'_>, findings: &mut Findings) -> Compatibility {
    let mut compatibility = Compatibility::default();
    let Some(entry) = fields.take("compatibility") else { return compatibility };
    let Some(mut fields) = Fields::of(&entry.value, "`compatibility`", findings) else {
        return compatibility;
    };
    let keys = [
        ("lenient-option-parsing", &mut compatibility.lenient_option_parsing),
        ("ignore-dhcp-server-identifier", &mut compatibility.ignore_dhcp_server_identifier),
        ("ignore-rai-link-selection", &mut compatibility.ignore_rai_link_selection),
        ("exclude-first-last-24", &mut compatibility.exclude_first_last_24),
    ];
    for (key, place) in keys {
        if let Some(placed) = fields.boolean(key, findings) {
            *place = placed.value;
            if placed.value {
                let message = format!("`{key}` has no effect in this version of godwit");
                findings.warn(placed.at, message);
            }
        }
    }
    fields.finish(findings);
    compatibility
}

/// `control-sockets`, and the single `control-socket` of Kea before 3.
fn control_sockets(fields: &mut Fields<'_>, findings: &mut Findings) {
    for key in ["control-socket", "control-sockets"] {
        let Some(entry) = fields.take(key) else { continue };
        match &entry.value.kind {
            Kind::List(items) if items.is_empty() => {}
            Kind::Map(_) | Kind::List(_) => findings.warn_help(
                entry.at,
                format!("`{key}`: this version of godwit has no control channel"),
                "no socket is opened",
            ),
            kind => {
                let expected = if key == "control-socket" { "a map" } else { "a list" };
                crate::fields::wrong_kind::<()>(entry.value.at, key, expected, kind, findings);
            }
        }
    }
}

/// `multi-threading`: shards do that work, so its values are checked and not used.
fn multi_threading(fields: &mut Fields<'_>, findings: &mut Findings) {
    let Some(entry) = fields.take("multi-threading") else { return };
    let Some(mut fields) = Fields::of(&entry.value, "`multi-threading`", findings) else { return };
    fields.boolean("enable-multi-threading", findings);
    fields.integer("thread-pool-size", U32, findings);
    fields.integer("packet-queue-size", U32, findings);
    godwit::refuse_inside(fields.context(findings), findings);
    fields.finish(findings);
}

/// `dhcp-ddns`: accepted while it is off.
fn dhcp_ddns(fields: &mut Fields<'_>, findings: &mut Findings) {
    const KEYS: [&str; 13] = [
        "server-ip",
        "server-port",
        "sender-ip",
        "sender-port",
        "max-queue-size",
        "ncr-protocol",
        "ncr-format",
        "override-no-update",
        "override-client-update",
        "replace-client-name",
        "generated-prefix",
        "qualifying-suffix",
        "hostname-char-set",
    ];
    let Some(entry) = fields.take("dhcp-ddns") else { return };
    let Some(mut fields) = Fields::of(&entry.value, "`dhcp-ddns`", findings) else { return };
    if let Some(enable) = fields.boolean("enable-updates", findings).filter(|enable| enable.value) {
        let message = "dynamic DNS updates are not supported by this version of godwit";
        findings.error_help(enable.at, message, "`\"enable-updates\": false` is accepted");
    }
    for key in KEYS {
        fields.take(key);
    }
    fields.context(findings);
    fields.finish(findings);
}
