//! Errors of the packet generator, by cause.

use std::fmt;
use std::io;

use netio::NetError;

/// Reason why the packet generator sent nothing, or stopped sending.
#[derive(Debug)]
pub enum GeneratorError {
    /// Invalid request of the user: the text has all problems, a paragraph each.
    Usage(String),
    /// Operation that the machine refused, with its error.
    Environment(String),
}

impl GeneratorError {
    /// Returns the exit code of a command that ends with this error.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Environment(_) => 1,
        }
    }

    /// Returns a function that converts an `io::Error`:
    /// `.map_err(GeneratorError::cannot("read", "x.cfg"))`.
    pub(crate) fn cannot(tried: &str, on: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Environment(format!("cannot {tried} {on}: {cause}"))
    }
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Environment(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for GeneratorError {}

impl From<NetError> for GeneratorError {
    fn from(error: NetError) -> Self {
        let hint = match error.cause().raw_os_error() {
            // EPERM
            Some(1) => "; it needs root, or CAP_NET_RAW",
            // ENOMEM, and ENOBUFS for memory that may not be locked
            Some(12 | 105) => "; a smaller ring (-S) may fit",
            // EBUSY: by AF_XDP only
            Some(16) => "; another AF_XDP socket uses this transmit queue",
            // EAFNOSUPPORT: by AF_XDP only
            Some(97) => "; this kernel has no AF_XDP; use --path ring",
            _ => "",
        };
        Self::Environment(format!("{error}{hint}"))
    }
}
