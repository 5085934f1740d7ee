//! Conversion of a reservation of a configuration to a host's rows in a database, with the values
//! that Kea writes.

use std::net::IpAddr;

use dhcp_config::HostIdentifier;
use dhcp_control::kea_json;
use dhcp_store::sql::{HostOption, HostResource, HostTableRow};
use serde_json::Value;

use super::row::space_order;

/// Returns the rows of the reservation `document`, as `config-get` shows one, for the subnet
/// `subnet_id` and the client `identifier`.
pub(crate) fn host_row(
    identifier: &HostIdentifier,
    subnet_id: u32,
    document: &Value,
) -> HostTableRow {
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    let address = |key: &str| match document[key].as_str()?.parse() {
        Ok(IpAddr::V4(address)) if !address.is_unspecified() => Some(address),
        _ => None,
    };
    let classes = texts(&document["client-classes"]).map(str::trim);
    let classes: Vec<&str> = classes.filter(|name| !name.is_empty()).collect();
    let options = document["option-data"].as_array().into_iter().flatten();
    let mut options: Vec<HostOption> = options.map(option).collect();
    options.sort_by(|one, other| space_order(&one.space).cmp(&space_order(&other.space)));
    HostTableRow {
        host_id: 0,
        identifier: identifier.octets.clone(),
        identifier_type: identifier.kind as u8,
        subnet_id,
        hostname: text("hostname"),
        client_classes: classes.join(","),
        user_context: context(document),
        auth_key: String::new(),
        address: address("ip-address"),
        next_server: address("next-server"),
        server_hostname: text("server-hostname"),
        boot_file_name: text("boot-file-name"),
        resources: resources(document),
        options,
    }
}

/// Returns the texts in a JSON list.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the user context of `document` as the text of its column; empty without one.
fn context(document: &Value) -> String {
    document.get("user-context").map(kea_json).unwrap_or_default()
}

/// Returns the addresses and then the prefixes of a DHCPv6 reservation.
fn resources(document: &Value) -> Vec<HostResource> {
    let addresses = texts(&document["ip-addresses"]).filter_map(|text| {
        let address = text.parse().ok()?;
        Some(HostResource { address, len: 128, is_prefix: false, excluded: None })
    });
    let mut excluded = texts(&document["excluded-prefixes"]);
    let prefixes = texts(&document["prefixes"]).filter_map(|text| {
        let excluded = excluded.next().and_then(prefix);
        let (address, len) = prefix(text)?;
        Some(HostResource { address, len, is_prefix: true, excluded })
    });
    addresses.chain(prefixes).collect()
}

/// Returns the address and the length of a prefix.
fn prefix(text: &str) -> Option<(std::net::Ipv6Addr, u8)> {
    let (address, len) = text.split_once('/')?;
    Some((address.trim().parse().ok()?, len.trim().parse().ok()?))
}

/// Returns the row of an element of `option-data`.
fn option(document: &Value) -> HostOption {
    let is_true = |key: &str| document[key] == Value::Bool(true);
    let data = document["data"].as_str().unwrap_or_default();
    let (value, formatted_value) =
        if is_true("csv-format") { (None, data.to_owned()) } else { (octets(data), String::new()) };
    let classes =
        document.get("client-classes").filter(|classes| **classes != Value::Array(vec![]));
    HostOption {
        code: document["code"].as_u64().and_then(|code| code.try_into().ok()).unwrap_or(0),
        value,
        formatted_value,
        space: document["space"].as_str().unwrap_or_default().to_owned(),
        is_persistent: is_true("always-send"),
        is_cancelled: is_true("never-send"),
        client_classes: classes.map(kea_json).unwrap_or_default(),
        user_context: context(document),
    }
}

/// Returns the bytes of hexadecimal digits, as documents have them; `None` without any.
fn octets(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let octets = pairs.map(|pair| {
        let text = core::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    });
    octets.collect::<Option<Vec<u8>>>().filter(|octets| !octets.is_empty())
}

#[cfg(test)]
mod tests {
    use dhcp_config::{IdentifierKind, host_document4, host_document6};
    use dhcp_control::IpVersion;
    use serde_json::json;

    use super::*;
    use crate::hosts::row::to_shown_json;

    fn identifier(kind: IdentifierKind) -> HostIdentifier {
        HostIdentifier { kind, octets: vec![1, 0xab, 2] }
    }

    #[test]
    fn a_reservation_of_dhcpv4_survives_becoming_rows() {
        let definitions = json!([{ "name": "own", "code": 222, "type": "uint32" }]);
        let host = json!({
            "client-id": "01:ab:02", "ip-address": "192.0.2.7", "hostname": "A.example",
            "next-server": "192.0.2.1", "server-hostname": "boot", "boot-file-name": "/image",
            "client-classes": ["gold", "silver"], "user-context": { "a": [1, true] },
            "option-data": [
                { "name": "domain-name-servers", "data": "192.0.2.53, 192.0.2.54" },
                { "code": 222, "data": "7", "always-send": true, "client-classes": ["gold"] },
                { "code": 223, "data": "00FF", "user-context": { "b": 2 } },
                { "name": "host-name", "csv-format": false, "data": "", "never-send": true },
                { "space": "vendor-4491", "code": 2, "csv-format": false, "data": "0A" },
                { "space": "other", "code": 1, "csv-format": true, "data": "x" },
            ],
        });
        let document = host_document4(&definitions, host);
        let row = host_row(&identifier(IdentifierKind::ClientId), 7, &document);
        assert_eq!((row.identifier_type, row.subnet_id), (3, 7));
        assert_eq!(row.client_classes, "gold,silver");
        assert_eq!(row.user_context, "{ \"a\": [ 1, true ] }");
        let values = row
            .options
            .iter()
            .map(|option| (option.code, option.value.clone(), option.formatted_value.as_str()));
        assert_eq!(
            values.collect::<Vec<_>>(),
            [
                (6, None, "192.0.2.53, 192.0.2.54"),
                (222, None, "7"),
                (223, Some(vec![0, 255]), ""),
                (12, None, ""),
                (1, None, "x"),
                (2, Some(vec![10]), ""),
            ]
        );
        assert_eq!(row.options[1].client_classes, "[ \"gold\" ]");
        assert_eq!(row.options[2].user_context, "{ \"b\": 2 }");
        let shown = host_document4(&definitions, to_shown_json(&row, IpVersion::V4));
        let mut expected = document;
        // Kea shows the options of each space together.
        expected["option-data"].as_array_mut().expect("a list").swap(4, 5);
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_reservation_of_dhcpv6_survives_becoming_rows() {
        let host = json!({
            "duid": "01:ab:02", "ip-addresses": ["2001:db8::2", "2001:db8::1"],
            "prefixes": ["2001:db8:1::/48", "2001:db8:2::/56"],
            "excluded-prefixes": ["2001:db8:1:1::/64", ""],
        });
        let document = host_document6(&json!([]), host);
        let row = host_row(&identifier(IdentifierKind::Duid), 0, &document);
        let texts = row.resources.iter().map(|one| format!("{}/{}", one.address, one.len));
        let texts: Vec<String> = texts.collect();
        assert_eq!(
            texts,
            ["2001:db8::2/128", "2001:db8::1/128", "2001:db8:1::/48", "2001:db8:2::/56"]
        );
        assert_eq!(row.resources[2].excluded.map(|(_, len)| len), Some(64));
        assert_eq!((row.resources[3].excluded, row.resources[3].is_prefix), (None, true));
        let shown = host_document6(&json!([]), to_shown_json(&row, IpVersion::V6));
        assert_eq!(shown, document);
    }
}
