//! Reader of the top of a configuration file, and of the global keys that both servers have.

use super::class_list::Classified;
use super::config::Compatibility;
use super::control::{ControlSocket, FlexId, Hook, RunScript};
use super::ddns_tuning::DdnsTuning;
use super::family::ConfigFamily;
use super::high_availability::HaRelationship;
use super::inactive::InactiveFeature;
use super::lease_query::LeaseQuery;
use super::legal_log::LegalLog;
use super::name_updates::{self, NameUpdateSender};
use super::reservations::IdentifierKind;
use super::sql::SqlDatabase;
use super::types::{
    ExpiredLeases, ExtendedInfoChecks, GodwitSettings, LeaseChecks, LeaseDatabase, Logger, Shards,
};
use super::{database, godwit, hooks, inactive, loggers, options, policy, sockets};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;

/// Default time for which no client gets a declined address (`decline-probation-period`), in
/// seconds, as in Kea.
const DEFAULT_PROBATION_S: u32 = 86_400;

/// Default number of samples that a statistic keeps (`statistic-default-sample-count`), as in Kea.
const DEFAULT_SAMPLE_COUNT: u32 = 20;

/// Keys at the top of a configuration file, one for each of Kea's servers.
pub(crate) const SERVERS: [&str; 5] = ["Dhcp4", "Dhcp6", "DhcpDdns", "Control-agent", "Netconf"];

/// Global settings that both families have and that subnets do not inherit.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalSettings {
    /// Settings of the server that only Godwit has, from `user-context.godwit`.
    pub godwit: GodwitSettings,
    /// Lease backend of the server (`lease-database`).
    pub lease_database: LeaseDatabase,
    /// Databases of reservations, in the order of the look-up: `hosts-databases`, or the single
    /// `hosts-database`.
    pub hosts_databases: Vec<SqlDatabase>,
    /// Timers and limits of the reclamation of expired leases (`expired-leases-processing`).
    pub expired_leases: ExpiredLeases,
    /// Time for which no client gets a declined address, in seconds (`decline-probation-period`).
    /// Default 86400.
    pub decline_probation_period_s: u32,
    /// Loggers of the server, in the order of the file.
    pub loggers: Vec<Logger>,
    /// Treatment of loaded leases that do not fit the configuration (`sanity-checks.lease-checks`).
    pub lease_checks: LeaseChecks,
    /// Treatment of relay agent information in loaded leases
    /// (`sanity-checks.extended-info-checks`).
    pub extended_info_checks: ExtendedInfoChecks,
    /// Name of the server in configuration databases (`server-tag`); empty when not set.
    pub server_tag: String,
    /// Sockets on which the server takes control commands (`control-sockets`).
    pub control_sockets: Vec<ControlSocket>,
    /// Hook libraries of the configuration that the server has built in, in the order of the file.
    pub hooks: Vec<Hook>,
    /// Parameters of the hook library ddns_tuning; `None` when it is not loaded.
    pub ddns_tuning: Option<DdnsTuning>,
    /// Parameters of the hook library flex-id.
    pub flex_id: FlexId,
    /// Relationships of servers that the server belongs to; empty without the hook library
    /// high_availability.
    pub high_availability: Vec<HaRelationship>,
    /// Parameters of the hook library lease_query; `None` when it is not loaded.
    pub lease_query: Option<LeaseQuery>,
    /// Parameters of the legal log; `None` without it.
    pub legal_log: Option<LegalLog>,
    /// Parameters of the hook library run_script; `None` if the configuration does not name it.
    pub run_script: Option<RunScript>,
    /// Sender of name change requests (`dhcp-ddns`); `None` without `enable-updates`.
    pub name_updates: Option<NameUpdateSender>,
    /// Kinds of identifiers by which the server looks up reservations, in that order
    /// (`host-reservation-identifiers`).
    pub host_identifiers: Vec<IdentifierKind>,
    /// True if the server looks up global reservations before it selects the subnet
    /// (`early-global-reservations-lookup`). Default false.
    pub early_global_reservations_lookup: bool,
    /// True if an address may be reserved for one host only (`ip-reservations-unique`). Default
    /// true.
    pub ip_reservations_unique: bool,
    /// Limits of the samples that each statistic keeps by default.
    pub samples: SampleLimits,
    /// Features of the configuration that this version does not support, ordered by name.
    pub inactive: Vec<InactiveFeature>,
}

/// Limits of the samples that each statistic keeps by default: `statistic-default-sample-count` and
/// `statistic-default-sample-age`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleLimits {
    /// Number of samples that a statistic keeps. Default 20.
    pub count: u32,
    /// Age up to which a statistic keeps samples, in seconds; 0 (the default) is no limit.
    pub age_s: u32,
}

/// Returns a reader of the server's map in a whole configuration; `None` when there is no usable
/// one. The options that the map defines are known afterwards, for the readers that follow.
pub(super) fn top<'v, F: ConfigFamily>(
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

/// Reads the global settings of both families, [`GlobalSettings`], and those that are accepted
/// without effect. The unsupported features are known only when the whole document has been read.
pub(crate) fn read<F: Classified>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> GlobalSettings {
    let threads = threads::<F>(fields, findings);
    let ddns = fields.take("dhcp-ddns");
    let name_updates = ddns.and_then(|entry| name_updates::dhcp_ddns::<F>(&entry.value, findings));
    let has_requests = name_updates.is_some();
    let godwit = godwit::read::<F>(fields.context(findings), threads, has_requests, findings);
    let database = fields.take("lease-database");
    let lease_database = database::lease_database::<F>(database, &godwit.lease_database, findings);
    let is_shared = lease_database.is_shared(&godwit.lease_database);
    if let Some(entry) = database.filter(|_| is_shared && godwit.ddns.is_some()) {
        let message = "`ddns` of `godwit` does not work with a lease database that servers share";
        let help = "run `godwit ddns`, or set `lease-database.exclusive` of `godwit` if no other \
                    server uses the database";
        findings.error_help(entry.at, message, help);
    }
    let expired = fields.take("expired-leases-processing");
    let expired = expired.map(|entry| database::expired_leases(&entry.value, findings));
    let probation = fields.u32("decline-probation-period", findings);
    let loggers = fields.list("loggers", findings).iter();
    let loggers = loggers.filter_map(|item| loggers::logger::<F>(item, findings)).collect();
    let (lease_checks, extended_info_checks) = sanity_checks(fields, findings);
    let server_tag = fields.text("server-tag", findings).map_or("", |tag| tag.value).to_owned();
    let hosts_databases = other_databases::<F>(fields, findings);
    machinery::<F>(fields, findings);
    if let Some(port) = fields.integer("dhcp4o6-port", 0..=65_535, findings)
        && port.value != 0
    {
        findings.inactive(port.at, &inactive::DHCP4O6);
    }
    let control_sockets = sockets::read::<F>(fields, findings);
    let hooks = hooks::read::<F>(fields, findings);
    findings.tunes_names = hooks.ddns_tuning.is_some();
    let early_lookup = fields.boolean("early-global-reservations-lookup", findings);
    let unique = fields.boolean("ip-reservations-unique", findings);
    // Looking them up first is the only order here.
    fields.boolean("reservations-lookup-first", findings);
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
        control_sockets,
        hooks: hooks.active,
        ddns_tuning: hooks.ddns_tuning,
        flex_id: hooks.flex_id,
        lease_query: hooks.lease_query,
        legal_log: hooks.legal_log,
        high_availability: hooks.high_availability,
        run_script: hooks.run_script,
        name_updates,
        host_identifiers: policy::host_identifiers::<F>(fields, findings),
        early_global_reservations_lookup: early_lookup.is_some_and(|setting| setting.value),
        ip_reservations_unique: unique.is_none_or(|setting| setting.value),
        samples: samples(fields, findings),
        inactive: Vec::new(),
    }
}

impl GlobalSettings {
    /// Sets the values that are known only when the whole document has been read.
    pub(crate) fn complete(&mut self, findings: &mut ParseContext) {
        self.inactive = findings.inactive_features();
        if let Some(legal_log) = &mut self.legal_log {
            legal_log.silent_subnets = core::mem::take(&mut findings.silent_subnets);
        }
    }
}

fn samples(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> SampleLimits {
    let count = fields.u32("statistic-default-sample-count", findings);
    let age = fields.u32("statistic-default-sample-age", findings);
    SampleLimits {
        count: count.map_or(DEFAULT_SAMPLE_COUNT, |setting| setting.value),
        age_s: age.map_or(0, |setting| setting.value),
    }
}

/// Reads the databases of reservations; checks the keys of databases of configurations.
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

/// Reads the map `compatibility`.
pub(super) fn compatibility<F: Classified>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Compatibility {
    let mut compatibility = Compatibility::default();
    let entry = fields.take("compatibility");
    let fields =
        entry.and_then(|entry| MapReader::from_value(&entry.value, "`compatibility`", findings));
    let Some(mut fields) = fields else { return compatibility };
    let mut flag = |key| fields.boolean(key, findings).is_some_and(|setting| setting.value);
    compatibility.lenient_option_parsing = flag("lenient-option-parsing");
    if !F::IS_V6 {
        compatibility.ignore_dhcp_server_identifier = flag("ignore-dhcp-server-identifier");
        compatibility.ignore_rai_link_selection = flag("ignore-rai-link-selection");
        compatibility.exclude_first_last_24 = flag("exclude-first-last-24");
    }
    fields.finish(findings);
    compatibility
}

/// Checks the global keys of Kea's packet queues, which have no effect: in this server messages
/// wait in the kernel only.
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

/// Reads the number of shards from the map `multi-threading`. As in Kea, multi-threading is on by
/// default, and a size of 0 is the number of processors.
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
    match size.map_or(0, |setting| setting.value) {
        _ if is_enabled.is_some_and(|setting| !setting.value) => Shards::Fixed(1),
        0 => Shards::Processors,
        size => Shards::Fixed(size.min(godwit::MAX_SHARDS) as u16),
    }
}
