//! The top of the file, and the global keys that both servers have.

use super::family::Family;
use super::types::{ExpiredLeases, GodwitSettings, LeaseChecks, LeaseDatabase, Logger};
use super::{database, godwit, loggers, options};
use crate::fields::{Fields, U32, wrong_kind};
use crate::json::{Kind, Value};
use crate::source::Findings;

/// How long Kea sets a declined address aside unless told otherwise.
const DEFAULT_PROBATION_S: u32 = 86_400;

/// Keys at the top of the file, one for each server.
const SERVERS: [&str; 5] = ["Dhcp4", "Dhcp6", "DhcpDdns", "Control-agent", "Netconf"];

/// Global settings that are not inherited.
pub(crate) struct Common {
    pub(crate) godwit: GodwitSettings,
    pub(crate) lease_database: LeaseDatabase,
    pub(crate) expired_leases: ExpiredLeases,
    pub(crate) decline_probation_period_s: u32,
    pub(crate) loggers: Vec<Logger>,
    pub(crate) lease_checks: LeaseChecks,
    /// The flags of [`Family::COMPATIBILITY`], in its order.
    pub(crate) compatibility: Vec<bool>,
}

/// The map of the server in a whole document; `None` when it has no usable one. Its options are
/// defined by then, for whoever reads on.
pub(crate) fn top<'v, F: Family>(root: &'v Value, findings: &mut Findings) -> Option<Fields<'v>> {
    let mut fields = Fields::of(root, "the document", findings)?;
    let server = fields.take(F::TOP);
    for entry in fields.rest() {
        match entry.key.as_str() {
            "Logging" => findings.error_help(
                entry.at,
                "`Logging` no longer stands at the top of the file",
                format!("put `loggers` into `{}`", F::TOP),
            ),
            key if SERVERS.contains(&key) => findings.error_help(
                entry.at,
                format!("`{key}` is the configuration of another server"),
                "keep each server's configuration in a file of its own",
            ),
            _ => fields.unknown(entry, core::iter::empty(), None, findings),
        }
    }
    let Some(server) = server else {
        let help = format!("write `{{ \"{}\": {{ ... }} }}`", F::TOP);
        findings.error_help(root.at, format!("there is no `{}` here", F::TOP), help);
        return None;
    };
    let mut fields = Fields::of(&server.value, F::TOP_QUOTED, findings)?;
    options::define::<F>(&mut fields, findings);
    Some(fields)
}

/// Reads the settings of [`Common`], and those that are accepted without effect.
pub(crate) fn common<F: Family>(fields: &mut Fields<'_>, findings: &mut Findings) -> Common {
    let godwit = godwit::read(fields.context(findings), findings);
    let database = fields.take("lease-database");
    let database = database.map(|entry| database::lease_database::<F>(&entry.value, findings));
    let expired = fields.take("expired-leases-processing");
    let expired = expired.map(|entry| database::expired_leases(&entry.value, findings));
    let probation = fields.u32("decline-probation-period", findings);
    let loggers = fields.list("loggers", findings).iter();
    let loggers = loggers.filter_map(|item| loggers::logger::<F>(item, findings)).collect();
    let lease_checks = sanity_checks(fields, findings);
    let compatibility = compatibility(F::COMPATIBILITY, fields, findings);
    control_sockets(fields, findings);
    multi_threading::<F>(fields, findings);
    dhcp_ddns(fields, findings);
    Common {
        godwit,
        lease_database: database.unwrap_or_default(),
        expired_leases: expired.unwrap_or_default(),
        decline_probation_period_s: probation.map_or(DEFAULT_PROBATION_S, |period| period.value),
        loggers,
        lease_checks,
        compatibility,
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

/// The flags of `compatibility` under their names.
fn compatibility(
    names: &[&'static str],
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Vec<bool> {
    let mut flags = vec![false; names.len()];
    let Some(entry) = fields.take("compatibility") else { return flags };
    let Some(mut fields) = Fields::of(&entry.value, "`compatibility`", findings) else {
        return flags;
    };
    for (&key, flag) in names.iter().zip(&mut flags) {
        if let Some(placed) = fields.boolean(key, findings) {
            *flag = placed.value;
            if placed.value {
                let message = format!("`{key}` has no effect in this version of godwit");
                findings.warn(placed.at, message);
            }
        }
    }
    fields.finish(findings);
    flags
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
                wrong_kind::<()>(entry.value.at, key, expected, kind, findings);
            }
        }
    }
}

/// `multi-threading`: shards do that work, so its values are checked and not used.
fn multi_threading<F: Family>(fields: &mut Fields<'_>, findings: &mut Findings) {
    let Some(entry) = fields.take("multi-threading") else { return };
    let Some(mut fields) = Fields::of(&entry.value, "`multi-threading`", findings) else { return };
    fields.boolean("enable-multi-threading", findings);
    fields.integer("thread-pool-size", U32, findings);
    fields.integer("packet-queue-size", U32, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
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
