//! What the operator reads: one problem with its place, the line it stands in, and advice.

use core::fmt;

/// Whether a problem keeps the configuration from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// The configuration is used; the operator should look.
    Warning,
}

impl Severity {
    /// The word in front of the message.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One problem of a configuration file.
///
/// `Display` prints `file:line:column: error: message`, the line with a caret under the place, and
/// `help: ...`, without a final newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// The file, as it was named to the parser or in the include.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Kea's identifier of the warning, when it has one.
    pub id: Option<&'static str>,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line, or the part of it around the place when it is long.
    pub(crate) excerpt: String,
    /// Characters of `excerpt` before the place.
    pub(crate) caret: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, excerpt, caret, .. } = self;
        write!(f, "{file}:{line}:{column}: {}: {message}", self.severity.name())?;
        if !excerpt.is_empty() {
            write!(f, "\n    {excerpt}\n    {:caret$}^", "")?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}
