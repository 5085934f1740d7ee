//! `lease-database`, the other databases, and `expired-leases-processing`.

use super::family::Family;
use super::types::{ExpiredLeases, LeaseDatabase, LeaseDatabaseKind, OnFail};
use super::{godwit, inactive};
use crate::fields::{Fields, U32};
use crate::json::Value;
use crate::source::{At, Findings};

/// Texts of a database map that say how a server of databases is reached.
const TEXTS: [&str; 8] = [
    "host",
    "user",
    "password",
    "password-file",
    "trust-anchor",
    "cert-file",
    "key-file",
    "cipher-list",
];
/// Its numbers, with their ranges and, when only one kind of database has them, that kind.
const NUMBERS: [(&str, i64, Option<LeaseDatabaseKind>); 7] = [
    ("port", 65_535, None),
    ("connect-timeout", u32::MAX as i64, None),
    ("read-timeout", u32::MAX as i64, Some(LeaseDatabaseKind::Mysql)),
    ("write-timeout", u32::MAX as i64, Some(LeaseDatabaseKind::Mysql)),
    ("tcp-user-timeout", u32::MAX as i64, Some(LeaseDatabaseKind::Postgresql)),
    ("max-reconnect-tries", i64::MAX, None),
    ("reconnect-wait-time", u32::MAX as i64, None),
];
const FLAGS: [&str; 2] = ["readonly", "retry-on-startup"];
const SSL_MODES: [(&str, ()); 5] =
    [("disable", ()), ("prefer", ()), ("require", ()), ("verify-ca", ()), ("verify-full", ())];

/// Reads `lease-database`.
pub(crate) fn lease_database<F: Family>(value: &Value, findings: &mut Findings) -> LeaseDatabase {
    let database = database::<F>(value, "`lease-database`", findings);
    if database.kind != LeaseDatabaseKind::Memfile {
        findings.inactive(value.at, &inactive::SQL_LEASES);
    }
    database
}

/// Reads `hosts-database` or one of `hosts-databases`.
pub(crate) fn hosts_database<F: Family>(value: &Value, findings: &mut Findings) {
    shared_database::<F>(value, "a hosts database", &inactive::SQL_HOSTS, findings);
}

/// Reads `config-control`.
pub(crate) fn config_control<F: Family>(value: &Value, findings: &mut Findings) {
    let Some(mut fields) = Fields::of(value, "`config-control`", findings) else { return };
    fields.integer("config-fetch-wait-time", 0..=65_535, findings);
    for item in fields.list("config-databases", findings) {
        shared_database::<F>(item, "a configuration database", &inactive::CONFIG_BACKEND, findings);
    }
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
}

/// Reads a database that others write to, too.
fn shared_database<F: Family>(
    value: &Value,
    what: &'static str,
    feature: &'static inactive::Feature,
    findings: &mut Findings,
) {
    let before = findings.errors();
    let kind = database::<F>(value, what, findings).kind;
    if findings.errors() > before {
        return;
    }
    if kind == LeaseDatabaseKind::Memfile {
        let message = format!("{what} cannot be a `memfile`");
        findings.error_help(value.at, message, "it is one of: mysql, postgresql");
    } else {
        findings.inactive(value.at, feature);
    }
}

/// Reads the map of a database; every key of it is checked, whatever its kind.
fn database<F: Family>(
    value: &Value,
    what: &'static str,
    findings: &mut Findings,
) -> LeaseDatabase {
    let mut database = LeaseDatabase::default();
    let Some(mut fields) = Fields::of(value, what, findings) else { return database };
    let kind = kind(&mut fields, what, findings);
    database.kind = kind.unwrap_or(LeaseDatabaseKind::Memfile);
    let is_memfile = kind == Some(LeaseDatabaseKind::Memfile);
    let name = fields.text("name", findings).filter(|name| !name.value.is_empty());
    database.name = name.filter(|_| is_memfile).map(|name| name.value.to_owned());
    if let Some(persist) = fields.boolean("persist", findings) {
        database.persist = persist.value;
    }
    if let Some(interval) = fields.u32("lfc-interval", findings) {
        database.lfc_interval_s = interval.value;
    }
    if let Some(errors) = fields.u32("max-row-errors", findings) {
        database.max_row_errors = errors.value;
    }
    let choices = [
        ("stop-retry-exit", OnFail::StopRetryExit),
        ("serve-retry-exit", OnFail::ServeRetryExit),
        ("serve-retry-continue", OnFail::ServeRetryContinue),
    ];
    if let Some(on_fail) = fields.word("on-fail", &choices, false, findings) {
        database.on_fail = on_fail;
    }
    remote_keys(&mut fields, kind, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
    database
}

fn kind(fields: &mut Fields<'_>, what: &str, findings: &mut Findings) -> Option<LeaseDatabaseKind> {
    if fields.take("type").is_none() {
        let help = "it is one of: memfile, mysql, postgresql";
        findings.error_help(fields.at, format!("{what} lacks `type`"), help);
    }
    let kind = fields.text("type", findings)?;
    match kind.value {
        "memfile" => Some(LeaseDatabaseKind::Memfile),
        "mysql" => Some(LeaseDatabaseKind::Mysql),
        "postgresql" => Some(LeaseDatabaseKind::Postgresql),
        other => {
            let message = format!("unknown kind of database `{other}`");
            findings.error_help(kind.at, message, "it is one of: memfile, mysql, postgresql");
            None
        }
    }
}

/// Checks the keys that say how a server of databases is reached. Kea accepts them for a memfile.
fn remote_keys(fields: &mut Fields<'_>, kind: Option<LeaseDatabaseKind>, findings: &mut Findings) {
    let numbers = NUMBERS.iter().map(|(key, ..)| *key);
    let keys = TEXTS.into_iter().chain(FLAGS).chain(numbers).chain(["ssl-mode"]);
    let given: Vec<(&str, At)> =
        keys.filter_map(|key| fields.take(key).map(|entry| (key, entry.at))).collect();
    for key in TEXTS {
        fields.text(key, findings);
    }
    for key in FLAGS {
        fields.boolean(key, findings);
    }
    fields.word("ssl-mode", &SSL_MODES, false, findings);
    let mut refused = Vec::new();
    for (key, most, only) in NUMBERS {
        let Some(number) = fields.integer(key, 0..=most, findings) else { continue };
        if let Some(only) = only
            && kind.is_some_and(|kind| kind != only)
            && number.value > 0
        {
            let message = format!("`{key}` is for `{}` databases", only.name());
            findings.error(number.at, message);
            refused.push(key);
        }
    }
    let place = |key| given.iter().find(|(given, _)| *given == key).map(|(_, at)| *at);
    if let (Some(text), Some(file)) = (place("password"), place("password-file")) {
        let message = "`password-file` and `password` exclude each other";
        findings.error_seen(file, message, "the other is at", text);
    }
    if kind == Some(LeaseDatabaseKind::Memfile) {
        for (key, at) in given.into_iter().filter(|(key, _)| !refused.contains(key)) {
            findings.warn(at, format!("`{key}` means nothing to a memfile"));
        }
    }
}

/// Reads `expired-leases-processing`.
pub(crate) fn expired_leases(value: &Value, findings: &mut Findings) -> ExpiredLeases {
    const U16: core::ops::RangeInclusive<i64> = 0..=65535;
    let mut expired = ExpiredLeases::default();
    let Some(mut fields) = Fields::of(value, "`expired-leases-processing`", findings) else {
        return expired;
    };
    let keys = [
        ("reclaim-timer-wait-time", U16, &mut expired.reclaim_timer_wait_s),
        ("flush-reclaimed-timer-wait-time", U16, &mut expired.flush_reclaimed_timer_wait_s),
        ("hold-reclaimed-time", U32, &mut expired.hold_reclaimed_s),
        ("max-reclaim-leases", U32, &mut expired.max_reclaim_leases),
        ("max-reclaim-time", 0..=10_000, &mut expired.max_reclaim_time_ms),
        ("unwarned-reclaim-cycles", U16, &mut expired.unwarned_reclaim_cycles),
    ];
    for (key, range, place) in keys {
        if let Some(placed) = fields.integer(key, range, findings) {
            *place = placed.value as u32;
        }
    }
    fields.finish(findings);
    expired
}
