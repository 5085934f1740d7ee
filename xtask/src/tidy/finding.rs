//! Findings of the rules of `cargo xtask tidy`, with their positions.

use std::fmt;

/// Violation of one rule of tidy, with its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleViolation {
    /// Path of the file with the violation, from the root of the workspace.
    pub(crate) path: String,
    /// Number of the line with the violation, from 1.
    pub(crate) line: usize,
    /// Short name of the violated rule.
    pub(crate) rule: &'static str,
    /// Description of the violation and its correction.
    pub(crate) message: String,
}

impl RuleViolation {
    /// Returns a violation of `rule` at the line `line` of the file `path`.
    pub(crate) fn new(
        rule: &'static str,
        path: impl Into<String>,
        line: usize,
        message: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), line, rule, message: message.into() }
    }
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}
