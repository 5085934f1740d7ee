//! Reader of a whole configuration of the DNS updater.

use core::net::{IpAddr, Ipv4Addr};

use super::keys::KeyList;
use super::{CheckedDdnsConfig, DdnsConfig, UpdateZones, document, domains};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::{self, JsonValue};
use crate::problem::ConfigProblem;
use crate::shared::family::ConfigServer;
use crate::shared::global::SERVERS;
use crate::shared::{loggers, names, sockets};
use crate::source::Sources;
use crate::{ConfigParseOptions, IncludeResolver};

/// Default port of name change requests, as in Kea.
const DEFAULT_PORT: u16 = 53_001;
/// Default time for an answer of a DNS server, in milliseconds, as in Kea.
const DEFAULT_TIMEOUT_MS: u32 = 500;
/// Reason why the updater does not load the hook library for GSS-TSIG.
const NO_GSS_TSIG: &str =
    "it needs MIT Kerberos, which this program is not linked with; sign updates with `tsig-keys`";

/// DNS updater as the shared readers of keys see it.
struct Ddns;

impl ConfigServer for Ddns {
    const TOP_KEY: &'static str = "DhcpDdns";
    const PROGRAM: &'static str = "dhcp-ddns";
}

/// Reads the configuration of a DNS updater from `text` and checks it. `name` names `text` in
/// problems; `resolver` reads included files and the files of secrets.
///
/// # Errors
/// Returns every problem of the text, warnings included, at least one of them an error.
pub fn parse_ddns(
    options: &ConfigParseOptions,
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedDdnsConfig, Vec<ConfigProblem>> {
    let mut sources = Sources::default();
    let mut findings = ParseContext::with_security(options.policy.clone());
    let root = json::parse(name, text, resolver, &mut sources, &mut findings);
    let config = root.as_ref().and_then(|root| {
        let mut fields = top(root, &mut findings)?;
        Some(read(&mut fields, name, resolver, &mut findings))
    });
    let failed = findings.has_errors();
    let warnings = findings.into_problems(&sources);
    match (config, root) {
        (Some(config), Some(root)) if !failed => {
            Ok(CheckedDdnsConfig { config, document: document::complete(&root), warnings })
        }
        _ => Err(warnings),
    }
}

/// Returns a reader of the map `DhcpDdns`; `None` when there is no usable one.
fn top<'v>(root: &'v JsonValue, findings: &mut ParseContext) -> Option<MapReader<'v>> {
    let mut fields = MapReader::from_value(root, "the document", findings)?;
    let server = fields.take(Ddns::TOP_KEY);
    for entry in fields.untaken_members() {
        if SERVERS.contains(&&*entry.key) || matches!(&*entry.key, "Dhcp4" | "Dhcp6") {
            let message = format!("`{}` is the configuration of another server", entry.key);
            let help = "keep the configuration of each server in a separate file";
            findings.error_help(entry.at, message, help);
        } else {
            fields.unknown(entry, None, findings);
        }
    }
    let Some(server) = server else {
        let help = "write `{ \"DhcpDdns\": { ... } }`";
        findings.error_help(root.at, "there is no `DhcpDdns` here", help);
        return None;
    };
    MapReader::from_value(&server.value, "`DhcpDdns`", findings)
}

fn read(
    fields: &mut MapReader<'_>,
    file: &str,
    resolver: &mut dyn IncludeResolver,
    findings: &mut ParseContext,
) -> DdnsConfig {
    let address = names::address(fields, "ip-address", findings);
    let port = fields.integer("port", 1..=65_535, findings);
    only(fields, "ncr-protocol", ["UDP", "TCP"], findings);
    only(fields, "ncr-format", ["JSON", ""], findings);
    let zones = zones(fields, file, resolver, findings);
    let control_sockets = sockets::read::<Ddns>(fields, findings);
    let loggers = fields.list("loggers", findings).iter();
    let loggers = loggers.filter_map(|item| loggers::logger::<Ddns>(item, findings)).collect();
    for item in fields.list("hooks-libraries", findings) {
        hook_library(item, findings);
    }
    fields.context(findings);
    for entry in fields.untaken_members() {
        fields.unknown(entry, None, findings);
    }
    DdnsConfig {
        address: address.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.value),
        port: port.map_or(DEFAULT_PORT, |port| port.value as u16),
        zones,
        control_sockets,
        loggers,
    }
}

/// Reads the zones with their servers and keys. `resolver` reads the files of secrets as included
/// by the file `file`.
pub(super) fn zones(
    fields: &mut MapReader<'_>,
    file: &str,
    resolver: &mut dyn IncludeResolver,
    findings: &mut ParseContext,
) -> UpdateZones {
    let timeout = fields.integer("dns-server-timeout", 1..=i64::from(i32::MAX), findings);
    let keys = KeyList::read(fields.list("tsig-keys", findings), file, resolver, findings);
    let forward = domains::read(fields, "forward-ddns", &keys, findings);
    let reverse = domains::read(fields, "reverse-ddns", &keys, findings);
    UpdateZones {
        server_timeout_ms: timeout.map_or(DEFAULT_TIMEOUT_MS, |timeout| timeout.value as u32),
        keys: keys.keys,
        forward,
        reverse,
    }
}

/// Reads the word under `key`, of which the updater supports the first, as Kea does.
fn only(
    fields: &mut MapReader<'_>,
    key: &'static str,
    words: [&str; 2],
    findings: &mut ParseContext,
) {
    let Some(text) = fields.text(key, findings) else { return };
    let [supported, known] = words;
    if text.value.eq_ignore_ascii_case(supported) {
        return;
    }
    let message = if !known.is_empty() && text.value.eq_ignore_ascii_case(known) {
        format!("`{key}`: `{known}` is not supported")
    } else {
        format!("`{key}` cannot be `{}`", text.value)
    };
    findings.error_help(text.at, message, format!("must be `{supported}`"));
}

/// Reports a hook library: the updater has none.
fn hook_library(item: &JsonValue, findings: &mut ParseContext) {
    let Some(mut fields) = MapReader::from_value(item, "a hook library", findings) else { return };
    let library = fields.text("library", findings);
    fields.take("parameters");
    fields.context(findings);
    fields.finish(findings);
    let Some(library) = library else {
        findings.error(item.at, "a hook library lacks `library`");
        return;
    };
    if library.value.ends_with("libddns_gss_tsig.so") {
        findings.error_help(library.at, "the hook library gss_tsig is not supported", NO_GSS_TSIG);
    } else {
        let message = format!("the hook library {} is not supported", library.value);
        findings.error_help(library.at, message, "remove it: the updater has no hook libraries");
    }
}
