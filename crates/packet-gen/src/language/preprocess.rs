//! The part of the C preprocessor that published packet files use, built in: `#define` and `#undef` of
//! names without arguments, `#include <stddef.h>` (served from [`super::names`]), `#ifdef`, `#ifndef`,
//! `#else`, `#endif`. Other lines that begin with `#` are comments.

use std::collections::BTreeMap;

use super::names::SHARED;
use super::source::{Fault, Text, is_word};

/// Macros inside of one another.
const DEPTH_MAX: usize = 32;
/// A text that macros made longer than this is no packet file.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// What names stand for.
type Macros = BTreeMap<String, String>;

struct Preprocessor<'a> {
    file: &'a [u8],
    at: usize,
    macros: Macros,
    /// For each `#ifdef` that is open: where it is, and whether what follows counts.
    conditions: Vec<(usize, bool)>,
    text: Text,
    faults: Vec<Fault>,
}

/// Runs `file` through the preprocessor, with macros beforehand. Faults are at octets of the file.
pub(crate) fn run(file: &[u8], defines: &[(String, String)]) -> (Text, Vec<Fault>) {
    let macros = defines.iter().cloned().collect();
    let mut state = Preprocessor {
        file,
        at: 0,
        macros,
        conditions: Vec::new(),
        text: Text::default(),
        faults: Vec::new(),
    };
    state.lines();
    (state.text, state.faults)
}

impl Preprocessor<'_> {
    fn lines(&mut self) {
        while self.at < self.file.len() {
            let rest = &self.file[self.at..];
            let blanks = rest.iter().take_while(|octet| matches!(octet, b' ' | b'\t')).count();
            if rest.get(blanks) == Some(&b'#') {
                self.directive(self.at + blanks);
            } else {
                self.line();
            }
        }
        for (at, _) in std::mem::take(&mut self.conditions) {
            self.fault(at, "#ifdef without #endif");
        }
    }

    fn fault(&mut self, at: usize, message: impl Into<String>) {
        self.faults.push(Fault { at, message: message.into() });
    }

    fn counts(&self) -> bool {
        self.conditions.iter().all(|(_, counts)| *counts)
    }

    /// The directive whose `#` is at `at`, with the lines that `\` joins to it.
    fn directive(&mut self, at: usize) {
        let mut end = at;
        while let Some(octet) = self.file.get(end) {
            if *octet == b'\n' && self.file[end - 1] != b'\\' {
                break;
            }
            end += 1;
        }
        self.at = (end + 1).min(self.file.len());
        if end < self.file.len() {
            self.text.push(b'\n', end);
        }
        let line = String::from_utf8_lossy(&self.file[at + 1..end]).replace("\\\n", " ");
        let line = line.trim();
        let (word, rest) = line.split_at(line.bytes().take_while(|octet| is_word(*octet)).count());
        let rest = rest.trim();
        match word {
            "ifdef" => self.conditions.push((at, self.macros.contains_key(first_word(rest)))),
            "ifndef" => self.conditions.push((at, !self.macros.contains_key(first_word(rest)))),
            "else" => match self.conditions.last_mut() {
                Some((_, counts)) => *counts = !*counts,
                None => self.fault(at, "#else without #ifdef"),
            },
            "endif" if self.conditions.pop().is_none() => {
                self.fault(at, "#endif without #ifdef");
            }
            "endif" => {}
            _ if !self.counts() => {}
            "define" => self.define(at, rest),
            "undef" => drop(self.macros.remove(first_word(rest))),
            "include" => self.include(at, rest),
            "if" | "elif" => self.fault(at, "#if is not known here: #ifdef and #ifndef are"),
            _ => {}
        }
    }

    fn define(&mut self, at: usize, rest: &str) {
        let name = first_word(rest);
        let body = &rest[name.len()..];
        if name.is_empty() {
            self.fault(at, "#define without a name");
        } else if body.starts_with('(') {
            self.fault(at, format!("`{name}` has arguments, which macros here cannot have"));
        } else {
            self.macros.insert(name.to_owned(), without_comments(body));
        }
    }

    fn include(&mut self, at: usize, rest: &str) {
        if matches!(rest, "<stddef.h>" | "\"stddef.h\"") {
            let shared = SHARED.iter().map(|(name, body)| ((*name).into(), (*body).into()));
            self.macros.extend(shared);
        } else {
            self.fault(at, format!("{rest} is not known here: <stddef.h> alone is"));
        }
    }

    /// A line that is no directive; block comments may make it several.
    fn line(&mut self) {
        while let Some(&octet) = self.file.get(self.at) {
            let begin = self.at;
            match octet {
                b'\n' => {
                    self.copy(begin + 1);
                    return;
                }
                b'/' if self.file[begin..].starts_with(b"/*") => {
                    let end = find(&self.file[begin + 2..], b"*/").map(|len| begin + 2 + len + 2);
                    self.copy(end.unwrap_or(self.file.len()));
                }
                b'/' if self.file[begin..].starts_with(b"//") => self.copy_line(),
                b'#' | b';' => self.copy_line(),
                b'"' => {
                    let rest = &self.file[begin + 1..];
                    let len = rest.iter().position(|octet| matches!(octet, b'"' | b'\n'));
                    self.copy(len.map_or(self.file.len(), |len| {
                        begin + 1 + len + usize::from(rest[len] == b'"')
                    }));
                }
                b'\'' => self.copy((begin + 3).min(self.file.len())),
                _ if is_word(octet) => self.word(),
                _ => self.copy(begin + 1),
            }
        }
    }

    fn copy_line(&mut self) {
        let len = self.file[self.at..].iter().position(|octet| *octet == b'\n');
        self.copy(len.map_or(self.file.len(), |len| self.at + len));
    }

    /// Takes over the file up to `end`, unless a condition hides it; ends of lines stay.
    fn copy(&mut self, end: usize) {
        let counts = self.counts();
        for at in self.at..end {
            if counts || self.file[at] == b'\n' {
                self.text.push(self.file[at], at);
            }
        }
        self.at = end;
    }

    fn word(&mut self) {
        let begin = self.at;
        let rest = &self.file[begin..];
        let len = rest.iter().take_while(|octet| is_word(**octet)).count();
        let word = String::from_utf8_lossy(&rest[..len]).into_owned();
        if !self.counts() || !self.macros.contains_key(&word) {
            self.copy(begin + len);
            return;
        }
        let mut expanded = Vec::new();
        if expand(&self.macros, &word, &mut Vec::new(), &mut expanded) {
            for octet in expanded {
                self.text.push(octet, begin);
            }
        } else {
            self.fault(begin, format!("`{word}` becomes too long or nests too deep"));
        }
        self.at = begin + len;
    }
}

/// Puts what `word` stands for into `output`; false when there is no end to it.
fn expand<'m>(
    macros: &'m Macros,
    word: &'m str,
    open: &mut Vec<&'m str>,
    output: &mut Vec<u8>,
) -> bool {
    let body = macros.get(word).filter(|_| !open.contains(&word));
    let Some(body) = body else {
        output.extend_from_slice(word.as_bytes());
        return true;
    };
    if open.len() == DEPTH_MAX || output.len() > TEXT_BYTES_MAX {
        return false;
    }
    open.push(word);
    let mut rest = body.as_str();
    let mut is_bounded = true;
    while let Some(octet) = rest.bytes().next() {
        let len = if octet == b'"' {
            rest[1..].find('"').map_or(rest.len(), |len| len + 2)
        } else {
            let len = rest.bytes().take_while(|octet| is_word(*octet)).count();
            if len > 0 {
                is_bounded &= expand(macros, &rest[..len], open, output);
                rest = &rest[len..];
                continue;
            }
            rest.chars().next().map_or(1, char::len_utf8)
        };
        output.extend_from_slice(&rest.as_bytes()[..len]);
        rest = &rest[len..];
    }
    open.pop();
    is_bounded
}

fn find(octets: &[u8], wanted: &[u8]) -> Option<usize> {
    octets.windows(wanted.len()).position(|window| window == wanted)
}

fn first_word(text: &str) -> &str {
    &text[..text.bytes().take_while(|octet| is_word(*octet)).count()]
}

/// The body of a macro: comments are no part of it.
fn without_comments(body: &str) -> String {
    let mut kept = String::new();
    let mut rest = body;
    while let Some(begin) = rest.find("/*") {
        kept.push_str(&rest[..begin]);
        kept.push(' ');
        rest = rest[begin + 2..].find("*/").map_or("", |end| &rest[begin + 4 + end..]);
    }
    kept.push_str(rest);
    let end = kept.find("//").unwrap_or(kept.len());
    kept[..end].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &str) -> (String, Vec<String>) {
        let (text, faults) = run(file.as_bytes(), &[("N".to_owned(), "7".to_owned())]);
        assert_eq!(text.octets.len(), text.origins.len());
        let faults = faults.iter().map(|fault| format!("{}: {}", fault.at, fault.message));
        (String::from_utf8(text.octets).unwrap(), faults.collect())
    }

    #[test]
    fn names_are_replaced_outside_of_strings_and_comments() {
        let file =
            "#define A B /* b */\n#define B (N+1) // c\n{ c8(A), \"A\", 'A' # A\n /* A */ AA }";
        let expected = "\n\n{ c8((7+1)), \"A\", 'A' # A\n /* A */ AA }";
        assert_eq!(text(file), (expected.to_owned(), vec![]));
    }

    #[test]
    fn shared_names_come_with_their_file_only() {
        assert_eq!(text("ETH_ALEN").0, "ETH_ALEN");
        assert_eq!(text("#include <stddef.h>\nETH_ALEN ETH_SRC_RAND").0, "\n6 drnd(6)");
    }

    #[test]
    fn conditions_hide_and_keep_lines() {
        let file = "#ifdef N\n1\n#else\n2\n#endif\n#ifndef N\n3\n#endif\n4";
        assert_eq!(text(file).0, "\n1\n\n\n\n\n\n\n4");
        assert_eq!(text("#undef N\nN").0, "\nN");
    }

    #[test]
    fn mistakes_are_named() {
        let file = "#define F(x) x\n#include <x.h>\n#if 1\n#endif\n#ifdef N\n# just a comment";
        let (_, faults) = text(file);
        assert_eq!(faults.len(), 5, "{faults:?}");
        let endless = "#define A B B\n#define B C C\n#define C A A\nA";
        assert_eq!(text(endless).1, Vec::<String>::new());
    }
}
