//! Finding of a rule, with its position.

use std::fmt;

/// Violation of one rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleViolation {
    /// Path of the file from the root of the workspace.
    pub(crate) path: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Short name of the rule.
    pub(crate) rule: &'static str,
    /// Description of the fault and its correction.
    pub(crate) message: String,
}

impl RuleViolation {
    /// Returns a finding of `rule` at `path:line`.
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
