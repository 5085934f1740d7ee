//! Automata of the regular expressions of a configuration: each expression is compiled once,
//! however often it is written, and a bound limits the memory of all together, and so the time that
//! compiling them takes.

use std::collections::BTreeMap;

use crate::expression::Pattern;
use crate::shared::CharacterSet;

/// Maximum size of all automata of a configuration together, in bytes.
const ALL_MAX_BYTES: usize = 32 << 20;
/// Size that counts for a regular expression that cannot be compiled, in bytes: the attempt may
/// have taken as long as for a large one.
const FAILED_BYTES: usize = 1 << 20;

const TOO_MANY: &str = "the regular expressions of the configuration (`match`, \
                        `hostname-char-set`) need more than 32 mebibytes of memory together";

/// Regular expressions of a configuration that were compiled so far.
#[derive(Debug)]
pub(crate) struct Automata {
    left_bytes: usize,
    patterns: BTreeMap<String, Pattern>,
    sets: BTreeMap<String, CharacterSet>,
}

impl Default for Automata {
    fn default() -> Self {
        Self { left_bytes: ALL_MAX_BYTES, patterns: BTreeMap::new(), sets: BTreeMap::new() }
    }
}

impl Automata {
    /// Returns the compiled pattern of the regular expression `source` in `match`.
    pub(crate) fn pattern(&mut self, source: &str) -> Result<Pattern, String> {
        let (left_bytes, patterns) = (&mut self.left_bytes, &mut self.patterns);
        compiled(left_bytes, patterns, source, Pattern::new, Pattern::bytes)
    }

    /// Returns the compiled character set of `source`, the value of `hostname-char-set`.
    pub(crate) fn set(&mut self, source: &str) -> Result<CharacterSet, String> {
        let (left_bytes, sets) = (&mut self.left_bytes, &mut self.sets);
        compiled(left_bytes, sets, source, CharacterSet::new, CharacterSet::bytes)
    }
}

fn compiled<T: Clone>(
    left_bytes: &mut usize,
    cache: &mut BTreeMap<String, T>,
    source: &str,
    compile: fn(&str) -> Result<T, String>,
    bytes: fn(&T) -> usize,
) -> Result<T, String> {
    if let Some(automaton) = cache.get(source) {
        return Ok(automaton.clone());
    }
    if *left_bytes == 0 {
        return Err(TOO_MANY.to_owned());
    }
    let automaton = compile(source);
    let size = automaton.as_ref().map_or(FAILED_BYTES, bytes);
    let remaining = left_bytes.checked_sub(size);
    *left_bytes = remaining.unwrap_or_default();
    let automaton = automaton?;
    if remaining.is_none() {
        return Err(TOO_MANY.to_owned());
    }
    cache.insert(source.to_owned(), automaton.clone());
    Ok(automaton)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_costs_nothing_and_all_together_are_bounded() {
        let mut automata = Automata::default();
        for _ in 0..10_000 {
            automata.pattern("a+b*").unwrap();
            automata.set("(ab)+").unwrap();
            automata.set("[^a-z]").unwrap();
        }
        let small = ALL_MAX_BYTES - automata.left_bytes;
        assert!(small < 100_000, "{small}");
        let large = |number: u32| format!("[ab]*a[ab]{{9}}x{number}");
        let one = automata.left_bytes;
        automata.pattern(&large(0)).unwrap();
        let one = one - automata.left_bytes;
        automata.left_bytes = one * 2;
        automata.pattern(&large(1)).unwrap();
        let error = (2..5).find_map(|number| automata.pattern(&large(number)).err());
        assert_eq!(error.as_deref(), Some(TOO_MANY));
        automata.pattern(&large(0)).expect("it is known");
        // Expressions that cannot be compiled count as well.
        let mut automata = Automata::default();
        let wrong = |number: u32| format!("({number}");
        let messages: Vec<_> =
            (0..50).filter_map(|number| automata.pattern(&wrong(number)).err()).collect();
        assert_ne!(messages[0], TOO_MANY);
        assert_eq!(messages[49], TOO_MANY);
    }
}
