//! What a command is answered: Kea's `{ "result": n, "text": ..., "arguments": ... }`.

use serde_json::{Map, Value};

use crate::text::kea_json;

/// How a command ended, with Kea's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ResultCode {
    /// Done.
    Success = 0,
    /// Refused or failed; nothing has changed.
    Error = 1,
    /// No such command here.
    Unsupported = 2,
    /// Done, but there was nothing to find or to change.
    Empty = 3,
    /// The state of the server does not allow it, for instance since somebody else was faster.
    Conflict = 4,
    /// Failed after the configuration had been changed in part.
    Fatal = 5,
}

/// The answer to one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How it ended.
    pub result: ResultCode,
    /// One sentence for people; clients look for parts of some of them.
    pub text: Option<String>,
    /// What was asked for.
    pub arguments: Option<Value>,
    /// The list `leases` of the arguments as text: of millions of leases values would take ten times
    /// as much memory.
    pub(crate) leases: Option<String>,
}

/// The end of a command: an answer in either case, the error being one that left early.
pub(crate) type Outcome = Result<Answer, Answer>;

impl Answer {
    /// An answer with a text alone.
    #[must_use]
    pub fn text(result: ResultCode, text: impl Into<String>) -> Self {
        Self { result, text: Some(text.into()), arguments: None, leases: None }
    }

    /// Success with a text alone.
    #[must_use]
    pub fn success(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Success, text)
    }

    /// A plain error.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Error, text)
    }

    /// Nothing was there.
    #[must_use]
    pub fn empty(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Empty, text)
    }

    /// The state of the server stands against it.
    #[must_use]
    pub fn conflict(text: impl Into<String>) -> Self {
        Self::text(ResultCode::Conflict, text)
    }

    /// Success with arguments alone.
    #[must_use]
    pub const fn with(arguments: Value) -> Self {
        Self { result: ResultCode::Success, text: None, arguments: Some(arguments), leases: None }
    }

    /// The same with `arguments`.
    #[must_use]
    pub fn and(self, arguments: Value) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// The command `name` is not one of this server.
    #[must_use]
    pub fn unsupported(name: &str) -> Self {
        Self::text(ResultCode::Unsupported, format!("'{name}' command not supported."))
    }

    /// Adds the list `leases` to its arguments; the list is JSON text.
    #[must_use]
    pub(crate) fn and_leases(self, leases: String) -> Self {
        Self { leases: Some(leases), ..self }
    }

    /// The map that a client is sent as text, without a copy of what is large.
    #[must_use]
    pub fn into_text(mut self) -> String {
        let Some(mut text) = self.leases.take() else { return kea_json(&self.to_json()) };
        const MARK: &str = "\u{0}leases";
        // Of what stands around the list there is little: it is written with a mark in the middle.
        let arguments = self.arguments.get_or_insert_with(|| Value::Object(Map::new()));
        arguments["leases"] = Value::from(MARK);
        let whole = kea_json(&self.to_json());
        let mark = kea_json(&Value::from(MARK));
        let (before, after) = whole.split_once(&mark).expect("the mark was just written");
        text.insert_str(0, before);
        text.push_str(after);
        text
    }

    /// The map that a client is sent. Over HTTP it stands in a list.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("result".to_owned(), Value::from(self.result as u8));
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
