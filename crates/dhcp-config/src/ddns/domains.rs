//! Reader of `forward-ddns` and `reverse-ddns`: zones and the servers that take their updates.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use ncr::UpdateName;

use super::keys::KeyList;
use super::{DdnsDomain, DdnsServer};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::names;
use crate::source::{PositionedValue, SourcePosition};

/// Default port of DNS servers.
const DNS_PORT: u16 = 53;

/// Reads the zones under `key`, which is `forward-ddns` or `reverse-ddns`.
pub(super) fn read(
    fields: &mut MapReader<'_>,
    key: &'static str,
    keys: &KeyList,
    findings: &mut ParseContext,
) -> Vec<DdnsDomain> {
    let Some(entry) = fields.take(key) else { return Vec::new() };
    let what = if key == "forward-ddns" { "`forward-ddns`" } else { "`reverse-ddns`" };
    let Some(mut fields) = MapReader::from_value(&entry.value, what, findings) else {
        return Vec::new();
    };
    let items = fields.list("ddns-domains", findings);
    fields.context(findings);
    fields.finish(findings);
    let mut positions: BTreeMap<Option<Vec<u8>>, SourcePosition> = BTreeMap::new();
    let mut domains = Vec::new();
    for item in items {
        let Some((at, domain)) = domain(item, keys, findings) else { continue };
        let canonical = domain.name.as_ref().map(UpdateName::canonical_wire);
        if let Some(&other) = positions.get(&canonical) {
            let message = "there is a domain of this name already";
            findings.error_with_second_position(at, message, "the other is at", other);
            continue;
        }
        positions.insert(canonical, at);
        domains.push(domain);
    }
    domains
}

/// Reads one zone; returns it with the position of its name.
fn domain(
    item: &JsonValue,
    keys: &KeyList,
    findings: &mut ParseContext,
) -> Option<(SourcePosition, DdnsDomain)> {
    let mut fields = MapReader::from_value(item, "a domain", findings)?;
    if fields.take("name").is_none() {
        findings.error(item.at, "a domain lacks `name`");
    }
    let name = fields.text("name", findings);
    let key = key_name(&mut fields, findings);
    let has_servers = fields.take("dns-servers").is_some();
    let items = fields.list("dns-servers", findings);
    if items.is_empty() {
        let at = fields.take("dns-servers").map_or(item.at, |entry| entry.value.at);
        let state = if has_servers { "an empty list" } else { "no list" };
        findings.error(at, format!("a domain has {state} of servers, `dns-servers`"));
    }
    fields.context(findings);
    fields.finish(findings);
    let inherited = key.and_then(|name| keys.find(name, findings));
    let servers = items.iter().filter_map(|item| server(item, inherited, keys, findings)).collect();
    let name = name?;
    let zone = match name.value {
        "*" => {
            let message = "updates for `*` go to a zone of that name, which no server has";
            findings.warn_help(name.at, message, "name the zone");
            None
        }
        text => match UpdateName::from_text(text) {
            Some(name) => Some(name),
            None => {
                findings.error(name.at, format!("`name`: `{text}` is no domain name"));
                return None;
            }
        },
    };
    Some((name.at, DdnsDomain { name: zone, servers }))
}

/// Reads one server of a zone. `inherited` is the position of the zone's key.
fn server(
    item: &JsonValue,
    inherited: Option<usize>,
    keys: &KeyList,
    findings: &mut ParseContext,
) -> Option<DdnsServer> {
    let mut fields = MapReader::from_value(item, "a DNS server", findings)?;
    let host = fields.text("hostname", findings).filter(|host| !host.value.is_empty());
    if let Some(host) = host {
        let help = "write `ip-address`";
        findings.error_help(host.at, "`hostname` of a DNS server is not supported", help);
    }
    let address = names::address(&mut fields, "ip-address", findings);
    if address.is_none() && host.is_none() {
        let text = fields.take("ip-address").map(|entry| &entry.value.kind);
        if text.is_none_or(|kind| *kind == crate::json::JsonContent::Text(Box::default())) {
            findings.error(item.at, "a DNS server lacks `ip-address`");
        }
    }
    let port = fields.integer("port", 1..=65_535, findings);
    let key = key_name(&mut fields, findings);
    fields.context(findings);
    fields.finish(findings);
    let key = match key {
        Some(name) => keys.find(name, findings),
        None => inherited,
    };
    let port = port.map_or(DNS_PORT, |port| port.value as u16);
    Some(DdnsServer { address: SocketAddr::new(address?.value, port), key })
}

/// Reads `key-name`, whose empty text means no key.
fn key_name<'v>(
    fields: &mut MapReader<'v>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<&'v str>> {
    fields.text("key-name", findings).filter(|name| !name.value.is_empty())
}
