//! Characters to replace in host names that clients send: `hostname-char-set`.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::extended_regex::{self, OctetSet, Translation};

/// Maximum size of the automaton of one `hostname-char-set` expression, in bytes.
const AUTOMATON_MAX_BYTES: usize = 1 << 20;
/// Maximum memory for building the automaton of a `hostname-char-set` expression, in bytes.
const BUILD_MAX_BYTES: usize = 8 << 20;

/// Kea's default of `hostname-char-set`: everything but letters, digits, dots and hyphens.
const DEFAULT: &str = "[^A-Za-z0-9.-]";

/// Extended regular expression whose matches the server replaces in host names. An expression that
/// matches one byte at a time, as nearly all do, is a table; any other is an automaton. Neither
/// backtracks: a search looks at each byte once for each start of a match, whatever the expression.
///
/// The longest of several matches that begin at one byte counts, as POSIX requires; Kea's library
/// may take a shorter one where alternatives and repetitions meet (`a*(ab)?`).
#[derive(Clone)]
pub struct CharacterSet {
    source: Box<str>,
    matcher: Matcher,
}

#[derive(Clone)]
enum Matcher {
    /// Matcher of an empty expression, which matches nothing.
    Nothing,
    Octet(OctetSet),
    Automaton(Arc<dense::DFA<Vec<u32>>>),
}

impl CharacterSet {
    /// Compiles the regular expression `source`. With an empty one names stay as they are.
    ///
    /// # Errors
    /// Returns the fault of the regular expression, as a phrase for the operator.
    pub fn new(source: &str) -> Result<Self, String> {
        let matcher = if source.is_empty() {
            Matcher::Nothing
        } else {
            match extended_regex::translate(source.as_bytes())? {
                Translation::Octet(set) => Matcher::Octet(set),
                Translation::Pattern(pattern) => Matcher::Automaton(Arc::new(compile(&pattern)?)),
            }
        };
        Ok(Self { source: source.into(), matcher })
    }

    /// Returns the size in bytes of the automaton's memory, if the expression needs one.
    pub(crate) fn bytes(&self) -> usize {
        match &self.matcher {
            Matcher::Nothing | Matcher::Octet(_) => 0,
            Matcher::Automaton(automaton) => automaton.memory_usage(),
        }
    }

    /// Returns the regular expression as written in the configuration.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if the regular expression is empty, so that names stay as they are.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self.matcher, Matcher::Nothing)
    }

    /// Returns the range of the first match in `text` that begins at `from` or later. It may be
    /// empty.
    #[must_use]
    pub fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.matcher {
            Matcher::Nothing => None,
            Matcher::Octet(set) => {
                let rest = text.get(from..)?;
                let at = from + rest.iter().position(|&octet| set.contains(octet))?;
                Some(at..at + 1)
            }
            Matcher::Automaton(automaton) => (from..=text.len()).find_map(|at| {
                let input = Input::new(text).span(at..text.len()).anchored(Anchored::Yes);
                // The automaton always reaches a result: it was built without bytes to quit at.
                let end = automaton.try_search_fwd(&input).ok()??.offset();
                Some(at..end)
            }),
        }
    }
}

fn compile(pattern: &str) -> Result<dense::DFA<Vec<u32>>, String> {
    dense::Builder::new()
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(BUILD_MAX_BYTES)))
        .configure(
            dense::Config::new()
                .match_kind(MatchKind::All)
                .start_kind(StartKind::Anchored)
                .dfa_size_limit(Some(AUTOMATON_MAX_BYTES))
                .determinize_size_limit(Some(BUILD_MAX_BYTES)),
        )
        .build(pattern)
        .map_err(|_| "it needs an automaton above a mebibyte, or nests too deeply".to_owned())
}

impl Default for CharacterSet {
    /// Returns Kea's default set of characters to replace.
    fn default() -> Self {
        Self::new(DEFAULT).expect("the default is an expression")
    }
}

impl fmt::Debug for CharacterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CharacterSet").field(&self.source).finish()
    }
}

impl PartialEq for CharacterSet {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for CharacterSet {}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(expression: &str, text: &[u8]) -> Vec<(usize, usize)> {
        let set =
            CharacterSet::new(expression).unwrap_or_else(|fault| panic!("{expression}: {fault}"));
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some(range) = set.find(text, from) {
            from = range.end.max(range.start + 1);
            ranges.push((range.start, range.end));
        }
        ranges
    }

    #[test]
    fn the_longest_match_counts() {
        assert_eq!(matches("_|_+", b"a___b"), [(1, 4)]);
        assert_eq!(matches("a*(ab)?", b"aab"), [(0, 3), (3, 3)]);
        assert_eq!(matches("a+?", b"baa"), [(0, 0), (1, 3), (3, 3)]);
        assert_eq!(matches("x{2}", b"xxxxx"), [(0, 2), (2, 4)]);
        assert_eq!(matches("(x{2,}|y)z", b"xzyzxxxz"), [(2, 4), (4, 8)]);
    }

    #[test]
    fn anchors_are_the_ends_of_the_text() {
        assert_eq!(matches("^a", b"aaa"), [(0, 1)]);
        assert_eq!(matches("a$", b"aaa"), [(2, 3)]);
        assert_eq!(matches("^-|-$|_", b"-a_-"), [(0, 1), (2, 3), (3, 4)]);
        assert_eq!(matches("$", b"\n"), [(1, 1)]);
    }

    #[test]
    fn octets_are_not_characters() {
        assert_eq!(matches("[^a-z]", b"a\xff\xc3\xa9"), [(1, 2), (2, 3), (3, 4)]);
        assert_eq!(matches(".+", b"a\0\xff"), [(0, 1), (2, 3)]);
        assert_eq!(matches("(é)", "aé".as_bytes()), [(1, 3)]);
    }

    #[test]
    fn nothing_is_found_by_an_empty_set() {
        assert!(CharacterSet::new("").is_ok_and(|set| set.is_empty()));
        assert!(matches("", b"a").is_empty());
        assert!(!CharacterSet::default().is_empty());
    }

    #[test]
    fn expressions_that_backtracking_cannot_bear_are_searched_or_refused() {
        let text = [b'a'; 255];
        for expression in ["(a*)*b", "(a|aa)+$", "((a+)+)+c", "(a|a?)+b", "(.*.*.*.*)x"] {
            let _ = matches(expression, &text);
        }
        for expression in ["(a|b)*a(a|b){20}", "(.{99}){99999}"] {
            let fault = CharacterSet::new(expression).expect_err(expression);
            assert!(fault.contains("mebibyte"), "{fault}");
        }
        let nested = "(".repeat(2000) + "a" + &")".repeat(2000);
        assert!(CharacterSet::new(&nested).is_err());
    }
}
