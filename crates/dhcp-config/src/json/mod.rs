//! Kea's dialect of JSON: comments, includes, superfluous commas; values with their positions.
//!
//! RFC 8259 plus the extensions of Kea's lexer. Strings are bytes: `\u00e9` means the single byte
//! e9, as in Kea, so that option data keeps every byte the operator wrote. U+EF80 to U+EFFF, by
//! which documents show such bytes, mean one byte, too.

mod lexer;
mod octet_characters;
mod parser;

pub(crate) use octet_characters::{character_of, octet_of};
pub(crate) use parser::parse;

use std::sync::Arc;

use crate::source::SourcePosition;

/// Value of a configuration file and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonValue {
    pub(crate) at: SourcePosition,
    pub(crate) kind: JsonContent,
}

/// Kind and content of a value in a configuration file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonContent {
    /// Value that the lexer has reported as an error; later checks ignore it.
    Unusable,
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Box<[u8]>),
    List(Box<[JsonValue]>),
    Map(Box<[JsonMember]>),
}

/// Entry of a configuration map: a key with its value. Equal keys of a file share their text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonMember {
    pub(crate) key: Arc<str>,
    pub(crate) at: SourcePosition,
    pub(crate) value: JsonValue,
}

impl JsonContent {
    /// Returns the kind of the value in words, with its article.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Unusable => "an unusable value",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}
