//! Errors of system calls during set-up.

use std::{fmt, io};

use base::ToolError;

/// System call that failed during set-up: the operation, its object, and the cause.
#[derive(Debug)]
pub struct NetError {
    tried: &'static str,
    on: String,
    cause: io::Error,
}

impl NetError {
    /// Creates an error of the operation `tried` (an infinitive without "to") on the object `on`.
    pub fn new(tried: &'static str, on: impl Into<String>, cause: io::Error) -> Self {
        Self { tried, on: on.into(), cause }
    }

    /// Returns the kernel's error that caused this one.
    pub const fn cause(&self) -> &io::Error {
        &self.cause
    }

    /// Returns a function that converts an `io::Error`:
    /// `.map_err(NetError::on("bind", "127.0.0.1:67"))`.
    pub fn on(tried: &'static str, on: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::new(tried, on, cause)
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.tried, self.on, self.cause)
    }
}

impl From<NetError> for ToolError {
    fn from(error: NetError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl std::error::Error for NetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
