//! Lexer of Kea's JSON dialect: comments, includes, numbers, words and strings.
//!
//! An error that permits reading on (a wrong letter case, a bad escape) is reported, and the token
//! is read; any other (a string without an end) is reported and stops the parse.

use std::sync::Arc;

use super::octet_of;
use crate::IncludeResolver;
use crate::diagnostics::ParseDiagnostics;
use crate::source::{MAX_TEXT_BYTES, SourcePosition, Sources};

/// Maximum depth of nested includes, as in Kea.
const MAX_INCLUDE_DEPTH: usize = 10;
/// Maximum number of includes in the parse of one configuration, so that ten files that include
/// each other's copies ten times over cannot grow without bound.
const MAX_INCLUDES: usize = 1000;

/// Token of Kea's JSON dialect.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonToken {
    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    Colon,
    Comma,
    True,
    False,
    Null,
    Integer(i64),
    Float(f64),
    Text(Box<[u8]>),
    /// Literal that the lexer has reported as an error and that has no value.
    Unusable,
    /// End of the main text, after all included texts.
    End,
}

impl JsonToken {
    /// Returns the description of the token in error messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::LeftBrace => "`{`".to_owned(),
            Self::RightBrace => "`}`".to_owned(),
            Self::LeftBracket => "`[`".to_owned(),
            Self::RightBracket => "`]`".to_owned(),
            Self::Colon => "`:`".to_owned(),
            Self::Comma => "`,`".to_owned(),
            Self::True => "`true`".to_owned(),
            Self::False => "`false`".to_owned(),
            Self::Null => "`null`".to_owned(),
            Self::Integer(_) | Self::Float(_) => "a number".to_owned(),
            Self::Text(_) => "a string".to_owned(),
            Self::Unusable => "a word".to_owned(),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

/// Error that stops the parse of a configuration; its reason has been reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedParseError;

/// Text that the lexer is reading, with the offset of the next byte.
struct SourceCursor {
    source: usize,
    text: Arc<str>,
    offset: usize,
}

/// Lexer of a configuration text and of the texts that it includes.
pub(super) struct Lexer<'p> {
    stack: Vec<SourceCursor>,
    resolver: &'p mut dyn IncludeResolver,
    sources: &'p mut Sources,
    pub(super) findings: &'p mut ParseDiagnostics,
}

impl<'p> Lexer<'p> {
    pub(super) fn new(
        name: &str,
        text: &str,
        resolver: &'p mut dyn IncludeResolver,
        sources: &'p mut Sources,
        findings: &'p mut ParseDiagnostics,
    ) -> Result<Self, ReportedParseError> {
        let is_too_long = text.len() > MAX_TEXT_BYTES;
        let text: Arc<str> = if is_too_long { "".into() } else { text.into() };
        let source = sources.add(name, Arc::clone(&text));
        if is_too_long {
            let message = format!("the text has more than {MAX_TEXT_BYTES} bytes");
            findings.error(SourcePosition::new(source, 0), message);
            return Err(ReportedParseError);
        }
        Ok(Self {
            stack: vec![SourceCursor { source, text, offset: 0 }],
            resolver,
            sources,
            findings,
        })
    }

    fn frame(&self) -> &SourceCursor {
        self.stack.last().expect("the main text is never popped")
    }

    fn at(&self) -> SourcePosition {
        let frame = self.frame();
        SourcePosition::new(frame.source, frame.offset)
    }

    /// Returns the part of the current text that the lexer has not read.
    fn rest(&self) -> &str {
        let frame = self.frame();
        &frame.text[frame.offset..]
    }

    fn peek(&self) -> Option<u8> {
        let frame = self.frame();
        frame.text.as_bytes().get(frame.offset).copied()
    }

    fn skip(&mut self, octets: usize) {
        self.stack.last_mut().expect("the main text is never popped").offset += octets;
    }

    /// Returns the next token of the text and its position.
    pub(super) fn next(&mut self) -> Result<(SourcePosition, JsonToken), ReportedParseError> {
        self.skip_blanks()?;
        let at = self.at();
        let Some(first) = self.peek() else { return Ok((at, JsonToken::End)) };
        let single = match first {
            b'{' => JsonToken::LeftBrace,
            b'}' => JsonToken::RightBrace,
            b'[' => JsonToken::LeftBracket,
            b']' => JsonToken::RightBracket,
            b':' => JsonToken::Colon,
            b',' => JsonToken::Comma,
            b'"' => return Ok((at, JsonToken::Text(text(self)?))),
            b'0'..=b'9' | b'-' | b'+' | b'.' => return Ok((at, self.number())),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => return Ok((at, self.word())),
            _ => return Err(self.unexpected(at)),
        };
        self.skip(1);
        Ok((at, single))
    }

    fn unexpected(&mut self, at: SourcePosition) -> ReportedParseError {
        let character = self.rest().chars().next().expect("a character was seen");
        match character {
            '\u{feff}' => self.findings.error_help(
                at,
                "the text begins with a byte order mark",
                "save the file as UTF-8 without one",
            ),
            '\'' => {
                self.findings.error_help(at, "unexpected `'`", "write strings in double quotes")
            }
            _ if character.is_control() => {
                self.findings.error(at, format!("unexpected character U+{:04X}", character as u32));
            }
            _ => self.findings.error(at, format!("unexpected `{character}`")),
        }
        ReportedParseError
    }

    /// Skips white space, comments and ends of included texts; continues with the text of an
    /// include.
    fn skip_blanks(&mut self) -> Result<(), ReportedParseError> {
        loop {
            let frame = self.frame();
            let rest = &frame.text.as_bytes()[frame.offset..];
            let blank = |octet: &&u8| matches!(octet, b' ' | b'\t' | b'\r' | b'\n');
            let blank = rest.iter().take_while(blank).count();
            self.skip(blank);
            match self.rest().as_bytes() {
                [b'#', ..] | [b'/', b'/', ..] => {
                    let rest = self.rest();
                    let line = rest.find('\n').unwrap_or(rest.len());
                    self.skip(line);
                }
                [b'/', b'*', ..] => {
                    let Some(end) = self.rest()[2..].find("*/") else {
                        let at = self.at();
                        self.findings.error(at, "the comment that begins here is never closed");
                        return Err(ReportedParseError);
                    };
                    self.skip(end + 4);
                }
                [b'<', b'?', ..] => self.include()?,
                [] if self.stack.len() > 1 => drop(self.stack.pop()),
                _ => return Ok(()),
            }
        }
    }

    /// Reads `<?include "path"?>` and continues with the text of `path`.
    fn include(&mut self) -> Result<(), ReportedParseError> {
        let at = self.at();
        let Some((length, path)) = include_directive(self.rest()) else {
            self.findings.error_help(
                at,
                "malformed include",
                "write it as `<?include \"path/of/file.json\"?>`",
            );
            return Err(ReportedParseError);
        };
        let path = path.to_owned();
        let names = self.stack.iter().map(|frame| self.sources.name(frame.source));
        if names.clone().any(|name| name == path) {
            let chain: Vec<&str> = names.chain([path.as_str()]).collect();
            let chain = chain.join(" -> ");
            self.findings.error_help(
                at,
                format!("`{path}` includes itself"),
                format!("the chain of includes is {chain}"),
            );
            return Err(ReportedParseError);
        }
        if self.stack.len() > MAX_INCLUDE_DEPTH {
            let message = format!("includes nest deeper than {MAX_INCLUDE_DEPTH}");
            self.findings.error(at, message);
            return Err(ReportedParseError);
        }
        if self.sources.len() > MAX_INCLUDES {
            self.findings.error(at, format!("more than {MAX_INCLUDES} includes"));
            return Err(ReportedParseError);
        }
        let text = self.resolver.read(self.sources.name(at.source()), &path);
        match text {
            Ok(text) if text.len() > MAX_TEXT_BYTES => {
                let message = format!("`{path}` has more than {MAX_TEXT_BYTES} bytes");
                self.findings.error(at, message);
                Err(ReportedParseError)
            }
            Ok(text) => {
                self.skip(length);
                let text: Arc<str> = text.into();
                let source = self.sources.add(&path, Arc::clone(&text));
                self.stack.push(SourceCursor { source, text, offset: 0 });
                Ok(())
            }
            Err(reason) => {
                self.findings.error(at, format!("cannot include `{path}`: {reason}"));
                Err(ReportedParseError)
            }
        }
    }

    /// Takes all characters from the text that could belong to a number or word.
    fn take_run(&mut self) -> String {
        let run = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-');
        let rest = self.rest();
        let length = rest.bytes().take_while(run).count();
        let run = rest[..length].to_owned();
        self.skip(length);
        run
    }

    fn number(&mut self) -> JsonToken {
        let at = self.at();
        let run = self.take_run();
        let mut digits = run.as_str();
        if let Some(rest) = digits.strip_prefix('+') {
            self.findings.error_help(at, "a number cannot begin with `+`", "leave the `+` out");
            digits = rest;
        }
        let unsigned = digits.strip_prefix('-').unwrap_or(digits);
        if !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit()) {
            if unsigned.len() > 1 && unsigned.starts_with('0') {
                self.findings.warn_help(
                    at,
                    format!("`{run}` has leading zeros"),
                    "it is read as a decimal number",
                );
            }
            return digits.parse().map_or_else(
                |_| {
                    self.findings.error(at, format!("`{run}` does not fit in 64 bits"));
                    JsonToken::Unusable
                },
                JsonToken::Integer,
            );
        }
        let value = if is_float(unsigned) { digits.parse().ok() } else { None };
        match value.filter(|value: &f64| value.is_finite()) {
            Some(value) => JsonToken::Float(value),
            None => {
                self.findings.error(at, format!("`{run}` is not a number"));
                JsonToken::Unusable
            }
        }
    }

    fn word(&mut self) -> JsonToken {
        let at = self.at();
        let run = self.take_run();
        let literals =
            [("true", JsonToken::True), ("false", JsonToken::False), ("null", JsonToken::Null)];
        for (literal, token) in literals {
            if run.eq_ignore_ascii_case(literal) {
                if run != literal {
                    self.findings.error_help(
                        at,
                        format!("`{run}` is in the wrong case"),
                        format!("write `{literal}`"),
                    );
                }
                return token;
            }
        }
        self.findings.error_help(
            at,
            format!("unexpected word `{run}`"),
            "write strings in double quotes",
        );
        JsonToken::Unusable
    }
}

/// Returns the length in bytes of the include directive at the start of `rest`, and the path that
/// it names.
fn include_directive(rest: &str) -> Option<(usize, &str)> {
    let body = rest.strip_prefix("<?")?.trim_start_matches([' ', '\t']);
    let body = body.strip_prefix("include")?.trim_start_matches([' ', '\t']);
    let body = body.strip_prefix('"')?;
    let (path, after) = body.split_once('"')?;
    if path.is_empty() || path.contains('\n') {
        return None;
    }
    let after = after.trim_start_matches([' ', '\t']).strip_prefix("?>")?;
    Some((rest.len() - after.len(), path))
}

/// Returns true if `unsigned` is a number with a point or an exponent, with at least one digit
/// before the exponent.
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_good = exponent.is_none_or(|exponent| {
        let magnitude = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !magnitude.is_empty() && digits(magnitude)
    });
    digits(integer) && digits(fraction) && integer.len() + fraction.len() > 0 && exponent_good
}

/// Returns true if the byte `octet` of a string has no special meaning, whatever is around it.
const fn is_plain(octet: u8) -> bool {
    matches!(octet, 0x20..=0x7f) && octet != b'"' && octet != b'\\'
}

/// Reads a string of the configuration; the lexer is at its opening quote.
fn text(lexer: &mut Lexer<'_>) -> Result<Box<[u8]>, ReportedParseError> {
    let open = lexer.at();
    let Lexer { stack, findings, .. } = lexer;
    let frame = stack.last_mut().expect("the main text is never popped");
    let bytes = frame.text.as_bytes();
    let mut octets = Vec::new();
    let mut i = frame.offset + 1;
    loop {
        let plain = bytes[i..].iter().take_while(|&&b| is_plain(b)).count();
        octets.extend_from_slice(&bytes[i..i + plain]);
        i += plain;
        let here = SourcePosition::new(open.source(), i);
        match bytes.get(i) {
            None | Some(b'\n') => {
                let help = "a line break inside a string is written `\\n`";
                findings.error_help(open, "the string that begins here is not closed", help);
                return Err(ReportedParseError);
            }
            Some(b'"') => break,
            Some(b'\\') => i += escape(&bytes[i..], here, &mut octets, findings),
            Some(&control) if control < 0x20 => {
                let message = format!("raw control character 0x{control:02x} in a string");
                let written =
                    if control == b'\t' { "\\t".to_owned() } else { format!("\\u{control:04x}") };
                findings.error_help(here, message, format!("write it as `{written}`"));
                i += 1;
            }
            Some(_) => {
                let c = frame.text[i..].chars().next().expect("it is before the end");
                match octet_of(c.into()) {
                    Some(octet) => octets.push(octet),
                    None => octets.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                }
                i += c.len_utf8();
            }
        }
    }
    frame.offset = i + 1;
    Ok(octets.into())
}

/// Decodes the escape sequence at the start of `bytes` into `octets`; returns the number of bytes
/// that it takes up.
fn escape(
    bytes: &[u8],
    at: SourcePosition,
    octets: &mut Vec<u8>,
    findings: &mut ParseDiagnostics,
) -> usize {
    let plain = match bytes.get(1) {
        Some(&same @ (b'"' | b'\\' | b'/')) => same,
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => {
            let digits = bytes.get(2..6).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
            let Some(digits) = digits else {
                findings.error(at, "`\\u` needs four hexadecimal digits");
                return 2;
            };
            let digits = core::str::from_utf8(digits).expect("hexadecimal digits are ASCII");
            let code = u16::from_str_radix(digits, 16).expect("four hexadecimal digits");
            match u8::try_from(code).ok().or_else(|| octet_of(code.into())) {
                Some(octet) => octets.push(octet),
                None => findings.error_help(
                    at,
                    format!("`\\u{digits}` is beyond `\\u00ff`"),
                    "write the character itself, in UTF-8",
                ),
            }
            return 6;
        }
        // Possibly not a whole character: `text` continues with it.
        _ => {
            findings.error_help(at, "unknown escape", "a backslash itself is written `\\\\`");
            return 1;
        }
    };
    octets.push(plain);
    2
}
