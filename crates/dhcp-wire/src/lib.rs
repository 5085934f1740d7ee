//! DHCP on the wire: what a datagram says, checked once and then read in place, and how one is
//! written.
//!
//! Nothing here allocates (the crate does not even link an allocator), reads a clock or decides
//! what to answer; that is `dhcp-engine`. [`v4`] is DHCPv4. RFCs to have read: 951, 2131, 2132,
//! 3046, 3396, 6842.

#![no_std]

pub mod v4;
