//! What the supervisor makes of questions from the control thread.

use serde_json::{Value, json};

/// Carries out `command`; the answer is a map.
pub(crate) fn execute(command: &Value) -> Value {
    match command["command"].as_str() {
        Some("list-commands") => {
            json!({ "result": 0, "arguments": ["list-commands", "version-get"] })
        }
        Some("version-get") => json!({ "result": 0, "text": env!("CARGO_PKG_VERSION") }),
        Some(name) => json!({ "result": 2, "text": format!("'{name}' command not supported.") }),
        None => json!({ "result": 1, "text": "a command is a map with the key `command`" }),
    }
}
