//! Notes on statements that Kea's dialect does not carry, and errors of a dhcpd.conf.

use core::fmt;

use crate::lexer::FilePosition;

/// Error of a dhcpd.conf: the file is refused, as dhcpd refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionError {
    /// Position of the word that is wrong.
    pub at: FilePosition,
    /// Description of the error, one sentence without a full stop.
    pub message: String,
}

impl ConversionError {
    /// Creates an error at `at`.
    pub(crate) fn new(at: FilePosition, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// Statement of a dhcpd.conf that the result does not carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionNote {
    /// Position of the statement.
    pub at: FilePosition,
    /// Name of the statement, as dhcpd.conf(5) has it.
    pub construct: String,
    /// Effect of the statement in dhcpd that the result lacks, one sentence without a full stop.
    pub effect: String,
    /// Advice: what the operator can do instead.
    pub help: String,
}

/// Notes and errors of one conversion.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) notes: Vec<ConversionNote>,
    pub(crate) errors: Vec<ConversionError>,
}

impl Findings {
    /// Records that the statement `construct` at `at` is not carried.
    pub(crate) fn note(
        &mut self,
        at: FilePosition,
        construct: impl Into<String>,
        effect: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (construct, effect, help) = (construct.into(), effect.into(), help.into());
        let note = ConversionNote { at, construct, effect, help };
        // A group writes its statements to every declaration inside it.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Records an error of the file.
    pub(crate) fn error(&mut self, error: ConversionError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

/// Finding of a conversion with the name of its file, for the operator.
#[derive(Clone, Debug)]
pub struct NamedFinding<'f, F> {
    /// Name of the file with the finding.
    pub file: &'f str,
    /// Note or error.
    pub finding: &'f F,
}

impl fmt::Display for NamedFinding<'_, ConversionNote> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConversionNote { at, construct, effect, help } = self.finding;
        let FilePosition { line, column, .. } = at;
        let file = self.file;
        write!(f, "{file}:{line}:{column}: not carried: `{construct}`: {effect}\nhelp: {help}")
    }
}

impl fmt::Display for NamedFinding<'_, ConversionError> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConversionError { at, message } = self.finding;
        write!(f, "{}:{}:{}: error: {message}", self.file, at.line, at.column)
    }
}
