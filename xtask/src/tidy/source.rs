//! Rust source file, split just as far as tidy's rules need: code without comments and literals,
//! the comments, and a flat list of tokens.
//!
//! This is a lexer, not a parser. It knows nested block comments, raw strings, byte and C strings,
//! character literals against lifetimes, and nothing else of the language.

use std::ops::Range;

/// Kind of a [`Comment`] in Rust code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentKind {
    /// Comment `//` that is not documentation.
    Line,
    /// Documentation: `///`, `//!` and their block forms.
    Doc,
    /// Comment `/* */` that is not documentation.
    Block,
}

/// Comment in a Rust file, with its position.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    /// Number of the line with the comment's first character, from 1.
    pub(crate) line: usize,
    /// Kind of the comment.
    pub(crate) kind: CommentKind,
    /// Text of the comment with the comment marks.
    pub(crate) text: String,
}

/// Token of Rust code: an identifier, a lifetime, a number, `::` or one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeToken<'a> {
    /// Characters of the token.
    pub(crate) text: &'a str,
    /// Offset of the token's first character in the file, in bytes.
    pub(crate) offset: usize,
    /// Number of the token's line, from 1.
    pub(crate) line: usize,
}

/// Rust source file, split into code, comments and tokens.
#[derive(Clone, Debug)]
pub(crate) struct RustSource {
    /// Path of the file from the root of the workspace.
    pub(crate) path: String,
    /// Text of the file, unchanged.
    pub(crate) text: String,
    /// Text of the file with comments and the contents of literals blanked; offsets and lines
    /// agree.
    pub(crate) code: String,
    /// Comments of the file in order.
    pub(crate) comments: Vec<Comment>,
    /// Positions of the code's tokens, in order.
    token_spans: Vec<TokenSpan>,
}

/// Position of a token in the code of a Rust file.
#[derive(Clone, Debug)]
struct TokenSpan {
    range: Range<usize>,
    /// Number of the token's line, from 1.
    line: usize,
}

impl RustSource {
    /// Splits `text` into code, comments and tokens.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut lexer = RustLexer { octets: text.as_bytes(), at: 0, spans: Vec::new() };
        lexer.run();
        let spans = lexer.spans;
        let mut code = text.clone().into_bytes();
        let mut comments = Vec::new();
        let mut line = 1;
        let mut counted_to = 0;
        for span in spans {
            line += newlines(&text[counted_to..span.range.start]);
            counted_to = span.range.start;
            for octet in &mut code[span.range.clone()] {
                if *octet != b'\n' {
                    *octet = b' ';
                }
            }
            if let Some(kind) = span.comment {
                comments.push(Comment { line, kind, text: text[span.range].to_owned() });
            }
        }
        let code = String::from_utf8(code).expect("whole characters are blanked");
        let token_spans = token_spans(&code);
        Self { path: path.into(), text, code, comments, token_spans }
    }

    /// Returns the tokens of the code, in order.
    pub(crate) fn tokens(&self) -> Vec<CodeToken<'_>> {
        let token = |span: &TokenSpan| CodeToken {
            text: &self.code[span.range.clone()],
            offset: span.range.start,
            line: span.line,
        };
        self.token_spans.iter().map(token).collect()
    }

    /// Returns the ranges of the file that only tests compile: items under `#[cfg(test)]` or
    /// `#[test]`.
    pub(crate) fn test_ranges(&self) -> Vec<Range<usize>> {
        let tokens = self.tokens();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut index = 0;
        while index < tokens.len() {
            let Some(attribute) = attribute_at(&tokens, index) else {
                index += 1;
                continue;
            };
            if is_test_attribute(&tokens[attribute.clone()]) {
                let last = item_end(&tokens, attribute.end);
                let end = tokens.get(last).map_or(self.text.len(), |token| token.offset + 1);
                ranges.push(tokens[index].offset..end);
                index = last;
            } else {
                index = attribute.end;
            }
        }
        ranges
    }
}

/// Returns true if a character may be part of an identifier or number.
pub(crate) fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// Returns the positions of the tokens of `code`.
fn token_spans(code: &str) -> Vec<TokenSpan> {
    let mut spans = Vec::new();
    let mut line = 1;
    let mut rest = code.char_indices().peekable();
    while let Some((start, first)) = rest.next() {
        if first == '\n' {
            line += 1;
        }
        if first.is_whitespace() {
            continue;
        }
        let mut end = start + first.len_utf8();
        let is_lifetime = first == '\'' && code[end..].starts_with(is_word);
        if is_word(first) || is_lifetime {
            while let Some((at, next)) = rest.next_if(|(_, next)| is_word(*next)) {
                end = at + next.len_utf8();
            }
        } else if first == ':' && rest.next_if(|(_, next)| *next == ':').is_some() {
            end += 1;
        }
        spans.push(TokenSpan { range: start..end, line });
    }
    spans
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|octet| *octet == b'\n').count()
}

/// Returns the tokens of the attribute that begins at `index`: `#[...]` or `#![...]`.
pub(crate) fn attribute_at(tokens: &[CodeToken<'_>], index: usize) -> Option<Range<usize>> {
    let text = |at: usize| tokens.get(at).map(|token| token.text);
    if text(index) != Some("#") {
        return None;
    }
    let bracket = if text(index + 1) == Some("!") { index + 2 } else { index + 1 };
    (text(bracket) == Some("[")).then(|| index..(closing(tokens, bracket) + 1).min(tokens.len()))
}

fn is_test_attribute(tokens: &[CodeToken<'_>]) -> bool {
    let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    match words.as_slice() {
        ["#", "[", "test", "]"] => true,
        ["#", "[", "cfg", "(", inside @ ..] => match inside {
            ["test", ..] => true,
            ["all" | "any", ..] => inside.contains(&"test") && !inside.contains(&"not"),
            _ => false,
        },
        _ => false,
    }
}

/// Returns the index of the token that ends the item beginning at `index`: its `;` or its closing
/// brace.
fn item_end(tokens: &[CodeToken<'_>], mut index: usize) -> usize {
    while let Some(attribute) = attribute_at(tokens, index) {
        index = attribute.end;
    }
    while let Some(token) = tokens.get(index) {
        match token.text {
            ";" => return index,
            "{" => return closing(tokens, index),
            "(" | "[" => index = closing(tokens, index) + 1,
            _ => index += 1,
        }
    }
    index
}

/// Returns the index of the token that closes the bracket at `open`; the last token if none does.
pub(crate) fn closing(tokens: &[CodeToken<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len().saturating_sub(1)
}

/// Range of a Rust file to blank: a comment, or the contents of a literal.
struct BlankRange {
    range: Range<usize>,
    comment: Option<CommentKind>,
}

struct RustLexer<'a> {
    octets: &'a [u8],
    at: usize,
    spans: Vec<BlankRange>,
}

impl RustLexer<'_> {
    fn run(&mut self) {
        while let Some(octet) = self.peek(0) {
            match octet {
                b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
                b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
                b'"' => self.string(),
                b'\'' => self.quote(),
                b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(),
                _ => self.at += 1,
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.octets.get(self.at + ahead).copied()
    }

    fn blank(&mut self, start: usize, end: usize, comment: Option<CommentKind>) {
        self.spans.push(BlankRange { range: start..end.min(self.octets.len()), comment });
    }

    fn line_comment(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|octet| octet != b'\n') {
            self.at += 1;
        }
        let text = &self.octets[start..self.at];
        let is_doc =
            text.starts_with(b"//!") || text.starts_with(b"///") && !text.starts_with(b"////");
        let kind = if is_doc { CommentKind::Doc } else { CommentKind::Line };
        self.blank(start, self.at, Some(kind));
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(octet) = self.peek(0) {
            let pair = (octet, self.peek(1));
            if pair == (b'/', Some(b'*')) {
                depth += 1;
                self.at += 2;
            } else if pair == (b'*', Some(b'/')) {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    break;
                }
            } else {
                self.at += 1;
            }
        }
        let text = &self.octets[start..self.at];
        let is_doc = text.starts_with(b"/*!")
            || text.starts_with(b"/**") && !text.starts_with(b"/***") && text.len() > 4;
        let kind = if is_doc { CommentKind::Doc } else { CommentKind::Block };
        self.blank(start, self.at, Some(kind));
    }

    fn string(&mut self) {
        let start = self.at + 1;
        self.at = start;
        while let Some(octet) = self.peek(0) {
            match octet {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.blank(start, self.at, None);
        self.at += 1;
    }

    /// Reads a character literal, or a lifetime, which is not blanked.
    fn quote(&mut self) {
        let start = self.at + 1;
        if self.peek(1) == Some(b'\\') {
            self.at += 3;
            while self.peek(0).is_some_and(|octet| octet != b'\'') {
                self.at += 1;
            }
            self.blank(start, self.at, None);
            self.at += 1;
            return;
        }
        let width = self.peek(1).map_or(1, utf8_width);
        if self.peek(1 + width) == Some(b'\'') {
            self.blank(start, start + width, None);
            self.at = start + width + 1;
        } else {
            self.at += 1;
        }
    }

    /// Reads an identifier, or the prefix of a raw string.
    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|octet| octet == b'_' || octet.is_ascii_alphanumeric()) {
            self.at += 1;
        }
        if !matches!(&self.octets[start..self.at], b"r" | b"br" | b"cr") {
            return;
        }
        let mut hashes = 0;
        while self.peek(hashes) == Some(b'#') {
            hashes += 1;
        }
        if self.peek(hashes) != Some(b'"') {
            return;
        }
        let inside = self.at + hashes + 1;
        let mut end_mark = vec![b'"'];
        end_mark.resize(hashes + 1, b'#');
        let length = self.octets[inside..]
            .windows(end_mark.len())
            .position(|window| window == end_mark)
            .unwrap_or(self.octets.len() - inside);
        self.blank(inside, inside + length, None);
        self.at = (inside + length + end_mark.len()).min(self.octets.len());
    }
}

const fn utf8_width(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let source = RustSource::new("x.rs", text);
        let words: Vec<&str> = source.tokens().iter().map(|token| token.text).collect();
        words.join(" ")
    }

    #[test]
    fn literals_and_comments_leave_no_code() {
        assert_eq!(words("a /* b /* c */ d */ e // f"), "a e");
        assert_eq!(
            words(r#"a("b \" c", 'd', '\'', b'"', '"')"#),
            "a ( \" \" , ' ' , ' ' , b ' ' , ' ' )"
        );
        assert_eq!(words("r#\"x \" y\"# z"), "r # \" \" # z");
        assert_eq!(words("r#type::b\"c\" br\"d\""), "r # type :: b \" \" br \" \"");
        assert_eq!(
            words("fn f<'a>(x: &'a str) { 'λ'; }"),
            "fn f < 'a > ( x : & 'a str ) { ' ' ; }"
        );
    }

    #[test]
    fn unterminated_literals_end_with_the_file() {
        for text in ["\"a", "r#\"a\"", "/* a", "'\\", "'", "b'", "\"\\"] {
            let source = RustSource::new("x.rs", text);
            assert_eq!(source.code.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn comments_know_line_and_kind() {
        let source = RustSource::new("x.rs", "//! a\n\n// b\n/* c\n*/ x(); /// d\n//// e\n");
        let seen: Vec<_> = source.comments.iter().map(|each| (each.line, each.kind)).collect();
        use CommentKind::{Block, Doc, Line};
        assert_eq!(seen, [(1, Doc), (3, Line), (4, Block), (5, Doc), (6, Line)]);
    }

    #[test]
    fn test_items_are_found_with_their_braces() {
        let text = "fn a() {}\n#[cfg(test)]\n#[doc = \"x\"]\nmod t { fn b() { } }\nfn c() {}\n\
                    #[test]\nfn d() { }\n#[cfg(test)]\nuse e;\n#[cfg(not(test))]\nfn f() {}\n\
                    #[cfg(all(test, unix))] const G: [u8; 2] = [1, 2];";
        let source = RustSource::new("x.rs", text);
        let seen: Vec<&str> = source.test_ranges().into_iter().map(|range| &text[range]).collect();
        assert_eq!(
            seen,
            [
                "#[cfg(test)]\n#[doc = \"x\"]\nmod t { fn b() { } }",
                "#[test]\nfn d() { }",
                "#[cfg(test)]\nuse e;",
                "#[cfg(all(test, unix))] const G: [u8; 2] = [1, 2];",
            ]
        );
    }
}
