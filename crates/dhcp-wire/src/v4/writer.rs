//! Writer of a DHCPv4 message into the caller's buffer.

use core::ops::Range;

use super::layout::{FILE, OPTIONS_AT, OVERLOAD_FILE, OVERLOAD_SNAME, SNAME};
use super::option::{END, OPTION_OVERLOAD, PAD};
use super::{Dhcp4Header, MessageType, OptionValue};
use crate::shared::NoRoom;

/// Length of option 52 in bytes, with code and length.
const OVERLOAD_LEN: usize = 3;
/// Maximum number of bytes of an option's value in one piece.
const PIECE_MAX: usize = 255;

/// DHCPv4 message being written. When a part does not fit, [`MessageWriter::finish`] fails, so a
/// chain of writes needs one check at the end.
///
/// Options appear in the order given. A value of more than 255 bytes is cut into pieces (RFC 3396).
/// With [`MessageWriter::allow_overload`], options that do not fit into the options field go to
/// `file` and then `sname`, unless these contain names (RFC 2132 §9.3).
#[derive(Debug)]
pub struct MessageWriter<'b> {
    buffer: &'b mut [u8],
    /// End of the written part of the options field, as an offset in the buffer.
    len: usize,
    /// Ends of the written parts of `file` and `sname`, as offsets in the buffer; `None` for a
    /// field without options.
    spilled: [Option<usize>; 2],
    /// True, for `file` and for `sname`, if the field contains a name.
    is_named: [bool; 2],
    may_overload: bool,
    /// Offset of the value of option 52 in the buffer; 0 = not written.
    overload_at: usize,
    /// Set with one bit per option code that has a piece in `file` or `sname`.
    spilled_codes: [u64; 4],
    /// Number of bytes at the end of the options field that are reserved for later options.
    reserved: usize,
    failed: bool,
}

/// Fields `file` and `sname`, in the order in which they are read and filled, each with its bit of
/// option 52.
const FIELDS: [(Range<usize>, u8); 2] = [(FILE, OVERLOAD_FILE), (SNAME, OVERLOAD_SNAME)];

impl<'b> MessageWriter<'b> {
    /// Creates a writer and begins a DHCPv4 message with `header` in `buffer`.
    pub fn new(buffer: &'b mut [u8], header: &Dhcp4Header) -> Self {
        let failed = match buffer.first_chunk_mut::<OPTIONS_AT>() {
            Some(fixed) => {
                header.write(fixed);
                false
            }
            None => true,
        };
        Self {
            buffer,
            len: OPTIONS_AT,
            spilled: [None; 2],
            is_named: [false; 2],
            may_overload: false,
            overload_at: 0,
            spilled_codes: [0; 4],
            reserved: 0,
            failed,
        }
    }

    /// Sets the server's name, at most 64 bytes. Call it before any option.
    pub fn sname(&mut self, name: &[u8]) -> &mut Self {
        self.name(1, name)
    }

    /// Sets the boot file's name, at most 128 bytes. Call it before any option.
    pub fn file(&mut self, name: &[u8]) -> &mut Self {
        self.name(0, name)
    }

    fn name(&mut self, index: usize, name: &[u8]) -> &mut Self {
        assert!(self.spilled[index].is_none(), "names are set before options");
        let field = FIELDS[index].0.clone();
        if self.failed || name.len() > field.len() {
            self.failed = true;
        } else {
            let (text, rest) = self.buffer[field].split_at_mut(name.len());
            text.copy_from_slice(name);
            rest.fill(0);
            self.is_named[index] = !name.is_empty();
        }
        self
    }

    /// Sets whether options may go to the fields `file` and `sname` (option 52). The default is
    /// false: many clients do not look there.
    pub fn allow_overload(&mut self, may_overload: bool) -> &mut Self {
        self.may_overload = may_overload;
        self
    }

    /// Appends the option `code` with `value` to the message. Readers join the values of several
    /// calls with one code (RFC 3396). Option 52 is the writer's own and is left out when given.
    ///
    /// # Panics
    ///
    /// Panics when `code` is PAD or END, which have no value.
    #[inline]
    pub fn option(&mut self, code: u8, value: &[u8]) -> &mut Self {
        let end = self.len + 2 + value.len();
        // Nearly always: one piece, after those before it, in the options field.
        if value.len() <= PIECE_MAX
            && end + OVERLOAD_LEN + self.reserved < self.buffer.len()
            && self.spilled == [None; 2]
            && !self.failed
            && !matches!(code, PAD | END | OPTION_OVERLOAD)
        {
            let target = &mut self.buffer[self.len..end];
            (target[0], target[1]) = (code, value.len() as u8);
            target[2..].copy_from_slice(value);
            self.len = end;
            return self;
        }
        self.place_octets(code, value)
    }

    #[inline(never)]
    fn place_octets(&mut self, code: u8, value: &[u8]) -> &mut Self {
        self.place(code, value.len(), |start, target: &mut [u8]| {
            target.copy_from_slice(&value[start..start + target.len()]);
        })
    }

    /// Appends the option `code` with a value from another message.
    ///
    /// # Panics
    ///
    /// Panics when `code` is PAD or END, which have no value.
    pub fn option_value(&mut self, code: u8, value: OptionValue<'_>) -> &mut Self {
        if let Some(octets) = value.as_slice() {
            return self.option(code, octets);
        }
        self.place(code, value.len(), |start, target: &mut [u8]| {
            let piece = value.range(start, target.len()).expect("a piece of the value");
            piece.copy_to(target).expect("as long as the piece");
        })
    }

    /// Appends the message type (option 53).
    pub fn message_type(&mut self, message_type: MessageType) -> &mut Self {
        self.option(super::option::DHCP_MESSAGE_TYPE, &[message_type.code()])
    }

    /// Appends the option `code` with a value of four bytes: a number or, by its bits, an address.
    pub fn option_u32(&mut self, code: u8, value: u32) -> &mut Self {
        self.option(code, &value.to_be_bytes())
    }

    /// Returns the number of free bytes in the options field, without END and reserved bytes.
    pub const fn free_bytes(&self) -> usize {
        self.buffer.len().saturating_sub(self.len + 1 + self.reserved)
    }

    /// Reserves `octets` bytes of the options field for later options, until the next call; 0 frees
    /// them for these options.
    pub const fn reserve(&mut self, octets: usize) -> &mut Self {
        self.reserved = octets;
        self
    }

    /// Returns true if an option `code` with a value of `len` bytes still fits.
    pub fn takes(&self, code: u8, len: usize) -> bool {
        let is_whole = !self.is_spilled(code) && encoded_len(len) <= self.free(0);
        let first = match self.spilled {
            _ if !self.is_spilled(code) => 0,
            [_, Some(_)] => 2,
            _ => 1,
        };
        let in_pieces = || (first..3).map(|place| value_len(self.free(place))).sum::<usize>();
        !self.failed && (is_whole || (self.may_overload && in_pieces() >= len.max(1)))
    }

    /// Ends the message with END and zeros up to `minimum_len` bytes, and returns its length in
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns [`NoRoom`] when a written part, or `minimum_len`, did not fit.
    pub fn finish(&mut self, minimum_len: usize) -> Result<usize, NoRoom> {
        let len = minimum_len.max(self.len + 1);
        if self.failed || len > self.buffer.len() {
            return Err(NoRoom);
        }
        for end in self.spilled.into_iter().flatten() {
            self.buffer[end] = END;
        }
        self.buffer[self.len] = END;
        self.buffer[self.len + 1..len].fill(PAD);
        Ok(len)
    }

    fn place(&mut self, code: u8, len: usize, copy: impl Fn(usize, &mut [u8])) -> &mut Self {
        assert!(code != PAD && code != END, "PAD and END have no value");
        if self.failed || code == OPTION_OVERLOAD {
            return self;
        }
        if self.is_spilled(code) || encoded_len(len) > self.free(0) {
            self.failed = !(self.may_overload && self.spill(code, len, copy));
        } else {
            self.write(0, code, 0..len, &copy);
        }
        self
    }

    /// Writes an option that does not fit into the options field: whole into `file` or `sname` if
    /// one of them has room, otherwise in pieces over all fields. Returns false when there is no
    /// room.
    fn spill(&mut self, code: u8, len: usize, copy: impl Fn(usize, &mut [u8])) -> bool {
        // Pieces are joined in the order of the places, so a code never goes back to an earlier
        // place.
        let first = match self.spilled {
            _ if !self.is_spilled(code) => 0,
            [_, Some(_)] => 2,
            _ => 1,
        };
        if let Some(place) = (first..3).find(|&place| encoded_len(len) <= self.free(place)) {
            self.write(place, code, 0..len, &copy);
            return true;
        }
        let mut start = 0;
        for place in first..3 {
            let fitting = value_len(self.free(place)).min(len - start);
            if fitting > 0 {
                self.write(place, code, start..start + fitting, &copy);
                start += fitting;
            }
        }
        start == len && len > 0
    }

    /// Returns the number of bytes that pieces of options can take in the field `place`: 0 =
    /// options field, 1 = `file`, 2 = `sname`. The bytes for END and option 52 are subtracted.
    fn free(&self, place: usize) -> usize {
        if place == 0 {
            let may_need_overload =
                self.may_overload && self.overload_at == 0 && self.is_named != [true; 2];
            let reserve = if may_need_overload { OVERLOAD_LEN } else { 0 };
            return self.free_bytes().saturating_sub(reserve);
        }
        let field = &FIELDS[place - 1].0;
        // Without option 52 in the options field no reader would look here.
        let is_closed =
            self.is_named[place - 1] || (self.overload_at == 0 && self.free_bytes() < OVERLOAD_LEN);
        if is_closed { 0 } else { field.end - 1 - self.spilled[place - 1].unwrap_or(field.start) }
    }

    /// Writes the part `part` of an option's value, which fits, into the field `place`, in pieces.
    fn write(
        &mut self,
        place: usize,
        code: u8,
        part: Range<usize>,
        copy: &impl Fn(usize, &mut [u8]),
    ) {
        let mut at = if place == 0 { self.len } else { self.open(place - 1, code) };
        let mut start = part.start;
        loop {
            let len = (part.end - start).min(PIECE_MAX);
            let target = &mut self.buffer[at..at + 2 + len];
            target[0] = code;
            target[1] = len as u8;
            copy(start, &mut target[2..]);
            at += 2 + len;
            start += len;
            if start == part.end {
                break;
            }
        }
        if place == 0 {
            self.len = at;
        } else {
            self.spilled[place - 1] = Some(at);
        }
    }

    /// Prepares the field `file` or `sname` for options, if it has none yet, and returns the end of
    /// its contents.
    fn open(&mut self, index: usize, code: u8) -> usize {
        if self.overload_at == 0 {
            self.buffer[self.len..self.len + OVERLOAD_LEN].copy_from_slice(&[
                OPTION_OVERLOAD,
                1,
                0,
            ]);
            self.overload_at = self.len + 2;
            self.len += OVERLOAD_LEN;
        }
        let (field, bit) = &FIELDS[index];
        self.buffer[self.overload_at] |= bit;
        self.spilled_codes[usize::from(code >> 6)] |= 1 << (code & 63);
        self.spilled[index].unwrap_or(field.start)
    }

    const fn is_spilled(&self, code: u8) -> bool {
        self.spilled_codes[(code >> 6) as usize] & (1 << (code & 63)) != 0
    }
}

/// Returns the number of bytes that an option's value of `len` bytes takes with the code and length
/// of each piece.
pub const fn encoded_len(len: usize) -> usize {
    len + 2 * if len == 0 { 1 } else { len.div_ceil(PIECE_MAX) }
}

/// Returns the length in bytes of the longest option value that fits into `free` bytes.
const fn value_len(free: usize) -> usize {
    let whole = free / (PIECE_MAX + 2);
    whole * PIECE_MAX + (free % (PIECE_MAX + 2)).saturating_sub(2)
}

#[cfg(test)]
mod tests {
    use super::super::{Message, option};
    use super::*;

    #[test]
    fn long_values_are_cut_into_pieces_of_255() {
        let value: [u8; 600] = core::array::from_fn(|n| n as u8);
        let mut buffer = [0xee; 1_200];
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        writer.message_type(MessageType::Ack).option(230, &value).option(231, &[]);
        let len = writer.finish(0).unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        assert_eq!(message.option(230).unwrap(), value);
        assert!(message.option(230).unwrap().fragments().map(<[u8]>::len).eq([255, 255, 90]));
        assert!(message.option(231).unwrap().is_empty());
        assert_eq!(len, OPTIONS_AT + 3 + 606 + 2 + 1);
    }

    #[test]
    fn messages_are_padded_with_zeros_and_end_in_time() {
        let mut buffer = [0xee; 300];
        let len = MessageWriter::new(&mut buffer, &Dhcp4Header::default())
            .message_type(MessageType::Nak)
            .finish(300);
        assert_eq!(len, Ok(300));
        assert_eq!(buffer[240..244], [53, 1, 6, 255]);
        assert!(buffer[244..].iter().all(|&octet| octet == 0));
        assert_eq!(
            MessageWriter::new(&mut buffer, &Dhcp4Header::default()).finish(301),
            Err(NoRoom)
        );
        assert_eq!(
            MessageWriter::new(&mut buffer[..240], &Dhcp4Header::default()).finish(0),
            Err(NoRoom)
        );
        assert_eq!(
            MessageWriter::new(&mut buffer[..239], &Dhcp4Header::default()).finish(0),
            Err(NoRoom)
        );
        assert_eq!(
            MessageWriter::new(&mut buffer[..241], &Dhcp4Header::default()).finish(0),
            Ok(241)
        );
    }

    #[test]
    fn what_does_not_fit_fails_unless_it_may_spill() {
        for may_overload in [false, true] {
            let mut buffer = [0; 260];
            let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
            writer.allow_overload(may_overload).message_type(MessageType::Ack);
            writer.option(option::DOMAIN_NAME, &[b'd'; 40]).option(option::HOST_NAME, b"h");
            let finished = writer.finish(0);
            assert_eq!(finished.is_ok(), may_overload);
            let Ok(len) = finished else { continue };
            let message = Message::parse(&buffer[..len]).unwrap();
            assert_eq!(message.option(option::DOMAIN_NAME).unwrap(), [b'd'; 40]);
            assert_eq!(message.host_name().unwrap(), *b"h");
            assert_eq!(message.option(option::OVERLOAD).unwrap(), [OVERLOAD_FILE]);
            assert_eq!(buffer[FILE.start + 42], END, "RFC 2132 §9.3 wants it");
        }
    }

    #[test]
    fn fields_with_names_are_not_overloaded() {
        let mut buffer = [0; 260];
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        writer.allow_overload(true).file(b"boot").option(230, &[7; 50]);
        let len = writer.finish(0).unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        assert_eq!((message.file(), message.sname()), (&b"boot"[..], &[][..]));
        assert_eq!(message.option(option::OVERLOAD).unwrap(), [OVERLOAD_SNAME]);
        assert_eq!(message.option(230).unwrap(), [7; 50]);
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        writer.allow_overload(true).file(b"boot").sname(b"s").option(230, &[7; 50]);
        assert_eq!(writer.finish(0), Err(NoRoom));
    }

    #[test]
    fn every_size_that_can_be_spilled_is_read_back() {
        let value: [u8; 400] = core::array::from_fn(|n| n as u8);
        let mut fitted = 0;
        for room in 0..140 {
            for len in 0..value.len() {
                let mut buffer = [0xee; 400];
                let buffer = &mut buffer[..241 + room];
                let mut writer = MessageWriter::new(buffer, &Dhcp4Header::default());
                writer.allow_overload(true).option(1, &[1; 4]).option(230, &value[..len]);
                writer.option(230, b"tail").option(12, b"x");
                let Ok(end) = writer.finish(0) else { continue };
                let message = Message::parse(&buffer[..end]).unwrap();
                let joined = message.option(230).unwrap();
                assert!(joined.octets().eq(value[..len].iter().chain(b"tail").copied()));
                assert_eq!(message.option(12).unwrap(), *b"x", "{room} {len}");
                fitted += 1;
            }
        }
        assert!(fitted > 25_000, "{fitted}");
    }

    #[test]
    fn a_code_given_again_never_goes_to_an_earlier_place() {
        let mut buffer = [0; 250];
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        // `file` has 25 bytes left, too few for the first piece of 230 and enough for the second.
        writer.allow_overload(true).option(15, &[1; 100]).option(230, &[b'a'; 40]);
        writer.option(230, b"tail");
        let len = writer.finish(0).unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        let joined = message.option(230).unwrap();
        assert!(joined.octets().eq([b'a'; 40].into_iter().chain(*b"tail")));
    }

    #[test]
    fn the_last_name_given_counts() {
        let mut buffer = [0; 250];
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        writer.sname(b"curlew").sname(b"knot").file(&[b'f'; 128]);
        let len = writer.finish(0).unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        assert_eq!((message.sname(), message.file()), (&b"knot"[..], &[b'f'; 128][..]));
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        assert_eq!(writer.sname(&[b's'; 65]).finish(0), Err(NoRoom));
    }

    #[test]
    #[should_panic(expected = "names are set before options")]
    fn names_after_spilled_options_are_a_mistake() {
        let mut buffer = [0; 250];
        let mut writer = MessageWriter::new(&mut buffer, &Dhcp4Header::default());
        writer.allow_overload(true).option(230, &[7; 50]).file(b"boot");
    }

    #[test]
    fn what_is_said_to_fit_fits_and_what_is_reserved_stays() {
        for (value_len, may_overload, names) in
            [(10, false, 0), (40, true, 0), (130, true, 0), (254, true, 1), (300, true, 2)]
        {
            for len in 250..560 {
                let mut buffer = [0xee; 600];
                let mut writer = MessageWriter::new(&mut buffer[..len], &Dhcp4Header::default());
                writer.file(&b"boot"[..if names > 0 { 4 } else { 0 }]);
                writer.sname(&b"host"[..if names > 1 { 4 } else { 0 }]);
                writer.allow_overload(may_overload).reserve(9);
                let mut written = [false; 12];
                for (code, is_written) in (200..).zip(&mut written) {
                    *is_written = writer.takes(code, value_len);
                    if *is_written {
                        writer.option(code, &[code; 300][..value_len]);
                    }
                }
                writer.reserve(0).option(82, &[7; 7]);
                let len = writer.finish(0).unwrap();
                let message = Message::parse(&buffer[..len]).unwrap();
                assert_eq!(message.option(82).unwrap(), [7; 7]);
                for (code, is_written) in (200..).zip(written) {
                    let value = message.option(code);
                    assert_eq!(value.is_some(), is_written);
                    assert!(value.is_none_or(|value| value == [code; 300][..value_len]));
                }
            }
        }
    }
}
