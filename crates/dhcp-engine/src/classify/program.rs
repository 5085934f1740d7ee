//! Compiled class expressions: equal parts occur once, constants are computed, and comparisons with
//! constants become numbers that one look-up finds.

use core::hash::BuildHasher;

use dhcp_config::expression::{Conversion, Pattern, Term};
use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::ClassIndex;

/// Position of a text of a class program in [`ExpressionProgram::texts`].
pub(super) type TextId = u32;

/// Range of bytes of a text, among the constants of a class program or in the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ByteSpan {
    pub(super) is_constant: bool,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl ByteSpan {
    /// Returns the span of the bytes at `range` within this span.
    pub(super) fn part(self, range: core::ops::Range<usize>) -> Self {
        Self { start: self.start + range.start as u32, len: range.len() as u32, ..self }
    }

    pub(super) fn range(self) -> core::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// Operation that makes a text of a class expression from a message or from other texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TextOperation {
    Constant(ByteSpan),
    Term(Term),
    Concat(Box<[TextId]>),
    Substring {
        of: TextId,
        start: i32,
        length: Option<i32>,
    },
    Split {
        of: TextId,
        delimiters: TextId,
        field: i32,
    },
    Convert(Conversion, TextId),
    Hex {
        of: TextId,
        separator: TextId,
    },
    Choice {
        condition: Box<Test>,
        then: TextId,
        otherwise: TextId,
        is_strict: bool,
    },
    /// Operation that fails for every message: the text has no value.
    Fault,
}

/// Text that a class program computes, with the operation that makes it.
#[derive(Clone, Debug)]
pub(super) struct TextNode {
    pub(super) make: TextOperation,
    /// True if the operation that makes the text may fail for some message.
    pub(super) may_fail: bool,
    /// True if the text depends on classes, which change while a message is classified: then each
    /// use makes the text anew.
    pub(super) is_volatile: bool,
}

/// Compiled condition of a class expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Test {
    Constant(bool),
    /// Condition that a text of the message equals one of the constants that class tests compare it
    /// with.
    Is {
        key: u32,
        value: u32,
    },
    /// Condition that two texts of a class program are equal.
    Equal(TextId, TextId),
    /// Condition that the message has the term that a text reads.
    Exists(TextId),
    Member(ClassIndex),
    Matches(Pattern, TextId),
    Not(Box<Test>),
    All {
        parts: Box<[Test]>,
        is_strict: bool,
    },
    Any {
        parts: Box<[Test]>,
        is_strict: bool,
    },
    Fault,
}

/// Text of a class program that is compared with constants.
#[derive(Debug, Default)]
pub(super) struct ComparisonKey {
    pub(super) text: TextId,
    /// Constants that the text is compared with, by their numbers.
    pub(super) values: Vec<ByteSpan>,
    /// Table from the hash of a constant to the constant's number.
    table: HashTable<u32>,
}

impl ComparisonKey {
    pub(super) fn new(text: TextId) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Largest number of constants of a comparison key that are compared one by one instead of by hash.
const SCANNED_MAX: usize = 4;

/// Compiled parts of all class expressions of one configuration.
#[derive(Debug, Default)]
pub(super) struct ExpressionProgram {
    pub(super) constants: Vec<u8>,
    pub(super) texts: Vec<TextNode>,
    pub(super) keys: Vec<ComparisonKey>,
}

/// Returns the hash of a constant, or of the bytes of a message that are compared with constants.
/// The bytes of a message come from any client. Many bytes with colliding hashes must not cost more
/// than one comparison with each constant, and they do not.
fn hash(octets: &[u8]) -> u64 {
    FixedState::default().hash_one(octets)
}

impl ExpressionProgram {
    pub(super) fn text(&self, id: TextId) -> &TextNode {
        &self.texts[id as usize]
    }

    /// Returns the bytes of the text at `id` when it is a constant.
    pub(super) fn constant(&self, id: TextId) -> Option<&[u8]> {
        match self.text(id).make {
            TextOperation::Constant(span) => self.constants.get(span.range()),
            _ => None,
        }
    }

    /// Returns the number of the constant of `key` that equals `octets`; `None` when none does.
    #[inline]
    pub(super) fn value(&self, key: &ComparisonKey, octets: &[u8]) -> Option<u32> {
        let same = |number: &u32| &self.constants[key.values[*number as usize].range()] == octets;
        if key.values.len() <= SCANNED_MAX {
            return (0..key.values.len() as u32).find(same);
        }
        key.table.find(hash(octets), same).copied()
    }

    /// Fills the tables by which the program finds the constants of its keys.
    pub(super) fn finish(&mut self) {
        let constants = &self.constants;
        for ComparisonKey { values, table, .. } in &mut self.keys {
            let hash_of = |number: &u32| hash(&constants[values[*number as usize].range()]);
            for number in 0..values.len() as u32 {
                table.insert_unique(hash_of(&number), number, hash_of);
            }
        }
    }
}
