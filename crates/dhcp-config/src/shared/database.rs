//! `lease-database` and `expired-leases-processing`.

use super::family::Family;
use super::godwit;
use super::types::{ExpiredLeases, LeaseDatabase, OnFail};
use crate::fields::{Fields, U32};
use crate::json::Value;
use crate::source::Findings;

/// Keys of database maps that a memfile has no use for; Kea accepts them all the same.
const UNUSED: [&str; 18] = [
    "host",
    "port",
    "user",
    "password",
    "password-file",
    "readonly",
    "connect-timeout",
    "read-timeout",
    "write-timeout",
    "tcp-user-timeout",
    "max-reconnect-tries",
    "reconnect-wait-time",
    "retry-on-startup",
    "trust-anchor",
    "cert-file",
    "key-file",
    "cipher-list",
    "ssl-mode",
];

/// Reads `lease-database`.
pub(crate) fn lease_database<F: Family>(value: &Value, findings: &mut Findings) -> LeaseDatabase {
    let mut database = LeaseDatabase::default();
    let Some(mut fields) = Fields::of(value, "`lease-database`", findings) else {
        return database;
    };
    match fields.text("type", findings) {
        Some(kind) if kind.value == "memfile" => {}
        Some(kind) if matches!(kind.value, "mysql" | "postgresql") => {
            let message = format!(
                "lease database `{}` is not supported by this version of godwit",
                kind.value
            );
            findings.error_help(kind.at, message, "`memfile` is");
            // Its other keys are not ours to judge.
            return database;
        }
        Some(kind) => {
            let message = format!("unknown lease database `{}`", kind.value);
            findings.error_help(kind.at, message, "`memfile` is the one supported");
        }
        None if fields.take("type").is_none() => {
            findings.error_help(value.at, "`lease-database` lacks `type`", "`memfile` is one");
        }
        None => {}
    }
    let name = fields.text("name", findings).filter(|name| !name.value.is_empty());
    database.name = name.map(|name| name.value.to_owned());
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
    for key in UNUSED {
        if let Some(entry) = fields.take(key) {
            findings.warn(entry.at, format!("`{key}` means nothing to a memfile"));
        }
    }
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
    database
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
