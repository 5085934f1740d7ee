//! Problems that the parse of a configuration has found so far.

use std::collections::{BTreeMap, BTreeSet};

use crate::problem::{ConfigProblem, Severity};
use crate::schema::KeyRecorder;
use crate::shared::inactive::{InactiveFeature, UnsupportedFeature};
use crate::source::{SourcePosition, Sources};

/// Maximum length of a problem's message or help, in characters: both quote the file.
const MESSAGE_WIDTH: usize = 400;

/// Maximum number of problems that one parse reports: further ones are counted and not reported.
const MAX_FINDINGS: usize = 1_000;
/// Maximum number of unknown names of one parse for which a near name is looked for.
const MAX_SUGGESTIONS: usize = 50;

/// Identifier of warnings about unsupported settings in the log.
const UNSUPPORTED: &str = "DHCPX_CONFIG_UNSUPPORTED";

/// Advice of a problem to the operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Help {
    None,
    Text(String),
    /// Phrase of the advice, followed by a second position.
    Position(&'static str, SourcePosition),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ParseDiagnostic {
    at: SourcePosition,
    /// Offset of the problem's position within the string that begins at `at`, in bytes of its
    /// decoded value.
    inside: Option<usize>,
    severity: Severity,
    /// Kea's identifier of the warning; `None` if it has none.
    id: Option<&'static str>,
    message: String,
    help: Help,
}

/// Problems of a configuration found so far, positions not yet turned into lines and columns.
#[derive(Debug, Default)]
pub(crate) struct ParseDiagnostics {
    // A set, because a bad global value is found again by every subnet that inherits it.
    set: BTreeSet<ParseDiagnostic>,
    errors: usize,
    /// Number of problems beyond the limit [`MAX_FINDINGS`], which are not kept.
    left_out: usize,
    /// True if every problem is kept, without the limit [`MAX_FINDINGS`].
    is_unbounded: bool,
    /// Number of near names suggested for unknown names so far.
    suggestions: usize,
    /// Recorder of the keys that readers take; `None` outside of the making of a schema.
    pub(crate) keys: Option<KeyRecorder>,
    /// Unsupported features that the configuration sets, by name, with the first position of each.
    inactive: BTreeMap<&'static str, (SourcePosition, &'static UnsupportedFeature)>,
}

impl ParseDiagnostics {
    /// Creates an empty set of problems without a limit of their number.
    pub(crate) fn unbounded() -> Self {
        Self { is_unbounded: true, ..Self::default() }
    }

    fn push(&mut self, severity: Severity, at: SourcePosition, message: String, help: Help) {
        self.add(ParseDiagnostic { at, inside: None, severity, id: None, message, help });
    }

    fn add(&mut self, finding: ParseDiagnostic) {
        let is_error = finding.severity == Severity::Error;
        if self.is_full() && !self.set.contains(&finding) {
            // The count still decides whether the configuration is refused.
            self.left_out += 1;
            self.errors += usize::from(is_error);
            return;
        }
        let added = self.set.insert(finding);
        self.errors += usize::from(added && is_error);
    }

    pub(crate) fn error(&mut self, at: SourcePosition, message: impl Into<String>) {
        self.push(Severity::Error, at, message.into(), Help::None);
    }

    /// Adds an error inside the string that begins at `at`, after `offset` bytes of its decoded
    /// value.
    pub(crate) fn error_inside(&mut self, at: SourcePosition, offset: usize, message: String) {
        let (severity, help) = (Severity::Error, Help::None);
        let inside = Some(offset);
        self.add(ParseDiagnostic { at, inside, severity, id: None, message, help });
    }

    pub(crate) fn error_help(
        &mut self,
        at: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Error, at, message.into(), Help::Text(help.into()));
    }

    /// Adds an error that concerns two positions; `phrase` introduces the second.
    pub(crate) fn error_with_second_position(
        &mut self,
        at: SourcePosition,
        message: impl Into<String>,
        phrase: &'static str,
        other: SourcePosition,
    ) {
        self.push(Severity::Error, at, message.into(), Help::Position(phrase, other));
    }

    pub(crate) fn warn(&mut self, at: SourcePosition, message: impl Into<String>) {
        self.push(Severity::Warning, at, message.into(), Help::None);
    }

    /// Adds a warning that Kea logs under the identifier `id`.
    pub(crate) fn warn_id(&mut self, at: SourcePosition, id: &'static str, message: String) {
        let (severity, help) = (Severity::Warning, Help::None);
        self.add(ParseDiagnostic { at, inside: None, severity, id: Some(id), message, help });
    }

    pub(crate) fn warn_help(
        &mut self,
        at: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Warning, at, message.into(), Help::Text(help.into()));
    }

    /// Records that the setting at `at` needs a feature that this version does not support. The
    /// operator gets one warning per feature, however many settings need it.
    pub(crate) fn inactive(&mut self, at: SourcePosition, feature: &'static UnsupportedFeature) {
        let first = self.inactive.entry(feature.name).or_insert((at, feature));
        first.0 = first.0.min(at);
    }

    /// Returns the unsupported features that are configured, ordered by name.
    pub(crate) fn inactive_features(&self) -> Vec<InactiveFeature> {
        self.inactive.values().map(|(_, feature)| feature.value()).collect()
    }

    /// Returns the errors with their positions and messages, and the second position of errors that
    /// concern two.
    pub(crate) fn iter_errors(
        &self,
    ) -> impl Iterator<Item = (SourcePosition, &str, Option<SourcePosition>)> {
        let errors = self.set.iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| {
            let other = match finding.help {
                Help::Position(_, at) => Some(at),
                Help::None | Help::Text(_) => None,
            };
            (finding.at, finding.message.as_str(), other)
        })
    }

    /// Adds the problems of the set `other` to this one.
    pub(crate) fn extend(&mut self, other: Self) {
        for (at, feature) in other.inactive.into_values() {
            self.inactive(at, feature);
        }
        for finding in other.set {
            self.add(finding);
        }
    }

    /// Returns true if the limit is reached, so that further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.set.len() >= MAX_FINDINGS && !self.is_unbounded
    }

    /// Returns true if one more near name for an unknown name may be looked for: among many names
    /// that takes time.
    pub(crate) fn may_suggest(&mut self) -> bool {
        self.suggestions += 1;
        self.suggestions <= MAX_SUGGESTIONS
    }

    /// Returns the number of errors found so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the problems of the configuration in the order of their positions.
    pub(crate) fn into_problems(mut self, sources: &Sources) -> Vec<ConfigProblem> {
        for (at, feature) in core::mem::take(&mut self.inactive).into_values() {
            let (severity, id) = (Severity::Warning, Some(UNSUPPORTED));
            let (message, help) = (feature.message(), Help::Text(feature.help()));
            self.add(ParseDiagnostic { at, inside: None, severity, id, message, help });
        }
        let problem = |finding: ParseDiagnostic| {
            let at = finding.inside.map_or(finding.at, |octets| sources.inside(finding.at, octets));
            let (line, column) = sources.line_and_column(at);
            let (excerpt, caret) = sources.excerpt(at);
            let help = match finding.help {
                Help::None => None,
                Help::Text(text) => Some(printable(&text)),
                Help::Position(phrase, at) => Some(format!("{phrase} {}", sources.describe(at))),
            };
            let file = sources.name(at.source()).to_owned();
            let ParseDiagnostic { severity, id, message, .. } = finding;
            let message = printable(&message);
            ConfigProblem { severity, file, line, column, id, message, help, excerpt, caret }
        };
        let mut problems: Vec<ConfigProblem> = self.set.into_iter().map(problem).collect();
        if self.left_out > 0
            && let Some(last) = problems.last()
        {
            let message = format!("{} more problems are not shown", self.left_out);
            problems.push(ConfigProblem { message, id: None, help: None, ..last.clone() });
        }
        problems
    }
}

/// Returns the text of a message without control characters, which a quoted part of the file may
/// hold, and not longer than a terminal takes.
fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len().min(MESSAGE_WIDTH));
    for (count, c) in text.chars().enumerate() {
        if count == MESSAGE_WIDTH {
            printed.push_str("...");
            break;
        }
        if c.is_control() { printed.extend(c.escape_unicode()) } else { printed.push(c) }
    }
    printed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::EXCERPT_WIDTH;

    fn problem_at(text: &str, offset: usize) -> ConfigProblem {
        let mut sources = Sources::default();
        let source = sources.add("a.conf", text.into());
        let mut findings = ParseDiagnostics::default();
        findings.error_help(SourcePosition::new(source, offset), "broken", "mend it");
        findings.into_problems(&sources).remove(0)
    }

    #[test]
    fn a_problem_prints_its_position_its_line_and_help() {
        let shown = problem_at("{\n\t\"é\": x\n}", 9).to_string();
        assert_eq!(shown, "a.conf:2:7: error: broken\n    \"é\": x\n         ^\nhelp: mend it");
    }

    #[test]
    fn a_long_line_is_shown_around_the_position() {
        let text = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let problem = problem_at(&text, 500);
        assert_eq!(problem.column, 501);
        assert_eq!(problem.excerpt.chars().count(), EXCERPT_WIDTH);
        assert_eq!(problem.excerpt.chars().nth(problem.caret), Some('!'));
    }

    #[test]
    fn what_a_message_quotes_cannot_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(printable(&"x".repeat(1000)).len(), MESSAGE_WIDTH + 3);
    }

    #[test]
    fn the_end_of_a_text_has_a_position() {
        let problem = problem_at("ab\n", 3);
        assert_eq!((problem.line, problem.column), (2, 1));
        assert_eq!(problem.to_string(), "a.conf:2:1: error: broken\nhelp: mend it");
    }
}
