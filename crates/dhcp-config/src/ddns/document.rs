//! Configuration of the DNS updater as the command `config-get` shows it: with defaults.

use serde_json::{Map, Value, json};

use crate::document::{complete_logger, complete_socket, for_each_map, plain};
use crate::json::JsonValue;

/// Returns the configuration `root` with Kea's defaults.
pub(super) fn complete(root: &JsonValue) -> Value {
    let mut document = plain(root);
    if let Some(ddns) = document.get_mut("DhcpDdns").and_then(Value::as_object_mut) {
        complete_ddns(ddns);
    }
    document
}

fn complete_ddns(ddns: &mut Map<String, Value>) {
    if let Some(socket) = ddns.remove("control-socket") {
        ddns.insert("control-sockets".to_owned(), json!([socket]));
    }
    let defaults = [
        ("ip-address", json!("127.0.0.1")),
        ("port", json!(53_001)),
        ("dns-server-timeout", json!(500)),
        ("ncr-protocol", json!("UDP")),
        ("ncr-format", json!("JSON")),
        ("tsig-keys", json!([])),
        ("forward-ddns", json!({})),
        ("reverse-ddns", json!({})),
        ("hooks-libraries", json!([])),
    ];
    for (key, default) in defaults {
        ddns.entry(key).or_insert(default);
    }
    for_each_map(ddns, "tsig-keys", |key| {
        key.entry("digest-bits").or_insert_with(|| json!(0));
    });
    for direction in ["forward-ddns", "reverse-ddns"] {
        let Some(domains) = ddns.get_mut(direction).and_then(Value::as_object_mut) else {
            continue;
        };
        domains.entry("ddns-domains").or_insert_with(|| json!([]));
        for_each_map(domains, "ddns-domains", |domain| {
            for_each_map(domain, "dns-servers", |server| {
                server.entry("hostname").or_insert_with(|| json!(""));
                server.entry("port").or_insert_with(|| json!(53));
            });
        });
    }
    for_each_map(ddns, "control-sockets", complete_socket);
    for_each_map(ddns, "loggers", complete_logger);
}
