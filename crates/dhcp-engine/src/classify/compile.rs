//! Compiler from expression trees of client classes to programs.

use dhcp_config::expression::{Condition, Conversion, Term, TextExpression};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::ClassIndex;
use super::program::{
    ByteSpan, ComparisonKey, ExpressionProgram, Test, TextId, TextNode, TextOperation,
};
use super::texts;

type Map<K, V> = HashMap<K, V, FixedState>;

/// Compiler of one class program from expression trees.
pub(super) struct Compiler<'c> {
    program: ExpressionProgram,
    /// Function from the name of a class to its index; no client is ever in a class without an
    /// index.
    classes: &'c dyn Fn(&str) -> Option<ClassIndex>,
    constants: Map<Box<[u8]>, ByteSpan>,
    texts: Map<TextOperation, TextId>,
    keys: Map<TextId, u32>,
    values: Map<(u32, ByteSpan), u32>,
}

impl<'c> Compiler<'c> {
    pub(super) fn new(classes: &'c dyn Fn(&str) -> Option<ClassIndex>) -> Self {
        Self {
            program: ExpressionProgram::default(),
            classes,
            constants: Map::default(),
            texts: Map::default(),
            keys: Map::default(),
            values: Map::default(),
        }
    }

    pub(super) fn finish(mut self) -> ExpressionProgram {
        self.program.finish();
        self.program
    }

    fn add(&mut self, make: TextOperation, may_fail: bool, is_volatile: bool) -> TextId {
        if let Some(&id) = self.texts.get(&make) {
            return id;
        }
        let id = self.program.texts.len() as TextId;
        self.texts.insert(make.clone(), id);
        self.program.texts.push(TextNode { make, may_fail, is_volatile });
        id
    }

    fn constant(&mut self, octets: &[u8]) -> TextId {
        let span = match self.constants.get(octets) {
            Some(&span) => span,
            None => {
                let all = &mut self.program.constants;
                let (start, len) = (all.len() as u32, octets.len() as u32);
                all.extend_from_slice(octets);
                let span = ByteSpan { is_constant: true, start, len };
                self.constants.insert(octets.into(), span);
                span
            }
        };
        self.add(TextOperation::Constant(span), false, false)
    }

    fn fault(&mut self) -> TextId {
        self.add(TextOperation::Fault, true, false)
    }

    fn octets(&self, id: TextId) -> Option<&[u8]> {
        self.program.constant(id)
    }

    fn is_fault(&self, id: TextId) -> bool {
        self.program.text(id).make == TextOperation::Fault
    }

    /// Adds to the program a text that `make` computes from the texts `parts`, and returns its id.
    fn add_text(&mut self, make: TextOperation, parts: &[TextId], may_fail: bool) -> TextId {
        if parts.iter().any(|part| self.is_fault(*part)) {
            return self.fault();
        }
        let node = |part: &TextId| self.program.text(*part);
        let may_fail = may_fail || parts.iter().any(|part| node(part).may_fail);
        let is_volatile = parts.iter().any(|part| node(part).is_volatile);
        self.add(make, may_fail, is_volatile)
    }

    pub(super) fn text(&mut self, text: &TextExpression) -> TextId {
        match text {
            TextExpression::Literal(octets) => self.constant(octets),
            TextExpression::Value(term) => self.term(term),
            TextExpression::Concat(parts) => self.concat(parts),
            TextExpression::Substring { of, start, length } => {
                let of = self.text(of);
                if let Some(octets) = self.octets(of) {
                    let octets = octets[texts::substring(octets.len(), *start, *length)].to_vec();
                    return self.constant(&octets);
                }
                if (*start, *length) == (0, None) {
                    return of;
                }
                let make = TextOperation::Substring { of, start: *start, length: *length };
                self.add_text(make, &[of], false)
            }
            TextExpression::Split { of, delimiters, field } => {
                let (of, delimiters, field) = (self.text(of), self.text(delimiters), *field);
                if let (Some(octets), Some(signs)) = (self.octets(of), self.octets(delimiters)) {
                    let octets = octets[texts::split(octets, signs, field)].to_vec();
                    return self.constant(&octets);
                }
                self.add_text(
                    TextOperation::Split { of, delimiters, field },
                    &[of, delimiters],
                    false,
                )
            }
            TextExpression::Convert(conversion, of) => self.convert(*conversion, of),
            TextExpression::Hex { of, separator } => {
                let (of, separator) = (self.text(of), self.text(separator));
                if let (Some(octets), Some(between)) = (self.octets(of), self.octets(separator)) {
                    let digits: Vec<_> = octets.iter().map(|&octet| texts::digits(octet)).collect();
                    let pieces: Vec<&[u8]> = digits.iter().map(|pair| &pair[..]).collect();
                    let octets = pieces.join(between);
                    return self.constant(&octets);
                }
                self.add_text(TextOperation::Hex { of, separator }, &[of, separator], false)
            }
            TextExpression::Choice { condition, then, otherwise, strict } => {
                let condition = self.condition(condition);
                let (then, otherwise) = (self.text(then), self.text(otherwise));
                self.choice(condition, then, otherwise, *strict)
            }
        }
    }

    pub(super) fn term(&mut self, term: &Term) -> TextId {
        self.add(TextOperation::Term(term.clone()), false, false)
    }

    fn concat(&mut self, parts: &[TextExpression]) -> TextId {
        let mut flat: Vec<TextId> = Vec::new();
        for part in parts {
            let part = self.text(part);
            match self.program.text(part).make.clone() {
                TextOperation::Concat(inner) => flat.extend(inner),
                _ => flat.push(part),
            }
        }
        let mut joined: Vec<TextId> = Vec::new();
        for part in flat {
            if let Some(octets) = self.octets(part) {
                let before = joined.last().and_then(|last| self.octets(*last));
                let is_behind_constant = before.is_some();
                let whole = [before.unwrap_or_default(), octets].concat();
                let whole = self.constant(&whole);
                joined.truncate(joined.len() - usize::from(is_behind_constant));
                joined.push(whole);
            } else {
                joined.push(part);
            }
        }
        joined.retain(|part| self.octets(*part) != Some(&[]));
        match joined[..] {
            [] => self.constant(&[]),
            [part] => part,
            _ => self.add_text(TextOperation::Concat(joined.clone().into()), &joined, false),
        }
    }

    fn convert(&mut self, conversion: Conversion, of: &TextExpression) -> TextId {
        let of = self.text(of);
        let changes_letters = matches!(conversion, Conversion::Lower | Conversion::Upper);
        let Some(octets) = self.octets(of) else {
            return self.add_text(TextOperation::Convert(conversion, of), &[of], !changes_letters);
        };
        let converted = match conversion {
            Conversion::Lower => Ok(octets.to_ascii_lowercase()),
            Conversion::Upper => Ok(octets.to_ascii_uppercase()),
            _ => texts::convert(conversion, octets).map(|short| short.octets().to_vec()),
        };
        match converted {
            Ok(octets) => self.constant(&octets),
            Err(texts::EvaluationError) => self.fault(),
        }
    }

    fn choice(&mut self, condition: Test, then: TextId, otherwise: TextId, strict: bool) -> TextId {
        let may_fail = |id: TextId| self.program.text(id).may_fail;
        let is_strict = strict && (may_fail(then) || may_fail(otherwise));
        match condition {
            Test::Fault => return self.fault(),
            Test::Constant(value) if !is_strict => return if value { then } else { otherwise },
            _ if then == otherwise && !self.may_fail(&condition) => return then,
            _ => {}
        }
        let may_fail = may_fail(then) || may_fail(otherwise) || self.may_fail(&condition);
        let is_volatile = self.is_volatile(&condition)
            || [then, otherwise].iter().any(|id| self.program.text(*id).is_volatile);
        let condition = Box::new(condition);
        self.add(
            TextOperation::Choice { condition, then, otherwise, is_strict },
            may_fail,
            is_volatile,
        )
    }

    pub(super) fn condition(&mut self, condition: &Condition) -> Test {
        match condition {
            Condition::Equal(left, right) => {
                let (left, right) = (self.text(left), self.text(right));
                self.equal(left, right)
            }
            Condition::Exists(term) => Test::Exists(self.term(term)),
            Condition::Member(name) => match (self.classes)(name) {
                Some(class) => Test::Member(class),
                None => Test::Constant(false),
            },
            Condition::Matches(pattern, text) => {
                let text = self.text(text);
                match self.octets(text) {
                    Some(octets) => Test::Constant(pattern.matches(octets)),
                    None if self.is_fault(text) => Test::Fault,
                    None => Test::Matches(pattern.clone(), text),
                }
            }
            Condition::Not(condition) => match self.condition(condition) {
                Test::Constant(value) => Test::Constant(!value),
                Test::Not(test) => *test,
                Test::Fault => Test::Fault,
                test => Test::Not(Box::new(test)),
            },
            Condition::All { parts, strict } => self.chain(parts, *strict, true),
            Condition::Any { parts, strict } => self.chain(parts, *strict, false),
        }
    }

    fn equal(&mut self, left: TextId, right: TextId) -> Test {
        if self.is_fault(left) || self.is_fault(right) {
            return Test::Fault;
        }
        let (text, value) = match (self.octets(left), self.octets(right)) {
            (Some(_), Some(_)) => return Test::Constant(left == right),
            (None, Some(_)) => (left, right),
            (Some(_), None) => (right, left),
            (None, None) => {
                let is_same = left == right && !self.program.text(left).may_fail;
                return if is_same { Test::Constant(true) } else { Test::Equal(left, right) };
            }
        };
        if self.program.text(text).is_volatile {
            return Test::Equal(text, value);
        }
        let TextOperation::Constant(span) = self.program.text(value).make else {
            unreachable!("one of them is constant")
        };
        let program = &mut self.program;
        let key = *self.keys.entry(text).or_insert_with(|| {
            program.keys.push(ComparisonKey::new(text));
            program.keys.len() as u32 - 1
        });
        let values = &mut program.keys[key as usize].values;
        let value = *self.values.entry((key, span)).or_insert_with(|| {
            values.push(span);
            values.len() as u32 - 1
        });
        Test::Is { key, value }
    }

    /// Compiles a chain of conditions of a class test, joined by `and` when `all` is true, else by
    /// `or`.
    fn chain(&mut self, parts: &[Condition], strict: bool, all: bool) -> Test {
        let tests: Vec<Test> = parts.iter().map(|part| self.condition(part)).collect();
        let is_strict = strict && tests.iter().any(|test| self.may_fail(test));
        let mut flat = Vec::new();
        for test in tests {
            match test {
                Test::All { parts, is_strict: inner } if all && inner == is_strict => {
                    flat.extend(parts);
                }
                Test::Any { parts, is_strict: inner } if !all && inner == is_strict => {
                    flat.extend(parts);
                }
                Test::Constant(value) if value == all => {}
                test => flat.push(test),
            }
        }
        // A part that decides the chain ends it; if no earlier part can fail, it is the value of
        // the chain.
        let decides = |test: &Test| *test == Test::Constant(!all);
        if !is_strict && let Some(end) = flat.iter().position(decides) {
            flat.truncate(end + 1);
            if !flat.iter().any(|test| self.may_fail(test)) {
                return Test::Constant(!all);
            }
        }
        match (flat.len(), all) {
            (0, _) => Test::Constant(all),
            (1, _) => flat.remove(0),
            (_, true) => Test::All { parts: flat.into(), is_strict },
            (_, false) => Test::Any { parts: flat.into(), is_strict },
        }
    }

    pub(super) fn may_fail(&self, test: &Test) -> bool {
        let text = |id: &TextId| self.program.text(*id).may_fail;
        match test {
            Test::Constant(_) | Test::Exists(_) | Test::Member(_) => false,
            Test::Is { key, .. } => text(&self.program.keys[*key as usize].text),
            Test::Equal(left, right) => text(left) || text(right),
            Test::Matches(_, of) => text(of),
            Test::Not(test) => self.may_fail(test),
            Test::All { parts, .. } | Test::Any { parts, .. } => {
                parts.iter().any(|part| self.may_fail(part))
            }
            Test::Fault => true,
        }
    }

    fn is_volatile(&self, test: &Test) -> bool {
        let text = |id: &TextId| self.program.text(*id).is_volatile;
        match test {
            Test::Constant(_) | Test::Exists(_) | Test::Is { .. } | Test::Fault => false,
            Test::Member(_) => true,
            Test::Equal(left, right) => text(left) || text(right),
            Test::Matches(_, of) => text(of),
            Test::Not(test) => self.is_volatile(test),
            Test::All { parts, .. } | Test::Any { parts, .. } => {
                parts.iter().any(|part| self.is_volatile(part))
            }
        }
    }
}
