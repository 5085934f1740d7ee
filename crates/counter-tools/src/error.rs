//! What stops the commands, by blame.

use std::fmt;
use std::io;

/// Why nothing is shown, or no more.
#[derive(Debug)]
pub enum CounterError {
    /// The operator asked for something that cannot be.
    Usage(String),
    /// Something that the machine refused, or that went away.
    Environment(String),
}

impl CounterError {
    /// The exit code of a command that ends with it.
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
