//! Kea's dialect of JSON: comments, includes, forgiving commas; values that remember their place.
//!
//! RFC 8259 plus what Kea's lexer adds. Strings are octets: `\u00e9` stands for the one octet e9,
//! as in Kea, so that option data keeps every octet the operator wrote. U+EF80 to U+EFFF, by which
//! documents show such octets, stand for one octet, too.

mod lexer;
mod parser;
mod stand_in;

pub(crate) use parser::parse;
pub(crate) use stand_in::{character_of, octet_of};

use std::sync::Arc;

use crate::source::At;

/// A value and where it began.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) at: At,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Reported by the lexer already; later checks pass over it in silence.
    Unusable,
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Box<[u8]>),
    List(Box<[Value]>),
    Map(Box<[Entry]>),
}

/// One key of a map. Equal keys of a file share their text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Arc<str>,
    pub(crate) at: At,
    pub(crate) value: Value,
}

impl Kind {
    /// The kind in words, with its article.
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
