//! DHCPv4 pools: ranges of addresses.

use core::net::Ipv4Addr;

use crate::pool::Allocator;

/// Range of addresses to lease from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// Rule that chooses the next free address.
    pub allocator: Allocator,
    /// First address.
    pub first: Ipv4Addr,
    /// Last address, included.
    pub last: Ipv4Addr,
}

impl PoolSpec {
    /// Returns true if `address` belongs to the pool.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.first <= address && address <= self.last
    }
}
