//! Capture files: the classic pcap file (draft-ietf-opsawg-pcap) in both byte orders, with
//! microseconds and nanoseconds, read and written; pcapng (draft-ietf-opsawg-pcapng) read.

mod blocks;
mod reader;
mod writer;

pub use reader::{CaptureReader, CapturedPacket};
pub use writer::CaptureWriter;

/// Link type of Ethernet frames in capture files.
pub const LINK_ETHERNET: u32 = 1;
/// Link type of bare IPv4 or IPv6 packets in capture files.
pub const LINK_RAW_IP: u32 = 101;

/// Link type of a packet whose interface its pcapng file does not describe.
pub const LINK_UNKNOWN: u32 = u32::MAX;

/// First word of a pcap file whose time stamps count microseconds.
const MAGIC_US: u32 = 0xa1b2_c3d4;
/// First word of a pcap file whose time stamps count nanoseconds.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// First word of a pcap file of a modified libpcap, whose records have eight more bytes before the
/// packet (interface, protocol and kind); its time stamps count microseconds.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// First bytes of a file that gzip has compressed (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Length of the header of a pcap file in bytes.
const FILE_HEADER_LEN: usize = 24;
/// Length of the header of a pcap record in bytes.
const RECORD_HEADER_LEN: usize = 16;
/// Length of the header of a record of a modified libpcap in bytes.
const MODIFIED_HEADER_LEN: usize = 24;
/// Length of the longest packet kept, in bytes, that written pcap files state, as common tools do.
const SNAP_LEN: u32 = 262_144;

/// Order of the bytes of a number in a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Byte order of a capture file with the least significant byte first.
    Little,
    /// Byte order of a capture file with the most significant byte first.
    Big,
}

/// Unit of the fraction in the time stamps of a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Unit of time stamps: millionths of a second.
    Microseconds,
    /// Unit of time stamps: billionths of a second.
    Nanoseconds,
}

impl Resolution {
    /// Returns the number of nanoseconds in one unit of the time stamps.
    const fn unit_ns(self) -> u64 {
        match self {
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }
}

base::worded! {
    /// Reason why a capture file could not be read.
    pub enum PcapError {
        /// File that begins neither as a classic pcap file nor as pcapng does.
        Magic = "neither a pcap nor a pcapng file",
        /// File of a version other than 2 of pcap or 1 of pcapng.
        Version = "a version of pcap that is not known",
        /// File that ends inside a header or a packet.
        Truncated = "the file ends inside a record",
        /// Record that claims more bytes than any packet has, or more than were on the wire.
        Length = "a record with an impossible length",
        /// File that is compressed by gzip.
        Compressed = "compressed by gzip: decompress it first",
        /// Interface of a pcapng file with time stamps in a unit that does not fit 64 bits.
        Resolution = "an interface with an impossible unit of time",
    }
}

/// Returns true if `file` begins as a capture file does, or as a file that gzip has compressed,
/// which [`CaptureReader::new`] refuses.
pub fn is_capture(file: &[u8]) -> bool {
    let is_classic = |first: &[u8; 4]| {
        [u32::from_be_bytes(*first), u32::from_le_bytes(*first)]
            .iter()
            .any(|word| [MAGIC_US, MAGIC_NS, MAGIC_MODIFIED].contains(word))
    };
    file.starts_with(&blocks::MAGIC)
        || file.starts_with(&GZIP)
        || file.first_chunk().is_some_and(is_classic)
}

impl core::error::Error for PcapError {}
