//! Reader of capture files: a file header, then records until the end; or the blocks of pcapng.

use base::time::NS_PER_S;

use super::blocks::{self, PcapngBlocks};
use super::{
    ByteOrder, FILE_HEADER_LEN, GZIP, MAGIC_MODIFIED, MAGIC_NS, MAGIC_US, MODIFIED_HEADER_LEN,
    PcapError, RECORD_HEADER_LEN, Resolution, SNAP_LEN,
};

/// Packet of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// Time at which the packet was captured, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Length of the packet on the wire in bytes; greater than that of `octets` if the capture cut
    /// the packet.
    pub original_len: u32,
    /// Type of the link that the packet was captured on: that of the file, or of its interface in
    /// pcapng.
    pub link_type: u32,
    /// Captured bytes of the packet.
    pub octets: &'a [u8],
}

/// Iterator over the packets of a capture file in memory, in order. The first error ends the
/// iteration.
#[derive(Clone, Debug)]
pub struct CaptureReader<'a> {
    records: CaptureRecords<'a>,
    link_type: u32,
}

/// Records of a capture file that were not read yet, by its format.
#[derive(Clone, Debug)]
enum CaptureRecords<'a> {
    Classic(Classic<'a>),
    Blocks(PcapngBlocks<'a>),
}

/// Records of a classic pcap file that were not read yet.
#[derive(Clone, Debug)]
struct Classic<'a> {
    rest: &'a [u8],
    order: ByteOrder,
    resolution: Resolution,
    link_type: u32,
    /// Length of the header of each record in the file, in bytes.
    record_header_len: usize,
}

impl<'a> CaptureReader<'a> {
    /// Creates the reader of `file` from its header; in pcapng, reads up to the first interface.
    ///
    /// # Errors
    ///
    /// [`PcapError::Truncated`], [`PcapError::Magic`], [`PcapError::Version`],
    /// [`PcapError::Compressed`]; for pcapng also
    /// [`PcapError::Length`] and [`PcapError::Resolution`].
    pub fn new(file: &'a [u8]) -> Result<Self, PcapError> {
        if file.starts_with(&blocks::MAGIC) {
            let blocks = PcapngBlocks::new(file)?;
            let link_type = blocks.link_type();
            return Ok(Self { records: CaptureRecords::Blocks(blocks), link_type });
        }
        if file.starts_with(&GZIP) {
            return Err(PcapError::Compressed);
        }
        let (header, rest) = file.split_at_checked(FILE_HEADER_LEN).ok_or(PcapError::Truncated)?;
        let magic = word(header, 0, ByteOrder::Big);
        let (order, resolution) = match (magic, magic.swap_bytes()) {
            (MAGIC_US, _) => (ByteOrder::Big, Resolution::Microseconds),
            (MAGIC_NS, _) => (ByteOrder::Big, Resolution::Nanoseconds),
            (_, MAGIC_US) => (ByteOrder::Little, Resolution::Microseconds),
            (_, MAGIC_NS) => (ByteOrder::Little, Resolution::Nanoseconds),
            (MAGIC_MODIFIED, _) => (ByteOrder::Big, Resolution::Microseconds),
            (_, MAGIC_MODIFIED) => (ByteOrder::Little, Resolution::Microseconds),
            _ => return Err(PcapError::Magic),
        };
        let version = match order {
            ByteOrder::Big => u16::from_be_bytes([header[4], header[5]]),
            ByteOrder::Little => u16::from_le_bytes([header[4], header[5]]),
        };
        if version != 2 {
            return Err(PcapError::Version);
        }
        // The upper bits describe frame check sequences, not the link.
        let link_type = word(header, 20, order) & 0xffff;
        let record_header_len = if [magic, magic.swap_bytes()].contains(&MAGIC_MODIFIED) {
            MODIFIED_HEADER_LEN
        } else {
            RECORD_HEADER_LEN
        };
        let classic = Classic { rest, order, resolution, link_type, record_header_len };
        let records = CaptureRecords::Classic(classic);
        Ok(Self { records, link_type })
    }

    /// Returns the link type of the file ([`super::LINK_ETHERNET`], [`super::LINK_RAW_IP`] and many
    /// others); for pcapng, that of the first interface.
    pub const fn link_type(&self) -> u32 {
        self.link_type
    }

    /// Returns the byte order of the capture file; for pcapng, that of its first section.
    pub const fn byte_order(&self) -> ByteOrder {
        match &self.records {
            CaptureRecords::Classic(classic) => classic.order,
            CaptureRecords::Blocks(blocks) => blocks.order(),
        }
    }

    /// Returns the unit of the capture file's time stamps; nanoseconds for pcapng, whose interfaces
    /// have units of their own.
    pub const fn resolution(&self) -> Resolution {
        match &self.records {
            CaptureRecords::Classic(classic) => classic.resolution,
            CaptureRecords::Blocks(_) => Resolution::Nanoseconds,
        }
    }
}

impl<'a> Classic<'a> {
    /// Returns the next packet of the pcap file; `None` at the end.
    fn next_record(&mut self) -> Result<Option<CapturedPacket<'a>>, PcapError> {
        if self.rest.is_empty() { Ok(None) } else { self.record().map(Some) }
    }

    fn record(&mut self) -> Result<CapturedPacket<'a>, PcapError> {
        let (header, rest) =
            self.rest.split_at_checked(self.record_header_len).ok_or(PcapError::Truncated)?;
        let [seconds, fraction, len, original_len] =
            [0, 4, 8, 12].map(|at| word(header, at, self.order));
        if len > SNAP_LEN || len > original_len {
            return Err(PcapError::Length);
        }
        let (octets, rest) = rest.split_at_checked(len as usize).ok_or(PcapError::Truncated)?;
        self.rest = rest;
        let fraction_ns = u64::from(fraction) * self.resolution.unit_ns();
        let time_ns = u64::from(seconds) * NS_PER_S + fraction_ns;
        Ok(CapturedPacket { time_ns, original_len, link_type: self.link_type, octets })
    }
}

impl<'a> Iterator for CaptureReader<'a> {
    type Item = Result<CapturedPacket<'a>, PcapError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = match &mut self.records {
            CaptureRecords::Classic(classic) => classic.next_record(),
            CaptureRecords::Blocks(blocks) => blocks.record(),
        };
        if record.is_err() {
            match &mut self.records {
                CaptureRecords::Classic(classic) => classic.rest = &[],
                CaptureRecords::Blocks(blocks) => blocks.end(),
            }
        }
        record.transpose()
    }
}

/// Returns the number of four bytes at `at`, which is inside `octets`.
pub(super) fn word(octets: &[u8], at: usize, order: ByteOrder) -> u32 {
    let word = [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
    match order {
        ByteOrder::Big => u32::from_be_bytes(word),
        ByteOrder::Little => u32::from_le_bytes(word),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::is_capture;
    use super::*;

    #[test]
    fn files_of_a_modified_library_have_longer_heads_of_records() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let number = |number: u32| match order {
                ByteOrder::Little => number.to_le_bytes(),
                ByteOrder::Big => number.to_be_bytes(),
            };
            let version = match order {
                ByteOrder::Little => [2, 0, 4, 0],
                ByteOrder::Big => [0, 2, 0, 4],
            };
            let mut file: Vec<u8> = [number(MAGIC_MODIFIED), version].concat();
            file.extend([0, 0, 65_535, 1].map(number).concat());
            for second in [5, 6] {
                file.extend([second, 7, 3, 3, 2, 0x0800].map(number).concat());
                file.extend(b"abc");
            }
            assert!(is_capture(&file));
            let records: Vec<_> = CaptureReader::new(&file).unwrap().map(Result::unwrap).collect();
            let times: Vec<u64> = records.iter().map(|one| one.time_ns).collect();
            assert_eq!(times, [5 * NS_PER_S + 7_000, 6 * NS_PER_S + 7_000]);
            assert!(records.iter().all(|one| one.octets == b"abc" && one.link_type == 1));
        }
    }

    #[test]
    fn a_compressed_file_is_named_so() {
        let file = [&GZIP[..], &[8; 40]].concat();
        assert!(is_capture(&file));
        assert_eq!(CaptureReader::new(&file).unwrap_err(), PcapError::Compressed);
        assert!(!is_capture(b"a.example A") && !is_capture(b"\x1f"));
    }
}
