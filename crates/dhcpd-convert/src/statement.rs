//! Statements of dhcpd.conf(5) as a tree: words up to `;`, or words before a block in braces.

use dhcp_config::IncludeResolver;

use crate::lexer::{DhcpdToken, DhcpdTokenKind, FilePosition, tokens};
use crate::note::{ConversionError, Findings};

/// Maximum depth of blocks and of files that include files.
const DEPTH_MAX: usize = 64;

/// Statement of dhcpd.conf: its words, and the statements of its block if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DhcpdStatement {
    pub(crate) words: Vec<DhcpdToken>,
    pub(crate) body: Option<Vec<DhcpdStatement>>,
    pub(crate) at: FilePosition,
}

impl DhcpdStatement {
    /// Returns the first word in lower case; empty if the statement begins with something else.
    pub(crate) fn keyword(&self) -> String {
        self.words.first().and_then(DhcpdToken::keyword).unwrap_or_default()
    }

    /// Returns the words after the first `count`.
    pub(crate) fn after(&self, count: usize) -> &[DhcpdToken] {
        self.words.get(count..).unwrap_or_default()
    }

    /// Returns true if the words begin with `words`, in any case of letters.
    pub(crate) fn begins(&self, words: &[&str]) -> bool {
        self.words.len() >= words.len()
            && self.words.iter().zip(words).all(|(token, word)| token.is_word(word))
    }

    /// Returns the statements of the block; none if there is no block.
    pub(crate) fn block(&self) -> &[Self] {
        self.body.as_deref().unwrap_or_default()
    }

    /// Returns the words with single blanks between them, for messages.
    pub(crate) fn shown(&self) -> String {
        let words: Vec<String> = self.words.iter().map(DhcpdToken::shown).collect();
        words.join(" ")
    }
}

/// Reader of statements from files.
pub(crate) struct StatementReader<'r> {
    resolver: &'r mut dyn IncludeResolver,
    /// Names of the files read so far.
    pub(crate) files: Vec<String>,
}

/// Words of one file that are not read yet.
struct Words {
    tokens: std::vec::IntoIter<DhcpdToken>,
    /// Position of the word read last, for the message about a file that ends too early.
    last: FilePosition,
}

impl Words {
    fn take(&mut self) -> Option<DhcpdToken> {
        let token = self.tokens.next()?;
        self.last = token.at;
        Some(token)
    }

    fn peek(&self) -> Option<&DhcpdToken> {
        self.tokens.as_slice().first()
    }
}

impl<'r> StatementReader<'r> {
    pub(crate) fn new(resolver: &'r mut dyn IncludeResolver) -> Self {
        Self { resolver, files: Vec::new() }
    }

    /// Returns the statements of `text`, the file called `name`, with those of included files in
    /// the places of their `include` statements.
    pub(crate) fn read(
        &mut self,
        name: &str,
        text: &str,
        findings: &mut Findings,
    ) -> Vec<DhcpdStatement> {
        let at = FilePosition::default();
        let mut statements = Vec::new();
        if let Err(error) = self.read_file(name, text, at, &mut statements) {
            findings.error(error);
        }
        statements
    }

    fn read_file(
        &mut self,
        name: &str,
        text: &str,
        including: FilePosition,
        statements: &mut Vec<DhcpdStatement>,
    ) -> Result<(), ConversionError> {
        let too_many = || ConversionError::new(including, "more than 64 files are included");
        let file = u16::try_from(self.files.len()).map_err(|_| too_many())?;
        if usize::from(file) > DEPTH_MAX {
            return Err(too_many());
        }
        self.files.push(name.to_owned());
        let tokens = tokens(text, file)?;
        let last = FilePosition { file, line: 1, column: 1 };
        let mut words = Words { tokens: tokens.into_iter(), last };
        while words.peek().is_some() {
            if words.peek().is_some_and(|token| token.is_sign("}")) {
                let at = words.peek().map_or(last, |token| token.at);
                return Err(ConversionError::new(at, "this `}` closes no block"));
            }
            self.statement(&mut words, 0, statements)?;
        }
        Ok(())
    }

    /// Reads one statement to `statements`.
    fn statement(
        &mut self,
        words: &mut Words,
        depth: usize,
        statements: &mut Vec<DhcpdStatement>,
    ) -> Result<(), ConversionError> {
        let mut own: Vec<DhcpdToken> = Vec::new();
        loop {
            let Some(token) = words.take() else {
                return Err(ConversionError::new(words.last, "the file ends inside a statement"));
            };
            let at = own.first().map_or(token.at, |first| first.at);
            match token.kind {
                DhcpdTokenKind::Sign(";") if own.is_empty() => return Ok(()),
                DhcpdTokenKind::Sign(";") => {
                    return self.finish(DhcpdStatement { words: own, body: None, at }, statements);
                }
                DhcpdTokenKind::Sign("{") if defines_option(&own) => {
                    own.push(token);
                }
                DhcpdTokenKind::Sign("}") if defines_option(&own) => own.push(token),
                DhcpdTokenKind::Sign("{") => {
                    let body = self.block(words, depth + 1, token.at)?;
                    statements.push(DhcpdStatement { words: own, body: Some(body), at });
                    return Ok(());
                }
                DhcpdTokenKind::Sign("}") => {
                    let message = "a semicolon is missing before this `}`";
                    return Err(ConversionError::new(token.at, message));
                }
                _ => {
                    let ends = is_label(&own, &token);
                    own.push(token);
                    if ends {
                        statements.push(DhcpdStatement { words: own, body: None, at });
                        return Ok(());
                    }
                }
            }
        }
    }

    fn block(
        &mut self,
        words: &mut Words,
        depth: usize,
        begin: FilePosition,
    ) -> Result<Vec<DhcpdStatement>, ConversionError> {
        if depth > DEPTH_MAX {
            return Err(ConversionError::new(begin, "blocks are nested too deeply"));
        }
        let mut statements = Vec::new();
        loop {
            let Some(next) = words.peek() else {
                return Err(ConversionError::new(begin, "this block has no end"));
            };
            if next.is_sign("}") {
                words.take();
                return Ok(statements);
            }
            self.statement(words, depth, &mut statements)?;
        }
    }

    /// Adds `statement` to `statements`, or those of the file that it includes.
    fn finish(
        &mut self,
        statement: DhcpdStatement,
        statements: &mut Vec<DhcpdStatement>,
    ) -> Result<(), ConversionError> {
        if !statement.begins(&["include"]) {
            statements.push(statement);
            return Ok(());
        }
        let Some(DhcpdToken { kind: DhcpdTokenKind::Text(path), at }) = statement.words.get(1)
        else {
            return Err(ConversionError::new(statement.at, "`include` needs a file in quotes"));
        };
        let path = String::from_utf8_lossy(path).into_owned();
        let index = usize::from(statement.at.file);
        let including = self.files.get(index).cloned().unwrap_or_default();
        let text = self
            .resolver
            .read(&including, &path)
            .map_err(|reason| ConversionError::new(*at, format!("cannot read {path}: {reason}")))?;
        self.read_file(&path, &text, *at, statements)
    }
}

/// Returns true if `words` begin the definition of an option, whose braces hold types.
fn defines_option(words: &[DhcpdToken]) -> bool {
    words.first().is_some_and(|word| word.is_word("option"))
        && words.iter().any(|word| word.is_sign("="))
        && words.get(2).is_some_and(|word| word.is_word("code"))
}

/// Returns true if `next` ends a label of a `switch`: `case "x":`, `case 1:` or `default:`.
fn is_label(words: &[DhcpdToken], next: &DhcpdToken) -> bool {
    let DhcpdTokenKind::Word(word) = &next.kind else { return false };
    match words {
        [] => word.eq_ignore_ascii_case("default:"),
        [first, ..] if first.is_word("case") => word.ends_with(':') && !word.ends_with("::"),
        [first] if first.is_word("default") => word == ":",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dhcp_config::NoIncludes;

    fn read(text: &str) -> (Vec<DhcpdStatement>, Findings) {
        let mut findings = Findings::default();
        let statements = StatementReader::new(&mut NoIncludes).read("x", text, &mut findings);
        (statements, findings)
    }

    #[test]
    fn blocks_nest_and_definitions_keep_their_braces() {
        let text = "option r code 9 = array of { ip-address, text };\
                    subnet 10.0.0.0 netmask 255.0.0.0 { pool { range 10.0.0.1; } }\
                    switch (option x) { case \"a\": option y 1; break; default: option y 2; }";
        let (statements, findings) = read(text);
        assert!(findings.errors.is_empty(), "{findings:?}");
        assert_eq!(statements[0].words.len(), 12);
        assert_eq!(statements[1].block()[0].block()[0].shown(), "range 10.0.0.1");
        let labels: Vec<_> = statements[2].block().iter().map(DhcpdStatement::keyword).collect();
        assert_eq!(labels, ["case", "option", "break", "default:", "option"]);
    }

    #[test]
    fn a_missing_semicolon_is_named_with_its_position() {
        for (text, line) in [("a {\nb c }\n", 2), ("a\n}", 2), ("a {\nb;", 1), ("a;\n}", 2)] {
            let (_, findings) = read(text);
            assert_eq!(findings.errors[0].at.line, line, "{text}");
        }
    }
}
