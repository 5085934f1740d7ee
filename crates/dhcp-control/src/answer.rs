//! Answers to control commands: Kea's `{ "result": n, "text": ..., "arguments": ... }`.

use serde_json::{Map, Value};

use crate::text::kea_json;

/// Result code of a control command, with Kea's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum ResultCode {
    /// The command succeeded.
    Success = 0,
    /// The server refused the command, or it failed; nothing has changed.
    Error = 1,
    /// The server does not have the command.
    Unsupported = 2,
    /// The command succeeded, but found nothing to show or to change.
    Empty = 3,
    /// The state of the server does not allow the command, for instance because another change was
    /// faster.
    Conflict = 4,
    /// The command failed after the configuration had been changed in part.
    Fatal = 5,
    /// The state of the server does not allow its maintenance.
    MaintenanceNotAllowed = 1001,
}

/// Answer to one control command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandAnswer {
    /// Result code of the command.
    pub result: ResultCode,
    /// Text of the answer, one sentence for people; clients search some texts for phrases.
    pub text: Option<String>,
    /// Data that the command returns to the client; `None` if there is none.
    pub arguments: Option<Value>,
    /// JSON text of the list `leases` in the answer's arguments: as values, millions of leases
    /// would take ten times as much memory.
    pub(crate) leases: Option<String>,
}

/// Result of executing a command: an answer in either case; the error is the answer to a command
/// that ended early.
pub(crate) type Outcome = Result<CommandAnswer, CommandAnswer>;

impl CommandAnswer {
    /// Creates an answer that has a result code and a text, but no arguments.
    #[must_use]
    pub fn text(result: ResultCode, text: impl Into<String>) -> Self {
        Self { result, text: Some(text.into()), arguments: None, leases: None }
    }

    /// Creates an answer with the code [`ResultCode::Success`] and a text, without arguments.
    #[must_use]
    pub fn success(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Success, text)
    }

    /// Creates an answer with the code [`ResultCode::Error`] and a text.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Error, text)
    }

    /// Creates an answer with the code [`ResultCode::Empty`] and a text, for a command that found
    /// nothing.
    #[must_use]
    pub fn empty(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Empty, text)
    }

    /// Creates an answer with the code [`ResultCode::Conflict`] and a text, for a command that the
    /// state of the server does not allow.
    #[must_use]
    pub fn conflict(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Conflict, text)
    }

    /// Creates an answer with the code [`ResultCode::Success`] and arguments, without a text.
    #[must_use]
    pub const fn from_arguments(arguments: Value) -> Self {
        Self { result: ResultCode::Success, text: None, arguments: Some(arguments), leases: None }
    }

    /// Returns the answer with its arguments set to `arguments`.
    #[must_use]
    pub fn and_arguments(self, arguments: Value) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// Creates an answer for the command `name`, which this server does not have.
    #[must_use]
    pub fn unsupported(name: &str) -> Self {
        Self::text(ResultCode::Unsupported, format!("'{name}' command not supported."))
    }

    /// Returns the answer with `reason` after its text.
    #[must_use]
    pub(crate) fn and_reason(self, reason: &str) -> Self {
        let text = self.text.unwrap_or_default();
        Self { text: Some(format!("{text} {reason}.")), ..self }
    }

    /// Adds the list `leases`, a JSON text, to the arguments of the answer.
    #[must_use]
    pub(crate) fn and_leases(self, leases: String) -> Self {
        Self { leases: Some(leases), ..self }
    }

    /// Returns the answer's map for the client as JSON text, without a copy of the large list of
    /// leases.
    #[must_use]
    pub fn into_text(mut self) -> String {
        let Some(mut text) = self.leases.take() else { return kea_json(&self.to_json()) };
        const MARK: &str = "\u{0}leases";
        // The text around the list is small: it is written with a mark in the middle.
        let arguments = self.arguments.get_or_insert_with(|| Value::Object(Map::new()));
        arguments["leases"] = Value::from(MARK);
        let whole = kea_json(&self.to_json());
        let mark = kea_json(&Value::from(MARK));
        let (before, after) = whole.split_once(&mark).expect("the mark was just written");
        text.insert_str(0, before);
        text.push_str(after);
        text
    }

    /// Returns the answer's map for the client as a JSON value. Over HTTP the map is in a list.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("result".to_owned(), Value::from(self.result as u16));
        if let Some(text) = &self.text {
            map.insert("text".to_owned(), Value::from(text.as_str()));
        }
        if let Some(arguments) = &self.arguments {
            map.insert("arguments".to_owned(), arguments.clone());
        }
        if let Some(leases) = &self.leases {
            let leases: Value = serde_json::from_str(leases).expect("it was written as JSON");
            let arguments = map.entry("arguments").or_insert_with(|| Value::Object(Map::new()));
            arguments["leases"] = leases;
        }
        Value::Object(map)
    }
}
