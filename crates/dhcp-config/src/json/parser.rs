//! Parser of Kea's JSON dialect: turns tokens into values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::lexer::{JsonToken, Lexer, ReportedParseError};
use super::{JsonContent, JsonMember, JsonValue};
use crate::IncludeResolver;
use crate::diagnostics::ParseDiagnostics;
use crate::source::{SourcePosition, Sources};

/// Maximum depth of nested lists and maps in a configuration. A Kea configuration needs nine
/// levels.
const MAX_DEPTH: usize = 100;

/// Number of keys up to which the parser compares the keys of a map each with each.
const FEW: usize = 16;

/// Parses the single value of a configuration text; returns `None` when a problem stopped the
/// parse.
pub(crate) fn parse(
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
    sources: &mut Sources,
    findings: &mut ParseDiagnostics,
) -> Option<JsonValue> {
    let lexer = Lexer::new(name, text, resolver, sources, findings).ok()?;
    let mut parser = JsonParser { lexer, depth: 0, keys: BTreeSet::new() };
    parser.document().ok()
}

struct JsonParser<'p> {
    lexer: Lexer<'p>,
    depth: usize,
    /// Texts of the keys met so far, which equal keys share.
    keys: BTreeSet<Arc<str>>,
}

impl JsonParser<'_> {
    fn document(&mut self) -> Result<JsonValue, ReportedParseError> {
        let (at, token) = self.lexer.next()?;
        let value = self.value(at, token)?;
        let (mut at, mut token) = self.lexer.next()?;
        while token == JsonToken::Comma {
            self.extra_comma(at);
            (at, token) = self.lexer.next()?;
        }
        if token == JsonToken::End {
            return Ok(value);
        }
        let message = format!("unexpected {} after the end of the document", token.describe());
        self.lexer.findings.error_help(at, message, "is one `}` too many before it?");
        Err(ReportedParseError)
    }

    fn value(
        &mut self,
        at: SourcePosition,
        token: JsonToken,
    ) -> Result<JsonValue, ReportedParseError> {
        let kind = match token {
            JsonToken::LeftBrace => self.nested(at, Self::map)?,
            JsonToken::LeftBracket => self.nested(at, Self::list)?,
            JsonToken::True => JsonContent::Bool(true),
            JsonToken::False => JsonContent::Bool(false),
            JsonToken::Null => JsonContent::Null,
            JsonToken::Integer(value) => JsonContent::Integer(value),
            JsonToken::Float(value) => JsonContent::Float(value),
            JsonToken::Text(octets) => JsonContent::Text(octets),
            JsonToken::Unusable => JsonContent::Unusable,
            other => {
                let message = format!("expected a value, found {}", other.describe());
                self.lexer.findings.error(at, message);
                return Err(ReportedParseError);
            }
        };
        Ok(JsonValue { at, kind })
    }

    fn nested(
        &mut self,
        at: SourcePosition,
        read: fn(&mut Self, SourcePosition) -> Result<JsonContent, ReportedParseError>,
    ) -> Result<JsonContent, ReportedParseError> {
        if self.depth == MAX_DEPTH {
            let message = format!("lists and maps nest deeper than {MAX_DEPTH}");
            self.lexer.findings.error(at, message);
            return Err(ReportedParseError);
        }
        self.depth += 1;
        let kind = read(self, at)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn list(&mut self, open: SourcePosition) -> Result<JsonContent, ReportedParseError> {
        let mut items = Vec::new();
        let (mut at, mut token) = self.first("list")?;
        while token != JsonToken::RightBracket {
            if token == JsonToken::End {
                return Err(self.unclosed(at, "list", open));
            }
            items.push(self.value(at, token)?);
            (at, token) = self.separator(&JsonToken::RightBracket, open)?;
        }
        Ok(JsonContent::List(items.into()))
    }

    fn map(&mut self, open: SourcePosition) -> Result<JsonContent, ReportedParseError> {
        let mut entries = Vec::new();
        let (mut at, mut token) = self.first("map")?;
        while token != JsonToken::RightBrace {
            match token {
                JsonToken::Text(octets) => entries.push(self.entry(at, &octets)?),
                JsonToken::End => return Err(self.unclosed(at, "map", open)),
                // The lexer has reported it.
                JsonToken::Unusable => return Err(ReportedParseError),
                other => {
                    let message = format!("expected a key or `}}`, found {}", other.describe());
                    self.lexer.findings.error(at, message);
                    return Err(ReportedParseError);
                }
            }
            (at, token) = self.separator(&JsonToken::RightBrace, open)?;
        }
        self.refuse_duplicates(&entries);
        Ok(JsonContent::Map(entries.into()))
    }

    fn entry(&mut self, at: SourcePosition, key: &[u8]) -> Result<JsonMember, ReportedParseError> {
        let key = self.key(key);
        let (colon_at, colon) = self.lexer.next()?;
        if colon != JsonToken::Colon {
            let message = format!("expected `:` after key `{key}`, found {}", colon.describe());
            self.lexer.findings.error(colon_at, message);
            return Err(ReportedParseError);
        }
        let (value_at, token) = self.lexer.next()?;
        Ok(JsonMember { key, at, value: self.value(value_at, token)? })
    }

    /// Returns the text of a map's key, shared by all equal keys.
    fn key(&mut self, octets: &[u8]) -> Arc<str> {
        let text = match core::str::from_utf8(octets) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(octets),
        };
        if let Some(key) = self.keys.get(&*text) {
            return Arc::clone(key);
        }
        let key: Arc<str> = text.into();
        self.keys.insert(Arc::clone(&key));
        key
    }

    /// Returns the first token inside a list or map; as in Kea, a comma there is an error.
    fn first(&mut self, what: &str) -> Result<(SourcePosition, JsonToken), ReportedParseError> {
        let (mut at, mut token) = self.lexer.next()?;
        while token == JsonToken::Comma {
            let message = format!("a {what} cannot begin with `,`");
            self.lexer.findings.error(at, message);
            (at, token) = self.lexer.next()?;
        }
        Ok((at, token))
    }

    /// Skips the comma after an element of a list or map; returns the token that follows: the next
    /// element's first, or the closing one.
    fn separator(
        &mut self,
        close: &JsonToken,
        open: SourcePosition,
    ) -> Result<(SourcePosition, JsonToken), ReportedParseError> {
        let what = if *close == JsonToken::RightBrace { "map" } else { "list" };
        let (comma_at, token) = self.lexer.next()?;
        if token == *close {
            return Ok((comma_at, token));
        }
        match token {
            JsonToken::Comma => {}
            JsonToken::End => return Err(self.unclosed(comma_at, what, open)),
            JsonToken::Text(_) | JsonToken::LeftBrace | JsonToken::LeftBracket => {
                let message = format!("a `,` is missing before {}", token.describe());
                self.lexer.findings.error(comma_at, message);
                return Ok((comma_at, token));
            }
            other => {
                let actual = other.describe();
                let message = format!("expected `,` or {}, found {actual}", close.describe());
                self.lexer.findings.error_with_second_position(
                    comma_at,
                    message,
                    "the unclosed one begins at",
                    open,
                );
                return Err(ReportedParseError);
            }
        }
        let (mut at, mut token) = self.lexer.next()?;
        if token == *close {
            self.extra_comma(comma_at);
        }
        while token == JsonToken::Comma {
            self.extra_comma(at);
            (at, token) = self.lexer.next()?;
        }
        Ok((at, token))
    }

    fn extra_comma(&mut self, at: SourcePosition) {
        self.lexer.findings.warn_help(
            at,
            "extra `,`",
            "it is harmless; a part of the configuration may be missing here",
        );
    }

    fn unclosed(
        &mut self,
        at: SourcePosition,
        what: &str,
        open: SourcePosition,
    ) -> ReportedParseError {
        let message = format!("the file ends inside a {what}");
        self.lexer.findings.error_with_second_position(at, message, "it was opened at", open);
        ReportedParseError
    }

    fn refuse_duplicates(&mut self, entries: &[JsonMember]) {
        let mut refuse = |first: &JsonMember, again: &JsonMember| {
            let message = format!("key `{}` is set twice in this map", again.key);
            self.lexer.findings.error_with_second_position(
                again.at,
                message,
                "it was set at",
                first.at,
            );
        };
        if entries.len() <= FEW {
            for (count, again) in entries.iter().enumerate() {
                let mut before = entries[..count].iter().rev();
                if let Some(first) = before.find(|first| Arc::ptr_eq(&first.key, &again.key)) {
                    refuse(first, again);
                }
            }
            return;
        }
        let mut order: Vec<&JsonMember> = entries.iter().collect();
        order.sort_by(|a, b| a.key.cmp(&b.key));
        for pair in order.windows(2).filter(|pair| pair[0].key == pair[1].key) {
            refuse(pair[0], pair[1]);
        }
    }
}
