//! Files that a control command must not replace, because this server or another one may use them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dhcp_config::{ControlSocket, DhcpConfig, LogDestination, SecretSource, SqlDatabase};

use crate::ha;
use crate::leases::lease_file;
use crate::pid_file;
use crate::policy;
use crate::server_id;
use crate::service::DaemonFamily;

/// Files that the server uses. A file that has the name of one of them and a suffix is in use, too:
/// lease files have `.1`, `.2`, `.completed`, `.output`, `.pid` and `.lock` next to them, sockets
/// `.lock`, logs `.1` and more.
#[derive(Debug, Default)]
pub(super) struct FilesInUse {
    /// Path of the lease file; `None` if leases are in memory only and the server does not use the
    /// file.
    lease_file: Option<PathBuf>,
    files: Vec<PathBuf>,
    /// Path of the configuration file, which only `config-write` may replace.
    configuration: PathBuf,
}

impl FilesInUse {
    /// Collects the files of a server with the configuration `config` in the file `configuration`.
    pub(super) fn from_config<P: DaemonFamily>(
        config: &DhcpConfig<P>,
        configuration: &Path,
    ) -> Self {
        let global = &config.global;
        let lease_file = global.lease_database.persist.then(|| lease_file::<P>(config));
        let mut files = vec![
            pid_file::path(P::NAME, configuration),
            P::data_folder(config).join(server_id::FILE),
        ];
        let databases = global.lease_database.sql.iter().chain(&global.hosts_databases);
        databases.for_each(|database| of_database(database, &mut files));
        for logger in &global.loggers {
            for output in &logger.outputs {
                if let LogDestination::File(name) = &output.destination {
                    files.push(policy::LOGS.path().join(name));
                }
            }
        }
        global.control_sockets.iter().for_each(|socket| of_socket(socket, &mut files));
        files.extend(global.high_availability.iter().flat_map(ha::files));
        Self { lease_file, files, configuration: configuration.to_owned() }
    }

    /// Replaces the set of files in use by `files`. The lease file stays that of the start, which
    /// the server continues to use.
    pub(super) fn follow(&mut self, files: Self) {
        let lease_file = self.lease_file.take();
        *self = Self { lease_file, ..files };
    }

    /// Returns the paths of all files in use.
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.lease_file.iter().chain(&self.files)
    }

    /// Returns the path of the lease file that the server was started with; `None` if it has none.
    pub(super) fn lease_file(&self) -> Option<&Path> {
        self.lease_file.as_deref()
    }

    /// Checks that a control command may write leases to `path`; the error is the reason as text.
    pub(super) fn check_lease_output(&self, path: &Path) -> Result<(), String> {
        if is_or_belongs_to(path, &self.configuration) {
            return Err(format!("{} is the configuration file", path.display()));
        }
        self.check_replaceable(path)
    }

    /// Checks that a control command may replace `path`; the error is the reason as text.
    pub(super) fn check_replaceable(&self, path: &Path) -> Result<(), String> {
        let path_text = path.display();
        if path.to_string_lossy().chars().any(char::is_control) {
            return Err(format!(
                "`{}` has control characters",
                path_text.to_string().escape_debug()
            ));
        }
        if let Some(used_path) = self.all().find(|used_path| is_or_belongs_to(path, used_path)) {
            return Err(format!(
                "{path_text} is in use: it is {} or belongs to it",
                used_path.display()
            ));
        }
        let is_lock = path.extension().is_some_and(|suffix| suffix == "lock" || suffix == "pid");
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let is_identifier = path.file_name().is_some_and(|name| name == server_id::FILE);
        if is_lock || is_identifier || Path::new(&lock).exists() {
            return Err(format!("{path_text} may be in use by another server"));
        }
        let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
        if !metadata.is_file() {
            return Err(format!("{path_text} is not a regular file"));
        }
        let is_same = |used_path: &&PathBuf| {
            fs::metadata(used_path)
                .is_ok_and(|used| (used.dev(), used.ino()) == (metadata.dev(), metadata.ino()))
        };
        match self.all().find(is_same) {
            Some(used_path) => {
                Err(format!("{path_text} is the same file as {}", used_path.display()))
            }
            None => Ok(()),
        }
    }
}

/// Returns true if `path` is the file `used` or has its name with a suffix.
fn is_or_belongs_to(path: &Path, used: &Path) -> bool {
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        let parent = parent.unwrap_or_else(|| Path::new(".")).to_owned();
        fs::canonicalize(&parent).unwrap_or(parent)
    };
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let (Some(own), Some(name)) = (name(used), name(path)) else { return false };
    let rest = name.strip_prefix(&own);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        && folder(path) == folder(used)
}

fn of_database(database: &SqlDatabase, files: &mut Vec<PathBuf>) {
    let tls = &database.tls;
    files.extend(
        [&tls.trust_anchor, &tls.cert_file, &tls.key_file].into_iter().flatten().map(Into::into),
    );
    files.extend(of_secret(&database.password, None));
    if database.kind == dhcp_config::SqlKind::Sqlite {
        files.push(PathBuf::from(&database.name));
    }
}

fn of_socket(socket: &ControlSocket, files: &mut Vec<PathBuf>) {
    let http = match socket {
        ControlSocket::Unix(name) => {
            files.push(policy::SOCKETS.path().join(name));
            return;
        }
        ControlSocket::Http(http) => http,
    };
    if let Some(tls) = &http.tls {
        files.extend([&tls.trust_anchor, &tls.certificate, &tls.key].map(Into::into));
    }
    if let Some(basic) = &http.authentication {
        let folder = basic.directory.as_deref();
        for client in &basic.clients {
            files.extend(of_secret(&client.user, folder));
            files.extend(of_secret(&client.password, folder));
        }
    }
}

fn of_secret(secret: &SecretSource, folder: Option<&str>) -> Option<PathBuf> {
    match secret {
        SecretSource::Text(_) => None,
        SecretSource::File(name) => Some(Path::new(folder.unwrap_or_default()).join(name)),
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_that_is_in_use_is_replaced() {
        let temporary = TempFolder::new("in-use");
        let folder = temporary.path();
        fs::create_dir_all(folder.join("sub")).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("leases.csv"), "address").unwrap();
        fs::write(path("free.conf"), "{}").unwrap();
        fs::hard_link(path("leases.csv"), path("linked.csv")).unwrap();
        symlink(path("leases.csv"), path("symbolic.csv")).unwrap();
        fs::write(path("theirs.csv.lock"), "").unwrap();
        let files = vec![path("ctl"), path("key.pem")];
        let lease_file = Some(path("leases.csv"));
        let mut used = FilesInUse { lease_file, files, configuration: path("own.conf") };
        for name in ["free.conf", "new.conf", "leases.csv2", "other", "leases", "ctl2"] {
            assert_eq!(used.check_replaceable(&path(name)), Ok(()), "{name}");
        }
        for name in [
            "leases.csv",
            "leases.csv.2",
            "leases.csv.completed",
            "leases.csv.lock",
            "ctl.lock",
            "ctl",
            "key.pem",
            "linked.csv",
            "symbolic.csv",
            "sub",
            "sub/../ctl",
            "x\ny",
            "x\u{7f}",
            "leases.csv-wal",
            "theirs.csv",
            "theirs.csv.lock",
            "kea-dhcp6-serverid",
            "x.pid",
        ] {
            assert!(used.check_replaceable(&path(name)).is_err(), "{name}");
        }
        assert_eq!(used.check_replaceable(&path("own.conf")), Ok(()));
        assert!(used.check_lease_output(&path("own.conf")).is_err());
        // A reload does not change the lease file.
        used.follow(FilesInUse::default());
        assert!(used.check_lease_output(&path("leases.csv")).is_err());
        assert_eq!(used.check_lease_output(&path("ctl")), Ok(()));
        used.lease_file = None;
        assert_eq!(used.check_lease_output(&path("leases.csv")), Ok(()));
    }
}
