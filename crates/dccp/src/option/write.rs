//! Writer of the options of a DCCP packet. When an option does not fit, the writer leaves it out
//! and returns false.

use super::{DccpOption, FeatureOption, number};

/// Writer that appends DCCP options to an area of fixed size.
#[derive(Debug)]
pub struct DccpOptionWriter<'b> {
    area: &'b mut [u8],
    len: usize,
}

impl<'b> DccpOptionWriter<'b> {
    /// Returns a writer that begins at the start of the option area `area`.
    pub const fn new(area: &'b mut [u8]) -> Self {
        Self { area, len: 0 }
    }

    /// Returns the number of option bytes written so far.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no option is written yet.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of bytes that still fit into the option area.
    pub const fn room(&self) -> usize {
        self.area.len() - self.len
    }

    /// Returns the bytes of the options written so far.
    pub fn written(&self) -> &[u8] {
        &self.area[..self.len]
    }

    /// Removes all options after the first `len` bytes.
    pub const fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
        }
    }

    /// Appends an option of type `number` whose value is the concatenation of the pieces. Returns
    /// false and writes nothing when the option does not fit or is longer than 255 bytes.
    pub fn pieces(&mut self, number: u8, pieces: &[&[u8]]) -> bool {
        let len = 2 + pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let Ok(len_octet) = u8::try_from(len) else { return false };
        if len > self.room() {
            return false;
        }
        self.area[self.len] = number;
        self.area[self.len + 1] = len_octet;
        let mut at = self.len + 2;
        for piece in pieces {
            self.area[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        self.len = at;
        true
    }

    /// Appends an option to the area. Returns false and writes nothing when it does not fit.
    pub fn put(&mut self, option: DccpOption<'_>) -> bool {
        match option {
            DccpOption::Padding | DccpOption::Mandatory | DccpOption::SlowReceiver => {
                self.single(option.number())
            }
            DccpOption::Unknown { number: number @ ..32, .. } => self.single(number),
            DccpOption::Unknown { number, value } => self.pieces(number, &[value]),
            DccpOption::Feature { kind, feature, value } => self.feature(kind, feature, &[value]),
            DccpOption::InitCookie(value)
            | DccpOption::AckVector { runs: value, .. }
            | DccpOption::DataDropped(value) => self.pieces(option.number(), &[value]),
            DccpOption::NdpCount(count) => {
                let octets = count.to_be_bytes();
                let zeros = octets.iter().take(7).take_while(|&&octet| octet == 0).count();
                self.pieces(number::NDP_COUNT, &[&octets[zeros.max(2)..]])
            }
            DccpOption::Timestamp(time) => self.pieces(number::TIMESTAMP, &[&time.to_be_bytes()]),
            DccpOption::TimestampEcho { echo, elapsed_10us } => {
                let (octets, skip) = shortest(elapsed_10us);
                let skip = if elapsed_10us == 0 { 4 } else { skip };
                self.pieces(number::TIMESTAMP_ECHO, &[&echo.to_be_bytes(), &octets[skip..]])
            }
            DccpOption::ElapsedTime(elapsed_10us) => {
                let (octets, skip) = shortest(elapsed_10us);
                self.pieces(number::ELAPSED_TIME, &[&octets[skip..]])
            }
            DccpOption::DataChecksum(crc) => {
                self.pieces(number::DATA_CHECKSUM, &[&crc.to_le_bytes()])
            }
        }
    }

    /// Appends a feature option (Change or Confirm) whose value is the concatenation of the pieces.
    pub fn feature(&mut self, kind: FeatureOption, feature: u8, pieces: &[&[u8]]) -> bool {
        let mut all: [&[u8]; 4] = [&[]; 4];
        let feature = [feature];
        all[0] = &feature;
        assert!(pieces.len() < all.len(), "a value and a list at most");
        all[1..=pieces.len()].copy_from_slice(pieces);
        self.pieces(kind.number(), &all)
    }

    fn single(&mut self, number: u8) -> bool {
        let fits = self.room() > 0;
        if fits {
            self.area[self.len] = number;
            self.len += 1;
        }
        fits
    }
}

/// Returns an elapsed time as four bytes, and the number of leading bytes to leave out: two if two
/// suffice (RFC 4340 §13.2).
const fn shortest(elapsed_10us: u32) -> ([u8; 4], usize) {
    (elapsed_10us.to_be_bytes(), if elapsed_10us <= u16::MAX as u32 { 2 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::DccpOptionIterator;

    fn written(option: DccpOption<'_>) -> Vec<u8> {
        let mut area = [0; 300];
        let mut writer = DccpOptionWriter::new(&mut area);
        assert!(writer.put(option));
        let octets = writer.written().to_vec();
        let read: Vec<_> = DccpOptionIterator::new(&octets).map(|raw| raw.option).collect();
        assert_eq!(read, [option]);
        octets
    }

    #[test]
    fn feature_options_are_those_of_section_6() {
        use FeatureOption::{ChangeL, ChangeR, ConfirmL, ConfirmR};
        let octets =
            |kind, feature, value: &[u8]| written(DccpOption::Feature { kind, feature, value });
        assert_eq!(octets(ChangeL, 1, &[2, 3]), [0x20, 5, 1, 2, 3]);
        assert_eq!(octets(ChangeL, 3, &[0, 0, 0, 0, 4, 0]), [0x20, 9, 3, 0, 0, 0, 0, 4, 0]);
        assert_eq!(octets(ConfirmL, 1, &[2, 2, 3]), [0x21, 6, 1, 2, 2, 3]);
        assert_eq!(octets(ConfirmL, 126, &[]), [0x21, 3, 0x7e]);
        assert_eq!(octets(ChangeR, 1, &[3, 2]), [0x22, 5, 1, 3, 2]);
        assert_eq!(octets(ConfirmR, 1, &[2, 3, 2]), [0x23, 6, 1, 2, 3, 2]);
        assert_eq!(octets(ConfirmR, 126, &[]), [0x23, 3, 0x7e]);
    }

    #[test]
    fn counts_and_times_take_the_fewest_octets() {
        assert_eq!(written(DccpOption::NdpCount(0)), [37, 3, 0]);
        assert_eq!(written(DccpOption::NdpCount(255)), [37, 3, 255]);
        assert_eq!(written(DccpOption::NdpCount(256)), [37, 4, 1, 0]);
        assert_eq!(written(DccpOption::NdpCount((1 << 48) - 1)).len(), 8);
        assert_eq!(written(DccpOption::ElapsedTime(70)), [43, 4, 0, 70]);
        assert_eq!(written(DccpOption::ElapsedTime(65_536)), [43, 6, 0, 1, 0, 0]);
        let echo = |elapsed_10us| written(DccpOption::TimestampEcho { echo: 1, elapsed_10us });
        assert_eq!(echo(0), [42, 6, 0, 0, 0, 1]);
        assert_eq!(echo(7), [42, 8, 0, 0, 0, 1, 0, 7]);
        assert_eq!(echo(u32::MAX), [42, 10, 0, 0, 0, 1, 255, 255, 255, 255]);
    }

    #[test]
    fn what_does_not_fit_is_not_begun() {
        let mut area = [0; 5];
        let mut writer = DccpOptionWriter::new(&mut area);
        assert!(!writer.put(DccpOption::Timestamp(1)));
        assert!(writer.is_empty());
        assert!(writer.put(DccpOption::NdpCount(1)));
        assert!(writer.put(DccpOption::Mandatory));
        assert!(writer.put(DccpOption::Padding));
        assert!(!writer.put(DccpOption::Padding));
        assert_eq!(writer.written(), [37, 3, 1, 1, 0]);
        let mut area = [0; 300];
        assert!(!DccpOptionWriter::new(&mut area).put(DccpOption::InitCookie(&[0; 254])));
    }
}
