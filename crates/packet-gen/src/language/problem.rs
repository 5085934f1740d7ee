//! Problems of a packet text, with their positions.

use std::fmt;

/// Problem of a packet text with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketTextProblem {
    /// Name of the included file with the problem; `None` for the packet file itself.
    pub file: Option<String>,
    /// Number of the line with the problem, from 1.
    pub line: usize,
    /// Column of the problem in characters, from 1.
    pub column: usize,
    /// Text of the line with the problem.
    pub text: String,
    /// Description of the problem for the user.
    pub message: String,
}

impl PacketTextProblem {
    /// Creates a problem with the description `message` at byte `at` of the text `source`.
    pub fn at(source: &[u8], at: usize, message: impl Into<String>) -> Self {
        let at = at.min(source.len());
        let begin = source[..at].iter().rposition(|&octet| octet == b'\n').map_or(0, |n| n + 1);
        let end = source[at..].iter().position(|&octet| octet == b'\n');
        let end = end.map_or(source.len(), |len| at + len);
        Self {
            file: None,
            line: source[..begin].iter().filter(|&&octet| octet == b'\n').count() + 1,
            column: String::from_utf8_lossy(&source[begin..at]).chars().count() + 1,
            text: String::from_utf8_lossy(&source[begin..end]).into_owned(),
            message: message.into(),
        }
    }
}

impl fmt::Display for PacketTextProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        writeln!(f, "    {}", self.text)?;
        // Tabs are kept, so that the caret is below the character in the terminal.
        let before = self.text.chars().take(self.column - 1);
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "    {indent}^")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_below_the_place() {
        let problem = PacketTextProblem::at("{ 1,\n\té, ?? }\n".as_bytes(), 10, "no element");
        assert_eq!(problem.to_string(), "2:5: no element\n    \té, ?? }\n    \t   ^");
        let end = PacketTextProblem::at(b"{ 1", 3, "no }");
        assert_eq!((end.line, end.column), (1, 4));
    }
}
