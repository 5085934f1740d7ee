//! Texts of one parse, positions in them, and the problems found so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::advise::ConfigPosition;
use crate::automata::Automata;
use crate::problem::{ConfigProblem, Severity};
use crate::shared::InactiveFeature;
use crate::shared::inactive::UnsupportedFeature;
use crate::shared::options::Definitions;
use crate::shared::security::SecurityPolicy;
use crate::shared::written_files::WrittenFiles;

/// Widest excerpt shown of a line, in characters: generated files are often one line.
const EXCERPT_WIDTH: usize = 96;
/// Number of characters of a long line shown before the place.
const EXCERPT_LEAD: usize = 40;

/// Maximum length of a message or help, in characters: they quote the file.
const MESSAGE_WIDTH: usize = 400;

/// Maximum number of problems of one run: further ones are counted and not reported.
const MAX_FINDINGS: usize = 1_000;
/// Maximum number of unknown names of one run for which a near name is looked for.
const MAX_SUGGESTIONS: usize = 50;

/// Distance, in bytes, between two positions of a text whose number of characters is stored.
const BLOCK_BYTES: usize = 4_096;

/// Maximum length of a text, in bytes, so that a position takes 32 bits.
pub(crate) const MAX_TEXT_BYTES: usize = u32::MAX as usize;

/// Position: a text, and the byte offset in it. Orders by text, then offset. Every value of a file
/// has one, and there may be millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePosition {
    source: u32,
    offset: u32,
}

impl SourcePosition {
    /// Returns the position at `offset` in the text with index `source`: see [`Sources::add`].
    pub(crate) const fn new(source: usize, offset: usize) -> Self {
        Self { source: source as u32, offset: offset as u32 }
    }

    /// Returns the index of the text.
    pub(crate) const fn source(self) -> usize {
        self.source as usize
    }

    /// Returns the number of bytes of the text before the position.
    pub(crate) const fn offset(self) -> usize {
        self.offset as usize
    }
}

/// Value and its position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PositionedValue<T> {
    pub(crate) value: T,
    pub(crate) at: SourcePosition,
}

/// Text with the offsets where its lines begin.
#[derive(Debug)]
struct SourceText {
    name: String,
    text: Arc<str>,
    line_starts: Vec<usize>,
    /// Number of characters that begin before each block of [`BLOCK_BYTES`]: a long line must not
    /// be counted from its start for every problem in it.
    characters: Vec<u32>,
}

impl SourceText {
    /// Returns the number of characters that begin in the first `offset` bytes of the text.
    fn characters_before(&self, offset: usize) -> u32 {
        let block = offset / BLOCK_BYTES;
        let rest = &self.text.as_bytes()[block * BLOCK_BYTES..offset];
        self.characters[block] + characters_in(rest)
    }
}

/// Returns the number of characters that begin in `octets` of UTF-8.
fn characters_in(octets: &[u8]) -> u32 {
    octets.iter().filter(|&&octet| octet & 0xc0 != 0x80).count() as u32
}

/// All texts of one parse: the main one first, then each include as it was met.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    list: Vec<SourceText>,
}

impl Sources {
    /// Adds a text, which is not longer than [`MAX_TEXT_BYTES`]; returns its index.
    pub(crate) fn add(&mut self, name: &str, text: Arc<str>) -> usize {
        let line_starts =
            core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut characters = vec![0];
        for block in text.as_bytes().chunks(BLOCK_BYTES) {
            characters.push(characters[characters.len() - 1] + characters_in(block));
        }
        self.list.push(SourceText { name: name.to_owned(), text, line_starts, characters });
        self.list.len() - 1
    }

    /// Returns the number of texts so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the name of a text.
    pub(crate) fn name(&self, source: usize) -> &str {
        &self.list[source].name
    }

    /// Returns `file:line:column` of a position.
    fn describe(&self, at: SourcePosition) -> String {
        let (line, column) = self.line_and_column(at);
        format!("{}:{line}:{column}", self.list[at.source()].name)
    }

    fn line_and_column(&self, at: SourcePosition) -> (u32, u32) {
        let source = &self.list[at.source()];
        let line = source.line_starts.partition_point(|&start| start <= at.offset());
        let start = source.characters_before(source.line_starts[line - 1]);
        (line as u32, source.characters_before(at.offset()) - start + 1)
    }

    /// Returns the place of a position, as problems show it.
    pub(crate) fn locate(&self, at: SourcePosition) -> ConfigPosition {
        let (line, column) = self.line_and_column(at);
        ConfigPosition { file: self.list[at.source()].name.clone(), line, column }
    }

    /// Returns the position in the string that begins at `at`, after `octets` bytes of its decoded
    /// value.
    fn inside(&self, at: SourcePosition, octets: usize) -> SourcePosition {
        let text = self.list[at.source()].text.as_bytes();
        let mut offset = at.offset() + 1;
        for _ in 0..octets {
            offset += match text.get(offset..) {
                Some([b'\\', b'u', ..]) => 6,
                Some([b'\\', ..]) => 2,
                _ => 1,
            };
        }
        SourcePosition::new(at.source(), offset.min(text.len()))
    }

    /// Returns the line around a position without control characters, and the number of characters
    /// before the position.
    fn excerpt(&self, at: SourcePosition) -> (String, usize) {
        let source = &self.list[at.source()];
        let line = source.line_starts.partition_point(|&start| start <= at.offset());
        let start = source.line_starts[line - 1];
        let before = &source.text[start..at.offset()];
        let after = source.text[at.offset()..].chars().take_while(|&c| c != '\n');
        let lead = before.chars().rev().take(EXCERPT_WIDTH).count();
        let lead = if lead < EXCERPT_WIDTH { lead } else { EXCERPT_LEAD };
        let head: Vec<char> = before.chars().rev().take(lead).collect();
        let shown = head.iter().rev().copied().chain(after.take(EXCERPT_WIDTH - lead));
        let clean: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let indent = clean.chars().take(lead).take_while(|&c| c == ' ').count();
        (clean[indent..].trim_end().to_owned(), lead - indent)
    }
}

/// Identifier of warnings of unsupported settings.
const UNSUPPORTED: &str = "DHCPX_CONFIG_UNSUPPORTED";

/// Advice of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Help {
    None,
    Text(String),
    /// Phrase that ends in front of another place.
    Place(&'static str, SourcePosition),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ParseDiagnostic {
    at: SourcePosition,
    /// Offset of the place within the string that begins at `at`, in bytes of its decoded value.
    inside: Option<usize>,
    severity: Severity,
    /// Kea's identifier of the warning, if it has one.
    id: Option<&'static str>,
    message: String,
    help: Help,
}

/// Problems found so far, positions not yet turned into lines and columns.
#[derive(Debug, Default)]
pub(crate) struct ParseDiagnostics {
    // A set, because a bad global value is found again by every subnet that inherits it.
    set: BTreeSet<ParseDiagnostic>,
    errors: usize,
    /// Number of problems beyond [`MAX_FINDINGS`].
    left_out: usize,
    /// True if every problem is wanted, without a limit.
    is_unbounded: bool,
    /// Rules for paths, sockets and secrets.
    pub(crate) security: SecurityPolicy,
    /// Regular expressions compiled so far.
    pub(crate) automata: Automata,
    /// Number of near names suggested so far.
    suggestions: usize,
    /// Files that the server is to write, as far as they were read.
    pub(crate) written: WrittenFiles,
    /// Definitions of the file that must be known before anything may refer to them.
    pub(crate) definitions: Definitions,
    /// Unsupported settings, by name, with the first position.
    inactive: BTreeMap<&'static str, (SourcePosition, &'static UnsupportedFeature)>,
}

impl ParseDiagnostics {
    /// Creates an empty set, to be filled by the rules of `security`.
    pub(crate) fn with_security(security: SecurityPolicy) -> Self {
        Self { security, ..Self::default() }
    }

    /// Creates an empty set without a limit, to be filled by the rules of `security`.
    pub(crate) fn unbounded(security: SecurityPolicy) -> Self {
        Self { security, is_unbounded: true, ..Self::default() }
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

    /// Adds an error that concerns a second place; `phrase` introduces that place.
    pub(crate) fn error_with_second_position(
        &mut self,
        at: SourcePosition,
        message: impl Into<String>,
        phrase: &'static str,
        other: SourcePosition,
    ) {
        self.push(Severity::Error, at, message.into(), Help::Place(phrase, other));
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

    /// Notes that the setting at `at` needs a feature that this version does not support. The
    /// operator gets one warning per feature, however many settings need it.
    pub(crate) fn inactive(&mut self, at: SourcePosition, feature: &'static UnsupportedFeature) {
        let first = self.inactive.entry(feature.name).or_insert((at, feature));
        first.0 = first.0.min(at);
    }

    /// Returns the unsupported features that are configured, ordered by name.
    pub(crate) fn inactive_features(&self) -> Vec<InactiveFeature> {
        self.inactive.values().map(|(_, feature)| feature.value()).collect()
    }

    /// Returns the errors with their messages, and the second place of those that concern two.
    pub(crate) fn iter_errors(
        &self,
    ) -> impl Iterator<Item = (SourcePosition, &str, Option<SourcePosition>)> {
        let errors = self.set.iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| {
            let other = match finding.help {
                Help::Place(_, at) => Some(at),
                Help::None | Help::Text(_) => None,
            };
            (finding.at, finding.message.as_str(), other)
        })
    }

    /// Adds the problems of `other`.
    pub(crate) fn extend(&mut self, other: Self) {
        for (at, feature) in other.inactive.into_values() {
            self.inactive(at, feature);
        }
        for finding in other.set {
            self.add(finding);
        }
    }

    /// Returns true if further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.set.len() >= MAX_FINDINGS && !self.is_unbounded
    }

    /// Returns true if one more near name may be looked for: among many names that takes time.
    pub(crate) fn may_suggest(&mut self) -> bool {
        self.suggestions += 1;
        self.suggestions <= MAX_SUGGESTIONS
    }

    /// Returns the number of errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the problems in the order of their places.
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
                Help::Place(phrase, at) => Some(format!("{phrase} {}", sources.describe(at))),
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

/// Returns the text without control characters, which a quoted part of the file may hold, and not
/// longer than a terminal takes.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MESSAGE_WIDTH));
    for (count, c) in text.chars().enumerate() {
        if count == MESSAGE_WIDTH {
            shown.push_str("...");
            break;
        }
        if c.is_control() { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_at(text: &str, offset: usize) -> ConfigProblem {
        let mut sources = Sources::default();
        let source = sources.add("a.conf", text.into());
        let mut findings = ParseDiagnostics::default();
        findings.error_help(SourcePosition::new(source, offset), "broken", "mend it");
        findings.into_problems(&sources).remove(0)
    }

    #[test]
    fn a_problem_prints_its_place_its_line_and_help() {
        let shown = problem_at("{\n\t\"é\": x\n}", 9).to_string();
        assert_eq!(shown, "a.conf:2:7: error: broken\n    \"é\": x\n         ^\nhelp: mend it");
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
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
    fn the_end_of_a_text_has_a_place() {
        let problem = problem_at("ab\n", 3);
        assert_eq!((problem.line, problem.column), (2, 1));
        assert_eq!(problem.to_string(), "a.conf:2:1: error: broken\nhelp: mend it");
    }
}
