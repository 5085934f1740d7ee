//! Pools: ranges of addresses that leases are given from.

use core::net::Ipv4Addr;

/// A pool's position in its [`PoolSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolIndex(pub u32);

/// A range of addresses to give leases from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// First address.
    pub first: Ipv4Addr,
    /// Last address, included.
    pub last: Ipv4Addr,
}

/// The pools of one configuration snapshot, in its order.
#[derive(Debug)]
pub struct PoolSet {
    specs: Vec<PoolSpec>,
}

impl PoolSet {
    /// The pools, in the order of [`PoolIndex`].
    #[must_use]
    pub fn specs(&self) -> &[PoolSpec] {
        &self.specs
    }
}
