//! Cursor over the text of a packet file: blanks and comments, words, numbers.
//!
//! The text may have come through the preprocessor. Each byte has the position in the file that it
//! comes from, so that problems show the operator's own text.

/// Text of a packet file after preprocessing, with the position in the file for each byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct MappedText {
    pub(crate) octets: Vec<u8>,
    pub(crate) origins: Vec<u32>,
}

impl MappedText {
    /// Creates a text that equals the packet file.
    pub(crate) fn verbatim(file: &[u8]) -> Self {
        Self { octets: file.to_vec(), origins: (0..file.len() as u32).collect() }
    }

    pub(crate) fn push(&mut self, octet: u8, origin: usize) {
        self.octets.push(octet);
        self.origins.push(origin as u32);
    }
}

/// Fault of a packet text: a message and the byte of the text concerned.
#[derive(Clone, Debug)]
pub(crate) struct PacketTextFault {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// Result of reading a part of the text of a packet.
pub(crate) type Parsed<T> = Result<T, PacketTextFault>;

/// Returns `Err` with a fault at byte `at` with the message `message`.
pub(crate) fn fault<T>(at: usize, message: impl Into<String>) -> Parsed<T> {
    Err(PacketTextFault { at, message: message.into() })
}

/// Cursor over a packet text.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a MappedText,
    /// Position of the next byte in the text.
    pub(crate) at: usize,
    /// Position of a `/*` without its `*/`, if the text has one.
    pub(crate) open_comment: Option<usize>,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(text: &'a MappedText) -> Self {
        Self { text, at: 0, open_comment: None }
    }

    /// Returns the origin of the byte that a fault concerns. For a fault at the end of the text it
    /// is the end of the packet file, of `file_bytes`.
    pub(crate) fn origin(&self, fault: &PacketTextFault, file_bytes: usize) -> usize {
        self.text.origins.get(fault.at).map_or(file_bytes, |&origin| origin as usize)
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.octets.get(self.at).copied()
    }

    /// Returns the byte `ahead` positions after the next one; `None` after the end of the text.
    fn look(&self, ahead: usize) -> Option<u8> {
        self.text.octets.get(self.at + ahead).copied()
    }

    /// Reads the byte `octet` if it is next in the text; returns true if it was.
    pub(crate) fn take(&mut self, octet: u8) -> bool {
        let is_next = self.peek() == Some(octet);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads the byte `octet` after blanks and comments, or returns a fault that names the text
    /// found instead.
    pub(crate) fn expect(&mut self, octet: u8) -> Parsed<()> {
        self.skip_blanks();
        if self.take(octet) {
            return Ok(());
        }
        fault(self.at, format!("`{}` expected, found {}", octet as char, self.describe_next()))
    }

    /// Returns the next part of the text in words, for error messages.
    pub(crate) fn describe_next(&self) -> String {
        let Some(octet) = self.peek() else { return "the end of the text".to_owned() };
        let word = self.word_at(self.at);
        if word.is_empty() {
            let rest = String::from_utf8_lossy(&self.text.octets[self.at..]);
            let character = rest.chars().next().unwrap_or(octet as char);
            if character == '\n' {
                "the end of the line".to_owned()
            } else {
                format!("`{character}`")
            }
        } else {
            format!("`{word}`")
        }
    }

    /// Skips blanks, ends of lines and comments: `/* */`, `//`, `#` and `;` to the end of the line.
    /// An unterminated comment extends to the end of the text.
    pub(crate) fn skip_blanks(&mut self) {
        while let Some(octet) = self.peek() {
            match octet {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' | b';' => self.skip_line(),
                b'/' if self.look(1) == Some(b'/') => self.skip_line(),
                b'/' if self.look(1) == Some(b'*') => {
                    let begin = self.at;
                    self.at += 2;
                    while self.at < self.text.octets.len() && !self.is_at(b"*/") {
                        self.at += 1;
                    }
                    if self.at == self.text.octets.len() {
                        self.open_comment = Some(begin);
                    }
                    self.at = (self.at + 2).min(self.text.octets.len());
                }
                _ => break,
            }
        }
    }

    fn is_at(&self, octets: &[u8]) -> bool {
        self.text.octets[self.at..].starts_with(octets)
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|octet| octet != b'\n') {
            self.at += 1;
        }
    }

    fn word_at(&self, at: usize) -> &'a str {
        let rest = &self.text.octets[at..];
        let len = rest.iter().take_while(|octet| is_word(**octet)).count();
        // A word contains only ASCII.
        std::str::from_utf8(&rest[..len]).unwrap_or_default()
    }

    /// Returns the next word of letters, digits and `_`, perhaps empty, without reading it.
    pub(crate) fn word(&self) -> &'a str {
        self.word_at(self.at)
    }

    /// Reads the longest run of bytes for which `is_wanted` returns true.
    pub(crate) fn run(&mut self, is_wanted: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text.octets[self.at..];
        let len = rest.iter().take_while(|octet| is_wanted(**octet)).count();
        self.at += len;
        std::str::from_utf8(&rest[..len]).unwrap_or_default()
    }

    /// Reads the next word of letters, digits and `_`, perhaps empty.
    pub(crate) fn take_word(&mut self) -> &'a str {
        let word = self.word();
        self.at += word.len();
        word
    }

    /// Reads the text between double quotes, of which the opening one is next.
    pub(crate) fn string(&mut self) -> Parsed<&'a [u8]> {
        let begin = self.at + 1;
        let rest = &self.text.octets[begin..];
        // As in trafgen, a string may go on in further lines.
        let Some(len) = rest.iter().position(|&octet| octet == b'"') else {
            return fault(self.at, "a string without its closing quote");
        };
        if len == 0 {
            return fault(self.at, "an empty string");
        }
        self.at = begin + len + 1;
        Ok(&rest[..len])
    }

    /// Skips to before the next `,` or `)` of this nesting level, or the `}` of the packet.
    pub(crate) fn skip_argument(&mut self) {
        self.skip_to(b",)");
    }

    /// Skips to the next `,` of this nesting level, `}` or packet, so that one mistake is one
    /// problem.
    pub(crate) fn recover(&mut self) {
        self.skip_to(b",");
    }

    /// Skips to before the next byte of `ends` at this nesting level, `{` or `}`.
    fn skip_to(&mut self, ends: &[u8]) {
        let mut depth = 0_usize;
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(b'{' | b'}') => return,
                Some(octet) if depth == 0 && ends.contains(&octet) => return,
                Some(b'(') => depth += 1,
                Some(b')') => depth = depth.saturating_sub(1),
                Some(b'"') if self.string().is_ok() => continue,
                _ => {}
            }
            self.at += 1;
        }
    }
}

/// Returns true if words may contain the byte `octet`.
pub(crate) const fn is_word(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || octet == b'_'
}

/// Parses `word` as a number: `0x2a`, `x2a`, `0b101`, `b101`, decimal, octal with a leading 0, the
/// code of a single letter. With `quirks` a digit that is not octal ends an octal number, and
/// decimal numbers beyond 2^63 are 2^63 - 1, as in trafgen 0.6.8. Returns `None` if the word is no
/// number.
pub(crate) fn number(word: &str, quirks: bool) -> Option<Result<u64, String>> {
    let lower = word.to_ascii_lowercase();
    let digits = |prefixes: [&str; 2], radix: u32| {
        let digits = prefixes.into_iter().find_map(|prefix| lower.strip_prefix(prefix))?;
        let is_whole = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        is_whole.then(|| u64::from_str_radix(digits, radix))
    };
    if let [letter] = word.as_bytes()
        && letter.is_ascii_alphabetic()
    {
        return Some(Ok(u64::from(*letter)));
    }
    if !lower.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'x' | 'b')) {
        return None;
    }
    let read = if let Some(read) = digits(["0x", "x"], 16).or_else(|| digits(["0b", "b"], 2)) {
        read
    } else if !lower.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    } else if let Some(octal) = lower.strip_prefix('0').filter(|octal| !octal.is_empty()) {
        let valid = octal.trim_end_matches(|c: char| !c.is_digit(8));
        if valid.len() < octal.len() && !quirks {
            return Some(Err(format!("`{word}` begins with 0 but is not octal")));
        }
        // The reference stops at the first digit that is none.
        let valid = octal.split(|c: char| !c.is_digit(8)).next().unwrap_or_default();
        if valid.is_empty() { Ok(0) } else { u64::from_str_radix(valid, 8) }
    } else if quirks {
        Ok(lower.parse().map_or(i64::MAX, |number: i64| number).cast_unsigned())
    } else {
        lower.parse()
    };
    Some(read.map_err(|_| format!("`{word}` does not fit into 64 bits")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_forms_of_the_reference() {
        let read = |word| number(word, false);
        for (word, value) in [
            ("0x2a", 42),
            ("x2a", 42),
            ("0X1F", 31),
            ("0b101", 5),
            ("b101", 5),
            ("011", 9),
            ("0", 0),
            ("00", 0),
            ("z", 0x7a),
            ("b", 0x62),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(read(word), Some(Ok(value)), "{word}");
        }
        for word in ["", "ab", "0xg", "x_", "b2", "12a", "fe80"] {
            assert_eq!(read(word), None, "{word}");
        }
        assert!(read("08").unwrap().is_err());
        assert!(read("18446744073709551616").unwrap().is_err());
        assert_eq!([number("08", true), number("018", true)], [Some(Ok(0)), Some(Ok(1))]);
        let cut = number("18446744073709551615", true);
        assert_eq!(cut, Some(Ok(i64::MAX as u64)));
    }

    #[test]
    fn comments_of_all_kinds_are_blanks() {
        let text = MappedText::verbatim(b" /* a\n b */ # c\n // d\n ; e\n x");
        let mut cursor = Cursor::new(&text);
        cursor.skip_blanks();
        assert_eq!(cursor.take_word(), "x");
    }
}
