//! Report of keys that do not belong to their map.

use crate::fields::MapReader;
use crate::source::ParseDiagnostics;

/// Reports every key that the reader of a scope has not taken. `elsewhere` has keys that belong to
/// another place, with that place.
pub(crate) fn finish(
    fields: MapReader<'_>,
    elsewhere: &[(&str, &str)],
    findings: &mut ParseDiagnostics,
) {
    for entry in fields.untaken_members() {
        let hint = elsewhere.iter().find(|(name, _)| **name == *entry.key).map(|(_, hint)| *hint);
        fields.unknown(entry, hint, findings);
    }
}
