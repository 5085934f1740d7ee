//! DHCP on the wire: datagrams are checked once and then read in place, and messages are written.
//!
//! This crate allocates nothing (it does not even link an allocator), reads no clock and does not
//! decide on replies: `dhcp-engine` does. [`v4`] is DHCPv4, [`v6`] is DHCPv6. RFCs to read first:
//! 951, 2131, 2132, 3046, 3396 and 6842 for DHCPv4; 9915, 6603 and 8357 for DHCPv6.

#![no_std]

mod arbitrary;
pub mod name;
mod shared;
pub mod v4;
pub mod v6;

pub use shared::OptionParsing;
