//! Keys that Kea knows and this version does not act on: accepted when they ask for nothing,
//! refused by name when the operator counts on them, and never taken for typing errors.

use crate::fields::Fields;
use crate::json::{Kind, Value};
use crate::source::Findings;

/// Keys that are accepted with nothing in them.
pub(crate) type Keys = &'static [&'static str];

/// Global.
pub(crate) const GLOBAL_ONLY: Keys = &[];

/// Whether a value asks for nothing: an empty list or string, or a map of such.
fn is_empty(value: &Value) -> bool {
    match &value.kind {
        // The lexer has reported it.
        Kind::Unusable => true,
        Kind::List(items) => items.is_empty(),
        Kind::Map(entries) => entries.iter().all(|entry| is_empty(&entry.value)),
        Kind::Text(text) => text.is_empty(),
        _ => false,
    }
}

/// Judges every key that the reader of a scope has not asked for. `elsewhere` has keys that are
/// right in another place, and where.
pub(crate) fn finish(
    fields: Fields<'_>,
    tables: &[Keys],
    elsewhere: &[(&str, &str)],
    findings: &mut Findings,
) {
    let known = || tables.iter().copied().flatten().copied();
    for entry in fields.rest() {
        let key = entry.key.as_str();
        if !known().any(|name| name == key) {
            let hint = elsewhere.iter().find(|(name, _)| *name == key).map(|(_, hint)| *hint);
            fields.unknown(entry, known(), hint, findings);
        } else if !is_empty(&entry.value) {
            let message = format!("`{key}` is not supported by this version of godwit");
            findings.error(entry.at, message);
        }
    }
}
