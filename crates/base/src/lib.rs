//! Foundation of all other crates: time as a value, seeded randomness, byte cursors, single-writer
//! counters, log-linear histograms, bounded host names, suggestions for misspelled names, numbers
//! formatted with as many digits as they need, dates, bytes in hexadecimal digits, byte-order marks
//! of text files, arithmetic of IP prefixes, search structures that read few cache lines, macros
//! for enums whose values have names and for structs of counts, the two families of DHCP, and the
//! error that ends a command.
//!
//! Nothing here reads a clock, a file or the environment. A type enters this crate when two of the
//! protocols (DHCP, DNS, DCCP) need it, or two crates that do not know each other.

#![no_std]

extern crate alloc;

pub mod address_bits;
pub mod buckets;
pub mod civil;
pub mod counter;
pub mod family;
pub mod figure;
pub mod firsts;
pub mod hex;
pub mod histogram;
pub mod host_name;
mod merge;
mod named;
pub mod octets;
pub mod offset;
pub mod prefetch;
pub mod random;
mod suggest;
pub mod text_file;
pub mod time;
mod tool_error;

pub use address_bits::AddressBits;
pub use buckets::Buckets;
pub use civil::CivilTime;
pub use counter::Counters;
pub use family::{V4, V6};
pub use figure::{Figure, general};
pub use firsts::Firsts;
pub use hex::{ColonHex, Hex};
pub use histogram::Histogram;
pub use host_name::HostName;
pub use merge::Merge;
pub use octets::{ByteReader, ByteWriter};
pub use offset::{Offset, RoundTrip};
pub use prefetch::Prefetch;
pub use random::Random;
pub use suggest::nearest;
pub use time::Now;
pub use tool_error::{ToolError, ToolResult};

/// Name of the Cargo profile that Godwit was built with: `release`, `dist`, `dev`.
pub const BUILD_PROFILE: &str = env!("GODWIT_BUILD_PROFILE");
