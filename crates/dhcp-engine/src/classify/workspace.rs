//! Execution of compiled class expressions over one message.

use dhcp_config::expression::Conversion;

use super::program::{ByteSpan, ExpressionProgram, Test, TextId, TextOperation};
use super::texts::{self, EvaluationError};
use super::{ClassSet, PacketView};

/// Largest total length of the texts that class expressions make of one message, in bytes: far more
/// than any datagram yields, except with expressions made to repeat its texts.
const OCTETS_MAX: usize = 1 << 24;

/// Values that class expressions already computed for the current message: each option is read
/// once, each text made once. Each shard has one; it grows to the needs of the configuration and
/// then allocates nothing.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Bytes of the terms that were read from the message, and of the texts made of them.
    octets: Vec<u8>,
    /// Bytes of a term's value that a class test compares once and that is not stored.
    passing: Vec<u8>,
    /// Mark of the entries of `texts` and `keys` that belong to the current message; never 0.
    message: u32,
    /// Memory address of the class program that the entries of `texts` and `keys` belong to.
    program: usize,
    texts: Vec<CachedText>,
    keys: Vec<CachedKey>,
    /// Classes that the current pass has to test, one bit each.
    pub(super) candidates: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CachedText {
    message: u32,
    value: TextValue,
}

#[derive(Clone, Copy, Debug, Default)]
struct CachedKey {
    message: u32,
    constant_match: ConstantMatch,
}

/// Result of making a text of a class expression.
#[derive(Clone, Copy, Debug, Default)]
enum TextValue {
    /// Missing term: the message does not have it, and its text is empty.
    #[default]
    Missing,
    Text(ByteSpan),
    Fault,
}

impl TextValue {
    fn span(self) -> Result<ByteSpan, EvaluationError> {
        match self {
            Self::Missing => Ok(ByteSpan::default()),
            Self::Text(span) => Ok(span),
            Self::Fault => Err(EvaluationError),
        }
    }
}

/// Result of comparing the text of a key with its constants: the number of the equal constant, no
/// constant, or a fault.
#[derive(Clone, Copy, Debug, Default)]
enum ConstantMatch {
    #[default]
    None,
    Value(u32),
    Fault,
}

impl Workspace {
    /// Discards the values of the previous message, and begins a message with `program`.
    pub(super) fn begin(&mut self, program: &ExpressionProgram) {
        self.octets.clear();
        self.program = core::ptr::from_ref(program).addr();
        self.message = self.message.wrapping_add(1);
        if self.message == 0 {
            // Entries of four billion messages ago would count again.
            self.texts.fill(CachedText::default());
            self.keys.fill(CachedKey::default());
            self.message = 1;
        }
        let texts = self.texts.len().max(program.texts.len());
        self.texts.resize(texts, CachedText::default());
        let keys = self.keys.len().max(program.keys.len());
        self.keys.resize(keys, CachedKey::default());
    }

    /// Keeps the values of the current message for `program`, unless another program was run
    /// meanwhile.
    pub(super) fn go_on(&mut self, program: &ExpressionProgram) {
        if self.program != core::ptr::from_ref(program).addr() {
            self.begin(program);
        }
    }

    /// Returns the bytes of a text at `span`, from the constants of `program` or from the
    /// workspace.
    pub(super) fn octets<'o>(&'o self, program: &'o ExpressionProgram, span: ByteSpan) -> &'o [u8] {
        let all = if span.is_constant { &program.constants } else { &self.octets };
        &all[span.range()]
    }

    /// Returns the bytes that `write` writes, for a single use; `None` when `write` returns false.
    pub(super) fn passing(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> Option<&[u8]> {
        self.passing.clear();
        write(&mut self.passing).then_some(&*self.passing)
    }

    /// Appends the bytes that `write` writes to the workspace, and returns their span.
    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> ByteSpan {
        let start = self.octets.len();
        write(&mut self.octets);
        let len = self.octets.len() - start;
        ByteSpan { is_constant: false, start: start as u32, len: len as u32 }
    }
}

/// Evaluator of a class program on one message.
pub(super) struct ExpressionEvaluator<'r, V> {
    pub(super) program: &'r ExpressionProgram,
    pub(super) view: &'r V,
    pub(super) set: &'r ClassSet,
    pub(super) work: &'r mut Workspace,
}

impl<V: PacketView> ExpressionEvaluator<'_, V> {
    /// Returns true if a compiled condition holds for the message.
    pub(super) fn test(&mut self, test: &Test) -> Result<bool, EvaluationError> {
        match test {
            Test::Constant(value) => Ok(*value),
            Test::Is { key, value } => Ok(self.key(*key)? == Some(*value)),
            Test::Equal(left, right) => {
                let (left, right) = (self.text(*left)?, self.text(*right)?);
                let work = &*self.work;
                Ok(work.octets(self.program, left) == work.octets(self.program, right))
            }
            Test::Exists(term) => Ok(matches!(self.text_value(*term), TextValue::Text(_))),
            Test::Member(class) => Ok(self.set.contains(*class)),
            Test::Matches(pattern, text) => {
                let span = self.text(*text)?;
                Ok(pattern.matches(self.work.octets(self.program, span)))
            }
            Test::Not(test) => self.test(test).map(|value| !value),
            Test::All { parts, is_strict } => self.chain(parts, *is_strict, true),
            Test::Any { parts, is_strict } => self.chain(parts, *is_strict, false),
            Test::Fault => Err(EvaluationError),
        }
    }

    /// Returns true if all conditions of a chain hold when `all` is true, else if any of them does.
    fn chain(
        &mut self,
        parts: &[Test],
        is_strict: bool,
        all: bool,
    ) -> Result<bool, EvaluationError> {
        let mut value = all;
        for part in parts {
            if self.test(part)? != all {
                value = !all;
                if !is_strict {
                    break;
                }
            }
        }
        Ok(value)
    }

    /// Returns the number of the constant that the text of the key at `index` equals; `None` when
    /// no constant does.
    pub(super) fn key(&mut self, index: u32) -> Result<Option<u32>, EvaluationError> {
        let cached = self.work.keys[index as usize];
        let constant_match = if cached.message == self.work.message {
            cached.constant_match
        } else {
            let key = &self.program.keys[index as usize];
            let constant_match = match self.text(key.text) {
                Ok(span) => match self.program.value(key, self.work.octets(self.program, span)) {
                    Some(value) => ConstantMatch::Value(value),
                    None => ConstantMatch::None,
                },
                Err(EvaluationError) => ConstantMatch::Fault,
            };
            self.work.keys[index as usize] =
                CachedKey { message: self.work.message, constant_match };
            constant_match
        };
        match constant_match {
            ConstantMatch::None => Ok(None),
            ConstantMatch::Value(value) => Ok(Some(value)),
            ConstantMatch::Fault => Err(EvaluationError),
        }
    }

    /// Returns the span of the text at `id`, which is made now if it was not made before for this
    /// message.
    pub(super) fn text(&mut self, id: TextId) -> Result<ByteSpan, EvaluationError> {
        if let TextOperation::Constant(span) = self.program.text(id).make {
            return Ok(span);
        }
        self.text_value(id).span()
    }

    fn text_value(&mut self, id: TextId) -> TextValue {
        let cached = self.work.texts[id as usize];
        if cached.message == self.work.message {
            return cached.value;
        }
        let program = self.program;
        let node = program.text(id);
        let value = self.make(&node.make).unwrap_or(TextValue::Fault);
        if !node.is_volatile {
            self.work.texts[id as usize] = CachedText { message: self.work.message, value };
        }
        value
    }

    fn make(&mut self, make: &TextOperation) -> Result<TextValue, EvaluationError> {
        let span = match make {
            TextOperation::Constant(span) => *span,
            TextOperation::Term(term) => {
                let view = self.view;
                let mut exists = false;
                let span = self.work.append(|octets| exists = view.read(term, octets));
                return Ok(if exists { TextValue::Text(span) } else { TextValue::Missing });
            }
            TextOperation::Concat(parts) => self.concat(parts)?,
            TextOperation::Substring { of, start, length } => {
                let span = self.text(*of)?;
                span.part(texts::substring(span.len as usize, *start, *length))
            }
            TextOperation::Split { of, delimiters, field } => {
                let (span, delimiters) = (self.text(*of)?, self.text(*delimiters)?);
                let octets = self.work.octets(self.program, span);
                let delimiters = self.work.octets(self.program, delimiters);
                span.part(texts::split(octets, delimiters, *field))
            }
            TextOperation::Convert(conversion, of) => self.convert(*conversion, *of)?,
            TextOperation::Hex { of, separator } => self.hex(*of, *separator)?,
            TextOperation::Choice { condition, then, otherwise, is_strict } => {
                let branches =
                    if self.test(condition)? { (*then, *otherwise) } else { (*otherwise, *then) };
                let span = self.text(branches.0)?;
                if *is_strict {
                    self.text(branches.1)?;
                }
                span
            }
            TextOperation::Fault => return Err(EvaluationError),
        };
        Ok(TextValue::Text(span))
    }

    /// Appends to `octets` the bytes of a text that was made before.
    fn copy(octets: &mut Vec<u8>, program: &ExpressionProgram, span: ByteSpan) {
        if span.is_constant {
            octets.extend_from_slice(&program.constants[span.range()]);
        } else {
            octets.extend_from_within(span.range());
        }
    }

    /// Returns an error if `len` more bytes of text would exceed [`OCTETS_MAX`].
    fn check_room(&self, len: usize) -> Result<(), EvaluationError> {
        if self.work.octets.len() + len > OCTETS_MAX { Err(EvaluationError) } else { Ok(()) }
    }

    fn concat(&mut self, parts: &[TextId]) -> Result<ByteSpan, EvaluationError> {
        let mut joined = ByteSpan::default();
        let mut is_copied = false;
        for part in parts {
            let span = self.text(*part)?;
            self.check_room(joined.len as usize + span.len as usize)?;
            let octets = &mut self.work.octets;
            // Making the part may have appended other bytes after the beginning of the whole.
            if !is_copied || joined.range().end != octets.len() {
                let start = octets.len() as u32;
                Self::copy(octets, self.program, joined);
                joined = ByteSpan { is_constant: false, start, ..joined };
                is_copied = true;
            }
            Self::copy(octets, self.program, span);
            joined.len += span.len;
        }
        Ok(joined)
    }

    fn convert(&mut self, conversion: Conversion, of: TextId) -> Result<ByteSpan, EvaluationError> {
        let span = self.text(of)?;
        let program = self.program;
        let change = match conversion {
            Conversion::Lower => <[u8]>::make_ascii_lowercase,
            Conversion::Upper => <[u8]>::make_ascii_uppercase,
            _ => {
                let short = texts::convert(conversion, self.work.octets(program, span))?;
                return Ok(self.work.append(|octets| octets.extend_from_slice(short.octets())));
            }
        };
        self.check_room(span.len as usize)?;
        Ok(self.work.append(|octets| {
            let start = octets.len();
            Self::copy(octets, program, span);
            change(&mut octets[start..]);
        }))
    }

    fn hex(&mut self, of: TextId, separator: TextId) -> Result<ByteSpan, EvaluationError> {
        let (span, separator) = (self.text(of)?, self.text(separator)?);
        let program = self.program;
        self.check_room(span.len as usize * (2 + separator.len as usize))?;
        Ok(self.work.append(|octets| {
            for at in span.range() {
                if at > span.start as usize {
                    Self::copy(octets, program, separator);
                }
                let all = if span.is_constant { &program.constants } else { &*octets };
                let digits = texts::digits(all[at]);
                octets.extend_from_slice(&digits);
            }
        }))
    }
}
