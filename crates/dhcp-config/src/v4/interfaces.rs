//! `interfaces-config`.

use super::types::{InterfaceSelection, InterfacesConfig, OutboundInterface, SocketType};
use crate::fields::{Fields, address_of, text_of};
use crate::json::{Entry, Value};
use crate::source::{Findings, Placed};

/// Reads `interfaces-config`.
pub(super) fn read(entry: &Entry, findings: &mut Findings) -> InterfacesConfig {
    let mut config = InterfacesConfig::default();
    let Some(mut fields) = Fields::of(&entry.value, "`interfaces-config`", findings) else {
        return config;
    };
    for item in fields.list("interfaces", findings) {
        if let Some(selection) = selection(item, &config.interfaces, findings) {
            config.interfaces.push(selection);
        }
    }
    let types = [("raw", SocketType::Raw), ("udp", SocketType::Udp)];
    let given = fields.take("dhcp-socket-type");
    let socket_type = fields.word("dhcp-socket-type", &types, false, findings);
    config.socket_type = socket_type.unwrap_or(SocketType::Raw);
    let raw = given.is_none() || socket_type == Some(SocketType::Raw);
    if raw && !config.interfaces.is_empty() {
        let type_at = given.map_or(entry.at, |given| given.value.at);
        findings.warn_help(
            type_at,
            "raw sockets are not served yet: clients without an address, on the server's own \
             link, get no answer",
            "relayed clients are served; `\"dhcp-socket-type\": \"udp\"` says the same without \
             this warning",
        );
    }
    let outbound = [
        ("same-as-inbound", OutboundInterface::SameAsInbound),
        ("use-routing", OutboundInterface::UseRouting),
    ];
    if let Some(outbound) = fields.word("outbound-interface", &outbound, false, findings) {
        config.outbound = outbound;
    }
    if let Some(re_detect) = fields.boolean("re-detect", findings) {
        config.re_detect = re_detect.value;
    }
    if let Some(require_all) = fields.boolean("service-sockets-require-all", findings) {
        config.require_all_sockets = require_all.value;
    }
    if let Some(retries) = fields.u32("service-sockets-max-retries", findings) {
        config.socket_max_retries = retries.value;
    }
    if let Some(wait) = fields.u32("service-sockets-retry-wait-time", findings) {
        config.socket_retry_wait_ms = wait.value;
    }
    super::godwit::refuse_inside(fields.context(findings), findings);
    fields.finish(findings);
    config
}

/// One element of `interfaces`, checked against those before it.
fn selection(
    item: &Value,
    before: &[InterfaceSelection],
    findings: &mut Findings,
) -> Option<InterfaceSelection> {
    let text = text_of(item, "interfaces", findings)?;
    let selection =
        if text.value == "*" { InterfaceSelection::All } else { named(text, findings)? };
    if before.iter().any(|other| overlap(other, &selection)) {
        findings.error(text.at, format!("interface `{}` is selected already", text.value));
        return None;
    }
    Some(selection)
}

fn named(text: Placed<&str>, findings: &mut Findings) -> Option<InterfaceSelection> {
    let (name, address) = match text.value.split_once('/') {
        Some((name, address)) => (name.trim(), Some(address.trim())),
        None => (text.value.trim(), None),
    };
    if name.is_empty() {
        findings.error(text.at, "the name of an interface is empty");
        return None;
    }
    let address = match address {
        Some(address) => {
            let placed = Placed { value: address, at: text.at };
            Some(address_of(placed, "interfaces", findings)?.value)
        }
        None => None,
    };
    Some(InterfaceSelection::Named { name: name.to_owned(), address })
}

/// Whether two selections name the same sockets. `*` goes together with names, as in Kea.
fn overlap(one: &InterfaceSelection, other: &InterfaceSelection) -> bool {
    use InterfaceSelection::{All, Named};
    match (one, other) {
        (All, All) => true,
        (Named { name: a, address: x }, Named { name: b, address: y }) => {
            a == b && (x.is_none() || y.is_none() || x == y)
        }
        _ => false,
    }
}
