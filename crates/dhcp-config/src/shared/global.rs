//! Top of the file, and the global keys that both servers have.

use super::class_list::Classified;
use super::control::ControlSocket;
use super::family::ConfigFamily;
use super::hooks::{self, Hooks};
use super::reservations::IdentifierKind;
use super::sql::SqlDatabase;
use super::types::{
    ExpiredLeases, ExtendedInfoChecks, GodwitSettings, LeaseChecks, LeaseDatabase, Logger, Shards,
};
use super::{database, godwit, inactive, loggers, names, options, policy, sockets};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;

/// Seconds for which Kea sets a declined address aside by default.
const DEFAULT_PROBATION_S: u32 = 86_400;

/// Number of samples of a statistic that Kea keeps by default.
const DEFAULT_SAMPLE_COUNT: u32 = 20;

/// Keys at the top of the file, one for each server.
const SERVERS: [&str; 5] = ["Dhcp4", "Dhcp6", "DhcpDdns", "Control-agent", "Netconf"];

/// Global settings that are not inherited.
pub(crate) struct GlobalSettings {
    pub(crate) godwit: GodwitSettings,
    pub(crate) lease_database: LeaseDatabase,
    pub(crate) hosts_databases: Vec<SqlDatabase>,
    pub(crate) expired_leases: ExpiredLeases,
    pub(crate) decline_probation_period_s: u32,
    pub(crate) loggers: Vec<Logger>,
    pub(crate) lease_checks: LeaseChecks,
    pub(crate) extended_info_checks: ExtendedInfoChecks,
    pub(crate) server_tag: String,
    pub(crate) control_sockets: Vec<ControlSocket>,
    pub(crate) hooks: Hooks,
    pub(crate) hosts: HostLookupSettings,
    pub(crate) samples: SampleDefaults,
    /// Flags of [`ConfigFamily::COMPATIBILITY`], in its order.
    pub(crate) compatibility: Vec<bool>,
}

/// Settings of the look-up of reservations.
pub(crate) struct HostLookupSettings {
    pub(crate) identifiers: Vec<IdentifierKind>,
    pub(crate) early_global_lookup: bool,
    pub(crate) ip_unique: bool,
}

/// `statistic-default-sample-count` and `statistic-default-sample-age`.
pub(crate) struct SampleDefaults {
    pub(crate) count: u32,
    pub(crate) age_s: u32,
}

/// Returns the map of the server in a whole document; `None` when it has no usable one. Its options
/// are defined by then, for the readers that follow.
pub(crate) fn top<'v, F: ConfigFamily>(
    root: &'v JsonValue,
    findings: &mut ParseContext,
) -> Option<MapReader<'v>> {
    let mut fields = MapReader::from_value(root, "the document", findings)?;
    let server = fields.take(F::TOP);
    for entry in fields.untaken_members() {
        match &*entry.key {
            "Logging" => findings.error_help(
                entry.at,
                "`Logging` is no longer a key at the top of the file",
                format!("put `loggers` into `{}`", F::TOP),
            ),
            key if SERVERS.contains(&key) => findings.error_help(
                entry.at,
                format!("`{key}` is the configuration of another server"),
                "keep the configuration of each server in a separate file",
            ),
            _ => fields.unknown(entry, None, findings),
        }
    }
    let Some(server) = server else {
        let help = format!("write `{{ \"{}\": {{ ... }} }}`", F::TOP);
        findings.error_help(root.at, format!("there is no `{}` here", F::TOP), help);
        return None;
    };
    let mut fields = MapReader::from_value(&server.value, F::TOP_QUOTED, findings)?;
    options::define::<F>(&mut fields, findings);
    Some(fields)
}

/// Reads the settings of [`GlobalSettings`], and those that are accepted without effect.
pub(crate) fn common<F: Classified>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> GlobalSettings {
    let threads = threads::<F>(fields, findings);
    let godwit = godwit::read(fields.context(findings), threads, findings);
    let database = fields.take("lease-database");
    let lease_database = database::lease_database::<F>(database, &godwit.lease_database, findings);
    let expired = fields.take("expired-leases-processing");
    let expired = expired.map(|entry| database::expired_leases(&entry.value, findings));
    let probation = fields.u32("decline-probation-period", findings);
    let loggers = fields.list("loggers", findings).iter();
    let loggers = loggers.filter_map(|item| loggers::logger::<F>(item, findings)).collect();
    let (lease_checks, extended_info_checks) = sanity_checks(fields, findings);
    let compatibility = compatibility(F::COMPATIBILITY, fields, findings);
    let server_tag = fields.text("server-tag", findings).map_or("", |tag| tag.value).to_owned();
    let hosts_databases = other_databases::<F>(fields, findings);
    machinery::<F>(fields, findings);
    if let Some(entry) = fields.take("dhcp-ddns") {
        names::dhcp_ddns::<F>(&entry.value, findings);
    }
    if let Some(port) = fields.integer("dhcp4o6-port", 0..=65_535, findings)
        && port.value != 0
    {
        findings.inactive(port.at, &inactive::DHCP4O6);
    }
    GlobalSettings {
        godwit,
        lease_database,
        hosts_databases,
        expired_leases: expired.unwrap_or_default(),
        decline_probation_period_s: probation.map_or(DEFAULT_PROBATION_S, |period| period.value),
        loggers,
        lease_checks,
        extended_info_checks,
        server_tag,
        control_sockets: sockets::read::<F>(fields, findings),
        hooks: hooks::read::<F>(fields, findings),
        hosts: hosts::<F>(fields, findings),
        samples: samples(fields, findings),
        compatibility,
    }
}

fn hosts<F: ConfigFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> HostLookupSettings {
    let early = fields.boolean("early-global-reservations-lookup", findings);
    let unique = fields.boolean("ip-reservations-unique", findings);
    // Looking them up first is the only order here.
    fields.boolean("reservations-lookup-first", findings);
    HostLookupSettings {
        identifiers: policy::host_identifiers::<F>(fields, findings),
        early_global_lookup: early.is_some_and(|placed| placed.value),
        ip_unique: unique.is_none_or(|placed| placed.value),
    }
}

fn samples(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> SampleDefaults {
    let count = fields.u32("statistic-default-sample-count", findings);
    let age = fields.u32("statistic-default-sample-age", findings);
    SampleDefaults {
        count: count.map_or(DEFAULT_SAMPLE_COUNT, |placed| placed.value),
        age_s: age.map_or(0, |placed| placed.value),
    }
}

/// Reads the databases of reservations; checks those of configurations.
fn other_databases<F: ConfigFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<SqlDatabase> {
    let single = fields.take("hosts-database");
    let several = fields.take("hosts-databases");
    if let (Some(single), Some(several)) = (single, several) {
        let message = "`hosts-database` is the older form of `hosts-databases`";
        findings.error_with_second_position(single.at, message, "the other is at", several.at);
    }
    let several = fields.list("hosts-databases", findings);
    let all = single.map(|single| &single.value).into_iter().chain(several);
    let databases = all.filter_map(|item| database::hosts_database::<F>(item, findings)).collect();
    if let Some(entry) = fields.take("config-control") {
        database::config_control::<F>(&entry.value, findings);
    }
    databases
}

fn sanity_checks(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> (LeaseChecks, ExtendedInfoChecks) {
    let checks = [
        ("none", LeaseChecks::None),
        ("warn", LeaseChecks::Warn),
        ("fix", LeaseChecks::Fix),
        ("fix-del", LeaseChecks::FixDel),
        ("del", LeaseChecks::Del),
    ];
    let entry = fields.take("sanity-checks");
    let fields =
        entry.and_then(|entry| MapReader::from_value(&entry.value, "`sanity-checks`", findings));
    let Some(mut fields) = fields else { return Default::default() };
    let lease_checks = fields.word("lease-checks", &checks, false, findings);
    let levels = [
        ("none", ExtendedInfoChecks::None),
        ("fix", ExtendedInfoChecks::Fix),
        ("strict", ExtendedInfoChecks::Strict),
        ("pedantic", ExtendedInfoChecks::Pedantic),
    ];
    let extended = fields.word("extended-info-checks", &levels, false, findings);
    fields.finish(findings);
    (lease_checks.unwrap_or_default(), extended.unwrap_or_default())
}

/// Reads the flags of `compatibility`, by name.
fn compatibility(
    names: &[&'static str],
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<bool> {
    let mut flags = vec![false; names.len()];
    let Some(entry) = fields.take("compatibility") else { return flags };
    let Some(mut fields) = MapReader::from_value(&entry.value, "`compatibility`", findings) else {
        return flags;
    };
    for (&key, flag) in names.iter().zip(&mut flags) {
        if let Some(placed) = fields.boolean(key, findings) {
            *flag = placed.value;
        }
    }
    fields.finish(findings);
    flags
}

/// Checks keys of Kea's packet queues. They have no effect: here messages wait in the kernel only.
fn machinery<F: ConfigFamily>(fields: &mut MapReader<'_>, findings: &mut ParseContext) {
    fields.u32("parked-packet-limit", findings);
    let queue = fields.take("dhcp-queue-control");
    if let Some(mut fields) = queue
        .and_then(|entry| MapReader::from_value(&entry.value, "`dhcp-queue-control`", findings))
    {
        fields.boolean("enable-queue", findings);
        fields.text("queue-type", findings);
        fields.integer("capacity", 0..=i64::MAX, findings);
        // Other keys depend on the kind of Kea's queue.
        godwit::refuse_inside::<F>(fields.context(findings), findings);
    }
}

/// Reads the number of threads from `multi-threading`. As in Kea it is on by default, and a size of
/// 0 is the number of processors.
fn threads<F: ConfigFamily>(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Shards {
    const SIZE: core::ops::RangeInclusive<i64> = 0..=65_535;
    let entry = fields.take("multi-threading");
    let inner =
        entry.and_then(|entry| MapReader::from_value(&entry.value, "`multi-threading`", findings));
    let Some(mut fields) = inner else { return Shards::Processors };
    let is_enabled = fields.boolean("enable-multi-threading", findings);
    let size = fields.integer("thread-pool-size", SIZE, findings);
    fields.integer("packet-queue-size", SIZE, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
    match size.map_or(0, |placed| placed.value) {
        _ if is_enabled.is_some_and(|placed| !placed.value) => Shards::Fixed(1),
        0 => Shards::Processors,
        size => Shards::Fixed(size.min(godwit::MAX_SHARDS) as u16),
    }
}
