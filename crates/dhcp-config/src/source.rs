//! Texts of the parse of one configuration, and positions in them.

use std::sync::Arc;

use crate::problem::ConfigPosition;

/// Maximum width of the excerpt of a line that a problem shows, in characters: generated files are
/// often one line.
pub(crate) const EXCERPT_WIDTH: usize = 96;
/// Number of characters of a long line that an excerpt shows before the position.
const EXCERPT_LEAD: usize = 40;

/// Number of bytes of a text between two positions at which the number of characters is stored.
const BLOCK_BYTES: usize = 4_096;

/// Maximum length of a configuration text, in bytes, so that a position takes 32 bits.
pub(crate) const MAX_TEXT_BYTES: usize = u32::MAX as usize;

/// Position in a configuration: a text, and the byte offset in it. Orders by text, then offset.
/// Every value of a file has one, and there may be millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePosition {
    source: u32,
    offset: u32,
}

impl SourcePosition {
    /// Creates the position at the byte `offset` of the text with the index `source` (see
    /// [`Sources::add`]).
    pub(crate) const fn new(source: usize, offset: usize) -> Self {
        Self { source: source as u32, offset: offset as u32 }
    }

    /// Returns the index of the position's text.
    pub(crate) const fn source(self) -> usize {
        self.source as usize
    }

    /// Returns the number of bytes of the text before the position.
    pub(crate) const fn offset(self) -> usize {
        self.offset as usize
    }
}

/// Value of a configuration and its position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PositionedValue<T> {
    pub(crate) value: T,
    pub(crate) at: SourcePosition,
}

/// Text of a configuration, with the offsets where its lines begin.
#[derive(Debug)]
struct SourceText {
    name: String,
    text: Arc<str>,
    line_starts: Vec<usize>,
    /// Number of characters that begin before each block of [`BLOCK_BYTES`] bytes: a long line must
    /// not be counted from its start for every problem in it.
    characters: Vec<u32>,
}

impl SourceText {
    /// Returns the number of characters that begin in the first `offset` bytes of the text.
    fn characters_before(&self, offset: usize) -> u32 {
        let block = offset / BLOCK_BYTES;
        let rest = &self.text.as_bytes()[block * BLOCK_BYTES..offset];
        self.characters[block] + characters_in(rest)
    }
}

/// Returns the number of characters that begin in the UTF-8 bytes `octets`.
fn characters_in(octets: &[u8]) -> u32 {
    octets.iter().filter(|&&octet| octet & 0xc0 != 0x80).count() as u32
}

/// Texts of the parse of one configuration: the main one first, then each include in the order of
/// its reading.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    list: Vec<SourceText>,
}

impl Sources {
    /// Adds a text, which is not longer than [`MAX_TEXT_BYTES`] bytes; returns its index.
    pub(crate) fn add(&mut self, name: &str, text: Arc<str>) -> usize {
        let line_starts =
            core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut characters = vec![0];
        for block in text.as_bytes().chunks(BLOCK_BYTES) {
            characters.push(characters[characters.len() - 1] + characters_in(block));
        }
        self.list.push(SourceText { name: name.to_owned(), text, line_starts, characters });
        self.list.len() - 1
    }

    /// Returns the number of texts added so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the name of the text with the index `source`.
    pub(crate) fn name(&self, source: usize) -> &str {
        &self.list[source].name
    }

    /// Returns the text `file:line:column` for a position.
    pub(crate) fn describe(&self, at: SourcePosition) -> String {
        let (line, column) = self.line_and_column(at);
        format!("{}:{line}:{column}", self.list[at.source()].name)
    }

    pub(crate) fn line_and_column(&self, at: SourcePosition) -> (u32, u32) {
        let source = &self.list[at.source()];
        let line = source.line_starts.partition_point(|&start| start <= at.offset());
        let start = source.characters_before(source.line_starts[line - 1]);
        (line as u32, source.characters_before(at.offset()) - start + 1)
    }

    /// Returns the file, line and column of the position `at`, as problems show them.
    pub(crate) fn locate(&self, at: SourcePosition) -> ConfigPosition {
        let (line, column) = self.line_and_column(at);
        ConfigPosition { file: self.list[at.source()].name.clone(), line, column }
    }

    /// Returns the position in the string that begins at `at`, after `octets` bytes of its decoded
    /// value.
    pub(crate) fn inside(&self, at: SourcePosition, octets: usize) -> SourcePosition {
        let text = self.list[at.source()].text.as_bytes();
        let mut offset = at.offset() + 1;
        for _ in 0..octets {
            offset += match text.get(offset..) {
                Some([b'\\', b'u', ..]) => 6,
                Some([b'\\', ..]) => 2,
                _ => 1,
            };
        }
        SourcePosition::new(at.source(), offset.min(text.len()))
    }

    /// Returns the line around the position `at` without control characters, and the number of
    /// characters of the line before the position.
    pub(crate) fn excerpt(&self, at: SourcePosition) -> (String, usize) {
        let source = &self.list[at.source()];
        let line = source.line_starts.partition_point(|&start| start <= at.offset());
        let start = source.line_starts[line - 1];
        let before = &source.text[start..at.offset()];
        let after = source.text[at.offset()..].chars().take_while(|&c| c != '\n');
        let lead = before.chars().rev().take(EXCERPT_WIDTH).count();
        let lead = if lead < EXCERPT_WIDTH { lead } else { EXCERPT_LEAD };
        let head: Vec<char> = before.chars().rev().take(lead).collect();
        let characters = head.iter().rev().copied().chain(after.take(EXCERPT_WIDTH - lead));
        let clean: String = characters.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let indent = clean.chars().take(lead).take_while(|&c| c == ' ').count();
        (clean[indent..].trim_end().to_owned(), lead - indent)
    }
}
