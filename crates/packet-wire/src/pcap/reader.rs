//! Reading capture files: a file header, then records until the end; or the blocks of pcapng.

use base::time::NS_PER_S;

use super::blocks::{self, PcapngBlocks};
use super::{
    ByteOrder, FILE_HEADER_LEN, MAGIC_NS, MAGIC_US, PcapError, RECORD_HEADER_LEN, Resolution,
    SNAP_LEN,
};

/// One captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// The time of the capture in nanoseconds since 1970.
    pub time_ns: u64,
    /// The length in bytes on the wire; greater than that of `octets` when the capture cut the
    /// packet.
    pub original_len: u32,
    /// The type of the link that the packet was captured on: that of the file, or of its interface
    /// in pcapng.
    pub link_type: u32,
    /// The captured bytes.
    pub octets: &'a [u8],
}

/// The records of a file in memory, in order. The first error ends them.
#[derive(Clone, Debug)]
pub struct CaptureReader<'a> {
    records: CaptureRecords<'a>,
    link_type: u32,
}

/// The rest of a file, by its format.
#[derive(Clone, Debug)]
enum CaptureRecords<'a> {
    Classic(Classic<'a>),
    Blocks(PcapngBlocks<'a>),
}

/// The records of a classic file.
#[derive(Clone, Debug)]
struct Classic<'a> {
    rest: &'a [u8],
    order: ByteOrder,
    resolution: Resolution,
    link_type: u32,
}

impl<'a> CaptureReader<'a> {
    /// Reads the file header; in pcapng, reads up to the first interface.
    ///
    /// # Errors
    ///
    /// [`PcapError::Truncated`], [`PcapError::Magic`], [`PcapError::Version`]; for pcapng also
    /// [`PcapError::Length`] and [`PcapError::Resolution`].
    pub fn new(file: &'a [u8]) -> Result<Self, PcapError> {
        if file.starts_with(&blocks::MAGIC) {
            let blocks = PcapngBlocks::new(file)?;
            let link_type = blocks.link_type();
            return Ok(Self { records: CaptureRecords::Blocks(blocks), link_type });
        }
        let (header, rest) = file.split_at_checked(FILE_HEADER_LEN).ok_or(PcapError::Truncated)?;
        let magic = word(header, 0, ByteOrder::Big);
        let (order, resolution) = match (magic, magic.swap_bytes()) {
            (MAGIC_US, _) => (ByteOrder::Big, Resolution::Microseconds),
            (MAGIC_NS, _) => (ByteOrder::Big, Resolution::Nanoseconds),
            (_, MAGIC_US) => (ByteOrder::Little, Resolution::Microseconds),
            (_, MAGIC_NS) => (ByteOrder::Little, Resolution::Nanoseconds),
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
        let records = CaptureRecords::Classic(Classic { rest, order, resolution, link_type });
        Ok(Self { records, link_type })
    }

    /// Returns the type of the link ([`super::LINK_ETHERNET`], [`super::LINK_RAW_IP`] and many
    /// others); for pcapng, that of the first interface.
    #[must_use]
    pub const fn link_type(&self) -> u32 {
        self.link_type
    }

    /// Returns the byte order of the file; for pcapng, that of its first section.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        match &self.records {
            CaptureRecords::Classic(classic) => classic.order,
            CaptureRecords::Blocks(blocks) => blocks.order(),
        }
    }

    /// Returns the unit of the file's time stamps; nanoseconds for pcapng, whose interfaces have
    /// units of their own.
    #[must_use]
    pub const fn resolution(&self) -> Resolution {
        match &self.records {
            CaptureRecords::Classic(classic) => classic.resolution,
            CaptureRecords::Blocks(_) => Resolution::Nanoseconds,
        }
    }
}

impl<'a> Classic<'a> {
    /// Returns the next packet; `None` at the end.
    fn next_record(&mut self) -> Result<Option<CapturedPacket<'a>>, PcapError> {
        if self.rest.is_empty() { Ok(None) } else { self.record().map(Some) }
    }

    fn record(&mut self) -> Result<CapturedPacket<'a>, PcapError> {
        let (header, rest) =
            self.rest.split_at_checked(RECORD_HEADER_LEN).ok_or(PcapError::Truncated)?;
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

/// Returns the word at `at`, which lies inside `octets`.
pub(super) fn word(octets: &[u8], at: usize, order: ByteOrder) -> u32 {
    let word = [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
    match order {
        ByteOrder::Big => u32::from_be_bytes(word),
        ByteOrder::Little => u32::from_le_bytes(word),
    }
}
