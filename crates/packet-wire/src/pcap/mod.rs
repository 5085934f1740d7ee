//! Capture files: the classic pcap file (draft-ietf-opsawg-pcap) in both byte orders, with
//! microseconds and nanoseconds, read and written; pcapng (draft-ietf-opsawg-pcapng) read.

mod blocks;
mod reader;
mod writer;

use core::fmt;

pub use reader::{CaptureReader, CapturedPacket};
pub use writer::CaptureWriter;

/// The link type of Ethernet frames.
pub const LINK_ETHERNET: u32 = 1;
/// The link type of bare IPv4 or IPv6 packets.
pub const LINK_RAW_IP: u32 = 101;

/// The link type of a packet whose interface its file does not describe (pcapng).
pub const LINK_UNKNOWN: u32 = u32::MAX;

/// The first word of a file that counts microseconds.
const MAGIC_US: u32 = 0xa1b2_c3d4;
/// The first word of a file that counts nanoseconds.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// The first word of a file of a modified libpcap, whose records have eight more bytes in front of
/// the packet (interface, protocol and kind); it counts microseconds.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// The first bytes of a file that gzip has made (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The length of the file header in bytes.
const FILE_HEADER_LEN: usize = 24;
/// The length of the header of a record in bytes.
const RECORD_HEADER_LEN: usize = 16;
/// The length of the header of a record of a modified libpcap in bytes.
const MODIFIED_HEADER_LEN: usize = 24;
/// The number written as the longest packet kept, as common tools do.
const SNAP_LEN: u32 = 262_144;

/// The order in which the bytes of a number are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

/// The unit of the fraction in time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Millionths of a second.
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
}

impl Resolution {
    /// Returns the number of nanoseconds in one unit.
    const fn unit_ns(self) -> u64 {
        match self {
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }
}

/// The reason why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcapError {
    /// The file begins neither as a classic pcap file nor as pcapng does.
    Magic,
    /// The version is another than 2, or than 1 of pcapng.
    Version,
    /// The file ends inside a header or a packet.
    Truncated,
    /// A record claims more bytes than any packet has, or more than were on the wire.
    Length,
    /// The file is compressed by gzip.
    Compressed,
    /// An interface has time stamps in a unit that does not fit 64 bits (pcapng).
    Resolution,
}

/// Returns true if `file` begins as a capture does, also as one that is compressed by gzip, which
/// [`CaptureReader::new`] refuses.
#[must_use]
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

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "neither a pcap nor a pcapng file",
            Self::Version => "a version of pcap that is not known",
            Self::Truncated => "the file ends inside a record",
            Self::Length => "a record with an impossible length",
            Self::Compressed => "compressed by gzip: decompress it first",
            Self::Resolution => "an interface with an impossible unit of time",
        })
    }
}

impl core::error::Error for PcapError {}
