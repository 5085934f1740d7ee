//! Report of configuration keys that do not belong to their map.

use crate::context::ParseContext;
use crate::fields::MapReader;

/// Reports every key of a scope's map that the scope's reader has not taken. `elsewhere` has keys
/// that belong to another scope, with advice on where to write them.
pub(crate) fn finish(
    fields: MapReader<'_>,
    elsewhere: &[(&str, &str)],
    findings: &mut ParseContext,
) {
    for entry in fields.untaken_members() {
        let hint = elsewhere.iter().find(|(name, _)| **name == *entry.key).map(|(_, hint)| *hint);
        fields.unknown(entry, hint, findings);
    }
}
