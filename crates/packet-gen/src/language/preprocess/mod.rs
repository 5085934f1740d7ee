//! The part of the C preprocessor that packet files use, built in: `#define` and `#undef` of names
//! with and without arguments, `#include` of files and of `<stddef.h>` (from [`super::names`]),
//! `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else`, `#endif`, `#error`. Other lines that begin with
//! `#` are comments.

mod condition;
mod macros;
mod token;

use std::rc::Rc;

use super::names::SHARED;
use super::source::{MappedText, PacketTextFault, is_word};
use super::sources::PacketTextFiles;
use macros::{Expander, Macro, MacroError, Macros, TokenSource};
use token::{Hidden, PreprocessorToken, TokenKind, piece};

/// Largest nesting of includes.
const DEPTH_MAX: usize = 32;
/// Longest text after macros and includes, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Name of the built-in file.
const STDDEF: &str = "stddef.h";

/// A request of `#include` for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Include<'n> {
    /// Name in quotes or angle brackets.
    pub name: &'n str,
    /// True for angle brackets, which name a file of the system.
    pub is_system: bool,
    /// File that includes it; `None` for the packet file.
    pub from: Option<&'n str>,
}

/// A file that was found for an `#include`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Path of the file.
    pub path: String,
    /// Content of the file.
    pub octets: Vec<u8>,
}

/// Function that finds and reads the file of an `#include`, or returns the reason why it cannot.
pub type IncludeReader<'r> = dyn Fn(Include<'_>) -> Result<Included, String> + 'r;

/// A text without directives, and the faults.
pub(crate) struct Preprocessed {
    pub(crate) text: MappedText,
    pub(crate) sources: PacketTextFiles,
    /// Faults, by origin.
    pub(crate) faults: Vec<PacketTextFault>,
}

/// An open `#if`.
struct OpenConditional {
    /// Origin of its `#`.
    origin: usize,
    /// True if the following lines count.
    is_active: bool,
    /// True if a branch was taken, so that no other one is.
    was_taken: bool,
    /// True after its `#else`.
    has_else: bool,
}

struct Preprocessor<'r> {
    sources: PacketTextFiles,
    macros: Macros,
    conditions: Vec<OpenConditional>,
    text: MappedText,
    faults: Vec<PacketTextFault>,
    reader: &'r IncludeReader<'r>,
    depth: usize,
}

/// Lines of a file up to the next directive.
struct FileTokenSource {
    octets: Rc<[u8]>,
    base: usize,
    at: usize,
    /// True if the next byte begins a line.
    is_line_start: bool,
}

/// Runs the packet file `file` through the preprocessor, with predefined macros.
pub(crate) fn run(
    file: &[u8],
    defines: &[(String, String)],
    reader: &IncludeReader<'_>,
) -> Preprocessed {
    let mut state = Preprocessor {
        sources: PacketTextFiles::new(file),
        macros: Macros::new(),
        conditions: Vec::new(),
        text: MappedText::default(),
        faults: Vec::new(),
        reader,
        depth: 0,
    };
    for (name, body) in defines {
        state.define(0, &format!("{name} {body}"));
    }
    state.file(0);
    Preprocessed { text: state.text, sources: state.sources, faults: state.faults }
}

impl FileTokenSource {
    /// Returns the position of a directive's `#`, if the next line is one.
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
        let mut lines = FileTokenSource { octets, base, at: 0, is_line_start: true };
        while lines.at < lines.octets.len() {
            match lines.directive() {
                Some(at) => self.directive(number, &mut lines, at),
                None => self.lines(&mut lines),
            }
        }
        while self.conditions.len() > open {
            if let Some(OpenConditional { origin, .. }) = self.conditions.pop() {
                self.fault(origin, "#if without #endif");
            }
        }
    }

    fn fault(&mut self, origin: usize, message: impl Into<String>) {
        self.faults.push(PacketTextFault { at: origin, message: message.into() });
    }

    fn counts(&self) -> bool {
        self.conditions.iter().all(|condition| condition.is_active)
    }

    /// Copies lines up to the next directive, with macros replaced; of lines that do not count,
    /// only the line ends.
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
        let mut expander = Expander::new(&macros);
        loop {
            match expander.next(lines) {
                Ok(Some(token)) => self.push(&token),
                Ok(None) => break,
                Err(MacroError { origin, message }) => self.fault(origin, message),
            }
            if self.text.octets.len() > TEXT_BYTES_MAX {
                self.fault(lines.base + lines.at, "macros and includes make the text too long");
                lines.at = lines.octets.len();
                break;
            }
        }
        self.macros = macros;
    }

    fn push(&mut self, token: &PreprocessorToken) {
        for (ahead, octet) in token.octets.iter().enumerate() {
            let origin = token.origin + if token.is_verbatim { ahead } else { 0 };
            self.text.push(*octet, origin);
        }
    }

    /// Handles the directive of file `number` whose `#` is at `at`, with the lines that `\` joins
    /// to it.
    fn directive(&mut self, number: usize, lines: &mut FileTokenSource, at: usize) {
        let octets = Rc::clone(&lines.octets);
        let mut end = at;
        while let Some(octet) = octets.get(end) {
            if *octet == b'\n' && octets[end - 1] != b'\\' {
                break;
            }
            end += 1;
        }
        let origin = lines.base + at;
        lines.at = (end + 1).min(octets.len());
        lines.is_line_start = true;
        if end < octets.len() {
            self.text.push(b'\n', lines.base + end);
        }
        let line = String::from_utf8_lossy(&octets[at + 1..end]).replace("\\\n", " ");
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
            "else" => self.other_branch(origin, None),
            "endif" if self.conditions.pop().is_none() => self.fault(origin, "#endif without #if"),
            "endif" => {}
            _ if !self.counts() => {}
            "define" => self.define(origin, rest),
            "undef" => drop(self.macros.remove(first_word(rest))),
            "include" => self.include(number, origin, rest),
            "error" => self.fault(origin, format!("#error {rest}")),
            _ => {}
        }
    }

    fn open(&mut self, origin: usize, is_true: bool) {
        let condition =
            OpenConditional { origin, is_active: is_true, was_taken: is_true, has_else: false };
        self.conditions.push(condition);
    }

    /// Handles `#elif` with its expression, or `#else`.
    fn other_branch(&mut self, origin: usize, expression: Option<&str>) {
        let name = if expression.is_some() { "#elif" } else { "#else" };
        let Some(mut condition) = self.conditions.pop() else {
            self.fault(origin, format!("{name} without #if"));
            return;
        };
        if condition.has_else {
            self.fault(origin, format!("{name} behind #else"));
        }
        condition.is_active = !condition.was_taken
            && match expression {
                Some(expression) => self.counts() && self.condition(origin, expression),
                None => true,
            };
        condition.was_taken |= condition.is_active;
        condition.has_else |= expression.is_none();
        self.conditions.push(condition);
    }

    fn condition(&mut self, origin: usize, expression: &str) -> bool {
        condition::is_true(&self.macros, expression).unwrap_or_else(|problem| {
            self.fault(origin, problem);
            false
        })
    }

    fn define(&mut self, origin: usize, rest: &str) {
        let name = first_word(rest);
        if name.is_empty() {
            self.fault(origin, "#define without a name");
            return;
        }
        match Macro::parse(&rest[name.len()..]) {
            Ok(found) => drop(self.macros.insert(name.to_owned(), found)),
            Err(problem) => self.fault(origin, format!("`{name}`: {problem}")),
        }
    }

    fn include(&mut self, number: usize, origin: usize, rest: &str) {
        let in_quotes = rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let in_brackets = rest.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let Some(name) = in_quotes.or(in_brackets).filter(|name| !name.is_empty()) else {
            self.fault(origin, "#include takes \"FILE\" or <FILE>");
            return;
        };
        let is_system = in_quotes.is_none();
        if self.depth == DEPTH_MAX {
            let message = format!("{rest}: files include one another more than {DEPTH_MAX} deep");
            self.fault(origin, message);
            return;
        }
        let from = self.sources.name(number).map(ToOwned::to_owned);
        let found = (self.reader)(Include { name, is_system, from: from.as_deref() });
        match found {
            Ok(Included { path, octets }) => {
                if self.sources.bytes() + octets.len() > TEXT_BYTES_MAX {
                    self.fault(origin, "the files that are included are too long");
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
            Err(problem) => self.fault(origin, problem),
        }
    }
}

fn first_word(text: &str) -> &str {
    &text[..text.bytes().take_while(|octet| is_word(*octet)).count()]
}

/// Removes the comments of a directive; text in quotes stays.
fn without_comments(line: &str) -> String {
    let mut kept = Vec::new();
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        let (kind, len) = piece(rest, true);
        let (octets, behind) = rest.split_at(len);
        match kind {
            TokenKind::Comment => kept.push(b' '),
            _ => kept.extend_from_slice(octets),
        }
        rest = behind;
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_files(include: Include<'_>) -> Result<Included, String> {
        Err(format!("{} is not there", include.name))
    }

    fn text_with(file: &str, reader: &IncludeReader<'_>) -> (String, Vec<String>) {
        let defines = [("N".to_owned(), "7".to_owned())];
        let Preprocessed { text, sources, faults } = run(file.as_bytes(), &defines, reader);
        assert_eq!(text.octets.len(), text.origins.len());
        let faults = faults.iter().map(|fault| {
            let problem = sources.problem(fault.at, fault.message.clone());
            let file = problem.file.map(|file| file + ":").unwrap_or_default();
            format!("{file}{}: {}", problem.line, problem.message)
        });
        (String::from_utf8(text.octets).unwrap(), faults.collect())
    }

    fn text(file: &str) -> (String, Vec<String>) {
        text_with(file, &no_files)
    }

    #[test]
    fn names_are_replaced_outside_of_strings_and_comments() {
        let file =
            "#define A B /* b */\n#define B (N+1) // c\n{ c8(A), \"A\", 'A' # A\n /* A */ AA }";
        let expected = "\n\n{ c8((7+1)), \"A\", 'A' # A\n /* A */ AA }";
        assert_eq!(text(file), (expected.to_owned(), vec![]));
    }

    #[test]
    fn macros_with_arguments_are_replaced() {
        for (file, expected) in [
            ("#define F(x) c8(x), x\nF(N)", "\nc8(7), 7"),
            ("#define F(a,b) {a b}\nF( 1 , (2,3) )", "\n{1 (2,3)}"),
            ("#define F() 5\nF() F", "\n5 F"),
            ("#define F(x) x\nF(\n  1)", "\n1"),
            ("#define F(x) #x\nF(a b)", "\n\"a b\""),
            ("#define J(a,b) a##b\nJ(0x, ff) J(N, 1)", "\n0xff N1"),
            ("#define G(x) x+1\n#define F(x) G(x)*2\nF(F(3))", "\n3+1*2+1*2"),
            ("#define F G\n#define G(x) [x]\nF(1)", "\n\n[1]"),
            ("#define X X+1\nX", "\nX+1"),
            ("#define V(...) [__VA_ARGS__]\nV(1,2,N) V()", "\n[1,2,7] []"),
            ("#define V(a, ...) a:__VA_ARGS__\nV(1) V(1, 2,3)", "\n1: 1:2,3"),
            ("#define V(a, more...) a, ## more\nV(1) V(1, 2,3)", "\n1 1,2,3"),
            ("#define V(...) #__VA_ARGS__\nV(a, b)", "\n\"a, b\""),
            ("#define MAC(n) 2,0,0,0,0,n\n{ MAC(1), MAC(N) }", "\n{ 2,0,0,0,0,1, 2,0,0,0,0,7 }"),
        ] {
            let (found, faults) = text(file);
            assert_eq!((found.trim(), faults), (expected.trim(), vec![]), "{file}");
        }
    }

    #[test]
    fn shared_names_come_with_their_file_only() {
        assert_eq!(text("ETH_ALEN").0, "ETH_ALEN");
        for line in
            ["#include <stddef.h>", "#include \"stddef.h\" // names", "# include <stddef.h>"]
        {
            assert_eq!(text(&format!("{line}\nETH_ALEN ETH_SRC_RAND")).0, "\n6 drnd(6)", "{line}");
        }
    }

    #[test]
    fn conditions_hide_and_keep_lines() {
        let file = "#ifdef N\n1\n#else\n2\n#endif\n#ifndef N\n3\n#endif\n4";
        assert_eq!(text(file).0, "\n1\n\n\n\n\n\n\n4");
        assert_eq!(text("#undef N\nN").0, "\nN");
        for (file, kept) in [
            ("#if 0\n1\n#else\n2\n#endif", "2"),
            ("#if N > 9\n1\n#elif N > 5\n2\n#elif 1\n3\n#else\n4\n#endif", "2"),
            (
                "#if defined(N) // yes\n1\n#if 0\n2\n#else\n3\n#endif\n#else\n4\n#endif",
                "1\n\n\n\n3",
            ),
            ("#if 0\n#if nonsense (\n#error x\n#include <x>\n#else\n1\n#endif\n#endif\n5", "5"),
            ("#if 1\n1\n#elif 1 /\n2\n#endif", "1"),
        ] {
            let (found, faults) = text(file);
            assert_eq!((found.trim(), faults), (kept, vec![]), "{file}");
        }
    }

    #[test]
    fn files_are_included_once_where_they_guard_themselves() {
        let reader = |include: Include<'_>| match (include.name, include.from) {
            ("a.h", None) => {
                let octets = b"#ifndef A\n#define A\n#include \"b.h\"\nX\n#endif\n".to_vec();
                Ok(Included { path: "lab/a.h".into(), octets })
            }
            ("b.h", Some("lab/a.h")) => {
                let octets = b"#define X c8(\n#if\n".to_vec();
                Ok(Included { path: "lab/b.h".into(), octets })
            }
            (name, from) => Err(format!("{name} from {from:?} is not there")),
        };
        let (found, faults) =
            text_with("#include \"a.h\"\n#include \"a.h\"\n#include <c.h>", &reader);
        assert_eq!(found.split_whitespace().collect::<String>(), "c8(");
        assert_eq!(
            faults,
            [
                "lab/b.h:2: a number or a name is missing in the condition, found the end",
                "lab/b.h:2: #if without #endif",
                "3: c.h from None is not there",
            ]
        );
        let itself = |_: Include<'_>| {
            Ok(Included { path: "x".into(), octets: b"#include \"x\"\n".to_vec() })
        };
        let (_, faults) = text_with("#include \"x\"", &itself);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("deep"), "{faults:?}");
    }

    #[test]
    fn mistakes_are_named() {
        let file = "#include <x.h>\n#include x\n#define F(x\n#ifdef N\n# just a comment\n#else\n\
            #else\n#error no\n";
        let (_, faults) = text(file);
        assert_eq!(faults.len(), 5, "{faults:?}");
        let (_, faults) = text("#define F(x) x\nF(1, 2) F(");
        assert_eq!(faults.len(), 2, "{faults:?}");
        let (_, faults) = text("#endif\n#else\n#elif 1\n#error no");
        assert_eq!(faults.len(), 4, "{faults:?}");
        let endless = "#define A B B\n#define B C C\n#define C A A\nA";
        assert_eq!(text(endless).1, Vec::<String>::new());
        let doubled: String = (0..40).map(|n| format!("#define A{n} A{0} A{0}\n", n + 1)).collect();
        assert!(!text(&(doubled + "A0")).1.is_empty());
    }
}
