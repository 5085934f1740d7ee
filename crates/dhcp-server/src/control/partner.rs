//! Commands at the socket for a partner: those that are permitted there, and the relationship that
//! they belong to if the server has several.

use dhcp_config::HttpPurpose;
use dhcp_control::HA_REMOTE;
use serde_json::{Map, Value, json};

/// Key of an argument that the server adds to `ha-` commands: the position of the relationship to
/// whose socket the command has come.
pub(crate) const RELATIONSHIP: &str = "relationship-of-socket";

/// Commands that a partner of a pair may send if `restrict-commands` is true.
const PARTNER_COMMANDS: [&str; 18] = [
    "list-commands",
    "status-get",
    "dhcp-disable",
    "dhcp-enable",
    "ha-reset",
    "ha-heartbeat",
    "ha-maintenance-notify",
    "ha-sync-complete-notify",
    "lease4-update",
    "lease4-del",
    "lease4-bulk-apply",
    "lease4-get-all",
    "lease4-get-page",
    "lease6-bulk-apply",
    "lease6-update",
    "lease6-del",
    "lease6-get-all",
    "lease6-get-page",
];

/// Returns true if a socket for this purpose accepts `command`.
pub(super) fn is_permitted(purpose: HttpPurpose, command: &Value) -> bool {
    let name = command["command"].as_str();
    match purpose {
        HttpPurpose::Control | HttpPurpose::Partner { restricts_commands: false, .. } => true,
        // A command without a name gets its answer from the dispatcher.
        HttpPurpose::Partner { restricts_commands: true, .. } => {
            name.is_none_or(|name| PARTNER_COMMANDS.contains(&name))
        }
    }
}

/// Returns `command`, which has come to a socket for `purpose`, directed to the relationship of the
/// socket if the server has several. Partners that disable the service number themselves by their
/// own relationships, so that all of them may have the same number.
pub(super) fn directed(purpose: HttpPurpose, mut command: Value) -> Value {
    let HttpPurpose::Partner { relationship: Some(number), .. } = purpose else { return command };
    let name = command.get("command").and_then(Value::as_str).unwrap_or_default();
    let has_origin = ["dhcp-disable", "dhcp-enable", "ha-sync-complete-notify"].contains(&name);
    let is_of_relationship = name.starts_with("ha-");
    let Some(map) = command.as_object_mut().filter(|_| has_origin || is_of_relationship) else {
        return command;
    };
    let arguments = map.entry("arguments").or_insert_with(|| Value::Object(Map::new()));
    // Anything but a map is an error that the command itself reports.
    if let Some(arguments) = arguments.as_object_mut() {
        if has_origin {
            arguments.insert("origin-id".to_owned(), json!(HA_REMOTE as usize + number));
        }
        if is_of_relationship {
            arguments.insert(RELATIONSHIP.to_owned(), json!(number));
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_partner_belong_to_the_relationship_of_the_socket() {
        let hub = HttpPurpose::Partner { restricts_commands: true, relationship: Some(3) };
        let of_hub = |command: Value| directed(hub, command);
        assert_eq!(
            of_hub(json!({ "command": "dhcp-disable", "arguments": { "origin-id": 2000 } })),
            json!({ "command": "dhcp-disable", "arguments": { "origin-id": 2003 } })
        );
        assert_eq!(
            of_hub(json!({ "command": "ha-heartbeat" })),
            json!({ "command": "ha-heartbeat", "arguments": { RELATIONSHIP: 3 } })
        );
        assert_eq!(
            of_hub(json!({ "command": "ha-sync-complete-notify", "arguments": { "origin": 7 } })),
            json!({ "command": "ha-sync-complete-notify",
                    "arguments": { "origin": 7, "origin-id": 2003, RELATIONSHIP: 3 } })
        );
        for unchanged in [
            json!({ "command": "lease4-update", "arguments": { "ip-address": "192.0.2.1" } }),
            json!({ "command": "ha-reset", "arguments": [] }),
            json!({ "arguments": {} }),
            json!([]),
        ] {
            assert_eq!(of_hub(unchanged.clone()), unchanged);
        }
        let pair = HttpPurpose::Partner { restricts_commands: true, relationship: None };
        let heartbeat = json!({ "command": "ha-heartbeat" });
        for purpose in [pair, HttpPurpose::Control] {
            assert_eq!(directed(purpose, heartbeat.clone()), heartbeat);
        }
    }
}
