//! Tokens of the C preprocessor: words, strings, comments, blanks and single bytes.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::source::is_word;

/// Names of macros from whose bodies a token came, so that no macro is replaced inside of itself.
pub(super) type Hidden = Rc<BTreeSet<Rc<str>>>;

/// Kind of a preprocessor token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Word of letters, digits and `_`.
    Word,
    /// String or character with its quotes.
    Quoted,
    /// Comment, without the end of its line.
    Comment,
    /// Blanks and tabs.
    Blank,
    /// End of a line.
    LineEnd,
    /// Single byte of any other kind.
    Other,
}

/// Token of the C preprocessor.
#[derive(Clone, Debug)]
pub(super) struct PreprocessorToken {
    pub(super) kind: TokenKind,
    pub(super) octets: Rc<[u8]>,
    /// Origin of the token's first byte: its position in the concatenation of all files.
    pub(super) origin: usize,
    /// True for a token copied from a file; otherwise all bytes come from the first byte's origin.
    pub(super) is_verbatim: bool,
    pub(super) hidden: Hidden,
}

impl PreprocessorToken {
    /// Returns the text of the token if it is a word.
    pub(super) fn word(&self) -> Option<&str> {
        match self.kind {
            TokenKind::Word => str::from_utf8(&self.octets).ok(),
            _ => None,
        }
    }

    pub(super) fn is(&self, octet: u8) -> bool {
        self.kind == TokenKind::Other && *self.octets == [octet]
    }

    /// Returns true if the token is blanks, the end of a line or a comment.
    pub(super) const fn is_blank(&self) -> bool {
        matches!(self.kind, TokenKind::Blank | TokenKind::LineEnd | TokenKind::Comment)
    }
}

/// Returns the kind and the length of the token at the beginning of `rest`, which must not be
/// empty. With `in_directive` the bytes `#` and `;`, which elsewhere begin comments of packet
/// files, have no special meaning.
pub(super) fn piece(rest: &[u8], in_directive: bool) -> (TokenKind, usize) {
    let until_line_end = || rest.iter().position(|&octet| octet == b'\n').unwrap_or(rest.len());
    match rest[0] {
        b'\n' => (TokenKind::LineEnd, 1),
        // Lines that are joined (ISO C 2011, 5.1.1.2).
        b'\\' if line_join_len(rest).is_some() => {
            (TokenKind::Blank, line_join_len(rest).unwrap_or_default())
        }
        b' ' | b'\t' | b'\r' => {
            let len = rest.iter().take_while(|octet| matches!(octet, b' ' | b'\t' | b'\r')).count();
            (TokenKind::Blank, len)
        }
        b'/' if rest.starts_with(b"/*") => {
            let end = rest[2..].windows(2).position(|two| two == b"*/");
            (TokenKind::Comment, end.map_or(rest.len(), |at| at + 4))
        }
        b'/' if rest.starts_with(b"//") => (TokenKind::Comment, until_line_end()),
        b'#' | b';' if !in_directive => (TokenKind::Comment, until_line_end()),
        b'"' => {
            let end = rest[1..].iter().position(|octet| matches!(octet, b'"' | b'\n'));
            let len = end.map_or(rest.len(), |at| at + 1 + usize::from(rest[at + 1] == b'"'));
            (TokenKind::Quoted, len)
        }
        b'\'' if rest.get(2) == Some(&b'\'') => (TokenKind::Quoted, 3),
        // A byte in hex.
        b'\'' if rest.get(1) == Some(&b'\\') && rest.get(5) == Some(&b'\'') => {
            (TokenKind::Quoted, 6)
        }
        octet if is_word(octet) => {
            (TokenKind::Word, rest.iter().take_while(|octet| is_word(**octet)).count())
        }
        _ => (TokenKind::Other, 1),
    }
}

/// Returns the length of the `\` and the line end with which `rest` begins; `None` if it begins
/// otherwise.
pub(super) fn line_join_len(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"\\\n") {
        Some(2)
    } else if rest.starts_with(b"\\\r\n") {
        Some(3)
    } else {
        None
    }
}

/// Splits a text that is no part of a file into tokens, all with the origin `origin`.
pub(super) fn tokens(text: &[u8], origin: usize) -> Vec<PreprocessorToken> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (kind, len) = piece(rest, true);
        let octets = rest[..len].into();
        pieces.push(PreprocessorToken {
            kind,
            octets,
            origin,
            is_verbatim: false,
            hidden: Hidden::default(),
        });
        rest = &rest[len..];
    }
    pieces
}
