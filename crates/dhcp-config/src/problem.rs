//! Problems of a configuration as the operator reads them: each with its position, its line, and
//! advice.

use core::fmt;

base::named! {
    /// Severity of a configuration problem: an error prevents the use of the configuration. Names
    /// are the words in front of messages.
    pub enum Severity {
        /// The server refuses a configuration with this problem.
        Error = "error",
        /// The server uses a configuration with this problem; the operator should look at it.
        Warning = "warning",
    }
}

/// Position in a configuration file: line and column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigPosition {
    /// Name of the file, as given to the parser or in the include.
    pub file: String,
    /// Line in the file, counted from 1.
    pub line: u32,
    /// Column in the line, in characters, counted from 1.
    pub column: u32,
}

/// Problem of a configuration file.
///
/// `Display` prints `file:line:column: error: message`, the line with a caret under the position,
/// and `help: ...`, without a final newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Severity of the problem: error or warning.
    pub severity: Severity,
    /// Name of the problem's file, as given to the parser or in the include.
    pub file: String,
    /// Line of the problem, counted from 1.
    pub line: u32,
    /// Column of the problem in characters, counted from 1.
    pub column: u32,
    /// Identifier of this kind of problem in the log, if it has one of its own;
    /// [`ConfigProblem::identifier`] returns one for every problem.
    pub id: Option<&'static str>,
    /// Description of the problem, one sentence without a full stop.
    pub message: String,
    /// Advice to the operator on how to remove the problem.
    pub help: Option<String>,
    /// Line of the file with the problem, or the part of it around the position when it is long.
    pub(crate) excerpt: String,
    /// Number of characters of `excerpt` before the problem's position.
    pub(crate) caret: usize,
}

impl ConfigProblem {
    /// Returns the problem's identifier in the log, with `DHCPX_` for `DHCP4_` or `DHCP6_`.
    #[must_use]
    pub fn identifier(&self) -> &'static str {
        self.id.unwrap_or(match self.severity {
            Severity::Error => "DHCPX_PARSER_FAIL",
            Severity::Warning => "DHCPX_CONFIG_WARNING",
        })
    }

    /// Returns the problem's position, message and advice in a single line, as the log has them.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { file, line, column, message, help, .. } = self;
        let help = help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        format!("{file}:{line}:{column}: {message}{help}")
    }
}

impl fmt::Display for ConfigProblem {
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
