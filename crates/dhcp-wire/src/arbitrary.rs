//! DHCP datagrams for tests, common to DHCPv4 and DHCPv6: kinds of datagrams, and changes to valid
//! messages.

use base::Random;

/// Recommended length of the buffer for a test datagram, in bytes; in a smaller one datagrams are
/// shorter.
pub const BUFFER_LEN: usize = 1_600;

/// Kind of a test datagram, by the way in which the generator made its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// DHCP message that strict parsing accepts.
    Sound,
    /// Valid DHCP message with one to four changes.
    Changed,
    /// Captured DHCP message with one to four changes.
    ChangedCapture,
    /// Datagram of random bytes after a valid DHCP header.
    NoiseAfterHeader,
    /// Datagram of random bytes.
    Noise,
}

/// Functions and constants with which one family, DHCPv4 or DHCPv6, makes its test datagrams. Each
/// function writes at the front of a buffer and returns the length of the datagram; 0 when there is
/// no room.
pub(crate) struct DatagramGenerator {
    /// Function that writes a DHCP message that the reader accepts.
    pub(crate) sound: fn(&mut Random, &mut [u8]) -> usize,
    /// Function that writes a header of a DHCP message, which options may follow.
    pub(crate) header: fn(&mut Random, &mut [u8]) -> usize,
    /// Offset of the options in a message, in bytes. The generator makes most changes from there
    /// on, where readers read most.
    pub(crate) options_at: usize,
    /// Byte values that DHCP readers treat specially, such as codes of options that they check: the
    /// generator prefers them when it changes a single byte.
    pub(crate) edges: &'static [u8],
    /// Function that changes code or length of one option of a DHCP message, if it has one.
    pub(crate) change_an_option: fn(&mut Random, &mut [u8]),
}

impl DatagramGenerator {
    /// Fills the front of `buffer` with a DHCP datagram of a random kind and returns the kind and
    /// its length in bytes. `captures` are messages to change, possibly none.
    pub(crate) fn datagram(
        &self,
        random: &mut Random,
        captures: &[&[u8]],
        buffer: &mut [u8],
    ) -> (DatagramKind, usize) {
        match random.below(20) {
            0..8 => (DatagramKind::Sound, (self.sound)(random, buffer)),
            8..13 => {
                let len = (self.sound)(random, buffer);
                (DatagramKind::Changed, self.change_some(random, buffer, len))
            }
            13..17 => {
                let Some(capture) = random.pick(captures) else {
                    return (DatagramKind::Sound, (self.sound)(random, buffer));
                };
                let len = capture.len().min(buffer.len());
                buffer[..len].copy_from_slice(&capture[..len]);
                (DatagramKind::ChangedCapture, self.change_some(random, buffer, len))
            }
            17..19 => {
                let len = (self.header)(random, buffer);
                let noise = random.below((buffer.len() - len).min(400) as u64 + 1) as usize;
                random.fill(&mut buffer[len..len + noise]);
                (DatagramKind::NoiseAfterHeader, len + noise)
            }
            _ => {
                let len = random.below(buffer.len().min(700) as u64 + 1) as usize;
                random.fill(&mut buffer[..len]);
                (DatagramKind::Noise, len)
            }
        }
    }

    fn change_some(&self, random: &mut Random, buffer: &mut [u8], len: usize) -> usize {
        (0..=random.below(4)).fold(len, |len, _| self.change(random, buffer, len))
    }

    /// Changes the datagram of `len` bytes at the front of `buffer` at one position: a bit, a byte,
    /// a length, its end, or a stretch duplicated or removed. Returns its new length.
    pub(crate) fn change(&self, random: &mut Random, buffer: &mut [u8], len: usize) -> usize {
        if len == 0 {
            return 0;
        }
        let is_long = len > self.options_at;
        let first = if is_long && random.chance(5, 6) { self.options_at } else { 0 };
        let at = first + random.below((len - first) as u64) as usize;
        match random.below(8) {
            0 | 1 => buffer[at] ^= 1 << random.below(8),
            2 | 3 => buffer[at] = random.pick(self.edges).copied().unwrap_or_default(),
            4 => return at,
            5 => {
                let stretch = 1 + random.below(((len - at).min(40)) as u64) as usize;
                let stretch = stretch.min(len - at).min(buffer.len() - len);
                buffer.copy_within(at..len, at + stretch);
                return len + stretch;
            }
            6 => {
                let stretch = (1 + random.below(40) as usize).min(len - at);
                buffer.copy_within(at + stretch..len, at);
                return len - stretch;
            }
            _ => (self.change_an_option)(random, &mut buffer[..len]),
        }
        len
    }
}
