//! v4 pools: ranges of addresses.

use core::net::Ipv4Addr;

use crate::pool::Allocator;

/// A range of addresses to give leases from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// Which free one is given next.
    pub allocator: Allocator,
    /// First address.
    pub first: Ipv4Addr,
    /// Last address, included.
    pub last: Ipv4Addr,
}

impl PoolSpec {
    /// Whether `address` is one of the pool's.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.first <= address && address <= self.last
    }
}
