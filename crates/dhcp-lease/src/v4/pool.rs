//! Pools of DHCPv4: ranges of addresses.

use core::net::Ipv4Addr;

use crate::pool::Allocator;

/// Pool of DHCPv4 as configured: a range of addresses to lease from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the pool in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// Rule that chooses the next free address of the pool.
    pub allocator: Allocator,
    /// First address of the pool.
    pub first: Ipv4Addr,
    /// Last address of the pool, included.
    pub last: Ipv4Addr,
}

impl PoolSpec {
    /// Returns true if `address` belongs to the pool.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.first <= address && address <= self.last
    }
}
