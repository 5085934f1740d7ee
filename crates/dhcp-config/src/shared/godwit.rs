//! Reader of `user-context.godwit`: settings that Kea does not have.

use core::ops::RangeInclusive;

use super::family::{ConfigFamily, ConfigServer};
use super::local_names;
use super::security::{self, PathPurpose};
use super::types::{
    Durability, GodwitHostsDatabases, GodwitLeaseDatabase, GodwitLegalLog, GodwitSettings,
    LegalLogFailure, Shards,
};
use super::webhooks;
use crate::IncludeResolver;
use crate::context::ParseContext;
use crate::ddns::{self, SecretFiles};
use crate::fields::{MapReader, text_of};
use crate::json::{JsonContent, JsonValue};

/// Maximum number of shards of a server: more than any machine has processors for.
pub(crate) const MAX_SHARDS: i64 = 1024;
/// Permitted sizes of a socket's receive buffer, in bytes: the kernel gives no less than the
/// minimum, and the maximum holds a second of the shortest messages at Gigabit speed.
const RECEIVE_BUFFER_BYTES: RangeInclusive<i64> = 4_608..=1 << 30;
/// Maximum of Godwit's settings for the flush interval and the hold of an offered address, in
/// milliseconds: an hour.
const MAX_INTERVAL_MS: i64 = 3_600_000;
/// Permitted numbers of host keys that a shard may cache (`cache-keys`): a cache smaller than the
/// number of keys that messages can wait for is useless.
const CACHE_KEYS: RangeInclusive<i64> = 32_768..=1 << 28;
/// Permitted lifetimes of cached hosts (`cache-lifetime-ms`), in milliseconds: a lifetime shorter
/// than a database query takes is useless.
const CACHE_LIFETIME_MS: RangeInclusive<i64> = 100..=MAX_INTERVAL_MS;

/// Reads Godwit's own settings from the global `user-context`, if there is one; without `shards`
/// the number of shards is `threads`. `has_requests` if the server makes name change requests.
pub(crate) fn read<F: ConfigFamily>(
    context: Option<&JsonValue>,
    threads: Shards,
    has_requests: bool,
    findings: &mut ParseContext,
) -> GodwitSettings {
    let mut settings = GodwitSettings { shards: threads, ..GodwitSettings::default() };
    let Some(value) = context.and_then(inside) else { return settings };
    let Some(mut fields) = MapReader::from_value(value, "`user-context.godwit`", findings) else {
        return settings;
    };
    let durabilities = [
        ("none", Durability::None),
        ("interval", Durability::Interval),
        ("always", Durability::Always),
    ];
    if let Some(durability) = fields.word("durability", &durabilities, false, findings) {
        settings.durability = durability;
    }
    if let Some(setting) = fields.integer("flush-interval-ms", 1..=MAX_INTERVAL_MS, findings) {
        settings.flush_interval_ms = setting.value as u32;
        if settings.durability != Durability::Interval {
            let help = "it applies only with `\"durability\": \"interval\"`";
            findings.warn_help(setting.at, "`flush-interval-ms` has no effect here", help);
        }
    }
    if let Some(setting) = fields.integer("shards", 1..=MAX_SHARDS, findings) {
        settings.shards = Shards::Fixed(setting.value as u16);
    }
    if let Some(setting) = fields.integer("hold-time-ms", 1..=MAX_INTERVAL_MS, findings) {
        settings.hold_time_ms = setting.value as u32;
    }
    if let Some(setting) = fields.boolean("segmentation", findings) {
        settings.segmentation = setting.value;
    }
    if let Some(setting) = fields.boolean("kea-exporter-metrics", findings) {
        settings.kea_exporter_metrics = setting.value;
    }
    if let Some(setting) = fields.boolean("prefix-routes", findings) {
        settings.prefix_routes = setting.value;
        if setting.value && F::SPACE != "dhcp6" {
            findings.warn(setting.at, "`prefix-routes` has no effect in DHCPv4");
        }
    }
    if let Some(setting) = fields.integer("receive-buffer-bytes", RECEIVE_BUFFER_BYTES, findings) {
        settings.receive_buffer_bytes = Some(setting.value as u32);
    }
    if let Some(entry) = fields.take("lease-database") {
        settings.lease_database = lease_database(&entry.value, findings);
    }
    if let Some(entry) = fields.take("hosts-databases") {
        settings.hosts_databases = hosts_databases(&entry.value, findings);
    }
    if let Some(entry) = fields.take("legal-log") {
        settings.legal_log = legal_log(&entry.value, findings);
    }
    if let Some(entry) = fields.take("local-names") {
        settings.local_names = local_names::read(&entry.value, findings);
    }
    if let Some(entry) = fields.take("ddns") {
        settings.ddns = ddns::read_inside(&entry.value, has_requests, findings);
    }
    settings.webhooks = webhooks::read(&mut fields, findings);
    // [`is_lenient`] has read its value.
    fields.boolean("lenient", findings);
    fields.octets("comment", findings);
    fields.finish(findings);
    settings
}

/// Returns true if the server is to use the configuration `root` without the parts that have
/// errors: `user-context.godwit.lenient` of its global scope.
pub(crate) fn is_lenient(root: &JsonValue) -> bool {
    let flag = settings_of(root).and_then(|settings| member(settings, "lenient"));
    flag.is_some_and(|flag| flag.kind == JsonContent::Bool(true))
}

/// Reads the files of secrets that the configuration `root` of the file `file` names for an updater
/// inside the server.
pub(crate) fn secret_files(
    root: &JsonValue,
    file: &str,
    resolver: &mut dyn IncludeResolver,
) -> SecretFiles {
    let ddns = settings_of(root).and_then(|settings| member(settings, "ddns"));
    ddns.map_or_else(SecretFiles::default, |ddns| SecretFiles::read(ddns, file, resolver))
}

/// Returns Godwit's own settings in the configuration `root`.
fn settings_of(root: &JsonValue) -> Option<&JsonValue> {
    let top = member(root, "Dhcp4").or_else(|| member(root, "Dhcp6"));
    top.and_then(|top| member(top, "user-context")).and_then(inside)
}

/// Reads Godwit's settings of the cache for reservations in databases.
fn hosts_databases(value: &JsonValue, findings: &mut ParseContext) -> GodwitHostsDatabases {
    let mut hosts = GodwitHostsDatabases::default();
    let Some(mut fields) = MapReader::from_value(value, "`hosts-databases` of `godwit`", findings)
    else {
        return hosts;
    };
    if let Some(keys) = fields.integer("cache-keys", CACHE_KEYS, findings) {
        hosts.cache_keys = keys.value as u32;
    }
    if let Some(lifetime) = fields.integer("cache-lifetime-ms", CACHE_LIFETIME_MS, findings) {
        hosts.cache_lifetime_ms = lifetime.value as u32;
    }
    fields.octets("comment", findings);
    fields.finish(findings);
    hosts
}

/// Reads Godwit's own settings of the legal log.
fn legal_log(value: &JsonValue, findings: &mut ParseContext) -> GodwitLegalLog {
    let mut settings = GodwitLegalLog::default();
    let Some(mut fields) = MapReader::from_value(value, "`legal-log` of `godwit`", findings) else {
        return settings;
    };
    settings.is_flushed = fields.boolean("flush", findings).is_some_and(|flag| flag.value);
    let choices = [("hold", LegalLogFailure::Hold), ("serve", LegalLogFailure::Serve)];
    settings.on_failure = fields.word("on-failure", &choices, false, findings).unwrap_or_default();
    fields.octets("comment", findings);
    fields.finish(findings);
    settings
}

/// Reads Godwit's own settings of the lease database.
fn lease_database(value: &JsonValue, findings: &mut ParseContext) -> GodwitLeaseDatabase {
    let mut database = GodwitLeaseDatabase::default();
    let Some(mut fields) = MapReader::from_value(value, "`lease-database` of `godwit`", findings)
    else {
        return database;
    };
    for item in fields.list("hosts", findings) {
        database.hosts.extend(host(item, findings));
    }
    database.is_exclusive = fields.boolean("exclusive", findings).is_some_and(|flag| flag.value);
    let path = fields.text("sqlite", findings);
    if let Some(path) = path {
        security::path(PathPurpose::Leases, "sqlite", path, findings);
    }
    database.sqlite = path.map(|path| path.value.to_owned());
    fields.octets("comment", findings);
    fields.finish(findings);
    database
}

/// Reads a host of a database: `name`, `name:port`, `[address]:port` or an IPv6 address alone.
fn host(value: &JsonValue, findings: &mut ParseContext) -> Option<(String, Option<u16>)> {
    let text = text_of(value, "hosts", findings)?;
    let (name, port) = match text.value.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        _ => (text.value, None),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let port = port.map(str::parse::<u16>).transpose();
    match port {
        Ok(port) if !name.is_empty() && port != Some(0) => Some((name.to_owned(), port)),
        _ => {
            let message = format!("`{}` is not a host", text.value);
            findings.error_help(text.at, message, "write `name` or `name:port`");
            None
        }
    }
}

/// Reports a `godwit` in the context of an inner scope, where the server does not read it.
pub(crate) fn refuse_inside<S: ConfigServer>(
    context: Option<&JsonValue>,
    findings: &mut ParseContext,
) {
    if let Some(value) = context.and_then(inside) {
        let help = format!("put it into the `user-context` of `{}` itself", S::TOP_KEY);
        findings.warn_help(value.at, "`godwit` is read from the global scope only", help);
    }
}

/// Returns the value of `godwit` in a user context.
pub(crate) fn inside(context: &JsonValue) -> Option<&JsonValue> {
    member(context, "godwit")
}

/// Returns the value of `key` in a JSON map.
pub(crate) fn member<'v>(map: &'v JsonValue, key: &str) -> Option<&'v JsonValue> {
    match &map.kind {
        JsonContent::Map(entries) => entries.iter().find(|e| *e.key == *key).map(|e| &e.value),
        _ => None,
    }
}
