//! Compiled packets: the bytes of a packet, and the parts of them that change from frame to frame.

/// Compiled packet with its changes from frame to frame. All positions that it refers to are inside
/// `octets`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketTemplate {
    /// Bytes of the packet's first frame, before its changes.
    pub octets: Vec<u8>,
    /// Numbers of the first and the last processor that send the packet; `None` for all processors.
    pub cpus: Option<(u32, u32)>,
    /// Counters of one byte in the packet, in order of appearance.
    pub(crate) counters: Vec<Counter>,
    /// Ranges of bytes that are random in each frame, as pairs (offset, count), in order of
    /// appearance.
    pub(crate) randoms: Vec<(usize, usize)>,
    /// Checksums among the elements of the packet text, in order of appearance.
    pub(crate) sums: Vec<ChecksumUpdate>,
    /// Header fields that change from frame to frame, in order of appearance.
    pub(crate) fields: Vec<FieldChange>,
    /// Checksums of headers that the changes touch, the innermost first.
    pub(crate) header_sums: Vec<ChecksumUpdate>,
}

impl PacketTemplate {
    /// Returns true if the packet's frames differ from each other.
    pub fn is_dynamic(&self) -> bool {
        !(self.counters.is_empty() && self.randoms.is_empty() && self.fields.is_empty())
    }
}

/// Counter of one byte (`dinc`, `ddec`) in a packet. It steps before the first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) at: usize,
    pub(crate) min: u8,
    /// Number of the counter's values from `min` on, 1 to 256; negative only when trafgen 0.6.8 is
    /// imitated.
    pub(crate) range: i32,
    pub(crate) step: u8,
    pub(crate) is_down: bool,
    /// Current value of the counter, counted from `min`.
    pub(crate) value: u8,
    /// True if decrements leave the counter's range as those of trafgen do.
    pub(crate) quirk: bool,
}

impl Counter {
    /// Steps the counter and returns its next value.
    pub(crate) fn next(&mut self) -> u8 {
        let (value, step) = (i32::from(self.value), i32::from(self.step));
        let next = match (self.is_down, self.quirk) {
            (false, _) => (value + step) % self.range,
            (true, true) => (value - step) % self.range,
            (true, false) => (value - step).rem_euclid(self.range),
        };
        self.value = next as u8;
        self.value.wrapping_add(self.min)
    }
}

/// Change from frame to frame of a header field, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldChange {
    pub(crate) slot: BitField,
    pub(crate) change: FieldChangeRule,
}

/// Field of bits inside 1, 2 or 4 bytes of a packet, or of more bytes without a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BitField {
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) shift: u32,
    pub(crate) mask: u32,
}

impl BitField {
    /// Reads the field's bits from the packet's bytes; in slots of more than four bytes, reads the
    /// last four bytes.
    pub(crate) fn read(&self, octets: &[u8]) -> u32 {
        let (at, len) = self.tail();
        (number_at(octets, at, len) >> self.shift) & self.bits()
    }

    /// Writes the field's bits and keeps their neighbours; in slots of more than four bytes, writes
    /// the last four bytes.
    pub(crate) fn write(&self, octets: &mut [u8], value: u32) {
        let (at, len) = self.tail();
        let others = number_at(octets, at, len) & !(self.bits() << self.shift);
        let new = others | ((value & self.bits()) << self.shift);
        octets[at..at + len].copy_from_slice(&new.to_be_bytes()[4 - len..]);
    }

    const fn tail(&self) -> (usize, usize) {
        if self.len > 4 { (self.at + self.len - 4, 4) } else { (self.at, self.len) }
    }

    const fn bits(&self) -> u32 {
        if self.len > 4 { u32::MAX } else { self.mask }
    }

    /// Returns the greatest number that fits into the field.
    pub(crate) const fn max(&self) -> u32 {
        self.bits()
    }
}

fn number_at(octets: &[u8], at: usize, len: usize) -> u32 {
    octets[at..at + len].iter().fold(0, |number, octet| number << 8 | u32::from(*octet))
}

/// Rule by which a field changes from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldChangeRule {
    /// Number that steps after each frame: at least `min`, modulo `modulus`; trafgen adds in 32
    /// bits.
    Increment { min: u64, modulus: u64, step: u64, value: u64, wraps_at_32: bool },
    /// Random number in each frame, from `min` on, out of `range` values.
    Random { min: u32, range: u64 },
    /// Random bits in the whole field in each frame.
    RandomBits,
}

/// Internet checksum (RFC 1071) of a packet, written after all bytes that it covers have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChecksumUpdate {
    /// Offset of the checksum in the packet, in bytes.
    pub(crate) at: usize,
    /// Offset of the first byte that the checksum covers; the next field is the offset after the
    /// last such byte.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) pseudo: PseudoHeader,
    /// True if the checksum covers a last byte without a second one; false if it ignores that byte.
    pub(crate) counts_odd: bool,
    /// True if the checksum 0 is sent as ffff (UDP, RFC 768).
    pub(crate) is_never_zero: bool,
}

/// Pseudo-header that a checksum covers, with the offset of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PseudoHeader {
    None,
    V4 { ip: usize, protocol: u8 },
    V6 { ip: usize, protocol: u8 },
}

impl ChecksumUpdate {
    /// Computes the checksum over the packet's bytes and writes it into them.
    pub(crate) fn write(&self, octets: &mut [u8]) {
        octets[self.at..self.at + 2].fill(0);
        let mut sum = self.total(octets);
        if sum == 0 && self.is_never_zero {
            sum = 0xffff;
        }
        octets[self.at..self.at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// Returns the checksum over the packet's bytes as they are.
    pub(crate) fn total(&self, octets: &[u8]) -> u16 {
        use packet_wire::checksum;
        let covered = &octets[self.from..self.to];
        let even = if self.counts_odd { covered.len() } else { covered.len() & !1 };
        let pseudo = match self.pseudo {
            PseudoHeader::None => checksum::ChecksumAccumulator::new(),
            PseudoHeader::V4 { ip, protocol } => checksum::ChecksumAccumulator::new()
                .with(&octets[ip + 12..ip + 20])
                .with(&u32::from(protocol).to_be_bytes())
                .with(&(covered.len() as u32).to_be_bytes()),
            PseudoHeader::V6 { ip, protocol } => checksum::ChecksumAccumulator::new()
                .with(&octets[ip + 8..ip + 40])
                .with(&u32::from(protocol).to_be_bytes())
                .with(&(covered.len() as u32).to_be_bytes()),
        };
        pseudo.with(&covered[..even]).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(min: u8, range: i32, step: u8, is_down: bool, quirk: bool) -> Vec<u8> {
        let value = if is_down { (range - 1) as u8 } else { 0 };
        let mut counter = Counter { at: 0, min, range, step, is_down, value, quirk };
        (0..9).map(|_| counter.next()).collect()
    }

    #[test]
    fn counters_step_before_the_first_frame_as_the_reference_does() {
        // The values that trafgen 0.6.8 sends for dinc(1,3), dinc(5,10,4), dinc(0,255,100),
        // dinc(5,9,7).
        assert_eq!(values(1, 3, 1, false, false)[..4], [2, 3, 1, 2]);
        assert_eq!(values(5, 6, 4, false, false)[..4], [9, 7, 5, 9]);
        assert_eq!(values(0, 256, 100, false, false)[..6], [100, 200, 44, 144, 244, 88]);
        assert_eq!(values(5, 5, 7, false, false), [7, 9, 6, 8, 5, 7, 9, 6, 8]);
        // The values of ddec(1,3), ddec(5,9,7), ddec(0,9,3), ddec(0,255,16) with its quirk.
        assert_eq!(values(1, 3, 1, true, true)[..6], [2, 1, 0, 3, 2, 1]);
        assert_eq!(values(5, 5, 7, true, true), [2, 6, 4, 8, 1, 5, 3, 7, 5]);
        assert_eq!(values(0, 10, 3, true, true)[..6], [6, 3, 0, 0xfd, 0, 0xfd]);
        assert_eq!(values(0, 256, 16, true, true)[..3], [0xef, 0xdf, 0xcf]);
        // Without the quirk, values stay inside of the range.
        assert_eq!(values(1, 3, 1, true, false)[..6], [2, 1, 3, 2, 1, 3]);
        assert_eq!(values(5, 5, 7, true, false)[..4], [7, 5, 8, 6]);
    }

    #[test]
    fn slots_keep_their_neighbours() {
        let mut octets = [0xff; 4];
        let slot = BitField { at: 0, len: 2, shift: 4, mask: 0xff };
        slot.write(&mut octets, 0x1a5);
        assert_eq!((octets, slot.read(&octets)), ([0xfa, 0x5f, 0xff, 0xff], 0xa5));
    }
}
