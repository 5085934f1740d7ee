//! Regular expression of `pidstat -C`.

use std::fmt;
use std::sync::Arc;

use regex_automata::Input;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

/// Maximum size in bytes of the automaton of a regular expression of `-C`.
const AUTOMATON_MAX_BYTES: usize = 1 << 20;
/// Maximum memory in bytes for building the automaton of a regular expression of `-C`.
const BUILD_MAX_BYTES: usize = 8 << 20;

/// Regular expression for the names of processes. The expression matches any part of a name.
#[derive(Clone)]
pub(super) struct CommandPattern {
    source: String,
    automaton: Arc<dense::DFA<Vec<u32>>>,
}

impl CommandPattern {
    /// Compiles the regular expression `source`.
    pub(super) fn new(source: &str) -> Result<Self, String> {
        let automaton = dense::Builder::new()
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(BUILD_MAX_BYTES)))
            .configure(
                dense::Config::new()
                    .start_kind(StartKind::Unanchored)
                    .dfa_size_limit(Some(AUTOMATON_MAX_BYTES))
                    .determinize_size_limit(Some(BUILD_MAX_BYTES)),
            )
            .build(source)
            .map_err(|_| "must be a regular expression, for example `named|kea`".to_owned())?;
        Ok(Self { source: source.to_owned(), automaton: Arc::new(automaton) })
    }

    /// Returns true if the regular expression matches a part of `name`.
    pub(super) fn matches(&self, name: &str) -> bool {
        // The automaton always reaches a result: it was built without bytes to quit at.
        let input = Input::new(name).earliest(true);
        self.automaton.try_search_fwd(&input).is_ok_and(|found| found.is_some())
    }
}

impl fmt::Debug for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommandPattern").field(&self.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_by_any_part() {
        let matches = |source: &str, name: &str| CommandPattern::new(source).unwrap().matches(name);
        assert!(matches("named|kea", "kea-dhcp4") && matches("ame", "named"));
        assert!(matches("^kworker/u8:[0-9]+", "kworker/u8:12-events"));
        assert!(!matches("^amed", "named") && !matches("bash", "sh"));
        assert!(CommandPattern::new("(").is_err());
        assert_eq!(format!("{:?}", CommandPattern::new("a").unwrap()), "CommandPattern(\"a\")");
    }
}
