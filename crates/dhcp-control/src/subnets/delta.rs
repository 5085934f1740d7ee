//! Parts of a subnet that a command adds to another subnet or removes from it (`subnet#-delta-add`,
//! `subnet#-delta-del`). A pool or option of one subnet equals one of the other if their
//! identifying keys agree.

use base::address_bits::prefix_bounds;
use core::net::IpAddr;

use serde_json::{Map, Value};

/// Adds every part of the subnet `new` to the subnet `old`.
pub(super) fn add(old: &mut Map<String, Value>, new: &Map<String, Value>) {
    for (key, value) in new {
        match (old.get_mut(key), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => add(old, new),
            (Some(Value::Array(old)), Value::Array(new)) => add_items(key, old, new),
            _ => {
                old.insert(key.clone(), value.clone());
            }
        }
    }
}

fn add_items(key: &str, old: &mut Vec<Value>, new: &[Value]) {
    let known = old.len();
    for item in new {
        let mut is_known = false;
        for old in &mut old[..known] {
            if let (true, Value::Object(old), Value::Object(item)) =
                (are_same(key, old, item), old, item)
            {
                is_known = true;
                add(old, item);
            }
        }
        if !is_known {
            old.push(item.clone());
        }
    }
}

/// Removes every part in `removal` from the subnet `old`.
pub(super) fn delete(old: &mut Map<String, Value>, removal: &Map<String, Value>) {
    delete_fields(old, removal, &["id", "subnet"]);
}

/// Removes the fields in `removal` from the map `old`. The fields `identity` stay while there are
/// others.
fn delete_fields(old: &mut Map<String, Value>, removal: &Map<String, Value>, identity: &[&str]) {
    for (key, value) in removal {
        let is_empty = match (old.get_mut(key), value) {
            (None, _) | (_, Value::Null) => false,
            (Some(Value::Object(old)), Value::Object(removal)) => {
                delete_fields(old, removal, &[]);
                old.is_empty()
            }
            (Some(Value::Array(old)), Value::Array(removal)) => {
                delete_items(key, old, removal);
                old.is_empty()
            }
            (Some(_), _) => !identity.contains(&key.as_str()),
        };
        if is_empty {
            old.remove(key);
        }
    }
    if old.keys().all(|key| identity.contains(&key.as_str())) && identity.first() != Some(&"id") {
        old.clear();
    }
}

fn delete_items(key: &str, old: &mut Vec<Value>, removal: &[Value]) {
    let identity = identity(key);
    for item in removal {
        old.retain_mut(|old| {
            let (Value::Object(removal), false) = (item, identity.is_empty()) else {
                return old != item;
            };
            if !are_same(key, old, item) {
                return true;
            }
            let is_named_only = removal.iter().all(|(key, value)| {
                identity.contains(&key.as_str())
                    || key == "option-data" && value.as_array().is_some_and(Vec::is_empty)
            });
            let Value::Object(old) = old else { return true };
            if is_named_only {
                return false;
            }
            delete_fields(old, removal, identity);
            !old.is_empty()
        });
    }
}

/// Returns the keys that identify items of the configuration list `key`.
fn identity(key: &str) -> &'static [&'static str] {
    match key {
        "pools" => &["pool"],
        "pd-pools" => &["prefix", "prefix-len", "delegated-len"],
        "option-data" => &["code", "name", "space"],
        _ => &[],
    }
}

fn are_same(list: &str, left: &Value, right: &Value) -> bool {
    let equal = |key: &str| left.get(key).is_some() && left.get(key) == right.get(key);
    match list {
        "pools" => match (ends(&left["pool"]), ends(&right["pool"])) {
            (Some(left), Some(right)) => left == right,
            _ => equal("pool"),
        },
        "pd-pools" => equal("prefix") && equal("prefix-len") && equal("delegated-len"),
        "option-data" => {
            let space = |option: &Value| {
                let space = option["space"].as_str().unwrap_or_default();
                if matches!(space, "dhcp4" | "dhcp6") { "" } else { space }.to_owned()
            };
            let key = if left.get("code").is_some() && right.get("code").is_some() {
                "code"
            } else {
                "name"
            };
            space(left) == space(right) && equal(key)
        }
        _ => false,
    }
}

/// Returns the first and the last address of a pool in the configuration, which can write them in
/// several forms.
fn ends(pool: &Value) -> Option<(IpAddr, IpAddr)> {
    let text = pool.as_str()?;
    if let Some((first, last)) = text.split_once('-') {
        return Some((first.trim().parse().ok()?, last.trim().parse().ok()?));
    }
    let (prefix, length) = text.split_once('/')?;
    prefix_bounds(prefix.trim().parse().ok()?, length.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn parts_are_put_in_and_taken_out() {
        let mut subnet = map(&json!({
            "id": 1, "subnet": "10.0.0.0/24", "valid-lifetime": 100,
            "pools": [{ "pool": "10.0.0.0/25", "option-data": [] }],
            "option-data": [{ "code": 3, "data": "10.0.0.1" }, { "name": "x", "space": "a" }],
            "client-classes": ["a"],
        }));
        add(
            &mut subnet,
            &map(&json!({
                "id": 1, "valid-lifetime": 200, "renew-timer": null,
                "pools": [{ "pool": "10.0.0.0 - 10.0.0.127", "pool-id": 7 }, { "pool": "10.0.0.128/26" }],
                "option-data": [{ "code": 3, "data": "10.0.0.2", "space": "dhcp4" }],
                "relay": { "ip-addresses": ["10.9.9.9"] },
                "client-classes": ["b"],
            })),
        );
        assert_eq!(
            Value::Object(subnet.clone()),
            json!({
                "id": 1, "subnet": "10.0.0.0/24", "valid-lifetime": 200,
                "pools": [
                    { "pool": "10.0.0.0 - 10.0.0.127", "pool-id": 7, "option-data": [] },
                    { "pool": "10.0.0.128/26" },
                ],
                "option-data": [
                    { "code": 3, "data": "10.0.0.2", "space": "dhcp4" },
                    { "name": "x", "space": "a" },
                ],
                "relay": { "ip-addresses": ["10.9.9.9"] },
                "client-classes": ["a", "b"],
            })
        );
        delete(
            &mut subnet,
            &map(&json!({
                "id": 1, "valid-lifetime": 0,
                "pools": [{ "pool": "10.0.0.0/25", "pool-id": 7 }, { "pool": "10.0.0.128-10.0.0.191" }],
                "option-data": [{ "code": 3 }, { "name": "x" }],
                "relay": { "ip-addresses": ["10.9.9.9"] },
                "client-classes": ["a"],
            })),
        );
        assert_eq!(
            Value::Object(subnet),
            json!({
                "id": 1, "subnet": "10.0.0.0/24",
                "pools": [{ "pool": "10.0.0.0 - 10.0.0.127", "option-data": [] }],
                "option-data": [{ "name": "x", "space": "a" }],
                "client-classes": ["b"],
            })
        );
    }

    #[test]
    fn pools_of_every_way_to_write_them_are_the_same() {
        for (text, first, last) in [
            ("10.0.0.5/32", "10.0.0.5", "10.0.0.5"),
            ("10.0.0.0/0", "0.0.0.0", "255.255.255.255"),
            ("2001:db8::/128", "2001:db8::", "2001:db8::"),
            ("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            let expected = (first.parse().unwrap(), last.parse().unwrap());
            assert_eq!(ends(&json!(text)), Some(expected), "{text}");
        }
        for text in ["10.0.0.0/33", "x", "1-2", "10.0.0.1", "::/129"] {
            assert_eq!(ends(&json!(text)), None, "{text}");
        }
    }
}
