//! Expressions of dhcp-eval(5) in the language of Kea's client classes.

use crate::lexer::{DhcpdToken, DhcpdTokenKind, FilePosition};
use crate::options::OptionRegistry;
use crate::options::value::hexadecimal;

/// Part of an expression that Kea's language lacks, or that dhcpd refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionFault {
    pub(crate) at: FilePosition,
    pub(crate) message: String,
}

/// Data expression: a value that is known, or text in Kea's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataExpression {
    /// Bytes that do not depend on the message.
    Constant(Vec<u8>),
    /// Expression in Kea's language.
    Kea(String),
    /// Hardware type in one byte and hardware address, which Kea has apart.
    Hardware,
    /// Number.
    Number(u64),
    /// Number of `width` bytes that begin `text`, an expression in Kea's language.
    Extracted { text: String, width: usize },
}

impl DataExpression {
    /// Returns the expression in Kea's language.
    pub(crate) fn kea(&self) -> String {
        match self {
            Self::Constant(octets) => literal(octets),
            Self::Kea(text) | Self::Extracted { text, .. } => text.clone(),
            Self::Hardware => "concat(substring(pkt4.htype, 3, 1), pkt4.mac)".to_owned(),
            Self::Number(number) => literal(&number.to_be_bytes()),
        }
    }
}

/// Returns the constant `octets` in Kea's language.
pub(crate) fn literal(octets: &[u8]) -> String {
    let is_plain = |octet: &u8| (b' '..=b'~').contains(octet) && *octet != b'\'' && *octet != b'\\';
    if octets.iter().all(is_plain) {
        return format!("'{}'", String::from_utf8_lossy(octets));
    }
    let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("0x{digits}")
}

/// Reader of one expression.
pub(crate) struct ExpressionReader<'e> {
    words: &'e [DhcpdToken],
    options: &'e OptionRegistry,
    /// Position of the expression's statement, for errors at its end.
    at: FilePosition,
}

type Parsed<T> = Result<T, ExpressionFault>;

impl<'e> ExpressionReader<'e> {
    pub(crate) const fn new(
        words: &'e [DhcpdToken],
        options: &'e OptionRegistry,
        at: FilePosition,
    ) -> Self {
        Self { words, options, at }
    }

    fn fault<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let at = self.words.first().map_or(self.at, |word| word.at);
        Err(ExpressionFault { at, message: message.into() })
    }

    fn take(&mut self) -> Parsed<&'e DhcpdToken> {
        let Some((first, rest)) = self.words.split_first() else {
            return self.fault("the expression ends too early");
        };
        self.at = first.at;
        self.words = rest;
        Ok(first)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.words.first().is_some_and(|next| next.is_word(word));
        if is_next {
            self.words = self.words.get(1..).unwrap_or_default();
        }
        is_next
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_next = self.words.first().is_some_and(|next| next.is_sign(sign));
        if is_next {
            self.words = self.words.get(1..).unwrap_or_default();
        }
        is_next
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes_sign(sign) { Ok(()) } else { self.fault(format!("`{sign}` is missing here")) }
    }

    /// Reads a boolean expression to the end of the words.
    pub(crate) fn whole_condition(&mut self) -> Parsed<String> {
        let text = self.condition()?;
        match self.words.first() {
            Some(word) => self.fault(format!("`{}` is not expected here", word.shown())),
            None => Ok(text),
        }
    }

    /// Reads a data expression to the end of the words.
    pub(crate) fn whole_data(&mut self) -> Parsed<DataExpression> {
        let data = self.data()?;
        match self.words.first() {
            Some(word) => self.fault(format!("`{}` is not expected here", word.shown())),
            None => Ok(data),
        }
    }

    /// Reads a boolean expression: parts with `or`, of parts with `and`.
    pub(crate) fn condition(&mut self) -> Parsed<String> {
        let mut parts = vec![self.conjunction()?];
        while self.takes_word("or") {
            parts.push(self.conjunction()?);
        }
        Ok(joined(&parts, " or "))
    }

    fn conjunction(&mut self) -> Parsed<String> {
        let mut parts = vec![self.negation()?];
        while self.takes_word("and") {
            parts.push(self.negation()?);
        }
        Ok(joined(&parts, " and "))
    }

    fn negation(&mut self) -> Parsed<String> {
        if self.takes_word("not") || self.takes_sign("!") {
            return Ok(format!("not ({})", self.negation()?));
        }
        if self.words.first().is_some_and(|word| word.is_sign("(")) {
            let before = self.words;
            self.take()?;
            let condition = self.condition();
            if condition.is_ok() && self.takes_sign(")") && !self.compares() {
                return Ok(format!("({})", condition?));
            }
            // The parentheses were around data.
            self.words = before;
            return self.comparison();
        }
        self.primary()
    }

    /// Returns true if the next word is an operator of a comparison.
    fn compares(&self) -> bool {
        let signs = ["=", "!=", "~=", "~~"];
        self.words.first().is_some_and(|word| signs.iter().any(|sign| word.is_sign(sign)))
    }

    fn primary(&mut self) -> Parsed<String> {
        let Some(first) = self.words.first() else {
            return self.fault("a condition is missing");
        };
        match first.keyword().unwrap_or_default().as_str() {
            "exists" => {
                self.take()?;
                let option = self.option_path()?;
                Ok(format!("{option}.exists"))
            }
            "known" => {
                self.take()?;
                Ok("member('KNOWN')".to_owned())
            }
            "check" => {
                self.take()?;
                let name = self.take()?;
                let DhcpdTokenKind::Text(name) = &name.kind else {
                    return self.fault("`check` needs the name of a class");
                };
                Ok(format!("member('{}')", String::from_utf8_lossy(name)))
            }
            "true" | "false" if !self.words.get(1).is_some_and(|next| next.is_sign("=")) => {
                let is_true = self.take()?.is_word("true");
                Ok(if is_true { "'a' == 'a'" } else { "'a' == 'b'" }.to_owned())
            }
            "static" => self.fault("`static` has no counterpart in Kea"),
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Parsed<String> {
        let left = self.data()?;
        let operator = self.take()?.clone();
        match operator.kind {
            DhcpdTokenKind::Sign(sign @ ("=" | "!=")) => {
                let right = if matches!(left, DataExpression::Extracted { .. }) {
                    DataExpression::Number(self.integer()?.cast_unsigned())
                } else {
                    self.data()?
                };
                let equal = equality(&left, &right);
                Ok(if sign == "=" { equal } else { format!("not ({equal})") })
            }
            DhcpdTokenKind::Sign(sign @ ("~=" | "~~")) => {
                let pattern = self.take()?;
                let DhcpdTokenKind::Text(pattern) = &pattern.kind else {
                    return self.fault("a regular expression in quotes is missing");
                };
                self.matching(&left, &String::from_utf8_lossy(pattern), sign == "~~")
            }
            _ => {
                let message = format!("`{}` is no comparison", operator.shown());
                Err(ExpressionFault { at: operator.at, message })
            }
        }
    }

    fn matching(&self, left: &DataExpression, pattern: &str, folds: bool) -> Parsed<String> {
        if pattern.contains('\'') {
            return self.fault("Kea's regular expressions cannot contain a quotation mark");
        }
        // dhcpd looks for the expression anywhere in the value, Kea compares the whole value.
        let head = if pattern.starts_with('^') { "" } else { ".*" };
        let tail = if pattern.ends_with('$') && !pattern.ends_with("\\$") { "" } else { ".*" };
        let middle = pattern.strip_prefix('^').unwrap_or(pattern);
        let middle = middle.strip_suffix('$').filter(|_| tail.is_empty()).unwrap_or(middle);
        let middle = if middle.contains('|') { format!("({middle})") } else { middle.to_owned() };
        let whole = format!("{head}{middle}{tail}");
        let text = left.kea();
        Ok(if folds {
            format!("match('{}', lcase({text}))", whole.to_ascii_lowercase())
        } else {
            format!("match('{whole}', {text})")
        })
    }

    /// Reads a data expression.
    pub(crate) fn data(&mut self) -> Parsed<DataExpression> {
        let first = self.take()?;
        let word = match &first.kind {
            DhcpdTokenKind::Text(octets) => return Ok(DataExpression::Constant(octets.clone())),
            DhcpdTokenKind::Sign("(") => {
                let data = self.data()?;
                self.expect(")")?;
                return Ok(data);
            }
            DhcpdTokenKind::Sign(sign) => {
                let message = format!("`{sign}` begins no value");
                return Err(ExpressionFault { at: first.at, message });
            }
            DhcpdTokenKind::Word(word) => word.as_str(),
        };
        let is_call = self.words.first().is_some_and(|next| next.is_sign("("));
        match word.to_ascii_lowercase().as_str() {
            "option" => {
                let path = self.option_path_after_option()?;
                Ok(DataExpression::Kea(format!("{path}.hex")))
            }
            "hardware" => Ok(DataExpression::Hardware),
            "null" => Ok(DataExpression::Constant(Vec::new())),
            name if is_call => self.call(name, first.at),
            _ => match hexadecimal(word) {
                Some(octets) => Ok(DataExpression::Constant(octets)),
                None => {
                    let message = format!("`{word}` has no counterpart in Kea");
                    Err(ExpressionFault { at: first.at, message })
                }
            },
        }
    }

    fn call(&mut self, name: &str, at: FilePosition) -> Parsed<DataExpression> {
        self.expect("(")?;
        let data = match name {
            "substring" => self.substring()?,
            "suffix" => self.suffix()?,
            "concat" => self.concat()?,
            "lcase" | "ucase" => {
                let inner = self.data()?.kea();
                DataExpression::Kea(format!("{name}({inner})"))
            }
            "extract-int" => {
                let inner = self.data()?.kea();
                self.expect(",")?;
                let width = self.integer()? / 8;
                let width = usize::try_from(width).unwrap_or_default();
                let text = format!("substring({inner}, 0, {width})");
                DataExpression::Extracted { text, width }
            }
            "binary-to-ascii" => self.binary_to_ascii(at)?,
            "packet" => self.packet(at)?,
            "pick-first-value" | "pick" => self.pick()?,
            _ => {
                let message = format!("the function `{name}` has no counterpart in Kea");
                return Err(ExpressionFault { at, message });
            }
        };
        self.expect(")")?;
        Ok(data)
    }

    fn substring(&mut self) -> Parsed<DataExpression> {
        let of = self.data()?;
        self.expect(",")?;
        let start = self.integer()?;
        self.expect(",")?;
        let length = self.integer()?;
        let text = match (&of, start) {
            (DataExpression::Hardware, 1..) => {
                format!("substring(pkt4.mac, {}, {length})", start - 1)
            }
            _ => format!("substring({}, {start}, {length})", of.kea()),
        };
        Ok(DataExpression::Kea(text))
    }

    fn suffix(&mut self) -> Parsed<DataExpression> {
        let of = self.data()?.kea();
        self.expect(",")?;
        let length = self.integer()?;
        Ok(DataExpression::Kea(format!("substring({of}, -{length}, all)")))
    }

    fn concat(&mut self) -> Parsed<DataExpression> {
        let mut parts = vec![self.data()?];
        while self.takes_sign(",") {
            parts.push(self.data()?);
        }
        let constants: Option<Vec<u8>> = parts.iter().try_fold(Vec::new(), |mut all, part| {
            let DataExpression::Constant(octets) = part else { return None };
            all.extend(octets);
            Some(all)
        });
        if let Some(octets) = constants {
            return Ok(DataExpression::Constant(octets));
        }
        let mut texts = parts.iter().map(DataExpression::kea);
        let first = texts.next().unwrap_or_default();
        let text = texts.fold(first, |left, right| format!("concat({left}, {right})"));
        Ok(DataExpression::Kea(text))
    }

    fn binary_to_ascii(&mut self, at: FilePosition) -> Parsed<DataExpression> {
        let base = self.integer()?;
        self.expect(",")?;
        let width = self.integer()?;
        self.expect(",")?;
        let separator = self.data()?;
        self.expect(",")?;
        let of = self.data()?.kea();
        if (base, width) == (10, 8) && separator == DataExpression::Constant(b".".to_vec()) {
            return Ok(DataExpression::Kea(format!("addrtotext({of})")));
        }
        let message = "`binary-to-ascii` has a counterpart in Kea for addresses only: dhcpd \
                       writes other numbers without zeros in front";
        Err(ExpressionFault { at, message: message.to_owned() })
    }

    fn packet(&mut self, at: FilePosition) -> Parsed<DataExpression> {
        let offset = self.integer()?;
        self.expect(",")?;
        let length = self.integer()?;
        let field = match (offset, length) {
            (12, 4) => "pkt4.ciaddr",
            (24, 4) => "pkt4.giaddr",
            (28, 6) => "pkt4.mac",
            (28, 1..=5) => {
                let text = format!("substring(pkt4.mac, 0, {length})");
                return Ok(DataExpression::Kea(text));
            }
            _ => {
                let message = format!("Kea has no name for packet({offset}, {length})");
                return Err(ExpressionFault { at, message });
            }
        };
        Ok(DataExpression::Kea(field.to_owned()))
    }

    fn pick(&mut self) -> Parsed<DataExpression> {
        let mut parts = vec![self.data()?.kea()];
        while self.takes_sign(",") {
            parts.push(self.data()?.kea());
        }
        let last = parts.pop().unwrap_or_default();
        let text = parts.iter().rev().fold(last, |otherwise, part| {
            format!("ifelse(not ({part} == ''), {part}, {otherwise})")
        });
        Ok(DataExpression::Kea(text))
    }

    fn integer(&mut self) -> Parsed<i64> {
        let word = self.take()?;
        let number = word.word().and_then(|word| word.parse().ok());
        number.map_or_else(
            || {
                let message = format!("`{}` is not a number", word.shown());
                Err(ExpressionFault { at: word.at, message })
            },
            Ok,
        )
    }

    /// Reads `option NAME` and returns the option in Kea's language, without `.hex`.
    fn option_path(&mut self) -> Parsed<String> {
        if !self.takes_word("option") && self.words.first().is_some_and(|word| word.is_sign("(")) {
            return self.fault("`exists` needs an option");
        }
        self.option_path_after_option()
    }

    fn option_path_after_option(&mut self) -> Parsed<String> {
        let word = self.take()?;
        let name = word.word().unwrap_or_default();
        let Some(known) = self.options.find(name) else {
            let message = format!("option `{}` is not defined", word.shown());
            return Err(ExpressionFault { at: word.at, message });
        };
        let (space, code) = known.key;
        match space.as_str() {
            "dhcp" | "dhcp6" => Ok(format!("option[{code}]")),
            "agent" => Ok(format!("relay4[{code}]")),
            _ => {
                let message = format!("Kea has no name for options of the space `{space}`");
                Err(ExpressionFault { at: word.at, message })
            }
        }
    }
}

/// Returns `parts` with the operator between them, in parentheses if there are several.
fn joined(parts: &[String], operator: &str) -> String {
    match parts {
        [only] => only.clone(),
        _ => format!("({})", parts.join(operator)),
    }
}

/// Returns the condition that `left` and `right` are equal.
pub(crate) fn equality(left: &DataExpression, right: &DataExpression) -> String {
    match (left, right) {
        (DataExpression::Hardware, DataExpression::Constant(octets))
        | (DataExpression::Constant(octets), DataExpression::Hardware)
            if octets.first() == Some(&1) =>
        {
            format!("pkt4.mac == {}", literal(octets.get(1..).unwrap_or_default()))
        }
        (DataExpression::Extracted { text, width }, other)
        | (other, DataExpression::Extracted { text, width }) => {
            format!("{text} == {}", sized(other, *width))
        }
        _ => format!("{} == {}", left.kea(), right.kea()),
    }
}

/// Returns the number `data` in `width` bytes, in Kea's language.
fn sized(data: &DataExpression, width: usize) -> String {
    match data {
        DataExpression::Number(number) => {
            let bytes = number.to_be_bytes();
            literal_hex(bytes.get(bytes.len().saturating_sub(width)..).unwrap_or_default())
        }
        other => other.kea(),
    }
}

fn literal_hex(octets: &[u8]) -> String {
    let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("0x{digits}")
}
