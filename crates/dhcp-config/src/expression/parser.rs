//! Parser of class expressions: turns tokens into trees, with operators by their precedence and
//! types checked.
//!
//! `terms` parses the values of messages; functions of texts are in `functions`.

mod functions;
mod terms;

use super::lexer::{ExpressionToken, tokens};
use super::{Condition, DEPTH_MAX, ExpressionError, TextExpression, Vocabulary};

/// Parses an expression that is true or false, such as the `test` of a class.
///
/// # Errors
/// Returns the first error in the expression.
pub fn parse_condition(
    text: &str,
    vocabulary: &mut dyn Vocabulary,
) -> Result<Condition, ExpressionError> {
    ExpressionParser::parse_all(text, vocabulary, |parser| {
        let (at, node) = parser.expression(LOWEST)?;
        condition(at, node)
    })
}

/// Parses an expression whose value is a string, such as a `template-test`.
///
/// # Errors
/// Returns the first error in the expression.
pub fn parse_text(
    text: &str,
    vocabulary: &mut dyn Vocabulary,
) -> Result<TextExpression, ExpressionError> {
    ExpressionParser::parse_all(text, vocabulary, ExpressionParser::text)
}

/// Condition or text that was parsed from an expression before the required type is known.
enum ParsedExpression {
    Condition(Condition),
    Text(TextExpression),
}

/// Precedence of an operator, the lowest 0.
type Level = u8;

const LOWEST: Level = 0;
const NOT_OPERAND: Level = 5;
const TEXT_OPERAND: Level = 6;

/// Operators between two operands, each with its precedence.
const OPERATORS: [(&str, Level); 6] =
    [("sor", 0), ("or", 1), ("sand", 2), ("and", 3), ("==", 5), ("+", 6)];

struct ExpressionParser<'p> {
    tokens: Vec<(usize, ExpressionToken)>,
    next: usize,
    depth: usize,
    vocabulary: &'p mut dyn Vocabulary,
}

fn error<T>(offset: usize, message: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError { offset, message: message.into() })
}

fn condition(at: usize, node: ParsedExpression) -> Result<Condition, ExpressionError> {
    match node {
        ParsedExpression::Condition(condition) => Ok(condition),
        ParsedExpression::Text(_) => {
            error(at, "this is a string; a condition is needed, such as `... == ...`")
        }
    }
}

fn text(at: usize, node: ParsedExpression) -> Result<TextExpression, ExpressionError> {
    match node {
        ParsedExpression::Text(text) => Ok(text),
        ParsedExpression::Condition(_) => error(at, "this is a condition; a string is needed"),
    }
}

impl<'p> ExpressionParser<'p> {
    /// Parses all of the expression `source` with `parse`.
    fn parse_all<T>(
        source: &str,
        vocabulary: &'p mut dyn Vocabulary,
        parse: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        let tokens = tokens(source)?;
        let mut parser = ExpressionParser { tokens, next: 0, depth: 0, vocabulary };
        let parsed = parse(&mut parser)?;
        match parser.peek() {
            (_, ExpressionToken::End) => Ok(parsed),
            (at, token) => error(*at, format!("{} is not expected here", token.name())),
        }
    }

    fn peek(&self) -> &(usize, ExpressionToken) {
        &self.tokens[self.next]
    }

    fn take(&mut self) -> (usize, ExpressionToken) {
        let token = self.peek().clone();
        if token.1 != ExpressionToken::End {
            self.next += 1;
        }
        token
    }

    /// Takes the next token if it is `word`; returns true if it was.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), (_, ExpressionToken::Word(next)) if *next == word);
        self.next += usize::from(is_next);
        is_next
    }

    /// Takes the token `word`; an error if another token comes next.
    fn expect(&mut self, word: &str) -> Result<(), ExpressionError> {
        if self.takes(word) {
            return Ok(());
        }
        let (at, token) = self.peek();
        error(*at, format!("`{word}` is expected, not {}", token.name()))
    }

    /// Parses a chain of operators with a precedence of at least `least` and their operands; also
    /// returns the offset where the chain begins.
    fn expression(&mut self, least: Level) -> Result<(usize, ParsedExpression), ExpressionError> {
        let at = self.peek().0;
        if self.depth == DEPTH_MAX {
            return error(at, format!("this is nested deeper than {DEPTH_MAX} levels"));
        }
        self.depth += 1;
        let mut left = self.operand()?;
        while let (_, ExpressionToken::Word(word)) = *self.peek() {
            let operator = OPERATORS.iter().find(|(operator, _)| *operator == word);
            let Some(&(operator, level)) = operator.filter(|(_, level)| *level >= least) else {
                break;
            };
            self.next += 1;
            let (right_at, right) = self.expression(level + 1)?;
            left = match operator {
                "==" => {
                    let (left, right) = (text(at, left)?, text(right_at, right)?);
                    ParsedExpression::Condition(Condition::Equal(Box::new(left), Box::new(right)))
                }
                "+" => ParsedExpression::Text(concat(text(at, left)?, text(right_at, right)?)),
                _ => ParsedExpression::Condition(chain(
                    operator,
                    condition(at, left)?,
                    condition(right_at, right)?,
                )),
            };
        }
        self.depth -= 1;
        Ok((at, left))
    }

    /// Parses an operand: a condition or text without operators around it.
    fn operand(&mut self) -> Result<ParsedExpression, ExpressionError> {
        let (at, token) = self.take();
        let word = match token {
            ExpressionToken::String(octets)
            | ExpressionToken::Hex(octets)
            | ExpressionToken::Address(octets) => {
                return Ok(ParsedExpression::Text(TextExpression::Literal(octets)));
            }
            ExpressionToken::Integer(value) => {
                let value = u32::try_from(value)
                    .or_else(|_| error(at, format!("{value} is not from 0 to {}", u32::MAX)))?;
                return Ok(ParsedExpression::Text(TextExpression::Literal(
                    value.to_be_bytes().to_vec(),
                )));
            }
            ExpressionToken::Word(word) => word,
            ExpressionToken::OptionName(_) | ExpressionToken::End => {
                return error(at, format!("{} is not expected here", token.name()));
            }
        };
        match word {
            "(" => {
                let (_, node) = self.expression(LOWEST)?;
                self.expect(")")?;
                Ok(node)
            }
            "not" => {
                let (at, node) = self.expression(NOT_OPERAND)?;
                Ok(ParsedExpression::Condition(Condition::Not(Box::new(condition(at, node)?))))
            }
            "member" => self.member().map(ParsedExpression::Condition),
            "match" => self.matches().map(ParsedExpression::Condition),
            _ => match self.function(at, word)? {
                Some(text) => Ok(ParsedExpression::Text(text)),
                None => self.term(at, word),
            },
        }
    }

    /// Parses an expression whose value is a string.
    fn text(&mut self) -> Result<TextExpression, ExpressionError> {
        let (at, node) = self.expression(TEXT_OPERAND)?;
        text(at, node)
    }

    fn member(&mut self) -> Result<Condition, ExpressionError> {
        self.expect("(")?;
        let (at, name) = self.string()?;
        let name = String::from_utf8_lossy(&name).into_owned();
        self.vocabulary
            .check_class(&name)
            .map_err(|message| ExpressionError { offset: at, message })?;
        self.expect(")")?;
        Ok(Condition::Member(name))
    }

    fn matches(&mut self) -> Result<Condition, ExpressionError> {
        self.expect("(")?;
        let (at, source) = self.string()?;
        let source = String::from_utf8_lossy(&source);
        let pattern = self.vocabulary.pattern(&source).or_else(|reason| {
            error(at, format!("the regular expression `{source}` is not valid: {reason}"))
        })?;
        self.expect(",")?;
        let text = self.text()?;
        self.expect(")")?;
        Ok(Condition::Matches(pattern, Box::new(text)))
    }

    /// Parses a string `'text'`; also returns its position.
    fn string(&mut self) -> Result<(usize, Vec<u8>), ExpressionError> {
        match self.take() {
            (at, ExpressionToken::String(octets)) => Ok((at, octets)),
            (at, token) => {
                error(at, format!("a string in single quotes is expected, not {}", token.name()))
            }
        }
    }

    /// Parses an integer of an expression, from `low` to `high`.
    fn integer(&mut self, low: i64, high: i64) -> Result<i64, ExpressionError> {
        match self.take() {
            (_, ExpressionToken::Integer(value)) if (low..=high).contains(&value) => Ok(value),
            (at, ExpressionToken::Integer(value)) => {
                error(at, format!("{value} is not from {low} to {high}"))
            }
            (at, token) => error(at, format!("an integer is expected, not {}", token.name())),
        }
    }
}

/// Joins two conditions with the operator `operator`; a chain of one operator stays flat.
fn chain(operator: &str, left: Condition, right: Condition) -> Condition {
    let strict = matches!(operator, "sand" | "sor");
    if matches!(operator, "and" | "sand") {
        let mut parts = match left {
            Condition::All { parts, strict: same } if same == strict => parts,
            left => vec![left],
        };
        parts.push(right);
        Condition::All { parts, strict }
    } else {
        let mut parts = match left {
            Condition::Any { parts, strict: same } if same == strict => parts,
            left => vec![left],
        };
        parts.push(right);
        Condition::Any { parts, strict }
    }
}

/// Concatenates two text expressions; a chain stays flat.
fn concat(left: TextExpression, right: TextExpression) -> TextExpression {
    let mut parts = match left {
        TextExpression::Concat(parts) => parts,
        left => vec![left],
    };
    parts.push(right);
    TextExpression::Concat(parts)
}
