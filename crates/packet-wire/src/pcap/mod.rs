//! The classic pcap file (draft-ietf-opsawg-pcap): both byte orders, microseconds and nanoseconds.
//! Not pcapng.

mod reader;
mod writer;

use core::fmt;

pub use reader::{Reader, Record};
pub use writer::Writer;

/// Link type of Ethernet frames.
pub const LINK_ETHERNET: u32 = 1;
/// Link type of bare IPv4 or IPv6 packets.
pub const LINK_RAW_IP: u32 = 101;

/// First word of a file that counts microseconds.
const MAGIC_US: u32 = 0xa1b2_c3d4;
/// First word of a file that counts nanoseconds.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Octets of the file header.
const FILE_HEADER_LEN: usize = 24;
/// Octets of the header of a record.
const RECORD_HEADER_LEN: usize = 16;
/// What is written as the longest packet kept, as common tools do.
const SNAP_LEN: u32 = 262_144;

/// In which order the octets of a number stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant octet first.
    Little,
    /// Most significant octet first.
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
    /// Nanoseconds in one unit.
    const fn unit_ns(self) -> u64 {
        match self {
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }
}

/// Why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcapError {
    /// It does not begin as a classic pcap file does.
    Magic,
    /// A version other than 2.
    Version,
    /// It ends inside a header or a packet.
    Truncated,
    /// A record claims more octets than any packet has, or more than were on the wire.
    Length,
}

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "not a classic pcap file",
            Self::Version => "a pcap version other than 2",
            Self::Truncated => "the file ends inside a record",
            Self::Length => "a record with an impossible length",
        })
    }
}

impl core::error::Error for PcapError {}
