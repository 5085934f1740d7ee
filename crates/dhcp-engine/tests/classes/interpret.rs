//! Meaning of expressions, written as plainly as possible.

use dhcp_config::ClassTest;
use dhcp_config::expression::{Condition, Conversion, TextExpression};
use dhcp_engine::classify::PacketView;

use super::Class;

/// Error of an expression without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterpretationError;

/// One message with the classes that it is in.
pub(crate) struct Interpreter<'v, V> {
    view: &'v V,
    /// Flags of the configured classes that are late.
    late: &'v [bool],
    pub(crate) classes: Vec<String>,
}

impl<'v, V: PacketView> Interpreter<'v, V> {
    pub(crate) fn new(view: &'v V, late: &'v [bool]) -> Self {
        Self { view, late, classes: Vec::new() }
    }

    pub(crate) fn insert(&mut self, name: &str) {
        if !self.classes.iter().any(|class| class == name) {
            self.classes.push(name.to_owned());
        }
    }

    pub(crate) fn early(&mut self, configured: &[Class]) {
        self.insert("ALL");
        for nth in 0.. {
            let mut text = Vec::new();
            if !self.view.vendor_class(nth, &mut text) {
                break;
            }
            self.insert(&format!("VENDOR_CLASS_{}", escaped(&text)));
        }
        self.pass(configured, false);
    }

    pub(crate) fn late(&mut self, configured: &[Class]) {
        self.pass(configured, true);
    }

    pub(crate) fn again(&mut self, configured: &[Class], host_classes: &[String]) {
        self.classes.retain(|name| {
            configured.iter().all(|class| class.name != *name || class.test.is_none())
        });
        host_classes.iter().for_each(|name| self.insert(name));
        self.pass(configured, false);
    }

    pub(crate) fn additional(&mut self, configured: &[Class], names: &[String]) {
        for name in names {
            let class = configured.iter().find(|class| class.name == *name).expect("configured");
            let is_member = match &class.test {
                None => true,
                Some(ClassTest::Test { condition, .. }) => self.condition(condition) == Ok(true),
                Some(ClassTest::Template { text, .. }) => self.text(text) == Ok(b"true".to_vec()),
            };
            if is_member {
                self.insert(name);
            }
        }
    }

    fn pass(&mut self, configured: &[Class], late: bool) {
        for (class, is_late) in configured.iter().zip(self.late) {
            if class.only_in_additional_list || *is_late != late {
                continue;
            }
            match &class.test {
                None => {}
                Some(ClassTest::Test { condition, .. }) => {
                    let is_member = self.condition(condition) == Ok(true);
                    is_member.then(|| self.insert(&class.name));
                }
                Some(ClassTest::Template { text, .. }) => {
                    let text = self.text(text).unwrap_or_default();
                    if !text.is_empty() {
                        self.insert(&format!("SPAWN_{}_{}", class.name, escaped(&text)));
                        self.insert(&class.name);
                    }
                }
            }
        }
    }

    fn condition(&self, condition: &Condition) -> Result<bool, InterpretationError> {
        Ok(match condition {
            Condition::Equal(left, right) => self.text(left)? == self.text(right)?,
            Condition::Exists(term) => self.view.read(term, &mut Vec::new()),
            Condition::Member(name) => self.classes.contains(name),
            Condition::Matches(pattern, text) => pattern.matches(&self.text(text)?),
            Condition::Not(inner) => !self.condition(inner)?,
            Condition::All { parts, strict: false } => {
                for part in parts {
                    if !self.condition(part)? {
                        return Ok(false);
                    }
                }
                true
            }
            Condition::Any { parts, strict: false } => {
                for part in parts {
                    if self.condition(part)? {
                        return Ok(true);
                    }
                }
                false
            }
            Condition::All { parts, .. } => self.each(parts)?.iter().all(|&value| value),
            Condition::Any { parts, .. } => self.each(parts)?.iter().any(|&value| value),
        })
    }

    fn each(&self, parts: &[Condition]) -> Result<Vec<bool>, InterpretationError> {
        parts.iter().map(|part| self.condition(part)).collect()
    }

    pub(crate) fn text(&self, text: &TextExpression) -> Result<Vec<u8>, InterpretationError> {
        Ok(match text {
            TextExpression::Literal(octets) => octets.clone(),
            TextExpression::Value(term) => {
                let mut octets = Vec::new();
                self.view.read(term, &mut octets);
                octets
            }
            TextExpression::Concat(parts) => {
                let parts: Result<Vec<Vec<u8>>, InterpretationError> =
                    parts.iter().map(|part| self.text(part)).collect();
                parts?.concat()
            }
            TextExpression::Substring { of, start, length } => {
                substring(&self.text(of)?, i64::from(*start), length.map(i64::from))
            }
            TextExpression::Split { of, delimiters, field } => {
                let (text, delimiters) = (self.text(of)?, self.text(delimiters)?);
                if delimiters.is_empty() {
                    return Ok(text);
                }
                let mut fields = text.split(|octet| delimiters.contains(octet));
                let field = usize::try_from(*field).ok().and_then(|field| field.checked_sub(1));
                field.and_then(|field| fields.nth(field)).unwrap_or_default().to_vec()
            }
            TextExpression::Convert(conversion, of) => convert(*conversion, self.text(of)?)?,
            TextExpression::Hex { of, separator } => {
                let (text, separator) = (self.text(of)?, self.text(separator)?);
                let digits = text.iter().map(|octet| format!("{octet:02x}").into_bytes());
                digits.collect::<Vec<_>>().join(&separator[..])
            }
            TextExpression::Choice { condition, then, otherwise, strict: true } => {
                let (condition, then, otherwise) =
                    (self.condition(condition)?, self.text(then)?, self.text(otherwise)?);
                if condition { then } else { otherwise }
            }
            TextExpression::Choice { condition, then, otherwise, .. } => {
                self.text(if self.condition(condition)? { then } else { otherwise })?
            }
        })
    }
}

/// Returns the bytes from `start` on, or up to it.
fn substring(text: &[u8], start: i64, length: Option<i64>) -> Vec<u8> {
    let len = text.len() as i64;
    if start >= len || start < -len {
        return Vec::new();
    }
    let start = if start < 0 { start + len } else { start };
    let range = match length {
        None => start..len,
        Some(length) if length < 0 => start + length..start,
        Some(length) => start..start + length,
    };
    let octets = text.iter().zip(0..).filter(|(_, at)| range.contains(at));
    octets.map(|(octet, _)| *octet).collect()
}

fn convert(conversion: Conversion, text: Vec<u8>) -> Result<Vec<u8>, InterpretationError> {
    use std::net::{Ipv4Addr, Ipv6Addr};
    fn number<const N: usize, T: ToString>(
        text: &[u8],
        read: fn([u8; N]) -> T,
    ) -> Result<String, InterpretationError> {
        text.try_into().map(|octets| read(octets).to_string()).map_err(|_| InterpretationError)
    }
    match conversion {
        Conversion::Lower => return Ok(text.to_ascii_lowercase()),
        Conversion::Upper => return Ok(text.to_ascii_uppercase()),
        _ if text.is_empty() => return Ok(text),
        Conversion::Address => {
            number(&text, Ipv4Addr::from).or_else(|_| number::<16, _>(&text, Ipv6Addr::from))
        }
        Conversion::I8 => number(&text, i8::from_be_bytes),
        Conversion::I16 => number(&text, i16::from_be_bytes),
        Conversion::I32 => number(&text, i32::from_be_bytes),
        Conversion::U8 => number(&text, u8::from_be_bytes),
        Conversion::U16 => number(&text, u16::from_be_bytes),
        Conversion::U32 => number(&text, u32::from_be_bytes),
    }
    .map(String::into_bytes)
}

/// Returns bytes as Kea writes them into names of classes.
fn escaped(text: &[u8]) -> String {
    let one = |&octet: &u8| match octet {
        b'%' => "%%".to_owned(),
        _ if octet.is_ascii_alphanumeric() || b"!#$&*+-./:?@^_|~".contains(&octet) => {
            char::from(octet).to_string()
        }
        _ => format!("%{octet:02x}"),
    };
    text.iter().map(one).collect()
}

/// Returns for each class if it waits for KNOWN or UNKNOWN.
pub(crate) fn late(configured: &[Class]) -> Vec<bool> {
    let mut late: Vec<bool> = Vec::new();
    for class in configured {
        let (test_text, is_template) = match &class.test {
            None => (String::new(), false),
            Some(ClassTest::Test { condition, .. }) => (format!("{condition:?}"), false),
            Some(ClassTest::Template { text, .. }) => (format!("{text:?}"), true),
        };
        let asks = |name: &str| test_text.contains(&format!("Member({name:?})"));
        let mut before = configured.iter().zip(&late);
        let asks_late = before.any(|(class, late)| *late && asks(&class.name));
        late.push(asks("KNOWN") || asks("UNKNOWN") || asks_late && !is_template);
    }
    late
}
