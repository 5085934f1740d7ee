//! Commands to the partner and its answers, as Kea writes them.

use dhcp_config::HaRelationship;
use serde_json::{Map, Value, json};

use crate::state::HaState;

/// First number by which a server that synchronizes disables its partner's service (`origin-id`).
const PARTNER_ORIGIN: usize = 2000;
/// Argument of the first page of a copy: the partner notes from then on which leases change. Its
/// answer has [`CHANGES_OF`].
pub const NOTE_CHANGES: &str = "note-changes";
/// Number of a copy, in the arguments of pages of changes and in the answer that begins it.
pub const CHANGES_OF: &str = "changes-of";

/// Argument of a page: true if the answer is to have the leases as rows of a lease file, in the
/// list `rows` instead of `leases`.
pub const AS_ROWS: &str = "as-rows";

/// Command to the partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartnerCommand {
    /// `ha-heartbeat`: the partner reports its state.
    Heartbeat,
    /// `dhcp-disable`: the partner does not answer clients while its leases are copied, for this
    /// period in seconds at most; `None` for that of the configuration.
    Disable(Option<u64>),
    /// `lease4-get-page` or `lease6-get-page`: a part of the partner's leases.
    Page(PageRequest),
    /// Updates of the leases that a copy has found the partner to lack. The driver has them, and
    /// sends them as it sends [`Self::DelayedUpdates`].
    ReturnedLeases,
    /// `ha-sync-complete-notify`: this server has all leases.
    SyncComplete,
    /// `dhcp-enable`: the partner answers clients again.
    Enable,
    /// `ha-reset`: the partner copies this server's leases.
    Reset,
    /// Updates of leases that have waited. The driver has them, and sends a command for each, or
    /// one for all.
    DelayedUpdates,
    /// `ha-maintenance-notify`: the partner is to prepare for its end, or to go on.
    NotifyMaintenance {
        /// True if the partner is to go on.
        is_cancel: bool,
        /// State of this server, or the state that it will enter if the maintenance is canceled.
        state: HaState,
    },
}

/// Part of the partner's leases that a copy asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// Leases in ascending order of their addresses.
    All {
        /// Address after which the page begins; `None` for the first page.
        after: Option<String>,
        /// True if the partner is to note from now on which leases change.
        notes_changes: bool,
        /// True if the answer is to have the leases as rows of a lease file.
        as_rows: bool,
    },
    /// Leases that have changed since the copy began, or since the round before.
    Changes {
        /// Number by which the partner knows the copy.
        copy: u64,
        /// Position of the first address in the round; 0 begins a round.
        from: u64,
        /// True if no further round follows.
        is_last_round: bool,
    },
}

impl PageRequest {
    /// Returns the arguments of the command, for pages of at most `limit` addresses.
    fn arguments(&self, limit: u32) -> Value {
        let mut arguments = json!({ "from": "start", "limit": limit, "origin": "ha-partner" });
        match self {
            Self::All { after, notes_changes, as_rows } => {
                if let Some(after) = after {
                    arguments["from"] = json!(after);
                }
                if *notes_changes {
                    arguments[NOTE_CHANGES] = json!(true);
                }
                if *as_rows {
                    arguments[AS_ROWS] = json!(true);
                }
            }
            Self::Changes { copy, from, is_last_round } => {
                arguments[CHANGES_OF] = json!(copy);
                arguments["changes-from"] = json!(from);
                arguments["is-last-round"] = json!(is_last_round);
                arguments[AS_ROWS] = json!(true);
            }
        }
        arguments
    }
}

impl PartnerCommand {
    /// Returns the body of the command for the daemon `service` (`dhcp4`, `dhcp6`); null for
    /// updates of leases.
    #[must_use]
    pub fn body(&self, config: &HaRelationship, service: &str) -> Value {
        let name = &config.own.name;
        let origin = PARTNER_ORIGIN + config.number;
        let (command, arguments) = match self {
            Self::Heartbeat => ("ha-heartbeat".to_owned(), json!({ "server-name": name })),
            Self::Disable(period_s) => {
                let period_s = period_s.unwrap_or((config.limits.sync_ms / 1_000).max(1).into());
                let arguments = json!({ "max-period": period_s, "origin": "ha-partner",
                                        "origin-id": origin });
                ("dhcp-disable".to_owned(), arguments)
            }
            Self::Page(page) => {
                let family = service.trim_start_matches("dhcp");
                (format!("lease{family}-get-page"), page.arguments(config.limits.page_leases))
            }
            Self::SyncComplete => {
                let arguments = json!({ "origin": origin, "origin-id": origin,
                                        "server-name": name });
                ("ha-sync-complete-notify".to_owned(), arguments)
            }
            Self::Reset => ("ha-reset".to_owned(), json!({ "server-name": name })),
            Self::DelayedUpdates | Self::ReturnedLeases => return Value::Null,
            Self::Enable => {
                let arguments = json!({ "origin": "ha-partner", "origin-id": origin });
                ("dhcp-enable".to_owned(), arguments)
            }
            Self::NotifyMaintenance { is_cancel, state } => {
                let arguments = json!({ "cancel": is_cancel, "server-name": name,
                                        "state": state.name() });
                ("ha-maintenance-notify".to_owned(), arguments)
            }
        };
        json!({ "command": command, "service": [service], "arguments": arguments })
    }

    /// Returns the time limit of the command in milliseconds.
    #[must_use]
    pub fn timeout_ms(&self, config: &HaRelationship) -> u32 {
        match self {
            Self::Page(_) => config.limits.sync_ms.max(1_000),
            // A partner that is silent for longer counts as failed anyway.
            _ => config.limits.response_ms.clamp(1_000, 10_000),
        }
    }
}

/// Maximum number of characters of a text of the partner in messages.
const TEXT_MAX: usize = 500;

/// Returns the beginning of a text of the partner, for messages.
pub(crate) fn beginning_of(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

/// Answer of the partner to a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandResult {
    /// Result code; 0 is success.
    pub code: i64,
    /// Text for people, its beginning if it is long; empty if there is none.
    pub text: String,
    /// Data of the answer; empty if there is none.
    pub arguments: Map<String, Value>,
}

impl CommandResult {
    /// Reads the body of an HTTP answer: a list with one map. A bare map is an error whatever its
    /// result says: control agents and refusing listeners report errors so.
    ///
    /// # Errors
    ///
    /// The reason why the body is not the answer to a command.
    pub fn parse(body: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(body)
            .map_err(|error| format!("the answer is not JSON: {error}"))?;
        let map = match &value {
            Value::Array(items) => items.first(),
            Value::Object(map) => {
                let text = map.get("text").and_then(Value::as_str).unwrap_or("an error");
                return Err(format!("the partner reports: {}", beginning_of(text)));
            }
            _ => None,
        };
        let map = map.and_then(Value::as_object).ok_or("the answer has no map in a list")?;
        let code = map.get("result").and_then(Value::as_i64).ok_or("the answer has no `result`")?;
        let text = beginning_of(map.get("text").and_then(Value::as_str).unwrap_or_default());
        let arguments = map.get("arguments").and_then(Value::as_object).cloned();
        Ok(Self { code, text, arguments: arguments.unwrap_or_default() })
    }

    /// Returns text and code as Kea quotes them.
    pub(crate) fn message(&self) -> String {
        let Self { code, text, .. } = self;
        if text.is_empty() {
            format!("error code {code})")
        } else {
            format!("{text} (error code {code})")
        }
    }

    /// Returns the answer if its code is one of `codes`.
    ///
    /// # Errors
    ///
    /// The code and text of another answer.
    pub(crate) fn with_code(self, codes: &[i64]) -> Result<Self, String> {
        if codes.contains(&self.code) {
            Ok(self)
        } else {
            Err(format!("the partner answers {}: {}", self.code, self.text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_map_in_a_list_is_an_answer() {
        let answer = CommandResult::parse(r#"[ { "result": 3, "text": "x" }, 7 ]"#).unwrap();
        assert_eq!((answer.code, answer.text.as_str()), (3, "x"));
        assert!(answer.with_code(&[0]).unwrap_err().contains("answers 3: x"));
        for (body, error) in [
            (r#"{ "result": 0, "text": "Forbidden" }"#, "reports: Forbidden"),
            ("[]", "no map"),
            ("7", "no map"),
            ("[ { } ]", "no `result`"),
            ("<html>", "not JSON"),
        ] {
            let read = CommandResult::parse(body).unwrap_err();
            assert!(read.contains(error), "{read}");
        }
    }
}
