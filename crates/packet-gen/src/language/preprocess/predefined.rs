//! Predefined macros of the C preprocessor: `__LINE__`, `__FILE__`, `__BASE_FILE__`,
//! `__INCLUDE_LEVEL__`, `__COUNTER__` (ISO C 2011, 6.10.8, and GNU's preprocessor), and the
//! constants that GNU's preprocessor has on Linux. `__DATE__` and `__TIME__` are not among them:
//! the same file describes the same packets on every day.

use std::rc::Rc;

/// Predefined macros with a constant value.
pub(super) const CONSTANTS: [(&str, &str); 21] = [
    ("__STDC__", "1"),
    ("__GNUC__", "12"),
    ("__STDC_VERSION__", "201710L"),
    ("__CHAR_BIT__", "8"),
    ("__INT_MAX__", "0x7fffffff"),
    ("__SIZEOF_INT__", "4"),
    ("__SIZEOF_LONG__", "8"),
    ("__SIZEOF_POINTER__", "8"),
    ("__LP64__", "1"),
    ("__ORDER_LITTLE_ENDIAN__", "1234"),
    ("__ORDER_BIG_ENDIAN__", "4321"),
    ("__BYTE_ORDER__", if cfg!(target_endian = "little") { "1234" } else { "4321" }),
    if cfg!(target_arch = "aarch64") { ("__aarch64__", "1") } else { ("__x86_64__", "1") },
    ("__linux__", "1"),
    ("__linux", "1"),
    ("linux", "1"),
    ("__unix__", "1"),
    ("__unix", "1"),
    ("unix", "1"),
    ("__gnu_linux__", "1"),
    // Conditions ask whether it is defined; its uses are replaced before macros are.
    ("__has_include", "1"),
];

/// Predefined macros whose value depends on where they are used.
pub(super) const VARIABLES: [(&str, PredefinedMacro); 5] = [
    ("__LINE__", PredefinedMacro::Line),
    ("__FILE__", PredefinedMacro::File),
    ("__BASE_FILE__", PredefinedMacro::BaseFile),
    ("__INCLUDE_LEVEL__", PredefinedMacro::IncludeLevel),
    ("__COUNTER__", PredefinedMacro::Counter),
];

/// Predefined macro whose value depends on where it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PredefinedMacro {
    /// Line number of the use in the file (`__LINE__`), from 1, or from the number of the last
    /// `#line`.
    Line,
    /// Name of the file (`__FILE__`), or that of the last `#line`.
    File,
    /// Name of the packet file (`__BASE_FILE__`).
    BaseFile,
    /// Nesting depth of the file's inclusion (`__INCLUDE_LEVEL__`); 0 for the packet file.
    IncludeLevel,
    /// Number of earlier uses of this macro (`__COUNTER__`).
    Counter,
}

/// Location in the file that is read, with the position of a line whose number is known.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceLocation {
    octets: Rc<[u8]>,
    /// Origin of the file's first byte: its position in the concatenation of all files.
    base: usize,
    file: Rc<str>,
    base_file: Rc<str>,
    include_level: usize,
    counter: u64,
    /// Position in the file of a byte whose line number is known; the next field is that number.
    at: usize,
    line: u64,
}

impl SourceLocation {
    /// Creates the location at the beginning of the packet file, which has the name `file`.
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.into(), base_file: file.into(), line: 1, ..Self::default() }
    }

    /// Returns the location at the beginning of another file with the content `octets`.
    pub(super) fn in_file(&self, file: Option<&str>, octets: Rc<[u8]>, base: usize) -> Self {
        let include_level = self.include_level + usize::from(file.is_some());
        let file = file.map_or_else(|| Rc::clone(&self.file), Rc::from);
        Self { octets, base, file, include_level, at: 0, line: 1, ..self.clone() }
    }

    /// Continues in the file that included this one, from its location `included`.
    pub(super) fn leave(&mut self, included: &Self) {
        self.counter = included.counter;
    }

    /// Sets the number of the line that begins at position `at` of the file to `line`, and the name
    /// of the file to `file` if given.
    pub(super) fn set_line(&mut self, at: usize, line: u64, file: Option<&str>) {
        (self.at, self.line) = (at, line);
        if let Some(file) = file {
            self.file = file.into();
        }
    }

    /// Returns the text that replaces the predefined macro `name` if it is used at `origin`.
    pub(super) fn expansion(&mut self, name: PredefinedMacro, origin: usize) -> String {
        match name {
            PredefinedMacro::Line => self.line_at(origin).to_string(),
            PredefinedMacro::File => in_quotes(&self.file),
            PredefinedMacro::BaseFile => in_quotes(&self.base_file),
            PredefinedMacro::IncludeLevel => self.include_level.to_string(),
            PredefinedMacro::Counter => {
                self.counter += 1;
                (self.counter - 1).to_string()
            }
        }
    }

    /// Returns the number of the line at `origin`, and keeps its position, from which the next line
    /// is counted.
    fn line_at(&mut self, origin: usize) -> u64 {
        let at = origin.saturating_sub(self.base).min(self.octets.len());
        let between = &self.octets[at.min(self.at)..at.max(self.at)];
        let lines = between.iter().filter(|&&octet| octet == b'\n').count() as u64;
        let line = if at < self.at {
            self.line.saturating_sub(lines)
        } else {
            self.line.saturating_add(lines)
        };
        (self.at, self.line) = (at, line);
        line
    }
}

fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
