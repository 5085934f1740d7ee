//! Translation of `kea-admin` command lines, which scripts use, to `godwit db`, whose flags have
//! kea-admin's letters.

use std::ffi::OsString;
use std::path::Path;

/// Commands of kea-admin, each with the equivalent command of `godwit db`.
const COMMANDS: [(&str, &str); 6] = [
    ("db-init", "init"),
    ("db-version", "version"),
    ("db-upgrade", "upgrade"),
    ("stats-recount", "recount"),
    ("lease-dump", "dump"),
    ("lease-upload", "upload"),
];

/// Returns true if `words`, a command line of kea-admin, request its version.
pub(crate) fn is_version(words: &[OsString]) -> bool {
    let is_admin = words.first().is_some_and(|word| Path::new(word).ends_with("kea-admin"));
    is_admin && words.get(1).is_some_and(|word| word == "-v" || word == "--version")
}

/// Replaces the kea-admin command in `words`, which follows the program's name, by that of `godwit
/// db`. A command that kea-admin does not have becomes one that `godwit db` does not have either.
pub(crate) fn translate(words: &mut [OsString]) {
    let Some(word) = words.get_mut(1).filter(|word| *word != "--help" && *word != "-h") else {
        return;
    };
    let translation = COMMANDS.iter().find(|(command, _)| *word == *command);
    *word = translation.map_or_else(
        || format!("kea-admin {}", word.to_string_lossy()).into(),
        |(_, own)| OsString::from(own),
    );
}
