//! Programs that need no privilege get none: as `nobody` where the caller is root.
//!
//! To have read: setpriv(1).

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::command::CommandLine;
use crate::error::TestbedError;
use crate::registry::user_id;

/// Debian's numbers of `nobody` and `nogroup`.
const NOBODY: u32 = 65_534;

/// `command` as `nobody` when the caller is root, ended by the kernel with its starter: changing
/// the user forgets what was asked for before.
#[must_use]
pub fn unprivileged(command: CommandLine) -> CommandLine {
    if user_id() != 0 {
        return command;
    }
    let words = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"];
    command.through(&[&words[..], &["--pdeathsig", "KILL", "--"]].concat())
}

/// Whether `nobody` can reach what is in `folder`; always when the caller is not root, and programs
/// run as the caller.
#[must_use]
pub fn can_reach(folder: &Path) -> bool {
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0)
    };
    user_id() != 0 || folder.ancestors().all(is_open)
}

/// Makes a file or folder the servers', who are somebody else when the caller is root: a key that
/// nobody else may read, for example.
///
/// # Errors
/// It is not there, or not the caller's.
pub fn give_away(path: &Path) -> Result<(), TestbedError> {
    if user_id() != 0 {
        return Ok(());
    }
    chown(path, Some(NOBODY), Some(NOBODY))
        .map_err(|e| TestbedError::new(format!("cannot give {} away", path.display()), e))
}
