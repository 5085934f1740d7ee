//! Report of keys that do not belong to their map.

use crate::fields::Fields;
use crate::source::Findings;

/// Reports every key that the reader of a scope has not taken. `elsewhere` has keys that belong to
/// another place, with that place.
pub(crate) fn finish(fields: Fields<'_>, elsewhere: &[(&str, &str)], findings: &mut Findings) {
    for entry in fields.rest() {
        let hint = elsewhere.iter().find(|(name, _)| **name == *entry.key).map(|(_, hint)| *hint);
        fields.unknown(entry, hint, findings);
    }
}
