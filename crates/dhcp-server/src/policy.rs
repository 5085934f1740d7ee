//! Folders to which Kea 3 restricts the server's files, from Kea's environment variables, and their
//! creation. [`dhcp_config::SecurityPolicy`] has the rules themselves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use dhcp_config::{Enforcement, Folders, SecurityPolicy};

use crate::pid_file;
use crate::server_id;

/// Folder of Kea's, with the environment variable that names another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeaFolder {
    variable: &'static str,
    usual: &'static str,
}

/// Folder of lease files and of the server's identifier.
pub(crate) const DATA: KeaFolder =
    KeaFolder { variable: "KEA_DHCP_DATA_DIR", usual: "/var/lib/kea" };
/// Folder of the server's log files.
pub(crate) const LOGS: KeaFolder =
    KeaFolder { variable: "KEA_LOG_FILE_DIR", usual: "/var/log/kea" };
/// Folder of the server's control sockets.
pub(crate) const SOCKETS: KeaFolder =
    KeaFolder { variable: "KEA_CONTROL_SOCKET_DIR", usual: "/run/kea" };
/// Folder of the server's PID files.
pub(crate) const PID_FILES: KeaFolder =
    KeaFolder { variable: "KEA_PIDFILE_DIR", usual: "/run/kea" };
/// Folder of the files of the legal log.
pub(crate) const LEGAL_LOG: KeaFolder =
    KeaFolder { variable: "KEA_LEGAL_LOG_DIR", usual: "/var/log/kea" };
const SCRIPTS: KeaFolder =
    KeaFolder { variable: "KEA_HOOK_SCRIPTS_PATH", usual: "/usr/share/kea/scripts" };
/// Environment variable of the folder of hook libraries, which has no default: packages have
/// folders of their own.
const HOOKS_VARIABLE: &str = "KEA_HOOKS_PATH";

/// Older path of the usual folder of control sockets, a link to the newer one.
const SOCKETS_BEFORE: &str = "/var/run/kea";
/// Mode bits that the folder of control sockets may have at most.
const SOCKETS_MODE: u32 = 0o750;

impl KeaFolder {
    fn configured(self) -> Option<String> {
        std::env::var(self.variable).ok().filter(|folder| !folder.is_empty())
    }

    /// Returns the path of the folder for configured file names without a folder.
    pub(crate) fn path(self) -> PathBuf {
        self.configured().unwrap_or_else(|| self.usual.to_owned()).into()
    }

    /// Returns the folders in which the security rules allow such files: the folder that the
    /// environment variable names, or else the usual one and the folders in `beside`.
    fn folders(self, beside: impl IntoIterator<Item = String>) -> Folders {
        match self.configured() {
            Some(folder) => Folders::new([folder]),
            None => Folders::new([self.usual.to_owned()].into_iter().chain(beside)),
        }
    }
}

/// Returns the folder of scripts that are configured by their name alone.
pub(crate) fn scripts_folder() -> PathBuf {
    SCRIPTS.path()
}

/// Returns the security rules for a server with the configuration file `configuration`.
pub(crate) fn security_policy(configuration: &Path, is_unrestricted: bool) -> SecurityPolicy {
    // `config-write` may write in the folder of the configuration file, too.
    let own = std::path::absolute(configuration).ok();
    let own = own.as_deref().and_then(Path::parent).and_then(Path::to_str).map(str::to_owned);
    let sockets = SOCKETS.folders([SOCKETS_BEFORE.to_owned()]);
    let enforcement = if is_unrestricted { Enforcement::Warn } else { Enforcement::Refuse };
    SecurityPolicy {
        enforcement,
        data: DATA.folders(own),
        logs: LOGS.folders(None),
        relaxed_sockets: Folders::new(sockets.iter().filter(|f| is_relaxed(f)).map(str::to_owned)),
        sockets,
        hooks: Folders::new(std::env::var(HOOKS_VARIABLE).ok()),
        scripts: SCRIPTS.folders(None),
        legal_log: LEGAL_LOG.folders(None),
        own_files: own_files(configuration),
    }
}

/// Returns the files that a server has by its configuration file's name `configuration`, regardless
/// of the content, each with its purpose.
fn own_files(configuration: &Path) -> Vec<(&'static str, String)> {
    let absolute = std::path::absolute(configuration).unwrap_or_default();
    let pid_files = ["dhcp4", "dhcp6", "dhcp-ddns"]
        .map(|name| ("the PID file", pid_file::path(name, configuration)));
    [("the configuration file", absolute), ("the server's DUID", DATA.path().join(server_id::FILE))]
        .into_iter()
        .chain(pid_files)
        .map(|(use_of, path)| (use_of, path.to_string_lossy().into_owned()))
        .collect()
}

/// Creates the missing folders of Kea, as its packages do, and returns the created ones. If one
/// cannot be created, the part of the server that needs it reports the error.
pub(crate) fn make_folders() -> Vec<PathBuf> {
    let folders = [DATA, LOGS, SOCKETS, PID_FILES].map(KeaFolder::path);
    folders.into_iter().filter(|folder| !folder.exists() && make(folder).is_ok()).collect()
}

/// Creates the folder `folder` and its missing parents.
fn make(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(SOCKETS_MODE).create(folder)
}

/// Returns the folders that a server with the configuration file `configuration` writes to by the
/// security rules.
pub(crate) fn writable(configuration: &Path) -> Vec<PathBuf> {
    let policy = security_policy(configuration, false);
    let folders = [&policy.data, &policy.logs, &policy.sockets, &policy.legal_log];
    let folders = folders.into_iter().flat_map(Folders::iter).map(PathBuf::from);
    folders.chain([PID_FILES.path()]).collect()
}

/// Returns true if `folder` has more permissions than the folder of control sockets may have. As in
/// Kea, the result is false for a missing folder.
fn is_relaxed(folder: impl AsRef<OsStr>) -> bool {
    let mode = fs::metadata(Path::new(&folder)).map_or(0, |metadata| metadata.permissions().mode());
    mode & 0o777 & !SOCKETS_MODE != 0
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_folder_that_others_may_enter_is_relaxed() {
        let temporary = TempFolder::new("policy");
        let folder = temporary.path();
        for (mode, relaxed) in [(0o700, false), (0o750, false), (0o755, true), (0o770, true)] {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_relaxed(folder), relaxed, "{mode:o}");
        }
        fs::remove_dir_all(folder).unwrap();
        assert!(!is_relaxed(folder));
    }

    #[test]
    fn leases_may_lie_beside_the_configuration() {
        let policy = security_policy(Path::new("/etc/site/dhcp4.conf"), false);
        let beside = Folders::new(["/var/lib/kea".to_owned(), "/etc/site".to_owned()]);
        assert!(std::env::var_os(DATA.variable).is_some() || policy.data == beside);
        assert_eq!(policy.enforcement, Enforcement::Refuse);
        assert_eq!(security_policy(Path::new("x"), true).enforcement, Enforcement::Warn);
    }
}
