//! Regular expressions of `match` in class expressions.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::Arc;

use regex_automata::dfa::{Automaton, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

/// Maximum size of the automaton of one regular expression, in bytes.
const AUTOMATON_MAX_BYTES: usize = 1 << 20;
/// Maximum memory for building the automaton of a regular expression, in bytes.
const BUILD_MAX_BYTES: usize = 8 << 20;

/// Regular expression that matches a whole text or not, compiled to an automaton that looks at each
/// byte once, allocates nothing and is shared by all shards.
///
/// Kea takes ECMAScript's expressions over bytes. Equal: classes, `\d \w \s`, groups, greedy and
/// lazy repetitions, alternatives, anchors, `\b`, POSIX classes, and that `.` is neither line feed
/// nor carriage return. Different: look-ahead and references to groups are refused; so are
/// expressions that would need an automaton above a mebibyte, mostly large counted repetitions;
/// `&&`, `--` and `~~` inside of a class are operators; `(?i)` and similar flags are known here and
/// not in Kea.
#[derive(Clone)]
pub struct Pattern {
    source: String,
    automaton: Arc<dense::DFA<Vec<u32>>>,
}

impl Pattern {
    /// Compiles the regular expression `source`.
    ///
    /// # Errors
    /// Returns the fault of the regular expression, as a phrase for the operator.
    pub fn new(source: &str) -> Result<Self, String> {
        let octets = syntax::Config::new().unicode(false).utf8(false).crlf(true);
        // Parsed alone first, so that brackets cannot close the group that is put around it.
        syntax::parse_with(source, &octets).map_err(|error| reason(&error))?;
        let automaton = dense::Builder::new()
            .syntax(octets)
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(BUILD_MAX_BYTES)))
            .configure(
                dense::Config::new()
                    .start_kind(regex_automata::dfa::StartKind::Anchored)
                    .dfa_size_limit(Some(AUTOMATON_MAX_BYTES))
                    .determinize_size_limit(Some(BUILD_MAX_BYTES)),
            )
            .build(&format!(r"\A(?:{source})\z"))
            .map_err(|error| format!("it cannot be compiled: {error}"))?;
        Ok(Self { source: source.to_owned(), automaton: Arc::new(automaton) })
    }

    /// Returns the size of the automaton in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.automaton.memory_usage()
    }

    /// Returns the regular expression as written in the configuration.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if the regular expression matches all of `text`.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        let input = Input::new(text).anchored(Anchored::Yes).earliest(true);
        // The automaton always reaches a result: it was built without bytes to quit at.
        self.automaton.try_search_fwd(&input).is_ok_and(|end| end.is_some())
    }
}

/// Returns the last line of the regular expression library's message: the lines before it draw the
/// expression.
fn reason(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.source).finish()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern)
            .unwrap_or_else(|error| panic!("{pattern}: {error}"))
            .matches(text.as_bytes())
    }

    #[test]
    fn the_whole_text_has_to_match() {
        assert!(matches("a|ab", "ab") && matches("ab|a", "a"));
        assert!(!matches("a", "ab") && !matches("b", "ab") && !matches("a", "a\n"));
        assert!(matches("", "") && !matches("", "x"));
        assert!(matches("^foo.*$", "foobar") && matches(r"\w+\.\d{2,3}", "a_b.123"));
        assert!(!matches(".", "\n") && !matches(".", "\r") && matches(r"[^x]", "\n"));
        assert!(!matches("foo", "FOO") && matches(r"\/x", "/x"));
        assert!(Pattern::new(".").expect("a pattern").matches(&[0xff]));
    }

    #[test]
    fn what_cannot_be_compiled_is_refused() {
        for pattern in ["(", "a)|(b", "[z-a]", "*a", r"(a)\1", "(?=a)", "(?:.{500}){500}"] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }
}
