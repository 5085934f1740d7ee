//! Kea 3's rules for what a configuration may name: folders of log files, lease files, control
//! sockets and hook libraries, HTTP sockets without authentication, and secrets in clear text.
//!
//! The caller supplies the folders: this module knows neither environment variables nor modes of
//! folders. Part of Kea's manual to read first: "Runtime Security Policy Checking".

use super::written_files;
use crate::context::ParseContext;
use crate::source::{PositionedValue, SourcePosition};

/// Reaction to settings that the security rules refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// Settings are not checked: for tools that only look at a configuration.
    #[default]
    Unchecked,
    /// Refused settings give a warning with Kea's identifier, as with Kea's flag `-X`.
    Warn,
    /// Refused settings are errors.
    Refuse,
}

/// Paths of the folders that may contain files of one kind, the usual one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders(Vec<String>);

impl Folders {
    /// Creates the list of permitted folders, without slashes at their ends.
    pub fn new(folders: impl IntoIterator<Item = String>) -> Self {
        Self(folders.into_iter().map(|folder| folder.trim_end_matches('/').to_owned()).collect())
    }

    /// Returns the permitted folders, the usual one first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn holds(&self, folder: &str) -> bool {
        self.0.iter().any(|own_folder| own_folder == folder)
    }

    /// Returns the problem with `path`, in Kea's words, or `None` if it is a file's name, alone or
    /// after one of the folders.
    fn fault(&self, path: &str) -> Option<String> {
        let (folder, file) = path.rsplit_once('/').map_or((None, path), |(f, n)| (Some(f), n));
        if matches!(file, "" | "." | "..") {
            return Some(format!("path: '{path}' has no filename"));
        }
        if path.chars().any(char::is_control) {
            return Some(format!("path: '{path}' has control characters"));
        }
        self.folder_fault(folder?)
    }

    fn folder_fault(&self, folder: &str) -> Option<String> {
        if self.holds(folder) && !folder.is_empty() {
            return None;
        }
        let (rejected, supported) =
            (if folder.is_empty() { "/" } else { folder }, self.0.join("' or '"));
        Some(format!("invalid path specified: '{rejected}', supported path is '{supported}'"))
    }
}

/// Security rules for the configuration of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityPolicy {
    /// Reaction to settings that the rules refuse.
    pub enforcement: Enforcement,
    /// Folders permitted for lease files, for databases in a file, and for the server's identifier.
    pub data: Folders,
    /// Folders permitted for log files.
    pub logs: Folders,
    /// Folders permitted for control sockets.
    pub sockets: Folders,
    /// Folders permitted for control sockets although other users than their owner and readers of
    /// their group may enter them.
    pub relaxed_sockets: Folders,
    /// Folders permitted for hook libraries; every folder that a package of Kea uses when empty.
    pub hooks: Folders,
    /// Folders permitted for scripts that hook libraries run.
    pub scripts: Folders,
    /// Folder permitted for the forensic log.
    pub legal_log: Folders,
    /// Files that the server uses with any configuration, each with its kind: the configuration
    /// file, the PID file, the server's identifier.
    pub own_files: Vec<(&'static str, String)>,
}

/// End of the path of the hook libraries' folder in every package of Kea.
const HOOKS: &str = "/kea/hooks";
/// Paths of the folders that packages install files to.
const INSTALLED: [&str; 3] = ["/usr/", "/opt/", "/nix/store/"];

impl SecurityPolicy {
    fn hook_fault(&self, path: &str) -> Option<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_installed = INSTALLED.iter().any(|prefix| folder.starts_with(prefix))
            && folder.ends_with(HOOKS)
            && folder.split('/').all(|part| part != "..");
        if self.hooks == Folders::default() && is_installed {
            return None;
        }
        self.hooks.fault(path)
    }
}

/// Purpose of a configured path, which selects the permitted folders and Kea's identifier of the
/// warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathPurpose {
    Leases,
    Log,
    Socket,
    HookLibrary,
    Script,
}

impl PathPurpose {
    const fn warning(self) -> &'static str {
        match self {
            Self::Leases => "DHCPSRV_MEMFILE_PATH_SECURITY_WARNING",
            Self::Log => "DCTL_LOG_PATH_SECURITY_WARNING",
            Self::Socket => "COMMAND_UNIX_SOCKET_PATH_SECURITY_WARNING",
            Self::HookLibrary | Self::Script => "HOOKS_LIBPATH_SECURITY_WARNING",
        }
    }
}

impl ParseContext {
    /// Reports a setting that the security rules refuse: an error, or a warning with Kea's
    /// identifier `id`.
    fn insecure(&mut self, at: SourcePosition, id: &'static str, message: String, help: &str) {
        match self.security.enforcement {
            Enforcement::Unchecked => {}
            Enforcement::Warn => self.warn_id(at, id, message),
            Enforcement::Refuse => self.error_help(at, message, help),
        }
    }
}

/// Checks that `path`, the value of `key`, is in a folder permitted for its purpose.
pub(crate) fn path(
    kind: PathPurpose,
    key: &str,
    path: PositionedValue<&str>,
    findings: &mut ParseContext,
) {
    let policy = &findings.security;
    let (fault, variable) = match kind {
        PathPurpose::Leases => (policy.data.fault(path.value), "KEA_DHCP_DATA_DIR"),
        PathPurpose::Log => (policy.logs.fault(path.value), "KEA_LOG_FILE_DIR"),
        PathPurpose::Socket => (policy.sockets.fault(path.value), "KEA_CONTROL_SOCKET_DIR"),
        PathPurpose::HookLibrary => (policy.hook_fault(path.value), "KEA_HOOKS_PATH"),
        PathPurpose::Script => (policy.scripts.fault(path.value), "KEA_HOOK_SCRIPTS_PATH"),
    };
    let help = format!("name the file alone, set {variable}, or start with -X");
    written_files::check(kind, key, path, findings);
    let policy = &findings.security;
    if let Some(fault) = fault {
        let message = format!("`{key}` is not allowed: {fault}");
        findings.insecure(path.at, kind.warning(), message, &help);
    } else if kind == PathPurpose::Socket {
        let folder = match path.value.rsplit_once('/') {
            Some((folder, _)) => Some(folder),
            None => policy.sockets.iter().next(),
        };
        let Some(folder) = folder.filter(|folder| policy.relaxed_sockets.holds(folder)) else {
            return;
        };
        let message =
            format!("socket path:{folder} does not exist or has more relaxed permissions than 750");
        let help = format!("run `chmod 750 {folder}`, or start with -X");
        let id = "COMMAND_UNIX_SOCKET_PERMISSIONS_SECURITY_WARNING";
        findings.insecure(path.at, id, message, &help);
    }
}

/// Checks the folder `folder` of leases and of the server's identifier, the value of `key`.
pub(crate) fn data_folder(key: &str, folder: PositionedValue<&str>, findings: &mut ParseContext) {
    let fault = findings.security.data.folder_fault(folder.value.trim_end_matches('/'));
    if let Some(fault) = fault {
        let message = format!("`{key}` is not allowed: {fault}");
        let help = "set KEA_DHCP_DATA_DIR, or start with -X";
        findings.insecure(folder.at, PathPurpose::Leases.warning(), message, help);
    }
}

/// Checks the folder of the forensic log, the value of `key`.
pub(crate) fn legal_log(key: &str, folder: PositionedValue<&str>, findings: &mut ParseContext) {
    let folders = &findings.security.legal_log;
    if let Some(fault) = folders.folder_fault(folder.value.trim_end_matches('/')) {
        let message = format!("`{key}` is not allowed: {fault}");
        let help = "set KEA_LEGAL_LOG_DIR, or start with -X";
        findings.insecure(folder.at, "LEGAL_LOG_PATH_SECURITY_WARNING", message, help);
    }
}

/// Reports an HTTP socket at `at` that has neither authentication nor TLS.
pub(crate) fn open_socket(at: SourcePosition, findings: &mut ParseContext) {
    let help = "set `authentication` with files, or `https` with its files, or start with -X";
    let id = "COMMAND_HTTP_SOCKET_SECURITY_WARNING";
    findings.insecure(at, id, "Unsecured HTTP control channel".to_owned(), help);
}

/// Reports a user's name, a password or the secret of a TSIG key, the value of `key`, that is
/// written in the configuration itself.
pub(crate) fn clear_text(key: &str, at: SourcePosition, findings: &mut ParseContext) {
    let id = match key {
        "user" => "HTTP_CLIENT_USER_SECURITY_WARNING",
        "secret" => "DHCP_DDNS_TSIG_SECRET_SECURITY_WARNING",
        _ => "HTTP_CLIENT_PASSWORD_SECURITY_WARNING",
    };
    let help = format!("put it into a file and name that as `{key}-file`, or start with -X");
    let what = if key == "secret" { "TSIG " } else { "" };
    findings.insecure(at, id, format!("use of clear text {what}'{key}' is NOT SECURE"), &help);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_file_or_the_folder_itself_is_taken() {
        let folders = Folders::new(["/var/log/kea/".to_owned(), "/run/kea".to_owned()]);
        for path in ["x.log", "/var/log/kea/x.log", "/run/kea/.x"] {
            assert_eq!(folders.fault(path), None, "{path}");
        }
        for path in [
            "",
            "/",
            ".",
            "..",
            "sub/x",
            "../x",
            "./x",
            "/x",
            "//x",
            "/etc/x",
            "/var/log/kea/",
            "/var/log/kea/../x",
            "/var/log/kea/sub/x",
            "/var/log/kea//x",
            "/var/log/x",
            "/run/kea/..",
            "/var/log/kea/x\ny",
            "x\0y",
            " /var/log/kea/x",
        ] {
            assert!(folders.fault(path).is_some(), "{path}");
        }
        assert_eq!(
            folders.fault("/x").unwrap(),
            "invalid path specified: '/', supported path is '/var/log/kea' or '/run/kea'"
        );
        assert!(Folders::new(["/".to_owned()]).fault("/x").is_some(), "as in Kea");
    }

    #[test]
    fn libraries_lie_where_packages_of_kea_put_them() {
        let policy = SecurityPolicy::default();
        for path in [
            "libdhcp_bootp.so",
            "/usr/lib/x86_64-linux-gnu/kea/hooks/libdhcp_bootp.so",
            "/usr/local/lib/kea/hooks/libdhcp_bootp.so",
        ] {
            assert_eq!(policy.hook_fault(path), None, "{path}");
        }
        for path in ["/tmp/kea/hooks/x.so", "/usr/../tmp/kea/hooks/x.so", "/usr/lib/x.so", "a/x.so"]
        {
            assert!(policy.hook_fault(path).is_some(), "{path}");
        }
        let policy = SecurityPolicy { hooks: Folders::new(["/h".into()]), ..policy };
        assert!(policy.hook_fault("/usr/lib/kea/hooks/libdhcp_bootp.so").is_some());
        assert_eq!(policy.hook_fault("/h/libdhcp_bootp.so"), None);
    }
}
