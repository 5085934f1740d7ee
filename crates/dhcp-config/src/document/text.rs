//! Configuration documents as text, and bytes as the characters of a document. RFC to read first:
//! 8259 §7.

use core::fmt::Write;

use serde_json::Value as Json;

use crate::json::{character_of, octet_of};

/// Returns the characters by which a document shows a string of bytes.
pub(super) fn from_octets(octets: &[u8]) -> String {
    if octets.is_ascii() {
        return octets.iter().copied().map(char::from).collect();
    }
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.utf8_chunks() {
        for c in chunk.valid().chars() {
            // Bytes that happen to spell such a character must come back as these bytes.
            if octet_of(c.into()).is_some() {
                text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(character_of));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().map(|&octet| character_of(octet)));
    }
    text
}

/// Returns the bytes that the characters of a document's string stand for.
pub(super) fn to_octets(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    for c in text.chars() {
        match octet_of(c.into()) {
            Some(octet) => octets.push(octet),
            None => octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    octets
}

/// Formats a configuration document as text in Kea's dialect, one key on each line, keys in order.
#[must_use]
pub fn render(document: &Json) -> String {
    let mut text = String::new();
    write_value(document, 0, &mut text);
    text.push('\n');
    text
}

fn write_value(value: &Json, depth: usize, text: &mut String) {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => {
            write!(text, "{value}").expect("a string takes everything");
        }
        Json::String(string) => write_string(string, text),
        Json::Array(items) => {
            let items = items.iter().map(|item| (None, item));
            write_all(items, ['[', ']'], depth, text);
        }
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (Some(key.as_str()), value));
            write_all(entries, ['{', '}'], depth, text);
        }
    }
}

fn write_all<'j>(
    items: impl ExactSizeIterator<Item = (Option<&'j str>, &'j Json)>,
    [open, close]: [char; 2],
    depth: usize,
    text: &mut String,
) {
    text.push(open);
    let count = items.len();
    for (index, (key, value)) in items.enumerate() {
        new_line(depth + 1, text);
        if let Some(key) = key {
            write_string(key, text);
            text.push_str(": ");
        }
        write_value(value, depth + 1, text);
        if index + 1 < count {
            text.push(',');
        }
    }
    if count > 0 {
        new_line(depth, text);
    }
    text.push(close);
}

fn new_line(depth: usize, text: &mut String) {
    text.push('\n');
    text.extend(core::iter::repeat_n("  ", depth));
}

fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for c in string.chars() {
        match (c, octet_of(c.into())) {
            (_, Some(octet)) => write!(text, "\\u{octet:04x}").expect("a string takes everything"),
            ('"' | '\\', _) => text.extend(['\\', c]),
            ('\n', _) => text.push_str("\\n"),
            (c, _) if u32::from(c) < 0x20 => {
                write!(text, "\\u{:04x}", u32::from(c)).expect("a string takes everything");
            }
            (c, _) => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_become_characters_and_come_back() {
        for (octets, rendered) in [
            (&b"a\"\\\n\x01"[..], r#""a\"\\\n\u0001""#),
            ("é".as_bytes(), "\"é\""),
            (b"\xe9x", r#""\u00e9x""#),
            ("\u{ef80}".as_bytes(), r#""\u00ee\u00be\u0080""#),
            ("\u{ef00}\u{f000}".as_bytes(), "\"\u{ef00}\u{f000}\""),
        ] {
            let text = render(&Json::String(from_octets(octets)));
            assert_eq!(text.trim_end(), rendered);
        }
    }

    #[test]
    fn documents_are_laid_out_with_keys_in_order() {
        let document = serde_json::json!({ "b": [1, 0.25, {}], "a": { "x": null, "y": true } });
        let expected = "{\n  \"a\": {\n    \"x\": null,\n    \"y\": true\n  },\n  \"b\": [\n    1,\n    0.25,\n    {}\n  ]\n}\n";
        assert_eq!(render(&document), expected);
    }
}
