//! Options of DHCPv6.

pub mod definitions;
