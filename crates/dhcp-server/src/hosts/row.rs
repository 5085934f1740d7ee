//! Conversion of a host's database rows to a reservation of a configuration.

use base::Hex;
use dhcp_control::IpVersion;
use dhcp_store::sql::{HostOption, HostResource, HostTableRow};
use serde_json::{Map, Value, json};

/// Configuration keys of host identifiers, in the order of Kea's numbers.
const IDENTIFIERS: [&str; 5] = ["hw-address", "duid", "circuit-id", "client-id", "flex-id"];

/// Returns the name of the database host `host` for messages: its number and its identifier.
pub(super) fn identity(host: &HostTableRow) -> String {
    let kind = IDENTIFIERS.get(usize::from(host.identifier_type)).unwrap_or(&"identifier");
    format!("host {} of a hosts database ({kind} {})", host.host_id, Hex(&host.identifier))
}

/// Returns the reservation of the database host `host` as it would be in a configuration, without
/// its user contexts.
pub(super) fn to_json(host: &HostTableRow, version: IpVersion) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    let kind = IDENTIFIERS.get(usize::from(host.identifier_type)).unwrap_or(&"identifier");
    put(kind, json!(Hex(&host.identifier).to_string()));
    let texts = [
        ("hostname", &host.hostname),
        ("server-hostname", &host.server_hostname),
        ("boot-file-name", &host.boot_file_name),
    ];
    for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        put(key, json!(text));
    }
    for (key, address) in [("ip-address", host.address), ("next-server", host.next_server)] {
        if let Some(address) = address {
            put(key, json!(address.to_string()));
        }
    }
    if version == IpVersion::V6 {
        let (prefixes, addresses): (Vec<HostResource>, Vec<HostResource>) =
            host.resources.iter().copied().partition(|resource| resource.is_prefix);
        let addresses = addresses.iter().map(|one| json!(one.address.to_string()));
        put("ip-addresses", addresses.collect());
        let texts = prefixes.iter().map(|one| json!(format!("{}/{}", one.address, one.len)));
        put("prefixes", texts.collect());
        let excluded = prefixes.iter().map(|one| match one.excluded {
            Some((prefix, len)) => json!(format!("{prefix}/{len}")),
            None => json!(""),
        });
        put("excluded-prefixes", excluded.collect());
    }
    let classes = host.client_classes.split(',').map(str::trim).filter(|name| !name.is_empty());
    put("client-classes", classes.map(Value::from).collect());
    put("option-data", host.options.iter().map(option).collect());
    Value::Object(map)
}

/// Returns the reservation of the database host `host` for commands that show it: with its user
/// contexts, and the options of each space together, as Kea has them.
pub(super) fn to_shown_json(host: &HostTableRow, version: IpVersion) -> Value {
    let mut document = to_json(host, version);
    let mut options: Vec<&HostOption> = host.options.iter().collect();
    options.sort_by_key(|option| space_order(&option.space));
    let shown = options.into_iter().map(|with_context| {
        let mut shown = option(with_context);
        put_context(&mut shown, &with_context.user_context);
        shown
    });
    document["option-data"] = shown.collect();
    put_context(&mut document, &host.user_context);
    if host.resources.iter().all(|resource| resource.excluded.is_none())
        && let Some(map) = document.as_object_mut()
    {
        map.remove("excluded-prefixes");
    }
    document
}

/// Returns the key by which Kea sorts the spaces of options: spaces of vendors come last.
pub(super) fn space_order(space: &str) -> (bool, &str) {
    (space.starts_with("vendor-"), space)
}

/// Puts the user context with the JSON text `context` into `document`, unless it is empty or no
/// map.
fn put_context(document: &mut Value, context: &str) {
    if let Ok(context @ Value::Object(_)) = serde_json::from_str(context) {
        document["user-context"] = context;
    }
}

fn option(option: &HostOption) -> Value {
    let is_text = !option.formatted_value.is_empty();
    let data = match &option.value {
        _ if is_text => option.formatted_value.clone(),
        Some(octets) => Hex(octets).to_string(),
        None => String::new(),
    };
    let mut value = json!({
        "code": option.code,
        "csv-format": is_text,
        "data": data,
        "always-send": option.is_persistent,
        "never-send": option.is_cancelled,
    });
    if !option.space.is_empty() {
        value["space"] = json!(option.space);
    }
    if let Ok(classes @ Value::Array(_)) = serde_json::from_str(&option.client_classes) {
        value["client-classes"] = classes;
    }
    value
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_row_is_read_as_the_reservation_that_it_stands_for() {
        let host = HostTableRow {
            identifier_type: 3,
            identifier: vec![1, 0xab],
            hostname: "a".to_owned(),
            client_classes: "gold, silver".to_owned(),
            address: Some(Ipv4Addr::new(192, 0, 2, 7)),
            boot_file_name: "/image".to_owned(),
            options: vec![
                HostOption {
                    code: 6,
                    formatted_value: "192.0.2.53".to_owned(),
                    space: "dhcp4".to_owned(),
                    ..HostOption::default()
                },
                HostOption {
                    code: 222,
                    value: Some(vec![1, 2]),
                    is_persistent: true,
                    client_classes: "[ \"gold\" ]".to_owned(),
                    ..HostOption::default()
                },
            ],
            ..HostTableRow::default()
        };
        let (read, _) =
            dhcp_config::parse_host4("[]", &to_json(&host, IpVersion::V4).to_string()).unwrap();
        assert_eq!(read.identifier.octets, [1, 0xab]);
        assert_eq!(read.identifier.kind, dhcp_config::IdentifierKind::ClientId);
        assert_eq!(read.client_classes, ["gold", "silver"]);
        assert_eq!(read.reserved.address, host.address);
        assert_eq!((&*read.hostname, &*read.reserved.boot_file_name), ("a", "/image"));
        assert_eq!(read.options[0].octets, [192, 0, 2, 53]);
        assert_eq!((&read.options[1].octets[..], read.options[1].always_send), (&[1, 2][..], true));
        assert_eq!(read.options[1].client_classes, ["gold"]);
    }

    #[test]
    fn addresses_and_prefixes_keep_their_order() {
        let resource = |text: &str, len, excluded| HostResource {
            address: text.parse().unwrap(),
            len,
            is_prefix: len < 128,
            excluded,
        };
        let part = ("2001:db8:2::".parse().unwrap(), 64);
        let host = HostTableRow {
            identifier_type: 1,
            identifier: vec![0, 1, 2],
            resources: vec![
                resource("2001:db8::2", 128, None),
                resource("2001:db8:1::", 56, None),
                resource("2001:db8::1", 128, None),
                resource("2001:db8:2::", 56, Some(part)),
            ],
            ..HostTableRow::default()
        };
        let (read, _) =
            dhcp_config::parse_host6("[]", &to_json(&host, IpVersion::V6).to_string()).unwrap();
        let addresses: Vec<_> = read.reserved.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["2001:db8::2", "2001:db8::1"]);
        let excluded: Vec<_> = read.reserved.prefixes.iter().map(|one| one.excluded).collect();
        assert_eq!(excluded, [None, Some(part)]);
    }
}
