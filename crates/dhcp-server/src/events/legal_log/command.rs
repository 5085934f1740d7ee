//! Entries of the legal log about control commands that change leases, as Kea's library writes them
//! from the commands' arguments.

use std::fmt::Write as _;

use dhcp_control::kea_json;
use serde_json::{Map, Value};

use super::entry::{LogEntry, append_duration, append_if_printable};

/// Returns the entries about `command`, which has succeeded with `answer`, its arguments, at
/// `wall_s` seconds after 1970. `is_logged` tells if the leases of the subnet with an `id` are
/// logged.
pub(super) fn entries(
    command: &Value,
    answer: Option<&Value>,
    wall_s: u64,
    is_logged: &dyn Fn(u32) -> bool,
) -> Vec<LogEntry> {
    let (Some(name), Some(arguments)) =
        (command["command"].as_str(), command["arguments"].as_object())
    else {
        return Vec::new();
    };
    let Some((family, action)) = name.split_once('-') else { return Vec::new() };
    let is_v6 = match family {
        "lease4" => false,
        "lease6" => true,
        _ => return Vec::new(),
    };
    let subnet = arguments.get("subnet-id").and_then(Value::as_u64);
    let subnet = subnet.and_then(|id| u32::try_from(id).ok());
    if subnet.is_some_and(|id| id > 0 && !is_logged(id)) {
        return Vec::new();
    }
    let actor = Actor::new(arguments);
    let entry = match action {
        "add" => actor.grant("added a lease", arguments, is_v6, wall_s),
        "update" => actor.grant(UPDATED, arguments, is_v6, wall_s),
        "del" => actor.deletion(arguments),
        "bulk-apply" => return bulk(actor, arguments, answer, wall_s, is_v6, is_logged),
        _ => None,
    };
    entry.into_iter().collect()
}

/// Words for the change of an existing lease.
const UPDATED: &str = "updated information on the lease";

/// Sender of a command.
#[derive(Clone, Copy, Debug)]
struct Actor(&'static str);

impl Actor {
    fn new(arguments: &Map<String, Value>) -> Self {
        let is_partner = arguments.get("origin").and_then(Value::as_str) == Some("ha-partner");
        Self(if is_partner { "HA partner" } else { "Administrator" })
    }

    /// Returns the entry about a lease that the command has added or changed.
    fn grant(
        self,
        action: &str,
        arguments: &Map<String, Value>,
        is_v6: bool,
        wall_s: u64,
    ) -> Option<LogEntry> {
        let text_of = |key: &str| arguments.get(key).and_then(Value::as_str);
        let mut address = text_of("ip-address")?.to_owned();
        let kind = text_of("type").unwrap_or_default();
        let is_prefix = is_v6 && matches!(kind, "IA_PD" | "2");
        if is_prefix {
            let len = arguments.get("prefix-len").and_then(Value::as_i64)?;
            let _ = write!(address, "/{len}");
        }
        let what = if is_prefix { "prefix" } else { "address" };
        let mut text = format!("{} {action} of {what}: {address} to a device with ", self.0);
        if is_v6 {
            let _ = write!(text, "DUID: {}", text_of("duid")?);
            if let Some(hardware) = text_of("hw-address") {
                let _ = write!(text, ", hardware address: {hardware}");
            }
        } else {
            let _ = write!(text, "hardware address: {}", text_of("hw-address")?);
            if let Some(client_id) = text_of("client-id") {
                let _ = write!(text, ", client-id: {client_id}");
                if let Some(octets) = octets_of(client_id) {
                    append_if_printable(&octets, &mut text);
                }
            }
        }
        append_lifetime(arguments, wall_s, &mut text);
        append_context(arguments, &mut text);
        Some(LogEntry { address, text: text.into_bytes() })
    }

    /// Returns the entry about a lease that the command has deleted.
    fn deletion(self, arguments: &Map<String, Value>) -> Option<LogEntry> {
        let text_of = |key: &str| arguments.get(key).and_then(Value::as_str);
        let (address, what) = match text_of("ip-address") {
            Some(address) => (address, format!("the lease for address: {address}")),
            None => {
                let (kind, identifier) = (text_of("identifier-type")?, text_of("identifier")?);
                ("", format!("a lease for a device identified by: {kind} of {identifier}"))
            }
        };
        let text = format!("{} deleted {what}", self.0).into_bytes();
        Some(LogEntry { address: address.to_owned(), text })
    }
}

/// Returns the entries about the leases of `lease#-bulk-apply` that did not fail.
fn bulk(
    actor: Actor,
    arguments: &Map<String, Value>,
    answer: Option<&Value>,
    wall_s: u64,
    is_v6: bool,
    is_logged: &dyn Fn(u32) -> bool,
) -> Vec<LogEntry> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let is_failed = |failed: &str, lease: &Value| {
        let failed = list(answer.and_then(|answer| answer.get(failed)));
        failed.iter().any(|one| one["ip-address"] == lease["ip-address"])
    };
    let is_reported = |lease: &Value| {
        let id = lease["subnet-id"].as_u64().and_then(|id| u32::try_from(id).ok());
        id.is_none_or(|id| id == 0 || is_logged(id))
    };
    let deleted = list(arguments.get("deleted-leases"));
    let deleted = deleted.iter().filter(|lease| {
        // As in Kea, a lease that is named by its client is not reported.
        let has_address = lease["ip-address"].is_string();
        has_address && is_reported(lease) && !is_failed("failed-deleted-leases", lease)
    });
    let deleted = deleted.filter_map(|lease| actor.deletion(lease.as_object()?));
    let changed = list(arguments.get("leases"));
    let changed =
        changed.iter().filter(|lease| is_reported(lease) && !is_failed("failed-leases", lease));
    let changed =
        changed.filter_map(|lease| actor.grant(UPDATED, lease.as_object()?, is_v6, wall_s));
    deleted.chain(changed).collect()
}

/// Appends the lifetime that the arguments name, by its length or its end.
fn append_lifetime(arguments: &Map<String, Value>, wall_s: u64, text: &mut String) {
    let number = |key: &str| arguments.get(key).and_then(Value::as_i64);
    let until_end = || Some(number("expire")?.saturating_sub_unsigned(wall_s));
    let seconds = number("valid-lft").or_else(until_end).unwrap_or(0);
    if seconds > 0 {
        text.push_str(" for ");
        append_duration(u32::try_from(seconds).unwrap_or(u32::MAX), text);
    }
}

/// Appends the user context of the arguments, with their comment in it.
fn append_context(arguments: &Map<String, Value>, text: &mut String) {
    let mut context = arguments.get("user-context").cloned();
    if let Some(comment) = arguments.get("comment") {
        let mut map = context.and_then(|value| value.as_object().cloned()).unwrap_or_default();
        map.insert("comment".to_owned(), comment.clone());
        context = Some(Value::Object(map));
    }
    if let Some(context) = context {
        let _ = write!(text, ", context: {}", kea_json(&context));
    }
}

/// Returns the bytes that hexadecimal digits with or without colons spell.
fn octets_of(text: &str) -> Option<Vec<u8>> {
    let octet = |digits: &str| u8::from_str_radix(digits, 16).ok();
    if text.contains(':') {
        return text.split(':').map(octet).collect();
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| octet(std::str::from_utf8(pair).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns `ADDRESS|TEXT` of each entry about the command `name` with `arguments`.
    fn logged(name: &str, arguments: &Value, answer: Option<&Value>) -> Vec<String> {
        let command = json!({ "command": name, "arguments": arguments });
        let entries = entries(&command, answer, 1_000, &|id| id != 9);
        let shown = |entry: LogEntry| {
            format!("{}|{}", entry.address, String::from_utf8(entry.text).unwrap())
        };
        entries.into_iter().map(shown).collect()
    }

    #[test]
    fn commands_about_dhcpv4_leases_have_keas_words() {
        let lease = json!({ "ip-address": "10.0.0.1", "hw-address": "02:00:00:00:00:01" });
        let expected = "10.0.0.1|Administrator added a lease of address: 10.0.0.1 to a device with \
                        hardware address: 02:00:00:00:00:01";
        assert_eq!(logged("lease4-add", &lease, None), [expected]);
        let lease = json!({
            "ip-address": "10.0.0.1", "hw-address": "1", "client-id": "61:62", "expire": 1_060,
            "subnet-id": 1, "origin": "ha-partner", "comment": "c", "user-context": { "b": 1 },
        });
        let expected = "10.0.0.1|HA partner updated information on the lease of address: 10.0.0.1 \
                        to a device with hardware address: 1, client-id: 61:62 (ab) for 0 hrs 1 \
                        mins 0 secs, context: { \"b\": 1, \"comment\": \"c\" }";
        assert_eq!(logged("lease4-update", &lease, None), [expected]);
        let address = json!({ "ip-address": "10.0.0.1" });
        let expected = "10.0.0.1|Administrator deleted the lease for address: 10.0.0.1";
        assert_eq!(logged("lease4-del", &address, None), [expected]);
        let client = json!({ "identifier-type": "hw-address", "identifier": "1", "subnet-id": 1 });
        let expected = "|Administrator deleted a lease for a device identified by: hw-address of 1";
        assert_eq!(logged("lease4-del", &client, None), [expected]);
    }

    #[test]
    fn commands_about_dhcpv6_leases_have_keas_words() {
        let lease = json!({
            "ip-address": "2001:db8::", "type": "IA_PD", "prefix-len": 56, "duid": "1:2",
            "hw-address": "3", "valid-lft": 4_294_967_295u32,
        });
        let expected = "2001:db8::/56|Administrator added a lease of prefix: 2001:db8::/56 to a \
                        device with DUID: 1:2, hardware address: 3 for infinite duration";
        assert_eq!(logged("lease6-add", &lease, None), [expected]);
        let address = |last: u8| format!("2001:db8::{last}");
        let lease = |last: u8| json!({ "ip-address": address(last), "duid": "1" });
        let bulk = json!({
            "deleted-leases": [lease(1), lease(2), { "identifier-type": "duid" }],
            "leases": [lease(3), lease(4), { "ip-address": "::5", "duid": "1", "subnet-id": 9 }],
        });
        let answer = json!({
            "failed-deleted-leases": [{ "ip-address": address(1) }],
            "failed-leases": [{ "ip-address": address(4) }],
        });
        let expected = [
            "2001:db8::2|Administrator deleted the lease for address: 2001:db8::2",
            "2001:db8::3|Administrator updated information on the lease of address: 2001:db8::3 \
             to a device with DUID: 1",
        ];
        assert_eq!(logged("lease6-bulk-apply", &bulk, Some(&answer)), expected);
        let lease = json!({ "ip-address": "10.0.0.1", "hw-address": "1" });
        let bulk = json!({ "origin": "ha-partner", "leases": [lease], "deleted-leases": [] });
        let expected = "10.0.0.1|HA partner updated information on the lease of address: 10.0.0.1 \
                        to a device with hardware address: 1";
        assert_eq!(logged("lease4-bulk-apply", &bulk, None), [expected]);
    }

    #[test]
    fn other_commands_and_silent_subnets_have_no_entry() {
        let silent = json!({ "ip-address": "10.0.0.1", "hw-address": "1", "subnet-id": 9 });
        for (name, arguments) in [
            ("lease4-add", silent.clone()),
            ("lease4-wipe", json!({ "subnet-id": 1 })),
            ("lease4-get", json!({ "ip-address": "10.0.0.1" })),
            ("lease4-bulk-apply", json!({ "leases": [silent] })),
            ("leases-reclaim", json!({ "remove": true })),
            ("lease4-add", json!(1)),
            ("lease4-add", json!({ "ip-address": 1 })),
        ] {
            assert_eq!(logged(name, &arguments, None), [""; 0], "{name} {arguments}");
        }
    }
}
