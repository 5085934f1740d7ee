//! Evaluation of the expressions of `#if` and `#elif` (ISO C 2011, 6.10.1): whole numbers of 64
//! bits, in which names that are no macros are 0. An operation with an unsigned number is unsigned.

use super::macros::{Macros, expanded_text};
use super::predefined::SourceLocation;

/// Largest nesting of parentheses and signs in the expression of an `#if`.
const DEPTH_MAX: usize = 64;
/// Operators of two operands in `#if` by precedence, the lowest first; of operators with the same
/// beginning the longest is first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Returns true if the value of the expression of a directive at `origin` is not 0.
///
/// # Errors
///
/// A text, if it is no expression.
pub(super) fn is_true(
    macros: &Macros,
    location: &mut SourceLocation,
    origin: usize,
    expression: &str,
) -> Result<bool, String> {
    let text = with_defined(macros, expression)?;
    let text = expanded_text(macros, location, origin, &text).map_err(|error| error.message)?;
    let mut reader = ConditionEvaluator { rest: text.trim_start(), depth: 0, unused: 0 };
    let value = reader.choice()?;
    if reader.rest.is_empty() {
        return Ok(value.is_true());
    }
    Err(format!("unexpected `{}` in a condition", reader.rest))
}

/// Replaces `defined NAME` and `defined(NAME)` in the expression of an `#if` by 1 or 0.
fn with_defined(macros: &Macros, expression: &str) -> Result<String, String> {
    let mut output = String::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let len = word_len(rest).max(first.len_utf8());
        let (word, behind) = rest.split_at(len);
        rest = behind;
        if word != "defined" {
            output.push_str(word);
            continue;
        }
        rest = rest.trim_start();
        let inner = rest.strip_prefix('(').map(str::trim_start);
        let name_at = inner.unwrap_or(rest);
        let (name, behind) = name_at.split_at(word_len(name_at));
        if name.is_empty() {
            return Err("a name is missing after `defined`".to_owned());
        }
        rest = match inner {
            Some(_) => {
                behind.trim_start().strip_prefix(')').ok_or("`)` is missing after `defined(`")?
            }
            None => behind,
        };
        output.push_str(if macros.contains_key(name) { " 1 " } else { " 0 " });
    }
    Ok(output)
}

fn word_len(text: &str) -> usize {
    text.bytes().take_while(|octet| octet.is_ascii_alphanumeric() || *octet == b'_').count()
}

/// Value of a part of an `#if` expression, with its signedness.
#[derive(Clone, Copy)]
struct ConditionValue {
    number: i64,
    /// True if the bits of `number` are those of an unsigned 64-bit number.
    is_unsigned: bool,
}

impl ConditionValue {
    const fn signed(number: i64) -> Self {
        Self { number, is_unsigned: false }
    }

    const fn is_true(self) -> bool {
        self.number != 0
    }
}

/// Evaluator of an `#if` expression, with the rest of the expression.
struct ConditionEvaluator<'t> {
    rest: &'t str,
    depth: usize,
    /// Number of operators around the part being read that make its value irrelevant, such as `0
    /// &&`; above 0, a division by 0 is no fault.
    unused: usize,
}

impl ConditionEvaluator<'_> {
    fn take(&mut self, operator: &str) -> bool {
        match self.rest.strip_prefix(operator) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// Evaluates `a ? b : c`, or an expression of higher precedence.
    fn choice(&mut self) -> Result<ConditionValue, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("the condition is nested too deeply".to_owned());
        }
        let condition = self.level(0)?;
        let mut value = condition;
        if self.take("?") {
            let first = self.part(!condition.is_true(), Self::choice)?;
            if !self.take(":") {
                return Err("`:` is missing after `?`".to_owned());
            }
            let second = self.part(condition.is_true(), Self::choice)?;
            let is_unsigned = first.is_unsigned || second.is_unsigned;
            let chosen = if condition.is_true() { first } else { second };
            value = ConditionValue { is_unsigned, ..chosen };
        }
        self.depth -= 1;
        Ok(value)
    }

    /// Reads a part of the expression with `read`; with `is_unused` its value does not count.
    fn part(
        &mut self,
        is_unused: bool,
        read: impl FnOnce(&mut Self) -> Result<ConditionValue, String>,
    ) -> Result<ConditionValue, String> {
        self.unused += usize::from(is_unused);
        let value = read(self);
        self.unused -= usize::from(is_unused);
        value
    }

    fn level(&mut self, level: usize) -> Result<ConditionValue, String> {
        let Some(operators) = LEVELS.get(level) else { return self.operand() };
        let mut value = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let is_unused = match operator {
                "&&" => !value.is_true(),
                "||" => value.is_true(),
                _ => false,
            };
            let right = self.part(is_unused, |reader| reader.level(level + 1))?;
            value = match applied(operator, value, right) {
                Err(_) if self.unused > 0 => ConditionValue::signed(0),
                applied => applied?,
            };
        }
        Ok(value)
    }

    /// Reads the next operator, if it is one of `operators` and not the beginning of a longer one.
    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let operator = *operators.iter().find(|operator| self.rest.starts_with(**operator))?;
        let is_longer = LEVELS.iter().flat_map(|level| level.iter()).any(|other| {
            other.len() > operator.len()
                && other.starts_with(operator)
                && self.rest.starts_with(other)
        });
        (!is_longer && self.take(operator)).then_some(operator)
    }

    fn operand(&mut self) -> Result<ConditionValue, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("the condition is nested too deeply".to_owned());
        }
        let value = if self.take("!") {
            ConditionValue::signed(i64::from(!self.operand()?.is_true()))
        } else if self.take("-") {
            let operand = self.operand()?;
            ConditionValue { number: operand.number.wrapping_neg(), ..operand }
        } else if self.take("+") {
            self.operand()?
        } else if self.take("~") {
            let operand = self.operand()?;
            ConditionValue { number: !operand.number, ..operand }
        } else if self.take("(") {
            let value = self.choice()?;
            if !self.take(")") {
                return Err("`)` is missing in the condition".to_owned());
            }
            value
        } else {
            self.number()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<ConditionValue, String> {
        if let Some(quoted) = self.rest.strip_prefix('\'')
            && let Some((value, rest)) = quoted.split_once('\'')
            && let Some(octet) = character(value)
        {
            self.rest = rest.trim_start();
            return Ok(ConditionValue::signed(i64::from(octet)));
        }
        let (word, rest) = self.rest.split_at(word_len(self.rest));
        if word.is_empty() {
            let next =
                self.rest.chars().next().map_or_else(|| "the end".to_owned(), |c| format!("`{c}`"));
            return Err(format!("a number or a name is missing in the condition, found {next}"));
        }
        self.rest = rest.trim_start();
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(ConditionValue::signed(0));
        }
        let lower = word.to_ascii_lowercase();
        let digits = lower.trim_end_matches(['u', 'l']);
        let read = if let Some(hex) = digits.strip_prefix("0x") {
            u64::from_str_radix(hex, 16)
        } else if let Some(binary) = digits.strip_prefix("0b") {
            u64::from_str_radix(binary, 2)
        } else if let Some(octal) = digits.strip_prefix('0').filter(|octal| !octal.is_empty()) {
            u64::from_str_radix(octal, 8)
        } else {
            digits.parse()
        };
        let read = read.map_err(|_| format!("`{word}` is not a number"))?;
        // A number that does not fit a signed one is unsigned, as are those with a `u`.
        let is_unsigned = lower[digits.len()..].contains('u') || i64::try_from(read).is_err();
        Ok(ConditionValue { number: read.cast_signed(), is_unsigned })
    }
}

/// Returns the code of the character in `text`, which may be an escape sequence (ISO C 2011,
/// 6.4.4.4).
fn character(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [octet] => Some(*octet),
        [b'\\', letter] => Some(match letter {
            b'0' => 0,
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            other => *other,
        }),
        [b'\\', b'x', digits @ ..] => u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok(),
        _ => None,
    }
}

fn applied(
    operator: &str,
    left: ConditionValue,
    right: ConditionValue,
) -> Result<ConditionValue, String> {
    // The second operand of a shift does not count.
    let is_shift = matches!(operator, "<<" | ">>");
    let is_unsigned = left.is_unsigned || right.is_unsigned && !is_shift;
    let (a, b) = (left.number, right.number);
    let (unsigned_a, unsigned_b) = (a.cast_unsigned(), b.cast_unsigned());
    let truth = |is_true: bool| Ok(ConditionValue::signed(i64::from(is_true)));
    let number = |number: i64| Ok(ConditionValue { number, is_unsigned });
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    let by_zero = || "a division by 0 in a condition".to_owned();
    match operator {
        "||" => truth(left.is_true() || right.is_true()),
        "&&" => truth(left.is_true() && right.is_true()),
        "|" => number(a | b),
        "^" => number(a ^ b),
        "&" => number(a & b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "<=" => truth(if is_unsigned { unsigned_a <= unsigned_b } else { a <= b }),
        ">=" => truth(if is_unsigned { unsigned_a >= unsigned_b } else { a >= b }),
        "<" => truth(if is_unsigned { unsigned_a < unsigned_b } else { a < b }),
        ">" => truth(if is_unsigned { unsigned_a > unsigned_b } else { a > b }),
        "<<" => number(a.checked_shl(shift).unwrap_or(0)),
        ">>" if is_unsigned => number(unsigned_a.checked_shr(shift).unwrap_or(0).cast_signed()),
        ">>" => number(a.checked_shr(shift).unwrap_or(if a < 0 { -1 } else { 0 })),
        "+" => number(a.wrapping_add(b)),
        "-" => number(a.wrapping_sub(b)),
        "*" => number(a.wrapping_mul(b)),
        _ if b == 0 => Err(by_zero()),
        "/" if is_unsigned => number((unsigned_a / unsigned_b).cast_signed()),
        "/" => number(a.wrapping_div(b)),
        _ if is_unsigned => number((unsigned_a % unsigned_b).cast_signed()),
        _ => number(a.wrapping_rem(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::macros::Macro;
    use super::*;

    fn evaluate(text: &str) -> Result<bool, String> {
        is_true(&macros(), &mut SourceLocation::new(""), 0, text)
    }

    fn macros() -> Macros {
        let define = |name: &str, body: &str| (name.to_owned(), Macro::parse(body).unwrap());
        [define("N", " 7"), define("EMPTY", ""), define("ADD", "(a, b) ((a) + (b))")].into()
    }

    #[test]
    fn conditions_mean_what_they_mean_in_c() {
        for (text, expected) in [
            ("1", true),
            ("0", false),
            ("N == 7", true),
            ("UNKNOWN", false),
            ("defined(N) && !defined UNKNOWN", true),
            ("defined ( EMPTY )", true),
            ("ADD(N, 1) == 8", true),
            ("1 + 2 * 3 == 7", true),
            ("(1 + 2) * 3 == 9", true),
            ("1 || 0 && 0", true),
            ("1 << 4 | 1", true),
            ("(1 << 4 | 1) != 17", false),
            ("0x10 == 020", true),
            ("0b101 == 5UL", true),
            ("-1 < 0", true),
            ("~0 == -1", true),
            ("7 % 4 >= 3 ? 0 : 1", false),
            ("'A' == 65", true),
            (r"'\n' == 10 && '\x41' == 'A'", true),
            ("3 & 4", false),
            ("2 > 1 == 1", true),
            ("5u > -1", false),
            ("0xffffffffffffffff > 1", true),
            ("-8 / 2u > 4", true),
            ("-1 >> 70 == -1", true),
            ("(1 ? -1 : 0u) > 0", true),
            ("defined(Z) && 8 / Z > 2", false),
            ("N || 1 % 0", true),
            ("N ? 1 : 1 / 0", true),
            ("0 ? 1 / 0 : 1", true),
        ] {
            assert_eq!(evaluate(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_named() {
        for text in ["", "1 +", "(1", "1 2", "1 / 0", "defined", "defined(N", "9x", "1 ? 2", "@"] {
            assert!(evaluate(text).is_err(), "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(500), ")".repeat(500));
        assert!(evaluate(&deep).is_err());
        assert!(evaluate(&"!".repeat(500)).is_err());
    }
}
