//! C preprocessor for packet files, as far as they use it: `#define` and `#undef` of names with and
//! without arguments, `#include` of files and of `<stddef.h>` (from [`super::names`]), `#if`,
//! `#ifdef`, `#ifndef`, `#elif`, `#else`, `#endif`, `#error`. Other lines that begin with `#` are
//! comments.

mod condition;
mod macros;
mod predefined;
mod token;

use std::rc::Rc;

use super::names::SHARED;
use super::source::{MappedText, PacketTextFault, is_word};
use super::sources::PacketTextFiles;
use macros::{Expander, Macro, MacroError, Macros, TokenSource, expanded_text};
use predefined::SourceLocation;
use token::{Hidden, PreprocessorToken, TokenKind, line_join_len, piece};

/// Largest nesting of included files.
const DEPTH_MAX: usize = 32;
/// Longest packet text after macros and includes, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Names of the directives. For a suggestion `#elif` is before `#else`: both are equally near to
/// `#elseif`.
const DIRECTIVES: [&str; 13] = [
    "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "define", "undef",
    "include", "error", "line",
];
/// Names of directives of C compilers that change no packet.
const IGNORED: [&str; 7] =
    ["pragma", "warning", "ident", "sccs", "assert", "unassert", "include_next"];
/// Name of the built-in file that an `#include` may name.
const STDDEF: &str = "stddef.h";

/// Request of an `#include` for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Include<'n> {
    /// Name of the file in the quotes or angle brackets of the `#include`.
    pub name: &'n str,
    /// True for angle brackets, which name a file of the system.
    pub is_system: bool,
    /// Name of the file with the `#include`; `None` for the packet file.
    pub from: Option<&'n str>,
}

/// File that was found for an `#include`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedFile {
    /// Path of the included file.
    pub path: String,
    /// Content of the included file.
    pub octets: Vec<u8>,
}

/// Function that finds and reads the file of an `#include`, or returns the reason why it cannot.
pub type IncludeReader<'r> = dyn Fn(Include<'_>) -> Result<IncludedFile, String> + 'r;

/// Packet text without directives, and the faults found.
pub(crate) struct Preprocessed {
    pub(crate) text: MappedText,
    pub(crate) sources: PacketTextFiles,
    /// Faults of the packet text, in ascending order of origin (position in the concatenation of
    /// all files).
    pub(crate) faults: Vec<PacketTextFault>,
    /// Positions in the text of bytes that replace text which a fault left out.
    pub(crate) gaps: Vec<usize>,
}

/// Conditional (`#if`, `#ifdef`, `#ifndef`) whose `#endif` was not read yet.
struct OpenConditional {
    /// Origin (position in the concatenation of all files) of the `#` that began the conditional.
    origin: usize,
    /// True if the following lines count.
    is_active: bool,
    /// True if a branch of the conditional was active already, so that no other one is.
    had_active_branch: bool,
    /// True after the `#else` of the conditional.
    has_else: bool,
}

struct Preprocessor<'r> {
    sources: PacketTextFiles,
    macros: Macros,
    location: SourceLocation,
    conditions: Vec<OpenConditional>,
    text: MappedText,
    faults: Vec<PacketTextFault>,
    gaps: Vec<usize>,
    reader: &'r IncludeReader<'r>,
    depth: usize,
    /// Number of the file that the preprocessor reads.
    file_number: usize,
}

/// Name of the file in an `#include`.
struct IncludeName<'t> {
    name: &'t str,
    /// True if the name is in angle brackets.
    is_system: bool,
}

/// Token source of the lines of a file up to the next directive.
struct FileTokenSource {
    octets: Rc<[u8]>,
    base: usize,
    at: usize,
    /// True if the next byte begins a line.
    is_line_start: bool,
}

/// Runs the packet file `file`, which has the name `name`, through the preprocessor, with the
/// macros `defines`.
pub(crate) fn run(
    file: &[u8],
    name: &str,
    defines: &[(String, String)],
    reader: &IncludeReader<'_>,
) -> Preprocessed {
    let mut state = Preprocessor {
        sources: PacketTextFiles::new(file),
        macros: Macros::new(),
        location: SourceLocation::new(name),
        conditions: Vec::new(),
        text: MappedText::default(),
        faults: Vec::new(),
        gaps: Vec::new(),
        reader,
        depth: 0,
        file_number: 0,
    };
    for (name, predefined) in predefined::VARIABLES {
        state.macros.insert(name.to_owned(), Macro::predefined(predefined));
    }
    for (name, body) in predefined::CONSTANTS {
        state.define(0, &format!("{name} {body}"));
    }
    for (name, body) in defines {
        state.define(0, &format!("{name} {body}"));
    }
    state.file(0);
    let Preprocessor { text, sources, faults, gaps, .. } = state;
    Preprocessed { text, sources, faults, gaps }
}

impl<'t> IncludeName<'t> {
    /// Parses the file name of an `#include`: `"FILE"` or `<FILE>`.
    fn parse(text: &'t str) -> Option<Self> {
        let in_quotes = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let in_brackets = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let name = in_quotes.or(in_brackets).filter(|name| !name.is_empty())?;
        Some(Self { name, is_system: in_quotes.is_none() })
    }
}

impl FileTokenSource {
    /// Returns the position of the directive's `#` if the next line is a directive.
    fn directive(&self) -> Option<usize> {
        let rest = &self.octets[self.at..];
        let blanks = rest.iter().take_while(|octet| matches!(octet, b' ' | b'\t')).count();
        let is_directive = self.is_line_start && rest.get(blanks) == Some(&b'#');
        is_directive.then_some(self.at + blanks)
    }
}

impl TokenSource for FileTokenSource {
    fn next_token(&mut self) -> Option<PreprocessorToken> {
        let rest = self.octets.get(self.at..).filter(|rest| !rest.is_empty())?;
        if self.directive().is_some() {
            return None;
        }
        let (kind, len) = piece(rest, false);
        let token = PreprocessorToken {
            kind,
            octets: rest[..len].into(),
            origin: self.base + self.at,
            is_verbatim: true,
            hidden: Hidden::default(),
        };
        self.is_line_start = kind == TokenKind::LineEnd;
        self.at += len;
        Some(token)
    }
}

impl Preprocessor<'_> {
    fn file(&mut self, number: usize) {
        let open = self.conditions.len();
        let octets = self.sources.octets(number);
        let base = self.sources.base(number);
        let location = self.location.in_file(self.sources.name(number), Rc::clone(&octets), base);
        let mut including = std::mem::replace(&mut self.location, location);
        let including_number = std::mem::replace(&mut self.file_number, number);
        let mut lines = FileTokenSource { octets, base, at: 0, is_line_start: true };
        while lines.at < lines.octets.len() {
            match lines.directive() {
                Some(at) => self.directive(&mut lines, at),
                None => self.lines(&mut lines),
            }
        }
        while self.conditions.len() > open {
            if let Some(OpenConditional { origin, .. }) = self.conditions.pop() {
                self.fault(origin, "#if without #endif");
            }
        }
        including.leave(&self.location);
        self.location = including;
        self.file_number = including_number;
    }

    fn fault(&mut self, origin: usize, message: impl Into<String>) {
        self.faults.push(PacketTextFault { at: origin, message: message.into() });
    }

    /// Adds a fault that leaves text out, and puts one byte into the text instead.
    fn fault_with_gap(&mut self, origin: usize, message: impl Into<String>) {
        self.fault(origin, message);
        self.gaps.push(self.text.octets.len());
        self.text.push(b'?', origin);
    }

    fn counts(&self) -> bool {
        self.conditions.iter().all(|condition| condition.is_active)
    }

    /// Copies lines up to the next directive, with macros replaced; copies only the line ends of
    /// lines that do not count.
    fn lines(&mut self, lines: &mut FileTokenSource) {
        if !self.counts() {
            while let Some(token) = lines.next_token() {
                if token.kind == TokenKind::LineEnd {
                    self.text.push(b'\n', token.origin);
                }
            }
            return;
        }
        let macros = std::mem::take(&mut self.macros);
        let mut location = std::mem::take(&mut self.location);
        let mut expander = Expander::new(&macros, &mut location);
        loop {
            match expander.next(lines) {
                Ok(Some(token)) => self.push(&token),
                Ok(None) => break,
                Err(MacroError { origin, message }) => self.fault_with_gap(origin, message),
            }
            if self.text.octets.len() > TEXT_BYTES_MAX {
                self.fault(
                    lines.base + lines.at,
                    "the text is too long with its macros and includes",
                );
                lines.at = lines.octets.len();
                break;
            }
        }
        self.macros = macros;
        self.location = location;
    }

    fn push(&mut self, token: &PreprocessorToken) {
        if line_join_len(&token.octets).is_some() {
            self.text.push(b' ', token.origin);
            return;
        }
        for (ahead, octet) in token.octets.iter().enumerate() {
            let origin = token.origin + if token.is_verbatim { ahead } else { 0 };
            self.text.push(*octet, origin);
        }
    }

    /// Executes the directive whose `#` is at `at`, with the lines that `\` and comments join to
    /// it.
    fn directive(&mut self, lines: &mut FileTokenSource, at: usize) {
        let octets = Rc::clone(&lines.octets);
        let mut end = at;
        while let Some(rest) = octets.get(end..).filter(|rest| !rest.is_empty()) {
            // A comment may go on in further lines.
            let (kind, len) = piece(rest, true);
            if kind == TokenKind::LineEnd {
                break;
            }
            end += len;
        }
        let origin = lines.base + at;
        lines.at = (end + 1).min(octets.len());
        lines.is_line_start = true;
        if end < octets.len() {
            self.text.push(b'\n', lines.base + end);
        }
        let next_line = lines.at;
        let line = String::from_utf8_lossy(&octets[at + 1..end]).replace("\\\r\n", " ");
        let line = line.replace("\\\n", " ");
        let begins_at_once = line.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let line = without_comments(line.trim());
        let (word, rest) = line.split_at(line.bytes().take_while(|octet| is_word(*octet)).count());
        let rest = rest.trim();
        match word {
            "if" => {
                let is_true = self.counts() && self.condition(origin, rest);
                self.open(origin, is_true);
            }
            "ifdef" => self.open(origin, self.macros.contains_key(first_word(rest))),
            "ifndef" => self.open(origin, !self.macros.contains_key(first_word(rest))),
            "elif" => self.other_branch(origin, Some(rest)),
            "elifdef" => self.other_branch(origin, Some(&format!("defined {rest}"))),
            "elifndef" => self.other_branch(origin, Some(&format!("!defined {rest}"))),
            "else" => self.other_branch(origin, None),
            "endif" if self.conditions.pop().is_none() => self.fault(origin, "#endif without #if"),
            "endif" => {}
            _ if !self.counts() => {}
            "define" => self.define(origin, rest),
            "undef" => drop(self.macros.remove(first_word(rest))),
            "include" => self.include(origin, rest),
            "error" => self.fault(origin, format!("#error {rest}")),
            "line" => self.number_line(origin, next_line, rest),
            _ if begins_at_once
                && !IGNORED.contains(&word)
                && let Some(meant) = base::nearest(word, DIRECTIVES.into_iter()) =>
            {
                self.fault(origin, format!("`#{word}` is unknown; did you mean `#{meant}`?"));
            }
            // The mark of a preprocessor, `# 7 "file"`; other lines like it are comments.
            _ if word.bytes().all(|octet| octet.is_ascii_digit())
                && line_number(&line).is_some() =>
            {
                self.number_line(origin, next_line, &line);
            }
            _ => {}
        }
    }

    fn find(&self, name: &str, is_system: bool) -> Result<IncludedFile, String> {
        let from = self.sources.name(self.file_number);
        (self.reader)(Include { name, is_system, from })
    }

    /// Replaces `__has_include("FILE")` and `__has_include(<FILE>)` by 1 if the file exists, and by
    /// 0 otherwise.
    fn with_has_include(&self, expression: &str) -> String {
        let mut parts = expression.split("__has_include");
        let mut output = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let include = part.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
            let include =
                include.and_then(|(name, rest)| Some((IncludeName::parse(name.trim())?, rest)));
            if let Some((IncludeName { name, is_system }, rest)) = include {
                let is_found = name == STDDEF || self.find(name, is_system).is_ok();
                output.push_str(if is_found { " 1 " } else { " 0 " });
                output.push_str(rest);
            } else {
                output.push_str("__has_include");
                output.push_str(part);
            }
        }
        output
    }

    fn open(&mut self, origin: usize, is_true: bool) {
        let condition = OpenConditional {
            origin,
            is_active: is_true,
            had_active_branch: is_true,
            has_else: false,
        };
        self.conditions.push(condition);
    }

    /// Executes `#elif` with its expression, or `#else` if `expression` is `None`.
    fn other_branch(&mut self, origin: usize, expression: Option<&str>) {
        let name = if expression.is_some() { "#elif" } else { "#else" };
        let Some(mut condition) = self.conditions.pop() else {
            self.fault(origin, format!("{name} without #if"));
            return;
        };
        if condition.has_else {
            self.fault(origin, format!("{name} after #else"));
        }
        condition.is_active = !condition.had_active_branch
            && match expression {
                Some(expression) => self.counts() && self.condition(origin, expression),
                None => true,
            };
        condition.had_active_branch |= condition.is_active;
        condition.has_else |= expression.is_none();
        self.conditions.push(condition);
    }

    /// Executes `#line 7` and `#line 7 "file"`, which number the line at `next_line`.
    fn number_line(&mut self, origin: usize, next_line: usize, rest: &str) {
        let rest = self.expanded(origin, rest);
        match line_number(rest.trim()) {
            Some((line, file)) => self.location.set_line(next_line, line, file),
            None => self.fault(origin, "#line takes a number, and optionally a file in quotes"),
        }
    }

    /// Returns the text `text` of a directive at `origin` with all macros replaced.
    fn expanded(&mut self, origin: usize, text: &str) -> String {
        let expanded = expanded_text(&self.macros, &mut self.location, origin, text);
        expanded.unwrap_or_else(|MacroError { origin, message }| {
            self.fault(origin, message);
            text.to_owned()
        })
    }

    fn condition(&mut self, origin: usize, expression: &str) -> bool {
        let expression = self.with_has_include(expression);
        condition::is_true(&self.macros, &mut self.location, origin, &expression).unwrap_or_else(
            |problem| {
                self.fault_with_gap(origin, problem);
                false
            },
        )
    }

    fn define(&mut self, origin: usize, rest: &str) {
        let name = first_word(rest);
        if name.is_empty() {
            self.fault(origin, "#define without a name");
            return;
        }
        match Macro::parse(&rest[name.len()..]) {
            Ok(definition) => drop(self.macros.insert(name.to_owned(), definition)),
            Err(problem) => self.fault(origin, format!("`{name}`: {problem}")),
        }
    }

    fn include(&mut self, origin: usize, rest: &str) {
        let expanded;
        let rest = if rest.starts_with(['"', '<']) {
            rest
        } else {
            expanded = self.expanded(origin, rest);
            expanded.trim()
        };
        let Some(IncludeName { name, is_system }) = IncludeName::parse(rest) else {
            self.fault(origin, "#include takes \"FILE\" or <FILE>");
            return;
        };
        if self.depth == DEPTH_MAX {
            let message = format!("{rest}: includes are nested more than {DEPTH_MAX} levels deep");
            self.fault(origin, message);
            return;
        }
        match self.find(name, is_system) {
            Ok(IncludedFile { path, octets }) => {
                if self.sources.bytes() + octets.len() > TEXT_BYTES_MAX {
                    self.fault(origin, "the included files are too long");
                    return;
                }
                let included = self.sources.add(path, octets);
                self.depth += 1;
                self.file(included);
                self.depth -= 1;
                self.text.push(b'\n', origin);
            }
            Err(_) if name == STDDEF => {
                for (name, body) in SHARED {
                    self.define(origin, &format!("{name} {body}"));
                }
            }
            Err(problem) => self.fault_with_gap(origin, problem),
        }
    }
}

/// Returns the number and the file name in the text of a `#line` directive: `7` or `7 "file"`,
/// perhaps with further numbers after them.
fn line_number(text: &str) -> Option<(u64, Option<&str>)> {
    let (number, rest) =
        text.split_at(text.bytes().take_while(|octet| octet.is_ascii_digit()).count());
    let (number, rest) = (number.parse().ok()?, rest.trim_start());
    if rest.is_empty() {
        return Some((number, None));
    }
    let (file, _) = rest.strip_prefix('"')?.split_once('"')?;
    Some((number, Some(file)))
}

fn first_word(text: &str) -> &str {
    &text[..text.bytes().take_while(|octet| is_word(*octet)).count()]
}

/// Returns the text of a directive without its comments; text in quotes stays.
fn without_comments(line: &str) -> String {
    let mut output = Vec::new();
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        let (kind, len) = piece(rest, true);
        let (octets, behind) = rest.split_at(len);
        match kind {
            TokenKind::Comment => output.push(b' '),
            _ => output.extend_from_slice(octets),
        }
        rest = behind;
    }
    String::from_utf8_lossy(&output).trim().to_owned()
}

#[cfg(test)]
mod tests;
