//! The texts of one parse, places in them, and the problems found so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::advise::Place;
use crate::automata::Automata;
use crate::problem::{Problem, Severity};
use crate::shared::InactiveFeature;
use crate::shared::inactive::Feature;
use crate::shared::options::Definitions;
use crate::shared::security::SecurityPolicy;
use crate::shared::written::WrittenFiles;

/// Widest excerpt shown of a line, in characters: generated files are often one line.
const EXCERPT_WIDTH: usize = 96;
/// Characters of a long line shown before the place.
const EXCERPT_LEAD: usize = 40;

/// Longest message or help, in characters: they quote the file.
const MESSAGE_WIDTH: usize = 400;

/// Most problems of one run: more are counted and not told.
const MAX_FINDINGS: usize = 1_000;
/// Near names that are looked for in a configuration: of further unknown names none is suggested.
const MAX_SUGGESTIONS: usize = 50;

/// Octets between two places of a text whose number of characters is remembered.
const BLOCK_BYTES: usize = 4_096;

/// Longest text, in octets, so that a place takes 32 bits.
pub(crate) const MAX_TEXT_BYTES: usize = u32::MAX as usize;

/// A place: which text, and the octet offset in it. Orders by text, then offset. There is one with
/// every value of a file, of which there may be millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    source: u32,
    offset: u32,
}

impl At {
    /// The place at `offset` in the text with this index: see [`Sources::add`].
    pub(crate) const fn new(source: usize, offset: usize) -> Self {
        Self { source: source as u32, offset: offset as u32 }
    }

    /// The index of its text.
    pub(crate) const fn source(self) -> usize {
        self.source as usize
    }

    /// Octets of the text before it.
    pub(crate) const fn offset(self) -> usize {
        self.offset as usize
    }
}

/// A value and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) at: At,
}

/// One text with the offsets where its lines begin.
#[derive(Debug)]
struct Source {
    name: String,
    text: Arc<str>,
    line_starts: Vec<usize>,
    /// Characters that begin before each block of [`BLOCK_BYTES`]: a long line must not be counted
    /// from its start for every problem in it.
    characters: Vec<u32>,
}

impl Source {
    /// Characters that begin in the first `offset` octets of the text.
    fn characters_before(&self, offset: usize) -> u32 {
        let block = offset / BLOCK_BYTES;
        let rest = &self.text.as_bytes()[block * BLOCK_BYTES..offset];
        self.characters[block] + characters_in(rest)
    }
}

/// Characters that begin in `octets` of UTF-8.
fn characters_in(octets: &[u8]) -> u32 {
    octets.iter().filter(|&&octet| octet & 0xc0 != 0x80).count() as u32
}

/// All texts of one parse: the main one first, then each include as it was met.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    list: Vec<Source>,
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
        self.list.push(Source { name: name.to_owned(), text, line_starts, characters });
        self.list.len() - 1
    }

    /// Number of texts so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The name of a text.
    pub(crate) fn name(&self, source: usize) -> &str {
        &self.list[source].name
    }

    /// `file:line:column` of a place.
    fn describe(&self, at: At) -> String {
        let (line, column) = self.line_and_column(at);
        format!("{}:{line}:{column}", self.list[at.source()].name)
    }

    fn line_and_column(&self, at: At) -> (u32, u32) {
        let source = &self.list[at.source()];
        let line = source.line_starts.partition_point(|&start| start <= at.offset());
        let start = source.characters_before(source.line_starts[line - 1]);
        (line as u32, source.characters_before(at.offset()) - start + 1)
    }

    /// A place as it is shown.
    pub(crate) fn place(&self, at: At) -> Place {
        let (line, column) = self.line_and_column(at);
        Place { file: self.list[at.source()].name.clone(), line, column }
    }

    /// The place in the string that begins at `at` behind `octets` octets of what it means.
    fn inside(&self, at: At, octets: usize) -> At {
        let text = self.list[at.source()].text.as_bytes();
        let mut offset = at.offset() + 1;
        for _ in 0..octets {
            offset += match text.get(offset..) {
                Some([b'\\', b'u', ..]) => 6,
                Some([b'\\', ..]) => 2,
                _ => 1,
            };
        }
        At::new(at.source(), offset.min(text.len()))
    }

    /// The line around a place without control characters, and how many characters stand before it.
    fn excerpt(&self, at: At) -> (String, usize) {
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

/// Identifier of warnings of what is configured and not supported.
const UNSUPPORTED: &str = "DHCPX_CONFIG_UNSUPPORTED";

/// Advice that goes with a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Help {
    None,
    Text(String),
    /// A phrase that ends in front of another place.
    Place(&'static str, At),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    at: At,
    /// Octets of the string that begins at `at` in front of the place that is meant.
    inside: Option<usize>,
    severity: Severity,
    /// Kea's identifier of the warning, when it has one.
    id: Option<&'static str>,
    message: String,
    help: Help,
}

/// The problems found so far, places not yet turned into lines and columns.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    // A set, because a bad global value is found again by every subnet that inherits it.
    set: BTreeSet<Finding>,
    errors: usize,
    /// Problems beyond [`MAX_FINDINGS`].
    left_out: usize,
    /// True if every problem is wanted, however many there are.
    is_unbounded: bool,
    /// Rules for paths, sockets and secrets.
    pub(crate) security: SecurityPolicy,
    /// The regular expressions so far.
    pub(crate) automata: Automata,
    /// Near names that were suggested so far.
    suggestions: usize,
    /// Files that the server is to write, as far as they were read.
    pub(crate) written: WrittenFiles,
    /// What the file defines ahead of all that may refer to it.
    pub(crate) definitions: Definitions,
    /// What is configured and not done, by name, with the place that stands first.
    inactive: BTreeMap<&'static str, (At, &'static Feature)>,
}

impl Findings {
    /// None yet, to be found by the rules of `security`.
    pub(crate) fn by(security: SecurityPolicy) -> Self {
        Self { security, ..Self::default() }
    }

    /// None yet, to be found by the rules of `security`, every one wanted.
    pub(crate) fn unbounded(security: SecurityPolicy) -> Self {
        Self { security, is_unbounded: true, ..Self::default() }
    }

    fn push(&mut self, severity: Severity, at: At, message: String, help: Help) {
        self.add(Finding { at, inside: None, severity, id: None, message, help });
    }

    fn add(&mut self, finding: Finding) {
        let is_error = finding.severity == Severity::Error;
        if self.is_full() && !self.set.contains(&finding) {
            // The count still says whether the configuration is refused.
            self.left_out += 1;
            self.errors += usize::from(is_error);
            return;
        }
        let added = self.set.insert(finding);
        self.errors += usize::from(added && is_error);
    }

    pub(crate) fn error(&mut self, at: At, message: impl Into<String>) {
        self.push(Severity::Error, at, message.into(), Help::None);
    }

    /// An error inside of the string that begins at `at`, behind `offset` octets of what it means.
    pub(crate) fn error_inside(&mut self, at: At, offset: usize, message: String) {
        let (severity, help) = (Severity::Error, Help::None);
        let inside = Some(offset);
        self.add(Finding { at, inside, severity, id: None, message, help });
    }

    pub(crate) fn error_help(
        &mut self,
        at: At,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Error, at, message.into(), Help::Text(help.into()));
    }

    /// An error that concerns a second place; `phrase` leads up to it.
    pub(crate) fn error_seen(
        &mut self,
        at: At,
        message: impl Into<String>,
        phrase: &'static str,
        other: At,
    ) {
        self.push(Severity::Error, at, message.into(), Help::Place(phrase, other));
    }

    pub(crate) fn warn(&mut self, at: At, message: impl Into<String>) {
        self.push(Severity::Warning, at, message.into(), Help::None);
    }

    /// A warning that Kea logs under the identifier `id`.
    pub(crate) fn warn_id(&mut self, at: At, id: &'static str, message: String) {
        let (severity, help) = (Severity::Warning, Help::None);
        self.add(Finding { at, inside: None, severity, id: Some(id), message, help });
    }

    pub(crate) fn warn_help(
        &mut self,
        at: At,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Warning, at, message.into(), Help::Text(help.into()));
    }

    /// Notes that `at` asks for something that this version does not do. However many places ask,
    /// the operator is told once.
    pub(crate) fn inactive(&mut self, at: At, feature: &'static Feature) {
        let first = self.inactive.entry(feature.name).or_insert((at, feature));
        first.0 = first.0.min(at);
    }

    /// What is configured and not done, ordered by name.
    pub(crate) fn inactive_features(&self) -> Vec<InactiveFeature> {
        self.inactive.values().map(|(_, feature)| feature.value()).collect()
    }

    /// The errors with their messages, and the second place of those that concern two.
    pub(crate) fn iter_errors(&self) -> impl Iterator<Item = (At, &str, Option<At>)> {
        let errors = self.set.iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| {
            let other = match finding.help {
                Help::Place(_, at) => Some(at),
                Help::None | Help::Text(_) => None,
            };
            (finding.at, finding.message.as_str(), other)
        })
    }

    /// Adds what `other` found.
    pub(crate) fn extend(&mut self, other: Self) {
        for (at, feature) in other.inactive.into_values() {
            self.inactive(at, feature);
        }
        for finding in other.set {
            self.add(finding);
        }
    }

    /// Returns whether further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.set.len() >= MAX_FINDINGS && !self.is_unbounded
    }

    /// Returns whether one more near name may be looked for: among many names that takes time.
    pub(crate) fn may_suggest(&mut self) -> bool {
        self.suggestions += 1;
        self.suggestions <= MAX_SUGGESTIONS
    }

    /// How many errors there are so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The problems in the order of their places.
    pub(crate) fn into_problems(mut self, sources: &Sources) -> Vec<Problem> {
        for (at, feature) in core::mem::take(&mut self.inactive).into_values() {
            let (severity, id) = (Severity::Warning, Some(UNSUPPORTED));
            let (message, help) = (feature.message(), Help::Text(feature.help()));
            self.add(Finding { at, inside: None, severity, id, message, help });
        }
        let problem = |finding: Finding| {
            let at = finding.inside.map_or(finding.at, |octets| sources.inside(finding.at, octets));
            let (line, column) = sources.line_and_column(at);
            let (excerpt, caret) = sources.excerpt(at);
            let help = match finding.help {
                Help::None => None,
                Help::Text(text) => Some(printable(&text)),
                Help::Place(phrase, at) => Some(format!("{phrase} {}", sources.describe(at))),
            };
            let file = sources.name(at.source()).to_owned();
            let Finding { severity, id, message, .. } = finding;
            let message = printable(&message);
            Problem { severity, file, line, column, id, message, help, excerpt, caret }
        };
        let mut problems: Vec<Problem> = self.set.into_iter().map(problem).collect();
        if let Some(last) = problems.last().filter(|_| self.left_out > 0) {
            let message = format!("{} more problems are not shown", self.left_out);
            problems.push(Problem { message, id: None, help: None, ..last.clone() });
        }
        problems
    }
}

/// The text without control characters, which a quoted part of the file may hold, and not longer
/// than a terminal takes.
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

    fn problem_at(text: &str, offset: usize) -> Problem {
        let mut sources = Sources::default();
        let source = sources.add("a.conf", text.into());
        let mut findings = Findings::default();
        findings.error_help(At::new(source, offset), "broken", "mend it");
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
