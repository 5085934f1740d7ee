//! Reader of a text's words with their positions, and the problems found while reading.

use core::fmt;

use super::units::WordValueError;

/// Problem in the words of link settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordProblem {
    /// Position of the word with the problem, in bytes from the start of the text; the end of the
    /// text if a word is missing.
    pub offset_bytes: usize,
    /// Description of the problem, for users.
    pub message: String,
    /// Advice how to correct the problem, for users.
    pub help: String,
}

impl fmt::Display for WordProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; {}", self.offset_bytes + 1, self.message, self.help)
    }
}

/// Word of the settings' text, with its position in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettingsWord<'a> {
    pub(super) text: &'a str,
    pub(super) offset_bytes: usize,
}

/// Words of the settings' text that remain to be read, and the problems found.
#[derive(Debug)]
pub(super) struct WordReader<'a> {
    words: Vec<SettingsWord<'a>>,
    next: usize,
    end_bytes: usize,
    seen: Vec<&'static str>,
    problems: Vec<WordProblem>,
}

impl<'a> WordReader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let offset = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        let words = text.split_ascii_whitespace();
        Self {
            words: words.map(|text| SettingsWord { text, offset_bytes: offset(text) }).collect(),
            next: 0,
            end_bytes: text.trim_ascii_end().len(),
            seen: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).map(|word| word.text)
    }

    pub(super) fn take(&mut self) -> Option<SettingsWord<'a>> {
        let word = self.words.get(self.next).copied();
        self.next += usize::from(word.is_some());
        word
    }

    pub(super) fn problem(&mut self, offset_bytes: usize, message: String, help: &str) {
        self.problems.push(WordProblem { offset_bytes, message, help: help.to_owned() });
    }

    pub(super) fn problem_at(&mut self, word: SettingsWord<'_>, message: String, help: &str) {
        self.problem(word.offset_bytes, message, help);
    }

    /// Records that a word was read, by its full name; a repeated word is a problem.
    pub(super) fn note(&mut self, word: SettingsWord<'_>, full: &'static str) {
        if self.seen.contains(&full) {
            let message = format!("`{full}` is given twice");
            self.problem_at(word, message, "leave one of them out");
        }
        self.seen.push(full);
    }

    /// Returns true if a word with this full name was read before.
    pub(super) fn has_seen(&self, full: &str) -> bool {
        self.seen.contains(&full)
    }

    /// Forgets the words recorded so far, so that the token bucket may repeat words of netem.
    pub(super) fn forget(&mut self) {
        self.seen.clear();
    }

    /// Returns true if the next word is an optional number, judged by its first character as in
    /// `tc`.
    pub(super) fn number_follows(&self) -> bool {
        self.peek().is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit()))
    }

    /// Returns true if the next word is an optional number, which may be negative.
    pub(super) fn signed_number_follows(&self) -> bool {
        self.number_follows() || self.peek().is_some_and(|word| word.starts_with('-'))
    }

    /// Reads the required value of the word `name`; records a problem if the value is missing or
    /// invalid.
    pub(super) fn value<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, WordValueError>,
    ) -> Option<T> {
        let Some(word) = self.take() else {
            let message = format!("the value of `{name}` is missing");
            self.problem(self.end_bytes, message, "give one after it");
            return None;
        };
        match read(word.text) {
            Ok(value) => Some(value),
            Err(unfit) => {
                let message = format!("invalid value `{}` of `{name}`", word.text);
                self.problem_at(word, message, unfit.help());
                None
            }
        }
    }

    /// Reads a further value of the word `name`; `None` if no number follows.
    pub(super) fn further<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, WordValueError>,
    ) -> Option<T> {
        if self.number_follows() { self.value(name, read) } else { None }
    }

    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Vec<WordProblem>> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        self.problems.sort_by_key(|problem| problem.offset_bytes);
        Err(self.problems)
    }
}
