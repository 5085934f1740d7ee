//! Programs without privileges, which run as the user `nobody` if the caller is root.
//!
//! To have read: setpriv(1).

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::command::CommandLine;
use crate::error::{TestbedError, TestbedResult};
use crate::registry::user_id;

/// Number of Debian's user `nobody` and group `nogroup`.
const NOBODY: u32 = 65_534;

/// Returns `command` as run by the user `nobody` if the caller is root. The kernel ends it with its
/// starter; `setpriv` requests that itself, because the change of the user resets an earlier
/// request.
#[must_use]
pub fn unprivileged(command: CommandLine) -> CommandLine {
    if user_id() != 0 {
        return command;
    }
    let words = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"];
    command.with_prefix(&[&words[..], &["--pdeathsig", "KILL", "--"]].concat())
}

/// Returns true if the user `nobody` can reach the contents of `folder`, and always if the caller
/// is not root, because programs then run as the caller.
pub fn can_reach(folder: &Path) -> bool {
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0)
    };
    user_id() != 0 || folder.ancestors().all(is_open)
}

/// Gives the file or folder `path` to the servers, which run as another user if the caller is root:
/// for example a key that only they may read.
///
/// # Errors
/// It does not exist, or is not the caller's.
pub fn give_away(path: &Path) -> TestbedResult<()> {
    if user_id() != 0 {
        return Ok(());
    }
    chown(path, Some(NOBODY), Some(NOBODY))
        .map_err(|e| TestbedError::new(format!("cannot change the owner of {}", path.display()), e))
}
