//! Lexer of class expressions: cuts a text into tokens. Like Kea's it takes the longest token that
//! can begin at a position; a name in front of `]` is the name of an option, whatever else it might
//! mean.

use super::ExpressionError;

/// Token of a class expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpressionToken {
    /// String in single quotes: `'text'`.
    String(Vec<u8>),
    /// Hexadecimal digits `0x0102`; with an odd number of digits the first byte has one.
    Hex(Vec<u8>),
    /// Integer: digits, possibly after a minus.
    Integer(i64),
    /// IP address in its 4 or 16 bytes.
    Address(Vec<u8>),
    /// Name of an option, in front of `]`.
    OptionName(String),
    /// Word or sign of the expression language.
    Word(&'static str),
    /// End of the expression's text.
    End,
}

impl ExpressionToken {
    /// Returns the token as error messages quote it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::String(text) => format!("'{}'", String::from_utf8_lossy(text)),
            Self::Hex(_) => "a hexadecimal string".to_owned(),
            Self::Integer(value) => value.to_string(),
            Self::Address(_) => "an address".to_owned(),
            Self::OptionName(name) => format!("`{name}`"),
            Self::Word(word) => format!("`{word}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Words and signs of the expression language, the longer ones before those that they begin with.
const WORDS: &[&str] = &[
    "==",
    "option",
    "relay4",
    "relay6",
    "peeraddr",
    "linkaddr",
    "text",
    "hexstring",
    "hex",
    "exists",
    "pkt4",
    "pkt6",
    "pkt",
    "iface",
    "src",
    "dst",
    "len",
    "mac",
    "hlen",
    "htype",
    "ciaddr",
    "giaddr",
    "yiaddr",
    "siaddr",
    "msgtype",
    "transid",
    "vendor-class",
    "vendor",
    "data",
    "enterprise",
    "substring",
    "lcase",
    "ucase",
    "split",
    "all",
    "concat",
    "ifelse",
    "sifelse",
    "addrtotext",
    "int8totext",
    "int16totext",
    "int32totext",
    "uint8totext",
    "uint16totext",
    "uint32totext",
    "not",
    "and",
    "sand",
    "or",
    "sor",
    "member",
    "match",
    ".",
    "(",
    ")",
    "[",
    "]",
    ",",
    "*",
    "+",
];

/// Cuts the text of an expression into tokens, each with its offset in bytes; the last one is
/// [`ExpressionToken::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, ExpressionToken)>, ExpressionError> {
    let octets = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&octet) = octets.get(at) {
        if matches!(octet, b' ' | b'\t' | b'\n') {
            at += 1;
            continue;
        }
        let (token, len) = token(text, at)?;
        tokens.push((at, token));
        at += len;
    }
    tokens.push((at, ExpressionToken::End));
    Ok(tokens)
}

fn error(offset: usize, message: impl Into<String>) -> ExpressionError {
    ExpressionError { offset, message: message.into() }
}

/// Returns the token that begins at the offset `at` of `text`, and its length in bytes.
fn token(text: &str, at: usize) -> Result<(ExpressionToken, usize), ExpressionError> {
    let rest = &text[at..];
    if let Some(inner) = rest.strip_prefix('\'') {
        let end = inner.find(['\'', '\n']).filter(|&end| inner.as_bytes()[end] == b'\'');
        let end =
            end.ok_or_else(|| error(at, "the string that begins here has no closing quote"))?;
        return Ok((ExpressionToken::String(inner.as_bytes()[..end].to_vec()), end + 2));
    }
    let name = option_name(rest);
    let word = WORDS.iter().find(|word| rest.starts_with(**word)).copied();
    let number = number_length(rest);
    let address = address_length(rest);
    let longest =
        [name, word.map_or(0, str::len), number, address].into_iter().max().unwrap_or_default();
    if longest == 0 {
        let character = rest.chars().next().unwrap_or_default();
        return Err(error(at, format!("`{character}` is not allowed here")));
    }
    if longest == name {
        let trimmed = rest[..name].trim_end_matches([' ', '\t', '\n', ']']);
        return Ok((ExpressionToken::OptionName(trimmed.to_owned()), trimmed.len()));
    }
    let spelled = &rest[..longest];
    if longest == address {
        let octets = address_octets(spelled)
            .ok_or_else(|| error(at, format!("`{spelled}` is not an address")))?;
        return Ok((ExpressionToken::Address(octets), longest));
    }
    if longest == number {
        let token = if spelled.len() > 2 && is_hex(spelled) {
            ExpressionToken::Hex(hex_octets(&spelled[2..]))
        } else {
            ExpressionToken::Integer(
                spelled.parse().map_err(|_| error(at, format!("`{spelled}` is too large")))?,
            )
        };
        return Ok((token, longest));
    }
    Ok((ExpressionToken::Word(word.expect("the longest is one of four")), longest))
}

fn is_hex(spelled: &str) -> bool {
    spelled.starts_with("0x") || spelled.starts_with("0X")
}

/// Returns the length in bytes of an option's name together with the blanks and the `]` after it; 0
/// when there is none.
fn option_name(rest: &str) -> usize {
    let octets = rest.as_bytes();
    if !octets.first().is_some_and(u8::is_ascii_alphabetic) {
        return 0;
    }
    let inner = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let len = octets.iter().take_while(|octet| inner(octet)).count();
    let blanks = octets[len..].iter().take_while(|octet| matches!(octet, b' ' | b'\t' | b'\n'));
    let end = len + blanks.count();
    let ends_well = octets[len - 1].is_ascii_alphanumeric();
    if ends_well && octets.get(end) == Some(&b']') { end + 1 } else { 0 }
}

/// Returns the length in bytes of an integer or of hexadecimal digits with their `0x`.
fn number_length(rest: &str) -> usize {
    if is_hex(rest) {
        let digits = rest.bytes().skip(2).take_while(u8::is_ascii_hexdigit).count();
        if digits > 0 {
            return 2 + digits;
        }
    }
    let sign = usize::from(rest.starts_with('-'));
    match rest.bytes().skip(sign).take_while(u8::is_ascii_digit).count() {
        0 => 0,
        digits => sign + digits,
    }
}

/// Returns the length in bytes of text that looks like an address: four numbers with points between
/// them, or two colons among hexadecimal digits with the characters that such an address may
/// continue with.
fn address_length(rest: &str) -> usize {
    let octets = rest.as_bytes();
    let digits = |from: usize, is: fn(&u8) -> bool| {
        octets.get(from..).map_or(0, |rest| rest.iter().take_while(|octet| is(octet)).count())
    };
    let mut v4 = 0;
    for part in 0..4 {
        let len = digits(v4, u8::is_ascii_digit);
        let is_last = part == 3;
        if len == 0 || !is_last && octets.get(v4 + len) != Some(&b'.') {
            v4 = 0;
            break;
        }
        v4 += len + usize::from(!is_last);
    }
    let mut v6 = 0;
    for _ in 0..2 {
        let end = v6 + digits(v6, u8::is_ascii_hexdigit);
        if octets.get(end) != Some(&b':') {
            return v4;
        }
        v6 = end + 1;
    }
    let tail = |octet: &u8| octet.is_ascii_hexdigit() || matches!(octet, b':' | b'.');
    v4.max(v6 + digits(v6, tail))
}

fn address_octets(spelled: &str) -> Option<Vec<u8>> {
    let address = spelled.parse::<core::net::IpAddr>().ok()?;
    Some(match address {
        core::net::IpAddr::V4(address) => address.octets().to_vec(),
        core::net::IpAddr::V6(address) => address.octets().to_vec(),
    })
}

fn hex_octets(digits: &str) -> Vec<u8> {
    let value = |digit: u8| (digit as char).to_digit(16).map_or(0, |value| value as u8);
    let digits = digits.as_bytes();
    let (odd, pairs) = digits.split_at(digits.len() % 2);
    let first = odd.iter().map(|&digit| value(digit));
    first.chain(pairs.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let tokens = tokens(text).unwrap_or_else(|error| panic!("{text}: {}", error.message));
        tokens.iter().map(|(_, token)| token.name()).collect()
    }

    #[test]
    fn the_longest_word_wins() {
        assert_eq!(
            words("option[all].hex"),
            ["`option`", "`[`", "`all`", "`]`", "`.`", "`hex`", "the end"]
        );
        assert_eq!(
            tokens("option[ all ]").expect("words")[2].1,
            ExpressionToken::OptionName("all".to_owned())
        );
        assert_eq!(words("sandmember"), ["`sand`", "`member`", "the end"]);
        assert_eq!(words("vendor-class.data"), ["`vendor-class`", "`.`", "`data`", "the end"]);
        assert_eq!(words("1,-3"), ["1", "`,`", "-3", "the end"]);
    }

    #[test]
    fn values_have_their_octets() {
        let value = |text: &str| tokens(text).expect("a word").swap_remove(0).1;
        assert_eq!(value("0xaBc"), ExpressionToken::Hex(vec![0xa, 0xbc]));
        assert_eq!(value("0X0"), ExpressionToken::Hex(vec![0]));
        assert_eq!(value("10.1.2.3"), ExpressionToken::Address(vec![10, 1, 2, 3]));
        assert_eq!(
            value("fe80::1"),
            ExpressionToken::Address([&[0xfe, 0x80][..], &[0; 13], &[1]].concat())
        );
        assert_eq!(value("::"), ExpressionToken::Address(vec![0; 16]));
        assert_eq!(value("''"), ExpressionToken::String(Vec::new()));
        assert_eq!(value("'it=\u{e9}'"), ExpressionToken::String("it=\u{e9}".as_bytes().to_vec()));
    }

    #[test]
    fn what_is_no_word_is_reported_with_its_position() {
        for (text, offset) in [
            ("'open", 0),
            ("a == 'x", 0),
            ("1 == 'x\n'", 5),
            ("10.0.0.256", 0),
            ("  fe80:::1", 2),
            ("99999999999999999999", 0),
            ("1 \u{e9}", 2),
            ("1 \r", 2),
            ("-", 0),
        ] {
            assert_eq!(tokens(text).map_err(|error| error.offset), Err(offset), "{text}");
        }
    }
}
