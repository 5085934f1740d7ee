//! Expressions of constants in a packet text: `+ - * / % & | ^ << >>`, a sign and parentheses. All
//! operators have the same precedence, from the left, as in trafgen: `2+3*4` is 20.

use super::source::{Cursor, Parsed, fault, number};

/// Largest nesting of parentheses in an expression of a packet text.
const DEPTH_MAX: usize = 64;

/// Value of an arithmetic expression, with a mark for operators of different usual precedence
/// without parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArithmeticValue {
    /// Value of the expression in 64 bits; negative numbers as two's complement.
    pub(crate) bits: i64,
    /// True if the expression would have another value in other languages, by their precedence.
    pub(crate) is_surprising: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Operator {
    sign: u8,
    /// Precedence of the operator in C.
    rank: u8,
}

/// Parses an expression and returns its value. With `quirks` shifts by 64 or more bits are taken
/// modulo 64.
pub(crate) fn read(cursor: &mut Cursor<'_>, quirks: bool) -> Parsed<ArithmeticValue> {
    read_at(cursor, quirks, 0)
}

fn read_at(cursor: &mut Cursor<'_>, quirks: bool, depth: usize) -> Parsed<ArithmeticValue> {
    let mut value = operand(cursor, quirks, depth)?;
    let mut ranks: Option<u8> = None;
    loop {
        cursor.skip_blanks();
        let at = cursor.at;
        let Some(operator) = operator(cursor) else { return Ok(value) };
        // The result differs from C where ranks rise.
        value.is_surprising |= ranks.is_some_and(|rank| rank < operator.rank);
        ranks = Some(operator.rank);
        cursor.skip_blanks();
        let right = operand(cursor, quirks, depth)?;
        value.is_surprising |= right.is_surprising;
        value.bits = apply(value.bits, operator.sign, right.bits, quirks)
            .map_or_else(|message| fault(at, message), Ok)?;
    }
}

fn operator(cursor: &mut Cursor<'_>) -> Option<Operator> {
    let (sign, rank) = match cursor.peek()? {
        b'*' => (b'*', 5),
        b'/' => (b'/', 5),
        b'%' => (b'%', 5),
        b'+' => (b'+', 4),
        b'-' => (b'-', 4),
        b'<' => (b'<', 3),
        b'>' => (b'>', 3),
        b'&' => (b'&', 2),
        b'^' => (b'^', 1),
        b'|' => (b'|', 0),
        _ => return None,
    };
    let begin = cursor.at;
    cursor.at += 1;
    if matches!(sign, b'<' | b'>') && !cursor.take(sign) {
        cursor.at = begin;
        return None;
    }
    Some(Operator { sign, rank })
}

fn operand(cursor: &mut Cursor<'_>, quirks: bool, depth: usize) -> Parsed<ArithmeticValue> {
    cursor.skip_blanks();
    let at = cursor.at;
    if depth > DEPTH_MAX {
        return fault(at, "expressions are nested too deeply");
    }
    if cursor.take(b'(') {
        let value = read_at(cursor, quirks, depth + 1)?;
        cursor.expect(b')')?;
        return Ok(value);
    }
    if cursor.take(b'-') {
        let value = operand(cursor, quirks, depth + 1)?;
        return Ok(ArithmeticValue { bits: value.bits.wrapping_neg(), ..value });
    }
    plain(cursor, quirks)
        .map(|bits| ArithmeticValue { bits: bits.cast_signed(), is_surprising: false })
}

/// Parses a plain number or a character in single quotes.
pub(crate) fn plain(cursor: &mut Cursor<'_>, quirks: bool) -> Parsed<u64> {
    let at = cursor.at;
    if cursor.peek() == Some(b'\'') {
        return character(cursor).map(u64::from);
    }
    let read = number(cursor.word(), quirks);
    match read {
        None => fault(at, format!("a number expected, found {}", cursor.describe_next())),
        Some(Err(message)) => fault(at, message),
        Some(Ok(value)) => {
            cursor.take_word();
            Ok(value)
        }
    }
}

/// Parses a character in single quotes: `'c'` or `'\xHH'`.
pub(crate) fn character(cursor: &mut Cursor<'_>) -> Parsed<u8> {
    let at = cursor.at;
    cursor.at += 1;
    let octet = match cursor.peek() {
        Some(b'\\') => escape(cursor),
        other => {
            cursor.at += 1;
            other.filter(|octet| octet.is_ascii() && *octet != b'\n')
        }
    };
    if let Some(octet) = octet
        && cursor.take(b'\'')
    {
        return Ok(octet);
    }
    cursor.at = at + 1;
    fault(at, "a character is one ASCII character or `\\xHH` between single quotes")
}

/// Parses the escape sequence `\xHH` and returns its byte; `None` if another text is next.
pub(crate) fn escape(cursor: &mut Cursor<'_>) -> Option<u8> {
    cursor.at += 1;
    let rest = cursor.word();
    let digits = rest.strip_prefix(['x', 'X'])?.get(..2)?;
    let octet = u8::from_str_radix(digits, 16).ok()?;
    cursor.at += 3;
    Some(octet)
}

fn apply(left: i64, sign: u8, right: i64, quirks: bool) -> Result<i64, String> {
    let shift = || match u32::try_from(right) {
        Ok(bits @ 0..64) => Ok(bits),
        _ if quirks => Ok((right & 63) as u32),
        _ => Err(format!("cannot shift 64 bits by {right}")),
    };
    Ok(match sign {
        b'+' => left.wrapping_add(right),
        b'-' => left.wrapping_sub(right),
        b'*' => left.wrapping_mul(right),
        b'/' | b'%' if right == 0 => return Err("division by zero".to_owned()),
        b'/' => left.wrapping_div(right),
        b'%' => left.wrapping_rem(right),
        b'&' => left & right,
        b'|' => left | right,
        b'^' => left ^ right,
        b'<' => left << shift()?,
        _ => left >> shift()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::source::MappedText;

    fn value(text: &str) -> Result<ArithmeticValue, String> {
        let text = MappedText::verbatim(text.as_bytes());
        let mut cursor = Cursor::new(&text);
        read(&mut cursor, false).map_err(|fault| format!("{}: {}", fault.at, fault.message))
    }

    #[test]
    fn operators_bind_alike_from_the_left() {
        for (text, bits, is_surprising) in [
            ("2+3*4", 20, true),
            ("2*3+4*5", 50, true),
            ("1<<4+1", 17, true),
            ("(((1<<8)+0x32)|0b110)*2", 0x26c, false),
            ("2*3+4", 10, false),
            ("1|2&4", 0, true),
            ("256>>4<<1", 32, false),
            ("7-9+4", 2, false),
            ("-7/2", -3, false),
            ("-7%4", -3, false),
            ("-8>>1", -4, false),
            ("- ( 2 + 3 )", -5, false),
            ("2*-1", -2, false),
            ("'a' + 1", 98, false),
            ("3^5", 6, false),
        ] {
            assert_eq!(value(text), Ok(ArithmeticValue { bits, is_surprising }), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_refused_where_it_is() {
        assert_eq!(value("1/0"), Err("1: division by zero".to_owned()));
        assert_eq!(value("1<<64"), Err("1: cannot shift 64 bits by 64".to_owned()));
        assert_eq!(value("1+"), Err("2: a number expected, found the end of the text".to_owned()));
        assert!(value(&"(".repeat(10_000)).unwrap_err().contains("nested too deeply"));
    }
}
