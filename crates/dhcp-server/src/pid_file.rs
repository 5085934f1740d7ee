//! PID file of the server, with Kea's name and in Kea's folder, so that programs that look for it
//! (`keactrl`, scripts of distributions) find this server too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::ServerError;
use crate::loggers::DAEMON;
use crate::policy;

/// Mode of the PID file: every user may read the number of the server's process.
const MODE: u32 = 0o644;
/// Maximum number of bytes that are read from a PID file: a number and a line end.
const NUMBER_MAX_BYTES: u64 = 32;

/// PID file of this process, removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    /// PID file, locked for as long as this process lives.
    _file: File,
}

impl PidFile {
    /// Writes the PID file of the server `name` (`dhcp4`, `dhcp6`) with the configuration file
    /// `configuration`. If the file cannot be written, a warning is logged and `None` returned.
    ///
    /// # Errors
    ///
    /// The file belongs to another server that lives.
    pub(crate) fn claim(name: &str, configuration: &Path) -> Result<Option<Self>, ServerError> {
        let path = path(name, configuration);
        match Self::claim_at(&path) {
            Ok(claimed) => Ok(Some(claimed)),
            Err(PidFileError::InUse(pid)) => Err(ServerError::AlreadyRunning { path, pid }),
            Err(PidFileError::Io(cause)) => {
                let cause = explained(&path, &cause);
                let path = path.display();
                tracing::warn!(
                    target: DAEMON,
                    id = "DCTL_PID_FILE_ERROR",
                    "cannot write PID file {path}: {cause} (continuing without)"
                );
                Ok(None)
            }
        }
    }

    fn claim_at(path: &Path) -> Result<Self, PidFileError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE);
        // A symbolic link would have another file emptied, and reading a pipe would not end.
        let flags = netio::file::NO_FOLLOW | netio::file::NON_BLOCKING;
        let mut file = options.custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file").into());
        }
        let mut text = String::new();
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                file.take(NUMBER_MAX_BYTES).read_to_string(&mut text)?;
                return Err(PidFileError::InUse(text.trim().to_owned()));
            }
            Err(TryLockError::Error(cause)) => return Err(cause.into()),
        }
        // Kea locks nothing: its number counts as long as a server has that number.
        let is_text = (&file).take(NUMBER_MAX_BYTES).read_to_string(&mut text).is_ok();
        if is_text
            && let Ok(pid) = text.trim().parse::<u32>()
            && is_server(pid)
        {
            return Err(PidFileError::InUse(pid.to_string()));
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { path: path.to_owned(), _file: file })
    }
}

/// Returns the reason why the PID file `path` cannot be written, with the name of the folder if the
/// folder is missing.
fn explained(path: &Path, cause: &io::Error) -> String {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        Some(folder) => format!("{} does not exist", folder.display()),
        None => cause.to_string(),
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Its lock is held here, so no other server uses it. If it cannot be removed, the next
        // start recognizes it as stale.
        fs::remove_file(&self.path).ok();
    }
}

enum PidFileError {
    /// Process number of another server that has the PID file.
    InUse(String),
    Io(io::Error),
}

impl From<io::Error> for PidFileError {
    fn from(cause: io::Error) -> Self {
        Self::Io(cause)
    }
}

/// Returns the path of the PID file of the server `name` with the configuration file
/// `configuration`.
pub(crate) fn path(name: &str, configuration: &Path) -> PathBuf {
    policy::PID_FILES.path().join(file_name(name, configuration))
}

/// Returns the name of a PID file, such as `kea-dhcp4.kea-dhcp4.pid` for `/etc/kea/kea-dhcp4.conf`.
fn file_name(name: &str, configuration: &Path) -> String {
    let stem = configuration.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}.kea-{name}.pid")
}

/// Returns true if a DHCP server other than this process has the process number `pid`. After a
/// crash another program may have it or, in a container, this process itself.
fn is_server(pid: u32) -> bool {
    let of = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let own = std::process::id();
    let name = of(pid);
    pid != own && (name.starts_with("kea-dhcp") || (!name.is_empty() && name == of(own)))
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let cause = io::Error::from(io::ErrorKind::PermissionDenied);
        let explanation = |path: &str| explained(Path::new(path), &cause);
        assert_eq!(explanation("/nowhere/kea/x.pid"), "/nowhere/kea does not exist");
        assert_eq!(explanation("/proc/x.pid"), cause.to_string());
        assert_eq!(explanation("x.pid"), cause.to_string());
    }

    #[test]
    fn a_server_that_has_not_written_its_number_yet_is_another_process() {
        let temporary = TempFolder::new("pid");
        let path = temporary.path().join("x.pid");
        let file = File::create(&path).unwrap();
        file.lock().unwrap();
        let Err(PidFileError::InUse(pid)) = PidFile::claim_at(&path) else {
            panic!("the file is in use")
        };
        let text = ServerError::AlreadyRunning { path, pid }.to_string();
        assert!(text.starts_with("another process serves a configuration file"), "{text}");
    }

    #[test]
    fn links_pipes_and_folders_are_left_alone() {
        let temporary = TempFolder::new("pid");
        let folder = temporary.path();
        fs::create_dir_all(folder.join("folder")).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("precious"), "precious").unwrap();
        std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for name in ["link", "pipe", "folder"] {
            assert!(matches!(PidFile::claim_at(&path(name)), Err(PidFileError::Io(_))), "{name}");
        }
        assert_eq!(fs::read_to_string(path("precious")).unwrap(), "precious");
        // Content that is not a number is replaced, however long it is.
        File::create(path("long")).unwrap().set_len(1 << 40).unwrap();
        let claimed = PidFile::claim_at(&path("long")).unwrap_or_else(|_| panic!("it is ours"));
        let text = fs::read_to_string(path("long")).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        drop(claimed);
    }

    #[test]
    fn the_name_is_keas() {
        let name_of = |path: &str| file_name("dhcp4", Path::new(path));
        assert_eq!(name_of("/etc/kea/kea-dhcp4.conf"), "kea-dhcp4.kea-dhcp4.pid");
        assert_eq!(name_of("site.a.json"), "site.a.kea-dhcp4.pid");
        assert_eq!(name_of("plain"), "plain.kea-dhcp4.pid");
    }
}
