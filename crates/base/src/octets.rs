//! Bounds-checked cursors over bytes, in network byte order.

/// Reader from the front of a byte slice; a read past the end returns `None` and moves nothing.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// Creates a reader over all of `octets`.
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// Returns the bytes that the reader has not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the number of bytes that the reader has not read yet.
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns true if the reader has read all bytes.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads the next `count` bytes; returns `None` if fewer are left.
    pub const fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((head, tail)) => {
                self.rest = tail;
                Some(head)
            }
            None => None,
        }
    }

    /// Reads the next `N` bytes as an array; returns `None` if fewer are left.
    pub const fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.rest = tail;
                Some(*head)
            }
            None => None,
        }
    }

    /// Reads one byte; returns `None` at the end.
    pub const fn u8(&mut self) -> Option<u8> {
        match self.array::<1>() {
            Some(a) => Some(a[0]),
            None => None,
        }
    }

    /// Reads two bytes as a big-endian number; returns `None` if fewer are left.
    pub const fn u16(&mut self) -> Option<u16> {
        match self.array() {
            Some(a) => Some(u16::from_be_bytes(a)),
            None => None,
        }
    }

    /// Reads four bytes as a big-endian number; returns `None` if fewer are left.
    pub const fn u32(&mut self) -> Option<u32> {
        match self.array() {
            Some(a) => Some(u32::from_be_bytes(a)),
            None => None,
        }
    }
}

/// Writer that appends to a fixed buffer. A write that does not fit writes nothing and makes every
/// later write fail as well, so a chain of writes needs one check at the end.
#[derive(Debug)]
pub struct ByteWriter<'b> {
    buffer: &'b mut [u8],
    len: usize,
    overflowed: bool,
}

impl<'b> ByteWriter<'b> {
    /// Creates a writer at the start of the fixed buffer `buffer`.
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0, overflowed: false }
    }

    /// Returns the number of bytes that the writer has written so far.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the writer has written nothing.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of bytes that still fit into the writer's buffer.
    pub const fn room(&self) -> usize {
        self.buffer.len() - self.len
    }

    /// Returns true once a write did not fit into the buffer.
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Appends the bytes `octets`.
    #[inline]
    pub fn put(&mut self, octets: &[u8]) -> &mut Self {
        if self.overflowed || octets.len() > self.room() {
            self.overflowed = true;
        } else {
            self.buffer[self.len..self.len + octets.len()].copy_from_slice(octets);
            self.len += octets.len();
        }
        self
    }

    /// Appends the byte slices `parts` in order, with one check of the room for all of them.
    #[inline]
    pub fn all<const PARTS: usize>(&mut self, parts: [&[u8]; PARTS]) -> &mut Self {
        let count: usize = parts.iter().map(|part| part.len()).sum();
        if self.overflowed || count > self.room() {
            self.overflowed = true;
            return self;
        }
        let mut rest = &mut self.buffer[self.len..self.len + count];
        for part in parts {
            let (target, behind) = rest.split_at_mut(part.len());
            target.copy_from_slice(part);
            rest = behind;
        }
        self.len += count;
        self
    }

    /// Appends `count` bytes that all have the value `value`.
    pub fn fill(&mut self, value: u8, count: usize) -> &mut Self {
        if self.overflowed || count > self.room() {
            self.overflowed = true;
        } else {
            self.buffer[self.len..self.len + count].fill(value);
            self.len += count;
        }
        self
    }

    /// Appends the byte `value`.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.put(&[value])
    }

    /// Appends `value` as two bytes, big-endian.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Appends `value` as four bytes, big-endian.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Returns the bytes that the writer has written, to read or to change.
    pub fn written(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end_and_move_nothing() {
        let mut reader = ByteReader::new(&[1, 2, 3, 4, 5]);
        assert_eq!(reader.u32(), Some(0x0102_0304));
        assert_eq!(reader.u16(), None);
        assert_eq!(reader.u8(), Some(5));
        assert!(reader.is_empty());
        assert_eq!(reader.take(0), Some(&[][..]));
    }

    #[test]
    fn an_overflowing_write_poisons_the_rest() {
        let mut buffer = [0; 3];
        let mut writer = ByteWriter::new(&mut buffer);
        writer.u16(0x0102).u32(9).u8(3);
        assert!(writer.overflowed());
        assert_eq!(writer.written(), [1, 2]);
    }
}
