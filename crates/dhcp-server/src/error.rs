//! Errors that end the DHCP server or keep it from starting, one sentence each.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use dhcp_config::ConfigProblem;
use netio::NetError;

/// Error that ends the DHCP server or keeps it from starting.
#[derive(Debug)]
pub enum ServerError {
    /// Configuration file that cannot be read.
    Unreadable {
        /// Path of the configuration file.
        path: PathBuf,
        /// Reason why the configuration file cannot be read.
        cause: io::Error,
    },
    /// PID file of another server that is alive.
    AlreadyRunning {
        /// Path of the PID file.
        path: PathBuf,
        /// Content of the PID file: the number of the other server's process; empty if it has not
        /// written its number yet.
        pid: String,
    },
    /// Invalid configuration, with all its problems.
    Configuration(Vec<ConfigProblem>),
    /// Configured features of Kea that this version lacks and whose absence is dangerous, by name
    /// (`--accept-inactive`).
    Inactive(Vec<&'static str>),
    /// Exit code that a control command (`shutdown`) requested.
    Commanded(u8),
    /// Listener sockets that cannot be opened although all are required
    /// (`service-sockets-require-all`), with the reasons.
    NotListening(String),
    /// Listener socket that cannot be opened.
    Socket(NetError),
    /// Control sockets that cannot be opened; one text for each.
    Control(Vec<String>),
    /// Lease file or lease database that cannot be opened or read, with the reason.
    Leases(String),
    /// Hook library of the configuration that cannot be loaded.
    HookLibrary {
        /// Name of the library, without the folder and the ending.
        library: &'static str,
        /// Reason why the library cannot be loaded.
        reason: String,
    },
    /// Database of reservations that cannot be opened, with the reason.
    Hosts(String),
    /// File or database of the legal log that cannot be opened, with the reason.
    LegalLog(String),
    /// File with the server's DUID that cannot be read or written.
    ServerId {
        /// Path of the file with the DUID.
        path: PathBuf,
        /// Reason why the file cannot be read or written.
        cause: io::Error,
    },
    /// File with the unfinished requests of the DNS updater that cannot be used.
    UpdateQueue {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the file cannot be used.
        cause: io::Error,
    },
    /// Failure to accept bulk lease queries, in one sentence.
    LeaseQuery(String),
    /// Missing interface with an address from which a DUID could be made.
    NoLinkLayer,
    /// Other operation that the operating system refused.
    System {
        /// Operation that the server tried.
        tried: &'static str,
        /// Reason that the operating system gave.
        cause: io::Error,
    },
    /// Loss of the ability to write leases while serving, with the reason.
    LeasesLost(String),
}

impl ServerError {
    /// Returns the exit code of the server's process: 2 for errors of the operator's input, 1 for
    /// the others.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unreadable { .. }
            | Self::Configuration(_)
            | Self::HookLibrary { .. }
            | Self::Inactive(_) => 2,
            Self::Commanded(code) => *code,
            Self::AlreadyRunning { .. }
            | Self::NotListening(_)
            | Self::Socket(_)
            | Self::Control(_)
            | Self::Leases(_)
            | Self::Hosts(_)
            | Self::LegalLog(_)
            | Self::ServerId { .. }
            | Self::UpdateQueue { .. }
            | Self::LeaseQuery(_)
            | Self::NoLinkLayer
            | Self::System { .. }
            | Self::LeasesLost(_) => 1,
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, cause } => {
                write!(f, "cannot read configuration {}: {cause}", path.display())
            }
            Self::Configuration(problems) => {
                for (index, problem) in problems.iter().enumerate() {
                    if index > 0 {
                        f.write_str("\n")?;
                    }
                    write!(f, "{problem}")?;
                }
                Ok(())
            }
            Self::Inactive(names) => write!(
                f,
                "{} not supported; to start without: `--accept-inactive {}`",
                listed(names),
                names.join(",")
            ),
            Self::AlreadyRunning { path, pid } => f.write_str(&other_server(path, pid)),
            Self::Commanded(code) => write!(f, "a command requested exit code {code}"),
            Self::NotListening(reasons) => {
                write!(f, "`service-sockets-require-all` is set, and {reasons}")
            }
            Self::Socket(cause) => {
                write!(f, "{cause}")?;
                if cause.cause().kind() == io::ErrorKind::PermissionDenied {
                    f.write_str(
                        "; run as root, or with the capabilities CAP_NET_BIND_SERVICE and, in \
                         dhcp4, CAP_NET_RAW",
                    )?;
                }
                Ok(())
            }
            Self::Control(reasons) => {
                write!(f, "control sockets: {}", reasons.join("; "))
            }
            Self::Leases(reason) | Self::Hosts(reason) | Self::LeaseQuery(reason) => {
                f.write_str(reason)
            }
            Self::LegalLog(reason) => write!(f, "cannot open the legal log: {reason}"),
            Self::HookLibrary { library, reason } => {
                write!(f, "cannot load the hook library libdhcp_{library}.so: {reason}")
            }
            Self::ServerId { path, cause } => {
                write!(f, "cannot keep the server's DUID in {}: {cause}", path.display())
            }
            Self::UpdateQueue { path, cause } => {
                write!(f, "cannot use the queue of DNS updates {}: {cause}", path.display())
            }
            Self::NoLinkLayer => f.write_str(
                "no interface has a link-layer address to make the server's DUID from: set \
                 `server-id` with type EN, or an `identifier`",
            ),
            Self::System { tried, cause } => write!(f, "cannot {tried}: {cause}"),
            Self::LeasesLost(reason) => {
                write!(f, "stopping, since leases can no longer be stored: {reason}")
            }
        }
    }
}

/// Returns a sentence about the server with the PID file `path`, whose content is `pid`.
fn other_server(path: &Path, pid: &str) -> String {
    // A server that has just started has the file, but not written its number yet.
    let process = if pid.is_empty() { "another process".into() } else { format!("process {pid}") };
    format!(
        "{process} serves a configuration file of this name already, according to PID file {}",
        path.display()
    )
}

/// Joins the names into a sentence up to its verb: `a is`, `a and b are`, `a, b and c are`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing is".to_owned(),
        [name] => format!("{name} is"),
        [names @ .., last] => format!("{} and {last} are", names.join(", ")),
    }
}

impl std::error::Error for ServerError {}
