//! Checks of the answers of control commands: JSON pointers (RFC 6901) name members of an answer.

use serde_json::Value;

/// Returns true if the member of `answer` at `pointer` fits `expected`: an equal value, the text
/// `absent` or `present`, or a text after `~` that the member's text contains.
pub(crate) fn member_fits(answer: &Value, pointer: &str, expected: &toml::Value) -> bool {
    let actual = answer.pointer(pointer);
    match expected.as_str() {
        Some("absent") => return actual.is_none(),
        Some("present") => return actual.is_some(),
        _ => {}
    }
    let Some(actual) = actual else { return false };
    if let Some(part) = expected.as_str().and_then(|text| text.strip_prefix('~')) {
        return actual.as_str().is_some_and(|text| text.contains(part));
    }
    serde_json::to_value(expected).is_ok_and(|expected| expected == *actual)
}
