//! Search in the JSON texts that leases store, in place: it copies and allocates nothing.

/// Returns the text of the member `key` of the JSON object in `text`; `None` when there is no such
/// member or `text` is no object as far as it was read. Keys are compared as they are written,
/// escapes included.
pub(crate) fn member<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut rest = text.trim_ascii_start().strip_prefix('{')?.trim_ascii_start();
    loop {
        let (name, after) = split_string(rest)?;
        let value = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let (value, after) = value.split_at_checked(len_of_value(value)?)?;
        if name == key {
            return Some(value.trim_ascii_end());
        }
        rest = after.trim_ascii_start().strip_prefix(',')?.trim_ascii_start();
    }
}

/// Returns the texts of the elements of the JSON list in `text`, as far as they can be read; none
/// when `text` is no list.
pub(crate) fn elements(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_ascii_start().strip_prefix('[').unwrap_or_default();
    core::iter::from_fn(move || {
        let (value, after) = rest.split_at_checked(len_of_value(rest)?)?;
        rest = after.strip_prefix(',').unwrap_or_default();
        Some(value.trim_ascii()).filter(|value| !value.is_empty())
    })
}

/// Returns the text between the quotes when all of `text` is a JSON string; escapes stay as they
/// are.
pub(crate) fn string(text: &str) -> Option<&str> {
    split_string(text).filter(|(_, after)| after.is_empty()).map(|(inside, _)| inside)
}

/// Returns the content of the JSON string that `text` begins with, and the text after it.
fn split_string(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = inside.bytes().position(|octet| {
        let is_end = octet == b'"' && !is_escaped;
        is_escaped = octet == b'\\' && !is_escaped;
        is_end
    })?;
    Some((&inside[..end], &inside[end + 1..]))
}

/// Returns the length of the JSON value that `text` begins with, in bytes.
fn len_of_value(text: &str) -> Option<usize> {
    let (mut rest, mut depth) = (text, 0_u32);
    loop {
        match *rest.as_bytes().first()? {
            b'"' => rest = split_string(rest)?.1,
            b'}' | b']' | b',' if depth == 0 => return Some(text.len() - rest.len()),
            octet => {
                match octet {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                rest = rest.split_at(rest.chars().next()?.len_utf8()).1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_at_their_own_level_only() {
        let text = r#" { "a" : [ { "b": 1 }, "}," ] , "\"b": "\\", "c": { "b": "x\"}" },"b":2 } "#;
        assert_eq!(member(text, "a"), Some(r#"[ { "b": 1 }, "}," ]"#));
        assert_eq!(member(text, "b"), Some("2"));
        assert_eq!(member(text, "c").and_then(|c| member(c, "b")), Some(r#""x\"}""#));
        assert_eq!(member(text, "d"), None);
        assert_eq!(member("{}", "a"), None);
        assert_eq!(member("\"a\"", "a"), None);
        let items = |text| elements(text).collect::<Vec<_>>();
        assert_eq!(
            items(r#" [ 1, [ 2, 3 ] , { "a": [4] } ] "#),
            ["1", "[ 2, 3 ]", r#"{ "a": [4] }"#]
        );
        assert_eq!(
            (items("[ ]"), items("7"), items("[1"), items("[1, ")),
            (vec![], vec![], vec![], vec!["1"])
        );
        assert_eq!(string(r#""x\"y""#), Some(r#"x\"y"#));
        assert_eq!(string("{}"), None);
        assert_eq!(string(r#""x" "#), None);
    }

    #[test]
    fn a_text_that_breaks_off_anywhere_has_an_end() {
        let text = r#"{ "é": { "ü": [ "\\", 1 ] }, "key": "väl" }"#;
        assert_eq!(member(text, "key"), Some("\"väl\""));
        for end in (0..text.len() - 2).filter(|&end| text.is_char_boundary(end)) {
            assert_eq!(member(&text[..end], "key"), None, "{end}");
        }
    }
}
