//! Parser of Kea's JSON dialect: turns tokens into values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::lexer::{Lexer, Stop, Token};
use super::{Entry, Kind, Value};
use crate::IncludeResolver;
use crate::source::{At, Findings, Sources};

/// Maximum depth of nested lists and maps. A Kea configuration needs nine levels.
const MAX_DEPTH: usize = 100;

/// Number of keys up to which those of a map are compared each with each.
const FEW: usize = 16;

/// Reads the single value of a text; returns `None` when a problem stopped the parse.
pub(crate) fn parse(
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
    sources: &mut Sources,
    findings: &mut Findings,
) -> Option<Value> {
    let lexer = Lexer::new(name, text, resolver, sources, findings).ok()?;
    let mut parser = Parser { lexer, depth: 0, keys: BTreeSet::new() };
    parser.document().ok()
}

struct Parser<'p> {
    lexer: Lexer<'p>,
    depth: usize,
    /// Keys met so far.
    keys: BTreeSet<Arc<str>>,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Value, Stop> {
        let (at, token) = self.lexer.next()?;
        let value = self.value(at, token)?;
        let (mut at, mut token) = self.lexer.next()?;
        while token == Token::Comma {
            self.extra_comma(at);
            (at, token) = self.lexer.next()?;
        }
        if token == Token::End {
            return Ok(value);
        }
        let message = format!("unexpected {} after the end of the document", token.describe());
        self.lexer.findings.error_help(at, message, "is there a `}` too many before it?");
        Err(Stop)
    }

    fn value(&mut self, at: At, token: Token) -> Result<Value, Stop> {
        let kind = match token {
            Token::LeftBrace => self.nested(at, Self::map)?,
            Token::LeftBracket => self.nested(at, Self::list)?,
            Token::True => Kind::Bool(true),
            Token::False => Kind::Bool(false),
            Token::Null => Kind::Null,
            Token::Integer(value) => Kind::Integer(value),
            Token::Float(value) => Kind::Float(value),
            Token::Text(octets) => Kind::Text(octets),
            Token::Unusable => Kind::Unusable,
            other => {
                let message = format!("expected a value, found {}", other.describe());
                self.lexer.findings.error(at, message);
                return Err(Stop);
            }
        };
        Ok(Value { at, kind })
    }

    fn nested(
        &mut self,
        at: At,
        read: fn(&mut Self, At) -> Result<Kind, Stop>,
    ) -> Result<Kind, Stop> {
        if self.depth == MAX_DEPTH {
            let message = format!("lists and maps nest deeper than {MAX_DEPTH}");
            self.lexer.findings.error(at, message);
            return Err(Stop);
        }
        self.depth += 1;
        let kind = read(self, at)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn list(&mut self, open: At) -> Result<Kind, Stop> {
        let mut items = Vec::new();
        let (mut at, mut token) = self.first("list")?;
        while token != Token::RightBracket {
            if token == Token::End {
                return Err(self.unclosed(at, "list", open));
            }
            items.push(self.value(at, token)?);
            (at, token) = self.separator(&Token::RightBracket, open)?;
        }
        Ok(Kind::List(items.into()))
    }

    fn map(&mut self, open: At) -> Result<Kind, Stop> {
        let mut entries = Vec::new();
        let (mut at, mut token) = self.first("map")?;
        while token != Token::RightBrace {
            match token {
                Token::Text(octets) => entries.push(self.entry(at, &octets)?),
                Token::End => return Err(self.unclosed(at, "map", open)),
                // The lexer has reported it.
                Token::Unusable => return Err(Stop),
                other => {
                    let message = format!("expected a key or `}}`, found {}", other.describe());
                    self.lexer.findings.error(at, message);
                    return Err(Stop);
                }
            }
            (at, token) = self.separator(&Token::RightBrace, open)?;
        }
        self.refuse_duplicates(&entries);
        Ok(Kind::Map(entries.into()))
    }

    fn entry(&mut self, at: At, key: &[u8]) -> Result<Entry, Stop> {
        let key = self.key(key);
        let (colon_at, colon) = self.lexer.next()?;
        if colon != Token::Colon {
            let message = format!("expected `:` after key `{key}`, found {}", colon.describe());
            self.lexer.findings.error(colon_at, message);
            return Err(Stop);
        }
        let (value_at, token) = self.lexer.next()?;
        Ok(Entry { key, at, value: self.value(value_at, token)? })
    }

    /// Returns the text of a key, shared by all equal keys.
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

    /// Returns the first token inside a list or map; Kea takes no comma there.
    fn first(&mut self, what: &str) -> Result<(At, Token), Stop> {
        let (mut at, mut token) = self.lexer.next()?;
        while token == Token::Comma {
            let message = format!("a {what} cannot begin with `,`");
            self.lexer.findings.error(at, message);
            (at, token) = self.lexer.next()?;
        }
        Ok((at, token))
    }

    /// Skips the comma after an element; returns the token that follows: the next element's first,
    /// or the closing one.
    fn separator(&mut self, close: &Token, open: At) -> Result<(At, Token), Stop> {
        let what = if *close == Token::RightBrace { "map" } else { "list" };
        let (comma_at, token) = self.lexer.next()?;
        if token == *close {
            return Ok((comma_at, token));
        }
        match token {
            Token::Comma => {}
            Token::End => return Err(self.unclosed(comma_at, what, open)),
            Token::Text(_) | Token::LeftBrace | Token::LeftBracket => {
                let message = format!("a `,` is missing before {}", token.describe());
                self.lexer.findings.error(comma_at, message);
                return Ok((comma_at, token));
            }
            other => {
                let found = other.describe();
                let message = format!("expected `,` or {}, found {found}", close.describe());
                self.lexer.findings.error_seen(comma_at, message, "the open one began at", open);
                return Err(Stop);
            }
        }
        let (mut at, mut token) = self.lexer.next()?;
        if token == *close {
            self.extra_comma(comma_at);
        }
        while token == Token::Comma {
            self.extra_comma(at);
            (at, token) = self.lexer.next()?;
        }
        Ok((at, token))
    }

    fn extra_comma(&mut self, at: At) {
        self.lexer.findings.warn_help(
            at,
            "extra `,`",
            "it is harmless; a piece of the configuration may be missing here",
        );
    }

    fn unclosed(&mut self, at: At, what: &str, open: At) -> Stop {
        let message = format!("the file ends inside a {what}");
        self.lexer.findings.error_seen(at, message, "it was opened at", open);
        Stop
    }

    fn refuse_duplicates(&mut self, entries: &[Entry]) {
        let mut refuse = |first: &Entry, again: &Entry| {
            let message = format!("key `{}` is set twice in this map", again.key);
            self.lexer.findings.error_seen(again.at, message, "it was set at", first.at);
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
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by(|a, b| a.key.cmp(&b.key));
        for pair in order.windows(2).filter(|pair| pair[0].key == pair[1].key) {
            refuse(pair[0], pair[1]);
        }
    }
}
