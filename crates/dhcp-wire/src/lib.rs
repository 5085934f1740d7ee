//! DHCP on the wire: what a datagram says, checked once and then read in place, and how one is
//! written.
//!
//! Nothing here allocates (the crate does not even link an allocator), reads a clock or decides
//! what to answer; that is `dhcp-engine`. [`v4`] is DHCPv4, [`v6`] is DHCPv6. RFCs to have read:
//! 951, 2131, 2132, 3046, 3396, 6842 for the one, 9915, 6603, 8357 for the other.

#![no_std]

mod arbitrary;
pub mod name;
mod shared;
pub mod v4;
pub mod v6;

pub use shared::Parsing;
