//! Errors that end the counter tools, by cause.

use std::fmt;
use std::io;

/// Reason why a counter tool shows nothing, or nothing more.
#[derive(Debug)]
pub enum CounterError {
    /// Invalid request of the user: flags or arguments that cannot be satisfied.
    Usage(String),
    /// Operation that the machine refused, or an object, such as an interface, that disappeared.
    Environment(String),
}

impl CounterError {
    /// Returns the exit code of a command that ends with this error.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Environment(_) => 1,
        }
    }

    /// Returns a function that converts an `io::Error`:
    /// `.map_err(CounterError::cannot("write to", "standard output"))`.
    pub(crate) fn cannot(tried: &str, on: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Environment(format!("cannot {tried} {on}: {cause}"))
    }
}

impl fmt::Display for CounterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Environment(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for CounterError {}
