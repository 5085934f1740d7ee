//! Families of DHCP as types: configurations, leases and messages are generic over them.

/// Family DHCPv4, whose leases are IPv4 addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V4;

/// Family DHCPv6, whose leases are IPv6 addresses and delegated prefixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V6;
