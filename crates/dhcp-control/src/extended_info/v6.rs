//! Check of `relay-info` in DHCPv6 leases: a list of relay agents, which had the name `relays` and
//! no identifiers before Kea 2.3.

use core::net::Ipv6Addr;

use dhcp_config::ExtendedInfoChecks;
use dhcp_wire::v6::{Dhcp6OptionIterator, option};
use serde_json::{Map, Value};

use super::{ExtendedInfo, check_identifiers, check_keys, dropped, octets, put_identifier};

const OLD: &str = "relays";
const KEY: &str = "relay-info";

/// Checks the relay agents' data in `isc`, the map below `ISC` in a DHCPv6 lease's user context.
pub(super) fn check(isc: &mut Map<String, Value>, level: ExtendedInfoChecks) -> ExtendedInfo {
    let (list, outcome) = match (isc.remove(OLD), isc.remove(KEY)) {
        (None, None) => return ExtendedInfo::Unchanged,
        (None, Some(list)) => (list, ExtendedInfo::Unchanged),
        (Some(list), None) => (list, ExtendedInfo::Upgraded),
        // The writer of the newer form knew more.
        (Some(_), Some(list)) => (list, ExtendedInfo::Tidied),
    };
    let Value::Array(mut relays) = list else {
        return dropped(format!("`{KEY}` is not a list"));
    };
    if relays.is_empty() {
        return dropped(format!("`{KEY}` is empty"));
    }
    let is_upgrade = outcome == ExtendedInfo::Upgraded;
    for (number, relay) in relays.iter_mut().enumerate() {
        let checked = match relay {
            Value::Object(map) => check_relay(map, is_upgrade, level),
            _ => Err("it is not a map".to_owned()),
        };
        if let Err(why) = checked {
            return dropped(format!("in relay agent {number} of `{KEY}`: {why}"));
        }
    }
    isc.insert(KEY.to_owned(), Value::Array(relays));
    outcome
}

fn check_relay(
    relay: &mut Map<String, Value>,
    is_upgrade: bool,
    level: ExtendedInfoChecks,
) -> Result<(), String> {
    let options = octets(relay, "options")?;
    if is_upgrade && let Some(options) = options {
        let options = Dhcp6OptionIterator::new(&options);
        for (key, code) in [("remote-id", option::REMOTE_ID), ("relay-id", option::RELAY_ID)] {
            put_identifier(relay, key, options.get(code).into_iter().flatten().copied());
        }
    }
    if matches!(level, ExtendedInfoChecks::Strict | ExtendedInfoChecks::Pedantic) {
        check_address(relay, "link")?;
        check_identifiers(relay)?;
    }
    if level == ExtendedInfoChecks::Pedantic {
        check_address(relay, "peer")?;
        if !relay.get("hop").is_some_and(|hop| hop.is_i64() || hop.is_u64()) {
            return Err("`hop` is not a number".to_owned());
        }
        let known = ["hop", "link", "peer", "options", "remote-id", "relay-id", "comment"];
        check_keys(relay, &known)?;
    }
    Ok(())
}

fn check_address(relay: &Map<String, Value>, key: &str) -> Result<(), String> {
    match relay.get(key).and_then(Value::as_str).map(str::parse::<Ipv6Addr>) {
        Some(Ok(_)) => Ok(()),
        _ => Err(format!("`{key}` is not an IPv6 address")),
    }
}
