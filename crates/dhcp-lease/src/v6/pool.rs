//! v6 pools: ranges of addresses, or prefixes to delegate parts of.

use core::net::Ipv6Addr;

use super::resource::{IaKind, Resource};
use crate::family::PoolIndex;

/// A range of equal-sized resources to give leases from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// Addresses or prefixes.
    pub kind: IaKind,
    /// Length of each prefix given; 128 for addresses.
    pub len: u8,
    /// First address, or first prefix.
    pub first: Ipv6Addr,
    /// Last address, or last prefix, included.
    pub last: Ipv6Addr,
}

impl PoolSpec {
    /// Whether `resource` is one of the pool's.
    #[must_use]
    pub fn contains(&self, resource: Resource) -> bool {
        self.kind == resource.kind
            && self.len == resource.len
            && self.first <= resource.address
            && resource.address <= self.last
    }
}

/// The pools of one configuration snapshot, in its order.
#[derive(Debug, Default)]
pub struct PoolSet {
    specs: Vec<PoolSpec>,
}

impl PoolSet {
    /// The pools, in the order of [`PoolIndex`].
    #[must_use]
    pub fn specs(&self) -> &[PoolSpec] {
        &self.specs
    }

    /// The pool that holds `resource`.
    #[must_use]
    pub fn find(&self, resource: Resource) -> Option<PoolIndex> {
        let found = self.specs.iter().position(|spec| spec.contains(resource));
        found.map(|position| PoolIndex(position as u32))
    }
}
