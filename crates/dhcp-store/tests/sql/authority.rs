//! Certificates as an operator makes them, with `openssl`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testbed::CommandLine;
use testbed::nobody::give_away;

/// Options for keys on elliptic curves, which `openssl` makes at once.
const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/// Certificate authority with its files in a folder.
pub(crate) struct Authority {
    folder: PathBuf,
    name: String,
}

impl Authority {
    /// Creates `NAME.pem` and its key.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let authority = Self { folder: folder.to_owned(), name: name.to_owned() };
        let subject = format!("/CN={name}");
        CommandLine::new("openssl")
            .args(["req", "-x509", "-days", "2", "-subj", &subject])
            .args(KEY)
            .args(["-keyout", &authority.path("key"), "-out", &authority.path("pem")])
            .run()
            .unwrap();
        authority
    }

    fn path(&self, suffix: &str) -> String {
        self.folder.join(&self.name).with_extension(suffix).display().to_string()
    }

    /// Returns the path of its certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.path("pem").into()
    }

    /// Creates the certificate `NAME.pem` of a host, with its key `NAME.key` readable by servers;
    /// it expires after `days` days.
    pub(crate) fn issue(&self, name: &str, host: &str, days: i32) -> (PathBuf, PathBuf) {
        let path = |suffix: &str| self.folder.join(name).with_extension(suffix);
        let text = |suffix: &str| path(suffix).display().to_string();
        CommandLine::new("openssl")
            .args(["req", "-subj", &format!("/CN={name}")])
            .args(KEY)
            .args(["-addext", &format!("subjectAltName=DNS:{host}")])
            .args(["-keyout", &text("key"), "-out", &text("csr")])
            .run()
            .unwrap();
        CommandLine::new("openssl")
            .args(["x509", "-req", "-copy_extensions", "copy", "-days", &days.to_string()])
            .args(["-in", &text("csr"), "-out", &text("pem"), "-CAcreateserial"])
            .args(["-CA", &self.path("pem"), "-CAkey", &self.path("key")])
            .run()
            .unwrap();
        let key = path("key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        give_away(&key).unwrap();
        (path("pem"), key)
    }
}
