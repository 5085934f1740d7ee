//! Keys that are none of the map they stand in.

use crate::fields::Fields;
use crate::source::Findings;

/// Reports every key that the reader of a scope has not asked for. `elsewhere` has keys that are
/// right in another place, and where.
pub(crate) fn finish(fields: Fields<'_>, elsewhere: &[(&str, &str)], findings: &mut Findings) {
    for entry in fields.rest() {
        let hint = elsewhere.iter().find(|(name, _)| **name == *entry.key).map(|(_, hint)| *hint);
        fields.unknown(entry, hint, findings);
    }
}
