//! Updates of leases to the partner: their commands, and the partner's verdicts.

use core::fmt;

use serde_json::{Map, Value, json};

use crate::command::{CommandResult, beginning_of};

/// Origin of a partner's commands.
const PARTNER_ORIGIN: &str = "ha-partner";
/// Result code of a success.
const SUCCESS: i64 = 0;
/// Result code of a command that has found nothing.
const EMPTY: i64 = 3;
/// Result code of a conflict.
const CONFLICT: i64 = 4;

/// Verdict of the partner about the update of one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateVerdict {
    /// The partner has the lease.
    Taken,
    /// Another change of the lease is under way at the partner; the update is to be sent again.
    Busy,
    /// The partner has a later lease of another client, says this reason: this one must not be
    /// acknowledged.
    Outdated(String),
    /// The partner refuses the lease, for this reason.
    Refused(String),
}

/// Beginning of the text with which a partner of this make refuses an update because another client
/// has had the address since.
pub const LATER_LEASE: &str = "LaterLease";
/// Argument of an update whose sender understands [`LATER_LEASE`]. Kea ignores it, and does not
/// send it: for Kea that answer is a conflict, and ten of them end the relationship.
pub const HEARS_LATER_LEASE: &str = "hears-later-lease";

/// Argument of a bulk update: leases as rows of a lease file with all columns.
pub const ROWS: &str = "rows";

/// Returns the lease, as commands show it, in the form of an update: with the time of its end
/// (`expire`) instead of its last transaction (`cltt`).
#[must_use]
pub fn update_of(mut lease: Value) -> Value {
    if let Some(map) = lease.as_object_mut() {
        let number = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_u64);
        let cltt_s = number(map, "cltt").unwrap_or(0);
        let lifetime_s = number(map, "valid-lft").unwrap_or(0);
        map.remove("cltt");
        map.insert("expire".to_owned(), json!(cltt_s.saturating_add(lifetime_s)));
    }
    lease
}

/// Returns the command that updates the lease of `update`, a result of [`update_of`], at a DHCPv4
/// partner, or deletes it if `is_deletion`.
#[must_use]
pub fn lease_command(mut update: Value, is_deletion: bool) -> Value {
    if let Some(map) = update.as_object_mut() {
        map.insert("origin".to_owned(), json!(PARTNER_ORIGIN));
        map.insert(HEARS_LATER_LEASE.to_owned(), json!(true));
        if !is_deletion {
            map.insert("force-create".to_owned(), json!(true));
        }
    }
    let name = if is_deletion { "lease4-del" } else { "lease4-update" };
    json!({ "command": name, "service": ["dhcp4"], "arguments": update })
}

/// Returns the text of the command that updates `leases`, results of [`update_of`], and deletes
/// those of `deletions`, such results, too, at a partner that is the daemon `service` (`dhcp4`,
/// `dhcp6`). Kea has it for DHCPv6 only.
#[must_use]
pub fn bulk_apply(service: &str, leases: &[Value], deletions: &[Value]) -> String {
    // Copies of the leases in one JSON value would cost more than the text.
    let lists = format_args!(
        "\"deleted-leases\":{},\"leases\":{}",
        JsonArray(deletions),
        JsonArray(leases)
    );
    bulk_command(service, lists)
}

/// Returns the text of the command that updates the leases in `rows`, rows of a lease file without
/// their line ends, at a partner whose heartbeats say that it takes them
/// ([`PartnerView::takes_lease_rows`](crate::PartnerView)). Neither side makes a JSON value of each
/// field, which would cost more than everything else that an update needs.
///
/// The command has no other list: another program at the partner's address, which ignores the rows,
/// must not take it for an empty one.
#[must_use]
pub fn bulk_apply_rows(service: &str, rows: &[String]) -> String {
    bulk_command(service, format_args!("\"{ROWS}\":{}", JsonArray(rows)))
}

fn bulk_command(service: &str, lists: fmt::Arguments<'_>) -> String {
    let family = service.trim_start_matches("dhcp");
    format!(
        "{{\"command\":\"lease{family}-bulk-apply\",\"service\":[\"{service}\"],\"arguments\":{{\
         {lists},\"origin\":\"{PARTNER_ORIGIN}\",\"{HEARS_LATER_LEASE}\":true}}}}"
    )
}

/// Values that are displayed as one JSON array.
struct JsonArray<'v, T>(&'v [T]);

impl fmt::Display for JsonArray<'_, Value> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if index > 0 { "," } else { "" })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for JsonArray<'_, String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, text) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { ",\"" } else { "\"" })?;
            write_escaped(text, f)?;
            f.write_str("\"")?;
        }
        f.write_str("]")
    }
}

/// Writes the content of a JSON string (RFC 8259 §7).
fn write_escaped(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_special = |letter: char| letter < ' ' || matches!(letter, '"' | '\\');
    for part in text.split_inclusive(is_special) {
        let special = part.chars().next_back().filter(|last| is_special(*last));
        match special.and_then(|special| Some((part.strip_suffix(special)?, special))) {
            Some((plain, special @ ('"' | '\\'))) => write!(f, "{plain}\\{special}")?,
            Some((plain, special)) => write!(f, "{plain}\\u{:04x}", u32::from(special))?,
            None => f.write_str(part)?,
        }
    }
    Ok(())
}

/// Returns a command that has come over the partner's socket with the origin of a partner, if it
/// changes or copies leases and names no origin: Kea before 2.5 sends none.
#[must_use]
pub fn with_origin(mut command: Value) -> Value {
    const COMMANDS: [&str; 8] = [
        "lease4-update",
        "lease4-del",
        "lease4-bulk-apply",
        "lease4-get-page",
        "lease6-update",
        "lease6-del",
        "lease6-bulk-apply",
        "lease6-get-page",
    ];
    if command["command"].as_str().is_some_and(|name| COMMANDS.contains(&name))
        && let Some(arguments) = command.get_mut("arguments").and_then(Value::as_object_mut)
    {
        arguments.entry("origin").or_insert_with(|| json!(PARTNER_ORIGIN));
    }
    command
}

fn verdict(code: i64, text: &str) -> UpdateVerdict {
    match code {
        SUCCESS => UpdateVerdict::Taken,
        // The lease to delete does not exist, or the partner has a later lease of the client.
        EMPTY => UpdateVerdict::Taken,
        CONFLICT if text.starts_with("ResourceBusy") => UpdateVerdict::Busy,
        CONFLICT if text.starts_with(LATER_LEASE) => UpdateVerdict::Outdated(text.to_owned()),
        _ => UpdateVerdict::Refused(format!("{code}: {text}")),
    }
}

/// Returns the verdict that the answer to [`lease_command`] expresses.
#[must_use]
pub fn lease_verdict(answer: &CommandResult) -> UpdateVerdict {
    verdict(answer.code, &answer.text)
}

/// Returns the verdicts that the answer to [`bulk_apply`] expresses about `count` leases;
/// `address_of` returns the address of each as text, without a prefix length.
#[must_use]
pub fn bulk_verdicts(
    answer: &CommandResult,
    count: usize,
    address_of: impl Fn(usize) -> String,
) -> Vec<UpdateVerdict> {
    if !matches!(answer.code, SUCCESS | EMPTY) {
        return vec![verdict(answer.code, &answer.text); count];
    }
    let mut verdicts = vec![UpdateVerdict::Taken; count];
    let lists = ["failed-leases", "failed-deleted-leases"];
    let lists = lists.iter().filter_map(|key| answer.arguments.get(*key)?.as_array());
    let failed: Vec<&Value> = lists.flatten().collect();
    if failed.is_empty() {
        return verdicts;
    }
    for (index, of_lease) in verdicts.iter_mut().enumerate() {
        let address = address_of(index);
        let is_it = |one: &&&Value| one["ip-address"].as_str() == Some(address.as_str());
        if let Some(failure) = failed.iter().find(is_it) {
            let text = beginning_of(failure["error-message"].as_str().unwrap_or_default());
            *of_lease = verdict(failure["result"].as_i64().unwrap_or(1), &text);
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: i64, text: &str, arguments: Value) -> CommandResult {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        CommandResult { code, text: text.to_owned(), arguments }
    }

    #[test]
    fn an_update_has_the_end_of_the_lease() {
        let lease = json!({ "ip-address": "10.0.0.1", "cltt": 1000, "valid-lft": 60 });
        let update = lease_command(update_of(lease.clone()), false);
        assert_eq!(update["command"], "lease4-update");
        let arguments = &update["arguments"];
        assert_eq!(arguments["expire"], 1060);
        assert_eq!(arguments["force-create"], true);
        assert!(arguments.get("cltt").is_none());
        let deletion = lease_command(update_of(lease), true);
        assert_eq!(
            (&deletion["command"], &deletion["arguments"]["force-create"]),
            (&json!("lease4-del"), &Value::Null)
        );
    }

    #[test]
    fn many_updates_are_one_command() {
        let leases = [1, 2, 3].map(|last| {
            let address = format!("10.0.0.{last}");
            update_of(json!({ "ip-address": address, "cltt": 1000, "valid-lft": last }))
        });
        let [first, second, third] = &leases;
        let updated = [first.clone(), second.clone()];
        let text = bulk_apply("dhcp4", &updated, core::slice::from_ref(third));
        let command: Value = serde_json::from_str(&text).unwrap();
        let arguments = json!({
            "deleted-leases": [{ "ip-address": "10.0.0.3", "expire": 1003, "valid-lft": 3 }],
            "leases": [
                { "ip-address": "10.0.0.1", "expire": 1001, "valid-lft": 1 },
                { "ip-address": "10.0.0.2", "expire": 1002, "valid-lft": 2 }
            ],
            "origin": "ha-partner",
            "hears-later-lease": true
        });
        let expected = json!({
            "command": "lease4-bulk-apply", "service": ["dhcp4"], "arguments": arguments
        });
        assert_eq!(command, expected);
        let none: Value = serde_json::from_str(&bulk_apply("dhcp6", &[], &[])).unwrap();
        assert_eq!(none["command"], "lease6-bulk-apply");
        assert_eq!(none["arguments"]["leases"], json!([]));
    }

    #[test]
    fn rows_are_strings_of_the_command() {
        let rows = ["10.0.0.1,ü", "", "{ \"a\": \"\\n\" }", "\u{0}\t\u{1f}\u{7f}"];
        let text = bulk_apply_rows("dhcp4", &rows.map(str::to_owned));
        let command: Value = serde_json::from_str(&text).unwrap();
        let arguments = json!({ ROWS: rows, "origin": "ha-partner", "hears-later-lease": true });
        assert_eq!(command["command"], "lease4-bulk-apply");
        assert_eq!(command["arguments"], arguments);
    }

    #[test]
    fn a_change_of_a_lease_without_origin_is_the_partners() {
        for (command, origin) in [
            (json!({ "command": "lease4-update", "arguments": {} }), json!("ha-partner")),
            (json!({ "command": "lease4-del", "arguments": { "origin": "x" } }), json!("x")),
            (json!({ "command": "dhcp-disable", "arguments": {} }), Value::Null),
            (json!({ "command": "lease6-bulk-apply" }), Value::Null),
            (json!(["lease4-update"]), Value::Null),
        ] {
            assert_eq!(with_origin(command)["arguments"]["origin"], origin);
        }
    }

    #[test]
    fn a_busy_lease_is_no_refusal() {
        let verdicts = [
            (0, "IPv4 lease updated.", UpdateVerdict::Taken),
            (3, "IPv4 lease not found.", UpdateVerdict::Taken),
            (4, "ResourceBusy: IP address:10.0.0.1 could not be updated.", UpdateVerdict::Busy),
            (4, "LaterLease: z", UpdateVerdict::Outdated("LaterLease: z".to_owned())),
            (4, "x", UpdateVerdict::Refused("4: x".to_owned())),
            (1, "y", UpdateVerdict::Refused("1: y".to_owned())),
        ];
        for (code, text, verdict) in verdicts {
            let answer = answer(code, text, Value::Null);
            assert_eq!(lease_verdict(&answer), verdict, "{text}");
        }
    }

    #[test]
    fn failed_leases_are_refused_also_in_a_success() {
        let failed = json!({ "failed-leases": [
            { "type": "IA_NA", "ip-address": "2001:db8::2", "result": 4,
              "error-message": "ResourceBusy: x" } ] });
        let address = |index: usize| ["2001:db8::1", "2001:db8::2"][index].to_owned();
        let verdicts_of = |answer: &CommandResult| bulk_verdicts(answer, 2, address);
        let verdicts = verdicts_of(&answer(0, "", failed));
        assert_eq!(verdicts, [UpdateVerdict::Taken, UpdateVerdict::Busy]);
        let verdicts = verdicts_of(&answer(1, "bad", Value::Null));
        assert_eq!(verdicts, vec![UpdateVerdict::Refused("1: bad".to_owned()); 2]);
        let failed = json!({ "failed-deleted-leases": [
            { "type": "IA_NA", "ip-address": "2001:db8::1", "result": 1, "error-message": "x" },
            { "type": "IA_NA", "ip-address": "2001:db8::2", "result": 3 } ] });
        let verdicts = verdicts_of(&answer(0, "", failed));
        assert_eq!(verdicts, [UpdateVerdict::Refused("1: x".to_owned()), UpdateVerdict::Taken]);
        // A deletion of a lease that does not exist counts as done.
        assert_eq!(verdicts_of(&answer(3, "", Value::Null))[0], UpdateVerdict::Taken);
    }
}
