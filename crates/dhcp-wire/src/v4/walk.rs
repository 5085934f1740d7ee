//! Iteration over the options of a DHCPv4 message, piece by piece, over the up to three fields that
//! contain them: the options field, `file`, `sname`, in this order (RFC 3396 §5).

use super::layout::{FILE, OVERLOAD_FILE, OVERLOAD_SNAME, SNAME};
use super::option::{END, PAD};

/// Next element in a field that contains DHCPv4 options: an option, the end, or an option that is
/// cut off.
pub(super) enum OptionWalkElement {
    /// Option whose length byte is at the offset `at` of the datagram.
    Option {
        /// Code of the DHCPv4 option.
        code: u8,
        /// Offset of the option's length byte in the datagram; the value follows.
        at: usize,
        /// Length of the option's value in bytes.
        len: u8,
    },
    /// End of the options: the END option or the end of the field.
    End,
    /// Option that the end of the field cuts off.
    Cut,
}

/// Reads the option at `position` in `place`, a prefix of the datagram that ends with a field of
/// options, and moves `position` after the option.
#[inline(always)]
pub(super) fn find(place: &[u8], position: &mut usize) -> OptionWalkElement {
    let mut at = *position;
    loop {
        let Some(&code) = place.get(at) else { return OptionWalkElement::End };
        at += 1;
        if code == PAD {
            continue;
        }
        if code == END {
            return OptionWalkElement::End;
        }
        let Some(&len) = place.get(at) else { return OptionWalkElement::Cut };
        let end = at + 1 + usize::from(len);
        if end > place.len() {
            return OptionWalkElement::Cut;
        }
        *position = end;
        return OptionWalkElement::Option { code, at, len };
    }
}

/// Iterator over every option of a DHCPv4 message as sent: pieces of a split option are separate,
/// in the order in which they are joined (RFC 3396 §7). Returns code and value.
#[derive(Clone, Copy, Debug)]
pub struct Instances<'a> {
    octets: &'a [u8],
    position: u16,
    /// Offset of the end of the field that is being read.
    end: u16,
    /// Bits of the fields that are read after this one: [`OVERLOAD_FILE`] and [`OVERLOAD_SNAME`],
    /// as in option 52.
    later: u8,
}

impl<'a> Instances<'a> {
    /// Iterator over no options.
    pub(super) const NONE: Self = Self { octets: &[], position: 0, end: 0, later: 0 };

    /// Returns an iterator from `position`, which is [`OPTIONS_AT`](super::layout::OPTIONS_AT) or
    /// the end of an option, in a message whose option 52 has the value `overload`.
    pub(super) fn from(octets: &'a [u8], position: usize, overload: u8) -> Self {
        let (end, later) = if position <= SNAME.end {
            (SNAME.end, 0)
        } else if position <= FILE.end {
            (FILE.end, overload & OVERLOAD_SNAME)
        } else {
            (octets.len(), overload)
        };
        Self { octets, position: position as u16, end: end as u16, later }
    }

    /// Returns the next option or piece of one, as code, offset of its length byte, and value.
    #[inline]
    pub(super) fn next_at(&mut self) -> Option<(u8, usize, &'a [u8])> {
        loop {
            let place = self.octets.get(..usize::from(self.end)).unwrap_or_default();
            let mut position = usize::from(self.position);
            if let OptionWalkElement::Option { code, at, len } = find(place, &mut position) {
                self.position = position as u16;
                let value = place.get(at + 1..at + 1 + usize::from(len)).unwrap_or_default();
                return Some((code, at, value));
            }
            let next = if self.later & OVERLOAD_FILE != 0 {
                self.later &= !OVERLOAD_FILE;
                FILE
            } else if self.later & OVERLOAD_SNAME != 0 {
                self.later &= !OVERLOAD_SNAME;
                SNAME
            } else {
                self.position = self.end;
                return None;
            };
            self.position = next.start as u16;
            self.end = next.end as u16;
        }
    }
}

impl<'a> Iterator for Instances<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_at().map(|(code, _, value)| (code, value))
    }
}
