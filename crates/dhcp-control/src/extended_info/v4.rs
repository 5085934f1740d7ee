//! Check of `relay-agent-info` in DHCPv4 leases: option 82 as text of its bytes (older form), or
//! with its identifiers next to it (Kea 2.3 and later).

use dhcp_config::ExtendedInfoChecks;
use dhcp_wire::v4::{OptionValue, relay};
use serde_json::{Map, Value};

use super::{ExtendedInfo, check_identifiers, check_keys, dropped, octets, put_identifier};
use crate::text::octets_from_hex;

const KEY: &str = "relay-agent-info";

/// Checks `relay-agent-info` in `isc`, the map below `ISC` in a DHCPv4 lease's user context.
pub(super) fn check(isc: &mut Map<String, Value>, level: ExtendedInfoChecks) -> ExtendedInfo {
    let (info, outcome) = match isc.remove(KEY) {
        None => return ExtendedInfo::Unchanged,
        Some(Value::String(text)) => (upgraded(text), ExtendedInfo::Upgraded),
        Some(Value::Object(map)) => (verified(map, level), ExtendedInfo::Unchanged),
        Some(_) => return dropped(format!("`{KEY}` is neither map nor string")),
    };
    match info {
        Ok(map) => {
            isc.insert(KEY.to_owned(), Value::Object(map));
            outcome
        }
        Err(why) => dropped(format!("in `{KEY}`: {why}")),
    }
}

fn upgraded(text: String) -> Result<Map<String, Value>, String> {
    let octets = octets_from_hex(&text)?;
    let value = OptionValue::from_slice(&octets);
    let mut map = Map::new();
    for (key, code) in [("remote-id", relay::REMOTE_ID), ("relay-id", relay::RELAY_ID)] {
        if let Some(sub_option) = relay::sub_option(value, code) {
            put_identifier(&mut map, key, sub_option.octets());
        }
    }
    map.insert("sub-options".to_owned(), Value::from(text));
    Ok(map)
}

fn verified(
    map: Map<String, Value>,
    level: ExtendedInfoChecks,
) -> Result<Map<String, Value>, String> {
    if matches!(level, ExtendedInfoChecks::Strict | ExtendedInfoChecks::Pedantic) {
        octets(&map, "sub-options")?;
        check_identifiers(&map)?;
    }
    if level == ExtendedInfoChecks::Pedantic {
        check_keys(&map, &["sub-options", "remote-id", "relay-id", "comment"])?;
    }
    Ok(map)
}
