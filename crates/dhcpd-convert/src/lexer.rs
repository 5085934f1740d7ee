//! Words of dhcpd.conf(5): names, numbers, addresses, strings and punctuation, with positions.

use crate::note::ConversionError;

/// Position of a word in a configuration: index of the file, line and column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// Index of the file in the list of files that were read.
    pub file: u16,
    /// Line in the file, counted from 1.
    pub line: u32,
    /// Column in the line, in characters, counted from 1.
    pub column: u32,
}

/// Kind of a word of dhcpd.conf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DhcpdTokenKind {
    /// Name, number, address or hexadecimal bytes: everything between blanks and punctuation.
    Word(String),
    /// Contents of a quoted string, with its escapes replaced.
    Text(Vec<u8>),
    /// Punctuation or an operator, such as `;`, `{` or `!=`.
    Sign(&'static str),
}

/// Word of dhcpd.conf with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DhcpdToken {
    pub(crate) kind: DhcpdTokenKind,
    pub(crate) at: FilePosition,
}

impl DhcpdToken {
    /// Returns the word in lower case, as keywords are compared; `None` for other tokens.
    pub(crate) fn keyword(&self) -> Option<String> {
        match &self.kind {
            DhcpdTokenKind::Word(word) => Some(word.to_ascii_lowercase()),
            DhcpdTokenKind::Text(_) | DhcpdTokenKind::Sign(_) => None,
        }
    }

    /// Returns the word as it was written; `None` for other tokens.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            DhcpdTokenKind::Word(word) => Some(word),
            DhcpdTokenKind::Text(_) | DhcpdTokenKind::Sign(_) => None,
        }
    }

    /// Returns true if the token is the sign `sign`.
    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.kind, DhcpdTokenKind::Sign(own) if own == sign)
    }

    /// Returns true if the token is the keyword `word`, in any case of letters.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, DhcpdTokenKind::Word(own) if own.eq_ignore_ascii_case(word))
    }

    /// Returns the token as a message shows it.
    pub(crate) fn shown(&self) -> String {
        match &self.kind {
            DhcpdTokenKind::Word(word) => word.clone(),
            DhcpdTokenKind::Text(octets) => format!("\"{}\"", String::from_utf8_lossy(octets)),
            DhcpdTokenKind::Sign(sign) => (*sign).to_owned(),
        }
    }
}

/// Signs of dhcpd.conf, the longer ones first.
const SIGNS: [&str; 22] = [
    "!=", "~=", "~~", ";", "{", "}", "(", ")", ",", "=", "/", "+", "*", "%", "&", "|", "^", "!",
    "~", "?", "<", ">",
];

/// Reader of the words of one text.
struct DhcpdLexer<'t> {
    rest: core::iter::Peekable<core::str::Chars<'t>>,
    at: FilePosition,
}

/// Returns the words of `text`, which is the file with the index `file`.
///
/// # Errors
/// Returns the first character that begins no word, or a string without an end.
pub(crate) fn tokens(text: &str, file: u16) -> Result<Vec<DhcpdToken>, ConversionError> {
    let at = FilePosition { file, line: 1, column: 1 };
    let mut lexer = DhcpdLexer { rest: text.chars().peekable(), at };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

const fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | ':')
}

impl DhcpdLexer<'_> {
    fn take(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        if character == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(character)
    }

    fn skip_blanks(&mut self) {
        while let Some(&character) = self.rest.peek() {
            if character == '#' {
                while self.rest.peek().is_some_and(|&next| next != '\n') {
                    self.take();
                }
            } else if character.is_whitespace() || character == '\u{feff}' {
                self.take();
            } else {
                return;
            }
        }
    }

    fn next(&mut self) -> Result<Option<DhcpdToken>, ConversionError> {
        self.skip_blanks();
        let at = self.at;
        let Some(&first) = self.rest.peek() else { return Ok(None) };
        if first == '"' {
            self.take();
            let text = self.string(at)?;
            return Ok(Some(DhcpdToken { kind: DhcpdTokenKind::Text(text), at }));
        }
        if is_word_character(first) {
            let mut word = String::new();
            while let Some(&next) = self.rest.peek().filter(|&&next| is_word_character(next)) {
                word.push(next);
                self.take();
            }
            return Ok(Some(DhcpdToken { kind: DhcpdTokenKind::Word(word), at }));
        }
        self.take();
        let second = self.rest.peek().copied();
        let is_pair = |sign: &&&str| {
            let mut characters = sign.chars();
            characters.next() == Some(first) && characters.next() == second && sign.len() == 2
        };
        if let Some(sign) = SIGNS.iter().find(is_pair) {
            self.take();
            return Ok(Some(DhcpdToken { kind: DhcpdTokenKind::Sign(sign), at }));
        }
        match SIGNS.iter().find(|sign| sign.len() == 1 && sign.starts_with(first)) {
            Some(sign) => Ok(Some(DhcpdToken { kind: DhcpdTokenKind::Sign(sign), at })),
            None => Err(ConversionError::new(at, format!("`{first}` begins no statement"))),
        }
    }

    /// Reads the rest of a string that begins at `start`.
    fn string(&mut self, start: FilePosition) -> Result<Vec<u8>, ConversionError> {
        let mut octets = Vec::new();
        loop {
            let next = self.take();
            match next {
                Some('"') => return Ok(octets),
                Some('\\') => self.escape(start, &mut octets)?,
                Some(character) => {
                    let mut buffer = [0; 4];
                    octets.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                }
                None => return Err(ConversionError::new(start, "the string has no end")),
            }
        }
    }

    /// Reads an escape sequence of a string after its backslash.
    fn escape(&mut self, start: FilePosition, octets: &mut Vec<u8>) -> Result<(), ConversionError> {
        let unended = || ConversionError::new(start, "the string has no end");
        let character = self.take().ok_or_else(unended)?;
        match character {
            't' => octets.push(b'\t'),
            'r' => octets.push(b'\r'),
            'n' => octets.push(b'\n'),
            'b' => octets.push(8),
            'x' => octets.push(self.digits(16, 2, 0)),
            '0'..='3' => {
                let first = character.to_digit(8).unwrap_or_default();
                octets.push(self.digits(8, 2, first));
            }
            other => {
                let mut buffer = [0; 4];
                octets.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes());
            }
        }
        Ok(())
    }

    /// Reads at most `count` digits of base `radix` after the number `value`, and returns the byte.
    fn digits(&mut self, radix: u32, count: usize, mut value: u32) -> u8 {
        for _ in 0..count {
            let digit = self.rest.peek().and_then(|next| next.to_digit(radix));
            let Some(digit) = digit else { break };
            value = value * radix + digit;
            self.take();
        }
        (value & 0xff) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        tokens(text, 0).unwrap().iter().map(DhcpdToken::shown).collect()
    }

    #[test]
    fn words_strings_and_signs_are_told_apart_without_blanks() {
        let text = "subnet 10.0.0.0{option x \"a}\\x41\\101\\\"\";} # } end\nif a!=1:2 {";
        let expected = [
            "subnet",
            "10.0.0.0",
            "{",
            "option",
            "x",
            "\"a}AA\"\"",
            ";",
            "}",
            "if",
            "a",
            "!=",
            "1:2",
            "{",
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn positions_count_lines_and_characters() {
        let tokens = tokens("a\n  \"ä\" b", 3).unwrap();
        let last = tokens[2].at;
        assert_eq!((last.file, last.line, last.column), (3, 2, 7));
    }

    #[test]
    fn a_string_without_end_is_refused_where_it_begins() {
        let error = tokens("option x\n \"abc", 0).unwrap_err();
        assert_eq!((error.at.line, error.at.column), (2, 2));
        assert!(tokens("a $ b", 0).is_err());
    }
}
