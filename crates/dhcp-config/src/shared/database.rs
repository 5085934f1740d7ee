//! Reader of `lease-database`, the other databases, and `expired-leases-processing`.

use super::family::ConfigFamily;
use super::security::{self, PathPurpose};
use super::sql::{self, DatabaseKind, SqlDatabase, SqlKind};
use super::types::{ExpiredLeases, GodwitLeaseDatabase, LeaseDatabase, OnFail};
use super::{godwit, inactive};
use crate::context::ParseContext;
use crate::fields::{MapReader, U32};
use crate::json::{JsonMember, JsonValue};

/// Reads the lease backend from `lease-database`, with the settings that `user-context.godwit`
/// adds.
pub(crate) fn lease_database<F: ConfigFamily>(
    entry: Option<&JsonMember>,
    godwit: &GodwitLeaseDatabase,
    findings: &mut ParseContext,
) -> LeaseDatabase {
    let read = |entry: &JsonMember| database::<F>(&entry.value, "`lease-database`", findings).1;
    let mut database = entry.map(read).unwrap_or_default();
    let at = entry.map(|entry| entry.at);
    if let (Some(path), None) = (&godwit.sqlite, &database.sql) {
        database.sql = Some(SqlDatabase {
            on_fail: database.on_fail,
            ..SqlDatabase::new(SqlKind::Sqlite, path)
        });
    } else if let (Some(_), Some(at)) = (&godwit.sqlite, at) {
        let help = "Kea would use this one; remove `sqlite`, or `lease-database`";
        findings.error_help(
            at,
            "there are two lease databases, this one and `sqlite` of `user-context.godwit`",
            help,
        );
    }
    let is_sql = database.sql.is_some();
    if let (false, Some(at)) = (is_sql || *godwit == GodwitLeaseDatabase::default(), at) {
        let help = "a memfile belongs to one server, and no other program writes to it";
        findings.warn_help(at, "`lease-database` of `user-context.godwit` has no effect", help);
    }
    database
}

/// Reads a database of reservations: `hosts-database` or one element of `hosts-databases`.
pub(crate) fn hosts_database<F: ConfigFamily>(
    value: &JsonValue,
    findings: &mut ParseContext,
) -> Option<SqlDatabase> {
    shared_database::<F>(value, "a hosts database", findings)
}

/// Checks the map `config-control`, which names databases of configurations.
pub(crate) fn config_control<F: ConfigFamily>(value: &JsonValue, findings: &mut ParseContext) {
    let Some(mut fields) = MapReader::from_value(value, "`config-control`", findings) else {
        return;
    };
    fields.integer("config-fetch-wait-time", 0..=65_535, findings);
    for item in fields.list("config-databases", findings) {
        if shared_database::<F>(item, "a configuration database", findings).is_some() {
            findings.inactive(item.at, &inactive::CONFIG_BACKEND);
        }
    }
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
}

/// Reads a database map of a database that other servers write to as well; returns `None` when it
/// has an error.
fn shared_database<F: ConfigFamily>(
    value: &JsonValue,
    what: &'static str,
    findings: &mut ParseContext,
) -> Option<SqlDatabase> {
    let before = findings.errors();
    let (kind, database) = database::<F>(value, what, findings);
    if findings.errors() == before && kind == Some(DatabaseKind::Memfile) {
        let message = format!("{what} cannot be a `memfile`");
        findings.error_help(value.at, message, "must be one of: mysql, postgresql");
    }
    if findings.errors() == before { database.sql } else { None }
}

/// Reads the map of a database, checking every key whatever the kind of database.
fn database<F: ConfigFamily>(
    value: &JsonValue,
    what: &'static str,
    findings: &mut ParseContext,
) -> (Option<DatabaseKind>, LeaseDatabase) {
    let mut database = LeaseDatabase::default();
    let Some(mut fields) = MapReader::from_value(value, what, findings) else {
        return (None, database);
    };
    let kind = kind(&mut fields, what, findings);
    let name = fields.text("name", findings).filter(|name| !name.value.is_empty());
    let file = name;
    let name = name.map(|name| name.value.to_owned());
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
    let mut sql = sql::read(&mut fields, kind, findings);
    sql.on_fail = database.on_fail;
    match kind {
        Some(DatabaseKind::Sql(_)) => {
            sql.name = name.unwrap_or(sql.name);
            database.sql = Some(sql);
        }
        Some(DatabaseKind::Memfile) => {
            if database.persist
                && let Some(file) = file
            {
                security::path(PathPurpose::Leases, "name", file, findings);
            }
            database.name = name;
        }
        None => {}
    }
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
    (kind, database)
}

fn kind(
    fields: &mut MapReader<'_>,
    what: &str,
    findings: &mut ParseContext,
) -> Option<DatabaseKind> {
    if fields.take("type").is_none() {
        let help = "must be one of: memfile, mysql, postgresql";
        findings.error_help(fields.at, format!("{what} lacks `type`"), help);
    }
    let kind = fields.text("type", findings)?;
    match kind.value {
        "memfile" => Some(DatabaseKind::Memfile),
        "mysql" => Some(DatabaseKind::Sql(SqlKind::Mysql)),
        "postgresql" => Some(DatabaseKind::Sql(SqlKind::Postgresql)),
        other => {
            let message = format!("unknown kind of database `{other}`");
            findings.error_help(kind.at, message, "must be one of: memfile, mysql, postgresql");
            None
        }
    }
}

/// Reads the timers and limits of the reclamation of expired leases (`expired-leases-processing`).
pub(crate) fn expired_leases(value: &JsonValue, findings: &mut ParseContext) -> ExpiredLeases {
    const U16: core::ops::RangeInclusive<i64> = 0..=65535;
    let mut expired = ExpiredLeases::default();
    let Some(mut fields) = MapReader::from_value(value, "`expired-leases-processing`", findings)
    else {
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
    for (key, range, field) in keys {
        if let Some(setting) = fields.integer(key, range, findings) {
            *field = setting.value as u32;
        }
    }
    fields.finish(findings);
    expired
}
