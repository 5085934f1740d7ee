//! Errors of an emulated link, by cause.

use std::fmt;
use std::io;

use netio::NetError;

/// Reason why an emulated link cannot start, or has ended.
#[derive(Debug)]
pub enum EmulatedLinkError {
    /// Invalid request of the user: all problems, one per line.
    Usage(String),
    /// Operation that the machine refused, with its error.
    Environment(String),
}

impl EmulatedLinkError {
    /// Returns the exit code of a command that ends with this error.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Environment(_) => 1,
        }
    }

    /// Returns a function that converts an `io::Error` into an error of the link:
    /// `.map_err(EmulatedLinkError::cannot("listen at", "/run/x"))`.
    pub(crate) fn cannot(tried: &str, on: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Environment(format!("cannot {tried} {on}: {cause}"))
    }
}

impl fmt::Display for EmulatedLinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Environment(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for EmulatedLinkError {}

impl From<NetError> for EmulatedLinkError {
    fn from(error: NetError) -> Self {
        let hint = match error.cause().raw_os_error() {
            // EPERM
            Some(1) => "; it needs root, or CAP_NET_RAW and CAP_NET_ADMIN",
            _ => "",
        };
        Self::Environment(format!("{error}{hint}"))
    }
}
