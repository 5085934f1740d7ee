//! Commands that a server gets from its partner or from an administrator: the `ha-*` commands, with
//! Kea's texts. Those that need an answer of the partner are in [`request`](crate::request).

use base::Now;
use base::time::NS_PER_S;
use serde_json::{Value, json};

use crate::clock::http_date;
use crate::partner::{MAY_HAVE_MORE, NOTES_CHANGES, TAKES_LEASE_ROWS, UNSENT_SINCE};
use crate::relationship::Relationship;
use crate::request::HaRequest;
use crate::state::HaState;

/// Result code of a maintenance that the state does not allow.
pub const MAINTENANCE_NOT_ALLOWED: u16 = 1001;
const SUCCESS: u16 = 0;
const ERROR: u16 = 1;

/// Answer to a command about the relationship.
#[derive(Clone, Debug, PartialEq)]
pub struct HaAnswer {
    /// Result code of the answer.
    pub code: u16,
    /// Text of the answer.
    pub text: String,
    /// Data of the answer; null if there is none.
    pub arguments: Value,
}

/// Outcome of a command about the relationship.
#[derive(Clone, Debug, PartialEq)]
pub enum HaExecution {
    /// Answer to the command.
    Answer(HaAnswer),
    /// The command needs an answer of the partner; [`Relationship::take_answer`] returns its own
    /// answer later.
    Deferred,
}

impl HaAnswer {
    fn new(code: u16, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), arguments: Value::Null }
    }

    pub(crate) fn success(text: impl Into<String>) -> Self {
        Self::new(SUCCESS, text)
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self::new(ERROR, text)
    }
}

impl Relationship {
    /// Executes the command `name` with its `arguments`, null if it has none; `None` if it is no
    /// command about the relationship.
    pub fn execute(&mut self, now: Now, name: &str, arguments: &Value) -> Option<HaExecution> {
        let outcome = match name {
            "ha-sync" => self.synchronize(arguments),
            "ha-maintenance-start" => self.begin_request(HaRequest::StartMaintenance),
            "ha-maintenance-cancel" => self.begin_request(HaRequest::CancelMaintenance),
            _ => return self.execute_at_once(now, name, arguments).map(HaExecution::Answer),
        };
        Some(match outcome {
            Ok(()) => HaExecution::Deferred,
            Err(refusal) => HaExecution::Answer(refusal),
        })
    }

    fn synchronize(&mut self, arguments: &Value) -> Result<(), HaAnswer> {
        demand_arguments("ha-sync", arguments)?;
        let request = self.read_sync(arguments)?;
        self.begin_request(request)
    }

    fn execute_at_once(&mut self, now: Now, name: &str, arguments: &Value) -> Option<HaAnswer> {
        let run: fn(&mut Self, Now, &Value) -> Result<HaAnswer, HaAnswer> = match name {
            "ha-heartbeat" => Self::answer_heartbeat,
            "ha-reset" => Self::reset,
            "ha-continue" => Self::continue_from_pause,
            "ha-scopes" => Self::choose_scopes,
            "ha-maintenance-notify" => Self::note_maintenance,
            "ha-sync-complete-notify" => Self::note_synchronization,
            "ha-explain" => Self::explain,
            _ => return None,
        };
        let outcome = match self.check_server_name(name, arguments) {
            Ok(()) => run(self, now, arguments),
            Err(refused) => Err(refused),
        };
        Some(outcome.unwrap_or_else(|refused| refused))
    }

    /// Checks that `server-name` in the arguments of `command`, which selects the relationship, is
    /// a name of one of its servers.
    pub(crate) fn check_server_name(
        &self,
        command: &str,
        arguments: &Value,
    ) -> Result<(), HaAnswer> {
        if !arguments.is_null() && !arguments.is_object() {
            return Err(not_a_map(command));
        }
        let Some(name) = arguments.get("server-name") else { return Ok(()) };
        let name = name.as_str().ok_or_else(|| {
            let text = format!("'server-name' must be a string in the '{command}' command");
            HaAnswer::error(text)
        })?;
        if self.config.servers().any(|server| server.name == name) {
            Ok(())
        } else {
            Err(HaAnswer::error(format!("{name} matches no configured 'server-name'")))
        }
    }

    fn answer_heartbeat(&mut self, now: Now, arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        // Kea 2.2 sends no name.
        self.partner.is_old = arguments.get("server-name").is_none();
        if self.is_interrupted(now) {
            self.note_command_of_partner(now);
        }
        let mut arguments = json!({
            "date-time": http_date(now.wall_s()),
            "scopes": self.scopes(),
            "state": self.state.name(),
            "unsent-update-count": self.unsent_updates,
            UNSENT_SINCE: self.started.wall_us,
            TAKES_LEASE_ROWS: true,
            NOTES_CHANGES: true,
        });
        if self.config.synchronizes_leases && !self.has_compared_leases {
            arguments[MAY_HAVE_MORE] = json!(true);
        }
        if self.may_heal() {
            arguments["may-heal"] = json!(true);
        }
        Ok(HaAnswer { arguments, ..HaAnswer::success("HA peer status returned.") })
    }

    fn reset(&mut self, now: Now, _arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        if self.state == HaState::Waiting {
            return Ok(HaAnswer::success("HA state machine already in WAITING state."));
        }
        self.enter(now, HaState::Waiting, "the command ha-reset demands it".to_owned());
        self.note_command_of_partner(now);
        Ok(HaAnswer::success("HA state machine reset."))
    }

    fn continue_from_pause(&mut self, _now: Now, _arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        Ok(HaAnswer::success(if self.end_pause() {
            "HA state machine continues."
        } else {
            "HA state machine is not paused."
        }))
    }

    fn choose_scopes(&mut self, _now: Now, arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        demand_arguments("ha-scopes", arguments)?;
        let scopes = arguments
            .get("scopes")
            .ok_or_else(|| HaAnswer::error("'scopes' is mandatory for the 'ha-scopes' command"))?;
        let scopes = scopes
            .as_array()
            .ok_or_else(|| HaAnswer::error("'scopes' must be a list in the 'ha-scopes' command"))?;
        let mut chosen = Vec::new();
        for scope in scopes {
            let name = scope.as_str();
            let name = name.ok_or_else(|| {
                HaAnswer::error("scope name must be a string in the 'scopes' argument")
            })?;
            if self.config.servers().all(|server| server.name != name) {
                let text = format!(
                    "invalid server name specified '{name}' while enabling/disabling HA scopes"
                );
                return Err(HaAnswer::error(text));
            }
            chosen.push(name.to_owned());
        }
        self.chosen_scopes = Some(chosen);
        Ok(HaAnswer::success("New HA scopes configured."))
    }

    fn note_maintenance(&mut self, now: Now, arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        if read_notice(arguments)? {
            if self.state != HaState::InMaintenance {
                let text = "Unable to cancel the maintenance for the server not in the \
                            in-maintenance state.";
                return Err(HaAnswer::error(text));
            }
            let state = self.state_after_maintenance();
            self.enter(now, state, "the maintenance has been canceled".to_owned());
            self.note_command_of_partner(now);
            // The partner leaves its own state only when it has the answer.
            self.heartbeat_due_ns = now.mono_ns + NS_PER_S;
            let arguments = json!({ "state": self.state.name() });
            return Ok(HaAnswer { arguments, ..HaAnswer::success("Server maintenance canceled.") });
        }
        match self.state {
            HaState::Backup | HaState::PartnerInMaintenance | HaState::Terminated => {
                let text = format!(
                    "Unable to transition the server from the {} to in-maintenance state.",
                    self.state
                );
                Err(HaAnswer::new(MAINTENANCE_NOT_ALLOWED, text))
            }
            HaState::InMaintenance => Ok(HaAnswer::success("Server is in-maintenance state.")),
            _ => {
                let reason = "the partner has taken over for maintenance";
                self.enter(now, HaState::InMaintenance, reason.to_owned());
                Ok(HaAnswer::success("Server is in-maintenance state."))
            }
        }
    }

    fn note_synchronization(&mut self, now: Now, arguments: &Value) -> Result<HaAnswer, HaAnswer> {
        let key = ["origin-id", "origin"].into_iter().find(|key| arguments.get(key).is_some());
        if let Some(key) = key.filter(|key| !arguments.get(key).is_some_and(Value::is_i64)) {
            let text =
                format!("'{key}' must be an integer in the 'ha-sync-complete-notify' command");
            return Err(HaAnswer::error(text));
        }
        if self.state == HaState::PartnerDown {
            // Leases that are granted before the next heartbeat would be unknown to the partner.
            (self.is_held_for_partner, self.held_since_ns) = (true, now.mono_ns);
        }
        self.note_command_of_partner(now);
        Ok(HaAnswer::success("Server successfully notified about the synchronization completion."))
    }
}

fn not_a_map(command: &str) -> HaAnswer {
    HaAnswer::error(format!("arguments in the '{command}' command are not a map"))
}

fn demand_arguments(command: &str, arguments: &Value) -> Result<(), HaAnswer> {
    if arguments.is_null() {
        return Err(HaAnswer::error(format!("arguments not found in the '{command}' command")));
    }
    if arguments.is_object() { Ok(()) } else { Err(not_a_map(command)) }
}

/// Returns `cancel` of the arguments of `ha-maintenance-notify`.
fn read_notice(arguments: &Value) -> Result<bool, HaAnswer> {
    let error =
        |text: &str| HaAnswer::error(format!("invalid command 'ha-maintenance-notify': {text}"));
    match arguments.as_object() {
        None => return Err(error("no arguments specified")),
        Some(map) if map.is_empty() => return Err(error("'arguments' is empty")),
        Some(_) => {}
    }
    if arguments.get("state").is_some_and(|state| !state.is_string()) {
        let text = "'state' must be a string in the 'ha-maintenance-notify' command";
        return Err(HaAnswer::error(text));
    }
    let cancel = arguments.get("cancel").ok_or_else(|| {
        HaAnswer::error("'cancel' is mandatory for the 'ha-maintenance-notify' command")
    })?;
    cancel.as_bool().ok_or_else(|| {
        HaAnswer::error("'cancel' must be a boolean in the 'ha-maintenance-notify' command")
    })
}
