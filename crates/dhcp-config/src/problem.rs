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
    /// The identifier of this kind of problem in the log, where it has one of its own;
    /// [`Problem::identifier`] gives every problem one.
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

impl Problem {
    /// Returns the identifier of the problem in the log, with `DHCPX_` for `DHCP4_` or `DHCP6_`.
    #[must_use]
    pub fn identifier(&self) -> &'static str {
        self.id.unwrap_or(match self.severity {
            Severity::Error => "DHCPX_PARSER_FAIL",
            Severity::Warning => "DHCPX_CONFIG_WARNING",
        })
    }

    /// Returns place, message and advice in a single line, as the log has them.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { file, line, column, message, help, .. } = self;
        let help = help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        format!("{file}:{line}:{column}: {message}{help}")
    }
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
