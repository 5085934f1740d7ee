//! Errors that end the server or keep it from starting, one sentence each.

use std::fmt;
use std::io;
use std::path::PathBuf;

use dhcp_config::ConfigProblem;
use netio::NetError;

/// Error that ends the server.
#[derive(Debug)]
pub enum ServerError {
    /// The configuration file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The PID file is that of another server that lives.
    AlreadyRunning {
        /// The file.
        path: PathBuf,
        /// The content of the file.
        pid: String,
    },
    /// The configuration is invalid; all its problems.
    Configuration(Vec<ConfigProblem>),
    /// `interfaces` is empty.
    NoInterfaces,
    /// Names of configured features that this version lacks, and whose absence is dangerous.
    Inactive(Vec<&'static str>),
    /// A command requested this exit code.
    Commanded(u8),
    /// All sockets are required and not all are open; the reasons.
    NotListening(String),
    /// A socket cannot be opened.
    Socket(NetError),
    /// Control sockets cannot be opened; one text for each.
    Control(Vec<String>),
    /// The lease file or the lease database cannot be opened or read.
    Leases(String),
    /// A database of reservations cannot be opened.
    Hosts(String),
    /// The file with the server's DUID cannot be read or written.
    ServerId {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// No interface has an address from which a DUID could be made.
    NoLinkLayer,
    /// The operating system refused another operation.
    System {
        /// The operation.
        tried: &'static str,
        /// The cause.
        cause: io::Error,
    },
    /// Leases can no longer be written while serving.
    LeasesLost(String),
}

impl ServerError {
    /// Returns the process's exit code: 2 for errors of the operator's input, 1 for the others.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unreadable { .. }
            | Self::Configuration(_)
            | Self::NoInterfaces
            | Self::Inactive(_) => 2,
            Self::Commanded(code) => *code,
            Self::AlreadyRunning { .. }
            | Self::NotListening(_)
            | Self::Socket(_)
            | Self::Control(_)
            | Self::Leases(_)
            | Self::Hosts(_)
            | Self::ServerId { .. }
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
                write!(f, "cannot read the configuration {}: {cause}", path.display())
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
            Self::AlreadyRunning { path, pid } => write!(
                f,
                "process {pid} serves this configuration already, according to {}",
                path.display()
            ),
            Self::Commanded(code) => write!(f, "a command requested exit code {code}"),
            Self::NotListening(reasons) => {
                write!(f, "`service-sockets-require-all` is set, and {reasons}")
            }
            Self::NoInterfaces => f.write_str(
                "`interfaces` in `interfaces-config` is empty: the server would receive nothing; \
                 name an interface or \"*\"",
            ),
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
            Self::Leases(reason) | Self::Hosts(reason) => f.write_str(reason),
            Self::ServerId { path, cause } => {
                write!(f, "cannot keep the server's identifier in {}: {cause}", path.display())
            }
            Self::NoLinkLayer => f.write_str(
                "no interface has a link-layer address to make the server's identifier from: set \
                 `server-id` with type EN, or an `identifier`",
            ),
            Self::System { tried, cause } => write!(f, "cannot {tried}: {cause}"),
            Self::LeasesLost(reason) => {
                write!(f, "stopping, since leases can no longer be stored: {reason}")
            }
        }
    }
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
