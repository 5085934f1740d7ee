//! Reader of bytes written in hexadecimal, in the ways that Kea reads.

/// Returns the bytes that the text of an option spells: digits, digits after `0x`, bytes separated
/// by colons or by blanks, or `'text'` in single quotes. An empty text gives no bytes.
pub(crate) fn value(text: &[u8]) -> Result<Vec<u8>, String> {
    let trimmed = text.trim_ascii();
    if let [b'\'', inside @ .., b'\''] = trimmed
        && let inside = inside.trim_ascii()
        && !inside.is_empty()
    {
        return Ok(inside.to_vec());
    }
    octets(text).ok_or_else(|| format!("`{}` is not hexadecimal", String::from_utf8_lossy(text)))
}

/// Returns the bytes of a host identifier from its text, as [`value`] does, but an empty text is an
/// error.
pub(crate) fn identifier(text: &[u8]) -> Result<Vec<u8>, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { value(text) }
}

fn octets(text: &[u8]) -> Option<Vec<u8>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    for separator in [b':', b' '] {
        if text.contains(&separator) {
            let parts = text.split(|&octet| octet == separator);
            return parts.map(|part| if part.len() < 3 { number(part) } else { None }).collect();
        }
    }
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    // With an odd number of digits the first byte has one digit.
    let (head, pairs) = digits.split_at(digits.len() % 2);
    let head = (!head.is_empty()).then_some(head);
    head.into_iter().chain(pairs.chunks(2)).map(number).collect()
}

/// Returns the number that one or two hexadecimal digits spell; `None` for other text.
fn number(digits: &[u8]) -> Option<u8> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u8, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some((value << 4) | digit as u8)
    })
}

/// Returns the bytes of a binary field inside an option's text: pairs of digits, blanks anywhere.
pub(crate) fn binary_field(text: &[u8]) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    let octets = if digits.len().is_multiple_of(2) {
        digits.chunks(2).map(number).collect::<Option<Vec<u8>>>()
    } else {
        None
    };
    octets.ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        format!("`{text}` is not pairs of hexadecimal digits")
    })
}
