//! Standard options of DHCPv6.

pub mod definitions;
