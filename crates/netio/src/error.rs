//! What the environment refused.

use std::{fmt, io};

/// A system call that failed while something was set up: what was tried, on what, and why not.
#[derive(Debug)]
pub struct NetError {
    tried: &'static str,
    on: String,
    cause: io::Error,
}

impl NetError {
    /// An error of trying `tried` (an infinitive without "to") on `on`.
    #[must_use]
    pub fn new(tried: &'static str, on: impl Into<String>, cause: io::Error) -> Self {
        Self { tried, on: on.into(), cause }
    }

    /// What the kernel said.
    #[must_use]
    pub const fn cause(&self) -> &io::Error {
        &self.cause
    }

    /// Adapts `io::Error`s: `.map_err(NetError::on("bind", "127.0.0.1:67"))`.
    pub fn on(tried: &'static str, on: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::new(tried, on, cause)
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.tried, self.on, self.cause)
    }
}

impl std::error::Error for NetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
