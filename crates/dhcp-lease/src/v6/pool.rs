//! Pools of DHCPv6: ranges of addresses, or of prefixes to delegate.

use core::net::Ipv6Addr;

use super::resource::{Resource, ResourceKind};
use crate::pool::Allocator;

/// Pool of DHCPv6 as configured: a range of addresses or of prefixes of one length to lease from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the pool in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// Rule that chooses the next free address or prefix of the pool.
    pub allocator: Allocator,
    /// Kind of resources in the pool: addresses or prefixes.
    pub kind: ResourceKind,
    /// Length of each delegated prefix of the pool, in bits; 128 for addresses.
    pub len: u8,
    /// First address, or first prefix, of the pool.
    pub first: Ipv6Addr,
    /// Last address, or last prefix, of the pool, included.
    pub last: Ipv6Addr,
}

impl PoolSpec {
    /// Returns the first and the last address or prefix of the pool.
    #[must_use]
    pub const fn bounds(&self) -> (Resource, Resource) {
        let Self { kind, len, first, last, .. } = *self;
        (Resource { kind, len, address: first }, Resource { kind, len, address: last })
    }

    /// Returns true if `resource` belongs to the pool.
    #[must_use]
    pub fn contains(&self, resource: Resource) -> bool {
        self.kind == resource.kind
            && self.len == resource.len
            && self.first <= resource.address
            && resource.address <= self.last
    }
}
