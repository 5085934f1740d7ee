//! The errors that end the commands, by cause.

use std::fmt;
use std::io;

/// The reason why a command shows nothing, or nothing more.
#[derive(Debug)]
pub enum CounterError {
    /// The operator asked for something that is impossible.
    Usage(String),
    /// The machine refused something, or something disappeared.
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

    /// Adapts `io::Error`s: `.map_err(CounterError::cannot("write to", "standard output"))`.
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
