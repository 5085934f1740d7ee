//! Parses functions of expressions whose value is a string.

use super::{ExpressionParser, ExpressionToken, LOWEST, ParsedExpression, condition, error};
use crate::expression::{Conversion, ExpressionError, TextExpression};

/// Names of the functions of one text.
const CONVERSIONS: [(&str, Conversion); 9] = [
    ("lcase", Conversion::Lower),
    ("ucase", Conversion::Upper),
    ("addrtotext", Conversion::Address),
    ("int8totext", Conversion::I8),
    ("int16totext", Conversion::I16),
    ("int32totext", Conversion::I32),
    ("uint8totext", Conversion::U8),
    ("uint16totext", Conversion::U16),
    ("uint32totext", Conversion::U32),
];

impl ExpressionParser<'_> {
    /// Parses a function of an expression after its name `word`; returns `None` when `word` names
    /// none.
    pub(super) fn function(
        &mut self,
        at: usize,
        word: &str,
    ) -> Result<Option<TextExpression>, ExpressionError> {
        if let Some(&(_, conversion)) = CONVERSIONS.iter().find(|(name, _)| *name == word) {
            self.expect("(")?;
            let of = self.text()?;
            self.expect(")")?;
            return Ok(Some(TextExpression::Convert(conversion, Box::new(of))));
        }
        Ok(Some(match word {
            "substring" => self.substring()?,
            "split" => self.split()?,
            "concat" => {
                let [left, right] = self.two_texts()?;
                super::concat(left, right)
            }
            "hexstring" => {
                let [of, separator] = self.two_texts()?.map(Box::new);
                TextExpression::Hex { of, separator }
            }
            "ifelse" | "sifelse" => self.choice(at, word == "sifelse")?,
            _ => return Ok(None),
        }))
    }

    fn two_texts(&mut self) -> Result<[TextExpression; 2], ExpressionError> {
        self.expect("(")?;
        let first = self.text()?;
        self.expect(",")?;
        let second = self.text()?;
        self.expect(")")?;
        Ok([first, second])
    }

    fn substring(&mut self) -> Result<TextExpression, ExpressionError> {
        self.expect("(")?;
        let of = Box::new(self.text()?);
        self.expect(",")?;
        let start = self.i32()?;
        self.expect(",")?;
        let length = if self.takes("all") { None } else { Some(self.i32()?) };
        self.expect(")")?;
        Ok(TextExpression::Substring { of, start, length })
    }

    fn split(&mut self) -> Result<TextExpression, ExpressionError> {
        self.expect("(")?;
        let of = Box::new(self.text()?);
        self.expect(",")?;
        let delimiters = Box::new(self.text()?);
        self.expect(",")?;
        let field = self.i32()?;
        self.expect(")")?;
        Ok(TextExpression::Split { of, delimiters, field })
    }

    fn choice(&mut self, at: usize, strict: bool) -> Result<TextExpression, ExpressionError> {
        self.expect("(")?;
        let (_, node) = self.expression(LOWEST)?;
        if let (ParsedExpression::Text(_), (_, ExpressionToken::Word(","))) = (&node, self.peek()) {
            return error(at, "the first operand of `ifelse` has to be a condition");
        }
        let condition = Box::new(condition(at, node)?);
        self.expect(",")?;
        let then = Box::new(self.text()?);
        self.expect(",")?;
        let otherwise = Box::new(self.text()?);
        self.expect(")")?;
        Ok(TextExpression::Choice { condition, then, otherwise, strict })
    }

    fn i32(&mut self) -> Result<i32, ExpressionError> {
        let value = self.integer(i32::MIN.into(), i32::MAX.into())?;
        Ok(i32::try_from(value).expect("checked against the range"))
    }
}
