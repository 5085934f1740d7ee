//! Capture files: the classic pcap file (draft-ietf-opsawg-pcap) in both byte orders, of microseconds and
//! nanoseconds, read and written; pcapng (draft-ietf-opsawg-pcapng) read.

mod blocks;
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
    /// It begins neither as a classic pcap file nor as pcapng does.
    Magic,
    /// A version other than 2, or 1 of pcapng.
    Version,
    /// It ends inside a header or a packet.
    Truncated,
    /// A record claims more octets than any packet has, or more than were on the wire.
    Length,
    /// A packet of an interface that was not described (pcapng).
    Interface,
    /// Time stamps in a unit that does not fit 64 bits (pcapng).
    Resolution,
}

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "neither a pcap nor a pcapng file",
            Self::Version => "a version of pcap that is not known",
            Self::Truncated => "the file ends inside a record",
            Self::Length => "a record with an impossible length",
            Self::Interface => "a packet of an interface that is not described",
            Self::Resolution => "an interface with an impossible unit of time",
        })
    }
}

impl core::error::Error for PcapError {}
